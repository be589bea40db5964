"""Noise and its composition: OpenDP admits what was paid for, and nothing beyond."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.curator import miner, noise
from bosket.curator.lengths import Lengths, noisy_lengths
from bosket.curator.noise import Composition, noisy
from bosket.research.rivals.base import noisy_top
from tests.effort import slowness

pytest.importorskip("opendp")
pytestmark = pytest.mark.own_chance


def test_what_is_drawn_inside_adds_up() -> None:
    granted = Composition(1.0)
    for _ in range(10):
        granted.noisy([1, 2], epsilon=0.1, sensitivity=3)
    with pytest.raises(bk.BudgetExceeded) as caught:
        granted.noisy([1, 2], epsilon=1e-3, sensitivity=3)
    assert caught.value.asked[0] == pytest.approx(1e-3)
    assert caught.value.remaining[0] == pytest.approx(0.0, abs=1e-9)
    assert "1, 2" not in str(caught.value)


@pytest.mark.slow
def test_a_part_costs_what_it_says_whatever_its_sensitivity() -> None:
    for sensitivity in (1, 2, 7, 1000):
        granted = Composition(0.5)
        granted.noisy([5], epsilon=0.5, sensitivity=sensitivity)
        with pytest.raises(bk.BudgetExceeded):
            granted.noisy([5], epsilon=1e-6, sensitivity=1)


def test_each_composition_has_its_own() -> None:
    small, large = Composition(0.5), Composition(2.0)
    large.noisy([5], epsilon=1.5, sensitivity=1)
    small.noisy([5], epsilon=0.5, sensitivity=1)
    assert (small.epsilon, large.epsilon) == (0.5, 2.0)
    assert large.left == pytest.approx(0.5)
    with pytest.raises(bk.BudgetExceeded):
        small.noisy([5], epsilon=0.1, sensitivity=1)


def test_no_counts_cost_nothing_and_no_epsilon_is_refused() -> None:
    granted = Composition(1.0)
    assert granted.noisy([], epsilon=0.7, sensitivity=1).tolist() == []
    assert granted.left == 1.0
    for epsilon in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(bk.ParameterError):
            Composition(epsilon)


def test_nothing_is_measured_after_a_refusal() -> None:
    """OpenDP's filter counts what was asked, answered or not: a program that asks for too much gets nothing more."""
    granted = Composition(1.0)
    with pytest.raises(bk.BudgetExceeded):
        granted.noisy([5], epsilon=1.5, sensitivity=1)
    with pytest.raises(bk.BudgetExceeded):
        granted.noisy([5], epsilon=1.0, sensitivity=1)


def test_it_is_the_same_law() -> None:
    """Composed or not: with hardly any noise both give the counts."""
    counts = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(Composition(1e4).noisy(counts, epsilon=1e4, sensitivity=1), counts)
    np.testing.assert_array_equal(noisy(counts, epsilon=1e4, sensitivity=1), counts)


def test_a_stage_that_takes_more_than_its_share_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger trusts what it is told; OpenDP adds up what is drawn."""

    def greedy(sizes: Any, *, epsilon: float, **public: Any) -> Lengths:
        return noisy_lengths(sizes, epsilon=4 * epsilon, **public)

    baskets = bk.Baskets([["a"]] * 5000, items=["a", "b"])
    bk.curator.mine(baskets, epsilon=1.0, min_support=0.5, method="truncation")
    monkeypatch.setattr(miner, "noisy_lengths", greedy)
    with pytest.raises(bk.BudgetExceeded):
        bk.curator.mine(baskets, epsilon=1.0, min_support=0.5, method="truncation")


@pytest.mark.slow
def test_ctrl_c_is_answered_while_noise_is_drawn() -> None:
    """Ten million draws take a minute of the processor; the signal comes after half a second of the clock."""
    program = """
import signal, threading, time
import numpy as np
from bosket.curator.noise import noisy
noisy([1], epsilon=1.0, sensitivity=1)
start, used = time.monotonic(), time.process_time()
threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
try:
    noisy(np.zeros(10_000_000, np.int64), epsilon=1.0, sensitivity=1)
