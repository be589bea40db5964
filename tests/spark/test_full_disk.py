"""A disk that is full while Spark writes: one sentence that quotes nothing, and a session that goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.sessions import NEEDS_JAVA

pytest.importorskip("resource", reason="files are limited by resource limits")
pytestmark = [NEEDS_JAVA, pytest.mark.slow]

PROGRAM = """
import json, os, resource, sys
import bosket as bk
folder = sys.argv[1]
plan = bk.Plan(bk.Domain(range(400)), bk.Flip(keep=0.9))
few = [[1, 2], [2], []] * 50
bk.mine(bk.Baskets(few), 0.1), plan.randomize(bk.Baskets(few, items=range(400)))  # compiled, and kept on disk

from pyspark.sql import SparkSession
from tests.spark.sessions import settings
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # no file, of Java's or of a worker's, grows further
session = settings(SparkSession.builder.master("local[2]")).config("spark.local.dir", folder + "/spark").getOrCreate()
said = {}

def refused(name, ask):
    try:
        ask()
    except bk.DataError as problem:
        said[name] = str(problem)

long = session.range(0, 600_000, 1, 2).selectExpr("xxhash64(id) as record", "sha1(string(id)) as item")
refused("shuffled", lambda: bk.mine(long, 0.1))
frame = session.range(0, 60_000, 1, 1).selectExpr("array(1, 2, 3) as items")
refused("written", lambda: plan.randomize(frame, folder=folder + "/reports"))
said["left"] = os.path.exists(folder + "/reports") and [name for name in os.listdir(folder + "/reports")]
said["goes on"] = len(bk.mine(frame, 0.1))
print(json.dumps(said), flush=True)
os._exit(0)
"""


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    """Of shuffled rows, and of reports, of which none are left."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.strip().splitlines()[-1])
    assert said["shuffled"].startswith("Spark could not finish a job (")
    assert said["written"].startswith("Spark could not finish")
    assert not said["left"]
    assert said["goes on"] == 7
