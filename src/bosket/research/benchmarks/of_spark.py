"""Mining and randomizing on a Spark session of this machine: against Spark's FPGrowth, and against one process.

Frames are Parquet files that the session holds in its memory.  All times are of second runs and later: the first one
starts the workers and compiles.

What is compared with one process begins where it does.  The local engine mines ``Baskets``, which are coded; what Spark
has of that kind are the records of ``bosket.spark.baskets``, which the workers hold.  A frame of lists is compared with
lists in the memory of this process, an Arrow column, and with ``Baskets`` besides, which is more than fair to these.
Both sides take turns, and medians are compared, since other work on the machine comes and goes.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bosket.data import Baskets, Domain, quest
from bosket.errors import BosketError, DataError
from bosket.mechanisms import Flip
from bosket.mining import FrequentItemsets, mine
from bosket.plan import Plan
from bosket.research.benchmarks.bars import Bar, medians
from bosket.research.reproduce.datasets import find
from bosket.spark.engine import baskets as spark_baskets
from bosket.spark.jobs import started
from bosket.threads import n_threads

SIZES = {1_000_000: 10.0, 10_000_000: 3.0}
"""Records of Quest, and the most times as long as one process that Spark may take for them."""
MIN_SUPPORT = 0.005
TIMES_RETAIL = 20
_FILES = 4
_RECORDS = 1 << 20  # of a row group


def on_spark(
    data: str | Path | None = None,
    *,
    sizes: dict[int, float] | None = None,
    times_retail: int = TIMES_RETAIL,
    with_fpgrowth: bool = True,
) -> list[Bar]:
    """The bars; results are compared in the same run."""
    if shutil.which("java") is None:
        raise DataError("Spark needs Java, and there is none.", hint="Install a Java of version 17 or later.")
    session = session_here()
    bars: list[Bar] = []
    with tempfile.TemporaryDirectory() as folder:
        fixed = _fixed(session, Path(folder) / "few")
        retail = Baskets.read(find("retail.dat.gz", data)).repeat(times_retail)
        bars += _against_fpgrowth(session, retail, Path(folder) / "retail", with_fpgrowth)
        for n_records, target in (SIZES if sizes is None else sizes).items():
            baskets = quest(records=n_records, mean_size=10, mean_pattern=4, items=1000, seed=7)
            bars += _against_one_process(session, baskets, Path(folder) / str(n_records), target, fixed)
    session.stop()
    return bars


def session_here() -> Any:
    """A session of this machine with all of its cores."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise BosketError("PySpark is not installed.", hint="pip install 'bosket[spark]'") from None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder.master(f"local[{n_threads()}]").appName("bosket bench")
    for name, value in {
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),  # else Spark measures a batch after every row
    }.items():
        builder = builder.config(name, value)
    return started(builder.getOrCreate)


