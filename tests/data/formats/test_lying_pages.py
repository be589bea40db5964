"""Parquet files whose pages hold more than their footer says, for every reader: a few hundred bytes took gigabytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import bosket as bk
from bosket.data.formats import parquet_texts
from bosket.data.formats.leaf_counts import value_counts
from tests.disk.test_open_baskets import opened
from tests.memory import traced
from tests.parquet_footers import with_count
from tests.parquet_pages import bytes_of_length, coded, data, dictionary, of_lists, words, write_lists

CAP = 4_000_000
N = 900_000


def n_opened(path: Path) -> int:
    return opened(path, 1 << 16).n_records


def read(path: Path) -> Any:
    return bk.Baskets.read(path, max_bytes=CAP)


def declared(path: Path) -> Any:
    return bk.Baskets.read(path, items=["a"], unknown="refuse", max_bytes=CAP)


def dropped(path: Path) -> Any:
    return bk.Baskets.read(path, items=["a"], unknown="drop", max_bytes=CAP)


def table(path: Path) -> Any:
    return bk.Table.read(path, max_bytes=CAP)


READERS = [read, declared, dropped, table, n_opened]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("n_values", [1, N - 1, N + 1])
def test_pages_have_the_values_that_the_footer_says(
    reader: Callable[[Path], Any], n_values: int, tmp_path: Path
) -> None:
    """A list of 10^8 items, where the footer said one: 209 bytes took 1.2 GB of a cap of 100 MB, 1.9 GB as numbers."""
    pages = [dictionary(b"a"), coded(N, of_lists((1, N)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=n_values)
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(path)


@pytest.mark.parametrize("reader", [declared, dropped])
def test_columns_have_the_rows_that_the_footer_says(reader: Callable[[Path], Any], tmp_path: Path) -> None:
    pages = [dictionary(b"a"), coded(4, of_lists((2, 2)))]
    assert reader(write_lists(tmp_path / "2.parquet", 2, pages, n_values=4)).n_records == 2
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(write_lists(tmp_path / "5.parquet", 5, pages, n_values=4))


@pytest.mark.parametrize("reader", [read, dropped, table, n_opened])
def test_a_row_group_does_not_vanish_with_a_page_that_arrow_passes_over(
    reader: Callable[[Path], Any], tmp_path: Path
) -> None:
    """One byte, the kind of a page, and fifty of sixty records were gone without a word: Arrow gives no rows then."""
    path, truths = tmp_path / "x.parquet", [True, False] * 30
    parquet.write_table(
        pa.table({"a": truths, "b": truths, "c": truths}), path, row_group_size=50, data_page_version="2.0"
    )
    sound = path.read_bytes()
    reader(path)
    assert sound[4:6] == b"\x15\x06"  # a page of values
    path.write_bytes(sound[:5] + b"\x07" + sound[6:])
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(path)


@pytest.mark.parametrize("reader", [read, declared, dropped, n_opened])
@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_lists_beyond_the_rows_of_the_footer_are_not_left_out(
    reader: Callable[[Path], Any], n_rows: int, tmp_path: Path
) -> None:
    pages = [dictionary(b"a"), coded(4, of_lists((4, 1)))]
    assert bk.Baskets.read(write_lists(tmp_path / "4.parquet", 4, pages, n_values=4)).n_records == 4
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(write_lists(tmp_path / "x.parquet", n_rows, pages, n_values=4))


LISTS = pa.array([["a", "a"]] * 10 + [["a"]] * 50)
PAIRS = pa.array([["a", "a"]] * 60, pa.list_(pa.string(), 2))
BESIDE = {
    "map": pa.array([[("k", "v")]] * 60, pa.map_(pa.string(), pa.string())),
    "structure": pa.array([{"u": ["1"], "v": ["2", "3"]}] * 60),
    "lists of lists": pa.array([{"u": [["1"], []]}] * 60),
}


def with_fewer_rows(path: Path, columns: dict[str, Any]) -> Path:
    """Columns of sixty rows, in a file whose footer says ten, and as many values as before."""
    parquet.write_table(pa.table(columns), path)
    path.write_bytes(with_count(with_count(path.read_bytes(), 60, 10), 60, 10, which=-1))
    return path


@pytest.mark.parametrize("columns", [{"items": PAIRS}, *({"items": LISTS, "x": beside} for beside in BESIDE.values())])
@pytest.mark.parametrize("reader", [read, declared, dropped, n_opened])
def test_lists_beyond_the_rows_are_seen_beside_whatever_columns(
    reader: Callable[[Path], Any], columns: dict[str, Any], tmp_path: Path
) -> None:
    """Lists of a fixed size were not counted, nor any beside a map or lists within other values."""
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(with_fewer_rows(tmp_path / "x.parquet", columns))


@pytest.mark.parametrize("reader", [read, dropped, n_opened])
def test_lists_are_read_beside_whatever_columns(reader: Callable[[Path], Any], tmp_path: Path) -> None:
    for at, columns in enumerate([{"items": PAIRS}, {"items": LISTS} | {"map": BESIDE["map"]}]):
        path = tmp_path / f"{at}.parquet"
        parquet.write_table(pa.table(columns), path, row_group_size=25)
        found = reader(path)
        assert (found if reader is n_opened else found.n_records) == 60


def types(depth: int = 0) -> st.SearchStrategy[pa.DataType]:
    """Types of columns that Parquet files have: lists of all kinds, maps and structures, within one another."""
    plain = st.sampled_from([pa.int64(), pa.string(), pa.bool_(), pa.dictionary(pa.int32(), pa.string())])
    if depth == 3:
        return plain
    inner = st.deferred(lambda: types(depth + 1))
    structures = st.lists(inner, min_size=1, max_size=3).map(
        lambda kinds: pa.struct([(f"f{at}", kind) for at, kind in enumerate(kinds)])
    )
    return st.one_of(
        plain,
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        structures,
        st.tuples(inner, st.integers(1, 3)).map(lambda pair: pa.list_(*pair)),
    )


def cells(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Cells of a type, some of them missing; Parquet has no missing list of a fixed size within others."""
    if pa.types.is_struct(kind):
        made: st.SearchStrategy[Any] = st.fixed_dictionaries({field.name: cells(field.type) for field in kind})
    elif pa.types.is_map(kind):
        made = st.lists(st.tuples(st.sampled_from("kl"), cells(kind.item_type)), max_size=3)
    elif pa.types.is_fixed_size_list(kind):
        made = st.lists(cells(kind.value_type), min_size=kind.list_size, max_size=kind.list_size)
    elif pa.types.is_nested(kind):
        made = st.lists(cells(kind.value_type), max_size=3)
    elif pa.types.is_integer(kind):
        made = st.integers(0, 3)
    else:
        made = st.booleans() if pa.types.is_boolean(kind) else st.sampled_from(["", "a", "b"])
    return st.one_of(made, st.none())


