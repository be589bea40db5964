"""The collector under load on the loopback, beside an echo of the same stack."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bosket.data import quest
from bosket.errors import DataError
from bosket.mechanisms import Flip
from bosket.plan import Plan
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.benchmarks.bars import Bar
from bosket.research.benchmarks.service_load import Load, press, request_of

N = 1_000_000
BATCH = 100
SINGLE = 10_000
CLIENTS = 50
ITEMS = 128
TASK = "load"
_PARTS = 5
_ECHO = """
import sys
from fastapi import FastAPI, Request
from fastapi.responses import Response
from bosket.service.server import address_of, listening, serve

app = FastAPI()

@app.post("/echo")
async def echo(request: Request) -> Response:
    return Response(await request.body(), 201, media_type="application/vnd.bosket.reports")

at = listening("127.0.0.1", 0)
serve(app, at, on_started=lambda: print("listening on", address_of(at), file=sys.stderr, flush=True))
"""


class _Server(NamedTuple):
    port: int
    pid: int

    def pressed(self, path: str, bodies: list[bytes]) -> Load:
        """Send each body under a key of its own."""
        requests = [request_of(path, body, secrets.token_hex(16)) for body in bodies]
        before = self.processor_seconds
        load = press(self.port, requests, clients=CLIENTS, n_bytes=sum(map(len, bodies)))
        return replace(load, processor_seconds=self.processor_seconds - before)

    @property
    def processor_seconds(self) -> float:
        path = Path(f"/proc/{self.pid}/stat")
        times = path.read_text().rpartition(")")[2].split()[11:13] if path.exists() else ["0", "0"]
        return (int(times[0]) + int(times[1])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident(self) -> int:
        """Bytes of memory; 0 where the system does not tell."""
        path = Path(f"/proc/{self.pid}/statm")
        return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else 0


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[_Server]:
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    port = 0
    for line in process.stderr:
        found = re.search(r"^listening on http://127\.0\.0\.1:(\d+)$", line)
        if found:
            port = int(found[1])
            break
    try:
        yield _Server(port, process.pid)
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()


def service(n_reports: int = N, n_single: int = SINGLE) -> list[Bar]:
    """Bytes and requests a second against the echo, lost and doubled reports, p99 and memory."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None or find_spec("sqlalchemy") is None:
        raise DataError("The collector is not installed.", hint="pip install 'bosket[serve]'")
    plan, parts = _reports(n_reports)
    with tempfile.TemporaryDirectory(prefix="bosket-bench-") as name:
        folder = Path(name)
        study = _study(folder, plan)
        with (
            _process(["-m", "bosket", "serve", str(study), "--port", "0"]) as ours,
            _process(["-c", _ECHO]) as echo,
        ):
            press(echo.port, [request_of("/echo", b"warm", "0" * 32)] * 500, clients=CLIENTS, n_bytes=0)
            batches, memory = _batches(parts, ours, echo)
            single = _single(parts[0], ours, echo, n_single)
        sent = np.concatenate([_rows(part) for part in [*parts, parts[0][:n_single]]])
        exact = is_exact(study, sent)
    return _bars(n_reports, batches, single, memory, exact)


def _bars(
    n_reports: int, batches: list[tuple[Load, Load]], single: list[tuple[Load, Load]], memory: list[int], exact: bool
) -> list[Bar]:
    bytes_ratio = float(np.median([ours.bytes_per_second / echo.bytes_per_second for ours, echo in batches]))
    single_ratio = float(np.median([ours.requests_per_second / echo.requests_per_second for ours, echo in single]))
    mib = [round(value / 2**20, 1) for value in memory]
    return [
        Bar(f"batches of {BATCH}, bytes a second over an echo's", bytes_ratio, 0.5, True, _detail(batches, BATCH)),
        Bar("single reports, requests a second over an echo's", single_ratio, 0.3, True, _detail(single, 1)),
        Bar(f"{n_reports:,} reports stored once each", float(exact), 1.0, True),
        Bar("resident memory at the end over that after a fifth", memory[-1] / memory[0], 1.5, False, {"MiB": mib}),
    ]


