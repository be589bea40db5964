"""From columns to records: one-hot, long and list layouts, and telling them apart.

Rows are counted from 0 here and from 1 in messages.  Messages name columns, never values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.checks import check_choice, check_different
from bosket.data.baskets.rows import Csr, Offsets, domain_of, from_pairs, from_records, taken
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats.column_names import position
from bosket.data.formats.columns import (
    Columns,
    codes_in_order,
    factorize,
    is_absent,
    is_boolean,
    is_list,
    presence,
    reads_as_one_hot,
)
from bosket.data.formats.one_hot import Marks, OneHotRows
from bosket.data.formats.sources import Source
from bosket.errors import DataError, ParameterError

Layout: TypeAlias = Literal["one-hot", "long", "list"]
LAYOUTS: tuple[Layout, ...] = ("one-hot", "long", "list")
_OTHER_LAYOUTS = (
    "Read as one-hot. Columns record and item are layout='long', a record a line is layout='list'; columns of other "
    "names are named by record= and item=; cells are parted by commas."
)
NAME_LISTS = "Name the column, by item=."
NAME_RECORDS = "Where a row has one item, name the column of records too, by record=."
LONG_NAMES = ("record", "item")
"""The column names our own long files have; they settle the layout."""


def to_csr(
    columns: Columns, layout: Layout | None, *, record: Hashable | None = None, item: Hashable | None = None
) -> Csr:
    """Read columns as records; ``record`` and ``item`` name the columns of a long layout (``item``: of a list)."""
    if layout is None:
        layout = _implied(columns, record, item) or detect(columns)
    check_choice("layout", layout, LAYOUTS)
    check_named(layout, record, item)
    if layout == "one-hot":
        return one_hot(columns)
    if layout == "list":
        return from_lists(columns, item)
    return long(columns, record, item)


def check_named(layout: Layout, record: Hashable | None, item: Hashable | None) -> None:
    """Refuse names of columns that a layout does not have."""
    for name, column in (("record", record), ("item", item)):
        if column is not None and (layout == "one-hot" or (layout == "list" and name == "record")):
            must = f"The '{name}' parameter must be left out for the {layout} layout, got {column!r}."
            raise ParameterError(must, parameter=name, value=column)
    if record is not None:
        check_different("item", item, "record", record)


def _implied(columns: Columns, record: Hashable | None, item: Hashable | None) -> Layout | None:
    """The layout that naming columns implies."""
    if record is None and item is None:
        return None
    if record is None and is_list(columns.values[position(columns, "item", item)]):
        return "list"
    return "long"


def detect(columns: Columns) -> Layout:
    """The layout, if there is only one that the columns can have."""
    if not columns.names:
        raise columns.source.error("has no columns")
    if any(is_list(column) for column in columns.values):
        return "list"
    if len(columns.names) != 2:
        return "one-hot"
    if all(is_boolean(column) for column in columns.values):
        return "one-hot"
    if set(columns.names) == set(LONG_NAMES):
        return "long"
    if all(reads_as_one_hot(column, columns.source) for column in columns.values):
        raise two_of_signs(columns.source)
    return "long"


def two_of_signs(source: Source) -> DataError:
    return source.error(
        "has two columns of 0 and 1, which may be two items, or record numbers and items",
        hint="Pass layout='one-hot' or layout='long'.",
    )


def one_hot(columns: Columns) -> Csr:
    """A column per item, a row per record: 0 and 1, or false and true; a missing value is 0."""
    domain = Domain(columns.names, is_declared=False)  # such columns are made of what occurs, as a rule
    rows = OneHotRows(domain, columns.check_size)
    add_one_hot(rows, columns)
    return rows.csr()


def add_one_hot(rows: OneHotRows, columns: Columns) -> None:
    """Add the rows of these columns, of which each is an item."""
    n_rows = len(columns.values[0]) if columns.values else 0
    rows.append(n_rows, np.arange(len(columns.values), dtype=np.int32), _marks(columns))


def _marks(columns: Columns) -> Iterator[Marks]:
    for at, column in enumerate(columns.values):
        present = presence(column, columns.source)
        bad = np.flatnonzero(present < 0)
        if bad.size:
            raise not_one_hot(columns, at, int(bad[0]))
        yield present.view(np.bool_)


def not_one_hot(columns: Columns, at: int, row: int) -> DataError:
    """Of a cell that does not say whether its row has the item of its column."""
    must = f"C{columns.called(at)[1:]} must hold 0 or 1, false or true, or nothing"
    return columns.source.row_error(must, row, hint=_OTHER_LAYOUTS)


def long(columns: Columns, record: Hashable | None, item: Hashable | None) -> Csr:
    """A row per (record, item); records in order of first appearance; a missing item only opens its record."""
    at_record, at_item = long_columns(columns, record, item)
    columns.check_size(taken(n_records=len(columns.values[at_record]), n_items=len(columns.values[at_item])))
    records, n_records = codes_in_order(columns.values[at_record], columns.source, columns.check_size), 0
    if records.size:
        n_records = int(records.max()) + 1
        if records.min() < 0:
            must = f"C{columns.called(at_record)[1:]} must say which record the item belongs to"
            raise columns.source.row_error(must, int(np.argmin(records)))
    codes, labels = factorize(columns.values[at_item], columns.source, columns.check_size)
    categories = columns.categories.get(at_item)
    domain, rank = domain_of(labels) if categories is None else _of_categories(categories, labels)
    items = np.append(rank, np.int32(-1))[codes]  # code -1 picks the last entry
    return from_pairs(records, items, n_records, domain)


def _of_categories(categories: tuple[Hashable, ...], labels: list[Hashable]) -> tuple[Domain, ItemIds]:
    """The domain of a column's categories, and the item id of each label given, which is one of them."""
    domain = Domain(categories, of_categories=True)
    return domain, np.array([domain.index[label] for label in labels], np.int32)


