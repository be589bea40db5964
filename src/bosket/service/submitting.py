"""``POST /v1/tasks/{id}/reports``: reports come in, and are acknowledged once they are on disk."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

from bosket.errors import BosketError, PlanMismatchError
from bosket.reports import Reports
from bosket.service.access import digest_of
from bosket.service.asking import check_token, collector_of, task_of
from bosket.service.collector import Collector
from bosket.service.limits import held_body
from bosket.service.problems import Refusal, documented
from bosket.service.store import StoreFullError, StoreLostError
from bosket.service.submissions import Submission, SubmissionOutcome, SubmissionVerdict
from bosket.service.tasks import ServedTask
from bosket.service.writer import BusyError

MEDIA_TYPE = "application/vnd.bosket.reports"
_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_LARGE = 1 << 16  # bytes from which on a body is read in another thread
PATH = "/v1/tasks/{task_id}/reports"


class Accepted(BaseModel):
    """How many reports are on disk."""

    accepted: int


def _header(name: str, pattern: str, text: str, *, required: bool = False) -> dict[str, Any]:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": required, "description": text, "schema": schema}


def operation() -> dict[str, Any]:
    """The operation in the OpenAPI document; the route itself is a plain one, since it is asked most."""
    accepted = {"application/json": {"schema": {"$ref": "#/components/schemas/Accepted"}}}
    task = {"type": "string", "maxLength": 64}
    return {
        "tags": ["report"],
        "summary": "Submit reports",
        "operationId": "submit_reports",
        "parameters": [
            {"name": "task_id", "in": "path", "required": True, "description": "The id of a task", "schema": task},
            _header("Idempotency-Key", "^[0-9a-f]{32}$", "128 random bits that the client chose", required=True),
            _header("Bosket-Token", "^[A-Za-z0-9_-]{1,128}$", "A one-time token, where the task asks for one"),
        ],
        "requestBody": {
            "required": True,
            "description": "Reports in their wire form, one after the other",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
        "responses": {
            "201": {"description": "On disk", "content": accepted},
            "200": {"description": "Accepted before, under the same key", "content": accepted},
            **{
                str(status): answer
                for status, answer in documented(
                    400, 401, 403, 404, 408, 409, 410, 413, 415, 422, 429, 503, 507
                ).items()
            },
        },
        "security": [{}, {"submit": []}],
    }


async def submit(request: Request) -> Response:
    """Take the reports of one request."""
    task_id: str = request.path_params["task_id"]
    collector = collector_of(request)
    task = task_of(collector, task_id)
    headers = request.headers
    if headers.get("content-type") != MEDIA_TYPE or "content-encoding" in headers:
        raise Refusal(415, "content-type", f"The body must be {MEDIA_TYPE}, without an encoding.")
    key = headers.get("idempotency-key", "")
    if not _KEY.fullmatch(key):
        raise Refusal(400, "key", "The Idempotency-Key header must have 32 digits of hexadecimal, in small letters.")
    if task.settings.submit_token:
        check_token(request, "submit", task_id)
    token = _token_of(headers.get("bosket-token"), task)  # who has none takes neither room nor the turn of others
    limit = request.app.state.rates.get(task_id)
    if limit is not None and token is None:
        limit.check()
        limit.take()
    async with held_body(request, task.settings.max_body) as body:
        if limit is not None and token is not None:
            limit.check()
        submission, refusal = await _read(task, bytes.fromhex(key), body, token)
        outcome = await _written(collector, submission)
    if limit is not None and token is not None and outcome.verdict is SubmissionVerdict.ACCEPTED:
        limit.take()  # no sooner: only the store knows tokens, and made-up ones would take the turns of all others
    if outcome.verdict is SubmissionVerdict.REFUSED and refusal is not None:
        raise refusal
    return _answer(outcome)


def _token_of(value: str | None, task: ServedTask) -> bytes | None:
    """The digest of a one-time token, where the task asks for one; else none is looked at."""
    if task.settings.tokens != "one-time":
        return None
    if value is None:
        raise Refusal(
            401, "one-time-token", "This task needs a one-time token.", headers={"WWW-Authenticate": "Bosket-Token"}
        )
    if not _TOKEN.fullmatch(value):
        raise Refusal(403, "one-time-token", "This is no one-time token of the task.")
    return digest_of(value)


async def _read(task: ServedTask, key: bytes, body: bytes, token: bytes | None) -> tuple[Submission, Refusal | None]:
    """What to write; or only to look for, with what is wrong with it: it may have been accepted before."""
    name, phase = task.settings.id, task.phase
    if not task.is_open():
        closed = Refusal(410, "closed", "The task takes no more reports.")
        return Submission(name, phase, key, body, token=token), closed
    try:
        reports = await asyncio.to_thread(_decoded, task, body) if len(body) > _LARGE else _decoded(task, body)
    except Refusal as refusal:
        return Submission(name, phase, key, body, token=token), refusal
    budget = task.budget()
    if budget is not None and not budget.period:
        return Submission(name, phase, key, body, token=token), Refusal(409, "period", "No period of the task is open.")
    rows = reports.plan.channel.payload.to_rows(reports.batch)
    return Submission(name, phase, key, body, rows, reports.randomness, token, budget), None


def _decoded(task: ServedTask, body: bytes) -> Reports:
    """The reports of a body under the task's plan, as few as a submission may bring."""
    try:
        reports = Reports.from_bytes(task.plan, body)
    except PlanMismatchError:
        raise Refusal(422, "plan", "The reports were made under another plan than the task's present one.") from None
    except BosketError:
        raise Refusal(422, "reports", "The body is not the bytes of reports of the task's plan.") from None
    if reports.is_simulation and not task.settings.simulation:  # one of them would be the note on those of all people
        raise Refusal(422, "simulated", "The reports say that they are simulated, and this task takes real ones.")
    if reports.tokens is not None:
        raise Refusal(422, "named", "The reports name their respondents, which this collector does not keep.")
    most = task.most_at_once
    if task.settings.tokens == "one-time" and reports.n_records > most:
        raise Refusal(422, "too-many", f"A token is for at most {most} reports at once, those of one person.")
    if not 1 <= reports.n_records <= most:
        kind, status = ("empty", 422) if not reports.n_records else ("too-large", 413)
        raise Refusal(status, kind, f"A submission must bring 1 to {most} reports.")
    return reports


