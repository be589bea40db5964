"""Parquet files under a declaration: what is read, and how, follows from the schema and the declared items.

Whatever the cells are, with ``unknown="drop"`` they make no error, and a row changes one record, or one item of one
record where the layout is long.  A number stands for the item that is written as it is (3 and 3.0 are "3"), text for
the item that is written so; missing values and NaN stand for none.  A column of another type (dates, nested values) is
refused by the schema, before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.kernels import once_in_list
from bosket.data.baskets.rows import Csr, Items, Offsets, RecordItems, Sizes, canonical, from_pairs, frozen, taken
from bosket.data.domain import ItemIds
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.arrow_cells import ArrowCells, ranked
from bosket.data.formats.columns import Columns
from bosket.data.formats.cut_lists import CutLists
from bosket.data.formats.declared_layouts import declared_layout, item_columns
from bosket.data.formats.declared_lines import MISPLACED, UNDECLARED
from bosket.data.formats.declared_types import bare, key_type, value_type
from bosket.data.formats.layouts import NAME_LISTS, NAME_RECORDS, long_columns
from bosket.data.formats.list_cells import most_cells
from bosket.data.formats.long_words import Long, cast_short
from bosket.data.formats.one_hot import Marks, OneHotRows
from bosket.data.formats.parquet_batches import coded_batches
from bosket.data.formats.parquet_opening import Opened, opened, sound
from bosket.data.formats.presence_signs import signs
from bosket.data.formats.sources import Content, Source
from bosket.data.formats.vocabulary import Vocabulary
from bosket.errors import telling_no_sizes
from bosket.threads import slices

_CELLS_A_PIECE = 1 << 20
_NAMES_A_PIECE = 1 << 16


@telling_no_sizes("read these records")
def read(content: Content, told: Arrangement, vocabulary: Vocabulary) -> Csr:
    """The records of a Parquet file over the declared domain."""
    is_strict = vocabulary.is_strict
    with opened(content, is_claim_held=is_strict and not told.columns, is_strict=is_strict) as file:
        csr: Csr = sound(content, lambda: _read(file, told, vocabulary))
        return csr


def _read(file: Opened, told: Arrangement, vocabulary: Vocabulary) -> Csr:
    source = file.content.source
    names, kinds = tuple(file.schema.names), tuple(file.schema.types)
    if not told.columns and len(set(names)) != len(names):
        raise source.error("must not give two columns the same name")
    layout, lists = told.layout, [at for at, kind in enumerate(kinds) if _element(kind) is not None]
    if layout is None:
        layout = "list" if lists else declared_layout(names, vocabulary.among(names), source)
    if layout == "list":
        lists = _named_lists(names, lists, told, source)
        return _lists(file, names[lists[0]], _Cells.of(_element(kinds[lists[0]]), vocabulary, source))
    if layout == "one-hot":
        return _one_hot(file, item_columns(names, vocabulary, source), vocabulary)
    record, item = long_columns(Columns(names, (), source), told.record, told.item)
    cells = _Cells.of(kinds[item], vocabulary, source)
    return _long(file, names[record], names[item], _key(kinds[record], source), cells)


def _named_lists(names: tuple[str, ...], lists: list[int], told: Arrangement, source: Source) -> list[int]:
    """The place of the one column of lists to read, by its name or because there is no other."""
    places = told.places(Columns(names, (), source))
    if places and places[0] not in lists:
        raise source.error(f"must hold lists in column {places[0] + 1}", hint=NAME_RECORDS)
    if len(places or lists) != 1:
        raise source.error(f"must have one column of lists, got {len(lists)}", hint=NAME_LISTS)
    return places or lists


class _Coded(NamedTuple):
    """The values of a column; where they are codes, each word once, and the place of the word of each cell, or -1."""

    values: Any
    codes: Offsets | None

    @classmethod
    def of(cls, column: Any, kind: Any, long: Long = "kept") -> _Coded:
        """Of codes only the words that occur are kept: those of other rows may be many more."""
        if not pa.types.is_dictionary(column.type):
            return cls(_as_bare(column, kind, long), None)
        places, words = ArrowCells.of(column)
        assert places is not None
        used, ranks = ranked(places, len(words))
        is_used = np.zeros(len(words), np.bool_)
        is_used[used] = True
        return cls(_as_bare(words, kind, long, is_used).take(pa.array(used)), ranks)

    def cells(self, of_values: Any, of_none: Any) -> Any:
        """What each cell has, from what each value has."""
        return of_values if self.codes is None else np.append(of_values, of_none)[self.codes]

    def missing(self) -> Any:
        return self.cells(pc.is_null(self.values, nan_is_null=True).to_numpy(zero_copy_only=False), np.True_)

    def among(self, values: Any) -> Any:
        return self.cells(pc.is_in(self.values, value_set=values).to_numpy(zero_copy_only=False), np.False_)


class _Cells(NamedTuple):
    """How the values of a column become items."""

    kind: Any
    values: Any
    items: ItemIds
    vocabulary: Vocabulary
    source: Source

    @classmethod
    def of(cls, kind: Any, vocabulary: Vocabulary, source: Source) -> _Cells:
        bare = _bare(kind)
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        known = vocabulary.values(value if pa.types.is_float16(value) else bare)
        if known is None:
            raise source.error(f"must hold items as text or numbers, and its schema says {str(bare)[:40]}")
        values, items = known
        return cls(bare, values.cast(bare), items, vocabulary, source)

    def items_of(self, column: Any, before: int, ends: Offsets | None = None, start: int = 0) -> ItemIds:
        """The item of each cell, -1 for one that is none; of lists, where they end, and the first of these cells."""
        coded = _Coded.of(column, self.kind, "kept" if self.vocabulary.is_strict else "missing")
        places = pc.fill_null(pc.index_in(coded.values, value_set=self.values), -1).to_numpy(zero_copy_only=False)
        items: ItemIds = coded.cells(np.append(self.items, np.int32(-1))[places], np.int32(-1))
        if self.vocabulary.is_strict:
            bad = np.flatnonzero((items < 0) & ~coded.missing() if ends is None else items < 0)
            if bad.size:
                row = int(bad[0] if ends is None else np.searchsorted(ends, start + bad[0], side="right"))
                raise self.source.error(f"{UNDECLARED}, in row {before + row + 1}")
        return items


def _element(kind: Any) -> Any:
    """The type of the values of lists, or None for any other type."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return kind.value_type if is_list else None


