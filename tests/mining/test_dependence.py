"""Dependence found without the parameters: numbers by hand, valid claims, and where claims would be false."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

import bosket as bk
from bosket.measures import CATALOGUE, Contingency, Monotone, measure
from bosket.mechanisms.base import RecordChannel
from bosket.mining.dependence import dependent_pairs, dependent_pairs_of
from bosket.mining.pair_tests import MEASURES
from tests.oracles import Floats
from tests.stats import assert_plausible, assert_rejected


def by_pair(frame: pd.DataFrame) -> dict[tuple[Any, Any], dict[Any, Any]]:
    """The rows by the labels of their items."""
    return {(*row["antecedents"], *row["consequents"]): row for row in frame.to_dict("records")}


def of_neighbours(frame: pd.DataFrame, column: str) -> tuple[npt.NDArray[np.int64], Floats]:
    """A column for the pairs (0, 1), (2, 3), ...: no item is in two of them, so they are independent."""
    first, second = (np.array([item for (item,) in frame[side]]) for side in ("antecedents", "consequents"))
    own = (first % 2 == 0) & (second == first + 1)
    return first[own], frame[column].to_numpy(float)[own]


def baskets_of(bits: npt.NDArray[np.bool_]) -> bk.Baskets:
    """A record per row, an item per column."""
    n, k = bits.shape
    padded = np.zeros((n, -(-k // 64) * 64), bool)
    padded[:, :k] = bits
    return bk.Baskets.from_bits(np.packbits(padded, axis=1, bitorder="little").view(np.uint64), range(k))


def contingency(law: Floats) -> Contingency:
    """Of a law over the patterns of two items; bit 0 is A."""
    return Contingency.of_counts([law[3]], [law[1] + law[3]], [law[2] + law[3]], 1)


def phi(law: Floats) -> float:
    return float(measure("correlation")(contingency(law))[0])


@pytest.fixture(scope="module")
def reports() -> bk.Reports:
    """Nine items, of which two are rare in reports."""
    baskets = bk.quest(records=600, mean_size=4, mean_pattern=3, items=9, patterns=5, seed=2)
    keep = {item: [0.7, 0.9, 0.97][item % 3] for item in range(9)}
    return bk.Flip(keep=keep, keep_absent={3: 0.995, 8: 0.99}).randomize(baskets, rng=bk.Seeded(2))


@pytest.fixture(scope="module")
def baskets() -> bk.Baskets:
    return bk.quest(records=5000, mean_size=5, mean_pattern=3, items=30, patterns=12, seed=4)


class TestNumbers:
    def test_by_hand(self, reports: bk.Reports) -> None:
        """Every column from plain Python over the records, p-values from SciPy."""
        records = [{item for item in range(9) if int(row[0]) >> item & 1} for row in reports.bits]
        n = len(records)
        p_values: dict[tuple[int, int], float] = {}
        frame = dependent_pairs(reports)
        rows = by_pair(frame)
        assert len(rows) == 36
        for a, c in itertools.combinations(range(9), 2):
            row = rows[a, c]
            cells = [[0, 0], [0, 0]]
            for record in records:
                cells[a in record][c in record] += 1
            one = sum(cells[1]) / n
            other = (cells[0][1] + cells[1][1]) / n
            both = cells[1][1] / n
            assert row["observed support"] == pytest.approx(both)
            assert row["observed antecedent support"] == pytest.approx(one)
            assert row["observed consequent support"] == pytest.approx(other)
            correlation = (both - one * other) / math.sqrt(one * (1 - one) * other * (1 - other))
            information = sum(
                cell / n * math.log(cell / n / (side * rest))
                for line, side in zip(cells, (1 - one, one), strict=True)
                for cell, rest in zip(line, (1 - other, other), strict=True)
                if cell
            )
            assert row["correlation"] == pytest.approx(correlation)
            assert row["mutual_information"] == pytest.approx(information)
            assert row["g2"] == pytest.approx(2 * n * information)
            assert row["chi_squared"] == pytest.approx(n * correlation**2)
            if row["test"] == "Fisher":
                p_values[a, c] = float(stats.fisher_exact(np.array(cells)).pvalue)
            else:
                p_values[a, c] = float(stats.chi2.sf(n * correlation**2, 1))
            assert row["p_value"] == pytest.approx(p_values[a, c], rel=1e-6)
            assert (row["correlation_at_least"] > 0) <= (row["p_value"] <= 0.05)
            assert row["correlation_at_least"] < abs(correlation)
        assert set(frame["test"]) == {"Fisher", "chi-square"}
        adjusted = stats.false_discovery_control(list(p_values.values()), method="by")
        for pair, value in zip(p_values, adjusted, strict=True):
            assert rows[pair]["p_adjusted"] == pytest.approx(value, rel=1e-6)

    def test_order_and_selection(self, reports: bk.Reports) -> None:
        frame = dependent_pairs(reports)
        assert frame["p_value"].is_monotonic_increasing
        few = dependent_pairs(reports, max_p=0.01)
        assert 0 < len(few) < len(frame)
        assert few.equals(frame[frame["p_adjusted"] <= 0.01].reset_index(drop=True))
        loose = dependent_pairs(reports, adjust="none", level=0.5)
        assert (loose["p_adjusted"] == loose["p_value"]).all()
        assert (loose["correlation_at_least"] >= frame["correlation_at_least"]).all()

    def test_some_items_and_the_size_of_the_family(self, reports: bk.Reports) -> None:
        frame = dependent_pairs(reports, items=[5, 1, 7], adjust="bonferroni")
        assert set(by_pair(frame)) == {(1, 5), (1, 7), (5, 7)}
        assert frame["p_adjusted"].to_numpy() == pytest.approx(np.minimum(1, 3 * frame["p_value"].to_numpy()))
        assert frame.attrs["about"]["tests"] == 3
        assert len(dependent_pairs(reports, items=[4])) == 0

    def test_what_made_it(self, reports: bk.Reports) -> None:
        about = dependent_pairs(reports, max_p=0.5).attrs["about"]
        json.dumps(about, allow_nan=False)
        assert about["n_records"] == 600
        assert about["tests"] == 36
        assert about["adjust"] == "Benjamini-Yekutieli"
        assert about["version"] == bk.__version__
        assert about["randomness"] == reports.randomness
        assert "on its own" in about["rests_on"]
        raw = dependent_pairs(bk.Baskets([["a", "b"], ["c"]])).attrs["about"]
        assert "the word of" in raw["rests_on"]
        assert raw["mechanism"] is None

    def test_the_plan_may_take_something_off_the_claim(self, reports: bk.Reports) -> None:
        """Several reports of a person are said; long records that are sampled down prove nothing."""
        plan = bk.Plan(bk.Domain(range(3)), bk.Flip(keep=0.9)).with_unit(reports=4)
        repeated = plan.randomize(bk.Baskets([[0, 1, 2]] * 9), rng=bk.Seeded(1))
        for frame in (dependent_pairs(repeated), bk.mine(repeated, min_support=0.1).dependent_pairs()):
            assert "4 of a person" in frame.attrs["about"]["rests_on"]
        plan = plan.with_unit(max_size=2, longer="sample")
        sampled = plan.randomize(bk.Baskets([[0, 1, 2]] * 9), rng=bk.Seeded(1))
        with pytest.raises(bk.DataError, match="sampled down"):
            dependent_pairs(sampled)
        with pytest.raises(bk.DataError, match="sampled down"):
            bk.mine(sampled, min_support=0.1).dependent_pairs()

    def test_items_that_all_have_or_nobody(self) -> None:
        frame = dependent_pairs(bk.Baskets([["a", "b"], ["a"]], items=["a", "b", "c"]), symmetric=True)
        assert (frame["p_value"] == 1).all()
        assert (frame["correlation_at_least"] == 0).all()
        assert frame["correlation"].isna().all()

    def test_values_of_one_attribute_are_not_compared(self) -> None:
        domain = bk.TableDomain([bk.Attribute("a", [1, 2, 3]), bk.Attribute("b", ["x", "y"])])
        table = bk.Table.from_codes(np.array([[0, 0], [1, 1], [2, 0], [0, 0]]), domain)
        for data in (table, bk.Flip(keep=0.9).randomize(table, rng=bk.Seeded(1))):
            frame = dependent_pairs(data, measures=["chi_squared"])
            assert len(frame) == frame.attrs["about"]["tests"] == 6
            assert {(one[0], other[0]) for one, other in by_pair(frame)} == {("a", "b")}


class TestValidity:
    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["one keep for each item", "1s and 0s differently", "rare items"])
    def test_p_values_of_independent_items_are_uniform_or_larger(self, how: str) -> None:
        """4000 pairs of independent items in 50 data sets, no item in two pairs.

        Half the p-values, as a one-sided test would give, are shown to be rejected.
        """
        rng = np.random.default_rng(11)
        repetitions, k, n = 50, 160, 1500
        below = dict.fromkeys((0.2, 0.05, 0.01), 0)
        halved = 0
        for number in range(repetitions):
            shares = rng.uniform(0.02, 0.3, k)
            baskets = baskets_of(rng.random((n, k)) < shares)
            keep = dict(enumerate(rng.uniform(0.3 if how == "one keep for each item" else 0.6, 0.99, k).tolist()))
            absent = None
            if how == "1s and 0s differently":
                absent = dict(enumerate(rng.uniform(0.6, 0.99, k).tolist()))
            elif how == "rare items":
                absent = dict(enumerate(rng.uniform(0.98, 1.0, k).tolist()))
            reports = bk.Flip(keep=keep, keep_absent=absent).randomize(baskets, rng=bk.Seeded(number))
            _, p = of_neighbours(dependent_pairs(reports, measures=[]), "p_value")
            assert len(p) == k // 2
            for alpha in below:
                below[alpha] += int((p <= alpha).sum())
            halved += int((p / 2 <= 0.05).sum())
        total = repetitions * k // 2
        for alpha, count in below.items():
            assert_plausible(stats.binom.sf(count - 1, total, alpha))
        assert_rejected(stats.binom.sf(halved - 1, total, 0.05))

    @pytest.mark.slow
    def test_the_limit_holds_for_the_original_correlation(self) -> None:
        """3600 pairs in 60 data sets with correlations of -0.5 to 0.5; reports have 36% of them, by the identity.

        Misses of what reports have come in at most 5% of cases, those of the original hardly ever.  At level 0.9 they
        are shown to be more.
        """
        rng = np.random.default_rng(12)
        groups = np.repeat([0.0, 0.1, -0.2, 0.5, -0.5], 12)
        k, n, repetitions = 2 * len(groups), 1000, 60
        mechanism = bk.Flip(keep=0.8)
        missed = wrong = false = 0
        for number in range(repetitions):
            one = rng.random((n, len(groups))) < 0.5
            same = rng.random((n, len(groups))) < (1 + groups) / 2
            bits = np.empty((n, k), bool)
            bits[:, ::2], bits[:, 1::2] = one, one == same
            reports = mechanism.randomize(baskets_of(bits), rng=bk.Seeded(number))
            for level in (0.95, 0.9):
                first, limit = of_neighbours(dependent_pairs(reports, measures=[], level=level), "correlation_at_least")
                truth = np.abs(groups[first // 2])
                if level == 0.95:
                    missed += int((limit > 0.36 * truth).sum())
                    false += int((limit > truth).sum())
                else:
                    wrong += int((limit > 0.36 * truth).sum())
        total = repetitions * len(groups)
        assert_plausible(stats.binom.sf(missed - 1, total, 0.05))
        assert_rejected(stats.binom.sf(wrong - 1, total, 0.05))
        assert false <= missed
        assert_plausible(stats.binom.sf(false - 1, total, 0.05 / 5))  # of the independent pairs alone


class TestPopulation:
    """Exact, by the channel's own transition matrices."""

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["any", "symmetric", "one item turned around"])
    def test_reports_are_never_more_dependent_than_the_original(self, how: str) -> None:
        """Result 1 for 500 random tables; and phi by its identity.  Lift, which it does not cover, does grow."""
        rng = np.random.default_rng(3)
        raised = turned = 0
        for _ in range(500):
            law = rng.dirichlet([0.4] * 4)
            keep, absent = rng.random((2, 2))
            if how != "any":
                absent = keep
            if how == "one item turned around":
                keep[:] = absent[:] = rng.uniform(0, 0.49), rng.uniform(0.51, 1)
            mechanism = bk.Flip(keep=dict(enumerate(keep.tolist())), keep_absent=dict(enumerate(absent.tolist())))
            reported = law @ mechanism.channel(bk.Domain(range(2))).transition((0, 1))
            before, after = contingency(law), contingency(reported)
            for name in MEASURES:
                assert abs(measure(name)(after)[0]) <= abs(measure(name)(before)[0]) + 1e-12
            raised += bool(measure("lift")(after)[0] > measure("lift")(before)[0] + 1e-9)
            turned += phi(reported) * phi(law) < 0
            shares = np.array([law[1] + law[3], law[2] + law[3]])
            shown = shares * keep + (1 - shares) * (1 - absent)
            kept = (keep + absent - 1) * np.sqrt(shares * (1 - shares) / (shown * (1 - shown)))
            assert phi(reported) == pytest.approx(phi(law) * kept.prod(), abs=1e-9)
        assert raised > 50
        assert turned == 500 if how == "one item turned around" else 100 < turned < 400

    @pytest.mark.slow
    def test_records_say_which_measures_hold(self) -> None:
        """What the catalogue calls monotone is so for random tables and coins; the rest is refused."""
        rng = np.random.default_rng(4)
        domain = bk.Domain(range(2))
        for _ in range(300):
            law = rng.dirichlet([0.5] * 4)
            keep, absent = rng.random((2, 2))
            channels = {
                Monotone.ALWAYS: bk.Flip(dict(enumerate(keep.tolist())), dict(enumerate(absent.tolist()))),
                Monotone.SYMMETRIC: bk.Flip(dict(enumerate(keep.tolist()))),
            }
            before = contingency(law)
            for kind, mechanism in channels.items():
                after = contingency(law @ mechanism.channel(domain).transition((0, 1)))
                for record in CATALOGUE.values():
                    if record.monotone is kind:
                        assert abs(record(after)[0]) <= abs(record(before)[0]) + 1e-9, record.name