async def _written(collector: Collector, submission: Submission) -> SubmissionOutcome:
    try:
        return await collector.writer.submit(submission)
    except StoreFullError:
        raise Refusal(
            507, "full", "There is no room to keep reports: nothing was taken. Send them again later."
        ) from None
    except StoreLostError:
        again = {"Retry-After": "5"}
        raise Refusal(
            503, "store", "The store does not answer: send them again, with the same key.", headers=again
        ) from None
    except BusyError:
        raise Refusal(429, "busy", "Too much is waiting to be written.", headers={"Retry-After": "1"}) from None


def _answer(outcome: SubmissionOutcome) -> Response:
    verdict = outcome.verdict
    if verdict in (SubmissionVerdict.ACCEPTED, SubmissionVerdict.REPEATED):
        status = 201 if verdict is SubmissionVerdict.ACCEPTED else 200
        return Response(b'{"accepted":%d}' % outcome.n_reports, status, media_type="application/json")
    if verdict is SubmissionVerdict.CONFLICT:
        raise Refusal(409, "conflict", "Another body was accepted under this key.")
    if verdict is SubmissionVerdict.SPENT:
        raise Refusal(403, "spent", "The one-time token is spent, or for this period.")
    if verdict is SubmissionVerdict.OTHER_PERIOD:
        raise Refusal(403, "other-period", "The one-time token is for another period of the task.")
    if verdict is SubmissionVerdict.UNKNOWN_TOKEN:
        raise Refusal(403, "one-time-token", "This is no one-time token of the task.")
    raise Refusal(410, "closed", "The task takes no more reports, or is in another phase.")
