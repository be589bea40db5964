"""Studies of several periods: what a person may send in each, and in all, is the collector's to keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bosket as bk
from bosket.service import tasks
from bosket.service.periods import Periods
from bosket.service.settings import read_settings
from tests.service.studies import Study, reports, small_plan, study

MONTHS = Periods(date(2027, 1, 1), "month", 3, 2, "linked")


class Clock:
    """The time that tasks see."""

    def __init__(self) -> None:
        self.now_is = datetime(2027, 1, 15, tzinfo=UTC)

    def now(self, zone: Any) -> datetime:
        return self.now_is


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(tasks, "datetime", made)
    return made


def plan_of(n_reports: int = 6) -> bk.Plan:
    return small_plan().with_unit(reports=n_reports)


@pytest.fixture
def linked(tmp_path: Path, store_url: str, clock: Clock) -> Iterator[Study]:
    with study(tmp_path, store=store_url, plan=plan_of(), tokens="one-time", periods=MONTHS) as s:
        yield s


def kind(answer: Any) -> str:
    return str(answer.json()["type"]).rpartition(":")[2] if answer.status_code >= 400 else str(answer.status_code)


def test_a_person_sends_no_more_than_the_period_and_the_plan_allow(linked: Study, clock: Clock) -> None:
    (token,) = linked.issue("one-time")
    some = reports(linked.plan, 8)
    assert kind(linked.send(some[:3], Bosket_Token=token)) == "too-many"
    assert kind(linked.send(some[:1], Bosket_Token=token)) == "201"
    assert kind(linked.send(some[1:3], Bosket_Token=token)) == "spent", "two of a month, and one was sent"
    key = "0" * 32
    assert kind(linked.send(some[1:2], key=key, Bosket_Token=token)) == "201"
    assert kind(linked.send(some[2:3], Bosket_Token=token)) == "spent"
    clock.now_is = datetime(2027, 2, 1, tzinfo=UTC)
    assert kind(linked.send(some[1:2], key=key, Bosket_Token=token)) == "200", "sent again, and counted once"
    assert kind(linked.send(some[2:4], Bosket_Token=token)) == "201"
    assert kind(linked.send(some[4:5], Bosket_Token="x" * 43)) == "one-time-token"
    clock.now_is = datetime(2027, 3, 31, 23, tzinfo=UTC)
    assert kind(linked.send(some[4:6], Bosket_Token=token)) == "201"
    clock.now_is = datetime(2027, 4, 1, tzinfo=UTC)
    assert kind(linked.send(some[6:7], Bosket_Token=token)) == "closed"
    assert linked.stored().n_records == 6


def test_all_that_waits_at_once_is_counted(linked: Study) -> None:
    """In one group of the writer, too."""
    (token,) = linked.issue("one-time")
    some = reports(linked.plan, 5)
    headers = {"Content-Type": "application/vnd.bosket.reports", "Bosket-Token": token}
    requests = [
        (
            "POST",
            "/v1/tasks/shop/reports",
            {"content": some[at : at + 1].to_bytes(), "headers": headers | {"Idempotency-Key": f"{at:032x}"}},
        )
        for at in range(5)
    ]
    statuses = [answer.status_code for answer in linked.client.together(requests)]
    assert sorted(statuses) == [201, 201, 403, 403, 403]


def test_a_longer_calendar_does_not_allow_more_than_the_plan(tmp_path: Path, clock: Clock) -> None:
    settings: dict[str, Any] = {"plan": plan_of(3), "tokens": "one-time"}
    some = reports(plan_of(3), 4)
    calendar = Periods(date(2027, 1, 1), "week", 2, 1, "linked")
    with study(tmp_path, periods=calendar, **settings) as s:
        (token,) = s.issue("one-time")
        clock.now_is = datetime(2027, 1, 9, tzinfo=UTC)
        assert s.send(some[:1], Bosket_Token=token).status_code == 201
    with study(tmp_path, periods=replace(calendar, number=3), **settings) as s:
        assert kind(s.send(some[1:2], Bosket_Token=token)) == "spent"
        clock.now_is = datetime(2027, 1, 16, tzinfo=UTC)
        assert s.send(some[1:2], Bosket_Token=token).status_code == 201
    longest = replace(calendar, number=4)
    with pytest.raises(bk.ParameterError, match="counts 3"), study(tmp_path, periods=longest, **settings):
        pass
    with pytest.raises(bk.ParameterError, match="opened"), study(tmp_path, periods=calendar, **settings):
        pass


@pytest.mark.parametrize("versions", ["linked", "unlinked"])
def test_another_calendar_is_refused_at_the_start(tmp_path: Path, clock: Clock, versions: Any) -> None:
    """Who moves the first day by one has periods of other names, for which tokens can be issued anew."""
    settings: dict[str, Any] = {"plan": plan_of(12), "tokens": "one-time"}
    calendar = Periods(date(2027, 1, 1), "month", 3, 2, versions)
    with study(tmp_path, periods=calendar, **settings):
        pass
    others = (
        {"first": date(2027, 1, 2)},
        {"every": "week"},
        {"reports": 1},
        {"number": 2},
        {"versions": "linked" if versions == "unlinked" else "unlinked"},
    )
    for other in [None, *(replace(calendar, **change) for change in others)]:
        with pytest.raises(bk.ParameterError, match="opened"), study(tmp_path, periods=other, **settings):
            pass
    with study(tmp_path, periods=calendar, **settings):
        pass


def test_a_study_that_was_opened_without_periods_gets_none(tmp_path: Path, clock: Clock) -> None:
    """Those who spent a token would be given one for each period beside."""
    with study(tmp_path, plan=plan_of(), tokens="one-time"):
        pass
    with (
        pytest.raises(bk.ParameterError, match="opened"),
        study(tmp_path, plan=plan_of(), tokens="one-time", periods=MONTHS),
    ):
        pass


def test_a_calendar_that_was_not_kept_is_kept_from_then_on(tmp_path: Path, clock: Clock) -> None:
    """That of a task which version 2 of the tables opened."""
    settings: dict[str, Any] = {"plan": plan_of(), "tokens": "one-time"}
    with study(tmp_path, periods=MONTHS, **settings) as s, s.collector.store.writing.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE phases DROP COLUMN calendar")
        connection.exec_driver_sql("UPDATE schema_version SET version = 2")
    with study(tmp_path, periods=MONTHS, **settings):
        pass
    with pytest.raises(bk.ParameterError, match="opened"), study(tmp_path, **settings):
        pass


def test_tokens_for_all_periods_are_for_none_of_an_unlinked_study(tmp_path: Path, clock: Clock) -> None:
    """Such as were issued before the study had periods: each would have served in every one."""
    with study(tmp_path, plan=plan_of(3), tokens="one-time", periods=Periods(date(2027, 1, 1), "month", 3)) as s:
        (token,) = s.collector.access.issue_one_time("shop", 1)
        assert kind(s.send(reports(s.plan, 1), Bosket_Token=token)) == "other-period"


def test_tokens_of_unlinked_periods_are_for_one_each(tmp_path: Path, store_url: str, clock: Clock) -> None:
    periods = Periods(date(2027, 1, 31), "day", 3)
    with study(tmp_path, store=store_url, plan=plan_of(3), tokens="one-time", periods=periods) as s:
        some = reports(s.plan, 4)
        assert kind(s.send(some[:1], Bosket_Token=s.issue("one-time")[0])) == "period", "it has not begun"
        clock.now_is = datetime(2027, 2, 1, 12, tzinfo=UTC)
        (now,) = s.issue("one-time")
        asked = {"scope": "one-time", "period": "2027-02-02"}
        address, bearer = "/v1/tasks/shop/tokens", {"headers": s.bearer()}
        (later,) = s.client.post(address, json=asked, **bearer).json()["tokens"]
        for wrong in ({"period": "2027-02-05"}, {"period": "never"}, {"scope": "submit"}):
            assert s.client.post(address, json=asked | wrong, **bearer).status_code == 422
        assert kind(s.send(some[:1], Bosket_Token=later)) == "other-period"
        assert kind(s.send(some[:1], Bosket_Token=now)) == "201"
        assert kind(s.send(some[1:2], Bosket_Token=now)) == "spent"
        clock.now_is += timedelta(days=1)
        assert kind(s.send(some[1:2], Bosket_Token=now)) == "other-period"
        assert kind(s.send(some[1:2], Bosket_Token=later)) == "201"


@pytest.mark.parametrize("versions, coins", [("linked", None), ("unlinked", "2027-02-01")])
def test_what_is_signed_names_the_period(tmp_path: Path, clock: Clock, versions: Any, coins: str | None) -> None:
    """Coins are those of the period, or for good; a new period is signed anew, and a client of the plan reads it."""
    periods = Periods(date(2027, 1, 1), "month", 3, 2, versions)
    with study(tmp_path, plan=plan_of(), tokens="one-time", periods=periods) as s:
        first = s.client.get("/v1/tasks/shop").json()
        assert json.loads(first["signed"])["periods"]["name"] == "2027-01-01"
        clock.now_is = datetime(2027, 2, 28, tzinfo=UTC)
        document = s.client.get("/v1/tasks/shop").json()
        said = json.loads(document["signed"])
        assert (said["period"], said["periods"]["name"], said["closes"]) == (
            coins,
            "2027-02-01",
            "2027-04-01T00:00:00+00:00",
        )
        mine = bk.Client(document, key=first["key"])
        assert mine.task.period == coins
        clock.now_is = datetime(2026, 12, 31, tzinfo=UTC)
        early = json.loads(s.client.get("/v1/tasks/shop").json()["signed"])
        assert early["periods"]["name"] is None


def test_what_periods_must_be(tmp_path: Path) -> None:
    """More than the plan counts of a person is refused before anything is served."""
    for settings, match in (
        ({"plan": plan_of(5), "tokens": "one-time"}, "which counts 5"),
        ({"plan": plan_of()}, "one-time"),
        ({"plan": plan_of(), "tokens": "one-time", "period": "a month"}, "in words"),
    ):
        with pytest.raises(bk.ParameterError, match=match), study(tmp_path, periods=MONTHS, **settings):
            pass
    wrongs: tuple[dict[str, Any], ...] = (
        {"first": datetime(2027, 1, 1, tzinfo=UTC)},
        {"every": "year"},
        {"number": 0},
        {"versions": "both"},
        {"first": date(2027, 1, 31)},
        {"first": date(9999, 12, 1)},
    )
    for wrong in wrongs:
        with pytest.raises(bk.ParameterError):
            Periods(**(dict[str, Any](first=date(2027, 1, 1), every="month", number=3) | wrong))


def test_periods_are_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(plan_of().json)
    text = (
        '[[tasks]]\nid = "shop"\ntitle = "Shop"\nplan = "plan.json"\ntokens = "one-time"\n[tasks.periods]\n'
        'first = 2027-01-01\nevery = "month"\nnumber = 3\nreports = 2\nversions = "linked"\n'
    )
    (tmp_path / "study.toml").write_text(text)
    assert read_settings(tmp_path / "study.toml").tasks[0].periods == MONTHS
    for wrong in ('first = "soon"', "first = 2027-01-01\nlast = 3"):
        (tmp_path / "study.toml").write_text(text.replace("first = 2027-01-01", wrong))
        with pytest.raises(bk.DataError):
            read_settings(tmp_path / "study.toml")


@pytest.mark.parametrize("every", ["day", "week", "month"])
def test_every_day_is_in_the_period_that_began_last(every: Any) -> None:
    """Day by day through leap years, against the list of first days."""
    periods = Periods(date(2027, 11, 15), every, 40)
    starts = [periods.start(at).date() for at in range(41)]
    day = datetime(2027, 11, 1, tzinfo=UTC)
    while day.date() < starts[-1] + timedelta(days=3):
        began = [at for at, start in enumerate(starts[:-1]) if start <= day.date()]
        expected = began[-1] if began and day.date() < starts[-1] else None
        for hour in (timedelta(0), timedelta(hours=23, minutes=59)):
            assert periods.at(day + hour) == expected
        name = periods.name(expected)
        assert name is None or periods.number_of(name) == expected
        day += timedelta(days=1)
    assert periods.number_of("2027-11-16") is (1 if every == "day" else None)
    assert periods.number_of("no day") is None
