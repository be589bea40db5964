"""Parquet files under a declaration: what is read, and how, follows from the schema and the declared items.

Whatever the cells are, with ``unknown="drop"`` they make no error, and a row changes one record, or one item of one
record where the layout is long.  A number stands for the item that is written as it is (3 and 3.0 are "3"), text for
the item that is written so; missing values and NaN stand for none.  A column of another type (dates, nested values) is
refused by the schema, before a row is read.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.columns import Columns
from bosket.data.csr import Csr, Offsets, canonical, from_pairs
from bosket.data.declared_layouts import declared_layout, item_columns
from bosket.data.declared_lines import MISPLACED, UNDECLARED, signs
from bosket.data.domain import ItemIds
from bosket.data.layouts import Layout, long_columns
from bosket.data.parquet_files import Opened, opened
from bosket.data.sources import Content, Source
from bosket.data.vocabulary import Vocabulary


def read(content: Content, layout: Layout | None, vocabulary: Vocabulary) -> Csr:
    """The records of a Parquet file over the declared domain."""
    with opened(content) as file:
        names, kinds = tuple(file.schema.names), tuple(file.schema.types)
        lists = [at for at, kind in enumerate(kinds) if _element(kind) is not None]
        if layout is None:
            layout = "list" if lists else declared_layout(names, vocabulary, content.source)
        if layout == "list":
            if len(lists) != 1:
                raise content.source.error(f"must have one column of lists, got {len(lists)}")
            return _lists(file, names[lists[0]], _Cells.of(_element(kinds[lists[0]]), vocabulary, content.source))
        if layout == "one-hot":
            return _one_hot(file, item_columns(names, vocabulary, content.source), vocabulary)
        record, item = long_columns(Columns(names, (), content.source), None, None)
        cells = _Cells.of(kinds[item], vocabulary, content.source)
        return _long(file, names[record], names[item], _key(kinds[record], content.source), cells)


class _Cells(NamedTuple):
    """How the values of a column become items."""

    kind: Any
    values: Any
    items: ItemIds
    vocabulary: Vocabulary
    source: Source

    @classmethod
    def of(cls, kind: Any, vocabulary: Vocabulary, source: Source) -> _Cells:
        kind = _bare(kind)
        known = vocabulary.values(kind)
        if known is None:
            raise source.error(f"must hold items as text or numbers, and its schema says {str(kind)[:40]}")
        return cls(kind, *known, vocabulary, source)

    def items_of(self, column: Any, before: int, rows: Offsets | None = None) -> ItemIds:
        """The item of each value, -1 for one that is none; ``rows`` are those that the values are in."""
        values = _as_bare(column, self.kind)
        places = pc.fill_null(pc.index_in(values, value_set=self.values), -1).to_numpy(zero_copy_only=False)
        items: ItemIds = np.append(self.items, np.int32(-1))[places]
        if self.vocabulary.is_strict:
            bad = np.flatnonzero((items < 0) & ~_missing(values) if rows is None else items < 0)
            if bad.size:
                row = before + int(bad[0] if rows is None else rows[bad[0]])
                raise self.source.error(f"{UNDECLARED}, in row {row + 1}")
        return items


def _element(kind: Any) -> Any:
    """The type of the values of lists, or None for any other type."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return kind.value_type if is_list else None


