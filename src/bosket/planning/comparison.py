"""Which mechanism for a promise, and which promise for an accuracy: every family at the same goal, ranked by error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from bosket.errors import ParameterError
from bosket.mechanisms import Mechanism
from bosket.planning.families import FAMILIES, epsilons
from bosket.planning.foresight import Foresight
from bosket.planning.goals import Goal, Study, check_stderr
from bosket.planning.phased import Phased, two_phases
from bosket.planning.words import advice, answers_text, number_text, why
from bosket.privacy import LocalGuarantee
from bosket.privacy.guarantee import items_text, percent_up, rounded_up
from bosket.statistics.roots import root

_EPSILONS = tuple(0.01 * 2.0**step for step in range(13))  # up to 41: a promise is looked for between two of them


@dataclass(frozen=True)
class Prospect:
    """A mechanism with the best parameters of its family for a goal, and what it will see."""

    family: str
    study: Study
    seen: Foresight | Phased

    @property
    def mechanism(self) -> Mechanism:
        return self.seen.plan.mechanism

    @property
    def guarantee(self) -> LocalGuarantee:
        people = self.study.people
        if isinstance(self.seen, Phased):  # each phase is mixed by itself
            people = min(self.seen.first, self.seen.second or self.seen.first)
        return self.seen.plan.guarantee.among(people)

    @property
    def error(self) -> float:
        """The root mean square error of the support wanted."""
        return self.seen.error(self.study.itemset_size, self.study.support)

    @property
    def lowest_support(self) -> float:
        """The support of such itemsets that lies four standard errors above zero."""
        return self.seen.lowest_support(self.study.itemset_size)

    def people_for(self, stderr: float) -> float:
        """How many people bring the standard error down to this."""
        return self.seen.people_for(self.study.itemset_size, self.study.support, stderr=stderr)

    @property
    def why(self) -> str:
        """In a few words what the mechanism lets through."""
        return why(self.seen, self.study)


@dataclass(frozen=True)
class Ranking:
    """Options for one goal, the smallest predicted error first."""

    study: Study
    goal: Goal
    options: tuple[Prospect, ...]
    note: str = ""
    """What is to be known of the goal beside its words."""

    @property
    def epsilon(self) -> float:
        """What the best option has at most for the unit of the goal: by a breach level more than the goal says."""
        return max(self.goal.epsilon, self.goal.of(self.best.guarantee))

    @property
    def best(self) -> Prospect:
        return self.options[0]

    def to_frame(self) -> pd.DataFrame:
        """A row for each option: family, mechanism, epsilon of the record and of an item, error, lowest support.

        The epsilon of an item, all others known, is infinite where the size of a record is sent in the clear.
        """
        rows = [
            {
                "family": option.family,
                "mechanism": str(option.mechanism),
                **{f"{unit}_epsilon": value for unit, value in epsilons(option.seen.plan).items()},
                "error": option.error,
                "lowest_support": option.lowest_support,
                "why": option.why,
            }
            for option in self.options
        ]
        names = ["family", "mechanism", "record_epsilon", "item_epsilon", "error", "lowest_support", "why"]
        return pd.DataFrame(rows, columns=names)

    @property
    def sentence(self) -> str:
        """What to do, and what will be seen."""
        best, study = self.best, self.study
        about = items_text(study.itemset_size) if not study.is_table else answers_text(study.itemset_size)
        if math.isinf(best.lowest_support):
            needed = _people_to_see(best)
            more = (
                "no number of people would do" if math.isinf(needed) else f"{number_text(needed)} people would see it"
            )
            return (
                f"Not with {study.people} people: at {self.goal}, even {best.family} sees no support of {about}; "
                f"a support of {percent_up(study.support)} takes more people ({more}), or a weaker promise."
            )
        seen = "is seen"
        if best.lowest_support > study.support:
            needed = _people_to_see(best)
            seen = "is not seen"
            if needed > study.people:  # not what long baskets lose by being cut, which no number of people mends
                seen += f" (that would take {number_text(needed)} people)"
        return (
            f"{advice(best.seen, study)} Supports of {about} from {percent_up(best.lowest_support)} on stand four "
            f"standard errors above zero, so that {percent_up(study.support)} {seen}, with an error of about "
            f"{rounded_up(best.error, 2)}."
        )

    def __str__(self) -> str:
        lines = [f"{self.goal}; {self.study.people} people", *([self.note] if self.note else []), self.sentence]
        lines += [f"  {option.family:<18} error {option.error:<9.3g} {option.mechanism}" for option in self.options]
        return "\n".join(lines)


def compare(study: Study, goal: Goal) -> Ranking:
    """Every mechanism with its best parameters for this goal, ranked by the predicted error of the support wanted.

    >>> import bosket as bk
    >>> questions = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(6)])
    >>> found = compare(Study(questions, people=21_000, support=0.2), Goal.below(0.3, prior=0.05))
    >>> found.best.family, round(found.best.error, 3)
    ('Ask', 0.013)
    """
    options = [option for family in [*FAMILIES, PHASED] if (option := best_of(family, study, goal)) is not None]
    if not options:
        raise ParameterError(
            f"No mechanism meets the goal, {goal}, for this study.",
            parameter="goal",
            value=goal.epsilon,
            hint="Baskets need 'sizes', shares of records by size, for some mechanisms.",
        )
    return Ranking(study, goal, tuple(sorted(options, key=lambda option: (option.error, option.family))))


PHASED = "Ask.baskets"


def best_of(family: str, study: Study, goal: Goal) -> Prospect | None:
    """The best of a family; None where none of it meets the goal."""
    every = list(_every(family, study, goal))
    return min(every, key=lambda option: option.error) if every else None


def _every(family: str, study: Study, goal: Goal) -> Iterator[Prospect]:
    if family == PHASED:
        phased = two_phases(study, goal)
        if phased is not None:
            yield Prospect(family, study, phased)
        return
    for mechanism in FAMILIES[family](study, goal):
        yield Prospect(family, study, Foresight(study.plan(mechanism), study.people, study.sizes))


def privacy_for(study: Study, *, stderr: float, unit: str = "record") -> pd.DataFrame:
    """The other way round: the smallest epsilon at which each family has an error of at most ``stderr``.

    And the number of people that ``stderr`` takes at half of that epsilon.  The strongest promise comes first; families
    that no epsilon up to 41 helps are left out.
    """
    check_stderr(stderr)
    rows = []
    for family in [*FAMILIES, PHASED]:
        epsilon = _least_epsilon(family, study, stderr, unit)
        if epsilon is None:
            continue
        option, half = (best_of(family, study, Goal(value, unit)) for value in (epsilon, epsilon / 2))
        assert option is not None
        rows.append(
            {
                "family": family,
                "epsilon": epsilon,
                "gamma": math.exp(epsilon),
                "mechanism": str(option.mechanism),
                "people_at_half": math.inf if half is None else half.people_for(stderr),
            }
        )
    frame = pd.DataFrame(rows, columns=["family", "epsilon", "gamma", "mechanism", "people_at_half"])
    return frame.sort_values("epsilon", kind="stable", ignore_index=True)


def _least_epsilon(family: str, study: Study, stderr: float, unit: str) -> float | None:
    """The first of a row of epsilons that is enough, and between it and the one before the least."""

    def excess(epsilon: float) -> float:
        option = best_of(family, study, Goal(epsilon, unit))
        return 1.0 if option is None else min(1e9, math.log(max(option.error, 1e-300) / stderr))

    low = _EPSILONS[0]
    for high in _EPSILONS:
        if excess(high) <= 0:
            break
        low = high
    else:
        return None
    if low == high:
        return low
    found = root(excess, low, high, xtol=1e-9, rtol=1e-5)
    while excess(found) > 0:
        found *= 1 + 1e-5
    return found


def people_needed(study: Study, goal: Goal, *, stderr: float) -> pd.DataFrame:
    """How many people each family takes for this promise and this error, the fewest first."""
    check_stderr(stderr)
    found = compare(study, goal)
    rows = [
        {"family": option.family, "mechanism": str(option.mechanism), "people": option.people_for(stderr)}
        for option in found.options
    ]
    frame = pd.DataFrame(rows, columns=["family", "mechanism", "people"])
    return frame.sort_values("people", kind="stable", ignore_index=True)


def _people_to_see(option: Prospect) -> float:
    """How many people bring four standard errors down to the support wanted."""
    return option.people_for(option.study.support / 4)


def at_people(option: Prospect, people: int) -> Prospect:
    """The same mechanism with other people."""
    study = replace(option.study, people=people)
    seen = option.seen
    other = seen.among(people) if isinstance(seen, Phased) else replace(seen, people=people)
    return Prospect(option.family, study, other)
