"""How crowded records are, by plain Python; and shares that follow it."""

from __future__ import annotations

import numpy as np
import pytest

from bosket.curator.sieve import crowds
from bosket.curator.sieve.beliefs import Believer, SievedLevel, Values
from bosket.curator.sieve.contributions import PURE
from bosket.curator.sieve.crowds import Company, LeastCut, company_of, crowded_shares

N = 1000.0
ITEMS = np.array([2, 3, 5, 8], np.int32)
SUPPORTS = np.array([0, 0, 400, 200, 0, 100, 0, 0, 300], float)
PAIRS = np.array([[2, 3], [3, 8], [5, 8]], np.int32)
TOGETHER = np.array([150.0, 120.0, 130.0])
ACTIVE = [np.array([[2], [8]], np.int32), PAIRS, np.array([[2, 3, 8]], np.int32)]


@pytest.fixture
def company() -> Company:
    known = company_of(ITEMS, SUPPORTS, PAIRS, TOGETHER, N)
    assert known is not None
    return known


def chance(x: int, y: int) -> float:
    """That a record with x has y, by definition."""
    pairs = {frozenset(pair): value for pair, value in zip(PAIRS.tolist(), TOGETHER.tolist(), strict=True)}
    if x == y:
        return 1.0
    together = pairs.get(frozenset({x, y}), SUPPORTS[x] * SUPPORTS[y] / N)
    return float(min(1.0, together / SUPPORTS[x]))


def test_a_record_is_as_crowded_as_pairs_say(company: Company) -> None:
    """The last pair has more records than one of its items by noise: the chance is 1."""
    for part in ACTIVE:
        for row, found in zip(part.tolist(), company.crowds(part, ACTIVE).tolist(), strict=True):
            others = [active for rows in ACTIVE for active in rows.tolist()]
            expected = sum(np.prod([max(chance(x, y) for x in row) for y in other]) for other in others)
            assert found == pytest.approx(expected, rel=1e-5)


def test_some_active_itemsets_stand_for_all(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "_WORK", 6)
    pairs = np.repeat(PAIRS[:1], 4, axis=0)
    assert company.crowds(PAIRS[:1], [pairs]).tolist() == [4.0]


def test_many_items_are_left_with_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "_ITEMS", 3)
    assert company_of(ITEMS, SUPPORTS, PAIRS, TOGETHER, N) is None


def test_what_all_hold_together_stays() -> None:
    """Sums over shares add up to what the average makes of them, and crowded itemsets keep less."""
    values, average = np.array([50.0, 80.0, 20.0, 40.0]), np.full(4, 0.6)
    shares = crowded_shares(np.array([1.0, 2.0, 3.0, 1.5]), values, 1.0, average)
    assert (values / shares).sum() == pytest.approx(values.sum() / 0.6)
    assert shares[2] < shares[1] < shares[3] < shares[0]


def test_sums_of_noise_say_nothing_of_crowds() -> None:
    values, average = np.array([3.0, -2.0, 1.0]), np.full(3, 0.6)
    assert (crowded_shares(np.array([1.0, 2.0, 3.0]), values, 1.0, average) == average).all()


def test_one_noisy_sum_in_a_crowd_moves_no_share_of_others() -> None:
    """Of one itemset in a thousand times as crowded records, a sum of noise alone decided for all: 0.86 for 0.6."""
    values, average = np.append(np.full(99, 20.0), 12.0), np.full(100, 0.6)
    shares = crowded_shares(np.append(np.ones(99), 1000.0), values, 5.0, average)
    assert (shares == average).all()


CROWDS, SUMS, TOLD = np.array([10.0, 20.0, 30.0, 15.0]), np.array([50.0, 80.0, 20.0, 40.0]), np.full(4, 0.9)


def test_crowds_that_noise_hides_from_a_histogram_are_cut_more() -> None:
    """A bin may hide more than all that records hold, so crowds of 18 itemsets where 3 may be added decide."""
    shares = crowded_shares(CROWDS, SUMS, 1.0, TOLD, LeastCut(3.0, 300.0))
    crowd = float(SUMS @ CROWDS / SUMS.sum())
    over = crowd / 3
    assert shares == pytest.approx(1 / (1 + over**2 / (over + 4) * CROWDS / crowd), rel=1e-3)


def test_a_histogram_that_hides_nothing_is_believed() -> None:
    assert (
        crowded_shares(CROWDS, SUMS, 1.0, TOLD, LeastCut(3.0, 0.0)) == crowded_shares(CROWDS, SUMS, 1.0, TOLD)
    ).all()


@pytest.mark.parametrize("bound", [3.0, 60.0, 1e6])
def test_crowds_never_say_that_less_is_cut(bound: float) -> None:
    """They are averages, and heavy tails of records are not in them."""
    more = crowded_shares(CROWDS, SUMS, 1.0, TOLD, LeastCut(bound, 300.0))
    assert (more <= crowded_shares(CROWDS, SUMS, 1.0, TOLD)).all()


@pytest.mark.parametrize("is_crowded", [True, False])
def test_pairs_in_crowded_records_are_put_back_more(is_crowded: bool) -> None:
    """Twelve pairs with one sum each, six of which lie in one clique: those had more records."""
    clique = [[a, b] for a in range(4) for b in range(a + 1, 4)]
    lone = [[2 * at, 2 * at + 1] for at in range(2, 8)]
    rows = np.array(clique + lone, np.int32)
    items = SievedLevel(np.arange(16, dtype=np.int32)[:, None])
    items.rounds.append(Values(np.arange(16), np.full(16, 300.0), 2.0, np.ones(16)))
    pairs = SievedLevel(rows)
    pairs.rounds.append(Values(np.arange(12), np.full(12, 120.0), 2.0, np.full(12, 0.6), 2))
    believer = Believer(PURE, 0.2, 100.0, 1e5, is_crowded=is_crowded)
    believer.update([items, pairs])
    assert pairs.rounds[0].crowded is None, "pairs are not known before they are measured"
    believer.update([items, pairs])
    mean = pairs.mean
    assert (mean[:6].min() > 1.1 * mean[6:].max()) == is_crowded