def _bare(kind: Any) -> Any:
    """The type that values are compared in: without a dictionary, and text as bytes, which need not be sound UTF-8."""
    kind = bare(kind)
    return pa.float32() if pa.types.is_float16(kind) else value_type(kind)  # Arrow hardly computes with the former


def _as_bare(column: Any, kind: Any, long: Long, is_used: npt.NDArray[np.bool_] | None = None) -> Any:
    values = cast_short(column, kind, long, is_used)
    return pc.add(values, pa.scalar(0, kind)) if pa.types.is_floating(kind) else values  # -0 becomes 0


def _lists(file: Opened, name: str, cells: _Cells) -> Csr:
    """A record a list; a long one in pieces, and of items that it repeats the first."""
    sizes, kept, before = Sizes(file.content.check_size), Items(), 0
    is_strict, most = cells.vocabulary.is_strict, most_cells(cells.kind)
    last = np.zeros(cells.vocabulary.domain.n_items, np.int64)
    for batch in coded_batches(file, [name], longest=most):
        if isinstance(batch, CutLists):
            before = _cut(batch, cells, before, sizes, kept, last)
            continue
        column = batch.column(0)
        sizes.check(len(column), 0)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        ends = frozen(np.cumsum(lengths, dtype=np.int64))
        found = np.zeros(lengths.size, np.int64)
        values = pc.list_flatten(column)
        for start, stop in _pieces(lengths, ends, len(values) if is_strict else most):
            items = cells.items_of(values.slice(start, stop - start), before, ends, start)
            kept.append(once_in_list(frozen(items), ends, start, last, before, found))
            sizes.check(found.size, int(found.sum()))
        sizes.append(found, n_items=int(found.sum()))
        before += lengths.size
    return canonical(sizes.starts(), kept.together(), cells.vocabulary.domain)


