"""Compiled: how many of the active itemsets each record holds, and what it adds to each of them.

Itemsets of several sizes stand together, a row each, filled up with -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled, popcount


@compiled
def held_in(columns: Any, row: Any, w: int) -> Any:
    """The records of one word that hold all items of an itemset, as bits."""
    word = columns[row[0], w]
    for item in row[1:]:
        if item < 0:
            break
        word &= columns[item, w]
    return word


@compiled
def count_held(columns: Any, itemsets: Any, start: int, stop: int, held: Any) -> None:
    """Add to ``held`` of each record, in the words from start to stop, the number of itemsets that it holds."""
    for row in itemsets:
        for w in range(start, stop):
            word = held_in(columns, row, w)
            while word:
                lowest = word & (~word + np.uint64(1))
                held[64 * w + np.int64(popcount(lowest - np.uint64(1)))] += 1
                word ^= lowest


@compiled
def add_units(columns: Any, itemsets: Any, start: int, stop: int, units: Any, sums: Any) -> None:
    """Add to the sum of each itemset the units of the records that hold it, in the words from start to stop."""
    for j in range(itemsets.shape[0]):
        total = 0
        for w in range(start, stop):
            word = held_in(columns, itemsets[j], w)
            while word:
                lowest = word & (~word + np.uint64(1))
                total += units[64 * w + np.int64(popcount(lowest - np.uint64(1)))]
                word ^= lowest
        sums[j] += total
