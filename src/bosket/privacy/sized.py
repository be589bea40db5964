"""Worst case over pairs of records of one size, for operators that treat all items alike.

A report y has probability phi(a) under a record t with |y n t| = a, times a factor that depends on |y| alone.  For two
records of m items out of n and a report of b items, a can be anything from max(0, m - (n - b)) to min(m, b), whichever
the record; so the amplification is the largest phi(a) / phi(a') within such a range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

_PAD = 1e-11
"""Sums of up to some thousand logarithms are off by less than this part: err towards less privacy."""


def ranges(size: int, n_items: int) -> list[tuple[int, int]]:
    """The overlaps that reports allow, for all sizes of reports; just the widest where there is one."""
    if n_items >= 2 * size:
        return [(0, size)]
    return [(max(0, size - (n_items - b)), min(size, b)) for b in range(n_items + 1)]


def amplification(log_phi: npt.ArrayLike, spans: Iterable[tuple[int, int]]) -> float:
    """The largest ln phi(a) / phi(a') over the spans; minus infinity stands for phi = 0."""
    phi = np.asarray(log_phi, float)
    worst = 0.0
    for low, high in spans:
        values = phi[low : high + 1]
        most, least = float(values.max()), float(values.min())
        if most == -math.inf:
            continue  # no such report
        if least == -math.inf:
            return math.inf
        worst = max(worst, most - least)
    return _outward(worst)


def exchange(log_phi: npt.ArrayLike) -> float:
    """The same for two records that differ in one item exchanged for another: a and a' are then next to each other."""
    phi = np.asarray(log_phi, float)
    one, other = phi[:-1], phi[1:]
    if (np.isneginf(one) != np.isneginf(other)).any():
        return math.inf
    possible = ~np.isneginf(one)
    return _outward(float(np.abs(one[possible] - other[possible]).max(initial=0.0)))


def _outward(epsilon: float) -> float:
    return epsilon * (1 + _PAD) + 1e-12 if epsilon > 0 else 0.0
