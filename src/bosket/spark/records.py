"""Raw records in a Spark session, mined exactly: in at most three jobs, whatever the number of sizes.

1. One pass over the frame makes segments, which the workers keep, and tells which items occur, and how often.
2. Every task mines its own records (Savasere, Omiecinski and Navathe, "An efficient algorithm for mining association
   rules in large databases", VLDB 1995).  An itemset in c of all N records is in at least c n / N of the n records of
   some task, so that nothing frequent is missed where a task looks for ceil(c n / N), or for a little less, as it does.
3. What some tasks have not found is counted in all of them, unless what they may have hidden, less than their own
   limit each, cannot make it frequent.  Seldom anything is, where records stand in no order.

A frame that is mined once is mostly mined in one job: where the search is known before the frame is read, a task does
2 with the records that it has just read for 1, and keeps none of them (:mod:`bosket.spark.surveying`).  Tasks that have
too few records for that keep them, for a job of their own, and if 3 is needed the frame is read again.

Where a task would find too many, sizes are counted one by one instead, in a job each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.data import Domain
from bosket.data.domain import ItemIds
from bosket.errors import DataError
from bosket.evidence.raw import ExactLevels, RawRecords, Sought
from bosket.limits import least_count
from bosket.mining.candidates import next_candidates
from bosket.mining.exact import too_many_itemsets
from bosket.mining.exact_order import in_search_order
from bosket.spark.counted import added_counts, counting_job, in_chunks
from bosket.spark.encoding import Encoded, item_counts
from bosket.spark.searched import (
    FOUND,
    LEAST_LOCAL,
    Findings,
    FoundLevel,
    merged,
    searching_job,
    told_by_search,
    told_by_survey,
)

_MOST_TASKS = 256
_MOST_ENTRIES = 1 << 27
"""Most items of records that one task holds where all must be in one: a gigabyte with what is made of them."""


class SparkRecords(RawRecords):
    """A :class:`~bosket.evidence.raw.RawRecords` of a Spark session; :meth:`close` gives its memory back."""

    def __init__(self, encoded: Encoded, domain: Domain, places: dict[Any, int]) -> None:
        self.encoded, self.places = encoded, places
        self._domain = domain
        self.counts = item_counts(encoded.met, places, len(domain))

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def n_records(self) -> int:
        return self.encoded.n_records

    def item_counts(self) -> npt.NDArray[np.int64]:
        return self.counts.copy()

    @cached_property
    def segments(self) -> Encoded:
        """All records as the workers keep them; read again where tasks looked at them and kept none."""
        looked = self.encoded.looked
        if looked is None or not looked.tasks:
            return self.encoded
        again = looked.again()
        self._check(again.n_records)
        return again

    def close(self) -> None:
        """Have the workers forget the records."""
        self.encoded.close()
        if "segments" in self.__dict__:
            self.segments.close()

    def __repr__(self) -> str:
        return f"SparkRecords({self.n_records} records, {len(self.domain)} items)"

    def counter(self, items: ItemIds | None = None) -> SparkRecordCounter:
        return SparkRecordCounter(self)

    def count(self, itemsets: Sequence[ItemsetRows]) -> list[npt.NDArray[np.int64]]:
        """Supports of itemsets, all of them in as few jobs as there is room for."""
        return self._counts_in(self.segments, itemsets)

    def _counts_in(self, segments: Encoded, itemsets: Sequence[ItemsetRows]) -> list[npt.NDArray[np.int64]]:
        results = [np.zeros(len(rows), np.int64) for rows in itemsets]
        tasks = min(segments.n_partitions, _MOST_TASKS)
        for chunk in in_chunks([len(rows) for rows in itemsets], tasks):
            wanted = [itemsets[at][start:stop] for at, start, stop in chunk]
            job, layout = counting_job(self.places, len(self.domain), wanted)
            total, n = added_counts(segments.map(job, layout, most_tasks=tasks), sum(map(len, wanted)))
            self._check(n + self.n_records - segments.n_records)
            begin = 0
            for at, start, stop in chunk:
                results[at][start:stop] = total[begin : begin + stop - start]
                begin += stop - start
        return results

    def _check(self, n_records: int) -> None:
        if n_records != self.n_records:
            raise DataError(
                f"The frame had {self.n_records} records at first and {n_records} later: it is not the same each time "
                "it is computed.",
                hint="Write it to a table or checkpoint it before it is mined.",
            )

    def frequent_itemsets(
        self,
        *,
        min_count: int,
        max_size: int | None,
        max_itemsets: int,
        items: ItemIds | None = None,
        on_done: Callable[[float], None] | None = None,
    ) -> ExactLevels:
        tell = on_done or (lambda _: None)
        counts = self.counts_of(items)
        keep = counts >= min_count
        single = np.flatnonzero(keep).astype(np.int32)
        if len(single) > max_itemsets:
            raise too_many_itemsets(1, len(single), max_itemsets)
        levels: ExactLevels = [(single[:, None], counts[single])] if len(single) else []
        tell(0.2)
        if len(single) > 1 and max_size != 1:
            told = self._told(keep, min_count, max_size, max_itemsets, of_all=items is None)
            tell(0.7)
            if told is None:
                levels += self._by_size(single, min_count, max_size, max_itemsets)
            else:
                levels += self._counted(told, keep, min_count, max_itemsets)
        tell(0.95)
        result = in_search_order(levels, len(counts))
        tell(1.0)
        return result

    def _told(
        self, keep: npt.NDArray[np.bool_], min_count: int, max_size: int | None, max_itemsets: int, *, of_all: bool
    ) -> Findings | None:
        """What tasks found as they read, or find in what they keep; None where that would be too much."""
        told, kept = None, self.encoded
        looked = kept.looked
        if looked is not None and looked.found is not None and of_all:
            sought = Sought(looked.sought.min_support, max_size, max_itemsets)
            if sought == looked.sought and least_count(sought.min_support, self.n_records) == min_count:
                kept = looked.rest
                told = told_by_survey(looked.found, looked.tasks, kept.n_records, self.places)
        if told is None:
            return self._searched(self.segments, keep, min_count, max_size, max_itemsets)
        if told.hidden < min_count:  # as it is where all looked
            return told
        others = self._searched(kept, keep, min_count, max_size, max_itemsets)
        return None if others is None else told.and_of(others)

    def _searched(
        self, segments: Encoded, keep: npt.NDArray[np.bool_], min_count: int, max_size: int | None, max_itemsets: int
    ) -> Findings | None:
        """What tasks find in the records of segments; None where that would be too much."""
        share = min_count * segments.n_records // max(1, self.n_records)
        tasks = max(1, min(segments.n_partitions, share // LEAST_LOCAL, _MOST_TASKS))
        if tasks < min(segments.n_partitions, 2):
            if int(self.counts[keep].sum()) * segments.n_records // self.n_records > _MOST_ENTRIES:
                return None
            tasks = 1  # what few records make frequent is looked for where all are
        job = searching_job(self.places, keep, self.n_records, min_count, max_size, max_itemsets)
        told = told_by_search(segments.map(job, FOUND, most_tasks=tasks))
        if told is not None:
            self._check(told.n_records + self.n_records - segments.n_records)
        return told

    def _counted(self, told: Findings, keep: npt.NDArray[np.bool_], min_count: int, max_itemsets: int) -> ExactLevels:
        """The levels, with what was not found everywhere counted in all records, and the rest where nobody looked."""
        found = merged(told, keep, min_count)
        doubtful = [level.doubtful for level in found]
        if any(mask.any() for mask in doubtful):
            for level, mask, counts in _chosen(found, doubtful, self.count):
                level.counts[mask] = counts
        looked = self.encoded.looked
        if told.unsearched and looked is not None:
            sure = [~mask for mask in doubtful]
            for level, mask, counts in _chosen(found, sure, lambda rows: self._counts_in(looked.rest, rows)):
                level.counts[mask] += counts
        levels: ExactLevels = []
        for level in found:
            is_frequent = level.counts >= min_count
            number = int(is_frequent.sum())
            if number > max_itemsets:
                raise too_many_itemsets(level.rows.shape[1], number, max_itemsets)
            if not number:
                break
            levels.append((np.ascontiguousarray(level.rows[is_frequent]), level.counts[is_frequent]))
        return levels

    def _by_size(self, single: ItemIds, min_count: int, max_size: int | None, max_itemsets: int) -> ExactLevels:
        """Apriori, a job for each size."""
        levels: ExactLevels = []
        index = ItemsetIndex(single[:, None])
        for _ in range(2, len(single) + 1 if max_size is None else max_size + 1):
            rows = next_candidates(index, max_candidates=max_itemsets, groups=self.domain.groups)
            counts = self.count([rows])[0]
            is_frequent = counts >= min_count
            if not is_frequent.any():
                break
            levels.append((np.ascontiguousarray(rows[is_frequent]), counts[is_frequent]))
            index = ItemsetIndex(levels[-1][0])
        return levels


def _chosen(
    levels: list[FoundLevel],
    masks: list[npt.NDArray[np.bool_]],
    count: Callable[[list[ItemsetRows]], list[npt.NDArray[np.int64]]],
) -> Iterator[tuple[FoundLevel, npt.NDArray[np.bool_], npt.NDArray[np.int64]]]:
    """The counts of some itemsets of each level."""
    rows = [np.ascontiguousarray(level.rows[mask]) for level, mask in zip(levels, masks, strict=True)]
    return zip(levels, masks, count(rows), strict=True)


class SparkRecordCounter:
    """A :class:`~bosket.counting.base.Counter` of raw records, in one stratum."""

    strata = (0,)

    def __init__(self, records: SparkRecords) -> None:
        self._records = records
        self.n_records = records.n_records

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        n, size = itemsets.shape
        if size == 0:
            return np.full((1, n), self.n_records, np.int64)
        if size == 1:
            return self._records.counts[itemsets[:, 0]][None, :]
        counts = self._records.count([itemsets])[0]
        if on_progress is not None:
            on_progress(n)
        return counts[None, :]
