"""Connections to SQLite and PostgreSQL: what is committed is on disk, and one collector at a time holds a store."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from bosket.errors import DataError

_DISK_FULL = "53100"  # PostgreSQL's code for it
_LOCK = 0x626F736B6574  # "bosket": the advisory lock that a collector holds
_HELD = "another collector holds this store"
_PATIENCE = 15.0  # seconds to wait for a collector that was killed to be gone


def parsed_url(text: str) -> sa.URL:
    """The address of a store; postgresql:// goes by psycopg."""
    try:
        url = sa.make_url(text)
    except ArgumentError:
        url = None
    if url is None or url.get_backend_name() not in ("sqlite", "postgresql"):
        raise DataError(
            "A store must be sqlite:///FILE or postgresql://USER@HOST/NAME.",
            hint="sqlite:////var/lib/bosket/study.db is a file by its full path.",
        )
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise DataError("A store of SQLite must be a file: what is in memory is lost.")
        return url.set(drivername="sqlite+pysqlite")
    return url.set(drivername="postgresql+psycopg")


def opened(url: sa.URL, *, writes: bool) -> sa.Engine:
    """An engine; one that ``writes`` takes the lock of SQLite when a transaction begins."""
    try:
        if url.get_backend_name() == "sqlite":
            return _sqlite(url, writes=writes)
        room = {"pool_size": 1, "max_overflow": 0} if writes else {"pool_size": 2, "max_overflow": 4}
        engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, **room)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise DataError(
            "PostgreSQL needs the package psycopg.", hint="Install it with: pip install 'bosket[postgres]'."
        ) from None
    sa.event.listen(engine, "connect", _postgres_settings)
    if writes:
        sa.event.listen(engine, "connect", _postgres_hold)
    return engine


def _postgres_settings(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
    connection.commit()


def _postgres_hold(connection: Any, record: Any) -> None:
    """The lock of a collector, taken by the session that writes: one that was lost, as when PostgreSQL was started
    again, is taken once more before anything is written, or nothing is.
    """
    import psycopg

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,))
        (is_held,) = cursor.fetchone()
    connection.commit()
    if not is_held:
        connection.close()
        raise psycopg.OperationalError(_HELD)


def _sqlite(url: sa.URL, *, writes: bool) -> sa.Engine:
    path = Path(url.database or "")
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} for the store.", path=path)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    engine = sa.create_engine(url, pool_size=1 if writes else 4, hide_parameters=True)

    def settings(connection: sqlite3.Connection, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for line in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "busy_timeout=10000"):
            connection.execute(f"PRAGMA {line}")

    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sa.event.listen(engine, "connect", settings)
    sa.event.listen(engine, "begin", begin)
    return engine


def is_full(error: DBAPIError) -> bool:
    """Whether a statement failed because there is no room on the disk."""
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) or 0
        # SQLite reports a disk without room as FULL, or, where it cannot tell, as an I/O error of a write
        return code == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_WRITE
    return getattr(cause, "sqlstate", None) == _DISK_FULL


class Hold:
    """The store held for one collector: a second one would show other figures, and seal what is being written."""

    def __init__(self, url: sa.URL, engine: sa.Engine) -> None:
        self._file: int | None = None
        until = time.monotonic() + _PATIENCE
        while not self._try(url, engine):
            if time.monotonic() > until:
                raise DataError(
                    "Another collector holds this store.",
                    hint="One collector serves all tasks of a store: end the other.",
                )
            time.sleep(0.1)

    def _try(self, url: sa.URL, engine: sa.Engine) -> bool:
        if url.get_backend_name() == "sqlite":
            file = os.open(f"{url.database}.lock", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(file)
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
                return False
            self._file = file
            return True
        try:
            engine.connect().close()  # its session stays in the pool, and has the lock
        except OperationalError as error:
            if _HELD not in str(error.orig):
                raise
            return False
        return True

    def release(self) -> None:
        """Let go of the file; a lock of PostgreSQL ends with its session."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
