"""The variance that one person's report brings to a support, for any mechanism, before anybody answers.

With v(t) the variance of the weight of a report of record t, N people give a support the variance

    sum over people of v(t) / N^2

which depends on how many of an itemset's k items each record has.  That must be guessed: items of an itemset are taken
for independent and equally frequent, as Evfimievski et al. (2004) take them in section 5.1, so that l of them are there
with probability C(k, l) f^l (1 - f)^(k - l), f = s^(1/k).  Answers to questions about a table need no such guess: their
errors depend on the support alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.errors import ParameterError, SingularChannelError
from bosket.mechanisms import Channel, ExchangeableChannel, RecordChannel
from bosket.mechanisms.cut import StatingChannel
from bosket.mechanisms.mixing import MixingChannel
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.foreseen import variances_by_share
from bosket.planning.laws import SizeShares, united_law
from bosket.planning.overlaps import (
    has_closed_form,
    overlap_law,
    possible_law,
    typical_itemsets,
    variances_by_overlap,
)
from bosket.statistics.estimates import Floats
from bosket.statistics.roots import root

_LEAST = 1e-15
_LONGEST = 6  # items of itemsets whose patterns are gone through, where there is no closed form


@dataclass(frozen=True)
class Spread:
    """The variance that a person brings to the support of an itemset of ``size`` items, typical of all of them."""

    size: int
    by_support: Callable[[float], float]
    able: float = 1.0
    """The share of records that can hold so many items."""
    kept: float = 1.0
    """The share of a support that is left where long records are cut before anything is told."""
    is_bound: bool = False
    """Whether this is the most that any records can bring, for want of a closer answer."""

    def at(self, support: float) -> float:
        """The variance where a share ``support`` of all people has the itemset."""
        return max(0.0, self.by_support(min(1.0, support * self.kept)))


def spread(channel: Channel, k: int, *, sizes: SizeShares | None = None, people: int = 10**6) -> Spread | None:
    """What a person brings to supports of k items; None where the reports do not tell of any.

    ``sizes`` are shares of records by size, which matter where reports state them or where long records are cut;
    ``people`` matters to :class:`~bosket.Mixing` alone, whose estimates are not linear.
    """
    if k > len(channel.domain):
        return None
    try:
        return _spread(channel, k, sizes, people)
    except SingularChannelError:
        return None


def _spread(channel: Channel, k: int, sizes: SizeShares | None, people: int) -> Spread | None:
    if isinstance(channel, AskChannel):
        known = variances_by_share(channel, k) if channel.recovers(k, ()) else None
        return None if known is None else Spread(k, lambda support: float(known[0].at(support) @ known[1]))
    if isinstance(channel, BasketChannel):
        return _of_baskets(channel, k, sizes)
    if isinstance(channel, MixingChannel):
        return Spread(k, lambda support: _of_mixing(channel, k, support, people))
    cuts = isinstance(channel, StatingChannel)  # of records that are cut and state their size bounds are known
    if isinstance(channel, RecordChannel) and not cuts and (k <= _LONGEST or has_closed_form(channel)):
        return _of_records(channel, k, sizes)
    found = channel.accuracy(k, None if sizes is None else max(sizes))
    return None if found is None else Spread(k, lambda _: found.most, is_bound=True)


def _of_baskets(channel: BasketChannel, k: int, sizes: SizeShares | None) -> Spread | None:
    """A basket that holds the key shows it with p, any other with q; one that is cut may lose it first."""
    if k not in channel.sizes:
        return None
    told = channel.response
    lacking, having = (r * (1 - r) / told.slope**2 for r in (told.q, told.p))
    kept = 1.0
    if sizes is not None and channel.candidates is None:
        mean = sum(size * share for size, share in sizes.items())
        kept = sum(min(size, told.length) * share for size, share in sizes.items()) / mean if mean else 1.0
    return Spread(k, lambda support: lacking + (having - lacking) * support, kept=kept)


def _of_records(channel: RecordChannel, k: int, sizes: SizeShares | None) -> Spread | None:
    """By the number of the k items that a record has, and by its size where reports state it."""
    strata = strata_of(channel, sizes)
    able = sum(share for size, share in strata.items() if size is None or size >= k)
    itemsets = typical_itemsets(channel, k)
    if not able or not itemsets:
        return None
    found: list[tuple[float, Floats, range]] = []
    for size, share in strata.items():
        if size is None or size >= k:
            by_overlap = variances_by_overlap(channel, itemsets, None if size is None else channel.stratum_of(size))
            if by_overlap is None:
                return None
            possible = range(k + 1)
            if isinstance(channel, ExchangeableChannel) and size is not None:
                possible = channel.possible(k, size)
            found.append((share, by_overlap, possible))

    def variance(support: float) -> float:
        law = overlap_law(k, support / able)
        return math.fsum(
            share * float(possible_law(law, possible) @ by_overlap) for share, by_overlap, possible in found
        )

    return Spread(k, variance, able=able)


def strata_of(channel: Channel, sizes: SizeShares | None) -> dict[int | None, float]:
    """Shares of people by the size of their record; one share of all where reports do not depend on it."""
    if not isinstance(channel, ExchangeableChannel):
        return {None: 1.0}
    groups = channel.domain.groups
    if groups is not None:
        return {int(groups[-1]) + 1: 1.0}
    if sizes is None:
        raise ParameterError(
            "The 'sizes' parameter must be given where reports state the size of their record: {3: 0.5, 4: 0.5}.",
            parameter="sizes",
            value=None,
            hint="planning.geometric_sizes(mean) makes one from a mean.",
        )
    for size in sizes:
        if not channel.takes(size):
            raise ParameterError(
                f"The 'mechanism' parameter must take records of {size} items, and it does not.",
                parameter="mechanism",
                value=size,
            )
    return {size: share for size, share in sizes.items()}  # noqa: C416  # a dict of wider keys


def _of_mixing(channel: MixingChannel, k: int, support: float, people: int) -> float:
    """The variance of the linearised estimate where reports are as many as expected of each pattern."""
    ones = np.bitwise_count(np.arange(1 << k))
    truth = (overlap_law(k, support) / np.bincount(ones))[ones]
    law = united_law(truth, channel.united, channel.keep)
    itemset: ItemsetRows = np.arange(k, dtype=np.int32)[None, :]
    weights = channel.weights(itemset, None, np.rint(law * people * 2.0**20).astype(np.int64)[None, :])[0]
    return float(law @ weights**2) - (channel.own * support + (1 - channel.own) * support**2)


def lowest(found: Spread, *, people: int, sigmas: float) -> float:
    """The support that lies so many of its own standard errors above zero."""

    def excess(support: float) -> float:
        return support * found.kept - sigmas * math.sqrt(found.at(support) / people)

    if excess(_LEAST) > 0:
        return 0.0  # there is no noise: any support can be distinguished from zero
    high = found.able
    if excess(high) <= 0:  # the errors of Mixing grow without bound towards a support of 1
        seen = (share for share in (found.able * 0.8**step for step in range(60, 0, -1)) if excess(share) > 0)
        high = next(seen, 0.0)
        if not high:
            return math.inf
    return root(excess, _LEAST, high, xtol=1e-15)
