"""The cells of lists: where they are, and how many of them are read where no record may be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bosket.data.baskets.rows import Offsets, frozen
from bosket.data.formats import lines
from bosket.data.formats.declared_types import is_view
from bosket.threads import slices

CELL_BYTES = 4  # at least, of a cell of a list: what the number of its item takes
_CELLS_A_PIECE = 1 << 15


def most_cells(kind: Any = None) -> int:
    """The most cells of a list that are read where no record may be refused: as many as a line of text has room for.

    By the type of the values, if they have one of a width.
    """
    width = 8 * CELL_BYTES
    with suppress(ValueError, AttributeError):  # text, which comes as codes, has no one width, nor have objects
        width = max(width, kind.bit_width)
    return 8 * lines.LONGEST // width


class Spans(NamedTuple):
    """Lists as spans of an array of values: where each begins, and how many cells there are up to its end."""

    first: Offsets
    ends: Offsets

    @classmethod
    def of(cls, lists: Any, most: int | None) -> Spans:
        """Of an array of lists, of each the first ``most`` cells; a missing list has none."""
        kind, n_lists = lists.type, len(lists)
        if pa.types.is_fixed_size_list(kind):
            lengths = np.full(n_lists, kind.list_size, np.int64)
            first = (lists.offset + np.arange(n_lists, dtype=np.int64)) * kind.list_size
        else:
            offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
            lengths = lists.sizes.to_numpy(zero_copy_only=False) if is_view(kind) else np.diff(offsets)
            first = offsets[:n_lists]
        lengths = np.clip(lengths.astype(np.int64), 0, most)
        lengths[lists.is_null().to_numpy(zero_copy_only=False)] = 0
        return cls(first, frozen(np.cumsum(lengths)))

    def pieces(self) -> Iterator[tuple[int, Offsets]]:
        """The places of the cells, some at a time, each piece with the number of cells before it."""
        starts = np.concatenate([np.zeros(1, np.int64), self.ends])
        for start, stop in slices(int(starts[-1]), _CELLS_A_PIECE):
            here = slice(np.searchsorted(self.ends, start, side="right"), np.searchsorted(self.ends, stop) + 1)
            begins = starts[:-1][here]
            lengths = np.minimum(self.ends[here], stop) - np.maximum(begins, start)
            yield start, np.repeat(self.first[here] - begins, lengths) + np.arange(start, stop)