class TestFalseDependence:
    """Operators that randomize items together make independent items depend on each other."""

    def test_gamma_diagonal(self) -> None:
        """A mixture of the original law with a uniform one: a phi of 0 becomes -0.25."""
        domain = bk.TableDomain([bk.Attribute("a", [0, 1]), bk.Attribute("b", [0, 1])])
        channel = bk.GammaDiagonal(5).channel(domain)
        law = independent_law([0.95, 0.05])
        assert phi(law) == pytest.approx(0, abs=1e-12)
        assert phi(law @ channel.transition((0, 2))) < -0.25
        assert not channel.items_apart

    @pytest.mark.parametrize(
        "mechanism",
        [
            bk.CutAndPaste(cutoff=2, insert=0.1),
            bk.SelectASize(kept={m: [1 / (m + 1)] * (m + 1) for m in range(5)}, insert=0.05),
        ],
        ids=["cut and paste", "select a size"],
    )
    def test_one_choice_for_all_items(self, mechanism: bk.Mechanism) -> None:
        """Four independent items, every record enumerated with its probability and its true size."""
        domain = bk.Domain(range(4))
        channel = mechanism.channel(domain)
        assert isinstance(channel, RecordChannel)
        original, reported = np.zeros(4), np.zeros(4)
        for record in itertools.product((0, 1), repeat=4):
            chance = math.prod(0.3 if held else 0.7 for held in record)
            pattern = record[0] + 2 * record[1]
            original[pattern] += chance
            reported += chance * channel.transition((0, 1), sum(record))[pattern]
        assert reported.sum() == pytest.approx(1)
        assert phi(original) == pytest.approx(0, abs=1e-12)
        assert abs(phi(reported)) > 0.01
        assert not channel.items_apart

    def test_coins_that_differ_between_people(self) -> None:
        """Half the people insert 5%, half 45%: items that nobody has come out with a correlation of 0.21.

        Each plan alone is one of Flip; a mixture of both is not.
        """
        nobody = np.array([1.0, 0, 0, 0])
        laws = [
            nobody @ bk.Flip(keep=0.95, keep_absent=absent).channel(bk.Domain(range(2))).transition((0, 1))
            for absent in (0.95, 0.55)
        ]
        assert all(phi(law) == pytest.approx(0, abs=1e-12) for law in laws)
        assert phi(np.mean(laws, axis=0)) > 0.2

    def test_whoever_hides_the_mechanism_is_told_false_things(self) -> None:
        """Reports are refused; taken out of their plan they look like baskets, and p-values claim what is not so."""
        rng = np.random.default_rng(6)
        domain = bk.TableDomain([bk.Attribute("a", [0, 1]), bk.Attribute("b", [0, 1])])
        table = bk.Table.from_codes((rng.random((20_000, 2)) < (0.05, 0.95)).astype(int), domain)
        assert_plausible(float(dependent_pairs(table)["p_value"].min()))
        reports = bk.GammaDiagonal(5).randomize(table, rng=bk.Seeded(6))
        with pytest.raises(bk.DataError, match="GammaDiagonal"):
            dependent_pairs(reports)
        stripped = bk.Baskets.from_bits(reports.bits, domain.labels)
        assert_rejected(float(dependent_pairs(stripped, items=["a=1", "b=1"])["p_value"].iloc[0]))


