"""Rules: values against the definition, errors against the delta method by another route and against the spread of
repetitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import bosket as bk
from tests.oracles import Floats

MLXTEND = [
    "antecedents",
    "consequents",
    "antecedent support",
    "consequent support",
    "support",
    "confidence",
    "lift",
]
MEASURES: dict[str, Callable[[float, float, float], float]] = {
    "support": lambda x, a, c: x,
    "confidence": lambda x, a, c: x / a,
    "lift": lambda x, a, c: x / (a * c),
}


@pytest.fixture(scope="module")
def baskets() -> bk.Baskets:
    return bk.quest(records=20_000, mean_size=5, mean_pattern=3, items=12, patterns=8, seed=3)


@pytest.fixture(scope="module")
def reports(baskets: bk.Baskets) -> bk.Reports:
    return bk.Flip(keep={item: [0.75, 0.85, 0.95][item % 3] for item in range(12)}).randomize(baskets, rng=bk.Seeded(3))


def test_columns_are_mlxtends_and_then_the_errors(reports: bk.Reports) -> None:
    frame = bk.mine(reports, min_support=0.2).rules(min_threshold=0.5)
    errors = [f"{m}_{part}" for m in MEASURES for part in ("stderr", "low", "high")]
    assert list(frame.columns) == MLXTEND + errors
    assert len(frame)
    assert (frame["confidence"] >= 0.5).all()
    assert frame["confidence_low"].is_monotonic_decreasing, "the surest first"


def test_all_rules_of_raw_baskets(baskets: bk.Baskets) -> None:
    """Every split of every frequent itemset, by the definitions."""
    found = bk.mine(baskets, min_support=0.15)
    supports = dict(found)
    expected = {}
    for itemset, support in supports.items():
        for size in range(1, len(itemset)):
            for part in itertools.combinations(itemset, size):
                a = frozenset(part)
                if support / supports[a] >= 0.4:
                    expected[a, itemset - a] = (
                        support,
                        support / supports[a],
                        support / supports[a] / supports[itemset - a],
                    )
    frame = found.rules(min_threshold=0.4)
    assert len(frame) == len(expected)
    assert max(len(consequent) for _, consequent in expected) > 1, "rules with several items on the right must occur"
    for row in frame.to_dict("records"):
        values = (row["support"], row["confidence"], row["lift"])
        assert values == pytest.approx(expected[row["antecedents"], row["consequents"]])
        assert row["confidence_stderr"] == row["lift_stderr"] == row["support_stderr"] == 0


@pytest.mark.parametrize("sampling", [False, True])
def test_errors_by_numerical_derivative_and_pairwise_covariance(reports: bk.Reports, sampling: bool) -> None:
    """The same delta method along another road: covariances asked for pair by pair, derivatives by differences."""
    frame = bk.mine(reports, min_support=0.2).rules(metric="lift", min_threshold=1.0, sampling=sampling)
    for row in frame.iloc[:: max(1, len(frame) // 20)].to_dict("records"):
        a, c = row["antecedents"], row["consequents"]
        found = bk.estimate(reports, [a | c, a, c], sampling=sampling)
        for name, measure in MEASURES.items():
            slope = _gradient(measure, found.value)
            assert row[name] == pytest.approx(measure(*found.value))
            assert row[f"{name}_stderr"] == pytest.approx(float(np.sqrt(slope @ found.covariance @ slope)), rel=1e-5)
            reach = 1.959964 * row[f"{name}_stderr"]
            assert row[f"{name}_low"] == pytest.approx(row[name] - reach)
            assert row[f"{name}_high"] == pytest.approx(row[name] + reach)


def _gradient(measure: Callable[[float, float, float], float], at: Floats) -> Floats:
    steps = 1e-6 * np.eye(3)
    return np.array([(measure(*(at + step)) - measure(*(at - step))) / 2e-6 for step in steps])


def test_stated_errors_are_the_spread_of_repetitions(baskets: bk.Baskets) -> None:
    """300 randomizations of one data set: the spread of confidence and lift against their mean stated errors.

    The standard deviation of 300 draws has a relative error of 4%; 1e-9 is six of those.  Errors that left the
    covariance of numerator and denominator out would be off by more, and are shown to be.
    """
    rules = bk.mine(baskets, min_support=0.25, max_size=2).rules(min_threshold=0.3)
    rule = rules.iloc[0]
    a, c = rule["antecedents"], rule["consequents"]
    mechanism = bk.Flip(keep=0.8)
    values: dict[str, list[float]] = {"confidence": [], "lift": []}
    stated: dict[str, list[float]] = {"confidence": [], "lift": []}
    naive = []
    for seed in range(300):
        noisy = mechanism.randomize(baskets, rng=bk.Seeded(seed))
        frame = bk.mine(noisy, min_support=0.2, max_size=2).rules(min_threshold=0.0)
        row = frame[(frame["antecedents"] == a) & (frame["consequents"] == c)].iloc[0]
        for name in values:
            values[name].append(row[name])
            stated[name].append(row[f"{name}_stderr"])
        found = bk.estimate(noisy, [a | c, a])
        naive.append(row["confidence"] * np.hypot(*(found.stderr / found.value)))
    tolerance = 6 / np.sqrt(2 * 300)
    for name in values:
        assert np.std(values[name]) == pytest.approx(np.mean(stated[name]), rel=tolerance)
    assert abs(np.mean(naive) / np.std(values["confidence"]) - 1) > tolerance


def test_undefined_measures_are_nan_and_pass_no_threshold() -> None:
    """An antecedent less than two standard errors above 0: there is no confidence, but the support stands."""
    baskets = bk.Baskets([["a", "b"]] * 3 + [[]] * 40, items=["a", "b"])
    cases = 0
    for seed in range(50):
        found = bk.mine(bk.Flip(keep=0.7).randomize(baskets, rng=bk.Seeded(seed)), min_support=0.02, slack=50)
        frame = found.rules(metric="support", min_threshold=0.0)
        for row in frame.to_dict("records"):
            antecedent = bk.estimate(bk.Flip(keep=0.7).randomize(baskets, rng=bk.Seeded(seed)), [row["antecedents"]])
            is_sure = antecedent.value[0] > 2 * antecedent.stderr[0]
            assert np.isnan(row["confidence"]) == (not is_sure)
            assert not np.isnan(row["support"])
            cases += not is_sure
        kept = found.rules(metric="confidence", min_threshold=-1e9)
        assert kept["confidence"].notna().all()
    assert cases > 20, "the test must look at something"


def test_metric_and_threshold_are_checked(reports: bk.Reports) -> None:
    found = bk.mine(reports, min_support=0.3)
    with pytest.raises(bk.ParameterError, match="support, confidence, lift"):
        found.rules(metric="sparkle")
    with pytest.raises(bk.ParameterError):
        found.rules(min_threshold=float("nan"))
