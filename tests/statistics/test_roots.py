"""Zeros and least points: against SciPy's, by the number of steps too."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bosket.statistics.roots import least_point, root

CURVES: list[tuple[Callable[[float], float], float, float]] = [
    (lambda x: x**3 - 2, 0.0, 5.0),
    (lambda x: math.exp(x) - 1e5, 0.0, 50.0),
    (lambda x: math.tanh(30 * (x - 0.3)), -1.0, 4.0),
    (lambda x: x**9 - 1e-9, -1.0, 2.0),
    (lambda x: math.log(x) + 4, 1e-9, 1.0),
    (lambda x: -1.0 if x < 0.37 else 1.0, 0.0, 1.0),
    (lambda x: math.inf if x > 0.5 else x - 0.25, 0.0, 1.0),
]


@pytest.mark.parametrize("at", range(len(CURVES)))
def test_zeros_are_those_of_scipy_in_as_many_steps(at: int) -> None:
    f, low, high = CURVES[at]
    seen: list[float] = []

    def noted(x: float) -> float:
        seen.append(x)
        return f(x)

    found = root(noted, low, high, xtol=1e-14, rtol=1e-15)
    ours, expected = len(seen), float(brentq(noted, low, high, xtol=1e-14))
    assert found == pytest.approx(expected, abs=1e-13, rel=1e-13)
    assert ours <= len(seen) - ours + 3


@given(zero=st.floats(-50, 50), power=st.sampled_from([1, 3, 5]), width=st.floats(0.1, 100))
@settings(max_examples=60)
def test_the_zero_lies_within_what_is_asked(zero: float, power: int, width: float) -> None:
    found = root(lambda x: (x - zero) ** power, zero - width, zero + 2 * width, xtol=1e-9)
    assert abs(found - zero) <= 1e-9 or power > 1  # where powers underflow, many numbers are zeros
    assert abs((found - zero) ** power) <= 1e-9


def test_ends_and_signs() -> None:
    assert root(lambda x: x, 0.0, 1.0) == 0.0
    assert root(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="sign"):
        root(lambda x: x + 1, 0.0, 1.0)


@pytest.mark.parametrize("least", [-2.9, 0.0, 1.7])
def test_the_least_point(least: float) -> None:
    assert least_point(lambda x: math.cosh(x - least), -3.0, 2.0, xtol=1e-9) == pytest.approx(least, abs=1e-6)
    assert least_point(lambda x: x, -3.0, 2.0, xtol=1e-9) == pytest.approx(-3.0, abs=1e-8)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="sign"):
        root(lambda x: math.nan if x < 0.5 else 1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="a number everywhere"):
        root(lambda x: math.nan if 0 < x < 1 else x - 0.3, 0.0, 1.0)
    with pytest.raises(ValueError, match="too small"):
        root(lambda x: math.log(x) + 600, 1e-300, 1.0, xtol=1e-320)


def test_the_golden_section_ends_whatever_the_tolerance() -> None:
    assert least_point(lambda x: (x - 1.5e9) ** 2, 0.0, 3e9, xtol=1e-12) == pytest.approx(1.5e9, rel=1e-6)
