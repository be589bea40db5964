"""Reports come in: acknowledged once, durable, and refused with a reason."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import bosket as bk
from bosket.service.signing import is_signed
from bosket.service.submissions import Submission, SubmissionOutcome
from tests.service.studies import MEDIA_TYPE, people, reports, rows_of, small_plan, study


def test_a_task_is_told_signed(tmp_path: Path) -> None:
    with study(tmp_path, period="a week", min_batch=7) as s:
        answer = s.client.get("/v1/tasks/shop")
        assert answer.status_code == 200
        document = answer.json()
        assert is_signed(document["signed"], document["signature"], document["key"])
        assert not is_signed(document["signed"] + " ", document["signature"], document["key"])
        signed = json.loads(document["signed"])
        assert bk.Plan.from_json(signed["plan_text"]).digest == signed["digest"] == s.plan.digest
        assert json.loads(signed["plan_text"]) == signed["plan"]
        assert signed["participant"] == s.plan.guarantee.for_participants().split("\n")
        assert (signed["phase"], signed["period"], signed["min_batch"]) == (1, "a week", 7)
        assert (signed["tokens"], signed["reports_per_person"], signed["closes"]) == ("none", 1, None)
        key = document["key"]
    with study(tmp_path, period="a week", min_batch=7) as s:
        assert s.client.get("/v1/tasks/shop").json()["key"] == key, "the key outlives the server"
    assert (tmp_path / "signing.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "admin.token").stat().st_mode & 0o777 == 0o600


def test_what_is_acknowledged_is_there_once(tmp_path: Path, store_url: str) -> None:
    plan = small_plan()
    sent = reports(plan, 30)
    with study(tmp_path, store=store_url) as s:
        key = secrets.token_hex(16)
        first = s.send(sent, key=key)
        again = s.send(sent, key=key)
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json() == {"accepted": 30}
        other = s.send(reports(plan, 30, seed=2), key=key)
        assert other.status_code == 409
        assert other.json()["type"] == "urn:bosket:problem:conflict"
        assert rows_of(s.stored()) == rows_of(sent)
    with study(tmp_path, store=store_url) as s:
        assert rows_of(s.stored()) == rows_of(sent), "and after a restart"
        assert s.send(sent, key=key).status_code == 200, "which knows its receipts"
        assert s.send(sent).status_code == 201, "the same reports under another key are others"
        assert s.stored().n_records == 60


@pytest.mark.parametrize(
    "change, status, kind",
    [
        ({"Content-Type": "application/octet-stream"}, 415, "content-type"),
        ({"Content-Type": f"{MEDIA_TYPE}; charset=utf-8"}, 415, "content-type"),
        ({"Content-Encoding": "gzip"}, 415, "content-type"),
        ({"key": "AB" * 16}, 400, "key"),
        ({"key": "ab"}, 400, "key"),
        ({"task": "nowhere"}, 404, "no-task"),
    ],
)
def test_headers_are_read_strictly(tmp_path: Path, change: dict[str, str], status: int, kind: str) -> None:
    with study(tmp_path) as s:
        answer = s.send(reports(s.plan, 3), **change)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == f"urn:bosket:problem:{kind}"
        assert s.stored().n_records == 0


def test_simulated_reports_are_not_taken_among_real_ones(tmp_path: Path) -> None:
    """One of them, from anybody, made all reports of a task, its results and its exports those of a simulation."""
    with study(tmp_path, min_batch=1, simulation=False) as s:
        real = s.plan.randomize(people(4))
        assert s.send(real).status_code == 201
        answer = s.send(reports(s.plan, 1))
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:bosket:problem:simulated")
        assert not s.stored().is_simulation
        assert s.stored().n_records == 4


def test_bodies_are_read_strictly(tmp_path: Path) -> None:
    with study(tmp_path, max_body=4000, max_reports=50) as s:
        good = reports(s.plan, 20).to_bytes()
        other = reports(small_plan(keep=0.8), 20)
        named = s.plan.randomize(bk.Baskets([["a"]], items=list("abcdefgh")), rng=bk.Seeded(1), respondents=["x"])
        cases = [
            (b"", 422, "reports"),
            (good[:-1] + b"", None, None),
            (good[: len(good) // 2 + 1][:9], 422, "reports"),
            (other.to_bytes(), 422, "plan"),
            (named.to_bytes(), 422, "named"),
            (bytes(4001), 413, "too-large"),
            (reports(s.plan, 51).to_bytes(), 413, "too-large"),
        ]
        for body, status, kind in cases:
            answer = s.send(body)
            if status is None:
                assert answer.status_code in (201, 422)
                continue
            assert answer.status_code == status, answer.text
            assert answer.json()["type"] in (f"urn:bosket:problem:{kind}", "urn:bosket:problem:empty")


def test_a_body_without_a_length_is_cut_off(tmp_path: Path) -> None:
    """Somebody who streams without end is refused at the limit, whatever the length they claim."""
    with study(tmp_path, max_body=1000) as s:
        drawn = []

        async def parts() -> AsyncIterator[bytes]:
            for number in range(1000):
                drawn.append(number)
                yield bytes(100)

        headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16)}
        assert s.client.post("/v1/tasks/shop/reports", content=parts(), headers=headers).status_code == 413
        assert s.stored().n_records == 0


def test_a_closed_task_takes_none_but_knows_what_it_took(tmp_path: Path, store_url: str) -> None:
    with study(tmp_path, store=store_url, min_batch=5) as s:
        sent, key = reports(s.plan, 20), secrets.token_hex(16)
        assert s.send(sent, key=key).status_code == 201
        assert s.client.post("/v1/tasks/shop/close").status_code == 401
        closed = s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        assert closed.json() == {"task": "shop", "phase": 1, "is_open": False}
        assert s.send(reports(s.plan, 20, seed=2)).status_code == 410
        assert s.send(sent, key=key).status_code == 200
        assert s.send(reports(s.plan, 20, seed=2), key=key).status_code == 409
        assert [batch.n_reports for batch in s.collector.batches("shop")] == [20], "what was open is sealed"
    with study(tmp_path, store=store_url, min_batch=5) as s:
        assert s.send(reports(s.plan, 20, seed=2)).status_code == 410


def test_a_task_closes_by_the_calendar(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    with study(tmp_path, closes=datetime(2020, 1, 1, tzinfo=UTC)) as s:
        assert s.send(reports(s.plan, 20)).status_code == 410


def test_a_rate_is_kept(tmp_path: Path) -> None:
    with study(tmp_path, rate=1e-6) as s:
        assert s.send(reports(s.plan, 1)).status_code == 201
        late = s.send(reports(s.plan, 1))
        assert late.status_code == 429
        assert int(late.headers["retry-after"]) >= 1


def test_tokens_that_are_made_up_or_spent_take_no_turn(tmp_path: Path) -> None:
    """Who had no token at all shut everybody else out of a task with a rate; by bytes that are no reports too."""
    with study(tmp_path, rate=1e-6, tokens="one-time") as s:
        first, second = s.issue("one-time", 2)
        one = reports(s.plan, 1)
        for _ in range(3):
            assert s.send(one, Bosket_Token="x" * 43).status_code == 403
        head = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16), "Bosket-Token": "x" * 43}
        assert s.client.post("/v1/tasks/shop/reports", content=b"none", headers=head).status_code == 422
        assert s.send(one, Bosket_Token=first).status_code == 201
        assert s.send(one, Bosket_Token=second).status_code == 429


def test_a_batch_that_is_sent_again_takes_no_turn(tmp_path: Path) -> None:
    """By one report, sent again and again under its id, one person shut everybody else out."""
    with study(tmp_path, rate=1e-6, tokens="one-time") as s:
        first, second = s.issue("one-time", 2)
        (limit,) = s.client.app.state.rates.values()
        one, key = reports(s.plan, 1), secrets.token_hex(16)
        assert s.send(one, key=key, Bosket_Token=first).status_code == 201
        limit._left = 1.0  # as after some time
        assert s.send(one, key=key, Bosket_Token=first).status_code == 200
        assert s.send(reports(s.plan, 1, seed=2), key=key, Bosket_Token=first).status_code == 409
        assert s.send(one, Bosket_Token=second).status_code == 201


def test_made_up_tokens_take_no_turn_while_they_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few at a time, one after the other, kept the one turn of a second, and everybody else out."""
    with study(tmp_path, rate=1e-6, tokens="one-time") as s:
        body, (good,) = reports(s.plan, 1).to_bytes(), s.issue("one-time")
        write, both, n_looked_up = s.collector.writer.submit, asyncio.Event(), 0

        async def together(submission: Submission) -> SubmissionOutcome:
            nonlocal n_looked_up
            n_looked_up += 1
            if n_looked_up == 2:
                both.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(both.wait(), 2)
            return await write(submission)

        monkeypatch.setattr(s.collector.writer, "submit", together)
        heads = [
            {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16), "Bosket-Token": token}
            for token in ("x" * 43, good)
        ]
        answers = s.client.together(
            [("POST", "/v1/tasks/shop/reports", {"content": body, "headers": h}) for h in heads]
        )
        assert [one.status_code for one in answers] == [403, 201]


