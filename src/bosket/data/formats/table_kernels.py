"""Compiled loops that make numbers of the cells of a table in CSV.

The different words of all columns are kept together: ``letters``, one word after the other; ``offsets``, where each
begins and the last ends; ``columns``, the column of each; ``numbers``, its number among those of its column, from 1,
since 0 is a cell without letters; and ``table``, a hash table of them with open addressing, -1 where a slot is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bosket.compiling import compiled
from bosket.data.formats.line_kernels import MOST_STEPS
from bosket.data.formats.row_kernels import after_line_end, scan_cell

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

DONE, FULL, CROWDED, MISCOUNTED, GAP = range(5)
"""Why reading stopped: at the end, for lack of room, at a word that many others crowd, at a row, at a blank line."""

AT, ROW, LINE, N_WORDS, HEADERS, IS_BLANK = range(6)
"""What ``state`` holds: where reading is; rows, lines and words until there; headers to come; if a line is blank."""


class WordTable(NamedTuple):
    """The words of all columns; the arrays have room for more."""

    letters: Text
    offsets: Offsets
    columns: ItemIds
    numbers: ItemIds
    table: ItemIds


@compiled
def _begun(column: int, seed: int) -> np.uint64:
    """The hash of a word of a column before its first letter."""
    return np.uint64(14695981039346656037) ^ np.uint64(seed) ^ (np.uint64(column) * np.uint64(0x9E3779B97F4A7C15))


@compiled
def _with(code: np.uint64, letter: int) -> np.uint64:
    """The hash with one letter more; FNV-1a."""
    return (code ^ np.uint64(letter)) * np.uint64(1099511628211)


@compiled
def _slot(
    text: Text,
    start: int,
    stop: int,
    column: int,
    code: np.uint64,
    letters: Text,
    offsets: Offsets,
    columns: ItemIds,
    table: ItemIds,
) -> int:
    """The slot of the word of a column that is written so, or the free one where it would be; -1 if many crowd it."""
    mixed = (code ^ (code >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)  # MurmurHash3
    slot: Any = np.int64((mixed >> np.uint64(32)) & np.uint64(table.size - 1))
    for _ in range(MOST_STEPS):
        word = table[slot]
        if word < 0:
            return slot
        first = offsets[word]
        if columns[word] == column and offsets[word + 1] - first == stop - start:
            at = start
            while at < stop and text[at] == letters[first + at - start]:
                at += 1
            if at == stop:
                return slot
        slot = (slot + 1) & (table.size - 1)
    return -1


@compiled
def rehash(words: WordTable, n_words: int, seed: int) -> bool:
    """Fill an empty table with the words; False if too many crowd together."""
    letters, offsets, columns, _, table = words
    for word in range(n_words):
        code = _begun(columns[word], seed)
        for at in range(offsets[word], offsets[word + 1]):
            code = _with(code, letters[at])
        slot = _slot(letters, offsets[word], offsets[word + 1], columns[word], code, letters, offsets, columns, table)
        if slot < 0:
            return False
        table[slot] = word
    return True


@compiled
def code_rows(
    text: Text, wanted: ItemIds, seed: int, words: WordTable, known: ItemIds, state: Offsets, codes: Any, ends: ItemIds
) -> int:
    """Number the cells of rows of CSV, and say why that stopped.

    ``wanted`` has the place of each column among those that are read, or -1.  ``codes`` gets the numbers of the cells,
    ``ends`` the line where each row ends, and ``known`` counts the words of each column.  When room is lacking, the row
    is read once more from its beginning.  In a file of one column a blank line between rows ends it all.
    """
    letters, offsets, columns, numbers, table = words
    n_columns, n = wanted.size, state[N_WORDS]
    free = offsets[n]
    while state[AT] < text.size:
        at, line, row = state[AT], state[LINE], state[ROW]
        if text[at] == 10 or text[at] == 13:
            state[AT], state[LINE], state[IS_BLANK] = after_line_end(text, at), line + 1, 1
            continue
        is_header = state[HEADERS] > 0
        if n_columns == 1 and state[IS_BLANK] and not is_header:
            return GAP
        column, is_more = 0, True
        while is_more:
            place = wanted[column] if column < n_columns and not is_header else -1
            code = _begun(place, seed)
            start = stop = at
            is_quoted = at < text.size and text[at] == 34
            if is_quoted:
                at, stop, lines = scan_cell(text, at, letters, free)
                line += lines
                for letter in range(free, stop):
                    code = _with(code, letters[letter])
            else:
                while at < text.size:
                    byte = text[at]
                    if byte <= 44 and (byte == 44 or byte == 10 or byte == 13):
                        break
                    code = _with(code, byte)
                    at += 1
            if place >= 0 and at == start:
                codes[row, place] = 0
            elif place >= 0:
                if is_quoted:
                    slot = _slot(letters, free, stop, place, code, letters, offsets, columns, table)
                else:
                    slot = _slot(text, start, at, place, code, letters, offsets, columns, table)
                if slot < 0:
                    return CROWDED
                word = table[slot]
                if word < 0:
                    if 2 * (n + 1) > table.size:
                        return FULL
                    for letter in range(start, start if is_quoted else at):
                        letters[free + letter - start] = text[letter]
                    free = stop if is_quoted else free + at - start
                    known[place] += 1
                    columns[n], numbers[n], offsets[n + 1] = place, known[place], free
                    table[slot] = word = n
                    n += 1
                    state[N_WORDS] = n
                codes[row, place] = numbers[word]
            column += 1
            is_more = at < text.size and text[at] == 44
            at += is_more
        if not is_header and column != n_columns:
            state[LINE] = line + 1
            return MISCOUNTED
        state[AT], state[LINE], state[IS_BLANK] = after_line_end(text, at), line + 1, 0
        if is_header:
            state[HEADERS] -= 1
        else:
            ends[row] = line + 1
            state[ROW] += 1
    return DONE
