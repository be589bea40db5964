"""Ledgers that were damaged, cut, or changed by somebody: refused, or no better for whoever wants to spend."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from bosket.budget import ledger, ownership
from bosket.budget.accounts import Account, Part
from bosket.budget.budgets import Budget
from bosket.errors import DataError
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused

Change = Callable[[bytes], bytes]

_TRIGGERS = [sql for sql in ledger._SCHEMA if "CREATE TRIGGER" in sql]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ownership, "BEING_MADE", 0.0)
    monkeypatch.setattr(ledger, "PATIENCE", 0.1)
    monkeypatch.setattr(ledger, "_PRAGMAS", tuple(sql.replace("EXTRA", "OFF") for sql in ledger._PRAGMAS))
    return tmp_path / "budgets.ledger"


def fill(path: Path) -> Budget:
    """Two budgets; entries that were returned; more than one page of them."""
    budget = Budget.create(path, "data", epsilon=1.0, delta=1e-6)
    Budget.create(path, "other", epsilon=2.0, neighbours="replace").spend(0.5, purpose="of the other")
    for at in range(8):
        _, back = budget.spend_together([(0.05, f"look {at} " + "x" * 400), Part(0.05, "counts", delta=1e-7)])
        if at % 2:
            budget.give_back(back)
    return budget


def overwritten(whole: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    content = bytearray(whole)
    for place, piece in changes:
        at = place % len(content)
        content[at : at + len(piece)] = piece[: len(content) - at]
    return bytes(content)


places = st.integers(0, 1 << 16) | st.integers(0, 120) | st.integers(0, 20).map(lambda page: 4096 * page)
pieces = st.binary(min_size=1, max_size=8) | st.sampled_from([b"\0", b"\xff", b"\0" * 4096, b"0", b"9"])
changed: st.SearchStrategy[Change] = st.one_of(
    st.lists(st.tuples(places, pieces), min_size=1, max_size=4).map(lambda c: lambda whole: overwritten(whole, c)),
    st.integers(0, 1 << 16).map(lambda length: lambda whole: whole[: length % len(whole)]),
    st.binary(min_size=1, max_size=64).map(lambda more: lambda whole: whole + more),
    st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pages: lambda whole: swapped(whole, *pages)),
    st.binary(max_size=2000).map(lambda content: lambda whole: content),
    st.binary(max_size=2000).map(lambda content: lambda whole: whole[:100] + content),
)


def swapped(whole: bytes, one: int, other: int) -> bytes:
    """A page in place of another."""
    pages = [whole[at : at + 4096] for at in range(0, len(whole), 4096)]
    pages[one % len(pages)] = pages[other % len(pages)]
    return b"".join(pages)


def left(account: Account) -> tuple[Fraction, ...]:
    return tuple(Fraction(repr(value)) for value in account.remaining)


def check_no_gain(path: Path, budget: Budget, before: dict[str, Account], *, afresh: bool) -> None:
    """Refused, or nobody has more than before; who had looked before is not deceived by an old state either."""
    seen = only_refused(lambda: budget.account)
    accounts = only_refused(lambda: ledger.accounts(path))
    for account in [*([] if seen is None else [seen]), *((accounts or ()) if afresh else ())]:
        assert account.name in before, "a budget out of nothing"
        known = before[account.name]
        assert all(now <= then for now, then in zip(left(account), left(known), strict=True))
        assert (account.epsilon, account.delta, account.neighbours) == (known.epsilon, known.delta, known.neighbours)
        assert account.adds_up()


def check_still_usable(path: Path, budget: Budget) -> None:
    """What is not refused when read is not broken by being used, but by an error of ours."""
    only_refused(lambda: budget.spend(0.001, purpose="on"))
    only_refused(lambda: budget.spend_together([(0.001, "on"), (0.001, "and on")]))
    only_refused(lambda: Budget.create(path, "new", epsilon=1.0))


def known(path: Path) -> tuple[bytes, dict[str, Account]]:
    fill(path)
    return path.read_bytes(), {account.name: account for account in ledger.accounts(path)}


def restored(path: Path, whole: bytes) -> Budget:
    """Somebody who looked at the ledger before it is changed."""
    path.write_bytes(whole)
    return Budget.open(path, "data")


@pytest.mark.parametrize(("place", "piece"), [(2119, b"\x80"), (47, b"\x05")])
def test_bytes_that_were_found_to_matter(path: Path, place: int, piece: bytes) -> None:
    """A name in the schema that is no text; a format of the future."""
    whole, _ = known(path)
    path.write_bytes(overwritten(whole, [(place, piece)]))
    with pytest.raises(DataError, match="damaged"):
        ledger.accounts(path)


def test_the_table_of_numbers_given_out_is_part_of_the_schema(path: Path) -> None:
    """SQLite declares it by itself; one byte less, and a column was unknown: an error of SQLite's, not of ours."""
    whole, before = known(path)
    declared = b"sqlite_sequence(name,seq)"
    at = whole.index(declared)
    for place in range(at, at + len(declared)):
        for piece in (b" ", b"x"):
            path.write_bytes(overwritten(whole, [(place, piece)]))
            assert only_refused(lambda: ledger.accounts(path)) in (None, tuple(before.values()))
    path.write_bytes(overwritten(whole, [(whole.index(b"name,seq"), b" ")]))
    with pytest.raises(DataError, match="lost its protection"):
        ledger.accounts(path)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_bytes_of_a_ledger(path: Path, examples: int) -> None:
    whole, before = known(path)

    def read(change: Change) -> None:
        budget = restored(path, whole)
        path.write_bytes(change(whole))
        check_no_gain(path, budget, before, afresh=True)
        check_still_usable(path, budget)

    fuzz(read, changed, examples=examples)


