"""Mixing against its definition: the law of reports, the avoidance frequencies, and the error of the estimate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import bosket as bk
from bosket.counting.table import count_subsets
from bosket.mechanisms.mixing import MixingChannel
from bosket.mining.support import cells_of
from tests.oracles import mixing_law
from tests.stats import assert_plausible, assert_rejected, chi_square

RECORDS = [frozenset({0, 1, 2}), frozenset({0}), frozenset({1, 2}), frozenset[int]()]
ALL = np.array([[0, 1, 2]], np.int32)


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
    mean = channel_of(bk.Mixing(others, keep)).avoidances(3) @ law
    for b in range(8):
        avoiding = sum(not (pattern(t) & b) for t in RECORDS) / len(RECORDS)
        assert mean[b] == pytest.approx(avoiding ** (others + 1), abs=1e-12)


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
        mine = reports[np.arange(len(reports)) % len(RECORDS) == own]
        cells = cells_of(count_subsets(mine.counter(), ALL))[0, 0]
        assert_plausible(chi_square(cells, law))
        wrong = law.copy()
        wrong[0] -= 0.01
        wrong[7] += 0.01
        assert_rejected(chi_square(cells, wrong))


def test_errors_are_the_spread_over_repetitions() -> None:
    """The same records mixed 1500 times: stated variances are the observed ones, and a tenth of it more is not.

    The variance of the same estimate if people were drawn too is larger, and is told apart.
    """
    baskets = bk.Baskets([[0, 1, 2]] * 200 + [[0]] * 300 + [[1, 2]] * 200 + [[]] * 300, items=range(3))
    itemsets = [[0], [1], [1, 2], [0, 1, 2]]
    repetitions = 1500
    values, variances, sampling = (np.empty((repetitions, 4)) for _ in range(3))
    for number in range(repetitions):
        reports = bk.Mixing(others=1, keep=0.75).randomize(baskets, rng=bk.Seeded(number))
        found = bk.estimate(reports, itemsets)
        values[number], variances[number] = found.value, found.variance
        sampling[number] = bk.estimate(reports, itemsets, sampling=True).variance
    truth = np.array(bk.estimate(baskets, itemsets).value)
    spread = values.var(axis=0, ddof=1)
    for place in range(4):
        assert abs(values[:, place].mean() - truth[place]) < 6 * math.sqrt(spread[place] / repetitions) + 0.002  # bias
        ratio = (repetitions - 1) * spread[place] / variances[:, place].mean()
        assert_plausible(2 * min(stats.chi2.cdf(ratio, repetitions - 1), stats.chi2.sf(ratio, repetitions - 1)))
        assert_rejected(2 * stats.chi2.cdf(ratio / 1.5, repetitions - 1))
        assert sampling[:, place].mean() > variances[:, place].mean()


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


def test_one_of_one_is_flip() -> None:
    """Where all records are alike a union is the record: rules and itemsets come out as under Flip."""
    baskets = bk.Baskets([["a", "b"], ["a"], []] * 4000, items=["a", "b", "c"])
    found = bk.mine(bk.Mixing(1, 0.8).randomize(baskets, rng=bk.Seeded(4)), min_support=0.2)
    assert {frozenset("a"), frozenset("b"), frozenset("ab")} == {itemset for itemset, _ in found}
    rules = found.rules(metric="confidence", min_threshold=0.4)
    chosen = rules[rules["antecedents"] == frozenset("b")].iloc[0]
    assert abs(chosen["confidence"] - 1) < 4 * chosen["confidence_stderr"]
    assert chosen["confidence_stderr"] < 0.2
