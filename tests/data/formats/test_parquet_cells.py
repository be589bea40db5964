"""What the cells of a Parquet file take is known from its schema and footer, before any of them is read."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.data.formats import parquet_cells
from bosket.data.formats.parquet_opening import opened
from bosket.data.formats.parquet_texts import coded_table
from bosket.data.formats.sources import Content
from bosket.errors import DataError
from tests.memory import memory_within
from tests.parquet_footers import with_count

MIB = 1 << 20


def write_as(path: Path, column: Any, kind: Any) -> None:
    """A file with one column, of which the stored schema says that it is of another kind."""
    table = pa.table({"items": column})
    with parquet.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        schema = pa.schema([("items", kind)]).serialize().to_pybytes()
        writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(schema).decode()})


def read_seen(path: Path) -> Any:
    return Baskets.read(path, max_bytes=4 * MIB)


def read_declared(path: Path) -> Any:
    return Baskets.read(path, max_bytes=4 * MIB, items=[1], unknown="drop")


def read_table(path: Path) -> Any:
    return Table.read(path, max_bytes=4 * MIB)


READERS = [read_seen, read_declared, read_table]


@pytest.mark.parametrize("read", [read_seen, read_table])
def test_missing_lists_of_a_fixed_size_count_for_what_they_take(tmp_path: Path, read: Any) -> None:
    """Arrow fills up a missing list: 533 bytes of file took 780 MB."""
    path = tmp_path / "x.parquet"
    write_as(path, pa.nulls(100, pa.list_(pa.int32())), pa.list_(pa.int32(), 1_000_000))
    assert path.stat().st_size < 1000
    with memory_within(64 * MIB), pytest.raises(DataError, match="at most 4,194,304 bytes"):
        read(path)


def test_under_declared_items_they_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_as(path, pa.nulls(1, pa.list_(pa.int32())), pa.list_(pa.int32(), 1))
    read_declared(path)  # kernels compile now
    write_as(path, pa.nulls(1000, pa.list_(pa.int32())), pa.list_(pa.int32(), 100_000))
    with memory_within(128 * MIB):
        assert read_declared(path).sizes.tolist() == [0] * 1000


@pytest.mark.parametrize("read", READERS)
def test_one_row_that_takes_more_is_refused(tmp_path: Path, read: Any) -> None:
    """Under declared items by the schema: no line of text may be so long either."""
    path = tmp_path / "x.parquet"
    write_as(path, pa.nulls(1, pa.list_(pa.int32())), pa.list_(pa.int32(), 100_000_000))
    with memory_within(64 * MIB), pytest.raises(DataError, match=r"at most [\d,]+ bytes"):
        read(path)


def fixed(size: int, kind: Any = None) -> Any:
    return pa.list_(kind or pa.int32(), size)


NESTED = {
    "fixed in fixed": (fixed(1000, fixed(1000)), pa.list_(pa.list_(pa.int32()))),
    "structure in fixed": (fixed(MIB, pa.struct([("a", pa.int32())])), pa.list_(pa.struct([("a", pa.int32())]))),
    "fixed in structure": (pa.struct([("a", fixed(MIB))]), pa.struct([("a", pa.list_(pa.int32()))])),
    "fixed in list": (pa.list_(fixed(MIB)), pa.list_(pa.list_(pa.int32()))),
    "list in fixed": (fixed(MIB, pa.list_(pa.int32())), pa.list_(pa.list_(pa.int32()))),
    "wide bytes": (fixed(1000, pa.binary(1000)), pa.list_(pa.binary(1000))),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("read", READERS)
def test_so_do_those_within_others(tmp_path: Path, read: Any, name: str) -> None:
    path = tmp_path / "x.parquet"
    claimed, real = NESTED[name]
    column = pa.array([[None] * 100], real) if name == "fixed in list" else pa.nulls(100, real)
    write_as(path, column, claimed)
    with memory_within(64 * MIB), pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize("read", [read_seen, read_table])
def test_the_starts_of_lists_count(tmp_path: Path, read: Any) -> None:
    """Missing lists of lists of lists: four bytes of Arrow's for each of them at every depth."""
    kind = pa.int32()
    for _ in range(40):
        kind = pa.list_(kind)
    parquet.write_table(pa.table({"items": pa.nulls(400_000, kind)}), tmp_path / "x.parquet")
    with memory_within(32 * MIB), pytest.raises(DataError, match="at most 4,194,304 bytes"):
        read(tmp_path / "x.parquet")


