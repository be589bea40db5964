"""Compiled: the rows of one block of long CSV, numbered by themselves, so that blocks can be read side by side.

Text is looked at eight bytes at a time.  A comma, a line end and a quote are all at most 44, and few other characters
are: one subtraction says for eight bytes which are (Mycroft's trick; the lowest one that it finds is right).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled, eight_bytes, popcount
from bosket.data.formats.line_kernels import MOST_STEPS
from bosket.data.formats.word_kernels import CROWD, CROWDED, DONE, FULL, NO_ROOM, NOT_PLAIN, entered

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

    Words = npt.NDArray[np.uint64]

_ONES = 0x0101010101010101
_TOPS = 0x8080808080808080


@compiled
def _cell_end(text: Text, at: int) -> int:
    """Where the cell that goes on at ``at`` ends: at a comma, a line end or a quote, one of which must come."""
    while True:
        if at + 8 <= text.size:
            word: np.uint64 = eight_bytes(text, at)
            low = (word - np.uint64(45 * _ONES)) & ~word & np.uint64(_TOPS)
            if low == np.uint64(0):
                at += 8
                continue
            at += np.int64(popcount((low & (~low + np.uint64(1))) - np.uint64(1)) >> np.uint64(3))
        byte = text[at]
        if byte in (44, 10, 13, 34):
            return at
        at += 1


@compiled
def _is_same(text: Text, first: int, second: int, length: int) -> bool:
    """Whether two words of one length are the same."""
    k = 0
    while k + 8 <= length:
        if eight_bytes(text, first + k) != eight_bytes(text, second + k):
            return False
        k += 8
    while k < length:
        if text[first + k] != text[second + k]:
            return False
        k += 1
    return True


@compiled
def _packed(text: Text, start: int, stop: int) -> np.uint64:
    """A word of at most eight bytes as a number; no two have the same, since no byte is 0."""
    length = stop - start
    if start + 8 <= text.size:
        return eight_bytes(text, start) & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * length))
    word = np.uint64(0)
    for at in range(length):
        word |= np.uint64(text[start + at]) << np.uint64(8 * at)
    return word


@compiled
def _short_slot(word: np.uint64, words: Words, seed: int) -> int:
    """The slot of a word of at most eight bytes, or the free one where it would be; -1 if many others crowd it."""
    code = (word ^ np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
    slot: int = np.int64((code >> np.uint64(32)) & np.uint64(words.size - 1))
    for _ in range(MOST_STEPS):
        if words[slot] == word or words[slot] == np.uint64(0):
            return slot
        slot = (slot + 1) & (words.size - 1)
    return -1


@compiled
def fill_short(letters: Text, offsets: Offsets, n_known: int, words: Words, codes: ItemIds, seed: int) -> bool:
    """Enter the words of at most eight bytes in an empty table; False if too many crowd together."""
    for code in range(n_known):
        if offsets[code + 1] - offsets[code] <= 8:
            word = _packed(letters, offsets[code], offsets[code + 1])
            slot = _short_slot(word, words, seed)
            if slot < 0:
                return False
            words[slot], codes[slot] = word, code
    return True


@compiled
def scan_rows(
    text: Text,
    state: Offsets,
    n_columns: int,
    at_record: int,
    at_item: int,
    letters: Text,
    offsets: Offsets,
    table: ItemIds,
    short_words: Words,
    short_codes: ItemIds,
    seed: int,
    starts: Offsets,
    stops: Offsets,
    run_rows: ItemIds,
    items: ItemIds,
) -> int:
    """Number the items of rows of plain CSV, and note the records whose rows follow each other.

    Plain are rows without quotes, with the same number of cells, newlines between them, and the name of a record in
    each.  ``state`` is (place, row, runs, items known), and is moved on.  A run is rows of one record, whose
    name is ``text[starts[r]:stops[r]]``, and ``run_rows`` says how many they are.  ``items`` gets -1 for a cell of no
    letters.  The last row must have its newline.
    """
    at, row, run, n_items = state[0], state[1], state[2], state[3]
    before_start, before_stop = 0, 0
    if run > 0:
        before_start, before_stop = starts[run - 1], stops[run - 1]
    status = DONE
    while at < text.size:
        if text[at] == 10 or (text[at] == 13 and text[at + 1] == 10):  # a blank line is no row
            at += 1
            continue
        begin, column, is_more = at, 0, True
        record_start, record_stop, item_start, item_stop = 0, 0, 0, 0
        while is_more:
            start = at
            at = _cell_end(text, at)
            byte = text[at]
            if byte == 34 or (byte == 13 and text[at + 1] != 10):
                status = NOT_PLAIN
                break
            if column == at_record:
                record_start, record_stop = start, at
            if column == at_item:
                item_start, item_stop = start, at
            column += 1
            is_more = byte == 44
            at += 1 + (byte == 13)
        if status == DONE and (column != n_columns or record_stop == record_start):
            status = NOT_PLAIN
        if status != DONE:
            at = begin
            break
        item, length = -1, item_stop - item_start
        if 0 < length <= 8:
            word = _packed(text, item_start, item_stop)
            slot = _short_slot(word, short_words, seed)
            if slot < 0:
                status = CROWDED
            elif short_words[slot] == word:
                item = short_codes[slot]
            elif (
                2 * (n_items + 1) > short_words.size
                or offsets[n_items] + length > letters.size
                or n_items + 1 >= offsets.size
            ):
                status = FULL
            else:
                item = n_items
                for k in range(length):
                    letters[offsets[item] + k] = text[item_start + k]
                offsets[item + 1] = offsets[item] + length
                short_words[slot], short_codes[slot] = word, item
        elif length:
            item = entered(text, item_start, item_stop, letters, offsets, table, seed, n_items)
            if item in (NO_ROOM, CROWD):
                status = FULL if item == NO_ROOM else CROWDED
        if status != DONE:
            at = begin
            break
        if item == n_items:
            n_items += 1
        length = record_stop - record_start
        if length != before_stop - before_start or not _is_same(text, record_start, before_start, length):
            before_start, before_stop = record_start, record_stop
            starts[run], stops[run], run_rows[run] = record_start, record_stop, 0
            run += 1
        run_rows[run - 1] += 1
        items[row] = item
        row += 1
    state[0], state[1], state[2], state[3] = at, row, run, n_items
    return status
