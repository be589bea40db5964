"""What workers do with rows that somebody made up, or that are others the second time; no session is needed."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bosket as bk
from bosket.mechanisms.columns import Numbers
from bosket.spark import reports as spark_reports
from bosket.spark.domains import domain_of_table
from bosket.spark.engine import _over
from bosket.spark.engine import read as read_frame
from bosket.spark.faults import Fault, faults_text, refuse_faults
from bosket.spark.randomizing import _drawing_at_once, _refuse_speculation
from bosket.spark.report_rows import _from_arrow, read_batches, to_rows
from bosket.spark.segments import LOST, alias_of, read, segment_of, segments_of
from bosket.spark.shapes import Shaped, shaped
from bosket.spark.summaries import Met, Summary, key_of
from tests.spark.frames import PartsFrame

pytest.importorskip("pyspark", reason="PySpark is not installed")


def test_a_label_that_was_not_there_before_is_not_quoted() -> None:
    """Where a worker is lost, its records are read again: the log of the cluster would name an item of one of them."""
    rows = pa.record_batch({"items": pa.array([["milk", "a rare disease"]])})
    (segment,) = segments_of([rows], "list", Summary(0))
    with pytest.raises(bk.DataError, match="not the same each time") as caught:
        list(read([segment], {"milk": 0}))
    assert "rare" not in repr(caught.value)
    assert [items.tolist() for _, items in read([segment], {"milk": 1, "a rare disease": 0})] == [[0, 1]]


def test_a_column_that_is_never_true_is_no_item_of_a_segment() -> None:
    """Nobody has it: a plan without it takes the records, read at once, over the domain, or held before."""
    rows = pa.table({alias_of(name): pa.array([name == "a", False]) for name in ("z", "a", "b")})
    frame: Any = PartsFrame(lambda: [[], rows.to_batches(max_chunksize=1)])
    plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9))
    found = Shaped(frame, "one-hot", dict.fromkeys("zab", "boolean"))
    with read_frame(found, {}, plan.domain) as records:
        assert records.counts.tolist() == [1, 0]
    with read_frame(found, {}) as held:
        assert held.domain.labels == ("z", "a", "b")
        assert held.counts.tolist() == [0, 1, 0]
        assert held.encoded.met["a"].first == (1, 0)
        over = _over(held, plan)
        assert (over.domain, over.counts.tolist()) == (plan.domain, [1, 0])
    drawn = list(_drawing_at_once(plan, "one-hot")(rows.to_batches()))
    assert sum(batch.num_rows for batch in drawn) == 2


def test_bitmaps_of_many_strata_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a few thousand reports with a size of its own begins a word in the column of each item: gigabytes."""
    n = 500
    plan = bk.Plan(bk.Domain(range(n)), bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=n))
    rows = np.zeros((n, plan.channel.payload.width), np.uint8)
    rows[:, -4:] = np.arange(n).astype("<i4").view(np.uint8).reshape(-1, 4)
    batch = plan.channel.payload.from_rows(rows)
    monkeypatch.setattr(spark_reports, "_MOST_BITMAPS", 8 * n * n - 1)
    found, numbers, _ = spark_reports._checked([to_rows(plan, batch)], plan)
    assert "few enough sizes" in numbers["faults"][0].as_py()
    assert not found["bits"][0].as_py()
    monkeypatch.setattr(spark_reports, "_MOST_BITMAPS", 8 * n * n)
    found, numbers, _ = spark_reports._checked([to_rows(plan, batch)], plan)
    assert numbers["faults"][0].as_py() is None
    assert len(found["bits"][0].as_py()) == 8 * n * n


@pytest.mark.parametrize("value", ["-1", "1.5", "1e30"])
def test_decimals_that_are_no_numbers_of_a_payload_are_none(value: str) -> None:
    seeds = Numbers("seed", (1 << 64) - 1, "a seed", "uint64")
    assert _from_arrow(seeds, pa.array([decimal.Decimal(value)], pa.decimal128(38, 2))) is None
    known = _from_arrow(seeds, pa.array([decimal.Decimal(7)], pa.decimal128(20)))
    assert known is not None
    assert known.tolist() == [7]


