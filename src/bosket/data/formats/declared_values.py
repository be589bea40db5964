"""Arrow columns under a declaration, as codes and the different values coded.

Text is compared as bytes: not all that is said to be UTF-8 is.  Values become objects of Python's some at a time, and
only those of types that can be declared: dates are none, and one beyond Python's calendar would make an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.rows import Offsets
from bosket.data.formats.columns import encoded
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
        column = _stored(column)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not can_hold(kind):
            return cls.of_nothing(pc.is_null(column if kind == column.type else column.cast(kind)))
        codes, words = encoded(_with_bytes(column, "no text"))
        occurs = np.zeros(len(words) + 1, np.bool_)
        occurs[codes] = True  # -1 is the last
        return cls(codes, np.flatnonzero(occurs[:-1]), len(words), _pieces(words, occurs[:-1]))

    @classmethod
    def of_nothing(cls, is_missing: Any) -> DeclaredCells:
        """Of a column that holds no values, whatever is in its cells, by whether each is missing."""
        codes = np.where(np.asarray(is_missing, np.bool_), np.int64(-1), np.int64(0))
        return cls(codes, np.zeros(1, np.int64), 1, [[None]])


def _stored(column: Any) -> Any:
    """A column of a type that somebody added to Arrow, as it is stored."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([chunk.storage for chunk in chunks], column.type.storage_type)


def can_hold(kind: Any) -> bool:
    """Whether cells of this type may stand for a declared value: text and numbers do."""
    types = pa.types
    return _is_text(kind) or any(
        is_kind(kind)
        for is_kind in (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    )


def _pieces(words: Any, occurs: Any) -> Iterator[list[Any]]:
    for start, stop in slices(len(words), _VALUES_A_PIECE):
        yield _python(words.slice(start, stop - start).filter(pa.array(occurs[start:stop])))


def values_of(column: Any) -> tuple[Offsets, list[Any]]:
    """A code for each cell, -1 where it is missing, and the values coded."""
    codes, words = encoded(_with_bytes(column, "kept"))
    return codes, _python(words)


def with_bytes(column: Any) -> Any:
    """An Arrow column with its text as bytes."""
    return _with_bytes(column, "kept")


def _with_bytes(column: Any, long: Long) -> Any:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([_bytes(chunk, long) for chunk in chunks], None if chunks else pa.null())


def _bytes(array: Any, long: Long) -> Any:
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _bytes(array.dictionary, long))
    return shortened(array.cast(pa.large_binary()), long) if _is_text(array.type) else array


def _is_text(kind: Any) -> bool:
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    others = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(is_kind(kind) for is_kind in (*tests, *others))


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
