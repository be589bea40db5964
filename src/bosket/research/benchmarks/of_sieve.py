"""The sieve against exact mining of the same file: counting, fitting and noise, and a million records in seconds and
memory.
"""

from __future__ import annotations

import json
import pstats
import statistics
import subprocess
import sys
import time
from cProfile import Profile
from functools import partial
from pathlib import Path
from typing import Any

from bosket.curator import mine
from bosket.data import Baskets
from bosket.mining import mine as exact
from bosket.research.benchmarks.bars import Bar
from bosket.research.benchmarks.bars import seconds as seconds_of
from bosket.research.reproduce.datasets import find

CASES = {
    "bms_webview1": 0.004,
    "bms_webview2": 0.004,
    "retail": 0.005,
    "kosarak_prefix70k": 0.006,
    "T10I4D100K": 0.005,
}
EPSILON, DELTAS = 1.0, (0.0, 1e-6)
REPEATS = 3
LONGEST = 20.0
"""Seconds that a release of these files may take."""
MILLION = {"records": 1_000_000, "items": 1000, "mean_size": 10, "mean_pattern": 4, "min_support": 0.005}
MOST_SECONDS, MOST_GIB = 60.0, 2.0
PARTS = {
    "counting": {("contributions.py", "__init__"), ("contributions.py", "held_by"), ("contributions.py", "sums")},
    "fitting": {("beliefs.py", "update"), ("search.py", "candidates"), ("histograms.py", "smoothed")},
    "noise": {("noise.py", "noisy")},
}
"""Functions whose time is that of a part, each with all that it calls."""


def sieving(data: str | Path | None = None) -> list[Bar]:
    """Every file, pure and with a delta; then one million records, in a process of its own."""
    bars: list[Bar] = []
    for name, limit in CASES.items():
        baskets = Baskets.read(find(f"{name}.dat.gz", data))
        yardstick = seconds_of(partial(exact, baskets, min_support=limit))
        bars += [_bar(name, baskets, limit, delta, yardstick) for delta in DELTAS]
    return [*bars, *_million()]


def _bar(name: str, baskets: Baskets, limit: float, delta: float, yardstick: float) -> Bar:
    runs = [profiled(baskets, limit, delta) for _ in range(REPEATS + 1)][1:]  # the first compiles
    medians = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
    detail: dict[str, Any] = {
        "seconds": {part: round(value, 4) for part, value in medians.items()},
        "exact mining": round(yardstick, 4),
        "of exact mining": {part: round(value / yardstick, 2) for part, value in medians.items()},
        "share of noise": round(medians["noise"] / medians["all"], 4),
    }
    kind = f"delta {delta:g}" if delta else "pure"
    title = f"sieving {name} at {100 * limit:g}%, {kind}: seconds of the slowest run"
    return Bar(title, max(run["all"] for run in runs), LONGEST, False, detail)


def profiled(baskets: Baskets, limit: float, delta: float) -> dict[str, float]:
    """Seconds of one release, and of its parts."""
    profile = Profile()
    started = time.perf_counter()
    profile.enable()
    mine(baskets, EPSILON, limit, delta=delta, method="sieve", vocabulary=baskets.domain)
    profile.disable()
    result = {"all": time.perf_counter() - started}
    known: dict[tuple[str, int, str], tuple[Any, ...]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    for part, functions in PARTS.items():
        result[part] = sum(
            float(took[3]) for (path, _, function), took in known.items() if (Path(path).name, function) in functions
        )
    return result


_PROGRAM = """
import json, re, sys, time
import bosket as bk
from bosket.curator import mine
of = json.loads(sys.argv[1])
limit, delta = of.pop("min_support"), of.pop("delta")
baskets = bk.quest(**of, seed=1)
mine(bk.Baskets([[0, 1]] * 9, items=range(3)), 1e3, 0.5, method="sieve", delta=delta)  # compiles
started = time.perf_counter()
release = mine(baskets, 1.0, limit, method="sieve", delta=delta, vocabulary=baskets.domain)
took = time.perf_counter() - started
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps({"seconds": took, "gib": peak / 2**30, "itemsets": len(release.names)}))
"""


def large_release(*, delta: float, **of: Any) -> dict[str, float]:
    """Seconds and peak memory of a release of generated records, in a process of its own: the records included."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(of | {"delta": delta})], capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _million() -> list[Bar]:
    bars = []
    for delta in DELTAS:
        found = large_release(delta=delta, **MILLION)
        title = f"sieving a million records of T10I4 kind at 0.5%, {f'delta {delta:g}' if delta else 'pure'}"
        bars.append(Bar(f"{title}: seconds", found["seconds"], MOST_SECONDS, False, dict(found)))
        bars.append(Bar(f"{title}: peak memory in GiB", found["gib"], MOST_GIB, False))
    return bars
