"""Frames of a Spark session: the results of the same data on one machine, to the last digit."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket import spark
from bosket.cli import main
from bosket.engines import engine_of
from bosket.errors import DataError, ParameterError, PlanMismatchError
from bosket.spark.report_rows import to_rows
from tests.contracts.cases import CASES, Case
from tests.contracts.counters import some_cases
from tests.spark.counters import assert_contracts
from tests.spark.sessions import NEEDS_JAVA, session

pytestmark = NEEDS_JAVA

LISTS = [["a", "b", "c"], ["b"], [], ["a", "c"], ["d", "b", "a"], ["c", "a", "b"]] * 50 + [["e", "a"]] * 7
BASKETS = bk.Baskets(LISTS)
PLAN = bk.Plan(bk.Domain(["a", "b", "c", "d", "e"]), bk.Flip(keep=0.9))


def frame_of(columns: dict[str, Any]) -> Any:
    return session().createDataFrame(pa.table(columns))


def lists(values: list[Any] = LISTS, kind: Any = None) -> Any:
    return frame_of({"items": pa.array(values, kind)})


def reports_frame(reports: bk.Reports) -> Any:
    return session().createDataFrame(pa.Table.from_batches([to_rows(reports.plan, reports.batch)]))


def assert_same(found: bk.FrequentItemsets, expected: bk.FrequentItemsets) -> None:
    assert found.to_frame().equals(expected.to_frame())
    assert found.about == expected.about
    rules, wanted = (one.rules(metric="confidence", min_threshold=0.1) for one in (found, expected))
    assert rules.equals(wanted)


def test_baskets_are_mined_as_on_one_machine() -> None:
    assert_same(bk.mine(lists(), 0.02), bk.mine(BASKETS, 0.02))


@pytest.mark.slow
def test_labels_that_workers_put_together_are_those_of_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are too many to come from each task: of records, of an item that is refused, of reports by sizes."""
    monkeypatch.setattr("bosket.spark.summaries.MOST_AT_ONCE", 0)
    monkeypatch.setattr("bosket.spark.summaries._MOST_MERGING", 1)
    assert_same(bk.mine(lists(), 0.02), bk.mine(BASKETS, 0.02))
    with pytest.raises(DataError, match="does not have: 7 times, first in row 148 of partition 1"):
        spark.baskets(lists(), items=list("abcd"))
    plan = bk.Plan(PLAN.domain, bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=3))
    local = plan.randomize(BASKETS, rng=bk.Seeded(1))
    with spark.open_reports(reports_frame(local), plan) as found:
        assert (found.n_records, found.strata_shown) == (len(local), local.strata_shown)
        mined, expected = (bk.mine(one, 0.1) for one in (found, local))
        assert mined.to_frame().equals(expected.to_frame())


@pytest.mark.slow
def test_rows_of_record_and_item_are_mined_as_on_one_machine() -> None:
    """An empty record among them."""
    nothing: list[str | None] = [None]
    rows = [(number, item) for number, record in enumerate(LISTS) for item in (record or nothing)]
    long = frame_of({"record": pa.array([row[0] for row in rows]), "item": pa.array([row[1] for row in rows])})
    assert_same(bk.mine(long, 0.02), bk.mine(BASKETS, 0.02))


@pytest.mark.slow
def test_an_item_that_is_no_number_says_that_the_record_exists() -> None:
    """As one machine reads it; a frame with one such row was refused."""
    columns = {"record": pa.array([1, 1, 2, 2, 3]), "item": pa.array([1.5, 2.0, 1.5, math.nan, math.nan])}
    assert_same(bk.mine(frame_of(columns), 0.3), bk.mine(bk.Baskets.from_frame(pa.table(columns)), 0.3))


@pytest.mark.slow
def test_declared_baskets_are_mined_as_on_one_machine() -> None:
    """Items chosen; a size that ends the search."""
    with spark.baskets(lists(), items=["e", "d", "c", "b", "a", "z"]) as declared:
        assert_same(bk.mine(declared, 0.02), bk.mine(bk.Baskets(LISTS, items=["e", "d", "c", "b", "a", "z"]), 0.02))
        few = bk.mine(declared, 0.02, items=["a", "b"], max_size=2)
        assert dict(few) == dict(bk.mine(BASKETS, 0.02, items=["a", "b"], max_size=2))
        wanted = [{"a", "b"}, {"a"}, set(), {"a", "b", "c"}]
        np.testing.assert_array_equal(bk.estimate(declared, wanted).value, bk.estimate(BASKETS, wanted).value)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["one-hot", "table", "numbers"])
