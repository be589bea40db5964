"""Files that unpack to far more than they are: refused at a cap, and never held at once where records are small."""

from __future__ import annotations

import contextlib
import gzip
import io
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.data.formats.parquet_footers import numbers_of_bytes, numbers_of_values
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said
from tests.memory import memory_within

MIB = 1 << 20


def write_repeated(path: Path, head: bytes, block: bytes, times: int) -> None:
    """A gzip file of members: they are decompressed one after the other, and making them takes no time."""
    member = gzip.compress(block, 1)
    path.write_bytes((gzip.compress(head) if head else b"") + member * times)


SMALL = [
    ("x.dat", None, b"", b"98765 2\n"),
    ("x.csv", None, b"record,item\n", b"1,98765\n"),
    ("x.csv", "list", b"", b"98765,2\n"),
    ("x.csv", "one-hot", b"a,b,c\n", b"1,0,1\n"),
]


@pytest.mark.parametrize("name, layout, head, row", SMALL)
@pytest.mark.parametrize("items", [None, [98765, 2, "a", "b", "c"]], ids=["seen", "declared"])
@pytest.mark.parametrize("gz", ["", ".gz"])
def test_a_file_beyond_the_cap_is_refused(
    tmp_path: Path, name: str, layout: Any, head: bytes, row: bytes, items: Any, gz: str
) -> None:
    content = head + row * 100
    path = tmp_path / (name + gz)
    path.write_bytes(gzip.compress(content) if gz else content)
    options: dict[str, Any] = {"layout": layout, "items": items, "unknown": "refuse" if items is None else "drop"}
    whole = Baskets.read(path, max_bytes=None, **options)
    assert Baskets.read(path, max_bytes=len(content), **options) == whole
    with pytest.raises(DataError, match=f"at most {len(content) // 2:,} bytes") as caught:
        Baskets.read(path, max_bytes=len(content) // 2, **options)
    assert caught.value.path == path
    assert "max_bytes" in str(caught.value.hint)
    assert "--" not in str(caught.value.hint)
    assert "98765" not in said(caught.value)


@pytest.mark.parametrize("cap", [0, -1, 1.5, True, "1GB"])
def test_caps_that_are_none(tmp_path: Path, cap: Any) -> None:
    for read in (Baskets.read, Table.read):
        with pytest.raises(ParameterError) as caught:
            read(tmp_path / "x.csv", max_bytes=cap)
        assert caught.value.parameter == "max_bytes"


def test_tables_have_the_cap_too(tmp_path: Path) -> None:
    content = b"sex,age\n" + b"F,1\nM,2\n" * 100
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(content))
    parquet.write_table(pa.table({"sex": ["F", "M"] * 50_000}), tmp_path / "x.parquet")
    assert Table.read(tmp_path / "x.csv.gz", max_bytes=len(content)).n_records == 200
    for name in ("x.csv.gz", "x.parquet"):
        with pytest.raises(DataError, match="at most 500 bytes"):
            Table.read(tmp_path / name, max_bytes=500)


@pytest.mark.parametrize("items", [None, [7]], ids=["seen", "declared"])
def test_parquet_is_counted_as_it_unpacks(tmp_path: Path, items: Any) -> None:
    """Runs of one value are a few bytes in the file and in what its footer claims, compressed or not."""
    path = tmp_path / "x.parquet"
    n = 2_000_000
    parquet.write_table(pa.table({"record": np.zeros(n, np.int64), "item": np.full(n, 7)}), path, use_dictionary=True)
    assert path.stat().st_size < 100_000
    with memory_within(24 * MIB), pytest.raises(DataError, match="at most 8,388,608 bytes"):
        Baskets.read(path, max_bytes=8 * MIB, items=items)
    assert Baskets.read(path, items=items).n_records == 1


def test_what_a_footer_claims_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": [[number] for number in range(100_000)]}), path, compression="none")
    content = bytearray(path.read_bytes())
    size = struct.unpack("<I", content[-8:-4])[0]
    content[4 : len(content) - 8 - size] = bytes(len(content) - 12 - size)  # no page is sound any more
    path.write_bytes(content)
    with pytest.raises(DataError, match="at most 1,000 bytes"):
        Baskets.read(path, max_bytes=1000)
    with pytest.raises(DataError, match="not a sound Parquet file"):
        Baskets.read(path)


