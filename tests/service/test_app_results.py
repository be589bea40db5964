"""Results from memory, as reports arrive; batches taken away; the second phase; pages, metrics and headers."""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.collection import Collection
from bosket.errors import hushed, warn
from bosket.progress import estimating_work
from bosket.service import pages
from bosket.service.flags import ratio_shift
from bosket.service.phases import refined_plan
from bosket.service.pictures import picture_of
from bosket.service.settings import SecondPhase, TaskSettings
from tests.service.studies import ITEMS, MEDIA_TYPE, people, reports, rows_of, small_plan, study


def test_nothing_is_shown_of_few_reports(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=40) as s:
        s.send(reports(s.plan, 39))
        for path in ("results", "reports"):
            few = s.client.get(f"/v1/tasks/shop/{path}", headers=s.bearer())
            assert (few.status_code, few.json()["type"]) == (409, "urn:bosket:problem:batch-size")
            assert "39" not in few.text
            assert s.client.get(f"/v1/tasks/shop/{path}").status_code == 401


def all_items_together() -> tuple[TaskSettings, Collection, bk.Reports]:
    """Four tenths of the people sent all items, the others none."""
    plan = small_plan()
    sent = plan.randomize(bk.Baskets([[]] * 900 + [list(ITEMS)] * 600, items=ITEMS), rng=bk.Seeded(1))
    collection = Collection(plan)
    collection.append(sent, allow_duplicates=True)
    return TaskSettings("shop", "Shop", plan), collection, sent


@pytest.mark.slow
def test_rules_of_many_items_that_some_send_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth who all sent 14 items made 4.8 million rules, for which no memory was enough, at every start again."""
    settings, collection, sent = all_items_together()
    whole = picture_of(settings, [collection], is_final=True)
    every = bk.mine(sent, settings.min_support).rules(metric="confidence", min_threshold=settings.min_confidence)
    assert (len(every), len(whole["rules"]), whole["notes"]) == (whole["n_rules"], 500, [])
    best = every["confidence"].sort_values(ascending=False).head(500)
    assert [row["confidence"] for row in whole["rules"]] == best.to_list()
    monkeypatch.setattr("bosket.service.pictures.MOST_SPLITS", 2000)
    looked = picture_of(settings, [collection], is_final=True)
    assert "rules are those of up to 4 items, with one consequent" in looked["notes"][0]
    sizes = {(len(row["antecedents"]), len(row["consequents"])) for row in looked["rules"]}
    assert sizes == {(1, 1), (2, 1), (3, 1)}
    assert [row["items"] for row in looked["itemsets"]] == [row["items"] for row in whole["itemsets"]]


@pytest.mark.slow
def test_itemsets_of_many_items_that_some_send_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty items that a tenth sent together took the thread of all results for minutes, at every start again."""
    settings, collection, _ = all_items_together()
    whole = picture_of(settings, [collection], is_final=True)
    work = [estimating_work(math.comb(8, size), size, 1) for size in (1, 2, 3)]
    for name, bound, most in (("MOST_SECONDS", sum(work) * 1.01, 3), ("MOST_CANDIDATES", 27, 1)):
        with monkeypatch.context() as patch:
            patch.setattr(f"bosket.service.pictures.{name}", bound)
            looked = picture_of(settings, [collection], is_final=True)
        assert looked["problem"] is None
        assert f"those of more than {most} item" in looked["notes"][0]
        of_few = [row["items"] for row in whole["itemsets"] if len(row["items"]) <= most]
        assert [row["items"] for row in looked["itemsets"]] == of_few
        assert looked["sizes"] == {str(size): whole["sizes"][str(size)] for size in range(1, most + 1)}