def test_other_layouts_are_mined_as_on_one_machine(layout: str) -> None:
    rng = np.random.default_rng(3)
    if layout == "numbers":
        values = [rng.integers(0, 6, rng.integers(0, 5)).tolist() for _ in range(300)]
        assert_same(bk.mine(lists(values, pa.list_(pa.float64())), 0.05), bk.mine(bk.Baskets(values), 0.05))
    elif layout == "one-hot":
        columns = {name: pa.array(rng.random(300) < 0.4) for name in ("z", "y", "x")}
        assert_same(bk.mine(frame_of(columns), 0.05), bk.mine(bk.Baskets.from_frame(pa.table(columns)), 0.05))
    else:
        columns = {"sex": pa.array(rng.choice(["F", "M"], 300)), "age": pa.array(rng.integers(15, 80, 300))}
        columns["town"] = pa.array(rng.choice(["A", "B", "?"], 300))
        options: dict[str, Any] = {"bins": {"age": [15, 35, 55]}, "missing": {"town": "unknown"}}
        expected = bk.mine(bk.Table.from_frame(pa.table(columns), **options), 0.05)
        with spark.table(frame_of(columns), **options) as table:
            assert_same(bk.mine(table, 0.05), expected)


@pytest.mark.slow
def test_columns_may_have_any_name() -> None:
    """Spark took dots and quotes for its own, and a column of ours was taken for one of lost records."""
    rng = np.random.default_rng(4)
    names = ("oat.milk 1.5%", "a `quote`", "*", "bosket_lost", "r\u00f4ti", "a\\b")
    marks = {name: pa.array(rng.random(300) < 0.4) for name in names}
    assert_same(bk.mine(frame_of(marks), 0.05), bk.mine(bk.Baskets.from_frame(pa.table(marks)), 0.05))
    table = pa.table({name: pa.array(rng.choice(["no", "yes"], 300)) for name in names})
    with spark.table(frame_of(dict(zip(table.column_names, table.columns, strict=True)))) as found:
        assert_same(bk.mine(found, 0.05), bk.mine(bk.Table.from_frame(table), 0.05))


@pytest.mark.slow
def test_reports_are_written_once_and_mined_where_they_are(tmp_path: Path) -> None:
    frame = PLAN.randomize(lists(), folder=str(tmp_path / "reports"))
    local = bk.Reports.from_spark(frame, plan=PLAN)
    assert (local.n_records, local.randomness) == (len(LISTS), "secure")
    assert bk.Reports.from_spark(frame) == local, "read again, the very same coins"
    assert_same(bk.mine(frame, 0.1), bk.mine(local, 0.1))
    again = session().read.parquet(str(tmp_path / "reports"))
    assert_same(bk.mine(again, 0.1), bk.mine(local, 0.1))
    with pytest.raises(DataError, match="exists already"):
        PLAN.randomize(lists(), folder=str(tmp_path / "reports"))  # nothing is added to what is there


@pytest.mark.slow
def test_no_report_is_left_where_a_record_is_refused(tmp_path: Path) -> None:
    """Records are checked by the job that writes reports: it fails, and what is wrong is told as without a folder."""
    folder = tmp_path / "reports"
    short = bk.Plan(PLAN.domain, PLAN.mechanism, bk.PrivacyUnit(max_size=2))
    for plan, values, must in (
        (PLAN, [["a", "secret"], ["secret", "hidden"], ["b"]] * 200, "2 different items"),
        (PLAN, [["a"], ["b", None]] * 200, "none of them missing"),
        (short, LISTS, "at most the 2 items"),
    ):
        with pytest.raises(DataError, match=must) as problem:
            plan.randomize(lists(values), folder=str(folder))
        assert place_in(problem)
        assert "secret" not in str(problem.value)
        assert not folder.exists()
    assert bk.Reports.from_spark(PLAN.randomize(lists(), folder=folder.as_uri())).n_records == len(LISTS)
    one_hot = frame_of({name: pa.array([name in record for record in LISTS]) for name in "abcde"})
    written = PLAN.randomize(one_hot, folder=str(tmp_path / "hot"))
    assert written.count() == len(LISTS)
    with pytest.warns(bk.HopelessPlanWarning):
        bk.Plan(PLAN.domain, bk.Flip(keep=0.501)).randomize(lists(), folder=str(tmp_path / "hopeless"))


