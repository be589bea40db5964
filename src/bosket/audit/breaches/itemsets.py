"""Which itemsets an audit looks at: those named, or the frequent ones of the raw data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.checks import check_not_text
from bosket.counting.base import ItemsetRows
from bosket.data import Baskets, Domain
from bosket.errors import ParameterError, TooManyCandidatesError
from bosket.limits import least_count
from bosket.mining.exact import exact_itemsets

RecordCounts = npt.NDArray[np.int64]

_MOST_FREQUENT = 10_000_000  # of one size; as in bosket.mine
_MOST_TO_CHOOSE_FROM = 1_000_000


def named_itemsets(itemsets: Iterable[Iterable[Hashable]], domain: Domain) -> list[ItemsetRows]:
    """The itemsets given, once each, in one array for each size."""
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for itemset in itemsets:
        ids = domain.itemset(check_not_text(itemset))
        if not ids:
            raise ParameterError(
                "The 'itemsets' parameter must hold sets of at least one item, got an empty one.",
                parameter="itemsets",
                value=itemset,
            )
        by_size.setdefault(len(ids), []).append(ids)
    return [np.unique(np.array(rows, np.int32), axis=0) for _, rows in sorted(by_size.items())]


def frequent_itemsets(raw: Baskets, *, min_support: float, max_size: int, top: int) -> list[ItemsetRows]:
    """The frequent itemsets of every size up to ``max_size``; of a size that has none, those of highest support.

    Footnote 6 of the paper.  Of such a size at most ``top`` are taken, the commonest first, equals by item id.
    ``max_size`` must not exceed the size of the longest record.
    """
    if max_size == 0:
        return []
    min_count = least_count(min_support, raw.n_records)
    chosen = [np.unique(items, axis=0) for items, _ in _mine(raw, min_count, max_size, _MOST_FREQUENT)]
    bounds = _Bounds(none_at=min_count)
    for size in range(len(chosen) + 1, max_size + 1):
        items, counts = _of_high_support(raw, size, bounds)
        order = np.lexsort((*items.T[::-1], -counts))
        chosen.append(np.unique(items[order[:top]], axis=0))
    return chosen


@dataclass(slots=True)
class _Bounds:
    """What is known of the highest support that itemsets of a size have; kept for larger sizes, which have less."""

    none_at: int
    """No itemset of the size reaches the support."""
    too_many_at: int = 0
    """Too many itemsets reach the support to be listed."""


def _of_high_support(raw: Baskets, size: int, bounds: _Bounds) -> tuple[ItemsetRows, RecordCounts]:
    """Itemsets of the size, those of highest support among them, with their counts.

    The count asked for is halved until some appear, or moved halfway back if too many do.  If there is no middle
    (where records have next to nothing in common, say), the choice is among the itemsets that records begin with.
    """
    able = _of_size_at_least(raw, size)  # no other record can hold such an itemset
    while (count := (bounds.none_at + bounds.too_many_at + 1) // 2) < bounds.none_at:
        try:
            found = _mine(able, count, size, _MOST_TO_CHOOSE_FROM)
        except TooManyCandidatesError:
            bounds.too_many_at = count
            continue
        if len(found) == size:
            return found[-1]
        bounds.none_at = count
    beginnings = able.indices[able.indptr[:-1, None] + np.arange(size)]
    return np.unique(beginnings, axis=0, return_counts=True)


def _mine(raw: Baskets, min_count: int, max_size: int, limit: int) -> list[tuple[ItemsetRows, RecordCounts]]:
    return exact_itemsets(
        raw.indptr, raw.indices, raw.n_items, min_count=min_count, max_size=max_size, max_itemsets=limit
    )


def _of_size_at_least(raw: Baskets, size: int) -> Baskets:
    is_able = raw.sizes >= size
    indptr = np.concatenate([[0], np.cumsum(raw.sizes[is_able])])
    return Baskets.from_csr(indptr, raw.indices[np.repeat(is_able, raw.sizes)], raw.domain)
