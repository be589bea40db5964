"""The harness of the fuzz targets notices what it is there to notice."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import strategies as st

from bosket.errors import DataError
from tests.fuzz.budget import fuzz, only_refused
from tests.memory import memory_within


def test_errors_of_ours_are_refusals_and_others_come_out() -> None:
    def refuse() -> None:
        raise DataError("No.")

    def break_down() -> None:
        raise KeyError("key")

    def speak_long() -> None:
        raise DataError("x" * 3000)

    assert only_refused(lambda: 3) == 3
    assert only_refused(refuse) is None
    with pytest.raises(KeyError):
        only_refused(break_down)
    with pytest.raises(AssertionError):
        only_refused(speak_long)
    with pytest.raises(KeyError):
        fuzz(lambda _: only_refused(break_down), st.integers(), examples=5)


def test_memory_is_noticed() -> None:
    with memory_within(64 << 20):
        np.ones(1 << 20)
    with pytest.raises(AssertionError), memory_within(64 << 20):
        np.ones(16 << 20)
    with pytest.raises(MemoryError), memory_within(64 << 20):
        np.zeros(1 << 40, np.uint8)  # not even touched


@pytest.mark.slow
def test_time_is_noticed() -> None:
    def dawdle(_: int) -> None:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass

    with pytest.raises(AssertionError):
        fuzz(dawdle, st.integers(), examples=2, seconds=0.001)
