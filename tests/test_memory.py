"""What a piece of work takes is noticed, and what compiling takes in the middle of it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.effort import compiling
from tests.memory import Resident, memory_within, traced

MIB = 1 << 20


def held(size: int) -> Any:
    return np.ones(size, np.uint8)


def compiled(kept: list[Any]) -> None:
    """As a kernel that is compiled: much at once, and some of it stays."""
    compiling.on_start(None)
    held(80 * MIB)
    kept.append(held(20 * MIB))
    compiling.on_end(None)


def test_peaks_of_python() -> None:
    kept: list[Any] = []
    with traced() as memory:
        held(10 * MIB)
        assert 10 * MIB <= memory.peak < 11 * MIB
        compiled(kept)
        assert 10 * MIB <= memory.peak < 11 * MIB
        held(12 * MIB)
        assert 12 * MIB <= memory.peak < 13 * MIB


@pytest.mark.parametrize("between", [lambda kept: None, compiled])
def test_peaks_of_the_process(between: Callable[[list[Any]], None]) -> None:
    kept: list[Any] = []
    if not Resident().peak and not Resident()._base:
        pytest.skip("the system does not tell")
    with memory_within(40 * MIB):
        held(8 * MIB)
        between(kept)
        held(8 * MIB)
    for before, after in ((0, 64), (64, 0)):
        with pytest.raises(AssertionError, match="MiB were taken"):
            _take_too_much(before, after, lambda: between(kept))


def _take_too_much(before: int, after: int, between: Callable[[], None]) -> None:
    with memory_within(40 * MIB):
        held(before * MIB)
        between()
        held(after * MIB)
