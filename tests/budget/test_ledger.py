"""The ledger on disk: processes that race, processes that are killed, files that are not what they should be."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import bosket
from bosket.budget import ledger, ownership
from bosket.budget.accounts import Account, Entry
from bosket.budget.budgets import Budget
from bosket.errors import BudgetExceeded, DataError

NOBODY = 65534
posix = pytest.mark.skipif(os.name == "nt", reason="signals, forks and users of POSIX")

START = f"""
import os, signal, sqlite3, sys, time, types
package = types.ModuleType("bosket")  # the room of privacy without the rest of the house, which takes a second to load
package.__path__ = [{str(Path(bosket.__file__).parent)!r}]
sys.modules["bosket"] = package
from bosket.errors import BudgetExceeded, DataError
from bosket.budget import ledger
from bosket.budget.budgets import Budget
path = sys.argv[1]

def tell(text):
    os.write(1, f"{{text}}\\n".encode())
"""


def start(program: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START + program, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rest_of(process: subprocess.Popen[str]) -> str:
    """What a killed process had said beyond the first line; communicate would miss what that line brought along."""
    with process:
        assert process.stdout is not None
        text = process.stdout.read()
    assert process.returncode == -signal.SIGKILL
    return text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budgets.ledger"


def said_by(process: subprocess.Popen[str]) -> str:
    """The next line of what it tells."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def go(processes: list[subprocess.Popen[str]]) -> None:
    """Let all of them go on that wait for a line."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


RACE = """
tell("ready")
sys.stdin.readline()
try:
    Budget.create(path, "data", epsilon=1.0)
    tell("created")
except DataError:
    pass
budget = Budget.open(path, "data")
tell(budget.spend(0.01, purpose="a hundredth").number)
sys.stdin.readline()  # else the fastest one takes it all
try:
    while True:
        tell(budget.spend(0.01, purpose="a hundredth").number)
        time.sleep(0.002)
except BudgetExceeded:
    pass
"""


@pytest.mark.slow
def test_processes_that_race_never_overdraw(path: Path) -> None:
    processes = [start(RACE, path) for _ in range(4)]
    assert [said_by(process) for process in processes] == ["ready"] * 4
    told = []
    go(processes)
    for process in processes:
        first = said_by(process)
        told.append([first, said_by(process)] if first == "created" else [first])
    go(processes)
    for lines, process in zip(told, processes, strict=True):
        lines += process.communicate(timeout=120)[0].split()
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(lines.count("created") for lines in told) == 1
    numbers = sorted(int(line) for lines in told for line in lines if line != "created")
    assert numbers == list(range(1, 101))
    budget = Budget.open(path, "data")
    assert (budget.spent, budget.remaining) == ((1.0, 0.0), (0.0, 0.0))
    assert len(budget.entries()) == 100


RACE_IN_PAIRS = """
tell("ready")
sys.stdin.readline()
budget = Budget.open(path, "data")
try:
    while True:
        one, two = budget.spend_together([(0.01, "used"), (0.01, "handed back")])
        assert (two.number, two.time) == (one.number + 1, one.time)
        assert budget.give_back(two).returns == two.number
        tell(one.number)
        time.sleep(0.002)
except BudgetExceeded:
    pass
"""


@pytest.mark.slow
def test_pairs_and_returns_that_race(path: Path) -> None:
    """Pairs stay together, and what is handed back is there for others: one pair's part is left over at the end."""
    Budget.create(path, "data", epsilon=0.5)
    processes = [start(RACE_IN_PAIRS, path) for _ in range(3)]
    assert [said_by(process) for process in processes] == ["ready"] * 3
    go(processes)
    told = [[int(line) for line in process.communicate(timeout=120)[0].split()] for process in processes]
    assert [process.returncode for process in processes] == [0] * 3
    budget = Budget.open(path, "data")
    used = sorted(number for numbers in told for number in numbers)
    returned = [entry.returns for entry in budget.entries() if entry.returns is not None]
    assert sorted(number + 1 for number in used) == sorted(returned)
    assert len(budget.entries()) == 3 * len(used)
    # the last spender can see at most all the others' parts, which are about to be handed back
    assert 0.5 - 0.01 * 2 * 3 < budget.spent.epsilon <= 0.5
    assert budget.spent == (len(used) / 100, 0.0)


