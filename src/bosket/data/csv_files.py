"""CSV files, long and one-hot.

Every column is read as text, with a dictionary, and interpreted here: a parser that guesses types would take the
labels "01" and "1" for the same item.  Item labels become numbers only if all of them are written as one would write a
whole number.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Hashable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bosket.data.columns import Columns
from bosket.data.csr import Csr, from_records
from bosket.data.domain import is_text
from bosket.data.layouts import Layout, detect, long_rows, to_csr
from bosket.data.sources import Source, file_source
from bosket.errors import DataError
from bosket.threads import slices

_BLOCK = 1 << 26  # a row must fit in a block
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"


def read(content: bytes, path: Path, layout: Layout | None) -> Csr:
    """The records of a CSV file with a header."""
    source = file_source(path, partial(_line_of, content))
    if layout == "list":
        return _read_lists(content, source)
    names = _header(content, source)
    columns = Columns(names, _columns(content, len(names), source), source)
    layout = layout or detect(columns)
    if layout == "one-hot":
        return to_csr(Columns(_whole_names(names), columns.values, source), layout)
    _check_is_header(columns)
    return to_csr(Columns(names, (*columns.values[:-1], _whole_labels(columns.values[-1])), source), layout)


def _read_lists(content: bytes, source: Source) -> Csr:
    """A record a line, no header; a blank line is an empty record, an empty cell nothing."""
    _check_text(content, source)
    rows: list[list[str]] | None = None
    with contextlib.suppress(csv.Error):
        rows = [[cell for cell in row if cell] for row in _reader(content)]
    if rows is None:
        raise source.error("cannot be read as CSV")
    labels = {label for row in rows for label in row}
    if labels and all(map(is_whole_number, labels)):
        return from_records(([int(label) for label in row] for row in rows), None)
    return from_records(rows, None)


def _check_is_header(columns: Columns) -> None:
    """Refuse a long file whose first line is plainly a record: it would be lost."""
    is_number = any(is_whole_number(str(name)) for name in columns.names)
    if is_number or any(
        pc.any(pc.equal(column, name)).as_py() for name, column in zip(columns.names, columns.values, strict=True)
    ):
        raise columns.source.error(
            "looks like a record, not a header",
            line=1,
            hint="Give the file a first line such as record,item.",
        )


def _check_text(content: bytes, source: Source) -> None:
    """Make sure that all of it is text and every quote is closed."""
    if b"\0" in content:
        raise source.error("is not text", line=content.count(b"\n", 0, content.index(b"\0")) + 1)
    bad = None
    try:
        _ = content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        bad = content.count(b"\n", 0, error.start) + 1
    if bad is not None:
        raise source.error("is not text in UTF-8", line=bad)
    if content.count(b'"') % 2:
        bad = _open_quote(content)
        if bad is not None:
            raise source.error("has a quote that is not closed as it should be", line=bad)


def _header(content: bytes, source: Source) -> tuple[str, ...]:
    """The names in the first row."""
    _check_text(content, source)
    names: tuple[str, ...] = ()
    with contextlib.suppress(csv.Error):  # a name of more than 100 kB
        names = tuple(next(_rows(content), (0, []))[1])
    if not names:
        raise source.error("has no header that can be read")
    if len(set(names)) != len(names):
        raise source.error("must not give two columns the same name", line=1)
    return names


def _rows(content: bytes, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they end at, blank lines left out, as Arrow does."""
    reader = _reader(content, strict=strict)
    return ((reader.line_num, row) for row in reader if row)


def _reader(content: bytes, *, strict: bool = False) -> Any:
    return csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""), strict=strict)


def _line_of(content: bytes, row: int) -> int | None:
    """The last line of a row of data; rows count from 0 after the header."""
    try:
        return next((line for at, (line, _) in enumerate(_rows(content), -1) if at == row), None)
    except csv.Error:  # a field beyond the limit of the csv module; Arrow does not mind
        return None


def _open_quote(content: bytes) -> int | None:
    """The line where the row with an open quote begins."""
    line = 0
    try:
        for line, _ in _rows(content, strict=True):  # noqa: B007  # the last good line is what we are after
            pass
    except csv.Error:
        return line + 1
    return None


