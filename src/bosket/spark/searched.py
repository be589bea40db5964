"""What tasks find in their own records, and what follows for all of them."""

from __future__ import annotations

import json
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
from bosket.spark.segments import PlaceOf, gathered, kept
from bosket.spark.summaries import Job, key_of
from bosket.threads import use_threads

FOUND = "n_records long, hidden long, size int, items binary, counts binary"
"""Rows that a task gives: one for each size; one of size 0 says how many records it has, of -1 that it gave up.

``hidden``: in how many of them at most an itemset is that it did not find."""
LEAST_LOCAL = 24
"""The fewest records that a task looks for: below that, chance makes too much frequent."""
_ROOM = 4  # times as many itemsets of a size may be found in a task as may be frequent in all


def local_limit(min_count: int, n_here: int, n_records: int) -> int:
    """The count that a task with ``n_here`` of the records looks for where all are to reach ``min_count``.

    Some task reaches its share of it, rounded upwards.

    >>> local_limit(7, 50, 100), local_limit(1, 50, 100), local_limit(20_000, 50, 100)
    (4, 1, 9700)
    """
    return below(-(-min_count * n_here // n_records))


def below(share: int) -> int:
    """A little less than the share of a task: three standard deviations of a count by chance, or a tenth.

    Then all tasks find what is frequent in all records, but for a few in ten thousand, and nothing is left to be
    counted in a job of its own.
    """
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
            if n == 0:
                return
            limit = local_limit(min_count, n, n_records)
            yield _row(n, limit, 0)
            try:
                levels = exact_itemsets(
                    indptr,
                    items,
                    len(keep),
                    min_count=limit,
                    max_size=max_size,
                    max_itemsets=_ROOM * max_itemsets,
                )
            except TooManyCandidatesError:
                yield _row(n, limit, -1)
                return
            for rows, counts in levels[1:]:
                yield _row(n, limit, rows.shape[1], rows, counts)

    return job


def _row(n: int, limit: int, size: int, rows: Any = b"", counts: Any = b"") -> Any:
    return pa.record_batch(
        {
            "n_records": pa.array([n], pa.int64()),
            "hidden": pa.array([limit - 1], pa.int64()),
            "size": pa.array([size], pa.int32()),
            "items": pa.array([bytes(rows)], pa.binary()),
            "counts": pa.array([bytes(counts)], pa.binary()),
        }
    )


@dataclass(frozen=True)
class FoundBy:
    """Itemsets of one size that a task found; ``hidden`` is its own."""

    hidden: int
    rows: ItemsetRows
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Findings:
    """What tasks found in their own records.

    ``tasks``: of each that looked how many records it has, and in how many of them at most an itemset is that it did
    not find.  ``unsearched``: how many records nobody looked at.
    """

    tasks: list[tuple[int, int]]
    found: list[FoundBy]
    unsearched: int = 0

    @property
    def n_records(self) -> int:
        return sum(n for n, _ in self.tasks) + self.unsearched

    @property
    def hidden(self) -> int:
        """In how many records at most an itemset is that no task found."""
        return sum(hidden for _, hidden in self.tasks) + self.unsearched

    def and_of(self, others: Findings) -> Findings:
        """With the unsearched records searched by others."""
        return Findings(self.tasks + others.tasks, self.found + others.found)


def told_by_search(rows: Any) -> Findings | None:
    """What the tasks of :func:`searching_job` found; None where one of them gave up."""
    table = [rows[name].to_pylist() for name in ("n_records", "hidden", "size")]
    tasks, found = [], []
    for at, (n, hidden, size) in enumerate(zip(*table, strict=True)):
        if size == -1:
            return None
        if size == 0:
            tasks.append((n, hidden))
        else:
            found.append(
                FoundBy(
                    hidden,
                    np.frombuffer(rows["items"][at].as_buffer(), np.int32).reshape(-1, size),
                    np.frombuffer(rows["counts"][at].as_buffer(), np.int64),
                )
            )
    return Findings(tasks, found)


def told_by_survey(rows: Any, tasks: list[tuple[int, int]], unsearched: int, places: PlaceOf) -> Findings:
    """What tasks found while they read, over the domain; the numbers of their items are places among labels."""
    names, labels = ("part", "hidden", "size"), rows["labels"].to_pylist()
    items = {
        part: np.array([places[key_of(label)] for label in json.loads(text)], np.int32)
        for part, text in zip(rows["part"].to_pylist(), labels, strict=True)
        if text is not None
    }
    found = []
    for at, (part, hidden, size) in enumerate(zip(*(rows[name].to_pylist() for name in names), strict=True)):
        numbers = np.frombuffer(rows["itemsets"][at].as_buffer(), np.int32).reshape(-1, size)
        counts = np.frombuffer(rows["supports"][at].as_buffer(), np.int64)
        found.append(FoundBy(hidden, np.sort(items[part][numbers], axis=1), counts))
    return Findings(tasks, found, unsearched)


@dataclass
class FoundLevel:
    """Itemsets of one size that tasks found: the sums of their counts, and which of these lack a task's."""

    rows: ItemsetRows
    counts: npt.NDArray[np.int64]
    doubtful: npt.NDArray[np.bool_]


def merged(told: Findings, keep: npt.NDArray[np.bool_], min_count: int) -> list[FoundLevel]:
    """Itemsets of two frequent items and more, by size, that tasks found and that may be frequent in all records.

    A task that has not found an itemset may have hidden some records of it; where all that may be hidden is too
    little, the itemset is left out.
    """
    levels = []
    for size in range(2, max((one.rows.shape[1] for one in told.found), default=0) + 1):
        parts = [one for one in told.found if one.rows.shape[1] == size]
        shown = np.repeat([one.hidden for one in parts], [len(one.rows) for one in parts])
        distinct, inverse = np.unique(np.concatenate([one.rows for one in parts]), axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        counts = np.zeros(len(distinct), np.int64)
        may_hide = np.full(len(distinct), told.hidden, np.int64)
        np.add.at(counts, inverse, np.concatenate([one.counts for one in parts]))
        np.subtract.at(may_hide, inverse, shown)
        by_all = np.bincount(inverse, minlength=len(distinct)) == len(told.tasks)
        chosen = keep[distinct].all(axis=1) & (counts + may_hide >= min_count)
        levels.append(FoundLevel(distinct[chosen].astype(np.int32), counts[chosen], ~by_all[chosen]))
    return levels
