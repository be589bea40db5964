"""Compiled look-up of itemsets in a list of itemsets: an open-addressing hash table over rows.

``slots`` has a power of two of places, -1 where one is free, and behind them a secret of the process: without it nobody
can choose itemsets that crowd together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled


@compiled
def _hash(row: Any, secret: Any) -> Any:
    """Mix the items of a row (multiply and xor-shift, after Steele, Lea and Flood's SplitMix64)."""
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(secret)
    for item in row:
        h = (h ^ np.uint64(item)) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return h


@compiled
def _same(a: Any, b: Any) -> bool:
    for position in range(a.size):  # noqa: SIM110  # compiled
        if a[position] != b[position]:
            return False
    return True


@compiled
def build(rows: Any, slots: Any, start: int, stop: int) -> None:
    """Enter some rows; there are at least twice as many places."""
    mask, secret = np.uint64(slots.size - 2), slots[slots.size - 1]
    for r in range(start, stop):
        place = _hash(rows[r], secret) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = r


@compiled
def find_row(rows: Any, slots: Any, row: Any) -> int:
    """Where ``row`` stands in ``rows``, or -1."""
    mask = np.uint64(slots.size - 2)
    place = _hash(row, slots[slots.size - 1]) & mask
    while True:
        r = slots[place]
        if r < 0 or _same(rows[r], row):
            return r
        place = (place + np.uint64(1)) & mask


@compiled
def find(rows: Any, slots: Any, queries: Any, positions: Any, found: Any) -> None:
    """found[q] is where queries[q, positions] stands in ``rows``, or -1."""
    row = np.empty(positions.size, rows.dtype)
    for q in range(queries.shape[0]):
        for i in range(positions.size):
            row[i] = queries[q, positions[i]]
        found[q] = find_row(rows, slots, row)
