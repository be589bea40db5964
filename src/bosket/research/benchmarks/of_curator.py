"""Private mining against exact counting of the same candidates, plus the noise itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.table import ItemsetIndex
from bosket.curator import Settings
from bosket.curator.declared import Declared
from bosket.curator.limit import ShareOfRecords
from bosket.curator.miner import Measured, find_largest, look_first, mine_levels
from bosket.curator.noise import Composition, noisy
from bosket.curator.paid import EpsilonParts
from bosket.data import Baskets
from bosket.mining.candidates import next_candidates
from bosket.research.benchmarks.bars import Bar
from bosket.research.reproduce.datasets import find

CASES = {"bms_webview1": 0.004, "bms_webview2": 0.004, "retail": 0.005, "kosarak_prefix70k": 0.006}
EPSILON = 1.0
REPEATS = 7
TWICE = 2.0

T = TypeVar("T")
Times = dict[str, float]


def curating(data: str | Path | None = None) -> list[Bar]:
    """Every file: all of the private miner; then, for the candidates that it had, exact counts by bitmaps, and as many
    draws of noise of the same scales.

    Noise takes no seed, so every run has candidates of its own and is compared with its own.
    """
    bars, all_of_it = [], []
    for name, limit in CASES.items():
        baskets = Baskets.read(find(f"{name}.dat.gz", data))
        runs = [_run(baskets, limit) for _ in range(REPEATS + 1)][1:]  # the first compiles
        ratio = statistics.median(run["private"] / (run["exact"] + run["noise"]) for run in runs)
        medians = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
        detail = {"seconds": medians, "without noise": (medians["private"] - medians["noise"]) / medians["exact"]}
        title = f"curating {name} at {100 * limit:g}%, of exact counting of its candidates plus noise"
        bars.append(Bar(title, ratio, TWICE, False, detail))
        all_of_it.append(medians)
    total = {part: sum(run[part] for run in all_of_it) for part in all_of_it[0]}
    ratio = (total["private"] - total["noise"]) / total["exact"]
    title = "curating all of these but for the noise, of exact counting of the candidates"
    return [*bars, Bar(title, ratio, TWICE, False, {"seconds": total})]


def _run(baskets: Baskets, limit: float) -> Times:
    declared = Declared(baskets, ShareOfRecords(limit), EPSILON, Settings())

    def private() -> Measured:
        parts = EpsilonParts.of(declared)
        granted = Composition(parts.first)
        prepared = find_largest(declared, look_first(declared, parts, granted), parts, granted)
        return mine_levels(declared, prepared, Composition(parts.counts))

    took, measured = _timed(private)
    parts = {"private": took}
    parts["exact"], candidates = _timed(lambda: _exact(declared, measured))
    scales = [(level.epsilon, level.sensitivity) for level in measured.levels]

    def noise() -> None:
        for rows, (epsilon, sensitivity) in zip(candidates, scales, strict=False):
            noisy(np.zeros(len(rows), np.int64), epsilon=epsilon, sensitivity=sensitivity)

    parts["noise"], _ = _timed(noise)
    return parts


def _exact(declared: Declared, measured: Measured) -> list[ItemsetRows]:
    """The candidates of each size, from the itemsets that the private miner extended, counted in whole records."""
    baskets, settings = declared.baskets, declared.settings
    bitmaps = Bitmaps.from_rows(baskets.to_bits(), baskets.n_items)
    result: list[ItemsetRows] = [np.arange(baskets.n_items, dtype=np.int32)[:, None]]
    bitmaps.supports(result[0])
    for level in measured.levels[: measured.prepared.largest - 1]:
        order = np.lexsort(level.items.T[::-1])
        index = ItemsetIndex(np.ascontiguousarray(level.items[order]))
        rows = next_candidates(index, max_candidates=settings.max_candidates) if len(order) else level.items
        if not len(rows):
            break
        bitmaps.supports(rows)
        result.append(rows)
    return result


def _timed(function: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result
