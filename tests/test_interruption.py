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

from bosket.cli import main
from tests.effort import slowness
from tests.interruption import OPERATIONS, dense

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

PATIENCE = 3.0
"""Seconds of processor time, of all threads: a second of the clock is the promise, and usual is a tenth."""
HANGS = 600.0
"""Seconds after which a process is ended that answers nothing: no machine is that slow."""


def used_by(process: subprocess.Popen[str]) -> float:
    """Seconds of processor time of a process so far, also when it has just ended; those of the clock without /proc.

    What it does after a signal is work, whatever else the machine does meanwhile.
    """
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        return time.perf_counter()
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted_after(name: str, delay: float) -> tuple[float, str]:
    """Processor time from SIGINT to the answer, and what it was; the signal comes ``delay`` after the work began.

    The interpreter then ends, which takes a second more where others use the machine: only that it does is looked at.
    """
    command = [sys.executable, "-m", "tests.interruption", name]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = threading.Timer(HANGS, process.kill)
        deadline.start()
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            time.sleep(delay)
            sent = used_by(process)
            process.send_signal(signal.SIGINT)
            said = process.stdout.readline()
            took = used_by(process) - sent
            assert process.wait(timeout=HANGS) == 0, process.stderr.read()
            return took, said
        finally:
            deadline.cancel()
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_ctrl_c_ends_it(name: str) -> None:
    took, said = interrupted_after(name, 0.8)
    assert said == "interrupted\n", "the work must be long enough to be interrupted"
    assert took < PATIENCE * slowness()


COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from bosket.cli import main
from bosket.compiling import announcer
announcer.said = True  # kernels may be compiled anew: not a word of that
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_ctrl_c_on_the_command_line_is_one_line_and_130(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dense(20_000, 50).write(tmp_path / "dense.dat")
    dense(200, 10).write(tmp_path / "small.dat")
    assert main(["mine", str(tmp_path / "small.dat"), "--min-support", "0.2", "--max-size", "7"]) == 0  # compiled
    options = ["--min-support", "0.0001", "--max-candidates", "1000000000", "--max-size", "7"]
    command = [sys.executable, "-c", COMMAND, "mine", str(tmp_path / "dense.dat"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = threading.Timer(HANGS, process.kill)
        deadline.start()
        try:
            assert "raw baskets" in process.stderr.readline()
            time.sleep(1.0)
            sent = used_by(process)
            process.send_signal(signal.SIGINT)
            assert process.stderr.readline() == "bosket: interrupted\n"
            assert used_by(process) - sent < PATIENCE * slowness()
            assert process.wait(timeout=HANGS) == 130
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
        return argparse.Namespace(verbose=False, threads=None, run=work)

signal.signal(signal.SIGALRM, signal.default_int_handler)
app.parser = lambda argv: Parser()
sys.exit(app.program())
"""


@pytest.mark.slow
def test_ctrl_c_while_the_garbage_collector_runs_is_not_lost() -> None:
    """It is raised in what the collector deletes, where Python drops it; ``bosket curate`` went on and paid."""
    done = subprocess.run([sys.executable, "-c", COLLECTED], capture_output=True, text=True, timeout=HANGS, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "bosket: interrupted\n")


def test_importing_the_command_line_changes_no_hook() -> None:
    code = "import sys; import bosket.cli.app; assert sys.unraisablehook is sys.__unraisablehook__"
    subprocess.run([sys.executable, "-c", code], check=True)