@pytest.mark.slow
def test_coins_differ_between_tasks_and_draws() -> None:
    """512 records of 64 items each in two partitions, at fair coins: chance makes two alike with probability 1e-13."""
    fair = bk.Plan(bk.Domain(range(64)), bk.Flip(keep=0.51))
    same = lists([[0, 1]] * 512, pa.list_(pa.int64()))
    rows = [bk.Reports.from_spark(fair.randomize(same, people=1)).bits[:, 0] for _ in range(2)]
    assert len(set(np.concatenate(rows).tolist())) == 1024


@pytest.mark.slow
def test_counters_keep_their_contract() -> None:
    """One case, of two words and several strata; a cluster is held to all of them (test_cluster.py)."""
    assert assert_contracts(session(), [some_cases()[5]]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if not case.channel.belong_together], ids=str)
def test_reports_of_every_mechanism(case: Case) -> None:
    assert_contract(case)


def assert_contract(case: Case) -> None:
    """The counter's contract and that of mining, over partitions of which some lack a stratum."""
    local = case.reports()
    with spark.open_reports(reports_frame(local), case.plan) as found:
        assert found.n_records == len(local)
        assert found.strata_shown == local.strata_shown
        ours, theirs = found.counter(), local.counter()
        assert (ours.n_records, tuple(ours.strata)) == (theirs.n_records, tuple(theirs.strata))
        for rows in case.itemsets[:2]:
            np.testing.assert_array_equal(ours.supports(rows), theirs.supports(rows))
        mined, expected = (bk.mine(one, 0.05, max_size=3) for one in (found, local))
        assert mined.to_frame().equals(expected.to_frame())


@pytest.mark.slow
def test_numbers_of_many_tasks_are_put_together_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """All partitions are still read side by side: the frame was narrowed before, with all that its owner does in it."""
    reports = PLAN.randomize(BASKETS, rng=bk.Seeded(1))
    frame, tracker = reports_frame(reports).repartition(5), session().sparkContext.statusTracker()
    rows, expected = np.array([[0, 1], [0, 2]], np.int32), reports.counter()
    monkeypatch.setattr("bosket.spark.reports._MOST_TASKS", 3)
    monkeypatch.setattr("bosket.spark.reports._MOST_MERGING", 2)
    with spark.open_reports(frame, PLAN) as found:
        counter = found.counter_by("bits", lambda batch, _: PLAN.channel.payload.counter(batch))
        assert tuple(counter.strata) == tuple(expected.strata)
        session().sparkContext.setJobGroup("merged", "")
        try:
            np.testing.assert_array_equal(counter.supports(rows), expected.supports(rows))
        finally:
            session().sparkContext.setLocalProperty("spark.jobGroup.id", None)
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("merged")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert {5, 2} <= {stage.numTasks for stage in stages if stage}


def place_in(problem: pytest.ExceptionInfo[Any]) -> str:
    found = re.search(r"(once|\d+ times).*row \d+ of partition \d+", str(problem.value))
    assert found is not None, problem.value
    return found[1]


def test_what_cannot_be_read_is_refused() -> None:
    """By its type and place; no message holds what stands there."""
    with pytest.raises(DataError, match="neither records nor reports"):
        bk.mine(frame_of({"a": pa.array([1])}).selectExpr("map('a', a) as cells"), 0.1)
    with pytest.raises(DataError, match="two columns of whole numbers"):
        bk.mine(frame_of({"a": pa.array([1, 2]), "b": pa.array([1, 2])}), 0.1)
    with pytest.raises(DataError, match="none of them missing") as missing:
        bk.mine(lists([["secret", None], ["secret"], [None, None]]), 0.1)
    assert place_in(missing) == "3 times"
    assert "secret" not in str(missing.value)
    with pytest.raises(DataError, match="2 different items") as unknown:
        PLAN.randomize(lists([["a", "secret"], ["secret", "hidden"], ["b"]]))
    assert place_in(unknown) == "3 times"
    assert "secret" not in str(unknown.value)
    with pytest.raises(DataError, match="at most the 2 items") as longer:
        bk.Plan(PLAN.domain, PLAN.mechanism, bk.PrivacyUnit(max_size=2)).randomize(lists())
    assert place_in(longer) == f"{sum(len(record) > 2 for record in LISTS)} times"
    with pytest.raises(ParameterError, match="secure coins"):
        PLAN.randomize(lists(), rng=bk.Seeded(1))


