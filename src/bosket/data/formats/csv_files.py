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
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bosket.data.baskets.grouped import LongRecords, RecordRuns, ranked
from bosket.data.baskets.rows import Csr, Items, Sizes, canonical, domain_of, taken
from bosket.data.domain import Domain, ItemIds, is_text
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.columns import Columns, is_sign
from bosket.data.formats.layouts import LONG_NAMES, long_columns, not_one_hot, two_of_signs
from bosket.data.formats.line_kernels import end_of_rows
from bosket.data.formats.lines import Lines, whole_rows
from bosket.data.formats.plain_csv import Runs, plain_runs
from bosket.data.formats.presence_signs import PRESENT, presence_index
from bosket.data.formats.row_kernels import one_hot_rows
from bosket.data.formats.sources import MORE_MEMORY, MOST_COLUMNS, Content, Source
from bosket.data.formats.words import NumberedWords, letters_of
from bosket.errors import DataError
from bosket.threads import mapped_ahead, slices

_LINE_END = re.compile(rb"\r\n?|\n")
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_WORDS_A_PIECE = 1 << 16
_MOST_SIGNS = 1 << 8  # more than there are ways to write the six, in capitals or not
_OTHER = "A file of that many items is better written long, with columns record and item."


def read(content: Content, told: Arrangement) -> Csr:
    """The records of a CSV file: with a header, unless it is asked for as lists."""
    blocks = whole_rows(content)
    if told.layout == "list":
        return _read_lists(blocks, content)
    names, rows = header_and_rows(blocks, content.source, are_all_read=not told.columns)
    if told.layout == "one-hot" or (told.layout is None and len(names) != 2):
        return _read_one_hot(rows, names, content)
    return _read_long(rows, names, content, told)


class Rows(NamedTuple):
    """Some whole rows, of which the first may be the header, and a source that knows their lines."""

    text: bytes
    before: int
    """Lines before them."""
    n_headers: int
    source: Source


def header_and_rows(
    blocks: Iterator[Lines], source: Source, *, are_all_read: bool = True
) -> tuple[tuple[str, ...], Iterator[Rows]]:
    """The names in the first row, and the text in blocks of whole rows, that one among them.

    Unless all columns are read, those that are not may share a name, and need not be text in UTF-8.
    """
    first = next((block for block in blocks if block.text.strip(b"\r\n")), Lines(b"", 0))
    bare = first.text.lstrip(b"\r\n")  # Arrow takes the first line for the header, even a blank one
    first = Lines(bare, first.before + len(_LINE_END.findall(first.text, 0, len(first.text) - len(bare))))
    return _header(first, source, are_all_read), _rows_of(first, blocks, source, are_all_read)


def _rows_of(first: Lines, others: Iterator[Lines], source: Source, are_all_read: bool) -> Iterator[Rows]:
    for at, block in enumerate(itertools.chain([first], others)):
        if at:
            _check_text(block.text, source, block.before, is_utf8=are_all_read)
        n_headers = 0 if at else 1
        here = replace(source, line_of=partial(_line_of, block.text, before=block.before, n_headers=n_headers))
        yield Rows(block.text, block.before, n_headers, here)


def _read_one_hot(blocks: Iterator[Rows], names: tuple[str, ...], content: Content) -> Csr:
    sizes, items = Sizes(content.check_size), Items()
    for some, found in one_hot_parts(blocks, names):
        sizes.append(some, n_items=len(found))
        items.append(found)
    return canonical(sizes.starts(), items.together(), one_hot_domain(names))


def one_hot_domain(names: tuple[str, ...]) -> Domain:
    """The items that columns of these names are; such columns are made of what occurs, as a rule."""
    return Domain(_whole_names(names), is_declared=False)


