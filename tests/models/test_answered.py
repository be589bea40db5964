"""Answers that are hashed, in the likelihood of a law: variances against every function, derivatives, modes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize

from bosket.models.answered import Answered, Likelihood
from bosket.models.loglinear import FeatureBasis, _Around, fit
from bosket.models.projection import Heard, alike_together
from tests.models.test_loglinear import a_law, heard

Floats = npt.NDArray[np.float64]


def hashed(law: Floats, shape: tuple[int, ...], attributes: tuple[int, ...], n: int, g: int, gamma: float) -> Heard:
    """A question whose answers are shown as often as expected, to the nearest."""
    others = tuple(at for at in range(len(shape)) if at not in attributes)
    margin = law.reshape(shape).sum(axis=others).ravel()
    keep = gamma / (gamma + g - 1) - 1 / g
    shown = np.rint(n * (keep * margin + 1 / g)).astype(np.int64)
    return Heard(attributes, tuple(shape[at] for at in attributes), np.arange(len(margin)), shown, keep, 1 / g, n)


def covariance_of_shown(theta: Floats, g: int, gamma: float) -> Floats:
    """Of one report: which of a few answers it shows, over all functions and all buckets that may be told."""
    d, p = len(theta), gamma / (gamma + g - 1)
    first, second = np.zeros(d), np.zeros((d, d))
    for function in product(range(g), repeat=d):
        for value in range(g):
            told = sum(
                share * (p if function[truth] == value else (1 - p) / (g - 1)) for truth, share in enumerate(theta)
            )
            shown = np.array([bucket == value for bucket in function], float)
            first += told / g**d * shown
            second += told / g**d * np.outer(shown, shown)
    return second - np.outer(first, first)


@pytest.mark.parametrize("g", [2, 4])
@pytest.mark.parametrize("theta", [(0.1, 0.2, 0.3, 0.4), (0.97, 0.01, 0.01, 0.01), (0.5, 0.5, 0.0, 0.0)], ids=str)
def test_no_combination_of_answers_varies_more_than_is_said(theta: tuple[float, ...], g: int) -> None:
    """diag d - Cov has no negative eigenvalue; without d's part beyond the variances it would.  Groups likewise."""
    gamma, law = 5.0, np.array(theta)
    keep = gamma / (gamma + g - 1) - 1 / g
    exact = covariance_of_shown(law, g, gamma)
    for groups in (np.arange(4), np.array([0, 1, 1, 0])):
        number = np.bincount(groups).astype(float)
        one = Answered((0,), groups, np.ones(len(number)), keep, number / g, 1.0, 1 / g)
        likelihood = Likelihood((4,), [one])
        d = 1 / (likelihood.n_asked / likelihood.given(law))
        summed = np.zeros((len(number), 4))
        summed[groups, np.arange(4)] = 1
        grouped = summed @ exact @ summed.T
        assert np.linalg.eigvalsh(np.diag(d) - grouped).min() > -1e-12
        if g > 2:  # d is the variance and kappa^2 theta^2
            margins = summed @ law
            np.testing.assert_allclose(d, np.diag(grouped) + keep**2 * margins**2, rtol=1e-9)
            assert np.linalg.eigvalsh(np.diag(np.diag(grouped)) - grouped).min() < -1e-4


@pytest.mark.parametrize("g", [2, 8])
def test_the_score_is_what_answers_lack_to_their_mean_over_a_variance(g: int) -> None:
    """Against differences of the quasi-likelihood, and it vanishes in the mean: the mode is consistent."""
    shape, gamma, n = (2, 3), 6.0, 5000
    law = a_law(shape)
    part = hashed(law, shape, (0, 1), n, g, gamma).seen_from((0, 1))
    assert part is not None
    likelihood = Likelihood(shape, [part])
    basis = FeatureBasis(likelihood, 2)
    c = np.random.default_rng(1).normal(size=basis.n_terms) / 4
    now = basis.law(c)
    slopes = basis.slopes(now)
    m = max(1 - 2 / g, 0.5)
    d = (1 / g) * (1 - 1 / g) + m * part.keep * now
    score = slopes.T @ (part.keep * (part.shown - n * (1 / g + part.keep * now)) / d)
    for at in range(basis.n_terms):
        step = np.zeros(basis.n_terms)
        step[at] = 1e-5
        up, down = (likelihood.log(basis.law(c + sign * step)) for sign in (1, -1))
        assert score[at] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-3)
    around = _Around(basis, c)
    np.testing.assert_allclose(around.information, n * (slopes.T * (part.keep**2 / d)) @ slopes, rtol=1e-9)
    np.testing.assert_allclose(around.pull, around.information @ c + score, rtol=1e-6, atol=1e-6)


def test_the_mode_of_hashed_answers_is_that_of_another_optimizer() -> None:
    """Beside a question that is answered by randomized response; at many people the law itself."""
    shape = (2, 2, 3)
    law = a_law(shape, 4)
    parts = [hashed(law, shape, (0, 1, 2), 10**7, 8, 8.14), heard(law, shape, (0, 2), 10**6)]
    seen = [part for one in parts if (part := one.seen_from((0, 1, 2))) is not None]
    likelihood = Likelihood(shape, seen)
    found = fit(likelihood, 3)
    precision = np.repeat(1 / found.scales, found.basis.dims)

    def minus_log_posterior(c: Floats) -> float:
        return -likelihood.log(found.basis.law(c)) + 0.5 * float(precision @ c**2)

    other = optimize.minimize(minus_log_posterior, np.zeros(found.basis.n_terms), method="BFGS", options={"gtol": 1e-2})
    assert minus_log_posterior(found.coefficients) <= other.fun + 0.05
    np.testing.assert_allclose(found.law, law, atol=2e-3)


def test_hashed_questions_seen_from_some_attributes() -> None:
    """Answers join, numbers and chances add, and the people stay as many; two questions that look alike are one."""
    shape = (2, 3, 2)
    law = a_law(shape)
    question = hashed(law, shape, (0, 1, 2), 1000, 4, 5.0)
    seen = question.seen_from((1,))
    assert seen is not None
    assert (seen.n, seen.single) == (1000, 0.25)
    assert seen.by_chance.tolist() == [1.0, 1.0, 1.0], "four answers of a quarter each"
    assert seen.shown.tolist() == question.shown.reshape(shape).sum(axis=(0, 2)).tolist()
    (both,) = alike_together([seen, seen])
    assert (both.n, both.shown.sum()) == (2000, 2 * seen.shown.sum())
    plain = heard(law, shape, (1,), 1000).seen_from((1,))
    assert plain is not None
    assert len(alike_together([seen, plain])) == 2
    whole = question.seen_from((0, 1, 2))
    assert whole is not None
    np.testing.assert_allclose(whole.counted.reshape(shape).sum(axis=(0, 2)), seen.counted)
    assert math.isclose(whole.per_shown, 1000 / question.shown.sum())
