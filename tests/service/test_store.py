"""What the store keeps, and what it does not: groups, batches, receipts, full disks, versions, copies."""

from __future__ import annotations

import asyncio
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import bosket as bk
from bosket.service import schema
from bosket.service.periods import TokenBudget
from bosket.service.store import ReportStore, backup, shuffled
from bosket.service.submissions import Submission, SubmissionOutcome, SubmissionVerdict, TokenState
from bosket.service.writer import BusyError, Writer
from tests.service.studies import random_reports, reports, rows_of, small_plan, study


@contextmanager
def opened(url: str) -> Iterator[ReportStore]:
    store = ReportStore(url)
    try:
        if not store.phases("shop"):
            store.add_phase("shop", small_plan(128).json)
        yield store
    finally:
        store.close()


def submission(n: int = 1) -> Submission:
    plan = small_plan(128)
    some = random_reports(plan, n)
    rows = plan.channel.payload.to_rows(some.batch)
    return Submission("shop", 1, secrets.token_bytes(16), some.to_bytes(), rows)


def contents(store: ReportStore) -> list[bytes]:
    return sorted(row.tobytes() for part in store.stored("shop", 1) for row in part.rows)


def test_a_group_knows_what_it_holds_twice(store_url: str) -> None:
    """Two requests with one key in one group: one counts, the other hears that it did, or that it conflicts."""
    with opened(store_url) as store:
        one = submission(2)
        other = Submission("shop", 1, one.key, b"other", submission().rows)
        verdicts = [outcome.verdict for outcome in store.commit([one, one, other, submission()])]
        assert verdicts == [
            SubmissionVerdict.ACCEPTED,
            SubmissionVerdict.REPEATED,
            SubmissionVerdict.CONFLICT,
            SubmissionVerdict.ACCEPTED,
        ]
        assert store.n_reports("shop", 1) == 3
        asked = Submission("shop", 1, one.key, one.body)
        unknown = Submission("shop", 1, bytes(16), b"")
        assert store.commit([asked, unknown]) == [
            SubmissionOutcome(SubmissionVerdict.REPEATED, 2),
            SubmissionOutcome(SubmissionVerdict.REFUSED),
        ]


def test_a_receipt_written_by_another_process_in_between(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The group is judged before the other's receipt is seen; its key, there twice, stops it, and it is redone."""
    with opened(store_url) as store:
        one, two = submission(), submission()
        store.commit([one])
        seen = []

        def blind(connection: sa.Connection, group: list[Submission]) -> dict[bytes, tuple[bytes, int]]:
            seen.append(len(group))
            return {} if len(seen) == 1 else real(connection, group)

        from bosket.service import store as module

        real = module._receipts
        monkeypatch.setattr(module, "_receipts", blind)
        assert [outcome.verdict for outcome in store.commit([two, one])] == [
            SubmissionVerdict.ACCEPTED,
            SubmissionVerdict.REPEATED,
        ]
        assert seen == [2, 1, 1]
        assert store.n_reports("shop", 1) == 2


def test_batches_are_sealed_shuffled_and_subtracted(store_url: str) -> None:
    with opened(store_url) as store:
        for _ in range(5):
            store.commit([submission(3), submission(4)])
        before = contents(store)
        assert store.n_open("shop", 1) == 35
        assert store.batches("shop") == []
        store.seal("shop", 1)
        (batch,) = store.batches("shop")
        assert batch.n_reports == 35
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", batch.day or "")
        assert contents(store) == before, "nothing is lost or doubled by it"
        assert store.n_open("shop", 1) == 0
        store.commit([submission(2)])
        assert store.subtract("shop", "0" * 32) is None
        found = store.subtract("shop", batch.id)
        assert found is not None
        assert sorted(row.tobytes() for row in found[1].rows) == before
        assert store.n_reports("shop", 1) == 2


def test_the_order_of_arrival_is_not_kept() -> None:
    """All 24 orders of four rows come up: Pr(one is missing in 2000 draws) < 24 (23/24)^2000 < 1e-35."""
    rows = np.arange(4, dtype=np.uint8).reshape(4, 1)
    assert len({shuffled(rows).tobytes() for _ in range(2000)}) == 24


def test_nothing_in_the_store_says_who_when_or_whose(tmp_path: Path) -> None:
    """No address, agent or time of day; no id as it was sent; no digest of a body that could be tried."""
    import hashlib

    with study(tmp_path) as s:
        key, body = secrets.token_hex(16), reports(s.plan, 1).to_bytes()
        s.send(body, key=key, User_Agent="a-very-special-agent", X_Forwarded_For="203.0.113.77")
        columns = {column.name for table in schema.METADATA.tables.values() for column in table.columns}
        assert columns == {
            *("version", "task", "phase", "plan", "is_closed", "id", "day", "n_reports", "chance", "reports"),
            *("code", "digest", "scope", "is_spent", "period", "used_in", "n_used", "n_total", "calendar"),
        }
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("study.db*"))
    assert s.plan.json.encode() in kept, "the search can find"
    for trace in (b"special-agent", b"203.0.113.77", key.encode(), bytes.fromhex(key)):
        assert trace not in kept
    assert hashlib.sha256(body).digest() not in kept
    assert not re.search(rb"\d\d:\d\d:\d\d", kept)


