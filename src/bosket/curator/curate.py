"""The two calls of a curator: all itemsets above a limit, or the most frequent ones.

A release goes through four stages, each of which takes what the one before made:

    declared   arguments, vocabulary, neighbours        :mod:`bosket.curator.declared`
    paid       entries, and a composition for each      :mod:`bosket.curator.paid`
    measured   all looks at the records                 :mod:`bosket.curator.miner`
    released   selection, intervals, what was done      :mod:`bosket.curator.released`
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from bosket.budget.budgets import Budget
from bosket.checks import check_callable
from bosket.curator.declared import Declared, Request, declare
from bosket.curator.hopeless import check_hope
from bosket.curator.limit import KthSupport, ShareOfRecords
from bosket.curator.method import MethodOptions
from bosket.curator.miner import find_largest, look_first, mine_levels
from bosket.curator.noise import Composition
from bosket.curator.paid import EpsilonParts, pay
from bosket.curator.population.leaves import NO_LEAVES
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.release import Release
from bosket.curator.released import release
from bosket.curator.settings import Settings
from bosket.curator.sieve.curate import sieve
from bosket.curator.sieve.people import Persons
from bosket.curator.sieve.records import CuratedRecords
from bosket.curator.sieve.release import SieveRelease
from bosket.curator.sieve.settings import SieveSettings
from bosket.curator.truncation_release import TruncationRelease
from bosket.data import Baskets, Domain, Table
from bosket.engines import ForeignFrame, engine_of
from bosket.errors import telling_no_sizes
from bosket.progress import Progress

USUAL = Settings()


def mine(
    baskets: Baskets | Table | ForeignFrame,
    epsilon: float,
    min_support: float,
    *,
    delta: float = 0.0,
    method: str = "sieve",
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    max_size: int | None = None,
    persons: Persons | None = None,
    max_records_per_person: int | None = None,
    settings: Settings | SieveSettings | None = None,
    on_progress: Progress | None = None,
) -> Release:
    """Itemsets with a support of at least ``min_support``, under epsilon-differential privacy.

    baskets      baskets, or a table: its items are attribute=value, those of its declared domain; or a frame of Spark
                 with lists of items, or rows of record and item: then ``vocabulary`` must be given, the method is the
                 sieve without ``persons``, and no population is fitted (``SieveSettings(population=None)``)
    epsilon      all that this costs, every look at the data included: from 1e-6 to 1e6, or to 1e4 beside a delta
    delta        0 for pure differential privacy, or a small number such as 1e-6: (epsilon, delta), by Gaussian noise;
                 with the method "sieve" only
    method       "sieve": rounds over the itemsets that are undecided, with bounded contributions, or one fitted
                 population where records are dense; or "truncation" (Zeng, Naughton and Cai 2012)
    budget       where it is paid from, before the look; without one it is kept in memory, and forgotten
    vocabulary   the items that are asked about, which are public; all others are left out of the records, without a
                 word, since to say so would tell of one record.  Not needed where the domain was declared, which is
                 better: with ``Baskets(records, items=..., unknown="drop")``, and ``from_frame`` and ``read`` likewise,
                 no record can make an error, or decide how others are read, when the baskets are made
    neighbours   "add-remove" (the default, or what the budget says) or "replace"
    max_size     no itemset has more items, which leaves more of epsilon for those that are asked for
    persons      whose each record is, an id a record, where a person may have several: then all records of a person
                 are protected together; a number or a text, and records without one are left out.  With
                 ``max_records_per_person``, and the method "sieve" only
    max_records_per_person  of each person so many records are used at most, drawn at random; supports are shares of
                 the records used
    settings     what the curator decides without looking at the data: ``SieveSettings``, or ``Settings`` for truncation
    on_progress  called with a :class:`~bosket.progress.LevelProgress` as sizes of itemsets are begun; it has no count
                 and no time in it

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"]] * 4000 + [["beer"]] * 1000, items=["beer", "bread", "milk", "tea"])
    >>> release = bk.curator.mine(baskets, epsilon=1.0, min_support=0.1)
    >>> sorted(min(itemset) for itemset, _ in release if len(itemset) == 1)
    ['beer', 'bread', 'milk']
    """
    asked = _asked(baskets, method, delta, max_size, settings, persons, max_records_per_person)
    limit = ShareOfRecords(min_support)
    request = Request(limit, epsilon, budget, vocabulary, neighbours, asked.of_truncation, delta, *asked.people)
    if asked.is_truncation:
        return _curate(baskets, request, on_progress)
    return _sieve(baskets, request, asked.of_sieve, on_progress)


def top_k(
    baskets: Baskets | Table | ForeignFrame,
    epsilon: float,
    k: int,
    *,
    delta: float = 0.0,
    method: str = "sieve",
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    max_size: int | None = None,
    persons: Persons | None = None,
    max_records_per_person: int | None = None,
    settings: Settings | SieveSettings | None = None,
    on_progress: Progress | None = None,
) -> Release:
    """The k most frequent itemsets; parameters as of :func:`mine`.

    With the method "sieve" the limit follows from what each round tells (:mod:`bosket.curator.sieve.top`), and exactly
    k are released, unless there are fewer itemsets.

    With "truncation" three fifths of the k-th support, noisy, are the limit, and the best k of what reaches it are
    kept, fewer where noise leaves fewer.  It is the k-th of itemsets of up to four items that are likely frequent
    (:mod:`bosket.curator.pool`), and moves by at most one when one record comes or goes, since every support does.
    """
    asked = _asked(baskets, method, delta, max_size, settings, persons, max_records_per_person)
    limit = KthSupport(k)
    request = Request(limit, epsilon, budget, vocabulary, neighbours, asked.of_truncation, delta, *asked.people)
    if asked.is_truncation:
        return _curate(baskets, request, on_progress, most=k)
    return _sieve(baskets, request, asked.of_sieve, on_progress)


def _asked(baskets: object, *options: Any) -> MethodOptions:
    """The options, for records that are here or elsewhere."""
    asked = MethodOptions(*options)
    return asked if engine_of(baskets) is None else asked.elsewhere()


def _sieve(
    baskets: Baskets | Table | ForeignFrame, request: Request, settings: SieveSettings, on_progress: Progress | None
) -> SieveRelease:
    check_callable("on_progress", on_progress)
    with _telling_no_counts():
        declared = declare(baskets, request)
    _compiled_sieve()
    with _telling_no_counts(), closing(declared.data) if isinstance(declared.data, CuratedRecords) else nullcontext():
        return sieve(declared, request.limit, request.budget, settings, on_progress=on_progress)


def _curate(
    baskets: Baskets | Table | ForeignFrame, request: Request, on_progress: Progress | None, *, most: int | None = None
) -> TruncationRelease:
    """The four stages."""
    check_callable("on_progress", on_progress)
    with _telling_no_counts():
        declared = declare(baskets, request)
    _compiled()
    paid = pay(declared, request.budget)
    parts = paid.parts
    with _telling_no_counts(), paid.handing_back_counts():
        known = look_first(declared, parts, paid.first)
        check_hope(
            known.prepared, declared.data.n_items, parts.counts, per_person=declared.per_person, spent=parts.first
        )
        prepared = find_largest(declared, known, parts, paid.first)
    with _telling_no_counts():
        measured = mine_levels(declared, prepared, paid.counts, on_progress=on_progress)
    return release(declared, paid, measured, most=most)


def _telling_no_counts() -> AbstractContextManager[None]:
    """Sizes are the number of records, or of items in them."""
    return telling_no_sizes("curate these baskets")


@lru_cache(maxsize=1)
def _compiled() -> None:
    """Compile everything, and load OpenDP, before anything is paid: a release of six made-up records."""
    few = Baskets([[0, 1, 2, 3, 4, 5], *[[0, 1, 2]] * 5], items=range(6))
    settings = Settings(share_of_lengths=0.3, share_of_cardinality=0.3, longest=3, clear=0.0, extra=0, cap=3)
    declared = Declared(few, KthSupport(9), 3e3, settings)
    parts = EpsilonParts.of(declared)
    granted = Composition(parts.first)
    prepared = find_largest(declared, look_first(declared, parts, granted), parts, granted)
    mine_levels(declared, prepared, Composition(parts.counts))


@lru_cache(maxsize=1)
def _compiled_sieve() -> None:
    """The same for the sieve."""
    few = Baskets([[0, 1, 2, 3, 4, 5], *[[0, 1, 2]] * 5], items=range(6))
    for settings in (SieveSettings(), SieveSettings(population=PopulationSettings(dense=1.0))):
        sieve(Declared(few, ShareOfRecords(0.5), 3e3, USUAL), ShareOfRecords(0.5), None, settings)
    NO_LEAVES.of(np.zeros(1, np.uint64))  # six records are too few to be counted by leaf
