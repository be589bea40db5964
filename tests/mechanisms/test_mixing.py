"""Mixing against its definition: the law of reports, the avoidance frequencies, and the error of the estimate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import bosket as bk
from bosket.mechanisms.mixing import MixingChannel
from tests.oracles import mixing_law
from tests.stats import assert_plausible, assert_rejected, chi_square

RECORDS = [frozenset({0, 1, 2}), frozenset({0}), frozenset({1, 2}), frozenset[int]()]


def channel_of(mechanism: bk.Mixing) -> MixingChannel:
    return mechanism.channel(bk.Domain(range(3)))


def pattern(items: frozenset[int]) -> int:
    return sum(1 << item for item in items)


def laws(others: int, keep: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Probability of each report, by record."""
    result = np.zeros((len(RECORDS), 8))
    for own in range(len(RECORDS)):
        for report, probability in mixing_law(RECORDS, own, others, keep).items():
            result[own, pattern(report)] += probability
    return result


@pytest.mark.parametrize(("others", "keep"), [(1, 0.625), (2, 0.5), (3, 0.75)])
def test_avoidance_is_a_power_of_what_records_avoid(others: int, keep: float) -> None:
    """Every draw and every coin: E of the product of (1 - x'/p) over reports is a_B^K, for every B."""
    law = laws(others, keep).mean(axis=0)
    for b in range(8):
        product = [(1 - 1 / keep) ** (y & b).bit_count() for y in range(8)]
        avoiding = sum(not (pattern(t) & b) for t in RECORDS) / len(RECORDS)
        assert law @ product == pytest.approx(avoiding ** (others + 1), abs=1e-12)


@pytest.mark.parametrize(("others", "keep"), [(1, 0.625), (2, 0.5)])
def test_weights_at_the_expected_reports(others: int, keep: float) -> None:
    """Consistency: with reports in their exact proportions the mean weight is the true support.

    And what a weight expects, record by record, has the products that ``own`` states, for all pairs of itemsets.
    """
    channel = channel_of(bk.Mixing(others, keep))
    law = laws(others, keep)
    n = 1 << 40
    itemsets = [a for size in (1, 2, 3) for a in itertools.combinations(range(3), size)]
    expected = {}
    for itemset in itemsets:
        shown = np.array([pattern(frozenset(i for i, x in enumerate(itemset) if y >> x & 1)) for y in range(8)])
        cells = np.zeros((1, 1 << len(itemset)))
        np.add.at(cells[0], shown, n * law.mean(axis=0))
        weights = channel.weights(np.array([itemset], np.int32), 0, np.rint(cells).astype(np.int64))[0]
        expected[itemset] = law @ weights[shown]
    support = {a: sum(set(a) <= t for t in RECORDS) / len(RECORDS) for a in itemsets}
    for a, b in itertools.product(itemsets, repeat=2):
        assert expected[a].mean() == pytest.approx(support[a], abs=1e-9)
        union = support[tuple(sorted({*a, *b}))]
        stated = channel.own * union + (1 - channel.own) * support[a] * support[b]
        assert (expected[a] * expected[b]).mean() == pytest.approx(stated, abs=1e-9)


def test_reports_follow_the_law() -> None:
    """Four kinds of records, 200 000 of each: drawing others from all is drawing kinds at random."""
    others, keep, n = 2, 0.625, 200_000
    plan = bk.Plan(bk.Domain(range(3)), bk.Mixing(others, keep))
    reports = plan.randomize(bk.Baskets(RECORDS, items=range(3)).repeat(n), rng=bk.Seeded(5))
    for own, law in enumerate(laws(others, keep)):
        mine = reports.bits[np.arange(len(reports)) % len(RECORDS) == own, 0]
        cells = np.bincount(mine.astype(np.int64), minlength=8)
        assert_plausible(chi_square(cells, law))
        wrong = law.copy()
        wrong[0] -= 0.01
        wrong[7] += 0.01
        assert_rejected(chi_square(cells, wrong))


@pytest.mark.slow
def test_errors_are_the_spread_over_repetitions() -> None:
    """The same records mixed 1500 times: stated variances are the observed ones, and half as much again is not."""
    baskets = bk.Baskets([[0, 1, 2]] * 200 + [[0]] * 300 + [[1, 2]] * 200 + [[]] * 300, items=range(3))
    itemsets = [[0], [1], [1, 2], [0, 1, 2]]
    repetitions = 1500
    values, variances = (np.empty((repetitions, 4)) for _ in range(2))
    for number in range(repetitions):
        reports = bk.Mixing(others=1, keep=0.75).randomize(baskets, rng=bk.Seeded(number))
        found = bk.estimate(reports, itemsets)
        values[number], variances[number] = found.value, found.variance
    truth = np.array(bk.estimate(baskets, itemsets).value)
    spread = values.var(axis=0, ddof=1)
    for place in range(4):
        assert abs(values[:, place].mean() - truth[place]) < 6 * math.sqrt(spread[place] / repetitions) + 0.002  # bias
        ratio = (repetitions - 1) * spread[place] / variances[:, place].mean()
        assert_plausible(2 * min(stats.chi2.cdf(ratio, repetitions - 1), stats.chi2.sf(ratio, repetitions - 1)))
        assert_rejected(2 * stats.chi2.cdf(ratio / 1.5, repetitions - 1))
        assert_rejected(2 * stats.chi2.sf(ratio * 1.5, repetitions - 1))


