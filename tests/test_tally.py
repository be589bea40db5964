"""Tallies of reports: whatever is added, taken away, saved and loaded, they are those of the reports that are left."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import bosket as bk
from bosket.counting.distinct_rows import are_distinct, distinct
from bosket.evidence import evidence_of
from bosket.tally import MOST_RECORDS, read_collected
from tests.contracts.cases import CASES, Case
from tests.memory import memory_within

ITEMS = list("abc")
PLAN = bk.Plan(bk.Domain(ITEMS), bk.CutAndPaste(2, 0.3), bk.PrivacyUnit(max_size=3))
SINGLES_AND_PAIRS = [{"a"}, {"b"}, {"c"}, {"a", "b"}, {"b", "c"}]

records = st.lists(st.lists(st.sampled_from(ITEMS), unique=True), max_size=12)


def reports_of(people: list[list[str]], seed: int) -> bk.Reports:
    return PLAN.randomize(bk.Baskets(people, items=ITEMS), rng=bk.Seeded(seed))


@given(st.lists(st.binary(min_size=3, max_size=3)) | st.lists(st.binary(min_size=11, max_size=11)))
def test_distinct_rows_are_those_of_a_dictionary(rows: list[bytes]) -> None:
    """For rows that a word holds and for longer ones, against Python's own order of bytes."""
    width = len(rows[0]) if rows else 3
    several = [row for row in rows for _ in range(1 + row[0] % 3)]
    array = np.frombuffer(b"".join(several), np.uint8).reshape(-1, width)
    found, counts = distinct(array)
    expected = sorted(set(rows))
    assert [row.tobytes() for row in found] == expected
    assert counts.tolist() == [several.count(row) for row in expected]
    assert are_distinct(found)
    again, sums = distinct(array, np.arange(len(array)))
    assert [row.tobytes() for row in again] == expected
    assert sums.tolist() == [sum(at for at, one in enumerate(several) if one == row) for row in expected]
    if len(found) > 1:
        assert not are_distinct(found[::-1])
        assert not are_distinct(found[[0, 0]])


