"""Support estimates of many itemsets at once, from subset supports and a channel's weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.evidence.kernels import add_moments, to_cells
from bosket.mechanisms.base import Channel
from bosket.statistics.estimates import Floats

StratumCells = npt.NDArray[np.int64]
"""Exclusive counts of the patterns of itemsets: shape (n_strata, n, 2**k)."""


@dataclass(frozen=True, slots=True)
class Moments:
    """For each itemset the sum of its weight over all reports, and the sum of the weight squared."""

    value: Floats
    second: Floats


def cells_of(subset_supports: Counts) -> StratumCells:
    """Exclusive cell counts from subset supports, in place."""
    for stratum in subset_supports:
        to_cells(stratum)
    return subset_supports


def moments(channel: Channel, strata: Sequence[int], itemsets: ItemsetRows, cells: StratumCells) -> Moments:
    """Sums of w and w^2 over all strata.

    The sum of w is RE's recursion (Xia et al. 2004, Eq. 4) in closed form: it equals the full inversion of MASK's
    matrix.
    """
    value, second = np.zeros(len(itemsets)), np.zeros(len(itemsets))
    for stratum, cell in zip(strata, cells, strict=True):
        add_moments(cell, channel.weights(itemsets, stratum, cell), value, second)
    return Moments(value, second)


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
