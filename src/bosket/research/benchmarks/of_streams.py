"""Reports that keep coming: one percent appended to ten million, and mined again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from bosket.collection import Collection
from bosket.data import quest
from bosket.mechanisms import Flip
from bosket.mining import FrequentItemsets, mine
from bosket.plan import Plan
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.benchmarks.bars import REPEATS, Bar

N = 10_000_000
ITEMS = 200
LIMITS = (0.01, 0.005)
TARGET = 0.05


def streams(n_records: int = N, *, limits: Sequence[float] = LIMITS, repeats: int = REPEATS) -> list[Bar]:
    """Appending 1% and mining again, over mining all from scratch; the results must be the same."""
    baskets = quest(records=n_records // 10, mean_size=10, mean_pattern=4, items=ITEMS, seed=7)
    plan = Plan(baskets.domain, Flip(keep=0.9))
    old = Reports.concat([plan.randomize(baskets, rng=Seeded(turn)) for turn in range(10)])
    batches = [plan.randomize(baskets[turn::10], rng=Seeded(100 + turn)) for turn in range(repeats + 1)]
    return [bar for limit in limits for bar in _mined(old, batches, limit)]


def _mined(old: Reports, batches: Sequence[Reports], min_support: float) -> list[Bar]:
    """The bars of one limit; the first batch compiles, and a new collection takes each of the others."""
    turns, alike, n_itemsets = [], [], 0
    for new in batches:
        collection = Collection(old.plan)
        collection.append(old)
        collection.mine(min_support)
        everything = Reports.concat([old, new])
        started = time.perf_counter()
        expected = mine(everything, min_support)
        scratch = time.perf_counter() - started
        del everything
        started = time.perf_counter()
        collection.append(new)
        found = collection.mine(min_support)
        turns.append((scratch, time.perf_counter() - started))
        alike.append(_alike(found, expected))
        n_itemsets = len(found)
    name = f"append 1% to {len(old):,} reports of {ITEMS} items and mine again at {min_support:g}"
    ratio = statistics.median(again / scratch for scratch, again in turns[1:])
    seconds = {"scratch": statistics.median(turn[0] for turn in turns[1:])}
    seconds["again"] = statistics.median(turn[1] for turn in turns[1:])
    return [
        Bar(f"{name}, over mining all", ratio, TARGET, False, {"seconds": seconds, "itemsets": n_itemsets}),
        Bar(f"{name}, results alike", float(all(alike)), 1.0, True),
    ]


def _alike(found: FrequentItemsets, expected: FrequentItemsets) -> bool:
    """Whether two results are the same, number by number."""
    return found.to_frame().equals(expected.to_frame()) and found.about == expected.about