def test_reports_that_are_gone_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    none = pa.table({"n_records": pa.array([], pa.int64()), "shape": pa.array([], pa.string())})
    monkeypatch.setattr(spark_reports, "_mapped", lambda *_, **__: none)
    _, number = spark_reports._summed(None, None, len, n_tasks=1)  # type: ignore[arg-type]  # never asked
    assert number == 0


def test_numbers_of_many_tasks_are_put_together_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they come to the driver, and after all partitions were read side by side; a fault of one is told."""
    plan = bk.Plan(bk.Domain(range(5)), bk.Flip(keep=0.9))
    reports = plan.randomize(bk.quest(records=90, mean_size=2, mean_pattern=2, items=5, seed=1), rng=bk.Seeded(1))
    parts = [to_rows(plan, reports.batch).slice(at, 10) for at in range(0, 90, 10)]
    frame: Any = PartsFrame(lambda: [[part] for part in parts])
    seen: list[int] = []

    def of(batch: Any) -> Any:
        if len(batch) > 10:
            raise bk.DataError("Too many.", hint="Fewer.")
        return plan.channel.payload.counter(batch).supports(np.array([[0], [1]], np.int32))

    def collected(make: Any) -> Any:
        rows = make().toArrow()
        seen.append(rows.num_rows)
        return rows

    monkeypatch.setattr(PartsFrame, "coalesce", None)
    monkeypatch.setattr(spark_reports, "collected", collected)
    monkeypatch.setattr(spark_reports, "_MOST_MERGING", 2)
    (few, n), (many, again) = (spark_reports._summed(frame, plan, of, n_tasks=tasks) for tasks in (256, 257))
    np.testing.assert_array_equal(few, many)
    assert (n, again, seen) == (90, 90, [9, 2])
    parts[4] = to_rows(plan, reports.batch)
    with pytest.raises(bk.DataError, match="Too many") as caught:
        spark_reports._summed(frame, plan, of, n_tasks=257)
    assert caught.value.hint == "Fewer."


@pytest.mark.parametrize("said", ["true", "false"])
def test_reports_are_not_left_with_workers_where_tasks_run_twice(said: str) -> None:
    def get(name: str, otherwise: str) -> str:
        assert name == "spark.speculation"
        return said

    frame: Any = SimpleNamespace(sparkSession=SimpleNamespace(conf=SimpleNamespace(get=get)))
    if said == "false":
        _refuse_speculation(frame)
    else:
        with pytest.raises(bk.ParameterError, match=r"spark\.speculation"):
            _refuse_speculation(frame)


def refused_by(shape: Any, parts: list[list[pa.RecordBatch]]) -> str:
    with pytest.raises(bk.DataError) as found:
        read_frame(Shaped(PartsFrame(lambda: parts), shape, {}), {})
    return str(found.value)


def test_rows_that_cannot_be_read_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In two partitions, and in each of some segments: a segment was counted as one row, however many were bad."""
    monkeypatch.setattr("bosket.spark.segments._RECORDS", 4)
    hot = pa.table({alias_of("a"): [0, 1, 0, 7, 0, 8, 9, 9, 0, 9], alias_of("b"): [1, 5, None, *[0] * 7]})
    parts = [[], hot.to_batches(max_chunksize=2), hot[5:].to_batches()]
    # of b there is one in row 2 of partition 1, and of a the first is in row 4
    text = refused_by("one-hot", parts)
    assert text.startswith("Column 'b' must hold 0 or 1")
    assert text.endswith("nothing: once, first in row 2 of partition 1.")
    assert refused_by("one-hot", [parts[0], parts[2], parts[1]]).endswith("9 times, first in row 1 of partition 1.")
    numbers = pa.table({"items": pa.array([[1.5], [math.nan, 2.5], [math.nan, math.nan], []] * 2)})
    assert refused_by("list", [numbers.to_batches(max_chunksize=4)] * 2).endswith(
        "none of them missing: 12 times, first in row 2 of partition 0."
    )
    lost = pa.table({"items": pa.array([["a"], [], ["b"]]), LOST: pa.array([0, 41, 0])})
    assert refused_by("list", [lost.to_batches()]).endswith("belongs to: 41 times, first in row 2 of partition 0.")


