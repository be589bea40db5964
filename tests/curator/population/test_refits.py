"""Refits: what a fit makes of its own population, and the bias that follows."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

import bosket as bk
from bosket.curator.population.model import FitAbandonedError, Fitter
from bosket.curator.population.particles import Population
from bosket.curator.population.refits import Refits
from bosket.curator.population.search import Bias
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from tests.curator.population.test_model import CELLS, M, law_of, shares_of, some_law, statistics_of

pytest.importorskip("opendp")


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
def test_noise_has_variance_one_and_comes_in_pairs(bounding: Bounding) -> None:
    refits = Refits(
        statistics_of(law_of(*some_law(3)), np.ones(M + 1), 5.0), np.full(M, 0.1), np.full(M, 0.02), bounding
    )
    even = (np.arange(200_000) + 0.5) / 200_000
    noise = refits._noise(even)
    assert float(np.mean(noise)) == pytest.approx(0.0, abs=1e-6)
    assert float(np.mean(noise**2)) == pytest.approx(1.0, abs=0.01)
    kurtosis = float(np.mean(noise**4))
    assert kurtosis == pytest.approx(6.0 if bounding is PURE else 3.0, rel=0.05)


@pytest.mark.slow
def test_refits_without_noise_are_the_population_and_with_noise_lie_around_it() -> None:
    law = law_of(*some_law(7))
    known = statistics_of(law, np.ones(M + 1), 40.0)
    shares, deviations = law @ CELLS, np.full(M, 0.02)
    population = Fitter(known, shares, deviations).fit()
    itemsets: list[tuple[int, ...]] = [(0,), (1, 2), (0, 3, 4), (1, 2, 3, 5)]
    base = shares_of(population, itemsets)
    still = Refits(replace(known, variances=np.full(len(known.values), 1e-6)), shares, deviations, PURE)
    for one in still.of(population, 2):
        assert np.abs(shares_of(one, itemsets) - base).max() < 0.006
    found = np.array([shares_of(one, itemsets) for one in Refits(known, shares, deviations, PURE).of(population, 4)])
    assert len(found) == 4
    assert (np.abs(found - base).max(axis=0) > 5e-4).all(), "noise moves them"
    middle = (found[0::2] + found[1::2]) / 2 - base
    assert np.abs(middle).mean() < np.abs(found - base).mean(), "what is linear cancels"


def test_a_bias_that_grows_with_size_is_learned() -> None:
    rng = np.random.default_rng(1)
    singles = rng.uniform(0.6, 0.95, 8)
    rows = [np.array([rng.choice(8, size, replace=False) for _ in range(100)]) for size in (1, 2, 3, 4)]
    shares = [rng.uniform(0.4, 0.9, 100) for _ in rows]
    fits = [one - 0.01 * (part.shape[1] - 1) + 0.002 for part, one in zip(rows, shares, strict=True)]
    bias = Bias.learned(rows, shares, fits, singles)
    for part, one in zip(rows, shares, strict=True):
        assert bias.of(part, one, singles) == pytest.approx(0.002 - 0.01 * (part.shape[1] - 1), abs=1e-6)


def known_population() -> tuple[Refits, Population]:
    known = statistics_of(law_of(*some_law(7)), np.ones(M + 1), 40.0)
    shares, deviations = np.full(M, 0.2), np.full(M, 0.05)
    return Refits(known, shares, deviations, PURE), Fitter(known, shares, deviations).fit()


@pytest.mark.slow
def test_refits_do_not_depend_on_threads() -> None:
    refits, population = known_population()
    found = []
    for number in (1, 3):
        with bk.use_threads(number):
            found.append(refits.of(population, 4))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one.coefficients, other.coefficients)
        assert np.array_equal(one.log_weights, other.log_weights)


def test_a_fit_that_nobody_waits_for_ends() -> None:
    refits, population = known_population()
    is_over = Event()
    is_over.set()
    with pytest.raises(FitAbandonedError):
        refits._fitted(refits.statistics.values, population, is_over)
    assert isinstance(refits._fitted(refits.statistics.values, population, Event()), Population)
