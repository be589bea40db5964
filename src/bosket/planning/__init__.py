"""Parameters from goals, and the accuracy to expect, before anything is collected.

Names are imported on first use: a plan for questions needs nothing of the curator, nor of mining.
"""

from typing import TYPE_CHECKING

from bosket._lazy import attach

if TYPE_CHECKING:
    from bosket.planning.amplification import (
        cut_and_paste_for,
        cut_and_paste_insert,
        gamma_from,
        mask_keep,
        records_for,
    )
    from bosket.planning.comparison import Prospect, Ranking, compare, people_needed, privacy_for
    from bosket.planning.cutting import Choice, CutAndPasteChoice, cut_and_paste, smallest_insert
    from bosket.planning.discoverability import (
        Overlaps,
        independent,
        lowest_confidence,
        lowest_support,
        maximally_dependent,
        support_stderr,
    )
    from bosket.planning.discoveries import expected_errors
    from bosket.planning.foresight import Foresight, foresee
    from bosket.planning.goals import Goal, Study
    from bosket.planning.item_factors import ItemFactors, optimal_keeps
    from bosket.planning.laws import geometric_sizes
    from bosket.planning.matrices import MatrixForesight
    from bosket.planning.maximal import allowed_maximal_supports, breach_levels, maximal_supports
    from bosket.planning.previews import Preview, preview
    from bosket.planning.questions import optimal_design, refined_design
    from bosket.planning.rehearsals import simulated_errors
    from bosket.planning.releases.asked import Curator
    from bosket.planning.releases.foreseeing import compare_releases, epsilon_for
    from bosket.planning.releases.foresight import ReleaseForesight
    from bosket.planning.releases.ranking import ReleaseRanking, rank_releases
    from bosket.planning.special_goals import compare_breaches, compare_classes

__all__ = [
    "Choice",
    "Curator",
    "CutAndPasteChoice",
    "Foresight",
    "Goal",
    "ItemFactors",
    "MatrixForesight",
    "Overlaps",
    "Preview",
    "Prospect",
    "Ranking",
    "ReleaseForesight",
    "ReleaseRanking",
    "Study",
    "allowed_maximal_supports",
    "breach_levels",
    "compare",
    "compare_breaches",
    "compare_classes",
    "compare_releases",
    "cut_and_paste",
    "cut_and_paste_for",
    "cut_and_paste_insert",
    "epsilon_for",
    "expected_errors",
    "foresee",
    "gamma_from",
    "geometric_sizes",
    "independent",
    "lowest_confidence",
    "lowest_support",
    "mask_keep",
    "maximal_supports",
    "maximally_dependent",
    "optimal_design",
    "optimal_keeps",
    "people_needed",
    "preview",
    "privacy_for",
    "rank_releases",
    "records_for",
    "refined_design",
    "simulated_errors",
    "smallest_insert",
    "support_stderr",
]

__getattr__, __dir__ = attach(__name__, __file__, __all__)
