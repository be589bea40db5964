"""From supports of subsets to cells and back: sums and differences over the patterns of k items.

An array of shape (n, 2**k) has a row per itemset; bit j of a pattern stands for the j-th item.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bosket.statistics.estimates import Floats


def differences(values: Floats) -> Floats:
    """Cells from supports by inclusion and exclusion over the patterns above, in place: shape (n, 2**k)."""
    for bit, without in _bits(values.shape[1]):
        values[:, without] -= values[:, without | bit]
    return values


def sums_over_subsets(values: Floats) -> Floats:
    """Of every pattern, the sum over the patterns within it, in place: shape (n, 2**k)."""
    for bit, without in _bits(values.shape[1]):
        values[:, without | bit] += values[:, without]
    return values


def by_support(slopes: Floats) -> Floats:
    """Slopes by supports from slopes by cells, in place: shape (n, 2**k).  ``sums_over_subsets`` turns them back."""
    for bit, without in _bits(slopes.shape[1]):
        slopes[:, without | bit] -= slopes[:, without]
    return slopes


def _bits(size: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Every bit of a pattern, with the patterns that lack it."""
    bit = 1
    while bit < size:
        yield bit, np.flatnonzero(np.arange(size) & bit == 0)
        bit <<= 1
