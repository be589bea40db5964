"""Compiled: records of a segment on their way to a search, each of them looked at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled


@compiled
def count_labels(items: Any, counts: Any, first_at: Any) -> None:
    """How often each number occurs among ``items``, and where first; ``first_at`` keeps its value where it does not."""
    for at in range(items.size):
        item = items[at]
        if counts[item] == 0:
            first_at[item] = at
        counts[item] += 1


@compiled
def mark_numbers(values: Any, least: int, is_used: Any) -> None:
    """Note which numbers there are, from ``least`` on."""
    for at in range(values.size):
        is_used[np.int64(values[at]) - least] = True


@compiled
def rank_numbers(values: Any, ends: Any, least: int, rank: Any, items: Any) -> bool:
    """The rank of each number in ``items``; whether the numbers of each list, which end at ``ends``, increase."""
    at, increase = 0, True
    for t in range(ends.size):
        before = np.int32(-1)
        while at < ends[t]:
            item = rank[np.int64(values[at]) - least]
            increase &= item > before
            items[at] = before = item
            at += 1
    return increase


@compiled
def place_items(sizes: Any, codes: Any, meant: Any, starts: Any, items: Any, n: int) -> int:
    """Write what the codes of records mean, record by record, from items[n] on; where the last one ends.

    What means -1 is left out.  ``items`` has one more place than is needed at most, so that it is written too, and
    written over; record t is from starts[t] on.
    """
    at = 0
    for t in range(sizes.size):
        starts[t] = n
        stop = at + np.int64(sizes[t])
        while at < stop:
            item = meant[codes[at]]
            items[n] = item
            n += item >= 0
            at += 1
    starts[sizes.size] = n
    return n
