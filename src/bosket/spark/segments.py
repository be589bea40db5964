"""Segments: the records of a partition as rows of item numbers, made on the workers once and kept there.

A segment has its own list of labels, those that occur in it, so that one pass over the data is enough: the labels of
all segments make the domain, and what a label is called there travels to the workers with every later job.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data import Baskets
from bosket.data.baskets.kernels import canonicalize
from bosket.data.baskets.rows import Offsets
from bosket.data.domain import ItemIds
from bosket.data.formats.columns import Columns, factorize, presence
from bosket.data.formats.frames import FRAME
from bosket.data.formats.layouts import not_one_hot
from bosket.data.formats.parquet_streams import Lists, read_lists
from bosket.errors import BosketError, DataError
from bosket.spark.faults import Fault, fault_of
from bosket.spark.kernels import count_labels, mark_numbers, place_items, rank_numbers
from bosket.spark.summaries import SAID, SEGMENT, Summary, key_of, row_of
from bosket.threads import use_threads

RowShape = Literal["list", "one-hot", "table"]
Label = Any
"""What stands in a cell, or for a table [number of the column, what stands in its cell]; a value of JSON."""

LAYOUT = SAID + ", first_row long, sizes binary, items binary"
"""Columns of segments, and of what is said of all of them."""

LOST = "bosket_lost"
"""A column that says of a record put together from rows how many of these do not name it: none, or all."""
_ALIAS = "column_"
_RECORDS = 1 << 18  # of a segment
_ENTRIES = 1 << 23


@dataclass(frozen=True)
class RecordRows:
    """Records as compressed rows of numbers of labels."""

    indptr: Offsets
    items: ItemIds
    labels: list[Label]

    @property
    def n_records(self) -> int:
        return len(self.indptr) - 1


def encoded(batches: Iterable[Any], shape: RowShape) -> Iterator[Any]:
    """On a worker: the rows of a partition as segments, and at last what there is in all of them."""
    summary = Summary.of_task()
    yield from segments_of(batches, shape, summary)
    yield from summary.rows(LAYOUT)


def segments_of(batches: Iterable[Any], shape: RowShape, summary: Summary, layout: str = LAYOUT) -> Iterator[Any]:
    """Segments alone; what they hold is added to a summary."""
    with use_threads(1):
        row = 0
        for rows in pieces(batches):
            yield _written(row, rows, shape, summary, layout)
            row += rows.num_rows


def pieces(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of some hundred thousand rows each."""
    held: list[Any] = []
    n = size = 0
    for batch in batches:
        held.append(batch)
        n, size = n + batch.num_rows, size + batch.nbytes
        if n >= _RECORDS or size >= 8 * _ENTRIES:
            yield pa.Table.from_batches(held)
            held, n, size = [], 0, 0
    if n:
        yield pa.Table.from_batches(held)


def _written(row: int, rows: Any, shape: RowShape, summary: Summary, layout: str) -> Any:
    made, faults = segment_of(rows, shape)
    counts, firsts = _met(made, row)
    sizes = np.diff(made.indptr)
    longest = int(sizes.max(initial=0))
    later = [replace(one, row=row + one.row) for one in faults]
    summary.add(made.n_records, longest, made.labels, counts, firsts, later)
    return row_of(
        layout,
        kind=SEGMENT,
        part=summary.part,
        first_row=row,
        n_records=made.n_records,
        longest=longest,
        sizes=sizes.astype(narrow(longest)),
        items=made.items.astype(narrow(len(made.labels))),
        labels=json.dumps(made.labels),
    )


