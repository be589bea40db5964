"""Adjusted p-values against SciPy, against the definitions, and with tests that were not kept."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bosket as bk
from bosket.statistics.multiple import METHODS, adjust, harmonic

p_lists = st.lists(st.sampled_from([0.0, 1e-12, 0.01, 0.02, 0.5, 1.0]) | st.floats(0, 1), max_size=12)


@pytest.mark.parametrize("method", ["bh", "by"])
@given(p=p_lists)
def test_as_scipy_does(method: Literal["bh", "by"], p: list[float]) -> None:
    if p:
        assert adjust(p, method) == pytest.approx(stats.false_discovery_control(p, method=method), rel=1e-12)


@given(p=p_lists)
def test_bonferroni_and_holm_by_their_definitions(p: list[float]) -> None:
    m = len(p)
    assert adjust(p, "bonferroni").tolist() == [min(1.0, m * value) for value in p]
    order = sorted(range(m), key=lambda place: p[place])
    largest = 0.0
    holm = [0.0] * m
    for rank, place in enumerate(order):
        largest = max(largest, (m - rank) * p[place])
        holm[place] = min(1.0, largest)
    assert adjust(p, "holm").tolist() == holm


@pytest.mark.parametrize("method", METHODS)
@given(p=p_lists, others=st.integers(0, 40))
def test_what_is_left_out_counts_as_one(method: str, p: list[float], others: int) -> None:
    """The family padded with ones gives the same; and nothing becomes smaller, nor changes its order."""
    m = len(p) + others
    found = adjust(p, method, tests=m)
    assert found == pytest.approx(adjust([*p, *[1.0] * others], method)[: len(p)], rel=1e-12)
    assert (found >= p).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= 0).all()


def test_harmonic_numbers() -> None:
    assert [harmonic(m) for m in (1, 2, 3)] == pytest.approx([1, 1.5, 11 / 6])
    assert harmonic(1_000_001) == pytest.approx(harmonic(1_000_000) + 1 / 1_000_001, rel=1e-13)
    assert harmonic(10**9) == pytest.approx(math.log(10**9) + 0.5772156649, rel=1e-10)


def test_nonsense_is_refused() -> None:
    for p in ([0.5, -0.1], [1.1], [math.nan], [[0.1]]):
        with pytest.raises(bk.ParameterError):
            adjust(p)
    with pytest.raises(bk.ParameterError, match="bonferroni"):
        adjust([0.1], "sidak")
    with pytest.raises(bk.ParameterError):
        adjust([0.1, 0.2], tests=1)