class Collecting(RuleBasedStateMachine):
    """A collector's running tally beside the reports themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.tally = bk.Tally(PLAN)
        self.batches: list[bk.Reports] = []

    @rule(people=records, seed=st.integers(0, 3))
    def add(self, people: list[list[str]], seed: int) -> None:
        batch = reports_of(people, seed)
        self.tally = self.tally + bk.Tally.of(batch)
        self.batches.append(batch)

    @rule(people=records, others=records)
    def merge(self, people: list[list[str]], others: list[list[str]]) -> None:
        one, other = reports_of(people, 4), reports_of(others, 5)
        self.tally = (bk.Tally.of(other) + bk.Tally.of(one)) + self.tally
        self.batches += [one, other]

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def take_away(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.batches) - 1))
        self.tally = self.tally - bk.Tally.of(self.batches.pop(at))

    @rule(people=records)
    def take_what_is_not_there(self, people: list[list[str]]) -> None:
        """Twice all that there is, and some more."""
        more = self.tally + self.tally + bk.Tally.of(reports_of(people, 6))
        before = self.tally
        if more.n_records > before.n_records:
            with pytest.raises(bk.DataError, match="less than none"):
                _ = self.tally - more
        assert self.tally is before

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tally.parquet"
            self.tally.write(path)
            loaded = bk.Tally.read(path, plan=PLAN)
            assert loaded == self.tally
            assert loaded.randomness == self.tally.randomness
            self.tally = loaded

    @invariant()
    def is_that_of_the_reports(self) -> None:
        assert self.tally.n_records == sum(map(len, self.batches))
        assert are_distinct(self.tally.rows)
        assert self.tally.counts.min(initial=1) >= 1
        if not self.batches:
            assert self.tally == bk.Tally(PLAN)
            return
        together = bk.Reports.concat(self.batches, allow_duplicates=True)
        assert self.tally == bk.Tally.of(together)
        if len(together):
            itemsets = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
            one, other = self.tally.counter(), together.counter()
            assert one.strata == other.strata
            np.testing.assert_array_equal(one.supports(itemsets), other.supports(itemsets))


Collecting.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
TestCollecting = Collecting.TestCase


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_evidence_is_that_of_the_reports_in_any_order(case: Case) -> None:
    reports = case.reports(700, seed=3)
    tally = bk.Tally.of(reports)
    if not reports.channel.belong_together:
        parts = np.random.default_rng(1).integers(0, 3, len(reports))
        shuffled = bk.Reports.concat([reports[parts == part] for part in (2, 0, 1)], allow_duplicates=True)
        tally = sum((bk.Tally.of(reports[parts == part]) for part in (1, 2)), bk.Tally.of(reports[parts == 0]))
        assert bk.Tally.of(shuffled) == tally == bk.Tally.of(reports)
    largest = [reports.domain.labels[item] for item in case.itemsets[-1][0].tolist()]
    wanted = [set(largest[:1]), set(largest)]
    one, other = bk.estimate(tally, wanted, sampling=True), bk.estimate(reports, wanted, sampling=True)
    np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_array_equal(one.covariance, other.covariance)
    assert (one.n_records, one.randomness) == (700, other.randomness)
    found, expected = (bk.mine(data, min_support=0.2) for data in (tally, reports))
    assert found.to_frame().equals(expected.to_frame())
    assert found.about == expected.about
    assert found.rules(min_threshold=0.1).equals(expected.rules(min_threshold=0.1))
    assert evidence_of(tally).provenance == evidence_of(reports).provenance


def test_other_calls_take_it() -> None:
    reports = reports_of([["a", "b"], ["c"], ["a", "b", "c"]] * 300, 1)
    tally = bk.Tally.of(reports)
    calls: list[Callable[[bk.Reports | bk.Tally], Any]] = [
        lambda data: bk.contingency(data, {"a"}, {"b"}).value.tolist(),
        lambda data: bk.partial_supports(data, ["a", "b"]).value.tolist(),
        lambda data: bk.confidence(data, {"a"}, {"b"}).value,
    ]
    for call in calls:
        assert call(tally) == call(reports)
    flipped = bk.Flip(keep=0.8).randomize(bk.Baskets([["a", "b"], ["c"]] * 300, items=ITEMS), rng=bk.Seeded(1))
    pairs = bk.dependent_pairs(bk.Tally.of(flipped))
    assert pairs.equals(bk.dependent_pairs(flipped))
    assert len(pairs)


def test_what_does_not_belong_together_is_refused() -> None:
    tally = bk.Tally.of(reports_of([["a"]] * 30, 1))
    other = bk.Tally.of(bk.Flip(keep=0.9).randomize(bk.Baskets([["a"]], items=ITEMS)))
    with pytest.raises(bk.PlanMismatchError):
        _ = tally + other
    with pytest.raises(bk.PlanMismatchError):
        _ = tally - other
    for wrong in (1, None, reports_of([["a"]], 1)):
        with pytest.raises(TypeError):
            _ = tally + wrong  # type: ignore[operator]
        with pytest.raises(TypeError):
            _ = tally - wrong  # type: ignore[operator]
    mixed = bk.Tally.of(bk.Mixing(others=2, keep=0.6).randomize(bk.Baskets([["a"], ["b"]] * 9), rng=bk.Seeded(1)))
    with pytest.raises(bk.DataError, match="batch by batch"):
        _ = mixed + mixed
    assert (mixed - mixed).n_records == 0
    assert mixed + bk.Tally(mixed.plan) == mixed
    with pytest.raises(bk.DataError):
        bk.Tally.of(bk.Baskets([["a"]]))  # type: ignore[arg-type]
    with pytest.raises(bk.ParameterError):
        bk.Tally("plan")  # type: ignore[arg-type]
    with pytest.raises(bk.DataError, match="no records"):
        bk.mine(bk.Tally(PLAN), min_support=0.1)


def test_many_are_put_together_in_one_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by adding one to the sum of all before: that takes the square of their number."""
    parts = [bk.Tally.of(reports_of([["a"], ["b", "c"]] * 8, seed)) for seed in range(20)]
    expected = parts[0]
    for part in parts[1:]:
        expected = expected + part
    sorts: list[int] = []

    def noted(rows: Any, numbers: Any = None) -> Any:
        sorts.append(len(rows))
        return distinct(rows, numbers)

    monkeypatch.setattr("bosket.tally.distinct", noted)
    assert bk.Tally.concat(parts, allow_duplicates=True) == expected
    assert sorts == [sum(part.n_distinct for part in parts)]


def test_the_plan_of_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = reports_of([["a"], ["b", "c"]] * 8, 1)
    path = tmp_path / "x.parquet"
    texts: list[Any] = []
    read = bk.Plan.from_json

    def noted(text: Any) -> bk.Plan:
        texts.append(text)
        return read(text)

    monkeypatch.setattr(bk.Plan, "from_json", noted)
    for whole in (reports, bk.Tally.of(reports)):
        whole.write(path)
        assert read_collected(path) == whole
        assert type(read_collected(path, plan=PLAN)) is type(whole)
    assert len(texts) == 2
    with pytest.raises(bk.PlanMismatchError):
        read_collected(path, plan=PLAN.with_unit(max_size=2))


def test_one_seeded_part_spoils_the_whole_for_good() -> None:
    secure = bk.Tally.of(PLAN.randomize(bk.Baskets([["a"]] * 5, items=ITEMS)))
    seeded = bk.Tally.of(reports_of([["a"]] * 5, 1))
    assert not (secure + secure).is_simulation
    assert (secure + seeded).is_simulation
    assert (secure + seeded - seeded).is_simulation
    assert "protects nobody" in (secure + seeded).guarantee.card()


def test_it_cannot_be_changed_and_can_be_copied() -> None:
    tally = bk.Tally.of(reports_of([["a"]] * 5, 1))
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0] = 7
    assert pickle.loads(pickle.dumps(tally)) == tally


