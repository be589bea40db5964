"""Frequent itemsets of a fitted population, with what its posterior says of their supports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.population.kernels import add_held
from bosket.curator.population.leaves import LiteralWords, words_of
from bosket.curator.population.literals import Literals
from bosket.curator.population.particles import Population, resampled
from bosket.data import Baskets
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidates import ItemGroups
from bosket.mining.exact import exact_itemsets
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats
from bosket.threads import parallel_map, slices

_SEED = 20_121_108
_RECORDS = 1 << 16
_DRAWS = 256
_MORE_DRAWS, _FEW = 512, 30_000  # for so many itemsets: answers seem to tell more than they do where draws are few
_FIRST_DRAWS = 48  # by which it is told how far below the limit to look
_SEEN = 8192  # particles that draws are seen through
_CELLS = 1 << 24  # itemsets times particles in one step
_TRUST = 0.5  # of a bias that was told by refits: the rest may be
_OF_A_SIZE = 300  # itemsets that bias is learned from
_OF_LEAVES = 60  # itemsets of a size by which it is told what leaves leave untold
_LEAST_UNTOLD = 0.2  # of that
_MARGIN = 2.0  # standard deviations below the limit
_NEAR = 0.05  # of the limit
_BISECTIONS = 40
_HIGHER, _STEPS = 0.8, 12  # of what a limit leaves above it, as long as itemsets are too many


@dataclass(frozen=True, eq=False)
class FittedItemsets:
    """Itemsets of one size, as places of literals, with mean and standard deviation of their share of the records."""

    places: ItemsetRows
    mean: Floats
    deviation: Floats
    draws: npt.NDArray[np.float32]
    """Deviations in draws of the coefficients, a column each."""
    own: Floats
    """Standard deviations of what pairs do not tell."""
    bias: Floats
    """What was taken from the mean."""

    def probability(self, limit: float) -> Floats:
        """How likely each is frequent."""
        return np.asarray(ndtr((self.mean - limit) / self.deviation))


@dataclass(frozen=True, eq=False)
class Relations:
    """What errors of itemsets have in common beside draws of the coefficients."""

    correlations: Callable[[ItemsetRows, ItemsetRows], Floats]
    """Of the holding of itemsets in the records of a population, places of literals filled up with -1."""
    number: Floats
    """By what part there are more records than is known, in each draw of the coefficients."""
    number_own: float
    """The standard deviation of that part, where coefficients are known."""


@dataclass(frozen=True, eq=False)
class Bias:
    """How far fits lie off the population that they are fits of, by what is known of an itemset."""

    coefficients: Floats

    @classmethod
    def learned(cls, rows: list[ItemsetRows], shares: list[Floats], fits: list[Floats], singles: Floats) -> Bias:
        """From itemsets by size, their shares, and those of fits on average."""
        known = np.concatenate([_traits(some, one, singles) for some, one in zip(rows, shares, strict=True)])
        errors = np.concatenate(fits) - np.concatenate(shares)
        weights = np.concatenate([np.full(len(one), 1 / np.sqrt(len(one))) for one in shares])
        return cls(np.linalg.lstsq(known * weights[:, None], errors * weights, rcond=1e-6)[0])

    def of(self, rows: ItemsetRows, shares: Floats, singles: Floats) -> Floats:
        if not len(rows):
            return np.zeros(0)
        return np.asarray(_traits(rows, shares, singles) @ self.coefficients)


def _traits(rows: ItemsetRows, shares: Floats, singles: Floats) -> Floats:
    """Size, share, and how much more that is than of independent items."""
    alone = np.prod(singles[rows], axis=1)
    return np.column_stack([np.ones(len(rows)), np.full(len(rows), rows.shape[1] - 1.0), shares, shares - alone])


class PopulationSearch:
    """The itemsets of a population above a limit, and what draws from its posterior say of them."""

    def __init__(
        self, population: Population, literals: Literals, misfit: float, most: int, largest: int,
        groups: ItemGroups | None = None, refits: Sequence[Population] = (),
    ) -> None:  # fmt: skip
        self._population = population
        self._literals = literals
        self._misfit = misfit
        self._most = most
        self._largest = largest
        self._groups = groups
        self._refits = tuple(refits)
        self._bias: Bias | None = None
        self._left_out = 0
        self._number: Floats = np.zeros(0)
        self._stream = Seeded(_SEED).stream()

    def above(self, limit: float) -> tuple[list[FittedItemsets], float]:
        """Itemsets that may reach the limit, by size, and how many frequent ones are expected among those that were too
        many to be looked at.
        """
        first, _ = self._mined(limit)
        if self._refits and first:
            self._bias = self._learn_bias(first)
        drawn = self._drawn(first, _FIRST_DRAWS)
        near = [part.deviation[np.abs(part.mean - limit) < _NEAR * limit] for part in drawn]
        every = np.concatenate([np.empty(0), *near])
        margin = _MARGIN * (float(np.median(every)) if len(every) else self._misfit / 2)
        lowest = -min([float(part.bias.min()) for part in drawn if len(part.bias)], default=0.0)
        rows, others = self._mined(max(limit - margin - max(lowest, 0.0), limit / 2))
        found = self._drawn(rows, _MORE_DRAWS if sum(len(some) for some in rows) <= _FEW else _DRAWS)
        return found, self._left_out + _expected(others, found, limit)

    def most(self, k: int) -> tuple[list[FittedItemsets], float]:
        """The k most frequent itemsets and those near them, and how many more there may be that were not looked at."""
        return self.above(self._kth(k))

    def relations(self) -> Relations:
        """What errors of the itemsets that were found last have in common beside their draws."""
        number = self._population.number
        return Relations(self.correlations, self._number, number.own / number.mean)

    def correlations(self, rows: ItemsetRows, others: ItemsetRows) -> Floats:
        """Of the holding of itemsets in the records of the population: places of literals, filled up with -1."""
        words, weights = self._patterns
        theirs = self._held(words, others)
        shares = theirs @ weights
        weighed = (theirs * weights).T
        result = np.empty((len(rows), len(others)))
        for start, stop in slices(len(rows), max(1, _CELLS // len(words))):
            held = self._held(words, rows[start:stop])
            own = held @ weights
            scale = np.sqrt(np.outer(own * (1 - own), shares * (1 - shares)))
            result[start:stop] = (held @ weighed - np.outer(own, shares)) / np.maximum(scale, 1e-6)
        return np.clip(result, -1.0, 1.0)

    @cached_property
    def _patterns(self) -> tuple[LiteralWords, npt.NDArray[np.float32]]:
        """Of the population, with weights."""
        words, sums = _distinct(words_of(self._population.particles), self._population.weights[:, None])
        return words, sums[:, 0].astype(np.float32)

    def _held(self, words: LiteralWords, rows: ItemsetRows) -> npt.NDArray[np.float32]:
        """One where a pattern holds an itemset, zero elsewhere: a column a pattern."""
        masks, values = self._literals.words(rows)
        held: npt.NDArray[np.bool_] = (words & masks[:, None]) == values[:, None]
        return held.astype(np.float32)

    def _kth(self, k: int) -> float:
        """The share that k itemsets of the population have, to a part in some thousand."""
        records = self._records(self._population.weights, _RECORDS)
        low, high = 1 / _RECORDS, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._has(records, middle, k) else (low, middle)
        return low

    def _has(self, records: Baskets, limit: float, k: int) -> bool:
        """Whether k itemsets of these records reach a limit."""
        try:
            found = exact_itemsets(
                records.indptr, records.indices, records.n_items,
                min_count=max(1, math.ceil(limit * _RECORDS)), max_size=self._largest,
                max_itemsets=min(2 * k, self._most),
            )  # fmt: skip
        except TooManyCandidatesError:
            return True
        return sum(len(counts) for _, counts in self._possible(found)) >= k

    def _mined(self, limit: float) -> tuple[list[ItemsetRows], dict[int, Floats]]:
        """The itemsets of the fitted population, the most frequent ones where there are too many; and shares of the
        others by size.
        """
        records = self._records(self._population.weights, _RECORDS)
        found = self._possible(self._most_of(records, limit))
        counts = np.concatenate([np.empty(0, np.int64), *(part for _, part in found)])
        if len(counts) <= self._most:
            return [rows for rows, _ in found], {}
        least = np.partition(counts, len(counts) - self._most)[len(counts) - self._most]
        kept = [rows[part > least] for rows, part in found]
        others = {rows.shape[1]: part[part <= least] / _RECORDS for rows, part in found}
        return [rows for rows in kept if len(rows)], others

    def _most_of(self, records: Baskets, limit: float) -> list[tuple[ItemsetRows, Counts]]:
        """Frequent itemsets, at a higher limit and then of fewer items where there are too many; a size has no more
        than may be looked at.  Every try that had more left out as many, at least.
        """
        self._left_out = 0
        limits = [limit + (1 - limit) * (1 - _HIGHER**step) for step in range(_STEPS)]
        tries = [(share, self._largest) for share in limits]
        tries += [(limits[-1], size) for size in range(self._largest - 1, 0, -1)]
        for share, size in tries:
            try:
                return exact_itemsets(
                    records.indptr, records.indices, records.n_items,
                    min_count=max(1, math.ceil(share * _RECORDS)), max_size=size, max_itemsets=self._most,
                )  # fmt: skip
            except TooManyCandidatesError:
                self._left_out += self._most
        return []

    def _possible(self, found: list[tuple[ItemsetRows, Counts]]) -> list[tuple[ItemsetRows, Counts]]:
        """Without two values of one attribute, where items are values."""
        if self._groups is None:
            return found
        kept = []
        for rows, counts in found:
            groups = np.sort(self._groups[self._literals.items[rows]], axis=1)
            keep = (np.diff(groups, axis=1) > 0).all(axis=1)
            kept.append((rows[keep], counts[keep]))
        return [(rows, counts) for rows, counts in kept if len(rows)]

    def _drawn(self, found: list[ItemsetRows], number: int = _DRAWS) -> list[FittedItemsets]:
        """Shares under the coefficients, and their deviations over draws of them, by a part of the particles."""
        population = self._population
        deviates = ndtri(self._uniform(population.root.shape[1] * number)).reshape(-1, number)
        words, changes, weights = words_of(population.particles), population.responses(deviates), population.weights
        self._number = population.number.slopes @ (population.root @ deviates) / population.number.mean
        if len(weights) > _SEEN:
            places = resampled(weights, _SEEN, 0.5)
            words, changes = words[places], changes[places] / np.maximum(_SEEN * weights[places, None], 1e-300)
        words, changes = _distinct(words, changes)
        return [self._told(np.sort(rows, axis=1), words, changes.astype(np.float32)) for rows in found]

    def _told(self, rows: ItemsetRows, words: LiteralWords, changes: npt.NDArray[np.float32]) -> FittedItemsets:
        mean = self._shares(self._population, rows)
        draws = np.empty((len(rows), changes.shape[1]), np.float32)
        for start, stop in slices(len(rows), max(1, _CELLS // len(words))):
            draws[start:stop] = self._held(words, rows[start:stop]) @ changes
        bias = np.zeros(len(rows)) if self._bias is None else self._bias.of(rows, mean, self._singles)
        own = self._misfit * self._untold(rows) * np.sqrt(np.clip(mean * (1 - mean), 1e-6, None))
        bias = _TRUST * bias
        own = np.hypot(own, bias)
        deviation = np.sqrt((draws.astype(float) ** 2).mean(axis=1) + own**2)
        return FittedItemsets(rows, np.clip(mean - bias, 0.0, 1.0), deviation, draws, own, bias)

    def _untold(self, rows: ItemsetRows) -> float:
        """Of the standard deviation of a record's own holding an itemset, the part that leaves do not tell, on average.

        In a leaf that holds the share q of the itemset a record's holding it has the variance q (1 - q); pairs are
        asked for no more than that.
        """
        population = self._population
        if not population.n_leaves or not len(rows):
            return 1.0
        weights, strata = population.weights, population.strata
        masses = np.bincount(strata, weights=weights, minlength=population.n_leaves + 1)
        holds = (population.particles.astype(bool) ^ self._literals.complemented).T
        within, whole = 0.0, 0.0
        for row in rows[:: max(1, len(rows) // _OF_LEAVES)]:
            held = np.logical_and.reduce(holds[row], axis=0)
            inside = np.bincount(strata, weights=weights * held, minlength=len(masses))
            within += float((inside * (1 - inside / np.maximum(masses, 1e-12))).sum())
            whole += float(inside.sum() * (1 - inside.sum()))
        return max(_LEAST_UNTOLD, math.sqrt(max(within, 0.0) / max(whole, 1e-12)))

    @cached_property
    def _singles(self) -> Floats:
        """The share of each item."""
        population = self._population
        held = population.weights @ population.particles
        return np.asarray(np.where(self._literals.complemented, 1 - held, held))

    def _learn_bias(self, found: list[ItemsetRows]) -> Bias:
        """From some itemsets of each size."""
        some = [rows[:: max(1, len(rows) // _OF_A_SIZE)] for rows in found]
        one = [self._shares(self._population, rows) for rows in some]
        others = [np.mean([self._shares(refit, rows) for refit in self._refits], axis=0) for rows in some]
        return Bias.learned(some, one, others, self._singles)

    def _shares(self, population: Population, rows: ItemsetRows) -> Floats:
        words, sums = _distinct(words_of(population.particles), population.weights[:, None])
        masks, values = self._literals.words(rows)
        shares = np.zeros(len(rows))

        def add(part: tuple[int, int]) -> None:
            some = slice(*part)
            add_held(words, sums[:, 0], masks[some], values[some], shares[some])

        parallel_map(add, list(slices(len(rows), max(1, _CELLS // len(words)))))
        return shares

    def _records(self, weights: Floats, number: int) -> Baskets:
        """Records of items, as often as weights say."""
        places = resampled(weights, number, float(self._uniform(1)[0]))
        holds = self._population.particles[places].astype(bool) ^ self._literals.complemented
        indptr = np.concatenate([[0], np.cumsum(holds.sum(axis=1))])
        return Baskets.from_csr(indptr, np.nonzero(holds)[1].astype(np.int32), range(len(self._literals)))

    def _uniform(self, n: int) -> Floats:
        words: npt.NDArray[np.uint64] = self._stream.words(n)
        return np.asarray(((words >> np.uint64(11)) + 0.5) * 2.0**-53)


def reached_by(found: Sequence[FittedItemsets], k: int) -> float:
    """The limit that k itemsets are expected to reach."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_low = sum(float(part.probability(middle).sum()) for part in found) > k
        low, high = (middle, high) if is_low else (low, middle)
    return (low + high) / 2


def _expected(others: dict[int, Floats], found: Sequence[FittedItemsets], limit: float) -> float:
    """How many of these shares, by size, are expected to be frequent, if they are known as well as those of their size
    that were looked at, or of the largest size.
    """
    if not found:
        return float(sum(len(shares) for shares in others.values()))
    by_size = {part.places.shape[1]: part for part in found}
    number = 0.0
    for size, shares in others.items():
        part = by_size.get(size, found[-1])
        number += float(ndtr((shares - np.median(part.bias) - limit) / np.median(part.deviation)).sum())
    return number


def _distinct(words: LiteralWords, columns: Floats) -> tuple[LiteralWords, Floats]:
    """Words that are alike once, with the sums of their columns."""
    each, inverse = np.unique(words, return_inverse=True)
    sums = np.zeros((len(each), columns.shape[1]))
    np.add.at(sums, inverse, columns)
    return each, sums
