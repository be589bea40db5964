"""Work that takes too long is noticed, by how much it is; waiting and compiling are not work."""

from __future__ import annotations

import time
from typing import Any

import pytest
from numba import njit

from tests import effort
from tests.effort import _work, effort_within


def work(times: int) -> None:
    for _ in range(times):
        _work()


@pytest.mark.slow
def test_work_is_noticed_and_waiting_is_not() -> None:
    with effort_within(1.0):
        work(3)
        time.sleep(0.3)
    with pytest.raises(AssertionError, match="may take"), effort_within(0.1):
        work(20)


def test_a_slow_machine_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One on which the fixed piece of work takes fifty times as long, as it seems."""
    with pytest.raises(AssertionError), effort_within(0.02):
        work(5)
    monkeypatch.setattr(effort, "USUAL", effort.USUAL / 50)
    with effort_within(0.02):
        work(5)


def test_compiling_is_not_counted() -> None:
    def double(x: int) -> int:
        return 2 * x

    twice: Any = njit(double)
    with effort_within(0.15):
        assert twice(21) == 42
    assert effort.compiling.seconds > 0
