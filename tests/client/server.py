"""A collector of a few lines for the tests of clients: one task, signed; batches counted once by their id.

It keeps what it was sent, so that tests can look at all that left, and fails on the way when asked to.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import bosket as bk
from tests.client.node import STATIC

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
TYPES = {".html": "text/html; charset=utf-8", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def document(plan: bk.Plan, signer: Ed25519PrivateKey | None = None, **more: Any) -> dict[str, str]:
    """A task document of the plan."""
    signer = Ed25519PrivateKey.generate() if signer is None else signer
    said = {
        "version": 1,
        "task": "study",
        "title": "What people buy together",
        "plan": json.loads(plan.json),
        "plan_text": plan.json,
        "digest": plan.digest,
        "phase": 1,
        "period": None,
        "reports_per_person": 1,
        "tokens": "none",
        "closes": None,
        "participant": plan.guarantee.for_participants().split("\n"),
        "card": plan.guarantee.card(),
        "min_batch": 10,
    }
    text = json.dumps(said | more, ensure_ascii=False)
    signature = signer.sign(b"bosket-task-v1\n" + text.encode())
    raw = signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return {
        "signed": text,
        "signature": base64.b64encode(signature).decode(),
        "key": base64.b64encode(raw).decode(),
    }


@dataclass
class Collector:
    """What the server was sent.

    faults  what becomes of the next batches: "503", "429 N" (with the seconds to wait), "lost" (taken, but the answer
            is not sent), "refuse", "deep" (JSON), "3xx" (taken, and the answer names an address that is none), "says
            TEXT" (taken, and answered by TEXT), "breaks off" (taken, and the answer breaks off), "stops" (taken, and no
            answer comes while the server runs), "stops in the answer"
    is_away  whether lines are cut before a word of them is read
    """

    document: dict[str, str]
    batches: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    url: str = ""
    is_away: bool = False
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def task(self) -> str:
        return f"{self.url}/v1/tasks/study"

    @property
    def posted(self) -> list[tuple[str, str, dict[str, str], bytes]]:
        return [request for request in self.requests if request[0] == "POST"]

    def reports(self, plan: bk.Plan) -> bk.Reports:
        return bk.Reports.from_bytes(plan, b"".join(self.batches.values()))


class _Handler(BaseHTTPRequestHandler):
    collector: Collector

    def handle(self) -> None:
        if not self.collector.is_away:
            super().handle()

    def do_GET(self) -> None:  # the standard library's name
        self.collector.requests.append(("GET", self.path, dict(self.headers), b""))
        if self.path == "/v1/tasks/study":
            self._answer(200, json.dumps(self.collector.document).encode(), "application/json")
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/v1/tasks/study")
            self.end_headers()
        else:
            name = self.path.removeprefix("/static/")
            if self.path.startswith("/t/"):
                name = "worker.mjs" if self.path == "/t/worker.mjs" else "page.html"
            file = STATIC / name
            if "/" in name or not file.is_file():
                self._answer(404, b"{}", "application/problem+json")
            else:
                self._answer(200, file.read_bytes(), TYPES[file.suffix])

    def do_POST(self) -> None:  # the standard library's name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.collector.requests.append(("POST", self.path, dict(self.headers), body))
        fault = self.collector.faults.pop(0) if self.collector.faults else ""
        if fault == "503":
            self._answer(503, b'{"title": "Busy"}', "application/problem+json")
            return
        if fault.startswith("429 "):
            self._answer(429, b'{"title": "Too many"}', "application/problem+json", {"Retry-After": fault[4:]})
            return
        if fault == "deep":
            self._answer(400, b"[" * 100_000, "application/problem+json")
            return
        if fault == "refuse":
            said = {"title": "Closed", "detail": "The study is closed.", "status": 403}
            self._answer(403, json.dumps(said).encode(), "application/problem+json")
            return
        name = self.headers["Idempotency-Key"]
        is_known = name in self.collector.batches
        self.collector.batches.setdefault(name, body)
        if fault == "lost":
            self.close_connection = True
            self.connection.close()
            return
        if fault.startswith("says "):
            self._answer(200, fault[5:].encode(), "text/html")
            return
        if fault == "breaks off":
            self.close_connection = True
            self._answer(201, b'{"acc', "application/json", length=14)
            return
        if fault.startswith("stops"):
            self.close_connection = True
            if fault == "stops in the answer":
                self._answer(201, b'{"acc', "application/json", length=14)
            self.collector.is_over.wait(600)
            return
        if fault.startswith("3"):
            self._answer(int(fault), b"", "text/plain", {"Location": "http://["})
            return
        plan = bk.Plan.from_json(json.loads(self.collector.document["signed"])["plan_text"])
        n = bk.Reports.from_bytes(plan, body).n_records
        self._answer(200 if is_known else 201, json.dumps({"accepted": n}).encode(), "application/json")

    def _answer(
        self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None, *, length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def collecting(given: dict[str, str]) -> Iterator[Collector]:
    """The server on a free port of this machine."""
    collector = Collector(given)
    handler = type("Handler", (_Handler,), {"collector": collector})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        collector.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()
