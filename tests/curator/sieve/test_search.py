"""Candidates of the sieve: what is joined, how likely it is taken to be frequent, and how many at most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from bosket.curator.sieve import search
from bosket.curator.sieve.beliefs import RATIOS, SievedLevel
from bosket.curator.sieve.expected import N_CLASSES, KnownSupports, expected_of, smallest_subset
from bosket.curator.sieve.search import SieveSearch


def known(rows: Sequence[tuple[int, ...]], supports: Sequence[float], *, limit: float) -> SievedLevel:
    """A level that knows its supports."""
    level = SievedLevel(np.array(rows, np.int32), limit=limit)
    level.grid = np.array(supports, float)[:, None]
    level.posterior = np.ones((len(rows), 1))
    level.prior = np.full((N_CLASSES, len(RATIOS)), 1 / len(RATIOS))
    return level


def items(supports: Sequence[float], *, limit: float = 100.0) -> SievedLevel:
    return known([(item,) for item in range(len(supports))], supports, limit=limit)


def test_pairs_of_items_that_may_be_frequent() -> None:
    """By definition: the chance of a ratio of limit over the smaller support, log-uniform over a factor of e^6."""
    found, missed = SieveSearch(100.0, 5000.0, 0.03, 1000).candidates([items([500, 300, 120, 101, 20])], largest=2)
    (pairs,) = found
    expected = {
        pair: np.log(min(support) / 100.0) / 6
        for pair, support in (((0, 1), (500, 300)), ((0, 2), (500, 120)), ((1, 2), (300, 120)))
    }
    kept = {pair: value for pair, value in expected.items() if value > 0.03}
    assert dict(zip(map(tuple, pairs.rows.tolist()), pairs.probability, strict=True)) == pytest.approx(kept)
    assert missed[0] == 0.0
    assert missed[1] == pytest.approx(sum(np.log(1.02) / 6 for _ in range(3)), rel=0.05)  # those with the item at 101


def test_itemsets_that_were_measured_are_not_new() -> None:
    levels = [items([500, 400, 300]), known([(0, 1), (1, 2)], [200, 200], limit=100.0)]
    found, _ = SieveSearch(100.0, 5000.0, 0.03, 1000).candidates(levels, largest=2)
    assert found[0].rows.tolist() == [[0, 2]]


def test_larger_itemsets_need_all_of_their_subsets() -> None:
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3)]
    levels = [items([500, 400, 300, 300]), known(pairs, [250, 250, 250, 250], limit=100.0)]
    levels[1].prior = np.zeros((N_CLASSES, len(RATIOS)))
    levels[1].prior[:, 0] = 1.0  # no other pair is likely
    found, _ = SieveSearch(100.0, 5000.0, 0.03, 1000).candidates(levels, largest=3)
    assert [part.rows.tolist() for part in found] == [[[0, 1, 2]]]
    assert found[0].probability.tolist() == pytest.approx([1 - 100 / 250])


def test_no_more_than_may_be_measured_the_likeliest_first() -> None:
    found, missed = SieveSearch(100.0, 5000.0, 0.0, 3).candidates([items([900, 800, 700, 600, 500])], largest=2)
    assert sum(len(part.rows) for part in found) <= 3
    assert {tuple(row) for part in found for row in part.rows.tolist()} <= {(0, 1), (0, 2), (1, 2)}
    left_out = [np.log(min(pair)) / 6 for pair in combinations((9, 8, 7, 6, 5), 2)]
    assert missed == pytest.approx([0.0, sum(left_out) - np.log(8 * 7 * 7) / 6])


def test_candidates_are_looked_at_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of millions at once took gigabytes; and cut in slices they are what they were."""
    levels = [items([900, 800, 700, 600, 150, 101]), known([(0, 1), (0, 2), (1, 2), (0, 3)], [400] * 4, limit=100.0)]
    search_ = SieveSearch(100.0, 5000.0, 0.03, 1000)
    whole, missed = search_.candidates(levels, largest=4)
    monkeypatch.setattr(search, "_AT_ONCE", 2)
    parts, missed_of_parts = search_.candidates(levels, largest=4)
    assert len(whole) > 1
    assert [part.rows.tolist() for part in parts] == [part.rows.tolist() for part in whole]
    assert [part.probability.tolist() for part in parts] == [part.probability.tolist() for part in whole]
    assert missed_of_parts == pytest.approx(missed)


