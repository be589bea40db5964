"""The two calls of a curator: all itemsets above a limit, or the most frequent ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import numpy as np

from bosket._version import __version__
from bosket.checks import check_choice, check_fraction, check_integer, check_positive
from bosket.curator.cardinality import kth_support
from bosket.curator.discoveries import closed, told_from_noise
from bosket.curator.lengths import Lengths, parts
from bosket.curator.levels import NoisyLevel, sensitivity
from bosket.curator.loss import kept_ratio
from bosket.curator.miner import Limit, Plan, Settings, mine_levels, prepare
from bosket.curator.noise import composed, noisy, opendp, scale_of
from bosket.curator.possible import discoverable_count, least_epsilon, useful_epsilon
from bosket.curator.release import Release
from bosket.data import Baskets, Domain
from bosket.errors import BosketError, BudgetExceeded, DataError, ParameterError
from bosket.privacy.accounts import NEIGHBOURS
from bosket.privacy.budget import Budget

USUAL = Settings()
PER_PERSON = {"add-remove": 1, "replace": 2}
"""Records that differ between neighbours: one is there or not, or one is taken out and another put in."""

_SHARE_OF_LIMIT = 0.05  # for the k-th support
_BELOW = 0.75  # of the noisy k-th support: estimates scatter, and of what is found the best k are kept
_A_HAIR_LESS = 1 - 1e-12  # the parts are rounded
_WITHIN = 3.0  # scales of the noise
_CLEAR = 6.0  # scales of the noise of the number of records: one data set without records in 800 seems to have some
_RIGHT = 0.2  # delta of Theorem 3, for the sentence that says what would be possible


class HopelessError(BosketError):
    """At this epsilon the limit lies within the noise: what would be reported is chance.

    ``discoverable`` is the smallest support that noise alone hardly reaches, infinite where the number of records is
    lost in it too; ``spent`` is what was spent to find that out.
    """

    def __init__(self, message: str, *, discoverable: float, spent: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.discoverable = discoverable
        self.spent = spent


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
    vocabulary   the items that may occur, which are public; an item outside it is an error.  Not needed where the
                 domain of the baskets was declared
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
        lambda lengths: share * max(lengths.total, 1),
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

    Three quarters of the k-th support, noisy, are the limit, and the best k of what reaches it are kept.  The k-th
    largest of all supports moves by at most one when one record comes or goes, since every support does.
    """
    number = check_integer("k", k, least=1)
    epsilon = check_positive("epsilon", epsilon)

    def limit(lengths: Lengths) -> float:
        kth = kth_support(data, number, settings.cap)
        found = noisy(np.array([kth]), epsilon=epsilon * _SHARE_OF_LIMIT * _A_HAIR_LESS, sensitivity=1)
        return _BELOW * float(found[0])

    data = _declared(baskets, vocabulary)
    release = _curate(
        data,
        limit,
        epsilon=epsilon,
        budget=budget,
        vocabulary=data.domain,
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
    opendp()  # or an error, before anything is paid
    epsilon = check_positive("epsilon", epsilon)
    data = _declared(baskets, vocabulary)
    budget = Budget.in_memory(epsilon, neighbours=neighbours or "add-remove") if budget is None else budget
    relation = check_choice("neighbours", neighbours or budget.neighbours, NEIGHBOURS)
    if relation != budget.neighbours:
        raise ParameterError(
            f"The 'neighbours' parameter must be that of the budget, {budget.neighbours}, got {relation}.",
            parameter="neighbours",
            value=relation,
        )
    remaining = budget.remaining
    if remaining.epsilon < epsilon:
        raise BudgetExceeded(
            f"The budget {budget.name!r} has epsilon {remaining.epsilon:g} left, and this costs {epsilon:g}.",
            name=budget.name,
            asked=(epsilon, 0.0),
            remaining=remaining,
            hint="Nothing was spent, and nothing was looked at.",
        )
    per_person = PER_PERSON[relation]
    share = round(settings.share_of_lengths + settings.share_of_cardinality + of_limit, 12)
    first, rest = _split(epsilon, share)
    what = ", ".join(f"{name} {value:g}" for name, value in asked.items())
    entries = [budget.spend(first, purpose=f"curate ({what}): lengths, limit and largest itemsets")]
    lengths, cardinality = (first * part / share for part in (settings.share_of_lengths, settings.share_of_cardinality))

    def hope(plan: Plan) -> float:
        return _check_hope(plan, data, rest, per_person, of_total=_scale_of_total(lengths), spent=first)

    with composed(first):
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
    discoverable = hope(plan)
    entries.append(budget.spend(rest, purpose=f"curate ({what}): counts"))
    with composed(rest):
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
        "min_count": plan.min_count,
        "n_records": plan.lengths.total,
        "scale_of_total": _scale_of_total(lengths),
        "discoverable": discoverable / max(plan.lengths.total, 1),
        "max_size": plan.max_size,
        "largest": plan.largest,
        "cap": plan.cap,
        **({} if stopped is None else {"stopped": f"there were too many candidates of size {stopped}"}),
        "settings": asdict(settings),
        "parts": {
            **dict(zip(("lengths", "total"), parts(lengths), strict=True)),
            "cardinality": cardinality,
            **({"limit": epsilon * of_limit} if of_limit else {}),
            **{f"size {level.items.shape[1]}": level.epsilon for level in levels},
        },
        "budget": budget.name,
        "entries": [{"number": entry.number, "digest": entry.digest} for entry in entries],
        "mechanism": "truncation (Zeng, Naughton and Cai 2012) with discrete Laplace noise",
    }
    return Release(data.domain, plan, frequent, about)


