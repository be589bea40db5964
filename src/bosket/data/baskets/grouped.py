"""Rows of a long file as they are read: records whose rows stand together need no number for each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.kernels import rename
from bosket.data.baskets.rows import Csr, Items, Offsets, RecordItems, canonical, from_pairs
from bosket.data.domain import Domain, ItemIds
from bosket.threads import parallel_map, slices

_VALUES_A_PART = 1 << 20


class RecordRuns(NamedTuple):
    """Rows of a long file, some at a time: runs of rows of one record."""

    records: ItemIds
    """The number of the record of each run."""
    rows: ItemIds | None
    """How many rows each run has; None where each has one."""
    items: ItemIds
    """The item of each row; -1 only says that its record exists."""

    @property
    def record_of_rows(self) -> ItemIds:
        return self.records if self.rows is None else np.repeat(self.records, self.rows)


class LongRecords:
    """Pairs of a record and an item, some at a time; records are numbered in order of first appearance.

    As long as the rows of each record stand together, 4 bytes are held for an item and 4 for a record; then 8 for each
    row.  An item of -1 only says that its record exists.
    """

    def __init__(self) -> None:
        self._items, self._sizes = Items(), Items()
        self._n_records = 0
        self._pairs: RecordItems | None = None

    def append(self, records: npt.NDArray[np.integer[Any]], items: ItemIds) -> None:
        """Add rows: the number of the record of each, and its item."""
        if not records.size:
            return
        last, newest = self._n_records - 1, int(records.max())
        is_together = int(records[0]) >= last and bool((records[1:] >= records[:-1]).all())
        if self._pairs is None and is_together:
            self._append_together(records, items, last)
        else:
            if self._pairs is None:
                self._pairs = self._taken_apart()
            self._pairs.append(records.astype(np.int64, copy=False), items)
        self._n_records = max(self._n_records, newest + 1)

    def append_runs(self, runs: RecordRuns) -> None:
        """Add rows by runs: where each is of a record of its own, as a rule, no row is looked at."""
        records, rows, items = runs
        if not records.size:
            return
        first, last = int(records[0]), self._n_records - 1
        is_new = self._pairs is None and last <= first <= last + 1
        if rows is None or not is_new or int(items.min()) < 0 or not (np.diff(records) == 1).all():
            self.append(runs.record_of_rows, items)
            return
        if first == last:
            self._sizes.last()[:] += rows[0]
            rows = rows[1:]
        self._sizes.append(rows)
        self._items.append(items)
        self._n_records = int(records[-1]) + 1

    def _append_together(self, records: npt.NDArray[np.integer[Any]], items: ItemIds, last: int) -> None:
        is_item = items >= 0
        if not is_item.all():
            records, items, whole = records[is_item], items[is_item], records
        else:
            whole = records
        first, end = max(last, 0), int(whole[-1]) + 1
        sizes = np.bincount(records - first, minlength=end - first)
        if last >= 0:
            self._sizes.last()[:] += np.int32(sizes[0])
            sizes = sizes[1:]
        self._sizes.append(sizes.astype(np.int32))
        self._items.append(items)

    def _taken_apart(self) -> RecordItems:
        """What was held together, as pairs; records without items are there by their number alone."""
        pairs = RecordItems()
        sizes = self._sizes.together().astype(np.int64)
        if sizes.size:
            pairs.append(np.repeat(np.arange(sizes.size), sizes), self._items.together())
        return pairs

    def csr(self, n_records: int, rank: ItemIds, domain: Domain) -> Csr:
        """All records over a domain; ``rank`` is the item id of each item given.  What was held is let go."""
        if self._pairs is not None:
            records, items = self._pairs.together()
            return from_pairs(records, ranked(items, rank), n_records, domain)
        indptr = np.zeros(n_records + 1, np.int64)
        np.cumsum(self._sizes.together(), dtype=np.int64, out=indptr[1:])
        return canonical(indptr, ranked(self._items.together(), rank), domain)


def ranked(items: npt.NDArray[Any], rank: ItemIds) -> ItemIds:
    """The item id of each code, written in the place of the codes; -1 stays."""
    if items.dtype != np.int32:
        wider: ItemIds = np.append(rank, np.int32(-1)).astype(np.int32)[items]  # code -1 picks the last entry
        return wider
    known = rank.astype(np.int32, copy=False)
    parallel_map(lambda part: rename(items[slice(*part)], known), list(slices(items.size, _VALUES_A_PART)))
    return items


def sizes_of(indptr: Offsets) -> npt.NDArray[np.int32]:
    """The sizes of records, in four bytes each."""
    return np.diff(indptr).astype(np.int32)
