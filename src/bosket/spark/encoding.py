"""A frame as segments that the workers keep, and what is known of all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.errors import DataError
from bosket.evidence.raw import Sought
from bosket.spark.faults import place, times
from bosket.spark.jobs import Frame, collected, persisted, started
from bosket.spark.segments import LAYOUT, RowShape, encoded
from bosket.spark.summaries import FOUND, NUMBERS, SEGMENT, Job, Met, ToldByAll, at_once, summed_up
from bosket.spark.surveying import FOUND_ROWS, SURVEY, SURVEYED, surveyed

_MOST_TOLD = 1 << 28
"""Most bytes of what all tasks found that come to the driver."""


@dataclass
class Encoded:
    """Segments on the workers; :meth:`close`, or the end of this object, gives their memory back."""

    frame: Frame
    n_records: int
    n_partitions: int
    longest: int
    met: dict[Any, Met] = field(default_factory=dict)
    looked: Survey | None = None

    def __post_init__(self) -> None:
        self._forget = finalize(self, unpersist, self.frame)
        self._forget.atexit = False  # the session may be gone by then, and takes all with it

    def close(self) -> None:
        self._forget()

    @property
    def segments(self) -> Frame:
        """The segments alone, without what tasks said of them."""
        return started(lambda: self.frame.where(f"kind = {SEGMENT}"))

    def map(self, job: Job, layout: str, *, most_tasks: int | None = None) -> Any:
        """Run a job over all segments; the rows that it gives, as Arrow."""
        frame = self.segments
        if most_tasks is not None and most_tasks < self.n_partitions:
            frame = started(lambda: self.segments.coalesce(most_tasks))
        return collected(lambda: frame.mapInArrow(job, layout))


@dataclass
class Survey:
    """What tasks found while they read; those that looked have kept no segments.

    ``tasks``: of each that looked how many records it has, and in how many of them an itemset may be that it did not
    find.  ``found``: rows of what they found; None where that is too much to be asked for.  ``rest``: the segments of
    those that did not look.  ``again``: reads all records, and keeps them.
    """

    sought: Sought
    tasks: list[tuple[int, int]]
    found: Any
    rest: Encoded
    again: Callable[[], Encoded]


def encode(frame: Frame, shape: RowShape, sought: Sought | None = None) -> Encoded:
    """One pass over a frame: its segments, kept on the workers, and what occurs in them.

    With ``sought``, tasks look for it in what they read, where they can, and keep no segments then.
    """

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        return encoded(batches, shape) if sought is None else surveyed(batches, shape, sought)

    kept = persisted(lambda: frame.mapInArrow(job, LAYOUT if sought is None else SURVEYED))
    try:
        told = summed_up(kept, "" if sought is None else SURVEY)
        result = encoded_as(kept, told)
        if sought is not None:
            result.looked = _looked(kept, sought, told, lambda: encode(frame, shape))
    except BaseException:
        unpersist(kept)
        raise
    return result


def encoded_as(kept: Frame, told: ToldByAll) -> Encoded:
    """Segments on the workers, of which this was told."""
    return Encoded(kept, told.n_records, told.n_tasks, told.longest, told.met)


def _looked(kept: Frame, sought: Sought, told: ToldByAll, again: Callable[[], Encoded]) -> Survey:
    """Which tasks looked, and what they found; more of it is asked for where it did not come by itself."""
    numbers, found = told.of_kind(NUMBERS), told.of_kind(FOUND)
    here = set(found["part"].to_pylist())
    tasks: list[tuple[int, int]] = []
    unsearched, missing = [], 0
    names = ("part", "n_records", "hidden", "found_bytes")
    for part, n, hidden, n_bytes in zip(*(numbers[name].to_pylist() for name in names), strict=True):
        if hidden is None:
            unsearched.append(n)
        else:
            tasks.append((n, hidden))
            missing += 0 if part in here else n_bytes
    if missing > _MOST_TOLD:
        found = None
    elif missing:
        rest = f"kind = {FOUND} and not ({at_once()})"
        later = collected(lambda: kept.where(rest).select(*FOUND_ROWS))
        found = pa.concat_tables([found.select(FOUND_ROWS), later])
    others = Encoded(kept.where(f"kind = {SEGMENT}"), sum(unsearched), len(unsearched), 0)
    return Survey(sought, tasks, found, others, again)


def refuse_unknown(met: Iterable[Met], what: str) -> None:
    """Refuse items that a domain does not have."""
    known = list(met)
    if known:
        count, first = sum(one.count for one in known), min(one.first for one in known)
        items = "1 item" if len(known) == 1 else f"{len(known)} different items"
        raise DataError(f"The frame holds {items} that {what} does not have: {times(count)}, first in {place(first)}.")


def item_counts(met: dict[Any, Met], places: dict[Any, int], n_items: int) -> npt.NDArray[np.int64]:
    """The number of records that hold each item."""
    counts = np.zeros(n_items, np.int64)
    for key, one in met.items():
        counts[places[key]] += one.count
    return counts


def unpersist(frame: Frame) -> None:
    """Have the workers forget a frame."""
    with contextlib.suppress(Exception):  # a session that is gone has given everything back
        frame.unpersist()
