"""Tables under a declaration in which no record is refused: a cell that stands for no declared value has a category.

What is promised, whatever the cells are: names and types of columns, and the options, settle what is read and how.
After the header, each line of CSV and each row of a frame or of Parquet is one record, by itself.  A cell that is
missing, or stands for no declared value or bin, is of the category ``unknown``, which each attribute has whether a
record needs it or not.  So are all cells of a line with too few or too many of them; a quote that is not closed ends
with its line.  Every record has one value of each attribute.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.rows import taken
from bosket.data.formats.columns import Columns
from bosket.data.formats.declared_frames import cells_of, kind_of, values_of
from bosket.data.formats.declared_layouts import check_names
from bosket.data.formats.declared_lines import header_of
from bosket.data.formats.frames import FRAME, collected
from bosket.data.formats.lines import Lines, whole_lines
from bosket.data.formats.parquet_opening import opened, sound
from bosket.data.formats.parquet_texts import coded_batches
from bosket.data.formats.sources import Content
from bosket.data.tables.codings import MISSING, Coding
from bosket.data.tables.columns import Choices
from bosket.data.tables.domain import Attribute, Codes, TableDomain
from bosket.errors import ParameterError

_READABLE = (str, bool, int, float, Decimal, np.bool_, np.integer, np.floating)
_REMEMBERED = 1 << 16  # cells of a column whose codes are kept at hand


@dataclass(frozen=True)
class _Attribute:
    """A column to read: what its cells stand for."""

    at: int
    coding: Coding
    attribute: Attribute
    missing: int
    unknown: int
    known: dict[str, int] = field(default_factory=dict)

    def code(self, cell: object) -> int:
        """The place of the value that a cell stands for; any cell stands for one."""
        kind = type(cell)  # what an object says of its class is code of its own
        if issubclass(kind, np.timedelta64) or not issubclass(kind, _READABLE):  # a time passes for a whole number
            return self.unknown
        try:
            found = self.coding.code(cell)
        except Exception:  # noqa: BLE001  # a number of thousands of digits, a subclass that makes errors
            return self.unknown
        if found == MISSING:
            return self.missing
        return found if found >= 0 else self.unknown

    def code_of_text(self, cell: str) -> int:
        bare = cell.strip()
        found = self.known.get(bare)
        if found is None:
            found = self.code(bare)
            if len(self.known) < _REMEMBERED:
                self.known[bare] = found
        return found


def from_frame(frame: Any, choices: Choices) -> tuple[Codes, TableDomain]:
    """The codes of a frame, and their domain."""
    known = collected(frame)
    attributes = _attributes(Columns(tuple(known.columns), (), FRAME), choices)
    series = list(known.iter_columns())
    parts = []
    for one in attributes:
        codes, values = cells_of(series[one.at], kind_of(series[one.at]))
        parts.append(_coded(one, codes, values))
    return _together(parts, attributes)


def read_csv(content: Content, choices: Choices) -> tuple[Codes, TableDomain]:
    """A header, then a record a line; a blank one is a record too."""
    names, blocks = header_of(whole_lines(content, is_strict=False), content.source)
    columns = Columns(tuple(name.strip() for name in names), (), content.source)
    check_names(columns.names, content.source)
    attributes = _attributes(columns, choices)
    parts, n_records = [np.empty((0, len(attributes)), np.int64)], 0
    for block in blocks:
        rows = [_row(cells, len(names), attributes) for cells in _lines(block, len(names))]
        parts.append(np.array(rows, np.int64).reshape(len(rows), len(attributes)))
        n_records += len(rows)
        content.check_size(taken(n_records=n_records, n_items=n_records * len(attributes) // 4))
    return _together(list(np.concatenate(parts).T), attributes)


def _lines(block: Lines, n_columns: int) -> Iterator[list[str]]:
    """The cells of each line, as many as the header has and one; none where they cannot be made out."""
    lines = block.text.split(b"\n")
    for line in lines[:-1] if block.text.endswith(b"\n") else lines:
        text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
        try:
            yield text.split(",", n_columns) if '"' not in text else next(csv.reader([text]), [])
        except csv.Error:  # a cell that is too long, a carriage return among the others
            yield []


def _row(cells: list[str], n_columns: int, attributes: Sequence[_Attribute]) -> list[int]:
    if len(cells) != n_columns:
        return [one.unknown for one in attributes]
    return [one.code_of_text(cells[one.at]) for one in attributes]


def read_parquet(content: Content, choices: Choices, domain: TableDomain | None) -> tuple[Codes, TableDomain]:
    """A column per attribute; ``domain`` is that of the file, where it names one."""
    with opened(content, what="a table", is_claim_held=False) as file:
        columns = Columns(tuple(file.schema.names), (), content.source)
        check_names(columns.names, content.source)
        if domain is not None:
            choices = choices.over(domain.select(choices.positions(columns)))
        attributes = _attributes(columns, choices)
        for one in attributes:
            kind = file.schema.types[one.at]
            if pa.types.is_nested(kind):
                raise content.source.error(f"must hold a value in {columns.called(one.at)}, and its schema says {kind}")
        names = [str(columns.names[one.at]) for one in attributes]
        kinds = [np.min_scalar_type(len(one.attribute)) for one in attributes]
        parts = [[np.empty(0, kind)] for kind in kinds]

        def read() -> None:
            n_records = 0
            for batch in coded_batches(file, names):
                n_records += batch.num_rows
                content.check_size(taken(n_records=n_records, n_items=n_records * len(attributes) // 4))
                for one, part, kind, name in zip(attributes, parts, kinds, names, strict=True):
                    part.append(_coded(one, *values_of(batch.column(name))).astype(kind))

        sound(content, read)
    return _together([np.concatenate(part) for part in parts], attributes)


def _attributes(columns: Columns, choices: Choices) -> list[_Attribute]:
    """The columns to read, all of which must be declared: what they may hold does not hang on the records."""
    places = choices.positions(columns)
    choices.check(places)
    assert choices.unknown is not None
    result = []
    for name, at in places.items():
        coding = choices.codings.get(name)
        if coding is None or not coding.is_declared:
            raise ParameterError(
                f"The 'unknown' parameter must come with values or bins of every column, and {name!r} has none.",
                parameter="unknown",
                value=name,
                hint="Declare what there can be with values={...} or bins={...}, or leave it out with columns=[...].",
            )
        attribute, missing = choices.attribute(name, coding)
        if choices.unknown not in attribute.values:
            attribute = Attribute(name, (*attribute.values, choices.unknown))
        unknown = attribute.values.index(choices.unknown)
        result.append(_Attribute(at, coding, attribute, unknown if missing == MISSING else missing, unknown))
    return result


def _coded(one: _Attribute, codes: npt.NDArray[np.int64], values: list[Any]) -> npt.NDArray[np.int64]:
    """The codes of the cells of a column; -1 is a missing one."""
    meanings = [*map(one.code, values), one.missing]
    return np.array(meanings, np.int64)[codes]


def _together(parts: Sequence[npt.NDArray[np.integer[Any]]], attributes: list[_Attribute]) -> tuple[Codes, TableDomain]:
    domain = TableDomain([one.attribute for one in attributes])
    codes = np.empty((len(parts[0]), len(parts)), domain.dtype)
    for at, part in enumerate(parts):
        codes[:, at] = part
    return codes, domain
