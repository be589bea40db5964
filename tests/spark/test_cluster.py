"""A real cluster, in which workers die in the middle of jobs, and which goes away at last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster import standalone
from tests.spark.sessions import NEEDS_JAVA

pytestmark = [NEEDS_JAVA, pytest.mark.slow]

PROGRAM = """
import json, os, signal, sys, threading, time
import pyarrow as pa
import bosket as bk
import bosket.spark
from pyspark.sql import SparkSession
from tests.contracts.counters import some_cases
from tests.spark.counters import assert_contracts
from tests.spark.sessions import settings

url, victims, folder = sys.argv[1], [int(one) for one in sys.argv[2].split(",")], sys.argv[3]
builder = settings(SparkSession.builder.master(url)).config("spark.executor.memory", "512m")
session = builder.config("spark.task.maxFailures", "8").getOrCreate()
data = bk.quest(records=4000, mean_size=6, mean_pattern=3, items=40, seed=7)
lists = [list(data[at]) for at in range(len(data))]
table = pa.table({"items": pa.array(lists, pa.list_(pa.int64()))})
frame = session.createDataFrame(table).repartition(6).localCheckpoint()
said = {}

def same(found, expected):
    return found.to_frame().equals(expected.to_frame()) and found.rules(min_threshold=0.3).equals(
        expected.rules(min_threshold=0.3)
    )

said["counters"] = assert_contracts(session, some_cases())
said["records"] = same(bk.mine(frame, 0.02), bk.mine(data, 0.02))
plan = bk.Plan(bk.Domain(data.domain.labels), bk.Flip(keep=0.9))
reports = plan.randomize(frame, folder=folder + "/reports")
local = bk.Reports.from_spark(reports)
said["reports"] = len(local) == len(data) and same(bk.mine(reports, 0.05), bk.mine(local, 0.05))

def slowly(batches):
    import time
    for batch in batches:
        time.sleep(1.5)
        yield batch

def kill():
    status = session.sparkContext.statusTracker()
    while True:
        stages = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
        if any(stage is not None and stage.numActiveTasks and stage.numCompletedTasks for stage in stages):
            os.killpg(victims.pop(), signal.SIGKILL)
            said["killed"] = said.get("killed", 0) + 1
            return
        time.sleep(0.05)

frame.write.parquet(folder + "/lists")  # which outlive a worker
held = bosket.spark.baskets(session.read.parquet(folder + "/lists"))
said["held"] = same(bk.mine(held, 0.02), bk.mine(data, 0.02))
raw = session.read.parquet(folder + "/lists")
thread = threading.Thread(target=kill, daemon=True)
thread.start()
searched = bk.mine(raw.mapInArrow(slowly, raw.schema), 0.05)  # enough records for tasks to look as they read
said["searched after a loss"] = same(searched, bk.mine(data, 0.05))
thread.join(10)
stored = session.read.parquet(folder + "/reports")
slow = stored.mapInArrow(slowly, stored.schema)
thread = threading.Thread(target=kill, daemon=True)
thread.start()
said["after a loss"] = same(bk.mine(slow, 0.05), bk.mine(local, 0.05))
thread.join(10)
said["held after a loss"] = same(bk.mine(held, 0.02), bk.mine(data, 0.02))
from pyspark import SparkContext
SparkContext._gateway.proc.kill()
SparkContext._gateway.proc.wait()
try:
    bk.mine(reports, 0.05)
except bk.DataError as problem:
    said["gone"] = str(problem)
print(json.dumps(said), flush=True)
os._exit(0)
"""


LOSSES = """
import json, os, signal, sys, threading, time
import bosket as bk
from pyspark.sql import SparkSession
from tests.spark.sessions import settings

url, victims, folder = sys.argv[1], [int(one) for one in sys.argv[2].split(",")], sys.argv[3]
builder = settings(SparkSession.builder.master(url)).config("spark.executor.memory", "512m")
session = builder.config("spark.task.maxFailures", "8").getOrCreate()
data = bk.quest(records=4000, mean_size=6, mean_pattern=3, items=40, seed=7)
lists = [list(map(int, data[at])) for at in range(len(data))]
frame = session.createDataFrame([(one,) for one in lists], "items array<bigint>")
frame.repartition(6).write.parquet(folder + "/lists")
raw = session.read.parquet(folder + "/lists").repartition(6)
said = {}

def slowly(batches):
    import time
    for batch in batches:
        time.sleep(1.5)
        yield batch

def executors():
    return session._jsc.sc().getExecutorMemoryStatus().size()

def end_one():
    before = executors()
    os.killpg(victims.pop(), signal.SIGKILL)
    until = time.monotonic() + 180
    while executors() == before and time.monotonic() < until:
        time.sleep(0.1)

def end_one_meanwhile():
    status = session.sparkContext.statusTracker()
    while True:
        stages = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
        if any(stage is not None and stage.numActiveTasks and stage.numCompletedTasks and stage.numTasks == 6
               for stage in stages):
            said["in the middle"] = not os.path.exists(folder + "/reports/_SUCCESS")
            os.killpg(victims.pop(), signal.SIGKILL)
            return
        time.sleep(0.02)

# reports that are the records: which of them were drawn, and how often, can be seen
plan = bk.Plan(bk.Domain(data.domain.labels), bk.Flip(keep=1.0))
thread = threading.Thread(target=end_one_meanwhile, daemon=True)
thread.start()
reports = plan.randomize(raw.mapInArrow(slowly, raw.schema), folder=folder + "/reports", people=len(data))
thread.join(10)
local = bk.Reports.from_spark(reports)
said["written"] = [reports.count(), len(local)]
expected = plan.randomize(data, people=len(data)).bits
said["each once"] = sorted(map(bytes, local.bits)) == sorted(map(bytes, expected))
said["mined"] = bk.mine(reports, 0.05).to_frame().equals(bk.mine(local, 0.05).to_frame())

held = plan.randomize(raw.mapInArrow(slowly, raw.schema), people=len(data))
said["held"] = bk.mine(held, 0.05).to_frame().equals(bk.mine(local, 0.05).to_frame())
end_one()
try:
    bk.Reports.from_spark(held)
except bk.DataError as problem:
    said["lost"] = str(problem)
print(json.dumps(said), flush=True)
os._exit(0)
"""


def said_by(program: str, folder: Path) -> Any:
    """What a program on a cluster of three workers says, of whom it may end two."""
    with standalone(folder, n_workers=3) as cluster:
        victims = ",".join(str(worker.pid) for worker in cluster.workers[:2])
        command = [sys.executable, "-W", "ignore", "-c", program, cluster.url, victims, str(folder)]
        here = Path(__file__).parents[2]
        around = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=here, env=around, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_a_cluster_counts_as_one_machine_does(tmp_path: Path) -> None:
    said = said_by(PROGRAM, tmp_path)
    assert "went away" in said.pop("gone")
    assert said.pop("killed") == 2
    assert said.pop("counters") == 21, "5 of raw records, and 8 of each kind of reports"
    losses = ["searched after a loss", "after a loss", "held after a loss"]
    assert said == dict.fromkeys(["records", "reports", "held", *losses], True)


def test_a_worker_that_dies_leaves_one_draw_or_none(tmp_path: Path) -> None:
    """While reports are written, one of each record is kept; of those that workers held, none is drawn again."""
    said = said_by(LOSSES, tmp_path)
    assert said.pop("written") == [4000, 4000]
    assert said.pop("lost") == "What workers of Spark held is lost with one of them."
    assert said == dict.fromkeys(["in the middle", "each once", "mined", "held"], True)
