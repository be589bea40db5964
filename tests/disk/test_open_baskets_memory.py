"""The memory that is stated is kept while raw baskets are mined, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bosket as bk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"),
]

BUDGET = 400 << 20
PROGRAM = """
import json, re, sys
import bosket as bk
how, path, budget = sys.argv[1:]
data = bk.Baskets.open(path, memory=int(budget)) if how == "open" else bk.Baskets.read(path)
found = bk.mine(data, min_support=0.01)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])  # of this program alone
parts = len(data.group_sizes) if how == "open" else 1
itemsets = [[sorted(itemset), support] for itemset, support in found]
print(json.dumps({"peak": peak, "parts": parts, "itemsets": itemsets}))
"""


def finished(how: str, path: Path) -> dict[str, object]:
    command = [sys.executable, "-c", PROGRAM, how, str(path), str(BUDGET)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("name", ["x.dat.gz", "list.parquet", "x.csv"])
def test_memory_is_kept_and_results_are_alike(name: str, tmp_path: Path) -> None:
    """Of 1.5 million records, which take 530 MiB where all are in memory."""
    path = tmp_path / name
    bk.quest(records=1_500_000, mean_size=12, mean_pattern=4, items=1000, seed=7).write(path)
    opened, in_memory = finished("open", path), finished("read", path)
    assert opened["itemsets"] == in_memory["itemsets"]
    assert isinstance(opened["itemsets"], list)
    assert len(opened["itemsets"]) > 100
    assert opened["parts"] > 3  # type: ignore[operator]  # a number
    assert opened["peak"] <= BUDGET < in_memory["peak"]  # type: ignore[operator]  # numbers
