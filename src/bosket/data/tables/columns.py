"""From columns to the codes of a table.

What counts as missing is None, NaN, blank text and ``"?"``, unless it was declared to be a value.  Messages name the
attribute and the row or line, never the cell, unless ``show_values`` asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.rows import taken
from bosket.data.formats.columns import Column, Columns, factorize
from bosket.data.formats.table_lines import TextCells
from bosket.data.tables.codings import (
    BAD,
    MISSING,
    Coding,
    DeclaredValues,
    binned,
    declared,
    looks_missing,
    seen,
    with_missing,
)
from bosket.data.tables.domain import Attribute, Codes, TableDomain, refused
from bosket.errors import DataError, ParameterError
from bosket.threads import slices

_CELLS_A_PART = 1 << 18

Wide = npt.NDArray[np.int64]
"""Codes of one column, with ``MISSING`` and ``BAD`` among them."""


@dataclass(frozen=True)
class Choices:
    """Which columns are read, and how; valid from birth as far as it can be without the data."""

    columns: tuple[str, ...] | None
    codings: dict[str, Coding]
    missing: str | dict[str, str] | None
    show_values: bool = False
    unknown: str | None = None
    """The category of cells that stand for no declared value; None: they are refused."""

    @classmethod
    def of(
        cls,
        columns: Iterable[str] | None = None,
        bins: Mapping[str, Iterable[float]] | None = None,
        values: Mapping[str, DeclaredValues] | None = None,
        missing: str | Mapping[str, str] | None = None,
        show_values: bool = False,
        unknown: str | None = None,
    ) -> Choices:
        """From what people write; see ``Table.from_frame``."""
        bins, values = _mapping("bins", bins), _mapping("values", values)
        for name in bins:
            if name in values:
                raise refused("bins", "A column must have bins or declared values, not both", name)
        codings = {name: binned(name, ends) for name, ends in bins.items()}
        codings |= {name: declared(name, given) for name, given in values.items()}
        if unknown is not None and (not isinstance(unknown, str) or not unknown):
            raise refused("unknown", "The 'unknown' parameter must be the name of a category", unknown)
        choices = cls(_names(columns), codings, _categories(missing), bool(show_values), unknown)
        for name, coding in codings.items():
            choices.attribute(name, coding)
        return choices

    def category(self, name: str) -> str | None:
        """The category of the missing cells of a column."""
        return self.missing.get(name) if isinstance(self.missing, dict) else self.missing

    def attribute(self, name: str, coding: Coding) -> tuple[Attribute, int]:
        """The attribute that a coding makes of a column, and the code of missing cells."""
        category = self.category(name)
        return (Attribute(name, coding.values), MISSING) if category is None else with_missing(name, coding, category)

    def over(self, domain: TableDomain) -> Choices:
        """The same, with the attributes of a domain for columns about which nothing else was said."""
        known = {one.name: declared(one.name, one.values, is_declared=domain.is_declared) for one in domain.attributes}
        return replace(self, codings=known | self.codings)

    def positions(self, columns: Columns) -> dict[str, int]:
        """Where each column to read is; every name in the options must be one of them."""
        if not columns.names:
            raise columns.source.error("has no columns")
        if self.columns is None and not all(isinstance(name, str) and name for name in columns.names):
            hint = "Choose columns by name, with columns=[...]; those of a pandas frame can be renamed."
            raise columns.source.error("must have text for column names, and no empty one", hint=hint)
        chosen = columns.names if self.columns is None else self.columns
        places: dict[Hashable, int] = {}
        for at, name in enumerate(columns.names):
            places.setdefault(name, at)
        for name in chosen:
            if name not in places:
                raise refused("columns", f"The columns to read must be columns of {columns.source.name}", name)
        return {str(name): places[name] for name in chosen}

    def check(self, chosen: Iterable[str]) -> None:
        """Refuse options for columns that are not read: a slip of the pen would go unnoticed."""
        named = [(name, "values" if coding.ends is None else "bins") for name, coding in self.codings.items()]
        named += [(name, "missing") for name in self.missing] if isinstance(self.missing, dict) else []
        for name, parameter in named:
            if name not in chosen:
                raise refused(parameter, f"The '{parameter}' parameter must name columns that are read", name)


def _mapping(parameter: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refused(parameter, f"The '{parameter}' parameter must be a mapping by column", value)
    return dict(value)


def _names(columns: Iterable[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise refused("columns", "The 'columns' parameter must be a list of names", columns)
    names = tuple(columns)
    if not names or len(set(names)) < len(names) or not all(isinstance(name, str) and name for name in names):
        raise refused("columns", "The 'columns' parameter must be a list of different names", names)
    return names


def _categories(missing: str | Mapping[str, str] | None) -> str | dict[str, str] | None:
    known = dict(missing) if isinstance(missing, Mapping) else missing
    for category in known.values() if isinstance(known, dict) else [known]:
        if category is not None and (not isinstance(category, str) or not category):
            must = "The 'missing' parameter must be the name of a category, or a mapping from columns to such names"
            raise refused("missing", must, category)
    return known


def to_codes(columns: Columns, choices: Choices) -> tuple[Codes, TableDomain]:
    """The codes of the columns chosen, and their domain."""
    places = choices.positions(columns)
    choices.check(places)
    n_records = len(columns.values[next(iter(places.values()))])
    columns.check_size(taken(n_records=n_records, n_items=n_records * len(places) // 4))  # a code takes a byte or more
    parts = [_coded(columns, name, at, choices) for name, at in places.items()]
    domain = _domain([meant for _, meant in parts], columns)
    codes = np.empty((n_records, len(parts)), domain.dtype)
    for at, (part, _) in enumerate(parts):
        codes[:, at] = part
    return codes, domain


def text_to_codes(cells: TextCells, columns: Columns, choices: Choices) -> tuple[Codes, TableDomain]:
    """The same of the cells of a text file, which are those of the columns chosen."""
    names, numbers = choices.positions(columns), cells.numbers
    meant = []
    for at, (name, words) in enumerate(zip(names, cells.words, strict=True)):
        coding = choices.codings.get(name) or seen(words, choices.category(name))
        column = _text_column(name, numbers[:, at], words)
        meant.append(_meant(columns, column, coding, [MISSING, *map(coding.code, words)], choices))
    domain = _domain(meant, columns)
    n_bytes = numbers.size * domain.dtype.itemsize
    columns.check_size(taken(n_records=len(numbers), n_items=n_bytes // 4))
    codes = numbers if numbers.dtype == domain.dtype else np.empty(numbers.shape, domain.dtype)
    starts = np.cumsum([0, *(one.meanings.size for one in meant[:-1])])
    meanings = np.concatenate([one.meanings for one in meant]).astype(domain.dtype, copy=False)
    for start, stop in slices(len(numbers), max(1, _CELLS_A_PART // len(meant))):
        codes[start:stop] = meanings[starts + numbers[start:stop]]
    return codes, domain


@dataclass(frozen=True)
class _Cells:
    """A column as its different cells: which of them occur, the first row with one of some, and the cell in a row."""

    name: str
    is_used: npt.NDArray[np.bool_]
    first: Callable[[npt.NDArray[np.bool_]], int]
    cell: Callable[[int], Hashable]


def _text_column(name: str, numbers: Codes, words: list[str]) -> _Cells:
    """A column of the numbers of words, from 1; number 0 is nothing, and may not be there."""
    is_used = np.append(not numbers.all(), np.ones(len(words), np.bool_))
    return _Cells(
        name, is_used, lambda wanted: int(np.argmax(wanted[numbers])), lambda row: words[int(numbers[row]) - 1]
    )


class _Meant(NamedTuple):
    """An attribute, the code of each different cell of its column, and whether it was declared."""

    attribute: Attribute
    meanings: Codes
    is_declared: bool


def _domain(meant: list[_Meant], columns: Columns) -> TableDomain:
    """The domain; an item has the name of its attribute in its own, and that may be long."""
    columns.check_size(
        taken(n_records=0, n_items=sum(len(one.attribute.name) * len(one.attribute) for one in meant) // 4)
    )
    return TableDomain([one.attribute for one in meant], is_declared=all(one.is_declared for one in meant))


def _coded(columns: Columns, name: str, at: int, choices: Choices) -> tuple[Codes, _Meant]:
    """The codes of one column, as small as they can be."""
    column, source = columns.values[at], columns.source
    coding = choices.codings.get(name)
    if coding is not None and coding.ends is not None and _is_numeric(column):
        raw = _binned(column, coding.ends)
        meanings, n_others = [*range(len(coding.values)), BAD, MISSING], 2  # codes -2 and -1 pick the last entries
    else:
        raw, cells = factorize(column, source, columns.check_size)
        if coding is None:
            coding = _of_column(columns, name, at, cells, choices)
        meanings, n_others = [*map(coding.code, cells), MISSING], 1  # code -1, missing, picks the last entry
    is_used = np.ones(len(meanings), np.bool_)
    for code in (MISSING, BAD)[:n_others]:
        is_used[code] = (raw == code).any()
    known = _Cells(name, is_used, lambda wanted: int(np.argmax(wanted[raw])), lambda row: _cell(column, row))
    meant = _meant(columns, known, coding, meanings, choices)
    return meant.meanings[raw], meant


def _meant(columns: Columns, cells: _Cells, coding: Coding, meanings: list[int], choices: Choices) -> _Meant:
    """What the cells stand for; refused where one of them may not be there."""
    name, source = cells.name, columns.source
    codes = np.array(meanings, np.int64)
    bad = cells.is_used & (codes == BAD)
    if bad.any():
        row = cells.first(bad)
        shown = f", not {cells.cell(row)!r}" if choices.show_values else ""
        raise source.row_error(f"Attribute {name!r} must {coding.must}{shown}", row, hint=coding.hint)
    missing = cells.is_used & (codes == MISSING)
    if choices.category(name) is None and missing.any():
        hint = f"Make it a category of its own with missing={{{name!r}: 'unknown'}}."
        must = f"Attribute {name!r} must hold a value, and nothing or '?' is none"
        raise source.row_error(must, cells.first(missing), hint=hint)
    attribute, code = _attribute(columns, name, coding, choices)
    codes[codes == MISSING] = code
    small = np.maximum(codes, 0).astype(np.min_scalar_type(len(attribute) - 1))
    return _Meant(attribute, small, coding.is_declared)


def _of_column(columns: Columns, name: str, at: int, cells: list[Hashable], choices: Choices) -> Coding:
    """By the categories of a column, or else by the values that occur.

    A blank category and ``"?"`` are missing here too: most columns of categories are made of what occurred once.  So
    they are no declaration either.
    """
    categories = columns.categories.get(at)
    if categories is None:
        return seen(cells, choices.category(name))
    try:
        shown = [category for category in categories if not looks_missing(category)]
        return declared(name, shown, is_declared=False)
    except ParameterError:
        pass
    raise _unfit(columns, name, "categories that are written alike")


def _attribute(columns: Columns, name: str, coding: Coding, choices: Choices) -> tuple[Attribute, int]:
    """The attribute; where its values were read off the data, a message does not show them."""
    if name in choices.codings:
        return choices.attribute(name, coding)
    try:
        return choices.attribute(name, coding)
    except ParameterError:
        fault = "different values that are written alike" if len(coding.values) > 1 else "no two different values"
    raise _unfit(columns, name, fault)


def _unfit(columns: Columns, name: str, fault: str) -> DataError:
    hint = "Leave it out with columns=[...], or declare what there can be with values={...}."
    return DataError(f"Attribute {name!r} of {columns.source.name} holds {fault}.", path=columns.source.path, hint=hint)


def _is_numeric(column: Column) -> bool:
    return not isinstance(column, list) and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


def _binned(column: Column, ends: tuple[float, ...]) -> Wide:
    """What the coding would say of each number, all at once."""
    numbers = np.asarray(column.cast(pa.float64(), safe=False), np.float64)
    codes = np.searchsorted(np.array(ends), numbers, side="right").astype(np.int64) - 1
    codes[(codes < 0) | np.isinf(numbers)] = BAD
    codes[np.isnan(numbers)] = MISSING
    return codes


def _cell(column: Column, row: int) -> Hashable:
    cell: Hashable = column[row] if isinstance(column, list) else column[row].as_py()
    return cell
