"""Where reports are kept: submissions are committed in groups, and what a group holds is shuffled before it is written.

The reports of all submissions of a group go into one segment per task and phase, in a random order.  When enough of
them stand in open segments, these are put together, shuffled as a whole and written as one sealed batch.  So a sealed
batch says of a report neither which submission it came with, nor which others did, nor when, but for the day.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError

from bosket.counting.distinct_rows import ByteRows
from bosket.errors import DataError
from bosket.randomness import Secure
from bosket.service.engines import Hold, is_full, opened, parsed_url
from bosket.service.schema import ONE_TIME, PHASES, RECEIPTS, SEGMENTS, migrate
from bosket.service.submissions import (
    SECURE,
    PhaseState,
    SealedBatch,
    StoredRows,
    Submission,
    SubmissionOutcome,
    SubmissionVerdict,
    TokenState,
)


class StoreFullError(Exception):
    """There is no room on the disk: nothing was written."""


class StoreLostError(Exception):
    """The store does not answer: whether the last group was written is not known until it is asked again."""


class _OvertakenError(StoreLostError):
    """Rows that were read in a transaction were changed by another process before it wrote them."""


def shuffled(rows: ByteRows) -> ByteRows:
    """The rows in a random order: by 64 random bits each, of the secure source."""
    return rows[np.argsort(Secure().stream().words(len(rows)), kind="stable")]


class ReportStore:
    """The reports, receipts and phases of all tasks.  One thread at a time writes; others may read."""

    def __init__(self, url: str) -> None:
        self.url = parsed_url(url)
        self._writing = opened(self.url, writes=True)
        self._reading = opened(self.url, writes=False)
        self._hold: Hold | None = None
        self.in_doubt: list[Submission] = []
        """Of a group whose commit failed, what may have been written all the same."""
        try:
            with told():
                self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """Hold the store, bring its tables up to date, and read what is small."""
        self._hold = Hold(self.url, self._writing)
        with self._writing.begin() as connection:
            migrate(connection)
        with self._reading.begin() as connection:
            self._phases = _phases(connection)
            self._open = _open(connection)

    @property
    def writing(self) -> sa.Engine:
        return self._writing

    @property
    def reading(self) -> sa.Engine:
        return self._reading

    def close(self) -> None:
        if self._hold is not None:
            self._hold.release()
        self._writing.dispose()
        self._reading.dispose()

    def ping(self) -> bool:
        """Whether the store answers."""
        try:
            with self._reading.begin() as connection:
                return bool(connection.execute(sa.select(sa.literal(1))).scalar_one() == 1)
        except DBAPIError:
            return False

    # phases

    def phases(self, task: str) -> list[PhaseState]:
        """The phases of a task so far, the first first."""
        return self._phases.get(task, [])

    def add_phase(self, task: str, plan: str, *, calendar: str | None = None) -> None:
        """Open a task, or its next phase; those before are closed."""
        row = {"task": task, "phase": len(self.phases(task)) + 1, "plan": plan, "calendar": calendar}
        with told(), self._writing.begin() as connection:
            connection.execute(sa.update(PHASES).where(PHASES.c.task == task).values(is_closed=True))
            connection.execute(sa.insert(PHASES).values(**row, is_closed=False))
            found = _phases(connection)
        self._phases = found

    def keep_calendar(self, task: str, calendar: str) -> None:
        """Write down the periods of a task, in place of what was known of them."""
        first = (PHASES.c.task == task, PHASES.c.phase == 1)
        with told(), self._writing.begin() as connection:
            connection.execute(sa.update(PHASES).where(*first).values(calendar=calendar))
            found = _phases(connection)
        self._phases = found

    def close_phase(self, task: str) -> None:
        """Take no more reports for a task in its present phase."""
        with told(), self._writing.begin() as connection:
            connection.execute(sa.update(PHASES).where(PHASES.c.task == task).values(is_closed=True))
            found = _phases(connection)
        self._phases = found

    # reports

    def commit(self, group: Sequence[Submission]) -> list[SubmissionOutcome]:
        """Write a group in one transaction; when this returns, all that is ACCEPTED is on disk."""
        self.in_doubt = []
        with told():
            try:
                outcomes = self._commit(group)
            except (IntegrityError, _OvertakenError):  # another process wrote a receipt, or spent a token, meanwhile
                self.in_doubt = []
                outcomes = [outcome for one in group for outcome in self._commit([one])]
        self.in_doubt = []
        return outcomes

    def _commit(self, group: Sequence[Submission]) -> list[SubmissionOutcome]:
        outcomes: list[SubmissionOutcome] = []
        receipts: list[dict[str, Any]] = []
        spent: dict[bytes, tuple[TokenState, TokenState]] = {}
        taken: dict[tuple[str, int], list[Submission]] = {}
        with self._writing.begin() as connection:
            known = _receipts(connection, group)
            tokens = _one_time(connection, group)
            for one in group:
                outcome = self._judged(one, known, tokens)
                outcomes.append(outcome)
                if outcome.verdict is not SubmissionVerdict.ACCEPTED or one.rows is None:
                    continue
                known[one.receipt] = (one.code, len(one.rows))
                receipts.append({"id": one.receipt, "code": one.code, "n_reports": len(one.rows)})
                if one.token is not None:
                    before = tokens[one.token]
                    after = before.after(len(one.rows), one.budget)
                    assert after is not None, "as it was judged"
                    spent[one.token] = spent.get(one.token, (before,))[0], after
                    tokens[one.token] = after
                taken.setdefault((one.task, one.phase), []).append(one)
                self.in_doubt.append(one)
            if receipts:
                connection.execute(sa.insert(RECEIPTS), receipts)
                connection.execute(
                    sa.insert(SEGMENTS), [_segment(*at, _put_together(those)) for at, those in taken.items()]
                )
            _spend(connection, spent)
        for at, those in taken.items():
            self._open[at] = self._open.get(at, 0) + sum(len(one.rows) for one in those if one.rows is not None)
        return outcomes

    def _judged(
        self, one: Submission, known: dict[bytes, tuple[bytes, int]], tokens: dict[bytes, TokenState]
    ) -> SubmissionOutcome:
        earlier = known.get(one.receipt)
        if earlier is not None:
            is_same = hmac.compare_digest(earlier[0], one.code)
            return (
                SubmissionOutcome(SubmissionVerdict.REPEATED, earlier[1])
                if is_same
                else SubmissionOutcome(SubmissionVerdict.CONFLICT)
            )
        if one.rows is None:
            return SubmissionOutcome(SubmissionVerdict.REFUSED)
        phases = self.phases(one.task)
        if not phases or phases[-1].is_closed or phases[-1].phase != one.phase:
            return SubmissionOutcome(SubmissionVerdict.CLOSED)
        if one.token is not None:
            token = tokens.get(one.token)
            if token is None or token.task != one.task:
                return SubmissionOutcome(SubmissionVerdict.UNKNOWN_TOKEN)
            if one.budget is not None and not one.budget.is_for(token.period):
                return SubmissionOutcome(SubmissionVerdict.OTHER_PERIOD)
            if token.after(len(one.rows), one.budget) is None:
                return SubmissionOutcome(SubmissionVerdict.SPENT)
        return SubmissionOutcome(SubmissionVerdict.ACCEPTED, len(one.rows))

    def written(self, group: Sequence[Submission]) -> list[Submission]:
        """Those of a group that are on disk, where that was in doubt; the open reports are counted again."""
        with told(), self._reading.begin() as connection:
            known, self._open = _receipts(connection, group), _open(connection)
        return [one for one in group if known.get(one.receipt, (b"",))[0] == one.code]

    def n_open(self, task: str, phase: int) -> int:
        """Reports of a phase that are not in a sealed batch yet."""
        return self._open.get((task, phase), 0)

    def seal(self, task: str, phase: int, *, least: int = 1) -> None:
        """Put all open reports of a phase into one sealed batch, shuffled as a whole.

        Fewer than ``least`` are put together with the smallest sealed batch, so that none is of a few reports.
        """
        this = (SEGMENTS.c.task == task, SEGMENTS.c.phase == phase)
        content = sa.select(SEGMENTS.c.id, *_CONTENT)
        with told(), self._writing.begin() as connection:
            found = list(connection.execute(content.where(*this, SEGMENTS.c.day.is_(None))))
            if found:
                if sum(row.n_reports for row in found) < least:
                    sealed = content.where(*this, SEGMENTS.c.day.is_not(None)).order_by(SEGMENTS.c.n_reports).limit(1)
                    found += connection.execute(sealed).all()
                whole = _joined([_stored(row) for row in found])
                gone = sa.delete(SEGMENTS).where(SEGMENTS.c.id.in_([row.id for row in found]))
                _check(connection.execute(gone), len(found))  # else another process sealed them: they would be doubled
                today = datetime.now(UTC).date().isoformat()
                connection.execute(sa.insert(SEGMENTS), [_segment(task, phase, whole) | {"day": today}])
        self._open[(task, phase)] = 0

    def batches(self, task: str) -> list[SealedBatch]:
        """The sealed batches of a task, by their random names; open ones are not listed."""
        query = sa.select(SEGMENTS.c.id, SEGMENTS.c.phase, SEGMENTS.c.day, SEGMENTS.c.n_reports)
        query = query.where(SEGMENTS.c.task == task, SEGMENTS.c.day.is_not(None)).order_by(SEGMENTS.c.id)
        with told(), self._reading.begin() as connection:
            return [SealedBatch(row.id, row.phase, row.day, row.n_reports) for row in connection.execute(query)]

    def subtract(self, task: str, batch: str) -> tuple[int, StoredRows] | None:
        """Delete a sealed batch; its phase and what it held, or None where there is none."""
        which = (SEGMENTS.c.task == task, SEGMENTS.c.id == batch, SEGMENTS.c.day.is_not(None))
        with told(), self._writing.begin() as connection:
            found = connection.execute(sa.select(SEGMENTS.c.phase, *_CONTENT).where(*which)).one_or_none()
            if found is None:
                return None
            connection.execute(sa.delete(SEGMENTS).where(*which))
        return int(found.phase), _stored(found)

    def stored(self, task: str, phase: int, *, only_sealed: bool = False) -> Iterator[StoredRows]:
        """All reports of a phase, or those in sealed batches, segment by segment."""
        query = sa.select(*_CONTENT).where(SEGMENTS.c.task == task, SEGMENTS.c.phase == phase).order_by(SEGMENTS.c.id)
        if only_sealed:
            query = query.where(SEGMENTS.c.day.is_not(None))
        with told(), self._reading.begin() as connection:
            for row in connection.execution_options(yield_per=64).execute(query):
                yield _stored(row)

    def n_reports(self, task: str, phase: int) -> int:
        total = sa.select(sa.func.coalesce(sa.func.sum(SEGMENTS.c.n_reports), 0))
        with told(), self._reading.begin() as connection:
            return int(connection.execute(total.where(SEGMENTS.c.task == task, SEGMENTS.c.phase == phase)).scalar_one())


_CONTENT = (SEGMENTS.c.n_reports, SEGMENTS.c.chance, SEGMENTS.c.reports)


class told:  # noqa: N801 - read as a word: with told()
    """Turn errors of the driver into ours, without what it quotes."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: object) -> None:
        if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError):
            raise (StoreFullError() if is_full(error) else StoreLostError(type(error.orig).__name__)) from None


