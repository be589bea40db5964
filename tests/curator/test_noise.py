"""Noise and its composition: OpenDP admits what was paid for, and nothing beyond."""

from __future__ import annotations

import numpy as np
import pytest

import bosket as bk
from bosket.curator import miner
from bosket.curator.lengths import Lengths, noisy_lengths
from bosket.curator.noise import composed, noisy

pytest.importorskip("opendp")


def test_what_is_drawn_inside_adds_up() -> None:
    with composed(1.0):
        for _ in range(10):
            noisy([1, 2], epsilon=0.1, sensitivity=3)
        with pytest.raises(bk.BudgetExceeded) as caught:
            noisy([1, 2], epsilon=1e-3, sensitivity=3)
    assert caught.value.asked[0] == pytest.approx(1e-3)
    assert caught.value.remaining[0] == pytest.approx(0.0, abs=1e-9)
    assert "1, 2" not in str(caught.value)


def test_a_part_costs_what_it_says_whatever_its_sensitivity() -> None:
    for sensitivity in (1, 2, 7, 1000):
        with composed(0.5):
            noisy([5], epsilon=0.5, sensitivity=sensitivity)
            with pytest.raises(bk.BudgetExceeded):
                noisy([5], epsilon=1e-6, sensitivity=1)


def test_each_block_has_its_own() -> None:
    with composed(0.5), composed(2.0):
        noisy([5], epsilon=1.5, sensitivity=1)
    with composed(0.5):
        noisy([5], epsilon=0.5, sensitivity=1)
    noisy([5], epsilon=100.0, sensitivity=1)


def test_it_is_the_same_law() -> None:
    """Inside and outside: with hardly any noise both give the counts."""
    counts = np.arange(12).reshape(3, 4)
    with composed(1e4):
        np.testing.assert_array_equal(noisy(counts, epsilon=1e4, sensitivity=1), counts)
    np.testing.assert_array_equal(noisy(counts, epsilon=1e4, sensitivity=1), counts)


def test_a_stage_that_takes_more_than_its_share_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger trusts what it is told; OpenDP adds up what is drawn."""

    def greedy(sizes: object, *, epsilon: float, longest: int, per_person: int = 1) -> Lengths:
        return noisy_lengths(sizes, epsilon=4 * epsilon, longest=longest, per_person=per_person)  # type: ignore[arg-type]

    baskets = bk.Baskets([["a"]] * 5000, items=["a", "b"])
    bk.curator.mine(baskets, epsilon=1.0, min_support=0.5)
    monkeypatch.setattr(miner, "noisy_lengths", greedy)
    with pytest.raises(bk.BudgetExceeded):
        bk.curator.mine(baskets, epsilon=1.0, min_support=0.5)
