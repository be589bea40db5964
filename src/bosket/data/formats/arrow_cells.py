"""The cells of Arrow arrays as places among words, without codes and runs.

A place that is outside of what it points into stands for nothing: Arrow does not look at the codes that it is given,
in a file or in a frame, and reads beside the words where it decodes them or puts chunks together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.rows import Offsets
from bosket.data.formats.declared_types import is_view


class ArrowCells(NamedTuple):
    """Some cells: the place of each in ``words``, -1 where it is missing; None where they are the words themselves."""

    places: Offsets | None
    words: Any

    @classmethod
    def of(cls, array: Any, places: Offsets | None = None) -> ArrowCells:
        """The cells of an array, or those at some places of it; nothing is looked at but these."""
        array = stored(array)
        if places is not None:
            places = inside(places, len(array))
        if pa.types.is_dictionary(array.type):
            codes = array.indices
            if places is not None:
                codes = codes.take(pa.array(places, mask=places < 0))
            return cls.of(array.dictionary, _numbers(codes))
        if pa.types.is_run_end_encoded(array.type):
            ends = array.run_ends.to_numpy(zero_copy_only=False)
            at = np.arange(len(array)) if places is None else places
            among = np.minimum(at + array.offset, np.iinfo(ends.dtype).max).astype(ends.dtype)  # else ends are copied
            runs = np.searchsorted(ends, among, side="right")
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


def has_codes_beyond(column: Any) -> bool:
    """Whether codes of a column, within lists and other nested values too, have no word in their dictionary."""
    left = list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
    while left:
        array = stored(left.pop())
        if pa.types.is_dictionary(array.type):
            span = pc.min_max(array.indices)
            least, most = span["min"].as_py(), span["max"].as_py()
            if least is not None and (least < 0 or most >= len(array.dictionary)):
                return True
        left += _within(array)
    return False


def is_sound(column: Any) -> bool:
    """Whether the lists of a column, within others too, are where their offsets say: Arrow looks only at the first and
    the last.  Falling offsets, and views beyond their values, are read as they are, which may end the process.
    """
    left = list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
    while left:
        array = stored(left.pop())
        if not _reaches_inside(array):
            return False
        left += _within(array)
    return True


def _reaches_inside(array: Any) -> bool:
    """Whether lists, if it is of lists, reach no further than their values."""
    kind, types = array.type, pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind)
    if not len(array) or not (is_list or is_view(kind)):
        return True
    starts = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    if is_list:
        return bool(starts[0] >= 0 and (np.diff(starts) >= 0).all() and starts[-1] <= len(array.values))
    sizes = array.sizes.to_numpy(zero_copy_only=False).astype(np.int64)
    is_there = array.is_valid().to_numpy(zero_copy_only=False)
    starts, ends = starts[is_there], (starts + sizes)[is_there]
    return bool((starts >= 0).all() and (ends >= starts).all() and (ends <= len(array.values)).all())


def without_codes_beyond(array: Any) -> Any:
    """An array of codes, or of lists of codes, in which those that have no word are missing."""
    if pa.types.is_dictionary(array.type):
        codes = array.indices
        is_known = pc.and_(pc.greater_equal(codes, 0), pc.less(codes, len(array.dictionary)))
        known = pc.if_else(is_known, codes, pa.scalar(None, codes.type))
        return pa.DictionaryArray.from_arrays(known, array.dictionary, ordered=array.type.ordered)
    if not _is_list(array.type):
        return array
    own = array.buffers()[: array.type.num_buffers]
    values = [without_codes_beyond(array.values)]
    return pa.Array.from_buffers(array.type, len(array), own, offset=array.offset, children=values)


def _within(array: Any) -> list[Any]:
    """The arrays that an array of codes, runs or nested values consists of; of lists only the cells that they reach."""
    kind, types = array.type, pa.types
    if types.is_dictionary(kind):
        return [array.dictionary]
    if types.is_run_end_encoded(kind):
        return [array.values]
    if types.is_struct(kind):
        return [array.field(at) for at in range(kind.num_fields)]
    if types.is_fixed_size_list(kind):
        return [array.values.slice(array.offset * kind.list_size, len(array) * kind.list_size)]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        if not len(array):
            return []
        first, last = (max(0, array.offsets[at].as_py()) for at in (0, len(array)))
        return [array.values.slice(first, max(0, last - first))]
    return [array.values] if is_view(kind) else []


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def inside(places: Offsets, n_cells: int) -> Offsets:
    """The places, -1 in place of those that are none of so many cells."""
    return np.where((places >= 0) & (places < n_cells), places, np.int64(-1))


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


def _numbers(codes: Any) -> Offsets:
    """Codes as numbers of 64 bits, -1 where they are missing; those beyond are below 0 then."""
    numbers: Offsets = pc.fill_null(codes, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if codes.null_count:
        numbers[codes.is_null().to_numpy(zero_copy_only=False)] = -1
    return numbers
