"""The domain of what occurs in all segments, as the readers of one machine would make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from bosket.data import Domain, Table, TableDomain
from bosket.data.baskets.rows import domain_of
from bosket.data.formats.columns import guarded, whole
from bosket.data.formats.frames import FRAME
from bosket.data.tables.codings import looks_missing
from bosket.errors import BosketError, DataError
from bosket.spark.encoding import Encoded, refuse_unknown
from bosket.spark.faults import place, times
from bosket.spark.shapes import FRACTIONS, WHOLE
from bosket.spark.summaries import Met

_ARROW = {"boolean": pa.bool_(), "string": pa.string()}
_ARROW |= dict.fromkeys(WHOLE, pa.int64()) | dict.fromkeys(FRACTIONS, pa.float64())

Meant = tuple[Domain, dict[Any, int]]
"""A domain, and the item that each label of the segments stands for."""


def domain_of_lists(encoded: Encoded) -> Meant:
    """The items that occur, sorted; a label of floating point that is whole is so where all are."""
    labels = list(encoded.met)
    if any(isinstance(label, float) for label in labels):
        labels = whole([float(label) for label in labels])
    domain, ids = domain_of(labels)
    return domain, dict(zip(encoded.met, ids.tolist(), strict=True))


def domain_of_columns(encoded: Encoded, names: tuple[str, ...]) -> Meant:
    """A column per item, in their order."""
    domain = Domain(names, is_declared=False)
    return domain, {key: domain.index[key] for key in encoded.met}


def over_domain(encoded: Encoded, domain: Domain, what: str) -> Meant:
    """What labels stand for in a declared domain; those that it does not have are refused."""
    refuse_unknown((one for key, one in encoded.met.items() if key not in domain.index), what)
    return domain, {key: domain.index[key] for key in encoded.met}


def domain_of_table(
    encoded: Encoded, kinds: Mapping[str, str], options: Mapping[str, Any], domain: TableDomain | None = None
) -> Meant:
    """The attributes, as :meth:`bosket.Table.from_frame` makes them of the different cells of each column.

    ``kinds``: the names of the columns and their types, as Spark calls them.
    ``domain``: one that was declared, which must have every value.
    """
    names = tuple(kinds)
    cells: list[list[Met]] = [[] for _ in names]
    for one in encoded.met.values():
        cells[one.label[0]].append(one)
    if options.get("missing") is None:
        _refuse_missing(names, cells)
    if not all(cells):
        raise DataError("The frame has no rows, of which a table is made.")
    longest = max(map(len, cells))
    try:
        columns = {name: _column(column, kinds[name], longest) for name, column in zip(names, cells, strict=True)}
        table = Table.from_frame(pa.table(columns), **options)
        if domain is not None:
            table = table.with_domain(domain)
    except BosketError as problem:
        fault = DataError(f"The frame cannot be read as a table: {_without_row(str(problem))}", hint=problem.hint)
    else:
        offsets = table.domain.offsets
        places = {
            (at, one.label[1]): int(table.codes[row, at]) + int(offsets[at])
            for at, column in enumerate(cells)
            for row, one in enumerate(column)
        }
        return table.domain, places
    raise fault


def _column(cells: list[Met], kind: str, length: int) -> Any:
    """Different cells as a column of the frame's type, the first again and again until there are so many.

    Numbers of floating point come as whole ones from segments where all are; as such Arrow would refuse large ones.
    """
    values = [one.label[1] for one in cells] + [cells[0].label[1]] * (length - len(cells))
    if kind in FRACTIONS:
        values = [None if value is None else float(value) for value in values]
    return guarded(lambda: pa.array(values, _ARROW[kind]), FRAME)


def _without_row(text: str) -> str:
    """A message of the reader, which saw each different cell once: its row is none of the frame."""
    found, at, _ = text.partition("; row ")
    return f"{found}." if at else found


def _refuse_missing(names: tuple[str, ...], cells: list[list[Met]]) -> None:
    for name, column in zip(names, cells, strict=True):
        missing = [one for one in column if one.label[1] is None or looks_missing(one.label[1])]
        if missing:
            count, first = sum(one.count for one in missing), min(one.first for one in missing)
            raise DataError(
                f"Attribute {name!r} must hold a value, and nothing or '?' is none: {times(count)}, first in "
                f"{place(first)}.",
                hint=f"Make it a category of its own: bosket.spark.table(frame, missing={{{name!r}: 'unknown'}}).",
            )
