"""Declared: what is asked for, settled before anything is paid.  All of it is public but the records themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from bosket.budget.accounts import NEIGHBOURS
from bosket.budget.budgets import Budget
from bosket.checks import check_between, check_choice, check_not_negative, check_positive
from bosket.curator.limit import KthSupport, Limit, ShareOfRecords
from bosket.curator.settings import Settings
from bosket.curator.sieve.people import People, Persons, used_records
from bosket.curator.vocabulary import records_over
from bosket.data import Baskets, Domain, Table
from bosket.errors import ParameterError

PER_PERSON = {"add-remove": 1, "replace": 2}
"""Records that differ between neighbours: one is there or not, or one is taken out and another put in."""

_LEAST = 1e-6  # less than this tells nothing of any data set there is
MOST_EPSILON = 1e6
"""The largest epsilon: there is no noise left long before, and far beyond it doubles overflow."""
MOST_WITH_DELTA = 1e4
"""The largest epsilon beside a delta: not far beyond it OpenDP's conversion from rho overflows."""


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of a call, as they came."""

    limit: ShareOfRecords | KthSupport
    epsilon: float
    budget: Budget | None
    vocabulary: Domain | Iterable[Hashable] | None
    neighbours: str | None
    settings: Settings
    delta: float = 0.0
    persons: Persons | None = None
    max_records_per_person: int | None = None


@dataclass(frozen=True, eq=False)
class Declared:
    """A request that can be paid for: records over the vocabulary, and everything that is public about it."""

    data: Baskets
    limit: Limit
    epsilon: float
    settings: Settings
    neighbours: str = "add-remove"
    length: int | None = None
    """How many items every record has, where that is public: a record of a table has one value of each attribute."""
    delta: float = 0.0
    people: People | None = None
    """Whose the records are, where a person may have several: then neighbours differ by a person."""

    @property
    def longest(self) -> int:
        """The most items that a record can have, which is public."""
        return self.data.n_items if self.length is None else self.length

    @property
    def per_person(self) -> int:
        """How many records, or persons, differ between neighbours at most."""
        return PER_PERSON[self.neighbours]

    @property
    def domain(self) -> Domain:
        return self.data.domain


def declare(baskets: Baskets | Table, request: Request) -> Declared:
    """The records over the vocabulary; whatever is wrong with the other arguments is refused before they are seen."""
    epsilon = check_positive("epsilon", request.epsilon)
    if not isinstance(request.settings, Settings):
        raise ParameterError("The 'settings' parameter must be Settings.", parameter="settings", value=request.settings)
    delta = check_not_negative("delta", request.delta)
    if delta:
        check_between("delta", delta, 0.0, 1.0)
    _check_epsilon(epsilon, MOST_WITH_DELTA if delta else MOST_EPSILON)
    relation = _relation(request.neighbours, request.budget)
    data = records_over(baskets, request.vocabulary)
    length = baskets.n_attributes if isinstance(baskets, Table) else None
    people = None
    if request.persons is not None and request.max_records_per_person is not None:
        data, people = used_records(data, request.persons, request.max_records_per_person)
    return Declared(data, request.limit, epsilon, request.settings, relation, length, delta, people)


def _check_epsilon(epsilon: float, most: float) -> None:
    """Refuse an epsilon for which nothing can be measured, or no noise can be made once it is paid."""
    if not _LEAST <= epsilon <= most:
        limit = f"at least {_LEAST:g}" if epsilon < _LEAST else f"at most {most:g}"
        beside = " beside a delta" if most == MOST_WITH_DELTA and epsilon > most else ""
        raise ParameterError(
            f"The 'epsilon' parameter must be {limit}{beside}, got {epsilon:g}.", parameter="epsilon", value=epsilon
        )


def _relation(neighbours: str | None, budget: Budget | None) -> str:
    """The neighbouring relation: that of the budget, where there is one."""
    if budget is None:
        return check_choice("neighbours", neighbours or "add-remove", NEIGHBOURS)
    if not isinstance(budget, Budget):
        raise ParameterError(
            "The 'budget' parameter must be a Budget.",
            parameter="budget",
            value=budget,
            hint="Budget.open(path, name) opens one, Budget.in_memory(epsilon) makes one for a trial.",
        )
    relation = check_choice("neighbours", neighbours or budget.neighbours, NEIGHBOURS)
    if relation != budget.neighbours:
        raise ParameterError(
            f"The 'neighbours' parameter must be that of the budget, {budget.neighbours}, got {relation}.",
            parameter="neighbours",
            value=relation,
        )
    return relation
