"""Gaussian noise and its composition in rho, and what a rho is as an epsilon and a delta."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

import bosket as bk
from bosket.curator.noise import GAUSSIAN, Composition, rho_of

pytest.importorskip("opendp")
pytestmark = pytest.mark.own_chance


def delta_by_definition(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke (2020), Corollary 13: the least over alpha > 1 of
    exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1 / alpha)^alpha.
    """

    def logarithm(log_a: float) -> float:
        a = 1 + math.exp(log_a)
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    return math.exp(minimize_scalar(logarithm, bounds=(-5, 12), method="bounded", options={"xatol": 1e-10}).fun)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_a_rho_is_what_was_asked_for_and_hardly_less(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert delta_by_definition(rho, epsilon) <= delta * (1 + 1e-6)
    assert delta_by_definition(rho * 1.001, epsilon) > delta


def test_parts_add_up_to_rho_and_nothing_goes_beyond() -> None:
    granted = Composition(0.02, GAUSSIAN)
    for _ in range(4):
        granted.noisy([1, 2], epsilon=0.005, sensitivity=3.0)
    with pytest.raises(bk.BudgetExceeded, match="rho"):
        granted.noisy([1, 2], epsilon=1e-5, sensitivity=3.0)


@pytest.mark.parametrize(("rho", "sensitivity"), [(0.01, 1.0), (0.5, 20.0), (2.0, math.sqrt(2))])
def test_noise_has_the_variance_that_its_cost_asks_for(rho: float, sensitivity: float) -> None:
    """sensitivity^2 / (2 rho), by chi-square on 12 000 draws: false alarm 1e-9, and as often a scale smaller by a
    tenth passes (it lies ten standard errors off).
    """
    n = 12_000
    drawn = Composition(rho * 1.0001, GAUSSIAN).noisy(np.zeros(n, np.int64), epsilon=rho, sensitivity=sensitivity)
    statistic = float((drawn.astype(float) ** 2).sum() * 2 * rho / sensitivity**2)
    assert chi2.ppf(1e-9, n) < statistic < chi2.ppf(1 - 1e-9, n)
    assert statistic / 0.81 > chi2.ppf(1 - 1e-9, n)


def test_scale_is_the_one_that_costs_what_was_asked_for() -> None:
    granted = Composition(1.0, GAUSSIAN)
    for rho, sensitivity in ((0.02, 3.0), (1.0, 1024.5)):
        assert granted.scale_of(rho, sensitivity) == pytest.approx(sensitivity / math.sqrt(2 * rho), rel=1e-9)


@pytest.mark.slow
def test_an_epsilon_beyond_what_can_be_converted_gets_a_rho_that_can_be() -> None:
    """An exponential overflows on the way: a smaller rho is granted, which is more private, instead of an error."""
    assert 50 < rho_of(1e8, 1e-9) < 1e8
