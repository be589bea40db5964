"""Different labels, and names of records, take some hundred bytes each once they are read: they count too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.data.formats.columns import presence
from bosket.data.formats.sources import Source
from bosket.errors import DataError
from tests.memory import memory_within, traced

MIB = 1 << 20
N = 600_000
CAP = 24 * MIB
READERS: dict[str, Any] = {"baskets": Baskets.read, "table": Table.read}

Write = Callable[[Path, int], Any]


def text(row: Callable[[int], str], head: str = "") -> Write:
    return lambda path, n: path.write_text(head + "".join(map(row, range(n))))


def columns(make: Callable[[int], dict[str, Any]]) -> Write:
    return lambda path, n: parquet.write_table(pa.table(make(n)), path)


def words(n: int) -> list[str]:
    return [f"a{number:x}" for number in range(n)]


FILES: dict[str, tuple[str, str, Write, dict[str, Any]]] = {
    "dat": ("baskets", "x.dat", text(lambda at: f"{at}\n"), {}),
    "dat, far apart": ("baskets", "x.dat", text(lambda at: f"{at * 100_003}\n"), {}),
    "lists": ("baskets", "x.csv", text(lambda at: f"a{at:x}\n"), {"layout": "list"}),
    "one list": ("baskets", "x.csv", text(lambda at: f"a{at:x},"), {"layout": "list"}),
    "long": ("baskets", "x.csv", text(lambda at: f"1,a{at:x}\n", "record,item\n"), {}),
    "names": ("baskets", "x.csv", text(lambda at: f"a{at:x},1\n", "record,item\n"), {}),
    "declared names": (
        "baskets",
        "x.csv",
        text(lambda at: f"a{at:x},1\n", "record,item\n"),
        {"items": [1], "unknown": "drop"},
    ),
    "Parquet": (
        "baskets",
        "x.parquet",
        columns(lambda n: {"record": np.zeros(n, np.int8), "item": words(n)}),
        {},
    ),
    "Parquet lists": (
        "baskets",
        "x.parquet",
        columns(lambda n: {"items": pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32), words(n))}),
        {},
    ),
    "declared names in Parquet": (
        "baskets",
        "x.parquet",
        columns(lambda n: {"record": words(n), "item": np.zeros(n, np.int8)}),
        {"items": [0], "unknown": "drop"},
    ),
    "table": (
        "table",
        "x.csv",
        text(lambda at: f"a{at // 2:x},{at % 2}\n", "k,v\n"),  # a few values would be taken for a header
        {},
    ),
    "Parquet table": ("table", "x.parquet", columns(lambda n: {"k": words(n), "v": np.arange(n) % 2}), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_labels_count_for_what_they_take(tmp_path: Path, kind: str) -> None:
    """Five bytes of a file were 150 to 460 in memory, of which none counted."""
    what, name, write, options = FILES[kind]
    read, path = READERS[what], tmp_path / name
    write(path, 40_000)
    few = read(path, max_bytes=CAP, **options)  # kernels compile now
    assert few.n_records >= 1
    write(path, N)
    assert path.stat().st_size < CAP // 2
    pa.default_memory_pool().release_unused()
    with memory_within(160 * MIB), pytest.raises(DataError, match=f"at most {CAP:,} bytes"):
        read(path, max_bytes=CAP, **options)


NUMBERS: dict[str, dict[str, Any]] = {
    "names": {"record": np.arange(N), "item": np.zeros(N, np.int8)},
    "one list": {"items": pa.ListArray.from_arrays(np.array([0, N], np.int32), np.arange(N))},
    "long": {"record": np.zeros(N, np.int8), "item": np.arange(N) + 0.5},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_counted_before_they_are_told_apart(tmp_path: Path, kind: str) -> None:
    """Two million different numbers took 350 MB until it was known how many they are."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table(NUMBERS[kind]), path)
    assert Baskets.read(path, max_bytes=400 * N).n_records in (1, N)
    with memory_within(CAP), pytest.raises(DataError, match=f"at most {CAP // 2:,} bytes"):
        Baskets.read(path, max_bytes=CAP // 2)


@pytest.mark.slow
def test_different_words_of_parquet_count_while_arrow_tells_them_apart(tmp_path: Path) -> None:
    """Under declared items none of them becomes a label, but Arrow holds them all: six letters took 200 bytes."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"record": np.zeros(N, np.int8), "item": words(N)}), path)
    options: dict[str, Any] = {"items": ["a0", "a1"], "unknown": "drop"}
    with pytest.raises(DataError, match=f"at most {CAP:,} bytes"):
        Baskets.read(path, max_bytes=CAP, **options)
    assert list(Baskets.read(path, max_bytes=130 * N, **options)) == [("a0", "a1")]


@pytest.mark.slow
def test_names_in_parquet_stay_there(tmp_path: Path) -> None:
    """What a record is called is compared, and never made an object of Python's: it need not count so much."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"record": words(N), "item": np.zeros(N, np.int8)}), path)
    assert Baskets.read(path, max_bytes=160 * N).n_records == N
    parquet.write_table(pa.table({"record": pa.array([2**31 - 1, 0, 0], pa.date32()), "item": [7, 7, 8]}), path)
    assert list(Baskets.read(path)) == [(7,), (7, 8)]  # though Python's calendar has no such day


@pytest.mark.parametrize("is_coded", [False, True])
def test_one_hot_cells_are_not_made_objects(is_coded: bool) -> None:
    """A hundred different values are too many for 0 and 1; all of them were made objects to find that out."""
    cells = pa.chunked_array([pa.array(words(1 << 18))])
    column = cells.dictionary_encode() if is_coded else cells
    with traced() as memory:
        found = presence(column, Source("the file"))
        assert memory.peak < 8 * MIB
    assert (found == -1).all()


KINDS = [np.int8, np.uint64, np.int64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_say_what_objects_say(kind: Any) -> None:
    cells = np.array([0, 1, 2, 1, 0, 100], kind)
    if cells.dtype.kind == "f":
        cells = np.append(cells, np.array([np.nan, -0.0, 0.5, np.inf], kind))
    column = pa.array(cells, mask=np.arange(cells.size) == 3)
    objects = [None if cell is None else float(cell) for cell in column.to_pylist()]
    for given in (column, pa.chunked_array([column[:2], column[2:]])):
        assert presence(given, Source("it")).tolist() == presence(objects, Source("it")).tolist()


def test_one_hot_numbers_are_not_told_apart() -> None:
    column = pa.chunked_array([np.arange(1 << 18) + 0.5])
    pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        found = presence(column, Source("it"))
    finally:
        pa.set_memory_pool(usual)
    assert (found == -1).all()
    assert pool.max_memory() < MIB  # it was 63
