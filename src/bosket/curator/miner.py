"""Frequent itemsets under differential privacy, from one declared epsilon (Zeng, Naughton and Cai 2012, Algorithm 3).

    lengths       how long records are, hence the cut; how many there are, hence the limit as a count
    ranking       which items are likely the most frequent, hence the itemsets that are looked at next
    cardinality   how large frequent itemsets get
    size 1, 2 ..  noisy counts of all items, then of candidates, in records cut to a few items: an equal share each

Everything that looks at records is paid for before it does; what follows from noisy numbers costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np

from bosket.checks import check_fraction, check_integer, check_not_negative
from bosket.curator.cardinality import noisy_cardinality
from bosket.curator.lengths import Lengths, noisy_lengths
from bosket.curator.levels import Heuristics, NoisyLevel, first_level, next_level, sensitivity
from bosket.curator.loss import kept_ratio
from bosket.curator.noise import noisy, scale_of
from bosket.curator.pool import Pool
from bosket.curator.truncation import count_items, random_truncation
from bosket.data import Baskets
from bosket.errors import ParameterError, TooManyCandidatesError

_MOST = 0.9  # of epsilon, for the first looks
_LEAST = 1e-3  # of epsilon, for each of them: less would tell nothing
_OF_RANKING = 0.5  # of what is paid for the cardinality
WITHIN = 3.0  # scales of the noise: a limit below that is within it


@dataclass(frozen=True)
class Settings:
    """What the curator decides without looking at the data."""

    share_of_lengths: float = 0.05
    share_of_cardinality: float = 0.1
    """Half of it ranks the items, half finds how large frequent itemsets get."""
    whole: float = 0.85
    """The share of records that the first cut should leave whole."""
    longest: int = 100
    """Lengths up to this are told apart, longer ones by powers of two."""
    cap: int = 15
    """Frequent itemsets are taken to have no more items."""
    extra: int = 3
    """Records are cut to i + extra items when itemsets of i items are counted (psi of Algorithm 3), i >= 2.

    Set once, on public benchmark files, as was the correction of the heuristics; 1 and a full correction are nearer to
    the paper (``AS_PUBLISHED``)."""
    heuristics: Heuristics = field(default_factory=Heuristics)
    false_share: float | None = 0.1
    """Of the itemsets of one size that are reported, this share at most is expected to be noise alone; None: any.

    By the noisy counts of all candidates (Benjamini and Hochberg 1995): many candidates need a higher count."""
    clear: float = 4.0
    """Sizes at which the scale of the noise is above the limit over this are not counted, and cost nothing.

    0: all sizes up to the largest."""
    max_candidates: int = 2_000_000

    def __post_init__(self) -> None:
        for name in ("share_of_lengths", "share_of_cardinality"):
            check_fraction(name, getattr(self, name), of="Settings")
            if getattr(self, name) < _LEAST:
                raise ParameterError(
                    f"The '{name}' parameter of Settings must be at least {_LEAST:g}, got {getattr(self, name):g}.",
                    parameter=name,
                    value=getattr(self, name),
                )
        if self.share_of_lengths + self.share_of_cardinality > _MOST:
            raise ParameterError(
                f"The 'share_of_lengths' parameter of Settings must leave something for the counts: at most {_MOST:g} "
                f"together with 'share_of_cardinality', got {self.share_of_lengths + self.share_of_cardinality:g}.",
                parameter="share_of_lengths",
                value=self.share_of_lengths,
            )
        check_fraction("whole", self.whole, of="Settings")
        check_integer("longest", self.longest, least=1, of="Settings")
        check_integer("cap", self.cap, least=1, of="Settings")
        check_integer("extra", self.extra, least=0, of="Settings")
        check_not_negative("clear", self.clear, of="Settings")
        if self.false_share is not None:
            check_fraction("false_share", self.false_share, of="Settings")
        check_integer("max_candidates", self.max_candidates, least=1, of="Settings")


AS_PUBLISHED = Settings(extra=1, heuristics=Heuristics(correction=1.0, by_length=False), false_share=None, clear=0.0)
NAIVE = Settings(heuristics=Heuristics(smart=False, double_standards=False), false_share=None, clear=0.0)
"""Section 5.2: records cut at random once, one limit for everything."""


@dataclass(frozen=True)
class Plan:
    """What was found out first: the lengths, the limit as a count, and how large frequent itemsets get."""

    lengths: Lengths
    min_count: float
    largest: int
    cap: int
    """No larger itemsets were looked for: their noise would have drowned them."""
    max_size: int
    """What records are cut to when single items are counted."""


Limit = Callable[[Lengths, Pool], float]
"""The limit as a count, from what has been released, or with noise that was paid for from the pool."""


def parts(cardinality: float) -> tuple[float, float]:
    """What of the epsilon paid for the cardinality ranks items, and what is for comparisons."""
    return _OF_RANKING * cardinality, (1 - _OF_RANKING) * cardinality


def prepare(
    baskets: Baskets,
    limit: Limit,
    *,
    lengths: float,
    cardinality: float,
    counts: float,
    settings: Settings,
    per_person: int,
    check: Callable[[Plan], object] = lambda plan: None,
) -> Plan:
    """The first looks at the data, for so much epsilon each; ``check`` may refuse to go on after the lengths.

    ``counts`` is what will be there for the counts: sizes of itemsets that their noise would drown then are not looked
    for now.  Work and memory follow from settings, vocabulary, records and what has been released.
    """
    longest = min(settings.longest, baskets.n_items)  # no record has more than there are
    found = noisy_lengths(baskets.sizes, epsilon=lengths, longest=longest, most=baskets.n_items, per_person=per_person)
    of_ranking, of_comparisons = parts(cardinality)
    max_size = found.cut(settings.whole)
    pool = ranked_pool(baskets, max_size, found.total, epsilon=of_ranking, per_person=per_person)
    plan = Plan(found, max(1.0, limit(found, pool)), 1, 1, max_size)
    check(plan)
    cap = cap_of(plan, baskets.n_items, epsilon=counts, settings=settings, per_person=per_person)
    largest = noisy_cardinality(pool.largest, cap, plan.min_count, epsilon=of_comparisons)
    most = sizes_clear(plan, baskets.n_items, epsilon=counts, per_person=per_person)
    return replace(plan, largest=max(1, min(largest, most)), cap=cap)


def ranked_pool(baskets: Baskets, max_size: int, n_records: int, *, epsilon: float, per_person: int) -> Pool:
    """The items by their noisy supports in records that were cut at random, all of which is paid for."""
    kappa = sensitivity(max_size, 1, baskets.n_items, per_person)
    supports = noisy(count_items(random_truncation(baskets, max_size)), epsilon=epsilon, sensitivity=kappa)
    return Pool(baskets, np.argsort(-supports, kind="stable").astype(np.int32), n_records)


def sizes_clear(plan: Plan, n_items: int, *, epsilon: float, per_person: int) -> int:
    """How many sizes can share epsilon so that the limit is not within the noise of single items."""
    kappa = sensitivity(plan.max_size, 1, n_items, per_person)
    left = kept_ratio(plan.lengths.weights, 1, plan.max_size, by_length=True)
    return int(plan.min_count * left / (WITHIN * scale_of(epsilon, kappa)))


def cap_of(plan: Plan, n_items: int, *, epsilon: float, settings: Settings, per_person: int) -> int:
    """The most sizes that can be counted, at an equal share of epsilon each, so that noise leaves something of all."""
    for number in range(min(settings.cap, n_items), 1, -1):
        most = min(comb(_kept_items(number, plan, settings), number), comb(n_items, number))
        if plan.min_count * epsilon >= settings.clear * number * per_person * most:
            return number
    return 1


def _kept_items(size: int, plan: Plan, settings: Settings) -> int:
    """What records are cut to when itemsets of this size are counted."""
    return size + settings.extra if size > 1 and settings.heuristics.smart else plan.max_size


def mine_levels(
    baskets: Baskets,
    plan: Plan,
    *,
    epsilon: float,
    settings: Settings,
    per_person: int,
    on_level: Callable[[int, int], None] = lambda size, largest: None,
) -> tuple[list[NoisyLevel], int | None]:
    """The itemsets that were extended, by size, for so much epsilon in all, an equal share for each size; and the size
    of which there were too many candidates, if there was one.

    ``per_person`` records at most differ between neighbours: 1, or 2 where one is exchanged.  Which itemsets are
    frequent is decided by their average.
    """
    each = epsilon / plan.largest
    heuristics = settings.heuristics
    short = random_truncation(baskets, plan.max_size)
    on_level(1, plan.largest)
    level = first_level(short, plan.lengths, plan.max_size, epsilon=each, per_person=per_person, heuristics=heuristics)
    levels = [_extended(level, plan.min_count)]
    for size in range(2, plan.largest + 1):
        if not len(levels[-1].items):
            break
        max_size = _kept_items(size, plan, settings)
        if max_size < size:
            break
        on_level(size, plan.largest)
        try:
            found = next_level(
                baskets if heuristics.smart else short,
                levels[-1],
                plan.lengths,
                max_size,
                epsilon=each,
                per_person=per_person,
                heuristics=heuristics,
                max_candidates=settings.max_candidates,
            )
        except TooManyCandidatesError:  # their number follows from noisy counts: it may be told
            return levels, size
        if found is None:
            break
        levels.append(_extended(found, plan.min_count))
    return levels, None


def _extended(level: NoisyLevel, min_count: float) -> NoisyLevel:
    """The itemsets whose largest likely support reaches the limit."""
    return level.take(level.maximal >= min_count)
