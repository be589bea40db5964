"""Compiled loops over words that are numbered as they are first seen: of arrays, and of long CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosket.compiling import compiled
from bosket.data.formats.line_kernels import _slot

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

DONE, FULL_RECORDS, FULL_ITEMS, NOT_PLAIN, CROWDED = 0, 1, 2, 3, 4
"""Why a kernel ended: all is done, more room is needed, rows are not plain, or words crowd together."""

_FULL, _CROWD = -1, -2


@compiled
def _comes_after(text: Text, start: int, stop: int, letters: Text, first: int, last: int) -> int:
    """1 if a word comes after another, longer ones after shorter ones; 0 if it is that one, -1 if it comes before."""
    if stop - start != last - first:
        return 1 if stop - start > last - first else -1
    for at in range(stop - start):
        if text[start + at] != letters[first + at]:
            return 1 if text[start + at] > letters[first + at] else -1
    return 0


@compiled
def _entered(
    text: Text, start: int, stop: int, letters: Text, offsets: Offsets, table: ItemIds, seed: int, n_known: int
) -> int:
    """The number of a word, which is entered if it is new and there is room.

    A table of one slot is none: as long as each new word comes after the one before, no word is there twice.
    """
    slot = 0
    if table.size > 1:
        slot = _slot(text, start, stop, letters, offsets, table, seed)
        if slot < 0:
            return _CROWD
        code: int = table[slot]
        if code >= 0:
            return code
        if 2 * (n_known + 1) > table.size:
            return _FULL
    elif n_known > 0:
        order = _comes_after(text, start, stop, letters, offsets[n_known - 1], offsets[n_known])
        if order <= 0:
            return n_known - 1 if order == 0 else _FULL
    end = offsets[n_known] + stop - start
    if n_known + 1 >= offsets.size or end > letters.size:
        return _FULL
    for at in range(stop - start):
        letters[offsets[n_known] + at] = text[start + at]
    offsets[n_known + 1] = end
    if table.size > 1:
        table[slot] = n_known
    return n_known


@compiled
def is_there(text: Text, letters: Text, offsets: Offsets, n_known: int) -> bool:
    """Whether a word is among others, by looking at all of them."""
    for word in range(n_known):
        if _comes_after(text, 0, text.size, letters, offsets[word], offsets[word + 1]) == 0:
            return True
    return False


@compiled
def number_words(
    text: Text,
    ends: Offsets,
    first: int,
    letters: Text,
    offsets: Offsets,
    table: ItemIds,
    seed: int,
    n_known: int,
    codes: ItemIds,
) -> tuple[int, int, int]:
    """Number the words ``text[ends[w]:ends[w + 1]]`` from ``first`` on: where it ended, how many are known, and why."""
    for word in range(first, ends.size - 1):
        start, stop = ends[word], ends[word + 1]
        if word > first and _comes_after(text, start, stop, text, ends[word - 1], start) == 0:
            codes[word] = codes[word - 1]
            continue
        code = _entered(text, start, stop, letters, offsets, table, seed, n_known)
        if code == _FULL:
            return word, n_known, FULL_ITEMS
        if code == _CROWD:
            return word, n_known, CROWDED
        if code == n_known:
            n_known += 1
        codes[word] = code
    return ends.size - 1, n_known, DONE


@compiled
def long_rows(
    text: Text,
    state: Offsets,
    n_columns: int,
    at_record: int,
    at_item: int,
    record_letters: Text,
    record_offsets: Offsets,
    record_table: ItemIds,
    item_letters: Text,
    item_offsets: Offsets,
    item_table: ItemIds,
    seed: int,
    records: ItemIds,
    items: ItemIds,
) -> int:
    """Number two cells of each row of plain CSV: no quote, the same number of cells in all rows, newlines between them.

    ``state`` is (place, row, records known, items known), and is moved on.  ``items`` gets -1 for a cell of no letters,
    ``records`` too.  The last row must have its newline.  A row that is not plain ends the work before it.
    """
    at, row, n_records, n_items = state[0], state[1], state[2], state[3]
    before_start, before_stop, before = 0, 0, -1
    status = DONE
    while at < text.size:
        if text[at] == 10 or (text[at] == 13 and text[at + 1] == 10):  # a blank line is no row
            at += 1
            continue
        begin, column, is_more = at, 0, True
        record_start, record_stop, item_start, item_stop = 0, 0, 0, 0
        while is_more:
            start = at
            while text[at] > 44 or (text[at] != 44 and text[at] != 10 and text[at] != 34 and text[at] != 13):
                at += 1  # most letters are beyond a comma, and one comparison is enough
            if text[at] == 34 or (text[at] == 13 and text[at + 1] != 10):
                status = NOT_PLAIN
                break
            if column == at_record:
                record_start, record_stop = start, at
            if column == at_item:
                item_start, item_stop = start, at
            column += 1
            is_more = text[at] == 44
            at += 1 + (text[at] == 13)
        if status == DONE and column != n_columns:
            status = NOT_PLAIN
        if status != DONE:
            at = begin
            break
        code = -1
        length = record_stop - record_start
        if length and length == before_stop - before_start:  # rows of one record stand together, as a rule
            k = 0
            while k < length and text[record_start + k] == text[before_start + k]:
                k += 1
            code = before if k == length else -1
        if length and code < 0:
            code = _entered(
                text, record_start, record_stop, record_letters, record_offsets, record_table, seed, n_records
            )
        item = -1
        if code > _FULL and item_stop > item_start:
            item = _entered(text, item_start, item_stop, item_letters, item_offsets, item_table, seed, n_items)
            if item in (_FULL, _CROWD):
                status = FULL_ITEMS if item == _FULL else CROWDED
        if length and code < 0:
            status = FULL_RECORDS if code == _FULL else CROWDED
        if status != DONE:
            at = begin
            break
        if code == n_records:
            n_records += 1
        if item == n_items:
            n_items += 1
        records[row], items[row] = code, item
        before_start, before_stop, before = record_start, record_stop, code
        row += 1
    state[0], state[1], state[2], state[3] = at, row, n_records, n_items
    return status
