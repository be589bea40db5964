"""Variances of one record's report by how many items of an itemset the record has, for typical itemsets of a size."""

from __future__ import annotations

import math
from itertools import combinations, islice
from typing import TypeVar

import numpy as np

from bosket.data import Domain
from bosket.errors import SingularChannelError
from bosket.mechanisms import Channel, ExchangeableChannel, RecordChannel
from bosket.mechanisms.flip import SINGULAR, FlipChannel
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.planning.laws import binomial_law
from bosket.statistics.estimates import Floats

T = TypeVar("T")
_FEW = 64  # itemsets that stand for all of a size, where these differ
_LOOKED_AT = 20_000  # itemsets that these are chosen among


def overlap_law(k: int, support: float) -> Floats:
    """Pr(a record has l of k items), by l, the items independent and equally frequent."""
    return binomial_law(k, min(1.0, max(0.0, support)) ** (1 / k))


def possible_law(law: Floats, possible: range) -> Floats:
    """The law given that a record can have so many of the items: one that has nearly all items lacks few of any.

    Where the law has nothing there, the number nearest to it.
    """
    if len(possible) == len(law):
        return law
    inside = np.zeros_like(law)
    inside[possible.start : possible.stop] = law[possible.start : possible.stop]
    total = float(inside.sum())
    if total > 0:
        return inside / total
    inside[possible.start if law[: possible.start].sum() > 0 else possible.stop - 1] = 1.0
    return inside


def variances_by_overlap(channel: RecordChannel, itemsets: list[tuple[int, ...]], stratum: int | None) -> Floats | None:
    """The mean over itemsets, and over patterns of l items, by l; None where they leave no trace."""
    k = len(itemsets[0])
    if stratum is not None and not channel.recovers(k, [stratum]):
        return None
    if isinstance(channel, ExchangeableChannel):
        assert stratum is not None
        return channel.record_variances_by_overlap(k, stratum)
    if isinstance(channel, FlipChannel):
        return _of_flips(channel, itemsets)
    if isinstance(channel, GammaDiagonalChannel):
        return _of_cells(channel, itemsets)
    ones = np.bitwise_count(np.arange(1 << k))
    every = [found for one in itemsets if (found := _pattern_variances(channel, one, stratum)) is not None]
    if not every:
        return None
    variances = np.mean(every, axis=0)
    by_overlap: Floats = np.bincount(ones, variances) / np.bincount(ones)
    return by_overlap


def has_closed_form(channel: Channel) -> bool:
    """Whether variances of any size of itemset are found without going through their patterns."""
    return isinstance(channel, ExchangeableChannel | FlipChannel | GammaDiagonalChannel)


def _of_flips(channel: FlipChannel, itemsets: list[tuple[int, ...]]) -> Floats | None:
    """E[w^2] is a product over items: sums over patterns of l items are coefficients of prod (absent + present z)."""
    items = np.array(itemsets)
    told = (np.abs(channel.present - channel.absent) >= SINGULAR)[items].all(axis=1)
    if not told.any():
        return None
    items = items[told]
    present, absent = channel.squares(items)
    k = items.shape[1]
    sums = np.zeros((len(items), k + 1))
    sums[:, 0] = 1.0
    for at in range(k):
        sums[:, 1:] = absent[:, at, None] * sums[:, 1:] + present[:, at, None] * sums[:, :-1]
        sums[:, 0] *= absent[:, at]
    variances: Floats = (sums / [math.comb(k, l) for l in range(k + 1)]).mean(axis=0)
    variances[k] -= 1.0
    return variances


def _of_cells(channel: GammaDiagonalChannel, itemsets: list[tuple[int, ...]]) -> Floats:
    """r (1 - r) / kappa^2: r = b for a record that lacks some of the items, b + kappa for one that has all."""
    b = channel.chance(np.array(itemsets, np.int32))
    variances = np.full(len(itemsets[0]) + 1, float((b * (1 - b)).mean()))
    variances[-1] = float(((b + channel.keep) * (1 - b - channel.keep)).mean())
    return variances / channel.keep**2


def _pattern_variances(channel: RecordChannel, itemset: tuple[int, ...], stratum: int | None) -> Floats | None:
    """None for an itemset that holds an erased item."""
    try:
        return channel.record_variances(itemset, stratum)
    except SingularChannelError:
        return None


def typical_itemsets(channel: Channel, k: int) -> list[tuple[int, ...]]:
    """Itemsets of k items that a record can hold: all of them, or a few spread evenly over the first many."""
    domain: Domain = channel.domain
    if channel.items_alike and domain.groups is None:
        return [tuple(range(k))]
    kinds = _kinds(channel)
    if kinds is not None and domain.groups is None and len(np.unique(kinds)) == 1:
        return [tuple(range(k))]
    if domain.groups is None:
        return spaced(list(islice(combinations(range(len(domain)), k), _LOOKED_AT)))
    firsts = np.unique(domain.groups, return_index=True)[1].tolist()  # values of an attribute are treated alike, or
    lasts = [*(first - 1 for first in firsts[1:]), len(domain) - 1]  # nearly so: the first and last stand for all
    every = spaced(list(islice(combinations(range(len(firsts)), k), _LOOKED_AT)))
    both = [tuple(ends[at] for at in chosen) for chosen in every for ends in (firsts, lasts)]
    if kinds is None:
        return list(dict.fromkeys(both))
    alike = {tuple(sorted(kinds[list(one)].tolist())): one for one in reversed(both)}
    return list(alike.values()) if len(np.unique(kinds)) == 1 else list(dict.fromkeys(both))


def _kinds(channel: Channel) -> Floats | None:
    """By item, a number that is the same for items which are randomized alike; None where this is not known."""
    if isinstance(channel, FlipChannel):
        return (
            np.unique(np.stack([channel.present, channel.absent]), axis=1, return_inverse=True)[1].ravel().astype(float)
        )
    if isinstance(channel, GammaDiagonalChannel):
        return np.asarray(channel.domain.sizes, float)[channel.domain.groups]
    return np.zeros(len(channel.domain)) if channel.items_alike else None


def spaced(every: list[T], few: int = _FEW) -> list[T]:
    """A few of many, spread evenly over all of them."""
    if not every:
        return []
    places = np.unique(np.linspace(0, len(every) - 1, min(few, len(every))).astype(int))
    return [every[place] for place in places.tolist()]
