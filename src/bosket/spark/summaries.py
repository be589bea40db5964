"""What tasks say of all their records: a row of numbers and one of labels each, however many segments they make.

What comes to the driver then grows with tasks and labels alone, and with tasks hardly: rows of labels and of what was
found come unasked where they are small, and smaller ones alone from partitions with higher numbers, so that all of
each kind together are at most ``MOST_AT_ONCE`` times 1 + log(tasks).  Where some are larger, workers put the labels of
many tasks together before they leave.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from bosket.counting.base import Counts
from bosket.errors import DataError
from bosket.spark.faults import Fault, faults_text, refuse_faults, together
from bosket.spark.jobs import Frame, collected

SEGMENT, NUMBERS, LABELS, FOUND = range(4)
"""Kinds of rows that tasks give; segments stay with the workers."""
SAID = (
    "kind int, part int, n_bytes long, n_records long, longest long, labels string, counts binary, firsts binary, "
    "faults string"
)
"""Columns of every kind: ``n_bytes`` are those of a task's labels, or of all that it found with the labels of that, and
``firsts`` the rows, within the partition, in which each label is met first."""
MOST_AT_ONCE = 1 << 23
_MERGED = "n_records long, labels string, counts binary, parts binary, firsts binary"
_MOST_MERGED = 1 << 26
_MOST_MERGING = 64  # tasks
_MOST_FAULTS = 64  # different texts of a task

_ARROW = {"int": pa.int32(), "long": pa.int64(), "binary": pa.binary(), "string": pa.string()}


def row_of(layout: str, **cells: Any) -> Any:
    """A row with these columns, as Spark writes them; what is not given is missing."""
    kinds = (column.split() for column in layout.split(", "))
    return pa.record_batch({name: _cell(cells.get(name), _ARROW[kind]) for name, kind in kinds})


def _cell(value: Any, kind: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return pa.array([value], kind)
    values = np.ascontiguousarray(value)  # its bytes, without a copy
    ends = np.array([0, values.nbytes], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(values)])


def names_of(layout: str) -> list[str]:
    return [column.split()[0] for column in layout.split(", ")]


def key_of(label: Any) -> Any:
    """A label as something that can be looked up."""
    return tuple(label) if isinstance(label, list) else label


@dataclass
class Met:
    """Where a label was met: how often, and the first place, as (partition, row)."""

    label: Any
    count: int
    first: tuple[int, int]


def meet(met: dict[Any, Met], labels: Iterable[Any], counts: Counts, parts: Iterable[int], rows: Counts) -> None:
    for label, count, first in zip(labels, counts.tolist(), zip(parts, rows.tolist(), strict=False), strict=True):
        key = key_of(label)
        known = met.get(key)
        if known is None:
            met[key] = Met(label, count, first)
        else:
            known.count += count
            known.first = min(known.first, first)


@dataclass
class Summary:
    """On a worker: all segments of a partition."""

    part: int
    n_records: int = 0
    longest: int = 0
    met: dict[Any, Met] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    is_empty: bool = True

    @classmethod
    def of_task(cls) -> Summary:
        from pyspark import TaskContext

        context = TaskContext.get()
        return cls(0 if context is None else int(context.partitionId()))

    def add(
        self, n_records: int, longest: int, labels: Iterable[Any], counts: Counts, firsts: Counts, faults: list[Fault]
    ) -> None:
        """A segment; places in it are rows of the partition."""
        self.is_empty = False
        self.n_records, self.longest = self.n_records + n_records, max(self.longest, longest)
        meet(self.met, labels, counts, repeat(self.part), firsts)
        self.faults = together([*self.faults, *faults])[:_MOST_FAULTS]

    def rows(self, layout: str, **more: Any) -> Iterator[Any]:
        """What the driver hears, with ``more`` numbers; nothing of a partition without rows."""
        if self.is_empty:
            return
        labels, counts, firsts = _columns(self.met)
        own = {"part": self.part, "n_records": self.n_records, "n_bytes": len(labels) + counts.nbytes + firsts.nbytes}
        yield row_of(layout, kind=NUMBERS, longest=self.longest, faults=faults_text(self.faults), **own, **more)
        yield row_of(layout, kind=LABELS, labels=labels, counts=counts, firsts=firsts, **own)


def _columns(met: dict[Any, Met]) -> tuple[str, Counts, Counts]:
    known = met.values()
    counts = np.array([one.count for one in known], np.int64)
    return json.dumps([one.label for one in known]), counts, np.array([one.first[1] for one in known], np.int64)


@dataclass(frozen=True)
class ToldByAll:
    """What the driver heard: of all tasks together, and the rows as they came."""

    rows: Any
    n_records: int
    n_tasks: int
    longest: int
    met: dict[Any, Met]

    def of_kind(self, kind: int) -> Any:
        return _of_kind(self.rows, kind)


def summed_up(kept: Frame, more: str = "") -> ToldByAll:
    """What all tasks say, with ``more`` columns; refused where one could not read its rows."""
    names = names_of(SAID + more)
    rows = collected(lambda: kept.where(f"kind = {NUMBERS} or (kind > {NUMBERS} and {at_once()})").select(*names))
    numbers, labels = (_of_kind(rows, kind) for kind in (NUMBERS, LABELS))
    refuse_faults(zip(numbers["part"].to_pylist(), numbers["faults"].to_pylist(), strict=True))
    n = int(np.sum(numbers["n_records"].to_numpy(), dtype=np.int64))
    met: dict[Any, Met] = {}
    if labels.num_rows < numbers.num_rows:
        largest = int(np.max(numbers["n_bytes"].to_numpy()))
        _meet_merged(met, kept, max(1, min(numbers.num_rows, _MOST_MERGING, _MOST_MERGED // largest)), n)
    else:
        for part, one in zip(labels["part"].to_pylist(), _labels(labels), strict=True):
            words, counts, firsts = one
            meet(met, words, counts, repeat(part), firsts)
    return ToldByAll(rows, n, numbers.num_rows, int(np.max(numbers["longest"].to_numpy(), initial=0)), met)


def at_once() -> str:
    """Whether a row of labels, or of what was found, comes unasked."""
    return f"n_bytes * (part + 1) <= {MOST_AT_ONCE}"


def _of_kind(rows: Any, kind: int) -> Any:
    return rows.filter(pa.array(rows["kind"].to_numpy() == kind))


def _labels(rows: Any) -> Iterator[tuple[list[Any], Counts, Counts]]:
    for words, counts, firsts in zip(rows["labels"], rows["counts"], rows["firsts"], strict=True):
        yield json.loads(words.as_py()), _numbers(counts), _numbers(firsts)


def _numbers(cell: Any) -> Counts:
    return np.frombuffer(cell.as_buffer(), np.int64)


def _meet_merged(met: dict[Any, Met], kept: Frame, tasks: int, n_records: int) -> None:
    """Have the workers put the labels of all tasks together, in a few."""
    names = names_of(SAID)
    rows = collected(
        lambda: kept.where(f"kind = {LABELS}").select(*names).coalesce(tasks).mapInArrow(_merging, _MERGED)
    )
    if int(np.sum(rows["n_records"].to_numpy(), dtype=np.int64)) != n_records:
        raise DataError("The frame is not the same each time it is computed.")
    for parts, (words, counts, firsts) in zip(rows["parts"], _labels(rows), strict=True):
        meet(met, words, counts, _numbers(parts).tolist(), firsts)


def _merging(batches: Iterable[Any]) -> Iterator[Any]:
    met: dict[Any, Met] = {}
    n = 0
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        for part, one in zip(rows["part"].to_pylist(), _labels(rows), strict=True):
            words, counts, firsts = one
            meet(met, words, counts, repeat(part), firsts)
        n += int(np.sum(rows["n_records"].to_numpy(), dtype=np.int64))
    labels, counts, firsts = _columns(met)
    parts = np.array([one.first[0] for one in met.values()], np.int64)
    yield row_of(_MERGED, n_records=n, labels=labels, counts=counts, parts=parts, firsts=firsts)


Job = Callable[[Iterable[Any]], Iterator[Any]]
"""What a worker does with the batches of a partition."""