SPEND_ON = """
budget = Budget.open(path, "data")
while True:
    tell(budget.spend(0.001, purpose="a thousandth").number)
"""


@pytest.mark.slow
@posix
def test_what_was_told_survives_kill_9(path: Path) -> None:
    """A number is told after its spend returned; killed at any moment, all that were told are in the ledger."""
    budget = Budget.create(path, "data", epsilon=1000.0)
    chance = random.Random(7)
    kept = 0
    for _ in range(12):
        process = start(SPEND_ON, path)
        assert process.stdout is not None
        told = [int(process.stdout.readline())]
        time.sleep(chance.uniform(0, 0.08))
        process.kill()
        told += [int(line) for line in rest_of(process).split()]
        assert told == list(range(kept + 1, kept + 1 + len(told)))
        entries = Budget.open(path, "data").entries()
        assert [entry.number for entry in entries] == list(range(1, 1 + len(entries)))
        assert told[-1] <= len(entries) <= told[-1] + 1
        kept = len(entries)
    assert budget.spent == (kept / 1000, 0.0)


PAIRS_ON = """
budget = Budget.open(path, "data")
while True:
    one, two = budget.spend_together([(0.001, "used"), (0.001, "handed back")])
    tell(f"{one.number} 0")
    tell(f"{two.number} {budget.give_back(two).number}")
"""


@posix
def test_pairs_and_returns_survive_kill_9(path: Path) -> None:
    """Both entries of a pair or none; what was told as returned is; and a killed process returns nothing more."""
    Budget.create(path, "data", epsilon=1000.0)
    chance = random.Random(8)
    left_over = 0
    for _ in range(8):
        process = start(PAIRS_ON, path)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.06))
        process.kill()
        told = [tuple(map(int, line.split())) for line in (first + rest_of(process)).splitlines()]
        account = Budget.open(path, "data").account
        for number, back in told:
            assert account.entries[number - 1].returns is None
            assert back == 0 or account.entries[back - 1].returns == number
        spent = [entry for entry in account.entries if entry.returns is None]
        assert len(spent) % 2 == 0
        returned = len(account.entries) - len(spent)
        assert len(spent) // 2 - returned - left_over in (0, 1)
        left_over = len(spent) // 2 - returned
        assert account.spent == ((len(spent) - returned) / 1000, 0.0)


DIE_AT_EVERY_STEP = """
from pathlib import Path
from bosket.budget.accounts import Account

path, connect = Path(path), sqlite3.connect
new = Account.new("data", epsilon=1.0, delta=0.0, neighbours="add-remove")

class Mortal(sqlite3.Connection):
    steps = 0

    def execute(self, *arguments):
        result = super().execute(*arguments)
        Mortal.steps += 1
        if Mortal.steps == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

def mortal(*arguments, **options):
    return connect(*arguments, **options, factory=Mortal)

def create():
    ledger.create(path, new)

def spend():
    ledger.append(path, "data", lambda account: account.spend(0.001, delta=0.0, purpose="a thousandth"))

def spend_together():
    ledger.append(path, "data", lambda account: account.spend_together([(0.001, "one"), (0.002, "two")]))

def give_back():
    ledger.append(path, "data", lambda account: account.give_back(account.entries[0]))

def give_back_again():  # in a ledger that is of version 2 already
    ledger.append(path, "data", lambda account: account.give_back(account.entries[1]))

def rows():
    try:
        accounts = ledger.accounts(path)
    except DataError:
        return 0
    return len(accounts) + sum(len(account.entries) for account in accounts)

for version in ledger.VERSIONS:
    ledger._own_schema(version)  # connects too, once
for action in (create, spend, spend_together, give_back, give_back_again):
    stop, status = 0, None
    saved = path.read_bytes() if action is not create else b""
    while status != 0:
        stop += 1
        if saved:
            path.write_bytes(saved)
        before = rows()
        child = os.fork()
        if child == 0:
            sqlite3.connect = mortal
            action()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        tell(f"{action.__name__} {status} {rows() - before}")
        if action is create:
            path.unlink(missing_ok=True)  # one of 0 bytes is refused, as truncated
    if action is create:
        create()
"""