def one_hot_parts(blocks: Iterator[Rows], names: tuple[str, ...]) -> Iterator[tuple[ItemIds, ItemIds]]:
    """The sizes of the records of each block, and the numbers of their columns.

    By a kernel: a file may have a hundred thousand columns, and a few rows in each block.
    """
    fault = np.empty(3, np.int64)
    for block in blocks:
        text = np.frombuffer(block.text, np.uint8)
        n_cells = block.text.count(b",") + block.text.count(b"\n") + block.text.count(b"\r") + 1
        here = np.empty(n_cells, np.int32), np.empty(len(block.text) // max(2, len(names)) + 1, np.int32)
        n_rows, found = one_hot_rows(text, len(names), block.n_headers, *presence_index(), PRESENT, *here, fault)
        miscounted, column, row = fault.tolist()
        if miscounted >= 0:
            raise _miscounted(len(names), miscounted, block.source)
        if column >= 0:
            raise not_one_hot(Columns(names, (), block.source), column, row)
        yield here[1][:n_rows].copy(), here[0][:found]


def _miscounted(n_columns: int, row: int, source: Source) -> DataError:
    hint = "A record a line, without a header, is layout='list'."
    return source.row_error(f"Every row must have {n_columns} values, as the header has", row, hint=hint)


def _read_long(blocks: Iterator[Rows], names: tuple[str, ...], content: Content, told: Arrangement) -> Csr:
    source, keys, found = content.source, NumberedWords(), LongRecords()
    rows = LongRows(blocks, names, content, told)
    for _, part in rows.parts(keys):
        found.append_runs(part)
    labels = rows.labels
    if told.layout is None and set(names) != set(LONG_NAMES) and are_signs(keys) and are_signs(labels):
        raise two_of_signs(source)
    rows.check_header(keys)
    domain, rank = domain_of(whole_labels(labels.texts()))
    n_records = len(keys)
    del keys, rows, labels  # of which only that number is needed
    return found.csr(n_records, rank, domain)


class LongRows:
    """The rows of a long file, block by block: ``labels`` are the items, in order of first appearance."""

    def __init__(
        self,
        blocks: Iterator[Rows],
        names: tuple[str, ...],
        content: Content,
        told: Arrangement,
        labels: NumberedWords | None = None,
    ) -> None:
        """``labels`` are those of files before this one."""
        self._blocks, self._names, self._content, self._told = blocks, names, content, told
        self._at = long_columns(Columns(names, (), content.source), told.record, told.item)
        self.labels = NumberedWords() if labels is None else labels
        self.n_rows = 0

    def parts(self, keys: NumberedWords | None = None) -> Iterator[tuple[NumberedWords, RecordRuns]]:
        """The rows of each block: records by their numbers among ``keys``, and items, -1 for none.

        Unless keys are given, those of each block are numbered anew.
        """
        for block, runs in mapped_ahead(self._scanned, self._blocks):
            here = NumberedWords() if keys is None else keys
            yield here, self._split(block, here) if runs is None else self._numbered(runs, here)

    def _scanned(self, block: Rows) -> tuple[Rows, Runs | None]:
        return block, plain_runs(block.text, block.n_headers, len(self._names), self._at)

    def _numbered(self, runs: Runs, keys: NumberedWords) -> RecordRuns:
        """The rows of a plain block."""
        records = keys.number_cells(runs.text, runs.starts, runs.stops)
        known = self.labels.number(runs.labels.letters, runs.labels.offsets[: len(runs.labels) + 1])
        self._count(len(runs.items), keys)
        return RecordRuns(records, runs.rows, ranked(runs.items, known))

    def _split(self, block: Rows, keys: NumberedWords) -> RecordRuns:
        """The rows of a block with quotes, or with a fault."""
        record, item = _columns(block, len(self._names), self._at)
        self._count(len(record), keys)
        records, items = _numbered(record, keys), _numbered(item, self.labels)
        self._count(0, keys)
        if records.size and records.min() < 0:
            must = f"Column {self._at[0] + 1} must say which record the item belongs to"
            raise block.source.row_error(must, int(np.argmin(records)))
        return RecordRuns(records, None, items)

    def _count(self, n_rows: int, keys: NumberedWords) -> None:
        self.n_rows += n_rows
        n_labels = len(keys) + len(self.labels)
        self._content.check_size(taken(n_records=self.n_rows, n_items=self.n_rows, n_labels=n_labels))

    def check_header(self, keys: NumberedWords) -> None:
        """Refuse a file whose first line is plainly a record; names that are given are those of a header."""
        if not self._told.columns:
            at_record, at_item = self._at
            columns = ((self._names[at_record], keys), (self._names[at_item], self.labels))
            _check_is_header(*columns, source=self._content.source)


def _numbered(column: Any, words: NumberedWords) -> ItemIds:
    """The number of each text of a column, -1 where missing."""
    parts = [np.empty(0, np.int32)]
    for chunk in column.chunks:
        letters = letters_of(chunk.dictionary)
        assert letters is not None, "it is text"
        known = np.append(words.number(*letters), np.int32(-1))  # code -1, missing, picks the last entry
        parts.append(known[pc.fill_null(chunk.indices, -1).to_numpy()])
    return np.concatenate(parts)


def are_signs(words: NumberedWords) -> bool:
    """Whether all words say that something is present or absent; there are few ways to."""
    return len(words) <= _MOST_SIGNS and all(map(is_sign, words.texts()))


def _read_lists(blocks: Iterator[Lines], content: Content) -> Csr:
    index: dict[Hashable, int] = {}
    records, items = Sizes(content.check_size), Items()
    for sizes, found in list_parts(blocks, content.source, index, lambda n_labels: records.check(n_labels=n_labels)):
        records.append(sizes, n_items=len(found))
        items.append(found)
        records.check(n_labels=len(index))
    domain, rank = domain_of(whole_labels(list(map(str, index))))
    return canonical(records.starts(), rank[items.together()], domain)


def list_parts(
    blocks: Iterator[Lines],
    source: Source,
    index: dict[Hashable, int],
    check: Callable[[int], None],
    *,
    most_cells: int | None = None,
) -> Iterator[tuple[ItemIds, ItemIds]]:
    """A record a line, no header; a blank line is an empty record, an empty cell nothing.

    The sizes of the records of each block, and the numbers of their items in ``index``, which grows; ``check`` hears
    how many labels there are.  A record of more than ``most_cells`` is refused.
    """
    checked = len(index)
    for block in blocks:
        _check_text(block.text, source, block.before)
        is_sound, sizes, items = False, array("i"), array("i")
        with contextlib.suppress(csv.Error):
            for row in _bounded(block, source, most_cells):
                found: set[int] = set()
                for piece in _pieces(row):
                    found.update([index.setdefault(cell, len(index)) for cell in piece if cell])
                    if len(index) > checked + _WORDS_A_PIECE:
                        checked = len(index)
                        check(checked)
                items.extend(found)
                sizes.append(len(found))
            is_sound = True
        if not is_sound:
            raise source.error("cannot be read as CSV")
        yield np.array(sizes, np.int32), np.array(items, np.int32)


def _bounded(block: Lines, source: Source, most_cells: int | None) -> Iterator[list[str]]:
    """The rows of a block; one that has more commas than so many cells may have is refused before it is taken apart."""
    if most_cells is None or block.text.count(b",") < most_cells:
        yield from _reader(block.text)
        return
    n_commas = 0

    def lines() -> Iterator[str]:
        nonlocal n_commas
        for number, line in enumerate(_text(block.text), block.before + 1):
            n_commas += line.count(",")
            if n_commas >= most_cells:
                raise source.error(
                    f"must have records of at most {most_cells} items, as many as there is memory for, and has more",
                    line=number,
                    hint=MORE_MEMORY,
                )
            yield line

    for row in csv.reader(lines()):
        yield row
        n_commas = 0


def _pieces(row: list[str]) -> Iterable[list[str]]:
    """A row, in pieces where it is long: all its cells may be labels that no other row has."""
    if len(row) <= _WORDS_A_PIECE:
        return (row,)
    return (row[start:stop] for start, stop in slices(len(row), _WORDS_A_PIECE))


def _check_is_header(*columns: tuple[str, NumberedWords], source: Source) -> None:
    """Refuse a long file whose first line is plainly a record: it would be lost."""
    if any(is_whole_number(name) or name in texts for name, texts in columns):
        hint = "Give the file a first line such as record,item."
        raise source.error("looks like a record, not a header", line=1, hint=hint)


def _check_text(content: bytes, source: Source, before: int = 0, *, is_utf8: bool = True) -> None:
    """Make sure that all of it is text and every quote is closed; ``before`` are the lines before it.

    Unless ``is_utf8`` it need not be in UTF-8.
    """
    if b"\0" in content:
        raise source.error("is not text", line=before + content.count(b"\n", 0, content.index(b"\0")) + 1)
    bad = None
    try:
        _ = not is_utf8 or content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        bad = before + content.count(b"\n", 0, error.start) + 1
    if bad is not None:
        raise source.error("is not text in UTF-8", line=bad)
    if b'"' in content and content.count(b'"') % 2:
        bad = _open_quote(content)
        if bad is not None:
            raise source.error("has a quote that is not closed as it should be", line=before + bad)


def _header(block: Lines, source: Source, are_all_read: bool) -> tuple[str, ...]:
    """The names in the first row."""
    _check_text(block.text, source, block.before, is_utf8=are_all_read)
    names: tuple[str, ...] = ()
    with contextlib.suppress(csv.Error):  # a name of more than 100 kB
        names = tuple(next(_rows(block.text), (0, []))[1])
    if not names or not all(map(is_text, names)):
        raise source.error("has no header that can be read")
    if len(names) > MOST_COLUMNS:
        raise source.error(f"must have at most {MOST_COLUMNS:,} columns, and has more", hint=_OTHER)
    if are_all_read and len(set(names)) != len(names):
        raise source.error("must not give two columns the same name", line=1)
    return names


def _rows(content: bytes, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they end at, blank lines left out, as Arrow does."""
    reader = _reader(content, strict=strict)
    return ((reader.line_num, row) for row in reader if row)


def _reader(content: bytes, *, strict: bool = False) -> Any:
    return csv.reader(_text(content), strict=strict)


def _text(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", "surrogateescape", newline="")


def _line_of(content: bytes, row: int, *, before: int = 0, n_headers: int = 1) -> int | None:
    """The last line of a row of data; rows count from 0 after the header, lines from those before this content."""
    try:
        return next((before + line for at, (line, _) in enumerate(_rows(content), -n_headers) if at == row), None)
    except csv.Error:  # a field beyond the limit of the csv module; Arrow does not mind
        return None


def _open_quote(content: bytes) -> int | None:
    """The line where the row with an open quote begins; a quote within a cell that has none around it opens nothing."""
    end = end_of_rows(np.frombuffer(content, np.uint8), True)
    return None if end == len(content) else content.count(b"\n", 0, end) + 1


def _columns(rows: Rows, n_columns: int, chosen: tuple[int, ...]) -> list[Any]:
    """Some of the columns, as text in dictionaries; of the others, however many there are, nothing is kept."""
    bad: list[int] = []

    def note(row: Any) -> str:
        bad.append(row.number)
        return "skip"

    content, names = rows.text, [str(number) for number in range(n_columns)]
    if not content.strip(b"\r\n"):
        return [pa.chunked_array([], pa.dictionary(pa.int32(), pa.string())) for _ in chosen]
    if not rows.n_headers and content.startswith(codecs.BOM_UTF8):
        content = b"\n" + content  # else Arrow takes it away, in whichever row of the file it is
    if not content.endswith(b"\n"):
        content += b"\n"
    wanted = [names[at] for at in chosen]
    options = {
        # Arrow counts rows only when it reads on one thread.  A row must fit in a block.
        "read_options": arrow_csv.ReadOptions(
            use_threads=False, block_size=len(content) + 1, column_names=names, skip_rows_after_names=rows.n_headers
        ),
        # Arrow hands a row over as text, and where it is none, says so on standard error.
        "parse_options": arrow_csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=note if _is_utf8(content) else None
        ),
        "convert_options": arrow_csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string())),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }
    table = None
    with contextlib.suppress(pa.ArrowException):  # its message would quote the row
        table = arrow_csv.read_csv(pa.BufferReader(content), **options)
    if bad:  # Arrow counts from 1, the header too
        raise _miscounted(n_columns, bad[0] - 1 - rows.n_headers, rows.source)
    if table is None:
        raise _fault(rows, n_columns, chosen)
    return list(table.columns)


def _is_utf8(content: bytes) -> bool:
    try:
        return content.isascii() or content.decode() != ""
    except UnicodeDecodeError:
        return False


def _fault(rows: Rows, n_columns: int, chosen: tuple[int, ...]) -> DataError:
    """What is wrong with rows that Arrow cannot read: too few cells or too many, or none of text where it must be."""
    with contextlib.suppress(csv.Error):
        for at, (line, row) in enumerate(_rows(rows.text), -rows.n_headers):
            if len(row) != n_columns:
                return _miscounted(n_columns, at, rows.source)
            if not all(is_text(row[column]) for column in chosen):
                return rows.source.error("is not text in UTF-8", line=rows.before + line)
    return rows.source.error("cannot be read as CSV")


def is_whole_number(text: str) -> bool:
    """Whether a label is written as one would write a whole number: "1", not "01" or "+1"."""
    return re.match(_WHOLE, text) is not None


def _whole_names(names: tuple[str, ...]) -> tuple[Hashable, ...]:
    return tuple(int(name) for name in names) if all(map(is_whole_number, names)) else names


def whole_labels(labels: list[str]) -> Sequence[Hashable]:
    """The labels as whole numbers, if all of them are, and none is beyond 64 bits."""
    if not all(map(is_whole_number, labels)):
        return labels
    numbers = [int(label) for label in labels]
    return numbers if all(-(1 << 63) <= number < 1 << 63 for number in numbers) else labels
