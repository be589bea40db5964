"""What every route asks first: which task, and whether a token allows it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request

from bosket.service.access import Scope as TokenScope
from bosket.service.collector import Collector
from bosket.service.problems import Refusal
from bosket.service.tasks import ServedTask

TaskId = Annotated[str, Path(max_length=64, description="The id of a task", examples=["shop"])]


def collector_of(request: Request) -> Collector:
    found = request.app.state.collector
    assert isinstance(found, Collector)
    return found


def task_of(collector: Collector, name: str) -> ServedTask:
    task = collector.tasks.get(name)
    if task is None:
        raise Refusal(404, "no-task", "There is no such task.")
    return task


def check_token(request: Request, scope: TokenScope, task: str | None) -> None:
    """Refuse a request whose token does not allow it: 401 where none is known, 403 where it is for something else."""
    allowed = collector_of(request).access.allows(request.headers.get("authorization"), scope=scope, task=task)
    if allowed is None:
        raise Refusal(401, "token", "A token is needed.", headers={"WWW-Authenticate": 'Bearer realm="bosket"'})
    if not allowed:
        raise Refusal(403, "scope", "The token is not for this.")
