"""Text files under a declaration: every line is read by itself, by kernels, some lines at a time.

What is promised, whatever the bytes: after the header, if the layout has one, changing a line changes one record, and
adding one adds one record (list and one-hot) or at most one item to one record (long).  With ``unknown="drop"`` no line
makes an error.  Then a cell that is no declared item, or no sign of presence, says nothing; a row of CSV with too few
or too many cells says nothing, and is an empty record where each line is one; a quote that is not closed ends with its
line; of a line beyond ``lines.LONGEST`` bytes that many are read.  Lines end with a newline, which a carriage return
may precede.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from bosket.data.baskets.rows import Csr, Items, Offsets, RecordItems, Sizes, canonical, from_pairs, taken
from bosket.data.domain import ItemIds
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.columns import Columns
from bosket.data.formats.declared_layouts import declared_layout, item_columns
from bosket.data.formats.fimi_kernels import Text
from bosket.data.formats.layouts import long_columns
from bosket.data.formats.line_kernels import UNKNOWN, cells, first_in_row, tokens
from bosket.data.formats.lines import Lines, whole_lines
from bosket.data.formats.presence_signs import PRESENT, presence_index
from bosket.data.formats.sources import Content, Source
from bosket.data.formats.vocabulary import Index, Vocabulary
from bosket.errors import telling_no_sizes

UNDECLARED = "holds an item that is not among those declared"
MISPLACED = "must hold 0 or 1, false or true, or nothing in each column"
_NO_TEXT = "is not text in UTF-8"
_COUNT = "must have {} values, as the header has"
_ENDS = "\n\r"


@telling_no_sizes("read these records")
def read_fimi(content: Content, _told: Arrangement, vocabulary: Vocabulary) -> Csr:
    """A record a line, items with blanks between; ``007`` is 7 here, unless ``007`` is an item too."""
    index = vocabulary.index(no=f"{_ENDS} \t", of="a .dat file")
    last = np.zeros(vocabulary.domain.n_items, np.int64)
    known, sizes = Items(), Sizes(content.check_size)
    for block in whole_lines(content, is_strict=vocabulary.is_strict):
        text = block.bytes
        items = np.empty(text.size // 2 + 1, np.int32)
        ends = np.zeros(block.text.count(b"\n") + 1, np.int64)
        found, lines, bad = tokens(text, *index, last, block.before, ends, items)
        if bad and vocabulary.is_strict:
            raise content.source.error(UNDECLARED, line=bad)
        known.append(items[:found])
        sizes.append(np.diff(ends[:lines], prepend=0), n_items=found)
    return canonical(sizes.starts(), known.together(), vocabulary.domain)


class _Rows(NamedTuple):
    """Some lines of CSV as the kernel sees them, cell by cell."""

    block: Lines
    rows: ItemIds
    labels: ItemIds
    plain: Text
    """The letters of all cells, without quotes."""
    stops: ItemIds
    """Where each cell ends in ``plain``."""
    starts: Offsets
    """The first cell of each line, and at the end the number of cells."""
    open_quote: int

    @property
    def n_lines(self) -> int:
        return self.starts.size - 1

    def texts(self, chosen: Offsets) -> list[bytes]:
        """The letters of some cells."""
        letters, stops = self.plain.tobytes(), np.append(np.int32(0), self.stops)
        return [
            letters[start:stop] for start, stop in zip(stops[chosen].tolist(), self.stops[chosen].tolist(), strict=True)
        ]


_Part: TypeAlias = tuple[Offsets | ItemIds, ItemIds, int, str]
"""Lines, rising, and an item of each; the first line that is wrong, or -1, and what is wrong with it."""


@telling_no_sizes("read these records")
def read_csv(content: Content, told: Arrangement, vocabulary: Vocabulary) -> Csr:
    """CSV in any layout; a blank line is an empty record, but in a long file it says nothing."""
    index = vocabulary.index(no=_ENDS, of="a CSV file")
    blocks = whole_lines(content, is_strict=vocabulary.is_strict)
    if told.layout == "list":
        return _line_by_line(blocks, index, _list_of(vocabulary), vocabulary, content, None)
    names, blocks = header_of(blocks, content.source)
    if not names and not vocabulary.is_strict:
        return canonical(np.zeros(1, np.int64), np.empty(0, np.int32), vocabulary.domain)
    layout = told.layout or declared_layout(names, vocabulary.among(names), content.source)
    if layout == "long":
        return _long(blocks, index, names, told, vocabulary, content)
    part = _one_hot_of(item_columns(names, vocabulary, content.source))
    return _line_by_line(blocks, presence_index(), part, vocabulary, content, len(names))


def header_of(blocks: Iterator[Lines], source: Source) -> tuple[tuple[str, ...], Iterator[Lines]]:
    """The names in the first line that is not blank, none if there is no such line, and what follows it."""
    for block in blocks:
        lines = block.text.split(b"\n")
        at = next((at for at, line in enumerate(lines) if line.strip(b"\r")), None)
        if at is None:
            continue
        names: list[str] | None = None
        with contextlib.suppress(csv.Error, UnicodeDecodeError, StopIteration):
            names = next(csv.reader([lines[at].decode("utf-8-sig").removesuffix("\r")], strict=True))
        if names is None:
            raise source.error("has no header that can be read", line=block.before + at + 1)
        rest = Lines(b"\n".join(lines[at + 1 :]), block.before + at + 1)
        return tuple(names), itertools.chain([rest] if rest.text else [], blocks)
    return (), iter(())


def cells_of_lines(block: Lines, index: Index, n_columns: int | None) -> _Rows:
    """The cells; of a line with more than there are columns, one more than that, which shows that it is wrong."""
    n_lines, room = block.text.count(b"\n") + 1, block.text.count(b",") + block.text.count(b"\n") + 1
    most = room if n_columns is None else n_columns + 1
    rows, labels, stops = (np.empty(min(room, n_lines * most), np.int32) for _ in range(3))
    plain = np.empty(len(block.text), np.uint8)
    found, lines, bad = cells(block.bytes, *index, most, rows, labels, plain, stops)
    starts = np.searchsorted(rows[:found], np.arange(lines + 1, dtype=np.int32))  # no copy of rows, as bincount makes
    return _Rows(block, rows[:found], labels[:found], plain, stops[:found], starts, bad)


def _line_by_line(
    blocks: Iterator[Lines],
    index: Index,
    part: Callable[[_Rows], _Part],
    vocabulary: Vocabulary,
    content: Content,
    n_columns: int | None,
) -> Csr:
    """A record a line; ``part`` says what lines hold."""
    sizes, items = Sizes(content.check_size), Items()
    for block in blocks:
        rows = cells_of_lines(block, index, n_columns)
        at, ids, bad, fault = part(rows)
        if vocabulary.is_strict:
            _refuse(rows, bad, fault, content.source)
        sizes.append(np.bincount(at, minlength=rows.n_lines), n_items=ids.size)
        items.append(ids)
    return canonical(sizes.starts(), items.together(), vocabulary.domain)


def _list_of(vocabulary: Vocabulary) -> Callable[[_Rows], _Part]:
    """Every cell an item."""
    last = np.zeros(vocabulary.domain.n_items, np.int64)

    def part(rows: _Rows) -> _Part:
        chosen = first_in_row(rows.rows, rows.labels, last, rows.block.before)
        return rows.rows[chosen], rows.labels[chosen], _first(rows.rows[rows.labels == UNKNOWN]), UNDECLARED

    return part


def _one_hot_of(items: ItemIds) -> Callable[[_Rows], _Part]:
    """Every cell says whether its line has the item of its column, -1 for a column of none."""

    columns = np.flatnonzero(items >= 0)

    def part(rows: _Rows) -> _Part:
        n_cells = np.diff(rows.starts)
        right = np.flatnonzero(n_cells == items.size)
        labels = rows.labels[rows.starts[right][:, None] + columns]  # of lines with as many cells as the header alone
        at, column = np.nonzero(PRESENT[labels] == 1)
        meant = _first(right[(labels == UNKNOWN).any(axis=1)])
        counted = _first(np.flatnonzero((n_cells != items.size) & (n_cells > 0)))
        fault = (
            (counted, _COUNT.format(items.size))
            if counted >= 0 and (meant < 0 or counted <= meant)
            else (meant, MISPLACED)
        )
        return right[at], items[columns[column]], *fault

    return part


def _long(
    blocks: Iterator[Lines],
    index: Index,
    names: tuple[str, ...],
    told: Arrangement,
    vocabulary: Vocabulary,
    content: Content,
) -> Csr:
    """A row per record and item; a row without a record, or with cells too few or too many, says nothing."""
    record, item = long_columns(Columns(names, (), content.source), told.record, told.item)
    keys: dict[bytes, int] = {}
    pairs, n_rows = RecordItems(), 0
    for block in blocks:
        rows = cells_of_lines(block, index, len(names))
        n_cells = np.diff(rows.starts)
        sound = np.flatnonzero(n_cells == len(names))
        at = rows.starts[sound]
        texts = rows.texts(at + record)
        is_named = np.fromiter(map(bool, texts), np.bool_, len(texts))
        labels = rows.labels[at + item]
        if vocabulary.is_strict:
            faults = [
                (_first(np.flatnonzero((n_cells != len(names)) & (n_cells > 0))), _COUNT.format(len(names))),
                (_first(sound[~is_named]), "must say which record the item belongs to"),
                (_first(sound[labels == UNKNOWN]), UNDECLARED),
            ]
            is_utf8 = not told.columns  # else only what is read must be, and an item that is declared is text
            if not is_utf8:
                faults.append((_first(sound[[at for at, text in enumerate(texts) if not _is_text(text)]]), _NO_TEXT))
            fault = min((fault for fault in faults if fault[0] >= 0), default=(-1, ""))
            _refuse(rows, *fault, content.source, is_utf8=is_utf8)
        n_rows += sound.size
        records = np.fromiter((keys.setdefault(key, len(keys)) for key in texts if key), np.int64)
        content.check_size(taken(n_records=n_rows, n_items=n_rows, n_labels=len(keys)))
        pairs.append(records, np.maximum(labels[is_named], np.int32(-1)))
    return from_pairs(*pairs.together(), len(keys), vocabulary.domain)


def _first(lines: Offsets | ItemIds) -> int:
    return int(lines[0]) if lines.size else -1


def _refuse(rows: _Rows, line: int, fault: str, source: Source, *, is_utf8: bool = True) -> None:
    """Refuse the first line that is wrong, if one is; unless ``is_utf8``, its cells need not be in UTF-8."""
    faults = [(line, fault), (rows.open_quote, "has a quote that is not closed as it should be")]
    faults.append(_not_text(rows.block, is_utf8=is_utf8))
    first = min((known for known in faults if known[0] >= 0), default=None)
    if first is not None:
        raise source.error(first[1], line=rows.block.before + first[0] + 1)


def _is_text(letters: bytes) -> bool:
    try:
        return letters.isascii() or letters.decode() != ""
    except UnicodeDecodeError:
        return False


def _not_text(block: Lines, *, is_utf8: bool) -> tuple[int, str]:
    """The first line that is not text, or -1; without ``is_utf8`` only zero bytes make it none."""
    bad = block.text.find(b"\0")
    try:
        _ = not is_utf8 or block.text.isascii() or block.text.decode()
    except UnicodeDecodeError as error:
        bad = error.start if bad < 0 else min(bad, error.start)
    return (-1, "") if bad < 0 else (block.text.count(b"\n", 0, bad), _NO_TEXT)
