"""A whole study in one command: groceries that made-up people buy, randomized, sent, and shown as they arrive."""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import threading
from pathlib import Path
from urllib.parse import urlsplit

from bosket.data import Baskets, Domain
from bosket.mechanisms import Flip
from bosket.plan import Plan
from bosket.service.settings import ServiceSettings, TaskSettings

TASK = "groceries"
ITEMS = ("bread", "butter", "milk", "cheese", "apples", "pasta", "tomatoes", "basil", "coffee", "chocolate")
HABITS = (("bread", "butter", "milk"), ("pasta", "tomatoes", "basil"), ("coffee", "chocolate"), ("cheese", "apples"))
_AT_ONCE = 20


def demo_settings(folder: Path, *, host: str = "127.0.0.1", port: int = 8080) -> ServiceSettings:
    """A service of one task, its store in the folder."""
    plan = Plan(Domain(ITEMS), Flip(keep=0.85))
    task = TaskSettings(
        TASK, "What goes together in a shopping basket", plan, min_batch=50, min_support=0.15, min_confidence=0.5
    )
    return ServiceSettings((task,), f"sqlite:///{folder / 'demo.db'}", folder, host, port)


def made_up(n: int) -> Baskets:
    """Baskets of people who do not exist: habits, some forgotten, some mixed."""
    records = []
    for _ in range(n):
        chosen = {item for habit in HABITS if secrets.randbelow(10) < 4 for item in habit if secrets.randbelow(10) < 8}
        records.append(sorted(chosen))
    return Baskets(records, items=list(ITEMS))


class MadeUpPeople:
    """A thread in which so many made-up people answer, as real ones would: by the plan that the collector signs."""

    def __init__(self, address: str, people: int, *, pause: float = 0.2) -> None:
        self._address = urlsplit(address)
        self._people = people
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._answer, name="bosket-people", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def join(self) -> None:
        self._thread.join()

    def _answer(self) -> None:
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=30)
        with contextlib.closing(connection):
            if self._wait_for(connection):
                self._send(connection)

    def _send(self, connection: http.client.HTTPConnection) -> None:
        connection.request("GET", f"/v1/tasks/{TASK}")
        plan = Plan.from_json(json.loads(json.loads(connection.getresponse().read())["signed"])["plan_text"])
        for _ in range(0, self._people, _AT_ONCE):
            body = plan.randomize(made_up(_AT_ONCE), people=self._people).to_bytes()
            headers = {"Content-Type": "application/vnd.bosket.reports", "Idempotency-Key": secrets.token_hex(16)}
            connection.request("POST", f"/v1/tasks/{TASK}/reports", body, headers)
            connection.getresponse().read()
            if self._stop.wait(self._pause):
                return

    def _wait_for(self, connection: http.client.HTTPConnection) -> bool:
        """Wait until the collector answers."""
        for _ in range(100):
            try:
                connection.request("GET", "/health")
                connection.getresponse().read()
            except OSError:
                connection.close()
                if self._stop.wait(0.1):
                    return False
            else:
                return True
        return False
