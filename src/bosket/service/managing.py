"""What an administrator does: close a task or its phase, list and subtract batches, issue and revoke tokens."""

from __future__ import annotations

import json
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bosket.service.access import MOST_AT_ONCE
from bosket.service.asking import TaskId, check_token, collector_of, done, task_of, worked_out
from bosket.service.limits import body_of
from bosket.service.problems import Refusal, documented
from bosket.service.tasks import ServedTask

router = APIRouter(tags=["admin"])
_ADMIN: dict[str, Any] = {"security": [{"admin": []}]}
_MOST_BODY = 1 << 12


class TaskState(BaseModel):
    """Where a task is."""

    task: str
    phase: int
    is_open: bool


class BatchEntry(BaseModel):
    batch: str
    phase: int
    day: str
    n_reports: int


class BatchList(BaseModel):
    batches: list[BatchEntry]


class Subtracted(BaseModel):
    subtracted: int


class TokenRequest(BaseModel):
    """``one-time`` tokens may be many at once; the others come one by one.

    Those of a task with unlinked periods are for one period, named by its first day: the present one unless told.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    scope: Literal["submit", "analyse", "admin", "one-time"]
    number: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    period: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")


class TokenList(BaseModel):
    """Tokens in the clear: they are told once."""

    tokens: list[str]


async def _wanted(request: Request) -> TokenRequest:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "content-type", "The body must be application/json.")
    try:
        return TokenRequest.model_validate_json(await body_of(request, _MOST_BODY))
    except ValidationError:
        raise Refusal(422, "parameters", "The body is not what the API's document says.") from None


def _period(task: ServedTask, wanted: TokenRequest) -> str | None:
    """The period that one-time tokens are for; None where they are for all, or the task has none."""
    periods = task.settings.periods
    if periods is None or periods.is_linked or wanted.scope != "one-time":
        if wanted.period is not None:
            raise Refusal(422, "period", "Only one-time tokens of a task with unlinked periods are for one.")
        return None
    period = wanted.period or task.period() or periods.name(0)
    assert period is not None
    if periods.number_of(period) is None:
        raise Refusal(422, "period", "The task has no such period; it is named by its first day.")
    return period


def _state(request: Request, task_id: str) -> TaskState:
    task = collector_of(request).tasks[task_id]
    return TaskState(task=task_id, phase=task.phase, is_open=task.is_open())


@router.post(
    "/v1/tasks/{task_id}/close",
    summary="Take no more reports",
    operation_id="close_task",
    response_model=TaskState,
    responses=documented(401, 403, 404, 409, 422, 503, 507),
    openapi_extra=_ADMIN,
)
async def close(task_id: TaskId, request: Request) -> TaskState:
    check_token(request, "admin", task_id)
    collector = collector_of(request)
    task_of(collector, task_id)
    await done(request, lambda: collector.close_task(task_id))
    return _state(request, task_id)


@router.post(
    "/v1/tasks/{task_id}/phase",
    summary="Close the first phase and open the second",
    operation_id="open_second_phase",
    response_model=TaskState,
    responses=documented(401, 403, 404, 409, 422, 503, 507),
    openapi_extra=_ADMIN,
)
async def second_phase(task_id: TaskId, request: Request) -> TaskState:
    check_token(request, "admin", task_id)
    collector = collector_of(request)
    was_closed = task_of(collector, task_id).is_closed
    second = await worked_out(lambda: collector.second_plan(task_id))
    await done(request, lambda: collector.open_second_phase(task_id, second, was_closed=was_closed))
    return _state(request, task_id)


@router.get(
    "/v1/tasks/{task_id}/batches",
    summary="The sealed batches",
    operation_id="list_batches",
    response_model=BatchList,
    responses=documented(401, 403, 404, 409, 422, 503, 507),
    openapi_extra=_ADMIN,
)
async def batches(task_id: TaskId, request: Request) -> BatchList:
    check_token(request, "admin", task_id)
    collector = collector_of(request)
    task_of(collector, task_id)
    found = await done(request, lambda: collector.batches(task_id))
    return BatchList(
        batches=[BatchEntry(batch=one.id, phase=one.phase, day=one.day or "", n_reports=one.n_reports) for one in found]
    )


@router.delete(
    "/v1/tasks/{task_id}/batches/{batch}",
    summary="Take a sealed batch away for good",
    operation_id="subtract_batch",
    response_model=Subtracted,
    responses=documented(401, 403, 404, 409, 422, 503, 507),
    openapi_extra=_ADMIN,
)
async def subtract(task_id: TaskId, batch: str, request: Request) -> Subtracted:
    check_token(request, "admin", task_id)
    collector = collector_of(request)
    task_of(collector, task_id)
    if not batch.isalnum() or len(batch) != 32 or not batch.isascii():
        raise Refusal(404, "no-batch", "There is no such batch.")
    found = await done(request, lambda: collector.subtract(task_id, batch))
    if found is None:
        raise Refusal(404, "no-batch", "There is no such batch.")
    return Subtracted(subtracted=found)


@router.post(
    "/v1/tasks/{task_id}/tokens",
    status_code=201,
    summary="Issue tokens",
    operation_id="issue_tokens",
    response_model=TokenList,
    responses=documented(401, 403, 404, 408, 409, 413, 415, 422, 503, 507),
    openapi_extra=_ADMIN
    | {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TokenRequest"}}},
        }
    },
)
async def issue(task_id: TaskId, request: Request) -> Response:
    check_token(request, "admin", task_id)  # before a byte of the body is read, which as a parameter comes first
    collector = collector_of(request)
    task = task_of(collector, task_id)
    access = collector.access
    wanted = await _wanted(request)
    period = _period(task, wanted)

    def job() -> list[str]:
        if wanted.scope == "one-time":
            return access.issue_one_time(task_id, wanted.number, period=period)
        return [access.issue(wanted.scope, task=task_id)]

    if wanted.scope != "one-time" and wanted.number != 1:
        raise Refusal(422, "number", "Only one-time tokens are issued several at once.")
    tokens = await done(request, job)
    return Response(json.dumps({"tokens": tokens}), 201, media_type="application/json")


@router.delete(
    "/v1/tokens/{name}",
    status_code=204,
    summary="Revoke a token by the part before its point",
    operation_id="revoke_token",
    response_class=Response,
    responses=documented(401, 403, 404, 409, 422, 503, 507),
    openapi_extra=_ADMIN,
)
async def revoke(name: str, request: Request) -> Response:
    check_token(request, "admin", None)
    access = collector_of(request).access
    if not (name.isascii() and name.isalnum()) or not await done(request, lambda: access.revoke(name)):
        raise Refusal(404, "no-token", "There is no such token.")
    return Response(status_code=204)
