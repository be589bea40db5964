"""What reaches the driver, which must not grow with the records: rows of its jobs, its memory, and that of its Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster import standalone
from tests.spark.sessions import NEEDS_JAVA

pytestmark = [NEEDS_JAVA, pytest.mark.slow]

N = 100_000
"""Records of one partition: one segment of workers, and four of ten times as many."""
MORE = 16 << 20
"""Bytes by which the driver may be larger with ten times the records: their items alone are 40 MB, as numbers of four
bytes, and their reports 25 MB."""

PROGRAM = """
import json, re, sys
import bosket as bk
import bosket.spark
from pyspark.sql import SparkSession
from tests.spark.sessions import settings

url, n, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
builder = settings(SparkSession.builder.master(url)).config("spark.executor.memory", "700m")
builder = builder.config("spark.driver.memory", "512m").config("spark.sql.files.minPartitionNum", "1")
session = builder.getOrCreate()
reached = {}
as_arrow = type(session.range(1)).toArrow

def counted(frame):
    rows = as_arrow(frame)
    reached[step] = reached.get(step, 0) + rows.nbytes
    return rows

type(session.range(1)).toArrow = counted

def frame_of(n_items):  # rare and common ones, made on the workers, ten draws a record
    item = f"cast({n_items} * pow(pmod(xxhash64(id, k), 1000003) / 1000003.0, 3) as int)"
    return session.range(0, n, 1, 1).selectExpr(f"transform(sequence(0, 9), k -> {item}) as items")

many, few = frame_of(20_000), frame_of(200)
step = "mined"
found = bk.mine(many, 0.01)
step = "held"
with bosket.spark.baskets(many) as held:
    again = bk.mine(held, 0.01)
plan = bk.Plan(bk.Domain(range(200)), bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=10))
step = "reports"
seen = bk.mine(plan.randomize(few, folder=folder), 0.3, max_size=1)
jvm = session._jvm.java.lang
jvm.System.gc()
heap = jvm.Runtime.getRuntime().totalMemory() - jvm.Runtime.getRuntime().freeMemory()
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps({"n": [found.n_records, again.n_records, seen.n_records], "found": [len(found), len(again)],
                  "heap": heap, "peak": peak, "reached": reached}), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
def test_the_driver_does_not_grow_with_the_records(tmp_path: Path) -> None:
    """Raw records mined, randomized and their reports mined: processes of their own, by N and by 10 N records."""
    around = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    took = []
    with standalone(tmp_path, n_workers=1) as cluster:
        for n in (N, 10 * N):
            command = [sys.executable, "-W", "ignore", "-c", PROGRAM, cluster.url, str(n), str(tmp_path / f"{n}")]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=900,
                cwd=Path(__file__).parents[2],
                env=around,
                check=False,
            )
            assert done.returncode == 0, done.stderr[-3000:]
            took.append(json.loads(done.stdout.strip().splitlines()[-1]))
            assert took[-1]["n"] == [n] * 3
            assert min(took[-1]["found"]) > 30
    few, many = took
    for step, n_bytes in few["reached"].items():
        assert many["reached"][step] < 1.2 * n_bytes, step
    assert many["peak"] - few["peak"] < MORE
    assert many["heap"] - few["heap"] < MORE
