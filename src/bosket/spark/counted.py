"""Counts on the workers: candidates travel with a job, and sums come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.counting.base import ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.data.baskets.rows import Offsets
from bosket.data.domain import ItemIds
from bosket.mining.record_kernels import pack_chunk
from bosket.spark.segments import PlaceOf, read
from bosket.spark.summaries import Job
from bosket.threads import slices, use_threads

SUMS = "n_records long, counts binary"
MOST_COUNTS = 1 << 25
"""Most counts that come back from all tasks of a job: 256 MiB."""


def in_chunks(sizes: Sequence[int], tasks: int) -> Iterator[list[tuple[int, int, int]]]:
    """Which candidates are counted together: of each list some, as (number of the list, start, stop)."""
    room = max(1, MOST_COUNTS // max(1, tasks))
    chunk: list[tuple[int, int, int]] = []
    held = 0
    for at, size in enumerate(sizes):
        start = 0
        while start < size:
            stop = min(size, start + room - held)
            chunk.append((at, start, stop))
            held, start = held + stop - start, stop
            if held == room:
                yield chunk
                chunk, held = [], 0
    if chunk:
        yield chunk


def counting_job(places: PlaceOf, n_items: int, wanted: Sequence[ItemsetRows]) -> tuple[Job, str]:
    """Counts itemsets, of one size in each array, in the records of a task."""
    used = np.unique(np.concatenate([rows.ravel() for rows in wanted])).astype(np.int32)
    rank_of = np.full(n_items, len(used), np.uint32)
    rank_of[used] = np.arange(len(used), dtype=np.uint32)
    rows_by_rank = [rank_of[rows].astype(np.int32) for rows in wanted]

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        with use_threads(1):
            total = np.zeros(sum(map(len, rows_by_rank)), np.int64)
            n = 0
            for indptr, items in read(batches, places):
                bitmaps = vertical(indptr, items, rank_of, len(used))
                total += np.concatenate([bitmaps.supports(rows)[0] for rows in rows_by_rank])
                n += len(indptr) - 1
            yield sums_row(n, total)

    return job, SUMS


def vertical(indptr: Offsets, items: ItemIds, rank_of: npt.NDArray[np.uint32], n_used: int) -> Bitmaps:
    """The bitmaps of some items of a segment."""
    n = len(indptr) - 1
    columns = np.zeros((n_used, -(-n // 64)), np.uint64)
    for start, stop in slices(n, 1 << 13):
        pack_chunk(indptr, items, rank_of, start, stop, columns)
    return Bitmaps(columns, strata=(0,), stratum_records=(n,))


def sums_row(n: int, total: npt.NDArray[np.int64]) -> Any:
    return pa.record_batch({"n_records": pa.array([n], pa.int64()), "counts": pa.array([total.tobytes()], pa.binary())})


def added_counts(rows: Any, n_counts: int) -> tuple[npt.NDArray[np.int64], int]:
    """The sums over all tasks, and the number of records that they are of."""
    total = np.zeros(n_counts, np.int64)
    for counts in rows["counts"]:
        total += np.frombuffer(counts.as_buffer(), np.int64)
    return total, int(np.sum(rows["n_records"].to_numpy(), dtype=np.int64))
