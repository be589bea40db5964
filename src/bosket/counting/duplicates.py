"""Whether two batches of reports are one batch that was given twice.

A file that is counted twice makes intervals too narrow and lets whoever sent it count twice.  Randomized reports of
several people do not come out alike by chance, so a batch that does is refused.  How likely is it by chance?  Under
any law of reports at all, another n people, drawn alike, show just these reports in this order with probability at
most the product over different reports y of (n_y / n)^n_y, where n_y is how often y occurs: the law that makes them
likeliest is their own.  In any order it is n! / (product of n_y!) times that.  A batch of one report may well come
twice; ten different reports in the same order come twice with less than 1e-9.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Words

BY_CHANCE = 1e-9
"""A batch that comes twice with less than this probability did not come twice by chance."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
Strata = npt.NDArray[np.int32]


def fingerprint(bits: Words, strata: Strata | None) -> tuple[int, int]:
    """The number of reports, and a sum over them that does not depend on their order: alike where batches are."""
    state = np.full(len(bits), _STEP)
    columns = list(bits.T) if strata is None else [*bits.T, strata.astype(np.uint64)]
    for column in columns:
        state = _mixed(state ^ column) + _STEP  # wraps round, as it should
    return len(bits), int(_mixed(state).sum(dtype=np.uint64))


def _mixed(state: Words) -> Words:
    """SplitMix64's finish: every bit of a word depends on all of them."""
    state = (state ^ (state >> np.uint64(30))) * _MIX[0]
    state = (state ^ (state >> np.uint64(27))) * _MIX[1]
    return np.asarray(state ^ (state >> np.uint64(31)), np.uint64)


def is_given_twice(one: tuple[Words, Strata | None], other: tuple[Words, Strata | None]) -> bool:
    """Whether two batches hold the same reports, and that hardly happens by chance."""
    first, second = _rows(*one), _rows(*other)
    in_order = np.array_equal(first, second)
    reports, counts = np.unique(first, return_counts=True)
    if not in_order:
        again, times = np.unique(second, return_counts=True)
        if not (np.array_equal(reports, again) and np.array_equal(counts, times)):
            return False
    return log_chance(counts, in_order=in_order) < math.log(BY_CHANCE)


def _rows(bits: Words, strata: Strata | None) -> npt.NDArray[np.void]:
    """Each report, with the size it states, as one value that can be compared."""
    whole = bits if strata is None else np.column_stack([bits, strata.astype(np.uint64)])
    whole = np.ascontiguousarray(whole)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()


def log_chance(counts: npt.NDArray[np.int64], *, in_order: bool) -> float:
    """ln of the largest probability, under any law of reports, that another batch holds each of them so many times.

    >>> round(math.exp(log_chance(np.array([1] * 10), in_order=True)), 13)  # 10^-10
    1e-10
    >>> log_chance(np.array([1]), in_order=True), log_chance(np.array([50]), in_order=True)
    (0.0, 0.0)
    """
    n = int(counts.sum())
    chance = float((counts * np.log(counts / n)).sum())
    if not in_order:
        chance += math.lgamma(n + 1) - math.fsum(math.lgamma(count + 1) for count in counts.tolist())
    return chance
