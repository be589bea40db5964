"""Itemsets of a population that are still undecided are asked about themselves, and all others learn from the answers.

Pairs and leaves are measured whatever is wanted.  What is left of the budget goes to itemsets whose support may be on
either side of the limit.  Each of those that are asked about is counted by record as

    +1 if the record holds it, -1 if not, in halves of a record

so that no record adds more than m halves to m of them (L1), or sqrt(m) (L2): half of what plain counts need where a
record comes or goes, and as much where one is replaced.  What answers tell of all others is in ``kriging``.

Those are asked about that leave the least undecided (greedily), in blocks, each chosen by all answers before it: what
one costs does not depend on the others (adaptive composition).  How many are asked about in all minimises what is
expected to be decided wrongly.  Everything here but the answers is post-processing of noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from bosket.counting.base import ItemsetRows
from bosket.curator.population.kriging import LEAST, AskedPlaces, Kriging, ToldShares, wrong
from bosket.curator.population.particles import resampled
from bosket.curator.population.search import FittedItemsets, Relations
from bosket.statistics.estimates import Floats

_UNDECIDED = 0.01  # probability of a wrong decision, from which on an itemset is looked at
_TOUCHED = 0.0005  # the same, from which on an itemset learns from answers
_LOOKED_AT, _MAY_BE_ASKED = 1000, 300  # itemsets at most
_BLOCKS = 6
_POINTS = ndtri((np.arange(9) + 0.5) / 9)  # of a normal law


class NoisyShares(Protocol):
    """Noisy shares of itemsets, each for the part of an amount that m of them leave it."""

    def deviation(self, m: int) -> float:
        """The standard deviation of the noise of each, if m are asked about in all."""

    def of(self, rows: ItemsetRows, m: int) -> Floats:
        """Noisy shares of some of these m: places of literals, filled up with -1."""


def asked(
    found: Sequence[FittedItemsets], limit: float, relations: Relations, answers: NoisyShares, most: int
) -> list[FittedItemsets]:
    """The same itemsets, once at most so many of the undecided ones were asked about."""
    if not found:
        return []
    every = Kriging.of(found, relations)
    at_stake = every.at_stake(limit)
    undecided = np.flatnonzero(at_stake > _UNDECIDED)
    if not len(undecided) or most < 1:
        return list(found)
    question = _Question.about(every, undecided, at_stake, limit)
    m = question.number(answers.deviation, min(most, len(question.candidates)))
    told = question.answered(answers, m)
    known = every.as_surprised(told)
    return known.learned(told, np.flatnonzero(known.at_stake(limit) > _TOUCHED), found)


@dataclass(eq=False)
class _Question:
    """Itemsets that are undecided, those of them that may be asked about, and what is believed of both so far."""

    known: Kriging
    limit: float
    targets: AskedPlaces
    candidates: AskedPlaces
    numbers: Floats
    """How many undecided itemsets each target stands for."""
    mean: Floats
    """Of the targets."""
    variance: Floats
    of_candidates: Floats
    """Their means."""
    cross: Floats
    """Covariances of targets and what answers about candidates would tell."""
    inner: Floats
    """Of what these would tell."""

    @classmethod
    def about(cls, known: Kriging, undecided: AskedPlaces, at_stake: Floats, limit: float) -> _Question:
        stake = at_stake[undecided]
        if len(undecided) <= _LOOKED_AT:
            targets, numbers = undecided, np.ones(len(undecided))
        else:
            drawn, times = np.unique(resampled(stake / stake.sum(), _LOOKED_AT, 0.5), return_counts=True)
            targets, numbers = undecided[drawn], times * stake.sum() / (_LOOKED_AT * stake[drawn])
        candidates = targets[:: math.ceil(len(targets) / _MAY_BE_ASKED)]
        return cls(
            known, limit, targets, candidates, numbers, known.mean[targets], known.deviation[targets] ** 2,
            known.mean[candidates], known.told_of(targets, candidates), known.told(candidates),
        )  # fmt: skip

    def number(self, deviation: Callable[[int], float], most: int) -> int:
        """How many to ask about: twice as many as long as less is expected to be decided wrongly."""
        best, least, m = 1, math.inf, 1
        while True:
            left = self._expected(self._greedy(m, deviation(m) ** 2)[1])
            if left >= least:
                return best
            best, least = m, left
            if m == most:
                return best
            m = min(2 * m, most)

    def answered(self, answers: NoisyShares, m: int) -> ToldShares:
        """Ask about m, in blocks."""
        rows, noise = self.known.rows, answers.deviation(m) ** 2
        start = self.of_candidates.copy()
        places: list[int] = []
        values: list[Floats] = []
        for block in np.array_split(np.arange(m), min(m, _BLOCKS)):
            some = self._greedy(len(block), noise)[0]
            value = answers.of(rows[self.candidates[some]], m)
            self._observe(some, value, noise)
            places += some
            values.append(value)
        return ToldShares(self.candidates[places], np.concatenate(values) - start[places], noise)

    def _observe(self, some: list[int], values: Floats, noise: float) -> None:
        """Learn from answers, before the next block."""
        covariance = self.inner[np.ix_(some, some)] + noise * np.eye(len(some))
        surprise = values - self.of_candidates[some]
        gains = np.linalg.solve(covariance, self.cross[:, some].T).T
        inside = np.linalg.solve(covariance, self.inner[:, some].T).T
        self.mean = self.mean + gains @ surprise
        self.variance = np.maximum(self.variance - (gains * self.cross[:, some]).sum(axis=1), LEAST**2)
        self.of_candidates = self.of_candidates + inside @ surprise
        self.cross = self.cross - gains @ self.inner[some]
        self.inner = self.inner - inside @ self.inner[some]

    def _greedy(self, m: int, noise: float) -> tuple[list[int], Floats]:
        """The candidates that leave least of the variance of targets that may be decided wrongly, one after the other;
        and the variances that are left.
        """
        cross, inner, variance = self.cross.copy(), self.inner.copy(), self.variance.copy()
        weights = self.numbers * wrong(self.mean - self.limit, np.sqrt(self.variance)) / self.variance
        chosen: list[int] = []
        for _ in range(m):
            at = int(np.argmax((weights @ cross**2) / (np.diag(inner) + noise)))
            outer, own = cross[:, at].copy(), inner[at].copy()
            scale = own[at] + noise
            variance -= outer**2 / scale
            cross -= np.outer(outer, own / scale)
            inner -= np.outer(own, own / scale)
            chosen.append(at)
        return chosen, np.maximum(variance, LEAST**2)

    def _expected(self, left: Floats) -> float:
        """How many itemsets would be decided wrongly, once variances are what is left of them."""
        told = np.sqrt(np.maximum(self.variance - left, 0.0))
        means = (self.mean - self.limit)[:, None] + told[:, None] * _POINTS
        return float(self.numbers @ wrong(means, np.sqrt(left)[:, None]).mean(axis=1))
