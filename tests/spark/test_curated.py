"""A curator over records of Spark: tasks answer in whole numbers, and what is released is what one machine releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.counting.base import Counts
from bosket.curator.sieve.contributions import CONCENTRATED, PURE, Bounding
from bosket.curator.sieve.histograms import bins
from bosket.curator.sieve.records import BasketRecords
from bosket.data.formats.lookup import Lookup
from bosket.errors import DataError, ParameterError
from bosket.spark import engine
from bosket.spark.counted import added_counts, sums_row
from bosket.spark.curated import LookAtRecords, SparkCurated, _asking, _reading, over_vocabulary
from bosket.spark.segments import LOST
from bosket.spark.shapes import shaped
from tests.chance import drawing
from tests.spark.frames import PartsFrame
from tests.spark.sessions import NEEDS_JAVA, session

pytest.importorskip("opendp")

N_ITEMS = 5
RECORDS = st.lists(st.sets(st.integers(0, N_ITEMS - 1)), max_size=12)
ROWS = [np.array([[0], [3]], np.int32), np.array([[0, 1], [1, 4], [2, 3]], np.int32)]


def table_of(records: Any, kind: Any = None) -> Any:
    return pa.table({"items": pa.array(records, pa.list_(kind or pa.int64()))})


class InTurn(SparkCurated):
    """Segments in memory, a list of batches for each task; tasks answer one after the other."""

    def __init__(self, parts: list[list[set[int]]]) -> None:
        self.domain, self.n_records = bk.Domain(range(N_ITEMS)), sum(map(len, parts))
        job = _reading(Lookup.of(self.domain))
        self._parts = [list(job(table_of(list(map(list, part))).to_batches(max_chunksize=4))) for part in parts]

    def asked(self, question: LookAtRecords, shape: tuple[int, ...]) -> Counts:
        size = int(np.prod(shape))
        job = _asking(self.domain, question, size)
        total, n = added_counts(pa.Table.from_batches([row for part in self._parts for row in job(part)]), size)
        assert n == self.n_records
        return total.reshape(shape)


@pytest.mark.parametrize("bounding", [PURE, CONCENTRATED])
@given(parts=st.lists(RECORDS, min_size=1, max_size=3), bound=st.floats(0.3, 4.0))
def test_parts_answer_as_all_records_together(bounding: Bounding, parts: list[list[set[int]]], bound: float) -> None:
    """To the last unit, for items and for itemsets of several sizes; some parts have no records, or empty ones."""
    apart = InTurn(parts)
    together = BasketRecords(bk.Baskets([record for part in parts for record in part], items=range(N_ITEMS)))
    groups = np.array([0, 0, 1, 1, 1])
    budget = bounding.budget(bound)
    for one, other in ((apart.items(), together.items()), (apart.itemsets(ROWS), together.itemsets(ROWS))):
        theirs, ours = one.held_by(groups), other.held_by(groups)
        np.testing.assert_array_equal(theirs.divided(bins(N_ITEMS), bounding), ours.divided(bins(N_ITEMS), bounding))
        np.testing.assert_array_equal(theirs.sums(bounding, budget), ours.sums(bounding, budget))


@pytest.mark.parametrize(
    ("records", "kind"),
    [
        ([["a", "b", "a"], None, [], [None, "c", "zebra"], ["b", None]], pa.string()),
        ([[1, 2], [2, 7], [None], None], pa.int32()),
        ([[1.0, 2.5, float("nan")], [None, 2.0]], pa.float64()),
        ([[1.0, 0.1, float("nan")], [None, 0.1]], pa.float32()),
        ([[True, False, None]], pa.bool_()),
    ],
)
def test_a_frame_is_read_under_the_vocabulary(records: list[Any], kind: Any) -> None:
    """As one machine reads it: what is missing or not declared is left out, and nothing is refused."""
    vocabulary = ["a", "b", "c", 1, 2, 3, 0.1] if kind != pa.bool_() else ["True", "a"]
    table = table_of(records, kind)
    expected = bk.Baskets.from_frame(table, items=vocabulary, unknown="drop")
    indptr, items = over_vocabulary(table, Lookup.of(bk.Domain(vocabulary)))
    assert (indptr.tolist(), items.tolist()) == (expected.indptr.tolist(), expected.indices.tolist())


def test_no_record_makes_an_error() -> None:
    """Bytes that are no text, a row that names no record: left out, as if they were not declared."""
    words = pa.array([b"a", b"\xff\xfe", b"b"], pa.binary()).view(pa.string())
    table = pa.table({"items": pa.ListArray.from_arrays([0, 2, 3], words), "bosket_lost": [0, 1]})
    indptr, items = over_vocabulary(table, Lookup.of(bk.Domain(["a", "b"])))
    assert (indptr.tolist(), items.tolist()) == ([0, 1], [0])


class FewTasks:
    """A frame that notes how many tasks it is asked to have, and answers with nothing."""

    tasks: int | None = None
    size = 0

    def coalesce(self, tasks: int) -> FewTasks:
        self.tasks = tasks
        return self

    def mapInArrow(self, job: Any, layout: str) -> FewTasks:  # noqa: N802  # as PySpark calls it
        return self

    def toArrow(self) -> Any:  # noqa: N802  # as above
        return pa.Table.from_batches([sums_row(0, np.zeros(self.size, np.int64))])

    def unpersist(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(("size", "tasks"), [(120_000, 256), (1 << 18, 128), (1 << 20, 32)])
def test_sums_of_many_itemsets_come_from_few_tasks(size: int, tasks: int) -> None:
    """All that come to the driver are 256 MiB at most: Spark ends a job beyond its limit, once it is paid for."""
    frame = FewTasks()
    frame.size = size
    assert not SparkCurated(frame, bk.Domain(["a"]), 0).asked(lambda _: np.zeros(size, np.int64), (size,)).any()
    assert frame.tasks == tasks


@pytest.mark.slow
def test_a_frame_is_read_in_all_of_its_tasks() -> None:
    """Fewer of them would have to compute all that its owner does in it, on a cluster of any size."""
    frame: Any = PartsFrame(lambda: [table_of([[0], [1]]).to_batches()] * 300)
    records = SparkCurated.read(frame, bk.Domain(range(N_ITEMS)))
    assert records.n_records == 600
    assert len(records._frame._parts()) == 300


@NEEDS_JAVA
@pytest.mark.parametrize("kind", ["float", "double"])
def test_rows_whose_record_is_no_number_are_no_record(kind: str) -> None:
    """As on one machine: put together, one of them would decide how much the others add."""
    rows = [(1.0, "a"), (2.0, "b"), (float("nan"), "a"), (float("nan"), "b"), (None, "a")]
    frame = session().createDataFrame(rows, f"record {kind}, item string")
    assert all(
        row["items"] == [] for row in shaped(frame).frame.where(f"{LOST} > 0").collect()
    )  # however many there are
    records = engine.curated(frame, bk.Domain(["a", "b"]))
    assert records.n_records == 2
    assert records.items().held_by(np.zeros(2, np.int64)).sums(PURE, 1 << 20).tolist() == [1024, 1024]
    records.close()
    with pytest.raises(DataError, match="which record an item belongs to"):
        bk.mine(frame.where("isnan(record) or record = 1"), 0.1)


@pytest.mark.slow
@NEEDS_JAVA
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_spark_releases_what_one_machine_releases(delta: float) -> None:
    """With the same noise, to the last digit: lists, and rows of record and item; a limit, and the k most frequent."""
    baskets = bk.quest(records=20_000, items=40, mean_size=6, seed=3)
    lists = [list(map(int, baskets.indices[a:b])) for a, b in zip(baskets.indptr, baskets.indptr[1:], strict=False)]
    vocabulary = list(range(35))  # five items are not asked about
    here = bk.Baskets(lists, items=vocabulary, unknown="drop")
    spark = session()
    frame = spark.createDataFrame([(one,) for one in lists], "items array<int>").repartition(5)
    rows = [(at, item) for at, one in enumerate(lists) for item in (one or [None])]  # type: ignore[list-item]  # a record without items
    long = spark.createDataFrame(rows, "record int, item int")
    settings = bk.curator.SieveSettings(population=None)
    ways: tuple[tuple[str, Any, float], ...] = (("mine", bk.curator.mine, 0.02), ("top", bk.curator.top_k, 30))
    for name, call, option in ways:
        found = []
        for data, more in (
            (here, {"settings": settings}),
            (frame, {"vocabulary": vocabulary}),
            (long, {"vocabulary": vocabulary}),
        ):
            with drawing(f"spark {name} {delta}"):
                found.append(call(data, 2.0, option, delta=delta, **more))
        for other in found[1:]:
            assert other.to_frame().equals(found[0].to_frame())
            assert other.about | {"budget": ""} == found[0].about | {"budget": ""}
        assert len(found[0]) > 20
        assert found[0].about["settings"]["population"] is None


@pytest.mark.slow
@NEEDS_JAVA
def test_what_a_curator_does_not_do_on_spark_is_refused_before_anything_is_paid() -> None:
    spark = session()
    frame = spark.createDataFrame([(["a", "b"],), (["b"],)], "items array<string>")
    table = spark.createDataFrame([("x", "y", 1)], "a string, b string, c int")
    budget = bk.Budget.in_memory(1.0)
    words = {"vocabulary": ["a", "b"], "budget": budget}
    refused: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (frame, {"budget": budget}, ParameterError, "vocabulary"),
        (frame, words | {"vocabulary": []}, ParameterError, "vocabulary"),
        (frame, words | {"vocabulary": [1, "1"]}, ParameterError, "vocabulary"),
        (frame, words | {"method": "truncation"}, ParameterError, "method"),
        (frame, words | {"persons": [1, 2], "max_records_per_person": 1}, ParameterError, "persons"),
        (frame, words | {"settings": bk.curator.SieveSettings()}, ParameterError, "population=None"),
        (table, words, DataError, "lists of items"),
        (bk.spark.baskets(frame), words, DataError, "the frame"),
    ]
    for data, options, kind, text in refused:
        with pytest.raises(kind, match=text):
            bk.curator.mine(data, 1.0, 0.1, **options)
    assert budget.spent.epsilon == 0


@pytest.mark.slow
@NEEDS_JAVA
def test_a_frame_that_changes_is_refused_without_a_number() -> None:
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    spark = session()
    frame = spark.range(4000).select(F.array(F.lit("a")).alias("items"))
    records = SparkCurated.read(frame, bk.Domain(["a"]))
    assert "4000" not in repr(records)
    records.n_records += 1
    with pytest.raises(DataError, match="not the same each time") as caught:
        records.items().held_by(np.zeros(1, np.int64)).sums(PURE, 1024)
    assert not any(letter.isdigit() for letter in str(caught.value))
    records.close()
