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
from bosket.spark.encoding import Met
from bosket.spark.engine import _over
from bosket.spark.engine import read as read_frame
from bosket.spark.randomizing import _drawing_at_once, _refuse_speculation
from bosket.spark.report_rows import _from_arrow, to_rows
from bosket.spark.segments import alias_of, encoded, key_of, read, segment_of
from bosket.spark.shapes import Shaped, shaped
from tests.spark.frames import PartsFrame

pytest.importorskip("pyspark", reason="PySpark is not installed")


def test_a_label_that_was_not_there_before_is_not_quoted() -> None:
    """Where a worker is lost, its records are read again: the log of the cluster would name an item of one of them."""
    rows = pa.record_batch({"items": pa.array([["milk", "a rare disease"]])})
    (segment,) = encoded([rows], "list")
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
    (found,) = spark_reports._checked([to_rows(plan, batch)], plan)
    assert "few enough sizes" in found["fault"][0].as_py()
    assert not found["bits"][0].as_py()
    monkeypatch.setattr(spark_reports, "_MOST_BITMAPS", 8 * n * n)
    (found,) = spark_reports._checked([to_rows(plan, batch)], plan)
    assert found["fault"][0].as_py() is None
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
    _, number = spark_reports._summed(None, None, len)  # type: ignore[arg-type]  # never asked
    assert number == 0


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
        made, fault = segment_of(part, "table")
        assert fault is None
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