@given(data=st.data())
def test_values_are_counted_as_the_footer_counts_them(data: st.DataObject) -> None:
    """Of any nested column, read whole or some rows at a time."""
    kind = data.draw(types())
    column = pa.array(data.draw(st.lists(cells(kind), min_size=1, max_size=6)), kind)
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"x": column}), sink)
    file = parquet.ParquetFile(sink.getvalue())
    claimed = [file.metadata.row_group(0).column(at).num_values for at in range(file.metadata.num_columns)]
    for size in (100, 2):
        found = [list(value_counts(batch.column(0))) for batch in file.iter_batches(size)]
        assert [sum(numbers) for numbers in zip(*found, strict=True)] == claimed
    assert list(value_counts(column)) == claimed


@pytest.mark.parametrize("reader", [read, declared, dropped, n_opened])
def test_row_groups_have_the_rows_of_the_file(reader: Callable[[Path], Any], tmp_path: Path) -> None:
    """A row group of fewer than no rows was passed over."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": [["a"]] * 7}), path)
    path.write_bytes(with_count(path.read_bytes(), 7, -7, which=-1))
    with pytest.raises(bk.DataError, match=r"as many rows as its row groups|not a sound Parquet file"):
        reader(path)


def test_a_long_list_counts_where_items_are_declared_and_a_record_may_be_refused(tmp_path: Path) -> None:
    """It counted for no more than a line: 212 bytes took 1.2 GB."""
    pages = [dictionary(b"a"), coded(2 * N, of_lists((1, 2 * N)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=2 * N)
    with pytest.raises(bk.DataError, match="at most 4,000,000 bytes"):
        declared(path)
    assert bk.Baskets.read(path, items=["a"], unknown="refuse", max_bytes=20_000_000).n_records == 1


@pytest.mark.parametrize("page", ["dictionary", "values"])
@pytest.mark.parametrize("reader", [read, declared, table])
def test_pages_count_before_they_are_unpacked(reader: Callable[[Path], Any], page: str, tmp_path: Path) -> None:
    """The footer says that all of them have 1000 bytes."""
    long = b"x" * (CAP + 1)
    pages = [dictionary(long), coded(1, of_lists((1, 1)))]
    if page == "values":
        pages = [dictionary(b"a"), data(1, of_lists((1, 1)) + words(long), 0)]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=1)
    with traced() as memory:
        with pytest.raises(bk.DataError, match="at most 4,000,000 bytes"):
            reader(path)
        assert memory.peak < CAP


def many_columns(path: Path, n_columns: int, n_letters: int) -> Path:
    table = pa.table({f"c{at}": ["x" * n_letters] for at in range(n_columns)})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    return path


def test_pages_of_all_columns_are_held_at_once(tmp_path: Path) -> None:
    """3000 columns with one word of a megabyte, all at the same place: 133 kB took 7.5 GB."""
    path = many_columns(tmp_path / "x.parquet", 50, 1_000_000)
    for reader in (read, table):
        with pytest.raises(bk.DataError, match="at most 4,000,000 bytes"):
            reader(path)
    with pytest.raises(bk.DataError, match="largest pages have at most 33,554,432 bytes together"):
        n_opened(path)


@pytest.mark.parametrize(("length", "n", "fault"), [(8, 60_000, ""), (10_000, 1000, "items"), (1000, 60_000, "items")])
def test_wide_cells_are_as_many_words(length: int, n: int, fault: str, tmp_path: Path) -> None:
    """Cells of a hundred kilobytes, all of them one in the file, were counted as numbers: 217 bytes took 3 GB."""
    pages = [dictionary(b"x" * length, has_lengths=False), coded(n, of_lists((1, n)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=n, element=bytes_of_length(length))
    if not fault:
        assert n_opened(path) == 1
        return
    with pytest.raises(bk.DataError, match=f"must have records of at most {262_144 // (length // 8)} {fault}"):
        n_opened(path)


def test_wide_cells_are_not_repeated_without_end(tmp_path: Path) -> None:
    """Missing cells of 100 kB, 10^5 of them in a file of 121 bytes, took 40 seconds."""
    missing = pa.array([None] * 1000, pa.binary(100_000))
    parquet.write_table(pa.table({"a": missing}), tmp_path / "x.parquet")
    with pytest.raises(bk.DataError, match="must not repeat words"):
        n_opened(tmp_path / "x.parquet")


def different(n: int) -> list[str]:
    return [f"{at:05}" for at in range(n)]


@pytest.mark.parametrize("reader", [read, declared, dropped, table])
def test_words_of_a_dictionary_count_before_they_are_told_apart(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten million of four letters took 1.3 GB of a cap of 100 MB."""
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", lambda *_, **__: pytest.fail("something was read"))
    pages = [dictionary(*(word.encode() for word in different(50_000))), coded(1, of_lists((1, 1)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=1)
    with pytest.raises(bk.DataError, match="at most 4,000,000 bytes"):
        reader(path)


@pytest.mark.parametrize("reader", [read, table])
def test_words_without_a_dictionary_are_told_apart_some_at_a_time(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten million of four letters, 8 MB of a file, took 0.8 GB of a cap of 100 MB, and twenty seconds."""
    monkeypatch.setattr(parquet_texts, "_ROWS_OF_A_PART", 1 << 12)
    seen: list[int] = []
    of_group = parquet_texts.group_batches

    def noted(*arguments: Any) -> Any:
        for batch in of_group(*arguments):
            seen.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(parquet_texts, "group_batches", noted)
    path = tmp_path / "x.parquet"
    for some, n_read in ((different(100_000), 50_000), (different(100) * 1000, 200_000)):
        seen.clear()
        columns = {"items": pa.array([[word] for word in some])} if reader is read else {"x": some, "y": some}
        parquet.write_table(pa.table(columns), path, use_dictionary=False, compression="zstd")
        if len(set(some)) > 100:
            with pytest.raises(bk.DataError, match="at most 4,000,000 bytes"):
                reader(path)
            assert sum(seen) <= n_read
        else:
            assert reader(path).n_records == 100_000
            assert sum(seen) == n_read


@pytest.mark.parametrize(
    "reader", [*READERS, lambda path: bk.Table.read(path, values={"items": ["a", "b"]}, unknown="c")]
)
def test_row_groups_have_a_number(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200,000 without rows, seven megabytes, took 44 seconds."""
    monkeypatch.setattr("bosket.data.formats.parquet_opening._MOST_ROW_GROUPS", 2)
    parquet.write_table(pa.table({"items": [["a"], ["b"], ["a"]]}), tmp_path / "x.parquet", row_group_size=1)
    with pytest.raises(bk.DataError, match="at most 2 row groups"):
        reader(tmp_path / "x.parquet")


def test_records_count_before_their_lists_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A billion lists of one item, and one of five million, took half a minute in a file of 230 bytes."""
    monkeypatch.setattr("bosket.data.formats.parquet_batches.pages_of", lambda *_, **__: pytest.fail("looked at"))
    pages = [dictionary(b"a"), coded(12_000_000, of_lists((7_000_000, 1), (1, 5_000_000)))]
    path = write_lists(tmp_path / "x.parquet", 7_000_001, pages, n_values=12_000_000)
    with pytest.raises(bk.DataError, match="at most 4,000,000 bytes"):
        dropped(path)


ORDINARY: list[dict[str, Any]] = [
    {},
    *({"compression": codec} for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")),
    {"version": "1.0"},
    {"version": "2.4", "data_page_version": "2.0"},
    {"use_dictionary": False},
    {"use_dictionary": False, "use_byte_stream_split": ["x"]},
    {
        "use_dictionary": False,
        "column_encoding": {"items.list.element": "DELTA_BYTE_ARRAY", "n": "DELTA_BINARY_PACKED"},
    },
    {"dictionary_pagesize_limit": 50},
    {"row_group_size": 50, "data_page_size": 10, "write_batch_size": 3},
    {"write_page_index": True, "write_page_checksum": True, "store_schema": False},
    {"use_compliant_nested_type": False},
]


@pytest.mark.parametrize("options", ORDINARY, ids=lambda options: "-".join(map(str, options.values())) or "default")
def test_files_of_ordinary_writers_are_read(options: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lists: list[Any] = [[f"item {k}" for k in rng.integers(0, 40, rng.integers(0, 9))] for _ in range(200)]
    wanted = [set(record) for record in lists]
    lists[3], wanted[3] = None, set()
    beside = {"n": np.arange(200), "x": rng.normal(size=200)}
    parquet.write_table(pa.table({"items": lists, **beside}), tmp_path / "x.parquet", **options)
    labels = sorted(set().union(*wanted))
    for found in (
        bk.Baskets.read(tmp_path / "x.parquet"),
        bk.Baskets.read(tmp_path / "x.parquet", items=labels, unknown="refuse"),
        bk.Baskets.read(tmp_path / "x.parquet", items=labels, unknown="drop"),
    ):
        assert [set(record) for record in found] == wanted
    assert n_opened(tmp_path / "x.parquet") == 200


@pytest.mark.parametrize(
    "codec", ["zstd", *(pytest.param(codec, marks=pytest.mark.slow) for codec in ("uncompressed", "lz4", "gzip"))]
)
def test_polars_files_are_read(codec: Any, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"items": [["a", "b"], [], None, ["b"] * 3] * 50})
    frame.write_parquet(tmp_path / "x.parquet", compression=codec, row_group_size=70, data_page_size=50)
    for reader in (read, dropped):
        assert reader(tmp_path / "x.parquet").n_records == 200
    assert n_opened(tmp_path / "x.parquet") == 200


@pytest.mark.parametrize("reader", READERS)
def test_a_page_of_more_values_than_the_footer_says_is_not_looked_at(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two billion lists of one item, where the footer said half a million: 212 bytes took a minute without Ctrl-C."""
    monkeypatch.setattr("bosket.data.formats.parquet_pages.follow_lists", lambda *_: pytest.fail("looked at"))
    pages = [dictionary(b"a"), coded((1 << 31) - 1, of_lists(((1 << 31) - 1, 1)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=500_000)
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(path)


def test_values_are_bounded_by_the_bytes_of_a_file_that_is_opened(tmp_path: Path) -> None:
    """Two billion records in 212 bytes took six minutes, and eight gigabytes of the scratch folder."""
    n = (1 << 31) - 1
    pages = [dictionary(b"a"), coded(n, of_lists((n, 1)))]
    path = write_lists(tmp_path / "x.parquet", n, pages, n_values=n)
    with pytest.raises(bk.DataError, match=r"at most 67,\d{3},\d{3} values, as a file of its bytes may"):
        n_opened(path)


@pytest.mark.parametrize("reader", READERS)
def test_columns_do_not_share_their_pages(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages of a megabyte were looked at for each of thousands of row groups that began at the same place: two
    megabytes would have taken hours.
    """
    monkeypatch.setattr("bosket.data.formats.parquet_pages.structure_at", lambda *_: pytest.fail("looked at"))
    pages = [dictionary(b"a"), *[data(0, b"", 0)] * 50, coded(1, of_lists((1, 1)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=1, n_groups=3)
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(path)


@pytest.mark.parametrize("reader", READERS)
def test_pages_have_no_more_bytes_than_the_footer_says(
    reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else columns of few bytes could share the pages of a long one."""
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", lambda *_, **__: pytest.fail("something was read"))
    pages = [dictionary(b"a"), *[data(0, b"", 0)] * 50, coded(1, of_lists((1, 1)))]
    path = write_lists(tmp_path / "x.parquet", 1, pages, n_values=1, n_packed=100)
    with pytest.raises(bk.DataError, match="not a sound Parquet file"):
        reader(path)
