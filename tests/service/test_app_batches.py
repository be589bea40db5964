"""Batches: what is handed out differs by one at least; what closes, fails or is taken away is counted all the same."""

from __future__ import annotations

import secrets
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import bosket as bk
from bosket.service import schema
from bosket.service import store as store_module
from bosket.service.collector import Collector
from bosket.service.periods import TokenBudget
from bosket.service.settings import SecondPhase, ServiceSettings, TaskSettings
from bosket.service.store import ReportStore, StoreFullError, StoreLostError
from bosket.service.submissions import StoredRows, Submission, SubmissionOutcome, SubmissionVerdict, TokenState
from tests.service.studies import ITEMS, Study, people, reports, rows_of, small_plan, study
from tests.service.test_store import opened, submission


def exported(s: Study) -> list[bytes] | None:
    """The reports that an analyst is handed; None where there are too few."""
    answer = s.client.get("/v1/tasks/shop/reports", headers=s.bearer())
    if answer.status_code == 409:
        return None
    (s.folder / "export.parquet").write_bytes(answer.content)
    return rows_of(bk.Reports.read(s.folder / "export.parquet", plan=s.plan))


def picture(s: Study) -> dict[str, Any]:
    s.settle()
    found: dict[str, Any] = s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
    return found


def test_two_exports_differ_by_a_batch(tmp_path: Path, store_url: str) -> None:
    """Else who asks again and again sees each report by itself, and when it came."""
    with study(tmp_path, store=store_url, min_batch=40) as s:
        first = reports(s.plan, 45)
        s.send(first[:39])
        assert exported(s) is None
        s.send(first[39:])
        assert exported(s) == rows_of(first)
        s.send(reports(s.plan, 1, seed=2))
        assert exported(s) == rows_of(first), "one more report is not to be told from the others"
        s.send(reports(s.plan, 39, seed=3))
        assert len(exported(s) or []) == 85
        s.send(reports(s.plan, 1, seed=4))
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        assert exported(s) == rows_of(s.stored()), "the last export is of all"


def test_no_batch_is_of_a_few_reports(tmp_path: Path, store_url: str) -> None:
    """What is open when a task closes is put together with a batch that is sealed."""
    with study(tmp_path, store=store_url, min_batch=40, batch_size=60) as s:
        for number, seed in ((60, 1), (70, 2), (1, 3)):
            s.send(reports(s.plan, number, seed=seed))
        before = rows_of(s.stored())
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        assert sorted(batch.n_reports for batch in s.collector.batches("shop")) == [61, 70]
        assert rows_of(s.stored()) == before


@pytest.mark.slow
def test_what_is_open_is_sealed_when_the_calendar_closes_a_task(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=10) as s:
        s.send(reports(s.plan, 5))
        s.send(reports(s.plan, 7))
        assert s.collector.batches("shop") == []
        s.collector.store.n_open = lambda task, phase: 0  # type: ignore[method-assign]  # as if it was killed
    with study(tmp_path, min_batch=10, closes=datetime.now(UTC) + timedelta(seconds=0.3)) as s:
        until = time.monotonic() + 600
        while not s.collector.tasks["shop"].is_closed:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert picture(s)["is_final"]
        assert [batch.n_reports for batch in s.collector.batches("shop")] == [12]
    with study(tmp_path, min_batch=10) as s:
        assert s.send(reports(s.plan, 5)).status_code == 410, "it stays closed"


@pytest.mark.slow
def test_a_small_batch_that_is_taken_away_is_not_shown_any_more(tmp_path: Path) -> None:
    """A hundredth of all reports: too few to mine again if they came, but these are forged."""
    with study(tmp_path, min_batch=10, batch_size=20) as s:
        s.send(reports(s.plan, 20))
        s.send(reports(s.plan, 2000, seed=2))
        assert picture(s)["n_reports"] == 2020
        (forged,) = [batch.id for batch in s.collector.batches("shop") if batch.n_reports == 20]
        assert s.client.delete(f"/v1/tasks/shop/batches/{forged}", headers=s.bearer()).status_code == 200
        assert picture(s)["n_reports"] == 2000


def test_a_task_that_closes_with_nothing_new_is_said_to_be_closed(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=10) as s:
        s.send(reports(s.plan, 20))
        assert not picture(s)["is_final"]
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        assert picture(s)["is_final"]


