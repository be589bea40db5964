"""Long CSV without quotes, read by a kernel, a block by itself: several can be read at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.rows import Offsets
from bosket.data.domain import ItemIds
from bosket.data.formats.fimi_kernels import Text
from bosket.data.formats.line_kernels import n_newlines
from bosket.data.formats.long_csv_kernels import fill_short, scan_rows
from bosket.data.formats.word_kernels import CROWDED, DONE, NOT_PLAIN
from bosket.data.formats.words import NumberedWords, crowded


class Runs(NamedTuple):
    """Rows of a block: of one record after the other, as long as rows of the same follow each other."""

    text: Text
    starts: Offsets
    stops: Offsets
    """The name of the record of run r is ``text[starts[r]:stops[r]]``."""
    rows: ItemIds
    """How many rows each run has."""
    items: ItemIds
    """Of each row, a number among ``labels``; -1 for an empty cell."""
    labels: NumberedWords
    """Of the items in this block, in order of first appearance."""


class _BlockWords(NumberedWords):
    """Words of one block: those of at most eight bytes have a table of their own, in which they are the keys."""

    def __init__(self) -> None:
        super().__init__()
        self._index()

    def _index(self) -> None:
        super()._index()
        self.short_words: npt.NDArray[np.uint64] = np.zeros(self.table.size, np.uint64)
        self.short_codes: ItemIds = np.empty(self.table.size, np.int32)
        sizes = self.n_known, self.short_words, self.short_codes, self.seed
        if not fill_short(self.letters, self.offsets, *sizes):
            raise crowded()


def plain_runs(text: bytes, n_headers: int, n_columns: int, at: tuple[int, int]) -> Runs | None:
    """The rows of a block of whole rows; None unless they are plain, and all of them name their record.

    ``at`` are the columns of records and of items.
    """
    start = text.find(b"\n") + 1 if n_headers else 0
    if (n_headers and (not start or b'"' in text[:start] or b"\r" in text[: start - 2])) or not _is_utf8(text):
        return None
    if not text.endswith(b"\n"):
        text += b"\n"
    labels, whole = _BlockWords(), np.frombuffer(text, np.uint8)
    most = n_newlines(whole[start:])
    starts, stops = np.empty(most, np.int64), np.empty(most, np.int64)
    rows, items = np.empty(most, np.int32), np.empty(most, np.int32)
    state = np.array([start, 0, 0, 0], np.int64)
    while True:
        status = scan_rows(
            whole,
            state,
            n_columns,
            *at,
            labels.letters,
            labels.offsets,
            labels.table,
            labels.short_words,
            labels.short_codes,
            labels.seed,
            starts,
            stops,
            rows,
            items,
        )
        _, n_rows, n_runs, labels.n_known = state.tolist()
        if status == DONE:
            return Runs(whole, starts[:n_runs], stops[:n_runs], rows[:n_runs], items[:n_rows], labels)
        if status == NOT_PLAIN:
            return None
        if status == CROWDED:
            raise crowded()
        labels.grow(text.index(b"\n", int(state[0])) - int(state[0]))  # no word of the row is longer


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
