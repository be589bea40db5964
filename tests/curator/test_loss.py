"""Information loss in truncating: every subset, every record, and sums of the posterior in forty decimals."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bosket.curator import loss
from bosket.curator.loss import average_support, kept_ratio, maximal_mean, maximal_support
from bosket.errors import ParameterError


def kept_by_enumeration(h: int, i: int, l: int) -> Fraction:
    """How many of the subsets that a record of h items may be cut to still have its first i."""
    cuts = list(itertools.combinations(range(h), min(l, h)))
    return Fraction(sum(set(range(i)) <= set(cut) for cut in cuts), len(cuts))


def posterior_sums(count: int, epsilon: str, rho: str) -> tuple[float, float]:
    """E[j] and E[mu*(j)] as Eqs. (3), (9), (11) and (12) have them, in decimals, until nothing is left to add."""
    with localcontext() as context:
        context.prec = 40
        e, log_rho = Decimal(epsilon), Decimal(rho).ln()
        alpha = (-e).exp()
        last = max(count, 0) + int(Decimal(80) / e) + 10
        weight = (-e * abs(count)).exp()  # of j = 0
        total = average = maximal = Decimal(0)
        for j in range(last):
            total += weight
            average += weight * j
            maximal += weight * (j - log_rho + (log_rho**2 - 2 * j * log_rho).sqrt())
            weight = weight / alpha if j < count else weight * alpha
        return float(average / total), float(maximal / total)


def test_one_record_by_every_subset() -> None:
    """Eq. (5), with the 1 that it lacks for short records."""
    for h in range(1, 8):
        for i in range(1, h + 1):
            for l in range(i, 9):
                lengths = np.zeros(h + 1)
                lengths[h] = 3
                assert kept_ratio(lengths, i, l) == pytest.approx(float(kept_by_enumeration(h, i, l)), rel=1e-13)
                if l < h:
                    printed = math.comb(h - i, l - i) / math.comb(h, l)
                    assert float(kept_by_enumeration(h, i, l)) == pytest.approx(printed)


@given(st.lists(st.integers(-5, 20), max_size=8), st.integers(1, 4), st.integers(0, 4))
def test_ratio_by_expectation(lengths: list[int], i: int, more: int) -> None:
    """The expected truncated support over the support, records with fewer than i items having no part in it."""
    l = i + more
    records = [(h, max(0, z)) for h, z in enumerate(lengths) if h >= i]
    support = sum(z for _, z in records)
    expected = sum(z * kept_by_enumeration(h, i, l) for h, z in records) / support if support else 1
    assert kept_ratio(lengths, i, l) == pytest.approx(float(expected), rel=1e-12)


def test_ratio_over_databases() -> None:
    """The whole of a tiny database cut in every way: the itemset's mean support over what it was."""
    records = [(0, 1), (0, 1, 2), (0, 1, 3), (0, 1, 2, 3)]
    cut_to = 2
    ways = [list(itertools.combinations(record, min(cut_to, len(record)))) for record in records]
    databases = list(itertools.product(*ways))
    mean = Fraction(sum(sum({0, 1} <= set(cut) for cut in database) for database in databases), len(databases))
    assert kept_ratio([0, 0, 1, 2, 1], 2, cut_to) == pytest.approx(float(mean / len(records)), rel=1e-14)


@given(st.lists(st.integers(0, 20), max_size=8), st.integers(1, 4), st.integers(0, 4))
def test_ratio_by_length(lengths: list[int], i: int, more: int) -> None:
    """All itemsets of a data set together, whatever the data: a record of h items has C(h, i) of them, then C(l, i)."""
    l = i + more
    before = sum(z * math.comb(h, i) for h, z in enumerate(lengths))
    after = sum(z * math.comb(min(h, l), i) for h, z in enumerate(lengths))
    expected = after / before if before else 1.0
    assert kept_ratio(lengths, i, l, by_length=True) == pytest.approx(expected, rel=1e-12)


def test_ratio_by_length_over_a_database() -> None:
    """The mean support of all pairs after every way to cut, over their support before."""
    records = [(0,), (0, 1), (1, 2, 3), (0, 1, 2, 3)]
    ways = [list(itertools.combinations(record, min(3, len(record)))) for record in records]
    pairs = [set(pair) for pair in itertools.combinations(range(4), 2)]
    databases = list(itertools.product(*ways))
    mean = Fraction(sum(pair <= set(cut) for d in databases for cut in d for pair in pairs), len(databases))
    before = sum(pair <= set(record) for record in records for pair in pairs)
    assert kept_ratio([0, 1, 1, 1, 1], 2, 3, by_length=True) == pytest.approx(float(mean / before), rel=1e-14)


