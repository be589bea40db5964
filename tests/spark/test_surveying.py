"""Tasks that look for itemsets in what they read: what one machine finds, whichever of them looked."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.errors import DataError
from bosket.evidence.raw import Sought
from bosket.limits import least_count
from bosket.mining.exact import exact_itemsets
from bosket.spark import encoding, summaries, surveying
from bosket.spark.engine import read
from bosket.spark.records import SparkRecords
from bosket.spark.shapes import Shaped
from bosket.spark.summaries import FOUND
from bosket.spark.surveying import surveyed
from tests.spark.frames import PartsFrame
from tests.spark.sessions import NEEDS_JAVA, session

FOUND_CELLS = ("labels", "itemsets", "supports")
Lists = list[list[int] | None]


class Source(PartsFrame):
    """A frame of lists, one batch or several for each partition; it knows how often it was computed."""

    def __init__(self, parts: list[Lists], kind: Any = None, lost_later: int = 0) -> None:
        self.n_reads = 0
        whole = list(parts)

        def made() -> list[list[Any]]:
            now = whole if self.n_reads == 0 or not lost_later else [whole[0][lost_later:], *whole[1:]]
            self.n_reads += 1
            lists = [pa.table({"items": pa.array(part, pa.list_(kind or pa.int64()))}) for part in now]
            return [table.to_batches(max_chunksize=7) for table in lists]

        super().__init__(made)


def opened(frame: Source, sought: Sought) -> SparkRecords:
    return read(Shaped(frame, "list", {}), {}, sought=sought)


def assert_same(records: SparkRecords, everything: Lists, sought: Sought) -> None:
    """The itemsets, counts and order of one machine."""
    baskets = bk.Baskets([record or [] for record in everything])
    assert records.domain.labels == baskets.domain.labels
    assert records.n_records == len(everything)
    asked = {
        "min_count": least_count(sought.min_support, len(everything)),
        "max_size": sought.max_size,
        "max_itemsets": sought.max_itemsets,
    }
    found = records.frequent_itemsets(**asked)  # type: ignore[arg-type]  # three numbers
    expected = exact_itemsets(baskets.indptr, baskets.indices, baskets.n_items, **asked)  # type: ignore[arg-type]
    assert len(found) == len(expected)
    for (rows, counts), (theirs, numbers) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(rows, theirs)
        np.testing.assert_array_equal(counts, numbers)


def drawn(rng: np.random.Generator) -> list[Lists]:
    """Partitions of unlike sizes, some of them empty, in which unlike items are common."""
    parts: list[Lists] = []
    unlike = rng.choice([0.0, 0.3, 1.0])
    for _ in range(rng.integers(1, 6)):
        n = int(rng.choice([0, 3, 40, 150]))
        chance = rng.beta(0.6, 1.2, 7) * unlike + (1 - unlike) * np.linspace(0.1, 0.7, 7)
        part: Lists = [np.flatnonzero(row).tolist() for row in rng.random((n, 7)) < chance]
        parts.append([None if not record and rng.random() < 0.5 else record for record in part])
    return parts


def test_a_frame_is_mined_as_on_one_machine() -> None:
    """Partitions of which all look, some or none; that find too much to tell, or hold too much; empty and uneven."""
    rng = np.random.default_rng(12)
    seen: Counter[str] = Counter()
    for _ in range(200):
        parts = drawn(rng)
        everything = [record for part in parts for record in part]
        if not everything:
            continue
        max_size = [None, None, 1, 2, 3][rng.integers(5)]
        sought, frame = Sought(float(rng.choice([0.02, 0.1, 0.25, 1 / 3, 0.5])), max_size, 1000), Source(parts)
        with (
            mock.patch.object(surveying, "LEAST_LOCAL", int(rng.choice([1, 4, 12, 24]))),
            mock.patch.object(summaries, "MOST_AT_ONCE", int(rng.choice([0, 300, 1 << 23]))),
            mock.patch.object(surveying, "MOST_FOUND", int(rng.choice([400, 1 << 20, 1 << 20]))),
            mock.patch.object(surveying, "_MOST_HELD", int(rng.choice([2000, 1 << 28, 1 << 28]))),
            mock.patch.object(encoding, "_MOST_TOLD", int(rng.choice([600, 1 << 28, 1 << 28]))),
            mock.patch("bosket.spark.segments._RECORDS", int(rng.choice([10, 1 << 18]))),
            opened(frame, sought) as records,
        ):
            assert_same(records, everything, sought)
            assert frame.n_reads <= 2
            looked = records.encoded.looked
            assert looked is not None
            assert sum(n for n, _ in looked.tasks) + looked.rest.n_records == len(everything)
            who = "all" if not looked.rest.n_records else "some" if looked.tasks else "none"
            seen[f"{who} looked, read {frame.n_reads}"] += 1
    assert set(seen) == {
        f"{who} looked, read {n}" for who, n in [("all", 1), ("all", 2), ("some", 1), ("some", 2), ("none", 1)]
    }
    assert min(seen.values()) > 8


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=8), data=st.data())
def test_some_task_reaches_its_share_of_a_fraction(sizes: list[int], data: st.DataObject) -> None:
    """Of any: what misses the limits of all tasks misses that of all records, which none of them knows."""
    n = sum(sizes)
    of = data.draw(st.integers(1, n))
    for fraction in (of / n, round(of / n, 3) or 0.001, np.nextafter(of / n, 0), np.nextafter(of / n, 1)):
        hidden = sum(least_count(float(fraction), size) - 1 for size in sizes)
        assert hidden < least_count(float(fraction), n)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64(), pa.bool_()])
def test_labels_of_any_kind_are_found(kind: Any) -> None:
    """Segments of one task have different labels, which are numbered together."""
    rng = np.random.default_rng(4)
    of: dict[Any, Any] = {pa.string(): str, pa.float64(): lambda item: item / 2, pa.bool_(): lambda item: item > 3}
    parts: list[Any] = [
        [[of.get(kind, int)(item) for item in rng.integers(part, 8 + part, 4)] for _ in range(300)] for part in range(3)
    ]
    sought, frame = Sought(0.1, None, 1000), Source(parts, kind)
    with mock.patch("bosket.spark.segments._RECORDS", 40), opened(frame, sought) as records:
        assert_same(records, [record for part in parts for record in part], sought)
        looked = records.encoded.looked
        assert looked is not None
        assert len(looked.tasks) == 3


def test_a_frame_without_order_is_read_once() -> None:
    """Whether a small rest was not looked at, or none; what was found in two parts out of three makes it read again."""
    alike: Lists = [[1, 2, 3], [1, 2], [2, 3], [4], [], None] * 100
    sought = Sought(0.1, None, 1000)
    cases: list[tuple[list[Lists], int]] = [
        ([alike, alike], 1),
        ([alike, [], alike, alike[:60]], 1),
        ([alike[:30], alike[:30]], 1),
        ([alike, alike, [[1, 2], [7, 8], [7], [8]] * 150], 2),
    ]
    for parts, n_reads in cases:
        frame = Source(parts)
        with opened(frame, sought) as records:
            assert_same(records, [record for part in parts for record in part], sought)
            assert frame.n_reads == n_reads
            assert_same(records, [record for part in parts for record in part], sought)
            assert frame.n_reads == n_reads, "what was read again is kept"


def test_another_search_than_that_of_the_survey_reads_again() -> None:
    alike: Lists = [[1, 2, 3], [1, 2], [2, 3], [4], [], None] * 100
    frame = Source([alike, alike])
    with opened(frame, Sought(0.1, None, 1000)) as records:
        for other in (Sought(0.3, None, 1000), Sought(0.1, 2, 1000), Sought(0.1, None, 999)):
            assert_same(records, alike * 2, other)
        few = records.frequent_itemsets(min_count=120, max_size=None, max_itemsets=1000, items=np.array([0, 1]))
        assert [rows.tolist() for rows, _ in few] == [[[0], [1]], [[0, 1]]]
        supports = records.counter().supports(np.array([[0, 1], [1, 2]], np.int32))
        assert supports.tolist() == [[400, 400]]
        assert frame.n_reads == 2


def test_too_many_itemsets_are_refused_as_on_one_machine() -> None:
    alike: Lists = [[1, 2, 3, 4], [1, 2, 3]] * 100
    with opened(Source([alike, alike]), Sought(0.1, None, 5)) as records:
        with pytest.raises(bk.TooManyCandidatesError) as found:
            records.frequent_itemsets(min_count=40, max_size=None, max_itemsets=5)
        assert (found.value.level, found.value.limit) == (2, 5)


def test_a_frame_that_changes_is_refused() -> None:
    """Where it is read again, it must have as many records as before."""
    alike: Lists = [[1, 2, 3], [1, 2], [2, 3], [4], [], None] * 100
    apart: Lists = [[1, 2], [7, 8], [7], [8]] * 150
    records = opened(Source([alike, alike, apart], lost_later=1), Sought(0.1, None, 1000))
    with pytest.raises(DataError, match="1800 records at first and 1799 later"):
        records.frequent_itemsets(min_count=180, max_size=None, max_itemsets=1000)


def test_what_is_wrong_in_one_partition_is_told_though_others_looked() -> None:
    """How often and where first; nothing of what stands there."""
    alike: Any = [["secret", "b"], ["b"]] * 200
    wrong: Any = [["b"], ["secret", None], [None, None], ["b"]] * 100
    with pytest.raises(DataError, match="none of them missing") as problem:
        opened(Source([alike, wrong], pa.string()), Sought(0.1, None, 1000))
    assert "300 times, first in row 2 of partition 1" in str(problem.value)
    assert "secret" not in str(problem.value)


def test_labels_of_what_was_found_are_bytes_that_it_takes() -> None:
    """They come once, those of items in larger itemsets alone; where they are long, they do not come unasked."""
    words = ["x" * 1000, "y" * 1000, "z" * 1000, "alone" * 1000]
    together, apart = words[:3], words[3:]
    rows = pa.record_batch({"items": pa.array([together, apart] * 100)})
    *_, pairs, triples = surveyed([rows], "list", Sought(0.3, None, 1000))
    assert (pairs["size"][0].as_py(), triples["size"][0].as_py()) == (2, 3)
    assert sorted(json.loads(pairs["labels"][0].as_py())) == together
    assert triples["labels"][0].as_py() is None
    told = sum(len(one[name][0].as_py() or "") for one in (pairs, triples) for name in FOUND_CELLS)
    assert [row["n_bytes"][0].as_py() for row in (pairs, triples)] == [told, told]
    frame = Source([[together, apart] * 100] * 2, pa.string())  # type: ignore[list-item]  # words for numbers
    with mock.patch.object(encoding, "_MOST_TOLD", 2 * told), opened(frame, Sought(0.3, None, 1000)) as records:
        looked = records.encoded.looked
        assert looked is not None
        assert looked.found.num_rows == 4
    with (
        mock.patch.object(encoding, "_MOST_TOLD", 2 * told - 1),
        mock.patch.object(summaries, "MOST_AT_ONCE", 0),
        opened(frame, Sought(0.3, None, 1000)) as records,
    ):
        looked = records.encoded.looked
        assert looked is not None
        assert looked.found is None
    with mock.patch.object(surveying, "MOST_FOUND", told - 1):
        assert not [row for row in surveyed([rows], "list", Sought(0.3, None, 1000)) if row["kind"][0].as_py() == FOUND]


def test_a_task_that_found_no_pairs_is_not_asked_again() -> None:
    frame = Source([[[1], [2]] * 100] * 2)
    kept: list[str] = []

    def collected(make: Any) -> Any:
        kept.append("job")
        return make().toArrow()

    with (
        mock.patch.object(encoding, "collected", collected),
        mock.patch.object(summaries, "collected", collected),
        opened(frame, Sought(0.3, None, 1000)) as records,
    ):
        assert_same(records, [[1], [2]] * 200, Sought(0.3, None, 1000))
    assert kept == ["job"]


def test_a_task_does_the_same_when_it_is_run_again() -> None:
    """Wherever it is run: what it does follows from its rows, and the number of its partition is told alone."""
    rows = pa.record_batch({"items": pa.array([[1, 2, 3], [1, 2], [2, 3], [4], []] * 100, pa.list_(pa.int64()))})
    for sought in (Sought(0.1, None, 1000), Sought(0.01, None, 1000), Sought(0.1, None, 2)):
        first, second = (list(surveyed([rows], "list", sought)) for _ in range(2))
        assert first == second


@NEEDS_JAVA
def test_a_frame_of_a_session_is_mined_in_one_job() -> None:
    """Several partitions, empty ones too; the same records held by the workers take one job for reading, one more."""
    data = bk.quest(records=3000, mean_size=6, mean_pattern=3, items=40, seed=7)
    lists = [list(data[at]) for at in range(len(data))]
    table = pa.table({"items": pa.array(lists, pa.list_(pa.int64()))})
    frame = session().createDataFrame(table).coalesce(3)
    frame = frame.union(frame.where("size(items) > 1000"))
    expected = bk.mine(data, 0.05)
    context = session().sparkContext
    context.setJobGroup("surveyed", "")
    try:
        found = bk.mine(frame, 0.05)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert found.to_frame().equals(expected.to_frame())
    assert len(context.statusTracker().getJobIdsForGroup("surveyed")) == 1
