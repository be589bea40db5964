"""Parameters from goals, and the accuracy to expect, before anything is collected."""

from bosket.planning.amplification import cut_and_paste_for, cut_and_paste_insert, gamma_from, mask_keep, records_for
from bosket.planning.cutting import Choice, CutAndPasteChoice, cut_and_paste, smallest_insert
from bosket.planning.discoverability import (
    Overlaps,
    independent,
    lowest_confidence,
    lowest_support,
    maximally_dependent,
    support_stderr,
)
from bosket.planning.maximal import allowed_maximal_supports, breach_levels, maximal_supports
from bosket.planning.previews import Preview, preview
from bosket.planning.questions import optimal_design, refined_design

__all__ = [
    "Choice",
    "CutAndPasteChoice",
    "Overlaps",
    "Preview",
    "allowed_maximal_supports",
    "breach_levels",
    "cut_and_paste",
    "cut_and_paste_for",
    "cut_and_paste_insert",
    "gamma_from",
    "independent",
    "lowest_confidence",
    "lowest_support",
    "mask_keep",
    "maximal_supports",
    "maximally_dependent",
    "optimal_design",
    "preview",
    "records_for",
    "refined_design",
    "smallest_insert",
    "support_stderr",
]
