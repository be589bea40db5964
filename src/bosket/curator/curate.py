"""The two calls of a curator: all itemsets above a limit, or the most frequent ones.

A release goes through four stages, each of which takes what the one before made:

    declared   arguments, vocabulary, neighbours        :mod:`bosket.curator.declared`
    paid       entries, and a composition for each      :mod:`bosket.curator.paid`
    measured   all looks at the records                 :mod:`bosket.curator.miner`
    released   selection, intervals, what was done      :mod:`bosket.curator.released`
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache

from bosket.budget.budgets import Budget
from bosket.curator.declared import Declared, Request, declare
from bosket.curator.hopeless import check_hope
from bosket.curator.limit import KthSupport, ShareOfRecords
from bosket.curator.miner import find_largest, look_first, mine_levels
from bosket.curator.noise import Composition
from bosket.curator.paid import EpsilonParts, pay
from bosket.curator.release import Release
from bosket.curator.released import release
from bosket.curator.settings import Settings
from bosket.data import Baskets, Domain, Table
from bosket.errors import telling_no_sizes
from bosket.progress import Progress

USUAL = Settings()


def mine(
    baskets: Baskets | Table,
    epsilon: float,
    min_support: float,
    *,
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    settings: Settings = USUAL,
    on_progress: Progress | None = None,
) -> Release:
    """Itemsets with a support of at least ``min_support``, under epsilon-differential privacy.

    baskets      baskets, or a table: its items are attribute=value, those of its declared domain
    epsilon      all that this costs, every look at the data included
    budget       where it is paid from, before the look; without one it is kept in memory, and forgotten
    vocabulary   the items that are asked about, which are public; all others are left out of the records, without a
                 word, since to say so would tell of one record.  Not needed where the domain was declared, which is
                 better: with ``Baskets(records, items=..., unknown="drop")``, and ``from_frame`` and ``read`` likewise,
                 no record can make an error, or decide how others are read, when the baskets are made
    neighbours   "add-remove" (the default, or what the budget says) or "replace"
    settings     what the curator decides without looking at the data
    on_progress  called with a :class:`~bosket.progress.LevelProgress` as sizes of itemsets are begun; it has no count
                 and no time in it

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"]] * 4000 + [["beer"]] * 1000, items=["beer", "bread", "milk", "tea"])
    >>> release = bk.curator.mine(baskets, epsilon=1.0, min_support=0.1)
    >>> sorted(min(itemset) for itemset, _ in release if len(itemset) == 1)
    ['beer', 'bread', 'milk']
    """
    request = Request(ShareOfRecords(min_support), epsilon, budget, vocabulary, neighbours, settings)
    return _curate(baskets, request, on_progress)


def top_k(
    baskets: Baskets | Table,
    epsilon: float,
    k: int,
    *,
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    settings: Settings = USUAL,
    on_progress: Progress | None = None,
) -> Release:
    """The k itemsets with the highest estimates, fewer where noise leaves fewer; parameters as of :func:`mine`.

    Three fifths of the k-th support, noisy, are the limit, and the best k of what reaches it are kept.  It is the k-th
    of itemsets of up to four items that are likely frequent (:mod:`bosket.curator.pool`), and moves by at most one when
    one record comes or goes, since every support does.
    """
    request = Request(KthSupport(k), epsilon, budget, vocabulary, neighbours, settings)
    return _curate(baskets, request, on_progress, most=k)


def _curate(
    baskets: Baskets | Table, request: Request, on_progress: Progress | None, *, most: int | None = None
) -> Release:
    """The four stages."""
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