def test_results_are_those_of_mining_all_reports(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=40, min_support=0.2, min_confidence=0.6) as s:
        sent = reports(s.plan, 400)
        for start in range(0, 400, 100):
            assert s.send(sent[start : start + 100]).status_code == 201
        s.settle()
        picture = s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
        found = bk.mine(s.stored(), 0.2)
        frame = found.to_frame().set_index("itemsets")
        assert picture["n_reports"] == 400
        assert len(picture["itemsets"]) == len(frame) > 2
        for row in picture["itemsets"]:
            expected = frame.loc[[frozenset(row["items"])]].iloc[0]
            for name in ("support", "stderr", "low", "high"):
                assert row[name] == pytest.approx(expected[name], rel=1e-12)
        rules = found.rules(metric="confidence", min_threshold=0.6)
        assert len(picture["rules"]) == len(rules) > 0
        assert {"confidence", "confidence_low", "confidence_high"} <= set(picture["rules"][0])
        sides = {
            (frozenset(row["antecedents"]), frozenset(row["consequents"])): row["caution"] for row in picture["rules"]
        }
        words = {(row["antecedents"], row["consequents"]): row["caution"].split(", ") for _, row in rules.iterrows()}
        assert sides == {rule: "confidence" in names for rule, names in words.items()}
        assert picture["deepest_size"] >= 1
        looked = {"looked_at": picture["flags"][0]["contradictions"]["looked_at"], "flagged": 0, "worst": []}
        assert looked["looked_at"] >= 28, "all pairs"
        whole = {"phase": 1, "implausible": 0, "level": 1e-6, "of": 400, "contradictions": looked, "audit": []}
        assert picture["flags"] == [whole]
        by_size = {row["size"]: row for row in picture["influence"]}
        for row in picture["itemsets"]:
            assert row["robust_low"] <= row["robust"] <= row["robust_high"]
            assert row["shift"] == pytest.approx(by_size[len(row["items"])]["shift"])
            assert by_size[len(row["items"])]["shift_by_one"] == pytest.approx(row["shift"] / 4)
        for row in picture["rules"]:
            assert row["confidence_shift"] > 0
            assert row["lift_shift"] > 0
        assert picture["robust"]["dishonest"] == 0.01
        assert "simulation" in picture["randomness"], "simulated reports are said to be so"


def test_two_pictures_differ_by_a_batch(tmp_path: Path) -> None:
    """One more report changes nothing that is shown; so many that a batch is full do; and so does the end."""
    with study(tmp_path, min_batch=40) as s:

        def shown() -> int:
            s.settle()
            return int(s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()["n_reports"])

        s.send(reports(s.plan, 100))
        assert shown() == 100
        s.send(reports(s.plan, 1, seed=2))
        assert shown() == 100
        s.send(reports(s.plan, 38, seed=3))
        assert shown() == 100
        s.send(reports(s.plan, 1, seed=4))
        assert shown() == 140
        s.send(reports(s.plan, 1, seed=5))
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        assert shown() == 141


def test_results_are_there_after_a_restart(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=40) as s:
        s.send(reports(s.plan, 100))
    with study(tmp_path, min_batch=40) as s:
        s.settle()
        assert s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()["n_reports"] == 100


def test_a_batch_is_subtracted_from_store_and_results(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=40, batch_size=100) as s:
        first, second = reports(s.plan, 100), reports(s.plan, 150, seed=2)
        s.send(first)
        s.send(second)
        s.settle()
        listed = s.client.get("/v1/tasks/shop/batches", headers=s.bearer()).json()["batches"]
        assert sorted(batch["n_reports"] for batch in listed) == [100, 150]
        bad = next(batch["batch"] for batch in listed if batch["n_reports"] == 150)
        address = f"/v1/tasks/shop/batches/{bad}"
        assert s.client.delete(address, headers=s.bearer()).json() == {"subtracted": 150}
        assert s.client.delete(address, headers=s.bearer()).status_code == 404
        s.settle()
        assert rows_of(s.stored()) == rows_of(first)
        picture = s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
        assert picture["n_reports"] == 100
        expected = bk.mine(s.stored(), 0.05).to_frame()
        assert {tuple(row["items"]): row["support"] for row in picture["itemsets"]} == pytest.approx(
            {
                tuple(sorted(items)): support
                for items, support in zip(expected["itemsets"], expected["support"], strict=True)
            }
        )


def test_reports_are_exported_as_parquet(tmp_path: Path) -> None:
    with study(tmp_path, min_batch=10) as s:
        sent = reports(s.plan, 60)
        s.send(sent)
        answer = s.client.get("/v1/tasks/shop/reports", headers=s.bearer())
        assert answer.headers["content-type"] == "application/vnd.apache.parquet"
        (tmp_path / "export.parquet").write_bytes(io.BytesIO(answer.content).read())
        exported = bk.Reports.read(tmp_path / "export.parquet", plan=s.plan)
        assert rows_of(exported) == rows_of(sent)
        assert s.client.get("/v1/tasks/shop/reports?phase=2", headers=s.bearer()).status_code == 404
        assert s.client.get("/v1/tasks/shop/reports?phase=x", headers=s.bearer()).status_code == 422


