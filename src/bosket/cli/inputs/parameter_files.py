"""Files that give parameters by item or by record size: CSV with a column each, or JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bosket.checks import check_integer
from bosket.cli.inputs.rows import Row, read_rows
from bosket.data import Domain
from bosket.data.formats.sources import file_source
from bosket.errors import DataError
from bosket.mechanisms.mappings import Mapped
from bosket.mechanisms.parameters import Parameter

FileValues = dict[str, dict[Hashable, Any]]
"""By the name of a parameter, its values by item or by record size."""


@dataclass(frozen=True, slots=True)
class ParameterColumns:
    """Parameters that a file gives together: all of the first, and perhaps some of the others."""

    required: tuple[Parameter, ...]
    optional: tuple[Parameter, ...] = ()

    def fit(self, names: set[str]) -> bool:
        required = {one.name for one in self.required}
        return required <= names <= required | {one.name for one in self.optional}

    @property
    def text(self) -> str:
        may = f", and may give {_listed(self.optional)}" if self.optional else ""
        return _listed(self.required) + may

    @property
    def headers(self) -> list[tuple[str, ...]]:
        """What stands at the top of a CSV file, without its first column; none where a cell cannot hold a value."""
        if not all(_mapped(one).fits_a_cell for one in self.required):
            return []
        names = tuple(one.name for one in self.required)
        return [names, *([(*names, *(one.name for one in self.optional))] if self.optional else [])]


def _listed(parameters: Sequence[Parameter]) -> str:
    return " and ".join(one.name for one in parameters)


def _mapped(one: Parameter) -> Mapped:
    assert isinstance(one.kind, Mapped)
    return one.kind


class Keys(ABC):
    """What the rows of a file are about."""

    column: str
    plural: str
    none: str

    @abstractmethod
    def find(self, row: Row) -> Hashable:
        """What a row is about."""

    @abstractmethod
    def called(self, row: Row, key: Hashable) -> str:
        """What messages call it."""

    @abstractmethod
    def repeated(self, row: Row, key: Hashable) -> DataError:
        """The error for what two rows are about."""


class ItemKeys(Keys):
    """Items of a domain, by their text."""

    column, plural, none = "item", "items", "names no item"

    def __init__(self, domain: Domain, path: Path) -> None:
        self._labels = {str(label): label for label in domain.labels}
        if len(self._labels) < len(domain):
            raise DataError(f"The items cannot be told apart by their text, so {path} cannot name them.", path=path)
        self._is_whole = bool(domain.labels) and all(
            isinstance(label, int) and not isinstance(label, bool) for label in domain.labels
        )

    def find(self, row: Row) -> Hashable:
        text = row.name.strip().lstrip("+") if self._is_whole else row.name
        if text not in self._labels:
            raise row.error(f"names an item that the domain does not have, {row.name!r}")
        return self._labels[text]

    def called(self, row: Row, key: Hashable) -> str:
        return repr(row.name)

    def repeated(self, row: Row, key: Hashable) -> DataError:
        return row.error(f"names the item {row.name!r} more than once")


class SizeKeys(Keys):
    """Record sizes."""

    column, plural, none = "size", "sizes", "names no record size"

    def find(self, row: Row) -> Hashable:
        try:
            return check_integer("size", int(row.name), least=0)
        except ValueError:  # a ParameterError is one too
            pass
        raise row.error(f"must name a record size, a whole number, got {row.name!r}")

    def called(self, row: Row, key: Hashable) -> str:
        return f"size {key}"

    def repeated(self, row: Row, key: Hashable) -> DataError:
        return row.error(f"names the record size {key} more than once")


def keys_of(columns: ParameterColumns, domain: Domain, path: Path) -> Keys:
    """What a file with these columns is about."""
    return ItemKeys(domain, path) if _mapped(columns.required[0]).key == ItemKeys.column else SizeKeys()


def read_values(
    path: Path, choices: Sequence[ParameterColumns], keys: Keys, *, option: str, max_bytes: int | None
) -> tuple[ParameterColumns, FileValues]:
    """What a file says, and which of the ``choices`` its columns are: one and the same for all rows."""
    headers = [(keys.column, *header) for columns in choices for header in columns.headers]
    chosen: ParameterColumns | None = None
    values: FileValues = {}
    seen: set[Hashable] = set()
    for row in read_rows(path, parameter=option, headers=headers, max_bytes=max_bytes):
        key = keys.find(row)
        if key in seen:
            raise keys.repeated(row, key)
        seen.add(key)
        called = keys.called(row, key)
        row, columns = _fields(row, choices, called)
        if chosen is not None and columns is not chosen:
            either = ", or ".join(f"{one.required[0].name} of all {keys.plural}" for one in choices)
            raise row.error(f"must give {either}")
        chosen = columns
        for one in (*columns.required, *columns.optional):
            if one in columns.required or row.content.get(one.name) not in (None, ""):
                kind = _mapped(one).at(key)
                value = row.field(one.name, kind.check, of=called, must=kind.must)
                values.setdefault(one.name, {})[key] = value
    if chosen is None:
        raise file_source(path).error(keys.none)
    return chosen, values


def _fields(row: Row, choices: Sequence[ParameterColumns], called: str) -> tuple[Row, ParameterColumns]:
    """The row with its fields by name; JSON may be as short as ``{"milk": 0.9}`` where one must be given alone."""
    content = row.content
    if not isinstance(content, dict):
        short = choices[0].required if len(choices) == 1 else ()
        content = {short[0].name: content} if len(short) == 1 else {}
    for columns in choices:
        if columns.fit(set(content)):
            return replace(row, content=content), columns
    text = ", or ".join(columns.text for columns in choices)
    raise row.error(f"must give {text}{',' if ',' in text else ''} of {called}")
