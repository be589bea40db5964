"""Options that say how a table of attributes is read: by themselves, or together in a schema file."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bosket.cli.inputs.options import clash
from bosket.cli.inputs.rows import read_object
from bosket.data.formats.sources import MAX_BYTES, file_source
from bosket.data.tables.codings import number
from bosket.errors import DataError, ParameterError

if TYPE_CHECKING:
    from bosket.data import TableDomain
    from bosket.data.tables.codings import DeclaredValues

Value = TypeVar("Value")

_SINGLE = ("columns", "bins", "values", "missing")
"""What a schema file holds, and what there is an option for."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a table, in the words of ``Table.read``."""

    columns: list[str] | None = None
    bins: dict[str, list[float]] = field(default_factory=dict)
    values: dict[str, DeclaredValues] = field(default_factory=dict)
    missing: str | dict[str, str] | None = None
    show_values: bool = False
    schema: Path | None = None
    """The file that says all this, if one does."""


def add_table(command: argparse.ArgumentParser) -> None:
    """For commands that read tables beside baskets."""
    group = command.add_argument_group(
        "tables", "raw records with one value of each attribute; lists are parted by commas, as in CSV"
    )
    group.add_argument(
        "--table", action="store_true", help="the raw file is a table: CSV with a header, or Parquet, a row per person"
    )
    add_reading(group)


def add_reading(group: argparse._ActionsContainer) -> None:
    """How the attributes of a table are read."""
    group.add_argument(
        "--columns", type=_listed, metavar="NAMES", help="the attributes to take, in this order (default all)"
    )
    group.add_argument(
        "--bins",
        type=_named("COLUMN=NUMBERS", _numbers),
        action="append",
        metavar="COLUMN=NUMBERS",
        help="put numbers into bins, by the lower ends, as in age=15,35,55; once per column",
    )
    group.add_argument(
        "--values",
        type=_named("COLUMN=VALUES", _listed),
        action="append",
        metavar="COLUMN=VALUES",
        help="declare the values there can be, in order, as in sex=Female,Male; once per column",
    )
    group.add_argument(
        "--missing",
        type=_category,
        action="append",
        metavar="[COLUMN=]NAME",
        help="make blank cells and '?' a category of this name, in every column or once per column (else refuse them)",
    )
    group.add_argument(
        "--schema",
        type=Path,
        metavar="FILE",
        help="instead of the four above: JSON with columns, bins, values (which may be grouped) and missing",
    )
    group.add_argument(
        "--show-values", action="store_true", help="let messages show the cell that is wrong, not its place alone"
    )


