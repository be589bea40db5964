"""Rules: values against the definition, errors against the delta method by another route and against the spread of
repetitions, intervals against what defines them, selection against plain Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bosket as bk
from bosket.measures import CATALOGUE, MLXTEND, Contingency, Measure, catalogue
from bosket.measures.inference import Covariance, Tables
from bosket.measures.measure import Scale
from tests.oracles import Floats
from tests.stats import assert_plausible, assert_rejected

Z = 1.959963984540054
FIRST = ["antecedents", "consequents", "antecedent support", "consequent support", *MLXTEND]
SMOOTH = [record for record in CATALOGUE.values() if record.gradient is not None]


@pytest.fixture(scope="module")
def baskets() -> bk.Baskets:
    return bk.quest(records=20_000, mean_size=5, mean_pattern=3, items=12, patterns=8, seed=3)


@pytest.fixture(scope="module")
def reports(baskets: bk.Baskets) -> bk.Reports:
    return bk.Flip(keep={item: [0.75, 0.85, 0.95][item % 3] for item in range(12)}).randomize(baskets, rng=bk.Seeded(3))


@pytest.fixture(scope="module")
def found(reports: bk.Reports) -> bk.FrequentItemsets:
    return bk.mine(reports, min_support=0.2)


def test_columns_are_mlxtends_and_then_the_errors(found: bk.FrequentItemsets) -> None:
    frame = found.rules(min_threshold=0.5)
    errors = [f"{m}_{part}" for m in MLXTEND for part in ("stderr", "low", "high")]
    assert list(frame.columns) == [*FIRST, *errors, "caution"]
    assert len(frame)
    assert (frame["confidence"] >= 0.5).all()
    doubtful = frame["caution"].str.split(", ").map(lambda names: "confidence" in names).astype(bool)
    assert frame["confidence_low"][~doubtful].is_monotonic_decreasing, "the surest first"
    assert doubtful.is_monotonic_increasing, "and those last whose interval is not to be trusted"
    few = found.rules(metric="phi", min_threshold=0.1, measures=["Odds Ratio", "interest"], bias=True, adjust="bh")
    assert list(few.columns[4:7]) == ["odds_ratio", "lift", "correlation"], "aliases, and the metric beside them"
    assert {"odds_ratio_bias", "correlation_low", "p_value", "p_adjusted"} <= set(few.columns)
    assert frame.attrs["about"]["intervals"]["confidence"] == "Fieller"
    assert frame.attrs["about"]["intervals"]["lift"] == "log"


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
    assert frame.columns.tolist() == [
        "antecedents", "consequents", "antecedent support", "consequent support", *bk.measures.MLXTEND,
    ], "exact data have no columns for errors"  # fmt: skip
    with_people = found.rules(min_threshold=0.4, sampling=True, sort_by="estimate")
    assert (with_people["confidence_stderr"] > 0).any()


def mechanisms() -> list[bk.Mechanism]:
    return [
        bk.Flip(keep=0.85, keep_absent=0.9),
        bk.CutAndPaste(cutoff=5, insert=0.15),
        bk.SelectASize(kept={m: [0.2 / max(m, 1)] * m + [0.8 if m else 1.0] for m in range(9)}, insert=0.1),
        bk.Mixing(others=1, keep=0.8),
    ]


@pytest.mark.parametrize("sampling", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mechanism", mechanisms(), ids=str)
def test_errors_by_numerical_derivative_and_pairwise_covariance(mechanism: bk.Mechanism, sampling: bool) -> None:
    """The same delta method along another road: covariances asked for pair by pair, derivatives by differences."""
    baskets = bk.quest(records=12_000, mean_size=4, mean_pattern=3, items=8, patterns=5, seed=3)
    reports = mechanism.randomize(baskets[baskets.sizes > 0], rng=bk.Seeded(3))
    names = [record.name for record in SMOOTH]
    frame = bk.mine(reports, min_support=0.1, max_size=3).rules(
        metric="lift", min_threshold=1.02, sampling=sampling, measures=names, interval="normal"
    )
    assert len(frame) > 10
    compared = 0
    for row in frame.iloc[:: max(1, len(frame) // 6)].to_dict("records"):
        a, c = row["antecedents"], row["consequents"]
        found = bk.estimate(reports, [a | c, a, c], sampling=sampling)
        for record in SMOOTH:
            if np.isnan(row[record.name]) or np.isinf(row[record.name]):
                continue
            value = _by_supports(record, len(reports))
            slope = _gradient(value, found.value)
            assert row[record.name] == pytest.approx(value(*found.value), rel=1e-9, abs=1e-12)
            stderr = float(np.sqrt(slope @ found.covariance @ slope))
            assert row[f"{record.name}_stderr"] == pytest.approx(stderr, rel=2e-4, abs=1e-9), record.name
            assert row[f"{record.name}_low"] == pytest.approx(row[record.name] - Z * row[f"{record.name}_stderr"])
            assert row[f"{record.name}_high"] == pytest.approx(row[record.name] + Z * row[f"{record.name}_stderr"])
            compared += 1
    assert compared > 5 * len(SMOOTH)


def test_errors_of_tables() -> None:
    """The same of attributes under the gamma-diagonal matrix."""
    table = _table(30_000)
    reports = bk.GammaDiagonal(gamma=40).randomize(table, rng=bk.Seeded(2))
    frame = bk.mine(reports, min_support=0.05).rules(metric="lift", min_threshold=1.0, interval="normal")
    assert len(frame) > 5
    for row in frame.to_dict("records"):
        a, c = row["antecedents"], row["consequents"]
        found = bk.estimate(reports, [a | c, a, c])
        for name in ("confidence", "lift", "jaccard", "kulczynski"):
            value = _by_supports(CATALOGUE[name], len(reports))
            slope = _gradient(value, found.value)
            assert row[f"{name}_stderr"] == pytest.approx(float(np.sqrt(slope @ found.covariance @ slope)), rel=1e-4)


def _table(n: int) -> bk.Table:
    rng = np.random.default_rng(1)
    colour = rng.integers(0, 3, n)
    size = np.where(rng.random(n) < 0.6, colour % 2, rng.integers(0, 2, n))
    return bk.Table.from_frame(
        pd.DataFrame({"colour": np.array(list("rgb"))[colour], "size": np.array(["s", "l"])[size]})
    )


def _by_supports(record: Measure, n: int) -> Callable[[float, float, float], float]:
    def value(x: float, a: float, c: float) -> float:
        return float(record(Contingency.of_counts(np.array([x * n]), np.array([a * n]), np.array([c * n]), n))[0])

    return value


def _gradient(measure: Callable[[float, float, float], float], at: Floats) -> Floats:
    steps = 1e-6 * np.eye(3)
    return np.array([(measure(*(at + step)) - measure(*(at - step))) / 2e-6 for step in steps])


def test_chebyshev_is_wider(found: bk.FrequentItemsets) -> None:
    """The paper's interval: stderr / sqrt(1 - level) on either side."""
    frame = found.rules(min_threshold=0.5, interval="chebyshev", level=0.9)
    reach = frame["lift_stderr"] / np.sqrt(0.1)
    np.testing.assert_allclose(frame["lift_low"], frame["lift"] - reach)
    np.testing.assert_allclose(frame["lift_high"], frame["lift"] + reach)
    assert frame.attrs["about"]["intervals"] == "chebyshev"


