"""Parameters from goals, and the accuracy to expect, before anything is collected."""

from bosket.planning.cut_and_paste import Choice, CutAndPasteChoice, cut_and_paste, smallest_insert
from bosket.planning.discoverability import (
    Overlaps,
    independent,
    lowest_confidence,
    lowest_support,
    maximally_dependent,
    support_stderr,
)
from bosket.planning.maximal import allowed_maximal_supports, breach_levels, maximal_supports

__all__ = [
    "Choice",
    "CutAndPasteChoice",
    "Overlaps",
    "allowed_maximal_supports",
    "breach_levels",
    "cut_and_paste",
    "independent",
    "lowest_confidence",
    "lowest_support",
    "maximal_supports",
    "maximally_dependent",
    "smallest_insert",
    "support_stderr",
]
