"""Results as reports arrive: a thread adds what came, mines again when enough is new, and keeps the picture.

Nothing is shown of fewer than ``min_batch`` reports, and two pictures differ by at least as many, but for the last one
of a task that closed, or the one after a batch was taken away: who watches the results learns of a few reports no more
than their own privacy allows, and of the order of many nothing.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bosket.collection import Collection
from bosket.errors import BosketError, hushed
from bosket.plan import Plan
from bosket.progress import LevelProgress
from bosket.reports import Reports
from bosket.service.pictures import picture_of
from bosket.service.settings import TaskSettings
from bosket.service.submissions import StoredRows

logger = logging.getLogger(__name__)
GROWTH = 0.02
"""The least share of new reports for which all is mined again."""
_PATIENCE = 10.0  # seconds
REST = 9.0
"""After a picture the thread rests for so many times as long as it took: it takes a tenth of a core at most."""
AGAIN = 10.0
"""Seconds after which what failed, as for want of memory, is tried again."""


def reports_of(plan: Plan, stored: Sequence[StoredRows]) -> Reports:
    """Reports as they are kept, under their plan."""
    payload = plan.channel.payload
    rows = np.concatenate([np.zeros((0, payload.width), np.uint8), *(part.rows for part in stored)])
    notes = [part.chance for part in stored if part.chance != "secure"]
    return Reports(plan, payload.from_rows(rows), randomness=notes[0] if notes else "secure")


class _StoppedError(Exception):
    """The collector ends: no picture is needed any more."""


@dataclass
class _Change:
    phase: int
    stored: StoredRows
    is_taken_away: bool = False


@dataclass(frozen=True)
class _Round:
    """What one picture is made of, and what was to be shown before it was begun."""

    changes: list[_Change]
    plans: tuple[Plan, ...]
    is_final: bool
    is_enough: bool
    n_changed: int
    is_owed: bool
    n_shown: int


@dataclass
class _Running:
    """What is known of one task."""

    settings: TaskSettings
    plans: tuple[Plan, ...]
    changes: deque[_Change] = field(default_factory=deque)
    collections: list[Collection] = field(default_factory=list)
    n_reports: int = 0
    n_shown: int = 0
    is_final: bool = False
    n_changed: int = 0
    """Reports that came or were taken away since what is shown."""
    is_owed: bool = False
    """Whether a picture is to be made however little is new: a batch was taken away, or the task has closed."""
    picture: bytes | None = None
    rests_until: float = 0.0
    has_failed: bool = False
    """Whether the last picture could not be made for a reason that may pass."""

    @property
    def is_due(self) -> bool:
        """Whether a new picture is to be made, as soon as the thread has rested."""
        if self.n_reports < self.settings.min_batch:
            return self.picture is not None and self.n_changed > 0  # a batch was taken away: nothing may be shown
        if self.is_owed or (self.is_final and self.n_changed):
            return True
        return self.n_changed >= self.settings.min_batch and self.n_changed >= GROWTH * self.n_shown

    def is_rested(self, now: float) -> bool:
        return self.rests_until <= now or (self.is_final and not self.has_failed)

    def begin(self) -> _Round:
        """Take all that came, for a new picture."""
        is_enough = self.n_reports >= self.settings.min_batch
        before = self.n_changed, self.is_owed, self.n_shown
        found = _Round(list(self.changes), self.plans, self.is_final, is_enough, *before)
        self.changes.clear()
        self.n_changed, self.is_owed, self.n_shown = 0, False, self.n_reports
        return found

    def end(self, done: _Round, picture: bytes | None, *, has_failed: bool) -> None:
        """Show the picture; where it failed, what it was of is due still, and what was not counted is put back."""
        self.picture, self.has_failed = picture, has_failed
        self.changes.extendleft(reversed(done.changes))
        if has_failed:
            self.n_changed, self.is_owed = self.n_changed + done.n_changed, self.is_owed or done.is_owed
            self.n_shown = done.n_shown


class RunningResults:
    """Pictures of all tasks, each made in one thread and then only read."""

    def __init__(self, *, rest: float = REST) -> None:
        self._rest = rest
        self._tasks: dict[str, _Running] = {}
        self._wake = threading.Condition()
        self._is_stopped = False
        self._is_working = False
        self._thread = threading.Thread(target=self._work, name="bosket-results", daemon=True)
        self._thread.start()

    def open(self, settings: TaskSettings, plans: tuple[Plan, ...], *, is_closed: bool) -> None:
        """Begin with a task, or go on with its next phase."""
        with self._wake:
            running = self._tasks.setdefault(settings.id, _Running(settings, plans))
            running.plans, running.is_final = plans, is_closed
            self._wake.notify_all()

    def add(self, task: str, phase: int, stored: StoredRows) -> None:
        self._change(task, _Change(phase, stored))

    def take_away(self, task: str, phase: int, stored: StoredRows) -> None:
        self._change(task, _Change(phase, stored, is_taken_away=True))

    def _change(self, task: str, change: _Change) -> None:
        with self._wake:
            running = self._tasks[task]
            running.changes.append(change)
            running.n_reports += -len(change.stored.rows) if change.is_taken_away else len(change.stored.rows)
            running.n_changed += len(change.stored.rows)
            running.is_owed |= change.is_taken_away  # what is shown is of reports that nobody believes any more
            if running.is_due:
                self._wake.notify_all()

    def finish(self, task: str) -> None:
        """Show all that there is: no more will come in this phase."""
        with self._wake:
            self._tasks[task].is_final = self._tasks[task].is_owed = True
            self._wake.notify_all()

    def n_reports(self, task: str) -> int:
        """Reports of all phases."""
        return self._tasks[task].n_reports

    def picture(self, task: str) -> bytes | None:
        """The JSON of the present results; None where there are too few reports."""
        return self._tasks[task].picture

    def settle(self, timeout: float | None = None) -> None:
        """Wait until nothing is due, or so many seconds."""
        with self._wake:
            self._wake.wait_for(
                lambda: not self._is_working and not any(one.is_due for one in self._tasks.values()), timeout
            )

    def stop(self) -> None:
        with self._wake:
            self._is_stopped = True
            self._wake.notify_all()
        self._thread.join(_PATIENCE)  # what it makes is lost with it, and made again at the next start

    def _go_on(self, progress: LevelProgress) -> None:
        if self._is_stopped:
            raise _StoppedError

    def _work(self) -> None:
        while True:
            with self._wake:
                self._is_working = False
                self._wake.notify_all()
                running = self._next()
                if running is None:
                    return
                self._is_working = True
                begun = running.begin()
            started = time.monotonic()
            try:
                picture, has_failed = self._made(running, begun)
            except _StoppedError:
                return
            with self._wake:
                running.end(begun, picture, has_failed=has_failed)
                ended = time.monotonic()
                rest = self._rest * (ended - started)
                running.rests_until = ended + (max(AGAIN, rest) if has_failed else rest)

    def _made(self, running: _Running, begun: _Round) -> tuple[bytes | None, bool]:
        """The JSON of a new picture, if there is enough for one, and whether it failed and may succeed later."""
        try:
            with hushed():
                _apply(running, begun.plans, begun.changes)  # which leaves what could not be counted
                if not begun.is_enough:
                    return None, False
                picture = picture_of(
                    running.settings, running.collections, is_final=begun.is_final, on_progress=self._go_on
                )
                return json.dumps(picture, ensure_ascii=False, allow_nan=False).encode(), False
        except _StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - the thread must live; the old picture would be of other reports
            logger.warning("results could not be made: %s", type(error).__name__)
            is_refused = isinstance(error, BosketError)
            told = {"problem": str(error) if is_refused else "The results could not be made."}
            return json.dumps(told, ensure_ascii=False).encode(), bool(begun.changes) or not is_refused

    def _next(self) -> _Running | None:
        """Wait for a task whose picture is due and that has rested, or is over; None at the end."""
        while not self._is_stopped:
            now = time.monotonic()
            due = [one for one in self._tasks.values() if one.is_due]
            for one in due:
                if one.is_rested(now):
                    return one
            self._wake.wait(min((one.rests_until - now for one in due), default=None))
        return None


def _apply(running: _Running, plans: tuple[Plan, ...], changes: list[_Change]) -> None:
    """Bring the collections up to date: what came together in one batch, then what was taken away.

    ``changes`` loses those that are counted: what could not be, as where memory ran out, is counted the next time.
    """
    while len(running.collections) < len(plans):
        running.collections.append(Collection(plans[len(running.collections)]))
    for phase, collection in enumerate(running.collections, 1):
        for is_taken_away in (False, True):
            those = [one for one in changes if one.phase == phase and one.is_taken_away == is_taken_away]
            if not those:
                continue
            reports = reports_of(collection.plan, [one.stored for one in those])
            if is_taken_away:
                collection.subtract(reports)
            else:
                collection.append(reports, allow_duplicates=True)
            counted = set(map(id, those))
            changes[:] = [one for one in changes if id(one) not in counted]
