"""The file of a ledger: whose it is, who else can write it, what was cut off it, what lies beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bosket.budget import ledger, ownership
from bosket.budget.budgets import Budget
from bosket.errors import DataError, ExposedLedgerWarning
from tests.cli.conftest import Run, run

__all__ = ["run"]

posix = pytest.mark.skipif(os.name == "nt", reason="owners and modes of POSIX")
superuser = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only the superuser gives files away")
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budgets.ledger"


@pytest.fixture
def budget(path: Path) -> Budget:
    budget = Budget.create(path, "data", epsilon=1.0)
    budget.spend(0.25, purpose="one")
    budget.spend(0.25, purpose="two")
    return budget


@contextlib.contextmanager
def open_to_all() -> Iterator[None]:
    """New files may be read and written by everybody, unless they are made otherwise."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


@posix
def test_it_is_its_owners_alone_from_the_first_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When SQLite opens it, and when the journal is there, not only in the end."""
    modes: list[int] = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            result = super().execute(*arguments)
            modes.extend(stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir())
            return result

    def watched(*arguments: Any, **options: Any) -> Any:
        if options.get("uri"):
            modes.append(stat.S_IMODE(path.stat().st_mode))
            return connect(*arguments, **options, factory=Watched)
        return connect(*arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", watched)
    with open_to_all():
        Budget.create(path, "data", epsilon=1.0).spend(0.25, purpose="one")
    assert len(modes) > 20
    assert set(modes) == {0o600}


def spends(budget: Budget, path: Path) -> list[Callable[[], object]]:
    """Everything that writes."""
    (entry,) = budget.spend_together([(0.125, "while all is well")])
    return [
        lambda: budget.spend(0.1, purpose="in vain"),
        lambda: budget.spend_together([(0.1, "in vain")]),
        lambda: budget.give_back(entry),
        lambda: Budget.create(path, "new", epsilon=1.0),
    ]


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o660])
def test_a_ledger_that_others_can_write_pays_nothing(path: Path, budget: Budget, mode: int) -> None:
    writes = spends(budget, path)
    path.chmod(mode)
    before = path.read_bytes()
    for write in writes:
        with pytest.raises(DataError, match="by others") as caught:
            write()
        assert caught.value.path == path
        assert f"chmod 600 {path}" in str(caught.value.hint)
    for read in (lambda: budget.remaining, lambda: ledger.accounts(path), lambda: Budget.open(path, "data")):
        with pytest.warns(ExposedLedgerWarning, match="by others"):
            read()
    assert path.read_bytes() == before
    assert "data" in repr(budget)
    path.chmod(0o640)
    assert budget.spend(0.1, purpose="mended").number == 4


@posix
def test_a_directory_that_everybody_can_write(path: Path, budget: Budget) -> None:
    writes = spends(budget, path)
    path.parent.chmod(0o777)
    for write in writes:
        with pytest.raises(DataError, match="directory") as caught:
            write()
        assert "chmod o-w" in str(caught.value.hint)
    with pytest.warns(ExposedLedgerWarning, match="directory"):
        assert budget.remaining == (0.375, 0.0)
    with pytest.raises(DataError, match="directory"):
        Budget.create(path.with_name("new.ledger"), "new", epsilon=1.0)
    assert not path.with_name("new.ledger").exists()
    path.parent.chmod(0o1777)  # as /tmp
    assert budget.spend(0.1, purpose="nobody else may replace it").number == 4


@superuser
def test_a_ledger_of_another_user_may_be_read_only(path: Path, budget: Budget) -> None:
    writes = spends(budget, path)
    os.chown(path, NOBODY, NOBODY)
    for write in writes:
        with pytest.raises(DataError, match="another user") as caught:
            write()
        assert caught.value.hint
    assert budget.remaining == (0.375, 0.0)


@posix
def test_a_ledger_of_two_names_may_be_read_only(path: Path, budget: Budget) -> None:
    """After a crash the journal lies beside one name; opened by the other, half of a spend would stand."""
    writes = spends(budget, path)
    other = path.with_name("other.ledger")
    os.link(path, other)
    writes.append(lambda: Budget.open(other, "data").spend(0.1, purpose="in vain"))
    before = path.read_bytes()
    for write in writes:
        with pytest.raises(DataError, match="2 names") as caught:
            write()
        assert "-samefile" in str(caught.value.hint)
    assert budget.remaining == (0.375, 0.0)
    assert path.read_bytes() == before
    other.unlink()
    assert budget.spend(0.1, purpose="one name again").number == 4


@posix
def test_a_link_is_followed_to_where_the_ledger_is(path: Path, budget: Budget, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = elsewhere / "link.ledger"
    link.symlink_to(path)
    linked = Budget.open(link, "data")
    assert linked.spend(0.25, purpose="through the link").number == 3
    assert budget.spent == (0.75, 0.0)
    elsewhere.chmod(0o777)  # whoever writes there can lead the link elsewhere
    with pytest.raises(DataError, match="directory"):
        linked.spend(0.1, purpose="in vain")
    elsewhere.chmod(0o755)
    path.parent.chmod(0o777)
    with pytest.raises(DataError, match="directory"):
        linked.spend(0.1, purpose="in vain")
    path.parent.chmod(0o700)
    path.chmod(0o666)
    with pytest.raises(DataError, match="by others"):
        linked.spend(0.1, purpose="in vain")


@posix
def test_no_ledger_is_made_through_a_link_to_nothing(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match="link to nothing"):
        Budget.create(path, "data", epsilon=1.0)
    assert not (tmp_path / "nowhere").exists()


def switch(path: Path, mode: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute(f"PRAGMA journal_mode = {mode}").fetchone() == (mode.lower(),)


def test_a_write_ahead_log_is_refused(path: Path, budget: Budget) -> None:
    writes = spends(budget, path)
    switch(path, "WAL")
    looks: list[Callable[[], object]] = [lambda: budget.remaining, lambda: ledger.accounts(path)]
    for look in (*writes, *looks):
        with pytest.raises(DataError, match="write-ahead") as caught:
            look()
        assert "journal_mode = DELETE" in str(caught.value.hint)
    switch(path, "DELETE")
    assert budget.spend(0.1, purpose="mended").number == 4


def test_entries_in_a_write_ahead_log_are_not_lost_from_sight(path: Path, budget: Budget, tmp_path: Path) -> None:
    """A copy of the first file alone would lack them; opened with the second one beside it, that one stays as it is."""
    switch(path, "WAL")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO entries (budget, number) VALUES (1, 3)")
        beside = Path(f"{path}-wal")
        before = beside.read_bytes()
        assert before
        with pytest.raises(DataError, match="write-ahead"):
            _ = budget.remaining
        assert beside.read_bytes() == before
        (tmp_path / "copy").mkdir()
        copy = Path(shutil.copy(path, tmp_path / "copy"))
    with pytest.raises(DataError, match="write-ahead"):
        Budget.open(copy, "data")


def test_a_log_that_somebody_put_beside_it_is_not_read(path: Path, budget: Budget) -> None:
    """SQLite takes up a log though the header of the ledger knows of none."""
    Path(f"{path}-wal").write_bytes(b"planted")
    with pytest.raises(DataError, match="write-ahead"):
        budget.spend(0.1, purpose="in vain")
    assert Path(f"{path}-wal").read_bytes() == b"planted"


@posix
@pytest.mark.parametrize("planted", ["writable", "link", "directory", pytest.param("foreign", marks=superuser)])
def test_a_journal_that_somebody_put_beside_it_is_not_played_back(path: Path, budget: Budget, planted: str) -> None:
    """It would put back an old state of the ledger."""
    before = path.read_bytes()
    journal = Path(f"{path}-journal")
    if planted == "link":
        journal.symlink_to("elsewhere")
    elif planted == "directory":
        journal.mkdir()
    else:
        journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
        journal.chmod(0o602 if planted == "writable" else 0o600)
        if planted == "foreign":
            os.chown(journal, NOBODY, NOBODY)
    for look in (lambda: budget.spend(0.1, purpose="in vain"), lambda: Budget.open(path, "data")):
        with pytest.raises(DataError, match="journal"):
            look()
    assert path.read_bytes() == before
    assert os.path.lexists(journal)


def test_a_file_of_0_bytes_is_not_taken_as_new(
    path: Path, budget: Budget, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """A ledger that was truncated would else be granted anew."""
    monkeypatch.setattr(ownership, "BEING_MADE", 0.05)
    path.write_bytes(b"")
    for look in (
        lambda: Budget.create(path, "data", epsilon=1.0),
        lambda: Budget.open(path, "data"),
        lambda: budget.spend(0.1, purpose="in vain"),
        lambda: ledger.accounts(path),
    ):
        with pytest.raises(DataError, match="truncated") as caught:
            look()
        assert "copy" in str(caught.value.hint)
    result = run("budget", "create", path, "--name", "data", "--epsilon", "1")
    assert (result.code, result.out) == (1, "")
    assert "truncated" in result.err
    assert path.read_bytes() == b""


def test_a_ledger_that_was_blanked_inside_is_not_taken_as_new(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("VACUUM")  # writes a page, with nothing on it
        connection.execute("PRAGMA user_version = 1")
    path.chmod(0o600)
    assert path.stat().st_size
    with pytest.raises(DataError, match="truncated"):
        Budget.create(path, "data", epsilon=1.0)
    with pytest.raises(DataError, match="truncated"):
        Budget.open(path, "data")


def test_cut_at_any_page_or_between(path: Path, budget: Budget) -> None:
    whole = path.read_bytes()
    pages = len(whole) // 4096
    assert pages >= 5
    for length in (*(4096 * page for page in range(1, pages)), 1, 99, 100, 512, 4095, 4097, len(whole) - 1):
        path.write_bytes(whole[:length])
        for look in (
            lambda: Budget.open(path, "data"),
            lambda: Budget.create(path, "new", epsilon=1.0),
            lambda: budget.spend(0.1, purpose="in vain"),
        ):
            with pytest.raises(DataError, match="damaged" if length >= 512 else "truncated|damaged|is not a ledger"):
                look()
        assert path.read_bytes() == whole[:length]
    path.write_bytes(whole)
    assert budget.remaining == (0.5, 0.0)


def test_one_that_is_just_being_made_is_waited_for(path: Path) -> None:
    path.touch(0o600)
    done: list[Budget] = []

    def make_it_elsewhere() -> None:
        other = path.with_name("other")
        Budget.create(other, "theirs", epsilon=1.0)
        path.write_bytes(other.read_bytes())

    timer = threading.Timer(0.1, make_it_elsewhere)
    timer.start()
    done.append(Budget.create(path, "ours", epsilon=1.0))
    timer.join()
    assert [account.name for account in ledger.accounts(path)] == ["theirs", "ours"]


def test_a_creation_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_SCHEMA", (*ledger._SCHEMA, "PRAGMA user_version = 7", "no SQL"))
    with pytest.raises(DataError, match="does not keep"):
        Budget.create(path, "data", epsilon=1.0)
    assert not list(path.parent.iterdir())


@posix
def test_the_command_line_tells_of_a_ledger_that_others_can_write(path: Path, budget: Budget, run: Run) -> None:
    path.chmod(0o666)
    shown = run("budget", "show", path)
    assert shown.code == 0
    assert "data" in shown.out
    assert shown.err.startswith("warning: The ledger ")
    assert shown.err.count("\n") == 1
    made = run("budget", "create", path, "--name", "new", "--epsilon", "1")
    assert made.code == 1
    assert "hint: " in made.err
    assert "chmod 600" in made.err
