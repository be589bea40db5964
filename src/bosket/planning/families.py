"""The best parameters of every mechanism for a promise: found in closed form or by a search, settled exactly.

A family gives mechanisms whose guarantee, by their realised probabilities, is at most the epsilon of the goal; where a
closed form comes out above it by rounding, the parameter is taken back until it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bosket.data import Domain, TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms import Ask, CutAndPaste, Design, Flip, GammaDiagonal, Mechanism
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.designs import MOST_QUESTIONS
from bosket.plan import Plan
from bosket.planning.goals import UNITS, Goal, Study
from bosket.planning.overlaps import overlap_law
from bosket.statistics.estimates import Floats
from bosket.statistics.roots import least_point, root

Makers = Callable[[Study, Goal], Iterator[Mechanism]]
"""Mechanisms that meet a goal; those of one family are looked at together, and the best is shown."""

_STEPS = 60  # times that a parameter is taken back before giving up
_MOST_QUESTIONS = 10_000  # about as many attributes as are wanted
_MORE_QUESTIONS = 600  # about more
_WIDE = (4, 5, 6, 8, 10, 12)  # attributes of questions that cover all pairs
_MOST_COVERED = 40  # attributes for which such questions are made
_MOST_ANSWERS = 1 << 12  # of one of them
_MOST_CUT = 40  # items of records up to which cut-and-paste is looked at
_LEAST = 1e-9
_MOST_LOGIT = 30.0
_LOGITS = np.linspace(-12.0, 4.0, 65).tolist()  # of the probability that an item which is not there is shown


def settled(study: Study, goal: Goal, make: Callable[[float], Mechanism]) -> Mechanism | None:
    """``make(shrink)`` with the least shrink, near 0, at which the goal is met; None where none does."""
    for step in range(_STEPS):
        try:
            mechanism = make(2.0 ** (step - 45))  # beyond the padding of guarantees, which is 1e-14
            if _epsilon(study, goal, mechanism) <= goal.epsilon:
                return mechanism
        except ParameterError:
            return None
    return None


def _epsilon(study: Study, goal: Goal, mechanism: Mechanism) -> float:
    """What the guarantee will say for the unit of the goal."""
    return epsilons(study.plan(mechanism))[goal.unit]


def epsilons(plan: Plan) -> dict[str, float]:
    """What the guarantee says of a record and of an item, without the errors and weights that are on its card.

    Infinite of an item where sizes are sent in the clear, as goals have it.
    """
    channel = plan.channel
    if isinstance(channel, AskChannel | GammaDiagonalChannel):
        return {"record": channel.epsilon, "item": channel.epsilon}
    guarantee = plan.guarantee
    return {unit: Goal(1.0, unit).of(guarantee) for unit in UNITS}


def _differing(study: Study, goal: Goal) -> tuple[int, int]:
    """Of the worst two records: how many items only one of them has, and how many only the other."""
    if study.is_table:
        return (1, 1) if goal.unit == "item" else (study.n_units, study.n_units)
    if goal.unit == "item":
        return 1, 0
    n, m = len(study.domain), study.longest
    return min(m, n), min(m, n - min(m, n))


def one_keep(study: Study, goal: Goal) -> Iterator[Mechanism]:
    """Flip with one keep: (p / (1 - p))^d = gamma for records that differ in d items."""
    d = sum(_differing(study, goal))

    def make(shrink: float) -> Mechanism:
        return Flip(keep=1 / (1 + math.exp(-goal.epsilon * (1 - shrink) / d)))

    found = settled(study, goal, make)
    if found is not None:
        yield found


def two_keeps(study: Study, goal: Goal) -> Iterator[Mechanism]:
    """Flip with a keep for items that are there and one for items that are not: the best of all that meet the goal.

    With p = Pr(shown | there), r = Pr(shown | not), the worst two records are told apart by d1 ln(p / r) +
    d2 ln((1 - r) / (1 - p)).  For each r the p that spends all of epsilon; r by a search for the least variance,
    (f P + (1 - f) A)^k - s with P and A the E[w^2] of an item that is there and of one that is not.
    """
    differing = _differing(study, goal)

    def cost(z: float) -> float:
        return log_variance(study, *_spent(z, goal.epsilon, differing))

    near = min(_LOGITS, key=cost)
    step = _LOGITS[1] - _LOGITS[0]
    best = least_point(cost, near - step, near + step, xtol=1e-7)

    def make(shrink: float) -> Mechanism:
        p, r = _spent(best, goal.epsilon * (1 - shrink), differing)
        return Flip(keep=p, keep_absent=1 - r)

    found = settled(study, goal, make)
    if found is not None:
        yield found


def _spent(z: float, epsilon: float, differing: tuple[int, int]) -> tuple[float, float]:
    """p and r with logit r = z that tell the worst two records apart by epsilon."""
    most, other = max(differing), min(differing)

    def excess(gap: float) -> float:  # logit p - logit r
        shown = math.log1p(math.exp(-z)) - math.log1p(math.exp(-z - gap))  # ln p - ln r
        hidden = gap - shown
        return max(most * shown + other * hidden, other * shown + most * hidden) - epsilon

    high = min(2 * epsilon, _MOST_LOGIT - z)  # ln(p / r) or ln((1 - r) / (1 - p)) is half of the gap at least
    gap = high if excess(high) <= 0 else root(excess, 0.0, high, xtol=1e-15, rtol=1e-15)
    return 1 / (1 + math.exp(-z - gap)), 1 / (1 + math.exp(-z))


def log_variance(study: Study, p: float, r: float) -> float:
    """ln of the variance that a person brings to the support wanted, by Flip."""
    k, s = study.itemset_size, study.support
    f, square = s ** (1 / k), (p - r) ** 2
    if square <= 0:
        return math.inf
    present, absent = (p * (1 - r) ** 2 + (1 - p) * r**2) / square, r * (1 - r) / square
    return math.log(max((f * present + (1 - f) * absent) ** k - s, 1e-300))


def gamma_diagonal(study: Study, goal: Goal) -> Iterator[Mechanism]:
    """The whole record at once; the same promise for one attribute as for all."""
    if study.is_table:
        found = settled(study, goal, lambda shrink: GammaDiagonal(gamma=math.exp(goal.epsilon * (1 - shrink))))
        if found is not None:
            yield found


def questions(study: Study, goal: Goal) -> Iterator[Mechanism]:
    """Ask, with each of several designs."""
    if not isinstance(study.domain, TableDomain):
        return
    for design in _designs(study.domain, study.itemset_size):
        found = settled(study, goal, lambda shrink, d=design: Ask(d, math.exp(goal.epsilon * (1 - shrink))))  # type: ignore[misc]
        if found is not None:
            yield found


@lru_cache(maxsize=8)
def _designs(domain: TableDomain, k: int) -> tuple[Design, ...]:
    """Every question about k attributes, or a few more; for items and pairs also few questions about many.

    The latter cover all pairs three times, which evens out how often each is asked about.
    """
    n = len(domain.attributes)
    most = [_MOST_QUESTIONS, _MORE_QUESTIONS, _MORE_QUESTIONS]
    sizes = [size for size, limit in zip(range(k, n + 1), most, strict=False) if math.comb(n, size) <= limit]
    designs = [Design.of_size(domain, size) for size in sizes]
    if k <= 2 and n <= _MOST_COVERED:
        largest = sorted(domain.sizes.tolist(), reverse=True)
        wide = [size for size in _WIDE if size < n and math.prod(largest[:size]) <= _MOST_ANSWERS]
        designs += [Design.covering(domain, size=size, times=3) for size in wide]
    if not designs and k <= 2 and math.comb(n, 2) <= MOST_QUESTIONS:
        designs.append(Design.covering(domain, size=2))
    return tuple(designs)


def cut_and_paste(study: Study, goal: Goal) -> Iterator[Mechanism]:
    """A cutoff and an insert for every size of records, each the smallest insert that meets the goal at that size.

    None for one item of baskets, all others known: sizes in the clear tell it.
    """
    if goal.unit == "item" and not study.is_table:
        return
    sizes = [study.n_units] if study.is_table else sorted(study.sizes or ())
    if not sizes or max(sizes) > _MOST_CUT or len(sizes) > _MOST_CUT:
        return
    k = study.itemset_size
    able = sum(share for size, share in (study.sizes or {k: 1.0}).items() if size >= k)
    law = overlap_law(k, study.support / able if able else 0.0)
    cutoffs: dict[int, int] = {}
    inserts: dict[int, float] = {}
    for size in sizes:
        found = _best_cut(size, study.domain, law, goal)
        if found is None:
            return
        cutoffs[size], inserts[size] = found
    one = len(sizes) == 1
    mechanism = CutAndPaste(cutoffs[sizes[0]], inserts[sizes[0]]) if one else CutAndPaste(cutoffs, inserts)
    if goal.is_met(replace(study, max_size=None if study.is_table else max(sizes)).plan(mechanism).guarantee):
        yield mechanism


def _best_cut(size: int, items: Domain, law: Floats, goal: Goal) -> tuple[int, float] | None:
    """The cutoff, with its least insert, of the least variance where l of the items are there by this law."""
    domain, k = _stand_in(min(len(items), 2 * size + 40)), len(law) - 1  # items that no two records need do not matter
    if size in (0, len(items)):
        return k, 0.5  # there is one such record: nothing to hide
    best: tuple[float, int, float] | None = None
    for cutoff in range(min(k, size), size + 1):
        rho = _least_insert(cutoff, size, domain, goal)
        if rho is None:
            continue
        channel = CutAndPaste(cutoff, rho).channel(domain)
        noise = 0.0 if size < k else float(law @ channel.record_variances_by_overlap(k, size))
        if best is None or noise < best[0]:
            best = (noise, cutoff, rho)
    return None if best is None else best[1:]


@lru_cache(maxsize=128)
def _stand_in(n_items: int) -> Domain:
    return Domain(range(n_items))


def _least_insert(cutoff: int, size: int, domain: Domain, goal: Goal) -> float | None:
    place = 0 if goal.unit == "item" else 1

    def excess(rho: float) -> float:
        return CutAndPaste(cutoff, rho).channel(domain).amplification(size)[place] - goal.epsilon

    if excess(_LEAST) <= 0:
        return _LEAST  # never 0, which would promise nothing
    if excess(1 - _LEAST) > 0:
        return None
    rho = root(excess, _LEAST, 1 - _LEAST, xtol=1e-12)
    while excess(rho) > 0:
        rho = min(1.0, rho * (1 + 1e-12) + 1e-15)
    return rho


FAMILIES: dict[str, Makers] = {
    "Flip, one keep": one_keep,
    "Flip, two keeps": two_keeps,
    "CutAndPaste": cut_and_paste,
    "GammaDiagonal": gamma_diagonal,
    "Ask": questions,
}
"""Mechanisms that are looked at for a goal; one answer about a basket is in two phases, and stands elsewhere."""