def _check(result: sa.CursorResult[Any], number: int) -> None:
    """So many rows were there to be changed, or all that the transaction does is undone."""
    if result.rowcount != number:
        raise _OvertakenError


def _segment(task: str, phase: int, stored: StoredRows) -> dict[str, Any]:
    return {
        "id": secrets.token_hex(16),
        "task": task,
        "phase": phase,
        "day": None,
        "n_reports": len(stored.rows),
        "chance": stored.chance,
        "reports": stored.rows.tobytes(),
    }


def _put_together(those: Sequence[Submission]) -> StoredRows:
    return _joined([StoredRows(one.rows, one.chance) for one in those if one.rows is not None])


def _joined(parts: Sequence[StoredRows]) -> StoredRows:
    """Reports together, shuffled; simulated where any is."""
    notes = sorted({part.chance for part in parts} - {SECURE})
    return StoredRows(shuffled(np.concatenate([part.rows for part in parts])), notes[0] if notes else SECURE)


def _stored(row: Any) -> StoredRows:
    rows = np.frombuffer(row.reports, np.uint8)
    return StoredRows(rows.reshape(row.n_reports, -1), row.chance)


def _phases(connection: sa.Connection) -> dict[str, list[PhaseState]]:
    found: dict[str, list[PhaseState]] = {}
    for row in connection.execute(sa.select(PHASES).order_by(PHASES.c.task, PHASES.c.phase)):
        found.setdefault(row.task, []).append(PhaseState(row.phase, row.plan, row.is_closed, row.calendar))
    return found


