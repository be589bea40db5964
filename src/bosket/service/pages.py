"""Pages for people and analysts, health, readiness and metrics."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bosket.service.asking import check_token, collector_of, task_of
from bosket.service.problems import Refusal, documented

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    "page.html": "text/html; charset=utf-8",
    "page.mjs": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "bosket.mjs": "text/javascript; charset=utf-8",
    "dashboard.html": "text/html; charset=utf-8",
    "dashboard.mjs": "text/javascript; charset=utf-8",
    "dashboard.css": "text/css; charset=utf-8",
}
"""The files that are served, and nothing else."""
router = APIRouter(include_in_schema=False)


@cache
def content_of(folder: Path, name: str) -> bytes | None:
    path = folder / name
    return path.read_bytes() if path.is_file() else None


def _file(name: str) -> Response:
    content = content_of(STATIC, name) if name in MEDIA_TYPES else None
    if content is None:
        raise Refusal(404, "not-found", "There is nothing at this address.")
    return Response(content, headers={"Content-Type": MEDIA_TYPES[name], "Cache-Control": "no-cache"})


@router.get("/static/{name}")
async def static(name: str) -> Response:
    return _file(name)


@router.get("/favicon.ico")
async def icon() -> Response:
    return Response(status_code=204)


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


@health.get("/ready", summary="Whether reports can be taken", operation_id="ready", responses=documented(503))
async def ready(request: Request) -> dict[str, str]:
    collector = collector_of(request)
    if not collector.writer.is_alive or not await collector.writer.run(collector.store.ping):
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