def test_receipts_cannot_be_joined_to_reports() -> None:
    tables = schema.RECEIPTS.columns.keys(), schema.SEGMENTS.columns.keys()
    shared = set(tables[0]) & set(tables[1])
    assert shared == {"id", "n_reports"}, "ids of both are random and never equal; numbers are sums in a sealed batch"
    assert schema.RECEIPTS.dialect_options["sqlite"]["with_rowid"] is False
    assert schema.ONE_TIME.dialect_options["sqlite"]["with_rowid"] is False


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    """SQLite may grow to a number of pages: 507 from there on; what was acknowledged stays; room lets it go on."""
    plan = small_plan(128)
    with study(tmp_path, plan=plan) as s:
        kept = [random_reports(plan, 200) for _ in range(3)]
        for some in kept:
            assert s.send(some).status_code == 201
        with s.collector.store.writing.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")
        refused, key = random_reports(plan, 5000), secrets.token_hex(16)
        full = s.send(refused, key=key)
        assert full.status_code == 507
        assert full.json()["type"] == "urn:bosket:problem:full"
        assert rows_of(s.stored()) == sorted(row for some in kept for row in rows_of(some))
        assert s.client.get("/health").status_code == 200
        with s.collector.store.writing.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        assert s.send(refused, key=key).status_code == 201, "the same request, once there is room"
        assert rows_of(s.stored()) == sorted(row for some in [*kept, refused] for row in rows_of(some))


def test_a_store_that_went_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with study(tmp_path) as s:
        sent, key = reports(s.plan, 3), secrets.token_hex(16)
        real = s.collector.store._commit

        def gone(group: list[Submission]) -> list[SubmissionOutcome]:
            raise sa.exc.OperationalError("INSERT", {}, sqlite3.OperationalError("disk I/O error"))

        monkeypatch.setattr(s.collector.store, "_commit", gone)
        answer = s.send(sent, key=key)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        monkeypatch.setattr(s.collector.store, "_commit", real)
        assert s.send(sent, key=key).status_code == 201


def test_a_full_disk_of_postgresql_is_known() -> None:
    import psycopg

    from bosket.service.engines import is_full

    full = psycopg.errors.DiskFull("no room")
    assert is_full(sa.exc.OperationalError("INSERT", {}, full))
    assert not is_full(sa.exc.OperationalError("INSERT", {}, psycopg.OperationalError("gone")))


def test_versions_are_brought_up_to_date(store_url: str) -> None:
    with opened(store_url) as store:
        store.commit([submission(3)])

        def step(connection: sa.Connection) -> None:
            connection.execute(sa.text("CREATE TABLE added (x INTEGER)"))

        with store.writing.begin() as connection:
            assert schema.migrate(connection, migrations={3: step}, version=4) == 3
        with store.writing.begin() as connection:
            assert schema.migrate(connection, migrations={3: step}, version=4) == 4, "once"
    with pytest.raises(bk.DataError, match="version 4"):
        ReportStore(store_url)


