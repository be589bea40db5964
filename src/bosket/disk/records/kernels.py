"""Compiled: numbers that stand for words, and records with some of their items alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled

if TYPE_CHECKING:
    from bosket.data.baskets.rows import Offsets
    from bosket.data.domain import ItemIds
    from bosket.data.formats.fimi_kernels import Text

PRIME = (1 << 61) - 1


@compiled
def times(a: np.uint64, b: np.uint64) -> np.uint64:
    """a b modulo 2^61 - 1, of numbers below it: by halves of 32 bits, of which no sum reaches 2^64.

    With a = a1 2^32 + a0 and b likewise, a b = a1 b1 2^64 + (a1 b0 + a0 b1) 2^32 + a0 b0, where 2^61 = 1, hence
    2^64 = 8 and (x1 2^29 + x0) 2^32 = x1 + x0 2^32.
    """
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    prime = np.uint64(PRIME)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + a0 * b1  # below 2^62
    total = np.uint64(8) * (a1 * b1) + (middle >> np.uint64(29)) + ((middle & np.uint64((1 << 29) - 1)) << half)
    square = a0 * b0
    total = (total & prime) + (total >> np.uint64(61)) + (square & prime) + (square >> np.uint64(61))
    total = (total & prime) + (total >> np.uint64(61))
    return total - prime if total >= prime else total


@compiled
def hash_words(letters: Text, offsets: Offsets, n_words: int, points: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Two polynomials of the bytes of each word: sum over i of (byte i + 1) x^(L - i), and x^(L + 1) for its length."""
    names = np.empty((n_words, 2), np.uint64)
    prime = np.uint64(PRIME)
    for word in range(n_words):
        for k in range(2):
            total = np.uint64(1)
            for at in range(offsets[word], offsets[word + 1]):
                total = times(total, points[k]) + np.uint64(letters[at]) + np.uint64(1)
                if total >= prime:
                    total -= prime
            names[word, k] = times(total, points[k])
    return names


@compiled
def keep_items(sizes: ItemIds, items: ItemIds, is_kept: npt.NDArray[np.bool_]) -> int:
    """Leave items out of records, in their place; returns how many stay."""
    at, written = 0, 0
    for record in range(sizes.size):
        stop = at + sizes[record]
        first = written
        for k in range(at, stop):
            items[written] = items[k]
            written += is_kept[items[k]]
        sizes[record] = written - first
        at = stop
    return written


@compiled
def set_bits(
    indptr: Offsets,
    items: ItemIds,
    row_of: ItemIds,
    first: int,
    start: int,
    stop: int,
    columns: npt.NDArray[np.uint64],
) -> None:
    """Set the bits of the records from ``first + start`` to ``first + stop``; ``start`` is a multiple of 64."""
    for record in range(start, stop):
        bit = np.uint64(1) << np.uint64(record & 63)
        for k in range(indptr[first + record], indptr[first + record + 1]):
            row = row_of[items[k]]
            if row >= 0:
                columns[row, record >> 6] |= bit