def _reported(levels: list[NoisyLevel], min_count: float, false_share: float | None) -> tuple[NoisyLevel, ...]:
    frequent = [level.take(level.average >= min_count) for level in levels]
    if false_share is None:
        return tuple(frequent)
    return tuple(closed([level.take(told_from_noise(level, false_share)) for level in frequent]))


def _scale_of_total(lengths: float) -> float:
    return scale_of(parts(lengths)[1], 1)


def _split(epsilon: float, share: float) -> tuple[float, float]:
    """Epsilon in two parts, as decimals that add up to no more than the decimal of the whole."""
    whole = Decimal(repr(epsilon))
    first = float(whole * Decimal(repr(share)))
    rest = float(whole - Decimal(repr(first)))
    while Decimal(repr(rest)) > whole - Decimal(repr(first)):
        rest = math.nextafter(rest, 0.0)
    return first, rest


def _declared(baskets: Baskets, vocabulary: Domain | Iterable[Hashable] | None) -> Baskets:
    if not isinstance(baskets, Baskets):
        raise DataError(f"Baskets can be curated, a {type(baskets).__name__} cannot.")
    if vocabulary is not None:
        domain = vocabulary if isinstance(vocabulary, Domain) else Domain(vocabulary)
        if not len(domain):
            raise ParameterError("The 'vocabulary' parameter must name an item.", parameter="vocabulary", value=())
        try:
            return _as_declared(baskets, domain).with_domain(domain)
        except (DataError, ParameterError):
            pass
        raise DataError(
            "The baskets must hold items of the declared vocabulary only.",
            hint="That is for the curator alone to know: mend the data, or declare all items that may occur.",
        )
    if not baskets.domain.is_declared:
        raise ParameterError(
            "The 'vocabulary' parameter must be given: the items were read off the data, and which occur is private.",
            parameter="vocabulary",
            value=None,
            hint="Name all items that may occur; if which do occur is public anyway, vocabulary=baskets.domain.",
        )
    return baskets


def _as_declared(baskets: Baskets, domain: Domain) -> Baskets:
    """The same records with labels as they are declared, where these are written alike: 1 and "1".

    A reader of text takes labels for numbers if all of them are: one record with "milk" must not decide that.
    """
    written = {str(label): label for label in domain.labels}
    if len(written) < len(domain):
        return baskets
    labels = [label if label in domain.index else written.get(str(label), label) for label in baskets.domain.labels]
    return Baskets.from_csr(baskets.indptr, baskets.indices, Domain(labels, is_declared=False))


def _check_hope(plan: Plan, data: Baskets, epsilon: float, per_person: int, *, of_total: float, spent: float) -> float:
    """The smallest count of an item that noise alone hardly reaches; refused where the limit is within the noise.

    All of it follows from what was released.  At three times the scale of the noise, after truncation, one item in
    forty that nobody has would pass the limit.  The number of records must lie clear of its own noise too, of scale
    ``of_total``.
    """
    each = epsilon / plan.largest
    kappa = sensitivity(plan.max_size, 1, data.n_items, per_person)
    scale = scale_of(each, kappa)
    left = kept_ratio(plan.lengths.weights, 1, plan.max_size, by_length=True)
    least = discoverable_count(each, data.n_items, sensitivity=kappa) / left
    total = max(plan.lengths.total, 1)
    is_counted = total >= _CLEAR * of_total
    if is_counted and plan.min_count * left >= _WITHIN * scale:
        return least
    needed = (epsilon + spent) * max(_WITHIN * scale / (plan.min_count * left), _CLEAR * of_total / total)
    useful, never = _useful(plan, data.n_items, per_person, (epsilon + spent) / each)
    told = f"Supports from {least / total:.2g} on can" if is_counted and least < total else "No support can"
    raise HopelessError(
        f"The limit of {plan.min_count:,.0f} of about {total:,} records is within the noise at this epsilon, which has "
        f"a scale of {scale:,.0f} for single items and of {of_total:,.0f} for the number of records: what would be "
        "reported is chance.",
        discoverable=least / total if is_counted else math.inf,
        spent=spent,
        hint=f"{told} be told from noise here.  This limit takes an epsilon of {needed:.2g} at the least, more where "
        f"itemsets are large.  Which single items reach it, give or take {_RIGHT:.0%}, is right every other time from "
        f"{useful:.2g} on; for itemsets of any size in records of any length no method needs less than {never:.2g}.",
    )


def _useful(plan: Plan, n_items: int, per_person: int, parts: float) -> tuple[float, float]:
    """The epsilon at which noisy counts of single items, for one of so many parts of it, are (0.2, 0.5)-useful, and
    Theorem 3's bound."""
    single = useful_epsilon(n_items, plan.min_count, max_size=plan.max_size, delta=_RIGHT, eta=0.5)
    return parts * per_person * single, least_epsilon(n_items, plan.min_count, delta=_RIGHT, eta=0.5)
