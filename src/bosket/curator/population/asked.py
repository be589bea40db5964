"""Itemsets of a population that are still undecided are asked about themselves, and all others learn from the answers.

Pairs and leaves are measured whatever is wanted.  What is left of the budget goes to itemsets whose support may be on
either side of the limit.  Each of those that are asked about is counted by record as

    +1 if the record holds it, -1 if not, in halves of a record

so that no record adds more than m halves to m of them (L1), or sqrt(m) (L2): half of what plain counts need.  Errors of
the population have something in common.  With D the deviations in draws of its coefficients, b what refits say that it
is off, o the standard deviations of what pairs do not tell, and r the correlation of two itemsets in its records,

    K(x, y) = mean(D_x D_y) + b_x b_y + o_x o_y (RELATED r(x, y) + (1 - RELATED) [x = y])

is the covariance of their errors.  Halves do not tell how many records there are: if these are more by a part nu, a
share q is told as q + (q - 1/2) nu, and nu has draws too, since literals and pairs are numbers of records.  With q so
told, noisy answers y tell of every x (Gaussian conditioning, kriging):

    mean_x + K(x, q) (K(q, q) + noise)^-1 (y - mean_q).

Those are asked about that leave the least undecided (greedily), in blocks, each chosen by all answers before it: what
one costs does not depend on the others (adaptive composition).  How many are asked about in all minimises what is
expected to be decided wrongly.  Everything here but the answers is post-processing of noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from bosket.counting.base import ItemsetRows
from bosket.curator.population.model import resampled
from bosket.curator.population.search import FittedItemsets, Relations
from bosket.curator.sieve.contributions import filled_rows
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats
from bosket.threads import slices

_SEED = 20_121_110
_RELATED = 0.3  # of the variance of what pairs do not tell: the part that itemsets have in common as records have them
_UNDECIDED = 0.01  # probability of a wrong decision, from which on an itemset is looked at
_TOUCHED = 0.0005  # the same, from which on an itemset learns from answers
_LOOKED_AT, _MAY_BE_ASKED = 1000, 300  # itemsets at most
_BLOCKS = 6
_POINTS = ndtri((np.arange(9) + 0.5) / 9)  # of a normal law
_PRIOR = 10.0  # answers that the claim of right deviations counts for
_AT_ONCE = 2048  # itemsets that learn in one step
_LEAST = 1e-5  # of the records: no deviation is smaller

Places = npt.NDArray[np.int64]


class Answers(Protocol):
    """Noisy shares of itemsets, each for the part of an amount that m of them leave it."""

    def deviation(self, m: int) -> float:
        """The standard deviation of the noise of each, if m are asked about in all."""

    def of(self, rows: ItemsetRows, m: int) -> Floats:
        """Noisy shares of some of these m: places of literals, filled up with -1."""


def asked(
    found: Sequence[FittedItemsets], limit: float, relations: Relations, answers: Answers, most: int
) -> list[FittedItemsets]:
    """The same itemsets, once at most so many of the undecided ones were asked about."""
    if not found:
        return []
    every = _Known.of(found, relations)
    at_stake = every.at_stake(limit)
    undecided = np.flatnonzero(at_stake > _UNDECIDED)
    if not len(undecided) or most < 1:
        return list(found)
    question = _Question.about(every, undecided, at_stake, limit)
    m = question.number(answers.deviation, min(most, len(question.candidates)))
    told = question.answered(answers, m)
    return every.learned(told, np.flatnonzero(at_stake > _TOUCHED), found)


@dataclass(frozen=True, eq=False)
class _Told:
    """Itemsets that were asked about, by place, one as often as it was; what is known by their answers."""

    places: Places
    gains: Floats
    """(K(q, q) + noise)^-1."""
    surprises: Floats
    """Answers minus what was expected."""
    covariance: Floats
    """K(q, q) + noise, q as it is told."""
    factor: float
    """Of variances, by which answers were farther off than expected; at least 1."""


@dataclass(frozen=True, eq=False)
class _Known:
    """Itemsets of all sizes, and what is believed of them."""

    rows: ItemsetRows
    mean: Floats
    deviation: Floats
    draws: npt.NDArray[np.float32]
    bias: Floats
    misfit: Floats
    """Standard deviations of what pairs do not tell."""
    relations: Relations

    @classmethod
    def of(cls, found: Sequence[FittedItemsets], relations: Relations) -> _Known:
        def joined(name: str) -> Floats:
            return np.concatenate([getattr(part, name) for part in found])

        own, bias = joined("own"), joined("bias")
        misfit = np.sqrt(np.maximum(own**2 - bias**2, 0.0))
        rows = filled_rows([part.places for part in found])
        draws = np.concatenate([part.draws for part in found])
        return cls(rows, joined("mean"), joined("deviation"), draws, bias, misfit, relations)

    def at_stake(self, limit: float) -> Floats:
        """How likely each would be decided wrongly."""
        return wrong(self.mean - limit, self.deviation)

    def told_of(self, places: Places, others: Places) -> Floats:
        """Covariances of the errors of itemsets with those of what answers about others would tell."""
        drawn = (self.draws[places] @ self.told_draws(others).T.astype(np.float32)).astype(float)
        return np.asarray(drawn / self.draws.shape[1] + self._beside(places, others))

    def told(self, places: Places) -> Floats:
        """The covariance of what answers would tell without noise."""
        draws, loads = self.told_draws(places), (self.mean[places] - 0.5) * self.relations.number_own
        return np.asarray(draws @ draws.T / draws.shape[1] + self._beside(places, places) + np.outer(loads, loads))

    def told_draws(self, places: Places) -> Floats:
        """What answers would tell in each draw, but for what pairs do not tell."""
        return self.draws[places].astype(float) + np.outer(self.mean[places] - 0.5, self.relations.number)

    def _beside(self, places: Places, others: Places) -> Floats:
        """Covariances of what no draw tells."""
        misfit = np.outer(self.misfit[places], self.misfit[others])
        related = _RELATED * self.relations.correlations(self.rows[places], self.rows[others])
        related[places[:, None] == others[None, :]] = 1.0
        return np.asarray(np.outer(self.bias[places], self.bias[others]) + misfit * related)

    def learned(self, told: _Told, places: Places, found: Sequence[FittedItemsets]) -> list[FittedItemsets]:
        """Means, deviations and draws after all answers; itemsets that were decided before stay as they are."""
        mean, deviation, draws = self.mean.copy(), self.deviation.copy(), self.draws.copy()
        own = np.concatenate([part.own for part in found])
        asked_about, back = np.unique(told.places, return_inverse=True)
        drawn = self._drawn(told)
        for start, stop in slices(len(places), _AT_ONCE):
            some = places[start:stop]
            weights = self.told_of(some, asked_about)[:, back]
            gains = weights @ told.gains
            mean[some] += gains @ told.surprises
            variance = told.factor * (self.deviation[some] ** 2 - (gains * weights).sum(axis=1))
            deviation[some] = np.sqrt(np.maximum(variance, _LEAST**2))
            draws[some] = (math.sqrt(told.factor) * (self.draws[some] - gains @ drawn)).astype(np.float32)
            of_draws = (draws[some].astype(float) ** 2).mean(axis=1)
            too_wide = np.minimum(1.0, deviation[some] / np.sqrt(np.maximum(of_draws, 1e-300)))
            draws[some] *= too_wide[:, None].astype(np.float32)
            own[some] = np.sqrt(np.maximum(deviation[some] ** 2 - of_draws * too_wide**2, 0.0))
        ends = np.cumsum([0, *(len(part.mean) for part in found)])
        return [
            replace(part, mean=np.clip(mean[a:b], 0.0, 1.0), deviation=deviation[a:b], draws=draws[a:b], own=own[a:b])
            for part, a, b in zip(found, ends[:-1], ends[1:], strict=True)
        ]

    def _drawn(self, told: _Told) -> Floats:
        """What answers would be off by in each draw: of the coefficients, of what pairs do not tell, of noise."""
        drawn = self.told_draws(told.places)
        beside = told.covariance - drawn @ drawn.T / drawn.shape[1]
        values, vectors = np.linalg.eigh((beside + beside.T) / 2)
        words = Seeded(_SEED).stream().words(drawn.size)
        deviates = ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(drawn.shape)
        return np.asarray(drawn + (vectors * np.sqrt(np.maximum(values, 0.0))) @ deviates)


@dataclass(eq=False)
class _Question:
    """Itemsets that are undecided, those of them that may be asked about, and what is believed of both so far."""

    known: _Known
    limit: float
    targets: Places
    candidates: Places
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
    def about(cls, known: _Known, undecided: Places, at_stake: Floats, limit: float) -> _Question:
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

    def answered(self, answers: Answers, m: int) -> _Told:
        """Ask about m, in blocks."""
        rows, noise = self.known.rows, answers.deviation(m) ** 2
        start, inner = self.of_candidates.copy(), self.inner.copy()
        places: list[int] = []
        values: list[Floats] = []
        unlikely = 0.0
        for block in np.array_split(np.arange(m), min(m, _BLOCKS)):
            some = self._greedy(len(block), noise)[0]
            value = answers.of(rows[self.candidates[some]], m)
            unlikely += self._observe(some, value, noise)
            places += some
            values.append(value)
        covariance = inner[np.ix_(places, places)] + noise * np.eye(m)
        surprises = np.concatenate(values) - start[places]
        factor = max(1.0, (unlikely + _PRIOR) / (m + _PRIOR))
        return _Told(self.candidates[places], np.asarray(np.linalg.inv(covariance)), surprises, covariance, factor)

    def _observe(self, some: list[int], values: Floats, noise: float) -> float:
        """Learn from answers; the sum of their squared surprises, in standard deviations."""
        covariance = self.inner[np.ix_(some, some)] + noise * np.eye(len(some))
        surprise = values - self.of_candidates[some]
        gains = np.linalg.solve(covariance, self.cross[:, some].T).T
        inside = np.linalg.solve(covariance, self.inner[:, some].T).T
        self.mean = self.mean + gains @ surprise
        self.variance = np.maximum(self.variance - (gains * self.cross[:, some]).sum(axis=1), _LEAST**2)
        self.of_candidates = self.of_candidates + inside @ surprise
        self.cross = self.cross - gains @ self.inner[some]
        self.inner = self.inner - inside @ self.inner[some]
        return float(surprise @ np.linalg.solve(covariance, surprise))

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
        return chosen, np.maximum(variance, _LEAST**2)

    def _expected(self, left: Floats) -> float:
        """How many itemsets would be decided wrongly, once variances are what is left of them."""
        told = np.sqrt(np.maximum(self.variance - left, 0.0))
        means = (self.mean - self.limit)[:, None] + told[:, None] * _POINTS
        return float(self.numbers @ wrong(means, np.sqrt(left)[:, None]).mean(axis=1))


def wrong(above: Floats, deviation: Floats) -> Floats:
    """How likely a normal number has another sign than its mean."""
    return np.asarray(ndtr(-np.abs(above) / deviation))
