"""Declared: what is asked for, settled before anything is paid.  All of it is public but the records themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from bosket.budget.accounts import NEIGHBOURS
from bosket.budget.budgets import Budget
from bosket.checks import check_between, check_choice, check_not_negative, check_positive
from bosket.curator.limit import Limit
from bosket.curator.settings import Settings
from bosket.curator.vocabulary import records_over
from bosket.data import Baskets, Domain, Table
from bosket.errors import ParameterError

PER_PERSON = {"add-remove": 1, "replace": 2}
"""Records that differ between neighbours: one is there or not, or one is taken out and another put in."""

_LEAST = 1e-6  # less than this tells nothing of any data set there is


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of a call, as they came."""

    limit: Limit
    epsilon: float
    budget: Budget | None
    vocabulary: Domain | Iterable[Hashable] | None
    neighbours: str | None
    settings: Settings
    delta: float = 0.0


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

    @property
    def longest(self) -> int:
        """The most items that a record can have, which is public."""
        return self.data.n_items if self.length is None else self.length

    @property
    def per_person(self) -> int:
        """How many records differ between neighbours at most."""
        return PER_PERSON[self.neighbours]

    @property
    def domain(self) -> Domain:
        return self.data.domain


def declare(baskets: Baskets | Table, request: Request) -> Declared:
    """The records over the vocabulary; whatever is wrong with the other arguments is refused before they are seen."""
    epsilon = check_positive("epsilon", request.epsilon)
    if epsilon < _LEAST:
        raise ParameterError(
            f"The 'epsilon' parameter must be at least {_LEAST:g}, got {epsilon:g}.",
            parameter="epsilon",
            value=request.epsilon,
        )
    if not isinstance(request.settings, Settings):
        raise ParameterError("The 'settings' parameter must be Settings.", parameter="settings", value=request.settings)
    delta = check_not_negative("delta", request.delta)
    if delta:
        check_between("delta", delta, 0.0, 1.0)
    relation = _relation(request.neighbours, request.budget)
    data = records_over(baskets, request.vocabulary)
    length = baskets.n_attributes if isinstance(baskets, Table) else None
    return Declared(data, request.limit, epsilon, request.settings, relation, length, delta)


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
