"""Parquet text that is written as differences from the words before: it counts as if it were written plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.data.baskets.rows import frozen
from bosket.data.formats import parquet_pages
from bosket.data.formats.page_kernels import sum_of_words
from bosket.data.formats.parquet_cells import chunks_of
from bosket.data.formats.parquet_opening import opened as opened_parquet
from bosket.data.formats.parquet_pages import plain_bytes
from bosket.data.formats.sources import Content
from tests.disk.test_open_baskets import opened
from tests.parquet_pages import (
    BY_LENGTHS,
    BY_PREFIXES,
    Structure,
    by_zstd,
    coded,
    data,
    dictionary,
    equal_lengths,
    leb128,
    of_lists,
    run,
    write_lists,
)

NAMES = {BY_LENGTHS: "DELTA_LENGTH_BYTE_ARRAY", BY_PREFIXES: "DELTA_BYTE_ARRAY"}
CAP = "must hold at most 4,000,000 bytes"


def write(path: Path, lists: Any, encoding: int = BY_PREFIXES, **options: Any) -> Path:
    encodings = {"items.list.element": NAMES[encoding]}
    options = {"compression": "zstd", "write_statistics": False, **options}
    parquet.write_table(pa.table({"items": lists}), path, use_dictionary=False, column_encoding=encodings, **options)
    return path


def plainly(path: Path) -> int:
    with opened_parquet(Content(path, None)) as file:
        return sum(
            plain_bytes(file.handle, chunk, check=lambda _: None)
            for group in chunks_of(file, ["items"])
            for chunk in group
        )


def some_words(n: int) -> list[str]:
    """As stocks of shops have them: beginnings that many share, and numbers of any length."""
    rng = np.random.default_rng(3)
    stems = ["", "oat milk ", "bread, rye, ", "x" * 300, "größe "]
    return [stems[rng.integers(5)] + str(rng.integers(10 ** rng.integers(1, 9))) for _ in range(n)]


@pytest.mark.parametrize("encoding", [BY_LENGTHS, BY_PREFIXES])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_lengths_are_those_of_the_words(encoding: int, version: str, compression: str, tmp_path: Path) -> None:
    words = some_words(3000)
    cells = [None if at % 7 == 0 and at < 2000 else word for at, word in enumerate(words)]
    lists: list[Any] = [cells[at : at + 5] for at in range(0, 3000, 5)]
    lists[10:200:9] = [None, [], *lists[10:200:9][2:]]
    options: dict[str, Any] = {
        "compression": compression,
        "data_page_version": version,
        "data_page_size": 2000,
        "row_group_size": 350,
    }
    path = write(tmp_path / "x.parquet", lists, encoding, write_batch_size=50, **options)
    left = [cell.encode() for cells in lists if cells for cell in cells if cell is not None]
    assert plainly(path) == sum(map(len, left)) + 4 * len(left)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_a_page_without_words_is_read(version: str, compression: str, tmp_path: Path) -> None:
    lists: Any = pa.array([[]] * 300 + [["a", "b"]], pa.list_(pa.string()))
    options: dict[str, Any] = {
        "compression": compression,
        "data_page_version": version,
        "data_page_size": 1,
        "write_batch_size": 100,
    }
    path = write(tmp_path / "x.parquet", lists, **options)
    assert plainly(path) == 10
    assert bk.Baskets.read(path).n_records == opened(path, 1 << 16).n_records == 301


@pytest.mark.parametrize("declared", [None, "refuse"])
def test_equal_words_count_for_what_they_unpack_to(declared: str | None, tmp_path: Path) -> None:
    """A file of 347 bytes took three gigabytes under a cap of a hundred megabytes."""
    path = write(tmp_path / "x.parquet", [["x" * 10_000] * 500])
    assert path.stat().st_size < 1000
    told: dict[str, Any] = {} if declared is None else {"items": ["x" * 10_000], "unknown": declared}
    with pytest.raises(bk.DataError, match=CAP):
        bk.Baskets.read(path, max_bytes=4_000_000, **told)
    assert bk.Baskets.read(path, max_bytes=6_000_000, **told).n_records == 1


def test_they_count_row_group_by_row_group_and_column_by_column(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [["x" * 10_000] * 150] * 3, row_group_size=1)
    with pytest.raises(bk.DataError, match=CAP):
        bk.Baskets.read(path, max_bytes=4_000_000)
    table = pa.table({"record": ["r" * 10_000] * 150, "item": ["i" * 20_000] * 150})
    encodings = dict.fromkeys(table.column_names, "DELTA_BYTE_ARRAY")
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings, write_statistics=False)
    with pytest.raises(bk.DataError, match=CAP):
        bk.Baskets.read(path, max_bytes=4_000_000)
    assert bk.Baskets.read(path, max_bytes=5_000_000).n_records == 1


@pytest.mark.slow
def test_words_of_a_dictionary_count_where_some_are_differences(tmp_path: Path) -> None:
    """Arrow makes no codes of either then: a file of 269 bytes took a gigabyte."""
    first = [dictionary(b"x" * 10_000), coded(500, of_lists((1, 500)))]
    path = write_lists(tmp_path / "codes.parquet", 1, first, n_values=500)
    assert (plainly(path), bk.Baskets.read(path, max_bytes=4_000_000).n_records) == (0, 1)
    pages = [*first, data(1, of_lists((1, 1)) + equal_lengths(1, 0) * 2, BY_PREFIXES)]
    path = write_lists(tmp_path / "both.parquet", 2, pages, n_values=501)
    assert plainly(path) == 500 * 10_000 + 4
    with pytest.raises(bk.DataError, match=CAP):
        bk.Baskets.read(path, max_bytes=4_000_000)
    assert bk.Baskets.read(path, max_bytes=6_000_000).n_records == 2


@pytest.mark.parametrize(("says", "n_readings"), [(True, 1), (None, 1), (False, 2)])
def test_a_page_that_says_it_is_not_packed_is_looked_at_both_ways(
    says: bool | None, n_readings: int, tmp_path: Path
) -> None:
    """Arrow unpacks it all the same where the footer names an old writer."""
    content = equal_lengths(1, 0) + equal_lengths(1, 5) + b"hello"
    packed = by_zstd(content)
    own = Structure().number(1, 1).number(2, 0).number(3, 1).number(4, BY_PREFIXES).number(5, 2).number(6, 2)
    own = own if says is None else own.add(7, 1 if says else 2, b"")
    header = Structure().number(1, 3).number(2, 4 + len(content)).number(3, 4 + len(packed)).structure(8, own)
    pages = [dictionary(b"a"), header.done + run(0, 1) + run(3, 1) + packed]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=1)
    with opened_parquet(Content(path, None)) as file:
        ((chunk,),) = chunks_of(file, ["items"])
        *_, page = parquet_pages._pages(file.handle, chunk)
        readings = [read.tobytes() for read in parquet_pages._readings(file.handle, page, chunk)]
    assert readings[-1] == content
    assert len(readings) == n_readings


@pytest.mark.parametrize("n_words", [1, 2, 300])
def test_codes_are_summed_by_their_words(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    sizes = rng.integers(0, 50, n_words)
    codes = np.concatenate([rng.integers(0, n_words, 1000), np.full(500, n_words - 1), rng.integers(0, n_words, 16)])
    width = int(n_words - 1).bit_length()
    bits = (codes[:, None] >> np.arange(width)) & 1
    packed = [np.packbits(part, axis=None, bitorder="little").tobytes() for part in (bits[:1000], bits[1500:])]
    same = leb128(500 << 1) + int(n_words - 1).to_bytes((width + 7) // 8, "little")
    content = bytes([width]) + leb128(125 << 1 | 1) + packed[0] + same + leb128(2 << 1 | 1) + packed[1]
    for most in (1516, 1510, 1200, 7):
        found = sum_of_words(frozen(np.frombuffer(content, np.uint8)), sizes, most)
        assert found == sizes[codes[:most]].sum()


def test_one_record_does_not_use_up_the_cap_where_none_may_be_refused(tmp_path: Path) -> None:
    lists = [["a"], ["x" * 100_000] * 300, ["a"]]
    path = write(tmp_path / "x.parquet", lists)
    found = bk.Baskets.read(path, items=["a"], unknown="drop", max_bytes=20_000_000)
    assert [len(record) for record in found] == [1, 0, 1]


@pytest.mark.parametrize("encoding", [BY_LENGTHS, BY_PREFIXES])
def test_realistic_words_are_read(encoding: int, tmp_path: Path) -> None:
    words = some_words(4000)
    lists = [words[at : at + 4] for at in range(0, 4000, 4)]
    path = write(tmp_path / "x.parquet", lists, encoding)
    expected = [sorted(set(cells)) for cells in lists]
    size = sum(len(word.encode()) + 4 for word in words)
    for found in (
        bk.Baskets.read(path, max_bytes=3 * size + 4_000_000),
        bk.Baskets.read(path, items=sorted(set(words)), unknown="drop"),
    ):
        assert [sorted(map(str, record)) for record in found] == expected
    assert opened(path, 1 << 16).n_records == 1000


@pytest.mark.parametrize("encoding", [BY_LENGTHS, BY_PREFIXES])
def test_more_lengths_than_values_are_refused(encoding: int, tmp_path: Path) -> None:
    """Arrow makes room for as many as the page says: a file of 212 bytes took gigabytes, opened or read."""
    for count in (1, 100_000_000):
        lengths = equal_lengths(count, 0) * (2 if encoding == BY_PREFIXES else 1)
        pages = [dictionary(b"a"), data(1, of_lists((1, 1)) + lengths, encoding)]
        path = write_lists(tmp_path / f"{count}.parquet", 1, pages, n_values=1)
    assert bk.Baskets.read(tmp_path / "1.parquet").n_records == 1
    tellings: list[dict[str, Any]] = [{}, {"items": ["a"], "unknown": "drop"}]
    for told in tellings:
        with pytest.raises(bk.DataError, match="not a sound Parquet file"):
            bk.Baskets.read(path, **told)
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        _ = opened(path, 1 << 16).n_records


def test_a_page_of_more_lengths_than_there_is_memory_for_is_refused(tmp_path: Path) -> None:
    """One of a hundred million empty words, in 214 bytes, took 800 MB: Arrow makes numbers of all lengths of a page."""
    n = 2_000_000
    pages = [dictionary(b"a"), data(n, of_lists((n, 1)) + equal_lengths(n, 0) * 2, BY_PREFIXES)]
    path = write_lists(tmp_path / "x.parquet", n, pages, n_values=n)
    with pytest.raises(bk.DataError, match="pages of at most 4,194,304 bytes"):
        _ = opened(path, 1 << 16).n_records
    with pytest.raises(bk.DataError, match=CAP):
        bk.Baskets.read(path, max_bytes=4_000_000)
