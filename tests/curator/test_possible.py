"""What is possible at an epsilon: the printed number, exact summation of the geometric law, and a simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.curator.possible import discoverable_count, failure_probability, least_epsilon, useful_epsilon
from bosket.errors import ParameterError
from tests.stats import assert_plausible, assert_rejected, binomial

deltas = st.integers(1, 99).map(lambda percent: percent / 100)
etas = st.floats(0.001, 0.99)
thresholds = st.integers(1, 400) | st.integers(1, 40_000).map(lambda hundredths: hundredths / 100)


def law(alpha: Fraction, reach: int) -> dict[int, Fraction]:
    """The two-sided geometric law on -reach .. reach, the tails added to its ends."""
    whole = (1 - alpha) / (1 + alpha)
    inside = {sigma: whole * alpha ** abs(sigma) for sigma in range(-reach + 1, reach)}
    rest = (1 - sum(inside.values(), Fraction(0))) / 2
    return {-reach: rest, **inside, reach: rest}


def fails(support: int, sigma: int, lam: Fraction, delta: Fraction) -> bool:
    """Definition 5 and line 7 of Algorithm 2, word for word, for one itemset."""
    is_in = support + sigma >= lam
    return (support > (1 + delta) * lam and not is_in) or (support < (1 - delta) * lam and is_in)


def worst_chance(alpha: Fraction, lam: Fraction, delta: Fraction) -> Fraction:
    """The probability that one count fails, at the support where it is largest, all supports tried."""
    highest = math.ceil(2 * lam) + 3
    noise = law(alpha, 2 * highest)
    return max(
        sum((chance for sigma, chance in noise.items() if fails(support, sigma, lam, delta)), Fraction(0))
        for support in range(highest)
    )


def test_the_printed_bound() -> None:
    """Section 3.2, BMS-WebView-2: epsilon must exceed 18.4 as printed; it is 3340 ln 2 / 126 = 18.37390145293823..."""
    bound = least_epsilon(3340, 310, delta=0.2, eta=0.5)
    assert bound == pytest.approx(18.373901452938235, rel=1e-14)
    assert f"{bound:.1f}" == "18.4"


def test_the_bound_against_whole_numbers() -> None:
    for n in (1, 2, 5, 30):
        for eta in (0.01, 0.3, 0.6):
            expected = math.log((2**n - 1) * (1 - eta) / eta) / (2 * 0.25 * 6 + 2)
            assert least_epsilon(n, 6, delta=0.25, eta=eta) == pytest.approx(max(0.0, expected), rel=1e-12)
    assert least_epsilon(1, 6, delta=0.25, eta=0.9) == 0.0
    huge = least_epsilon(10**9, 10, delta=0.1, eta=0.5)
    assert huge == pytest.approx(10**9 * math.log(2) / 4)


@pytest.mark.parametrize(
    ("lam", "delta"),
    [
        (5, "0.2"),
        (5, "0.3"),
        (10, "0.7"),
        (1, "0.5"),
        (3, "0.99"),
        (2.5, "0.2"),
        (2.9, "0.1"),
        (2.1, "0.4"),
        (0.4, "0.5"),
    ],
)
@pytest.mark.parametrize("n", [1, 3])
def test_failure_by_summing_the_law(lam: float, delta: str, n: int) -> None:
    """alpha = 1/2 or 1/3 as fractions: every support and every noise, with nothing said about tails."""
    for alpha in (Fraction(1, 2), Fraction(1, 3)):
        p = worst_chance(alpha, Fraction(str(lam)), Fraction(delta))
        expected = 1 - (1 - p) ** n
        for max_size in range(1, n + 1):
            epsilon = -max_size * math.log(alpha)
            found = failure_probability(epsilon, n, lam, max_size=max_size, delta=float(delta))
            assert found == pytest.approx(float(expected), rel=1e-12)


@given(thresholds, deltas, st.integers(1, 9))
def test_failure_at_any_threshold(lam: float, delta: float, tenths: int) -> None:
    """The closest calls at thresholds and deltas in decimals, where doubles would round a product the wrong way."""
    exact, d = Fraction(str(lam)), Fraction(str(delta))
    alpha = Fraction(tenths, 10)
    calls = [
        abs(sigma)
        for support in {math.floor((1 + d) * exact) + s for s in (0, 1, 2)}
        | {max(0, math.ceil((1 - d) * exact) - s) for s in (0, 1, 2)}
        for sigma in range(-math.ceil(d * exact) - 4, math.ceil(d * exact) + 5)
        if fails(support, sigma, exact, d)
    ]
    t = min(calls)
    expected = float(alpha) ** t / (1 + float(alpha))
    found = failure_probability(-math.log(alpha), 1, lam, max_size=1, delta=delta)
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_union_bound_is_not_used() -> None:
    """At eta = 1/2 the union bound would ask for noticeably more."""
    n, lam, t = 1000, 50, 11
    epsilon = useful_epsilon(n, lam, max_size=4, delta=0.2, eta=0.5)
    p = math.exp(-epsilon / 4 * t) / (1 + math.exp(-epsilon / 4))
    assert 1 - (1 - p) ** n == pytest.approx(0.5, rel=1e-9)
    assert n * p == pytest.approx(math.log(2), rel=1e-3)


@given(st.integers(1, 5000), thresholds, st.integers(1, 60), deltas, etas)
def test_useful_is_enough_and_hardly_more(n: int, lam: float, max_size: int, delta: float, eta: float) -> None:
    epsilon = useful_epsilon(n, lam, max_size=max_size, delta=delta, eta=eta)

    def failing(at: float) -> float:
        return failure_probability(at, n, lam, max_size=max_size, delta=delta)

    assert failing(epsilon) <= eta
    if epsilon > 0.01:
        assert failing(epsilon * (1 - 1e-6)) > eta
    if epsilon == 0:
        assert eta >= (1 - 0.5**n) * (1 - 1e-12)


@given(st.integers(2, 2000), st.integers(1, 400), st.integers(1, 40), deltas, etas, st.data())
def test_monotone(n: int, lam: int, max_size: int, delta: float, eta: float, data: st.DataObject) -> None:
    """More items, longer records and less room for error cost more; a larger threshold less."""

    def useful(**changed: Any) -> float:
        given_: dict[str, Any] = {"n_items": n, "min_count": lam, "max_size": max_size, "delta": delta, "eta": eta}
        arguments = given_ | changed
        return useful_epsilon(arguments.pop("n_items"), arguments.pop("min_count"), **arguments)

    base = useful() * (1 - 1e-12)
    assert useful(n_items=n + data.draw(st.integers(0, 100))) >= base
    assert useful(max_size=max_size + data.draw(st.integers(0, 5))) >= base
    assert useful(eta=eta * data.draw(st.floats(0.1, 1))) >= base
    assert useful(delta=delta * data.draw(st.floats(0.1, 1))) >= base
    assert useful(min_count=lam + data.draw(st.integers(0, 50))) <= useful() * (1 + 1e-12)
    low, high = sorted(data.draw(st.tuples(st.floats(0, 50), st.floats(0, 50))))
    failing = [failure_probability(e, n, lam, max_size=max_size, delta=delta) for e in (low, high)]
    assert 1 >= failing[0] >= failing[1] >= 0


@given(st.integers(1, 3000), thresholds, deltas, etas)
def test_no_algorithm_beats_the_bound(n: int, lam: float, delta: float, eta: float) -> None:
    """The geometric noise algorithm is one, and with records of up to n items Theorem 3 is about it."""
    bound = least_epsilon(n, lam, delta=delta, eta=eta)
    assert bound <= useful_epsilon(n, lam, max_size=n, delta=delta, eta=eta) * (1 + 1e-12)


def test_truncating_is_what_makes_it_possible() -> None:
    """The paper's point: with five items a record, 0.2-approximation at 310 costs less than 1 rather than 18.4."""
    assert (
        useful_epsilon(3340, 310, max_size=5, delta=0.2, eta=0.5)
        < 1
        < 18
        < least_epsilon(3340, 310, delta=0.2, eta=0.5)
    )