def independent_law(shares: list[float]) -> Floats:
    a, c = shares
    return np.array([(1 - a) * (1 - c), a * (1 - c), (1 - a) * c, a * c])


class TestRefusals:
    @pytest.mark.parametrize(
        "mechanism",
        [
            bk.GammaDiagonal(19),
            bk.CutAndPaste(3, 0.4),
            bk.SelectASize(kept={1: [0.5, 0.5]}, insert=0.1),
            bk.Replace(0.3),
            bk.Mixing(others=2, keep=0.6),
        ],
        ids=lambda mechanism: mechanism.name,
    )
    def test_items_randomized_together(self, mechanism: bk.Mechanism) -> None:
        data: bk.Baskets | bk.Table
        if isinstance(mechanism, bk.GammaDiagonal):
            domain = bk.TableDomain([bk.Attribute("a", [0, 1]), bk.Attribute("b", [0, 1])])
            data = bk.Table.from_codes(np.zeros((50, 2), int), domain)
        else:
            data = bk.Baskets([["a"], ["b"]] * 25)
        reports = mechanism.randomize(data, rng=bk.Seeded(1))
        with pytest.raises(bk.DataError, match="together"):
            dependent_pairs(reports)
        with pytest.raises(bk.DataError, match="together"):
            dependent_pairs_of(bk.mine(reports, min_support=0.01))

    @pytest.mark.parametrize("name", ["lift", "confidence", "support", "jaccard", "odds_ratio", "interest"])
    def test_measures_that_randomization_may_raise(self, name: str) -> None:
        with pytest.raises(bk.ParameterError, match=f"{measure(name).name}, because randomization may raise it"):
            dependent_pairs(bk.Baskets([["a", "b"]]), measures=["correlation", name])

    def test_measures_that_need_a_promise(self) -> None:
        baskets = bk.Baskets([["a", "b"], ["a"], ["b"], []])
        names = [name for name, record in CATALOGUE.items() if record.monotone is Monotone.SYMMETRIC]
        assert names
        for name in names:
            with pytest.raises(bk.ParameterError, match="different probabilities") as refused:
                dependent_pairs(baskets, measures=[name])
            assert refused.value.parameter == "measures"
            assert dependent_pairs(baskets, measures=[name], symmetric=True)[name].tolist() == [0.0]

    def test_other_arguments(self) -> None:
        baskets = bk.Baskets([["a", "b"], ["c"]])
        with pytest.raises(bk.ParameterError, match="bonferroni"):
            dependent_pairs(baskets, adjust="fdr")
        wrong: dict[str, Any]
        for wrong in ({"level": 1.0}, {"max_p": -0.1}, {"min_expected": -1}, {"measures": ["sparkle"]}):
            with pytest.raises(bk.ParameterError):
                dependent_pairs(baskets, **wrong)
        with pytest.raises(bk.DataError):
            dependent_pairs(baskets, items=["d"])
        with pytest.raises(bk.DataError):
            dependent_pairs(bk.Baskets([], items=["a", "b"]))
        with pytest.raises(bk.DataError):
            dependent_pairs([["a"]])
        with pytest.raises(bk.TooManyCandidatesError):
            dependent_pairs(baskets, max_candidates=2)