def test_forged_reports_are_flagged(tmp_path: Path) -> None:
    """One in a hundred sends all ones; an honest report with as many of 40 items at keep 0.9 is beyond 1e-6."""
    plan = bk.Plan(bk.Domain(range(40)), bk.Flip(keep=0.9)).with_unit(max_size=4)
    with study(tmp_path, plan=plan, min_batch=40, min_support=0.2) as s:
        honest = plan.randomize(bk.Baskets([[1, 2]] * 594, items=range(40)), rng=bk.Seeded(1))
        forged = bk.Reports(plan, plan.channel.payload.from_bytes(b"\xff\xff\xff\xff\xff" * 6), randomness="secure")
        s.send(honest)
        s.send(forged)
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        s.settle()
        picture = s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
        (flag,) = picture["flags"]
        assert (flag["implausible"], flag["level"], flag["of"]) == (6, 1e-6, 600)
        assert [row["size"] for row in picture["influence"]] == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_best_response_poison_is_flagged_beside_the_results() -> None:
    """One in a hundred shows all of four items, each report like an honest one; what they say together is not."""
    plan, n = small_plan(keep=0.6), 400_000
    settings = TaskSettings("shop", "Shop", plan, min_support=0.3)
    drawn, flags = reports(plan, n).bits, []
    for forged in (0, n // 100):
        bits = drawn.copy()
        bits[:forged] |= np.uint64(0b11110000)
        collection = Collection(plan)
        collection.append(bk.Reports(plan, bits, randomness="secure"))
        with hushed():
            picture = picture_of(settings, [collection], is_final=True)
        flags += picture["flags"]
    assert [flag["implausible"] for flag in flags] == [0, 0]
    assert [flag["contradictions"]["flagged"] > 0 for flag in flags] == [False, True]
    worst = flags[1]["contradictions"]["worst"][0]
    assert len(worst["absent"]) == 1, "of what is shown together, all but one: that is where forged reports count least"
    assert worst["share"] < 0
    assert worst["chance"] <= 1e-6


TABLE = bk.TableDomain([bk.Attribute("x", ["p", "q"]), bk.Attribute("y", ["r", "s", "t"])])


@pytest.mark.parametrize(
    "plan, looked_at",
    [
        (bk.Plan(TABLE, bk.GammaDiagonal(19.0)), 6),
        (bk.Plan(TABLE, bk.Flip(keep=0.8)), 6),
        (bk.Plan(TABLE, bk.Ask(bk.Design.pairs(TABLE), 19.0)), None),
        (bk.Plan(bk.Domain(ITEMS), bk.Ask.baskets(bk.Domain(ITEMS), epsilon=3, expected_size=2)), None),
        (bk.Plan(bk.Domain(["a"]), bk.Flip(keep=0.8)), 0),
        (bk.Plan(bk.Domain(list("abc")), bk.Flip(keep={"a": 0.5, "b": 0.8, "c": 0.8}, keep_absent={"a": 0.5})), 1),
        (bk.Plan(bk.Domain(ITEMS), bk.CutAndPaste(cutoff=3, insert=0.2), bk.PrivacyUnit(max_size=4)), 28),
        (
            bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=2, longer="sample", state_sizes_to=4)),
            28,
        ),
    ],
    ids=lambda one: str(one.mechanism)[:12] if isinstance(one, bk.Plan) else None,
)
def test_every_mechanism_has_its_flags(plan: bk.Plan, looked_at: int | None) -> None:
    """Nothing of honest people is flagged, and what cannot be looked at is said to be so."""
    if isinstance(plan.domain, bk.TableDomain):
        data: bk.Table | bk.Baskets = bk.Table([{"x": "p", "y": "r"}, {"x": "q", "y": "t"}] * 200, plan.domain)
    else:
        labels = list(plan.domain.labels)
        data = bk.Baskets([labels[:1], labels[-1:], labels[1:3]] * 200, items=labels)
    collection = Collection(plan)
    collection.append(plan.randomize(data, rng=bk.Seeded(1)))
    with hushed():
        settings = TaskSettings("shop", "Shop", plan, min_support=0.9, min_confidence=0.9)
        (flag,) = picture_of(settings, [collection], is_final=True)["flags"]
    assert flag["implausible"] == 0
    assert flag["audit"] == []
    found = flag["contradictions"]
    assert (found is None) == (looked_at is None)
    if found is not None:
        assert found["looked_at"] >= looked_at
        assert found["flagged"] == 0