def test_larger_itemsets() -> None:
    """C(10, 3) counts of sensitivity C(5, 3) are so many single items in records of so many."""
    triples = useful_epsilon(10, 20, max_size=5, delta=0.3, eta=0.1, itemset_size=3)
    assert triples == useful_epsilon(120, 20, max_size=10, delta=0.3, eta=0.1)
    few = useful_epsilon(10, 20, max_size=5, delta=0.3, eta=0.1, itemset_size=3, n_candidates=4)
    assert few == useful_epsilon(4, 20, max_size=4, delta=0.3, eta=0.1), "Theorem 10: at most the number of counts"


def test_more_candidates_than_a_double_holds() -> None:
    n_items, k = 5000, 400
    assert math.comb(n_items, k) > 10**308
    epsilon = useful_epsilon(n_items, 1000, max_size=k, delta=0.5, eta=0.1, itemset_size=k)
    need = math.log(math.comb(n_items, k)) - math.log(-math.log1p(-0.1))
    a = epsilon  # sensitivity 1
    assert 501 * a + math.log1p(math.exp(-a)) == pytest.approx(need, rel=1e-12)
    assert failure_probability(0.0, n_items, 1000, max_size=k, delta=0.5, itemset_size=k) == 1.0


def test_usefulness_by_simulation() -> None:
    """The algorithm itself, on counts at their closest calls, fails as often as asked: eta = 0.3 in 40 000 runs.

    False alarms 1e-9; caught: a reach of one more, which would put the failures at 0.13, 70 standard errors off.
    """
    n, lam, delta, max_size, eta, runs = 8, 10, 0.25, 3, 0.3, 40_000
    epsilon = useful_epsilon(n, lam, max_size=max_size, delta=delta, eta=eta)
    stop = -math.expm1(-epsilon / max_size)
    rng = np.random.default_rng(20120827)
    noise = rng.geometric(stop, (runs, n)) - rng.geometric(stop, (runs, n))
    supports = np.full(n, 7)  # the largest below 7.5
    is_in = supports + noise >= lam
    failures = int(is_in.any(axis=1).sum())
    assert_plausible(binomial(failures, runs, eta))
    wrong = failure_probability(epsilon, n, lam + 2, max_size=max_size, delta=delta)
    assert wrong < eta - 0.05
    assert_rejected(binomial(failures, runs, wrong))
    misses = int((13 + noise < lam).any(axis=1).sum())  # the smallest above 12.5 is that one step further away
    assert_plausible(binomial(misses, runs, wrong))


