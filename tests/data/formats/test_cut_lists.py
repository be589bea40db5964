"""Lists that are too long to be read as lists, where no record may be refused: the cells are those that Arrow reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.data.baskets.rows import frozen
from bosket.data.formats import lines, parquet_texts
from bosket.data.formats.cut_lists import CutLists
from bosket.data.formats.page_kernels import list_lengths
from bosket.data.formats.parquet_batches import coded_batches
from bosket.data.formats.parquet_opening import opened
from bosket.data.formats.sources import Content
from tests.memory import memory_within
from tests.parquet_pages import (
    BY_CODES,
    BY_PREFIXES,
    RUNS,
    Structure,
    by_zstd,
    coded,
    data,
    dictionary,
    equal_lengths,
    of_lists,
    run,
    write_lists,
)

MIB = 1 << 20
NUMBERS = [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float16()]
KINDS = [pa.string(), pa.large_string(), pa.binary(), *NUMBERS]
WAYS: list[dict[str, Any]] = [
    {},
    {"use_dictionary": False, "compression": "none"},
    {"data_page_version": "2.0", "compression": "zstd"},
    {"data_page_version": "2.0", "use_dictionary": False, "compression": "gzip"},
    {"data_page_size": 100, "write_batch_size": 20, "dictionary_pagesize_limit": 60, "compression": "lz4"},
    {"use_compliant_nested_type": False, "store_schema": False, "row_group_size": 40},
]


def some_lists(n: int) -> list[Any]:
    rng = np.random.default_rng(8)
    lists: list[Any] = [[int(k) for k in rng.integers(0, 50, rng.integers(0, 30))] for _ in range(n)]
    lists[0], lists[1], lists[-1] = [7] * 100, [], list(range(60))
    for at in range(5, n, 9):
        lists[at] = None
    for at in range(2, n, 5):
        lists[at] = [*(lists[at] or []), None, 3]
    return lists


def as_cells(lists: list[Any], kind: Any) -> Any:
    if pa.types.is_float16(kind):
        lists = [one and [None if cell is None else np.float16(cell) for cell in one] for one in lists]
    if kind in NUMBERS:
        return pa.array(lists, pa.list_(kind))
    texts = [None if cells is None else [None if cell is None else str(cell) for cell in cells] for cells in lists]
    return pa.array(texts, pa.list_(pa.string())).cast(pa.list_(kind))


def first_cells(path: Path, most: int) -> list[list[Any]]:
    """Of each list, by the module under test; a list without cells has one that is missing."""
    found: list[list[Any]] = []
    with opened(Content(path, None), is_claim_held=False, is_strict=False) as file:
        for cut in coded_batches(file, ["items"], longest=1):
            assert isinstance(cut, CutLists)
            here: list[list[Any]] = [[] for _ in cut.ends]
            for start, cells in cut.cells(most):
                for at, cell in enumerate(cells.to_pylist(), start):
                    here[int(np.searchsorted(cut.ends, at, side="right"))].append(cell)
            found += here
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())) or "default")
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_cells_are_those_that_arrow_reads(kind: Any, way: dict[str, Any], tmp_path: Path) -> None:
    cells = as_cells(some_lists(100), kind)
    parquet.write_table(pa.table({"items": cells}), tmp_path / "x.parquet", **way)
    for most in (10_000, 12, 1):
        assert first_cells(tmp_path / "x.parquet", most) == [(one or [None])[:most] for one in cells.to_pylist()]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BINARY_PACKED", "RLE"])
def test_so_they_are_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    kind = {"RLE": pa.bool_(), "DELTA_BINARY_PACKED": pa.int64()}.get(encoding, pa.string())
    lists = some_lists(100)
    if encoding == "RLE":
        lists = [None if one is None else [None if cell is None else cell > 20 for cell in one] for one in lists]
    cells = pa.array(lists, pa.list_(kind)) if encoding == "RLE" else as_cells(lists, kind)
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"items.list.element": encoding}}
    parquet.write_table(pa.table({"items": cells}), tmp_path / "x.parquet", **options)
    assert first_cells(tmp_path / "x.parquet", 12) == [(one or [None])[:12] for one in cells.to_pylist()]


@pytest.mark.parametrize("has_missing", [True, False])
@pytest.mark.parametrize("may_be_missing", [True, False])
def test_lists_that_may_not_be_missing_have_fewer_levels(
    may_be_missing: bool, has_missing: bool, tmp_path: Path
) -> None:
    lists = [[1, None, 2] if has_missing else [1, 2], [], [3] * 9]
    kind = pa.list_(pa.field("element", pa.int64(), nullable=has_missing))
    schema = pa.schema([pa.field("items", kind, nullable=may_be_missing)])
    parquet.write_table(pa.table({"items": pa.array(lists, kind)}, schema=schema), tmp_path / "x.parquet")
    assert first_cells(tmp_path / "x.parquet", 5) == [(one or [None])[:5] for one in lists]


def test_a_long_list_among_others_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of it is read as of a list that Arrow reads, and all of those before and after it."""
    monkeypatch.setattr(lines, "LONGEST", 400)  # a hundred cells
    lists = [["a"], ["b"] * 90, ["x"] * 99 + ["a", "b"], None, ["x"] * 150 + ["b"], ["b", "a"]]
    parquet.write_table(pa.table({"items": lists}), tmp_path / "x.parquet")
    found = bk.Baskets.read(tmp_path / "x.parquet", items=["a", "b"], unknown="drop")
    assert list(found) == [("a",), ("b",), ("a",), (), (), ("a", "b")]


