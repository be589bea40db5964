"""How many itemsets are frequent beside those that were measured."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bosket.counting.base import ItemsetRows
from bosket.curator.sieve.beliefs import SievedLevel, Values
from bosket.curator.sieve.contributions import PURE
from bosket.curator.sieve.unseen import frequent_numbers

LIMIT = 100.0


def level(size: int, n: int, n_clear: int, *, noise: float) -> SievedLevel:
    """``n`` itemsets just above the limit, of which ``n_clear`` have ten times as much."""
    found: ItemsetRows = np.array(list(combinations(range(12), size))[:n], np.int32).reshape(n, size)
    made = SievedLevel(found, limit=LIMIT)
    supports = np.where(np.arange(n) < n_clear, 10 * LIMIT, 1.01 * LIMIT)
    made.grid = supports[:, None] * np.array([[0.999, 1.0, 1.001]])
    made.posterior = np.tile([0.0, 1.0, 0.0], (n, 1))
    shares = np.full(n, 0.5)
    made.rounds = [Values(np.arange(n), 0.5 * supports, 0.5 * noise / np.sqrt(2), shares)]
    return made


def test_where_nothing_is_hidden_the_numbers_are_those_measured() -> None:
    """Give or take half an itemset of a size, which is what the prior counts for."""
    levels = [level(1, 12, 12, noise=1e-3), level(2, 60, 60, noise=1e-3), level(3, 40, 40, noise=1e-3)]
    numbers = frequent_numbers(levels, [0.0, 0.0, 0.0], LIMIT, PURE, 12)
    assert numbers[:2] == pytest.approx([12, 60])
    assert 40 <= numbers[2] <= 40.5


def test_triples_that_noise_hides_follow_those_that_are_clear_of_it() -> None:
    """Of 10 clear pairs 6 clear triples; 50 pairs are frequent, and no other triple was ever joined."""
    levels = [level(1, 12, 12, noise=80.0), level(2, 50, 10, noise=80.0), level(3, 6, 6, noise=80.0)]
    numbers = frequent_numbers(levels, [0.0, 0.0, 0.0], LIMIT, PURE, 12)
    assert numbers[2] == pytest.approx((0.5 + 6) / (0.5 / 0.1 + 10**1.3) * 50**1.3)
    assert numbers[2] > 40
    for before, one, after in zip(numbers[1:], numbers[2:], numbers[3:], strict=False):
        assert after / one <= 0.6 * one / before + 1e-9
    assert frequent_numbers(levels, [0.0, 0.0, 0.0], LIMIT, PURE, 3) == numbers[:3]  # and none beyond what is asked for


def test_pairs_that_were_never_measured_have_triples_too() -> None:
    levels = [level(1, 12, 12, noise=80.0), level(2, 50, 10, noise=80.0), level(3, 6, 6, noise=80.0)]
    fewer, more = (frequent_numbers(levels, [0.0, hidden], LIMIT, PURE, 3) for hidden in (0.0, 50.0))
    assert more[1] == fewer[1] + 50
    assert more[2] == pytest.approx(fewer[2] * 2**1.3)


def test_what_was_never_measured_has_no_noise_to_be_clear_of() -> None:
    levels = [level(1, 12, 12, noise=80.0), level(2, 50, 10, noise=80.0), level(3, 6, 6, noise=80.0)]
    expected = frequent_numbers(levels, [0.0], LIMIT, PURE, 3)
    levels[2].rounds = []
    assert frequent_numbers(levels, [0.0], LIMIT, PURE, 3) == pytest.approx(expected)


def test_items_alone_say_nothing_of_larger_itemsets() -> None:
    assert frequent_numbers([level(1, 5, 5, noise=1.0)], [0.0], LIMIT, PURE, 1) == pytest.approx([5])
    assert sum(frequent_numbers([level(1, 5, 5, noise=1.0)], [0.0], LIMIT, PURE, 12)) == pytest.approx(5)