values = st.one_of(
    st.none(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-3, 30),
    st.floats(),
    st.sampled_from(
        ["0.0", "1e-999", "1e999", "nan", "-0.05", "1_0", " 0.05", "٠", "", "data", "5" * 5000, "add-remove"]
    ),
    st.text(max_size=20),
    st.binary(max_size=20),
)
rows = st.integers(0, 25)
columns = {
    "entries": ("id", "budget", *ledger._columns(2)),
    "budgets": ("id", *ledger._TERMS),
    "sqlite_sequence": ("name", "seq"),
}
updates = st.sampled_from([(table, name) for table, names in columns.items() for name in names]).flatmap(
    lambda place: st.tuples(
        st.just(f"UPDATE OR REPLACE {place[0]} SET {place[1]} = ? WHERE rowid = ?"), st.tuples(values, rows)
    )
)
deletions = st.tuples(
    st.sampled_from([f"DELETE FROM {table} WHERE rowid = ?" for table in columns]), rows.map(lambda row: (row,))
)
copies = st.tuples(
    st.just(
        "INSERT INTO entries SELECT max(e.id) + 1, e.budget, max(e.number) + 1, f.epsilon, f.delta, f.purpose, f.time, "
        "f.version, f.digest, ? FROM entries e, entries f WHERE f.id = ? AND e.budget = f.budget"
    ),
    st.tuples(values, rows),
)
swaps = st.tuples(
    st.just(
        "UPDATE entries SET (number, epsilon, digest) = "
        "(SELECT e.number + 100, e.epsilon, e.digest FROM entries e WHERE e.id = ?) WHERE id = ?"
    ),
    st.tuples(rows, rows),
)
schemas = st.tuples(
    st.sampled_from(
        [
            "DROP TABLE entries",
            "DROP TABLE budgets",
            "CREATE VIEW more AS SELECT * FROM budgets",
            "ALTER TABLE entries RENAME TO spent",
            "ALTER TABLE entries DROP COLUMN returns",
            "ALTER TABLE budgets ADD COLUMN more TEXT",
            "CREATE TRIGGER more AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
            "PRAGMA user_version = 1",
            "PRAGMA user_version = -1",
            "PRAGMA application_id = 0",
            "PRAGMA journal_mode = WAL",
            "PRAGMA encoding = 'UTF-16'",
        ]
    ),
    st.just(()),
)
statements: st.SearchStrategy[tuple[str, tuple[Any, ...]]] = updates | deletions | copies | swaps | schemas


@pytest.mark.parametrize("examples", EXAMPLES)
def test_rows_of_a_ledger(path: Path, examples: int) -> None:
    """By who knows SQL but computes no digests.  Several changes can take away the last entries, which is as an old
    copy: only who had looked before can tell."""
    whole, before = known(path)

    def read(changes: list[tuple[str, tuple[Any, ...]]]) -> None:
        budget = restored(path, whole)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            for sql in _TRIGGERS:
                connection.execute(f"DROP TRIGGER {sql.split()[2]}")
            for statement, parameters in changes:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute(statement, parameters)
            for sql in _TRIGGERS:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute(sql)
            connection.execute("COMMIT")
        check_no_gain(path, budget, before, afresh=len(changes) == 1)
        check_still_usable(path, budget)

    fuzz(read, st.lists(statements, min_size=1, max_size=3), examples=examples)
