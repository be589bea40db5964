"""Support estimates of many itemsets at once, from subset supports and a channel's weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.evidence.kernels import sum_weights, to_cells
from bosket.mechanisms.base import Channel
from bosket.statistics.estimates import Floats

StratumCells = npt.NDArray[np.int64]
"""Exclusive counts of the patterns of itemsets: shape (n_strata, n, 2**k)."""


_SECONDS = 0.2  # between two words on how far one is

TOP = 3
"""Reports whose weights are kept one by one."""


@dataclass(frozen=True, slots=True)
class Moments:
    """For each itemset the sum of its weight over all reports, that of the weight squared, and who they come from."""

    value: Floats
    second: Floats
    squares: Floats
    """Sums of squared weights by stratum: shape (n_strata, n)."""
    largest: Floats
    """The largest absolute weight of a report, by stratum: shape (n_strata, n)."""
    top: Floats
    """The largest absolute weights of any reports: shape (n, TOP)."""
    top_strata: npt.NDArray[np.int64]
    """The places of the strata of these."""


def cells_of(subset_supports: Counts) -> StratumCells:
    """Exclusive cell counts from subset supports, in place."""
    for stratum in subset_supports:
        to_cells(stratum)
    return subset_supports


@dataclass(frozen=True, slots=True)
class Alike:
    """What one weighs all itemsets of a size with, where a channel treats all items alike: computed once for all."""

    weights: Floats
    """By stratum and pattern: shape (n_strata, 1, 2**k)."""
    least: float
    """The smallest variance of a support count that any data set of this size could have."""


def alike(
    channel: Channel,
    strata: Sequence[int],
    stratum_records: npt.NDArray[np.int64],
    size: int,
    *,
    tell: Callable[[], None] | None = None,
) -> Alike | None:
    """The weights of all itemsets of a size; None where itemsets differ.  ``tell`` is called now and then."""
    if not channel.weights_alike or size > len(channel.domain):
        return None
    any_one: ItemsetRows = np.arange(size, dtype=np.int32)[None, :]
    weights, least = np.empty((len(strata), 1, 1 << size)), 0.0
    told = time.perf_counter()
    for at, (stratum, records) in enumerate(zip(strata, stratum_records.tolist(), strict=True)):
        weights[at] = channel.weights(any_one, stratum)
        least += records * float(channel.least_variances(any_one, stratum)[0])
        if tell is not None and time.perf_counter() - told > _SECONDS:
            tell()
            told = time.perf_counter()
    return Alike(weights, least)


def moments(
    channel: Channel, strata: Sequence[int], itemsets: ItemsetRows, cells: StratumCells, *, known: Alike | None = None
) -> Moments:
    """Sums of w and w^2 over all strata.

    The sum of w is RE's recursion (Xia et al. 2004, Eq. 4) in closed form: it equals the full inversion of MASK's
    matrix.
    """
    n_strata, n, _ = cells.shape
    result = Moments(
        value=np.zeros(n),
        second=np.zeros(n),
        squares=np.empty((n_strata, n)),
        largest=np.empty((n_strata, n)),
        top=np.zeros((n, TOP)),
        top_strata=np.zeros((n, TOP), np.int64),
    )
    weights = (
        np.array([channel.weights(itemsets, stratum, cell) for stratum, cell in zip(strata, cells, strict=True)])
        if known is None
        else known.weights
    )
    sum_weights(
        cells, weights, result.value, result.second, result.squares, result.largest, result.top, result.top_strata
    )
    return result


def least_variances(
    channel: Channel, strata: Sequence[int], stratum_records: npt.NDArray[np.int64], itemsets: ItemsetRows
) -> Floats:
    """The smallest variance of each support count that any data set of this size could have."""
    least = np.zeros(len(itemsets))
    for stratum, records in zip(strata, stratum_records, strict=True):
        least += records * channel.least_variances(itemsets, stratum)
    return least


FEW_MOVES = 5
"""Reports: where fewer items are expected to be lost, or put in, the error of the coins is skewed, not normal."""


def rare_moves(
    channel: Channel,
    strata: Sequence[int],
    stratum_records: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    share: Floats,
) -> npt.NDArray[np.bool_]:
    """Items of which the coins change so few reports one way that normal errors of the coins do not hold.

    ``share`` are their estimated supports.  A way that never happens does not count.
    """
    present = np.clip(share, 0.0, 1.0)
    result = np.zeros((2, len(items)))
    possible = np.zeros((2, len(items)), bool)
    for stratum, records in zip(strata, stratum_records.tolist(), strict=True):
        moves = channel.moves(items, stratum) if records else None
        if moves is not None:
            result += records * np.stack([present * moves[0], (1 - present) * moves[1]])
            possible |= np.stack(moves) > 0
    rare = possible & (result < FEW_MOVES)
    return np.asarray(rare.any(axis=0))
