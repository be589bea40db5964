"""One answer about a basket, planned for itemsets: a first phase finds items, a second asks about candidates.

Which candidates there will be is not known before the first phase.  There will be 2 ``TOP`` of each size, as
:meth:`~bosket.AskBaskets.refine` chooses them, and a basket is taken to hold as many of them as if each had the support
that is wanted.  So the second phase has the length, the channel and the variance that ``refine`` would choose for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bosket.errors import ParameterError
from bosket.mechanisms import Ask, AskBaskets
from bosket.mechanisms.questions import phases
from bosket.mechanisms.questions.answer_channels import best_response
from bosket.mechanisms.questions.kinds import MOST_SETS
from bosket.plan import Plan
from bosket.planning.goals import Goal, Study
from bosket.privacy.guarantee import rounded_up

TOP = 20
"""Itemsets of each size that are looked for."""


@dataclass(frozen=True)
class Phased:
    """What two phases see of itemsets, or one of items; the plan is that of the first."""

    plan: Plan
    study: Study
    first: int
    second: int
    variance: float
    """What a person of the last phase brings to a share."""
    kept: float
    """The share of a support that is left where baskets hold more than can be told of."""
    n_keys: int

    @property
    def people(self) -> int:
        """Those of the phase that the error is of."""
        return self.second or self.first

    def error(self, itemset_size: int, support: float) -> float:
        """The root mean square error; infinite for a size that is not planned for."""
        if itemset_size != self.study.itemset_size:
            return math.inf
        return math.hypot(math.sqrt(self.variance / self.people), (1 - self.kept) * support)

    def lowest_support(self, itemset_size: int, *, sigmas: float = 4.0) -> float:
        """The support that lies so many standard errors above zero."""
        if itemset_size != self.study.itemset_size:
            return math.inf
        found = sigmas * math.sqrt(self.variance / self.people) / self.kept
        return found if found <= 1 else math.inf

    def people_for(self, itemset_size: int, support: float, *, stderr: float) -> float:
        """How many people of both phases bring the standard error down to this."""
        if itemset_size != self.study.itemset_size:
            return math.inf
        return math.ceil(self.variance / stderr**2 * (self.first + self.second) / self.people)

    def among(self, people: int) -> Phased:
        """The same phases with other people."""
        first = round(self.first * people / (self.first + self.second))
        first = max(1, first) if self.second else people
        return replace(self, first=first, second=people - first, study=replace(self.study, people=people))

    @property
    def advice(self) -> str:
        if not self.second:
            return "Each person tells of one item of the basket, through a channel that hides which."
        return (
            f"{self.first} people tell of one item of their basket; {self.second} others then tell of one of the "
            f"{self.n_keys} itemsets that the first make likely."
        )

    @property
    def why(self) -> str:
        sets = "items" if not self.second else "candidate itemsets, in a second phase"
        return f"one answer about {self.n_keys} {sets}: standard deviation {rounded_up(math.sqrt(self.variance), 3)}"


def two_phases(study: Study, goal: Goal) -> Phased | None:
    """Ask.baskets at this epsilon; None for tables, for large itemsets, and where nothing can be told."""
    k = study.itemset_size
    if study.is_table or k > MOST_SETS:
        return None
    sizes = study.sizes or {study.longest: 1.0}
    mean = sum(size * share for size, share in sizes.items())
    try:
        mechanism = Ask.baskets(study.domain, epsilon=goal.epsilon, expected_size=max(mean, 1e-9))
        plan = study.plan(mechanism)
        told = mechanism.channel(study.domain).response
    except ParameterError:
        return None
    assert isinstance(mechanism, AskBaskets)
    if k == 1:
        kept = sum(min(size, told.length) * share for size, share in sizes.items()) / max(mean, 1e-9)
        return Phased(plan, study, study.people, 0, told.variance, kept, len(study.domain))
    split = phases.split(study.people, len(study.domain), epsilon=goal.epsilon, expected_size=mean, top=TOP, max_size=k)
    if not split.second:
        return None
    n_keys = min(2 * TOP * k, sum(math.comb(len(study.domain), size) for size in range(1, k + 1)))
    expected = n_keys * study.support
    length = phases.best_length(n_keys, goal.epsilon, expected, from_zero=True)
    response = best_response(n_keys, length, goal.epsilon)
    kept = phases.survival(length, expected, from_zero=True)
    return Phased(plan, study, split.first, split.second, response.variance, kept, n_keys)
