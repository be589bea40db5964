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


def write_study(folder: Path, plan: bk.Plan, store: str, **settings: object) -> Path:
    """The file of a study with one task called shop."""
    (folder / "plan.json").write_text(plan.json)
    lines = [f'store = "{store}"', "[[tasks]]", 'id = "shop"', 'title = "Shop"', 'plan = "plan.json"']
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
            found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)
            if found:
                self.port = int(found[1])
                return
        raise AssertionError("".join(self.log))

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def kill(self) -> None:
        """As a power cut would, for the process: no handler runs."""
        os.kill(self.process.pid, signal.SIGKILL)
        self._end()

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
