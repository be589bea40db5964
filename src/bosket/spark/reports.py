"""Reports in a Spark session: checked and made into bitmaps in one pass, and counted there."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.collected import Collected, Made, Summed, whole_batch
from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.errors import BosketError, DataError
from bosket.mechanisms.payload import Batch, PackedBits
from bosket.plan import Plan
from bosket.spark.counted import SUMS, added_counts, in_chunks, sums_row
from bosket.spark.encoding import Encoded, encoded_as, unpersist
from bosket.spark.faults import Fault
from bosket.spark.jobs import Frame, collected, persisted
from bosket.spark.report_rows import read_batches, selected
from bosket.spark.summaries import SAID, SEGMENT, Summary, row_of, summed_up
from bosket.threads import use_threads

MOST_BYTES = 1 << 31
"""Most memory of the driver that reports take where all are needed at once."""
_LAYOUT = SAID + ", strata binary, sizes binary, bits binary"
_MOST_TASKS = 256
_MOST_MERGING = 64
"""Tasks that put the numbers of others together."""
_NUMBERS = "n_records long, shape string, counts binary, fault string"
_MOST_BITMAPS = 1 << 29
"""Most bytes of the bitmaps that a worker makes of some reports: as many again while they are written."""
_TOO_WIDE = "Reports must state few enough sizes for their bitmaps to fit in the memory of a worker"

Together = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.int64]]


class SparkReports(Collected):
    """Reports of one plan in a frame; what takes reports by their supports takes it.

    The frame is read once, and what is made of it is kept by the workers until :meth:`close`, or the end of this
    object.
    """

    def __init__(self, frame: Frame, plan: Plan, *, randomness: str) -> None:
        if plan.channel.belong_together:
            raise whole_batch(plan)
        self.plan, self.randomness = plan, randomness
        self._frame = selected(frame, plan)
        self._sums: dict[Hashable, npt.NDArray[np.int64]] = {}

    def close(self) -> None:
        """Have the workers forget the reports."""
        if "_segments" in self.__dict__:
            self._segments.close()

    def __enter__(self) -> SparkReports:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SparkReports({self.n_records} records, {self.plan}, {self.randomness})"

    @cached_property
    def _segments(self) -> Encoded:
        """One pass over the frame: all reports are checked, and their bitmaps kept."""
        plan, frame = self.plan, self._frame

        def job(batches: Iterable[Any]) -> Iterator[Any]:
            return _checked(batches, plan)

        kept = persisted(lambda: frame.mapInArrow(job, _LAYOUT))
        try:
            result = encoded_as(kept, summed_up(kept))
        except BaseException:
            unpersist(kept)
            raise
        self._strata = sorted(result.met)
        self._records = {stratum: result.met[stratum].count for stratum in self._strata}
        return result

    @property
    def n_records(self) -> int:
        return self._segments.n_records

    @property
    def n_rows(self) -> int:
        return self.n_records

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        return np.ones(self.n_records, np.int64)

    @property
    def multiplicities(self) -> None:
        return None

    @property
    def batch(self) -> Batch:
        """All reports in the memory of the driver; refused where they would take more than 2 GiB."""
        return self.fetched(MOST_BYTES)

    def fetched(self, max_bytes: int | None) -> Batch:
        """All reports, in no certain order."""
        needed = self.n_records * sum(column.memory for column in self.channel.payload.columns)
        if max_bytes is not None and needed > max_bytes:
            raise DataError(
                f"These {self.n_records} reports would take {needed} bytes of memory, more than {max_bytes}.",
                hint="What needs all reports at once, such as a law of bits, can be left out: model=None.",
            )
        rows = collected(lambda: self._frame)
        parts = [batch for _, batch, _ in read_batches(rows.to_batches(), self.plan) if batch is not None]
        found = Batch.concat(parts) if parts else self._no_reports
        if len(found) != self.n_records:
            raise changing(self.n_records, len(found))
        return found

    @property
    def _no_reports(self) -> Batch:
        payload = self.channel.payload
        return payload.from_rows(np.zeros((0, payload.width), np.uint8))

    @property
    def strata_shown(self) -> tuple[int, ...] | None:
        if self.channel.payload.strata(self._no_reports) is None:
            return None
        assert self.n_records is not None  # all reports were looked at
        return tuple(self._strata)

    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        payload = self.channel.payload
        if not self.n_records:
            return payload.counter(self._no_reports)
        if isinstance(payload, PackedBits):
            return SparkBitmaps(self._segments, self._records, payload.n_items)
        return self.counter_by("items", lambda batch, _: payload.counter(batch))

    def counter_by(self, what: Hashable, make: Made) -> Counter:
        return SparkMade(self._segments, self._frame, self.plan, make)

    def summed(self, what: Hashable, of: Summed) -> npt.NDArray[np.int64]:
        if what not in self._sums:
            if not self.n_records:
                return of(self._no_reports, None)
            n_tasks = self._segments.n_partitions
            total, n = _summed(self._frame, self.plan, lambda batch: of(batch, None), n_tasks=n_tasks)
            if n != self.n_records:
                raise changing(self.n_records, n)
            self._sums[what] = total
        return self._sums[what].copy()


class SparkBitmaps:
    """A :class:`~bosket.counting.base.Counter` over bitmaps that workers keep."""

    def __init__(self, segments: Encoded, records: dict[int, int], n_items: int) -> None:
        self._segments, self._by_stratum, self._n_items = segments, records, n_items
        self.strata = tuple(records)
        self.n_records = segments.n_records

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        n, size = itemsets.shape
        if size == 0:
            return np.repeat(np.array(list(self._by_stratum.values()), np.int64)[:, None], n, axis=1)
        result = np.zeros((len(self.strata), n), np.int64)
        tasks = min(self._segments.n_partitions, _MOST_TASKS)
        for chunk in in_chunks([n], tasks * len(self.strata)):
            _, start, stop = chunk[0]
            job = _counting(np.ascontiguousarray(itemsets[start:stop]), self.strata, self._n_items)
            total, found = added_counts(
                self._segments.map(job, SUMS, most_tasks=tasks), len(self.strata) * (stop - start)
            )
            if found != self.n_records:
                raise changing(self.n_records, found)
            result[:, start:stop] = total.reshape(len(self.strata), -1)
            if on_progress is not None:
                on_progress(stop)
        return result


class SparkMade:
    """A counter that workers make of the reports for every look."""

    def __init__(self, segments: Encoded, frame: Frame, plan: Plan, make: Made) -> None:
        self.n_records, self._n_tasks = segments.n_records, segments.n_partitions
        self._frame, self._plan, self._make = frame, plan, make

    @cached_property
    def strata(self) -> tuple[int, ...]:
        make = self._make

        def of(batch: Batch) -> npt.NDArray[np.int64]:
            return np.array(make(batch, None).strata, np.int64)

        rows = _mapped(self._frame, self._plan, of, np.union1d, n_tasks=self._n_tasks)
        found = {one for counts in rows["counts"] for one in np.frombuffer(counts.as_buffer(), np.int64).tolist()}
        return tuple(sorted(found)) or (0,)

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        make, strata = self._make, self.strata
        if not self.n_records:  # then no task has a shape to tell
            return np.zeros((len(strata), len(itemsets)), np.int64)

        def of(batch: Batch) -> npt.NDArray[np.int64]:
            counter = make(batch, None)
            total = np.zeros((len(strata), len(itemsets)), np.int64)
            total[[strata.index(stratum) for stratum in counter.strata]] += counter.supports(itemsets)
            return total

        total, found = _summed(self._frame, self._plan, of, n_tasks=self._n_tasks)
        if found != self.n_records:
            raise changing(self.n_records, found)
        if on_progress is not None:
            on_progress(len(itemsets))
        return total


def _checked(batches: Iterable[Any], plan: Plan) -> Iterator[Any]:
    """On a worker: reports as segments of bitmaps, or just as numbers of them where they are no bits."""
    summary, payload = Summary.of_task(), plan.channel.payload
    with use_threads(1):
        for row, batch, faults in read_batches(batches, plan):
            n, strata, sizes, bits = 0, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64)
            if batch is not None and isinstance(payload, PackedBits) and payload.bitmap_bytes(batch) > _MOST_BITMAPS:
                faults, batch = [Fault(_TOO_WIDE, len(batch), 0)], None
            if batch is not None:
                n = len(batch)
            if batch is not None and isinstance(payload, PackedBits):
                bitmaps = payload.counter(batch)
                strata, bits = np.array(bitmaps.strata, np.int64), bitmaps.columns
                sizes = bitmaps.supports(np.empty((1, 0), np.int32))[:, 0]
            elif batch is not None:
                shown = payload.strata(batch)
                strata, sizes = np.unique(np.zeros(n, np.int64) if shown is None else shown, return_counts=True)
            later = [replace(one, row=row + one.row) for one in faults]
            summary.add(n, 0, strata.tolist(), sizes, np.full(len(strata), row, np.int64), later)
            if isinstance(payload, PackedBits):
                known = {"strata": strata.astype(np.int64), "sizes": sizes.astype(np.int64), "bits": bits}
                yield row_of(_LAYOUT, kind=SEGMENT, part=summary.part, n_records=n, **known)
    yield from summary.rows(_LAYOUT)


def _counting(itemsets: ItemsetRows, strata: tuple[int, ...], n_items: int) -> Callable[..., Iterator[Any]]:
    place_of = {stratum: row for row, stratum in enumerate(strata)}

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        with use_threads(1):
            total = np.zeros((len(strata), len(itemsets)), np.int64)
            n = 0
            for batch in batches:
                columns = {
                    name: batch.column(batch.schema.get_field_index(name)) for name in ("strata", "sizes", "bits")
                }
                for at in range(batch.num_rows):
                    own, sizes = (
                        np.frombuffer(columns[name][at].as_buffer(), np.int64).tolist() for name in ("strata", "sizes")
                    )
                    words = np.frombuffer(columns["bits"][at].as_buffer(), np.uint64).reshape(n_items, -1)
                    bitmaps = Bitmaps(words, strata=own, stratum_records=sizes)
                    total[[place_of[stratum] for stratum in own]] += bitmaps.supports(itemsets)
                    n += sum(sizes)
            yield sums_row(n, total)

    return job


def _mapped(
    frame: Frame,
    plan: Plan,
    of: Callable[[Batch], npt.NDArray[np.int64]],
    put: Together = np.add,
    *,
    n_tasks: int,
) -> Any:
    """Numbers that each task makes of its reports: those of its batches added, or put together in another way.

    Of many tasks, workers put the numbers together too, after a shuffle: fewer tasks would have to compute the whole
    frame, with all that its owner does in it.
    """

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        held: npt.NDArray[np.int64] | None = None
        n = 0
        with use_threads(1):
            for _, batch, _ in read_batches(batches, plan):
                if batch is None:
                    continue  # the number of reports tells
                try:
                    numbers = of(batch)
                except BosketError as problem:
                    fault = {"text": str(problem), "hint": problem.hint}
                    yield _numbers_row(len(batch), np.empty(0, np.int64), json.dumps(fault))
                    return
                held, n = numbers if held is None else put(held, numbers), n + len(batch)
        if held is not None:
            yield _numbers_row(n, held, None)

    def made() -> Frame:
        numbers = frame.mapInArrow(job, _NUMBERS)
        if n_tasks <= _MOST_TASKS:
            return numbers
        return numbers.repartition(_MOST_MERGING).mapInArrow(_putting(put), _NUMBERS)

    rows = collected(made)
    for text in rows["fault"].to_pylist():
        if text is not None:
            fault = json.loads(text)
            raise DataError(fault["text"], hint=fault["hint"])
    return rows


def _putting(put: Together) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Puts the numbers of some tasks together; of those that failed, the first is enough."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        held: npt.NDArray[np.int64] | None = None
        n = 0
        for batch in batches:
            for at in range(batch.num_rows):
                row = batch.slice(at, 1)
                count, shape, counts, fault = (column[0] for column in row.columns)
                if fault.is_valid:
                    yield row
                    return
                numbers = np.frombuffer(counts.as_buffer(), np.int64).reshape(json.loads(shape.as_py()))
                held, n = numbers if held is None else put(held, numbers), n + count.as_py()
        if held is not None:
            yield _numbers_row(n, held, None)

    return job


def _numbers_row(n: int, total: npt.NDArray[np.int64], fault: str | None) -> Any:
    return pa.record_batch(
        {
            "n_records": pa.array([n], pa.int64()),
            "shape": pa.array([json.dumps(total.shape)], pa.string()),
            "counts": pa.array([total.astype(np.int64).tobytes()], pa.binary()),
            "fault": pa.array([fault], pa.string()),
        }
    )


def _summed(
    frame: Frame, plan: Plan, of: Callable[[Batch], npt.NDArray[np.int64]], *, n_tasks: int
) -> tuple[npt.NDArray[np.int64], int]:
    rows = _mapped(frame, plan, of, n_tasks=n_tasks)
    if not rows.num_rows:  # all reports that were there are gone
        return np.zeros(0, np.int64), 0
    shape = json.loads(rows["shape"][0].as_py())
    total, n = added_counts(rows, int(np.prod(shape, dtype=np.int64)))
    return total.reshape(shape), n


def changing(before: int, now: int) -> DataError:
    """The error for a frame that is not the same each time it is computed."""
    return DataError(
        f"The frame had {before} reports at first and {now} later: it is not the same each time it is computed.",
        hint="Write it to files, or checkpoint it, before it is mined.",
    )