def _detail(turns: list[tuple[Load, Load]], size: int) -> dict[str, Any]:
    ours = [turn[0] for turn in turns]
    late = np.concatenate([load.latencies for load in ours])
    echoed = np.concatenate([turn[1].latencies for turn in turns])
    return {
        "reports_per_second": round(size * sum(load.n_requests for load in ours) / sum(load.seconds for load in ours)),
        "p50_ms": round(1000 * float(np.quantile(late, 0.5)), 2),
        "p99_ms": round(1000 * float(np.quantile(late, 0.99)), 2),
        "echo_p99_ms": round(1000 * float(np.quantile(echoed, 0.99)), 2),
        "processor_us": round(_each([turn[0] for turn in turns])),
        "echo_processor_us": round(_each([turn[1] for turn in turns])),
        "statuses": sorted(set().union(*(load.statuses for load in ours))),
    }


def _each(loads: list[Load]) -> float:
    """Microseconds of the server's processors for a request."""
    return 1e6 * sum(load.processor_seconds for load in loads) / sum(load.n_requests for load in loads)


def _reports(n_reports: int) -> tuple[Plan, list[Reports]]:
    """Reports in parts, each of the same people with other coins."""
    people = quest(records=n_reports // _PARTS, mean_size=8, mean_pattern=4, items=ITEMS, seed=7)
    plan = Plan(people.domain, Flip(keep=0.9))
    return plan, [plan.randomize(people, rng=Seeded(turn)) for turn in range(_PARTS)]


def _study(folder: Path, plan: Plan) -> Path:
    (folder / "plan.json").write_text(plan.json)
    lines = [f'store = "sqlite:///{folder / "study.db"}"', "[[tasks]]", 'id = "load"', 'title = "Load"']
    lines += [
        'plan = "plan.json"',
        "min_batch = 10000",
        "batch_size = 10000",
        "min_support = 0.05",
        "simulation = true",
    ]
    path = folder / "study.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _batches(parts: list[Reports], ours: _Server, echo: _Server) -> tuple[list[tuple[Load, Load]], list[int]]:
    """Each part in batches, a fifth of them to the echo in turns; the server's memory after each."""
    turns, memory = [], []
    for part in parts:
        bodies = [part[start : start + BATCH].to_bytes() for start in range(0, len(part), BATCH)]
        taken = ours.pressed(f"/v1/tasks/{TASK}/reports", bodies)
        turns.append((taken, echo.pressed("/echo", bodies[: max(CLIENTS, len(bodies) // _PARTS)])))
        memory.append(ours.resident)
    return turns, memory


def _single(part: Reports, ours: _Server, echo: _Server, n: int) -> list[tuple[Load, Load]]:
    turns = []
    for start in range(0, n, n // _PARTS):
        bodies = [part[at : at + 1].to_bytes() for at in range(start, start + n // _PARTS)]
        turns.append((ours.pressed(f"/v1/tasks/{TASK}/reports", bodies), echo.pressed("/echo", bodies)))
    return turns


def _rows(reports: Reports) -> Any:
    return reports.plan.channel.payload.to_rows(reports.batch)


def is_exact(study: Path, sent: Any, *, task: str = TASK) -> bool:
    """Whether the store holds just what was sent, as often as it was sent."""
    from bosket.service.settings import read_settings
    from bosket.service.store import ReportStore

    store = ReportStore(read_settings(study).store)
    try:
        stored = np.concatenate([part.rows for part in store.stored(task, 1)])
    finally:
        store.close()
    kind = f"V{sent.shape[1]}"
    both = [np.sort(np.ascontiguousarray(rows).view(kind).ravel()) for rows in (sent, stored)]
    return len(both[0]) == len(both[1]) and bool((both[0] == both[1]).all())
