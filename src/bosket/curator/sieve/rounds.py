"""The sieve: rounds over the itemsets that are still undecided, each for a part of one budget.

    number       how many records there are, hence the limit as a count
    round 1      all items
    round 2      items that are undecided
    round 3 ..   everything undecided, with candidates of two, of three, then of any number of items

Every round measures a noisy histogram of how many of its itemsets records hold, which decides how much one record may
add, and then sums of bounded contributions with noise.  All of it goes through the composition that it is given; what
follows from noisy numbers (priors, candidates, which itemsets are decided) costs nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from bosket.curator.noise import Composition
from bosket.curator.sieve.beliefs import Believer, LevelPlaces, SievedLevel, Values
from bosket.curator.sieve.bounds import choose_bound, noisy_histogram
from bosket.curator.sieve.contributions import RESOLUTION, Active, ActiveItems, ActiveItemsets, Bounding
from bosket.curator.sieve.search import SieveSearch
from bosket.curator.sieve.settings import SieveSettings
from bosket.data import Baskets
from bosket.mining.candidates import ItemGroups
from bosket.progress import LevelProgress, Progress
from bosket.statistics.estimates import Floats

_WORK = 1 << 34  # itemsets times records of one round, at most


@dataclass(frozen=True, eq=False)
class Sieved:
    """What the rounds leave: all of it is noisy, or follows from noisy numbers."""

    levels: list[SievedLevel]
    n_records: int
    limit: float
    missed: float
    """How many frequent itemsets are expected among those that were not measured."""
    costs: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Sieve:
    """Records that are looked at through one composition, and nothing else."""

    data: Baskets
    bounding: Bounding
    granted: Composition
    settings: SieveSettings
    per_person: int
    groups: ItemGroups | None = None

    @property
    def scale_of_number(self) -> float:
        """Of the noise of the number of records."""
        return self.granted.scale_of(self.settings.number * self.granted.epsilon, 1)

    def number(self) -> int:
        """The noisy number of records, at least 1; a record in place of another does not move it."""
        amount = self.settings.number * self.granted.epsilon
        return max(1, int(self.granted.noisy([self.data.n_records], epsilon=amount, sensitivity=1)[0]))

    def run(self, limit: float, n_records: int, *, on_progress: Progress | None = None) -> Sieved:
        """All rounds, for a limit as a count."""
        settings = self.settings
        believer = Believer(self.bounding, settings.spread, limit, n_records)
        most = max(1, min(settings.max_candidates, _WORK // n_records))
        search = SieveSearch(limit, settings.undecided, most, self.groups)
        levels = [SievedLevel(np.arange(self.data.n_items, dtype=np.int32)[:, None])]
        for number, share in enumerate(settings.shares(), 1):
            _tell(on_progress, number, 0.0)
            if number == 1:
                self._measure(levels, [np.arange(self.data.n_items)], ActiveItems(self.data), share, limit)
            else:
                if number > 2:
                    _extend(levels, search, largest=min(settings.largest, _sizes_in(number, len(settings.rounds))))
                self._again(levels, share, limit, most)
            believer.update(levels)
            _tell(on_progress, number, 1.0)
        found, missed = search.candidates(levels, largest=settings.largest)
        missed += sum(float(part.probability.sum()) for part in found)
        return Sieved(levels, n_records, limit, missed, self._costs())

    def _again(self, levels: list[SievedLevel], share: float, limit: float, most: int) -> None:
        """Measure what is undecided, the ``most`` undecided ones at most, and all itemsets that were never measured."""
        places = _undecided(levels, self.settings.undecided, most)
        rows = [level.rows[at] for level, at in zip(levels, places, strict=True) if len(at)]
        if rows:
            self._measure(levels, places, ActiveItemsets(self.data, rows), share, limit)

    def _measure(
        self, levels: list[SievedLevel], places: list[LevelPlaces], active: Active, share: float, limit: float
    ) -> None:
        """One round: a histogram, the bound that follows from it, and noisy sums, added to what is known."""
        whole, settings, bounding = self.granted.epsilon, self.settings, self.bounding
        histogram = noisy_histogram(
            active.held,
            sum(map(len, places)),
            granted=self.granted,
            amount=settings.histograms * whole,
            bounding=bounding,
            per_person=self.per_person,
        )
        of_one = self.granted.scale_of(share * whole, bounding.sensitivity(bounding.budget(1.0), self.per_person))
        bound = choose_bound(histogram, bounding, of_one / RESOLUTION, limit, settings.spread)
        budget = bounding.budget(bound.bound)
        sensitivity = bounding.sensitivity(budget, self.per_person)
        sums = active.sums(bounding.units(active.held, budget))
        noisy = self.granted.noisy(sums, epsilon=share * whole, sensitivity=sensitivity) / RESOLUTION
        scale = self.granted.scale_of(share * whole, sensitivity) / RESOLUTION
        _remember(levels, places, noisy, scale, bound.share)

    def _costs(self) -> tuple[tuple[str, float], ...]:
        """What each part costs, of what was granted."""
        whole, settings = self.granted.epsilon, self.settings
        rounds = [
            (f"round {at}", whole * (share + settings.histograms)) for at, share in enumerate(settings.shares(), 1)
        ]
        return (("total", whole * settings.number), *rounds)


def _sizes_in(number: int, n_rounds: int) -> int:
    """Up to how many items new itemsets of a round have: two in the third round, one more in each, any in the last."""
    return number - 1 if number < n_rounds else sys.maxsize


def _extend(levels: list[SievedLevel], search: SieveSearch, *, largest: int) -> None:
    """Add the candidates of up to this size to the levels, to be measured."""
    for part in search.candidates(levels, largest=largest)[0]:
        size = part.rows.shape[1]
        if len(levels) < size:
            levels.append(SievedLevel(part.rows))
        else:
            levels[size - 1].rows = np.concatenate([levels[size - 1].rows, part.rows])


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


def _remember(levels: list[SievedLevel], places: list[LevelPlaces], noisy: Floats, scale: float, share: float) -> None:
    """Add the values of one round to the levels.

    The share is that of all itemsets of the round together.  Where they are of one size, or none of a size was measured
    before, it is taken as it is.
    """
    is_alone = sum(len(at) > 0 for at in places) == 1
    start = 0
    for level, at in zip(levels, places, strict=False):
        if not len(at):
            continue
        is_anchor = is_alone or not level.rounds
        level.rounds.append(Values(at, noisy[start : start + len(at)], scale, share, is_anchor))
        start += len(at)


def _tell(on_progress: Progress | None, number: int, done: float) -> None:
    """Which round is at work; never a count, nor how long anything took, which would tell of the data."""
    if on_progress is not None:
        on_progress(LevelProgress(number, done, 1.0, "counting"))
