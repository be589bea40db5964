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


@compiled
def count_company(chances: Any, itemsets: Any, active: Any, expected: Any) -> None:
    """Of each itemset how many active ones a record that holds it is expected to hold.

    ``chances`` has a row for each item: how likely a record with it has the others.  A record with several of the items
    has another as likely as the one that makes it likeliest, and several others independently.
    """
    n_items = chances.shape[1]
    likely = np.empty(n_items, np.float32)
    for i in range(itemsets.shape[0]):
        likely[:] = chances[itemsets[i, 0]]
        for item in itemsets[i, 1:]:
            if item < 0:
                break
            for other in range(n_items):
                likely[other] = max(likely[other], chances[item, other])
        total = 0.0
        for j in range(active.shape[0]):
            chance = likely[active[j, 0]]
            for item in active[j, 1:]:
                if item < 0:
                    break
                chance *= likely[item]
            total += chance
        expected[i] = total
