"""Numbers for Prometheus: by task and status, never by person, report or address."""

from __future__ import annotations

import time
from collections import Counter as Numbers

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bosket.service.collector import Collector

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class ServiceMetrics:
    """Counts of answers by status, and how long they took."""

    def __init__(self) -> None:
        self.answers: Numbers[tuple[str, int]] = Numbers()
        self.buckets: Numbers[float] = Numbers()
        self.seconds = 0.0

    def note(self, method: str, status: int, seconds: float) -> None:
        self.answers[(method, status)] += 1
        self.seconds += seconds
        self.buckets[next((bound for bound in BOUNDS if seconds <= bound), float("inf"))] += 1

    def text(self, collector: Collector) -> str:
        """In the text format of Prometheus."""
        lines = ["# TYPE bosket_reports gauge"]
        lines += [f'bosket_reports{{task="{name}"}} {collector.results.n_reports(name)}' for name in collector.tasks]
        lines.append("# TYPE bosket_task_open gauge")
        lines += [f'bosket_task_open{{task="{name}"}} {int(task.is_open())}' for name, task in collector.tasks.items()]
        lines.append("# TYPE bosket_answers_total counter")
        lines += [
            f'bosket_answers_total{{method="{method}",status="{status}"}} {number}'
            for (method, status), number in sorted(self.answers.items())
        ]
        lines.append("# TYPE bosket_answer_seconds histogram")
        total = 0
        for bound in BOUNDS:
            total += self.buckets[bound]
            lines.append(f'bosket_answer_seconds_bucket{{le="{bound:g}"}} {total}')
        total += self.buckets[float("inf")]
        lines += [
            f'bosket_answer_seconds_bucket{{le="+Inf"}} {total}',
            f"bosket_answer_seconds_sum {self.seconds:.6f}",
            f"bosket_answer_seconds_count {total}",
        ]
        return "\n".join(lines) + "\n"


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class TimedAnswers:
    """Notes each answer."""

    def __init__(self, app: ASGIApp, *, metrics: ServiceMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status, took = 500, None

        async def sending(message: Message) -> None:
            nonlocal status, took
            if message["type"] == "http.response.start":
                status = message["status"]
            elif not message.get("more_body", False):
                took = time.perf_counter() - started  # how slowly it is read is none of ours
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.note(method, status, time.perf_counter() - started if took is None else took)
