"""Reports on disk that do not fit in the memory that is stated: its peak, and the time of a level.

Data that do not fit in memory are read from the disk at every level, so that is what a level is compared with: the
system is told to forget the bitmaps before each step.  What the same takes where the system still has them in its page
cache, and reading is as quick as memory, stands beside it, and the share of files that the system did forget, by their
first byte.  Times are medians of three, all steps in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bosket.data import quest
from bosket.mechanisms import Flip
from bosket.plan import Plan
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.benchmarks.bars import Bar

N = 100_000_000
ITEMS = 200
MEMORY = 1 << 30
MIN_SUPPORT = 0.01
_FILE = 1_000_000

_PROGRAM = """
import json, os, re, sys, time
import numpy as np
import bosket as bk
folder, memory, min_support = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
room = bytearray(1 << 24)
forgotten = []
def read(file):
    with open(file.path, "rb", buffering=0) as bits:
        while bits.readinto(room):
            pass
def forget(file):
    handle = os.open(file.path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        os.preadv(handle, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        forgotten.append(True)
    except OSError:  # in memory alone
        forgotten.append(False)
    else:
        forgotten.append(False)
    os.close(handle)
def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
started = time.perf_counter()
with bk.open(folder, memory=memory) as reports:
    counter = reports.counter()
    written = time.perf_counter()
    n_items = len(reports.domain)
    singles = np.arange(n_items, dtype=np.int32)[:, None]
    pairs = np.stack(np.triu_indices(n_items, 1), axis=1).astype(np.int32)
    steps = {
        "reading the bitmaps once": lambda: [read(file) for file in counter.files],
        "counting all items": lambda: counter.supports(singles),
        "counting all pairs": lambda: counter.supports(pairs),
    }
    for itemsets in (singles, pairs):
        counter.files[0].bitmaps(singles[:, 0]).supports(itemsets)  # compiles
    os.sync()  # nothing is to be written any more while reading is timed
    cold, warm = {step: [] for step in steps}, {step: [] for step in steps}
    for _ in range(3):
        for step, work in steps.items():
            for file in counter.files:
                forget(file)
            cold[step].append(timed(work))
            warm[step].append(timed(work))
    cold, warm = ({step: sorted(times)[1] for step, times in each.items()} for each in (cold, warm))
    sizes = set()
    def forget_at(state):
        if state.stage == "counting" and state.size not in sizes:
            sizes.add(state.size)
            for file in counter.files:
                forget(file)
    cold["mining"] = timed(lambda: bk.mine(reports, min_support, on_progress=forget_at))
    begun = time.perf_counter()
    told = {}
    def tell(state):
        now = time.perf_counter()
        if state.stage == "counting":
            told.setdefault(state.size, [now, now])[1] = now
    found = bk.mine(reports, min_support, on_progress=tell)
    mined = time.perf_counter()
    n_bytes = sum(file.n_bytes for file in counter.files)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
seconds = {"first pass": written - started, "from the disk": cold, "from the page cache": warm, "mining": mined - begun}
seconds["counting by size"] = {size: last - first for size, (first, last) in told.items()}
levels = max(len(itemset) for itemset, _ in found)
about = {"peak": peak, "bytes": n_bytes, "itemsets": len(found), "levels": levels}
about["forgotten"] = sum(forgotten) / len(forgotten)
print(json.dumps(about | {"seconds": seconds}))
"""


def on_disk(n_records: int = N, *, folder: str | Path | None = None) -> list[Bar]:
    """Files made one by one, then a process of its own that mines them."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        _write(Path(made), n_records)
        command = [sys.executable, "-c", _PROGRAM, made, str(MEMORY), str(MIN_SUPPORT)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    took = found["seconds"]
    cold, warm = took["from the disk"], took["from the page cache"]
    once, cached = cold["reading the bitmaps once"], warm["reading the bitmaps once"]
    name = f"{n_records:,} reports of {ITEMS} items on disk"
    found["over reading from the page cache"] = {
        "counting all items": warm["counting all items"] / cached,
        "counting all pairs": warm["counting all pairs"] / cached,
        "a size on the mean": took["mining"] / found["levels"] / cached,
    }
    return [
        Bar(f"mine {name}, peak memory over the {MEMORY >> 20} MiB stated", found["peak"] / MEMORY, 1.0, False, found),
        Bar(f"count all items in {name}, over reading them once", cold["counting all items"] / once, 2.0, False),
        Bar(f"count all pairs in {name}, over reading them once", cold["counting all pairs"] / once, 2.0, False),
        Bar(
            f"mine {name}, a size on the mean, over reading them once",
            cold["mining"] / found["levels"] / once,
            2.0,
            False,
        ),
    ]


def _write(folder: Path, n_records: int) -> None:
    baskets = quest(records=min(n_records, _FILE), mean_size=10, mean_pattern=4, items=ITEMS, seed=7)
    plan = Plan(baskets.domain, Flip(keep=0.9))
    bits = baskets.to_bits()
    for at in range(-(-n_records // _FILE)):
        some = np.array(bits[: min(_FILE, n_records - at * _FILE)])
        batch = plan.channel.randomize(some, Seeded(at))
        Reports(plan, batch, randomness=Seeded(at).describe()).write(folder / f"{at:05d}.parquet")
