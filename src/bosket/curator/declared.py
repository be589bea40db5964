"""Declared: what is asked for, settled before anything is paid.  All of it is public but the records themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from bosket.budget.accounts import OF_PERSONS, RELATIONS
from bosket.budget.budgets import Budget
from bosket.checks import check_between, check_choice, check_not_negative, check_positive
from bosket.curator.limit import KthSupport, Limit, ShareOfRecords
from bosket.curator.settings import Settings
from bosket.curator.sieve.people import People, Persons, used_records
from bosket.curator.sieve.records import CuratedRecords
from bosket.curator.vocabulary import records_over
from bosket.data import Baskets, Domain, Table
from bosket.engines import ForeignFrame
from bosket.errors import ParameterError

PER_PERSON = {"add-remove": 1, "replace": 2}
"""Records that differ between neighbours: one is there or not, or one is taken out and another put in."""

UP_TO_RECORDS = "of each person up to {} records, all protected"
"""What the purpose of an entry says where it pays for persons."""
_OF_EACH = UP_TO_RECORDS.partition("{")[0]

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

    data: Baskets | CuratedRecords
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
    def of_budget(self) -> str:
        """The relation of a budget that can pay for it."""
        return self.neighbours if self.people is None else OF_PERSONS[self.neighbours]

    @property
    def baskets(self) -> Baskets:
        """The records in memory, where they are; of others no more than sums is asked (:mod:`.sieve.records`)."""
        if not isinstance(self.data, Baskets):
            raise TypeError("These records are not in memory.")
        return self.data

    @property
    def domain(self) -> Domain:
        return self.data.domain


def declare(baskets: Baskets | Table | ForeignFrame, request: Request) -> Declared:
    """The records over the vocabulary; whatever is wrong with the other arguments is refused before they are seen."""
    epsilon = check_positive("epsilon", request.epsilon)
    if not isinstance(request.settings, Settings):
        raise ParameterError("The 'settings' parameter must be Settings.", parameter="settings", value=request.settings)
    delta = check_not_negative("delta", request.delta)
    if delta:
        check_between("delta", delta, 0.0, 1.0)
    _check_epsilon(epsilon, MOST_WITH_DELTA if delta else MOST_EPSILON)
    is_of_persons = request.persons is not None and request.max_records_per_person is not None
    relation = _relation(request.neighbours, request.budget, is_of_persons)
    data = records_over(baskets, request.vocabulary)
    length = baskets.n_attributes if isinstance(baskets, Table) else None
    people = None
    if isinstance(data, Baskets) and request.persons is not None and request.max_records_per_person is not None:
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


def _relation(neighbours: str | None, budget: Budget | None, is_of_persons: bool) -> str:
    """The neighbouring relation: that of the budget, where there is one, which must be for the same unit."""
    if budget is None:
        return check_choice("neighbours", neighbours or "add-remove", RELATIONS)
    if not isinstance(budget, Budget):
        raise ParameterError(
            "The 'budget' parameter must be a Budget.",
            parameter="budget",
            value=budget,
            hint="Budget.open(path, name) opens one, Budget.in_memory(epsilon) makes one for a trial.",
        )
    known = {OF_PERSONS[name] if is_of_persons else name: name for name in RELATIONS}
    if budget.neighbours not in known:
        must = "persons, as persons are protected" if is_of_persons else "records, as single records are protected"
        raise ParameterError(
            f"The 'budget' parameter must be one for {must}, got one of the relation {budget.neighbours}.",
            parameter="budget",
            value=budget.name,
            hint=f"Its relation must be {' or '.join(known)}: a release for the one costs more for the other.",
        )
    relation = check_choice("neighbours", neighbours or known[budget.neighbours], RELATIONS)
    if relation != known[budget.neighbours]:
        raise ParameterError(
            f"The 'neighbours' parameter must be that of the budget, {known[budget.neighbours]}, got {relation}.",
            parameter="neighbours",
            value=relation,
        )
    if not is_of_persons:
        _check_entries(budget)
    return relation


def _check_entries(budget: Budget) -> None:
    """Refuse a budget for records out of which persons were paid, before budgets had a unit: its sum is no bound."""
    paid = [str(entry.number) for entry in budget.entries() if _OF_EACH in entry.purpose]
    if paid:
        raise ParameterError(
            "The 'budget' parameter must be one out of which records alone were paid, but "
            f"{'entry' if len(paid) == 1 else 'entries'} {', '.join(paid)} paid for persons.",
            parameter="budget",
            value=budget.name,
            hint="For one record these may cost 2 epsilon, and (1 + e^epsilon) delta: make a new budget of what is "
            "left after that.",
        )