def test_default_intervals_on_their_scales(found: bk.FrequentItemsets, reports: bk.Reports) -> None:
    """Each end by what defines it, with the standard error of the frame."""
    names = ["lift", "correlation", "leverage", "confidence", "chi_squared", "g2", "conviction"]
    frame = found.rules(metric="lift", min_threshold=1.1, measures=names)
    assert len(frame) > 20
    for row in frame.to_dict("records"):
        for end, sign in (("low", -1), ("high", 1)):
            assert np.log(row[f"lift_{end}"]) == pytest.approx(
                np.log(row["lift"]) + sign * Z * row["lift_stderr"] / row["lift"]
            )
            phi = row["correlation"]
            assert np.arctanh(row[f"correlation_{end}"]) == pytest.approx(
                np.arctanh(phi) + sign * Z * row["correlation_stderr"] / (1 - phi**2)
            )
            assert row[f"leverage_{end}"] == pytest.approx(row["leverage"] + sign * Z * row["leverage_stderr"])
            if row["correlation_low"] > 0:
                assert row[f"chi_squared_{end}"] == pytest.approx(len(reports) * row[f"correlation_{end}"] ** 2)
            if row["g2"] > 0:
                root = np.sqrt(row["g2"]) + sign * Z * row["g2_stderr"] / 2 / np.sqrt(row["g2"])
                assert row[f"g2_{end}"] == pytest.approx(max(root, 0.0) ** 2)
    assert (frame["g2"] > 0).sum() > 10
    # Fieller: the ends are just not excluded, |x - r a| = z sd(x - r a)
    for row in frame.iloc[:10].to_dict("records"):
        found_supports = bk.estimate(reports, [row["antecedents"] | row["consequents"], row["antecedents"]])
        for end in ("low", "high"):
            slope = np.array([1.0, -row[f"confidence_{end}"]])
            distance = abs(slope @ found_supports.value)
            assert distance == pytest.approx(Z * np.sqrt(slope @ found_supports.covariance @ slope), rel=1e-6)


