"""A measured ratio with the bar it should clear, and how times are taken."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

REPEATS = 3


@dataclass(frozen=True, slots=True)
class Bar:
    """``ratio`` should be at least (``at_least=True``) or at most ``target``."""

    name: str
    ratio: float
    target: float
    at_least: bool
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target

    def to_json(self) -> dict[str, Any]:
        sign = ">=" if self.at_least else "<="
        return {
            "name": self.name,
            "ratio": round(self.ratio, 4),
            "bar": f"{sign} {self.target:g}",
            "holds": self.holds,
            **self.detail,
        }


def seconds(function: Callable[[], object], *, repeats: int = REPEATS, warm: bool = True) -> float:
    """Median wall time of a call, after one that does not count."""
    return medians({"it": function}, repeats=repeats, warm=warm)["it"]


def medians(
    functions: dict[str, Callable[[], object]], *, repeats: int = REPEATS, warm: bool = True
) -> dict[str, float]:
    """Median wall times of several calls, taken in turns so that a busy moment hits all of them."""
    if warm:
        for function in functions.values():
            function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            gc.collect()
            started = time.perf_counter()
            result = function()
            times[name].append(time.perf_counter() - started)
            del result
    return {name: statistics.median(values) for name, values in times.items()}
