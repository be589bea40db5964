"""What may be read: a task with its signed plan, results from memory, and reports as Parquet."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from bosket.service.asking import TaskId, check_token, collector_of, done, task_of
from bosket.service.problems import Refusal, documented

PARQUET = "application/vnd.apache.parquet"
router = APIRouter()


class SignedTask(BaseModel):
    """``signed`` is JSON text; ``signature`` is Ed25519 over ``bosket-task-v1`` and a line feed, then that text."""

    signed: str
    signature: str
    key: str


class TaskList(BaseModel):
    tasks: list[str]


@router.get("/v1/tasks", tags=["task"], summary="List the tasks", operation_id="list_tasks", response_model=TaskList)
async def tasks(request: Request) -> TaskList:
    return TaskList(tasks=list(collector_of(request).tasks))


@router.get(
    "/v1/tasks/{task_id}",
    tags=["task"],
    summary="A task: its signed plan and its card",
    operation_id="get_task",
    response_model=SignedTask,
    responses=documented(404, 422),
)
async def task(task_id: TaskId, request: Request) -> Response:
    return Response(task_of(collector_of(request), task_id).document(), media_type="application/json")


@router.get(
    "/v1/tasks/{task_id}/results",
    tags=["collect"],
    summary="Itemsets and rules with intervals",
    operation_id="get_results",
    responses={
        200: {"content": {"application/json": {"schema": {"type": "object"}}}},
        **documented(401, 403, 404, 409, 422),
    },
    openapi_extra={"security": [{"analyse": []}]},
)
async def results(task_id: TaskId, request: Request) -> Response:
    check_token(request, "analyse", task_id)
    collector = collector_of(request)
    least = task_of(collector, task_id).settings.min_batch
    picture = collector.results.picture(task_id)
    if picture is None:
        if collector.results.n_reports(task_id) >= least:
            raise Refusal(409, "pending", "The first results are being made.", headers={"Retry-After": "1"})
        raise Refusal(409, "batch-size", f"There are too few reports: nothing is shown of fewer than {least}.")
    return Response(picture, media_type="application/json")


@router.get(
    "/v1/tasks/{task_id}/reports",
    tags=["collect"],
    summary="All reports of a phase, as a Parquet file",
    operation_id="export_reports",
    response_class=Response,
    responses={
        200: {"content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}}},
        **documented(401, 403, 404, 409, 422, 503, 507),
    },
    openapi_extra={"security": [{"analyse": []}]},
)
async def export(task_id: TaskId, request: Request, phase: Annotated[int | None, Query(ge=1, le=2)] = None) -> Response:
    check_token(request, "analyse", task_id)
    collector = collector_of(request)
    found = task_of(collector, task_id)
    which = found.phase if phase is None else phase
    if which > found.phase:
        raise Refusal(404, "no-phase", "There is no such phase yet.")

    await done(request, lambda: collector.seal_for_export(task_id, which))

    def parquet() -> bytes | None:
        reports = collector.reports(task_id, which, only_sealed=True)
        if reports.n_records < found.settings.min_batch:
            return None
        with tempfile.TemporaryDirectory(prefix="bosket-") as folder:
            path = Path(folder) / "reports.parquet"
            reports.write(path)
            return path.read_bytes()

    content = await asyncio.to_thread(parquet)
    if content is None:
        least = found.settings.min_batch
        raise Refusal(409, "batch-size", f"There are too few reports: nothing is handed out of fewer than {least}.")
    headers = {"Content-Disposition": f'attachment; filename="{task_id}-{which}.parquet"'}
    return Response(content, media_type=PARQUET, headers=headers)