def _cut(lists: CutLists, cells: _Cells, before: int, sizes: Sizes, kept: Items, last: Offsets) -> int:
    """The same of lists that are read cell by cell."""
    ends, found = lists.ends, np.zeros(lists.ends.size, np.int64)
    for start, values in lists.cells(most_cells(cells.kind)):
        kept.append(once_in_list(frozen(cells.items_of(values, before)), ends, start, last, before, found))
        sizes.check(found.size, int(found.sum()))
    sizes.append(found, n_items=int(found.sum()))
    return before + int(ends.size)


def _pieces(lengths: Offsets, ends: Offsets, most: int) -> Iterator[tuple[int, int]]:
    """The cells of lists, some at a time, from where to where; of a list the first ``most``."""
    start = 0
    for at in np.flatnonzero(lengths > most).tolist():
        yield from _between(start, int(ends[at] - lengths[at]) + most)
        start = int(ends[at])
    yield from _between(start, int(ends[-1]) if ends.size else 0)


def _between(start: int, stop: int) -> Iterator[tuple[int, int]]:
    return ((start + first, start + last) for first, last in slices(stop - start, _CELLS_A_PIECE))


def _one_hot(file: Opened, items: ItemIds, vocabulary: Vocabulary) -> Csr:
    chosen = np.flatnonzero(items >= 0)
    known, kinds = file.schema.names, file.schema.types
    names = [known[at] for at in chosen]
    present = [_signs(kinds[at], file.content.source) for at in chosen]
    rows, before = OneHotRows(vocabulary.domain, file.content.check_size), 0

    def marks(columns: list[Any]) -> Iterator[Marks]:
        for column, (kind, ones, noughts) in zip(columns, present, strict=True):
            coded = _Coded.of(column, kind, "kept" if vocabulary.is_strict else "missing")
            here = coded.among(ones)
            if vocabulary.is_strict:
                is_sign = here | coded.missing() | coded.among(noughts)
                if not is_sign.all():
                    row = before + int(np.argmin(is_sign)) + 1
                    raise file.content.source.error(f"{MISPLACED}, and row {row} does not")
            yield here

    for batch in coded_batches(file, names):
        rows.append(batch.num_rows, items[chosen], marks(batch.columns))
        before += batch.num_rows
    return rows.csr()


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
    pairs, before = RecordItems(), 0

    def check() -> None:
        file.content.check_size(taken(n_records=before, n_items=before, n_labels=len(keys)))

    for batch in coded_batches(file, [record, item]):
        named = _Coded.of(batch.column(record), kind, "digest")
        ids = cells.items_of(batch.column(item), before)
        is_named = ~named.missing()
        if cells.vocabulary.is_strict and not is_named.all():
            row = before + int(np.argmin(is_named)) + 1
            raise cells.source.error(f"must say which record the item belongs to, and row {row} does not")
        before += batch.num_rows
        pairs.append(_numbers(named, is_named, keys, check), ids[is_named])
    return from_pairs(*pairs.together(), len(keys), cells.vocabulary.domain)


def _numbers(named: _Coded, is_named: Any, keys: dict[Hashable, int], check: Callable[[], None]) -> Offsets:
    """The record of each row that names one, by number; those that are new to ``keys`` as they first appear.

    ``check`` is called every so many names, which may all be new.
    """
    if named.codes is None:
        coded = named.values.filter(pa.array(is_named)).dictionary_encode()
        values, codes = coded.dictionary, coded.indices.to_numpy()
    else:
        values, codes = named.values, named.codes[is_named]
    first = np.full(len(values), codes.size)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(first)[: np.count_nonzero(first < codes.size)]
    numbers: Offsets = np.full(len(values), -1, np.int64)
    check()
    for start, stop in slices(order.size, _NAMES_A_PIECE):
        names = values.take(pa.array(order[start:stop])).to_pylist()
        numbers[order[start:stop]] = [keys.setdefault(name, len(keys)) for name in names]
        check()
    rows: Offsets = numbers[codes]
    return rows


def _key(kind: Any, source: Source) -> Any:
    """The type that names of records are compared in."""
    key = key_type(bare(kind))
    if key is None:
        raise source.error(f"must name records by text or numbers, and its schema says {str(kind)[:40]}")
    return key
