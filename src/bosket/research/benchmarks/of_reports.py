"""Randomizing, counting and mining randomized records, against the machine's own limits."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from bosket.counting import Bitmaps, Counts, ItemsetRows
from bosket.data import Baskets, Domain, quest
from bosket.evidence import LinearEvidence
from bosket.mechanisms import CutAndPaste, Flip
from bosket.mining import Search, mine_evidence
from bosket.randomness import Secure, Seeded
from bosket.reports import Reports
from bosket.research.benchmarks.bars import Bar, medians, seconds
from bosket.research.benchmarks.limit_kernels import and_popcount
from bosket.research.reproduce.re import SETTINGS, factors
from bosket.threads import n_threads, parallel_map

N = 1_000_000


def words_a_second() -> float:
    """AND + popcount over 1024-word rows in cache, on all cores."""
    rows = [np.random.default_rng(i).integers(0, 1 << 63, (2, 1024)).astype(np.uint64) for i in range(n_threads())]
    times = 200_000
    took = seconds(lambda: parallel_map(lambda pair: and_popcount(pair[0], pair[1], times), rows), repeats=5)
    return len(rows) * times * 1024 / took


def counting() -> list[Bar]:
    """All pairs of 600 items over a million records."""
    bits = np.random.default_rng(1).integers(0, 1 << 63, (N, 10)).astype(np.uint64)
    counter = Bitmaps.from_rows(bits, 640)
    left, right = np.triu_indices(600, 1)
    pairs = np.stack([left, right], axis=1).astype(np.int32)
    limit = words_a_second()
    took = seconds(lambda: counter.supports(pairs), repeats=5)
    rate = len(pairs) * -(-N // 64) / took
    detail = {"words_per_second": rate, "limit_words_per_second": limit, "seconds": took}
    return [Bar("count all pairs, 600 items x 1 000 000 records, of the limit", rate / limit, 0.6, True, detail)]


def flipping() -> list[Bar]:
    """Flip over a million records of 1000 bits."""
    channel = Flip(keep=0.9).channel(Domain(range(1000)))
    bits = np.zeros((N, 16), np.uint64)
    generator = np.random.default_rng(1)

    def numpy_way() -> None:
        for _ in range(100):  # in pieces that fit in memory, as anyone would
            np.packbits(generator.random((N // 100, 1000)) < 0.1, axis=1)

    def keystream_alone() -> None:
        """Eight words for 64 bits, on all cores, into buffers that stay in cache."""
        rng = Secure()
        each = 8 * 1000 * N // 64 // n_threads()

        def draw(_: int) -> None:
            stream, buffer = rng.stream(), np.empty(1 << 15, np.uint64)
            for _ in range(-(-each // buffer.size)):
                stream.fill(buffer)

        parallel_map(draw, range(n_threads()))

    took = medians(
        {"flip": lambda: channel.randomize_bits(bits, Secure()), "keystream": keystream_alone, "numpy": numpy_way}
    )
    return [
        Bar(
            "Flip, 1 000 000 x 1000 bits, times faster than NumPy",
            took["numpy"] / took["flip"],
            15,
            True,
            {"seconds": took},
        ),
        Bar("Flip, of the keystream's limit", took["keystream"] / took["flip"], 0.4, True, {}),
    ]


def stratified() -> list[Bar]:
    """All pairs, and all triples of fewer items, over a million records in ten strata and in one."""
    generator = np.random.default_rng(2)
    bits = generator.integers(0, 1 << 63, (N, 10)).astype(np.uint64)
    shares = 0.75 ** np.arange(10)
    sizes = generator.choice(10, size=N, p=shares / shares.sum()).astype(np.int32)
    asked = {
        f"{what} of {items} items": np.array(list(combinations(range(items), k)), np.int32)
        for what, k, items in (("pairs", 2, 600), ("triples", 3, 100))
    }
    counters = {"one": Bitmaps.from_rows(bits, 640), "ten": Bitmaps.from_rows(bits, 640, strata=sizes)}
    bars = []
    for name, itemsets in asked.items():
        times: dict[str, list[float]] = {"one": [], "ten": []}
        for turn in range(26):  # one right after the other, in either order: the machine's speed moves by a half
            for which in ("one", "ten") if turn % 2 else ("ten", "one"):
                started = time.perf_counter()
                counters[which].supports(itemsets)
                times[which].append(time.perf_counter() - started)
        ratios = np.array(times["ten"][1:]) / np.array(times["one"][1:])  # the first turn compiles
        low, high = np.quantile(ratios, [0.25, 0.75])
        detail = {"seconds": {which: float(np.median(t)) for which, t in times.items()}, "quartiles": [low, high]}
        bars.append(Bar(f"count {name}, ten strata over one", float(np.median(ratios)), 1.25, False, detail))
    return bars


def cutting() -> list[Bar]:
    """Cut-and-paste against Flip: a million records of 5 items over 1000, in memory."""
    domain = Domain(range(1000))
    generator = np.random.default_rng(3)
    order = np.argsort(generator.random((N // 20, 1000)), axis=1)[:, :5]
    indices = np.tile(np.sort(order, axis=1), (20, 1)).astype(np.int32).ravel()
    baskets = Baskets.from_csr(np.arange(0, 5 * N + 1, 5), indices, domain)
    channels = {
        "flip": Flip(keep=0.9).channel(domain),
        "cut_and_paste": CutAndPaste(cutoff=7, insert=0.353).channel(domain),
    }
    bits = baskets.to_bits()

    def randomize(which: str) -> Callable[[], object]:
        return lambda: channels[which].randomize_bits(bits.copy(), Secure())

    took = medians({which: randomize(which) for which in channels}, repeats=5)
    ratio = took["cut_and_paste"] / took["flip"]
    return [Bar("CutAndPaste, 1 000 000 records of 5 of 1000 items, over Flip", ratio, 2.0, False, {"seconds": took})]


class Timed:
    """A counter that keeps the time spent in it."""

    def __init__(self, reports: Reports) -> None:
        started = time.perf_counter()
        self._counter = reports.counter()
        self.seconds = time.perf_counter() - started
        self.n_records, self.strata = self._counter.n_records, self._counter.strata

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        started = time.perf_counter()
        counts = self._counter.supports(itemsets, on_progress=on_progress)
        self.seconds += time.perf_counter() - started
        return counts


def quest_reports() -> Reports:
    """RE's synthetic data under its setting S2."""
    baskets = quest(records=N, mean_size=10, mean_pattern=4, items=1000, seed=7)
    dealt = factors(SETTINGS["S2"], baskets.domain, np.random.default_rng(7))
    return Flip(keep=dealt).randomize(baskets, rng=Seeded(7))


