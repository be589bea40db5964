"""What a study wants: a promise to each person, and supports to be seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bosket.checks import check_choice, check_fraction, check_integer, check_limits
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Mechanism, as_domain
from bosket.plan import Plan, PrivacyUnit
from bosket.planning.amplification import gamma_from
from bosket.planning.laws import checked_sizes
from bosket.privacy import LocalGuarantee
from bosket.privacy.guarantee import percent_down, percent_up, rounded_up

MOST_EPSILON = 600.0
SMALL, LARGE = 1e-12, 1e6
"""Supports and standard errors that are planned for lie between these: squares of others leave what doubles hold."""
UNITS = ("record", "item")


def check_stderr(stderr: float) -> float:
    """A standard error that somebody may want."""
    return check_limits("stderr", stderr, above=SMALL, most=LARGE)


@dataclass(frozen=True, slots=True)
class Goal:
    """The most that one report may multiply odds: epsilon for a unit.

    unit  "record": any two records of a person, whatever they differ in (of one size where a mechanism sends sizes in
          the clear, which a ranking says of it); "item": two that differ in one item, or in one attribute of a table,
          and nothing else
    """

    epsilon: float
    unit: str = "record"
    words: str = ""

    def __post_init__(self) -> None:
        check_limits("epsilon", self.epsilon, above=0, most=MOST_EPSILON, of="Goal")
        check_choice("unit", self.unit, UNITS, of="Goal")

    @classmethod
    def of_gamma(cls, gamma: float, *, unit: str = "record") -> Goal:
        """ln gamma.

        >>> print(Goal.of_gamma(19))
        gamma 19 for the whole record, epsilon 2.945
        """
        value = check_limits("gamma", gamma, above=1, most=math.exp(MOST_EPSILON), of="Goal")
        return cls(math.log(value), unit, f"gamma {rounded_up(value, 6)}")

    @classmethod
    def below(cls, posterior: float, *, prior: float, unit: str = "record") -> Goal:
        """No property of this prior comes to the posterior.

        >>> print(Goal.below(0.3, prior=0.05))
        what had 5% stays below 30% for the whole record, epsilon 2.098
        """
        words = f"what had {percent_down(prior)} stays below {percent_up(posterior)}"
        return cls(math.log(gamma_from(prior, posterior)), unit, words)

    @property
    def gamma(self) -> float:
        return math.exp(self.epsilon)

    def of(self, guarantee: LocalGuarantee) -> float:
        """The epsilon that a guarantee has for this unit.

        Infinite for an item where the size of a record is sent in the clear: who knows all other items knows the last
        one by it.  The item line of such a card is about one item in place of another.
        """
        if self.unit == "item":
            return math.inf if guarantee.reveals else guarantee.item.epsilon
        return guarantee.record.epsilon

    def is_met(self, guarantee: LocalGuarantee) -> bool:
        """By the guarantee's own numbers, which are rounded outward; never by a hair."""
        return self.of(guarantee) <= self.epsilon

    def __str__(self) -> str:
        unit = "the whole record" if self.unit == "record" else "one item or attribute, all others known"
        words = f"{self.words} for {unit}, " if self.words else ""
        return f"{words}epsilon {rounded_up(self.epsilon)}" + ("" if self.words else f" for {unit}")


@dataclass(frozen=True)
class Study:
    """Whom a study asks about what: itemsets of ``itemset_size`` items that a share ``support`` of people have.

    sizes     shares of records by size, of baskets
    max_size  the largest record, of baskets; by default the largest of ``sizes``, or all items
    """

    domain: Domain
    people: int
    itemset_size: int = 2
    support: float = 0.1
    sizes: Mapping[int, float] | None = None
    max_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", as_domain(self.domain))
        check_integer("people", self.people, least=1, of="Study")
        check_integer("itemset_size", self.itemset_size, least=1, most=6, of="Study")
        check_fraction("support", self.support, of="Study")
        check_limits("support", self.support, above=SMALL, most=1.0, of="Study")
        if self.itemset_size > self.n_units:
            raise ParameterError(
                f"The 'itemset_size' parameter of Study must be at most {self.n_units}, which a record can hold.",
                parameter="itemset_size",
                value=self.itemset_size,
            )
        if self.is_table:
            if self.sizes is not None or self.max_size is not None:
                raise ParameterError(
                    "The 'sizes' parameter of Study is for baskets: records of a table all have one size.",
                    parameter="sizes",
                    value=self.sizes,
                )
            return
        if self.sizes is not None:
            known = checked_sizes(self.sizes)
            object.__setattr__(self, "sizes", known)
            if self.max_size is None:
                object.__setattr__(self, "max_size", max(1, *known))
        if self.max_size is not None:
            check_integer("max_size", self.max_size, least=max(1, *(self.sizes or {1: 1.0})), of="Study")

    @property
    def is_table(self) -> bool:
        return self.domain.groups is not None

    @property
    def n_units(self) -> int:
        """Attributes of a table, or items."""
        groups = self.domain.groups
        return len(self.domain) if groups is None else int(groups[-1]) + 1

    @cached_property
    def longest(self) -> int:
        """The largest record."""
        return self.n_units if self.max_size is None else min(self.max_size, len(self.domain))

    def plan(self, mechanism: Mechanism) -> Plan:
        """The mechanism as a plan for this study."""
        return Plan(self.domain, mechanism, PrivacyUnit(max_size=None if self.is_table else self.max_size))
