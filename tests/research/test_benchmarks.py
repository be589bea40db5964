"""The benchmark harness: bars say what they mean; no test here looks at a clock to pass or fail."""

from __future__ import annotations

import pytest

from bosket.research.benchmarks import BENCHMARKS, Bar
from bosket.research.benchmarks.bars import medians


def test_bars_hold_on_the_right_side() -> None:
    assert Bar("fast", 2.0, 1.5, at_least=True).holds
    assert not Bar("fast", 1.0, 1.5, at_least=True).holds
    assert Bar("small", 0.4, 0.5, at_least=False).holds
    assert not Bar("small", 0.6, 0.5, at_least=False).holds
    assert Bar("small", 0.61234, 0.5, at_least=False, detail={"n": 3}).to_json() == {
        "name": "small",
        "ratio": 0.6123,
        "bar": "<= 0.5",
        "holds": False,
        "n": 3,
    }


@pytest.mark.slow
def test_calls_are_taken_in_turns_after_a_warm_up() -> None:
    calls: list[str] = []
    took = medians({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3)
    assert calls == ["a", "b"] * 4
    assert set(took) == {"a", "b"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["generate", "count"])
def test_benchmarks_run(name: str) -> None:
    assert all(bar.ratio > 0 for bar in BENCHMARKS[name](None))