def test_memory_goes_by_different_reports() -> None:
    """A thousand million million reports: more than could ever be laid out one by one."""
    tally = bk.Tally.of(reports_of([["a", "b"], ["c"]] * 50, 1))
    for _ in range(43):
        tally = tally + tally
    assert tally.n_records == 100 << 43
    with memory_within(64 << 20):
        found = bk.estimate(tally, [{"a"}])
    assert found.value[0] == bk.estimate(bk.Tally.of(reports_of([["a", "b"], ["c"]] * 50, 1)), [{"a"}]).value[0]
    while tally.n_records <= MOST_RECORDS // 2:
        tally = tally + tally
    with pytest.raises(bk.DataError, match="at most"):
        _ = tally + tally


@pytest.mark.slow
def test_numbers_with_all_bits_take_the_memory_of_a_few() -> None:
    """Whoever writes a tally chooses its numbers: one set of bitmaps for each bit would take forty times as much."""
    plan = bk.Plan(bk.Domain(range(20_000)), bk.Flip(keep=0.9))
    reports = plan.randomize(bk.Baskets([[at] for at in range(640)], items=range(20_000)), rng=bk.Seeded(1))
    once = bk.Tally.of(reports)
    many = once
    for _ in range(39):
        many = many + many + once  # every number becomes 2 n + 1: all bits set
    assert set(many.counts.tolist()) == {(1 << 40) - 1}
    with memory_within(40 << 20):
        found = bk.mine(many, min_support=0.12, max_size=1)
    assert dict(found) == pytest.approx(dict(bk.mine(once, min_support=0.12, max_size=1)))


class TestFiles:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "tally.parquet"
        bk.Tally.of(reports_of([["a", "b"], ["c"], []] * 100, 1)).write(path)
        return path

    def test_kinds_of_files_are_not_confused(self, path: Path, tmp_path: Path) -> None:
        with pytest.raises(bk.DataError, match="tally") as caught:
            bk.Reports.read(path)
        assert "Tally.read" in str(caught.value.hint)
        reports_of([["a"]], 1).write(tmp_path / "r.parquet")
        with pytest.raises(bk.DataError, match="count"):
            bk.Tally.read(tmp_path / "r.parquet")
        with pytest.raises(bk.PlanMismatchError):
            bk.Tally.read(path, plan=bk.Plan(PLAN.domain, bk.Flip(keep=0.9)))
        with pytest.raises(bk.DataError, match="parquet"):
            bk.Tally(PLAN).write(tmp_path / "tally.csv")
        with pytest.raises(bk.DataError, match="cap"):
            bk.Tally.read(path, max_bytes=20)

    @pytest.mark.parametrize(
        "counts",
        [[0], [-1], [None], [1.0], ["1"], [MOST_RECORDS + 1], [MOST_RECORDS], [2**63 - 1]],
        ids=["none", "less", "missing", "fractions", "text", "too many", "too many together", "most"],
    )
    def test_counts_that_no_tally_has(self, path: Path, counts: list[Any]) -> None:
        table = pq.read_table(path)
        at = table.column_names.index("count")
        pq.write_table(table.set_column(at, "count", pa.array(counts * len(table))), path)
        with pytest.raises(bk.DataError) as caught:
            bk.Tally.read(path)
        assert caught.value.path == path

    def test_reports_twice_or_in_another_order(self, path: Path) -> None:
        table = pq.read_table(path)
        for order in (np.arange(len(table))[::-1], np.array([0, 0])):
            pq.write_table(table.take(pa.array(order)), path)
            with pytest.raises(bk.DataError, match="order"):
                bk.Tally.read(path)

    def test_reports_that_the_plan_does_not_have(self, path: Path) -> None:
        table = pq.read_table(path)
        at = table.column_names.index("stratum")
        pq.write_table(table.set_column(at, "stratum", pa.array([4] * len(table), pa.int32())), path)
        with pytest.raises(bk.DataError):
            bk.Tally.read(path)


@pytest.mark.slow
def test_tests_of_dependence_end_however_many_people_a_tally_claims(tmp_path: Path) -> None:
    """1.7 kB that claim 2^53 people: summed table by table, one pair took an hour, and Ctrl-C was not heard."""
    plan = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.9))
    records = [["a", "b"], ["a"], ["b", "c"], []] * 16
    small = bk.Tally.of(plan.randomize(bk.Baskets(records, items=["a", "b", "c"]), rng=bk.Seeded(1)))
    large = bk.Tally._made(plan, small.rows.copy(), small.counts * ((1 << 53) // 64), "secure")
    large.write(tmp_path / "tally.parquet")
    read = bk.Tally.read(tmp_path / "tally.parquet")
    assert read.n_records == 1 << 53
    assert len(bk.dependent_pairs(read)) > 0
    rules = bk.mine(read, min_support=0.05).rules(min_threshold=0.1, adjust="by")
    assert rules["p_value"].between(0, 1).all()
