"""Compiled loops over lines of text: cells and tokens looked up in a declared vocabulary, ends of rows.

A vocabulary is ``letters``, the labels in UTF-8 one after the other; ``offsets``, where each begins and the last ends;
``table``, a hash table of places among them with open addressing, -1 where a slot is free; and ``seed``, a secret of
the process, without which nobody can choose labels that crowd together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bosket.compiling import compiled

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

UNKNOWN, BLANK = -1, -2
"""What a cell is that is not in the vocabulary, and one of no letters."""

MOST_STEPS = 1 << 10
"""Slots that are looked at for a label: half of them are free, so chance does not lead that far."""


@compiled
def _slot(text: Text, start: int, stop: int, letters: Text, offsets: Offsets, table: ItemIds, seed: int) -> int:
    """The slot of the label that is written so, or the free one where it would be; -1 if many others crowd it."""
    code = np.uint64(14695981039346656037) ^ np.uint64(seed)  # FNV-1a
    for at in range(start, stop):
        code = (code ^ np.uint64(text[at])) * np.uint64(1099511628211)
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)  # MurmurHash3
    slot: int = np.int64((code >> np.uint64(32)) & np.uint64(table.size - 1))
    for _ in range(MOST_STEPS):
        if table[slot] < 0:
            return slot
        first = offsets[table[slot]]
        if offsets[table[slot] + 1] - first == stop - start:
            at = start
            while at < stop and text[at] == letters[first + at - start]:
                at += 1
            if at == stop:
                return slot
        slot = (slot + 1) & (table.size - 1)
    return -1


@compiled
def find(text: Text, start: int, stop: int, letters: Text, offsets: Offsets, table: ItemIds, seed: int) -> int:
    """The label that is written so; UNKNOWN for none.  No label is further from its slot than steps are taken."""
    slot = _slot(text, start, stop, letters, offsets, table, seed)
    return table[slot] if slot >= 0 else UNKNOWN


@compiled
def index(letters: Text, offsets: Offsets, table: ItemIds, seed: int) -> bool:
    """Fill an empty table with the labels, which are all different; False if too many crowd together."""
    for label in range(offsets.size - 1):
        slot = _slot(letters, offsets[label], offsets[label + 1], letters, offsets, table, seed)
        if slot < 0:
            return False
        table[slot] = label
    return True


@compiled
def tokens(
    text: Text,
    letters: Text,
    offsets: Offsets,
    table: ItemIds,
    seed: int,
    last: Offsets,
    line: int,
    ends: Offsets,
    items: ItemIds,
) -> tuple[int, int, int]:
    """The labels of whole lines of tokens with blanks between: how many, of how many lines, and the first bad line.

    ``items`` gets the labels of one line after the other, each once in a line, ``ends`` where each line ends there.
    ``last`` remembers in which line each label was seen last; ``line`` counts the lines before these.  A line is bad
    (they count from 1, in all) when it holds a token that is no label, which is passed over.  A number with zeros
    before it is that number, unless it is a label as it is.
    """
    found, lines, bad = 0, 0, 0
    at = 0
    while at < text.size:
        lines += 1
        if at + 2 < text.size and text[at] == 0xEF and text[at + 1] == 0xBB and text[at + 2] == 0xBF:
            at += 3  # a byte-order mark, wherever lines of other files came to stand
        while at < text.size and text[at] != 10:
            if text[at] == 32 or text[at] == 9:
                at += 1
                continue
            if text[at] == 13 and (at + 1 == text.size or text[at + 1] == 10):
                at += 1
                continue
            start = at
            is_number = True
            while at < text.size and text[at] != 10 and text[at] != 32 and text[at] != 9:
                if text[at] == 13 and (at + 1 == text.size or text[at + 1] == 10):
                    break
                is_number &= 48 <= text[at] <= 57
                at += 1
            label = find(text, start, at, letters, offsets, table, seed)
            if label < 0 and is_number:
                while start < at - 1 and text[start] == 48:
                    start += 1
                label = find(text, start, at, letters, offsets, table, seed)
            if label < 0:
                if bad == 0:
                    bad = line + lines
            elif last[label] != line + lines:
                last[label] = line + lines
                items[found] = label
                found += 1
        ends[lines - 1] = found
        at += 1
    return found, lines, bad


@compiled
def cells(
    text: Text,
    letters: Text,
    offsets: Offsets,
    table: ItemIds,
    seed: int,
    most: int,
    rows: ItemIds,
    labels: ItemIds,
    plain: Text,
    stops: ItemIds,
) -> tuple[int, int, int]:
    """The cells of whole lines of CSV: how many, of how many lines, and the first line with an open quote, or -1.

    Every line is read by itself: a quote that is not closed ends with it, and after ``most`` cells no more of it is
    read.  ``rows`` has the line of each cell, from 0,
    ``labels`` what it is, ``plain`` the letters of all cells without quotes, and ``stops`` where each ends there.
    """
    found, lines, bad, written = 0, 0, -1, 0
    at = 0
    while at < text.size:
        stop = at
        while stop < text.size and text[stop] != 10:
            stop += 1
        following = stop + 1
        if stop > at and text[stop - 1] == 13:
            stop -= 1
        if at + 2 < stop and text[at] == 0xEF and text[at + 1] == 0xBB and text[at + 2] == 0xBF:
            at += 3
        is_more = at < stop
        end = found + most
        while is_more:
            first = written
            is_quoted = at < stop and text[at] == 34
            if is_quoted:
                is_open = True
                at += 1
                while is_open and at < stop:
                    if text[at] == 34:
                        if at + 1 < stop and text[at + 1] == 34:
                            at += 1
                        else:
                            is_open = False
                    if is_open:
                        plain[written] = text[at]
                        written += 1
                    at += 1
                if is_open and bad < 0:
                    bad = lines
            while at < stop and text[at] != 44:
                plain[written] = text[at]
                written += 1
                at += 1
            label = BLANK
            if is_quoted or written > first:
                label = find(plain, first, written, letters, offsets, table, seed)
                if label < 0 and written == first:
                    label = BLANK
            rows[found] = lines
            labels[found] = label
            stops[found] = written
            found += 1
            is_more = at < stop and found < end
            at += 1
        lines += 1
        at = following
    return found, lines, bad


@compiled
def first_in_row(rows: ItemIds, labels: ItemIds, last: Offsets, before: int) -> Offsets:
    """The cells that name a label, each label once in a line.

    ``last`` remembers in which line each label was seen last; ``before`` counts the lines before these.
    """
    chosen = np.empty(rows.size, np.int64)
    found = 0
    for cell in range(rows.size):
        line = before + rows[cell] + 1
        if labels[cell] >= 0 and last[labels[cell]] != line:
            last[labels[cell]] = line
            chosen[found] = cell
            found += 1
    return chosen[:found].copy()


@compiled
def n_newlines(text: Text) -> int:
    """How many newlines there are: several times as fast as ``bytes.count`` where lines are short."""
    found = 0
    for byte in text:
        found += byte == 10
    return found


@compiled
def end_of_rows(text: Text, is_last: bool) -> int:
    """Where the last whole row of CSV ends, or 0; a quoted cell may hold line ends.

    At the end of a file the last row may lack its line end; where an open quote keeps it from ending, it is not whole.
    """
    end, at = 0, 0
    while at < text.size:
        if text[at] == 34:  # only at the beginning of a cell does a quote open it
            at += 1
            is_open = True
            while is_open and at < text.size:
                if text[at] == 34:
                    if at + 1 < text.size and text[at + 1] == 34:
                        at += 1
                    else:
                        is_open = False
                at += 1
            if is_open:
                return end
        while at < text.size and (text[at] > 44 or (text[at] != 44 and text[at] != 10 and text[at] != 13)):
            at += 1  # most letters are beyond a comma, and one comparison is enough
        if at == text.size:
            break
        if text[at] == 13 and at + 1 == text.size and not is_last:
            return end  # a newline may follow
        if text[at] == 13 and at + 1 < text.size and text[at + 1] == 10:
            at += 1
        if text[at] != 44:
            end = at + 1
        at += 1
    return text.size if is_last else end