def test_where_too_many_would_be_joined_the_more_frequent_half_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_JOINED", 10)
    found, _ = SieveSearch(100.0, 5000.0, 0.0, 1000).candidates([items([300.0 + item for item in range(8)])], largest=2)
    assert {tuple(row) for row in found[0].rows.tolist()} == set(combinations((4, 5, 6, 7), 2))


def test_the_smallest_subset() -> None:
    rows = np.array([[0, 1, 2], [1, 2, 3]], np.int32)
    below = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    assert smallest_subset(rows, KnownSupports(below, np.array([5.0, 4.0, 3.0])), 0.5).tolist() == [3.0, 0.5]


def test_what_subsets_lead_to_expect() -> None:
    """By definition, of a pair and of a triple: the smallest subset, and the largest product over what is shared."""
    single = KnownSupports(np.array([[0], [1], [2]], np.int32), np.array([50.0, 40.0, 30.0]))
    pairs = KnownSupports(np.array([[0, 1], [0, 2], [1, 2]], np.int32), np.array([20.0, 15.0, 12.0]))
    pair = expected_of(np.array([[0, 2]], np.int32), [single], 200.0, 0.5)
    assert (pair.most.tolist(), pair.joint.tolist()) == ([30.0], [50.0 * 30.0 / 200.0])
    triple = expected_of(np.array([[0, 1, 2]], np.int32), [single, pairs], 200.0, 0.5)
    assert triple.most.tolist() == [12.0]
    assert triple.joint.tolist() == pytest.approx([max(20 * 15 / 50, 20 * 12 / 40, 15 * 12 / 30)])


def test_classes_have_ratios_of_their_own() -> None:
    """A pair that items bought by chance would make is likelier than one that they would not."""
    levels = [items([900, 800, 250, 240]), known([(0, 2)], [200], limit=100.0)]
    levels[1].prior = np.zeros((N_CLASSES, len(RATIOS)))
    classes = expected_of(
        np.array([[0, 1], [2, 3]], np.int32), [KnownSupports(levels[0].rows, levels[0].mean)], 5000.0, 0.0
    )
    low, high = int(classes.classes[1]), int(classes.classes[0])
    assert low < high
    levels[1].prior[:, 0], levels[1].prior[high] = 1.0, 0.0
    levels[1].prior[high, -1] = 1.0
    found, _ = SieveSearch(100.0, 5000.0, 0.03, 1000).candidates(levels, largest=2)
    assert [0, 1] in found[0].rows.tolist()
    assert [2, 3] not in found[0].rows.tolist()


def test_ratios_of_larger_itemsets_are_those_of_the_size_before() -> None:
    """Triples were measured: what they tell of ratios holds for itemsets of four and five items in the same round.

    By a uniform law for both they had chances of 0.23 and 0.005.
    """
    n = 5
    levels = [
        known(list(combinations(range(n), size)), [support] * len(list(combinations(range(n), size))), limit=100.0)
        for size, support in ((1, 150.0), (2, 140.0), (3, 130.0))
    ]
    for level in levels[1:]:
        level.prior = np.zeros((N_CLASSES, len(RATIOS)))
        level.prior[:, np.searchsorted(RATIOS, 0.88)] = 0.8
        level.prior[:, 0] = 0.2
    assert RATIOS[np.searchsorted(RATIOS, 0.88)] ** 2 * 130 > 100
    found, _ = SieveSearch(100.0, 5000.0, 0.03, 1000).candidates(levels, largest=5)
    assert [part.rows.shape for part in found] == [(5, 4), (1, 5)]
    assert found[0].probability.tolist() == pytest.approx([0.8] * 5)
    assert found[1].probability.tolist() == pytest.approx([0.8**2])