def mining() -> list[Bar]:
    """Quest T10.I4.D1M.N1K under S2 at 0.25%."""
    reports = quest_reports()
    shares, totals = [], []
    for turn in range(4):
        started = time.perf_counter()
        counter = Timed(reports)
        mine_evidence(LinearEvidence(reports.channel, counter), Search(min_support=0.0025))
        total = time.perf_counter() - started
        if turn:  # the first one compiles
            shares.append(total / counter.seconds)
            totals.append(total)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        reports.write(path)
        del reports
        memory = _peak_memory(path)
    detail = {"seconds": float(np.median(totals))}
    name = "mine Quest T10.I4.D1M.N1K under S2 at 0.25%"
    return [
        Bar(f"{name}, total over counting", float(np.median(shares)), 1.3, False, detail),
        Bar(f"{name}, peak memory over bitmaps", memory["peak"] / memory["bitmaps"], 3, False, memory),
    ]


def _peak_memory(path: Path) -> dict[str, Any]:
    """Peak resident memory of a fresh process that reads the reports and mines them, above what it had before."""
    program = f"""
import json, re, numpy as np, bosket as bk
def status(key):
    return 1024 * int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
small = bk.Flip(keep=0.9).randomize(bk.quest(records=2000, items=50, seed=1))
bk.mine(small, min_support=0.05)  # load the kernels
before = status("VmRSS")
reports = bk.Reports.read({str(path)!r})
bk.mine(reports, min_support=0.0025)
bitmaps = len(reports.domain) * len(reports) // 8
print(json.dumps({{"peak": status("VmHWM") - before, "bitmaps": bitmaps, "before": before}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result