def test_how_far_a_ratio_moves_by_a_grid() -> None:
    """Against many points of the box; and no figure where the base may vanish."""
    values, moved = (0.2, 0.4, 0.5), (0.05, 0.1, 0.2)
    sides = [np.linspace(value - step, value + step, 21) for value, step in zip(values, moved, strict=True)]
    ac, a, c = np.meshgrid(*sides, indexing="ij")
    assert ratio_shift(values, moved) == pytest.approx(np.abs(ac / (a * c) - 1.0).max())
    assert ratio_shift(values[:2], moved[:2]) == pytest.approx(np.abs(ac / a - 0.5).max())
    assert ratio_shift(values[:2], (0.05, 0.4)) is None
    assert ratio_shift(values[:2], (0.05, None)) is None


def test_a_second_phase_follows_the_answers_of_the_first(tmp_path: Path, store_url: str) -> None:
    """Its plan is another, signed; who answered in the first cannot answer again; results are of both."""
    domain = bk.Domain(ITEMS)
    plan = bk.Plan(domain, bk.Ask.baskets(domain, epsilon=3, expected_size=2))
    settings = {"tokens": "one-time", "second": SecondPhase(top=3), "min_batch": 20, "min_support": 0.2}
    with study(tmp_path, store=store_url, plan=plan, **settings) as s:
        tokens = s.issue("one-time", 50)
        early = s.client.post("/v1/tasks/shop/phase", headers=s.bearer())
        assert early.status_code == 409
        answers = plan.randomize(people(25), rng=bk.Seeded(1))
        for at in range(25):
            assert s.send(answers[at : at + 1], Bosket_Token=tokens[at]).status_code == 201
        assert s.client.post("/v1/tasks/shop/phase").status_code == 401
        opened = s.client.post("/v1/tasks/shop/phase", headers=s.bearer())
        assert opened.json() == {"task": "shop", "phase": 2, "is_open": True}
        signed = json.loads(s.client.get("/v1/tasks/shop").json()["signed"])
        second = bk.Plan.from_json(signed["plan_text"])
        assert (signed["phase"], signed["digest"]) == (2, second.digest)
        assert second.digest != plan.digest
        assert s.send(answers[:1], Bosket_Token=tokens[25]).json()["type"] == "urn:bosket:problem:plan"
        more = second.randomize(people(25), rng=bk.Seeded(2))
        assert s.send(more[:1], Bosket_Token=tokens[0]).json()["type"] == "urn:bosket:problem:spent"
        for at in range(25):
            assert s.send(more[at : at + 1], Bosket_Token=tokens[25 + at]).status_code == 201
        assert s.client.post("/v1/tasks/shop/phase", headers=s.bearer()).status_code == 409
        s.client.post("/v1/tasks/shop/close", headers=s.bearer())
        s.settle()
        picture = s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
        assert (picture["n_reports"], picture["phase"], len(picture["plans"])) == (50, 2, 2)
        with hushed():  # so few answers are worth a warning
            expected = bk.mine(bk.pool(s.stored(1), s.stored(2)), 0.2).to_frame()
        assert len(picture["itemsets"]) == len(expected)
    with study(tmp_path, store=store_url, plan=plan, **settings) as s:
        assert json.loads(s.client.get("/v1/tasks/shop").json()["signed"])["digest"] == second.digest