@posix
def test_killed_between_any_two_steps(path: Path) -> None:
    """Before the commit nothing is there, after it all is; either way the next one finds a sound ledger, or none."""
    process = start(DIE_AT_EVERY_STEP, path)
    told = [line.split() for line in process.communicate(timeout=120)[0].splitlines()]
    assert process.returncode == 0
    for action, rows in (("create", 1), ("spend", 1), ("spend_together", 2), ("give_back", 1), ("give_back_again", 1)):
        steps = [(int(status), int(more)) for name, status, more in told if name == action]
        assert len(steps) > 8
        assert steps[:-2] == [(signal.SIGKILL, 0)] * (len(steps) - 2)
        assert steps[-2:] == [(signal.SIGKILL, rows), (0, rows)]
    budget = Budget.open(path, "data")
    assert budget.spent == (0.002, 0.0)
    assert [entry.returns for entry in budget.entries()] == [None, None, None, 1, 2]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, to kill at a system call")
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "unlink"])
@pytest.mark.parametrize(
    ("action", "rows"),
    [
        ("account.spend(0.1, delta=0.0, purpose='a tenth')", 1),
        ("account.spend_together([(0.1, 'a tenth'), (0.2, 'two')])", 2),
        ("account.give_back(account.entries[0])", 1),
    ],
)
def test_killed_at_any_system_call_that_writes(path: Path, tmp_path: Path, call: str, action: str, rows: int) -> None:
    before = Budget.create(path, "data", epsilon=1.0).spend(0.5, purpose="a half").number
    program = f"{START}ledger.append(__import__('pathlib').Path(path), 'data', lambda account: {action})\ntell('done')"
    for number in range(1, 100):
        (tmp_path / str(number)).mkdir()
        copy = Path(shutil.copy(path, tmp_path / str(number)))
        inject = ["strace", "-o", os.devnull, "-e", f"inject={call}:signal=SIGKILL:when={number}"]
        command = [*inject, sys.executable, "-c", program, str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if "ptrace" in done.stderr:
            pytest.skip("strace may not trace here")
        entries = Budget.open(copy, "data").entries()
        if done.stdout:
            assert len(entries) == before + rows
            break
        assert len(entries) in (before, before + rows)
    assert number > 1
    assert done.returncode == 0


def test_a_half_written_entry_is_undone(path: Path, tmp_path: Path) -> None:
    """What a loss of power leaves amid a commit: some pages of the file overwritten, the old ones in a journal."""
    entry = Budget.create(path, "data", epsilon=1.0).spend(0.1, purpose="before")
    later = tmp_path / "later"
    later.mkdir()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        for number in range(2, 200):
            row = (number, 1, number, "0.001", "0.0", "x" * 5000)
            connection.execute(
                "INSERT INTO entries (id, budget, number, epsilon, delta, purpose) VALUES (?,?,?,?,?,?)", row
            )
        for file in tmp_path.glob("budgets*"):
            shutil.copy(file, later)
        connection.execute("ROLLBACK")
    assert len(list(later.iterdir())) == 2
    assert (later / path.name).read_bytes() != path.read_bytes()
    assert Budget.open(later / path.name, "data").entries() == (entry,)
    assert [file.name for file in later.iterdir()] == [path.name]


def test_every_commit_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            if sql == "COMMIT":
                ask = super().execute
                settings.append([ask(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")])
            return super().execute(sql, *parameters)  # type: ignore[arg-type]  # passed on as they are

    connect = sqlite3.connect
    for version in ledger.VERSIONS:
        ledger._own_schema(version)
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Watched))
    Budget.create(path, "data", epsilon=1.0).spend(0.1, purpose="once")
    assert len(settings) >= 2
    assert all(setting == [3, "delete"] for setting in settings), "EXTRA, and no write-ahead log"


def test_at_rest_it_is_one_file_of_its_owner(path: Path) -> None:
    Budget.create(path, "data", epsilon=1.0).spend(0.1, purpose="once")
    assert list(path.parent.iterdir()) == [path]
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def change(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def tamper(path: Path, *statements: str) -> None:
    """Past the triggers, which are taken away and put back."""
    triggers = [sql for sql in ledger._SCHEMA if "CREATE TRIGGER" in sql]
    change(path, *(f"DROP TRIGGER {sql.split()[2]}" for sql in triggers), *statements, *triggers)


def fill(path: Path) -> Budget:
    budget = Budget.create(path, "data", epsilon=1.0)
    Budget.create(path, "other", epsilon=1.0).spend(0.5, purpose="of the other")
    for purpose in ("one", "two", "three"):
        budget.spend(0.25, purpose=purpose)
    return budget


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET epsilon = '0.0001'",
        "UPDATE OR REPLACE entries SET number = 1 WHERE number = 2",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = 3",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries",
        "INSERT OR REPLACE INTO entries (id, budget, number) VALUES (2, 2, 2)",
        "INSERT OR REPLACE INTO entries (budget, number) VALUES (1, 3)",
        "REPLACE INTO budgets (id, name, epsilon) VALUES (1, 'data', '100.0')",
        "REPLACE INTO budgets (id, name, epsilon) VALUES (9, 'data', '100.0')",
        "INSERT INTO budgets (id, name) VALUES (1, 'data') ON CONFLICT DO UPDATE SET epsilon = '100.0'",
        "UPDATE budgets SET epsilon = '100.0'",
        "DELETE FROM budgets",
    ],
)
def test_it_is_append_only(path: Path, statement: str) -> None:
    budget = fill(path)
    before = path.read_bytes()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        change(path, statement)
    assert path.read_bytes() == before
    assert budget.remaining == (0.25, 0.0)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET epsilon = '0.2' WHERE id = 2",
        "UPDATE entries SET epsilon = '-0.2' WHERE id = 4",
        "UPDATE entries SET epsilon = NULL WHERE id = 4",
        "UPDATE entries SET epsilon = 'nan' WHERE id = 4",
        "UPDATE entries SET delta = '1e-9' WHERE id = 4",
        "UPDATE entries SET purpose = 'nothing' WHERE id = 3",
        "UPDATE entries SET purpose = x'ff00' WHERE id = 3",
        "UPDATE entries SET time = '' WHERE id = 3",
        "UPDATE entries SET number = 7 WHERE id = 4",
        "UPDATE entries SET digest = 'cafe' WHERE id = 4",
        "UPDATE entries SET budget = 2 WHERE id = 4",
        "UPDATE entries SET budget = 7 WHERE id = 4",
        "UPDATE entries SET budget = NULL WHERE id = 4",
        "DELETE FROM entries WHERE id = 2",
        "DELETE FROM entries WHERE id = 4",
        "DELETE FROM entries",
        "UPDATE budgets SET epsilon = '100.0' WHERE id = 1",
        "UPDATE budgets SET neighbours = 'replace' WHERE id = 1",
        "UPDATE budgets SET name = 'dat' WHERE id = 1",
        "DELETE FROM budgets WHERE id = 2",
        "INSERT INTO entries (budget, number, epsilon, delta) VALUES (1, 4, '0.1', '0.0')",
        "UPDATE sqlite_sequence SET seq = 1 << 60",
    ],
)
def test_tampering_is_seen(path: Path, statement: str) -> None:
    """Past the triggers, which are taken away and put back."""
    budget = fill(path)
    tamper(path, statement)
    for look in (
        lambda: ledger.accounts(path),
        lambda: Budget.open(path, "data"),
        lambda: budget.spend(0.1, purpose="on"),
        lambda: Budget.create(path, "third", epsilon=1.0),
    ):
        with pytest.raises(DataError) as caught:
            look()
        assert caught.value.path == path
        assert "altered" in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET returns = 2 WHERE id = 3",
        "UPDATE entries SET returns = 1 WHERE id = 5",
        "UPDATE entries SET returns = 3 WHERE id = 5",
        "UPDATE entries SET returns = NULL WHERE id = 5",
        "UPDATE entries SET returns = 2.5 WHERE id = 5",
        "UPDATE entries SET returns = '2' || char(0) WHERE id = 5",
        "UPDATE entries SET epsilon = '0.5' WHERE id = 5",
        "UPDATE entries SET time = '2020-01-01T00:00+00:00' WHERE id = 5",
        "UPDATE entries SET budget = 2, number = 2 WHERE id = 5",
        "DELETE FROM entries WHERE id = 5",
        "INSERT INTO entries SELECT 6, budget, 5, epsilon, delta, purpose, time, version, digest, 2 FROM entries "
        "WHERE id = 5",
    ],
)
def test_tampering_with_a_return_is_seen(path: Path, statement: str) -> None:
    budget = fill(path)
    ledger.append(path, budget.name, lambda account: account.give_back(account.entries[1]))
    tamper(path, statement)
    with pytest.raises(DataError, match="altered"):
        budget.spend(0.1, purpose="on")
    with pytest.raises(DataError, match="altered"):
        ledger.accounts(path)


