"""Pages for people and analysts, health, readiness and metrics."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bosket.service.asking import check_token, collector_of, task_of
from bosket.service.problems import Refusal, documented

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Of the files in the package's folder those that end so are served, and nothing else."""
router = APIRouter(include_in_schema=False)


@cache
def served_files(folder: Path) -> dict[str, bytes]:
    """The files that are served, by name: listed once, so that no name leads anywhere else."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in MEDIA_TYPES and path.is_file()}


def _file(name: str) -> Response:
    content = served_files(STATIC).get(name)
    if content is None:
        raise Refusal(404, "not-found", "There is nothing at this address.")
    kind = MEDIA_TYPES[Path(name).suffix]
    return Response(content, headers={"Content-Type": kind, "Cache-Control": "no-cache"})


@router.get("/static/{name}")
async def static(name: str) -> Response:
    return _file(name)


@router.get("/favicon.ico")
async def icon() -> Response:
    return Response(status_code=204)


@router.get("/t/worker.mjs")
async def worker() -> Response:
    """Beside the pages, so that it may answer for them, and for nothing else of this origin; no task has such an id."""
    return _file("worker.mjs")


@router.get("/t/{task_id}")
async def page(task_id: str, request: Request) -> Response:
    task_of(collector_of(request), task_id)
    return _file("page.html")


@router.get("/d/{task_id}")
async def dashboard(task_id: str, request: Request) -> Response:
    task_of(collector_of(request), task_id)
    return _file("dashboard.html")


health = APIRouter(tags=["operations"])


@health.get("/health", summary="Whether the collector runs", operation_id="health")
async def healthy() -> dict[str, str]:
    return {"status": "running"}


async def _answers(request: Request) -> bool:
    """Whether the store answers: asked once for all who want to know at once, since what is asked parts groups."""
    state, loop = request.app.state, asyncio.get_running_loop()
    pinging: asyncio.Future[bool] | None = state.pinging
    if pinging is None or pinging.done() or pinging.get_loop() is not loop:
        collector = collector_of(request)
        pinging = state.pinging = asyncio.ensure_future(collector.writer.run(collector.store.ping))
    return await asyncio.shield(pinging)


@health.get("/ready", summary="Whether reports can be taken", operation_id="ready", responses=documented(503))
async def ready(request: Request) -> dict[str, str]:
    if not collector_of(request).writer.is_alive or not await _answers(request):
        raise Refusal(503, "store", "The store does not answer.", headers={"Retry-After": "5"})
    return {"status": "ready"}


@health.get(
    "/metrics",
    summary="Numbers for Prometheus",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **documented(401, 403)},
    openapi_extra={"security": [{"analyse": []}]},
)
async def metrics(request: Request) -> Response:
    """With a token for all tasks: how many reports come, and when, is nobody else's business."""
    check_token(request, "analyse", None)
    text = request.app.state.metrics.text(collector_of(request))
    return Response(text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