def test_a_store_of_the_first_version_gets_periods(store_url: str) -> None:
    """Tokens that were spent stay so; the others may be counted by period."""
    old, new = (secrets.token_bytes(32) for _ in range(2))
    with opened(store_url) as store, store.writing.begin() as connection:
        for name in ("period", "used_in", "n_used", "n_total"):
            connection.exec_driver_sql(f"ALTER TABLE one_time DROP COLUMN {name}")
        connection.exec_driver_sql("ALTER TABLE phases DROP COLUMN calendar")
        rows = [{"digest": old, "task": "shop", "is_spent": True}, {"digest": new, "task": "shop", "is_spent": False}]
        connection.execute(sa.insert(sa.table("one_time", *map(sa.column, rows[0]))), rows)
        connection.execute(sa.update(schema.SCHEMA_VERSION).values(version=1))
    budget = TokenBudget("2027-01-01", 1, 2)
    with opened(store_url) as store:
        one, two = submission(), submission()
        taken = [replace(one, token=old, budget=budget), replace(two, token=new, budget=budget)]
        assert [how.verdict.name for how in store.commit(taken)] == ["SPENT", "ACCEPTED"]
        assert store.phases("shop")[0].calendar is None, "nobody kept it"


def test_a_token_is_given_nothing_anew_by_a_clock_or_a_file() -> None:
    """Two periods in turn each began anew, and a study without periods did not look at what a token had brought."""
    january, february = (TokenBudget(f"2027-0{month}-01", 1, 12) for month in (1, 2))
    new = TokenState("shop", False, None, None, 0, 0)
    late = new.after(1, february)
    assert late is not None
    assert late.after(1, january) is None, "a clock that was set back, or one who waited over midnight"
    assert late.after(1, february) is None
    assert late.after(1, TokenBudget("2027-03-01", 1, 12)) is not None
    assert late.after(1, None) is None
    assert new.after(1, None) == new._replace(is_spent=True)


def test_a_step_that_fails_changes_nothing(store_url: str) -> None:
    with opened(store_url) as store:

        def step(connection: sa.Connection) -> None:
            connection.execute(sa.text("CREATE TABLE added (x INTEGER)"))
            raise RuntimeError

        with pytest.raises(RuntimeError), store.writing.begin() as connection:
            schema.migrate(connection, migrations={3: step}, version=4)
        assert not sa.inspect(store.reading).has_table("added")
    with opened(store_url):
        pass


def test_a_copy_is_a_store(tmp_path: Path) -> None:
    """Copied while the collector runs; a collector goes on with it, receipts and tokens among it."""
    with study(tmp_path) as s:
        sent, key = reports(s.plan, 40), secrets.token_hex(16)
        s.send(sent, key=key)
        backup(s.collector.settings.store, tmp_path / "copy.db")
        with pytest.raises(bk.DataError):
            backup(s.collector.settings.store, tmp_path / "copy.db")
        (tmp_path / "waiting.db").symlink_to(tmp_path / "elsewhere.db")
        with pytest.raises(bk.DataError, match="exists"):  # a link that leads nowhere yet
            backup(s.collector.settings.store, tmp_path / "waiting.db")
        assert not (tmp_path / "elsewhere.db").exists()
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with study(tmp_path, store=f"sqlite:///{tmp_path / 'copy.db'}") as s:
        assert rows_of(s.stored()) == rows_of(sent)
        assert s.send(sent, key=key).status_code == 200
        assert s.client.get("/v1/tasks/shop/batches", headers=s.bearer()).status_code == 200


def test_sqlite_waits_for_the_disk(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'study.db'}") as store, store.writing.connect() as connection:
        for name, value in (("journal_mode", "wal"), ("synchronous", 2), ("secure_delete", 1)):
            assert connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() == value
    assert (tmp_path / "study.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "nonsense"])
def test_other_stores_are_refused(url: str) -> None:
    with pytest.raises(bk.DataError):
        ReportStore(url)


def test_what_waits_beyond_its_limit_is_refused(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'study.db'}") as store:
        writer = Writer(store, lambda taken: None, most_waiting=10)
        try:
            with pytest.raises(BusyError):
                asyncio.run(writer.submit(submission(3)))
        finally:
            writer.stop()
