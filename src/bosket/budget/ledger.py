"""Accounts in a file that outlives the process: SQLite, one table of budgets and one of entries.

Durable.  A commit in SQLite's rollback journal is the removal of the journal; ``synchronous = EXTRA`` makes it wait for
the disk, that removal included, which ``FULL`` does not.  So what was committed survives kill -9 and a loss of power,
and what was not is undone when the file is opened next.  At rest the ledger is one file, unlike with a write-ahead
log, whose last entries a copy of the file would lack.

Safe under concurrent processes.  ``BEGIN IMMEDIATE`` takes the only lock for writing before anything is read, so that
between reading a sum and adding to it nobody else adds.  Every operation opens a connection of its own: none is shared
by threads or inherited by a fork.  The file is never opened but by SQLite, as closing it would drop SQLite's locks.
:mod:`bosket.budget.ownership` looks at the file before SQLite does.

Versions.  A ledger is made as version 1, which every bosket reads.  The first entry that returns another makes it
version 2, in the transaction that writes it: there the entries have one column more.  The digests of all entries before
it stay what they were.

Append-only.  Triggers refuse to change, delete or replace rows.  Whoever takes the triggers away is noticed by the
schema, whoever changes or removes a row by the digests or by the numbers that SQLite keeps in ``sqlite_sequence``; who
sets those back too has put back an old copy, which only they notice who knew better.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path
from typing import Any

from bosket.budget.accounts import Account, Entry
from bosket.budget.ownership import WRITE_AHEAD, check_file, make, refusal, unmake

APPLICATION = 0x626F736B
"""``bosk``, in the header of the file."""
VERSIONS = (1, 2)
"""Of the schema: without and with entries that return others."""
PATIENCE = 30.0
"""Seconds to wait for a lock."""

_READING, _WRITING = "DEFERRED", "IMMEDIATE"
_PRAGMAS = (
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",  # for macOS
    "PRAGMA cell_size_check = ON",  # these two for files that somebody prepared
    "PRAGMA trusted_schema = OFF",
)
_TERMS = tuple(field.name for field in fields(Account) if field.name != "entries")
_RETURNS = "returns"
_COLUMNS = tuple(field.name for field in fields(Entry) if field.name != _RETURNS)
_AMOUNTS = ("epsilon", "delta")
_REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
_SCHEMA = (
    f"CREATE TABLE budgets (id INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(f'{name} TEXT' for name in _TERMS)}, "
    "UNIQUE (name))",
    "CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, budget INTEGER REFERENCES budgets (id), "
    f"{', '.join(f'{name} INTEGER' if name == 'number' else f'{name} TEXT' for name in _COLUMNS)}, "
    "UNIQUE (budget, number))",
    *(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {_REFUSE}"
        for table in ("budgets", "entries")
        for verb in ("UPDATE", "DELETE")
    ),
    # INSERT OR REPLACE deletes the old row without telling the trigger on DELETE
    "CREATE TRIGGER budgets_no_replace BEFORE INSERT ON budgets "
    f"WHEN EXISTS (SELECT 1 FROM budgets WHERE id = NEW.id OR name = NEW.name) {_REFUSE}",
    "CREATE TRIGGER entries_no_replace BEFORE INSERT ON entries WHEN EXISTS "
    f"(SELECT 1 FROM entries WHERE id = NEW.id OR (budget = NEW.budget AND number = NEW.number)) {_REFUSE}",
)
_UPGRADE = (f"ALTER TABLE entries ADD COLUMN {_RETURNS} INTEGER", f"PRAGMA user_version = {VERSIONS[1]}")
_TAKE_UP = "Take up its latest copy, and add what was spent since."
_FAULTS = {
    "BUSY": ("is locked by another process", "Wait until that one is done, or find out why it does not end."),
    "LOCKED": ("is locked by another process", None),
    "READONLY": ("may not be written by this user, who must be able to write its directory too", None),
    "PERM": ("may not be opened by this user", None),
    "CANTOPEN": ("cannot be opened, or its directory not be written, by this user", None),
    "NOTADB": ("is not a ledger of budgets", None),
    "CORRUPT": ("is damaged", _TAKE_UP),
    "FULL": ("cannot be written: the disk is full", None),
    "IOERR": ("cannot be read or written: the operating system refused", None),
}
"""What goes wrong with files, by the names of SQLite's codes."""
_KEEPS_NOT = ("does not keep what is written into it", "Spend nothing more of these budgets.")
_DISTRUST = "What it says was spent cannot be trusted; spend nothing more of these budgets."


def accounts(path: Path) -> tuple[Account, ...]:
    """All the budgets in a ledger, in the order of their creation."""
    with _transaction(path, _READING) as connection:
        return tuple(_read(connection, path))


def create(path: Path, account: Account) -> None:
    """Add an account without entries, and make the file where there is none."""
    is_new = make(path)
    try:
        with _transaction(path, _WRITING, is_new=is_new) as connection:
            if is_new:
                _prepare(connection)
            others = _read(connection, path)
            if any(other.name == account.name for other in others):
                raise refusal(  # noqa: TRY301 - it is rolled back like any other error
                    path,
                    f"has a budget named {account.name!r} already",
                    "A budget cannot be changed or renewed; Budget.open uses it.",
                )
            _insert(connection, "budgets", (len(others) + 1, *astuple(account)[:-1]), ("id", *_TERMS))
    except BaseException:
        if is_new:
            unmake(path)
        raise


def _prepare(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSIONS[0]}")


def find(path: Path, name: str) -> Account:
    with _transaction(path, _READING) as connection:
        found = _read(connection, path)
        return found[_place(found, name, path)]


