"""A frame as segments that the workers keep, and what is known of all of them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt

from bosket.errors import DataError
from bosket.spark.jobs import Frame, collected, started
from bosket.spark.segments import LAYOUT, SUMMARY, Job, Label, RowShape, encoded, key_of


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


def encode(frame: Frame, shape: RowShape) -> Encoded:
    """One pass over a frame: its segments, kept on the workers, and what occurs in them."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        return encoded(batches, shape)

    kept = started(lambda: frame.mapInArrow(job, LAYOUT).persist())
    try:
        summary = collected(lambda: kept.select(*SUMMARY))
        refuse_faults(summary)
    except BaseException:
        unpersist(kept)
        raise
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


def refuse_faults(summary: Any) -> None:
    """Refuse what workers could not read: how often, and where first; never what stands there."""
    found: dict[str, list[tuple[int, int, int, str | None]]] = {}
    for part, text in zip(summary["part"].to_pylist(), summary["fault"].to_pylist(), strict=True):
        if text is not None:
            fault = json.loads(text)
            found.setdefault(fault["text"], []).append((part, fault["row"], fault["count"], fault.get("hint")))
    for text, places in found.items():
        part, row, _, hint = min(places)
        count = sum(number for _, _, number, _ in places)
        raise DataError(f"{text.rstrip('.')}: {times(count)}, first in {place((part, row))}.", hint=hint)


def place(at: tuple[int, int]) -> str:
    """Where a row of a frame is, for messages."""
    return f"row {at[1] + 1} of partition {at[0]}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


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
