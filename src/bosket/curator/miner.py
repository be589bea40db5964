"""Frequent itemsets under differential privacy, from one declared epsilon (Zeng, Naughton and Cai 2012, Algorithm 3).

    lengths       how long records are, hence the cut; how many there are, hence the limit as a count
    ranking       which items are likely the most frequent, hence the itemsets that are looked at next
    cardinality   how large frequent itemsets get
    size 1, 2 ..  noisy counts of all items, then of candidates, in records cut to a few items: an equal share each

The third of four stages: it takes what was declared and what was paid, and every count it draws goes through the
composition that it is given.  What follows from noisy numbers costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from bosket.curator.cardinality import noisy_cardinality
from bosket.curator.declared import Declared
from bosket.curator.lengths import Lengths, noisy_lengths, noisy_number
from bosket.curator.levels import NoisyLevel, first_level, next_level, sensitivity
from bosket.curator.loss import kept_ratio
from bosket.curator.noise import Composition, scale_of
from bosket.curator.paid import EpsilonParts
from bosket.curator.pool import Pool
from bosket.curator.prepared import WITHIN, Prepared
from bosket.curator.settings import Settings as Settings
from bosket.curator.truncation import count_items, random_truncation
from bosket.data import Baskets
from bosket.errors import TooManyCandidatesError
from bosket.progress import LevelProgress, Progress

_OF_RANKING = 0.5  # of what is paid for the cardinality


@dataclass(frozen=True, eq=False)
class Known:
    """What the first looks leave: noisy numbers, and the pool, which is exact and is not let out."""

    prepared: Prepared
    pool: Pool


@dataclass(frozen=True)
class Measured:
    """All that was measured, noisy: the itemsets that were extended, by size."""

    prepared: Prepared
    levels: tuple[NoisyLevel, ...]
    stopped: int | None = None
    """The size of which there were too many candidates, if there was one."""


def parts(cardinality: float) -> tuple[float, float]:
    """What of the epsilon paid for the cardinality ranks items, and what is for comparisons."""
    return _OF_RANKING * cardinality, (1 - _OF_RANKING) * cardinality


def look_first(declared: Declared, paid: EpsilonParts, granted: Composition) -> Known:
    """The first looks: how long records are and how many, which items are likely frequent, the limit as a count.

    Work and memory follow from settings, vocabulary, records and what has been released.
    """
    data, settings, per_person = declared.baskets, declared.settings, declared.per_person
    lengths = _lengths(declared, granted, paid.lengths)
    max_size = lengths.cut(settings.whole)
    of_ranking, _ = parts(paid.cardinality)
    pool = ranked_pool(data, max_size, lengths.total, granted=granted, epsilon=of_ranking, per_person=per_person)
    min_count = declared.limit.count(lengths, pool, granted=granted, epsilon=paid.limit)
    return Known(Prepared(lengths, max(1.0, min_count), 1, 1, max_size), pool)


def _lengths(declared: Declared, granted: Composition, epsilon: float) -> Lengths:
    """How many records there are and, where that is not public, how long they are."""
    data = declared.baskets
    if declared.length is not None:
        return noisy_number(data.n_records, declared.length, granted=granted, epsilon=epsilon)
    return noisy_lengths(
        data.sizes,
        granted=granted,
        epsilon=epsilon,
        longest=min(declared.settings.longest, declared.longest),
        most=declared.longest,
        per_person=declared.per_person,
    )


def find_largest(declared: Declared, known: Known, paid: EpsilonParts, granted: Composition) -> Prepared:
    """How large frequent itemsets get, up to the sizes that the noise of their counts would not drown."""
    prepared = known.prepared
    cap = cap_of(declared, prepared, epsilon=paid.counts)
    _, of_comparisons = parts(paid.cardinality)
    largest = noisy_cardinality(known.pool.largest, cap, prepared.min_count, granted=granted, epsilon=of_comparisons)
    most = sizes_clear(declared, prepared, epsilon=paid.counts)
    return replace(prepared, largest=max(1, min(largest, most)), cap=cap)


def ranked_pool(
    baskets: Baskets, max_size: int, n_records: int, *, granted: Composition, epsilon: float, per_person: int
) -> Pool:
    """The items by their noisy supports in records that were cut at random, all of which is paid for."""
    kappa = sensitivity(max_size, 1, baskets.n_items, per_person)
    counts = count_items(random_truncation(baskets, max_size))
    supports = granted.noisy(counts, epsilon=epsilon, sensitivity=kappa)
    return Pool(baskets, np.argsort(-supports, kind="stable").astype(np.int32), n_records)


def sizes_clear(declared: Declared, prepared: Prepared, *, epsilon: float) -> int:
    """How many sizes can share epsilon so that the limit is not within the noise of single items."""
    kappa = sensitivity(prepared.max_size, 1, declared.data.n_items, declared.per_person)
    left = kept_ratio(prepared.lengths.weights, 1, prepared.max_size, by_length=True)
    return int(prepared.min_count * left / (WITHIN * scale_of(epsilon, kappa)))


def cap_of(declared: Declared, prepared: Prepared, *, epsilon: float) -> int:
    """The most sizes that can be counted, at an equal share of epsilon each, so that noise leaves something of all."""
    settings, n_items = declared.settings, declared.data.n_items
    for number in range(min(settings.cap, declared.longest), 1, -1):
        most = min(comb(_kept_items(number, prepared, declared), number), comb(n_items, number))
        if prepared.min_count * epsilon >= settings.clear * number * declared.per_person * most:
            return number
    return 1


def _kept_items(size: int, prepared: Prepared, declared: Declared) -> int:
    """What records are cut to when itemsets of this size are counted: no more than they can have anyway."""
    settings = declared.settings
    is_smart = size > 1 and settings.heuristics.smart
    return min(size + settings.extra, declared.longest) if is_smart else prepared.max_size


def mine_levels(
    declared: Declared, prepared: Prepared, granted: Composition, *, on_progress: Progress | None = None
) -> Measured:
    """One size after another, for all that was granted, an equal share for each size.

    Which of the itemsets are frequent is decided by their average.
    """
    settings, heuristics = declared.settings, declared.settings.heuristics
    each, per_person = granted.epsilon / prepared.largest, declared.per_person
    short = random_truncation(declared.baskets, prepared.max_size)
    _tell(on_progress, 1, 0.0)
    level = first_level(
        short, prepared.lengths, prepared.max_size,
        granted=granted, epsilon=each, per_person=per_person, heuristics=heuristics,
    )  # fmt: skip
    levels = [_extended(level, prepared.min_count)]
    _tell(on_progress, 1, 1.0)
    stopped = None
    for size in range(2, prepared.largest + 1):
        max_size = _kept_items(size, prepared, declared)
        if not len(levels[-1].items) or max_size < size:
            break
        _tell(on_progress, size, 0.0)
        try:
            found = next_level(
                declared.baskets if heuristics.smart else short,
                levels[-1],
                prepared.lengths,
                max_size,
                granted=granted,
                epsilon=each,
                per_person=per_person,
                heuristics=heuristics,
                max_candidates=settings.max_candidates,
                groups=None if declared.length is None else declared.domain.groups,
            )
        except TooManyCandidatesError:  # their number follows from noisy counts: it may be told
            stopped = size
            break
        _tell(on_progress, size, 1.0)
        if found is None:
            break
        levels.append(_extended(found, prepared.min_count))
    return Measured(prepared, tuple(levels), stopped)


def _tell(on_progress: Progress | None, size: int, done: float) -> None:
    """Which size is at work; never a count, nor how long anything took, which would tell of the data."""
    if on_progress is not None:
        on_progress(LevelProgress(size, done, 1.0, "counting"))


def _extended(level: NoisyLevel, min_count: float) -> NoisyLevel:
    """The itemsets whose largest likely support reaches the limit."""
    return level.take(level.maximal >= min_count)