def test_reports_are_taken_while_questions_of_a_second_phase_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law is fitted for them, which took the thread that writes, of all tasks, for a minute and more."""
    plan = bk.Plan(bk.Domain(ITEMS), bk.Ask.baskets(bk.Domain(ITEMS), epsilon=3, expected_size=2))
    is_begun, is_sent = threading.Event(), threading.Event()

    def slowly(first: bk.Reports, how: SecondPhase) -> bk.Plan:
        is_begun.set()
        assert is_sent.wait(10), "a report that came meanwhile was not taken"
        return refined_plan(first, how)

    monkeypatch.setattr("bosket.service.collector.refined_plan", slowly)
    with study(tmp_path, plan=plan, tokens="one-time", second=SecondPhase(top=3), min_batch=20) as s:
        tokens = s.issue("one-time", 25)
        answers = plan.randomize(people(25), rng=bk.Seeded(1))
        for at in range(24):
            assert s.send(answers[at : at + 1], Bosket_Token=tokens[at]).status_code == 201

        async def meanwhile() -> tuple[int, int, int]:
            opening = asyncio.ensure_future(s.client.http.post("/v1/tasks/shop/phase", headers=s.bearer()))
            await asyncio.to_thread(is_begun.wait, 10)
            headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": "0" * 32, "Bosket-Token": tokens[24]}
            last = await s.client.http.post("/v1/tasks/shop/reports", content=answers[24:].to_bytes(), headers=headers)
            again = await s.client.http.post("/v1/tasks/shop/phase", headers=s.bearer())  # a proxy did not wait
            is_sent.set()
            return last.status_code, again.status_code, (await opening).status_code

        assert s.client.loop.run_until_complete(asyncio.wait_for(meanwhile(), 30)) == (201, 409, 200)
        assert (s.collector.tasks["shop"].phase, s.stored(1).n_records) == (2, 25)


def test_a_second_phase_needs_tokens(tmp_path: Path) -> None:
    with pytest.raises(bk.ParameterError, match="one-time"), study(tmp_path, second=SecondPhase()):
        pass


def test_warnings_are_kept_from_one_thread_alone() -> None:
    """The thread of results gives none; others do, at the same time.  Warnings are errors in tests."""
    faults: list[Exception] = []
    ready, done = threading.Barrier(2), threading.Barrier(2)

    def quiet() -> None:
        with hushed():
            ready.wait()
            try:
                warn(bk.BosketWarning("kept"))
            except bk.BosketWarning as fault:
                faults.append(fault)
            done.wait()

    thread = threading.Thread(target=quiet)
    thread.start()
    ready.wait()
    with pytest.warns(bk.BosketWarning, match="given"):
        warn(bk.BosketWarning("given"))
    done.wait()
    thread.join()
    assert not faults


def test_a_task_without_a_second_phase_says_so(tmp_path: Path) -> None:
    with study(tmp_path) as s:
        assert s.client.post("/v1/tasks/shop/phase", headers=s.bearer()).status_code == 409


def test_all_that_pages_ask_for_is_served(tmp_path: Path) -> None:
    """Followed from the pages through what their modules import, as a browser does."""
    with study(tmp_path) as s:
        found = set[str]()
        left = ["/t/shop", "/d/shop"]
        while left:
            path = left.pop()
            if path in found:
                continue
            found.add(path)
            answer = s.client.get(path)
            assert answer.status_code == 200, path
            if not path.endswith(".css"):
                left += re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text)
                left += [f"/static/{name}" for name in re.findall(r'from "\./([^"]+)"', answer.text)]
    assert {"/static/page.mjs", "/static/bosket.mjs", "/static/show.mjs", "/static/icon.svg"} <= found


def test_pages_are_served_by_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "static"
    folder.mkdir()
    for name in ("page.html", "dashboard.html", "bosket.mjs"):
        (folder / name).write_text(f"content of {name}")
    (folder / "secret.txt").write_text("no")
    monkeypatch.setattr(pages, "STATIC", folder)
    with study(tmp_path) as s:
        for path, name in (
            ("/t/shop", "page.html"),
            ("/d/shop", "dashboard.html"),
            ("/static/bosket.mjs", "bosket.mjs"),
        ):
            answer = s.client.get(path)
            assert (answer.status_code, answer.text) == (200, f"content of {name}")
            assert answer.headers["content-type"] == pages.MEDIA_TYPES[Path(name).suffix]
            assert "default-src 'self'" in answer.headers["content-security-policy"]
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in answer.headers
        for path in (
            "/static/secret.txt",
            "/static/..%2fsecret.txt",
            "/static/../app.py",
            "/t/nowhere",
            "/d/nowhere",
            "/",
        ):
            answer = s.client.get(path)
            assert answer.status_code == 404, path
            assert answer.headers["content-type"] == "application/problem+json"
            assert "default-src" in answer.headers["content-security-policy"]


def test_the_dashboard_is_of_the_package_and_asks_nobody_else() -> None:
    """No inline script or style, no address of another server, and every id that the script looks for."""
    html, script, style = ((pages.STATIC / f"dashboard.{end}").read_text() for end in ("html", "mjs", "css"))
    assert not re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", html)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', html)) == {"/static/dashboard.css", "/static/dashboard.mjs"}
    for text in (html, script, style):
        assert set(re.findall(r"https?://[^\s\"')]*", text)) <= {"http://www.w3.org/2000/svg"}
    ids = set(re.findall(r'id="([^"]*)"', html))
    assert set(re.findall(r'at\("([^"]*)"\)', script)) <= ids
    assert "innerHTML" not in script


def test_a_collector_ends_while_results_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is mined is told to end: no thread holds up the process."""
    asked = threading.Event()

    def slow(*of: object, on_progress: Callable[[object], None], **how: object) -> dict[str, object]:
        asked.set()
        for _ in range(600):
            on_progress(None)
            time.sleep(0.1)
        return {}

    monkeypatch.setattr("bosket.service.results.picture_of", slow)
    with study(tmp_path, min_batch=10) as s:
        s.send(reports(s.plan, 40))
        assert asked.wait(600)
    s.collector.results._thread.join()
    assert s.collector.results.picture("shop") is None, "it ended before all was done"


