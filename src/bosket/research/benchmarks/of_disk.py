"""Reports on disk that do not fit in the memory that is stated: its peak, and the time of a level."""

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
import json, re, sys, time
import numpy as np
import bosket as bk
folder, memory, min_support = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
started = time.perf_counter()
with bk.open(folder, memory=memory) as reports:
    counter = reports.counter()
    written = time.perf_counter()
    room = bytearray(1 << 24)
    for file in counter.files:
        with open(file.path, "rb", buffering=0) as bits:
            while bits.readinto(room):
                pass
    read = time.perf_counter()
    singles = np.arange(len(reports.domain), dtype=np.int32)[:, None]
    counter.supports(singles)
    one = time.perf_counter()
    told = {}
    def tell(state):
        now = time.perf_counter()
        if state.stage == "counting":
            told.setdefault(state.size, [now, now])[1] = now
    found = bk.mine(reports, min_support, on_progress=tell)
    mined = time.perf_counter()
    n_bytes = sum(file.n_bytes for file in counter.files)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
seconds = {"first pass": written - started, "reading the bitmaps once": read - written}
seconds |= {"counting all items": one - read, "mining": mined - one}
seconds["counting by size"] = {size: last - first for size, (first, last) in told.items()}
levels = max(len(itemset) for itemset, _ in found)
print(json.dumps({"peak": peak, "bytes": n_bytes, "itemsets": len(found), "levels": levels, "seconds": seconds}))
"""


def on_disk(n_records: int = N, *, folder: str | Path | None = None) -> list[Bar]:
    """Files made one by one, then a process of its own that mines them."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        _write(Path(made), n_records)
        command = [sys.executable, "-c", _PROGRAM, made, str(MEMORY), str(MIN_SUPPORT)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    took = found["seconds"]
    name = f"{n_records:,} reports of {ITEMS} items on disk"
    return [
        Bar(f"mine {name}, peak memory over the {MEMORY >> 20} MiB stated", found["peak"] / MEMORY, 1.0, False, found),
        Bar(
            f"count all items in {name}, over reading the bitmaps once",
            took["counting all items"] / took["reading the bitmaps once"],
            2.0,
            False,
        ),
        Bar(
            f"mine {name}, a size on the mean, over reading the bitmaps once",
            took["mining"] / found["levels"] / took["reading the bitmaps once"],
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
