"""The tables of a store, their version, and how an older version becomes this one.

schema_version  one row: which of the versions below the tables have
phases          the plan of each phase of a task, as JSON, and whether the task is closed; in the first one its periods,
                as JSON, or null where it has none
segments        reports: the bytes of many, in an order that says nothing; open ones become one sealed batch
receipts        what a submission is known by when it comes again: a digest of its id, and a code of its body under it
tokens          digests of tokens with a scope
one_time        digests of one-time tokens, and whether they are spent; where a study has periods, the one that a token
                is for, if for one alone, the one in which it was used last, how much it brought then, and in all

A receipt has no column in common with a segment, nor any time.  Its ``code`` is HMAC-SHA256 of the body under the id
that the client chose, of which the store has a digest alone: who has the store cannot try reports against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from bosket.errors import DataError

VERSION = 3
METADATA = sa.MetaData()

SCHEMA_VERSION = sa.Table("schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))

PHASES = sa.Table(
    "phases",
    METADATA,
    sa.Column("task", sa.String(64), primary_key=True),
    sa.Column("phase", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("is_closed", sa.Boolean, nullable=False),
    sa.Column("calendar", sa.Text),  # none: the task was opened by an older version, which did not keep it
)

SEGMENTS = sa.Table(
    "segments",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("task", sa.String(64), nullable=False),
    sa.Column("phase", sa.Integer, nullable=False),
    sa.Column("day", sa.String(10)),  # on which the batch was sealed; none while it is open
    sa.Column("n_reports", sa.Integer, nullable=False),
    sa.Column("chance", sa.Text, nullable=False),  # "secure", or the note of a simulation
    sa.Column("reports", sa.LargeBinary, nullable=False),
    sa.Index("segments_of_a_task", "task", "phase"),
)

RECEIPTS = sa.Table(
    "receipts",
    METADATA,
    sa.Column("id", sa.LargeBinary(32), primary_key=True),
    sa.Column("code", sa.LargeBinary(32), nullable=False),
    sa.Column("n_reports", sa.Integer, nullable=False),
    sqlite_with_rowid=False,  # else their order would be that of submission
)

TOKENS = sa.Table(
    "tokens",
    METADATA,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("digest", sa.LargeBinary(32), nullable=False),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("task", sa.String(64)),  # none: for all tasks
)

ONE_TIME = sa.Table(
    "one_time",
    METADATA,
    sa.Column("digest", sa.LargeBinary(32), primary_key=True),
    sa.Column("task", sa.String(64), nullable=False),
    sa.Column("is_spent", sa.Boolean, nullable=False),
    sa.Column("period", sa.String(10)),
    sa.Column("used_in", sa.String(10)),
    sa.Column("n_used", sa.Integer, nullable=False, server_default="0"),
    sa.Column("n_total", sa.Integer, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

Migration = Callable[[sa.Connection], None]


def _add_periods(connection: sa.Connection) -> None:
    """Tokens that are counted by period."""
    for column in ("period VARCHAR(10)", "used_in VARCHAR(10)"):
        connection.exec_driver_sql(f"ALTER TABLE one_time ADD COLUMN {column}")
    for name in ("n_used", "n_total"):
        connection.exec_driver_sql(f"ALTER TABLE one_time ADD COLUMN {name} INTEGER DEFAULT 0 NOT NULL")


def _add_calendars(connection: sa.Connection) -> None:
    """The periods under which a task was opened; those of the file are written down at the start."""
    connection.exec_driver_sql("ALTER TABLE phases ADD COLUMN calendar TEXT")


MIGRATIONS: dict[int, Migration] = {1: _add_periods, 2: _add_calendars}
"""By version, the step from it to the next."""


def migrate(
    connection: sa.Connection, *, migrations: Mapping[int, Migration] = MIGRATIONS, version: int = VERSION
) -> int:
    """Make the tables, or bring those of an older version up to date; the version that was found, 0 for none.

    All in the caller's transaction: a step that fails leaves the store as it was.
    """
    if not sa.inspect(connection).has_table(SCHEMA_VERSION.name):
        METADATA.create_all(connection)
        connection.execute(sa.insert(SCHEMA_VERSION).values(version=version))
        return 0
    found = int(connection.execute(sa.select(SCHEMA_VERSION.c.version)).scalar_one())
    if found > version:
        raise DataError(
            f"The store has tables of version {found}, and this bosket knows versions up to {version}.",
            hint="Install a newer bosket.",
        )
    for step in range(found, version):
        migrations[step](connection)
    if found < version:
        connection.execute(sa.update(SCHEMA_VERSION).values(version=version))
    return found
