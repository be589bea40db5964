"""How many itemsets are frequent, of each size: those that were measured, and those that the search never came to.

A triple is measured where its pairs were found, one of four items where its triples were.  Where noise hides pairs,
far more is lost of larger itemsets, as these come in cliques, and no sum of probabilities over what was joined tells
it.  So numbers of large itemsets also follow a law of growth.  With n(k, L) itemsets of k items that have L records,

    n(k, L) = c(k) n(k - 1, L) ^ 1.3            k > 2

at every L not too far apart.  c(k) is told by the itemsets that are clear of the noise: above L' = L + 1.5 d, where d
is the largest standard deviation of the noise of one first measurement, of the sizes from two to k, over the share
kept.  Few of them tell little, so c has a prior, a gamma law of shape 0.5 and mean 0.1:

    c(k) = (0.5 + n(k, L')) / (0.5 / 0.1 + n(k - 1, L') ^ 1.3)

Of triples the power follows the data, where there are many: between L' and L'' = L + 3 d it is

    log(n(3, L') / n(3, L'')) / log(n(2, L') / n(2, L''))

which counts by its error, about 1 / n(3, L'') + 1 / n(2, L'') over the square of the lower logarithm, beside 1.3 with a
standard deviation of 0.15.  From four items on the growth n(k) / n(k - 1) is at most 0.6 times that of the size before.
An expected number is never below what probabilities alone add up to.  All of it is post-processing of noisy numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bosket.curator.sieve.beliefs import SievedLevel
from bosket.curator.sieve.contributions import Bounding

_POWER, _DEVIATION = 1.3, 0.15
_MOST_POWER = 8.0  # beyond any that was seen: numbers to a power without end are no numbers any more
_TRIPLES = 3  # items
_SHAPE, _MEAN = 0.5, 0.1  # of c, before anything is known
_CLEAR = 1.5  # standard deviations of the noise
_GROWTH = 0.6  # of the growth of the size before, at most
_FEW = 0.1  # itemsets: sizes beyond are not looked at


def frequent_numbers(
    levels: Sequence[SievedLevel], missed: Sequence[float], limit: float, bounding: Bounding, largest: int
) -> list[float]:
    """The number of frequent itemsets that is expected of each size.

    missed  by size, of those that were not measured, as far as the search foresees them
    """
    numbers: list[float] = []
    for size in range(1, largest + 1):
        told = _number(levels, size, limit) + (missed[size - 1] if size <= len(missed) else 0.0)
        if size > 2:
            told = max(told, _grown(levels, numbers, limit, bounding))
        if told < _FEW and size > len(levels):
            break
        numbers.append(told)
    return numbers


def _grown(levels: Sequence[SievedLevel], numbers: list[float], limit: float, bounding: Bounding) -> float:
    """What the law of growth says of the next size."""
    size = len(numbers) + 1
    clear = limit + _CLEAR * max((_noise(one, bounding) for one in levels[1:size] if one.rounds), default=np.inf)
    power = _POWER if size > _TRIPLES else _power(levels, clear, 2 * clear - limit)
    seen, below = _number(levels, size, clear), _number(levels, size - 1, clear) ** power
    grown = (_SHAPE + seen) / (_SHAPE / _MEAN + below) * numbers[-1] ** power
    if size > 3:
        grown = min(grown, _GROWTH * numbers[-1] ** 2 / max(numbers[-2], _FEW))
    return float(grown)


def _power(levels: Sequence[SievedLevel], clear: float, clearer: float) -> float:
    """The power by which numbers of triples follow those of pairs, by what is clear of the noise."""
    near, far = ([1 + _number(levels, size, limit) for size in (2, _TRIPLES)] for limit in (clear, clearer))
    pairs, triples = (float(np.log(one / other)) for one, other in zip(near, far, strict=True))
    precision = pairs**2 / (1 / far[0] + 1 / far[1])
    before = 1 / _DEVIATION**2
    told = (before * _POWER + precision * (triples / pairs if pairs > 0 else _POWER)) / (before + precision)
    return min(told, _MOST_POWER)


def _noise(level: SievedLevel, bounding: Bounding) -> float:
    """The standard deviation of one measurement of these itemsets, the first, in records."""
    first = level.rounds[0]
    return bounding.deviation(first.scale) / float(np.mean(first.shares))


def _number(levels: Sequence[SievedLevel], size: int, limit: float) -> float:
    """How many measured itemsets of a size are expected to reach a limit."""
    return float(levels[size - 1].reaching(limit).sum()) if size <= len(levels) and np.isfinite(limit) else 0.0
