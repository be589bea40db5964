"""Worst case over pairs of records of one size, for operators that treat all items alike.

A report y has probability phi(a) under a record t with |y n t| = a, times a factor that depends on |y| alone.  For two
records of m items out of n and a report of b items, a can be anything from max(0, m - (n - b)) to min(m, b), whichever
the record; so the amplification is the largest phi(a) / phi(a') within such a range.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

_PAD = 1e-11
"""Sums of up to some thousand logarithms are off by less than this part: err towards less privacy."""


def amplification(log_phi: npt.ArrayLike, n_items: int) -> float:
    """The largest ln phi(a) / phi(a') that a report of records of m items out of n allows.

    ``log_phi`` holds ln phi(0) .. ln phi(m); minus infinity stands for phi = 0.  Reports of b items allow overlaps
    within n - m of each other; the widest ranges, b - (n - m) to b, hold all others.
    """
    phi = np.asarray(log_phi, float)
    size = len(phi) - 1
    most, least = _extremes(phi, min(size, n_items - size) + 1)
    possible = most > -math.inf  # else there is no such report
    if (possible & (least == -math.inf)).any():
        return math.inf
    return outward(float((most[possible] - least[possible]).max(initial=0.0)), size)


def _extremes(values: npt.NDArray[np.float64], width: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The largest and the smallest of every ``width`` successive values."""
    if width == len(values):
        return values.max(keepdims=True), values.min(keepdims=True)
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    inner = slice(width // 2, width // 2 + len(values) - width + 1)  # where the whole window is within
    return maximum_filter1d(values, width)[inner], minimum_filter1d(values, width)[inner]


def exchange(log_phi: npt.ArrayLike) -> float:
    """The same for two records that differ in one item exchanged for another: a and a' are then next to each other."""
    phi = np.asarray(log_phi, float)
    one, other = phi[:-1], phi[1:]
    if (np.isneginf(one) != np.isneginf(other)).any():
        return math.inf
    possible = ~np.isneginf(one)
    return outward(float(np.abs(one[possible] - other[possible]).max(initial=0.0)), len(phi))


def outward(epsilon: float, steps: int) -> float:
    """A little more than was computed in ``steps`` steps, each off by some units in the last place."""
    return epsilon * (1 + _PAD) + max(1e-12, steps * 2.0**-50) if epsilon > 0 else 0.0