def test_conviction_of_a_rule_that_may_be_certain() -> None:
    """Where exceptions are estimated below 0 conviction is infinite, and bounded from below only."""
    baskets = bk.Baskets([["a", "b"]] * 4000 + [["b"]] * 2000 + [[]] * 4000)
    unbounded = infinite = 0
    for seed in range(20):
        found = bk.mine(bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(seed)), min_support=0.2)
        frame = found.rules(metric="conviction", min_threshold=1.5)
        row = frame[frame["antecedents"] == frozenset("a")].iloc[0]
        exceptions = row["antecedent support"] - row["support"]
        assert np.isinf(row["conviction"]) == (exceptions <= 0)
        assert row["conviction_low"] < row["conviction"] <= row["conviction_high"]
        assert row["conviction_low"] > 3
        unbounded += np.isinf(row["conviction_high"])
        infinite += np.isinf(row["conviction"])
        assert "conviction" not in row["caution"]
    assert unbounded > infinite > 0


@pytest.mark.slow
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


@pytest.mark.slow
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
            assert "confidence" in row["caution"], "four standard errors there are not"
            cases += not is_sure
        kept = found.rules(metric="confidence", min_threshold=-1e9)
        assert kept["confidence"].notna().all()
    assert cases > 20, "the test must look at something"