@given(st.floats(0.01, 5), st.integers(1, 10**6), st.integers(1, 50), etas)
def test_discoverable_is_the_least(epsilon: float, n: int, sensitivity: int, eta: float) -> None:
    count = discoverable_count(epsilon, n, sensitivity=sensitivity, eta=eta)
    alpha = math.exp(-epsilon / sensitivity)

    def reached(c: int) -> float:
        return -math.expm1(n * math.log1p(-(alpha**c) / (1 + alpha)))

    assert count >= 1
    assert reached(count) <= eta * (1 + 1e-9)
    if count > 1:
        assert reached(count - 1) > eta * (1 - 1e-9)


@given(st.floats(0.01, 5), st.integers(1, 10**6), st.integers(1, 50))
def test_discoverable_is_monotone(epsilon: float, n: int, sensitivity: int) -> None:
    base = discoverable_count(epsilon, n, sensitivity=sensitivity)
    assert discoverable_count(2 * epsilon, n, sensitivity=sensitivity) <= base
    assert discoverable_count(epsilon, 2 * n, sensitivity=sensitivity) >= base
    assert discoverable_count(epsilon, n, sensitivity=sensitivity + 1) >= base
    assert discoverable_count(epsilon, n, sensitivity=sensitivity, eta=0.5) <= base


def test_discoverable_by_summing_the_law() -> None:
    """alpha = 1/2, three counts: 1 - (1 - p)^3 with p = 2/3 * 2^-c is 0.058 at c = 5 and 0.03 at c = 6."""
    chances = {c: sum(x for sigma, x in law(Fraction(1, 2), 80).items() if sigma >= c) for c in range(1, 9)}
    least = min(c for c, p in chances.items() if 1 - (1 - p) ** 3 <= Fraction(5, 100))
    assert discoverable_count(math.log(2), 3, sensitivity=1) == least == 6


@given(st.floats(1e-12, 1e-6))
def test_discoverable_with_hardly_any_budget(epsilon: float) -> None:
    """As epsilon falls the answer grows as 1 / epsilon, found without a step for every count."""
    count = discoverable_count(epsilon, 100, sensitivity=1)
    assert count * epsilon == pytest.approx(math.log(0.5 / -math.expm1(math.log1p(-0.05) / 100)), rel=1e-5)


@pytest.mark.parametrize(
    ("parameter", "changed"),
    [
        ("n_items", {"n_items": 0}),
        ("min_count", {"min_count": 0}),
        ("min_count", {"min_count": math.inf}),
        ("max_size", {"max_size": 0}),
        ("max_size", {"max_size": 1, "itemset_size": 2}),
        ("delta", {"delta": 0}),
        ("delta", {"delta": 1}),
        ("eta", {"eta": 0.0}),
        ("eta", {"eta": 1.0}),
        ("itemset_size", {"itemset_size": 11}),
        ("n_candidates", {"n_candidates": 0}),
        ("n_candidates", {"n_candidates": 11}),
        ("max_size", {"n_items": 5000, "max_size": 2500, "itemset_size": 1250}),
    ],
)
def test_arguments(parameter: str, changed: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"n_items": 10, "min_count": 5, "max_size": 3, "delta": 0.2, "eta": 0.1} | changed
    with pytest.raises(ParameterError) as caught:
        useful_epsilon(arguments.pop("n_items"), arguments.pop("min_count"), **arguments)
    assert caught.value.parameter == parameter


def test_arguments_of_the_others() -> None:
    for epsilon in (0, -1, math.inf, math.nan):
        with pytest.raises(ParameterError):
            discoverable_count(epsilon, 10, sensitivity=1)
    with pytest.raises(ParameterError):
        discoverable_count(1, 10, sensitivity=0)
    with pytest.raises(ParameterError):
        failure_probability(-1, 10, 5, max_size=3, delta=0.2)
    with pytest.raises(ParameterError):
        least_epsilon(10, 5, delta=0.2, eta=1)
