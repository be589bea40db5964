"""The collector itself, without HTTP: tasks, their store, the thread that writes and the one that mines."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bosket.errors import BosketError, DataError, ParameterError
from bosket.plan import Plan
from bosket.reports import Reports
from bosket.service.access import Access, new_token
from bosket.service.calendar import Calendar
from bosket.service.periods import calendar_text
from bosket.service.phases import refined_plan
from bosket.service.results import REST, RunningResults, reports_of
from bosket.service.settings import SecondPhase, ServiceSettings
from bosket.service.signing import load_or_make, read_secret, write_secret
from bosket.service.store import ReportStore, shuffled
from bosket.service.submissions import PhaseState, SealedBatch, StoredRows, Submission
from bosket.service.tasks import ServedTask, served
from bosket.service.writer import Writer

logger = logging.getLogger(__name__)
KEY = "signing.key"
ADMIN = "admin.token"


class Collector:
    """Everything that routes ask for.  Methods that change something are run by the writing thread."""

    def __init__(self, settings: ServiceSettings, *, rest: float = REST) -> None:
        """``rest`` is how many times as long as a picture took the thread of results rests after it."""
        self.settings = settings
        settings.folder.mkdir(parents=True, exist_ok=True)
        self.key = load_or_make(settings.folder / KEY)
        self.store = ReportStore(settings.store)
        try:
            self.access = Access(self.store)
            self.tasks: dict[str, ServedTask] = {}
            self._open_tasks()
            self._make_admin(settings.folder / ADMIN)
        except BaseException:
            self.store.close()
            raise
        self.results = RunningResults(rest=rest)
        self._refining: set[str] = set()
        self._refining_lock = threading.Lock()
        for task in self.tasks.values():
            self._load(task)
        self.writer = Writer(self.store, self._on_durable)
        self._calendar = Calendar(self._left, lambda: self.writer.post(self.close_due))

    def _open_tasks(self) -> None:
        for task in self.settings.tasks:
            calendar = calendar_text(task.periods)
            known = self.store.phases(task.id)
            found = served(task, known or [PhaseState(1, task.plan.json, is_closed=False, calendar=calendar)], self.key)
            if not known:  # of others there are reports, which nobody could have otherwise
                _check_promise(found)
                self.store.add_phase(task.id, task.plan.json, calendar=calendar)
            self.tasks[task.id] = found
            if self.store.phases(task.id)[0].calendar != calendar:  # it has more periods, or was not kept so far
                self.store.keep_calendar(task.id, calendar)

    def _make_admin(self, path: Path) -> None:
        """The first admin token, in a file that only the owner reads, and there before the store knows it.

        One in a file of which the store knows nothing, be it that a kill came between or that the store is a new one,
        is made known to it: else nobody could administer it.  One that was revoked is not: another takes its place.
        """
        self.made_admin = False
        if self.access.has_admin:
            return
        if path.exists() and self.access.is_revoked(_admin_in(path)):
            path.unlink()
        if not path.exists():
            self.made_admin = True
            write_secret(path, f"{new_token()}\n".encode())
        self.access.adopt(_admin_in(path), "admin")

    def _load(self, task: ServedTask) -> None:
        self.results.open(task.settings, task.plans, is_closed=task.is_closed)
        for phase in range(1, task.phase + 1):
            for stored in self.store.stored(task.settings.id, phase):
                self.results.add(task.settings.id, phase, stored)

    def _on_durable(self, taken: Sequence[Submission]) -> None:
        """Count what was written, and seal a batch that is full."""
        groups: dict[tuple[str, int], list[Submission]] = {}
        for one in taken:
            groups.setdefault((one.task, one.phase), []).append(one)
        for (name, phase), those in groups.items():
            for one in those:
                if one.rows is not None:
                    self.results.add(name, phase, StoredRows(one.rows, one.chance))
        for name, phase in groups:  # once all are counted: sealing may find the disk full
            if self.store.n_open(name, phase) >= self.tasks[name].settings.batch_size:
                self.store.seal(name, phase)

    def _left(self) -> float | None:
        """Seconds until a task closes by itself, less than 0 where it should have; None where none will."""
        times = [task.settings.closes for task in self.tasks.values() if not task.is_closed]
        coming = [time for time in times if time is not None]
        return (min(coming) - datetime.now(UTC)).total_seconds() if coming else None

    # run by the writing thread

    def close_task(self, name: str) -> None:
        """Take no more reports; what is open is sealed, and all is shown."""
        task = self.tasks[name]
        self.store.close_phase(name)
        self.tasks[name] = served(task.settings, self.store.phases(name), self.key)
        self.store.seal(name, task.phase, least=task.settings.min_batch)
        self.results.finish(name)

    def close_due(self) -> None:
        """Close the tasks whose time is over: else what is open would stay so, and results would never be whole."""
        for name, task in list(self.tasks.items()):
            if not task.is_closed and not task.is_open():
                self.close_task(name)

    def open_second_phase(self, name: str, second: Plan, *, was_closed: bool) -> None:
        """Close the first phase, and serve the plan of the second, signed; refused where it was closed meanwhile."""
        task = self.tasks[name]
        self._check_first(task)
        if task.is_closed and not was_closed:
            raise DataError("The task was closed while the questions of its second phase were made.")
        self.store.seal(name, 1, least=task.settings.min_batch)
        self.store.add_phase(name, second.json)
        self.tasks[name] = served(task.settings, self.store.phases(name), self.key)
        self.results.open(task.settings, self.tasks[name].plans, is_closed=False)

    def subtract(self, name: str, batch: str) -> int | None:
        """Take a sealed batch away for good; how many reports it had, None where there is none."""
        found = self.store.subtract(name, batch)
        if found is None:
            return None
        phase, stored = found
        self.results.take_away(name, phase, stored)
        return len(stored.rows)

    # read

    def second_plan(self, name: str) -> Plan:
        """The questions of a second phase, made by the answers of the first so far.

        A law is fitted for it, which may take minutes: the writing thread has submissions to take meanwhile.  Who asks
        again in that time, as where a proxy did not wait, is refused: each would take as much memory, and a thread.
        """
        task = self.tasks[name]
        how = self._check_first(task)
        with self._refining_lock:
            if name in self._refining:
                raise DataError("The questions of the second phase are being made.")
            self._refining.add(name)
        try:
            first = self.reports(name, 1)
            if first.n_records < task.settings.min_batch:
                raise DataError(f"A second phase needs the answers of at least {task.settings.min_batch} people.")
            return refined_plan(first, how)
        finally:
            self._refining.discard(name)

    def _check_first(self, task: ServedTask) -> SecondPhase:
        """Refuse a task that has no second phase, or is past its first one; how the second is made."""
        if task.settings.second is None:
            raise DataError("The task has no second phase.")
        if task.phase != 1:
            raise DataError("The second phase of the task is open already, or over.")
        return task.settings.second

    def batches(self, name: str) -> list[SealedBatch]:
        return self.store.batches(name)

    def seal_for_export(self, name: str, phase: int) -> None:
        """Seal what is open, if it is a batch: so two exports differ by one at least.  Run by the writing thread."""
        least = self.tasks[name].settings.min_batch
        if self.store.n_open(name, phase) >= least:
            self.store.seal(name, phase)

    def reports(self, name: str, phase: int, *, only_sealed: bool = False) -> Reports:
        """All reports of a phase, or those in sealed batches, shuffled as a whole."""
        parts = list(self.store.stored(name, phase, only_sealed=only_sealed))
        together = reports_of(self.tasks[name].plans[phase - 1], parts)
        payload = together.plan.channel.payload
        rows = shuffled(payload.to_rows(together.batch))
        return Reports(together.plan, payload.from_rows(rows), randomness=together.randomness)

    def stop(self) -> None:
        """Write what waits, seal what is large enough, and let go of the store."""
        self._calendar.stop()
        self.writer.stop()
        for name, task in self.tasks.items():
            if self.store.n_open(name, task.phase) >= task.settings.min_batch:
                self.store.seal(name, task.phase)
        self.results.stop()
        self.store.close()


def _check_promise(task: ServedTask) -> None:
    """Work out what people are told, and refuse a plan of which nothing can be promised before its task is opened."""
    try:
        task.document()
    except BosketError as problem:
        raise ParameterError(
            f"The 'plan' of the task {task.settings.id} must have a promise. {problem}",
            parameter="plan",
            value=None,
            hint=problem.hint,
        ) from None


def _admin_in(path: Path) -> str:
    return read_secret(path).decode("ascii", "replace").strip()