class TestSelection:
    def test_templates(self, found: bk.FrequentItemsets) -> None:
        everything = found.rules(min_threshold=0.3)
        items = found.domain.labels
        template = bk.RuleTemplate(
            antecedents=items[:8], consequents=items[3:], antecedent_size=(1, 2), consequent_size=1
        )
        frame = found.rules(min_threshold=0.3, template=template)
        keep = [
            a <= set(items[:8]) and c <= set(items[3:]) and len(a) <= 2 and len(c) == 1
            for a, c in zip(everything["antecedents"], everything["consequents"], strict=True)
        ]
        expected = everything[keep].reset_index(drop=True)
        assert 0 < len(expected) < len(everything)
        pd.testing.assert_frame_equal(frame, expected, check_categorical=False)

    def test_no_template_fits(self, found: bk.FrequentItemsets) -> None:
        frame = found.rules(min_threshold=0.0, template=bk.RuleTemplate(antecedent_size=9), adjust="by", bias=True)
        assert len(frame) == 0
        assert "lift_bias" in frame

    @pytest.mark.parametrize("wrong", [{"antecedents": "milk"}, {"antecedent_size": 0}, {"consequent_size": (3, 2)}])
    def test_wrong_templates(self, wrong: dict[str, object]) -> None:
        with pytest.raises(bk.ParameterError) as caught:
            bk.RuleTemplate(**wrong)  # type: ignore[arg-type]  # that is the point
        assert caught.value.parameter in wrong

    def test_unknown_items(self, found: bk.FrequentItemsets) -> None:
        with pytest.raises(bk.DataError):
            found.rules(template=bk.RuleTemplate(consequents=["no such item"]))

    @pytest.mark.parametrize("sort_by", ["low", "estimate"])
    @pytest.mark.parametrize("metric", ["lift", "leverage", "conviction"])
    def test_top_is_the_head_of_all(self, found: bk.FrequentItemsets, metric: str, sort_by: str) -> None:
        everything = found.rules(metric=metric, min_threshold=-9.0, sort_by=sort_by)
        if sort_by == "estimate":
            assert everything[metric].is_monotonic_decreasing
        for top in (1, 7, 10_000):
            few = found.rules(metric=metric, min_threshold=-9.0, sort_by=sort_by, top=top)
            pd.testing.assert_frame_equal(few, everything.head(top), check_categorical=False)

    @pytest.mark.parametrize("least", [0.0, 0.05])
    def test_redundant_rules(self, baskets: bk.Baskets, least: float) -> None:
        """A rule must beat every rule with the same consequent and part of its antecedent, the empty part too."""
        found = bk.mine(baskets, min_support=0.1)
        supports = {**dict(found), frozenset(): 1.0}
        everything = found.rules(min_threshold=0.2)
        frame = found.rules(min_threshold=0.2, min_improvement=least)
        expected = []
        for a, c in zip(everything["antecedents"], everything["consequents"], strict=True):
            parts = (frozenset(p) for size in range(len(a)) for p in itertools.combinations(a, size))
            most = max(supports[part | c] / supports[part] for part in parts)
            expected.append(supports[a | c] / supports[a] - most > least)
        assert 0 < sum(expected) < len(everything)
        assert set(zip(frame["antecedents"], frame["consequents"], strict=True)) == set(
            zip(everything["antecedents"][expected], everything["consequents"][expected], strict=True)
        )

    def test_too_many(self, found: bk.FrequentItemsets) -> None:
        with pytest.raises(bk.TooManyRulesError) as caught:
            found.rules(min_threshold=0.0, max_rules=10)
        assert caught.value.limit == 10
        assert len(found.rules(min_threshold=0.0, max_rules=10, top=5)) == 5

    @pytest.mark.parametrize(
        ("parameter", "options"),
        [
            ("metric", {"metric": "sparkle"}),
            ("min_threshold", {"min_threshold": float("nan")}),
            ("measures", {"measures": "lift,lfit"}),
            ("metric", {"metric": "ralambondrainy"}),
            ("metric", {"metric": "hyper_lift"}),
            ("sort_by", {"sort_by": "size"}),
            ("interval", {"interval": "wide"}),
            ("adjust", {"adjust": "fdr"}),
            ("alpha", {"alpha": 2}),
            ("top", {"top": 0}),
            ("level", {"level": 1.0}),
            ("min_improvement", {"min_improvement": -0.1}),
            ("template", {"template": "a => b"}),
            ("tests", {"tests": 1, "adjust": "bh", "min_threshold": 0.0}),
        ],
    )
    def test_wrong_options(self, found: bk.FrequentItemsets, parameter: str, options: dict[str, object]) -> None:
        with pytest.raises(bk.ParameterError) as caught:
            found.rules(**options)  # type: ignore[arg-type]  # that is the point
        assert caught.value.parameter == parameter

    def test_options_are_named(self, found: bk.FrequentItemsets) -> None:
        with pytest.raises(TypeError, match="min_treshold"):
            found.rules(min_treshold=0.5)  # type: ignore[call-arg]