def test_other_methods_are_problems_too(tmp_path: Path) -> None:
    with study(tmp_path) as s:
        for method, path in (("PUT", "/v1/tasks/shop/reports"), ("OPTIONS", "/v1/tasks/shop"), ("DELETE", "/health")):
            answer = s.client.request(method, path, headers={"Origin": "https://elsewhere.example"})
            assert answer.status_code == 405
            assert answer.headers["content-type"] == "application/problem+json"
            assert "access-control-allow-origin" not in answer.headers


def test_health_readiness_and_metrics(tmp_path: Path) -> None:
    with study(tmp_path) as s:
        s.send(reports(s.plan, 30))
        assert s.client.get("/health").status_code == 200
        assert s.client.get("/ready").json() == {"status": "ready"}
        assert s.client.get("/metrics").status_code == 401
        token = s.collector.access.issue("analyse")
        text = s.client.get("/metrics", headers=s.bearer(token)).text
        assert 'bosket_reports{task="shop"} 30' in text
        assert 'bosket_answers_total{method="POST",status="201"} 1' in text
        names = {label for line in text.splitlines() for label in line.partition("{")[2].partition("}")[0].split(",")}
        assert {name.partition("=")[0] for name in names if name} == {"task", "method", "status", "le"}


def test_many_at_once_are_each_acknowledged_once(tmp_path: Path, store_url: str) -> None:
    plan = small_plan(128)
    with study(tmp_path, store=store_url, plan=plan) as s:
        from tests.service.studies import MEDIA_TYPE, random_reports

        sent = [random_reports(plan, 2) for _ in range(40)]
        keys = [secrets.token_hex(16) for _ in sent]
        requests = [
            (
                "POST",
                "/v1/tasks/shop/reports",
                {"content": one.to_bytes(), "headers": {"Content-Type": MEDIA_TYPE, "Idempotency-Key": key}},
            )
            for one, key in zip(sent, keys, strict=True)
        ]
        statuses = [answer.status_code for answer in s.client.together([*requests, *requests])]
        assert sorted(statuses) == [200] * 40 + [201] * 40
        assert rows_of(s.stored()) == sorted(row for one in sent for row in rows_of(one))


@pytest.mark.parametrize("place", ["append", "_note", "counter"])
@pytest.mark.parametrize("is_final", [False, True])
def test_reports_that_could_not_be_counted_are_counted_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, is_final: bool
) -> None:
    """They were forgotten, or counted twice, or waited until a batch more came, which after the last never does."""
    method, left = getattr(bk.Collection, place), [1]

    def failing(self: bk.Collection, *given: Any, **more: Any) -> Any:
        if left:
            left.pop()
            raise MemoryError
        return method(self, *given, **more)

    monkeypatch.setattr(bk.Collection, place, failing)
    monkeypatch.setattr("bosket.service.results.AGAIN", 0.01)
    with study(tmp_path, min_batch=40) as s:
        s.send(reports(s.plan, 50))
        if is_final:
            assert s.client.post("/v1/tasks/shop/close", headers=s.bearer()).status_code == 200
        s.settle()
        assert not left
        picture = s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
        assert picture["n_reports"] == 50
        assert [one.n_records for one in s.collector.results._tasks["shop"].collections] == [50]


@pytest.mark.slow
def test_what_fails_again_and_again_is_told_and_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a task is closed, after which no picture waits for anything else."""
    tried = []

    def failing(*given: Any, **more: Any) -> Any:
        tried.append(1)
        raise MemoryError

    monkeypatch.setattr("bosket.service.results.picture_of", failing)
    with study(tmp_path, min_batch=40) as s:
        s.send(reports(s.plan, 50))
        assert s.client.post("/v1/tasks/shop/close", headers=s.bearer()).status_code == 200
        s.collector.results.settle(1.0)
        assert "problem" in s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()
        assert len(tried) <= 2
