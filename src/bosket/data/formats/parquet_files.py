"""Parquet files: lists, long and one-hot, with the domain in the metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bosket.data.baskets.rows import Csr, canonical, domain_of, over
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.columns import Columns
from bosket.data.formats.csv_writing import Formulas
from bosket.data.formats.layouts import LONG_NAMES, Layout, long_rows, to_csr
from bosket.data.formats.parquet_opening import Opened, opened, sound
from bosket.data.formats.parquet_streams import (
    Lists,
    LongColumns,
    has_lists,
    layout_of,
    read_lists,
    read_long,
    without_data,
)
from bosket.data.formats.parquet_texts import coded_table, table_batches, table_schema
from bosket.data.formats.sources import Content, Source
from bosket.errors import DataError
from bosket.strict_json import parse
from bosket.threads import slices

DOMAIN_KEY = b"bosket.domain"
LIST_NAME = "items"
_RECORDS_A_GROUP = 1 << 17
_LISTS_AT_ONCE = 1 << 14
_ROWS_AT_ONCE = 1 << 17
_CELLS_A_GROUP = 1 << 26


def read(content: Content, told: Arrangement) -> Csr:
    """The records of a Parquet file, over the domain in its metadata if it has one."""
    with opened(content, is_claim_held=not told.columns) as file:
        names = tuple(file.schema.names)
        if not told.columns and len(set(names)) != len(names):
            raise content.source.error("must not give two columns the same name")
        places = told.places(Columns(names, (), content.source)) or list(range(len(names)))
        wanted = [names[at] for at in places] if told.columns else None
        stored = (file.schema.metadata or {}).get(DOMAIN_KEY)

        def columns_of(values: list[Any]) -> Columns:
            read = dict(zip(places, values, strict=True))
            every = tuple(read.get(at) for at in range(len(names)))
            return Columns(names, every, content.source, check_size=content.check_size)

        streamed = _streamed(file, columns_of, told, wanted)
        if streamed is not None:
            return streamed
        table = sound(content, lambda: coded_table(file, wanted))
        csr = to_csr(columns_of(table.columns), told.layout, record=told.record, item=told.item)
    return csr if stored is None else restored(csr, stored, content.source)


def _streamed(
    file: Opened, columns_of: Callable[[list[Any]], Columns], told: Arrangement, wanted: list[str] | None
) -> Csr | None:
    """The records of lists or long rows, read batch by batch; None where the file has to be read whole."""
    empty = columns_of(without_data(sound(file.content, lambda: table_schema(file, wanted))))
    layout, stored = layout_of(empty, told.layout), (file.schema.metadata or {}).get(DOMAIN_KEY)

    def restore(domain: Domain, rank: ItemIds) -> tuple[Domain, ItemIds]:
        return (domain, rank) if stored is None else restored_domain(domain, rank, stored, file.content.source)

    if layout == "list":
        lists = Lists(empty, told.item)
        parts = (columns.values[lists.at] for columns in _batches(file, columns_of, wanted, _LISTS_AT_ONCE))
        return read_lists(parts, lists, empty, restore)
    if layout == "long" and not has_lists(empty):
        long = LongColumns(empty, told.record, told.item)
        record, item = long.at
        pairs = (
            (columns.values[record], columns.values[item])
            for columns in _batches(file, columns_of, wanted, _ROWS_AT_ONCE)
        )
        return read_long(pairs, long, restore)
    return None


def _batches(
    file: Opened, columns_of: Callable[[list[Any]], Columns], wanted: list[str] | None, most_rows: int
) -> Iterator[Columns]:
    """The columns of some rows, and of those after them; what is wrong with the file is told in our words."""
    batches = table_batches(file, wanted, most_rows=most_rows)
    while (batch := sound(file.content, lambda: next(batches, None))) is not None:
        yield columns_of(batch.columns)


def restored(csr: Csr, stored: bytes, source: Source) -> Csr:
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


def restored_domain(domain: Domain, rank: ItemIds, stored: bytes, source: Source) -> tuple[Domain, ItemIds]:
    """The same of the items alone, all of which occur: the domain that was written, and the item id of each label."""
    labels = Csr(np.arange(len(rank) + 1), rank, domain)
    found = restored(labels, stored, source)
    return found.domain, found.indices


def joined_domain(domain: Domain, rank: ItemIds, stored: Mapping[bytes | None, Source]) -> tuple[Domain, ItemIds]:
    """The items that occur in several files, and those of the domains that were written with them; likewise."""
    labels = list(domain.labels)
    for text, source in stored.items():
        if text is not None:
            labels += _stored_domain(text, source).labels
    joined, _ = domain_of(dict.fromkeys(labels))
    known = np.array([joined.index[label] for label in domain.labels], np.int32)
    return joined, known[rank]


def _stored_domain(stored: bytes, source: Source) -> Domain:
    try:
        return Domain.from_json(parse(stored, what="the domain"))
    except DataError:
        pass
    raise source.error("names a domain in its metadata that cannot be read")


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
