"""Read and write tables, by the suffix of the file; ``.gz`` may follow either.

=============  ====================================================================================================
``.csv``       a header, then a record a line.  A cell is text, without the blanks around it.
``.parquet``   a column per attribute.  One that we wrote names its domain in the metadata, so values keep their
               types and order, and those that no record holds remain; of any other, cells are as they are.
=============  ====================================================================================================

What cannot be read is a ``DataError`` with the path, and the line where there are lines; never with contents.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from bosket.checks import check_choice, shown
from bosket.data.domain import is_text
from bosket.data.formats import basket_files as files
from bosket.data.formats import csv_files, declared_tables
from bosket.data.formats.atomic import atomic_path
from bosket.data.formats.columns import Columns
from bosket.data.formats.csv_writing import Formulas, check_formulas, quoted
from bosket.data.formats.lines import whole_rows
from bosket.data.formats.parquet_opening import opened, sound
from bosket.data.formats.parquet_texts import coded_table
from bosket.data.formats.sources import Content, file_source
from bosket.data.formats.table_lines import TextCells, read_cells
from bosket.data.tables.codings import looks_missing
from bosket.data.tables.columns import Choices, text_to_codes, to_codes
from bosket.data.tables.domain import Attribute, Codes, TableDomain
from bosket.errors import DataError
from bosket.strict_json import parse
from bosket.threads import slices

TABLE_KEY = b"bosket.table"
SUFFIXES = (".csv", ".parquet")
_RECORDS_A_PART = 1 << 17
_OTHER_DOMAIN = "names a domain in its metadata that cannot be read, or is not that of its columns"
_KINDS = {bool: pa.bool_(), str: pa.string(), int: pa.int64(), float: pa.float64()}


def read(content: Content, choices: Choices, *, suffix: str | None = None) -> tuple[Codes, TableDomain]:
    """The codes of a file, and their domain; ``suffix`` overrides its own."""
    is_csv = (suffix or _suffix(content.path)) == ".csv"
    if choices.unknown is not None:
        return declared_tables.read_csv(content, choices) if is_csv else _read_declared_parquet(content, choices)
    return (_read_csv if is_csv else _read_parquet)(content, choices)


def read_column(content: Content, name: str, *, suffix: str | None = None) -> list[Any]:
    """The cells of one column as they are, None for those that are missing; ``suffix`` overrides that of the file."""
    if (suffix or _suffix(content.path)) == ".csv":
        header, rows = csv_files.header_and_rows(whole_rows(content), content.source)
        names = [one.strip() for one in header]
        _check_column(name, names, content)
        cells = read_cells(rows, np.array([0 if one == name else -1 for one in names], np.int32), content)
        words = [None, *cells.words[0]]
        found = [words[number] for number in cells.numbers[:, 0].tolist()]
    else:
        with opened(content, what="a table") as file:
            _check_column(name, file.schema.names, content)
            found = sound(content, lambda: coded_table(file, [name])).column(name).to_pylist()
    return [None if looks_missing(cell) else cell for cell in found]


def _check_column(name: str, names: Sequence[str], content: Content) -> None:
    if names.count(name) != 1:
        raise content.source.error(f"must have one column {shown(name)}")


def write(codes: Codes, domain: TableDomain, path: str | os.PathLike[str], *, formulas: Formulas = "refuse") -> None:
    """Write a table; an existing file is replaced whole, or left alone if anything fails."""
    compress = files._suffixes(path)[-1] == ".gz"
    is_csv = _suffix(path) == ".csv"
    check_choice("formulas", formulas, ("refuse", "allow"))
    with atomic_path(path) as temporary, files._opened(temporary, compress=compress) as file:
        if is_csv:
            _write_csv(codes, domain, file, Path(path), formulas)
        else:
            _write_parquet(codes, domain, file, Path(path))


def _suffix(path: str | os.PathLike[str]) -> str:
    suffixes = [suffix for suffix in files._suffixes(path) if suffix != ".gz"] or [""]
    if suffixes[-1] not in SUFFIXES:
        fault = f"has no suffix that a table can have; known are {', '.join(SUFFIXES)}, each also with .gz"
        raise file_source(Path(path)).error(fault)
    return suffixes[-1]


def _read_csv(content: Content, choices: Choices) -> tuple[Codes, TableDomain]:
    header, rows = csv_files.header_and_rows(whole_rows(content), content.source)
    names = tuple(name.strip() for name in header)
    if len(set(names)) < len(names):
        raise content.source.error("must not give two columns the same name", line=1)
    places = choices.positions(Columns(names, (), content.source))
    choices.check(places)
    wanted = np.full(len(names), -1, np.int32)
    wanted[list(places.values())] = np.arange(len(places))
    cells = read_cells(rows, wanted, content)
    if choices.columns is None:
        _check_is_header(names, cells, choices)
    columns = Columns(names, (), cells.source, check_size=content.check_size)
    return text_to_codes(cells, columns, choices)


def _check_is_header(names: tuple[str, ...], cells: TextCells, choices: Choices) -> None:
    """Refuse a file whose first line is plainly a record: it would be lost, and its values taken for names.

    A column of which something was declared is known by its name, whatever its cells are.
    """
    for name, words in zip(names, cells.words, strict=True):
        if name not in choices.codings and (name in words or re.fullmatch(r"[-+.0-9]+", name)):
            hint = "If it is a header, name the columns to read, with columns=[...]."
            raise cells.source.error("looks like a record, not a header", line=1, hint=hint)


def _read_parquet(content: Content, choices: Choices) -> tuple[Codes, TableDomain]:
    with opened(content, what="a table") as file:
        if len(set(file.schema.names)) < len(file.schema.names):
            raise content.source.error("must not give two columns the same name")
        table = sound(content, lambda: coded_table(file))
        stored = (file.schema.metadata or {}).get(TABLE_KEY)
    columns = Columns(tuple(table.column_names), tuple(table.columns), content.source, check_size=content.check_size)
    if stored is None:
        return to_codes(columns, choices)
    domain = _domain(stored)
    if domain is None or domain.names != columns.names:
        raise content.source.error(_OTHER_DOMAIN)
    return to_codes(columns, choices.over(domain.select(choices.positions(columns))))


def _read_declared_parquet(content: Content, choices: Choices) -> tuple[Codes, TableDomain]:
    def domain_in(schema: Any) -> TableDomain | None:
        stored = (schema.metadata or {}).get(TABLE_KEY)
        domain = None if stored is None else _domain(stored)
        if stored is not None and (domain is None or domain.names != tuple(schema.names)):
            raise content.source.error(_OTHER_DOMAIN)
        return domain

    return declared_tables.read_parquet(content, choices, domain_in)


def _domain(stored: bytes) -> TableDomain | None:
    try:
        return TableDomain.from_json(parse(stored, what="the domain"))
    except DataError:
        return None


def _write_csv(codes: Codes, domain: TableDomain, file: IO[bytes], path: Path, formulas: Formulas) -> None:
    texts = [*domain.names, *(str(value) for attribute in domain.attributes for value in attribute.values)]
    if not all(is_text(text) and "\0" not in text and text == text.strip() for text in texts):
        raise DataError(
            f"Cannot write {path}: names and values in a CSV file must be text without blanks around it.", path=path
        )
    check_formulas(texts, formulas, path)
    file.write(",".join(quoted(list(domain.names))).encode() + b"\n")
    options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed")
    values = [pa.array(map(str, attribute.values), pa.string()) for attribute in domain.attributes]
    for start, stop in slices(len(codes), _RECORDS_A_PART):
        arrow_csv.write_csv(pa.table(_taken(values, codes[start:stop]), names=list(domain.names)), file, options)


def _write_parquet(codes: Codes, domain: TableDomain, file: IO[bytes], path: Path) -> None:
    try:
        stored = json.dumps(domain.to_json()).encode()
    except DataError as error:
        raise DataError(f"Cannot write {path}: {error}", path=path, hint=error.hint) from None
    values = [_typed(attribute) for attribute in domain.attributes]
    fields = [(attribute.name, array.type) for attribute, array in zip(domain.attributes, values, strict=True)]
    schema = pa.schema(fields).with_metadata({TABLE_KEY: stored})
    with parquet.ParquetWriter(file, schema) as writer:
        for start, stop in slices(len(codes), _RECORDS_A_PART):
            writer.write_table(pa.Table.from_arrays(_taken(values, codes[start:stop]), schema=schema))


def _typed(attribute: Attribute) -> Any:
    """The values as one type of Arrow, or else as text; the domain in the metadata tells what they were."""
    kind: type[Hashable] = type(attribute.values[0])
    if kind in _KINDS and all(type(value) is kind for value in attribute.values):
        try:
            return pa.array(attribute.values, _KINDS[kind])
        except (pa.ArrowException, OverflowError):
            pass
    return pa.array([str(value) for value in attribute.values], pa.string())


def _taken(values: list[Any], codes: Codes) -> list[Any]:
    return [array.take(pa.array(codes[:, at])) for at, array in enumerate(values)]
