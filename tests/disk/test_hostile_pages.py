"""Parquet files whose footers and pages say other things than one another, opened in a memory that is stated."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import bosket as bk
from bosket.data.formats import parquet_footers, parquet_texts
from bosket.data.formats.parquet_cells import chunks_of
from bosket.data.formats.parquet_opening import opened as opened_parquet
from bosket.data.formats.parquet_pages import ColumnPages, pages_of
from bosket.data.formats.parquet_texts import PartLimits, parted_batches
from bosket.data.formats.sources import Content
from bosket.disk.records.streams import FileStream
from tests.disk.test_open_baskets import opened
from tests.memory import traced
from tests.parquet_pages import coded, data, dictionary, of_lists, words, write_lists

FIRST = data(1, of_lists((1, 1)) + words(b"a"), 0)


def refused(path: Path) -> str:
    found = opened(path, 1 << 16)
    with pytest.raises(bk.DataError) as caught:
        _ = found.n_records
    return str(caught.value)


@pytest.mark.slow
def test_an_honest_file_of_such_pages_is_read(tmp_path: Path) -> None:
    pages = [dictionary(b"a", b"b"), coded(12, of_lists((3, 4)))]
    found = opened(write_lists(tmp_path / "x.parquet", 3, pages, n_values=12), 1 << 16)
    assert found.item_counts().tolist() == [3]


def test_a_page_that_gives_its_size_twice_is_refused(tmp_path: Path) -> None:
    """The first size was believed, and Arrow takes the last."""
    pages = [dictionary(b"x" * 50_000_000, says_first=100), coded(5, of_lists((5, 1)))]
    assert "not a sound" in refused(write_lists(tmp_path / "x.parquet", 5, pages, n_values=5))


@pytest.mark.parametrize("page", [dictionary(b"x" * 5_000_000), data(1, of_lists((1, 1)) + words(b"x" * 5_000_000), 0)])
def test_a_large_page_behind_others_is_refused(page: bytes, tmp_path: Path) -> None:
    path = write_lists(tmp_path / "x.parquet", 3, [FIRST, page, FIRST], n_values=3, dictionary_field=12)
    assert "pages of at most 4,194,304 bytes" in refused(path)


@pytest.mark.parametrize("number", [11, 11 + (1 << 16)])
def test_numbers_of_fields_are_those_that_arrow_takes_them_for(number: int, tmp_path: Path) -> None:
    """Arrow has sixteen bits for them: a dictionary under another number was not seen."""
    pages = [dictionary(b"a"), coded(5, of_lists((5, 1)))]
    write_lists(tmp_path / "x.parquet", 5, pages, n_values=5, dictionary_field=number)
    with pa.OSFile(str(tmp_path / "x.parquet")) as handle:
        assert parquet_footers.first_pages(handle) == [[4]]
    assert parquet.read_table(tmp_path / "x.parquet")["items"].to_pylist() == [["a"]] * 5


def test_batches_are_cut_by_pages(tmp_path: Path) -> None:
    pages = [dictionary(b"a"), coded(200_000, of_lists((100, 2000)))]
    path = write_lists(tmp_path / "x.parquet", 100, pages, n_values=200_000)
    with opened_parquet(Content(path, None)) as file:
        batches = parted_batches(file, None, PartLimits(rows=1 << 17, cells=20_000, longest=5000, n_bytes=1 << 20))
        assert {batch.num_rows for batch in batches} == {10}


def test_long_lists_that_stand_together_are_no_batch(tmp_path: Path) -> None:
    pages = [dictionary(b"a"), coded(121_000, of_lists((1000, 1), (40, 3000)))]
    path = write_lists(tmp_path / "x.parquet", 1040, pages, n_values=121_000)
    with opened_parquet(Content(path, None)) as file:
        batches = parted_batches(file, None, PartLimits(rows=1 << 17, cells=1 << 17, longest=3000, n_bytes=1 << 20))
        sizes = [len(batch.column(0).flatten()) for batch in batches]
    assert sum(sizes) == 121_000
    assert max(sizes) <= 12_000


def test_a_long_word_in_many_items_of_one_record_is_refused(tmp_path: Path) -> None:
    """A file of 1 kB took more than five gigabytes: words beyond their share come once for each item."""
    pages = [dictionary(b"x" * 2_200_000), coded(1000, of_lists((1000, 1))), coded(50_000, of_lists((1, 50_000)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileStream, "check_labels", lambda *_: None)  # at whose least memory such a word is none
        said = refused(write_lists(tmp_path / "x.parquet", 1001, pages, n_values=51_000))
    assert "words take at most 8,388,608 bytes" in said


def by_prefixes(path: Path, n: int, size: int) -> Path:
    table = pa.table({"record": ["x" * size + str(number) for number in range(n)], "item": ["a"] * n})
    encodings = {"record": "DELTA_BYTE_ARRAY", "item": "PLAIN"}
    options = {"compression": "zstd", "write_statistics": False, "data_page_size": 1 << 30}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings, **options)
    return path


def test_few_words_that_begin_alike_are_read_at_once(tmp_path: Path) -> None:
    """A page of them takes as much as the first, and Arrow some gigabytes for 64 rows."""
    path, sizes = by_prefixes(tmp_path / "x.parquet", 20, 900_000), list[int]()
    with opened_parquet(Content(path, None)) as file:
        batches = parted_batches(file, None, PartLimits(rows=1 << 17, cells=1 << 18, longest=1 << 18, n_bytes=1 << 21))
        sizes = [batch.num_rows for batch in batches]
    assert max(sizes) <= 4
    assert sum(sizes) == 20


@pytest.mark.slow
def test_words_are_not_repeated_without_end(tmp_path: Path) -> None:
    path = by_prefixes(tmp_path / "x.parquet", 200, 10_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_texts, "BYTES_A_BATCH", 1 << 18)
        assert "64 times as much as its pages" in refused(path)
    assert opened(path, 1 << 16).n_records == 200


def looked_at(path: Path) -> ColumnPages:
    with opened_parquet(Content(path, None)) as file:
        ((chunk,),) = chunks_of(file, ["items"])
        return pages_of(file.handle, chunk, n_rows=file.file.metadata.num_rows, check=lambda _: None)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_lengths_of_lists_are_those_that_arrow_reads(compression: str, version: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    lengths = np.concatenate([rng.integers(0, 5, 700), [400], rng.integers(0, 3, 300), np.ones(500, int), [60] * 9])
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(rng.integers(0, 9, ends[-1]).astype(str)))
    options: dict[str, Any] = {"compression": compression, "data_page_version": version, "data_page_size": 300}
    parquet.write_table(pa.table({"items": lists}), tmp_path / "x.parquet", write_batch_size=50, **options)
    found, cells = looked_at(tmp_path / "x.parquet"), np.maximum(lengths, 1)  # an empty list has a level too
    assert (found.longest, found.row, found.n_values) == (400, 701, cells.sum())
    for k in range(12):
        assert found.windows[k] == max(cells[start : start + 2**k].sum() for start in range(0, len(cells), 2**k))


def in_blocks(contents: bytes, more: int = 0) -> bytes:
    """Packed as Hadoop packs with LZ4: blocks, each after two sizes, of which the first says so many bytes ``more``."""
    blocks = [contents[at : at + 5000] for at in range(0, len(contents), 5000)]
    packed = [pa.compress(block, codec="lz4_raw", asbytes=True) for block in blocks]
    return b"".join(
        struct.pack(">II", len(block) + more, len(small)) + small for block, small in zip(blocks, packed, strict=True)
    )


@pytest.mark.parametrize("more", [0, 1])
def test_blocks_that_hadoop_packs_are_read(more: int, tmp_path: Path) -> None:
    """Lists in them were taken for one, as long as all of them."""
    contents = of_lists(*[(1, 2), (1, 3)] * 2000, (1, 50)) + words(*[b"x"] * 10_050)
    pages = [FIRST, data(10_050, contents, 0, lambda plain: in_blocks(plain, more))]
    path = write_lists(tmp_path / "x.parquet", 4001, pages, n_values=10_050, dictionary_field=12, codec=5)
    found = looked_at(path)
    if more:  # Arrow takes them for something else
        assert (found.longest, found.row) == (10_050 - 4000, None)
    else:
        assert (found.longest, found.row) == (50, 4001)
        assert len(parquet.read_table(path)) == opened(path, 1 << 16).n_records == 4001


def test_what_was_left_out_is_not_held(tmp_path: Path) -> None:
    """A gigabyte of cells that are 0, and of items that a record has many times, was kept for a few codes."""
    path = tmp_path / "x.csv"
    path.write_text(",".join(f"c{number}" for number in range(1000)) + "\n" + (",".join("0" * 1000) + "\n") * 10_000)
    found = opened(path, 1 << 20)
    with traced() as meter:
        assert found.n_records == 10_000
        assert meter.peak < 24 << 20  # forty where all cells have room
    pages = [dictionary(b"a"), *[coded(200_000, of_lists((100, 2000)))] * 10]
    path = write_lists(tmp_path / "x.parquet", 1000, pages, n_values=2_000_000)
    found = opened(path, 1 << 20)
    with traced() as meter:
        assert found.item_counts().tolist() == [1000]
        assert meter.peak < 7 << 20  # eight where items that were left out are held


def test_more_columns_than_there_is_memory_for_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",".join(f"c{number}" for number in range(50_000)) + "\n" + ",".join("0" * 50_000) + "\n")
    assert "more than 50000 different items" in refused(path)


def test_a_line_of_numbers_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.dat").write_text("1 2\n" + " ".join(map(str, range(300_000))) + "\n")
    assert "Line 2" in (said := refused(tmp_path / "x.dat"))
    assert "at most 262144 items" in said
