"""The sieve: rounds over the itemsets that are still undecided, each for a part of one budget.

    number       how many records there are, hence the limit as a count
    round 1      all items
    round 2      items that are undecided
    round 3 ..   everything undecided, with candidates of two, of three, then of any number of items; where there are
                 as many candidates of two as may be, and no delta, round 3 gets a part of what later ones have

Every round measures a noisy histogram of how many of its itemsets records hold, which decides how much one record may
add, and then sums of bounded contributions with noise.  All of it goes through the composition that it is given; what
follows from noisy numbers (priors, candidates, which itemsets are decided) costs nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from bosket.curator.noise import LAPLACE, Composition
from bosket.curator.population.dense import FoundDense
from bosket.curator.sieve.beliefs import SIZES, Believer, LevelPlaces, SievedLevel, Values
from bosket.curator.sieve.bounds import RoundShares, choose_bound
from bosket.curator.sieve.contributions import RESOLUTION, Bounding, Units
from bosket.curator.sieve.crowds import LeastCut
from bosket.curator.sieve.histograms import Histogram, noisy_histogram
from bosket.curator.sieve.people import People
from bosket.curator.sieve.records import Active, BasketRecords, CuratedRecords, Held
from bosket.curator.sieve.search import SieveSearch
from bosket.curator.sieve.settings import SieveSettings
from bosket.curator.sieve.unseen import frequent_numbers
from bosket.data import Baskets
from bosket.mining.candidates import ItemGroups
from bosket.progress import LevelProgress, Progress
from bosket.statistics.estimates import Floats

_HIGH = 2.0  # limits, from which on an item is taken to be common
_FAR = 30.0  # scales of noise
_OF_PAIRS = 3  # the round that measures the first candidates of two items
_WORK = 1 << 34  # itemsets times records of one round, at most


PartCosts = tuple[tuple[str, float], ...]
"""Names of parts, and what each costs of what was granted."""


@dataclass(frozen=True, eq=False)
class Sieved:
    """What the rounds leave: all of it is noisy, or follows from noisy numbers."""

    levels: list[SievedLevel]
    n_records: int
    limit: float
    missed: float
    """How many frequent itemsets are expected among those that were not measured."""
    costs: PartCosts
    are_shares: bool = False
    """Whether supports were told as shares of the records, so that neither the noise of their number nor that of
    average shares that are kept is in them.
    """


class MovingLimit(Protocol):
    """A limit that follows from noisy numbers, round by round."""

    def after(self, number: int, levels: list[SievedLevel], search: SieveSearch) -> float:
        """The limit as a count from the round after this one on."""


class Instead(Protocol):
    """Another way to go on after the first round, where noisy numbers say so."""

    def __call__(self, first: Values) -> FoundDense | None:
        """What is found that way; None: go on as usual."""


@dataclass(frozen=True, eq=False)
class Sieve:
    """Records that are looked at through one composition, and nothing else."""

    data: Baskets | CuratedRecords
    bounding: Bounding
    granted: Composition
    settings: SieveSettings
    per_person: int
    groups: ItemGroups | None = None
    people: People | None = None
    """Whose the records are, where a person may have several."""

    @cached_property
    def records(self) -> CuratedRecords:
        """The records as rounds ask them."""
        return self.data if isinstance(self.data, CuratedRecords) else BasketRecords(self.data, self.people)

    @property
    def baskets(self) -> Baskets:
        """The records in memory, where they are."""
        if not isinstance(self.data, Baskets):
            raise TypeError("These records are not in memory.")
        return self.data

    @property
    def records_each(self) -> int:
        """Records of one person, at most."""
        return 1 if self.people is None else self.people.most

    @property
    def scale_of_number(self) -> float:
        """Of the noise of the number of records."""
        return self.granted.scale_of(self.settings.number * self.granted.epsilon, self.records_each)

    def number(self) -> int:
        """The noisy number of records, at least 1; a record in place of another does not move it, a person with
        several in place of another by less than it has.
        """
        amount = self.settings.number * self.granted.epsilon
        noisy = self.granted.noisy([self.data.n_records], epsilon=amount, sensitivity=self.records_each)
        return max(1, round(float(noisy[0])))

    @property
    def left(self) -> float:
        """What the number of records and the first round leave of what was granted."""
        settings = self.settings
        return self.granted.epsilon * (1 - settings.number - 2 * settings.histograms - settings.shares()[0])

    def run(
        self,
        limit: float,
        n_records: int,
        *,
        moving: MovingLimit | None = None,
        instead: Instead | None = None,
        on_progress: Progress | None = None,
    ) -> Sieved:
        """All rounds, for a limit as a count, which ``moving`` sets anew after each of them; or the first one, and then
        ``instead``.
        """
        settings = self.settings
        believer = Believer(self.bounding, settings.spread, limit, n_records, is_crowded=self.people is None)
        at_most = n_records + math.ceil(_FAR * self.scale_of_number)  # records, as far as the noise lets one be sure
        most = max(1, min(settings.max_candidates, _WORK // at_most))
        search = SieveSearch(limit, n_records, settings.undecided, most, self.groups)
        levels = [SievedLevel(np.arange(self.data.n_items, dtype=np.int32)[:, None])]
        shares = settings.shares()
        for number in range(1, len(shares) + 1):
            _tell(on_progress, number, 0.0)
            if number == 1:
                self._measure(levels, [np.arange(self.data.n_items)], self.records.items(), shares[0], limit)
                other = None if instead is None else instead(levels[0].rounds[0])
                if other is not None:
                    costs = (*self._costs(shares)[:2], *other.costs)
                    count = other.limit * n_records
                    _tell(on_progress, number, 1.0)
                    return Sieved(other.levels, n_records, count, other.missed, costs, are_shares=True)
            else:
                if number > 2:
                    n_new = _extend(levels, search, largest=min(settings.largest, sizes_in(number, len(shares))))
                    if number == _OF_PAIRS and self._are_many(n_new):
                        shares = settings.shares_ahead()
                self._again(levels, shares[number - 1], limit, most)
            believer.update(levels)
            if moving is not None:
                limit = moving.after(number, levels, search)
                believer, search = replace(believer, limit=limit), search.at(limit)
            _tell(on_progress, number, 1.0)
        return Sieved(levels, n_records, limit, self._missed(levels, search, moving is None), self._costs(shares))

    def _are_many(self, n_candidates: int) -> bool:
        """Whether the round of pairs gets more: where noise grows with the number of itemsets that a record holds."""
        return self.bounding.law is LAPLACE and n_candidates >= self.settings.max_candidates

    def _missed(self, levels: list[SievedLevel], search: SieveSearch, is_given: bool) -> float:
        """How many frequent itemsets are expected beside those that were measured.

        A limit that was not given is the one that k itemsets reach, so none are expected beyond what it was found with.
        """
        candidates, missed = search.candidates(levels, largest=self.settings.largest)
        for part in candidates:
            missed[part.rows.shape[1] - 1] += float(part.probability.sum())
        if not is_given:
            return sum(missed)
        numbers = frequent_numbers(levels, missed, search.limit, self.bounding, self.settings.largest)
        return max(0.0, sum(numbers) - sum(float(level.probability.sum()) for level in levels))

    def _again(self, levels: list[SievedLevel], share: float, limit: float, most: int) -> None:
        """Measure what is undecided, the ``most`` undecided ones at most, and all itemsets that were never measured."""
        places = _undecided(levels, self.settings.undecided, most)
        rows = [level.rows[at] for level, at in zip(levels, places, strict=True) if len(at)]
        if rows:
            self._measure(levels, places, self.records.itemsets(rows), share, limit)

    def _measure(
        self, levels: list[SievedLevel], places: list[LevelPlaces], active: Active, share: float, limit: float
    ) -> None:
        """One round: a histogram, the bound that follows from it, and noisy sums, added to what is known."""
        whole, settings, bounding = self.granted.epsilon, self.settings, self.bounding
        groups = _groups(levels, places)
        held = active.held_by(groups)
        histogram = self._histogram(held, len(groups))
        of_one = self.granted.scale_of(share * whole, bounding.sensitivity(bounding.budget(1.0), self.per_person))
        bound = choose_bound(histogram, bounding, of_one / RESOLUTION, limit, settings.spread)
        budget = bounding.budget(bound.bound)
        sensitivity = bounding.sensitivity(budget, self.per_person)
        sums = held.sums(bounding, budget)
        noisy = self.granted.noisy(sums, epsilon=share * whole, sensitivity=sensitivity) / RESOLUTION
        scale = self.granted.scale_of(share * whole, sensitivity) / RESOLUTION
        if not levels[0].rounds:  # of items nothing was known before
            groups = (noisy / bound.shares[groups] > _HIGH * limit).astype(np.int64)
            histogram = self._histogram(active.held_by(groups), len(groups))
        told = RoundShares(bounding, bound.bound, scale, limit, tells_chance=bool(levels[0].rounds))
        shares = told.shares(histogram, groups, noisy)[groups]
        seen = histogram.seen if bounding.foresees_cuts else None
        least_cut = None if seen is None else LeastCut(bound.bound, seen.clear * seen.deviation)
        _remember(levels, places, noisy, scale, shares, least_cut)

    def _histogram(self, held: Held, n_active: int) -> Histogram:
        measured = noisy_histogram if self.people is None else self.people.noisy_histogram
        return measured(
            held,
            n_active,
            granted=self.granted,
            amount=self.settings.histograms * self.granted.epsilon,
            bounding=self.bounding,
            per_person=self.per_person,
        )

    def _costs(self, shares: Sequence[float]) -> PartCosts:
        """What each part costs, of what was granted; ``shares`` are those of the rounds."""
        whole, settings = self.granted.epsilon, self.settings
        rounds = [
            (f"round {at}", whole * (share + settings.histograms * (2 if at == 1 else 1)))
            for at, share in enumerate(shares, 1)
        ]
        return (("total", whole * settings.number), *rounds)


def sizes_in(number: int, n_rounds: int) -> int:
    """Up to how many items new itemsets of a round have: two in the third round, one more in each, any in the last."""
    return number - 1 if number < n_rounds else sys.maxsize


def _extend(levels: list[SievedLevel], search: SieveSearch, *, largest: int) -> int:
    """Add the candidates of up to this size to the levels, to be measured; how many there are."""
    candidates = search.candidates(levels, largest=largest)[0]
    for part in candidates:
        size = part.rows.shape[1]
        if len(levels) < size:
            levels.append(SievedLevel(part.rows))
        else:
            levels[size - 1].rows = np.concatenate([levels[size - 1].rows, part.rows])
    return sum(len(part.rows) for part in candidates)


def _undecided(levels: list[SievedLevel], least: float, most: int) -> list[LevelPlaces]:
    """The places of itemsets that may or may not be frequent, and of those that nothing is known of yet.

    Of the former those nearest to one half, where there are more than ``most``.
    """
    known = [level.probability for level in levels]
    every = np.concatenate([np.abs(probability - 0.5) for probability in known])
    farthest = min(0.5 - least, float(np.partition(every, most)[most]) if len(every) > most else 0.5)
    return [
        np.concatenate([np.flatnonzero(np.abs(one - 0.5) < farthest), np.arange(len(one), len(level.rows))])
        for one, level in zip(known, levels, strict=True)
    ]


def _groups(levels: list[SievedLevel], places: list[LevelPlaces]) -> Units:
    """The group of each itemset of a round: its size, as far as sizes are told apart."""
    sizes = [np.full(len(at), min(level.size, SIZES)) for level, at in zip(levels, places, strict=False)]
    return np.unique(np.concatenate(sizes), return_inverse=True)[1].ravel()


def _remember(
    levels: list[SievedLevel],
    places: list[LevelPlaces],
    noisy: Floats,
    scale: float,
    shares: Floats,
    least_cut: LeastCut | None = None,
) -> None:
    """Add the values of one round to the levels."""
    start, number = 0, 1 + max((values.number for level in levels for values in level.rounds), default=0)
    for level, at in zip(levels, places, strict=False):
        if len(at):
            part = slice(start, start + len(at))
            level.rounds.append(Values(at, noisy[part], scale, shares[part], number, least_cut))
            start += len(at)


def _tell(on_progress: Progress | None, number: int, done: float) -> None:
    """Which round is at work; never a count, nor how long anything took, which would tell of the data."""
    if on_progress is not None:
        on_progress(LevelProgress(number, done, 1.0, "counting"))
