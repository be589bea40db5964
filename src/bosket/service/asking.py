"""What every route asks first: which task, and whether a token allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Path, Request

from bosket.errors import BosketError
from bosket.service.access import Scope as TokenScope
from bosket.service.collector import Collector
from bosket.service.problems import Refusal
from bosket.service.store import StoreFullError, StoreLostError
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


async def done(request: Request, job: Callable[[], Any]) -> Any:
    """Run a job in the writing thread; what it refuses, and what the store says, is told."""
    return await _told(collector_of(request).writer.run(job))


async def worked_out(job: Callable[[], Any]) -> Any:
    """The same of a job that only reads, and may take long, in a thread of its own."""
    return await _told(asyncio.to_thread(job))


async def _told(doing: Awaitable[Any]) -> Any:
    try:
        return await doing
    except BosketError as error:
        raise Refusal(409, "state", str(error)) from None
    except StoreFullError:
        raise Refusal(507, "full", "There is no room on the disk.") from None
    except StoreLostError:
        raise Refusal(503, "store", "The store does not answer.", headers={"Retry-After": "5"}) from None
