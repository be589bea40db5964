"""Records may take far more than the cells they are read from: a truth value is a bit in a file.  They count too."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.errors import DataError
from tests.data.formats.test_caps import write_repeated
from tests.memory import memory_within

MIB = 1 << 20
TEXTS: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "dat": ("x.dat.gz", b"1\n" + b"\n" * 3_000_000, {}),
    "list": ("x.csv.gz", b"1\n" + b"\n" * 3_000_000, {"layout": "list"}),
    "one-hot": ("x.csv.gz", b"1\n1\n" + b"0\n" * 3_000_000, {"layout": "one-hot"}),
    "long": ("x.csv.gz", b"record,item\n1,1\n" + b"1,\n" * 2_000_000, {"layout": "long"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"items": [1, 2], "unknown": "drop"}, {"items": [1, 2]}])
@pytest.mark.parametrize("text", TEXTS)
def test_records_without_items_count_for_what_they_take(tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    """Lines and nothing on them: a thousand to a byte of gzip, and eight bytes for each once they are read."""
    name, content, layout = TEXTS[text]
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, 1))
    assert Baskets.read(path, max_bytes=8 * MIB, **layout, **options).indices.size == 1
    with pytest.raises(DataError, match="must hold at most"):
        Baskets.read(path, max_bytes=6_500_000, **layout, **options)


ROWS = 1 << 20
BITS: dict[str, tuple[dict[str, Any], Any]] = {
    "one-hot": ({f"c{at}": pa.array(np.ones(ROWS, np.bool_)) for at in range(16)}, [f"c{at}" for at in range(16)]),
    "empty one-hot": ({"c": pa.array(np.zeros(8 * ROWS, np.bool_))}, ["c"]),
    "long": ({name: pa.array(np.ones(8 * ROWS, np.bool_)) for name in ("record", "item")}, [True]),
    "list": (
        {"items": pa.ListArray.from_arrays(pa.array([0, 8 * ROWS], pa.int32()), pa.array(np.ones(8 * ROWS, np.bool_)))},
        None,
    ),
    "missing lists": ({"items": pa.nulls(8 * ROWS, pa.list_(pa.int8()))}, [1]),
    "table": ({f"c{at}": pa.array(np.arange(ROWS) % 2 == 0) for at in range(16)}, "table"),
    "short table": ({"c": pa.array(np.arange(8 * ROWS) % 2 == 0)}, "table"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("is_declared", [False, True], ids=["seen", "declared"])
def test_bits_of_a_file_count_for_what_they_become(tmp_path: Path, name: str, is_declared: bool) -> None:
    """An all-true one-hot file took twenty bytes for each bit that was counted."""
    columns, items = BITS[name]
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table(columns), path)
    if items == "table":
        values = {column: [False, True] for column in columns} if is_declared else None
        with memory_within(160 * MIB), pytest.raises(DataError, match="at most 4,194,304 bytes"):
            Table.read(path, max_bytes=4 * MIB, values=values)
        return
    if is_declared and items is None:
        return  # a list is read in pieces, and each item once
    options: dict[str, Any] = {"items": items, "unknown": "drop"} if is_declared else {}
    with memory_within(160 * MIB), pytest.raises(DataError, match="at most 4,194,304 bytes"):
        Baskets.read(path, max_bytes=4 * MIB, **options)


@pytest.mark.slow
@pytest.mark.parametrize("is_declared", [False, True], ids=["seen", "declared"])
def test_one_hot_cells_take_little_more_than_the_records(tmp_path: Path, is_declared: bool) -> None:
    """Four bytes for each item of a record, where it was twenty and more."""
    names = [f"c{at}" for at in range(64)]
    columns = {name: np.ones(1 << 17, np.bool_) for name in names}
    path, small = tmp_path / "x.parquet", tmp_path / "small.parquet"
    for at, n_rows in ((small, 1 << 10), (path, 1 << 17)):
        data = Baskets.from_frame(
            pa.table({name: column[:n_rows] for name, column in columns.items()}), layout="one-hot"
        )
        data.write(at, layout="one-hot")
    del data
    options: dict[str, Any] = {"items": names[::-1]} if is_declared else {}
    Baskets.read(small, layout="one-hot", **options)  # kernels compile now
    pa.default_memory_pool().release_unused()
    with memory_within(112 * MIB):  # 32 MiB of items, twice while they are put together
        found = Baskets.read(path, layout="one-hot", **options)
    assert found.sizes.tolist() == [64] * (1 << 17)
    assert found.indices.reshape(-1, 64).tolist()[-1] == list(range(64))


LISTS: dict[str, tuple[str, dict[str, Any], bytes]] = {
    "dat": ("x.dat.gz", {}, b"0 1 2 3 4 5 6 7 8 9\n"),
    "list": ("x.csv.gz", {"layout": "list"}, b"0,1,2,3,4,5,6,7,8,9\n"),
    "one-hot": ("x.csv.gz", {"layout": "one-hot"}, b"1,1,1,1,1,1,1,1,1,1\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("items", [None, range(10)], ids=["seen", "declared"])
@pytest.mark.parametrize("kind", LISTS)
def test_items_count_for_what_they_take(tmp_path: Path, kind: str, items: Any) -> None:
    """Two bytes of text become four of a record."""
    name, options, row = LISTS[kind]
    path = tmp_path / name
    head = b"0,1,2,3,4,5,6,7,8,9\n" if kind == "one-hot" else b""
    write_repeated(path, head, row * 10_000, 80)  # 16 MB, 8 million items
    with pytest.raises(DataError, match="at most 18,000,000 bytes"):
        Baskets.read(path, max_bytes=18_000_000, items=items, **options)
    assert Baskets.read(path, max_bytes=24_000_000, items=items, **options).indices.size == 8_000_000


@pytest.mark.slow
def test_items_of_a_dat_file_are_not_held_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.dat.gz"
    write_repeated(path, b"", b"0 1 2 3 4 5 6 7 8 9\n" * 50_000, 1)
    Baskets.read(path)  # kernels compile now
    write_repeated(path, b"", b"0 1 2 3 4 5 6 7 8 9\n" * 50_000, 32)  # 64 MB of items
    with memory_within(120 * MIB):
        assert Baskets.read(path).indices.size == 16_000_000
