"""A value at the limit passes: against brute force in fractions, for limits that are attained exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket.limits import is_near, keeps_to, least_count, reaches
from bosket.measures import CATALOGUE
from bosket.measures.selection import exact_values

Itemset = frozenset[int]
Rule = tuple[Itemset, Itemset]

RATIONAL = (
    "antecedent support", "consequent support", "support", "confidence", "lift", "leverage", "conviction", "jaccard",
    "zhangs_metric", "certainty", "kulczynski", "all_confidence", "max_confidence", "imbalance", "laplace",
    "certainty_factor", "added_value", "difference_of_confidence", "relative_risk", "rule_power_factor", "sebag",
    "counterexample", "confirmed_confidence", "least_contradiction", "casual_confidence", "casual_support",
    "varying_liaison", "chi_squared", "odds_ratio", "yule_q", "kappa", "collective_strength", "rld", "gini",
    "goodman_kruskal_lambda", "count", "representativity",
)  # fmt: skip
"""The measures of the catalogue that are ratios of counts."""


def records_of(seed: int, *, n: int = 60, items: int = 5) -> list[Itemset]:
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.35, 0.85, items)
    return [frozenset(np.flatnonzero(rng.random(items) < share).tolist()) for _ in range(n)]


def count_all(records: list[Itemset], items: int = 5) -> dict[Itemset, int]:
    sets = [frozenset(part) for size in range(items + 1) for part in itertools.combinations(range(items), size)]
    return {part: sum(part <= record for record in records) for part in sets}


def splits_of(counts: dict[Itemset, int], least: int) -> list[Rule]:
    """All rules of the itemsets in at least this many records."""
    return [
        (frozenset(part), whole - frozenset(part))
        for whole, count in counts.items()
        if count >= least
        for size in range(1, len(whole))
        for part in itertools.combinations(sorted(whole), size)
    ]


def rules_in(frame: pd.DataFrame) -> set[Rule]:
    return set(zip(frame["antecedents"], frame["consequents"], strict=True))


@given(n=st.integers(1, 10**6), data=st.data())
def test_k_of_n_is_reached_by_k_however_the_fraction_is_written(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    assert least_count(k / n, n) == k
    places = data.draw(st.integers(1, 12))
    decimal = Fraction(round(Fraction(k, n) * 10**places), 10**places)
    if 0 < decimal <= 1:
        assert least_count(float(decimal), n) == max(1, -(-decimal.numerator * n // decimal.denominator))


def test_a_fraction_a_little_above_k_of_n_is_not_reached_by_k() -> None:
    """Where a billionth of the limit would be too much leniency for whole numbers."""
    assert [least_count(0.3 + excess, 10) for excess in (0, 1e-13, 1e-9)] == [3, 4, 4]
    found = bk.mine(bk.Baskets([["a"]] * 3 + [["b"]] * 7), min_support=0.3 + 1e-13)
    assert {label for itemset, _ in found for label in itemset} == {"b"}


@pytest.mark.parametrize("seed", range(3))
def test_itemsets_at_the_minimum_support(seed: int) -> None:
    records = records_of(seed)
    counts = count_all(records)
    for k in sorted(set(counts.values()) - {0, len(records)}):
        found = bk.mine(bk.Baskets(records), min_support=k / len(records))
        assert {itemset for itemset, _ in found} == {part for part, count in counts.items() if part and count >= k}


@pytest.mark.parametrize("name", ["confidence", "support", "lift", "leverage", "conviction", "zhangs_metric"])
@pytest.mark.parametrize("seed", range(2))
def test_rules_at_the_threshold(name: str, seed: int) -> None:
    """Every value that some rule attains, as a float, is a threshold in turn."""
    records = records_of(seed, n=40 + 3 * seed)
    counts, n = count_all(records), len(records)
    rules = splits_of(counts, 4)
    exact = dict(zip(rules, _values(name, rules, counts, n), strict=True))
    found = bk.mine(bk.Baskets(records), min_support=4 / n)
    attained = sorted({value for value in exact.values() if value is not None})
    for value in attained[:: max(1, len(attained) // 12)]:
        expected = {rule for rule, own in exact.items() if own is None or own >= value}
        assert rules_in(found.rules(metric=name, min_threshold=float(value))) == expected, (name, value)


def _values(name: str, rules: list[Rule], counts: dict[Itemset, int], n: int) -> list[Fraction | None]:
    """By the definitions, in fractions; None for a value without end."""
    result = []
    for a, c in rules:
        x, a_, c_ = (Fraction(counts[side], n) for side in (a | c, a, c))
        match name:
            case "confidence":
                value: Fraction | None = x / a_
            case "support":
                value = x
            case "lift":
                value = x / (a_ * c_)
            case "leverage":
                value = x - a_ * c_
            case "conviction":
                value = a_ * (1 - c_) / (a_ - x) if a_ > x else None
            case _:
                room = max(x * (1 - a_), a_ * (c_ - x))
                value = (x - a_ * c_) / room if room else Fraction(0)
        result.append(value)
    return result


def test_four_of_five_is_a_confidence_of_eight_tenths() -> None:
    """n such that 4/n over 5/n is 0.7999999999999999: the value shown is the nearest float too."""
    for n in range(5, 60):
        baskets = bk.Baskets([["a", "b"]] * 4 + [["a"]] + [["c"]] * (n - 5))
        rules = bk.mine(baskets, min_support=4 / n).rules(
            min_threshold=0.8, template=bk.RuleTemplate(antecedents=["a"])
        )
        assert rules["confidence"].tolist() == [0.8], n


@pytest.mark.parametrize("name", RATIONAL)
def test_ratios_of_counts_are_worked_out_exactly(name: str) -> None:
    """The exact value of a formula agrees with its float, and is a fraction (so that no rounding decides)."""
    rng = np.random.default_rng(5)
    cells = rng.integers(1, 40, (4, 50))
    n = int(cells.sum(axis=0).max())
    counts = np.stack([cells[0], cells[0] + cells[1], cells[0] + cells[2]])
    values = exact_values(CATALOGUE[name], counts, n)
    table = bk.measures.Contingency.of_counts(counts[0], counts[1], counts[2], n)
    np.testing.assert_allclose(np.array(values, float), CATALOGUE[name](table), rtol=1e-9, atol=1e-12)
    assert all(isinstance(value, Fraction | int) for value in values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(set(CATALOGUE) - {record.name for record in CATALOGUE.values() if record.is_loss})
)
def test_every_measure_finds_what_attains_its_value(name: str) -> None:
    """With the value shown of some rule as the threshold that rule passes, whatever the measure."""
    records = records_of(7, n=50)
    found = bk.mine(bk.Baskets(records), min_support=0.1)
    everything = found.rules(metric=name, min_threshold=-1e9, measures=[name])
    for row in everything[np.isfinite(everything[name])].iloc[::17].to_dict("records"):
        again = found.rules(metric=name, min_threshold=row[name], measures=[name])
        assert (row["antecedents"], row["consequents"]) in rules_in(again)


def test_an_improvement_at_the_limit_is_not_more_than_it() -> None:
    records = records_of(3, n=40)
    counts = count_all(records)
    found = bk.mine(bk.Baskets(records), min_support=4 / 40)
    gains = {
        (a, c): min(
            Fraction(counts[a | c], counts[a]) - Fraction(counts[part | c], counts[part])
            for size in range(len(a))
            for part in map(frozenset, itertools.combinations(sorted(a), size))
        )
        for a, c in splits_of(counts, 4)
    }
    limits = sorted({gain for gain in gains.values() if gain > 0})
    assert len(limits) > 10
    for limit in [Fraction(0), *limits[::4]]:
        frame = found.rules(min_threshold=0.0, min_improvement=float(limit))
        assert rules_in(frame) == {rule for rule, gain in gains.items() if gain > limit}, limit


@pytest.mark.slow
def test_reports_that_change_nothing_are_mined_as_the_truth() -> None:
    """keep=1 has no error, but sums of weights: the limit is reached by a hair."""
    records = records_of(11, n=70)
    counts = count_all(records)
    reports = bk.Flip(keep=1.0).randomize(bk.Baskets(records, items=range(5)), rng=bk.Seeded(1))
    for k in sorted({count for part, count in counts.items() if part and 0 < count < 70})[::3]:
        found = bk.mine(reports, min_support=k / 70)
        assert {itemset for itemset, _ in found} == {part for part, count in counts.items() if part and count >= k}
        raw = bk.mine(bk.Baskets(records, items=range(5)), min_support=k / 70)
        for threshold in (0.5, 0.75, 0.8, 2 / 3):
            assert rules_in(found.rules(min_threshold=threshold)) == rules_in(raw.rules(min_threshold=threshold))


@pytest.mark.slow
def test_a_p_value_at_alpha_is_kept() -> None:
    """A limit of the very value shown, and the decimal that the value is but for rounding."""
    found = bk.mine(bk.Baskets(records_of(2, n=200)), min_support=0.05)
    frame = found.rules(min_threshold=0.0, adjust="none")
    for p in sorted(set(frame["p_adjusted"]))[:20]:
        for alpha in (p, float(np.nextafter(p, 0))):
            kept = found.rules(min_threshold=0.0, adjust="none", alpha=alpha)
            assert len(kept) == (frame["p_adjusted"] <= p * (1 + 1e-12)).sum()
    pairs = bk.dependent_pairs(bk.Baskets(records_of(2, n=200)))
    p = float(pairs["p_adjusted"].iloc[0])
    kept = bk.dependent_pairs(bk.Baskets(records_of(2, n=200)), max_p=float(np.nextafter(p, 0)))
    assert len(kept) == (pairs["p_adjusted"] <= p).sum() > 0


@settings(max_examples=200)
@given(limit=st.just(0.0) | st.floats(1e-300, 1e6) | st.floats(-1e6, -1e-300))
def test_hair(limit: float) -> None:
    for step in (np.nextafter(limit, -np.inf), limit, np.nextafter(limit, np.inf)):
        assert reaches(step, limit)
        assert keeps_to(abs(step), abs(limit)) or limit == 0
        assert is_near(step, limit)
    off = 1e-8 * max(abs(limit), 1e-2)
    assert not reaches(limit - off, limit)
    assert not keeps_to(abs(limit) + off, abs(limit))
    assert not reaches(np.nan, limit)


def test_the_rules_of_another_program_decided_by_fractions() -> None:
    """Its rules without a threshold; which of them reach one is decided by counts, not by its rounding or ours."""
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    records = records_of(13, n=90)
    counts = count_all(records)
    frame = pd.DataFrame([[item in record for item in range(5)] for record in records], columns=range(5))
    theirs = rules_in(association_rules(fpgrowth(frame, min_support=0.1, use_colnames=True), min_threshold=0.0))
    found = bk.mine(bk.Baskets(records), min_support=0.1)
    for threshold in (0.5, 0.6, 0.75, 0.8, 2 / 3):
        least = Fraction(repr(threshold)) if threshold != 2 / 3 else Fraction(2, 3)
        expected = {(a, c) for a, c in theirs if Fraction(counts[a | c], counts[a]) >= least}
        assert rules_in(found.rules(min_threshold=threshold)) == expected, threshold


@pytest.mark.parametrize("limit", [0.0, 1e-300, 1e-13])
def test_tiny_p_values_are_told_apart(limit: float) -> None:
    assert keeps_to(limit, limit)
    assert not keeps_to(max(10 * limit, 1e-310), limit)
