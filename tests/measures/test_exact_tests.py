"""Exact tests of independence against scipy's, and of more people than anything could step through."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bosket.measures import Contingency, measure
from bosket.measures.of_tests import hyper_lift_at

MANY = 2**53


def tables(largest: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    rng = np.random.default_rng(largest)
    a, c = rng.integers(0, largest + 1, (2, number))
    x = stats.hypergeom.rvs(largest, a, c, random_state=rng) + rng.integers(-2, 3, number)
    return np.clip(x, np.maximum(0, a + c - largest), np.minimum(a, c)), a, c, largest


@pytest.mark.parametrize("n", [1, 2, 7, 50, 100, 3000, 400_000])
def test_they_agree_with_scipy(n: int) -> None:
    x, a, c, _ = tables(n, 300)
    table, law = Contingency.of_counts(x, a, c, n), stats.hypergeom(n, c, a)
    np.testing.assert_allclose(measure("fisher")(table), law.sf(x - 1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(measure("hyper_confidence")(table), law.cdf(x - 1), rtol=0, atol=1e-9)
    for quantile in (0.01, 0.51, 0.987, 0.999999):
        with np.errstate(all="ignore"):
            expected = x / law.ppf(quantile)
        np.testing.assert_array_equal(hyper_lift_at(quantile)(table), expected)


def test_a_quantile_that_is_met_just_so_counts_as_met() -> None:
    """One record of 100 on either side: they meet with 0.01, so 0 is the quantile at 0.99."""
    table = Contingency.of_counts(np.array([1]), np.array([1]), np.array([1]), 100)
    assert hyper_lift_at(0.99)(table)[0] == np.inf
    even = Contingency.of_counts(np.array([4]), np.array([9]), np.array([25]), 50)  # as often up to 4 as from 5 on
    assert hyper_lift_at(0.5)(even)[0] == 1


def test_their_time_does_not_grow_with_the_number_of_people() -> None:
    """A tally can claim 2**53 people; scipy's law steps through them."""
    half, few = MANY // 2, 1000
    x = np.array([half // 2, half // 2 + 10**8, half // 2 - 10**8, 3, few, MANY - few, 0])
    a = np.array([half, half, half, 5, few, MANY - few, 0])
    c = np.array([half, half, half, half, few, MANY, half])
    table = Contingency.of_counts(x, a, c, MANY)
    p, confidence, lift = (measure(name)(table) for name in ("fisher", "hyper_confidence", "hyper_lift"))
    np.testing.assert_allclose(p, [0.5, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0], atol=1e-4)
    np.testing.assert_allclose(p + confidence, 1.0, rtol=0, atol=1e-7)
    assert ((p >= 0) & (p <= 1) & (confidence >= 0) & (confidence <= 1)).all()
    spread = np.sqrt(MANY) / 4
    quantile = half // 2 + stats.norm.ppf(0.99) * spread
    np.testing.assert_allclose(lift[:3], x[:3] / quantile, rtol=1e-12)
    assert lift[3:5].tolist() == [3 / 5, np.inf]
    assert lift[5] == 1


def test_a_wide_quantile_is_the_first_that_is_seldom_exceeded() -> None:
    n = 10**8
    table = Contingency.of_counts(np.array([1]), np.array([n // 3]), np.array([n // 5]), n)
    q = round(1 / hyper_lift_at(0.99)(table)[0])
    quantile = Contingency.of_counts(np.array([q, q + 1]), np.array([n // 3] * 2), np.array([n // 5] * 2), n)
    below, upto = measure("hyper_confidence")(quantile)
    assert below < 0.99 <= upto
