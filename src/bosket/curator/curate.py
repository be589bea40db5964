"""The two calls of a curator: all itemsets above a limit, or the most frequent ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from bosket._version import __version__
from bosket.budget.accounts import NEIGHBOURS
from bosket.budget.budgets import Budget
from bosket.checks import check_choice, check_fraction, check_integer, check_positive
from bosket.curator.cardinality import kth_support
from bosket.curator.discoveries import closed, told_from_noise
from bosket.curator.hopeless import HopelessError, check_hope, scale_of_total
from bosket.curator.lengths import Lengths, parts
from bosket.curator.levels import NoisyLevel
from bosket.curator.miner import Limit, Plan, Settings, mine_levels, prepare
from bosket.curator.miner import parts as parts_of_cardinality
from bosket.curator.noise import composed, noisy
from bosket.curator.pool import Pool
from bosket.curator.release import Release
from bosket.curator.vocabulary import declared
from bosket.data import Baskets, Domain
from bosket.errors import ParameterError

USUAL = Settings()
PER_PERSON = {"add-remove": 1, "replace": 2}
"""Records that differ between neighbours: one is there or not, or one is taken out and another put in."""

_SHARE_OF_LIMIT = 0.05  # for the k-th support
_BELOW = 0.6  # of the noisy k-th support: estimates scatter, and of what is found the best k are kept
_A_HAIR_LESS = 1 - 1e-12  # the parts are rounded
_LEAST = 1e-6  # less than this tells nothing of any data set there is


def mine(
    baskets: Baskets,
    epsilon: float,
    min_support: float,
    *,
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    settings: Settings = USUAL,
    on_progress: Callable[[int, int], None] | None = None,
) -> Release:
    """Itemsets with a support of at least ``min_support``, under epsilon-differential privacy.

    epsilon      all that this costs, every look at the data included
    budget       where it is paid from, before the look; without one it is kept in memory, and forgotten
    vocabulary   the items that are asked about, which are public; all others are left out of the records, without a
                 word, since to say so would tell of one record.  Not needed where the domain was declared, which is
                 better: with ``Baskets(records, items=..., unknown="drop")``, and ``from_frame`` and ``read`` likewise,
                 no record can make an error, or decide how others are read, when the baskets are made
    neighbours   "add-remove" (the default, or what the budget says) or "replace"
    settings     what the curator decides without looking at the data
    on_progress  called with the size of itemsets at work and the largest

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"]] * 4000 + [["beer"]] * 1000, items=["beer", "bread", "milk", "tea"])
    >>> release = bk.curator.mine(baskets, epsilon=1.0, min_support=0.1)
    >>> sorted(min(itemset) for itemset, _ in release if len(itemset) == 1)
    ['beer', 'bread', 'milk']
    """
    share = check_fraction("min_support", min_support)
    return _curate(
        baskets,
        lambda lengths, pool: share * max(lengths.total, 1),
        epsilon=epsilon,
        budget=budget,
        vocabulary=vocabulary,
        neighbours=neighbours,
        settings=settings,
        on_progress=on_progress,
        asked={"min_support": share},
    )


def top_k(
    baskets: Baskets,
    epsilon: float,
    k: int,
    *,
    budget: Budget | None = None,
    vocabulary: Domain | Iterable[Hashable] | None = None,
    neighbours: str | None = None,
    settings: Settings = USUAL,
    on_progress: Callable[[int, int], None] | None = None,
) -> Release:
    """The k itemsets with the highest estimates, fewer where noise leaves fewer; parameters as of :func:`mine`.

    Three fifths of the k-th support, noisy, are the limit, and the best k of what reaches it are kept.  It is the k-th
    of itemsets of up to four items that are likely frequent (:mod:`bosket.curator.pool`), and moves by at most one when
    one record comes or goes, since every support does.
    """
    number = check_integer("k", k, least=1)
    epsilon = _check_epsilon(epsilon)

    def limit(lengths: Lengths, pool: Pool) -> float:
        kth = kth_support(pool, number)
        found = noisy(np.array([kth]), epsilon=epsilon * _SHARE_OF_LIMIT * _A_HAIR_LESS, sensitivity=1)
        return _BELOW * float(found[0])

    release = _curate(
        baskets,
        limit,
        epsilon=epsilon,
        budget=budget,
        vocabulary=vocabulary,
        neighbours=neighbours,
        settings=settings,
        on_progress=on_progress,
        asked={"k": number},
        of_limit=_SHARE_OF_LIMIT,
    )
    return Release(release.domain, release.plan, _best(release.levels, number), release.about)


def _best(levels: tuple[NoisyLevel, ...], k: int) -> tuple[NoisyLevel, ...]:
    values = np.concatenate([np.empty(0), *(level.average for level in levels)])
    if len(values) <= k:
        return levels
    chosen = np.zeros(len(values), bool)
    chosen[np.argsort(-values, kind="stable")[:k]] = True
    edges = np.cumsum([0, *(len(level.items) for level in levels)])
    return tuple(level.take(chosen[a:b]) for level, a, b in zip(levels, edges[:-1], edges[1:], strict=True))


def _curate(
    baskets: Baskets,
    limit: Limit,
    *,
    epsilon: float,
    budget: Budget | None,
    vocabulary: Domain | Iterable[Hashable] | None,
    neighbours: str | None,
    settings: Settings,
    on_progress: Callable[[int, int], None] | None,
    asked: dict[str, Any],
    of_limit: float = 0.0,
) -> Release:
    epsilon = _check_epsilon(epsilon)
    if not isinstance(settings, Settings):
        raise ParameterError("The 'settings' parameter must be Settings.", parameter="settings", value=settings)
    if budget is not None and not isinstance(budget, Budget):
        raise ParameterError(
            "The 'budget' parameter must be a Budget.",
            parameter="budget",
            value=budget,
            hint="Budget.open(path, name) opens one, Budget.in_memory(epsilon) makes one for a trial.",
        )
    with _telling_no_counts():
        data = declared(baskets, vocabulary)
    budget = Budget.in_memory(epsilon, neighbours=neighbours or "add-remove") if budget is None else budget
    relation = check_choice("neighbours", neighbours or budget.neighbours, NEIGHBOURS)
    if relation != budget.neighbours:
        raise ParameterError(
            f"The 'neighbours' parameter must be that of the budget, {budget.neighbours}, got {relation}.",
            parameter="neighbours",
            value=relation,
        )
    _compiled()
    per_person = PER_PERSON[relation]
    share = _written(settings.share_of_lengths + settings.share_of_cardinality + of_limit)
    first, rest = _split(epsilon, share)
    what = ", ".join(f"{name} {value:g}" for name, value in asked.items())
    # All is paid before the first look, at one time: digests are published, and must not tell how long a look took.
    entries = budget.spend_together(
        [(first, f"curate ({what}): lengths, limit and largest itemsets"), (rest, f"curate ({what}): counts")]
    )
    lengths, cardinality = (first * part / share for part in (settings.share_of_lengths, settings.share_of_cardinality))

    def hope(plan: Plan) -> float:
        return check_hope(plan, data.n_items, rest, per_person=per_person, lengths=lengths, spent=first)

    try:
        with _telling_no_counts(), composed(first):
            plan = prepare(
                data,
                limit,
                lengths=lengths,
                cardinality=cardinality,
                counts=rest,
                settings=settings,
                per_person=per_person,
                check=hope,
            )
    except HopelessError:
        budget.give_back(entries[1])  # nothing was looked at for it, which released numbers decided
        raise
    with _telling_no_counts(), composed(rest):
        levels, stopped = mine_levels(
            data,
            plan,
            epsilon=rest,
            settings=settings,
            per_person=per_person,
            on_level=on_progress or (lambda size, largest: None),
        )
    frequent = _reported(levels, plan.min_count, settings.false_share)
    about = {
        "version": __version__,
        "epsilon": epsilon,
        "neighbours": relation,
        **asked,
        "min_count": round(plan.min_count, 6),
        "n_records": plan.lengths.total,
        "scale_of_total": round(scale_of_total(lengths), 6),
        "discoverable": hope(plan) / max(plan.lengths.total, 1),
        "records_cut_to": plan.max_size,
        "largest": plan.largest,
        "cap": plan.cap,
        **({} if stopped is None else {"stopped": f"there were too many candidates of size {stopped}"}),
        "settings": asdict(settings),
        "parts": {
            **dict(zip(("lengths", "total"), parts(lengths), strict=True)),
            **dict(zip(("ranking", "cardinality"), parts_of_cardinality(cardinality), strict=True)),
            **({"limit": epsilon * of_limit} if of_limit else {}),
            **{f"size {level.items.shape[1]}": level.epsilon for level in levels},
        },
        "budget": budget.name,
        "entries": [{"number": entry.number, "digest": entry.digest} for entry in entries],
        "mechanism": "truncation (Zeng, Naughton and Cai 2012) with discrete Laplace noise",
    }
    return Release(data.domain, plan, frequent, about)


@contextmanager
def _telling_no_counts() -> Iterator[None]:
    """Let no error say how much memory was asked for: that is the number of records, or of items in them."""
    try:
        yield
    except MemoryError:
        error = MemoryError("There is not enough memory to curate these baskets.")
        try:
            raise error
        finally:
            error.__context__ = None  # the other error, which names shapes, must not hang on it


def _reported(levels: list[NoisyLevel], min_count: float, false_share: float | None) -> tuple[NoisyLevel, ...]:
    frequent = [level.take(level.average >= min_count) for level in levels]
    if false_share is None:
        return tuple(frequent)
    return tuple(closed([level.take(told_from_noise(level, false_share)) for level in frequent]))


def _check_epsilon(epsilon: float) -> float:
    value = check_positive("epsilon", epsilon)
    if value < _LEAST:
        raise ParameterError(
            f"The 'epsilon' parameter must be at least {_LEAST:g}, got {value:g}.", parameter="epsilon", value=epsilon
        )
    return value


@lru_cache(maxsize=1)
def _compiled() -> None:
    """Compile everything, and load OpenDP, before anything is paid: a release of six made-up records."""
    few = Baskets([[0, 1, 2, 3, 4, 5], *[[0, 1, 2]] * 5], items=range(6))
    settings = Settings(longest=3, clear=0.0, extra=0, cap=3)
    plan = prepare(
        few, lambda lengths, pool: kth_support(pool, 9),
        lengths=1e3, cardinality=1e3, counts=1e3, settings=settings, per_person=1,
    )  # fmt: skip
    mine_levels(few, plan, epsilon=1e3, settings=settings, per_person=1)


def _written(share: float) -> float:
    """A sum of shares as one would write it, 0.15 and not 0.15000000000000002, where rounding is all that differs."""
    short = round(share, 12)
    return short if abs(short - share) <= 4 * math.ulp(share) else share


def _split(epsilon: float, share: float) -> tuple[float, float]:
    """Epsilon in two parts, as decimals that add up to no more than the decimal of the whole."""
    whole = Decimal(repr(epsilon))
    first = float(whole * Decimal(repr(share)))
    rest = float(whole - Decimal(repr(first)))
    while Decimal(repr(rest)) > whole - Decimal(repr(first)):
        rest = math.nextafter(rest, 0.0)
    return first, rest