def _bare(kind: Any) -> Any:
    """The type that values are compared in: without a dictionary, and text as bytes, which need not be sound UTF-8."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_large_string(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):  # Arrow hardly computes with them
        return pa.float32()
    return pa.binary() if pa.types.is_string(kind) or pa.types.is_string_view(kind) else kind


def _as_bare(column: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(kind):
        return pc.add(column.cast(kind), pa.scalar(0, kind))  # -0 becomes 0
    return column if column.type == kind else column.cast(kind)


def _missing(values: Any) -> Any:
    return pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)


def _lists(file: Opened, name: str, cells: _Cells) -> Csr:
    sizes, parts, before = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], 0
    for batch in file.batches([name]):
        column = batch.column(0)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(lengths.size), lengths)
        items = cells.items_of(pc.list_flatten(column), before, rows)
        sizes.append(np.bincount(rows[items >= 0], minlength=lengths.size))
        parts.append(items[items >= 0])
        before += lengths.size
    return canonical(np.cumsum(np.concatenate(sizes)), np.concatenate(parts), cells.vocabulary.domain)


def _one_hot(file: Opened, items: ItemIds, vocabulary: Vocabulary) -> Csr:
    chosen = np.flatnonzero(items >= 0)
    names = [file.schema.names[at] for at in chosen]
    present = [_signs(file.schema.types[at], file.content.source) for at in chosen]
    rows, ids, before = [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    for batch in file.batches(names):
        for at, column in enumerate(batch.columns):
            kind, ones, noughts = present[at]
            values = _as_bare(column, kind)
            here = pc.is_in(values, value_set=ones).to_numpy(zero_copy_only=False)
            if vocabulary.is_strict:
                sound = here | _missing(values) | pc.is_in(values, value_set=noughts).to_numpy(zero_copy_only=False)
                if not sound.all():
                    raise file.content.source.error(
                        f"{MISPLACED}, and row {before + int(np.argmin(sound)) + 1} does not"
                    )
            found = np.flatnonzero(here)
            rows.append(found + before)
            ids.append(np.full(found.size, items[chosen[at]], np.int32))
        before += batch.num_rows
    return from_pairs(np.concatenate(rows), np.concatenate(ids), before, vocabulary.domain)


def _signs(kind: Any, source: Source) -> tuple[Any, Any, Any]:
    """The type a column of 0 and 1 is compared in, and the values of it for presence and absence."""
    kind = _bare(kind)
    types = pa.types
    words: dict[int, list[Any]]
    if types.is_binary(kind) or types.is_large_binary(kind):
        words = {meaning: [word.encode() for word, means in signs() if means == meaning] for meaning in (0, 1)}
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind):
        words = {0: [False], 1: [True]} if types.is_boolean(kind) else {0: [0], 1: [1]}
    else:
        raise source.error(f"must hold 0 and 1, or false and true, and its schema says {str(kind)[:40]}")
    if types.is_null(kind):
        words = {0: [], 1: []}
    return kind, pa.array(words[1], kind), pa.array(words[0], kind)


def _long(file: Opened, record: str, item: str, kind: Any, cells: _Cells) -> Csr:
    keys: dict[Hashable, int] = {}
    records, items, before = [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    for batch in file.batches([record, item]):
        named = _as_bare(batch.column(record), kind)
        ids = cells.items_of(batch.column(item), before)
        is_named = ~_missing(named)
        if cells.vocabulary.is_strict and not is_named.all():
            row = before + int(np.argmin(is_named)) + 1
            raise cells.source.error(f"must say which record the item belongs to, and row {row} does not")
        coded = named.filter(pa.array(is_named)).dictionary_encode()
        codes = np.fromiter((keys.setdefault(key, len(keys)) for key in coded.dictionary.to_pylist()), np.int64)
        records.append(codes[coded.indices.to_numpy()])
        items.append(ids[is_named])
        before += batch.num_rows
    return from_pairs(np.concatenate(records), np.concatenate(items), len(keys), cells.vocabulary.domain)


def _key(kind: Any, source: Source) -> Any:
    """The type that names of records are compared in."""
    types, bare = pa.types, _bare(kind)
    if types.is_date32(bare) or types.is_time32(bare):
        return pa.int32()
    if types.is_temporal(bare) and not types.is_interval(bare):
        return pa.int64()
    if types.is_decimal(bare) or types.is_fixed_size_binary(bare):
        return pa.string() if types.is_decimal(bare) else bare
    plain = (
        types.is_binary,
        types.is_large_binary,
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_null,
    )
    if any(is_kind(bare) for is_kind in plain):
        return bare
    raise source.error(f"must name records by text or numbers, and its schema says {str(kind)[:40]}")
