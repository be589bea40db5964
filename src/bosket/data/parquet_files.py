"""Parquet files: lists, long and one-hot, with the domain in the metadata."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bosket.data.columns import Columns
from bosket.data.csr import Csr, canonical, over
from bosket.data.csv_writing import Formulas
from bosket.data.domain import Domain
from bosket.data.layouts import LONG_NAMES, Layout, long_rows, to_csr
from bosket.data.sources import MOST_COLUMNS, Content, Source
from bosket.errors import DataError
from bosket.strict_json import parse
from bosket.threads import slices

DOMAIN_KEY = b"bosket.domain"
PLAN_KEY = b"bosket.plan"
LIST_NAME = "items"
ROWS_A_BATCH = 1 << 16
_RECORDS_A_GROUP = 1 << 17
_CELLS_A_GROUP = 1 << 26


@dataclass(frozen=True)
class Opened:
    """A Parquet file whose footer is sound as far as one can see; what it claims is counted as it is read."""

    content: Content
    file: Any
    handle: Any

    @property
    def schema(self) -> Any:
        return self.file.schema_arrow

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """The rows, some at a time."""
        total = 0
        batches = iter(self.file.iter_batches(ROWS_A_BATCH, columns=columns))
        while (batch := sound(self.content, lambda: next(batches, None))) is not None:
            total += batch.nbytes
            self.content.check_size(total)
            yield batch

    def table(self) -> Any:
        """All rows."""
        batches = list(self.batches())
        return pa.Table.from_batches(batches, batches[0].schema if batches else self.schema)


def sound(content: Content, step: Callable[[], Any]) -> Any:
    """Do a step with a Parquet file; what is wrong with it is told in our words."""
    with contextlib.suppress(pa.ArrowException, OSError, ValueError, OverflowError):
        return step()
    raise content.source.error("is not a sound Parquet file")


@contextlib.contextmanager
def opened(content: Content, *, what: str = "baskets") -> Iterator[Opened]:
    """A Parquet file; one that is more than the cap by what its footer says is refused before a row is read."""
    handle = content.random_access()
    with handle:
        file = sound(content, lambda: parquet.ParquetFile(handle, pre_buffer=False))
        opened = Opened(content, file, handle)
        if PLAN_KEY in (sound(content, lambda: file.schema_arrow.metadata) or {}):
            fault = f"holds randomized reports, not {what}; read it with bosket.Reports.read"
            raise content.source.error(fault)
        if file.metadata.num_columns > MOST_COLUMNS:
            raise content.source.error(f"must have at most {MOST_COLUMNS:,} columns, and has more")
        content.check_size(sound(content, lambda: _claimed(file.metadata)))
        sound(content, lambda: opened.schema.names)
        yield opened


def _claimed(metadata: Any) -> int:
    """The size of all columns, uncompressed, by what the footer says.

    By row groups: asking for the metadata of a column ends the process where its statistics are damaged.
    """
    return sum(max(0, metadata.row_group(at).total_byte_size) for at in range(metadata.num_row_groups))


def read(content: Content, layout: Layout | None) -> Csr:
    """The records of a Parquet file, over the domain in its metadata if it has one."""
    with opened(content) as file:
        names = tuple(file.schema.names)
        if len(set(names)) != len(names):
            raise content.source.error("must not give two columns the same name")
        stored = (file.schema.metadata or {}).get(DOMAIN_KEY)
        table = file.table()
    csr = to_csr(Columns(names, tuple(table.columns), content.source), layout)
    return csr if stored is None else _restored(csr, stored, content.source)


def _restored(csr: Csr, stored: bytes, source: Source) -> Csr:
    """The records over the domain that was written with them; one-hot columns have its labels as text."""
    fault = "names a domain in its metadata that cannot be read"
    try:
        domain = Domain.from_json(parse(stored, what="the domain"))
        if tuple(map(str, domain.labels)) == csr.domain.labels:
            return canonical(csr.indptr, csr.indices, domain)
        fault = "holds items that the domain in its metadata does not have"
        return over(csr, domain)
    except DataError:
        pass
    raise source.error(fault)


def write(csr: Csr, file: IO[bytes], path: Path, layout: Layout, _formulas: Formulas) -> None:
    """Write records whose labels are all of one plain type."""
    labels = _label_array(csr.domain.labels, path)
    n_items = len(labels)
    if layout == "one-hot" and n_items == 0:
        raise DataError(f"Cannot write {path}: one-hot columns need at least one item.", path=path)
    schema = _schema(labels, layout).with_metadata({DOMAIN_KEY: json.dumps(csr.domain.to_json()).encode()})
    group = max(1, _CELLS_A_GROUP // n_items) if layout == "one-hot" else _RECORDS_A_GROUP
    with parquet.ParquetWriter(file, schema) as writer:
        for start, stop in slices(csr.indptr.size - 1, group):
            indptr = csr.indptr[start : stop + 1]
            part = Csr(indptr - indptr[0], csr.indices[indptr[0] : indptr[-1]], csr.domain)
            writer.write_table(pa.Table.from_arrays(_arrays(part, labels, layout, start), schema=schema))


def _label_array(labels: tuple[Hashable, ...], path: Path) -> Any:
    kinds = {bool: pa.bool_(), str: pa.string(), int: pa.int64(), float: pa.float64()}
    kind = type(labels[0]) if labels else str
    if kind in kinds and all(type(label) is kind for label in labels):
        try:
            return pa.array(labels, kinds[kind])
        except (pa.ArrowException, OverflowError, UnicodeError):
            pass
    raise DataError(
        f"Cannot write {path}: the items of a Parquet file must be all strings, or all numbers of one type.",
        path=path,
        hint="Use plain strings as labels.",
    )


def _schema(labels: Any, layout: Layout) -> Any:
    if layout == "list":
        return pa.schema([(LIST_NAME, pa.list_(labels.type))])
    if layout == "long":
        return pa.schema([(LONG_NAMES[0], pa.int64()), (LONG_NAMES[1], labels.type)])
    return pa.schema([(str(label), pa.bool_()) for label in labels.to_pylist()])


def _arrays(part: Csr, labels: Any, layout: Layout, first: int) -> list[Any]:
    """The columns of the records of a row group, the first of which has the number ``first`` from 0."""
    sizes = np.diff(part.indptr)
    if layout == "list":
        return [pa.ListArray.from_arrays(pa.array(part.indptr.astype(np.int32)), labels.take(pa.array(part.indices)))]
    if layout == "long":
        records, items = long_rows(part.indptr, part.indices, first + 1)
        return [records, labels.take(items)]
    cells = np.zeros((len(labels), sizes.size), np.bool_)
    cells[part.indices, np.repeat(np.arange(sizes.size), sizes)] = True
    return [pa.array(column) for column in cells]
