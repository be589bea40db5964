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

from bosket.data.baskets.rows import Offsets
from bosket.data.formats.arrow_cells import ArrowCells, ranked
from bosket.data.formats.columns import encoded
from bosket.data.formats.declared_types import bare, can_hold, is_text_view, key_type, value_type
from bosket.data.formats.long_words import Long, cast_short, taken_at
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
        kind, parts = bare(column.type), _cells(column)
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
    """A code for each cell of a column of values, -1 where it is missing, and the values coded; None for no value."""
    codes, words = _coded(_cells(column), value_type(bare(column.type)), "no text")
    return codes, objects_of_words(words)


def names_of(column: Any) -> Offsets:
    """A code for the name in each cell of a column of a type that has a ``key_type``, -1 where it is missing."""
    return _coded(_cells(column), key_type(bare(column.type)), "digest")[0]


def chunks_of(column: Any) -> list[Any]:
    """The arrays that a column consists of."""
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _cells(column: Any) -> list[ArrowCells]:
    return list(map(ArrowCells.of, chunks_of(column)))


def _coded(parts: list[ArrowCells], kind: Any, long: Long) -> tuple[Offsets, Any]:
    """A code for each cell of all parts, -1 where it is missing, and the different values, of one type.

    Words that several parts point to are looked at once.
    """
    shared: dict[tuple[Any, ...], list[int]] = {}
    for at, part in enumerate(parts):
        shared.setdefault((at,) if part.places is None else part.key, []).append(at)
    known = [_in_use([parts[at] for at in group], kind, long) for group in shared.values()]
    codes, values = encoded(pa.chunked_array([words for words, _ in known], kind))
    found, start = [np.empty(0, np.int64)] * len(parts), 0
    for group, (words, ranks) in zip(shared.values(), known, strict=True):
        of_words = codes[start : start + len(words)]
        start += len(words)
        if ranks is None:
            found[group[0]] = of_words
            continue
        of_words = np.append(of_words, np.int64(-1))
        for at, rank in zip(group, ranks, strict=True):
            found[at] = of_words[rank]
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, np.int64), *found]), values


def _in_use(parts: list[ArrowCells], kind: Any, long: Long) -> tuple[Any, list[Offsets] | None]:
    """The words that parts which share them point to, and for each part the rank of the word of each cell, or -1."""
    places, words = [part.places for part in parts if part.places is not None], parts[0].words
    if not places:
        return cast_short(words, kind, long), None
    used, ranks = ranked(np.concatenate(places), len(words))
    if is_text_view(words.type):
        words = cast_short(taken_at(words, used), kind, long)
    else:
        is_used = np.zeros(len(words), np.bool_)
        is_used[used] = True
        words = cast_short(words, kind, long, is_used).take(pa.array(used))
    return words, np.split(ranks, np.cumsum([part.size for part in places])[:-1])


def _missing(part: ArrowCells) -> npt.NDArray[np.bool_]:
    is_null: npt.NDArray[np.bool_] = part.words.is_null().to_numpy(zero_copy_only=False)
    return is_null if part.places is None else np.append(is_null, np.True_)[part.places]


def _pieces(words: Any, occurs: Any) -> Iterator[list[Any]]:
    for start, stop in slices(len(words), _VALUES_A_PIECE):
        yield objects_of_words(words.slice(start, stop - start).filter(pa.array(occurs[start:stop])))


def objects_of_words(words: Any) -> list[Any]:
    """Values of a ``value_type`` as Python's, None for what is missing or no text."""
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
