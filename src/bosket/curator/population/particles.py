"""What a population is: particles with weights, and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.curator.population.leaves import LeafPlaces, Leaves
from bosket.statistics.estimates import Floats

Particles = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class CountedLeaves:
    """Noisy numbers of records by leaf, as far as they tell something."""

    leaves: Leaves
    features: LeafPlaces
    """Of each leaf its place among those that have a coefficient, -1 of the others."""
    values: Floats
    """Of those that have one."""
    variance: float
    are_clear: bool = False
    """Whether noise is well below what pairs do not tell."""

    @property
    def n(self) -> int:
        """Leaves that have a coefficient."""
        return len(self.values)

    @property
    def told(self) -> LeafPlaces:
        """Those leaves, in the order of their coefficients."""
        return np.flatnonzero(self.features >= 0)


@dataclass(frozen=True, eq=False)
class Statistics:
    """What was measured of a population: noisy values, in records, and the variances of their noise."""

    n_records: float
    n_deviation: float
    """Of the noise of the number of records."""
    weights: Floats
    """What a record adds to each of its literals and pairs, by the number of its literals."""
    groups: npt.NDArray[np.int64]
    """Numbers of literals that were counted together, by the number of literals."""
    values: Floats
    """Of literals, of pairs, of groups of numbers of literals."""
    variances: Floats
    counted: CountedLeaves | None = None


@dataclass(frozen=True, eq=False)
class Number:
    """The posterior of the number of records: normal, around ``mean``."""

    mean: float
    slopes: Floats
    """What it moves by on average with each coefficient."""
    own: float
    """Its standard deviation, where coefficients are known."""


@dataclass(frozen=True, eq=False)
class Population:
    """Particles with weights, and a posterior of the coefficients around them, and of the number of records."""

    particles: Particles
    log_weights: Floats
    features: npt.NDArray[np.float32]
    root: Floats
    """Columns of coefficients, deviations of which are independent with variance 1."""
    coefficients: Floats
    centre: Floats
    """Of the prior that was learned."""
    variances: Floats
    """Of it."""
    number: Number
    n_leaves: int = 0
    """Leaves that tell what pairs do not, the last of the features; none where noise is not clear."""

    @property
    def strata(self) -> LeafPlaces:
        """Of each particle its place among those leaves, the last number where it is in none."""
        told = self.features[:, self.features.shape[1] - self.n_leaves :]
        return np.where(told.any(axis=1), told.argmax(axis=1) if self.n_leaves else 0, self.n_leaves)

    @property
    def weights(self) -> Floats:
        """Of the particles."""
        return weights_of(self.log_weights)

    def responses(self, deviates: Floats) -> Floats:
        """How the weights of the particles change, to first order, under draws of the coefficients: a column each.

        To first order since a coefficient that hardly any record tells of has a posterior as wide as its prior, and
        exp of it would make much of particles that the statistics exclude.
        """
        weights = self.weights
        changes = self.features @ (self.root @ deviates).astype(np.float32)
        return np.asarray(weights[:, None] * (changes - weights @ changes))


def weights_of(logs: Floats) -> Floats:
    """Of particles, from the logarithms of their weights."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def resampled(weights: Floats, number: int, offset: float) -> npt.NDArray[np.int64]:
    """Places of particles, each as often as its weight says, up to one (systematic resampling)."""
    at = np.searchsorted(np.cumsum(weights), (np.arange(number) + offset) / number)
    return np.minimum(at, len(weights) - 1)
