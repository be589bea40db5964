"""The rows of the page of growth that compare with Spark's own FPGrowth, on the same frame of the same session."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bosket.data import Baskets, quest
from bosket.errors import DataError
from bosket.research.benchmarks.of_spark import MIN_SUPPORT, compared, session_here
from bosket.research.reproduce.datasets import find
from bosket.threads import n_threads

HEAD = ["raw records", "number", "limit", "cores", "itemsets", "bk.mine of the frame, s", "FPGrowth, s", "ratio"]
HEAD += ["one process, s", "measured"]


@dataclass(frozen=True)
class SparkPoint:
    """One comparison: what was mined, and seconds of the second runs."""

    data: str
    n_records: int
    min_support: float
    cores: int
    n_itemsets: int
    seconds: dict[str, float]
    measured: str = ""

    @property
    def key(self) -> tuple[str, int, float, int]:
        return self.data, self.n_records, self.min_support, self.cores

    @property
    def row(self) -> list[str]:
        ours, theirs, local = (self.seconds[name] for name in ("spark", "FPGrowth", "one process"))
        limit, many = f"{self.min_support:.2%}", f"{self.n_itemsets:,}"
        times = [f"{ours:.2f}", f"{theirs:.1f}", f"{ours / theirs:.3f}", f"{local:.2f}"]
        return [self.data, f"{self.n_records:,}", limit, str(self.cores), many, *times, self.measured]


def measured_on_spark(data: str | Path | None, times: int, min_support: float = MIN_SUPPORT) -> SparkPoint:
    """Retail, so many times; short simulated baskets where its file is not there.

    Both must find as many itemsets.
    """
    try:
        path = find("retail.dat.gz", data)
    except DataError:
        name = "simulated, 3 of 50 items"
        baskets = quest(records=10_000 * times, mean_size=3, mean_pattern=2, items=50, seed=7)
    else:
        name, baskets = f"retail x {times}", Baskets.read(path).repeat(times)
    session = session_here()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = compared(session, baskets, Path(folder) / "records", True, min_support)
    finally:
        session.stop()
    numbers = set(found.n_itemsets.values())
    if len(numbers) > 1 or not found.is_alike:
        raise DataError("Spark's FPGrowth and bosket did not find the same itemsets.")
    return SparkPoint(name, baskets.n_records, min_support, n_threads(), numbers.pop(), found.seconds)


def told_of_spark(table: str, points: Sequence[SparkPoint]) -> str:
    """What the page says of FPGrowth, with the table of these points; without any, where figures are."""
    if not points:
        return (
            "On raw records, the benchmark of Spark (`bosket bench`) compares it with `bk.mine` of the same frame\n"
            "([scale](scale.md) has the figures, and says why none is of sparse Quest records: it hardly ends on them)."
        )
    return (
        "On raw records, in a frame that one session holds in its memory, second runs of both ([scale](scale.md) says\n"
        f"why no row is of sparse Quest records: it hardly ends on them):\n\n{table}"
    )
