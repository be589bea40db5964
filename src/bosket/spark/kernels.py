"""Compiled: records of a segment on their way to a search, each of them looked at once."""

from __future__ import annotations

from typing import Any

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
def choose_items(indptr: Any, items: Any, keep: Any, starts: Any, kept: Any) -> int:
    """Write the items that ``keep`` says, record by record, from starts[t] on; the number of all of them.

    It has one more place than is needed at most, so that what is not kept is written too, and written over.
    """
    n = 0
    for t in range(indptr.size - 1):
        starts[t] = n
        for at in range(indptr[t], indptr[t + 1]):
            kept[n] = items[at]
            n += keep[items[at]]
    starts[indptr.size - 1] = n
    return n
