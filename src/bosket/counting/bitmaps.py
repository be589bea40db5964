"""Vertical bitmaps: a column of bits per item, a bit per record.

Randomized data are dense, so tid-lists and FP-trees lose; AND and population count over bitmaps run near the machine's
limit.  Records are sorted by stratum and each stratum starts on a word, so a stratum is a range of words and its counts
are segment sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting import kernels
from bosket.counting.base import Counts, ItemsetRows, Words
from bosket.counting.grouping import grouped, worth_grouping
from bosket.errors import DataError
from bosket.threads import n_threads, parallel_map, slices

_BLOCK_WORDS = 256  # 2 KiB of a column
_PAIR_SPAN = 512  # items on a side of one call of the pair kernel
_CHUNK = 1 << 17  # itemsets in one call of the group kernel, at most
_WORK = 1 << 26  # words met in one call of a kernel, some 50 ms: keeps Ctrl-C and progress lively
_TRANSPOSE_WORDS = 1 << 10
_SMALL = 1 << 20  # words that are counted sooner than two threads are started, some 100 us


class Bitmaps:
    """A :class:`~bosket.counting.base.Counter` over bitmaps in memory."""

    def __init__(
        self,
        columns: Words,
        *,
        strata: Sequence[int],
        stratum_records: Sequence[int],
        items: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """``columns`` has a row per item; stratum s takes the next ceil(stratum_records[s] / 64) words of each.

        ``items`` says which item ids the rows stand for, when they are not all items in order.
        """
        self.columns = columns
        self.strata = tuple(int(stratum) for stratum in strata)
        self.n_records = int(sum(stratum_records))
        if self.n_records >= 1 << 32:
            raise DataError("At most 2^32 - 1 records can be counted at once.", hint="Count shards and add the counts.")
        self._records = np.asarray(stratum_records, np.int64)
        self._row_of: npt.NDArray[np.int32] | None = None
        if items is not None:
            self._row_of = np.full(int(items.max(initial=-1)) + 1, -1, np.int32)
            self._row_of[items] = np.arange(len(items), dtype=np.int32)
        self._starts, self._stops, self._stratum = _blocks(self._records)

    @classmethod
    def from_rows(
        cls, rows: Words, n_items: int, *, strata: npt.NDArray[np.int32] | None = None, items: ItemsetRows | None = None
    ) -> Bitmaps:
        """Transpose packed records (a row each) into bitmaps.

        ``strata`` gives each record's stratum (all 0 if absent).  With ``items``, only these columns are guaranteed to
        be there: what else shares a word with them comes along.  Beside the bitmaps, a record takes 12 bytes where
        there are several strata, and nothing where there is one.
        """
        placed = _Placed.of(strata, len(rows))
        if items is None:
            words = np.arange(rows.shape[1])
            ids = None
            n_columns = n_items
        else:
            words = np.unique(items // 64)
            ids = (64 * words[:, None] + np.arange(64)).ravel().astype(np.int32)
            n_columns = len(ids)
        columns = np.empty((n_columns, placed.n_words), np.uint64)

        def transpose(part: tuple[int, int]) -> None:
            start, stop = part
            kernels.transpose_rows(rows, placed.records(start, stop), start, words, columns)

        share = 8 * -(-placed.n_words // (8 * n_threads()))  # a few words are shared out evenly
        parallel_map(transpose, list(slices(placed.n_words, max(1, min(_TRANSPOSE_WORDS, share)))))
        return cls(columns, strata=placed.names, stratum_records=placed.sizes, items=ids)

    def column(self, items: npt.NDArray[np.integer[Any]]) -> Words:
        """A copy of the bitmaps of these items, a row each."""
        rows: Words = self.columns[items if self._row_of is None else self._row_of[items]]
        return rows

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        """Supports of itemsets of one size; quickest when rows with the same beginning stand together.

        ``on_progress`` hears how many itemsets are done.
        """
        n, k = itemsets.shape
        if k == 0:
            return np.repeat(self._records[:, None], n, axis=1)
        rows = itemsets if self._row_of is None else self._row_of[itemsets]
        rows = np.ascontiguousarray(rows, np.int32)
        if k == 1:
            return self._count(rows[:, 0], kernels.count_columns, n).astype(np.int64)
        if k == 2 and n > 1:
            members = np.unique(rows)
            if n >= len(members) * (len(members) - 1) // 4:  # at least half of all pairs: count them all, in tiles
                return self._pairs(rows, members, on_progress)
        order: npt.NDArray[np.int64] | None = None
        if worth_grouping(n, len(kernels.group_starts(rows)) - 1):
            order, rows = grouped(rows)
        counts = np.empty((len(self.strata), n), np.int64)
        for start, stop in slices(n, _CHUNK):
            part = rows[start:stop]
            groups = kernels.group_starts(part)

            def count(columns: Words, itemsets: ItemsetRows, *rest: object, groups: object = groups) -> None:
                kernels.count_groups(columns, itemsets, groups, *rest)

            columns = stop - start + (k - 2) * (len(groups) - 1)  # met with each other, a word at a time
            tell = _between(on_progress, start, stop)
            places = slice(start, stop) if order is None else order[start:stop]
            counts[:, places] = self._count(part, count, stop - start, columns=columns, tell=tell)
        return counts

    def _count(
        self,
        rows: ItemsetRows,
        kernel: Callable[..., None],
        *shape: int,
        columns: int | None = None,
        tell: Callable[[float], None] | None = None,
    ) -> npt.NDArray[np.uint32]:
        """Run a kernel over all blocks on all cores, in pieces of bounded work; ``tell`` hears which part is done.

        A piece counts in a table of the strata that it has, which lie next to each other: one of all strata would take
        longer to clear and to add than a piece of them takes to count.
        """
        total = np.zeros((len(self.strata), *shape), np.uint32)  # no count exceeds the number of records
        adding = Lock()

        def share(part: tuple[int, int]) -> None:
            lo, hi = part
            first, last = self._stratum[lo], self._stratum[hi - 1]
            counts = np.zeros((last - first + 1, *shape), np.uint32)
            kernel(self.columns, rows, self._starts[lo:hi], self._stops[lo:hi], self._stratum[lo:hi] - first, counts)
            with adding:
                total[first : last + 1] += counts

        done = np.concatenate([[0], np.cumsum(self._stops - self._starts)])  # words up to each block
        work = int(done[-1]) * (math.prod(shape) if columns is None else columns)
        n_parts = max(n_threads(), -(-work // _WORK)) if work > _SMALL else 1
        borders = np.searchsorted(done, done[-1] * np.arange(n_parts + 1) / n_parts)
        parts = [(lo, hi) for lo, hi in pairwise(borders.tolist()) if lo < hi]
        parallel_map(share, parts, on_done=None if tell is None else lambda number: tell(number / len(parts)))
        return total

    def _pairs(
        self, rows: ItemsetRows, members: npt.NDArray[np.int32], on_progress: Callable[[int], None] | None
    ) -> Counts:
        """Count all pairs of ``members`` in square tiles and pick out those asked for."""
        counts = np.empty((len(self.strata), len(rows)), np.int64)
        place = np.full(int(members[-1]) + 1, -1, np.int32)
        place[members] = np.arange(len(members), dtype=np.int32)
        left, right = place[rows[:, 0]], place[rows[:, 1]]
        left, right = np.minimum(left, right), np.maximum(left, right)
        tile = (left // _PAIR_SPAN).astype(np.int64) * len(members) + right // _PAIR_SPAN
        order = np.argsort(tile, kind="stable")
        borders = np.flatnonzero(np.diff(tile[order])) + 1
        done = 0
        for wanted in np.split(order, borders):
            i0 = int(left[wanted[0]]) // _PAIR_SPAN * _PAIR_SPAN
            j0 = int(right[wanted[0]]) // _PAIR_SPAN * _PAIR_SPAN
            ours, others = members[i0 : i0 + _PAIR_SPAN], members[j0 : j0 + _PAIR_SPAN]

            def count(
                columns: Words, left: object, *rest: object, others: object = others, same: bool = i0 == j0
            ) -> None:
                kernels.count_pairs(columns, left, others, same, *rest)

            tell = _between(on_progress, done, done + len(wanted))
            table = self._count(ours, count, len(ours), len(others), tell=tell)
            places = (left[wanted] - i0).astype(np.int64) * len(others) + (right[wanted] - j0)
            for into, cells in zip(counts, table, strict=True):
                into[wanted] = cells.ravel()[places]
            done += len(wanted)
        return counts


def _between(tell: Callable[[int], None] | None, start: int, stop: int) -> Callable[[float], None] | None:
    """Tells how many itemsets are done from the part that is done of those from ``start`` to ``stop``."""
    return None if tell is None else lambda part: tell(start + int(part * (stop - start)))


@dataclass(frozen=True)
class _Placed:
    """Where records stand in the words of bitmaps: stratum by stratum, each from a new word on.

    order  record numbers sorted by stratum; None where records stand as they came
    """

    names: list[int]
    sizes: list[int]
    order: npt.NDArray[np.int64] | None

    @classmethod
    def of(cls, strata: npt.NDArray[np.int32] | None, n_records: int) -> _Placed:
        if strata is None or not n_records:
            return cls([0], [n_records], None)
        found, counts = np.unique(strata, return_counts=True)
        order = np.argsort(strata, kind="stable") if len(found) > 1 else None
        return cls(found.tolist(), counts.tolist(), order)

    @cached_property
    def _words(self) -> npt.NDArray[np.int64]:
        """The word at which each stratum starts, and the number of all."""
        return np.cumsum([0, *(-(-size // 64) for size in self.sizes)])

    @property
    def n_words(self) -> int:
        return int(self._words[-1])

    def records(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """The numbers of the records of these words, 64 each; -1 where a word is padded out."""
        if len(self.sizes) == 1 and self.order is None:
            number = np.arange(64 * start, 64 * stop)
            number[max(0, self.sizes[0] - 64 * start) :] = -1
            return number
        words = np.arange(start, stop)
        stratum = np.searchsorted(self._words, words, side="right") - 1
        within = (64 * (words - self._words[stratum]))[:, None] + np.arange(64)
        sizes = np.array(self.sizes)
        number = (np.cumsum(sizes) - sizes)[stratum][:, None] + within
        is_record = within < sizes[stratum][:, None]
        found = np.full(number.shape, -1, np.int64)
        found[is_record] = number[is_record] if self.order is None else self.order[number[is_record]]
        return found.ravel()


def _blocks(
    stratum_records: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Cut the words of every stratum into even blocks: where each starts and stops, and which stratum it is of."""
    starts, stops, stratum = [], [], []
    base = 0
    for number, size in enumerate(stratum_records):
        n_words = -(-int(size) // 64)
        n_blocks = max(1, -(-n_words // _BLOCK_WORDS))
        for start, stop in slices(n_words, max(1, 8 * -(-n_words // (8 * n_blocks)))):
            starts.append(base + start)
            stops.append(base + stop)
            stratum.append(number)
        base += n_words
    return np.array(starts, np.int64), np.array(stops, np.int64), np.array(stratum, np.int64)
