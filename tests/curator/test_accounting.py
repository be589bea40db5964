"""What an epsilon and a delta allow of Gaussian noise, against definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from bosket.curator import accounting
from bosket.curator.accounting import APART, rho_of
from bosket.statistics.estimates import Floats

pytest.importorskip("opendp")
pytest.importorskip("dp_accounting")

TOLD_APART = math.sqrt(2**30 / 32) / 2.0**52
"""By the page: 2^30 numbers, each on a lattice of 2^26 steps a standard deviation."""


def of_one_mechanism(mu: float, epsilon: float) -> float:
    """The integral of what a normal density has above e^epsilon times the one that lies mu below."""

    def above(x: float) -> float:
        return max(0.0, float(norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x)))

    start = epsilon / mu + mu / 2  # where the ratio is e^epsilon
    return quad(above, start, start + 40, epsabs=0.0, epsrel=1e-9, limit=400)[0]


def of_zero_concentrated(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke (2020), Corollary 13: the least over alpha > 1 of
    exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1 / alpha)^alpha.
    """

    def logarithm(log_a: float) -> float:
        a = 1 + math.exp(log_a)
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    return math.exp(minimize_scalar(logarithm, bounds=(-5, 25), method="bounded", options={"xatol": 1e-10}).fun)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_a_rho_is_what_was_asked_for_and_hardly_less(epsilon: float, delta: float) -> None:
    """A rho larger by a ten-thousandth, as a twin would grant, costs more than was asked for."""
    rho, apart = rho_of(epsilon, delta), (1 + math.exp(epsilon)) * TOLD_APART
    assert of_one_mechanism(math.sqrt(2 * rho), epsilon) + apart <= delta * (1 - 1e-7), "with room for rounding"
    assert of_one_mechanism(math.sqrt(2 * rho * 1.0001), epsilon) + apart > delta
    assert of_zero_concentrated(rho, epsilon) > delta, "zero-concentrated privacy alone would not prove it"


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-12), (40.0, 1e-6), (0.3, 2e-12), (1e-7, 1e-6)])
def test_where_the_lattice_or_the_scale_says_too_little_zero_concentrated_privacy_is_used(
    epsilon: float, delta: float
) -> None:
    rho = rho_of(epsilon, delta)
    assert accounting._gaussian(epsilon, delta) == 0.0
    assert of_zero_concentrated(rho, epsilon) <= delta * (1 + 1e-6)
    assert of_zero_concentrated(rho * 1.001, epsilon) > delta


def test_what_is_granted_by_the_curve_is_what_all_scales_are_large_enough_for() -> None:
    assert accounting._gaussian(12.0, 1e-6) == 2.0


@pytest.mark.slow
def test_more_is_granted_for_more() -> None:
    """Also where one proof takes over from the other."""
    for delta in (1e-13, 1e-11, 1e-9, 1e-6, 1e-2):
        granted = [rho_of(float(epsilon), delta) for epsilon in np.geomspace(0.01, 60, 12)]
        assert granted == sorted(granted)
    for epsilon in (0.1, 1.0, 5.0):
        granted = [rho_of(epsilon, float(delta)) for delta in np.geomspace(1e-14, 0.3, 12)]
        assert granted == sorted(granted)


def laws(s: float) -> tuple[Floats, Floats]:
    """The discrete Gaussian law of standard deviation s, and that of a normal variable that is rounded."""
    x = np.arange(-math.ceil(40 * s), math.ceil(40 * s) + 1)
    discrete = np.exp(-(x**2) / (2 * s**2))
    lower, upper = -np.abs(x) - 0.5, -np.abs(x) + 0.5  # in the lower tail, where differences are exact
    return discrete / discrete.sum(), np.where(
        x == 0, 1 - 2 * norm.cdf(-0.5 / s), norm.cdf(upper / s) - norm.cdf(lower / s)
    )


@pytest.mark.parametrize("s", [2.0, 3.5, 8.0, 21.3, 64.0])
def test_a_fine_lattice_cannot_be_told_from_a_normal_variable_that_is_rounded(s: float) -> None:
    """sum p (q / p - 1)^2 <= 1 / (16 s^4), which is the claim, within a factor of twenty; hence Pinsker's bound."""
    p, q = laws(s)
    known = p > 1e-280
    distance = float((p[known] * (q[known] / p[known] - 1) ** 2).sum())
    assert 1 / 400 < distance * s**4 < 1 / 16
    assert np.abs(p - q).sum() / 2 <= math.sqrt(1 / 32) / s**2
    assert pytest.approx(TOLD_APART, rel=1e-12) == APART


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_a_discrete_mechanism_keeps_the_curve_and_what_it_may_lie_apart(epsilon: float) -> None:
    """Two numbers on a coarse lattice, neighbours (4, 3) apart, by enumeration: much nearer than the bound, .015."""
    s, shift = 6.0, (4, 3)
    p, _ = laws(s)
    x = np.arange(len(p))
    near = x[200:-200]  # the rest has a probability below 1e-10
    one = np.outer(p[near], p[near])
    other = np.outer(p[near + shift[0]], p[near + shift[1]])
    exact = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
    curve = of_one_mechanism(5 / s, epsilon)
    assert exact == pytest.approx(curve, abs=3e-5)


@pytest.mark.parametrize("least", [-1.0, 0.0, 0.7])
def test_who_stops_or_goes_on_by_an_answer_gains_nothing(least: float) -> None:
    """Two measurements; the second, for all that is left, is asked for where the first answer is above ``least``.

    The delta of the pair by definition, an integral over the first answer, is at most that of one mechanism; where the
    second is always asked for it is the same.  A twin whose second costs what was granted in all, whatever was asked
    before, is found.
    """
    mu, first, epsilon = 1.0, 0.6, 0.5

    def delta(second: float, from_here: float) -> float:
        def of_answer(x: float) -> float:
            """What is above e^epsilon, given the first answer: a curve at what the first leaves of epsilon."""
            density, left = norm.pdf(x - first), epsilon - first * (x - first / 2)
            if x <= from_here:
                return float(density * max(0.0, 1 - math.exp(left)))
            mean = second**2 / 2 - left
            return float(density * (norm.cdf(mean / second) - math.exp(left) * norm.cdf((mean - second**2) / second)))

        parts = [(-9.0, from_here), (max(from_here, -9.0), 12.0)] if from_here > -9.0 else [(-9.0, 12.0)]
        return sum(quad(of_answer, *part, epsabs=1e-13, epsrel=1e-10, limit=400)[0] for part in parts)

    most = of_one_mechanism(mu, epsilon)
    rest = math.sqrt(mu**2 - first**2)
    assert delta(rest, -math.inf) == pytest.approx(most, rel=1e-6)
    assert delta(rest, least) <= most
    assert delta(mu, -math.inf) > most
