"""What is read under a declaration is held once, and counted for what it takes, before it is made."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.data.baskets import kernels
from bosket.data.formats import declared_parquet, lines, parquet_batches, parquet_texts
from bosket.data.formats.sources import Content
from bosket.data.tables.columns import Choices
from bosket.errors import DataError
from tests.memory import traced

MIB = 1 << 20
NUMBERS = [str(at) for at in range(-128, 128)]
NAMES = [f"c{at}" for at in range(1000)]
VALUES: dict[str, Any] = {"values": {name: ["a", "b"] for name in NAMES}, "unknown": "other"}


def lists_of_bytes(path: Path) -> None:
    """Sixteen million cells of a byte, in row groups of a million, each of all items."""
    rows = 1 << 12
    cells = pa.array(np.tile(np.arange(-128, 128), rows).astype(np.int8))
    table = pa.table({"items": pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * 256, pa.int32()), cells)})
    with parquet.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False) as writer:
        for _ in range(16):
            writer.write_table(table)


def long_rows(path: Path) -> None:
    rows = 1 << 19
    table = pa.table({name: pa.array(np.ones(rows, np.int8)) for name in ("record", "item")})
    with parquet.ParquetWriter(path, table.schema) as writer:
        for _ in range(12):
            writer.write_table(table)


def long_lines(path: Path) -> None:
    path.write_bytes(gzip.compress(b"record,item\n" + b"1,1\n" * 6_000_000, 1))


def blank_lines(path: Path) -> None:
    path.write_bytes(gzip.compress(",".join(NAMES).encode() + b"\n" * 60_000, 1))


def marks(path: Path) -> None:
    table = pa.table({name: pa.array(np.ones(1 << 14, np.bool_)) for name in NAMES})
    parquet.write_table(table, path)


def signs(path: Path) -> None:
    table = pa.table({name: pa.array(np.tile(["a", "b"], 1 << 15)) for name in NAMES[:1000]})
    parquet.write_table(table, path)


DROP: dict[str, Any] = {"unknown": "drop"}
FILES: dict[str, tuple[str, Callable[[Path], None], Callable[..., Any], dict[str, Any], int]] = {
    "lists": ("x.parquet", lists_of_bytes, Baskets.read, {"items": NUMBERS, **DROP}, 64),
    "long Parquet": ("x.parquet", long_rows, Baskets.read, {"items": ["1"], **DROP}, 72),
    "long CSV": ("x.csv.gz", long_lines, Baskets.read, {"items": ["1"], **DROP}, 68),
    "one-hot": ("x.parquet", marks, Baskets.read, {"items": NAMES, **DROP}, 63),
    "table of CSV": ("x.csv.gz", blank_lines, Table.read, VALUES, 58),
    "table of Parquet": ("x.parquet", signs, Table.read, VALUES, 63),
}


def peak(step: Callable[[], Any]) -> float:
    """In MiB, of NumPy and Python; Arrow's own is not counted."""
    with traced() as memory:
        step()
        return memory.peak / MIB


SLOW = ("lists", "long CSV", "long Parquet", "one-hot", "table of Parquet")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in FILES])
def test_records_are_held_once(tmp_path: Path, name: str) -> None:
    """Of 64 MiB of records some hundred were held, and of lists 128 counted for 16."""
    file, write, read, options, n_mib = FILES[name]
    write(tmp_path / file)
    read(tmp_path / file, **options)  # compiles
    assert peak(lambda: read(tmp_path / file, **options)) < 1.35 * n_mib + 24
    with pytest.raises(DataError, match="must hold at most"):
        read(tmp_path / file, max_bytes=(n_mib - 18) * MIB, **options)  # sixteen of them are free


