"""One thread that writes: submissions that wait are committed together, and one sync of the disk serves them all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bosket.service.store import ReportStore, StoreFullError, StoreLostError
from bosket.service.submissions import Submission, SubmissionOutcome, SubmissionVerdict

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")
_ACCEPTED = SubmissionVerdict.ACCEPTED
MOST_GROUP = 1024
"""Submissions of one transaction."""
MOST_GROUP_BYTES = 16 << 20
LINGER = 0.003
"""Seconds to wait for more where several came together before."""


class BusyError(Exception):
    """More is waiting to be written than is held in memory."""


@dataclass
class _Waiting:
    """Somebody who waits for a submission, or for another job, to be done."""

    loop: asyncio.AbstractEventLoop | None
    future: asyncio.Future[Any] | None
    submission: Submission | None = None
    job: Callable[[], Any] | None = None
    answer: Any = field(default=None)
    error: BaseException | None = field(default=None)


class Writer:
    """Takes submissions from event loops and commits them in groups, in the order in which they came.

    ``on_durable`` hears of accepted submissions once they are on disk.  Jobs, such as closing a task, run in the same
    thread, between groups: nothing is written beside them.
    """

    def __init__(
        self, store: ReportStore, on_durable: Callable[[Sequence[Submission]], None], *, most_waiting: int = 256 << 20
    ) -> None:
        self._store = store
        self._on_durable = on_durable
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._most = most_waiting
        self._bytes = 0
        self._lock = threading.Lock()
        self._ahead: _Waiting | None = None
        self._n_before = 0
        self._thread = threading.Thread(target=self._work, name="bosket-writer", daemon=True)
        self._thread.start()

    async def submit(self, submission: Submission) -> SubmissionOutcome:
        """Wait until a submission is on disk, or refused."""
        with self._lock:
            if self._bytes + len(submission.body) > self._most:
                raise BusyError
            self._bytes += len(submission.body)
        outcome = await self._wait(submission=submission)
        assert isinstance(outcome, SubmissionOutcome)
        return outcome

    async def run(self, job: Callable[[], Answer]) -> Answer:
        """Run a job in the writing thread, after all that came before."""
        answer: Answer = await self._wait(job=job)
        return answer

    def post(self, job: Callable[[], Any]) -> None:
        """Run a job in the writing thread; nobody waits for it."""
        self._queue.put(_Waiting(None, None, job=job))

    async def _wait(self, **what: Any) -> Any:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._queue.put(_Waiting(loop, future, **what))
        return await future

    def stop(self) -> None:
        """Write all that waits, and end."""
        self._queue.put(None)
        self._thread.join()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _work(self) -> None:
        is_last = False
        while not is_last:
            group, is_last = self._next()
            if group:
                taken = self._do(group)
                for loop in {one.loop for one in group if one.loop is not None}:
                    _tell(loop, [one for one in group if one.loop is loop])
                self._durable(taken)

    def _next(self) -> tuple[list[_Waiting], bool]:
        """What waits: submissions up to a job, or one job."""
        group: list[_Waiting] = []
        n_bytes = 0
        if self._ahead is not None:
            first, self._ahead = self._ahead, None
        else:
            found = self._queue.get()
            if found is None:
                return [], True
            first = found
        group.append(first)
        if first.job is not None:
            return group, False
        if self._n_before > 1:  # others are about to come: one commit for all of them costs less than two
            time.sleep(LINGER)
        while len(group) < MOST_GROUP and n_bytes < MOST_GROUP_BYTES:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return group, True
            if following.job is not None:
                self._ahead = following
                break
            group.append(following)
            n_bytes += len(following.submission.body) if following.submission else 0
        self._n_before = len(group)
        return group, False

    def _do(self, group: Sequence[_Waiting]) -> list[Submission]:
        """Do what is waited for; the submissions that were accepted, now or before, and that nobody was told of."""
        submissions = [one.submission for one in group if one.submission is not None]
        taken: list[Submission] = []
        outcomes: Sequence[Any] = ()
        try:
            with contextlib.suppress(*(() if submissions else (StoreFullError, StoreLostError))):
                taken = self._settled()  # a job goes on without: whether the store answers is what it may ask
            outcomes = [group[0].job()] if group[0].job is not None else self._store.commit(submissions)
        except BaseException as error:  # noqa: BLE001 - the thread must live, and whoever waits must hear
            if submissions:
                logger.warning("a group of %d submissions was not written: %s", len(group), type(error).__name__)
            for one in group:
                one.error = error
        else:
            for one, outcome in zip(group, outcomes, strict=True):
                one.answer = outcome
            if submissions:
                taken += [one for one, how in zip(submissions, outcomes, strict=True) if how.verdict is _ACCEPTED]
        with self._lock:
            self._bytes -= sum(len(one.body) for one in submissions)
        return taken

    def _settled(self) -> list[Submission]:
        """What was committed after all, though its commit failed: a connection may break before it is answered.

        Who sent it hears so when they send it again.  Asked once the store answers, before the next group is judged.
        """
        found = self._store.written(self._store.in_doubt) if self._store.in_doubt else []
        self._store.in_doubt = []
        return found

    def _durable(self, taken: Sequence[Submission]) -> None:
        if not taken:
            return
        try:
            self._on_durable(taken)
        except Exception as error:  # noqa: BLE001 - reports are on disk: what comes after must not deny it
            logger.warning("after writing: %s", type(error).__name__)


def _tell(loop: asyncio.AbstractEventLoop, group: Sequence[_Waiting]) -> None:
    def tell() -> None:
        for one in group:
            if one.future is None or one.future.done():  # whoever waited went away
                continue
            if one.error is not None:
                one.future.set_exception(one.error)
            else:
                one.future.set_result(one.answer)

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:  # the loop has ended
        logger.debug("nobody waits any more")