class TestSignificance:
    """Two independent items, 250 groups of people, each randomized anew."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "mechanism",
        [bk.Flip(keep=0.97), pytest.param(bk.CutAndPaste(cutoff=5, insert=0.2), marks=pytest.mark.slow)],
        ids=str,
    )
    def test_p_values_of_independent_items_are_uniform(self, mechanism: bk.Mechanism) -> None:
        """People are drawn anew too: errors of the coins alone would give too many small p-values."""
        p_values, too_small = [], []
        for seed in range(250):
            people = np.random.default_rng(seed).random((4000, 2)) < [0.5, 0.4]
            baskets = bk.Baskets([[item for item, has in zip("ab", row, strict=True) if has] for row in people])
            found = bk.mine(mechanism.randomize(baskets, rng=bk.Seeded(seed)), min_support=0.05, slack=9)
            rule = found.rules(metric="support", min_threshold=-1, adjust="none", measures=["leverage"], top=1)
            p_values.append(float(rule["p_value"].iloc[0]))
            too_small.append(float(stats.norm.sf(rule["leverage"].iloc[0] / rule["leverage_stderr"].iloc[0])))
        assert_plausible(float(stats.kstest(p_values, "uniform", alternative="greater").pvalue))
        if isinstance(mechanism, bk.Flip):  # an exact test, so not larger than need be either
            assert_plausible(float(stats.kstest(p_values, "uniform").pvalue))
            assert_rejected(float(stats.kstest(too_small, "uniform", alternative="greater").pvalue))

    @pytest.mark.slow
    @pytest.mark.parametrize("max_size", [2, 3])
    @pytest.mark.parametrize("keep", [0.999, 0.95, 0.2])
    def test_rare_and_common_items_are_not_called_dependent(self, keep: float, max_size: int) -> None:
        """Independent items, some rare and some common: with few exceptions or none, normal tails would call many.

        30 studies at a false discovery rate of 5%, in which all discoveries are false: nearly none has any.
        """
        rng = np.random.default_rng(5)
        chances = np.repeat([0.05, 0.95], 6)
        found_any = wald = 0
        for seed in range(30):
            has = rng.random((1000, 12)) < chances
            baskets = bk.Baskets([np.flatnonzero(row).tolist() for row in has], items=range(12))
            found = bk.mine(
                bk.Flip(keep=keep).randomize(baskets, rng=bk.Seeded(seed)), min_support=0.02, max_size=max_size
            )
            rules = found.rules(metric="support", min_threshold=-1, measures=["leverage"], adjust="by", sampling=True)
            found_any += bool((rules["p_adjusted"] <= 0.05).any())
            p = stats.norm.sf(rules["leverage"] / rules["leverage_stderr"].clip(lower=1e-12))
            wald += bool((p * rules.attrs["about"]["tests"] <= 0.05).any())
        assert found_any <= 5
        if keep == 0.999:
            assert wald > 25, "normal tails would"

    def test_items_that_are_turned_around(self) -> None:
        """With keep below 1/2 for one item the reports go the other way; the p-value does not."""
        baskets = bk.Baskets([["a", "b"]] * 400 + [["a"]] * 100 + [["b"]] * 100 + [[]] * 400)
        reports = bk.Flip(keep={"a": 0.2, "b": 0.9}).randomize(baskets, rng=bk.Seeded(1))
        found = bk.mine(reports, min_support=0.2)
        for side, small in (("greater", True), ("less", False)):
            rule = found.rules(metric="support", min_threshold=0, adjust="none", alternative=side).iloc[0]
            assert rule["leverage"] > 0.1
            assert (rule["p_value"] < 1e-9) == small
            assert (rule["p_value"] > 0.99) != small

    def test_mixed_people_have_none(self) -> None:
        reports = bk.Mixing(others=1, keep=0.9).randomize(bk.quest(records=500, items=9, seed=1), rng=bk.Seeded(1))
        with pytest.raises(bk.ParameterError, match="depend on each other"):
            bk.mine(reports, min_support=0.2).rules(adjust="by")

    def test_exact_data_have_fishers(self, baskets: bk.Baskets) -> None:
        found = bk.mine(baskets, min_support=0.1, max_size=2)
        n = baskets.n_records
        sides: tuple[Literal["greater", "less"], ...] = ("greater", "less")
        for side in sides:
            frame = found.rules(metric="support", min_threshold=0, adjust="none", alternative=side)
            for row in frame.iloc[::7].to_dict("records"):
                x, a, c = (round(n * row[name]) for name in ("support", "antecedent support", "consequent support"))
                table = np.array([[x, a - x], [c - x, n - a - c + x]])
                expected = stats.fisher_exact(table, alternative=side).pvalue
                assert row["p_value"] == pytest.approx(expected, rel=1e-6, abs=1e-300)
        both = found.rules(metric="support", min_threshold=0, adjust="none", alternative="two-sided")
        assert ((both["p_value"] >= 0) & (both["p_value"] <= 1)).all()

    def test_adjusted_for_all_that_was_looked_at(self, found: bk.FrequentItemsets) -> None:
        """Two items are two rules; of the family every split of every candidate counts, shown or not."""
        frame = found.rules(min_threshold=0.5, adjust="bonferroni")
        tests = frame.attrs["about"]["tests"]
        kept = [len(level) for level in found.levels]
        assert tests >= 2 * kept[0] * (kept[0] - 1) // 2 + 6 * kept[2]
        labels = found.domain.labels
        one = bk.RuleTemplate(antecedents=[labels[1]], consequents=[labels[2]])
        assert found.rules(min_threshold=0.0, adjust="by", template=one).attrs["about"]["tests"] == 1
        np.testing.assert_allclose(frame["p_adjusted"], np.minimum(frame["p_value"] * tests, 1))
        singles = found.rules(
            min_threshold=0.5, adjust="bonferroni", template=bk.RuleTemplate(antecedent_size=1, consequent_size=1)
        )
        assert singles.attrs["about"]["tests"] == kept[0] * (kept[0] - 1)
        few = found.rules(min_threshold=0.5, adjust="by", tests=len(frame))
        theirs = stats.false_discovery_control(few["p_value"], method="by")
        np.testing.assert_allclose(few["p_adjusted"], theirs, atol=1e-300)

    def test_alpha_keeps_what_is_significant(self, found: bk.FrequentItemsets) -> None:
        everything = found.rules(min_threshold=0.0, adjust="by")
        kept = found.rules(min_threshold=0.0, alpha=0.01)
        chosen = everything[everything["p_adjusted"] <= 0.01].reset_index(drop=True)
        assert 0 < len(kept) < len(everything)
        pd.testing.assert_frame_equal(kept, chosen, check_categorical=False)
        first = found.rules(min_threshold=0.0, alpha=0.01, top=3)
        pd.testing.assert_frame_equal(first, chosen.head(3), check_categorical=False)

    def test_real_dependence_is_found(self, baskets: bk.Baskets) -> None:
        frame = bk.mine(baskets, min_support=0.05).rules(metric="lift", min_threshold=0, adjust="by")
        assert (frame["p_adjusted"] < 1e-9).mean() > 0.3
        assert (frame[frame["lift"] < 1]["p_value"] > 0.5).all()


@pytest.mark.slow
def test_bias_is_that_of_repetitions() -> None:
    """The mean of chi-square over 1500 randomizations exceeds its truth by the stated bias; six standard errors."""
    truth = np.array([[0.26, 0.24], [0.24, 0.26]])
    baskets = bk.Baskets(
        [["a"] * i + ["b"] * j for i, j in itertools.product((0, 1), repeat=2) for _ in range(round(600 * truth[i, j]))]
    )
    values, stated = [], []
    for seed in range(1500):
        found = bk.contingency(bk.Flip(keep=0.8).randomize(baskets, rng=bk.Seeded(seed)), {"a"}, {"b"})
        estimate = found.measure("chi_squared")
        values.append(estimate.value)
        stated.append(estimate.bias)
    exact = bk.contingency(baskets, {"a"}, {"b"}).measure("chi_squared").value
    error = np.std(values) / np.sqrt(len(values))
    bias = np.mean(values) - exact
    assert abs(bias - np.mean(stated)) < 6 * error
    assert bias > 6 * error, "there is a bias to be seen"


def test_cautions_of_more_measures_than_a_word_has_bits(
    found: bk.FrequentItemsets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred measures by turns like one that is doubtful here and one that is not; names alone differ."""
    known = [CATALOGUE["odds_ratio"], CATALOGUE["lift"], CATALOGUE["conviction"]]
    many = {f"more{at}": replace(known[at % 3], name=f"more{at}", aliases=(), arules=None) for at in range(200)}
    for name, record in many.items():
        monkeypatch.setitem(catalogue._BY_KEY, name, record)
    names = [record.name for record in known]
    frame = found.rules(min_threshold=0.3, measures=[*names, *many])
    cautions = frame["caution"].str.split(", ").tolist()
    assert len({tuple(row) for row in cautions}) > 1
    for row in cautions:
        doubted = [name for name in names if name in row]
        expected = [f"more{at}" for at in range(200) if names[at % 3] in doubted]
        assert [name for name in row if name.startswith("more")] == expected


