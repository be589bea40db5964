"""Frames under a declaration: what is read, and how, follows from names and types of columns and the declared items.

With ``unknown="drop"`` nothing in a cell makes an error, and a row changes one record, or at most one item of one
record where the layout is long.  Types of columns are public, as the schema of a file is, and one that cannot hold
items (dates, nested values) is refused by its type.  What a cell stands for follows from the type of its column and
from the cell; what pandas or Arrow would make of all of them together does not count.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from bosket.checks import check_choice
from bosket.data.baskets.rows import Csr, Offsets, from_pairs
from bosket.data.domain import ItemIds
from bosket.data.formats import categories
from bosket.data.formats.column_names import position
from bosket.data.formats.columns import MEANINGS, Columns
from bosket.data.formats.declared_columns import ColumnKind, arrow_column, arrow_type, cells_of, kind_of, without_rest
from bosket.data.formats.declared_layouts import SAY, ambiguous, declared_layout
from bosket.data.formats.declared_lines import MISPLACED, UNDECLARED
from bosket.data.formats.declared_lists import rows_of
from bosket.data.formats.declared_records import kept, refused
from bosket.data.formats.declared_types import bare, key_type
from bosket.data.formats.declared_values import names_of
from bosket.data.formats.frames import FRAME, check_codes, collected
from bosket.data.formats.layouts import LAYOUTS, NAME_LISTS, Layout, check_named, long_columns
from bosket.data.formats.lookup import Lookup, record_key
from bosket.data.formats.vocabulary import Unknown
from bosket.errors import telling_no_sizes


@dataclass(frozen=True)
class _Frame:
    names: tuple[Hashable, ...]
    series: tuple[nw.Series[Any], ...]
    kinds: tuple[ColumnKind, ...]
    lookup: Lookup
    is_strict: bool

    @property
    def columns(self) -> Columns:
        return Columns(self.names, (), FRAME)

    def column(self, at: int) -> nw.Series[Any]:
        """A column to read; one with codes that have no word is refused where a record may be."""
        if self.is_strict:
            check_codes(self.series[at])
        return self.series[at]

    def must(self, at: int, what: str) -> str:
        kind = self.series[at].dtype
        if kind == nw.Unknown:
            native = self.series[at].to_native()
            kind = getattr(native, "dtype", getattr(native, "type", kind))
        return f"must hold {what} in {self.columns.called(at)}, whose type is {str(kind)[:40]}"


@telling_no_sizes("read these records")
def read(
    frame: Any,
    layout: Layout | None,
    lookup: Lookup,
    unknown: Unknown,
    *,
    record: Hashable | None,
    item: Hashable | None,
) -> Csr:
    """The records of a frame over the declared domain; ``record`` and ``item`` name columns, as without one."""
    known = collected(frame, is_strict=unknown == "refuse")
    series = tuple(known.iter_columns())
    data = _Frame(tuple(known.columns), series, tuple(map(kind_of, series)), lookup, unknown == "refuse")
    if layout is None:
        layout = _layout(data, record, item)
    check_choice("layout", layout, LAYOUTS)
    check_named(layout, record, item)
    if layout == "one-hot":
        return _one_hot(data)
    if layout == "list":
        return _lists(data, item)
    return _long(data, record, item)


def _layout(data: _Frame, record: Hashable | None, item: Hashable | None) -> Layout:
    """The layout, by names and types alone; a column of objects may hold lists or items, and so tells nothing."""
    if record is not None:
        return "long"
    if item is not None:
        kind = data.kinds[position(data.columns, "item", item)]
        if kind == "objects":
            raise ambiguous(FRAME)
        return "list" if kind == "lists" else "long"
    if "lists" in data.kinds:
        return "list"
    return declared_layout(data.names, [data.lookup.item(name) >= 0 for name in data.names], FRAME)


def _items(data: _Frame, codes: Offsets, values: list[Any]) -> ItemIds:
    """The item of each cell, -1 for one that stands for none."""
    items: ItemIds = np.append(np.array(data.lookup.items(values), np.int32), np.int32(-1))[codes]
    return items


def _refuse(is_bad: npt.NDArray[np.bool_], fault: str) -> None:
    if is_bad.any():
        raise FRAME.error(f"{fault}, in row {int(np.argmax(is_bad)) + 1}")


def _long(data: _Frame, record: Hashable | None, item: Hashable | None) -> Csr:
    """A row per record and item; one without a record says nothing, one without an item that the record exists."""
    at_record, at_item = long_columns(data.columns, record, item)
    if data.kinds[at_item] in ("lists", "other"):
        raise FRAME.error(data.must(at_item, "items as text or numbers"))
    if data.kinds[at_item] == "categories":
        categories.check_declared(data.lookup.domain.labels, parameter="items")
    records = _record_codes(data, at_record)
    codes, values = cells_of(data.column(at_item), data.kinds[at_item])
    items = _items(data, codes, values)
    if data.is_strict:
        _refuse(records < 0, "must say which record the item belongs to")
        _refuse((items < 0) & (codes >= 0), UNDECLARED)
    is_named = records >= 0
    numbers, n_records = _in_order(records[is_named])
    return from_pairs(numbers, items[is_named], n_records, data.lookup.domain)


def _in_order(codes: Offsets) -> tuple[Offsets, int]:
    """The codes counted from 0 as they first appear, and how many there are."""
    found, first, places = np.unique(codes, return_index=True, return_inverse=True)
    ranks = np.empty(found.size, np.int64)
    ranks[np.argsort(first)] = np.arange(found.size)
    return ranks[places], found.size


def _record_codes(data: _Frame, at: int) -> Offsets:
    """A code for the record that each row names, -1 for one that names none."""
    series, kind = data.column(at), data.kinds[at]
    if kind in ("lists", "values", "other"):
        stored = arrow_type(series)
        if kind == "lists" or (stored is not None and key_type(bare(stored)) is None):
            raise FRAME.error(data.must(at, "names of records"))
        if stored is not None:
            return names_of(arrow_column(series))
    index: dict[Hashable, int] = {}
    codes, cells = cells_of(series, kind if kind == "categories" else "objects")
    keys = map(record_key, cells)
    numbers = [-1 if key is None else index.setdefault(key, len(index)) for key in keys]
    records: Offsets = np.array([*numbers, -1], np.int64)[codes]
    return records


def _lists(data: _Frame, item: Hashable | None) -> Csr:
    """A list of items in each row; a missing list is an empty record."""
    for wanted in ("lists", "objects"):
        places = [at for at, kind in enumerate(data.kinds) if kind == wanted]
        if places:
            break
    if item is not None:
        places = [position(data.columns, "item", item)]
    if len(places) != 1:
        raise FRAME.error(f"must have one column of lists, got {len(places)}", hint=NAME_LISTS)
    at = places[0]
    if data.kinds[at] not in ("lists", "objects"):
        raise FRAME.error(data.must(at, "lists of text or numbers"))
    if data.kinds[at] == "objects" or arrow_type(data.series[at]) is None:
        return _objects(data, at)
    return rows_of(arrow_column(data.column(at)), data.lookup, _refuse_row if data.is_strict else None)


def _refuse_row(row: int) -> None:
    raise FRAME.error(f"{UNDECLARED}, in row {row + 1}")


def _objects(data: _Frame, at: int) -> Csr:
    codes, cells = cells_of(data.series[at] if data.is_strict else without_rest(data.series[at]), "objects")
    records = [() if code < 0 else cell for code, cell in zip(codes.tolist(), cells, strict=True)]
    return refused(records, data.lookup) if data.is_strict else kept(records, data.lookup)


def _one_hot(data: _Frame) -> Csr:
    """A column per item: a cell of 1 or true says that the item is there; columns of other names are not looked at."""
    items = _item_columns(data)
    rows, ids = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for at in np.flatnonzero(items >= 0).tolist():
        if data.kinds[at] in ("lists", "other"):
            raise FRAME.error(data.must(at, "0 and 1, or false and true"))
    for at in np.flatnonzero(items >= 0).tolist():
        codes, values = cells_of(data.column(at), data.kinds[at])
        signs = np.append(np.array(list(map(_sign, values)), np.int8), np.int8(0))[codes]
        if data.is_strict:
            _refuse(signs < 0, MISPLACED)
        rows.append(np.flatnonzero(signs == 1))
        ids.append(np.full(rows[-1].size, items[at], np.int32))
    n_records = len(data.series[0]) if data.series else 0
    return from_pairs(np.concatenate(rows), np.concatenate(ids), n_records, data.lookup.domain)


def _item_columns(data: _Frame) -> ItemIds:
    if not data.names:
        raise FRAME.error("has no columns")
    items = np.array([data.lookup.item(name) for name in data.names], np.int32)
    if data.is_strict and items.min() < 0:
        at = int(np.argmin(items)) + 1
        raise FRAME.error(f"must name a declared item at the head of each column; column {at} does not", hint=SAY)
    if np.unique(items[items >= 0]).size < np.count_nonzero(items >= 0):
        raise FRAME.error("must not have two columns of one item")
    return items


def _sign(value: object) -> int:
    """1 for present, 0 for absent, -1 for anything else."""
    try:
        if isinstance(value, str):
            return MEANINGS.get(value.lower(), -1)
        return next((number for number in (0, 1) if bool(value == number)), -1)
    except Exception:  # noqa: BLE001  # a comparison of somebody else's object, or of an array
        return -1