def counted(plan: bk.Plan, columns: dict[str, Any]) -> str:
    """How reports of a partition are refused, made in two batches."""
    rows = pa.table(columns)
    told = [(row, one) for row, _, one in read_batches(rows.to_batches(max_chunksize=-(-rows.num_rows // 2)), plan)]
    with pytest.raises(bk.DataError) as found:
        refuse_faults((3, faults_text(one, row)) for row, one in told)
    return str(found.value)


def test_values_that_no_report_may_have_are_counted_one_by_one() -> None:
    """By definition: out of range, of a wrong width, with spare bits, and of sizes that the plan does not have."""
    rng = np.random.default_rng(5)
    flip = bk.Plan(bk.Domain(range(5)), bk.Flip(keep=0.9))
    signs = rng.integers(0, 40, 300)
    text = counted(flip, {"report": pa.array([bytes([sign]) for sign in signs], pa.binary())})
    first = int(np.argmax(signs > 31))
    assert text.endswith(f"{(signs > 31).sum()} times, first in row {first + 1} of partition 3.")
    wide = pa.array([b"a" * (1 + (at % 7 == 3)) for at in range(300)], pa.binary())
    assert counted(flip, {"report": wide}).endswith("5 bits: 43 times, first in row 4 of partition 3.")
    cut = bk.Plan(bk.Domain(range(5)), bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=4))
    strata = np.where(np.arange(300) % 10 == 6, 5, 4).astype(np.int32)
    columns = {"report": pa.array([b"\0"] * 300, pa.binary()), "stratum": pa.array(strata)}
    assert "30 times, first in row 7 of partition 3" in counted(cut, columns)


def test_very_many_bad_values_are_told_as_at_least_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is looked for by itself, which for all reports of a wrong frame would take long."""
    monkeypatch.setattr("bosket.spark.faults.MOST_SINGLE", 20)
    flip = bk.Plan(bk.Domain(range(5)), bk.Flip(keep=0.9))
    wide = {"report": pa.array([b"a"] * 50 + [b"ab"] * 50, pa.binary())}
    assert counted(flip, wide).endswith("5 bits: at least 20 times, first in row 51 of partition 3.")
    assert counted(flip, {"report": wide["report"][:70]}).endswith(": 20 times, first in row 51 of partition 3.")


def test_a_task_looks_for_so_many_bad_values_in_all_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of later pieces the first is looked for: each of many pieces had all of its bad rows looked for, for hours."""
    monkeypatch.setattr("bosket.spark.faults.MOST_SINGLE", 20)
    monkeypatch.setattr("bosket.spark.report_rows._ROWS", 64)
    asked = 0

    def from_arrow(column: Any, values: Any) -> Any:
        nonlocal asked
        asked += 1
        return _from_arrow(column, values)

    monkeypatch.setattr("bosket.spark.report_rows._from_arrow", from_arrow)
    flip = bk.Plan(bk.Domain(range(5)), bk.Flip(keep=0.9))
    wide = {"report": pa.array([b"a"] * 10 + [b"ab"] * 630, pa.binary())}
    assert counted(flip, wide).endswith("5 bits: at least 29 times, first in row 11 of partition 3.")
    assert asked < 200
    last = {"report": pa.array([b"ab"] * 19 + [b"a"] * 620 + [b"ab"], pa.binary())}
    assert counted(flip, last).endswith("5 bits: 20 times, first in row 1 of partition 3.")


def test_faults_at_one_place_are_counted_together() -> None:
    """Two faults of one text at one place were compared as wholes, which they cannot be."""
    same = faults_text([Fault("A rule", 1, 4)])
    with pytest.raises(bk.DataError, match="A rule: 2 times, first in row 5 of partition 0"):
        refuse_faults([(0, same), (0, faults_text([Fault("A rule", 1, 4, hint="Do.")]))])


def test_a_table_of_no_rows_is_refused() -> None:
    nothing: Any = SimpleNamespace(met={})
    with pytest.raises(bk.DataError, match="no rows"):
        domain_of_table(nothing, {"age": "int", "home": "string"}, {})


class Named:
    """A frame of one column of a type, as Spark has it."""

    def __init__(self, kind: Any) -> None:
        self.columns = ["x"]
        self.schema = SimpleNamespace(fields=[SimpleNamespace(name="x", dataType=kind)])


@pytest.mark.parametrize("layout", [None, "one-hot", "table", "list", "long"])
def test_names_of_fields_are_shown_as_escapes(layout: Any) -> None:
    """A terminal obeyed those of a structure."""
    from pyspark.sql import types as T  # noqa: N812  # as everybody calls it

    for name in ("\x1b[31mred", "\x1b" + "red" * 40):
        kind: Any = T.StructType([T.StructField(name, T.LongType())])
        if layout == "list":
            kind = T.ArrayType(kind)
        frame: Any = Named(kind)
        if layout == "long":
            frame.columns.insert(0, "r")
            frame.schema.fields.insert(0, SimpleNamespace(name="r", dataType=T.LongType()))
        with pytest.raises(bk.DataError) as caught:
            shaped(frame, layout)
        assert str(caught.value).isprintable()
        assert "struct" in str(caught.value) or "array" in str(caught.value)


def met_in(parts: list[pa.Table]) -> Any:
    """What the driver hears of the cells of these partitions."""
    met: dict[Any, Met] = {}
    for at, part in enumerate(parts):
        made, faults = segment_of(part, "table")
        assert not faults
        for label in json.loads(json.dumps(made.labels)):
            met.setdefault(key_of(label), Met(label, 1, (at, 0)))
    return SimpleNamespace(met=met)


def table_or_fault(make: Callable[[], bk.Table]) -> bk.Table | str:
    try:
        return make()
    except bk.DataError as problem:
        return str(problem)


@pytest.mark.parametrize(
    "parts",
    [
        [[1e20, 2.0]],
        [[1234567890123456789.0, 2.0], [0.5, 2.5]],
        [[float(2**53 + 2), 1.0], [0.25]],
        [[math.inf, 2.0]],
        [[-0.0, 1.0], [0.0, 0.5]],
        [[3.0, 1.0], [2.0]],
    ],
)
@pytest.mark.parametrize("options", [{}, {"bins": {"income": [-1.0, 2.0]}}, {"values": {"income": [1.0, 2.0]}}])
@pytest.mark.parametrize("kind", ["double", "float"])
def test_numbers_of_a_table_are_those_of_one_machine(
    kind: str, options: dict[str, Any], parts: list[list[float]]
) -> None:
    """Whole numbers beyond 2^53 beside others, and beyond 2^63, ended in an error of Arrow's that quoted a cell."""
    types = {"double": pa.float64(), "float": pa.float32()}
    tables = [pa.table({"income": pa.array(part, types[kind]), "home": ["a", "b"][: len(part)]}) for part in parts]
    kinds = {"income": kind, "home": "string"}
    expected = table_or_fault(lambda: bk.Table.from_frame(pa.concat_tables(tables), **options))
    if isinstance(expected, str):
        with pytest.raises(bk.DataError, match="cannot be read as a table") as found:
            domain_of_table(met_in(tables), kinds, options)
        assert expected.partition("; row ")[0].rstrip(".") in str(found.value)
        return
    domain, places = domain_of_table(met_in(tables), kinds, options)
    assert domain == expected.domain
    items = [places[0, cell] for part in tables for cell in part["income"].to_pylist()]
    assert items == (expected.codes[:, 0] + expected.domain.offsets[0]).tolist()