def test_lists_of_a_fixed_size_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": pa.array([[1, 2], None, [3, 1]], fixed(2, pa.int64()))}), path)
    assert Baskets.read(path) == Baskets([[1, 2], [], [3, 1]], items=[1, 2, 3])
    assert Baskets.read(path, items=[1, 2, 3]) == Baskets([[1, 2], [], [3, 1]], items=[1, 2, 3])


COLUMNS = [
    pa.array(np.arange(5000)),
    pa.array([True, None] * 2500),
    pa.array([None, 3] * 2500, pa.decimal128(4, 1)),
    pa.array([[1, 2, 3], None] * 2500),
    pa.array([[1, 2, 3], None] * 2500, fixed(3)),
    pa.array([{"a": 1, "b": ["x"]}, None] * 2500),
    pa.array([[[1, 2], None], []] * 2500),
    pa.array([[("a", 1)], None] * 2500, pa.map_(pa.string(), pa.int8())),
    pa.array([b"abc", None] * 2500, pa.binary(3)),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_what_is_counted_before_is_about_what_comes(tmp_path: Path, column: Any) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": column}), path, row_group_size=2000)
    with opened(Content(path)) as file:
        counted, held = parquet_cells.n_bytes(file), coded_table(file).nbytes
    assert held / 2.1 < counted < 2 * held  # which cells are missing takes a bit for each


def test_structures_within_each_other_without_end(tmp_path: Path) -> None:
    kind = pa.int32()
    for _ in range(200):
        kind = pa.struct([("a", kind)])
    parquet.write_table(pa.table({"items": pa.nulls(3, kind)}), tmp_path / "x.parquet", store_schema=False)
    for read in READERS:
        with pytest.raises(DataError):
            read(tmp_path / "x.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("items", [["x"], None], ids=["declared", "seen"])
def test_words_that_differ_by_nothing_under_a_footer_that_lies(tmp_path: Path, items: Any) -> None:
    """Arrow makes no codes of this encoding; a word is as long as its page, whatever the footer says of the group."""
    path = tmp_path / "x.parquet"
    table = pa.table({"record": np.arange(1000), "item": ["x" * 200_000] * 1000})
    encodings = {"item": "DELTA_BYTE_ARRAY", "record": "PLAIN"}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings, write_statistics=False)
    del table
    claimed = parquet.ParquetFile(path).metadata.row_group(0).total_byte_size
    path.write_bytes(with_count(path.read_bytes(), claimed, 1))
    assert parquet.ParquetFile(path).metadata.row_group(0).total_byte_size == 1
    pa.default_memory_pool().release_unused()
    with memory_within(160 * MIB), pytest.raises(DataError, match="at most 1,048,576 bytes"):
        Baskets.read(path, max_bytes=MIB, items=items)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"items": [7, 8]}, {"items": [7, 8], "unknown": "drop"}])
def test_a_zero_is_one_name_whatever_its_sign(tmp_path: Path, kind: Any, options: dict[str, Any]) -> None:
    """0.0 and -0.0 are equal, and so one record and one item, wherever numbers are numbers."""
    frame = pa.table({"record": np.array([0.0, -0.0, 1.0, -0.0], kind), "item": [7, 8, 7, 7]})
    parquet.write_table(frame, tmp_path / "x.parquet")
    records = [(7, 8), (7,)]
    assert list(Baskets.read(tmp_path / "x.parquet", **options)) == records
    for given in (frame, frame.to_pandas(), pd.DataFrame(frame.to_pandas(), dtype=object)):
        assert list(Baskets.from_frame(given, **options)) == records
    items = pa.table({"record": [1, 1, 2], "item": np.array([0.0, -0.0, -0.0], kind)})
    parquet.write_table(items, tmp_path / "x.parquet")
    declared = options | ({"items": [0.0, 5]} if options else {})
    for found in (Baskets.read(tmp_path / "x.parquet", **declared), Baskets.from_frame(items, **declared)):
        assert list(found) == [(0,), (0,)]


@pytest.mark.parametrize("is_coded", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("width", [np.float16, np.float32, np.float64])
def test_numbers_stand_for_items_that_are_written_so_at_any_width(tmp_path: Path, width: Any, is_coded: bool) -> None:
    """0.1 of half precision was compared as a number of single precision, which is written 0.099975586."""
    column = pa.array(np.array([0.1, 0.5, 1], width))
    table = pa.table({"record": [1, 2, 3], "item": column.dictionary_encode() if is_coded else column})
    parquet.write_table(table, tmp_path / "x.parquet")
    items = ["0.1", "0.5", "1"]
    found = Baskets.read(tmp_path / "x.parquet", items=items, unknown="drop")
    assert list(found) == [("0.1",), ("0.5",), ("1",)]
    assert list(Baskets.from_frame(table, items=items, unknown="drop")) == list(found)