FORGED: dict[str, Callable[[Account], Entry]] = {
    "of a return": lambda account: replace(account.entries[3], returns=4),
    "a second time": lambda account: replace(account.entries[1], returns=2),
    "of more than was spent": lambda account: replace(account.entries[0], epsilon=0.5, returns=1),
    "of less than was spent": lambda account: replace(account.entries[0], epsilon=0.1, returns=1),
    "of a delta that was not spent": lambda account: replace(account.entries[0], delta=1e-9, returns=1),
    "of an entry to come": lambda account: replace(account.entries[0], returns=6),
    "of itself": lambda account: replace(account.entries[0], returns=5),
    "of an entry before the first": lambda account: replace(account.entries[0], returns=0),
    "counted from the end": lambda account: replace(account.entries[0], returns=-4),
    "at another time": lambda account: replace(account.entries[0], time="2020-01-01T00:00+00:00", returns=1),
    "for another purpose": lambda account: replace(account.entries[0], purpose="none", returns=1),
    "of another budget's entry": lambda account: Entry(0, 0.5, 0.0, "of the other", account.entries[0].time, "", "", 1),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_return_is_refused_though_its_digest_is_right(path: Path, forged: str) -> None:
    """As somebody would write it who can compute digests but holds to nothing else."""
    budget = fill(path)
    ledger.append(path, "data", lambda account: account.give_back(account.entries[1]))
    assert budget.spent == (0.5, 0.0)

    def forge(account: Account) -> Account:
        return account._with(replace(FORGED[forged](account), number=len(account.entries) + 1))

    with pytest.raises(DataError, match="altered"):
        ledger.append(path, "data", forge)
    assert budget.spent == (0.5, 0.0)
    with ledger._transaction(path, "IMMEDIATE") as connection:
        found = ledger._read(connection, path)
        entry, number = forge(found[0]).entries[-1], sum(len(account.entries) for account in found) + 1
        ledger._insert_entry(connection, entry, number=number, budget=1)
    for look in (lambda: budget.remaining, lambda: Budget.open(path, "data"), lambda: ledger.accounts(path)):
        with pytest.raises(DataError, match="altered"):
            look()


def test_more_than_was_granted_cannot_be_returned_afterwards(path: Path) -> None:
    """An overdraft is one, though a later entry makes the sum right."""
    account = Account.new("data", epsilon=1.0, delta=0.0, neighbours="add-remove")
    account = account.spend(0.75, delta=0.0, purpose="most of it")
    overdrawn = account._with(replace(account.entries[0], number=2))
    assert not overdrawn.adds_up()
    mended = overdrawn._with(replace(overdrawn.entries[1], number=3, returns=2))
    assert mended.remaining == (0.25, 0.0)
    assert not mended.adds_up()


def test_a_ledger_of_the_first_version(path: Path) -> None:
    """One that an older bosket made opens, keeps its digests, and becomes version 2 by its first return only."""
    old = Path(__file__).parent.parent / "golden" / "version-1.ledger.sql"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(old.read_text())
    path.chmod(0o600)
    budget = Budget.open(path, "data")
    before = budget.account
    assert before.head == "4877544a90f5d3aeefb6221c7819de052c9c2e0bc2e8324db25bc27f36742b65"
    assert (budget.spent, budget.remaining) == ((0.3, 1e-7), (0.7, 9e-7))
    first, second = budget.spend_together([(0.1, "first"), (0.2, "second")])
    assert version(path) == 1
    budget.give_back(second)
    assert version(path) == 2
    after = Budget.open(path, "data").account
    assert after.continues(before)
    assert [entry.returns for entry in after.entries] == [None, None, None, None, 4]
    assert after.entries[3:4] == (second,)
    assert after.remaining == (0.6, 9e-7)
    assert Budget.create(path, "new", epsilon=1.0).remaining == (1.0, 0.0)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert first.time == second.time


def version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize(
    "statement",
    ["DROP TRIGGER entries_no_delete", "DROP TRIGGER budgets_no_replace", "CREATE VIEW more AS SELECT * FROM budgets"],
)
def test_a_ledger_without_its_triggers_is_refused(path: Path, statement: str) -> None:
    budget = fill(path)
    change(path, statement)
    with pytest.raises(DataError, match="protection"):
        budget.spend(0.1, purpose="on")


HIDDEN = {
    "an entry is dropped without a word": "SELECT RAISE(IGNORE);",
    "an error of SQLite's": "SELECT RAISE(ABORT, 'no');",
    "a blob without end": "SELECT zeroblob(2147483647);",
    "a table that is not there": "INSERT INTO nowhere VALUES (1);",
}


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("seen", [True, False])
def test_a_trigger_behind_a_name_of_sqlites(
    path: Path, hidden: str, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It made every spend succeed and none be written down.  By the schema it is refused; by what it does, too."""
    budget = fill(path)
    trigger = f"CREATE TRIGGER sqlite_own BEFORE INSERT ON entries BEGIN {HIDDEN[hidden]} END"
    row = f"INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_own', 'entries', 0, \"{trigger}\")"
    change(path, "PRAGMA writable_schema = ON", row)
    if not seen:
        monkeypatch.setattr(ledger, "_schema", lambda connection: [("table", "budgets", "budgets", "")])
        monkeypatch.setattr(ledger, "_own_schema", lambda version: [("table", "budgets", "budgets", "")])
    with pytest.raises(DataError, match="protection" if seen else "does not keep"):
        budget.spend(0.25, purpose="the rest")
    if seen:
        with pytest.raises(DataError, match="protection"):
            Budget.open(path, "data")


def test_harmless_care_of_the_file_is_allowed(path: Path) -> None:
    budget = fill(path)
    change(path, "ANALYZE", "VACUUM", "REINDEX")
    assert budget.spend(0.25, purpose="the rest").number == 4


def test_an_old_copy_put_back_is_seen_by_who_knew_better(path: Path, tmp_path: Path) -> None:
    """Who opens it afresh cannot tell, unless they kept a digest."""
    budget = fill(path)
    shutil.copy(path, tmp_path / "copy")
    kept = budget.spend(0.25, purpose="the rest").digest
    shutil.copy(tmp_path / "copy", path)
    for look in (lambda: budget.remaining, lambda: budget.spend(0.25, purpose="the rest again")):
        with pytest.raises(DataError, match="replaced") as caught:
            look()
        assert caught.value.path == path
    afresh = Budget.open(path, "data")
    assert afresh.remaining == (0.25, 0.0)
    assert kept not in [entry.digest for entry in afresh.entries()]
    path.unlink()
    Budget.create(path, "data", epsilon=1.0)
    with pytest.raises(DataError, match="replaced"):
        budget.spend(0.25, purpose="of another budget of the same name")


def test_last_entries_taken_away_are_as_an_old_copy(path: Path) -> None:
    """Seen by who knew better, and by a digest that was kept; not by who opens it afresh."""
    budget = fill(path)
    kept = budget.entries()[-1].digest
    tamper(path, "DELETE FROM entries WHERE id = 4", "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'entries'")
    with pytest.raises(DataError, match="replaced"):
        budget.spend(0.1, purpose="on")
    assert kept not in [entry.digest for entry in Budget.open(path, "data").entries()]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        ("directory", "is a directory"),
        (b"", "0 bytes"),
        (b"epsilon,1.0\n", "is not a ledger"),
        (b"epsilon,1.0\n" * 1000, "is not a ledger"),
        ("foreign", "is not a ledger"),
        ("newer", "version 3"),
        ("older", "protection"),
        ("cut", "damaged"),
        ("holes", "damaged"),
        pytest.param("pipe", "not a regular file", marks=posix),
    ],
)
def test_files_that_are_no_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | str | None, said: str
) -> None:
    monkeypatch.setattr(ownership, "BEING_MADE", 0.02)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "directory":
        path.mkdir()
    elif content == "foreign":
        change(path, "CREATE TABLE budgets (id)")
    elif content == "pipe":
        os.mkfifo(path)
    elif content is not None:
        fill(path)
        whole = path.read_bytes()
        if content == "newer":
            change(path, "PRAGMA user_version = 3")
        elif content == "older":
            change(path, *ledger._UPGRADE, "PRAGMA user_version = 1")
        elif content == "cut":
            path.write_bytes(whole[:5000])
        else:
            path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    before = path.read_bytes() if path.is_file() else None
    looks: list[Callable[[], object]] = [lambda: Budget.open(path, "data"), lambda: ledger.accounts(path)]
    if content is not None:
        looks.append(lambda: Budget.create(path, "new", epsilon=1.0))
    for look in looks:
        with pytest.raises(DataError) as caught:
            look()
        assert caught.value.path == path
        assert said in str(caught.value)
        assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("name", ["missing/ledger", "nul\0"])
def test_where_no_ledger_can_be_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError):
        Budget.create(tmp_path / name, "data", epsilon=1.0)
    assert not list(tmp_path.iterdir())


def test_a_lock_that_is_not_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = fill(path)
    monkeypatch.setattr(ledger, "PATIENCE", 0.05)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="locked") as caught:
            budget.spend(0.1, purpose="in vain")
        assert caught.value.hint
        assert budget.remaining == (0.25, 0.0), "who only looks need not wait"
        connection.execute("ROLLBACK")
    assert budget.spend(0.1, purpose="at last").number == 4


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """The superuser may write anything, so be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@posix
@pytest.mark.parametrize("protected", ["file", "directory"])
def test_a_ledger_that_may_only_be_read(protected: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "budgets.ledger"
        fill(path)
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            os.chown(name, NOBODY, NOBODY)
        path.chmod(0o400 if protected == "file" else 0o600)
        Path(name).chmod(0o500 if protected == "directory" else 0o700)
        before = path.read_bytes()
        with ordinary_user():
            budget = Budget.open(path, "data")
            assert budget.remaining == (0.25, 0.0)
            for write in (
                lambda: budget.spend(0.1, purpose="in vain"),
                lambda: Budget.create(path, "new", epsilon=1.0),
            ):
                with pytest.raises(DataError, match="written") as caught:
                    write()
                assert caught.value.path == path
        assert path.read_bytes() == before
        Path(name).chmod(0o700)


@posix
def test_a_ledger_of_somebody_else() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        path = Path(name) / "budgets.ledger"
        fill(path)
        path.chmod(0)
        with ordinary_user(), pytest.raises(DataError, match="by this user"):
            Budget.open(path, "data")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs POSIX limits")
def test_a_full_disk_spends_nothing(path: Path) -> None:
    """A limit on the size of files stands for it."""
    budget = fill(path)
    program = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = os.stat(path).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
budget = Budget.open(path, "data")
try:
    budget.spend(0.25, purpose="x" * 100_000)
except DataError as error:
    tell(error)
tell(budget.remaining.epsilon)
"""
    told = start(program, path).communicate(timeout=60)[0].splitlines()
    assert len(told) == 2
    assert str(path) in told[0]
    assert told[1] == "0.25"
    assert budget.spend(0.25, purpose="the rest").number == 4
    with pytest.raises(BudgetExceeded):
        budget.spend(0.25, purpose="more")
