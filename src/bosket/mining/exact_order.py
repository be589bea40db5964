"""The order in which the search for exact itemsets lists them, from the itemsets alone.

A search of parts of the records finds the same itemsets with the same counts, in an order of its own.  The order of
:func:`~bosket.mining.exact.exact_itemsets` follows from them: itemsets are listed by the node of the tree at which they
are found, and those of one node by the choice among its perfect extensions.

The node of an itemset: take its items from the rarest to the commonest (equally common ones by id).  An item that all
records of the node so far hold is a perfect extension of it, chosen there; any other leads to the next node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bosket.counting.table import ItemsetIndex
from bosket.data.domain import ItemIds

Sized = tuple[ItemIds, npt.NDArray[np.int64]]
"""Itemsets of one size, and their counts."""


def in_search_order(levels: Sequence[Sized], n_items: int) -> list[Sized]:
    """The same itemsets, sizes 1, 2, ..., in the order of the search; every subset of an itemset must be there."""
    if not levels:
        return []
    items, counts = levels[0]
    order = np.lexsort((items[:, 0], counts))
    rank_of = np.full(n_items, -1, np.int64)
    rank_of[items[order, 0]] = np.arange(len(order))
    item_of = items[order, 0]
    indices = [ItemsetIndex(rows) for rows, _ in levels]
    found = [(np.ascontiguousarray(items[order]), counts[order])]
    for rows, numbers in levels[1:]:
        ranks = np.sort(rank_of[rows], axis=1)
        by = np.lexsort(_keys(ranks, item_of, indices, levels).T[::-1])
        found.append((np.ascontiguousarray(rows[by]), numbers[by]))
    return found


def _keys(
    ranks: npt.NDArray[np.int64], item_of: ItemIds, indices: Sequence[ItemsetIndex], levels: Sequence[Sized]
) -> npt.NDArray[np.int64]:
    """For each itemset: the ranks on the path to its node, -1 beyond, then its perfect extensions in their order.

    Of perfect extensions, those of nodes nearer to the root come first, and those of one node by rank.
    """
    n, k = ranks.shape
    path = np.full((n, k), -1, np.int64)
    path[:, 0] = ranks[:, 0]
    length = np.ones(n, np.int64)
    perfect = np.full((n, k), -1, np.int64)
    n_perfect = np.zeros(n, np.int64)
    for at in range(1, k):
        depth = np.zeros(n, np.int64)  # of the first node at which the item is perfect; 0 for none
        for size in range(1, at + 1):
            open_ = np.flatnonzero((length >= size) & (depth == 0))
            if not len(open_):
                continue
            node = path[open_, :size]
            more = np.concatenate([node, ranks[open_, at : at + 1]], axis=1)
            is_perfect = _counts(node, item_of, indices, levels) == _counts(more, item_of, indices, levels)
            depth[open_[is_perfect]] = size
        chosen, others = np.flatnonzero(depth), np.flatnonzero(depth == 0)
        perfect[chosen, n_perfect[chosen]] = depth[chosen] * len(item_of) + ranks[chosen, at]
        n_perfect[chosen] += 1
        path[others, length[others]] = ranks[others, at]
        length[others] += 1
    perfect[perfect < 0] = np.iinfo(np.int64).max
    perfect.sort(axis=1)
    return np.concatenate([path, perfect], axis=1)


def _counts(
    ranks: npt.NDArray[np.int64], item_of: ItemIds, indices: Sequence[ItemsetIndex], levels: Sequence[Sized]
) -> npt.NDArray[np.int64]:
    """The counts of itemsets, given by the ranks of their items."""
    rows = np.sort(item_of[ranks], axis=1).astype(np.int32)
    place = indices[rows.shape[1] - 1].find(np.ascontiguousarray(rows))
    assert place.min(initial=0) >= 0, "every subset must be there"
    found: npt.NDArray[np.int64] = levels[rows.shape[1] - 1][1][place]
    return found