def test_what_was_written_though_the_commit_failed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that breaks between the commit and its answer; a repetition among it is not counted twice."""
    with study(tmp_path, min_batch=10) as s:
        real = s.collector.store._commit
        old, old_key = reports(s.plan, 5), secrets.token_hex(16)
        assert s.send(old, key=old_key).status_code == 201

        def broken(group: list[Submission]) -> list[SubmissionOutcome]:
            real(group)
            raise sa.exc.OperationalError("COMMIT", {}, sqlite3.OperationalError("gone"))

        def gone(group: list[Submission]) -> list[Submission]:
            raise StoreLostError

        monkeypatch.setattr(s.collector.store, "_commit", broken)
        sent, key = reports(s.plan, 30, seed=2), secrets.token_hex(16)
        assert s.send(old, key=old_key).status_code == 503
        assert s.send(sent, key=key).status_code == 503
        with monkeypatch.context() as patched:
            patched.setattr(s.collector.store, "written", gone)
            patched.setattr(s.collector.store, "ping", lambda: False)
            assert s.client.get("/ready").status_code == 503, "and no fault"
            assert s.send(sent, key=key).status_code == 503
        assert s.send(sent, key=key).status_code == 503
        monkeypatch.setattr(s.collector.store, "_commit", real)
        assert s.send(sent, key=key).status_code == 200
        assert picture(s)["n_reports"] == 35 == s.stored().n_records
        assert s.collector.store.n_open("shop", 1) == 35


def test_a_batch_that_cannot_be_sealed_hides_no_other_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small_plan()
    tasks = tuple(TaskSettings(name, name, plan, min_batch=5, batch_size=5, simulation=True) for name in ("a", "b"))
    collector = Collector(ServiceSettings(tasks, f"sqlite:///{tmp_path / 'study.db'}", tmp_path))
    try:
        some = reports(plan, 10)
        rows = plan.channel.payload.to_rows(some.batch)
        both = [Submission(name, 1, secrets.token_bytes(16), some.to_bytes(), rows) for name in ("a", "b")]
        collector.store.commit(both)

        def full(*of: object, **how: object) -> None:
            raise StoreFullError

        with monkeypatch.context() as patched:
            patched.setattr(collector.store, "seal", full)
            with pytest.raises(StoreFullError):
                collector._on_durable(both)
        assert [collector.results.n_reports(name) for name in ("a", "b")] == [10, 10]
    finally:
        collector.stop()


@pytest.mark.parametrize("budget", [None, TokenBudget("2027-01-01", 1, 4)], ids=["once", "period"])
def test_a_token_spent_by_another_process_in_between(
    store_url: str, budget: TokenBudget | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group is judged while the token is unspent; the update finds that it is not, and all is judged again."""
    with opened(store_url) as store:
        digest = secrets.token_bytes(32)
        used = (
            {"is_spent": True}
            if budget is None
            else {"is_spent": False, "used_in": "2027-01-01", "n_total": 1, "n_used": 1}
        )
        with store.writing.begin() as connection:
            connection.execute(sa.insert(schema.ONE_TIME).values(digest=digest, task="shop", **used))
        real, seen = store_module._one_time, []

        def blind(connection: sa.Connection, group: list[Submission]) -> dict[bytes, TokenState]:
            seen.append(len(group))
            unused = {digest: TokenState("shop", False, None, None, 0, 0)}
            return unused if len(seen) == 1 else real(connection, group)

        monkeypatch.setattr(store_module, "_one_time", blind)
        one, free = submission(), submission()
        late = Submission("shop", 1, one.key, one.body, one.rows, token=digest, budget=budget)
        assert [how.verdict for how in store.commit([late, free])] == [
            SubmissionVerdict.SPENT,
            SubmissionVerdict.ACCEPTED,
        ]
        assert store.n_reports("shop", 1) == 1


def test_a_batch_sealed_by_another_process_in_between(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it deleted is not written once more."""
    with opened(store_url) as store:
        store.commit([submission(5)])
        real = store_module._joined

        def overtaken(parts: list[StoredRows]) -> StoredRows:
            monkeypatch.setattr(store_module, "_joined", real)
            with other.begin() as connection:
                connection.execute(sa.delete(schema.SEGMENTS))
            return real(parts)

        if store.url.get_backend_name() == "sqlite":
            pytest.skip("a transaction of SQLite that writes keeps all others out")
        other = sa.create_engine(store.url)
        monkeypatch.setattr(store_module, "_joined", overtaken)
        with pytest.raises(StoreLostError):
            store.seal("shop", 1)
        other.dispose()
        assert store.n_reports("shop", 1) == 0


def end_the_holder(store: ReportStore) -> None:
    """End the session that has the lock, and wait until it is gone."""
    here = "locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    until = time.monotonic() + 600
    while time.monotonic() < until:
        with store.reading.begin() as connection:
            if not connection.execute(sa.text(f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {here}")).all():
                return
        time.sleep(0.01)
    raise AssertionError("the session lives on")


def test_a_store_is_held_again_after_its_session_was_lost(
    postgres_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL ends the session with the lock, as a restart does: what is written then is written under it again."""
    monkeypatch.setattr("bosket.service.engines._PATIENCE", 0.0)
    with opened(postgres_store_url) as store:
        end_the_holder(store)
        assert store.commit([submission()])[0].verdict is SubmissionVerdict.ACCEPTED
        with pytest.raises(bk.DataError, match="Another collector"):
            ReportStore(postgres_store_url)
        end_the_holder(store)
        with opened(postgres_store_url) as second:
            with pytest.raises(StoreLostError):
                store.commit([submission()])
            assert second.commit([submission()])[0].verdict is SubmissionVerdict.ACCEPTED
        assert store.n_reports("shop", 1) == 2


def test_nothing_is_said_of_a_phase_that_few_answered(tmp_path: Path) -> None:
    domain = bk.Domain(ITEMS)
    plan = bk.Plan(domain, bk.Ask.baskets(domain, epsilon=3, expected_size=2))
    how = SecondPhase(top=3)
    with study(tmp_path, plan=plan, tokens="one-time", second=how, min_batch=20, min_support=0.2) as s:
        tokens = s.issue("one-time", 30)
        answers = plan.randomize(people(25), rng=bk.Seeded(1))
        for at in range(25):
            s.send(answers[at : at + 1], Bosket_Token=tokens[at])
        s.client.post("/v1/tasks/shop/phase", headers=s.bearer())
        second = s.collector.tasks["shop"].plan
        assert s.send(second.randomize(people(1), rng=bk.Seeded(2)), Bosket_Token=tokens[25]).status_code == 201
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        assert [flag["phase"] for flag in picture(s)["flags"]] == [1]


def test_errors_of_the_driver_quote_nothing(store_url: str) -> None:
    with opened(store_url) as store:
        row = {"id": b"\x11" * 32, "code": b"secret-of-the-body", "n_reports": 1}
        with pytest.raises(sa.exc.IntegrityError) as caught, store.writing.begin() as connection:
            connection.execute(sa.insert(schema.RECEIPTS), [row, row])
        assert "secret-of-the-body" not in str(caught.value)
