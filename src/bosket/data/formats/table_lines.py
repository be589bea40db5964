"""The cells of a table in CSV as numbers, some rows at a time, so that neither the text nor its cells are held at once.

A cell is the number of its word among the different ones of its column, in the smallest type that will do.  What those
words stand for is settled at the end, once for each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bosket.data.baskets.rows import taken
from bosket.data.domain import ItemIds
from bosket.data.formats.csv_files import Rows
from bosket.data.formats.sources import Content, Source, file_source
from bosket.data.formats.table_kernels import (
    AT,
    CROWDED,
    DONE,
    FULL,
    GAP,
    HEADERS,
    LINE,
    MISCOUNTED,
    N_WORDS,
    ROW,
    WordTable,
    code_rows,
    rehash,
)
from bosket.errors import DataError

WordNumbers = npt.NDArray[np.unsignedinteger[Any]]
"""A row per record and a column per column read: the number of the word, from 1; 0 where there is nothing."""

_SLOTS = 1 << 12  # of the first hash table


class TextCells(NamedTuple):
    """The cells of some columns."""

    numbers: WordNumbers
    words: list[list[str]]
    """The words of each column in the order of their numbers, without the blanks around them."""
    source: Source
    """Knows the line of each row."""


@dataclass
class _Lines:
    """The line where each row ends, from few numbers where every row is one line."""

    rows: list[int] = field(default_factory=list)
    """How many rows there are before each block."""
    lines: list[int] = field(default_factory=list)
    """How many lines there are before its first row."""
    ends: list[ItemIds | None] = field(default_factory=list)

    def append(self, row: int, line: int, ends: ItemIds) -> None:
        """Add a block; ``ends`` are counted from its beginning, in line ``line``."""
        first = int(ends[0]) - 1 if ends.size else 0
        is_plain = ends.size == 0 or int(ends[-1]) - first == ends.size  # they rise by one at least
        self.rows.append(row)
        self.lines.append(line + first if is_plain else line)
        self.ends.append(None if is_plain else ends.copy())

    def __call__(self, row: int) -> int:
        block = bisect_right(self.rows, row) - 1
        ends, within = self.ends[block], row - self.rows[block]
        return self.lines[block] + (within + 1 if ends is None else int(ends[within]))


class _Coder:
    """Numbers the words of some columns, over all blocks of a file."""

    def __init__(self, wanted: ItemIds) -> None:
        self.wanted = wanted
        self.known = np.zeros(np.count_nonzero(wanted >= 0), np.int32)
        self.state = np.zeros(6, np.int64)
        self.seed = hash("words of a table") >> 2  # Python's own secret, so that nobody chooses words that collide
        self.words = WordTable(
            np.empty(0, np.uint8),
            np.zeros(1, np.int64),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
        )
        self._grow(_SLOTS)

    def codes(self, rows: Rows) -> tuple[int, npt.NDArray[np.int32], ItemIds]:
        """Why it stopped; the numbers of the cells until there; and the lines where their rows end."""
        n_most = len(rows.text) // max(2, self.wanted.size) + 1
        codes, ends = np.empty((n_most, self.known.size), np.int32), np.empty(n_most, np.int32)
        self.state[[AT, ROW, LINE, HEADERS]] = 0, 0, 0, rows.n_headers
        text, status = np.frombuffer(rows.text, np.uint8), FULL
        while status == FULL:
            self._make_room(len(rows.text))  # anew each time: a row is read again, behind the words that it brought
            status = code_rows(text, self.wanted, self.seed, self.words, self.known, self.state, codes, ends)
            if status == FULL and not self._grow(2 * self.words.table.size):
                status = CROWDED
        n_rows = int(self.state[ROW])
        return status, codes[:n_rows], ends[:n_rows]

    def _make_room(self, n_letters: int) -> None:
        """For the letters of a block, which may all be new."""
        used = int(self.words.offsets[self.state[N_WORDS]])
        if used + n_letters > self.words.letters.size:
            letters = np.empty(2 * used + n_letters, np.uint8)
            letters[:used] = self.words.letters[:used]
            self.words = self.words._replace(letters=letters)

    def _grow(self, n_slots: int) -> bool:
        n_words, room = int(self.state[N_WORDS]), n_slots // 2
        self.words = WordTable(
            self.words.letters,
            _longer(self.words.offsets, n_words + 1, room + 1),
            _longer(self.words.columns, n_words, room),
            _longer(self.words.numbers, n_words, room),
            np.full(n_slots, -1, np.int32),
        )
        return bool(rehash(self.words, n_words, self.seed))

    def texts(self) -> list[list[str]]:
        """The words of each column, without the blanks around them."""
        n_words = int(self.state[N_WORDS])
        offsets = self.words.offsets[: n_words + 1]
        letters = self.words.letters[: offsets[-1]]
        words = pa.LargeStringArray.from_buffers(n_words, pa.py_buffer(offsets), pa.py_buffer(letters))
        order = np.argsort(self.words.columns[:n_words], kind="stable")
        texts = [word.strip() for word in words.take(pa.array(order)).to_pylist()]
        stops = np.cumsum(self.known).tolist()
        return [texts[stop - size : stop] for stop, size in zip(stops, self.known.tolist(), strict=True)]


def _longer(values: npt.NDArray[Any], n_used: int, size: int) -> npt.NDArray[Any]:
    longer = np.zeros(size, values.dtype)
    longer[:n_used] = values[:n_used]
    return longer


def read_cells(blocks: Iterator[Rows], wanted: ItemIds, content: Content) -> TextCells:
    """The cells of the columns that have a place in ``wanted``, of which others have -1."""
    coder, lines = _Coder(wanted), _Lines()
    parts: list[WordNumbers] = []
    n_rows, n_lines = 0, 0
    for block in blocks:
        n_lines = max(n_lines, block.before)  # lines that end with a carriage return alone are counted here alone
        status, codes, ends = coder.codes(block)
        line = n_lines + int(coder.state[LINE])
        if status != DONE:
            raise _fault(status, line, wanted.size, content.source)
        width = np.min_scalar_type(int(coder.known.max()))
        lines.append(n_rows, n_lines, ends)
        n_rows, n_lines = n_rows + len(codes), line
        n_bytes, n_words = n_rows * coder.known.size * width.itemsize, int(coder.state[N_WORDS])
        content.check_size(taken(n_records=n_rows, n_items=n_bytes // 4, n_labels=n_words))
        parts.append(codes.astype(width))
    return TextCells(_together(parts, coder.known.size), coder.texts(), file_source(content.path, lines))


def _fault(status: int, line: int, n_columns: int, source: Source) -> DataError:
    if status == GAP:
        return source.error("is blank, and may be a record", line=line, hint='Write "" for a missing value.')
    if status == MISCOUNTED:
        must = f"Every row must have {n_columns} values, as the header has; line {line} of {source.name} does not."
        return DataError(must, path=source.path, line=line)
    return source.error("holds more words of one hash value than can be told apart quickly")


def _together(parts: list[WordNumbers], n_columns: int) -> WordNumbers:
    """The rows of all parts, which are let go one by one."""
    n_rows = sum(map(len, parts))
    whole = np.empty((n_rows, n_columns), parts[-1].dtype if parts else np.uint8)
    done = n_rows
    while parts:
        part = parts.pop()
        whole[done - len(part) : done] = part
        done -= len(part)
    return whole
