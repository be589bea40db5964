"""What is guessed of records before anybody answers: their sizes, and the laws of patterns that follow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from bosket.checks import check_integer, check_limits, check_not_negative
from bosket.errors import ParameterError
from bosket.statistics.estimates import Floats

SizeShares: TypeAlias = Mapping[int, float]
"""Shares of records by size."""

_MOST_SIZE = 10_000


def checked_sizes(sizes: Mapping[int, float]) -> dict[int, float]:
    """Shares of records by size that sum to 1, from shares or numbers; sizes that nobody has are left out."""
    if not isinstance(sizes, Mapping):
        raise ParameterError(
            f"The 'sizes' parameter must be a mapping from record size to share, got a {type(sizes).__name__}.",
            parameter="sizes",
            value=sizes,
            hint="Write {3: 0.5, 4: 0.5}; planning.geometric_sizes(mean) makes one from a mean.",
        )
    numbers = {
        check_integer("sizes", size, least=0): check_not_negative(f"sizes[{size}]", number)
        for size, number in sizes.items()
    }
    total = math.fsum(numbers.values())
    if not total:
        raise ParameterError("The 'sizes' parameter must name sizes that records have.", parameter="sizes", value=sizes)
    return {size: number / total for size, number in sorted(numbers.items()) if number}


def geometric_sizes(mean: float, *, most: int | None = None) -> dict[int, float]:
    """Shares of records by size, from 1 to ``most``: geometric, which assumes least beside the mean.

    Without ``most``, sizes that one record in a thousand exceeds are left out; what is left out is spread over the
    others in proportion.

    >>> {size: round(share, 3) for size, share in geometric_sizes(2.0, most=3).items()}
    {1: 0.571, 2: 0.286, 3: 0.143}
    """
    mean = check_limits("mean", mean, above=0, most=float(_MOST_SIZE))
    stays = 1 - 1 / max(mean, 1.0)
    if most is None:
        most = 1 if stays == 0 else max(1, math.ceil(math.log(1e-3) / math.log(stays)))
    most = check_integer("most", most, least=1, most=_MOST_SIZE)
    return checked_sizes({size: (1 - stays) * stays ** (size - 1) for size in range(1, most + 1)})


def binomial_law(k: int, f: float) -> Floats:
    """Pr(l of k things), by l, each there with probability f on its own; SciPy's takes a second to import."""
    return np.array([math.comb(k, l) * f**l * (1 - f) ** (k - l) for l in range(k + 1)])


def united_law(truth: Floats, united: int, keep: float) -> Floats:
    """Pr(a report shows each pattern) where ``united`` records of this law are put together and items kept by chance.

    A union lies within a pattern when all records do: a power of sums over subsets.  Of an item of the union ``keep``
    is left.
    """
    within = _over_subsets(truth, 1.0) ** united
    union = _over_subsets(within, -1.0)
    size, width = len(union), 1
    result = union.copy()
    while width < size:
        pairs = result.reshape(-1, 2, width)
        lost = (1 - keep) * pairs[:, 1]
        pairs[:, 0] += lost
        pairs[:, 1] -= lost
        width *= 2
    return np.maximum(result, 0.0)


def _over_subsets(values: Floats, sign: float) -> Floats:
    """Sums over subsets of each pattern, or with a sign of -1 their inverse."""
    result: Floats = values.copy()
    width = 1
    while width < len(result):
        pairs = result.reshape(-1, 2, width)
        pairs[:, 1] += sign * pairs[:, 0]
        width *= 2
    return result
