"""Compiled loops over words that are numbered as they are first seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosket.compiling import compiled
from bosket.data.formats.line_kernels import _slot

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

DONE, FULL, NOT_PLAIN, CROWDED = 0, 1, 2, 3
"""Why a kernel ended: all is done, more room is needed, rows are not plain, or words crowd together."""

NO_ROOM, CROWD = -1, -2
"""What a word is in place of a number."""


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
def entered(
    text: Text, start: int, stop: int, letters: Text, offsets: Offsets, table: ItemIds, seed: int, n_known: int
) -> int:
    """The number of a word, which is entered if it is new and there is room.

    A table of one slot is none: as long as each new word comes after the one before, no word is there twice.
    """
    slot = 0
    if table.size > 1:
        slot = _slot(text, start, stop, letters, offsets, table, seed)
        if slot < 0:
            return CROWD
        code: int = table[slot]
        if code >= 0:
            return code
        if 2 * (n_known + 1) > table.size:
            return NO_ROOM
    elif n_known > 0:
        order = _comes_after(text, start, stop, letters, offsets[n_known - 1], offsets[n_known])
        if order <= 0:
            return n_known - 1 if order == 0 else NO_ROOM
    end = offsets[n_known] + stop - start
    if n_known + 1 >= offsets.size or end > letters.size:
        return NO_ROOM
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
    starts: Offsets,
    stops: Offsets,
    first: int,
    letters: Text,
    offsets: Offsets,
    table: ItemIds,
    seed: int,
    n_known: int,
    codes: ItemIds,
) -> tuple[int, int, int]:
    """Number the words ``text[starts[w]:stops[w]]`` from ``first`` on: where it ended, how many are known, and why."""
    for word in range(first, starts.size):
        start, stop = starts[word], stops[word]
        if word > first and _comes_after(text, start, stop, text, starts[word - 1], stops[word - 1]) == 0:
            codes[word] = codes[word - 1]
            continue
        code = entered(text, start, stop, letters, offsets, table, seed, n_known)
        if code == NO_ROOM:
            return word, n_known, FULL
        if code == CROWD:
            return word, n_known, CROWDED
        if code == n_known:
            n_known += 1
        codes[word] = code
    return starts.size, n_known, DONE