def test_one_time_tokens_are_spent_once(tmp_path: Path, store_url: str) -> None:
    with study(tmp_path, store=store_url, tokens="one-time") as s:
        first, second = s.issue("one-time", 2)
        one = reports(s.plan, 1)
        assert s.send(one).status_code == 401
        assert s.send(one, Bosket_Token="x" * 43).status_code == 403
        assert s.send(one, Bosket_Token="no token, a sentence").status_code == 403
        assert s.send(reports(s.plan, 2), Bosket_Token=first).status_code == 422, "a person sends one report here"
        key = secrets.token_hex(16)
        assert s.send(one, key=key, Bosket_Token=first).status_code == 201
        assert s.send(one, key=key, Bosket_Token=first).status_code == 200, "a repetition spends nothing"
        spent = s.send(one, Bosket_Token=first)
        assert (spent.status_code, spent.json()["type"]) == (403, "urn:bosket:problem:spent")
        assert s.send(one, Bosket_Token=second).status_code == 201
        assert s.stored().n_records == 2


def test_tokens_have_scopes(tmp_path: Path) -> None:
    with study(tmp_path, submit_token=True, min_batch=1) as s:
        submit, analyse = s.issue("submit")[0], s.issue("analyse")[0]
        one = reports(s.plan, 1)
        assert s.send(one).status_code == 401
        assert s.send(one, Authorization=f"Bearer {analyse}").status_code == 403
        assert s.send(one, Authorization=f"Basic {submit}").status_code == 401
        assert s.send(one, Authorization=f"Bearer {submit[:-1]}").status_code == 401
        assert s.send(one, Authorization=f"Bearer {submit}").status_code == 201
        assert s.client.get("/v1/tasks/shop/reports", headers=s.bearer(submit)).status_code == 403
        assert s.client.get("/v1/tasks/shop/reports", headers=s.bearer(analyse)).status_code == 200
        assert s.client.post("/v1/tasks/shop/close", headers=s.bearer(analyse)).status_code == 403
        assert s.client.delete(f"/v1/tokens/{analyse.split('.')[0]}", headers=s.bearer()).status_code == 204
        assert s.client.get("/v1/tasks/shop/reports", headers=s.bearer(analyse)).status_code == 401


