"""The memory that is stated is kept, in a process of its own; and what a killed process finished is found again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bosket as bk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"),
]

N, ITEMS, FILES = 8_000_000, 200, 8
BUDGET = 480 << 20
PLAN = bk.Plan(bk.Domain(range(ITEMS)), bk.Flip(keep=0.9))
PROGRAM = """
import json, re, sys
import bosket as bk
how, pattern, scratch, budget = sys.argv[1:]
if how == "open":
    data = bk.open(pattern, memory=int(budget), scratch=scratch or None)
else:
    from pathlib import Path
    data = bk.Reports.concat([bk.Reports.read(path) for path in sorted(Path(pattern).parent.glob("*.parquet"))])
found = bk.mine(data, min_support=0.02)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])  # of this program alone
print(json.dumps({"peak": peak, "itemsets": [[sorted(itemset), support] for itemset, support in found]}))
"""


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files of reports, made one after the other; a few items go together."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(1)
    for at in range(FILES):
        records = np.zeros((N // FILES, -(-ITEMS // 64)), np.uint64)
        for item in range(ITEMS):
            held = rng.random(64) < (0.25 if item < 8 else 0.01)
            some = np.resize(np.roll(held, item // 8), len(records)).astype(np.uint64)
            records[:, item // 64] |= some << np.uint64(item % 64)
        batch = PLAN.channel.randomize(records, bk.Seeded(at))
        bk.Reports(PLAN, batch, randomness="simulated").write(folder / f"{at}.parquet")
    return str(folder / "*.parquet")


def started(how: str, pattern: str, scratch: Path | str = "") -> subprocess.Popen[str]:
    """A process that mines; it is started by this one, whose own peak it does not inherit."""
    command = [sys.executable, "-c", PROGRAM, how, pattern, str(scratch), str(BUDGET)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> dict[str, object]:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    result: dict[str, object] = json.loads(output)
    return result


def test_memory_is_kept_and_results_are_alike(pattern: str) -> None:
    opened, in_memory = finished(started("open", pattern)), finished(started("read", pattern))
    assert opened["itemsets"] == in_memory["itemsets"]
    assert isinstance(opened["itemsets"], list)
    assert len(opened["itemsets"]) > 8
    assert opened["peak"] <= BUDGET < in_memory["peak"]  # type: ignore[operator]  # numbers


def test_a_killed_process_loses_nothing(pattern: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    process = started("open", pattern, scratch)
    while not (scratch / "000001.json").exists():
        assert process.poll() is None, "it was killed before it was done"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    when = (scratch / "000001.bits").stat().st_mtime_ns
    again = finished(started("open", pattern, scratch))
    assert (scratch / "000001.bits").stat().st_mtime_ns == when
    assert again["itemsets"] == finished(started("open", pattern))["itemsets"]
