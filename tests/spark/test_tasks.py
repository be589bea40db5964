"""What tasks find put together, in the order of the search of one machine: no Spark in these tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.mining.exact import exact_itemsets
from bosket.mining.exact_order import in_search_order
from bosket.spark.encoding import Encoded
from bosket.spark.records import SparkRecords
from bosket.spark.searched import local_limit, searching_job, told_by_search
from bosket.spark.segments import KeptSegment, RecordRows, _met, gathered, read, segment_of, segments_of
from bosket.spark.summaries import Job, Summary

N_ITEMS = 7
RECORDS = st.lists(st.sets(st.integers(0, N_ITEMS - 1), max_size=N_ITEMS), min_size=1, max_size=25)


def levels_of(records: list[set[int]], min_count: int, max_size: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    baskets = bk.Baskets(records, items=range(N_ITEMS))
    return exact_itemsets(
        baskets.indptr, baskets.indices, N_ITEMS, min_count=min_count, max_size=max_size, max_itemsets=1000
    )


def segments(batches: list[Any]) -> Iterator[Any]:
    return segments_of(batches, "list", Summary(0))


class OneProcess(Encoded):
    """Segments in memory, a list of batches for each task, mapped one after the other."""

    def __init__(self, parts: list[list[set[int]]]) -> None:
        self.parts = [
            list(segments([pa.record_batch({"items": pa.array([sorted(one) for one in part], pa.list_(pa.int64()))})]))
            for part in parts
        ]
        self.n_records, self.n_partitions, self.longest = sum(map(len, parts)), len(parts), 0
        self.met, self.looked = {}, None

    def map(self, job: Job, layout: str, *, most_tasks: int | None = None) -> Any:
        tasks = len(self.parts) if most_tasks is None else min(most_tasks, len(self.parts))
        given = [[batch for part in self.parts[at::tasks] for batch in part] for at in range(tasks)]
        return pa.Table.from_batches([row for batches in given for row in job(batches)])


@given(
    parts=st.lists(RECORDS, min_size=1, max_size=4),
    min_count=st.integers(1, 40),
    max_size=st.sampled_from([None, 2]),
)
def test_what_tasks_find_is_what_all_records_hold(
    parts: list[list[set[int]]], min_count: int, max_size: int | None
) -> None:
    """Uneven tasks, itemsets that one task alone has, limits of one record in a task."""
    held = OneProcess(parts)
    everything = [record for part in parts for record in part]
    places = {item: item for item in range(N_ITEMS)}
    records = SparkRecords(held, bk.Domain(range(N_ITEMS)), places)
    records.counts = np.bincount([item for record in everything for item in record], minlength=N_ITEMS).astype(np.int64)
    expected = levels_of(everything, min_count, max_size)
    keep = records.counts >= min_count
    job = searching_job(places, keep, len(everything), min_count, max_size, 1000)
    told = told_by_search(held.map(job, ""))
    assert told is not None
    assert told.n_records == len(everything)
    assert told.hidden < min_count
    levels = records._counted(told, keep, min_count, 1000)
    assert [sorted(map(tuple, rows.tolist())) for rows, _ in levels] == [
        sorted(map(tuple, rows.tolist())) for rows, _ in expected[1:]
    ]
    by_size = records.frequent_itemsets(min_count=min_count, max_size=max_size, max_itemsets=1000)
    single = np.flatnonzero(keep).astype(np.int32)
    one_by_one = in_search_order(
        [(single[:, None], records.counts[single]), *records._by_size(single, min_count, max_size, 1000)]
        if len(single)
        else [],
        N_ITEMS,
    )
    for wanted in (by_size, one_by_one if max_size != 1 else by_size):
        assert len(wanted) == len(expected)
        for (rows, counts), (theirs, numbers) in zip(wanted, expected, strict=True):
            np.testing.assert_array_equal(rows, theirs)
            np.testing.assert_array_equal(counts, numbers)


@given(records=st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=40), copies=st.integers(1, 60))
def test_labels_are_met_first_where_they_are(records: list[list[int]], copies: int) -> None:
    """By definition; rare labels stand behind thousands of entries."""
    every = [[0, 1, 2]] * (20 * copies) + records
    items = np.array([item for record in every for item in record], np.int32)
    rows = RecordRows(np.cumsum([0, *map(len, every)]), items, list(range(10)))
    first = {item: number for number, record in reversed(list(enumerate(every, 5))) for item in record}
    counts, found = _met(rows, 5)
    assert found.tolist() == [first.get(item, -1) for item in range(10)]
    assert counts.tolist() == [sum(record.count(item) for record in every) for item in range(10)]


@given(
    parts=st.lists(st.lists(st.lists(st.integers(0, 9), unique=True, max_size=4), max_size=20), max_size=3),
    keep=st.sets(st.integers(0, 9)),
    order=st.permutations(range(10)),
)
def test_records_of_segments_are_put_together(parts: list[list[list[int]]], keep: set[int], order: list[int]) -> None:
    """By definition; records of which nothing is kept stay, empty, and labels may stand in any order."""
    segments = [
        KeptSegment(
            np.array([len(record) for record in part], np.uint16),
            np.array([order.index(item) for record in part for item in record], np.uint16),
            order,
        )
        for part in parts
    ]
    starts, kept = gathered(segments, {item: item for item in range(10)}, np.isin(np.arange(10), list(keep)))
    found = [kept[start:stop].tolist() for start, stop in pairwise(starts.tolist())]
    assert found == [sorted(keep.intersection(record)) for part in parts for record in part]
    assert starts[-1] == len(kept)


@given(
    parts=st.lists(st.lists(st.lists(st.integers(-3, 4) | st.just(1 << 40), max_size=4) | st.none(), max_size=8)),
    kind=st.sampled_from([pa.int64(), pa.int16(), pa.float64(), pa.string()]),
    cut=st.integers(0, 3),
)
def test_lists_are_coded_as_they_are(parts: list[list[list[int] | None]], kind: Any, cut: int) -> None:
    """By definition: whole numbers near to each other, which go by a table, as any others; in chunks, and cut."""
    whole: dict[Any, Any] = {pa.string(): str, pa.float64(): lambda item: item + 0.5}
    of = whole.get(kind, lambda item: min(item, 9))
    made = [[None if record is None else [of(item) for item in record] for record in part] for part in parts]
    chunks = [pa.array([[], *part], pa.list_(kind)).slice(min(cut, len(part) + 1)) for part in made]
    rows = pa.table({"items": pa.chunked_array(chunks, pa.list_(kind))})
    records, faults = segment_of(rows, "list")
    assert not faults
    expected = [sorted(set(record or [])) for record in rows["items"].to_pylist()]
    assert records.labels == sorted({item for record in expected for item in record})
    cells = [[records.labels[item] for item in records.items[a:b]] for a, b in pairwise(records.indptr.tolist())]
    assert cells == expected
    assert all(type(label) is type(of(0)) for label in records.labels)


@pytest.mark.parametrize("longest", [4, 65_535, 65_536])
def test_what_workers_keep_is_what_was_read(longest: int) -> None:
    """As many labels and as long a record as two bytes hold, and more."""
    records = [[3], [], list(range(longest)), [longest - 1]]
    batch = pa.record_batch({"items": pa.array(records, pa.list_(pa.int64()))})
    (indptr, items) = next(read(segments([batch]), {item: item for item in range(longest + 3)}))
    assert [items[start:stop].tolist() for start, stop in pairwise(indptr.tolist())] == records


@given(shares=st.lists(st.integers(1, 50), min_size=1, max_size=6), data=st.data())
def test_some_task_reaches_its_share(shares: list[int], data: st.DataObject) -> None:
    """An itemset that misses the limit of every task misses that of all records."""
    n = sum(shares)
    min_count = data.draw(st.integers(1, n))
    hidden = sum(local_limit(min_count, share, n) - 1 for share in shares)
    assert hidden < min_count
