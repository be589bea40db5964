"""The confidence of a rule: its numbers by other roads, the coverage of its intervals, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.mining.rule_confidence import confidence
from bosket.statistics.ratio import Ratio
from tests.stats import assert_plausible, assert_rejected, binomial

ITEMS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def baskets() -> bk.Baskets:
    return bk.quest(records=20_000, mean_size=5, mean_pattern=3, items=12, patterns=8, seed=3)


@pytest.fixture(scope="module")
def reports(baskets: bk.Baskets) -> bk.Reports:
    return bk.Flip(keep={item: [0.75, 0.85, 0.95][item % 3] for item in range(12)}).randomize(baskets, rng=bk.Seeded(3))


@pytest.mark.parametrize("sampling", [False, True])
def test_numbers_are_those_of_the_rules_table(reports: bk.Reports, sampling: bool) -> None:
    """Value and standard error by the table of rules, whose covariance comes from the cells of the whole itemset."""
    frame = bk.mine(reports, min_support=0.2).rules(min_threshold=0.3, sampling=sampling)
    assert len(frame) > 15
    for row in frame.iloc[:: len(frame) // 15].to_dict("records"):
        found = confidence(reports, row["antecedents"], row["consequents"], sampling=sampling)
        assert found.value == pytest.approx(row["confidence"])
        assert found.ratio.delta_method_stderr == pytest.approx(row["confidence_stderr"], rel=1e-9)
        assert found.support == pytest.approx(row["support"])
        assert found.antecedent_support == pytest.approx(row["antecedent support"])
        assert found.is_sure
        assert found.sampling == sampling
        low, high = found.interval(0.9)
        assert low < found.value < high
        assert found.within((high - low) / 2) == pytest.approx(0.9, abs=1e-8)
        assert found.radius(0.9) == pytest.approx((high - low) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(("sampling", "seed"), [(False, 21), pytest.param(True, 22, marks=pytest.mark.slow)])
def test_intervals_cover(sampling: bool, seed: int) -> None:
    """90% intervals hold the true confidence 90 times in 100: a binomial test at 1e-9 on 1700 rule-repetitions.

    Twenty rules over disjoint items, so that under Flip the trials are independent.  A coverage of 97% is told apart;
    leaving the covariance of numerator and denominator out would bring more than that.
    """
    rng = np.random.default_rng(seed)
    n, rules, repetitions = 2000, 20, 85
    shares, links = rng.uniform(0.3, 0.7, rules), rng.uniform(0.3, 0.9, rules)

    def people() -> bk.Baskets:
        """Item 2 i with probability share; item 2 i + 1 with probability link after it, else 0.2."""
        first = rng.random((n, rules)) < shares
        second = rng.random((n, rules)) < np.where(first, links, 0.2)
        dense: npt.NDArray[np.bool_] = np.stack([first, second], axis=2).reshape(n, 2 * rules)
        return bk.Baskets([np.flatnonzero(row).tolist() for row in dense], items=range(2 * rules))

    fixed = people()
    truth = links if sampling else [confidence(fixed, {2 * rule}, {2 * rule + 1}).value for rule in range(rules)]
    covered = careless = 0
    for repetition in range(repetitions):
        drawn = people() if sampling else fixed
        noisy = bk.Flip(keep=0.9).randomize(drawn, rng=bk.Seeded(seed * 10_000 + repetition))
        for rule in range(rules):
            found = confidence(noisy, {2 * rule}, {2 * rule + 1}, sampling=sampling)
            low, high = found.interval(0.9)
            covered += low <= truth[rule] <= high
            careless += abs(found.value - truth[rule]) <= 1.644854 * _without_covariance(found.ratio)
    trials = rules * repetitions
    assert_plausible(binomial(covered, trials, 0.9))
    assert_rejected(binomial(covered, trials, 0.97))
    assert_rejected(binomial(careless, trials, 0.9))


def _without_covariance(ratio: Ratio) -> float:
    return math.sqrt(ratio.variance_numerator + ratio.value**2 * ratio.variance_denominator) / ratio.denominator


@pytest.mark.slow
def test_a_rare_antecedent_has_wide_intervals_that_cover_more_often() -> None:
    """Three standard errors above 0: at 90% they hold the truth some 95 times in 100, and are never too narrow."""
    baskets = bk.Baskets([["a", "b"]] * 20 + [["a"]] * 30 + [["b"]] * 200 + [[]] * 1750, items=["a", "b"])
    mechanism = bk.Flip(keep=0.9)
    covered, trials = 0, 1000
    for seed in range(trials):
        found = confidence(mechanism.randomize(baskets, rng=bk.Seeded(seed)), {"a"}, {"b"})
        covered += found.within(abs(found.value - 0.4)) <= 0.9  # just when interval(0.9) holds 0.4
    assert_plausible(binomial(covered, trials, 0.95))
    assert_rejected(binomial(covered, trials, 0.85))


def test_raw_baskets_are_exact(baskets: bk.Baskets) -> None:
    exact = bk.mine(baskets, min_support=0.2).rules(min_threshold=0.3).iloc[0]
    found = confidence(baskets, exact["antecedents"], exact["consequents"])
    assert found.value == exact["confidence"]
    assert found.within(0.0) == 1
    assert found.radius(0.99) == 0
    assert found.interval() == (found.value, found.value)
    assert found.randomness is None


def test_raw_baskets_drawn_from_a_population() -> None:
    """Of n_A people with the antecedents a share q has the consequents: the delta method gives q (1 - q) / n_A."""
    baskets = bk.Baskets([["a", "b"]] * 300 + [["a"]] * 200 + [["b"]] * 100 + [[]] * 400)
    found = confidence(baskets, {"a"}, {"b"}, sampling=True)
    assert found.value == 0.6
    assert found.ratio.delta_method_stderr == pytest.approx(math.sqrt(0.6 * 0.4 / 500))


@pytest.mark.parametrize(
    ("keep", "antecedents", "consequents"),
    [
        ({"a": 1.0, "b": 0.9, "c": 0.7}, {"a"}, {"b", "c"}),
        ({"a": 0.9, "b": 1.0, "c": 1.0}, {"b"}, {"c"}),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a", "b"}, {"c"}),
    ],
    ids=str,
)
def test_items_that_are_not_randomized(keep: dict[str, float], antecedents: set[str], consequents: set[str]) -> None:
    """Their variance is 0, their covariance with anything is 0, and rounding must not make more of it."""
    baskets = bk.Baskets([ITEMS] * 37 + [["a"]] * 31 + [["b", "c"]] * 6 + [["a", "c"]] * 11 + [[]] * 200, items=ITEMS)
    for seed in range(20):
        noisy = bk.Flip(keep=keep).randomize(baskets, rng=bk.Seeded(seed))
        found = confidence(noisy, antecedents, consequents)
        assert found.antecedent_support == bk.estimate(baskets, [antecedents]).value[0]
        assert found.ratio.variance_denominator == found.ratio.covariance == 0
        assert (found.radius(0.9) == 0) == all(keep[item] == 1 for item in consequents)


@pytest.mark.slow
def test_few_reports() -> None:
    """Errors that contradict each other are refused; an antecedent next to 0 is answered, and marked."""
    baskets = bk.Baskets([["a", "b"]] * 3 + [["a"]] * 3 + [["b", "c"]] * 6 + [[]] * 20, items=ITEMS)
    mechanism = bk.Flip(keep=0.5, keep_absent=0.99)
    refused = unsure = 0
    for seed in range(100):
        noisy = mechanism.randomize(baskets, rng=bk.Seeded(seed))
        supports = bk.estimate(noisy, [ITEMS, {"a", "c"}])
        product = supports.stderr.prod()
        if supports.covariance[0, 1] > product * (1 + 1e-9):
            with pytest.raises(bk.DataError, match="32 reports"):
                confidence(noisy, {"a", "c"}, {"b"})
            refused += 1
            continue
        found = confidence(noisy, {"a", "c"}, {"b"})
        is_sure = supports.value[1] > 2 * supports.stderr[1]
        assert found.is_sure == is_sure
        assert ("standard errors above 0" in repr(found)) == (not is_sure)
        assert found.radius(0.95) >= 0
        unsure += not is_sure
    assert refused > 5
    assert unsure > 5, "the test must look at something"


def test_repr_says_all() -> None:
    noisy = bk.Flip(keep=0.9).randomize(bk.Baskets([["a", "b"]] * 400 + [["a"]] * 600), rng=bk.Seeded(1))
    found = confidence(noisy, ["a"], ["b"], sampling=True)
    shown = repr(found)
    assert shown.startswith(f"Confidence({{'a'}} => {{'b'}}: {found.value:.4g} ± {found.radius(0.95):.2g} (95%)")
    assert "coins and sampling" in shown
    assert "protects nobody" in shown
    assert {type(found.antecedents), type(found.consequents)} == {frozenset}


def test_what_is_no_rule_is_refused(reports: bk.Reports) -> None:
    wrong: list[tuple[Any, Any, str]] = [
        ([], [1], "antecedents"),
        ([1], [], "consequents"),
        ([1, 2], [2, 3], "consequents"),
        ("1", [2], "antecedents"),
        ([1], "2", "consequents"),
    ]
    for antecedents, consequents, parameter in wrong:
        with pytest.raises(bk.ParameterError) as caught:
            confidence(reports, antecedents, consequents)
        assert caught.value.parameter == parameter
    with pytest.raises(bk.DataError, match="99"):
        confidence(reports, [1], [99])
    not_data: Any = [["a", "b"]]
    with pytest.raises(bk.DataError):
        confidence(not_data, {"a"}, {"b"})


def test_an_antecedent_that_nobody_has() -> None:
    with pytest.raises(bk.DataError, match="no confidence"):
        confidence(bk.Baskets([["b"]], items=ITEMS), {"a"}, {"b"})
