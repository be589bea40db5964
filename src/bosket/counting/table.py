"""Supports already counted, found again by itemset: what estimates of larger itemsets are made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.counting import index_kernels
from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.threads import slices

_ROWS = 1 << 19  # looked up in one piece, some tens of milliseconds

Positions = npt.NDArray[np.int64]


class ItemsetIndex:
    """Finds itemsets (all of one size) in a list of them."""

    def __init__(self, rows: ItemsetRows) -> None:
        self.rows = np.ascontiguousarray(rows, np.int32)
        self.slots = np.full((1 << max(4, int(2 * len(rows)).bit_length())) + 1, -1, np.int64)
        self.slots[-1] = hash("itemsets")  # Python's own secret
        for start, stop in slices(len(self.rows), _ROWS):
            index_kernels.build(self.rows, self.slots, start, stop)

    def find(self, itemsets: ItemsetRows, positions: Positions | None = None) -> npt.NDArray[np.int64]:
        """Where each itemset (or its items at ``positions``) stands in the list; -1 if it does not."""
        if positions is None:
            positions = members((1 << itemsets.shape[1]) - 1)
        found = np.empty(len(itemsets), np.int64)
        for start, stop in slices(len(itemsets), _ROWS):
            index_kernels.find(self.rows, self.slots, itemsets[start:stop], positions, found[start:stop])
        return found


@lru_cache(maxsize=1 << 16)
def members(mask: int) -> Positions:
    """The positions of the set bits of a pattern."""
    positions = np.array([position for position in range(mask.bit_length()) if mask >> position & 1], np.int64)
    positions.flags.writeable = False
    return positions


@lru_cache(maxsize=1 << 10)
def patterns(k: int, size: int) -> tuple[Positions, Positions]:
    """The patterns of k items that have ``size`` of them, and the positions of each, a row per pattern."""
    positions = np.array(list(combinations(range(k), size)), np.int64)
    masks = (1 << positions).sum(axis=1)
    return masks, positions


def restrict(k: int, mask: int) -> Positions:
    """For every pattern of k items, the pattern it shows on the items of ``mask`` alone."""
    patterns = np.arange(1 << k)
    result = np.zeros(1 << k, np.int64)
    for position, member in enumerate(members(mask)):
        result |= (patterns >> member & 1) << position
    return result


def marginal(cells: npt.NDArray[np.int64], shown: Positions) -> npt.NDArray[np.int64]:
    """Counts of the patterns of fewer items: ``shown`` says which one each pattern becomes."""
    result = np.zeros((int(shown.max()) + 1, len(cells)), np.int64)
    np.add.at(result, shown, cells.T)
    return np.ascontiguousarray(result.T)


@dataclass
class SupportTable:
    """Itemsets and their observed counts, by size."""

    empty: Counts
    """Records per stratum: the support of the empty itemset, shape (n_strata, 1)."""

    def __post_init__(self) -> None:
        self._levels: dict[int, tuple[ItemsetIndex, Counts]] = {}

    def add(self, itemsets: ItemsetRows, counts: Counts) -> None:
        """Enter all itemsets of one size."""
        self._levels[itemsets.shape[1]] = (ItemsetIndex(itemsets), counts)

    def index(self, size: int) -> ItemsetIndex:
        return self._levels[size][0]

    def subset_supports(self, itemsets: ItemsetRows, own: Counts | None = None) -> Counts:
        """Supports of every subset of every itemset, shape (n_strata, n, 2**k); pattern bit j stands for the j-th item.

        ``own`` are the supports of the itemsets themselves, when they are not in the table.
        """
        n, k = itemsets.shape
        result = np.empty((len(self.empty), n, 1 << k), np.int64)
        result[:, :, 0] = self.empty
        if own is not None:
            result[:, :, -1] = own
        for size in range(1, k + 1 if own is None else k):
            masks, positions = patterns(k, size)
            index, counts = self._levels[size]
            place = index.find(itemsets[:, positions].reshape(-1, size))
            assert place.min(initial=0) >= 0, "the table must hold every subset"
            result[:, :, masks] = counts[:, place].reshape(len(counts), n, len(masks))
        return result


def count_subsets(counter: Counter, itemsets: ItemsetRows) -> Counts:
    """As :meth:`SupportTable.subset_supports`, asking a counter for every subset once."""
    table = SupportTable(counter.supports(np.empty((1, 0), np.int32)))
    k = itemsets.shape[1]
    by_size: dict[int, list[ItemsetRows]] = {}
    for mask in range(1, 1 << k):
        by_size.setdefault(mask.bit_count(), []).append(itemsets[:, members(mask)])
    for rows in by_size.values():
        distinct = np.unique(np.concatenate(rows), axis=0)
        table.add(distinct, counter.supports(distinct))
    return table.subset_supports(itemsets)
