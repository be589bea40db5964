"""Which of many noisy counts are more than noise: false discoveries, and itemsets whose subsets are there too.

All of it is post-processing of what was released.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts
from bosket.curator.levels import NoisyLevel
from bosket.statistics.estimates import Floats

Mask = npt.NDArray[np.bool_]


def chance(counts: Counts, scale: float) -> Floats:
    """Pr(noise >= count): what a candidate that nobody has comes to.

    alpha^c / (1 + alpha) for c >= 1, alpha = exp(-1 / scale), and one minus that of 1 - c otherwise.

    >>> chance(np.array([0, 1]), 1.0).round(4).tolist()
    [0.7311, 0.2689]
    """
    alpha = np.exp(-1 / scale)
    tail = np.exp(-np.maximum(counts, 1 - counts) / scale) / (1 + alpha)
    return np.asarray(np.where(counts >= 1, tail, 1 - tail))


def told_from_noise(level: NoisyLevel, share: float) -> Mask:
    """Those that, together, hold at most this expected share of candidates that nobody has (Benjamini and Hochberg).

    ``level`` may lack candidates that were left out already: they only make it stricter.
    """
    p = chance(level.noisy, level.scale)
    falling = np.sort(p)
    passed = np.flatnonzero(falling <= share * np.arange(1, len(p) + 1) / level.n_candidates)
    return np.asarray(p <= falling[passed[-1]]) if len(passed) else np.zeros(len(p), bool)


def closed(levels: list[NoisyLevel]) -> list[NoisyLevel]:
    """Without the itemsets of which a subset that is one smaller is missing."""
    result = levels[:1]
    for level in levels[1:]:
        known = {tuple(row) for row in result[-1].items.tolist()}
        rows = level.items.tolist()
        there = [all(part in known for part in combinations(row, len(row) - 1)) for row in rows]
        result.append(level.take(np.array(there, bool)))
    return result
