"""Compiled loops over rows of CSV, as Arrow and Python's csv module read them; quoted cells may hold line ends.

A row ends with a newline, a carriage return, or both; a blank line is no row.  A quote at the beginning of a cell opens
it, and what stands behind the quote that closes it belongs to the cell too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled
from bosket.data.formats.line_kernels import find

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

    Signs = npt.NDArray[np.int8]


@compiled
def scan_cell(text: Text, at: int, plain: Text, written: int) -> tuple[int, int, int]:
    """Where the cell that begins at ``at`` ends, where its letters end in ``plain``, and how many lines end in it."""
    lines = 0
    if at < text.size and text[at] == 34:
        at += 1
        while at < text.size:
            byte = text[at]
            if byte == 34:
                at += 1
                if at == text.size or text[at] != 34:
                    break
            elif byte == 10 or (byte == 13 and (at + 1 == text.size or text[at + 1] != 10)):
                lines += 1
            plain[written] = byte
            written += 1
            at += 1
    while at < text.size and text[at] != 44 and text[at] != 10 and text[at] != 13:
        plain[written] = text[at]
        written += 1
        at += 1
    return at, written, lines


@compiled
def after_line_end(text: Text, at: int) -> int:
    """The place after the line end at ``at``, which may be the end of the text."""
    if at + 1 < text.size and text[at] == 13 and text[at + 1] == 10:
        return at + 2
    return min(at + 1, text.size)


@compiled
def one_hot_rows(
    text: Text,
    n_columns: int,
    n_headers: int,
    letters: Text,
    offsets: Offsets,
    table: ItemIds,
    seed: int,
    meanings: Signs,
    items: ItemIds,
    sizes: ItemIds,
    fault: Offsets,
) -> tuple[int, int]:
    """How many rows there are, and how many items they have: those of the columns where a cell says that it is there.

    ``items`` gets the columns of one row after the other, ``sizes`` how many each row has.  ``meanings`` is 1 or 0 for
    each of the words in the vocabulary.  ``fault`` gets the first row with too few or too many cells, where reading
    stops, and the first column with a cell that is no sign, with its first row where that is so; -1 for none.
    """
    plain = np.empty(text.size, np.uint8)
    fault[:] = -1
    row, found, at = -n_headers, 0, 0
    while at < text.size:
        if text[at] == 10 or text[at] == 13:
            at = after_line_end(text, at)
            continue
        column, before, is_more = 0, found, True
        while is_more:
            start, meaning = at, -1
            if at < text.size and (text[at] == 48 or text[at] == 49):
                meaning = 1 if text[at] == 49 else 0
                at += 1
            if meaning < 0 or (at < text.size and text[at] != 44 and text[at] != 10 and text[at] != 13):
                at, written, _ = scan_cell(text, start, plain, 0)
                word = find(plain, 0, written, letters, offsets, table, seed) if written else -1
                meaning = meanings[word] if word >= 0 else -1
                if at == start:
                    meaning = 0
            if row >= 0 and column < n_columns:
                if meaning == 1:
                    items[found] = column
                    found += 1
                elif meaning < 0 and (fault[1] < 0 or column < fault[1]):
                    fault[1], fault[2] = column, row
            column += 1
            is_more = at < text.size and text[at] == 44
            at += is_more
        if row >= 0:
            if column != n_columns:
                fault[0] = row
                return row, before
            sizes[row] = found - before
        row += 1
        at = after_line_end(text, at)
    return max(row, 0), found