LARGE = [
    ("x.dat.gz", None, b"", b"7 8 " * (MIB // 4) + b"\n"),
    ("x.csv.gz", "list", b"", (b"7,8," + b"," * 60) * (MIB // 64) + b"\n"),
    ("x.csv.gz", "long", b"record,item\n", b"1," + b"x" * 1021 + b"\n"),
    ("x.csv.gz", "one-hot", b",".join(b"%d" % item for item in range(5000)) + b"\n", b"0," * 4999 + b"0\n"),
]


@pytest.mark.parametrize("name, layout, head, block", LARGE, ids=["dat", "list", "long", "one-hot"])
@pytest.mark.parametrize("is_declared", [False, True], ids=["seen", "declared"])
@pytest.mark.slow
def test_memory_follows_the_records_and_not_the_text(
    tmp_path: Path, name: str, layout: Any, head: bytes, block: bytes, is_declared: bool
) -> None:
    """Lines that say the same over and over: 192 MiB of text, next to no records, at most half of the text held."""
    follow_memory(tmp_path, name, layout, head, block, is_declared, n_blocks=192, limit=96 * MIB)


@pytest.mark.slow
@pytest.mark.parametrize("name, layout, head, block", [LARGE[0], LARGE[2]], ids=["dat", "long"])
@pytest.mark.parametrize("is_declared", [False, True], ids=["seen", "declared"])
def test_memory_of_a_small_bomb(
    tmp_path: Path, name: str, layout: Any, head: bytes, block: bytes, is_declared: bool
) -> None:
    """The same in little: FIMI was held as text and as numbers, CSV as text."""
    follow_memory(tmp_path, name, layout, head, block, is_declared, n_blocks=96, limit=80 * MIB)


def follow_memory(
    tmp_path: Path,
    name: str,
    layout: Any,
    head: bytes,
    block: bytes,
    is_declared: bool,
    *,
    n_blocks: int,
    limit: int,
) -> None:
    path = tmp_path / name
    block *= max(1, MIB // len(block))
    options: dict[str, Any] = {"layout": None if name == "x.dat.gz" else layout}
    if is_declared:
        options |= {"items": range(5000), "unknown": "drop"}
    write_repeated(path, head, block, n_blocks // 8)  # what a block takes, and Arrow keeps for the next, is not asked
    Baskets.read(path, **options)  # kernels compile now
    write_repeated(path, head, block, n_blocks)
    with memory_within(limit):
        data = Baskets.read(path, **options)
    assert data.indices.size <= 2 * data.n_records


@pytest.mark.parametrize("name, layout", [("x.dat", None), ("x.csv", "list"), ("x.csv", None)])
def test_a_line_without_end(tmp_path: Path, name: str, layout: Any) -> None:
    """Refused with its number, or cut where nothing may be refused: the records around it stay."""
    path = tmp_path / f"{name}.gz"
    head, near, far = (
        (b"record,item\n", b"1,7\n", b"2,8\n") if layout is None and name == "x.csv" else (b"", b"7\n", b"8\n")
    )
    path.write_bytes(
        gzip.compress(head + near) + gzip.compress(b"7," * MIB, 1) * 20 + gzip.compress(b"\n" + far + near)
    )
    with memory_within(300 * MIB):
        with pytest.raises(DataError, match="longer than") as caught:
            Baskets.read(path, layout=layout, items=[7, 8])
        assert caught.value.line == (3 if head else 2)
        data = Baskets.read(path, layout=layout, items=[7, 8], unknown="drop")
        assert list(data) == ([(7,), (8,)] if head else [(7,), (7,) if name == "x.csv" else (), (8,), (7,)])
        with pytest.raises(DataError, match=r"longer than|whole numbers"):
            Baskets.read(path, layout=layout)


def test_one_long_line_does_not_use_up_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one record could turn a release into an error by its length alone."""
    monkeypatch.setattr("bosket.data.formats.lines.LONGEST", 100)
    (tmp_path / "x.dat").write_bytes(b"7 " * 100_000 + b"\n" + b"8\n" * 100)
    data = Baskets.read(tmp_path / "x.dat", items=[7, 8], unknown="drop", max_bytes=1000)
    assert data.n_records == 101


def long_words(n_rows: int, length: int, rows_a_record: int = 1) -> pa.Table:
    """Rows of so many to a record, the last of which has a long word."""
    codes = np.append(np.arange(n_rows - 1) % 2, 2).astype(np.int32)
    words = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["7", "8", "x" * length]))
    return pa.table({"record": np.arange(n_rows) // rows_a_record, "item": words})


@pytest.mark.slow
def test_one_long_cell_counts_once(tmp_path: Path) -> None:
    """The words of a row group come with each batch of it: one cell counted as often as there were batches."""
    n_rows, length = 20 << 16, 4 * MIB
    path = tmp_path / "x.parquet"
    table = long_words(n_rows, length, 64)  # a name of a record counts too
    parquet.write_table(table, path, dictionary_pagesize_limit=1 << 30, row_group_size=n_rows)
    options: dict[str, Any] = {"items": ["7", "8"], "unknown": "drop"}
    data = Baskets.read(path, max_bytes=13 * n_rows + length, **options)
    assert data.n_records == n_rows // 64
    with pytest.raises(DataError, match="at most"):
        Baskets.read(path, max_bytes=12 * n_rows + length // 2, **options)


ENCODINGS = [None, "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]
"""Of text: with a dictionary, and without."""


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["list", "list of words", "long", "large", "view", "bytes"])
def test_one_record_counts_no_more_than_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str | None, name: str
) -> None:
    """A long cell, and a long list, count as a line of text that is cut does, however they are written."""
    monkeypatch.setattr("bosket.data.formats.lines.LONGEST", 1000)
    words = long_words(101, 50_000)
    text = words["item"].cast(pa.string())
    tables = {
        "list": pa.table({"items": [["7"]] * 100 + [["7"] * 100_000]}),
        "list of words": pa.table({"items": [["7"]] * 100 + [["x" * 50_000, "7"]]}),
        "long": words if encoding is None else words.set_column(1, "item", text),
        "large": words.set_column(1, "item", text.cast(pa.large_string())),
        "view": words.set_column(1, "item", text.cast(pa.large_string()).cast(pa.string_view())),
        "bytes": words.set_column(1, "item", text.cast(pa.large_binary()).cast(pa.binary_view())),
    }
    path = tmp_path / "x.parquet"
    at = "items.list.element" if name.startswith("list") else "item"
    options = {} if encoding is None else {"use_dictionary": False, "column_encoding": {at: encoding}}
    parquet.write_table(tables[name], path, compression="none", **options)
    data = Baskets.read(path, items=[7, 8], unknown="drop", max_bytes=101 * (16 + 8 + 1) + 1000 + 200)
    assert data.n_records == 101
    if name != "list":  # Arrow writes a list that repeats an item in a few bytes
        assert parquet.read_metadata(path).row_group(0).total_byte_size > 50_000  # by which it was refused
    with pytest.raises(DataError, match="at most"):
        Baskets.read(path, items=[7, 8], unknown="drop", max_bytes=1000)


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", None])
def test_long_words_are_no_items_and_still_names(encoding: str | None, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("bosket.data.formats.lines.LONGEST", 1000)
    long = "x" * 2000
    names = [f"{long}a", "r", f"{long}b", f"{long}a", "r", None]
    table = pa.table({"record": names, "item": ["7", "7", "7", "8", long, "8"]})
    options = {} if encoding is None else {"use_dictionary": False, "column_encoding": encoding}
    parquet.write_table(table, tmp_path / "x.parquet", **options)
    data = Baskets.read(tmp_path / "x.parquet", items=["7", "8"], unknown="drop")
    assert list(data) == [("7", "8"), ("7",), ("7",)]
    with pytest.raises(DataError):
        Baskets.read(tmp_path / "x.parquet", items=["7", "8"])


def test_a_want_of_memory_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise pa.ArrowMemoryError("malloc of size 123456 failed")

    parquet.write_table(long_words(10, 10), tmp_path / "x.parquet")
    monkeypatch.setattr("bosket.data.formats.declared_parquet.coded_batches", failing)
    with pytest.raises(MemoryError) as caught:
        Baskets.read(tmp_path / "x.parquet", items=["7", "8"], unknown="drop")
    assert "123456" not in str(caught.value)
    assert not isinstance(caught.value, pa.ArrowException)


GROWTH = """
import resource, sys
from pathlib import Path
from bosket.data import Baskets

def peak():
    Path("/proc/self/clear_refs").write_text("5")
    base = status("VmRSS")
    Baskets.read(sys.argv[2], items=range(64), unknown="drop", layout=sys.argv[3] or None)
    return status("VmHWM") - base

def status(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field + ":"))

Baskets.read(sys.argv[1], items=range(64), unknown="drop", layout=sys.argv[3] or None)  # kernels compile now
print(peak() << 10)
"""


def peak(warm: Path, path: Path, layout: str = "") -> int:
    """Most bytes that a process takes to read a file after it has read a small one."""
    command = [sys.executable, "-c", GROWTH, str(warm), str(path), layout]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_one_record_out_of_order_does_not_copy_the_others(tmp_path: Path) -> None:
    """It took another 4 bytes for each item of all records, and 8 for each record."""
    n_records, sizes = 400_000, {}
    (tmp_path / "w.dat").write_text("1 2\n2 1\n")
    for last in ("1 2\n", "2 1\n"):
        line = " ".join(map(str, range(50))) + "\n"
        (tmp_path / "x.dat").write_text(line * n_records + last)
        sizes[last] = peak(tmp_path / "w.dat", tmp_path / "x.dat")
    assert sizes["2 1\n"] - sizes["1 2\n"] < 4 * 50 * n_records // 3


@pytest.mark.slow
def test_a_list_that_repeats_an_item_many_times(tmp_path: Path) -> None:
    """Arrow holds the list and how it is nested, 12 bytes a cell or so; beyond that there were 40 more."""
    n = 20_000_000
    warm, path = tmp_path / "w.parquet", tmp_path / "x.parquet"
    for at, times in ((warm, 10), (path, n)):
        cells = np.concatenate([np.tile([1, 2], 1000), np.full(times, 3)]).astype(np.int32)
        offsets = np.append(np.arange(0, 2001, 2), 2000 + times).astype(np.int32)
        parquet.write_table(pa.table({"items": pa.ListArray.from_arrays(pa.array(offsets), pa.array(cells))}), at)
    assert peak(warm, path) < 20 * n


@pytest.mark.slow
def test_a_long_line_of_one_hot_cells(tmp_path: Path) -> None:
    """A line with far too many cells says nothing: 20 bytes a byte of it were held to find that out."""
    warm, path = tmp_path / "w.csv", tmp_path / "x.csv"
    warm.write_bytes(b"1,2,3\n" + b"1,0,1\n" * 1000)
    path.write_bytes(warm.read_bytes() + b",1" * (8 * MIB - 1) + b"\n")
    assert peak(warm, path, "one-hot") < 10 * 16 * MIB


def test_gzip_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "x.dat.gz"
    one, two = gzip.compress(b"1 2\n"), gzip.compress(b"3\n")
    truth = Baskets([[1, 2], [3]])
    for sound in (one + two, gzip.compress(b"1 2\n3\n") + b"\0" * 700, b"".join([one, gzip.compress(b""), two])):
        path.write_bytes(sound)
        assert Baskets.read(path) == truth
    for broken, fault in (
        (one + b"98765", "not a sound gzip"),
        (one + two[:-4], "cut short or damaged"),
        (gzip.compress(one), "within a gzip file"),
        (b"", "is empty"),
        (gzip.compress(b""), "is empty"),
    ):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=fault):
            Baskets.read(path)


def test_an_absurd_number_of_columns(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b",".join(b"%d" % number for number in range(200_000)) + b"\n")
    with memory_within(200 * MIB):
        for read in (Baskets.read, Table.read):
            with pytest.raises(DataError, match="at most 131,072 columns"):
                read(tmp_path / "x.csv")


BOMB = """
import sys
from pathlib import Path
from bosket.data import Baskets, Table
from bosket.errors import DataError

def status(field):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(field + ":"))

def read(path):
    try:
        {"baskets": Baskets, "table": Table}[sys.argv[3]].read(path, max_bytes=int(sys.argv[4]))
    except DataError as error:
        return str(error)

read(sys.argv[1])  # kernels compile now
Path("/proc/self/clear_refs").write_text("5")
base = status("VmRSS")
print(read(sys.argv[2]))
print(status("VmHWM") - base)
"""


def repeated(word: str, n: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([word]))


def lists(values: Any, n_rows: int) -> Any:
    ends = np.arange(n_rows + 1) * (len(values) // n_rows)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def bomb(kind: str) -> Any:
    """Columns that take hundreds of megabytes once they are decoded, and next to nothing in a file."""
    if kind == "lists":
        return {"item": lists(repeated("a", 20_000_000), 20)}
    if kind == "one list":
        return {"item": lists(repeated("a", 20_000_000), 1)}
    if kind == "fixed":
        return {"item": pa.array([b"x" * MIB], pa.binary(MIB)).take(pa.array(np.zeros(500, np.int32)))}
    words = repeated("x" * MIB, 500)
    columns = {
        "text": {"item": words},
        "long": {"record": words, "item": words},
        "lists of text": {"item": lists(words, 5)},
    }
    return columns[kind]


RARE = ["long", "lists of text", "one list", "fixed"]
KINDS = ["text", "lists", *(pytest.param(kind, marks=pytest.mark.slow) for kind in RARE)]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["baskets", "table"])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_a_parquet_bomb(tmp_path: Path, kind: str, what: str) -> None:
    """65,536 rows were decoded before any of them was counted: as much memory as one likes, whatever the cap."""
    warm, path = tmp_path / "w.parquet", tmp_path / "x.parquet"
    parquet.write_table(pa.table({name: column[:1] for name, column in bomb("text").items()}), warm)
    parquet.write_table(pa.table(bomb(kind)), path, compression="zstd", store_schema=kind == "fixed")
    assert path.stat().st_size < 10_000
    command = [sys.executable, "-c", BOMB, str(warm), str(path), what, str(50 * MIB)]
    fault, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert int(peak) < 150 * MIB
    assert ("at most 52,428,800 bytes" in fault) == (kind in ("lists", "one list", "fixed"))


@pytest.mark.slow
def test_memory_of_words_that_differ_by_nothing(tmp_path: Path) -> None:
    """An encoding by differences, of which Arrow makes no codes, says 500 MB in 500 bytes too."""
    warm, path = tmp_path / "w.parquet", tmp_path / "x.parquet"
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"item": "DELTA_BYTE_ARRAY"}}
    for at, n in ((warm, 2), (path, 500)):
        parquet.write_table(pa.table({"item": ["x" * MIB] * n}), at, compression="zstd", **options)
    command = [sys.executable, "-c", BOMB, str(warm), str(path), "baskets", str(10 * MIB)]
    peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1]
    assert int(peak) < 150 * MIB


@pytest.mark.parametrize("n_rows", [0, 1, 1000])
def test_the_footer_is_read_as_arrow_reads_it(n_rows: int) -> None:
    lists_of_lists = [[["a", None], []], None, []] * n_rows
    table = pa.table(
        {
            "items": lists_of_lists,
            "n": pa.array([1, None, 2] * n_rows, pa.float32()),
            "pairs": pa.array([[("a", 1)], [], None] * n_rows, pa.map_(pa.string(), pa.int8())),
        }
    ).replace_schema_metadata({"k" * 300: "v" * 300})
    file = io.BytesIO()
    parquet.write_table(
        table, file, row_group_size=700, write_page_index=True, sorting_columns=[parquet.SortingColumn(0)]
    )
    metadata = parquet.ParquetFile(file).metadata
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    truth = [[group.column(at).num_values for at in range(metadata.num_columns)] for group in groups]
    assert numbers_of_values(pa.BufferReader(file.getvalue())) == truth
    sizes = [[group.column(at).total_uncompressed_size for at in range(metadata.num_columns)] for group in groups]
    assert numbers_of_bytes(pa.BufferReader(file.getvalue())) == sizes


def test_a_footer_that_cannot_be_walked() -> None:
    """Whatever is wrong with it is one kind of error, soon."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"items": [["milk"]] * 9}), file)
    sound = file.getvalue()
    start = len(sound) - 8 - struct.unpack("<I", sound[-8:-4])[0]
    for at in range(start, len(sound) - 8):
        for value in (0x00, 0x19, 0x7F, 0x9C, 0xFF):
            with contextlib.suppress(ValueError):
                numbers_of_values(pa.BufferReader(sound[:at] + bytes([value]) + sound[at + 1 :]))


def test_a_footer_that_lies_about_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not believed: pages are counted before they are read."""
    monkeypatch.setattr("bosket.data.formats.parquet_cells.numbers_of_values", lambda _: [[1]])
    parquet.write_table(pa.table({"items": lists(repeated("a", 1_000_000), 1)}), tmp_path / "x.parquet")
    for read in (Baskets.read, Table.read):
        with pytest.raises(DataError, match="not a sound Parquet file"):
            read(tmp_path / "x.parquet", max_bytes=MIB)
