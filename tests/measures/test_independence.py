"""Tests of independence: Fisher's against SciPy, the tail of the whole by enumeration, the limit by its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize, stats

from bosket.measures.dependence_tests import WholeNumbers, chi_squares, correlation_at_least, independence
from tests.oracles import Floats

tables = st.lists(st.integers(0, 30) | st.integers(0, 300), min_size=4, max_size=4).filter(any)


def counts(cells: list[int]) -> tuple[WholeNumbers, WholeNumbers, WholeNumbers, int]:
    x, only_a, only_c, _ = cells
    return np.array([x]), np.array([x + only_a]), np.array([x + only_c]), sum(cells)


@given(cells=tables)
@example(cells=[1, 0, 0, 0])
@example(cells=[300, 0, 0, 300])
def test_fishers_test_as_scipy_does(cells: list[int]) -> None:
    x, a, c, n = counts(cells)
    p, is_exact = independence(x, a, c, n, min_expected=1e9)
    assert p[0] == pytest.approx(stats.fisher_exact(np.array([cells[:2], cells[2:]])).pvalue, rel=1e-9)
    assert is_exact[0] == (0 < a[0] < n and 0 < c[0] < n)


@given(cells=tables)
def test_chi_square_as_scipy_does(cells: list[int]) -> None:
    x, a, c, n = counts(cells)
    p, is_exact = independence(x, a, c, n, min_expected=0)
    assert not is_exact[0]
    if 0 < a[0] < n and 0 < c[0] < n:
        expected = stats.chi2_contingency([cells[:2], cells[2:]], correction=False)
        assert p[0] == pytest.approx(expected.pvalue, rel=1e-6)
        assert chi_squares(x, a, c, n)[0] == pytest.approx(expected.statistic, rel=1e-6, abs=1e-12)
    else:
        assert (p[0], chi_squares(x, a, c, n)[0]) == (1.0, 0.0)


def test_large_counts_do_not_overflow() -> None:
    n = (1 << 32) - 1
    x, a, c = np.array([10**9 // 4 + 40_000]), np.array([10**9]), np.array([n // 4])
    p, _ = independence(x, a, c, n)
    share = a[0] / n * c[0] / n
    z = (x[0] - n * share) / np.sqrt(n * share * (1 - a[0] / n) * (1 - c[0] / n))
    assert p[0] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=0.01)
    exact, _ = independence(np.array([30]), np.array([10**5]), np.array([10**5]), n, min_expected=5)
    assert exact[0] == pytest.approx(stats.poisson.sf(29, 1e10 / n), rel=0.01)


@pytest.mark.parametrize(
    "n, a, c", [(1000, 100, 100), (5822, 300, 300), (5822, 2000, 1500), (5822, 2900, 2900), (100_000, 3000, 3000)]
)
def test_a_true_hypothesis_is_rejected_as_often_as_it_says(n: int, a: int, c: int) -> None:
    """Exact, over all tables with these margins, at levels down to 1e-7.  Chi-square alone fails by a factor of 12."""
    x = np.arange(max(0, a + c - n), min(a, c) + 1)
    weight = stats.hypergeom.pmf(x, n, a, c)
    margins = np.full_like(x, a), np.full_like(x, c)
    p, _ = independence(x, *margins, n)
    plain, _ = independence(x, *margins, n, min_expected=0)
    for alpha in (0.2, 0.05, 0.01, 1e-3, 1e-5, 1e-7):
        assert weight[p <= alpha].sum() <= 1.08 * alpha
    if (n, a) == (5822, 300):
        assert weight[plain <= 1e-7].sum() > 10e-7


@given(cells=st.lists(st.integers(0, 200), min_size=4, max_size=4).filter(any), level=st.sampled_from([0.8, 0.95]))
def test_the_limit_solves_its_equation(cells: list[int], level: float) -> None:
    """By another road: derivatives by differences, the root by Brent's method."""
    x, a, c, n = counts(cells)
    found = correlation_at_least(x, a, c, n, level=level)[0]
    pi = (np.array(cells) + 0.5) / (n + 2)

    def z(pi: Floats) -> float:
        (p11, p10), (p01, p00) = pi.reshape(2, 2)
        one, other = p11 + p10, p11 + p01
        return float(np.arctanh((p11 * p00 - p10 * p01) / np.sqrt(one * (1 - one) * other * (1 - other))))

    steps = 1e-7 * (np.eye(4) - 0.25)  # along the simplex
    slope = np.array([(z(pi + step) - z(pi - step)) / 2e-7 for step in steps])
    error = np.sqrt(max((pi @ slope**2 - (pi @ slope) ** 2) / (n + 2), 1 / (n + 2)))
    shown = abs(z(pi))

    def tail(limit: float) -> float:
        return float(stats.norm.sf((shown - limit) / error) + stats.norm.sf((shown + limit) / error)) - (1 - level)

    expected = 0.0 if tail(0) >= 0 else np.tanh(optimize.brentq(tail, 0, shown, xtol=1e-14))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert 0 <= found < 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "a, c, phi, n",
    [
        (0.5, 0.5, 0.0, 200),
        (0.3, 0.1, -0.1, 200),
        (0.05, 0.05, -0.03, 2000),
        (0.01, 0.01, 0.0, 20_000),
        (0.05, 0.05, 0.4, 2000),
        (0.5, 0.5, -0.9, 2000),
        (0.003, 0.003, 0.4, 20_000),
        (0.02, 0.3, 0.1, 2000),
    ],
)
def test_the_limit_covers(a: float, c: float, phi: float, n: int) -> None:
    """40 000 multinomial tables each; a limit that left the open sign out of account would miss 10% at phi = 0."""
    x = a * c + phi * np.sqrt(a * (1 - a) * c * (1 - c))
    cells = np.random.default_rng(5).multinomial(n, [x, a - x, c - x, 1 - a - c + x], size=40_000)
    one, other = cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]
    limit = correlation_at_least(cells[:, 0], one, other, n)
    missed = int((limit > abs(phi)).sum())
    assert stats.binom.sf(missed - 1, len(cells), 0.0525) > 1e-9  # an approximation: 5.25% in place of 5%
    wrong = int((correlation_at_least(cells[:, 0], one, other, n, level=0.9) > abs(phi)).sum())
    if phi == 0 and a == 0.5:
        assert stats.binom.sf(wrong - 1, len(cells), 0.0525) < 1e-9
