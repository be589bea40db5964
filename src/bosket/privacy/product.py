"""Worst case over pairs of records when every item is randomized on its own."""

from __future__ import annotations

import heapq
import math

import numpy as np
import numpy.typing as npt

from bosket.statistics.estimates import Floats as Floats

_PAD = 1e-14


def outward(epsilon: float) -> float:
    """A little more: logarithms and their sums are off by some units in the last place; err towards less privacy."""
    return epsilon * (1 + _PAD)


def worst_log_ratio(present: Floats, absent: Floats, max_size: int) -> float:
    """The largest ln Pr(y | s) / Pr(y | t) over records s, t of at most ``max_size`` items and all reports y.

    It is the sum of present[i] over i in s but not t, plus that of absent[i] over i in t but not s: two disjoint sets
    of at most m items each.  Of an item taken into the first set and one into the second, the former has the larger
    present - absent (else swapping them gains), so with items sorted by that difference the first set comes from a
    beginning and the second from the rest: try every cut, with the m largest of either side.
    """
    if np.isinf(present).any() or np.isinf(absent).any():
        return math.inf
    order = np.argsort(absent - present, kind="stable")
    first, second = present[order], absent[order]
    gain = _sums_of_largest(first, max_size) + _sums_of_largest(second[::-1], max_size)[::-1]
    cut = int(np.argmax(gain))
    return outward(math.fsum([*_largest(first[:cut], max_size), *_largest(second[cut:], max_size)]))


def _largest(values: Floats, m: int) -> list[float]:
    return heapq.nlargest(m, values[values > 0].tolist())


def _sums_of_largest(values: Floats, m: int) -> Floats:
    """Entry c is the sum of the m largest positive numbers among the first c values."""
    sums = np.zeros(len(values) + 1)
    kept: list[float] = []
    total = 0.0
    for number, value in enumerate(values.tolist(), 1):
        if value > 0:
            heapq.heappush(kept, value)
            total += value
            if len(kept) > m:
                total -= heapq.heappop(kept)
        sums[number] = total
    return sums


def worst_exchange(present: Floats, absent: Floats, groups: npt.NDArray[np.int32]) -> Floats:
    """For each group of items, of which a record has exactly one, the largest ln ratio when one stands for another.

    present[i] + absent[j] for two different items of the group; the best two of either settle it.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    first_a, next_a, at_a = _two_largest(present, groups, starts)
    first_b, next_b, at_b = _two_largest(absent, groups, starts)
    others = np.maximum(first_a + next_b, next_a + first_b)  # the best of both are one item
    result: Floats = np.where(at_a == at_b, others, first_a + first_b) * (1 + _PAD)
    return result


def _two_largest(
    values: Floats, groups: npt.NDArray[np.int32], starts: npt.NDArray[np.intp]
) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Of each group the largest value, the largest of the others, and where the first of them is."""
    most = np.maximum.reduceat(values, starts)
    is_most = values == most[groups]
    places = np.flatnonzero(is_most)
    place = places[np.searchsorted(places, starts)]
    rest = values.copy()
    rest[place] = -np.inf
    return most, np.maximum.reduceat(rest, starts), place
