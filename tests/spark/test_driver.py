"""The memory of the driver, which must not grow with the records: neither that of Python nor that of its Java."""

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
MORE = 16 << 20
"""Bytes by which the driver may be larger with ten times the records: their items alone are 40 MB, as numbers of four
bytes, and their reports 25 MB."""

PROGRAM = """
import json, re, sys
import bosket as bk
from pyspark.sql import SparkSession
from tests.spark.sessions import settings

url, n, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
builder = settings(SparkSession.builder.master(url)).config("spark.executor.memory", "700m")
session = builder.config("spark.driver.memory", "512m").getOrCreate()
# rare and common items, made on the workers, ten draws a record
item = "cast(200 * pow(pmod(xxhash64(id, k), 1000003) / 1000003.0, 3) as int)"
frame = session.range(0, n, 1, 4).selectExpr(f"transform(sequence(0, 9), k -> {item}) as items")
found = bk.mine(frame, 0.02)
plan = bk.Plan(bk.Domain(range(200)), bk.Flip(keep=0.9))
seen = bk.mine(plan.randomize(frame, folder=folder), 0.05)
jvm = session._jvm.java.lang
jvm.System.gc()
heap = jvm.Runtime.getRuntime().totalMemory() - jvm.Runtime.getRuntime().freeMemory()
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps({"n": found.n_records, "reports": seen.n_records, "found": min(len(found), len(seen)), "heap": heap,
                  "peak": peak}), flush=True)
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
            assert took[-1]["n"] == took[-1]["reports"] == n
            assert took[-1]["found"] > 30
    few, many = took
    assert many["peak"] - few["peak"] < MORE
    assert many["heap"] - few["heap"] < MORE