def test_ratio_at_its_ends() -> None:
    assert kept_ratio([5, 7], 2, 3) == 1.0
    assert kept_ratio([], 1, 1) == 1.0
    assert kept_ratio([3, -2, -9], 1, 1) == 1.0
    assert kept_ratio([3, 4, 5, 6], 1, 3) == 1.0
    assert kept_ratio(np.array([0, 0, 0, 0, 1]), 4, 4) == 1.0
    assert kept_ratio([1.0] * 2000, 5, 20) > 0


@given(st.lists(st.floats(0, 100), min_size=2, max_size=12), st.integers(1, 3), st.integers(0, 5))
def test_ratio_grows_with_the_cut(lengths: list[float], i: int, more: int) -> None:
    assert 0 < kept_ratio(lengths, i, i + more) <= kept_ratio(lengths, i, i + more + 1) + 1e-12 <= 1 + 1e-12


@given(st.integers(0, 10**6), st.floats(1e-6, 0.999))
def test_the_mean_solves_its_equation(j: int, rho: float) -> None:
    mu = float(maximal_mean(j, rho))
    gamma = 1 - j / mu
    assert 0 <= gamma <= 1
    assert gamma**2 * mu / 2 == pytest.approx(-math.log(rho), rel=1e-6)


@pytest.mark.parametrize("rho", [0.001, 0.01, 0.05, 0.3, 0.5])
def test_the_count_seen_is_a_lower_bound(rho: float) -> None:
    """Definition 9 by the exact law: at a mean of mu*, j or fewer are left with probability at most rho.

    Chernoff is conservative, but not idle: at a mean of j itself it would not be one.
    """
    for j in (0, 1, 3, 10, 100, 5000):
        mu = float(maximal_mean(j, rho))
        for ratio in (0.05, 0.5, 0.95):
            n = math.ceil(mu / ratio)
            assert stats.binom.cdf(j, n, mu / n) <= rho
            assert stats.binom.cdf(j, n, j / n) > 0.5


@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "1", "4"])
@pytest.mark.parametrize("count", [-30, -1, 0, 1, 2, 7, 60])
def test_posterior_sums(epsilon: str, count: int) -> None:
    for rho in ("0.01", "0.5"):
        average, maximal = posterior_sums(count, epsilon, rho)
        assert float(average_support(count, 1.0, float(epsilon))) == pytest.approx(average, rel=1e-12)
        assert float(maximal_support(count, 1.0, float(epsilon), float(rho))) == pytest.approx(maximal, rel=1e-12)
        assert float(average_support(count, 0.25, float(epsilon))) == pytest.approx(4 * average, rel=1e-12)
        assert float(maximal_support(count, 0.25, float(epsilon), float(rho))) == pytest.approx(4 * maximal, rel=1e-12)


def naive(counts: list[int], epsilon: float, rho: float) -> list[float]:
    """E[mu*(j)] a count at a time over the whole range."""
    j = np.arange(max(counts) + math.ceil(60 / epsilon), dtype=float)
    mu = maximal_mean(j, rho)
    weights = [np.exp(-epsilon * (np.abs(j - count) - np.abs(j - count).min())) for count in counts]
    return [float(weight @ mu / weight.sum()) for weight in weights]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.integers(-50, 200_000), min_size=1, max_size=6), st.sampled_from([0.002, 0.1, 1.0, 30.0]))
def test_maximal_over_many_passes(counts: list[int], epsilon: float) -> None:
    """Counts that share a pass and counts that do not, in any order and with repeats."""
    found = maximal_support([*counts, counts[0]], 1.0, epsilon)
    assert found.tolist() == pytest.approx([*naive(counts, epsilon, 0.01), found[0]], rel=1e-10)


