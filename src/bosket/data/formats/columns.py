"""Columns of any kind of value as codes and labels.

A column is an Arrow array, or a plain list where Arrow has no type for its values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.baskets.rows import Offsets, is_missing, labels_of, taken
from bosket.data.formats.sources import Source
from bosket.errors import DataError

Result = TypeVar("Result")
Column: TypeAlias = Any  # pyarrow.Array, pyarrow.ChunkedArray (neither is typed) or list[Any]


@dataclass(frozen=True)
class Columns:
    """The columns of a frame or file, with their names and where they come from."""

    names: tuple[Hashable, ...]
    values: tuple[Column, ...]
    """None for a column that was not read."""
    source: Source
    categories: dict[int, tuple[Hashable, ...]] = field(default_factory=dict)
    """What columns of declared categories may hold, in order, by place."""
    check_size: Callable[[int], None] = lambda _: None
    """Refuses to hold more bytes than the cap of a file."""

    def called(self, at: int) -> str:
        """A column in a message: by name in a frame, by number in a file, whose header may be a record by mistake."""
        return f"column {at + 1}" if self.source.path is not None else f"column {self.names[at]!r}"


def is_list(column: Column) -> bool:
    """Whether the column holds lists; a plain Python one is judged by its first value."""
    if isinstance(column, list):
        first = next((value for value in column if not is_absent(value)), None)
        return isinstance(first, list | tuple | set | frozenset | np.ndarray)
    types = pa.types
    kind = column.type
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_absent(value: object) -> bool:
    return not isinstance(value, Iterable) and is_missing(value)


def is_boolean(column: Column) -> bool:
    return not isinstance(column, list) and bool(pa.types.is_boolean(column.type))


def reads_as_one_hot(column: Column, source: Source) -> bool:
    return all(bool((presence(part, source) >= 0).all()) for part in (column[:1000], column))


_FIRST_PART = 1 << 16
_MOST_SIGNS = 100  # different ways to write 0 and 1
MEANINGS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def is_sign(text: str) -> bool:
    """Whether text says that something is present or absent."""
    return text.lower() in MEANINGS


def presence(column: Column, source: Source) -> npt.NDArray[np.int8]:
    """1 for present, 0 for absent or missing, -1 for anything else."""
    if isinstance(column, pa.ChunkedArray) and pa.types.is_dictionary(column.type):
        parts = [guarded(partial(_presence_of_chunk, chunk), source) for chunk in column.iterchunks()]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int8), *parts])
    if not isinstance(column, list) and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return _presence_of_numbers(column.cast(pa.float32()) if pa.types.is_float16(column.type) else column)
    codes, words = guarded(lambda: _codes_of_list(column) if isinstance(column, list) else encoded(column), source)
    return guarded(lambda: _meanings(codes, words), source)


def _presence_of_numbers(column: Any) -> npt.NDArray[np.int8]:
    """By comparing: telling all different numbers apart would take far more memory than they do."""
    meanings = np.full(len(column), -1, np.int8)
    meanings[pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)] = 0
    for number in (0, 1):
        is_equal = pc.fill_null(pc.equal(column, pa.scalar(number, column.type)), False)
        meanings[is_equal.to_numpy(zero_copy_only=False)] = number
    return meanings


def _presence_of_chunk(chunk: Any) -> npt.NDArray[np.int8]:
    """By codes and words, of which some may be alike or missing."""
    codes = chunk.indices if chunk.null_count == 0 else pc.fill_null(chunk.indices.cast(pa.int64()), -1)
    return _meanings(codes.to_numpy(), chunk.dictionary)


def _meanings(codes: npt.NDArray[Any], words: Any) -> npt.NDArray[np.int8]:
    """What each cell means, by its code, -1 where it is missing, and the words coded, a list or an Arrow array."""
    first = words[:_MOST_SIGNS]  # no need to look at a million different values
    meanings = np.full(len(words) + 1, -1, np.int8)
    meanings[-1] = 0  # code -1, missing, picks the last entry
    for code, value in enumerate(first if isinstance(first, list) else first.to_pylist()):
        meanings[code] = MEANINGS.get(value.lower(), -1) if isinstance(value, str) else _meaning(value)
    of_cells: npt.NDArray[np.int8] = meanings[codes]
    return of_cells


def _meaning(value: object) -> int:
    if is_missing(value):
        return 0
    return next((number for number in (0, 1) if value == number), -1)


def whole(labels: list[Hashable]) -> list[Hashable]:
    """Numbers that are all whole as such: pandas makes floating-point numbers of integers when one is missing."""
    if labels and all(isinstance(label, float) and label.is_integer() for label in labels):
        return [int(label) for label in labels if isinstance(label, float)]
    return labels


def factorize(
    column: Column, source: Source, check_size: Callable[[int], None] = lambda _: None
) -> tuple[Offsets, list[Hashable]]:
    """A code for each value, -1 where missing, and the label of each code, all of them used.

    ``check_size`` hears what the labels will take, before there are any.
    """
    if isinstance(column, list):
        codes, values = guarded(lambda: _codes_of_list(column), source)
    else:
        check_different(column, lambda n_labels: check_size(taken(n_labels=n_labels)))
        codes, words = guarded(lambda: encoded(column), source)
        check_size(taken(n_labels=len(words)))
        values = guarded(words.to_pylist, source)
    labels = whole(values)
    used = np.bincount(codes + 1, minlength=len(labels) + 1)[1:] > 0  # a categorical may list values it does not use
    rank = np.append(np.cumsum(used) - 1, -1)
    return rank[codes], [label for label, use in zip(labels, used, strict=True) if use]


def check_different(column: Any, check: Callable[[int], None]) -> None:
    """Refuse a column of numbers by how many different ones a part of it has: telling all apart takes memory too."""
    with contextlib.suppress(DataError):
        check(len(column))
        return
    size, kind = _FIRST_PART, column.type
    is_plain = pa.types.is_primitive(kind) and not pa.types.is_float16(kind)
    while size < len(column) and (is_plain or pa.types.is_fixed_size_binary(kind)):
        check(len(pc.unique(column.slice(0, size))))
        size *= 2


def guarded(step: Callable[[], Result], source: Source) -> Result:
    """Do a step with values; what cannot be an item is told in our words."""
    try:
        return step()
    except UnicodeDecodeError:  # Arrow does not look whether strings are text
        fault = "holds text that is not UTF-8"
    except (TypeError, ValueError, OverflowError, pa.ArrowException):  # lists and other nested values
        fault = "holds values that cannot be items"
    raise source.error(fault)


def _codes_of_list(column: list[Any]) -> tuple[Offsets, list[Hashable]]:
    index: dict[Hashable, int] = {}
    codes = [-1 if is_missing(value) else index.setdefault(value, len(index)) for value in labels_of(column)]
    return np.array(codes, np.int64), list(index)


def without_half_codes(column: Any) -> Any:
    """An Arrow column in which no dictionary codes numbers of half precision.

    Where chunks have different dictionaries, Arrow makes one of them by the bits of such numbers and takes these for
    the numbers: 1 becomes 15360 as soon as one chunk has a value more.
    """
    kind = _without_half_codes(column.type)
    return column if kind == column.type else column.cast(kind)


def _without_half_codes(kind: Any) -> Any:
    types = pa.types
    if types.is_dictionary(kind) and types.is_float16(kind.value_type):
        return kind.value_type
    if types.is_fixed_size_list(kind):
        return pa.list_(_without_half_codes(kind.value_type), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_without_half_codes(kind.value_type))
    return pa.list_(_without_half_codes(kind.value_type)) if types.is_list(kind) else kind


def encoded(column: Any) -> tuple[Offsets, Any]:
    """A code for each value of an Arrow column, -1 where missing, and an array of the values coded."""
    chunks = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if pa.types.is_null(chunks.type):  # of which Arrow makes no one dictionary
        return np.full(len(chunks), -1, np.int64), pa.array([], pa.null())
    chunks = without_half_codes(chunks)
    if pa.types.is_floating(chunks.type):
        chunks = pc.if_else(pc.is_nan(chunks), pa.scalar(None, chunks.type), _without_sign_of_zero(chunks))
    if pa.types.is_dictionary(chunks.type):
        chunks = pa.chunked_array([_clean(chunk) for chunk in chunks.chunks], chunks.type)
    if not pa.types.is_dictionary(chunks.type):
        chunks = chunks.dictionary_encode()
    chunks = chunks.unify_dictionaries()
    if chunks.num_chunks == 0:
        return np.empty(0, np.int64), pa.array([], pa.null())
    parts = [pc.fill_null(chunk.indices.cast(pa.int64()), -1).to_numpy() for chunk in chunks.chunks]
    return np.concatenate(parts), chunks.chunk(0).dictionary


def _without_sign_of_zero(numbers: Any) -> Any:
    """0 for -0, which equals it, and which Arrow tells from it."""
    if pa.types.is_float16(numbers.type):  # with which Arrow does not compute
        return _without_sign_of_zero(numbers.cast(pa.float32())).cast(numbers.type)
    return pc.add(numbers, pa.scalar(0, numbers.type))


def codes_in_order(column: Column, source: Source, check_size: Callable[[int], None] = lambda _: None) -> Offsets:
    """A code for each value, from 0 in the order of first appearance, -1 where missing.

    ``check_size`` hears what the different values take, half of what they would as labels.
    """
    if not isinstance(column, list):
        check_different(column, lambda n_names: check_size(taken(n_labels=n_names // 2)))
    codes, values = guarded(
        lambda: _codes_of_list(column) if isinstance(column, list) else _codes_of_names(column), source
    )
    check_size(taken(n_labels=len(values) // 2))
    first = np.full(len(values) + 1, codes.size)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    ranks = np.full(len(values) + 1, -1)  # code -1, missing, picks the last entry
    ranks[np.argsort(first[:-1], kind="stable")] = np.arange(len(values))
    return ranks[codes]


def _codes_of_names(column: Any) -> tuple[Offsets, Any]:
    """Of an Arrow column: its words stay there, since nobody asks what they are."""
    if pa.types.is_dictionary(column.type) and not _is_text(column):
        column = column.cast(column.type.value_type)
    codes, words = encoded(column)
    words.validate(full=True)  # that text is UTF-8
    return codes, words


def _is_text(column: Any) -> bool:
    """Whether a dictionary holds words: decoded, they may take far more than they do."""
    kind, types = column.type.value_type, pa.types
    return bool(
        types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind)
    )


def _clean(chunk: Any) -> Any:
    """The same cells over a dictionary that names no value twice and holds no missing one; words are not decoded."""
    words = chunk.dictionary
    if words.null_count == 0 and len(words.unique()) == len(words):
        return chunk
    different = words.dictionary_encode()
    codes = different.indices.take(chunk.indices).cast(chunk.type.index_type)
    return pa.DictionaryArray.from_arrays(codes, different.dictionary, ordered=chunk.type.ordered)
