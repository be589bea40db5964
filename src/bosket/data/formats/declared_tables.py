"""Tables under a declaration in which no record is refused: a cell that stands for no declared value has a category.

What is promised, whatever the cells are: names and types of columns, and the options, settle what is read and how.
After the header, each line of CSV and each row of a frame or of Parquet is one record, by itself.  A cell that is
missing, or stands for no declared value or bin, is of the category ``unknown``, which each attribute has whether a
record needs it or not.  So are all cells of a line with too few or too many of them; a quote that is not closed ends
with its line.  Every record has one value of each attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.rows import Items, taken
from bosket.data.formats.categories import check_declared
from bosket.data.formats.columns import Columns
from bosket.data.formats.declared_columns import arrow_column, arrow_type, cells_of, kind_of
from bosket.data.formats.declared_layouts import check_names
from bosket.data.formats.declared_lines import cells_of_lines, header_of
from bosket.data.formats.declared_values import DeclaredCells
from bosket.data.formats.frames import FRAME, collected
from bosket.data.formats.lines import whole_lines
from bosket.data.formats.lookup import Ways, place_of, places_of
from bosket.data.formats.parquet_batches import coded_batches
from bosket.data.formats.parquet_opening import opened, sound
from bosket.data.formats.sources import Content
from bosket.data.formats.vocabulary import Index
from bosket.data.tables.codings import MISSING, Coding, looks_missing
from bosket.data.tables.columns import Choices
from bosket.data.tables.domain import Attribute, Codes, TableDomain
from bosket.errors import ParameterError, telling_no_sizes

_READABLE = (str, bool, int, float, complex, Decimal, Fraction, np.bool_, np.number, Ways)
_REMEMBERED = 1 << 16  # cells of a column whose codes are kept at hand
_SHORT = 1 << 8  # bytes of such a cell


@dataclass(frozen=True)
class _Attribute:
    """A column to read: what its cells stand for."""

    at: int
    coding: Coding
    attribute: Attribute
    missing: int
    unknown: int
    places: dict[Hashable, int] | None
    """From what stands for a declared value to its place, however it is written; None for bins."""
    known: dict[bytes, int] = field(default_factory=dict)

    def code(self, cell: object) -> int:
        """The place of the value that a cell stands for; any cell stands for one."""
        kind = type(cell)  # what an object says of its class is code of its own
        if issubclass(kind, np.timedelta64) or not issubclass(kind, _READABLE):  # a time passes for a whole number
            return self.unknown
        try:
            found = self._code_of(cell)
        except Exception:  # noqa: BLE001  # a number of thousands of digits, a subclass that makes errors
            return self.unknown
        if found == MISSING:
            return self.missing
        return found if found >= 0 else self.unknown

    def _code_of(self, cell: Any) -> int:
        """By equality: of equal values, as 1, 1.0, True and 1+0j are, other records decide which one is kept."""
        if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:
            cell = cell.real
        if self.places is None:
            cell = cell.value if type(cell) is Ways else cell
            return self.coding.code(int(cell) if isinstance(cell, bool | np.bool_) else cell)
        found = place_of(cell, self.places)
        if found is not None:
            return found
        return MISSING if looks_missing(cell) else self.coding.rest

    def code_of_text(self, cell: bytes) -> int:
        """The same of a cell of a text file."""
        found = self.known.get(cell)
        if found is None:
            found = self.code(cell.decode("utf-8", "surrogateescape").strip())
            if len(self.known) < _REMEMBERED and len(cell) <= _SHORT:
                self.known[cell] = found
        return found


@telling_no_sizes("read these records")
def from_frame(frame: Any, choices: Choices) -> tuple[Codes, TableDomain]:
    """The codes of a frame, and their domain."""
    known = collected(frame, is_strict=False)
    attributes = _attributes(Columns(tuple(known.columns), (), FRAME), choices)
    series = list(known.iter_columns())
    for one in attributes:
        if kind_of(series[one.at]) == "categories":
            check_declared((cell for cell, _ in one.coding.cells), parameter="values")
    return _together([_coded(one, _cells_of(series[one.at])) for one in attributes], attributes)


def _cells_of(series: nw.Series[Any]) -> DeclaredCells:
    """The cells of a column of a frame; those of types that cannot be declared are told from missing ones alone."""
    kind = kind_of(series)
    if kind not in ("objects", "categories") and arrow_type(series) is not None:
        return DeclaredCells.of_arrow(arrow_column(series))
    if kind in ("lists", "other"):
        return DeclaredCells.of_nothing(series.is_null().to_numpy())
    return DeclaredCells.of_list(*cells_of(series, "categories" if kind == "categories" else "objects"))


@telling_no_sizes("read these records")
def read_csv(content: Content, choices: Choices) -> tuple[Codes, TableDomain]:
    """A header, then a record a line; a blank one is a record too."""
    names, blocks = header_of(whole_lines(content, is_strict=False), content.source)
    columns = Columns(tuple(name.strip() for name in names), (), content.source)
    check_names(columns.names, content.source)
    attributes = _attributes(columns, choices)
    places = np.array([one.at for one in attributes])
    codes, index = _Rows(content, attributes), Index.of([])
    for block in blocks:
        rows = cells_of_lines(block, index, len(names))
        here = codes.more(rows.n_lines)
        n_cells = np.diff(rows.starts)
        right = np.flatnonzero(n_cells == len(names))
        texts = rows.texts((rows.starts[right][:, None] + places).ravel())
        here[:] = [one.unknown for one in attributes]
        for at, one in enumerate(attributes):
            here[right, at] = list(map(one.code_of_text, texts[at :: len(attributes)]))
            if len(names) == 1:  # a line without letters is a cell without letters
                here[n_cells == 0, at] = one.code_of_text(b"")
    return codes.together()


@telling_no_sizes("read these records")
def read_parquet(
    content: Content, choices: Choices, domain_in: Callable[[Any], TableDomain | None]
) -> tuple[Codes, TableDomain]:
    """A column per attribute; ``domain_in`` finds the domain that the schema names, if it does."""
    with opened(content, what="a table", is_claim_held=False, is_strict=False) as file:
        columns, domain = Columns(tuple(file.schema.names), (), content.source), domain_in(file.schema)
        check_names(columns.names, content.source)
        if domain is not None:
            choices = choices.over(domain.select(choices.positions(columns)))
        attributes = _attributes(columns, choices)
        for one in attributes:
            kind = file.schema.types[one.at]
            if pa.types.is_nested(kind):
                raise content.source.error(f"must hold a value in {columns.called(one.at)}, and its schema says {kind}")
        names = [str(columns.names[one.at]) for one in attributes]
        codes = _Rows(content, attributes)

        def read() -> None:
            for batch in coded_batches(file, names):
                here = codes.more(batch.num_rows)
                for at, (one, name) in enumerate(zip(attributes, names, strict=True)):
                    here[:, at] = _coded(one, DeclaredCells.of_arrow(batch.column(name)))

        sound(content, read)
    return codes.together()


class _Rows:
    """The codes of a file as they are read, some rows at a time, in the array that the table will have."""

    def __init__(self, content: Content, attributes: list[_Attribute]) -> None:
        self._domain = TableDomain([one.attribute for one in attributes])
        self._codes = Items(self._domain.dtype)
        self._content = content
        self._n_rows = 0

    def more(self, n_rows: int) -> Codes:
        """Room for more rows, which the caller fills at once; what they take is counted before."""
        self._n_rows += n_rows
        width = len(self._domain.attributes)
        n_bytes = self._n_rows * width * self._domain.dtype.itemsize
        self._content.check_size(taken(n_records=self._n_rows, n_items=n_bytes // 4))
        return self._codes.more(n_rows * width).reshape(n_rows, width)

    def together(self) -> tuple[Codes, TableDomain]:
        """All of them; what was kept is let go."""
        return self._codes.together().reshape(self._n_rows, len(self._domain.attributes)), self._domain


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
        known = None if coding.ends is not None else places_of(coding.cells, f"values of {name!r}", parameter="values")
        result.append(_Attribute(at, coding, attribute, unknown if missing == MISSING else missing, unknown, known))
    return result


def _coded(one: _Attribute, cells: DeclaredCells) -> npt.NDArray[np.int64]:
    """The codes of the cells of a column."""
    meanings = np.full(cells.n_codes + 1, one.missing, np.int64)  # code -1, missing, picks the last entry
    found = (one.code(value) for piece in cells.pieces for value in piece)
    meanings[cells.used] = np.fromiter(found, np.int64, cells.used.size)
    coded: npt.NDArray[np.int64] = meanings[cells.codes]
    return coded


def _together(parts: Sequence[npt.NDArray[np.integer[Any]]], attributes: list[_Attribute]) -> tuple[Codes, TableDomain]:
    domain = TableDomain([one.attribute for one in attributes])
    codes = np.empty((len(parts[0]), len(parts)), domain.dtype)
    for at, part in enumerate(parts):
        codes[:, at] = part
    return codes, domain
