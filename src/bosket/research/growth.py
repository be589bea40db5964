"""The page of growth: time and memory of mining reports on disk, against their number, items, limit and threads.

Every point is measured in a process of its own, which mines files that were made before.  ``python -m
bosket.research.growth docs/growth.md`` writes the page; ``--largest`` says up to which number of reports.  Points are
kept beside it as lines of JSON: ``--only 100000000x200`` measures one alone, in place of what was known of it, and
``--only none`` writes the page of what is known.  ``--spark`` measures Spark's own FPGrowth beside bosket too, which
takes minutes, on retail where ``--data`` or ``BOSKET_DATA`` has its file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from bosket.data import quest
from bosket.mechanisms import Flip
from bosket.plan import Plan
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.growth_on_spark import HEAD as SPARK_HEAD
from bosket.research.growth_on_spark import SparkPoint, measured_on_spark, told_of_spark
from bosket.threads import n_threads

ITEMS, MIN_SUPPORT, MEMORY = 200, 0.01, 1 << 30
_FILE = 500_000
_GOAL = 10**10

_PROGRAM = """
import json, re, sys, time
import bosket as bk
folder, memory, min_support = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
warm = bk.quest(records=2000, items=20, mean_size=5, seed=1)
bk.mine(bk.Plan(warm.domain, bk.Flip(keep=0.9)).randomize(warm, rng=bk.Seeded(1)), 0.05)
started, worked = time.perf_counter(), time.process_time()
with bk.open(folder, memory=memory) as reports:
    counter = reports.counter()
    first, first_work = time.perf_counter() - started, time.process_time() - worked
    started, worked = time.perf_counter(), time.process_time()
    found = bk.mine(reports, min_support)
    mined, mined_work = time.perf_counter() - started, time.process_time() - worked
    n_bytes = sum(file.n_bytes for file in counter.files)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
sizes = max((len(itemset) for itemset, _ in found), default=0)
print(json.dumps({"first": first, "first_work": first_work, "mined": mined, "mined_work": mined_work, "peak": peak,
                  "bytes": n_bytes, "itemsets": len(found), "sizes": sizes}))
"""


@dataclass(frozen=True)
class Point:
    """One measurement: what was mined, and what it took."""

    n_records: int
    n_items: int
    min_support: float
    threads: int
    file_bytes: int
    took: dict[str, Any]
    measured: str = ""
    """On which day, and beside what."""

    @property
    def key(self) -> tuple[int, int, float, int]:
        """What was measured; by it points stand in the page."""
        return self.n_items, self.n_records, self.min_support, self.threads

    @property
    def row(self) -> list[str]:
        took = self.took
        return [
            f"{self.n_records:,}",
            f"{self.n_items:,}",
            f"{self.min_support:.2%}",
            str(self.threads),
            f"{self.file_bytes / 1e6:.0f}",
            f"{took['bytes'] / 1e6:.0f}",
            f"{took['first']:.1f} ({took['first_work']:.1f})",
            f"{took['mined']:.1f} ({took['mined_work']:.1f})",
            f"{took['sizes']}",
            f"{took['itemsets']:,}",
            f"{took['peak'] >> 20}",
            self.measured,
        ]


HEAD = ["reports", "items", "limit", "threads", "files, MB", "bitmaps, MB", "first pass, s", "mining, s", "sizes"]
HEAD += ["itemsets", "peak, MiB", "measured"]


def points(largest: int) -> Iterator[Point]:
    """By number of reports, then items, limits and threads, each from one place in the middle."""
    middle = largest // 3
    threads = n_threads()
    for n in (largest // 100, largest // 30, largest // 10, middle, largest):
        with tempfile.TemporaryDirectory() as folder:
            write_reports(Path(folder), n, ITEMS)
            yield measured(Path(folder), n, ITEMS, MIN_SUPPORT, threads)
            if n == middle:
                for limit in (0.05, 0.02, 0.005):
                    yield measured(Path(folder), n, ITEMS, limit, threads)
                yield measured(Path(folder), n, ITEMS, MIN_SUPPORT, 1)
    for n_items in (100, 1000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            write_reports(Path(folder), largest // 30, n_items)
            yield measured(Path(folder), largest // 30, n_items, MIN_SUPPORT, threads)


def write_reports(folder: Path, n_records: int, n_items: int) -> None:
    """Files of simulated reports, made one after the other."""
    baskets = quest(records=min(n_records, _FILE), mean_size=10, mean_pattern=4, items=n_items, seed=7)
    plan = Plan(baskets.domain, Flip(keep=0.9))
    bits = baskets.to_bits()
    for at in range(-(-n_records // _FILE)):
        some = np.array(bits[: min(_FILE, n_records - at * _FILE)])
        batch = plan.channel.randomize(some, Seeded(at))
        Reports(plan, batch, randomness=Seeded(at).describe()).write(folder / f"{at:05d}.parquet")


def measured(folder: Path, n_records: int, n_items: int, min_support: float, threads: int) -> Point:
    """What a process of its own takes."""
    command = [sys.executable, "-c", _PROGRAM, str(folder), str(MEMORY), str(min_support)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "BOSKET_THREADS": str(threads), "PYTHONHASHSEED": "0"},
    )
    n_bytes = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    return Point(n_records, n_items, min_support, threads, n_bytes, json.loads(done.stdout))


def arithmetic(point: Point) -> list[list[str]]:
    """What 10^10 reports would take, from one measured point, by proportion."""
    times, took = _GOAL / point.n_records, point.took
    hour = 3600.0
    return [
        ["files of reports", f"{point.file_bytes * times / 1e9:,.0f} GB"],
        ["bitmaps in the scratch folder", f"{took['bytes'] * times / 1e9:,.0f} GB"],
        ["passes over the files", "1"],
        ["passes over the bitmaps, at most (those of items that are left, once a size)", f"{took['sizes']}"],
        ["first pass: check, transpose, write", f"{took['first_work'] * times / hour:,.1f} core-hours"],
        ["mining", f"{took['mined_work'] * times / hour:,.1f} core-hours"],
        ["first pass by the clock, on a machine as busy", f"{took['first'] * times / hour:,.1f} hours"],
        ["mining by the clock, on a machine as busy", f"{took['mined'] * times / hour:,.1f} hours"],
        ["reading the bitmaps once at 1 GB/s", f"{took['bytes'] * times / 1e9 / hour:,.2f} hours"],
        ["memory of the process", f"{took['peak'] >> 20} MiB, whatever the number of reports"],
    ]


def page(found: Sequence[Point], on_spark: Sequence[SparkPoint] = ()) -> str:
    """The page as text."""
    largest = max((point for point in found if point.n_items == ITEMS), key=lambda point: point.n_records)
    return _PAGE.format(
        machine=f"{platform.machine()}, {n_threads()} threads, Python {platform.python_version()}",
        memory=MEMORY >> 20,
        table=_table(HEAD, [point.row for point in sorted(found, key=lambda point: point.key)]),
        n=f"{largest.n_records:,}",
        spark=told_of_spark(_table(SPARK_HEAD, [point.row for point in on_spark]), on_spark),
        arithmetic=_table(["of 10^10 reports of 200 items, Flip(0.9), at 1%", ""], arithmetic(largest)),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_PAGE = """# Growth: time and memory against the size of a study

