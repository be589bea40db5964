"""What the first looks found out, all of it released: it decides what is counted next, and whether anything is."""

from __future__ import annotations

from dataclasses import dataclass

from bosket.curator.lengths import Lengths

WITHIN = 3.0
"""Scales of the noise: a limit below that is within it."""


@dataclass(frozen=True)
class Prepared:
    """The noisy lengths, the limit as a count, and how large frequent itemsets get."""

    lengths: Lengths
    min_count: float
    largest: int
    cap: int
    """No larger itemsets were looked for: their noise would have drowned them."""
    max_size: int
    """What records are cut to when single items are counted."""