def _frame(session: Any, baskets: Baskets, folder: Path) -> Any:
    """The records as lists of numbers in a few files, read, and held in memory."""
    folder.mkdir()
    share = -(-baskets.n_records // _FILES)
    for number in range(_FILES):
        part = baskets[number * share : (number + 1) * share]
        pq.write_table(pa.table({"items": _lists(part)}), folder / f"{number}.parquet", row_group_size=_RECORDS)
    frame = session.read.parquet(str(folder)).persist()
    frame.count()
    return frame


def _lists(baskets: Baskets) -> Any:
    return pa.ListArray.from_arrays(baskets.indptr.astype("int32"), pa.array(baskets.indices))


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begun


def _second(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call gives, and how long its first and its second run took."""
    _, first = _timed(function)
    result, second = _timed(function)
    return result, second, first


def _in_turn(ways: dict[str, Callable[[], Any]]) -> tuple[dict[str, Any], dict[str, float]]:
    """What each of several ways gives, and the median of its times after the first, all of them in turn."""
    results: dict[str, Any] = {}

    def kept(name: str, function: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            results[name] = function()

        return run

    return results, medians({name: kept(name, function) for name, function in ways.items()})


@dataclass(frozen=True)
class ThreeWays:
    """Three ways to find the itemsets of the same records: how many each finds, and seconds of its second run."""

    n_itemsets: dict[str, int]
    seconds: dict[str, float]
    is_alike: bool


def compared(session: Any, baskets: Baskets, folder: Path, with_fpgrowth: bool, min_support: float) -> ThreeWays:
    """Of a frame in the memory of the session: bosket's search there, one process, and Spark's own FPGrowth."""
    numbered = Baskets.from_csr(baskets.indptr, baskets.indices, Domain(range(baskets.n_items)))
    frame = _frame(session, numbered, folder)
    found, ours, first = _second(lambda: mine(frame, min_support))
    expected, local, _ = _second(lambda: mine(numbered, min_support))
    n_itemsets = {"spark": len(found), "one process": len(expected)}
    took = {"spark": ours, "first run": first, "one process": local}
    if with_fpgrowth:
        n_itemsets["FPGrowth"], took["FPGrowth"], _ = _second(lambda: _fpgrowth(frame, min_support))
    frame.unpersist()
    return ThreeWays(n_itemsets, took, _alike(found, expected))


def _against_fpgrowth(session: Any, baskets: Baskets, folder: Path, with_fpgrowth: bool) -> list[Bar]:
    found = compared(session, baskets, folder, with_fpgrowth, MIN_SUPPORT)
    name = f"retail x {baskets.n_records // 88162} at {100 * MIN_SUPPORT:g}%"
    bars = [Bar(f"Spark, {name}, results alike", float(found.is_alike), 1.0, True)]
    if with_fpgrowth:
        ratio = found.seconds["spark"] / found.seconds["FPGrowth"]
        is_as_many = found.n_itemsets["FPGrowth"] == found.n_itemsets["spark"]
        bars.append(Bar(f"Spark, {name}, of FPGrowth's time", ratio, 0.1, False, {"seconds": found.seconds}))
        bars.append(Bar(f"Spark, {name}, as many itemsets as FPGrowth", float(is_as_many), 1.0, True))
    return bars


def _fpgrowth(frame: Any, min_support: float) -> int:
    """How many itemsets Spark's own search finds."""
    from pyspark.ml.fpm import FPGrowth

    model = FPGrowth(itemsCol="items", minSupport=min_support, minConfidence=1.0).fit(frame)
    n: int = model.freqItemsets.count()
    return n


def _fixed(session: Any, folder: Path) -> float:
    """Seconds that mining takes whatever the records are: two hundred of them."""
    few = Baskets([[1, 2, 3], [2, 3]] * 100)
    frame = _frame(session, few, folder)
    _, seconds, _ = _second(lambda: mine(frame, MIN_SUPPORT))
    frame.unpersist()
    return seconds


def _against_one_process(session: Any, baskets: Baskets, folder: Path, target: float, fixed: float) -> list[Bar]:
    name = f"{baskets.n_records:,} Quest records"
    frame = _frame(session, baskets, folder)
    table = pa.table({"items": _lists(baskets)})
    ways: dict[str, Callable[[], Any]] = {
        "one process": lambda: mine(baskets, MIN_SUPPORT),
        "one process, lists": lambda: mine(Baskets.from_frame(table), MIN_SUPPORT),
        "spark, frame": lambda: mine(frame, MIN_SUPPORT),
    }
    results, took = _in_turn(ways)
    with spark_baskets(frame) as records:
        held, of_held = _in_turn({"spark, held": lambda: mine(records, MIN_SUPPORT), "again": ways["one process"]})
    told: dict[str, Any] = {"seconds": took | of_held | {"of them fixed": fixed}, "itemsets": len(held["spark, held"])}
    at = f"Spark, {name} at {100 * MIN_SUPPORT:g}%"
    pairs = {
        "held by workers, of one process's time": of_held["spark, held"] / of_held["again"],
        "a frame of lists, of one process's time from lists": took["spark, frame"] / took["one process, lists"],
        "a frame of lists, of one process's time from baskets": took["spark, frame"] / took["one process"],
    }
    bars = [Bar(f"{at}, {what}", ratio, target, False, told) for what, ratio in pairs.items()]
    alike = _alike(results["spark, frame"], results["one process"]) and _alike(held["spark, held"], held["again"])
    bars.append(Bar(f"Spark, {name}, results alike", float(alike), 1.0, True))
    plan = Plan(Domain(baskets.domain.labels), Flip(keep=0.9))
    turn = iter(range(9))
    _, there, _ = _second(lambda: plan.randomize(frame, folder=str(folder / f"reports{next(turn)}")))
    _, here, _ = _second(lambda: plan.randomize(baskets).write(folder / f"reports{next(turn)}.parquet"))
    seconds = {"spark": there, "one process": here}
    bars.append(
        Bar(f"Spark, randomize and write {name}, of one process's time", there / here, 3.0, False, {"seconds": seconds})
    )
    frame.unpersist()
    return bars


def _alike(found: FrequentItemsets, expected: FrequentItemsets) -> bool:
    """Whether two results have the same itemsets with the same supports, in the same order."""
    return found.to_frame().equals(expected.to_frame())
