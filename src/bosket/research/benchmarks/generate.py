"""The Quest generator's pace."""

from __future__ import annotations

from bosket.data import quest
from bosket.research.benchmarks.bars import Bar, seconds


def generating() -> list[Bar]:
    """T10.I4 records, in units of 500 000 a second."""
    n = 1_000_000
    took = seconds(lambda: quest(records=n, mean_size=10, mean_pattern=4, items=1000, seed=1))
    detail = {"records_per_second": n / took}
    return [Bar("Quest T10.I4 records a second, over 500 000", n / took / 500_000, 1, True, detail)]
