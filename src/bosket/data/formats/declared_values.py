"""Arrow columns under a declaration, as codes and the different values coded.

What a cell stands for follows from the type of its column and from the cell, never from whether Arrow can put chunks
together: their values are brought into one type that has room for all (text as bytes with offsets of 64 bits), chunk
by chunk, and codes are numbers of 64 bits.

Text is compared as bytes: not all that is said to be UTF-8 is.  Values become objects of Python's some at a time, and
only those of types that can be declared: dates are none, and one beyond Python's calendar would make an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.rows import Offsets
from bosket.data.formats.columns import encoded
from bosket.data.formats.declared_types import bare, can_hold, element, is_view, key_type, value_type
from bosket.data.formats.parquet_long_words import Long, shortened
from bosket.threads import slices

_VALUES_A_PIECE = 1 << 16


class DeclaredCells(NamedTuple):
    """The cells of a column as codes, -1 where they are missing."""

    codes: Offsets
    used: Offsets
    """The codes that occur, rising."""
    n_codes: int
    pieces: Iterable[list[Any]]
    """The values of the codes that occur, in that order, some at a time; None for what is no value."""

    @classmethod
    def of_list(cls, codes: Offsets, values: list[Any]) -> DeclaredCells:
        """Of values that are objects already."""
        return cls(codes, np.arange(len(values)), len(values), [values])

    @classmethod
    def of_arrow(cls, column: Any) -> DeclaredCells:
        """Of an Arrow column; a word longer than a line of text may be is no value."""
        kind, parts = bare(column.type), list(map(_part, _chunks(column)))
        if not can_hold(kind):
            return cls.of_nothing(np.concatenate([np.empty(0, np.bool_), *map(_missing, parts)]))
        codes, words = _coded(parts, value_type(kind), "no text")
        occurs = np.zeros(len(words) + 1, np.bool_)
        occurs[codes] = True  # -1 is the last
        return cls(codes, np.flatnonzero(occurs[:-1]), len(words), _pieces(words, occurs[:-1]))

    @classmethod
    def of_nothing(cls, is_missing: Any) -> DeclaredCells:
        """Of a column that holds no values, whatever is in its cells, by whether each is missing."""
        codes = np.where(np.asarray(is_missing, np.bool_), np.int64(-1), np.int64(0))
        return cls(codes, np.zeros(1, np.int64), 1, [[None]])


def values_of(column: Any) -> tuple[Offsets, list[Any]]:
    """A code for each cell of a column of values, -1 where it is missing, and the values coded."""
    codes, words = _coded(list(map(_part, _chunks(column))), value_type(bare(column.type)), "kept")
    return codes, _python(words)


def lists_of(column: Any) -> tuple[Offsets, Offsets, list[Any]]:
    """The length of each list, 0 for one that is missing; a code for each cell of them, and the values coded."""
    chunks = [_stored(chunk) for chunk in _chunks(column)]
    lengths = [pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False) for chunk in chunks]
    parts = [
        _viewed(chunk, length) if is_view(chunk.type) else _part(pc.list_flatten(chunk))
        for chunk, length in zip(chunks, lengths, strict=True)
    ]
    codes, words = _coded(parts, value_type(element(column.type)), "kept")
    return np.concatenate([np.empty(0, np.int64), *lengths]), codes, _python(words)


def names_of(column: Any) -> Offsets:
    """A code for the name in each cell of a column of a type that has a ``key_type``, -1 where it is missing."""
    return _coded(list(map(_part, _chunks(column))), key_type(bare(column.type)), "kept")[0]


class _Part(NamedTuple):
    """Some cells: the place of each in ``words``, -1 where it is missing; None where they are the words themselves."""

    places: Offsets | None
    words: Any

    def at(self, places: Offsets) -> _Part:
        """Those of some cells, by their places; -1 for one that is missing."""
        return _Part(places if self.places is None else np.append(self.places, np.int64(-1))[places], self.words)


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _stored(array: Any) -> Any:
    """An array of a type that somebody added to Arrow, as it is stored."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array


def _part(array: Any) -> _Part:
    """The cells of an array without codes and runs; the words are those of the array, whether they occur or not."""
    array = _stored(array)
    if pa.types.is_dictionary(array.type):
        places = pc.fill_null(array.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return _part(array.dictionary).at(places)
    if pa.types.is_run_end_encoded(array.type):
        ends = array.run_ends.to_numpy(zero_copy_only=False)
        cells = np.arange(array.offset, array.offset + len(array), dtype=np.int64)
        return _part(array.values).at(np.searchsorted(ends, cells, side="right"))
    return _Part(None, array)


def _viewed(lists: Any, lengths: Offsets) -> _Part:
    """The cells of lists that are places in values, in the order of the lists."""
    lengths = lengths.astype(np.int64, copy=False)
    first = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)[: lengths.size]
    before = np.cumsum(lengths) - lengths
    return _part(lists.values).at(np.repeat(first - before, lengths) + np.arange(int(lengths.sum())))


def _coded(parts: list[_Part], kind: Any, long: Long) -> tuple[Offsets, Any]:
    """A code for each cell of all parts, -1 where it is missing, and the different values, of one type."""
    words = [shortened(part.words.cast(kind), long) for part in parts]
    codes, values = encoded(pa.chunked_array(words, kind))
    found, start = [np.empty(0, np.int64)], 0
    for part in parts:
        of_words, start = codes[start : start + len(part.words)], start + len(part.words)
        found.append(of_words if part.places is None else np.append(of_words, np.int64(-1))[part.places])
    return found[1] if len(parts) == 1 else np.concatenate(found), values


def _missing(part: _Part) -> npt.NDArray[np.bool_]:
    is_null: npt.NDArray[np.bool_] = part.words.is_null().to_numpy(zero_copy_only=False)
    return is_null if part.places is None else np.append(is_null, np.True_)[part.places]


def _pieces(words: Any, occurs: Any) -> Iterator[list[Any]]:
    for start, stop in slices(len(words), _VALUES_A_PIECE):
        yield _python(words.slice(start, stop - start).filter(pa.array(occurs[start:stop])))


def _python(words: Any) -> list[Any]:
    kind, values = words.type, words.to_pylist()
    if pa.types.is_large_binary(kind):
        return list(map(text_of, values))
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return list(map(kind.to_pandas_dtype(), values))
    return list(values)


def text_of(raw: bytes | None) -> str | None:
    """The text that bytes are, None where they are none."""
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