@pytest.mark.parametrize("epsilon", [1e-3, 3e-3])
def test_supports_taken_together(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coarse sum that very small epsilon need, forced upon one where the fine sum can be had."""
    counts = [0, 1, 2, 50, 333, 1000, 4001, 20_000]
    fine = maximal_support(counts, 1.0, epsilon)
    for steps in (4000, 1000):
        monkeypatch.setattr(loss, "_STEPS", steps)
        error = (epsilon * math.ceil(40 / (epsilon * steps))) ** 1.5 / 100  # as the docstring has it
        coarse = maximal_support(counts, 1.0, epsilon)
        assert coarse.tolist() == pytest.approx(fine.tolist(), rel=error)
        assert coarse.tolist() != fine.tolist()


def test_hardly_any_budget() -> None:
    """With noise on a billion, supports spread as an exponential law: E[sqrt(2 R j)] = sqrt(pi R / (2 epsilon))."""
    epsilon, r = 1e-9, -math.log(0.01)
    expected = 1 / epsilon + r + math.sqrt(math.pi * r / (2 * epsilon))
    assert float(maximal_support(0, 1.0, epsilon)) == pytest.approx(expected, rel=1e-8)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), st.floats(0.1, 1))
def test_without_noise(counts: list[int], ratio: float) -> None:
    """A large epsilon leaves Eqs. (8) and (10)."""
    for epsilon in (60.0, 5000.0):
        assert average_support(counts, ratio, epsilon).tolist() == pytest.approx([c / ratio for c in counts])
        expected = (maximal_mean(counts) / ratio).tolist()
        assert maximal_support(counts, ratio, epsilon).tolist() == pytest.approx(expected)


@given(st.integers(-20, 3000), st.floats(0.01, 5), st.floats(0.05, 1), st.floats(0.001, 0.99))
def test_in_order(start: int, epsilon: float, ratio: float, rho: float) -> None:
    """Both grow with the count, the maximal one is above the average one, and that above the plain quotient."""
    counts = np.arange(start, start + 30)
    average = average_support(counts, ratio, epsilon)
    maximal = maximal_support(counts, ratio, epsilon, rho)
    assert (np.diff(average) >= -1e-9 * average[1:]).all()
    assert (np.diff(maximal) >= -1e-9 * maximal[1:]).all()
    assert (maximal > average).all()
    assert (average >= np.maximum(counts, 0) / ratio * (1 - 1e-12)).all()
    assert (maximal >= maximal_support(counts, ratio, epsilon, min(0.999, 2 * rho)) * (1 - 1e-12)).all()


def test_shapes() -> None:
    grid = np.array([[3, -1, 3], [0, 9, 100]])
    for function in (average_support, maximal_support):
        found = function(grid, 0.5, 0.7)
        assert found.shape == grid.shape
        assert found.dtype == np.float64
        assert found[0, 0] == found[0, 2]
        assert found[1, 1] == pytest.approx(float(function(9, 0.5, 0.7)), rel=1e-13)
        assert function([], 0.5, 0.7).shape == (0,)
        assert function(np.array([4.0]), 0.5, 0.7) == function([4], 0.5, 0.7)


def test_a_hundred_thousand_counts() -> None:
    """One pass for all: a window each would be 800 million terms."""
    counts = np.arange(-1000, 99_000)
    found = maximal_support(counts, 1.0, 0.01)
    for at in (0, 1000, 1001, 50_000, 99_999):
        assert found[at] == pytest.approx(naive([int(counts[at])], 0.01, 0.01)[0], rel=1e-10)


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("itemset_size", lambda: kept_ratio([1, 2], 0, 2)),
        ("max_size", lambda: kept_ratio([1, 2], 3, 2)),
        ("lengths", lambda: kept_ratio([1, math.nan], 1, 2)),
        ("lengths", lambda: kept_ratio([[1, 2]], 1, 2)),
        ("ratio", lambda: average_support(1, 0.0, 1.0)),
        ("ratio", lambda: maximal_support(1, 1.5, 1.0)),
        ("epsilon", lambda: average_support(1, 0.5, 0.0)),
        ("epsilon", lambda: maximal_support(1, 0.5, math.inf)),
        ("rho", lambda: maximal_support(1, 0.5, 1.0, 1.0)),
        ("rho", lambda: maximal_mean(1, 0.0)),
        ("truncated_count", lambda: maximal_mean(-1)),
        ("noisy_count", lambda: average_support(1.5, 0.5, 1.0)),
        ("noisy_count", lambda: maximal_support([1, math.nan], 0.5, 1.0)),
        ("noisy_count", lambda: average_support([True], 0.5, 1.0)),
        ("noisy_count", lambda: average_support(2**60, 0.5, 1.0)),
    ],
)
def test_arguments(parameter: str, call: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.parameter == parameter