except KeyboardInterrupt:
    print(time.monotonic() - start, time.process_time() - used, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    took, used = map(float, done.stdout.split())
    assert took > 0.4, "the signal came while noise was drawn"
    assert used < 5 * slowness(), done.stderr


@pytest.fixture
def features() -> Iterator[set[str]]:
    """The features of OpenDP, as a program has them that never heard of bosket; restored for other tests."""
    from opendp.mod import GLOBAL_FEATURES

    before = set(GLOBAL_FEATURES)
    for made in (noise._counts, noise._records, noise._measurement):
        made.cache_clear()
    GLOBAL_FEATURES.clear()
    yield GLOBAL_FEATURES
    GLOBAL_FEATURES.clear()
    GLOBAL_FEATURES.update(before)


@pytest.mark.parametrize("own", [set(), {"contrib"}, {"honest-but-curious", "idealized-numerics"}])
def test_features_of_the_process_stay_what_they_were(features: set[str], own: set[str]) -> None:
    """Whoever did not allow what is not vetted, or their own word for a sensitivity, has not allowed it afterwards."""
    features.update(own)
    baskets = bk.Baskets([["milk", "bread"]] * 4000 + [["beer"]] * 1000, items=["beer", "bread", "milk"])
    bk.curator.mine(baskets, epsilon=2.0, min_support=0.2, method="truncation")
    assert features == own
    noisy_top([5, 1, 9], 2, epsilon=0.7, is_monotone=True)
    assert features == own
    with pytest.raises(bk.BudgetExceeded):
        Composition(1.0).noisy([1], epsilon=2.0, sensitivity=1)
    assert features == own


def test_features_are_off_again_after_an_error(features: set[str]) -> None:
    with noise.allowed("contrib"):
        assert features == {"contrib"}
    with pytest.raises(ZeroDivisionError), noise.allowed("contrib"):
        _ = 1 / 0
    assert features == set()


@pytest.mark.slow
def test_threads_do_not_take_features_from_each_other(features: set[str]) -> None:
    """Each makes measurements of its own while others switch the features off."""

    def draw(at: int) -> int:
        return int(noisy([at], epsilon=1000.0 + at, sensitivity=1)[0])

    patience = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(draw, range(200))) == list(range(200))
    finally:
        sys.setswitchinterval(patience)
    assert features == set()


@pytest.mark.slow
def test_importing_and_asking_switches_nothing_on() -> None:
    program = (
        "import bosket, bosket.curator\n"
        "from bosket.curator.noise import opendp\n"
        "opendp()\n"
        "from opendp.mod import GLOBAL_FEATURES\n"
        "assert not GLOBAL_FEATURES, GLOBAL_FEATURES\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


FINALIZED = """
import gc
import opendp._lib, opendp.mod
import bosket as bk
from bosket.curator.noise import Composition

collecting, ended = [False], []
gc.callbacks.append(lambda phase, told: collecting.__setitem__(0, phase == "start"))
for kind in {kind for place in (opendp.mod, opendp._lib) for kind in vars(place).values() if isinstance(kind, type)}:
    if "__del__" in vars(kind):
        def noted(self, own=kind.__del__, name=kind.__name__):
            ended.append((name, collecting[0]))
            own(self)
        kind.__del__ = noted
baskets = bk.Baskets([[0, 1], [1]] * 3000, items=range(5))  # six hundred are refused in every other run: too few
bk.curator.mine(baskets, 1.0, 0.1)
bk.curator.mine(baskets, 1.0, 0.1, method="sieve", delta=1e-6)
try:
    Composition(1.0).noisy([3, 4], epsilon=2.0, sensitivity=1)
except bk.BudgetExceeded:
    pass
gc.collect()
assert "Transformation" in {name for name, _ in ended}, "nothing was looked at"
assert not [name for name, by_collector in ended if by_collector]
"""


@pytest.mark.slow
def test_what_opendp_made_ends_with_its_last_reference() -> None:
    """Not within the garbage collector, where Python drops a Ctrl-C that arrives while Python's own code runs."""
    done = subprocess.run([sys.executable, "-c", FINALIZED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