def test_cautions_name_what_is_not_sure(found: bk.FrequentItemsets) -> None:
    frame = found.rules(metric="support", min_threshold=0.0, measures=["confidence", "odds_ratio", "chi_squared"])
    odds = frame["caution"].str.contains("odds_ratio")
    assert 0 < odds.sum() < len(frame)
    x, a, c = (frame[name] for name in ("support", "antecedent support", "consequent support"))
    smallest = np.minimum.reduce([x, a - x, c - x, 1 - a - c + x])
    assert smallest[odds].max() < smallest[~odds].max()
    assert smallest[odds].min() < smallest[~odds].min()
    assert all(Scale(word) for word in frame.attrs["about"]["intervals"].values())


@pytest.mark.slow
def test_intervals_widened_for_selection_hold_of_the_best() -> None:
    """The best of 380 rules between independent items, all with lift 1: plain intervals miss, widened ones do not.

    60 studies of 20 items; of the five rules with the highest lift each, an expected share of at most 5% may miss.
    """
    missed: dict[bool, list[float]] = {False: [], True: []}
    rng = np.random.default_rng(8)
    for seed in range(60):
        has = rng.random((3000, 20)) < 0.4
        baskets = bk.Baskets([np.flatnonzero(row).tolist() for row in has], items=range(20))
        found = bk.mine(bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(seed)), min_support=0.05, max_size=2)
        for fcr in (False, True):
            best = found.rules(metric="lift", min_threshold=0, top=5, sampling=True, fcr=fcr)
            missed[fcr].append(float(((best["lift_low"] > 1) | (best["lift_high"] < 1)).mean()))
    assert np.mean(missed[False]) > 0.9
    assert np.mean(missed[True]) < 0.05 + 4 * 0.2 / np.sqrt(60)
    about = best.attrs["about"]
    assert about["level_of_each"] == pytest.approx(1 - 0.05 * 5 / 380)
    assert about["tests"] == 380 == about["passed"]


