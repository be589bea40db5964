"""A standalone cluster of Spark on this machine: a master and workers as processes of their own, on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 180.0
"""Seconds until a process that has not started is given up."""


@dataclass
class Cluster:
    """Where the master is, and the processes."""

    url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)


@contextmanager
def standalone(folder: Path, n_workers: int = 2) -> Iterator[Cluster]:
    """A cluster whose workers have a core each; all of its processes are gone afterwards."""
    import pyspark

    home = Path(pyspark.__file__).parent
    program = str(home / "bin" / "spark-class")
    settings = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    environment = {**os.environ, **settings, "SPARK_NO_DAEMONIZE": "1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}.log"
        with log.open("wb") as output:
            command = [program, *arguments]
            process = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment, cwd=folder, start_new_session=True
            )
        started.append(process)
        return log

    try:
        anywhere = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = start("master", "org.apache.spark.deploy.master.Master", *anywhere)
        cluster = Cluster(_seen(log, r"Starting Spark master at (spark://\S+)"))
        for number in range(n_workers):
            room = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}"))
            log = start(f"worker{number}", "org.apache.spark.deploy.worker.Worker", *anywhere, *room, cluster.url)
            cluster.workers.append(started[-1])
            _seen(log, r"Successfully registered with master")
        yield cluster
    finally:
        for process in reversed(started):
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """A process with its children, executors of Spark among them."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, kind)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                continue


def _seen(log: Path, pattern: str) -> str:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text("utf-8", "replace"))
        if found is not None:
            return found[1] if found.groups() else found[0]
        time.sleep(0.1)
    raise TimeoutError(log.read_text("utf-8", "replace")[-2000:])
