"""Itemsets in the order in which the search of one machine lists them.

That one goes down from each itemset to those with one more item, in the order of their ranks, the rarest first.  Items
that occur in every record of an itemset (perfect extensions) are set aside there, and all itemsets with some of them
come right after it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bosket.data.domain import ItemIds
from bosket.evidence.raw import ExactLevels

_Itemset = tuple[int, ...]


def in_search_order(levels: ExactLevels, item_counts: npt.NDArray[np.int64]) -> ExactLevels:
    """The same levels with their rows in order; ``item_counts`` of all items of the domain."""
    if not levels:
        return levels
    single, counts = levels[0]
    ranked = single[np.lexsort((single[:, 0], counts)), 0]
    rank_of = np.full(len(item_counts), -1, np.int64)
    rank_of[ranked] = np.arange(len(ranked))
    by_rank = [np.sort(rank_of[rows], axis=1) for rows, _ in levels]
    if _has_perfect(by_rank, [counts for _, counts in levels]):
        return _walked(by_rank, levels, ranked)
    result: ExactLevels = []
    for ranks, (rows, counts) in zip(by_rank, levels, strict=True):
        order = np.lexsort(ranks.T[::-1])
        result.append((np.ascontiguousarray(rows[order]), counts[order]))
    return result


def _has_perfect(by_rank: list[npt.NDArray[np.int64]], counts: list[npt.NDArray[np.int64]]) -> bool:
    """Whether some itemset has the count of a subset that has one item less, and may thus be an extension set aside."""
    for smaller, larger in zip(range(len(by_rank) - 1), range(1, len(by_rank)), strict=True):
        if np.isin(counts[larger], counts[smaller]).any():
            known = dict(zip(map(tuple, by_rank[smaller].tolist()), counts[smaller].tolist(), strict=True))
            at = np.flatnonzero(np.isin(counts[larger], counts[smaller])).tolist()
            for row, count in zip(by_rank[larger][at].tolist(), counts[larger][at].tolist(), strict=True):
                if any(known[tuple(row[:j] + row[j + 1 :])] == count for j in range(len(row))):
                    return True
    return False


def _walked(by_rank: list[npt.NDArray[np.int64]], levels: ExactLevels, ranked: ItemIds) -> ExactLevels:
    """The search walked once more, over itemsets that are known."""
    known: dict[_Itemset, int] = {}
    for ranks, (_, counts) in zip(by_rank, levels, strict=True):
        known.update(zip(map(tuple, ranks.tolist()), counts.tolist(), strict=True))
    found: list[list[_Itemset]] = [[] for _ in levels]
    most = len(levels)

    def write(path: _Itemset, perfect: list[int]) -> None:
        """An itemset, and after it those with some of the perfect extensions."""
        chosen = [(path, 0)]
        while chosen:
            itemset, begin = chosen.pop()
            found[len(itemset) - 1].append(itemset)
            if len(itemset) < most:
                chosen += [
                    (tuple(sorted((*itemset, perfect[at]))), at + 1) for at in reversed(range(begin, len(perfect)))
                ]

    stack: list[tuple[_Itemset, list[int], list[int]]] = [
        ((rank,), list(range(rank + 1, len(ranked))), []) for rank in reversed(range(len(ranked)))
    ]
    while stack:
        path, later, perfect = stack.pop()
        count = known[path]
        ahead, own = [], list(perfect)
        for rank in later:
            larger = known.get((*path, rank))
            if larger == count:
                own.append(rank)
            elif larger is not None:
                ahead.append(rank)
        write(path, own)
        stack += [((*path, rank), ahead[at + 1 :], own) for at, rank in reversed(list(enumerate(ahead)))]
    place = [dict(zip(map(tuple, ranks.tolist()), range(len(ranks)), strict=True)) for ranks in by_rank]
    result: ExactLevels = []
    for at, (rows, counts) in enumerate(levels):
        order = np.array([place[at][itemset] for itemset in found[at]], np.int64)
        assert len(order) == len(rows), "every itemset is met once"
        result.append((np.ascontiguousarray(rows[order]), counts[order]))
    return result
