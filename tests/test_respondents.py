"""Who answered: a person who sends more reports than the plan allows is refused, wherever reports come together."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.evidence import evidence_of
from bosket.evidence.sampled import SampledEvidence
from bosket.learning import ByClassReports
from bosket.mechanisms.columns import LONGEST_TOKEN
from bosket.respondents import refuse_repeated, tokens_of
from tests.memory import memory_within, traced

DOMAIN = bk.TableDomain([bk.Attribute(name, ["n", "y"]) for name in "abc"])
ASK = bk.Plan(DOMAIN, bk.Ask(bk.Design.pairs(DOMAIN), gamma=19))
PLANS = {
    "flip": bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.9)),
    "sizes": bk.Plan(bk.Domain(["a", "b", "c"]), bk.CutAndPaste(2, 0.2), bk.PrivacyUnit(max_size=3)),
    "ask": ASK,
    "ask baskets": bk.Plan(
        bk.Domain(["a", "b", "c"]), bk.Ask.baskets(bk.Domain(["a", "b", "c"]), epsilon=3, expected_size=2)
    ),
}
TWICE = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.9), bk.PrivacyUnit(reports=2))
plans = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def randomized(plan: bk.Plan, people: Any, *, seed: int = 1) -> bk.Reports:
    n = len(people)
    if isinstance(plan.domain, bk.TableDomain):
        data: bk.Table | bk.Baskets = bk.Table.from_codes(np.arange(3 * n).reshape(n, 3) % 2, plan.domain)
    else:
        data = bk.Baskets([["a", "b"], ["c"]] * n, items=["a", "b", "c"])[:n]
    return plan.randomize(data, rng=bk.Seeded(seed), people=1, respondents=people)


def names(*numbers: int) -> list[str]:
    return [f"token-{number}" for number in numbers]


def refused(make: Callable[[], object], people: int = 1, allowed: int = 1) -> bk.RepeatedRespondentError:
    with pytest.raises(bk.RepeatedRespondentError) as caught:
        make()
    assert (caught.value.people, caught.value.allowed) == (people, allowed)
    assert "token-" not in str(caught.value), "who it was is not said"
    assert isinstance(caught.value, bk.DataError)
    return caught.value


@plans
def test_a_person_who_answers_twice_is_refused(plan: bk.Plan) -> None:
    """In one go, in two batches, and in the bytes that somebody sends."""
    refused(lambda: randomized(plan, names(1, 2, 1)))
    refused(lambda: randomized(plan, names(1, 2, 1, 2, 3, 3, 3)), people=3)
    first, second = randomized(plan, names(1, 2, 3)), randomized(plan, names(4, 2, 5, 1), seed=2)
    refused(lambda: bk.Reports.concat([first, second]), people=2)
    refused(lambda: bk.Reports.concat([first, second], allow_duplicates=True), people=2)
    refused(lambda: bk.Tally.concat([first, second]), people=2)
    refused(lambda: bk.Tally.concat([bk.Tally.of(second), first, first[:1]], allow_duplicates=True))
    again = [bk.Reports.from_bytes(plan, part.to_bytes()) for part in (first, second)]
    refused(lambda: bk.Reports.concat(again), people=2)
    left = second[~np.isin(np.asarray(second.respondents), np.asarray(first.respondents))]
    together = bk.Reports.concat([first, left])
    assert together.respondents is not None
    assert together.respondents.tolist() == names(1, 2, 3, 4, 5)


def test_as_many_reports_as_the_plan_allows() -> None:
    twice = randomized(TWICE, names(1, 1, 2))
    assert len(twice) == 3
    refused(lambda: randomized(TWICE, names(1, 1, 2, 1)), allowed=2)
    assert len(bk.Reports.concat([twice, randomized(TWICE, names(2, 3), seed=2)])) == 5
    assert "2 times" in str(refused(lambda: bk.Reports.concat([twice, randomized(TWICE, names(3, 1))]), allowed=2))


def a_study(first: Any, second: Any, *, baskets: bool) -> tuple[bk.Reports, bk.Reports]:
    """Two phases of forty people each, and the respondents of both."""
    if baskets:
        plan = PLANS["ask baskets"]
        heard = randomized(plan, first)
        more = bk.Plan(plan.domain, plan.mechanism.refine(heard, top=2))  # type: ignore[attr-defined]
        return heard, randomized(more, second, seed=2)
    heard = randomized(ASK, first)
    design = ASK.mechanism.design.refine(heard, people=len(second), min_support=0.1)  # type: ignore[attr-defined]
    return heard, randomized(bk.Plan(DOMAIN, bk.Ask(design, gamma=19)), second, seed=2)


@pytest.mark.filterwarnings("ignore::bosket.BosketWarning")
@pytest.mark.parametrize("baskets", [False, True], ids=["table", "baskets"])
def test_a_person_who_answers_in_two_phases_is_refused(baskets: bool) -> None:
    early, late = names(*range(40)), names(*range(40, 80))
    first, second = a_study(early, late, baskets=baskets)
    assert bk.pool(first, second).n_records == 80
    both = a_study(early, [*late[:38], *early[:2]], baskets=baskets)
    assert "over all" in str(refused(lambda: bk.pool(*both), people=2))
    if baskets:
        refused(lambda: SampledEvidence.of(*both), people=2)
    told = bk.pool(both[0].without_respondents(), both[1])
    assert told.n_records == 80, "nobody can know"
    assert bk.pool(bk.Tally.of(both[0]), both[1]).n_records == 80, "a tally has no names"


def test_the_strictest_plan_that_somebody_answered_counts() -> None:
    one, two = (tokens_of(names(*numbers), len(numbers)) for numbers in ((1, 2), (2, 3, 3)))
    refuse_repeated([(two, 2)])
    refused(lambda: refuse_repeated([(one, 1), (two, 2)]))  # 2, under both; 3 twice under the second alone
    refuse_repeated([(one, 2), (two, 2)])
    refuse_repeated([])
    refuse_repeated([(one[:0], 1)])


@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=4), st.lists(st.integers(1, 3), min_size=4))
def test_refusals_are_those_of_counting_by_hand(parts: list[list[int]], limits: list[int]) -> None:
    given_parts = [(tokens_of(part, len(part)), limit) for part, limit in zip(parts, limits, strict=False)]
    everyone = [one for part in parts for one in part]
    too_often = {one for part, limit in zip(parts, limits, strict=False) for one in part if everyone.count(one) > limit}
    if too_often:
        with pytest.raises(bk.RepeatedRespondentError) as caught:
            refuse_repeated(given_parts)
        assert caught.value.people == len(too_often)
    else:
        refuse_repeated(given_parts)


@plans
def test_respondents_go_with_their_reports(plan: bk.Plan, tmp_path: Path) -> None:
    """Through files, bytes, slices and concat; reports are what they are without them."""
    people = ["!", "~" * LONGEST_TOKEN, "a b".replace(" ", "_"), "7", "007"]
    reports, plain = randomized(plan, people), randomized(plan, range(5)).without_respondents()
    assert reports.batch == plain.batch
    assert reports != plain
    assert plain.respondents is None
    assert reports.without_respondents() == plain
    path = tmp_path / "r.parquet"
    reports.write(path)
    for again in (
        bk.Reports.read(path, plan=plan),
        bk.Reports.from_bytes(plan, reports.to_bytes()),
        bk.Reports.concat([reports[:2], reports[2:]]),
        bk.Reports.concat([reports, plain[:0]]),
        reports[np.arange(5)],
        reports[np.ones(5, bool)],
    ):
        assert again == reports
        assert again.respondents is not None
        assert again.respondents.tolist() == people
    assert reports[1:3].respondents.tolist() == people[1:3]  # type: ignore[union-attr]
    assert bk.Tally.of(reports) == bk.Tally.of(plain)
    assert bk.Reports.read(path).guarantee == reports.guarantee
    assert any("token" in line for line in reports.guarantee.reveals)
    assert not any("token" in line for line in plain.guarantee.reveals)
    assert "respondents named" in repr(reports)
    assert "respondents" not in repr(plain)


@plans
def test_files_and_bytes_without_respondents_are_what_they_were(plan: bk.Plan, tmp_path: Path) -> None:
    """The golden files say it of old ones; here, that names come and go and leave nothing behind."""
    named, plain = randomized(plan, names(1, 2, 3)), randomized(plan, names(1, 2, 3)).without_respondents()
    assert plain.to_bytes().startswith(b"B\x01\x01")
    plain.write(tmp_path / "plain.parquet")
    named.without_respondents().write(tmp_path / "named.parquet")
    assert (tmp_path / "plain.parquet").read_bytes() == (tmp_path / "named.parquet").read_bytes()
    assert "respondent" not in pq.read_schema(tmp_path / "plain.parquet").names


def test_the_form_of_bytes_does_not_drift() -> None:
    plan = PLANS["flip"]
    reports = bk.Reports(plan, np.array([[5]], np.uint64), randomness="secure", respondents=["ab"])
    frame = b"B\x01\x02" + b"\x01" + bytes.fromhex(plan.digest)[:8] + b"\x05" + b"ab".ljust(64, b"\0")
    assert reports.to_bytes() == frame + zlib.crc32(frame).to_bytes(4, "little")


@pytest.mark.parametrize(
    "respondents",
    [
        lambda: ["x1", "2"],
        lambda: ("x1", 2),
        lambda: iter(["x1", 2]),
        lambda: np.array(["x1", "2"]),
        lambda: np.array(["x1", "2"], object),
        lambda: pd.Series(["x1", "2"]),
        lambda: pa.array(["x1", "2"]),
        lambda: np.array([b"x1", b"2"], "S64"),
    ],
    ids=["list", "tuple", "iterator", "text", "objects", "pandas", "arrow", "tokens"],
)
def test_tokens_come_in_many_ways(respondents: Callable[[], Any]) -> None:
    data = bk.Baskets([["a"], ["b"]], items=["a", "b"])
    reports = bk.Flip(keep=0.9).randomize(data, people=1, respondents=respondents())
    assert reports.respondents is not None
    assert reports.respondents.tolist() == ["x1", "2"]


@pytest.mark.parametrize(
    "wrong",
    [
        "", "secret name", "secret\n", "\x00", "secret\x00", "geheim-ä", "x" * (LONGEST_TOKEN + 1), "x" * 10_000_000,
        None, 1.0, True, b"secret", float("nan"), ["secret"], 10**300, -(10**300), pd.NA, np.datetime64("2020-01-01"),
    ],
    ids=lambda value: type(value).__name__ + str(value)[:12].encode("ascii", "replace").hex(),
)  # fmt: skip
def test_what_is_no_token_is_refused_by_its_place(wrong: Any) -> None:
    with pytest.raises(bk.DataError, match="record 2") as caught:
        randomized(PLANS["flip"], ["fine", wrong])
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_who_forgets_somebody_is_told() -> None:
    data = bk.Baskets([["a"], ["b"]], items=["a", "b"])
    for short in (["one"], ["one", "two", "three"], []):
        with pytest.raises(bk.DataError, match=f"got {len(short)} for 2"):
            bk.Flip(keep=0.9).randomize(data, respondents=short)
    for wrong in ("id", b"id", 7, True):
        with pytest.raises(bk.ParameterError, match="respondents"):
            bk.Flip(keep=0.9).randomize(data, respondents=wrong)  # type: ignore[arg-type]
    with pytest.raises(bk.DataError):
        bk.Reports(PLANS["flip"], np.zeros((2, 1), np.uint64), randomness="secure", respondents=["one"])


@plans
def test_named_and_nameless_reports_are_not_put_together(plan: bk.Plan) -> None:
    named, plain = randomized(plan, names(1, 2)), randomized(plan, names(3), seed=2).without_respondents()
    for parts in ([named, plain], [plain, named], [named, plain, named[:0]]):
        for together in (bk.Reports, bk.Tally):
            with pytest.raises(bk.DataError, match="name nobody"):
                together.concat(parts)
    with pytest.raises(bk.DataError, match="name nobody"):
        bk.Tally.concat([named, plain, bk.Tally.of(plain)])
    assert len(bk.Reports.concat([named.without_respondents(), plain])) == 3
    assert len(bk.Tally.concat([named.without_respondents(), plain])) == 3
    assert len(bk.Tally.concat([named, bk.Tally.of(plain)])) == 3


def test_reports_by_class_name_nobody() -> None:
    named = randomized(ASK, names(1, 2))
    with pytest.raises(bk.DataError, match="no respondents"):
        ByClassReports(bk.Attribute("k", [0, 1]), {0: named, 1: named[:0]})


def hostile(path: Path, column: Any, *, name: str = "respondent", n: int = 4) -> Path:
    """A sound file of n reports whose column of respondents is another one."""
    named = randomized(PLANS["flip"], range(n))
    named.write(path)
    table = pq.read_table(path)
    at = table.schema.get_field_index("respondent")
    forged = table.remove_column(at) if column is None else table.set_column(at, name, column)
    pq.write_table(forged.replace_schema_metadata(table.schema.metadata), path)
    return path


def padded(*words: bytes) -> Any:
    return pa.array([word.ljust(LONGEST_TOKEN, b"\0") for word in words], pa.binary(LONGEST_TOKEN))


def test_files_with_a_person_twice_are_refused(tmp_path: Path) -> None:
    path = hostile(tmp_path / "r.parquet", padded(b"token-1", b"token-2", b"token-1", b"token-3"))
    found = refused(lambda: bk.Reports.read(path))
    assert found.path == path
    assert str(path) in str(found)
    assert len(bk.Reports.read(hostile(path, padded(b"1", b"2", b"3", b"4")))) == 4


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", "c", "d"]),
        pa.array([b"a", b"b", b"c", b"d"]),
        pa.array([1, 2, 3, 4]),
        pa.array([b"x" * 65] * 4, pa.binary(65)),
        pa.array([b"x" * 63] * 4, pa.binary(63)),
        pa.array([None, b"x" * 64, b"y" * 64, b"z" * 64], pa.binary(64)),
        padded(b"a", b"b", b"c", b""),
        padded(b"a", b"b", b"c", b"\0d"),
        padded(b"a", b"b", b"c", b"d\0d"),
        padded(b"a", b"b", b"c", b"d e"),
        padded(b"a", b"b", b"c", b"d\x7f"),
        padded(b"a", b"b", b"c", b"\xc3\xa4"),
        padded(b"a", b"b", b"c", b"\x1b[2J"),
        pa.array([["a"], ["b"], ["c"], ["d"]]),
    ],
    ids=[
        "text", "binary", "numbers", "too long", "too short", "missing", "empty", "zero first", "zero within", "blank",
        "delete", "no ascii", "escape", "lists",
    ],
)  # fmt: skip
def test_files_whose_respondents_are_no_tokens_are_refused(column: Any, tmp_path: Path) -> None:
    path = hostile(tmp_path / "r.parquet", column)
    with pytest.raises(bk.DataError, match="respondent") as caught:
        bk.Reports.read(path)
    assert caught.value.path == path
    assert len(str(caught.value)) < 500


def test_other_columns_are_refused_as_before(tmp_path: Path) -> None:
    path = hostile(tmp_path / "r.parquet", padded(b"a", b"b", b"c", b"d"), name="respondents")
    with pytest.raises(bk.DataError, match="respondents"):
        bk.Reports.read(path)
    assert bk.Reports.read(hostile(path, None)).respondents is None
    randomized(PLANS["flip"], names(1, 2)).write(path)
    with pytest.raises(bk.DataError):
        bk.Tally.read(path)


def test_tokens_count_towards_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    n = 20_000
    randomized(PLANS["flip"], range(n)).write(path)
    counted = (8 + LONGEST_TOKEN + 16) * n
    assert len(bk.Reports.read(path, max_bytes=counted)) == n
    with pytest.raises(bk.DataError, match="cap"):
        bk.Reports.read(path, max_bytes=counted - 1)


@pytest.mark.parametrize("alike", [False, True])
def test_reading_tokens_takes_no_more_than_the_cap_counts(alike: bool, tmp_path: Path) -> None:
    """Beside the batch that is read: no copy of all tokens is made, and none is checked twice."""
    n = 300_000
    plan = bk.Plan(bk.Domain(range(8)), bk.Flip(keep=0.9), unit=bk.PrivacyUnit(reports=n if alike else 1))
    tokens = np.array([b"a"] * n if alike else [b"x" * 56 + b"%08d" % (7 * at % n) for at in range(n)], "S64")
    bk.Reports(plan, np.zeros((n, 1), np.uint64), randomness="secure", respondents=tokens).write(tmp_path / "r.parquet")
    counted, one_batch = (8 + LONGEST_TOKEN + 16) * n, 12 << 20
    with traced() as memory:
        bk.Reports.read(tmp_path / "r.parquet", max_bytes=counted)
        assert memory.peak < counted + one_batch


def test_a_file_with_a_person_twice_is_sorted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.parquet"
    found = randomized(PLANS["flip"], names(1, 2)).without_respondents()
    found._tokens = np.array([b"a", b"a"], "S64")
    found.write(path)
    sorts: list[int] = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda *args, **rest: sorts.append(1) or argsort(*args, **rest))  # type: ignore[func-returns-value]
    with pytest.raises(bk.RepeatedRespondentError, match=r"r\.parquet") as caught:
        bk.Reports.read(path)
    assert caught.value.path == path
    assert len(sorts) == 1


def test_one_token_alone_is_refused_as_such() -> None:
    for one in (np.array("ab"), np.array(b"ab", "S64"), np.array(7)):
        with pytest.raises(bk.ParameterError, match="respondents") as caught:
            tokens_of(one, 1)
        assert caught.value.value is None


def test_tokens_that_were_chosen_take_the_time_of_any(tmp_path: Path) -> None:
    """They are sorted: there is no hash table to crowd.  Equal ones, and ones that differ in their last sign."""
    n = 200_000
    alike = np.array([b"x" * 58 + b"%06d" % at for at in range(n)], "S64")
    with memory_within(256 << 20):
        refuse_repeated([(alike, 1)])
        refuse_repeated([(np.repeat(alike[:1], n), n)])
        refused(lambda: refuse_repeated([(np.repeat(alike[:1], n), 1)]))


@given(st.data())
def test_changed_bytes_are_refused_or_other_reports(data: st.DataObject) -> None:
    plan = PLANS["flip"]
    sound = bytearray(randomized(plan, names(1, 2, 3)).to_bytes())
    start = 3
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(start, len(sound) - 1))
        sound[at] = data.draw(st.sampled_from([0, 10, 32, 33, 126, 127, 255]) | st.integers(0, 255))
    width = len(sound) // 3
    for at in range(0, len(sound), width):  # the check is right, so that tokens are looked at
        sound[at + width - 4 : at + width] = zlib.crc32(sound[at : at + width - 4]).to_bytes(4, "little")
    cut = data.draw(st.integers(start, len(sound)) | st.just(len(sound)))
    try:
        reports = bk.Reports.from_bytes(plan, bytes(sound[:cut]))
    except bk.BosketError:
        return
    assert reports.to_bytes() == bytes(sound[:cut]), "there is one form"


@pytest.mark.filterwarnings("ignore::bosket.BosketWarning")
def test_results_say_that_tokens_were_in_the_clear() -> None:
    """And are those of the reports alone."""
    people = [os.urandom(8).hex() for _ in range(60)]
    reports = randomized(ASK, people)
    named, plain = bk.estimate(reports, [{"a=y"}]), bk.estimate(reports.without_respondents(), [{"a=y"}])
    assert named.value == plain.value
    assert "token of the person" in str(evidence_of(reports).provenance.guarantee)