class TestCautions:
    """Settings in which intervals would not cover: the row says so."""

    def test_coins_that_seldom_matter(self) -> None:
        """Errors of the coins alone rest on a handful of flips; with people drawn too they do not."""
        baskets = bk.Baskets([["a", "b"]] * 60 + [["a"]] * 40 + [["b"]] * 50 + [[]] * 50)
        found = bk.mine(bk.Flip(keep=0.999).randomize(baskets, rng=bk.Seeded(1)), min_support=0.1)
        alone = found.rules(metric="support", min_threshold=0)
        assert (alone["caution"].str.count(",") > 7).all()
        drawn = found.rules(metric="support", min_threshold=0, sampling=True)
        assert not drawn["caution"].str.contains("confidence").any()

    def test_unions_that_leave_nobody_out(self) -> None:
        """Of five people together nearly all have an item of support 1/2: the root of a share next to 0."""
        rng = np.random.default_rng(1)
        baskets = bk.Baskets([np.flatnonzero(row).tolist() for row in rng.random((2000, 2)) < 0.5], items=range(2))
        for others, is_doubtful in ((4, True), (1, False)):
            reports = bk.Mixing(others=others, keep=0.9).randomize(baskets, rng=bk.Seeded(1))
            frame = bk.mine(reports, min_support=0.01).rules(metric="support", min_threshold=0, sampling=True)
            assert frame["caution"].str.contains("confidence").all() == is_doubtful

    def test_a_rule_without_exceptions_is_not_certain(self) -> None:
        """Wilson's interval of raw records: five of five tell less than 9990 of 9995."""
        baskets = bk.Baskets([["a", "c"]] * 5 + [["b", "d"]] * 9990 + [["b"]] * 5)
        rules = bk.mine(baskets, min_support=1e-4).rules(min_threshold=0.9, sampling=True).to_dict("records")
        by_name = {min(rule["antecedents"]) + min(rule["consequents"]): rule for rule in rules}
        assert by_name["ac"]["confidence"] == 1
        assert by_name["ac"]["confidence_low"] == pytest.approx(5 / (5 + Z**2))
        assert by_name["bd"]["confidence_low"] > 0.99
        assert list(by_name)[-1] in ("ac", "ca"), "and it comes last, being doubtful"
        assert np.isnan(by_name["ac"]["conviction_low"])

    def test_a_negative_variance_is_no_certainty(self) -> None:
        """Where a variance estimate comes out below 0 nothing that rests on it is trusted."""
        table = Contingency.of_counts([30.0], [50.0], [40.0], 100)
        covariance = Covariance(*(np.array([v]) for v in (1e-4, 1e-4, 1e-4, 2e-4, 2e-4, 0.0)))  # of a + c - x: -5e-4
        tables = Tables(table, covariance, sampling=False)
        assert np.isnan(tables.ratio("union")[0])
        found = tables.infer(CATALOGUE["jaccard"], level=0.95)
        assert not found.is_trusted[0]
        assert np.isnan(found.value[0])


def test_exact_tests_are_not_for_estimates(found: bk.FrequentItemsets) -> None:
    frame = found.rules(min_threshold=0.5, measures=["fisher", "lift"], top=3)
    assert frame["fisher"].isna().all()
    exact = bk.mine(bk.quest(records=500, items=9, seed=1), min_support=0.1)
    assert exact.rules(min_threshold=0.1, measures="fisher")["fisher"].notna().all()


def test_a_family_that_is_too_large_is_refused_before_it_is_made() -> None:
    """All triples of items that meet in pairs; a template that names items needs them one by one."""
    baskets = bk.Baskets([[a, b] for a in range(12) for b in range(a)])
    found = bk.mine(baskets, min_support=0.001, max_candidates=100)
    template = bk.RuleTemplate(antecedents=[0, 1])
    with pytest.raises(bk.TooManyCandidatesError) as refused:
        found.rules(min_threshold=0.0, adjust="by", template=template)
    assert refused.value.limit == 100
    assert "tests=" in str(refused.value.hint)
    assert len(found.rules(min_threshold=0.0, adjust="by", template=template, tests=1000))