@pytest.mark.slow
def test_errors_with_sampling_are_those_of_drawn_people() -> None:
    """1000 people drawn anew and mixed, 1500 times.  The coins' variance, or a quarter of the sampling's, is too small.

    A person enters K reports, so the drawing of people adds s (1 - s) / N in full.
    """
    kinds = [[0, 1, 2], [0], [1, 2], []]
    shares = [0.2, 0.3, 0.2, 0.3]
    repetitions, n = 1500, 1000
    rng = np.random.default_rng(5)
    plan = bk.Plan(bk.Domain(range(3)), bk.Mixing(others=1, keep=0.75))
    values, coins, sampling = (np.empty((repetitions, 2)) for _ in range(3))
    for number in range(repetitions):
        people = bk.Baskets([kinds[kind] for kind in rng.choice(4, size=n, p=shares)], items=range(3))
        reports = plan.randomize(people, rng=bk.Seeded(number))
        found = bk.estimate(reports, [[0], [1, 2]], sampling=True)
        values[number], sampling[number] = found.value, found.variance
        coins[number] = bk.estimate(reports, [[0], [1, 2]]).variance
    spread = values.var(axis=0, ddof=1)
    for place, s in enumerate((0.5, 0.4)):
        law = stats.chi2(repetitions - 1)
        ratio = (repetitions - 1) * spread[place] / sampling[:, place].mean()
        assert_plausible(2 * min(law.cdf(ratio), law.sf(ratio)))
        too_small = coins[:, place].mean() + s * (1 - s) / n / 4
        if place == 0:  # where the drawing of people is a large part of it
            assert_rejected(2 * law.sf((repetitions - 1) * spread[place] / too_small))


def test_batches_are_not_put_together_or_taken_apart() -> None:
    """a_B^K is about the batch that was mixed: two batches of different people would give a biased estimate."""
    plan = bk.Plan(bk.Domain(["a", "b"]), bk.Mixing(1, 0.8))
    one, two = (plan.randomize(bk.Baskets([[item]] * 50, items=["a", "b"]), rng=bk.Seeded(1)) for item in "ab")
    assert bk.Reports.concat([one]) == one
    with pytest.raises(bk.DataError, match="batch by batch"):
        bk.Reports.concat([one, two])
    with pytest.raises(bk.DataError, match="batch by batch"):
        one[:10]


def test_mixing_needs_a_curator_and_promises_nothing() -> None:
    """Enumerated: with others known, some report is possible under one record and impossible under another."""
    mechanism = bk.Mixing(2, 0.5)
    assert mechanism.needs_curator
    assert not bk.CutAndPaste(3, 0.5).needs_curator
    guarantee = mechanism.guarantee(range(3))
    assert guarantee.epsilon == math.inf
    assert "curator" in guarantee.card()
    rest = [frozenset({0}), frozenset({0})]
    with_it = mixing_law([frozenset({1}), *rest], 0, 2, 0.5)
    without = mixing_law([frozenset({0}), *rest], 0, 2, 0.5)
    assert with_it[frozenset({1})] > 0
    assert frozenset({1}) not in without
    with pytest.raises(bk.DataError, match="at least as many"):
        mechanism.randomize(bk.Baskets([["a"], ["b"]]))


def test_a_keep_of_nothing_cannot_be_estimated() -> None:
    reports = bk.Mixing(1, 0.0).randomize(bk.Baskets([["a"], ["b"]]), rng=bk.Seeded(1))
    with pytest.raises(bk.SingularChannelError):
        bk.estimate(reports, [{"a"}])


def test_itemsets_and_rules_come_out() -> None:
    baskets = bk.Baskets([["a", "b"], ["a"], []] * 4000, items=["a", "b", "c"])
    found = bk.mine(bk.Mixing(1, 0.8).randomize(baskets, rng=bk.Seeded(4)), min_support=0.2)
    assert {frozenset("a"), frozenset("b"), frozenset("ab")} == {itemset for itemset, _ in found}
    rules = found.rules(metric="confidence", min_threshold=0.4)
    chosen = rules[rules["antecedents"] == frozenset("b")].iloc[0]
    assert abs(chosen["confidence"] - 1) < 4 * chosen["confidence_stderr"]
    assert chosen["confidence_stderr"] < 0.2
