"""Small studies for the tests of the collector."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

import bosket as bk
from bosket.service.app import make_app
from bosket.service.collector import Collector
from bosket.service.settings import ServiceSettings, TaskSettings

MEDIA_TYPE = "application/vnd.bosket.reports"
ITEMS = tuple("abcdefgh")


def small_plan(n_items: int = 8, keep: float = 0.9) -> bk.Plan:
    labels = ITEMS if n_items == 8 else tuple(range(n_items))
    return bk.Plan(bk.Domain(labels), bk.Flip(keep=keep))


def people(n: int) -> bk.Baskets:
    """Half of them have a and b, a quarter c, a quarter nothing."""
    kinds = [["a", "b"], ["a", "b"], ["c"], []]
    return bk.Baskets([kinds[at % 4] for at in range(n)], items=list(ITEMS))


def reports(plan: bk.Plan, n: int, *, seed: int = 1) -> bk.Reports:
    return plan.randomize(people(n).with_domain(plan.domain), rng=bk.Seeded(seed))


def random_reports(plan: bk.Plan, n: int) -> bk.Reports:
    """Reports of many items that nobody else has: whole rows of chance."""
    payload = plan.channel.payload
    width = payload.width
    import numpy as np

    rows = np.frombuffer(secrets.token_bytes(n * width), np.uint8).reshape(n, width)
    return bk.Reports(plan, payload.from_rows(rows), randomness="secure")


class Client:
    """Requests to an application in-process, without sockets, one after the other."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.loop = asyncio.new_event_loop()
        self.http = httpx.AsyncClient(transport=transport, base_url="http://collector")

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.loop.run_until_complete(self.http.request(method, path, **options))

    def together(self, requests: list[tuple[str, str, dict[str, Any]]]) -> list[httpx.Response]:
        """Several requests at once."""

        async def all_of_them() -> list[httpx.Response]:
            return await asyncio.gather(*(self.http.request(method, path, **how) for method, path, how in requests))

        return self.loop.run_until_complete(all_of_them())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, **options)

    def close(self) -> None:
        self.loop.run_until_complete(self.http.aclose())
        self.loop.close()


class Study:
    """A collector and a client that talks to it in-process."""

    def __init__(self, collector: Collector, client: Client, folder: Path) -> None:
        self.collector = collector
        self.client = client
        self.folder = folder
        self.plan = collector.settings.tasks[0].plan
        self.task = collector.settings.tasks[0].id
        self.admin = (folder / "admin.token").read_text().strip()

    def send(
        self, body: bytes | bk.Reports, *, key: str | None = None, task: str | None = None, **headers: str
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else body.to_bytes()
        sent = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": key or secrets.token_hex(16)}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(f"/v1/tasks/{task or self.task}/reports", content=content, headers=sent)

    def settle(self) -> None:
        """Wait until all that was acknowledged is counted, and shown if it is due."""
        assert self.client.get("/ready").status_code == 200  # by the writing thread, after all that it did before
        self.collector.results.settle()

    def bearer(self, token: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.admin}"}

    def stored(self, phase: int = 1) -> bk.Reports:
        return self.collector.reports(self.task, phase)

    def issue(self, scope: str, number: int = 1) -> list[str]:
        answer = self.client.post(
            f"/v1/tasks/{self.task}/tokens", json={"scope": scope, "number": number}, headers=self.bearer()
        )
        assert answer.status_code == 201, answer.text
        found: list[str] = answer.json()["tokens"]
        return found


@contextmanager
def study(folder: Path, *, store: str | None = None, plan: bk.Plan | None = None, **settings: Any) -> Iterator[Study]:
    """A study of one task called shop, served in-process; the store is a file of SQLite unless given.

    It takes simulated reports, as those of :func:`reports`, unless told otherwise.
    """
    settings = {"simulation": True} | settings
    task = TaskSettings("shop", "What is bought together", plan or small_plan(), **settings)
    service = ServiceSettings((task,), store or f"sqlite:///{folder / 'study.db'}", folder)
    collector = Collector(service, rest=0.0)
    client = Client(make_app(collector))
    try:
        yield Study(collector, client, folder)
    finally:
        client.close()
        collector.stop()


def rows_of(some: bk.Reports) -> list[bytes]:
    """Reports as bytes, sorted: a multiset that can be compared."""
    return sorted(row.tobytes() for row in some.plan.channel.payload.to_rows(some.batch))
