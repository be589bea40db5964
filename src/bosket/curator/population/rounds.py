"""Dense records: literals in rounds, then pairs of them, read through one fitted population.

    items       all of them, in the sieve's first round
    literals    twice, those of items that are undecided: which items are frequent is settled by what few records lack
    numbers     how many records hold how many of the literals that are left
    pairs       literals and pairs of them, bounded, all at once
    undecided   itemsets that the fitted population leaves undecided, once it is searched

What one record may add follows from noisy numbers.  Everything goes through the composition that it is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bosket.curator.noise import LAPLACE, Composition
from bosket.curator.population.answers import HalfCounts
from bosket.curator.population.items import ItemBeliefs
from bosket.curator.population.leaves import grown, words_of
from bosket.curator.population.literals import MOST_LITERALS, LiteralRecords, Literals
from bosket.curator.population.model import Fitter
from bosket.curator.population.particles import CountedLeaves, Population, Statistics
from bosket.curator.population.refits import Refits
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.population.wanted import Wanted
from bosket.curator.sieve.contributions import RESOLUTION, Bounding, Units
from bosket.curator.sieve.histograms import total_numbers
from bosket.data import Baskets
from bosket.data.domain import ItemIds
from bosket.statistics.estimates import Floats

_LEAST_NUMBERS = 0.02  # of an amount, for numbers of literals
_LOWER = 0.82  # of the limit, for items after the first round, whose shares may be off by as much
_OF_NUMBERS = 0.15  # of what a round of literals costs, for numbers of records by how many they hold
_NEARLY_ALL = 0.98  # of what records hold is kept in such a round
_CLEAR_OF_LEAVES = 2.0  # standard deviations of noise that a leaf is expected to have, to get a coefficient
_PER_LEAF = 2000  # of all particles, four are then in it
_EQUAL = 0.2  # of all patterns, as many of equal numbers tell as much
_CLEAR_OF_NOISE = 0.2  # of what pairs do not tell of a record
_DOUBT = 0.03  # of a sum of literals: some records hold more of them than their bound


@dataclass(frozen=True, eq=False)
class PopulationRounds:
    """Records that are looked at through one composition, and nothing else."""

    data: Baskets
    bounding: Bounding
    granted: Composition
    settings: PopulationSettings
    per_person: int
    n_deviation: float
    records_each: int = 1
    """Records of one person, at most.  Each is bounded by itself, so a person adds as much as so many records: all
    norms are that many times those of one.
    """

    @property
    def asked(self) -> float:
        """The share for undecided itemsets."""
        return self.settings.asked_of(is_with_delta=self.bounding.law is not LAPLACE)

    @property
    def _one(self) -> float:
        """The norm of what neighbours differ by, where a record is in one bin."""
        return self._times(self.bounding.norm_of_ones(self.per_person))

    def _times(self, norm: float) -> float:
        """Of one record each, for all records of a person; never less, by rounding."""
        return norm if self.records_each == 1 else more(norm * self.records_each)

    def run(
        self, beliefs: ItemBeliefs, of_beliefs: ItemIds, wanted: Wanted, n_records: int, whole: float
    ) -> tuple[list[Population], Literals, Floats]:
        """The population of items that are likely frequent, for this amount of what was granted, less what is for
        undecided itemsets; and how likely others are frequent.
        """
        known, places, left = self._settled(beliefs, of_beliefs, wanted, n_records, whole)
        left -= self.asked * whole
        limit = _known_limit(known, wanted)
        mean, deviation, probability = known.summary(limit)
        chosen = self._places(mean, probability, probability > self.settings.likely, self.settings.most_literals)
        literals = Literals(of_beliefs[places[chosen]], mean[chosen] > 0.5)
        records = LiteralRecords(self.data, literals)
        numbers = self._for_numbers(n_records, whole)
        statistics, for_leaves = self._statistics(records, len(literals), n_records, numbers, left - numbers)
        shares = np.where(literals.complemented, 1 - mean[chosen], mean[chosen])
        population = Fitter(statistics, shares, deviation[chosen]).fit()
        if for_leaves:
            counted = self._leaves(records, population, n_records, for_leaves)
            are_clear = self._is_clear(math.sqrt(statistics.variances[0]), n_records)
            counted = None if counted is None else replace(counted, are_clear=are_clear)
            statistics = replace(statistics, counted=counted)
            population = Fitter(statistics, shares, deviation[chosen]).fit(population)
        refits = Refits(statistics, shares, deviation[chosen], self.bounding).of(population, self.settings.refits)
        others = np.concatenate([np.delete(beliefs.summary(limit)[2], places), np.delete(probability, chosen)])
        return [population, *refits], literals, others

    def answers(self, literals: Literals, n_records: float, whole: float) -> HalfCounts:
        """About undecided itemsets, for what was left for them of this amount."""
        return HalfCounts(
            LiteralRecords(self.data, literals), literals, self.bounding, self.granted, self.asked * whole,
            n_records, self.per_person, self.records_each,
        )  # fmt: skip

    def _settled(
        self, beliefs: ItemBeliefs, of_beliefs: ItemIds, wanted: Wanted, n_records: int, whole: float
    ) -> tuple[ItemBeliefs, npt.NDArray[np.int64], float]:
        """What rounds of literals tell of items that may be frequent, which these are, and what is left of an amount.

        The first round of the sieve says which items these are, and nothing more: records of one length may keep
        another share than the middle of their bin, which all items have in common.
        """
        first, *more = self.settings.literals
        mean, _, probability = beliefs.summary(_LOWER * wanted.limit)
        which = self._places(mean, probability, probability > self.settings.undecided, MOST_LITERALS)
        items = of_beliefs[which]
        known = ItemBeliefs(self.bounding, len(items), n_records)
        self._measure(known, np.arange(len(items)), items, mean[which], first * whole)
        left = whole * (1 - first)
        for share in more:
            mean, _, probability = known.summary(_known_limit(known, wanted))
            least = self.settings.undecided
            places = np.flatnonzero((probability > least) & (probability < 1 - least))
            if len(places):  # where all is decided, this round's share is for pairs
                self._measure(known, places, items[places], mean[places], share * whole)
                left -= share * whole
        return known, which, left

    def _for_numbers(self, n_records: int, whole: float) -> float:
        """As much of an amount as tells numbers of records to a small share of all of them, within bounds."""
        settings, one = self.settings, self._one
        for share in np.geomspace(min(_LEAST_NUMBERS, settings.numbers), settings.numbers, 9)[:-1]:
            scale = self.granted.scale_of(float(share) * whole, one)
            if self.bounding.deviation(scale) <= settings.precision * n_records:
                return float(share) * whole
        return settings.numbers * whole

    def _places(
        self, mean: Floats, probability: Floats, wanted: npt.NDArray[np.bool_], most: int
    ) -> npt.NDArray[np.int64]:
        """The items that are wanted, the likeliest and then the most frequent where they are too many; one at least."""
        order = np.lexsort((-mean, -probability))
        some = order[wanted[order]][:most]
        return np.sort(some if len(some) else order[:1])

    def _measure(
        self, known: ItemBeliefs, places: npt.NDArray[np.int64], items: ItemIds, mean: Floats, amount: float
    ) -> None:
        """Noisy sums of literals.  How many a record may add follows from noisy numbers of records by their literals,
        and so does the share that is kept: records may come in kinds, some of which lack nearly everything.
        """
        literals = Literals(items, mean > 0.5)
        records = LiteralRecords(self.data, literals)
        counts, deviation = self._numbers(records, len(literals), _OF_NUMBERS * amount)
        held, numbers = np.arange(len(literals) + 1), _totals(counts, deviation)
        bound = self._bound(numbers, held, _NEARLY_ALL)
        share = float(numbers @ (held * self.bounding.weights(held, bound)) / max(float(numbers @ held), 1e-9))
        amount *= 1 - _OF_NUMBERS
        budget = self.bounding.budget(bound)
        sensitivity = self._times(self.bounding.sensitivity(budget, self.per_person))
        sums = records.singles(self.bounding.units(records.held, budget))
        noisy = self.granted.noisy(sums, epsilon=amount, sensitivity=sensitivity) / RESOLUTION
        scale = self.granted.scale_of(amount, sensitivity) / RESOLUTION
        shares = np.full(len(literals), min(max(share, 0.1), 1.0))
        known.observe(places, noisy, scale, shares, literals.complemented, _DOUBT + (1 - shares[0]))

    def _statistics(
        self, records: LiteralRecords, m: int, n_records: int, for_numbers: float, rest: float
    ) -> tuple[Statistics, float]:
        """Numbers of literals, then literals and pairs, with a bound that follows from the noisy numbers; and how much
        of the rest is for leaves.
        """
        bounding = self.bounding
        counts, deviation = self._numbers(records, m, for_numbers)
        held = np.arange(m + 1)
        adds = held + held * (held - 1) // 2
        bound = self._bound(_totals(counts, deviation), adds, self.settings.kept)
        of_patterns = self.settings.patterns * rest
        for_leaves = 0.0
        noise = self._noise_of(bound, (1 - self.settings.leaves) * (rest - of_patterns))
        if self._are_few(self._patterns(records, of_patterns), bound, n_records, noise):
            for_leaves = self.settings.leaves * (rest - of_patterns)
        for_pairs = rest - of_patterns - for_leaves
        budget = bounding.budget(bound)
        sensitivity = self._times(bounding.sensitivity(budget, self.per_person))
        units = bounding.units(adds, budget)
        each: Units = units[records.held]
        sums = np.concatenate([records.singles(each), records.pairs(each)])
        noisy = self.granted.noisy(sums, epsilon=for_pairs, sensitivity=sensitivity) / RESOLUTION
        scale = bounding.deviation(self.granted.scale_of(for_pairs, sensitivity) / RESOLUTION)
        groups = groups_of(counts, deviation)
        values = np.concatenate([noisy, np.bincount(groups, weights=counts)])
        variances = np.concatenate([np.full(len(noisy), scale**2), deviation**2 * np.bincount(groups)])
        known = Statistics(n_records, self.n_deviation, units / RESOLUTION, groups, values, variances)
        return known, for_leaves

    def _patterns(self, records: LiteralRecords, amount: float) -> float:
        """How many patterns of literals records have, with noise, and one standard deviation of it more.

        A record that comes or goes moves their number by one at most, and so does one in place of another; so many
        records of a person by as many.
        """
        noisy = self.granted.noisy([records.n_patterns], epsilon=amount, sensitivity=self.records_each)
        deviation = self.bounding.deviation(self.granted.scale_of(amount, self.records_each))
        return max(1.0, float(noisy[0]) + deviation)

    def _noise_of(self, bound: float, amount: float) -> float:
        """The standard deviation of the noise of literals and pairs, in records."""
        sensitivity = self._times(self.bounding.sensitivity(self.bounding.budget(bound), self.per_person))
        return self.bounding.deviation(self.granted.scale_of(amount, sensitivity) / RESOLUTION)

    def _are_few(self, n_patterns: float, bound: float, n_records: int, noise: float) -> bool:
        """Whether records repeat each other, so that leaves tell of whole patterns; by noisy numbers.

        Where noise grows with the bound of pairs (pure), leaves must tell more of the pairs themselves: K patterns of
        equal numbers tell of a coefficient what pairs of bound b do if K = b^2.  Numbers are not equal.  Where the
        noise of pairs is well below what pairs do not tell, leaves are worth what they cost.
        """
        is_clear = self._is_clear(noise, n_records)
        is_worth = is_clear or self.bounding.law is not LAPLACE or _EQUAL * n_patterns < bound**2
        return is_worth and self.settings.repeated * n_patterns <= n_records

    def _is_clear(self, noise: float, n_records: int) -> bool:
        """Whether the noise of literals and pairs is well below what pairs do not tell."""
        return noise <= _CLEAR_OF_NOISE * self.settings.misfit * n_records

    def _leaves(
        self, records: LiteralRecords, population: Population, n_records: int, amount: float
    ) -> CountedLeaves | None:
        """Noisy numbers of records in the leaves of a tree that the population chooses.

        A record is in one leaf.  Those have a coefficient that are expected to have records, or seem to have more
        than noise makes of one leaf among all of them.
        """
        one = self._one
        scale = self.granted.scale_of(amount, one)
        deviation = self.bounding.deviation(scale)
        weights = population.weights
        least_mass = deviation / n_records
        leaves = grown(population.particles, weights, most=self.settings.most_leaves, least=least_mass)
        counts = self.granted.noisy(records.counts(leaves), epsilon=amount, sensitivity=one).astype(float)
        places = leaves.of(words_of(population.particles))
        expected = n_records * np.bincount(places, weights=weights, minlength=len(leaves))
        least = max(_CLEAR_OF_LEAVES * deviation, n_records / _PER_LEAF)
        told = np.flatnonzero((expected > least) | (counts - expected > self._seldom(len(leaves)) * deviation))
        order = np.argsort(-np.maximum(expected, counts)[told], kind="stable")
        told = np.sort(told[order][: self.settings.most_told])
        features = np.full(len(leaves), -1)
        features[told] = np.arange(len(told))
        return CountedLeaves(leaves, features, counts[told], deviation**2) if len(told) else None

    def _seldom(self, number: int) -> float:
        """Standard deviations that noise passes about once among so many."""
        tail = math.log(max(number, 2))
        return tail / math.sqrt(2) if self.bounding.law is LAPLACE else math.sqrt(2 * tail)

    def _numbers(self, records: LiteralRecords, m: int, amount: float) -> tuple[Floats, float]:
        """Noisy numbers of records by how many literals they hold, and the standard deviation of their noise.

        A record is in one bin.
        """
        one = self._one
        counts = self.granted.noisy(np.bincount(records.held, minlength=m + 1), epsilon=amount, sensitivity=one)
        return counts.astype(float), self.bounding.deviation(self.granted.scale_of(amount, one))

    def _bound(self, numbers: Floats, adds: Units, kept: float) -> float:
        """The smallest bound that keeps this share of what records could add."""
        whole = float(numbers @ adds)
        for bound in np.unique(np.geomspace(1, max(1, adds[-1]), 100)):
            weights = self.bounding.weights(adds, float(bound))
            if numbers @ (weights * adds) >= kept * whole:
                return float(bound)
        return float(max(1, adds[-1]))


def _known_limit(known: ItemBeliefs, wanted: Wanted) -> float:
    """By what is known of items so far."""
    return wanted.by(known.summary(wanted.limit)[0]).limit


def more(norm: float) -> float:
    """A product of norms that is not whole, rounded up; whole numbers are exact."""
    return norm if float(norm).is_integer() else math.nextafter(norm, math.inf)


def _totals(counts: Floats, deviation: float) -> Floats:
    """Numbers of records by the number of their literals that are not negative and end; none for no literals."""
    if len(counts) < 3:
        return np.maximum(counts, 0.0)
    held = np.arange(1.0, len(counts))
    return np.append(0.0, np.maximum(total_numbers(held, np.ones(len(held)), counts[1:], deviation), 0.0))


def groups_of(counts: Floats, deviation: float) -> Units:
    """Numbers of literals in groups: from the first on, each group ends when it clearly has records."""
    groups = np.zeros(len(counts), np.int64)
    total, number, size = 0.0, 0, 0
    for at in range(len(counts)):
        groups[at] = number
        total, size = total + counts[at], size + 1
        if total > 4 * deviation * math.sqrt(size):
            total, number, size = 0.0, number + 1, 0
    if size and number:  # what is left over at the end joins the last group that has records
        groups[groups == number] = number - 1
    return groups
