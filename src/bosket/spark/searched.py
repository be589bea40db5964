"""What tasks find in their own records, and what follows for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.counting.base import ItemsetRows
from bosket.errors import TooManyCandidatesError
from bosket.mining.exact import exact_itemsets
from bosket.spark.segments import Job, PlaceOf, gathered, kept
from bosket.threads import use_threads

FOUND = "n_records long, size int, items binary, counts binary"
"""Rows that a task gives: one for each size; one of size 0 says how many records it has, of -1 that it gave up."""
_ROOM = 4  # times as many itemsets of a size may be found in a task as may be frequent in all


def local_limit(min_count: int, n_here: int, n_records: int) -> int:
    """The count that a task with ``n_here`` of the records looks for where all are to reach ``min_count``.

    Some task reaches its share of it, rounded upwards.  A task looks a little further, three standard deviations of a
    count by chance or a tenth: then all tasks find what is frequent in all records, but for a few in ten thousand, and
    nothing is left to be counted in a job of its own.

    >>> local_limit(7, 50, 100), local_limit(1, 50, 100), local_limit(20_000, 50, 100)
    (4, 1, 9700)
    """
    share = -(-min_count * n_here // n_records)
    return share - min(3 * math.isqrt(share), share // 10)


def searching_job(
    places: PlaceOf,
    keep: npt.NDArray[np.bool_],
    n_records: int,
    min_count: int,
    max_size: int | None,
    max_itemsets: int,
) -> Job:
    """Mines the records of a task; ``keep`` says which items are frequent among all records."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        with use_threads(1):
            indptr, items = gathered(list(kept(batches)), places, keep)
            n = len(indptr) - 1
            yield _row(n, 0)
            if n == 0:
                return
            try:
                levels = exact_itemsets(
                    indptr,
                    items,
                    len(keep),
                    min_count=local_limit(min_count, n, n_records),
                    max_size=max_size,
                    max_itemsets=_ROOM * max_itemsets,
                )
            except TooManyCandidatesError:
                yield _row(n, -1)
                return
            for rows, counts in levels[1:]:
                yield _row(n, rows.shape[1], rows, counts)

    return job


def _row(n: int, size: int, rows: Any = b"", counts: Any = b"") -> Any:
    return pa.record_batch(
        {
            "n_records": pa.array([n], pa.int64()),
            "size": pa.array([size], pa.int32()),
            "items": pa.array([bytes(rows)], pa.binary()),
            "counts": pa.array([bytes(counts)], pa.binary()),
        }
    )


@dataclass
class FoundLevel:
    """Itemsets of one size that tasks found: the sums of their counts, and which of these lack a task's."""

    rows: ItemsetRows
    counts: npt.NDArray[np.int64]
    doubtful: npt.NDArray[np.bool_]


@dataclass
class Found:
    """Itemsets of two items and more, by size, and how many records were looked at."""

    levels: list[FoundLevel]
    n_records: int


def merged(rows: Any, n_records: int, min_count: int) -> Found | None:
    """What all tasks found together; None where one of them gave up.

    A task that has not found an itemset may have hidden one less than its limit; where all that may be hidden is too
    little, the itemset is left out.
    """
    sizes, numbers = rows["size"].to_numpy(), rows["n_records"].to_numpy()
    if (sizes == -1).any():
        return None
    hidden = {int(n): local_limit(min_count, int(n), n_records) - 1 for n in set(numbers[sizes == 0].tolist()) if n}
    all_hidden = sum(hidden[int(n)] for n in numbers[sizes == 0] if n)
    n_tasks = int((numbers[sizes == 0] > 0).sum())
    levels = []
    for size in range(2, int(sizes.max(initial=0)) + 1):
        at = np.flatnonzero(sizes == size).tolist()
        parts = [np.frombuffer(rows["items"][one].as_buffer(), np.int32).reshape(-1, size) for one in at]
        if not parts:
            break
        known = np.concatenate([np.frombuffer(rows["counts"][one].as_buffer(), np.int64) for one in at])
        shown = np.repeat([hidden[int(numbers[one])] for one in at], [len(part) for part in parts])
        distinct, inverse = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        counts = np.zeros(len(distinct), np.int64)
        may_hide = np.full(len(distinct), all_hidden, np.int64)
        np.add.at(counts, inverse, known)
        np.subtract.at(may_hide, inverse, shown)
        by_all = np.bincount(inverse, minlength=len(distinct)) == n_tasks
        keep = np.where(by_all, counts, counts + may_hide) >= min_count
        levels.append(FoundLevel(distinct[keep].astype(np.int32), counts[keep], ~by_all[keep]))
    return Found(levels, int(numbers[sizes == 0].sum()))