def long_rows(indptr: Offsets, indices: ItemIds, first: int) -> tuple[Any, Any]:
    """The other way: Arrow columns of record numbers, from ``first``, and item ids, missing for an empty record."""
    sizes = np.diff(indptr)
    rows = np.maximum(sizes, 1)
    items = np.full(rows.sum(), -1, np.int32)
    items[np.repeat(sizes > 0, rows)] = indices
    records = np.repeat(np.arange(first, first + sizes.size), rows)
    return pa.array(records), pa.array(items, mask=items < 0)


def long_columns(columns: Columns, record: Hashable | None, item: Hashable | None) -> tuple[int, int]:
    names = columns.names
    if record is None and item is None and set(LONG_NAMES) <= set(names):
        record, item = LONG_NAMES  # our own names mean what they say, in whatever order
    if (record is None or item is None) and len(names) != 2:
        raise columns.source.error(
            f"must have two columns to be read as long, got {len(names)}",
            hint="Name those of records and items, by record= and item=.",
        )
    if record is None:
        record = names[0] if item is None or item == names[1] else names[1]
    at_record = position(columns, "record", record)
    if item is None:
        return at_record, 1 - at_record
    return at_record, position(columns, "item", item)


def from_lists(columns: Columns, item: Hashable | None) -> Csr:
    """A list of items in each row; a missing list is an empty record."""
    if item is None:
        places = [at for at, column in enumerate(columns.values) if is_list(column)]
    else:
        places = [position(columns, "item", item)]
    if len(places) != 1:
        raise columns.source.error(
            f"must have one column of lists, got {len(places)}",
            hint=NAME_LISTS,
        )
    column, name = columns.values[places[0]], columns.called(places[0])
    if isinstance(column, list):
        return from_records([() if is_absent(record) else record for record in column])
    if not is_list(column):
        raise columns.source.error(f"must hold lists in {name}", hint=NAME_RECORDS)
    columns.check_size(taken(n_records=len(column), n_items=0))
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    columns.check_size(taken(n_records=len(column), n_items=int(sizes.sum(dtype=np.int64))))
    records = np.repeat(np.arange(sizes.size, dtype=np.int64), sizes)
    codes, labels = factorize(pc.list_flatten(column), columns.source, columns.check_size)
    if codes.size and codes.min() < 0:
        must = f"C{name[1:]} must hold lists of items, none of them missing"
        raise columns.source.row_error(must, int(records[np.argmin(codes)]))
    domain, rank = domain_of(labels)
    return from_pairs(records, rank[codes], sizes.size, domain)
