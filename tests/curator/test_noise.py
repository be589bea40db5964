"""Noise and its composition: OpenDP admits what was paid for, and nothing beyond."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.curator import miner
from bosket.curator.lengths import Lengths, noisy_lengths
from bosket.curator.noise import Counts, composed, noisy

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

    def greedy(sizes: Counts, *, epsilon: float, **public: Any) -> Lengths:
        return noisy_lengths(sizes, epsilon=4 * epsilon, **public)

    baskets = bk.Baskets([["a"]] * 5000, items=["a", "b"])
    bk.curator.mine(baskets, epsilon=1.0, min_support=0.5)
    monkeypatch.setattr(miner, "noisy_lengths", greedy)
    with pytest.raises(bk.BudgetExceeded):
        bk.curator.mine(baskets, epsilon=1.0, min_support=0.5)


def test_ctrl_c_is_answered_while_noise_is_drawn() -> None:
    """Ten million draws take a minute; the signal comes after half a second."""
    program = """
import signal, threading, time
import numpy as np
from bosket.curator.noise import noisy
noisy([1], epsilon=1.0, sensitivity=1)
threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
start = time.monotonic()
try:
    noisy(np.zeros(10_000_000, np.int64), epsilon=1.0, sensitivity=1)
except KeyboardInterrupt:
    print(time.monotonic() - start, flush=True)
"""
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert 0.4 < float(done.stdout) < 5, done.stderr
    assert time.monotonic() - start < 30
