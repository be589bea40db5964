"""What answers about some itemsets of a population tell of all others: the joint normal law of their errors (kriging).

With D the deviations of a share in draws of the coefficients, b what refits say that it is off, o the standard
deviation of what pairs do not tell, and r the correlation of two itemsets in the records of the population,

    K(x, y) = mean(D_x D_y) + b_x b_y + o_x o_y (RELATED r(x, y) + (1 - RELATED) [x = y])

is the covariance of errors.  Halves do not tell how many records there are: if these are more by a part nu, a share q
is told as q + (q - 1/2) nu, and nu has draws too, since literals and pairs are numbers of records.  With q so told,
noisy answers y tell of every x

    mean_x + K(x, q) (K(q, q) + noise)^-1 (y - mean_q).

Cressie (1993), Statistics for Spatial Data, section 3.2.  How much pairs do not tell is learned from the answers too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from bosket.counting.base import ItemsetRows
from bosket.curator.population.search import FittedItemsets, Relations
from bosket.curator.sieve.contributions import filled_rows
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats
from bosket.threads import slices

LEAST = 1e-5
"""Of the records: no deviation is smaller."""
_SEED = 20_121_110
_RELATED = 0.3  # of the variance of what pairs do not tell: the part that itemsets have in common as records have them
_SCALES = tuple(np.geomspace(1.0, 8.0, 25).tolist())  # of what pairs do not tell, over what was thought
_SPREAD_OF_SCALE = 0.7  # of the logarithm of such a scale, beforehand
_PRIOR = 10.0  # answers that the claim of right deviations counts for
_AT_ONCE = 2048  # itemsets that learn in one step

AskedPlaces = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ToldShares:
    """Itemsets that were asked about, by place, one as often as it was."""

    places: AskedPlaces
    surprises: Floats
    """Answers minus what was expected."""
    noise: float
    """The variance of that of each answer."""


@dataclass(frozen=True, eq=False)
class Kriging:
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
    def of(cls, found: Sequence[FittedItemsets], relations: Relations) -> Kriging:
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

    def told_of(self, places: AskedPlaces, others: AskedPlaces) -> Floats:
        """Covariances of the errors of itemsets with those of what answers about others would tell."""
        drawn = (self.draws[places] @ self.told_draws(others).T.astype(np.float32)).astype(float)
        return np.asarray(drawn / self.draws.shape[1] + self._beside(places, others))

    def told(self, places: AskedPlaces) -> Floats:
        """The covariance of what answers would tell without noise."""
        draws, loads = self.told_draws(places), (self.mean[places] - 0.5) * self.relations.number_own
        return np.asarray(draws @ draws.T / draws.shape[1] + self._beside(places, places) + np.outer(loads, loads))

    def told_draws(self, places: AskedPlaces) -> Floats:
        """What answers would tell in each draw, but for what pairs do not tell."""
        return self.draws[places].astype(float) + np.outer(self.mean[places] - 0.5, self.relations.number)

    def _beside(self, places: AskedPlaces, others: AskedPlaces) -> Floats:
        """Covariances of what no draw tells."""
        return np.asarray(np.outer(self.bias[places], self.bias[others]) + self._misfits(places, others))

    def _misfits(self, places: AskedPlaces, others: AskedPlaces) -> Floats:
        """Covariances of what pairs do not tell."""
        related = _RELATED * self.relations.correlations(self.rows[places], self.rows[others])
        related[places[:, None] == others[None, :]] = 1.0
        return np.asarray(np.outer(self.misfit[places], self.misfit[others]) * related)

    def as_surprised(self, told: ToldShares) -> Kriging:
        """The same, where what pairs do not tell is as much more than was thought as makes the answers likeliest.

        Records of kinds that no law of pairs has lie farther off than others.
        """
        places, errors = told.places, told.surprises
        misfit = self._misfits(places, places)
        others = self.told(places) - misfit + told.noise * np.eye(len(places))

        def likely(scale: float) -> float:
            values, vectors = np.linalg.eigh(others + scale**2 * misfit)
            values = np.maximum(values, LEAST**2)
            away = ((vectors.T @ errors) ** 2 / values).sum() + (math.log(scale) / _SPREAD_OF_SCALE) ** 2
            return -float(np.log(values).sum() + away)

        scale = max(_SCALES, key=likely)
        deviation = np.sqrt(self.deviation**2 + (scale**2 - 1) * self.misfit**2)
        return replace(self, misfit=scale * self.misfit, deviation=deviation)

    def learned(self, told: ToldShares, places: AskedPlaces, found: Sequence[FittedItemsets]) -> list[FittedItemsets]:
        """Means, deviations and draws after all answers; itemsets at other places stay as they are.

        Where answers are still farther off than expected, all variances are larger by as much, beside ten answers that
        are as expected.  A regression on n draws with d degrees of freedom leaves of them 1 - d / n of the variance
        that there is, and of errors that it has not seen 1 / (1 - d / n) (generalized cross-validation; Golub, Heath
        and Wahba 1979): what is left of draws is made up for, and so is how far answers seem to be off.
        """
        mean, draws = self.mean.copy(), self.draws.copy()
        deviation, own = (np.concatenate([getattr(part, name) for part in found]) for name in ("deviation", "own"))
        asked_about, back = np.unique(told.places, return_inverse=True)
        covariance = self.told(told.places) + told.noise * np.eye(len(told.places))
        inverse: Floats = np.asarray(np.linalg.inv(covariance), float)
        drawn = self.told_draws(told.places)
        seen = self._seen(drawn, inverse)
        away = seen * float(told.surprises @ inverse @ told.surprises)
        surprised = max(1.0, (away + _PRIOR) / (len(told.places) + _PRIOR))
        beside = _deviates_of(covariance - drawn @ drawn.T / drawn.shape[1], drawn.shape)
        for start, stop in slices(len(places), _AT_ONCE):
            some = places[start:stop]
            weights = self.told_of(some, asked_about)[:, back]
            gains = weights @ inverse
            mean[some] += gains @ told.surprises
            left = self.draws[some] - gains @ drawn
            of_draws = (left**2).mean(axis=1)
            others = np.maximum(self.deviation[some] ** 2 - (gains * weights).sum(axis=1) - of_draws, 0.0)
            deviation[some] = np.sqrt(np.maximum(surprised * (of_draws / seen**2 + others), LEAST**2))
            draws[some] = (math.sqrt(surprised) * (left / seen - gains @ beside)).astype(np.float32)
            of_draws = (draws[some].astype(float) ** 2).mean(axis=1)
            too_wide = np.minimum(1.0, deviation[some] / np.sqrt(np.maximum(of_draws, 1e-300)))
            draws[some] *= too_wide[:, None].astype(np.float32)
            own[some] = np.sqrt(np.maximum(deviation[some] ** 2 - of_draws * too_wide**2, 0.0))
        ends = np.cumsum([0, *(len(part.mean) for part in found)])
        return [
            replace(part, mean=np.clip(mean[a:b], 0.0, 1.0), deviation=deviation[a:b], draws=draws[a:b], own=own[a:b])
            for part, a, b in zip(found, ends[:-1], ends[1:], strict=True)
        ]

    def _seen(self, drawn: Floats, inverse: Floats) -> float:
        """1 - d / n, with d the trace of what answers explain of themselves; half at least."""
        n = drawn.shape[1]
        explained = float((inverse * (drawn @ drawn.T / n)).sum())
        return float(1 - min(explained / n, 0.5))


def _deviates_of(covariance: Floats, shape: tuple[int, ...]) -> Floats:
    """Draws of errors with a covariance, by a seed: a row each, as many columns as draws."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    words = Seeded(_SEED).stream().words(math.prod(shape))
    deviates = ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(shape)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ deviates)


def wrong(above: Floats, deviation: Floats) -> Floats:
    """How likely a normal number has another sign than its mean."""
    return np.asarray(ndtr(-np.abs(above) / deviation))
