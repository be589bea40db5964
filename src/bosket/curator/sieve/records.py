"""What a round asks of records, wherever they are: exact sums over all of them, not for release.

Both questions are sums over records in whole numbers, so that parts of the records may answer by themselves, and what
they answer is added up: the result is the same to the last unit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.sieve.contributions import ActiveItems, ActiveItemsets, Bounding, HeldOfRecords, Units
from bosket.curator.sieve.histograms import Divided, divided
from bosket.curator.sieve.people import People
from bosket.data import Baskets
from bosket.data.domain import Domain


class Held(Divided, Protocol):
    """How many of a round's itemsets records hold, by group of itemsets."""

    def sums(self, bounding: Bounding, budget: int) -> Counts:
        """Of each itemset the units of the records that hold it, contributions bounded."""


class Active(Protocol):
    """The itemsets that a round measures, in all records."""

    def held_by(self, groups: Units) -> Held:
        """What records hold; ``groups`` has the number of the group of each itemset."""


class CuratedRecords(ABC):
    """Records over a public vocabulary that are looked at through sums alone."""

    domain: Domain
    n_records: int
    """Exact, not for release."""

    @property
    def n_items(self) -> int:
        return len(self.domain)

    @abstractmethod
    def items(self) -> Active:
        """All single items."""

    @abstractmethod
    def itemsets(self, rows: Sequence[ItemsetRows]) -> Active:
        """Itemsets of several sizes."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held for looks; nothing is asked afterwards."""


class BasketRecords(CuratedRecords):
    """Records in memory, and whose they are where a person may have several."""

    def __init__(self, baskets: Baskets, people: People | None = None) -> None:
        self.domain, self.n_records = baskets.domain, baskets.n_records
        self._baskets, self._people = baskets, people

    def items(self) -> Active:
        return _InMemory(ActiveItems(self._baskets), self._people)

    def itemsets(self, rows: Sequence[ItemsetRows]) -> Active:
        return _InMemory(ActiveItemsets(self._baskets, rows), self._people)

    def close(self) -> None:
        """Nothing is held: the baskets are whose they were."""


class _InMemory:
    def __init__(self, active: HeldOfRecords, people: People | None) -> None:
        self._active, self._people = active, people

    def held_by(self, groups: Units) -> Held:
        held = HeldByRecord(self._active.held_by(groups), self._active)
        return held if self._people is None else HeldByPerson(held.by_record, self._active, self._people)


class HeldByRecord:
    """Of records in memory, each of which is protected by itself."""

    def __init__(self, by_record: Units, active: HeldOfRecords) -> None:
        self.by_record, self._active = by_record, active  # a row for each group, and a column for each record

    def divided(self, starts: Units, bounding: Bounding) -> Units:
        return divided(self.by_record, starts)

    def sums(self, bounding: Bounding, budget: int) -> Counts:
        return self._active.sums(bounding.units(self.by_record.sum(axis=0), budget))


class HeldByPerson:
    """Of records in memory, where all that are of one person are protected together."""

    def __init__(self, by_record: Units, active: HeldOfRecords, people: People) -> None:
        self.by_record, self._active, self._people = by_record, active, people

    def divided(self, starts: Units, bounding: Bounding) -> Units:
        return self._people.divided(self.by_record, starts, bounding)

    def sums(self, bounding: Bounding, budget: int) -> Counts:
        return self._active.sums(self._people.units(self.by_record.sum(axis=0), budget, bounding))