def _open(connection: sa.Connection) -> dict[tuple[str, int], int]:
    total = sa.func.sum(SEGMENTS.c.n_reports)
    query = sa.select(SEGMENTS.c.task, SEGMENTS.c.phase, total).where(SEGMENTS.c.day.is_(None))
    found = connection.execute(query.group_by(SEGMENTS.c.task, SEGMENTS.c.phase))
    return {(task, phase): int(n) for task, phase, n in found}


def _receipts(connection: sa.Connection, group: Sequence[Submission]) -> dict[bytes, tuple[bytes, int]]:
    query = sa.select(RECEIPTS).where(RECEIPTS.c.id.in_([one.receipt for one in group]))
    return {bytes(row.id): (bytes(row.code), row.n_reports) for row in connection.execute(query)}


def _one_time(connection: sa.Connection, group: Sequence[Submission]) -> dict[bytes, TokenState]:
    digests = [one.token for one in group if one.token is not None]
    if not digests:
        return {}
    columns = [ONE_TIME.c[name] for name in TokenState._fields]
    query = sa.select(ONE_TIME.c.digest, *columns).where(ONE_TIME.c.digest.in_(digests))
    return {bytes(digest): TokenState(*state) for digest, *state in connection.execute(query)}


def _spend(connection: sa.Connection, spent: Mapping[bytes, tuple[TokenState, TokenState]]) -> None:
    """Write what tokens brought; those that are spent at once in one statement.  Each must be as it was read."""
    at_once = [digest for digest, (_, after) in spent.items() if after.is_spent]
    if at_once:
        unspent = (ONE_TIME.c.digest.in_(at_once), ONE_TIME.c.is_spent.is_(False))
        _check(connection.execute(sa.update(ONE_TIME).where(*unspent).values(is_spent=True)), len(at_once))
    for digest, (before, after) in spent.items():
        if not after.is_spent:
            same = (ONE_TIME.c.digest == digest, ONE_TIME.c.n_total == before.n_total, ONE_TIME.c.is_spent.is_(False))
            values = {name: getattr(after, name) for name in ("used_in", "n_used", "n_total")}
            _check(connection.execute(sa.update(ONE_TIME).where(*same).values(**values)), 1)


def backup(url: str, path: str | Path) -> None:
    """Copy a store of SQLite, whole and consistent, also while it is in use; PostgreSQL has ``pg_dump``."""
    source_url, target = parsed_url(url), Path(path)
    if source_url.get_backend_name() != "sqlite":
        raise DataError("Only a store of SQLite is copied so.", hint="Use pg_dump for PostgreSQL.")
    try:
        Path(source_url.database or "").stat()
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # never through a link that waits there
    except (FileNotFoundError, FileExistsError):
        raise DataError(
            f"Cannot copy {source_url.database} to {target}: one is missing, or the other exists.", path=target
        ) from None
    except OSError as problem:
        raise DataError(f"Cannot copy {source_url.database} to {target}: {problem.strerror}.", path=target) from None
    source, copy = sqlite3.connect(str(source_url.database)), sqlite3.connect(target)
    try:
        source.backup(copy)
    finally:
        copy.close()
        source.close()
