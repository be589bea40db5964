"""A real collector in a process of its own, on the loopback, for tests that kill it or press it."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bosket as bk
from bosket.service.app import make_app
from bosket.service.collector import Collector
from bosket.service.server import address_of, listening, server_of

MEDIA_TYPE = "application/vnd.bosket.reports"
_LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(\d+)\n")


def write_study(folder: Path, plan: bk.Plan, store: str, **settings: object) -> Path:
    """The file of a study with one task called shop."""
    (folder / "plan.json").write_text(plan.json)
    lines = [f'store = "{store}"', "[[tasks]]", 'id = "shop"', 'title = "Shop"', 'plan = "plan.json"']
    lines.append("simulation = true")
    lines += [f"{name} = {value}" for name, value in settings.items()]
    path = folder / "study.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


class ServerProcess:
    """``bosket serve`` on a free port."""

    def __init__(self, study: Path, *, preexec: list[str] | None = None) -> None:
        command = [*(preexec or []), sys.executable, "-m", "bosket", "serve", str(study), "--port", "0"]
        self.log: list[str] = []
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            found = _LISTENING.fullmatch(line)
            if found:
                self.port = int(found[1])
                return
        raise AssertionError("".join(self.log))

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.process.terminate()
        return self._end()

    def _end(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(600)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.log += self.process.stderr.readlines()
            self.process.stderr.close()
        return int(self.process.returncode)


_STARTER = """
import os, sys
import bosket.research.benchmarks.of_service, bosket.service.app, bosket.service.demo  # all that a server loads
from bosket.cli import main
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.close(0)
        os._exit(main(["serve", line.strip(), "--port", "0"]))
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class ServerStarter:
    """Starts one server after the other: ``bosket serve`` in a process of its own, forked from one that has loaded all.

    A server is then there in a fraction of the seconds that its imports take.
    """

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _STARTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self.port = 0

    def start(self, study: Path) -> int:
        """The port of a server of this study."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.write(f"{study}\n")
        self.process.stdin.flush()
        self.pid = int(self.process.stdout.readline())
        said = []
        for line in self.process.stderr:
            said.append(line)
            found = _LISTENING.fullmatch(line)
            if found:
                self.port = int(found[1])
                return self.port
        raise AssertionError("".join(said))

    def end(self, number: signal.Signals) -> int:
        """Send the server a signal; how it ended."""
        assert self.process.stdout is not None
        os.kill(self.pid, number)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """End the one that starts servers."""
        self.process.communicate(timeout=600)


def send(connection: http.client.HTTPConnection, body: bytes, key: str) -> int:
    """The status of a submission; errors of the connection are the caller's."""
    headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": key}
    connection.request("POST", "/v1/tasks/shop/reports", body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


@contextmanager
def on_a_socket(collector: Collector) -> Iterator[str]:
    """The collector at an address of the loopback, served by a thread."""
    server = server_of(make_app(collector, ends_it=False))
    at = listening("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    try:
        yield address_of(at)
    finally:
        server.should_exit = True
        thread.join(30)
        at.close()
