"""What is known of a channel before there are reports, by enumeration: closed forms are tested against it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Protocol

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.data import Domain
from bosket.errors import SingularChannelError
from bosket.privacy import Accuracy, Influence
from bosket.privacy.influence import CARD_SIZES
from bosket.statistics.estimates import Floats

_ENUMERATED = 1 << 20  # patterns of itemsets: beyond, a channel without a closed form does not say its influence
_SOLVED = 1 << 14  # likewise its errors, which take a matrix for each itemset


class Weighing(Protocol):
    """A channel, as far as weights go."""

    items_alike: bool

    @property
    def domain(self) -> Domain: ...

    def weights(self, itemsets: ItemsetRows) -> Floats: ...

    def recovers(self, k: int, strata: Iterable[int]) -> bool: ...


class Varying(Weighing, Protocol):
    """A channel that states its transitions, and so the variances that a record can bring."""

    @property
    def record_sizes(self) -> Collection[int] | None: ...

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats: ...

    def record_variances(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats: ...

    def stratum_of(self, size: int) -> int: ...


def enumerated_influence(channel: Weighing, k: int) -> Influence | None:
    """The extreme weights of k items, over all itemsets, or one where all are alike."""
    n = len(channel.domain)
    if k > n or not channel.recovers(k, ()):
        return None
    if not channel.items_alike and math.comb(n, k) << k > _ENUMERATED:
        return None
    itemsets = [tuple(range(k))] if channel.items_alike else list(combinations(range(n), k))
    weights = _weights_but_of_erased(channel, np.array(itemsets, np.int32))
    if not len(weights):
        return None
    low, high = weights.min(axis=1), weights.max(axis=1)
    return Influence(k, low=float(low.min()), high=float(high.max()), width=float((high - low).max()))


def _weights_but_of_erased(channel: Weighing, itemsets: ItemsetRows) -> Floats:
    """The weights of those itemsets that have any, a row each."""
    try:
        return channel.weights(itemsets)
    except SingularChannelError:
        if len(itemsets) == 1:
            return np.empty((0, 1 << itemsets.shape[1]))
    return np.concatenate([_weights_but_of_erased(channel, row[None, :]) for row in itemsets])


class Foreseen(Protocol):
    """A channel that says how large errors will be."""

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None: ...


def foreseen_accuracy(
    channel: Foreseen, max_size: int | None = None, sizes: Iterable[int] = CARD_SIZES
) -> tuple[Accuracy, ...]:
    """What a channel says of itemsets of these sizes, where it does; records of ``max_size`` items hold no larger."""
    held = (k for k in sizes if max_size is None or k <= max_size)
    return tuple(found for k in held if (found := channel.accuracy(k, max_size)) is not None)


def enumerated_accuracy(channel: Varying, k: int, max_size: int | None) -> Accuracy | None:
    """The extreme variances of k items, over all itemsets that can be estimated and all that records show of them."""
    itemsets = _few_itemsets(channel, k)
    found = [
        shown
        for stratum in _strata(channel, k, max_size)
        for itemset in itemsets
        if (shown := _possible_variances(channel, itemset, stratum)) is not None
    ]
    if not found:
        return None
    return Accuracy(
        k,
        least=max(0.0, min(float(every.min()) for every, _ in found)),
        most=max(float(every.max()) for every, _ in found),
        full=max(0.0, min(full for _, full in found)),
    )


def _few_itemsets(channel: Varying, k: int) -> list[tuple[int, ...]]:
    """All itemsets of k items that a record can hold, one where all are alike; none if they are too many."""
    domain = channel.domain
    groups = np.arange(len(domain)) if domain.groups is None else domain.groups
    if channel.items_alike:
        first = np.unique(groups, return_index=True)[1][:k]
        return [tuple(first.tolist())] if len(first) == k else []
    if math.comb(len(domain), k) << k > _SOLVED:
        return []
    return [one for one in combinations(range(len(domain)), k) if len(set(groups[list(one)].tolist())) == k]


def _strata(channel: Varying, k: int, max_size: int | None) -> list[int]:
    """The strata of records of k items or more."""
    known, n, groups = channel.record_sizes, len(channel.domain), channel.domain.groups
    most = n if max_size is None else min(n, max_size)
    sizes = range(k, most + 1) if groups is None else [int(groups[-1]) + 1]
    return sorted({channel.stratum_of(size) for size in sizes if known is None or size in known})


def _possible_variances(channel: Varying, itemset: tuple[int, ...], stratum: int) -> tuple[Floats, float] | None:
    """Variances by the patterns that a record can show, and that of the last, all items; None where it is erased."""
    if not channel.recovers(len(itemset), [stratum]):
        return None
    possible = channel.transition(itemset, stratum).sum(axis=1) > 0
    try:
        variances = channel.record_variances(itemset, stratum)
    except SingularChannelError:
        return None
    return (variances[possible], float(variances[-1])) if possible[-1] else None
