"""Rows of small files that people write: CSV with a header, or a JSON object, with lines for messages."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bosket.checks import shown
from bosket.data.formats.sources import Source, file_source, load
from bosket.errors import DataError, ParameterError
from bosket.strict_json import MOST_CHARACTERS, parse

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that a file names, and what it says of it: fields by name, or any other value that JSON has."""

    source: Source
    line: int | None
    """JSON has no lines worth telling."""
    name: str
    content: Any

    def error(self, fault: str) -> DataError:
        return self.source.error(fault, line=self.line)

    def field(self, name: str, check: Callable[[str, Any], Value], *, of: str, must: str) -> Value:
        """A number under this name that ``check`` lets pass; CSV has it as text."""
        value = self.content[name]
        try:
            return check(name, _number(value))
        except (ValueError, OverflowError):  # a ParameterError is a ValueError too
            pass
        raise self.error(f"must give {name} of {of} as {must}, got {shown(value)}")


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        return float(value)


def read_text(path: Path, *, max_bytes: int | None) -> str:
    """The text of a file of at most ``max_bytes`` once it is decompressed; None is no cap."""
    content = load(path, max_bytes=max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    raise file_source(path).error("is not text in UTF-8", line=line)


def read_small(path: Path, *, max_bytes: int | None) -> str:
    """The text of a file that a person writes: no larger than the longest JSON that is taken, whatever the cap is."""
    largest = 4 * MOST_CHARACTERS  # a character takes up to four bytes
    return read_text(path, max_bytes=largest if max_bytes is None else min(max_bytes, largest))


def read_rows(
    path: Path, *, parameter: str, headers: Collection[tuple[str, ...]], max_bytes: int | None
) -> Iterator[Row]:
    """The rows of CSV under one of the ``headers``, the first column being the name, or the keys of a JSON object."""
    if path.suffix.lower() == ".csv":
        return _csv_rows(path, headers, max_bytes)
    if path.suffix.lower() == ".json":
        return _json_rows(path, max_bytes)
    raise ParameterError(
        f"The {parameter.replace('_', ' ')} must end in .csv or .json, got '{path.name}'.",
        parameter=parameter,
        value=path,
    )


def _csv_rows(path: Path, headers: Collection[tuple[str, ...]], max_bytes: int | None) -> Iterator[Row]:
    source = file_source(path)
    reader = csv.reader(io.StringIO(read_small(path, max_bytes=max_bytes), newline=""), strict=True)
    fault = None
    try:
        header = tuple(name.strip() for name in next(reader, []))
        if header not in headers:
            known = " or ".join(",".join(names) for names in headers)
            raise source.error(f"must begin with the header {known}", line=1)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise source.error(f"must have {len(header)} values", line=reader.line_num)
            yield Row(source, reader.line_num, cells[0], dict(zip(header[1:], cells[1:], strict=True)))
    except csv.Error:
        fault = "cannot be read as CSV"
    if fault is not None:
        raise source.error(fault, line=reader.line_num)


def _json_rows(path: Path, max_bytes: int | None) -> Iterator[Row]:
    source = file_source(path)
    for name, value in read_object(path, max_bytes=max_bytes).items():
        yield Row(source, None, name, value)


def read_object(path: Path, *, max_bytes: int | None) -> dict[str, Any]:
    """A JSON object, in which no key may be given twice, however deep."""
    source = file_source(path)
    content = parse(read_small(path, max_bytes=max_bytes), what=source.name, path=path)
    if not isinstance(content, dict):
        raise source.error("must be a JSON object")
    return content