@pytest.mark.slow
def test_reports_of_different_plans_are_refused() -> None:
    other = bk.Plan(PLAN.domain, bk.Flip(keep=0.8))
    ours, theirs = (plan.randomize(BASKETS, rng=bk.Seeded(1)) for plan in (PLAN, other))
    both = reports_frame(ours).union(reports_frame(theirs))
    with pytest.raises(PlanMismatchError, match="another plan") as problem:
        bk.mine(spark.open_reports(both, PLAN), 0.1)
    assert place_in(problem) == f"{len(LISTS)} times"
    with pytest.raises(DataError, match="of which plan"):
        spark.open_reports(reports_frame(ours))
    with pytest.raises(DataError, match="5 bits"):
        bk.mine(spark.open_reports(reports_frame(ours).selectExpr("substring(report, 1, 0) as report"), PLAN), 0.1)


def test_no_frame_is_taken_for_an_engine_s() -> None:
    assert engine_of(BASKETS) is None
    assert engine_of(pa.table({"a": [1]})) is None
    with pytest.raises(DataError, match="got SparkSession"):
        bk.mine(session(), 0.1)


@pytest.mark.slow
def test_the_command_line_has_spark_read_the_files(tmp_path: Path) -> None:
    """Raw lists, and reports that were written here: the same files come out as without Spark."""
    raw, sent = tmp_path / "raw.parquet", tmp_path / "reports.parquet"
    pq.write_table(pa.table({"items": pa.array(LISTS)}), raw)
    PLAN.randomize(BASKETS, rng=bk.Seeded(1)).write(sent)
    for path, where in ((raw, ["--layout", "list"]), (sent, [])):
        session()
        found, expected = tmp_path / "found.csv", tmp_path / "expected.csv"
        common = ["mine", str(path), "--min-support", "0.1", *where]
        assert main([*common, "--spark", "local[2]", "-o", str(found)]) == 0
        assert main([*common, "-o", str(expected)]) == 0
        columns = ["support", "itemsets"]
        assert pd.read_csv(found)[columns].equals(pd.read_csv(expected)[columns])


@pytest.mark.slow
def test_csv_files_are_read_on_spark_as_without(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One-hot cells were values of a table; cells that a row has too many were left out, and columns of other files."""
    rng = np.random.default_rng(3)
    marks = rng.random((200, 4)) < 0.4
    one_hot, long, other, spoilt = (tmp_path / name for name in ("one_hot.csv", "long.csv", "other.csv", "spoilt.csv"))
    rows = "".join(",".join("True" if one else "" for one in row) + "\n" for row in marks)
    one_hot.write_text("a,b,c,d\n" + rows)
    places = np.argwhere(marks)
    long.write_text("record,item\n" + "".join(f"{record},{'abcd'[item]}\n" for record, item in places))
    other.write_text("record,item,price\n1,a,3\n")
    spoilt.write_text("record,item\n1,secret\n2,b,much\n3\n")
    for path in (one_hot, long):
        session()
        found, expected = tmp_path / "found.csv", tmp_path / "expected.csv"
        common = ["mine", str(path), "--min-support", "0.1"]
        assert main([*common, "--spark", "local[2]", "-o", str(found)]) == 0
        assert main([*common, "-o", str(expected)]) == 0
        columns = ["support", "itemsets"]
        assert pd.read_csv(found)[columns].equals(pd.read_csv(expected)[columns])
    capfd.readouterr()
    for paths, words in (
        ([other], "Column 'item' must hold 0 or 1"),
        ([long, other], "other.csv has other columns than"),
        ([spoilt], "Every row of a CSV file must have as many values as the header has"),
    ):
        assert main(["mine", *map(str, paths), "--min-support", "0.1", "--spark", "local[2]"]) == 1
        said = capfd.readouterr()
        assert words in said.err
        assert "secret" not in said.out + said.err
        assert "much" not in said.out + said.err