def _columns(content: bytes, n_columns: int, source: Source) -> tuple[Any, ...]:
    bad: list[int] = []

    def note(row: Any) -> str:
        bad.append(row.number)
        return "skip"

    names = [str(number) for number in range(n_columns)]
    options = {
        # Arrow counts rows only when it reads on one thread.
        "read_options": arrow_csv.ReadOptions(
            use_threads=False, block_size=_BLOCK, column_names=names, skip_rows_after_names=1
        ),
        "parse_options": arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }
    table = None
    with contextlib.suppress(pa.ArrowException):  # its message would quote the row
        table = arrow_csv.read_csv(pa.BufferReader(content if content.endswith(b"\n") else content + b"\n"), **options)
    if bad:  # Arrow counts the header as row 1
        hint = "A record a line, without a header, is layout='list' (--layout list)."
        raise source.row_error(f"Every row must have {n_columns} values, as the header has", bad[0] - 2, hint=hint)
    if table is None:
        raise source.error("cannot be read as CSV")
    return tuple(table.columns)


def is_whole_number(text: str) -> bool:
    """Whether a label is written as one would write a whole number: "1", not "01" or "+1"."""
    return re.match(_WHOLE, text) is not None


def _whole_names(names: tuple[str, ...]) -> tuple[Hashable, ...]:
    return tuple(int(name) for name in names) if all(map(is_whole_number, names)) else names


def _whole_labels(column: Any) -> Any:
    """The column with whole numbers for labels, if all of them are."""
    merged = column.unify_dictionaries().combine_chunks()
    chunk = merged.chunk(0) if isinstance(merged, pa.ChunkedArray) and merged.num_chunks == 1 else merged
    if not isinstance(chunk, pa.DictionaryArray) or not len(chunk.dictionary):
        return column
    if not pc.all(pc.match_substring_regex(chunk.dictionary, _WHOLE)).as_py():
        return column
    try:
        return pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.int64()))
    except pa.ArrowInvalid:  # beyond 64 bits
        return column


def write(csr: Csr, file: IO[bytes], path: Path, layout: Layout) -> None:
    """Write records whose labels are all strings or all whole numbers."""
    labels = csr.domain.labels
    are_texts = all(isinstance(label, str) and "\0" not in label and is_text(label) for label in labels)
    if not are_texts and not all(isinstance(label, int) and not isinstance(label, bool) for label in labels):
        raise DataError(
            f"Cannot write {path}: the items of a CSV file must be all strings or all whole numbers.",
            path=path,
            hint="Use plain strings as labels.",
        )
    names = [str(label) for label in labels]
    if layout == "one-hot":
        _write_one_hot(csr, names, file, path)
    elif layout == "list":
        _write_lists(csr, names, file, path)
    else:
        _write_long(csr, names, file, quote=are_texts)


def _quoted(names: list[str]) -> list[str]:
    return ['"' + name.replace('"', '""') + '"' for name in names]


def _write_long(csr: Csr, names: list[str], file: IO[bytes], *, quote: bool) -> None:
    labels = pa.array(names, pa.string())
    options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed" if quote else "none")
    file.write(b"record,item\n")
    for start, stop in slices(csr.indptr.size - 1, 100_000):
        indptr = csr.indptr[start : stop + 1]
        records, items = long_rows(indptr, csr.indices[indptr[0] : indptr[-1]], start + 1)
        table = pa.table({"record": records, "item": labels.take(items)})
        arrow_csv.write_csv(table, file, options)


def _write_lists(csr: Csr, names: list[str], file: IO[bytes], path: Path) -> None:
    if "" in names:
        raise DataError(f"Cannot write {path}: an empty label would be nothing in a list.", path=path)
    quoted = np.array(_quoted(names), object)
    for start, stop in pairwise(csr.indptr.tolist()):
        file.write(",".join(quoted[csr.indices[start:stop]]).encode() + b"\n")


def _write_one_hot(csr: Csr, names: list[str], file: IO[bytes], path: Path) -> None:
    if not names:
        raise DataError(f"Cannot write {path}: one-hot columns need at least one item.", path=path)
    file.write(",".join(_quoted(names)).encode() + b"\n")
    blank = np.frombuffer(b"0," * (len(names) - 1) + b"0\n", np.uint8)
    for start, stop in slices(csr.indptr.size - 1, max(1, _BLOCK // blank.size)):
        rows = np.repeat(np.arange(stop - start), np.diff(csr.indptr[start : stop + 1]))
        text = np.tile(blank, (stop - start, 1))
        text[rows, 2 * csr.indices[csr.indptr[start] : csr.indptr[stop]]] = ord("1")
        file.write(text.data)