def _met(records: RecordRows, first_row: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How often each label occurs, and the row of the first record that has it, -1 for none."""
    counts, first_at = np.zeros(len(records.labels), np.int64), np.full(len(records.labels), -1, np.int64)
    count_labels(records.items, counts, first_at)
    rows = first_row + np.searchsorted(records.indptr, first_at, side="right") - 1
    return counts, np.where(first_at < 0, -1, rows)


def segment_of(rows: Any, shape: RowShape) -> tuple[RecordRows, list[Fault]]:
    """The records of some rows, or what is wrong with them."""
    faults = _missing(rows, shape)
    made = RecordRows(np.zeros(1, np.int64), np.empty(0, np.int32), [])
    if not faults:
        try:
            made = _segment(rows, shape)
        except BosketError as problem:
            faults = _unreadable(rows, shape) or [fault_of(problem, rows.num_rows)]
    return made, faults


def _missing(rows: Any, shape: RowShape) -> list[Fault]:
    """What is missing where nothing may be."""
    if LOST in rows.column_names:
        numbers = rows[LOST].to_numpy()
        lost = np.flatnonzero(numbers)
        if len(lost):
            text = "The column of records must say which record an item belongs to"
            return [Fault(text, count=int(numbers.sum()), row=int(lost[0]))]
    if shape != "list" or not pc.list_flatten(rows["items"]).null_count:
        return []
    return _missing_items(rows)


def _missing_items(rows: Any) -> list[Fault]:
    """Items of lists that are none: missing, or not a number."""
    lists = rows["items"].combine_chunks()
    values = pc.list_flatten(lists)
    missing = np.flatnonzero(pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False))
    if not len(missing):
        return []
    first = int(pc.list_parent_indices(lists)[int(missing[0])].as_py())
    return [Fault("The column of lists must hold items, none of them missing", count=len(missing), row=first)]


def _unreadable(rows: Any, shape: RowShape) -> list[Fault]:
    """What is wrong with rows that a reader refused, who stops at the first: all of it."""
    if shape == "list":
        return _missing_items(rows)
    faults: list[Fault] = []
    if shape == "one-hot":
        columns = Columns(tuple(map(_name_of, rows.column_names)), tuple(rows.columns), FRAME)
        for at, column in enumerate(rows.columns):
            bad = np.flatnonzero(presence(column, FRAME) < 0)
            if len(bad):
                faults.append(fault_of(not_one_hot(columns, at, int(bad[0])), len(bad)))
    return faults


def _segment(rows: Any, shape: RowShape) -> RecordRows:
    if shape == "table":
        return _cells(rows)
    if shape == "list":
        column = rows["items"]
        quickly = _whole_numbers(column)
        if quickly is not None:
            return quickly
        columns = Columns(("items",), (column,), FRAME)
        csr = read_lists(iter([column]), Lists(columns, "items"), columns, lambda domain, rank: (domain, rank))
        return RecordRows(csr.indptr, csr.indices, list(csr.domain.labels))
    named = rows.rename_columns([_name_of(alias) for alias in rows.column_names])
    baskets = Baskets.from_frame(named, layout=shape)
    occurs = np.bincount(baskets.indices, minlength=baskets.n_items) > 0
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    labels = [label for label, is_there in zip(baskets.domain.labels, occurs.tolist(), strict=True) if is_there]
    return RecordRows(baskets.indptr, number[baskets.indices], labels)


def _whole_numbers(column: Any) -> RecordRows | None:
    """Lists of whole numbers, by a table of all from the least to the largest; None of others, or if it is long."""
    if not pa.types.is_list(column.type) or not pa.types.is_signed_integer(column.type.value_type):
        return None
    if any(chunk.null_count or chunk.values.null_count for chunk in column.chunks):
        return None
    lists = [(chunk.offsets.to_numpy(), chunk.values.to_numpy()) for chunk in column.chunks]
    values = [cells[starts[0] : starts[-1]] for starts, cells in lists]
    n_cells = sum(map(len, values))
    if not n_cells:
        return None
    least = min(int(cells.min()) for cells in values if len(cells))
    largest = max(int(cells.max()) for cells in values if len(cells))
    if largest - least >= 2 * n_cells:
        return None
    is_used = np.zeros(largest - least + 1, np.bool_)
    for cells in values:
        mark_numbers(cells, least, is_used)
    rank = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    indptr, items = np.zeros(len(column) + 1, np.int64), np.empty(n_cells, np.int32)
    row = cell = 0
    increase = True
    for (starts, _), cells in zip(lists, values, strict=True):
        ends = starts[1:].astype(np.int64) - int(starts[0])
        increase &= rank_numbers(cells, ends, least, rank, items[cell:])
        indptr[row + 1 : row + 1 + len(ends)] = ends + cell
        row, cell = row + len(ends), cell + len(cells)
    labels = (np.flatnonzero(is_used) + least).tolist()
    if not increase:
        items = items[: canonicalize(indptr, items)]
    return RecordRows(indptr, items, labels)


def _cells(rows: Any) -> RecordRows:
    """The different cells of each column as labels; what is missing is the label of None."""
    n, width = rows.num_rows, rows.num_columns
    items = np.empty((n, width), np.int32)
    labels: list[Label] = []
    for at in range(width):
        codes, cells = factorize(rows.column(at).combine_chunks(), FRAME)
        has_missing = bool(len(codes)) and int(codes.min()) < 0
        codes = np.where(codes < 0, len(cells), codes)
        items[:, at] = codes + len(labels)
        labels += [[at, cell] for cell in cells] + ([[at, None]] if has_missing else [])
    return RecordRows(np.arange(n + 1, dtype=np.int64) * width, items.ravel(), labels)


def alias_of(name: str) -> str:
    """What a column is called on its way to the workers: Spark takes dots, quotes and stars in names for its own."""
    return _ALIAS + name.encode(errors="surrogatepass").hex()


def _name_of(alias: str) -> str:
    return bytes.fromhex(alias.removeprefix(_ALIAS)).decode(errors="surrogatepass")


PlaceOf = Mapping[Any, int]
"""From labels, as :func:`key_of` makes them, to item ids."""


@dataclass(frozen=True)
class KeptSegment:
    """A segment as workers keep it: of each record how many items it has, and the numbers of their labels."""

    sizes: npt.NDArray[Any]
    codes: npt.NDArray[Any]
    labels: list[Label]


def narrow(most: int) -> type[np.uint16 | np.uint32]:
    """The type of whole numbers up to this one: what is kept is copied many times on its way to a task and back."""
    return np.uint16 if most <= np.iinfo(np.uint16).max else np.uint32


def kept(batches: Iterable[Any]) -> Iterator[KeptSegment]:
    """On a worker: segments, without a copy."""
    for batch in batches:
        sizes, items, labels, longest = (
            batch.column(batch.schema.get_field_index(name)) for name in ("sizes", "items", "labels", "longest")
        )
        for at in range(batch.num_rows):
            known = json.loads(labels[at].as_py())
            yield KeptSegment(
                np.frombuffer(sizes[at].as_buffer(), narrow(longest[at].as_py())),
                np.frombuffer(items[at].as_buffer(), narrow(len(known))),
                known,
            )


def read(batches: Iterable[Any], places: PlaceOf) -> Iterator[tuple[Offsets, ItemIds]]:
    """On a worker: the records of each segment over the domain, items increasing."""
    for segment in kept(batches):
        yield gathered([segment], places)


def placed(records: RecordRows, places: PlaceOf) -> ItemIds:
    """The items of records over the domain, increasing in each of them."""
    return gathered([KeptSegment(np.diff(records.indptr), records.items, records.labels)], places)[1]


def gathered(
    segments: Sequence[KeptSegment], places: PlaceOf, keep: npt.NDArray[np.bool_] | None = None
) -> tuple[Offsets, ItemIds]:
    """All records of some segments over the domain, items increasing; those alone that ``keep`` says."""
    starts = np.zeros(sum(len(one.sizes) for one in segments) + 1, np.int64)
    items = np.empty(sum(len(one.codes) for one in segments) + 1, np.int32)
    first = n = 0
    for one in segments:
        meant = np.array([places.get(key_of(label), -1) for label in one.labels], np.int32)
        if (meant < 0).any():  # where a worker was lost and its records were read again, and were others
            raise DataError("The frame is not the same each time it is computed.")
        is_sorted = bool((np.diff(meant) > 0).all())
        if keep is not None:
            meant = np.where(keep[meant], meant, np.int32(-1))
        begun, n = n, place_items(one.sizes, one.codes, meant, starts[first:], items, n)
        ends = starts[first : first + len(one.sizes) + 1]
        if not is_sorted:
            record = np.repeat(np.arange(len(one.sizes)), np.diff(ends))
            own = items[begun:n]
            own[:] = own[np.lexsort((own, record))]
        first += len(one.sizes)
    return starts, items[:n]
