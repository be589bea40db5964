"""Supports in raw records on disk: bitmaps of the items that are asked for, of some records at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.data.baskets.rows import Csr
from bosket.disk.records.kernels import set_bits
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from bosket.disk.records.opened import OpenBaskets

_RECORDS = 1 << 20  # at most, of a piece
_ROUND = 1 << 13


class RecordCounter:
    """A :class:`~bosket.counting.base.Counter` of raw records on disk; every look is one pass over the segments."""

    strata: tuple[int, ...] = (0,)

    def __init__(self, baskets: OpenBaskets) -> None:
        self._baskets = baskets
        self.n_records = baskets.n_records

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        total = np.zeros((1, len(itemsets)), np.int64)
        if itemsets.shape[1] == 0:
            return total + self.n_records
        if itemsets.shape[1] == 1:
            return self._baskets.item_counts()[itemsets[:, 0]][None, :]
        is_asked = np.zeros(self._baskets.n_items, bool)
        is_asked[itemsets] = True
        n_groups = len(self._baskets.group_sizes)
        for number, csr in enumerate(self._baskets.groups(is_asked), 1):
            total[0] += counted(csr, itemsets, memory=self._baskets.segment_memory)
            if on_progress is not None:
                on_progress(len(itemsets) * number // n_groups)
        return total


def counted(csr: Csr, itemsets: ItemsetRows, *, memory: int) -> npt.NDArray[np.int64]:
    """In how many of these records each itemset is; bitmaps take ``memory`` at most, or 64 records."""
    items = np.unique(itemsets).astype(np.int32)
    total = np.zeros(len(itemsets), np.int64)
    row_of = np.full(csr.domain.n_items, -1, np.int32)
    row_of[items] = np.arange(items.size, dtype=np.int32)
    n_records = csr.indptr.size - 1
    size = min(_RECORDS, 8 * memory // max(1, items.size))
    for start, stop in slices(n_records, max(64, size // 64 * 64)):
        columns = np.zeros((items.size, -(-(stop - start) // 64)), np.uint64)

        def fill(part: tuple[int, int], start: int = start, columns: npt.NDArray[np.uint64] = columns) -> None:
            set_bits(csr.indptr, csr.indices, row_of, start, *part, columns)

        parallel_map(fill, list(slices(stop - start, _ROUND)))
        bitmaps = Bitmaps(columns, strata=[0], stratum_records=[stop - start], items=items)
        total += bitmaps.supports(itemsets)[0]
    return total
