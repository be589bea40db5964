"""CSV files read: long, one-hot, and lists, some rows at a time.

Every column is read as text, with a dictionary, and interpreted here: a parser that guesses types would take the
labels "01" and "1" for the same item.  Item labels become numbers only if all of them are written as one would write a
whole number.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
from array import array
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bosket.data.baskets.rows import Csr, Offsets, Sizes, canonical, domain_of, from_pairs, taken
from bosket.data.domain import Domain
from bosket.data.formats.columns import Columns, is_sign
from bosket.data.formats.layouts import LONG_NAMES, Layout, add_one_hot, long_columns, two_of_signs
from bosket.data.formats.lines import Lines, whole_rows
from bosket.data.formats.one_hot import OneHotRows
from bosket.data.formats.sources import MOST_COLUMNS, Content, Source

_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_OTHER = "A file of that many items is better written long, with columns record and item."


def read(content: Content, layout: Layout | None) -> Csr:
    """The records of a CSV file: with a header, unless it is asked for as lists."""
    blocks = whole_rows(content)
    if layout == "list":
        return _read_lists(blocks, content)
    first = next(blocks, Lines(b"", 0))
    bare = first.text.lstrip(b"\r\n")  # Arrow takes the first line for the header, even a blank one
    first = Lines(bare, first.text.count(b"\n", 0, len(first.text) - len(bare)))
    names = _header(bare, content.source)
    columns = _blocks_of_columns(first, blocks, names, content.source)
    if layout == "one-hot" or (layout is None and len(names) != 2):
        return _read_one_hot(columns, names, content)
    return _read_long(columns, names, content, is_told=layout is not None)


def _blocks_of_columns(
    first: Lines, others: Iterator[Lines], names: tuple[str, ...], source: Source
) -> Iterator[Columns]:
    """The columns of one block of rows after the other; their source knows its lines."""
    for at, block in enumerate(itertools.chain([first], others)):
        if at:
            _check_text(block.text, source, block.before)
        n_headers = 0 if at else 1
        here = replace(source, line_of=partial(_line_of, block.text, before=block.before, n_headers=n_headers))
        if block.text.strip(b"\r\n"):
            yield Columns(names, _columns(block.text, len(names), here, n_headers=n_headers), here)


def _read_one_hot(blocks: Iterator[Columns], names: tuple[str, ...], content: Content) -> Csr:
    domain = Domain(_whole_names(names), is_declared=False)  # such columns are made of what occurs, as a rule
    rows = OneHotRows(domain, content.check_size)
    for columns in blocks:
        add_one_hot(rows, columns)
    return rows.csr()


class _Coder:
    """Texts by number, in order of first appearance, over all blocks of a column."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def codes(self, column: Any) -> Offsets:
        """The number of each text, -1 where missing."""
        parts = [np.empty(0, np.int64)]
        for chunk in column.chunks:
            texts = chunk.dictionary.to_pylist()
            known = np.array([*(self.index.setdefault(text, len(self.index)) for text in texts), -1], np.int64)
            parts.append(known[pc.fill_null(chunk.indices, -1).to_numpy()])
        return np.concatenate(parts)


def _read_long(blocks: Iterator[Columns], names: tuple[str, ...], content: Content, *, is_told: bool) -> Csr:
    source, n_rows = content.source, 0
    at_record, at_item = long_columns(Columns(names, (), source), None, None)
    keys, labels = _Coder(), _Coder()
    records, items = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for columns in blocks:
        n_rows += len(columns.values[at_record])
        content.check_size(taken(n_records=n_rows, n_items=n_rows))
        codes = keys.codes(columns.values[at_record])
        if codes.size and codes.min() < 0:
            must = f"C{columns.called(at_record)[1:]} must say which record the item belongs to"
            raise columns.source.row_error(must, int(np.argmin(codes)))
        records.append(codes)
        items.append(labels.codes(columns.values[at_item]).astype(np.int32))
    if not is_told and set(names) != set(LONG_NAMES) and all(map(is_sign, (*keys.index, *labels.index))):
        raise two_of_signs(source)
    _check_is_header((names[at_record], keys.index), (names[at_item], labels.index), source=source)
    domain, rank = domain_of(_whole_labels(list(labels.index)))
    ids = np.append(rank, np.int32(-1))[np.concatenate(items)]  # code -1 picks the last entry
    return from_pairs(np.concatenate(records), ids, len(keys.index), domain)