class TestOfASearch:
    @pytest.mark.parametrize("is_raw", [False, True])
    def test_the_same_numbers_for_what_was_kept(self, baskets: bk.Baskets, is_raw: bool) -> None:
        data = baskets if is_raw else bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(4))
        found = bk.mine(data, min_support=0.05)
        ours = dependent_pairs_of(found, adjust="bonferroni")
        assert 0 < len(ours) == len(found.levels[1])
        kept = [next(iter(name)) for name in found.names(found.levels[0].items)]
        whole = dependent_pairs(data, items=kept, adjust="bonferroni")
        assert len(ours) < len(whole)
        assert ours.attrs["about"]["tests"] == whole.attrs["about"]["tests"] == len(kept) * (len(kept) - 1) // 2
        common = whole.merge(ours[["antecedents", "consequents"]], on=["antecedents", "consequents"])
        assert ours.equals(common)

    def test_pairs_not_kept_count_as_one(self, baskets: bk.Baskets) -> None:
        """Step-up values are at least those of the whole family, and those of the family padded with ones."""
        found = bk.mine(bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(4)), min_support=0.05)
        ours = dependent_pairs_of(found)
        tests = ours.attrs["about"]["tests"]
        padded = [*ours["p_value"], *[1.0] * (tests - len(ours))]
        expected = stats.false_discovery_control(padded, method="by")[: len(ours)]
        assert ours["p_adjusted"].to_numpy() == pytest.approx(expected, rel=1e-9)

    def test_nothing_found(self, baskets: bk.Baskets) -> None:
        found = bk.mine(baskets, min_support=0.9)
        assert len(dependent_pairs_of(found)) == 0
        with pytest.raises(bk.DataError, match="one item"):
            dependent_pairs_of(bk.mine(baskets, min_support=0.05, max_size=1))

    def test_of_a_table(self) -> None:
        domain = bk.TableDomain([bk.Attribute("a", [1, 2, 3]), bk.Attribute("b", ["x", "y"])])
        codes = np.random.default_rng(1).integers(0, [3, 2], (2000, 2))
        table = bk.Table.from_codes(codes, domain)
        for data in (table, bk.Flip(keep=0.95).randomize(table, rng=bk.Seeded(1))):
            found = dependent_pairs_of(bk.mine(data, min_support=0.05))
            assert len(found) == found.attrs["about"]["tests"] == 6
            assert found.equals(dependent_pairs(data))