def test_a_first_token_that_the_store_does_not_know_is_made_known(tmp_path: Path) -> None:
    """A new store beside an old folder, or a kill between file and store: else nobody could ever administer it."""
    with study(tmp_path) as s:
        admin = s.admin
    with study(tmp_path, store=f"sqlite:///{tmp_path / 'other.db'}") as s:
        assert s.admin == admin
        assert s.client.get("/v1/tasks/shop/batches", headers=s.bearer()).status_code == 200
    (tmp_path / "admin.token").write_text("guess.able\n")
    with pytest.raises(bk.DataError, match="256"), study(tmp_path, store=f"sqlite:///{tmp_path / 'third.db'}"):
        pass
    (tmp_path / "admin.token").chmod(0o644)
    with pytest.raises(bk.DataError, match="owner"), study(tmp_path, store=f"sqlite:///{tmp_path / 'third.db'}"):
        pass


def test_a_token_that_was_revoked_stays_so(tmp_path: Path) -> None:
    """The first admin token is in a file: at the next start it was made known again, as one that the store had lost."""
    with study(tmp_path) as s:
        leaked = s.admin
        name = f"/v1/tokens/{leaked.partition('.')[0]}"
        assert s.client.delete(name, headers=s.bearer()).status_code == 204
        assert s.client.get("/v1/tasks/shop/batches", headers=s.bearer()).status_code == 401
    with study(tmp_path) as s:
        assert s.admin != leaked
        assert s.client.get("/v1/tasks/shop/batches", headers=s.bearer(leaked)).status_code == 401
        assert s.client.get("/v1/tasks/shop/batches", headers=s.bearer()).status_code == 200
        assert s.client.delete(name, headers=s.bearer()).status_code == 404, "once"
        assert (tmp_path / "admin.token").stat().st_mode & 0o777 == 0o600


def test_the_administrator_of_a_task_is_none_of_all(tmp_path: Path) -> None:
    """While there was one, nobody could revoke a token any more, or issue one for another task."""
    with study(tmp_path) as s:
        (of_task,) = s.issue("admin", 1)
        assert s.client.delete(f"/v1/tokens/{s.admin.partition('.')[0]}", headers=s.bearer()).status_code == 204
        name = f"/v1/tokens/{of_task.partition('.')[0]}"
        assert s.client.delete(name, headers=s.bearer(of_task)).status_code == 403
    with study(tmp_path) as s:
        assert s.client.get("/v1/tasks/shop/batches", headers=s.bearer(of_task)).status_code == 200
        assert s.client.delete(name, headers=s.bearer()).status_code == 204


def test_a_changed_plan_is_refused_at_the_start(tmp_path: Path) -> None:
    with study(tmp_path):
        pass
    with pytest.raises(bk.PlanMismatchError), study(tmp_path, plan=small_plan(keep=0.8)):
        pass


def test_a_second_collector_is_kept_out(tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.service.engines._PATIENCE", 0.0)
    with (
        study(tmp_path, store=store_url),
        pytest.raises(bk.DataError, match="Another collector"),
        study(tmp_path, store=store_url),
    ):
        pass