@pytest.mark.parametrize("levels", [b"", run(1, 9), run(0, 1), run(0, 9), run(0, 1) + run(1, 2)])
def test_levels_that_are_not_those_of_the_lists(levels: bytes) -> None:
    found = list_lengths(frozen(np.frombuffer(levels, np.uint8)), 9, -1, np.zeros(2, np.int64))
    assert found == -2


def test_levels_of_two_pages(tmp_path: Path) -> None:
    lengths = np.zeros(3, np.int64)
    first, second = (frozen(np.frombuffer(one, np.uint8)) for one in (run(0, 1) + run(1, 3), b"\x03\x05" + run(0, 1)))
    row = list_lengths(first, 4, -1, lengths)
    assert (row, list_lengths(second, 3, row, lengths)) == (0, 1)
    assert lengths.tolist() == [5, 2, 0]


def test_memory_of_a_list_of_many_cells(tmp_path: Path) -> None:
    """One word, a hundred million times in a list: 212 bytes of a file took 1.2 GB."""
    n = 20_000_000
    pages = [dictionary(b"a"), coded(n, of_lists((1, n)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=n)
    bk.Baskets.read(write_lists(tmp_path / "w.parquet", 1, [pages[0], coded(5, of_lists((1, 5)))], n_values=5))
    with memory_within(100 * MIB):
        found = bk.Baskets.read(path, items=["a"], unknown="drop", max_bytes=50_000_000)
    assert list(found) == [("a",)]


@pytest.mark.slow
def test_memory_of_a_list_of_words_that_begin_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 10,000 words of 100 kB, each as that before it: a file of 347 bytes took three gigabytes."""
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"items.list.element": "DELTA_BYTE_ARRAY"}}
    lists = [["a"], ["x" * 100_000] * 1500 + ["b"], ["a"]]
    parquet.write_table(pa.table({"items": lists}), tmp_path / "x.parquet", compression="zstd", **options)
    del lists
    with memory_within(60 * MIB):
        found = bk.Baskets.read(tmp_path / "x.parquet", items=["a", "b"], unknown="drop", max_bytes=20_000_000)
    assert list(found) == [("a",), ("b",), ("a",)]
    monkeypatch.setattr(lines, "LONGEST", 100_000)
    with pytest.raises(bk.DataError, match="must not repeat words so often"):  # 64 times the cap
        bk.Baskets.read(tmp_path / "x.parquet", items=["a", "b"], unknown="drop", max_bytes=2_000_000)


def test_levels_that_are_not_runs_are_refused_where_lists_may_be_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow reads such lists as a whole."""
    monkeypatch.setattr(lines, "LONGEST", 400)
    n = 800
    contents = b"\xfe" + b"\xff" * (n // 8 - 1) + of_lists((1, n))[4 + len(run(0, 1) + run(1, n - 1)) :]
    own = Structure().number(1, n).number(2, BY_CODES).number(3, RUNS).number(4, 4)
    body = contents + b"\1" + run(0, n)
    page = Structure().number(1, 0).number(2, len(body)).number(3, len(by_zstd(body))).structure(5, own)
    path = write_lists(tmp_path / "x.parquet", 1, [dictionary(b"a"), page.done + by_zstd(body)], n_values=n)
    assert bk.Baskets.read(path).n_records == 1
    with pytest.raises(bk.DataError, match="levels are runs"):
        bk.Baskets.read(path, items=["a"], unknown="drop")


def test_a_page_of_too_many_lengths_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_texts, "_MOST_LENGTHS", 1000)
    for n in (1000, 1001):
        pages = [dictionary(b"a"), data(n, of_lists((n, 1)) + equal_lengths(n, 0) * 2, BY_PREFIXES)]
        write_lists(tmp_path / f"{n}.parquet", n, pages, n_values=n)
    told: dict[str, Any] = {"items": ["a"], "unknown": "drop"}
    assert bk.Baskets.read(tmp_path / "1000.parquet", **told).n_records == 1000
    with pytest.raises(bk.DataError, match="at most 1,000 words in a page"):
        bk.Baskets.read(tmp_path / "1001.parquet", **told)
