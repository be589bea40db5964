"""Fits of a population to what would have been measured of it: a parametric bootstrap, for the bias of the fit.

The prior pulls coefficients that noise hides towards those of the others, so that itemsets whose items go together come
out too small.  How much follows from the fitted population itself: its own statistics with noise of the same law are
fitted again.  Noise comes in pairs z and -z (antithetic draws), which cancels what is linear in it.  Efron and
Tibshirani (1993), An Introduction to the Bootstrap, chapter 10.  Chance is that of a seed, and nothing is looked at:
this is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import numpy as np
from scipy.special import ndtri

from bosket.curator.noise import LAPLACE
from bosket.curator.population.model import Fitter
from bosket.curator.population.particles import CountedLeaves, Population, Statistics
from bosket.curator.sieve.contributions import Bounding
from bosket.randomness import Seeded
from bosket.statistics.estimates import Floats
from bosket.threads import one_thread_of_blas, parallel_map

_SEED = 20_121_109


@dataclass(frozen=True, eq=False)
class Refits:
    """What a population was fitted to."""

    statistics: Statistics
    shares: Floats
    deviations: Floats
    bounding: Bounding

    def of(self, population: Population, number: int) -> list[Population]:
        """Fits of the population's own statistics with noise, two for each draw of it."""
        fitter = Fitter(self.statistics, self.shares, self.deviations)
        expected = fitter.expected(population)
        stream = Seeded(_SEED).stream()
        values: list[Floats] = []
        for _ in range(number // 2):
            words = stream.words(len(expected))
            even = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
            noise = self._noise(np.asarray(even)) * fitter.deviations_of_noise
            values += [expected + sign * noise for sign in (1.0, -1.0)]
        is_over = Event()
        fitted = partial(self._fitted, near=population, is_over=is_over)
        try:
            with one_thread_of_blas():
                return parallel_map(fitted, values)
        finally:
            is_over.set()  # on Ctrl-C others are still at work

    def _fitted(self, values: Floats, near: Population, is_over: Event) -> Population:
        return Fitter(self._with(values), self.shares, self.deviations, is_over).fit(near)

    def _noise(self, even: Floats) -> Floats:
        """Of variance 1, by the law."""
        if self.bounding.law is not LAPLACE:
            return np.asarray(ndtri(even))
        side = np.where(even < 0.5, -1.0, 1.0)
        return np.asarray(-side * np.log(2 * np.minimum(even, 1 - even)) / np.sqrt(2))

    def _with(self, values: Floats) -> Statistics:
        statistics, n = self.statistics, len(self.statistics.values)
        counted: CountedLeaves | None = statistics.counted
        if counted is not None:
            counted = replace(counted, values=values[n:])
        return replace(statistics, values=values[:n], counted=counted)
