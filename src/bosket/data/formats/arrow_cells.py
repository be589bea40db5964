"""The cells of Arrow arrays as places among words, without codes and runs.

A place that is outside of what it points into stands for nothing: Arrow does not look at the codes that it is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.rows import Offsets


class ArrowCells(NamedTuple):
    """Some cells: the place of each in ``words``, -1 where it is missing; None where they are the words themselves."""

    places: Offsets | None
    words: Any

    @classmethod
    def of(cls, array: Any, places: Offsets | None = None) -> ArrowCells:
        """The cells of an array, or those at some places of it; nothing is looked at but these."""
        array = stored(array)
        if places is not None:
            places = _inside(places, len(array))
        if pa.types.is_dictionary(array.type):
            codes = array.indices
            if places is not None:
                codes = codes.take(pa.array(places, mask=places < 0))
            return cls.of(array.dictionary, _numbers(codes))
        if pa.types.is_run_end_encoded(array.type):
            ends = array.run_ends.to_numpy(zero_copy_only=False)
            at = np.arange(len(array)) if places is None else places
            runs = np.searchsorted(ends, at + array.offset, side="right")
            return cls.of(array.values, np.where(at < 0, np.int64(-1), runs))
        return cls(places, array)

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for the same words: chunks of a column share them."""
        buffers = (0 if buffer is None else buffer.address for buffer in self.words.buffers())
        return self.words.offset, len(self.words), *buffers


def stored(array: Any) -> Any:
    """An array of a type that somebody added to Arrow, as it is stored."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array


def ranked(places: Offsets, n_words: int) -> tuple[Offsets, Offsets]:
    """The words in use, by their places, rising; for each cell the rank of its word among them, -1 for none."""
    if n_words > places.size:
        used, ranks = np.unique(places, return_inverse=True)
        n_none = int(used.size > 0 and used[0] < 0)
        return used[n_none:], ranks - n_none
    occurs = np.zeros(n_words + 1, np.bool_)
    occurs[places] = True  # -1 is the last
    used = np.flatnonzero(occurs[:-1])
    rank = np.full(n_words + 1, -1, np.int64)
    rank[used] = np.arange(used.size)
    return used, rank[places]


def _inside(places: Offsets, n_cells: int) -> Offsets:
    return np.where((places >= 0) & (places < n_cells), places, np.int64(-1))


def _numbers(codes: Any) -> Offsets:
    """Codes as numbers of 64 bits, -1 where they are missing; those beyond are below 0 then."""
    numbers: Offsets = pc.fill_null(codes, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if codes.null_count:
        numbers[codes.is_null().to_numpy(zero_copy_only=False)] = -1
    return numbers
