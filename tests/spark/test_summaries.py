"""What tasks say of their records: what the driver knows of them, and how little of it there is; without a session."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.errors import DataError
from bosket.spark import summaries
from bosket.spark.encoding import Encoded, encode
from bosket.spark.segments import LAYOUT
from bosket.spark.summaries import LABELS, Summary, summed_up
from tests.spark.frames import PartsFrame

Parts = list[list[list[int]]]
PARTS = st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3, unique=True), max_size=20), max_size=6)


class Heard(PartsFrame):
    """Lists in a frame of several batches for each partition; it knows how many bytes came to the driver."""

    n_bytes = 0

    def __init__(self, parts: Parts) -> None:
        tables = [pa.table({"items": pa.array(part, pa.list_(pa.int64()))}) for part in parts]
        super().__init__(lambda: [table.to_batches(max_chunksize=5) for table in tables])

    def encoded(self) -> Encoded:
        Heard.n_bytes = 0

        def counted(frame: PartsFrame) -> Any:
            rows = whole(frame)
            Heard.n_bytes += rows.nbytes
            return rows

        whole = PartsFrame.toArrow
        with mock.patch.object(PartsFrame, "toArrow", counted), mock.patch("bosket.spark.segments._RECORDS", 5):
            return encode(self, "list")


@given(parts=PARTS, most=st.sampled_from([0, 60, 200, 1 << 23]), tasks=st.integers(1, 4))
def test_labels_are_met_where_they_are(parts: Parts, most: int, tasks: int) -> None:
    """By definition: how often, and the first partition and row, whichever tasks the labels are put together by."""
    with mock.patch.object(summaries, "MOST_AT_ONCE", most), mock.patch.object(summaries, "_MOST_MERGING", tasks):
        found = Heard(parts).encoded()
    places: dict[int, list[tuple[int, int]]] = {}
    for part, records in enumerate(parts):
        for row, record in enumerate(records):
            for item in record:
                places.setdefault(item, []).append((part, row))
    assert {key: (one.count, one.first) for key, one in found.met.items()} == {
        item: (len(at), min(at)) for item, at in places.items()
    }
    assert found.n_records == sum(map(len, parts))
    assert found.n_partitions == sum(map(bool, parts))
    assert found.longest == max((len(record) for part in parts for record in part), default=0)


def test_what_is_heard_does_not_grow_with_the_records() -> None:
    """Nor with segments, of which there are twenty times as many in the second partition."""
    few: Parts = [[[item] for item in range(200)]]
    heard = []
    for parts in (few, [few[0] * 20]):
        Heard(parts).encoded()
        heard.append(Heard.n_bytes)
    assert heard[1] == heard[0]


def test_what_is_heard_hardly_grows_with_the_tasks() -> None:
    """Labels that come unasked are as many as fit, and others are put together before they come."""
    part: Parts = [[[item] for item in range(100)]]
    one = 100 * (8 + 8 + 4) - 10  # what a task says of its labels
    heard = []
    with mock.patch.object(summaries, "MOST_AT_ONCE", 4 * one), mock.patch.object(summaries, "_MOST_MERGING", 3):
        for tasks in (4, 40, 200):
            found = Heard(part * tasks).encoded()
            assert found.met[7].count == tasks
            heard.append((Heard.n_bytes - 100 * tasks) / one)
    assert heard[0] < 4.5
    assert max(heard) < 4 + 3 * 8 / 5 * 1.2, "four at once, and three with a number of the partition for each label"


def test_a_frame_that_lost_records_before_its_labels_were_put_together_is_refused() -> None:
    """A worker is lost, and what it reads again is another thing."""
    rows = [list(_summary_of(n).rows(LAYOUT)) for n in (3, 2)]
    reads = iter([rows, [rows[0]]])
    frame: Any = PartsFrame(lambda: next(reads))
    with mock.patch.object(summaries, "MOST_AT_ONCE", 0), pytest.raises(DataError, match="not the same each time"):
        summed_up(frame)


def _summary_of(n: int) -> Summary:
    summary = Summary(0)
    summary.add(n, 1, ["secret"], np.array([n]), np.array([0]), [])
    assert [row["kind"][0].as_py() for row in summary.rows(LAYOUT)][-1] == LABELS
    return summary
