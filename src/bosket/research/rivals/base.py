"""What the rivals share: their result, their purse, selection by OpenDP, and exact helpers whose results stay inside.

Neighbours differ by one record, added or removed, throughout; where one record is exchanged for another every epsilon
here counts twice.  All supports then move the same way (up when a record is added) by 0 or 1, and so does every order
statistic of them; selections among such scores cost half (*monotone* scores).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, check_positive
from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.curator.noise import CONTRIB, allowed
from bosket.data import Baskets
from bosket.errors import BudgetExceeded, TooManyCandidatesError
from bosket.mining.exact import exact_itemsets
from bosket.statistics.estimates import Floats

_NO_LIMIT = 1 << 62  # a limit that depends on the data would tell something about them
_MARGIN = 1 - 1e-12  # as in bosket.curator.noise
_SLACK = 1 + 1e-12  # parts of a budget add up to it but for rounding, which _MARGIN more than makes up for

Itemset = tuple[int, ...]


@dataclass(frozen=True)
class Rival:
    """Itemsets with noisy counts, by size: ``items[i]`` and ``counts[i]`` have those of i + 1 items.

    ``about["spent"]`` names what was paid for; along whatever a single record can touch it adds up to at most epsilon.
    """

    items: list[ItemsetRows]
    counts: list[Floats]
    about: dict[str, Any]

    def itemsets(self) -> dict[Itemset, float]:
        """All of them, as tuples of item ids."""
        return _flat(zip(self.items, self.counts, strict=True))


def rival(found: dict[Itemset, float], about: dict[str, Any]) -> Rival:
    """From itemsets of any sizes, highest count first within each size."""
    largest = max((len(itemset) for itemset in found), default=0)
    items, counts = [], []
    for size in range(1, largest + 1):
        level = sorted((-count, itemset) for itemset, count in found.items() if len(itemset) == size)
        items.append(np.array([itemset for _, itemset in level], np.int32).reshape(len(level), size))
        counts.append(np.array([-count for count, _ in level], float))
    return Rival(items, counts, about)


class Purse:
    """One epsilon, and what of it was spent on what."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = check_positive("epsilon", epsilon)
        self.spent: dict[str, float] = {}

    def pay(self, name: str, epsilon: float) -> float:
        """Take ``epsilon`` out; refused, before anything is looked at, where there is not as much left."""
        total = math.fsum(self.spent.values())
        if total + epsilon > self.epsilon * _SLACK:
            raise BudgetExceeded(
                f"'{name}' costs {epsilon:g}, but only {self.epsilon - total:g} is left.",
                name=name, asked=(epsilon, 0.0), remaining=(self.epsilon - total, 0.0),
            )  # fmt: skip
        self.spent[name] = self.spent.get(name, 0.0) + epsilon
        return epsilon


@lru_cache(maxsize=64)
def _selection(k: int, epsilon: float, is_monotone: bool) -> Any:
    scale = k * (1 if is_monotone else 2) / (epsilon * _MARGIN)
    with allowed(CONTRIB) as dp:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=is_monotone)
        selection = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=scale)
        while selection.map(1) > epsilon * _MARGIN:
            scale = math.nextafter(scale, math.inf)
            selection = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=scale)
    return selection


def noisy_top(scores: npt.ArrayLike, k: int, *, epsilon: float, is_monotone: bool) -> npt.NDArray[np.int64]:
    """The places of (about) the k highest scores, none twice; fewer only if there are fewer scores.

    OpenDP's peeling by permute-and-flip (McKenna and Sheldon 2020), exact: epsilon / k a choice, each score moving by
    at most 1 between neighbours, all of them the same way if ``is_monotone``.
    """
    values = np.asarray(scores, np.int64)
    k = min(check_integer("k", k, least=0), len(values))
    if k == 0:
        return np.empty(0, np.int64)
    selection = _selection(k, check_positive("epsilon", epsilon), is_monotone)
    return np.array(selection(values.tolist()), np.int64)


def kth_support(baskets: Baskets, k: int, *, max_size: int | None = None, least_size: int = 1) -> int:
    """The k-th largest support among all itemsets of the sizes wanted; 0 where fewer than k occur.  It stays inside.

    An order statistic of supports over a universe that does not depend on the data: one record more raises it by at
    most 1 and never lowers it.
    """
    limit = k if least_size == 1 else _NO_LIMIT

    def are_enough(min_count: int) -> bool:
        try:
            found = mined(baskets, min_count, max_size=max_size, max_itemsets=limit)
        except TooManyCandidatesError:  # more than k of one size
            return True
        return sum(len(counts) for items, counts in found if items.shape[1] >= least_size) >= k

    low, high = 0, baskets.n_records + 1  # enough at low, too few at high
    while high - low > 1:
        middle = min((low + high) // 2, max(1, 8 * low)) if low else max(1, high // 4)
        low, high = (middle, high) if are_enough(middle) else (low, middle)
    return low


def mined(
    baskets: Baskets, min_count: int, *, max_size: int | None = None, max_itemsets: int = _NO_LIMIT
) -> list[tuple[ItemsetRows, Counts]]:
    """Exact frequent itemsets by size.  They stay inside."""
    return exact_itemsets(
        baskets.indptr, baskets.indices, baskets.n_items,
        min_count=min_count, max_size=max_size, max_itemsets=max_itemsets,
    )  # fmt: skip


def exact_top_k(baskets: Baskets, k: int, *, max_size: int | None = None) -> dict[Itemset, float]:
    """The k itemsets with the highest supports, those that occur; ties by size, then items.  No privacy in this."""
    least = max(1, kth_support(baskets, k, max_size=max_size))
    found = _flat(mined(baskets, least + 1, max_size=max_size))
    size = 0
    while len(found) < k and size != max_size:  # size by size: a long record has more subsets than can be listed
        size += 1
        levels = mined(baskets, least, max_size=size)
        if len(levels) < size:
            break
        items, counts = levels[-1]
        found |= _flat([(items[counts == least], counts[counts == least])])
    best = sorted(found, key=lambda itemset: (-found[itemset], len(itemset), itemset))
    return {itemset: found[itemset] for itemset in best[:k]}


def _flat(levels: Iterable[tuple[ItemsetRows, Counts | Floats]]) -> dict[Itemset, float]:
    return {
        tuple(row): float(count) for items, counts in levels for row, count in zip(items.tolist(), counts, strict=True)
    }


def supports_of(baskets: Baskets, itemsets: list[Itemset]) -> Counts:
    """Exact supports.  They stay inside, for whoever adds noise to them."""
    counts = np.zeros(len(itemsets), np.int64)
    if not itemsets or not baskets.n_records:
        return counts
    wanted = np.unique(np.concatenate([np.array(itemset, np.int32) for itemset in itemsets]))
    bitmaps = Bitmaps.from_rows(baskets.to_bits(), baskets.n_items, items=wanted)
    sizes = np.array([len(itemset) for itemset in itemsets])
    for size in np.unique(sizes):
        places = np.flatnonzero(sizes == size)
        rows = np.array([itemsets[place] for place in places], np.int32)
        counts[places] = bitmaps.supports(rows)[0]
    return counts