def test_a_batch_of_lists_is_made_of_as_many_rows_as_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how many cells the footer says there are; one long list makes no more batches than its cells take."""
    monkeypatch.setattr(parquet_batches, "_BYTES_OF_LISTS", 1 << 12)
    path = tmp_path / "x.parquet"
    sizes: list[int] = []
    batches = parquet_batches.coded_batches

    def counted(*arguments: Any, **options: Any) -> Any:
        for batch in batches(*arguments, **options):
            sizes.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(declared_parquet, "coded_batches", counted)
    for lists, most in (([[1] * 64] * 500, 16), ([[1]] * 999 + [[1] * 10_001], 93), ([[1]] * 500, 500)):
        sizes.clear()
        parquet.write_table(pa.table({"items": lists}), path)
        assert Baskets.read(path, items=["1"], unknown="drop").item_counts().tolist() == [len(lists)]
        assert max(sizes) == most
        assert sum(sizes) == len(lists)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.string()], ids=str)
def test_of_a_long_list_as_much_is_read_as_of_a_long_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    """A list of any number of cells counts for a line, and takes the time of one."""
    monkeypatch.setattr(lines, "LONGEST", 1 << 10)
    most = 128 if kind == pa.int64() else 256
    seen = 0
    found = kernels.once_in_list

    def counted(items: Any, *others: Any) -> Any:
        nonlocal seen
        seen += items.size
        return found(items, *others)

    monkeypatch.setattr(declared_parquet, "once_in_list", counted)
    rows = [[1], [1] * (most - 1) + [2, 3], [], None, [1] * 50_000 + [2], [2], [1] * most + [3], [3]]
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": pa.array(rows, pa.list_(pa.int64())).cast(pa.list_(kind))}), path)
    read = Baskets.read(path, items=["1", "2", "3"], unknown="drop")
    assert [sorted(map(str, record)) for record in read] == [["1"], ["1", "2"], [], [], ["1"], ["2"], ["1"], ["3"]]
    assert seen == 3 * most + 3 + 2  # lists without cells count for one that is missing
    assert list(Baskets.read(path, items=["1", "2", "3"]))[4] == ("1", "2")  # a strict reader looks at all of it


def parquet_bytes(word: str) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"record": range(101), "item": ["7"] * 100 + [word]}), file, compression="none")
    return file.getvalue()


@pytest.mark.parametrize("unknown", ["drop", "refuse"])
def test_a_long_word_does_not_use_up_the_cap_of_standard_input(monkeypatch: pytest.MonkeyPatch, unknown: Any) -> None:
    """Bytes that are not in a file are not counted as such where no record may be refused."""
    monkeypatch.setattr(lines, "LONGEST", 1000)

    def read(word: str) -> Baskets:
        content = Content(Path("/dev/stdin"), 40_000, io.BytesIO(parquet_bytes(word)))
        return Baskets.read_from(content, suffix=".parquet", layout="long", items=["7", "8"], unknown=unknown)

    assert read("8").n_records == 101
    if unknown == "drop":
        assert read("x" * 50_000).item_counts().tolist() == [100, 0]
    else:
        with pytest.raises(DataError, match="must hold at most"):
            read("x" * 50_000)


def test_nothing_on_standard_input_is_no_parquet_file() -> None:
    with pytest.raises(DataError, match="is empty"):
        Baskets.read_from(
            Content(Path("/dev/stdin"), None, io.BytesIO()), suffix=".parquet", items=["7"], unknown="drop"
        )


def test_packed_parquet_is_refused_by_its_name_where_no_record_may_be(tmp_path: Path) -> None:
    """Whatever is in it: it counts for all of its bytes, or for none, and one record decides how many these are."""
    path = tmp_path / "x.parquet.gz"
    said = set()
    for word in ("8", "x" * 50_000):
        path.write_bytes(gzip.compress(parquet_bytes(word)))
        for read in (
            lambda: Baskets.read(path, items=["7", "8"], unknown="drop"),
            lambda: Table.read(path, columns=["item"], values={"item": ["7", "8"]}, unknown="other"),
        ):
            with pytest.raises(DataError, match="not packed once more") as refused:
                read()
            said.add(str(refused.value))
    assert len(said) == 1
    path.write_bytes(gzip.compress(parquet_bytes("8")))
    assert Baskets.read(path, items=["7", "8"]).n_records == 101


def test_a_table_on_standard_input_is_read_once() -> None:
    content = Content(Path("/dev/stdin"), None, io.BytesIO(parquet_bytes("9")))
    choices = Choices.of(["item"], values={"item": ["7", "8"]}, unknown="other")
    table = Table.read_from(content, choices, suffix=".parquet")
    assert np.bincount(table.codes[:, 0]).tolist() == [100, 0, 1]


CODED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "long": ("item", lambda words: pa.table({"record": pa.array([1, 2, 3]).cast(pa.timestamp("s")), "item": words})),
    "list": ("items.list.element", lambda words: pa.table({"items": pa.ListArray.from_arrays([0, 1, 3], words)})),
}


@pytest.mark.parametrize("options", [{}, {"items": ["milk", "tea"]}, {"items": ["milk", "tea"], "unknown": "drop"}])
@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("name", CODED)
def test_words_whose_schema_says_codes_and_whose_pages_have_none(
    tmp_path: Path, name: str, encoding: str, options: dict[str, Any]
) -> None:
    """The schema that Arrow stores is about frames; text is text whatever it says."""
    at, made = CODED[name]
    words = pa.array(["milk", "tea", "milk"]).dictionary_encode()
    path = tmp_path / "x.parquet"
    parquet.write_table(made(words), path, use_dictionary=False, column_encoding={at: encoding})
    assert Baskets.read(path, **options).item_counts().tolist() == [2, 1]


def test_row_groups_that_are_read_two_ways_name_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first with codes and the second without, as beyond 2 GiB of words: seconds stay seconds."""
    path = tmp_path / "x.parquet"
    words = pa.array(["milk", "tea"]).dictionary_encode()
    parquet.write_table(
        pa.concat_tables([pa.table({"record": pa.array([1, 2]).cast(pa.timestamp("s")), "item": words})] * 2),
        path,
        row_group_size=2,
    )
    group = parquet_texts.group_batches

    def without_codes(file: Any, reader: Any, at: int, columns: Any, size: int) -> Any:
        return parquet_texts._as_it_is(file, at, columns, 0) if at else group(file, reader, at, columns, size)

    monkeypatch.setattr(parquet_batches, "group_batches", without_codes)
    read = Baskets.read(path, items=["milk", "tea"], unknown="drop")
    assert list(read) == [("milk",), ("tea",)]