def append(path: Path, name: str, change: Callable[[Account], Account]) -> Account:
    """Put down the entries that ``change`` adds to an account; when this returns, all of them are on the disk.

    They are read again before they are committed: nothing is paid for that the file does not say.
    """
    with _transaction(path, _WRITING) as connection:
        found = _read(connection, path)
        place = _place(found, name, path)
        after = change(found[place])
        number = sum(len(account.entries) for account in found)
        for entry in after.entries[len(found[place].entries) :]:
            number += 1
            _insert_entry(connection, entry, number=number, budget=place + 1)
        if _read(connection, path)[place] != after:
            raise refusal(path, *_KEEPS_NOT)
    return after


def _insert_entry(connection: sqlite3.Connection, entry: Entry, *, number: int, budget: int) -> None:
    if entry.returns is not None and _pragma(connection, "user_version") == VERSIONS[0]:
        for statement in _UPGRADE:
            connection.execute(statement)
    columns = _columns(_pragma(connection, "user_version"))
    values = [getattr(entry, name) for name in columns]
    _insert(connection, "entries", (number, budget, *values), ("id", "budget", *columns))


@contextlib.contextmanager
def _transaction(path: Path, kind: str, *, is_new: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction, committed when the block succeeds, else rolled back."""
    check_file(path, is_writing=kind == _WRITING, is_new=is_new)
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")  # the digests will tell
            _begin(connection, kind, path)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.rollback()
                raise
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").split("_")[0]
        raise refusal(path, *_FAULTS.get(name, _KEEPS_NOT)) from None


def _begin(connection: sqlite3.Connection, kind: str, path: Path) -> None:
    """Start a transaction in what has the format of a ledger; what SQLite cannot open at all is damaged."""
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        connection.execute(f"BEGIN {kind}")
        _check_format(connection, path)
    except UnicodeDecodeError:  # SQLite quotes, in what it says, names that it could not read
        raise refusal(path, *_FAULTS["CORRUPT"]) from None
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_ERROR":
            raise
        raise refusal(path, *_FAULTS["CORRUPT"]) from None


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        raise refusal(path, *WRITE_AHEAD)
    if 0 < path.stat().st_size < _pragma(connection, "page_count") * _pragma(connection, "page_size"):
        raise refusal(path, *_FAULTS["CORRUPT"])  # a part of the last page is missing


def _is_blank(connection: sqlite3.Connection) -> bool:
    return not _schema(connection) and not _pragma(connection, "application_id")


def _read(connection: sqlite3.Connection, path: Path) -> list[Account]:
    """All accounts by their numbers in the file, with everything checked that can be."""
    if _is_blank(connection):
        raise refusal(path, "is empty: it may have been truncated", _TAKE_UP)
    if _pragma(connection, "application_id") != APPLICATION:
        raise refusal(path, "is not a ledger of budgets")
    version = _pragma(connection, "user_version")
    if version not in VERSIONS:
        raise refusal(path, f"is of version {version}, which this bosket cannot read: it knows up to {VERSIONS[-1]}")
    if _schema(connection) != _own_schema(version):
        raise refusal(path, "has lost its protection against changes", _DISTRUST)
    with contextlib.suppress(TypeError, ValueError):  # rows that hold what they cannot
        result = _accounts(connection, _columns(version))
        if result is not None and all(account.adds_up() for account in result):
            return result
    raise refusal(path, "was altered: its entries do not add up", _DISTRUST)


def _columns(version: int) -> tuple[str, ...]:
    """Of the entries."""
    return _COLUMNS if version == VERSIONS[0] else (*_COLUMNS, _RETURNS)


def _accounts(connection: sqlite3.Connection, columns: tuple[str, ...]) -> list[Account] | None:
    """The rows as accounts, or nothing where some are missing."""
    budgets = connection.execute(f"SELECT id, {', '.join(_TERMS)} FROM budgets ORDER BY id").fetchall()
    entries = connection.execute(f"SELECT id, budget, {', '.join(columns)} FROM entries ORDER BY id").fetchall()
    made = dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    for table, rows in (("budgets", budgets), ("entries", entries)):
        if len(rows) != made.get(table, 0) or [row[0] for row in rows] != list(range(1, 1 + len(rows))):
            return None
    spent: list[list[Entry]] = [[] for _ in budgets]
    for _, budget, *values in entries:
        spent[range(1, 1 + len(budgets)).index(budget)].append(Entry(**_values(columns, values)))
    return [Account(**_values(_TERMS, values), entries=tuple(spent[at])) for at, (_, *values) in enumerate(budgets)]


def _values(names: tuple[str, ...], values: list[Any]) -> dict[str, Any]:
    """Columns by name; amounts are kept as decimal text."""
    return {name: float(value) if name in _AMOUNTS else value for name, value in zip(names, values, strict=True)}


def _insert(connection: sqlite3.Connection, table: str, row: tuple[Any, ...], columns: tuple[str, ...]) -> None:
    values = [repr(value) if name in _AMOUNTS else value for name, value in zip(columns, row, strict=True)]
    connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(row))})", values)


def _place(found: list[Account], name: str, path: Path) -> int:
    names = [account.name for account in found]
    if name not in names:
        raise refusal(path, f"has no budget named {name!r}", f"It has {', '.join(map(repr, names))}.")
    return names.index(name)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """All that the file declares, what SQLite made by itself too: a trigger may hide behind a name of SQLite's."""
    return connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master "
        "WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4')) ORDER BY name"  # which ANALYZE makes
    ).fetchall()


@cache
def _own_schema(version: int) -> list[tuple[str, ...]]:
    """What SQLite itself makes of our statements."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for statement in (*_SCHEMA, *(_UPGRADE if version == VERSIONS[1] else ())):
            connection.execute(statement)
        return _schema(connection)