This page is made by `python -m bosket.research.growth docs/growth.md` ({machine}).
Every row is a process of its own that mines simulated reports, Flip(0.9), in Parquet files, through `bk.open` with
{memory} MiB of memory.
Seconds are those of the clock, and in brackets those of the processor, which others do not lengthen as much; rows were
measured at several times, beside different work, so that one row's clock is not another's.

{table}

- *Reports.*  Time grows in proportion to their number, memory does not grow beyond what is stated.
- *Items.*  Files and bitmaps have a bit for each item of each report; pairs of the items that are left decide the time.
- *Limit.*  Below the noise of the reports, the number of candidates grows faster than anything else here.
- *Threads.*  `BOSKET_THREADS` or `bk.use_threads` say how many; where others keep the cores busy, more gain little.

Spark's FPGrowth has no estimates, so that reports are not its matter.
{spark}

## Ten thousand million reports

By proportion from {n} reports, which is a sum and no measurement:

{arithmetic}

Processor seconds are as the system counts them.  Other runs of a hundred million reports took 16 to 57 s and 4.6 to
10.8 s by the clock ([scale](scale.md)), which by proportion are 0.4 to 1.6 and 0.1 to 0.3 hours.  Files and bitmaps of
all these rows were in the page cache; those of 10^10 reports would not be.

What breaks first, in this order:

1. *The scratch disk.*  Bitmaps take half as much again as the files, beside them.  A full disk is a clean error.
2. *The clock.*  Hours on one machine, as the sums say, most of them for the first pass, and once bitmaps no longer fit
   in the page cache, the time of the disk for every size.  Segments are independent and their counts add, so more
   machines shorten both in proportion.
3. *Nothing in the arithmetic.*  Counts are 64-bit sums of 32-bit counts of segments; a segment has less than 2^32
   reports; candidates and their counts do not grow with the number of reports, but shrink, since the noise does.
4. *What a person may do twice.*  Files that name respondents are refused here, since tokens of 10^10 people do not fit.
"""


def known_points(file: Path) -> dict[tuple[int, int, float, int], Point]:
    """Points that were measured before."""
    return {point.key: point for point in (Point(**one) for one in _lines(file))}


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--only", help="one point alone, REPORTSxITEMS or REPORTSxITEMSxLIMITxTHREADS, or none")
    parser.add_argument("--load", default="nothing beside", help="what else the machine did, in words")
    parser.add_argument(
        "--spark", action="store_true", help="compare with Spark's FPGrowth, for which PySpark is needed"
    )
    parser.add_argument("--times", type=int, default=20, help="how many times retail is taken for that")
    parser.add_argument("--data", help="the folder of retail.dat.gz")
    options = parser.parse_args(argv)
    kept = options.output.with_suffix(".jsonl")
    known = known_points(kept)
    beside = f"{date.today().isoformat()}, {options.load}"
    for point in points(options.largest) if options.only is None else one_point(options.only):
        dated = replace(point, measured=beside)
        sys.stderr.write(" ".join(dated.row) + "\n")
        known[dated.key] = dated
        kept.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in known.values()), "utf-8")
    of_spark = options.output.with_suffix(".spark.jsonl")
    compared = {point.key: point for point in (SparkPoint(**one) for one in _lines(of_spark))}
    if options.spark:
        row = replace(measured_on_spark(options.data, options.times), measured=beside)
        sys.stderr.write(" ".join(row.row) + "\n")
        compared[row.key] = row
        of_spark.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in compared.values()), "utf-8")
    options.output.write_text(page(list(known.values()), list(compared.values())), "utf-8")


def one_point(asked: str) -> Iterator[Point]:
    """The point of so many reports and items, such as ``100000000x200``, or of a limit and threads too."""
    if asked == "none":
        return
    n_records, n_items, *more = asked.split("x")
    limit, threads = [*more, *(str(MIN_SUPPORT), str(n_threads()))[len(more) :]]
    with tempfile.TemporaryDirectory() as folder:
        write_reports(Path(folder), int(n_records), int(n_items))
        yield measured(Path(folder), int(n_records), int(n_items), float(limit), int(threads))


if __name__ == "__main__":
    main()
