"""A frame as segments that the workers keep, and what is known of all of them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.errors import DataError
from bosket.evidence.raw import Sought
from bosket.spark.faults import place, refuse_faults, times
from bosket.spark.jobs import Frame, collected, started
from bosket.spark.segments import LAYOUT, SUMMARY, Job, Label, RowShape, encoded, key_of
from bosket.spark.surveying import FOUND_ROWS, SURVEYED, TOLD, surveyed

_MOST_TOLD = 1 << 28
"""Most bytes of what all tasks found that come to the driver."""


@dataclass
class Met:
    """Where a label was met: how often, and the first place, as (partition, row)."""

    label: Label
    count: int
    first: tuple[int, int]


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

    def map(self, job: Job, layout: str, *, most_tasks: int | None = None) -> Any:
        """Run a job over all segments; the rows that it gives, as Arrow."""
        frame = self.frame
        if most_tasks is not None and most_tasks < self.n_partitions:
            frame = started(lambda: self.frame.coalesce(most_tasks))
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

    kept = started(lambda: frame.mapInArrow(job, LAYOUT if sought is None else SURVEYED).persist())
    try:
        if sought is None:
            return _summed_up(kept, collected(lambda: kept.select(*SUMMARY)))
        return _looked_at(kept, sought, lambda: encode(frame, shape))
    except BaseException:
        unpersist(kept)
        raise


def _looked_at(kept: Frame, sought: Sought, again: Callable[[], Encoded]) -> Encoded:
    """What occurs in a frame, and what tasks found that looked as they read."""
    told = collected(lambda: kept.where("size = 0 or later = 0").select(*TOLD))
    is_found = told["size"].to_numpy() > 0
    summary = told.filter(~is_found)
    result = _summed_up(kept, summary)
    result.looked = _looked(kept, sought, summary, told.filter(is_found), again)
    return result


def _looked(kept: Frame, sought: Sought, summary: Any, found: Any, again: Callable[[], Encoded]) -> Survey:
    """Which tasks looked, and what they found; more of it is asked for where it did not come by itself."""
    names = ("part", "n_records", "hidden", "later")
    searched: dict[int, tuple[int, int]] = {}
    unsearched: dict[int, int] = {}
    more: dict[int, int] = {}
    for part, n, hidden, later in zip(*(summary[name].to_pylist() for name in names), strict=True):
        if hidden is None:
            unsearched[part] = unsearched.get(part, 0) + n
        else:
            searched[part] = searched.get(part, (0, 0))[0] + n, hidden
            more[part] = later
    n_more = sum(more.values())
    if n_more > _MOST_TOLD:
        found = None
    elif n_more:
        later_ones = collected(lambda: kept.where("size > 0 and later > 0").select(*FOUND_ROWS))
        found = pa.concat_tables([found.select(FOUND_ROWS), later_ones])
    rest = Encoded(kept.where("size = 0 and hidden is null"), sum(unsearched.values()), len(unsearched), 0)
    return Survey(sought, list(searched.values()), found, rest, again)


def _summed_up(kept: Frame, summary: Any) -> Encoded:
    refuse_faults(zip(summary["part"].to_pylist(), summary["faults"].to_pylist(), strict=True))
    parts = summary["part"].to_numpy()
    result = Encoded(
        kept,
        n_records=int(np.sum(summary["n_records"].to_numpy(), dtype=np.int64)),
        n_partitions=len(np.unique(parts)),
        longest=int(np.max(summary["longest"].to_numpy(), initial=0)),
    )
    for at, part in enumerate(parts.tolist()):
        _meet(result.met, part, *(summary[name][at] for name in ("labels", "counts", "firsts")))
    return result


def _meet(met: dict[Any, Met], part: int, labels: Any, counts: Any, firsts: Any) -> None:
    numbers, rows = (np.frombuffer(one.as_buffer(), np.int64).tolist() for one in (counts, firsts))
    for label, count, row in zip(json.loads(labels.as_py()), numbers, rows, strict=True):
        key = key_of(label)
        known = met.get(key)
        if known is None:
            met[key] = Met(label, count, (part, row))
        else:
            known.count += count
            known.first = min(known.first, (part, row))


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
