"""Exact frequent itemsets of records of which a part is in memory at a time.

Savasere, Omiecinski and Navathe (VLDB 1995): an itemset that m records hold is in at least t_i records of some part i,
where the t_i - 1 add up to m - 1 at most; so each part is searched by itself for what reaches its share of the count,
t_i = 1 + floor((m - 1) n_i / n), and what any part finds is a candidate.  A second pass counts each candidate in the
parts that did not find it, unless what is known rules it out: its counts where it was found, and t_i - 1 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.data.baskets.rows import Csr
from bosket.data.domain import ItemIds
from bosket.errors import TooManyCandidatesError
from bosket.mining.exact import exact_itemsets, too_many_itemsets
from bosket.mining.exact_order import Sized, in_search_order

RecordParts = Callable[[npt.NDArray[np.bool_]], Iterable[Csr]]
"""Gives the records, a part at a time, with some of their items alone; the same parts whenever it is called."""

_ROOM = 4  # times as many candidates as itemsets are allowed


class PartCandidates:
    """Itemsets of one size that some part found: counts so far, and which parts they are of."""

    def __init__(self, size: int, n_parts: int) -> None:
        self.rows: ItemsetRows = np.empty((0, size), np.int32)
        self.counts = np.empty(0, np.int64)
        self.is_counted = np.empty((0, -(-n_parts // 8)), np.uint8)

    def add(self, part: int, rows: ItemsetRows, counts: npt.NDArray[np.int64]) -> None:
        """Enter what a part found."""
        place = ItemsetIndex(self.rows).find(np.ascontiguousarray(rows)) if len(self.rows) else np.full(len(rows), -1)
        new = np.flatnonzero(place < 0)
        place[new] = len(self.rows) + np.arange(len(new))
        self.rows = np.concatenate([self.rows, rows[new]])
        self.counts = np.concatenate([self.counts, np.zeros(len(new), np.int64)])
        more = np.zeros((len(new), self.is_counted.shape[1]), np.uint8)
        self.is_counted = np.concatenate([self.is_counted, more])
        self.counts[place] += counts
        self.is_counted[place, part >> 3] |= np.uint8(1 << (part & 7))

    def keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        self.rows, self.counts = np.ascontiguousarray(self.rows[chosen]), self.counts[chosen]
        self.is_counted = self.is_counted[chosen]

    def missing(self, part: int) -> npt.NDArray[np.int64]:
        """Those that a part did not find."""
        return np.flatnonzero(self.is_counted[:, part >> 3] >> np.uint8(part & 7) & 1 == 0)


def exact_by_parts(
    parts: RecordParts,
    sizes: list[int],
    item_counts: npt.NDArray[np.int64],
    *,
    min_count: int,
    max_size: int | None,
    max_itemsets: int,
    count: Callable[[Csr, ItemsetRows], npt.NDArray[np.int64]],
    on_done: Callable[[float], None] = lambda _: None,
) -> list[Sized]:
    """The itemsets that at least ``min_count`` records hold, as :func:`exact_itemsets` lists them.

    ``sizes`` are the numbers of records of all parts; ``item_counts`` is 0 for items that are not looked at; ``count``
    counts itemsets in a part.
    """
    items = np.flatnonzero(item_counts >= min_count).astype(np.int32)
    if len(items) > max_itemsets:
        raise too_many_itemsets(1, len(items), max_itemsets)
    first: Sized = (items[:, None], item_counts[items])
    if not len(items) or max_size == 1:
        return in_search_order([first], len(item_counts)) if len(items) else []
    n_records = sum(sizes)
    shares = [(min_count - 1) * size // max(1, n_records) for size in sizes]  # less one than what a part must reach
    found = _searched(parts, shares, item_counts >= min_count, max_size, max_itemsets, on_done)
    for candidates in found.values():
        unseen = np.zeros(len(candidates.rows), np.int64)
        for part, share in enumerate(shares):
            unseen[candidates.missing(part)] += share
        candidates.keep(candidates.counts + unseen >= min_count)
    _count_missing(parts, found, item_counts >= min_count, count, len(sizes), on_done)
    levels = [first]
    for size in sorted(found):
        candidates = found[size]
        candidates.keep(candidates.counts >= min_count)
        if len(candidates.rows) > max_itemsets:
            raise too_many_itemsets(size, len(candidates.rows), max_itemsets)
        if not len(candidates.rows):
            break
        levels.append((candidates.rows, candidates.counts))
    on_done(1.0)
    return in_search_order(levels, len(item_counts))


def _searched(
    parts: RecordParts,
    shares: list[int],
    is_frequent: npt.NDArray[np.bool_],
    max_size: int | None,
    max_itemsets: int,
    on_done: Callable[[float], None],
) -> dict[int, PartCandidates]:
    """What each part finds, by size."""
    found: dict[int, PartCandidates] = {}
    for part, csr in enumerate(parts(is_frequent)):
        try:
            levels = exact_itemsets(
                csr.indptr,
                csr.indices,
                len(is_frequent),
                min_count=shares[part] + 1,
                max_size=max_size,
                max_itemsets=_ROOM * max_itemsets,
            )
        except TooManyCandidatesError as problem:
            raise _too_small(problem, len(shares)) from None
        for rows, counts in levels[1:]:
            size = rows.shape[1]
            found.setdefault(size, PartCandidates(size, len(shares))).add(part, rows, counts)
            if len(found[size].rows) > _ROOM * max_itemsets:
                raise _too_small(too_many_itemsets(size, len(found[size].rows), max_itemsets), len(shares))
        on_done(0.7 * (part + 1) / len(shares))
    return found


def _too_small(problem: TooManyCandidatesError, n_parts: int) -> TooManyCandidatesError:
    """Of a search that found too much in a part: less of it would be found in larger parts."""
    return TooManyCandidatesError(
        f"In a part of the records, {problem}",
        level=problem.level,
        number=problem.number,
        limit=problem.limit,
        hint=f"Ask for a larger support, or give more memory: the records are searched in {n_parts} parts.",
    )


def _count_missing(
    parts: RecordParts,
    found: dict[int, PartCandidates],
    is_frequent: npt.NDArray[np.bool_],
    count: Callable[[Csr, ItemsetRows], npt.NDArray[np.int64]],
    n_parts: int,
    on_done: Callable[[float], None],
) -> None:
    """Count candidates in the parts that did not find them."""
    is_asked = np.zeros_like(is_frequent)
    for candidates in found.values():
        for part in range(n_parts):
            is_asked[candidates.rows[candidates.missing(part)]] = True
    if not is_asked.any():
        return
    for part, csr in enumerate(parts(is_asked)):
        for candidates in found.values():
            missing = candidates.missing(part)
            if len(missing):
                rows: ItemIds = np.ascontiguousarray(candidates.rows[missing])
                candidates.counts[missing] += count(csr, rows)
        on_done(0.7 + 0.3 * (part + 1) / n_parts)