def check_table(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    given = [name for name in _SINGLE if getattr(options, name) is not None]
    if not options.table:
        others = [name for name in ("schema", "show_values") if getattr(options, name)]
        for name in [*given, *others]:
            raise clash(name, "come with --table", options)
        if options.record is not None and options.item is None:
            raise clash("record", "come with --item, which names the column of items", options)
        return
    check_schema(options)
    if options.layout is not None:
        raise clash("layout", "not come with --table, which is one", options)
    for name in ("record", "item"):
        if getattr(options, name) is not None:
            raise clash(name, "not come with --table: it is for baskets; --columns names attributes", options)
    if options.input_format == "dat":
        raise clash("input_format", "be csv or parquet with --table", options)


def check_schema(options: argparse.Namespace) -> None:
    """Refuse options that a schema file settles."""
    for name in _SINGLE if options.schema is not None else ():
        if getattr(options, name) is not None:
            raise clash(name, "not come with --schema, which settles it", options)


def reading_of(options: argparse.Namespace) -> Reading:
    """What these options say, wherever they say it."""
    if options.schema is not None:
        return read_schema(options.schema, show_values=options.show_values, max_bytes=options.max_bytes)
    return Reading(
        columns=options.columns,
        bins=_by_column("bins", options.bins or []),
        values=_by_column("values", options.values or []),
        missing=_categories(options.missing or []),
        show_values=options.show_values,
    )


def read_schema(path: Path, *, show_values: bool, max_bytes: int | None = MAX_BYTES) -> Reading:
    """``{"columns": [...], "bins": {...}, "values": {...}, "missing": ...}``, of which any may be left out.

    What they may hold is for ``Table.read`` to say; here, that they are there, and are what they must be at least.
    """
    content = read_object(path, max_bytes=max_bytes)
    source = file_source(path)
    for name in content:
        if name not in _SINGLE:
            raise source.error(f"must hold {', '.join(_SINGLE)} and nothing else, got {name!r}")
    columns = content.get("columns")
    if columns is not None and not (isinstance(columns, list) and all(isinstance(name, str) for name in columns)):
        raise source.error("must give columns as a list of names")
    for name in ("bins", "values"):
        if not isinstance(content.get(name, {}), dict):
            raise source.error(f"must give {name} as an object, by column")
    return Reading(**content, show_values=show_values, schema=path)


def declared_domain(options: argparse.Namespace) -> TableDomain | None:
    """The attributes that the options declare, without a look at a table; None where the values of one are missing."""
    from bosket.data import TableDomain
    from bosket.data.tables.columns import Choices

    reading = reading_of(options)
    try:
        choices = Choices.of(reading.columns, reading.bins, reading.values, reading.missing)
        if options.raw is not None and choices.columns is None:
            return None  # which columns there are is for the table to say
        names = tuple(choices.codings) if choices.columns is None else choices.columns
        choices.check(names)
        if not names or any(name not in choices.codings for name in names):
            return None
        return TableDomain([choices.attribute(name, choices.codings[name])[0] for name in names])
    except ParameterError as error:
        if reading.schema is None:
            raise
        raise bad_schema(reading.schema, error) from None


def bad_schema(schema: Path, error: ParameterError) -> DataError:
    """The error for a schema file whose parts cannot be what they say."""
    return DataError(f"The schema in {schema} cannot be used: {error}", path=schema, hint=error.hint)


def _listed(text: str) -> list[str]:
    """The parts between commas, without the blanks around them."""
    try:
        parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:  # a line break
        parts = []
    if not parts or not all(parts):
        raise argparse.ArgumentTypeError(f"must be words with commas between, and no empty one, got {text!r}")
    return parts


def _numbers(text: str) -> list[float]:
    numbers = [number(part) for part in _listed(text)]
    known = [value for value in numbers if value is not None]
    if len(known) < len(numbers):
        raise argparse.ArgumentTypeError(f"must be numbers with commas between, got {text!r}")
    return known


def _named(shape: str, parse: Callable[[str], Value]) -> Callable[[str], tuple[str, Value]]:
    """An argparse type: a column and what is said of it."""

    def named(text: str) -> tuple[str, Value]:
        name, equals, rest = text.partition("=")
        if not name.strip() or not equals:
            raise argparse.ArgumentTypeError(f"must be {shape}, got {text!r}")
        return name.strip(), parse(rest)

    return named


def _category(text: str) -> tuple[str | None, str]:
    """A column, or None for all of them, and the name of a category."""
    first, equals, rest = (part.strip() for part in text.partition("="))
    if not first or (equals and not rest):
        raise argparse.ArgumentTypeError(f"must be NAME or COLUMN=NAME, got {text!r}")
    return (first, rest) if equals else (None, first)


def _by_column(parameter: str, given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in given:
        if name in result:
            raise _twice(parameter, name)
        result[name] = value
    return result


def _categories(given: list[tuple[str | None, str]]) -> str | dict[str, str] | None:
    for_all = [category for name, category in given if name is None]
    if for_all and len(given) > 1:
        raise ParameterError(
            "The '--missing' option must be one NAME for every column, or COLUMN=NAME throughout.",
            parameter="missing",
            value=for_all[0],
        )
    if for_all:
        return for_all[0]
    return _by_column("missing", ((name, category) for name, category in given if name is not None)) or None


def _twice(parameter: str, name: str) -> ParameterError:
    return ParameterError(
        f"The '--{parameter}' option must be given once for each column, got {name!r} again.",
        parameter=parameter,
        value=name,
    )