def _read_lists(blocks: Iterator[Lines], content: Content) -> Csr:
    """A record a line, no header; a blank line is an empty record, an empty cell nothing."""
    index: dict[str, int] = {}
    records, items = Sizes(content.check_size), array("i")
    for block in blocks:
        _check_text(block.text, content.source, block.before)
        is_sound, sizes = False, array("i")
        with contextlib.suppress(csv.Error):
            for row in _reader(block.text):
                found = {index.setdefault(cell, len(index)) for cell in row if cell}
                items.extend(found)
                sizes.append(len(found))
            is_sound = True
        if not is_sound:
            raise content.source.error("cannot be read as CSV")
        records.append(np.frombuffer(sizes, np.int32) if sizes else np.empty(0, np.int32))
    domain, rank = domain_of(_whole_labels(list(index)))
    return canonical(records.starts(), rank[np.array(items, np.int32)], domain)


def _check_is_header(*columns: tuple[str, dict[str, int]], source: Source) -> None:
    """Refuse a long file whose first line is plainly a record: it would be lost."""
    if any(is_whole_number(name) or name in texts for name, texts in columns):
        hint = "Give the file a first line such as record,item."
        raise source.error("looks like a record, not a header", line=1, hint=hint)


def _check_text(content: bytes, source: Source, before: int = 0) -> None:
    """Make sure that all of it is text and every quote is closed; ``before`` are the lines before it."""
    if b"\0" in content:
        raise source.error("is not text", line=before + content.count(b"\n", 0, content.index(b"\0")) + 1)
    bad = None
    try:
        _ = content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        bad = before + content.count(b"\n", 0, error.start) + 1
    if bad is not None:
        raise source.error("is not text in UTF-8", line=bad)
    if content.count(b'"') % 2:
        bad = _open_quote(content)
        if bad is not None:
            raise source.error("has a quote that is not closed as it should be", line=before + bad)


def _header(content: bytes, source: Source) -> tuple[str, ...]:
    """The names in the first row."""
    _check_text(content, source)
    names: tuple[str, ...] = ()
    with contextlib.suppress(csv.Error):  # a name of more than 100 kB
        names = tuple(next(_rows(content), (0, []))[1])
    if not names:
        raise source.error("has no header that can be read")
    if len(names) > MOST_COLUMNS:
        raise source.error(f"must have at most {MOST_COLUMNS:,} columns, and has more", hint=_OTHER)
    if len(set(names)) != len(names):
        raise source.error("must not give two columns the same name", line=1)
    return names


def _rows(content: bytes, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they end at, blank lines left out, as Arrow does."""
    reader = _reader(content, strict=strict)
    return ((reader.line_num, row) for row in reader if row)


def _reader(content: bytes, *, strict: bool = False) -> Any:
    return csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""), strict=strict)


def _line_of(content: bytes, row: int, *, before: int = 0, n_headers: int = 1) -> int | None:
    """The last line of a row of data; rows count from 0 after the header, lines from those before this content."""
    try:
        return next((before + line for at, (line, _) in enumerate(_rows(content), -n_headers) if at == row), None)
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


def _columns(content: bytes, n_columns: int, source: Source, *, n_headers: int = 1) -> tuple[Any, ...]:
    bad: list[int] = []

    def note(row: Any) -> str:
        bad.append(row.number)
        return "skip"

    names = [str(number) for number in range(n_columns)]
    if not n_headers and content.startswith(codecs.BOM_UTF8):
        content = b"\n" + content  # else Arrow takes it away, in whichever row of the file it is
    if not content.endswith(b"\n"):
        content += b"\n"
    options = {
        # Arrow counts rows only when it reads on one thread.  A row must fit in a block.
        "read_options": arrow_csv.ReadOptions(
            use_threads=False, block_size=len(content) + 1, column_names=names, skip_rows_after_names=n_headers
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
        table = arrow_csv.read_csv(pa.BufferReader(content), **options)
    if bad:  # Arrow counts from 1, the header too
        hint = "A record a line, without a header, is layout='list' (--layout list)."
        must = f"Every row must have {n_columns} values, as the header has"
        raise source.row_error(must, bad[0] - 1 - n_headers, hint=hint)
    if table is None:
        raise source.error("cannot be read as CSV")
    return tuple(table.columns)


def is_whole_number(text: str) -> bool:
    """Whether a label is written as one would write a whole number: "1", not "01" or "+1"."""
    return re.match(_WHOLE, text) is not None


def _whole_names(names: tuple[str, ...]) -> tuple[Hashable, ...]:
    return tuple(int(name) for name in names) if all(map(is_whole_number, names)) else names


def _whole_labels(labels: list[str]) -> Sequence[Hashable]:
    """The labels as whole numbers, if all of them are, and none is beyond 64 bits."""
    if not all(map(is_whole_number, labels)):
        return labels
    numbers = [int(label) for label in labels]
    return numbers if all(-(1 << 63) <= number < 1 << 63 for number in numbers) else labels
