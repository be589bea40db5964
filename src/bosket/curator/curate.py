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
from typing import TypeVar

from bosket.budget.budgets import Budget
from bosket.checks import check_choice, check_not_negative
from bosket.curator.declared import Declared, Request, declare
from bosket.curator.hopeless import check_hope
from bosket.curator.limit import KthSupport, ShareOfRecords
from bosket.curator.miner import find_largest, look_first, mine_levels
from bosket.curator.noise import Composition
from bosket.curator.paid import EpsilonParts, pay
from bosket.curator.release import Release
from bosket.curator.released import release
from bosket.curator.settings import Settings
from bosket.curator.sieve.curate import sieve
from bosket.curator.sieve.settings import SieveSettings
from bosket.curator.truncation_release import TruncationRelease
from bosket.data import Baskets, Domain, Table
from bosket.errors import ParameterError, telling_no_sizes
from bosket.progress import Progress

Kind = TypeVar("Kind", Settings, SieveSettings)
USUAL = Settings()
METHODS = {
    "truncation": "one size after another, in records that are cut (Zeng, Naughton and Cai 2012)",
    "sieve": "rounds over itemsets that are undecided, with bounded contributions",
}


def mine(
    baskets: Baskets | Table,
    epsilon: float,
    min_support: float,
    *,
    delta: float = 0.0,
    method: str = "truncation",
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    settings: Settings | SieveSettings | None = None,
    on_progress: Progress | None = None,
) -> Release:
    """Itemsets with a support of at least ``min_support``, under epsilon-differential privacy.

    baskets      baskets, or a table: its items are attribute=value, those of its declared domain
    epsilon      all that this costs, every look at the data included
    delta        0 for pure differential privacy, or a small number such as 1e-6: (epsilon, delta), by Gaussian noise;
                 with the method "sieve" only
    method       "truncation" (Zeng, Naughton and Cai 2012), or "sieve": rounds over the itemsets that are undecided,
                 with bounded contributions, better on sparse data, long records included, and not made for dense data
    budget       where it is paid from, before the look; without one it is kept in memory, and forgotten
    vocabulary   the items that are asked about, which are public; all others are left out of the records, without a
                 word, since to say so would tell of one record.  Not needed where the domain was declared, which is
                 better: with ``Baskets(records, items=..., unknown="drop")``, and ``from_frame`` and ``read`` likewise,
                 no record can make an error, or decide how others are read, when the baskets are made
    neighbours   "add-remove" (the default, or what the budget says) or "replace"
    settings     what the curator decides without looking at the data: ``Settings``, or ``SieveSettings`` for the sieve
    on_progress  called with a :class:`~bosket.progress.LevelProgress` as sizes of itemsets are begun; it has no count
                 and no time in it

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"]] * 4000 + [["beer"]] * 1000, items=["beer", "bread", "milk", "tea"])
    >>> release = bk.curator.mine(baskets, epsilon=1.0, min_support=0.1)
    >>> sorted(min(itemset) for itemset, _ in release if len(itemset) == 1)
    ['beer', 'bread', 'milk']
    """
    limit = ShareOfRecords(min_support)
    if check_choice("method", method, METHODS) == "truncation":
        known = _settings(settings, Settings, method)
        if check_not_negative("delta", delta):
            raise ParameterError(
                f"The 'delta' parameter must be 0 for the method 'truncation', got {delta:g}.",
                parameter="delta",
                value=delta,
                hint="method='sieve' takes one.",
            )
        return _curate(baskets, Request(limit, epsilon, budget, vocabulary, neighbours, known), on_progress)
    request = Request(limit, epsilon, budget, vocabulary, neighbours, USUAL, delta)
    chosen = _settings(settings, SieveSettings, method)
    with _telling_no_counts():
        declared = declare(baskets, request)
    _compiled_sieve()
    with _telling_no_counts():
        return sieve(declared, limit, budget, chosen, on_progress=on_progress)


def _settings(settings: Settings | SieveSettings | None, kind: type[Kind], method: str) -> Kind:
    """The settings of a method, the usual ones where none are given."""
    if settings is None:
        return kind()
    if isinstance(settings, kind):
        return settings
    raise ParameterError(
        f"The 'settings' parameter must be {kind.__name__} for the method {method!r}.",
        parameter="settings",
        value=settings,
    )


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
) -> TruncationRelease:
    """The k itemsets with the highest estimates, fewer where noise leaves fewer; parameters as of :func:`mine`.

    Three fifths of the k-th support, noisy, are the limit, and the best k of what reaches it are kept.  It is the k-th
    of itemsets of up to four items that are likely frequent (:mod:`bosket.curator.pool`), and moves by at most one when
    one record comes or goes, since every support does.
    """
    request = Request(KthSupport(k), epsilon, budget, vocabulary, neighbours, settings)
    return _curate(baskets, request, on_progress, most=k)


def _curate(
    baskets: Baskets | Table, request: Request, on_progress: Progress | None, *, most: int | None = None
) -> TruncationRelease:
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


@lru_cache(maxsize=1)
def _compiled_sieve() -> None:
    """The same for the sieve."""
    few = Baskets([[0, 1, 2, 3, 4, 5], *[[0, 1, 2]] * 5], items=range(6))
    sieve(Declared(few, ShareOfRecords(0.5), 3e3, USUAL), ShareOfRecords(0.5), None, SieveSettings())
