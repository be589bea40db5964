"""Lists of a Parquet file that are too long to be read as lists: of each the first cells, some at a time.

Where no record may be refused a list may have any number of cells, of which as many are read as a line of text has
room for.  Memory goes by one page and some cells, whatever the lists are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bosket.data.baskets.rows import Offsets, frozen
from bosket.data.formats import lines
from bosket.data.formats.cell_weights import is_text
from bosket.data.formats.flat_pages import FlatColumn, cells_of
from bosket.data.formats.list_cells import CELL_BYTES
from bosket.data.formats.long_words import lengths_of
from bosket.data.formats.page_kernels import list_lengths
from bosket.data.formats.parquet_pages import BY_PREFIXES, Chunk, flat_pages

_CELLS_AT_ONCE = 1 << 19


@dataclass
class CutLists:
    """A column of lists of a row group; a list without cells counts for one, which is missing."""

    handle: Any
    chunk: Chunk
    column: FlatColumn
    ends: Offsets
    """How many cells there are up to the end of each list."""
    letters: Offsets | None = None
    """The bytes of the words of each list that were read and are not codes, if there are any."""

    @classmethod
    def of(cls, handle: Any, chunk: Chunk, column: FlatColumn, n_rows: int) -> CutLists:
        """By the levels of all pages; ``ValueError`` where these are not those of so many lists."""
        lengths, row = np.zeros(n_rows, np.int64), -1
        for page in flat_pages(handle, chunk):
            row = list_lengths(page.levels, page.n_values, row, lengths)
            if row < 0:
                break
        if row != n_rows - 1:
            raise ValueError("pages have another number of lists than the footer says")
        return cls(handle, chunk, column, frozen(np.cumsum(lengths, out=lengths)))

    @property
    def n_bytes(self) -> int:
        """What they count for, each for no more than a line of text."""
        taken = CELL_BYTES * np.diff(self.ends, prepend=0)
        taken += 0 if self.letters is None else self.letters
        return int(np.minimum(taken, lines.LONGEST, out=taken).sum())

    def cells(self, most: int) -> Iterator[tuple[int, Any]]:
        """Some cells, and the number of cells before them; of a list the first ``most``."""
        kept, at = self._kept(most), 0
        here = next(kept, None)
        for page in flat_pages(self.handle, self.chunk):
            size, end = _CELLS_AT_ONCE, at + page.n_values
            if page.encoding == BY_PREFIXES:  # a word may be as long as all of the page, and come once for each cell
                size = max(1, min(size, lines.LONGEST // 4 // max(1, page.contents.size)))
            for cells in cells_of(page, self.column, size):
                stop = at + len(cells)
                while here is not None and here[0] < stop:
                    first, last = max(at, here[0]), min(stop, here[1])
                    some = cells.slice(first - at, last - first)
                    self._count(first, some)
                    yield first, some
                    if here[1] > stop:
                        break
                    here = next(kept, None)
                at = stop
                if here is None or here[0] >= end:
                    break  # nothing else of this page is read
            at = end

    def _count(self, start: int, cells: Any) -> None:
        """Add the words of some cells to what their lists count for."""
        if is_text(cells.type):
            self.letters = np.zeros(self.ends.size, np.int64) if self.letters is None else self.letters
            rows = np.searchsorted(self.ends, np.arange(start, start + len(cells)), side="right")
            np.add.at(self.letters, rows, np.minimum(lengths_of(cells), lines.LONGEST))

    def _kept(self, most: int) -> Iterator[tuple[int, int]]:
        """From where to where cells are read."""
        lengths = np.diff(self.ends, prepend=0)
        at_long = np.flatnonzero(lengths > most)
        starts = [0, *self.ends[at_long].tolist()]
        stops = [*(self.ends[at_long] - lengths[at_long] + most).tolist(), int(self.ends[-1])]
        return ((start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop)
