"""Ctrl-C ends every long operation within a second, compiled steps included."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.interruption import OPERATIONS, dense

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

PATIENCE = 3.0
"""Seconds: one is the promise, and usual is a tenth; a loaded machine takes longer."""


def interrupted_after(name: str, delay: float) -> tuple[float, str]:
    """Seconds from SIGINT to the answer, and what it was; the signal comes ``delay`` after the work began.

    The interpreter then ends, which takes a second more where others use the machine: only that it does is looked at.
    """
    command = [sys.executable, "-m", "tests.interruption", name]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = threading.Timer(120, process.kill)
        deadline.start()
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            sent = time.perf_counter()
            said = process.stdout.readline()
            took = time.perf_counter() - sent
            assert process.wait(timeout=60) == 0, process.stderr.read()
            return took, said
        finally:
            deadline.cancel()
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_ctrl_c_ends_it(name: str) -> None:
    took, said = interrupted_after(name, 0.8)
    assert said == "interrupted\n", "the work must be long enough to be interrupted"
    assert took < PATIENCE


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from bosket.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_on_the_command_line_is_one_line_and_130(tmp_path: Path) -> None:
    dense(20_000, 50).write(tmp_path / "dense.dat")
    options = ["--min-support", "0.0001", "--max-candidates", "1000000000", "--max-size", "7"]
    command = [sys.executable, "-c", COMMAND, "mine", str(tmp_path / "dense.dat"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = threading.Timer(120, process.kill)
        deadline.start()
        try:
            assert "raw baskets" in process.stderr.readline()
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            sent = time.perf_counter()
            assert process.stderr.readline() == "bosket: interrupted\n"
            assert time.perf_counter() - sent < PATIENCE
            assert process.wait(timeout=60) == 130
            assert process.stderr.read() == ""
            assert process.stdout.read() == ""
        finally:
            deadline.cancel()
            process.kill()


COLLECTED = """
import argparse, gc, signal, sys, time
from bosket.cli import app

class Mortal:  # as OpenDP's transformations were: in a cycle, with Python's own code to run when it ends
    def __del__(self):
        for _ in range(10):
            pass

def work(options):
    gc.disable()
    keep = [[number] for number in range(3_000_000)]  # so that the collector takes a while before it comes to the end
    one = Mortal()
    one.me = one
    del one
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    began = time.process_time()
    gc.collect()
    assert time.process_time() - began > 0.03, "the signal must come while the collector runs"
    for _ in range(1000):
        time.sleep(0.001)
    print("paid")

class Parser:
    def parse_args(self, argv):
        return argparse.Namespace(verbose=False, run=work)

signal.signal(signal.SIGALRM, signal.default_int_handler)
app.parser = lambda argv: Parser()
sys.exit(app.program())
"""


def test_ctrl_c_while_the_garbage_collector_runs_is_not_lost() -> None:
    """It is raised in what the collector deletes, where Python drops it; ``bosket curate`` went on and paid."""
    done = subprocess.run([sys.executable, "-c", COLLECTED], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bosket: interrupted\n")


def test_importing_the_command_line_changes_no_hook() -> None:
    code = "import sys; import bosket.cli.app; assert sys.unraisablehook is sys.__unraisablehook__"
    subprocess.run([sys.executable, "-c", code], check=True)
