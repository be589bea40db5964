"""Under a declaration a cell stands for what its own type and value say, however many chunks and words there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bosket as bk
from bosket.errors import DataError
from tests.effort import effort_within

DROP: dict[str, Any] = {"items": ["milk", "tea", "1"], "unknown": "drop"}
NO_TEXT = b"\xff\xfe"
Wrap = Callable[[pa.Table], Any]
WRAPS: list[Wrap] = [lambda table: table, lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)]
each_frame = pytest.mark.parametrize("wrap", WRAPS, ids=["arrow", "pandas"])


def coded(words: list[Any], kind: pa.DataType, index: pa.DataType) -> pa.ChunkedArray:
    """Words in two chunks with dictionaries of their own, the first word ten times."""
    half = len(words) // 2
    parts = [[words[0]] * 10 + words[:half], words[half:]]
    chunks = []
    for part in parts:
        known = list(dict.fromkeys(part))
        codes = pa.array([known.index(word) for word in part], index)
        chunks.append(pa.DictionaryArray.from_arrays(codes, pa.array(known, kind)))
    return pa.chunked_array(chunks)


def in_lists(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.ListArray.from_arrays(range(len(part) + 1), part) for part in cells.chunks])


def counts(frame: Any, layout: Any = "long", items: Any = ("milk", "tea", "1")) -> list[int]:
    found = bk.Baskets.from_frame(frame, layout=layout, items=items, unknown="drop").item_counts()
    return list(map(int, found))


TEXT = [b"milk", *(b"other %d" % at for at in range(300))]
NUMBERS = [float(np.float32(0.1)), *(at + 0.5 for at in range(300))]


@each_frame
@pytest.mark.parametrize(
    ("kind", "words", "item"),
    [(pa.binary(), TEXT, "milk"), (pa.large_binary(), TEXT, "milk"), (pa.float32(), NUMBERS, 0.1)],
    ids=["bytes", "many bytes", "floats"],
)
@pytest.mark.parametrize(("index", "most"), [(pa.int8(), 127), (pa.uint8(), 255)], ids=str)
def test_the_word_beyond_a_dictionary_changes_no_other(
    wrap: Wrap, kind: Any, words: list[Any], item: Any, index: Any, most: int
) -> None:
    for n_words in (most, most + 1, most + 2):
        cells = coded(words[:n_words], kind, index)
        names = pa.array(range(len(cells)))
        assert counts(wrap(pa.table({"record": names, "item": cells})), items=[item]) == [11]
        assert counts(wrap(pa.table({"items": in_lists(cells)})), "list", items=[item]) == [11]
        table = bk.Table.from_frame(wrap(pa.table({"a": cells})), values={"a": [item, "nothing"]}, unknown="other")
        assert table.codes[:, 0].tolist().count(0) == 11


@pytest.mark.slow
def test_bytes_beyond_32_bits_of_offsets_change_no_cell() -> None:
    """A column of plain bytes, 2 GiB of them; chunks share one long word."""
    long = pa.array([b"milk", b"x" * (1 << 26)], pa.binary())
    for n_chunks in (2, 33):
        cells = pa.chunked_array([long] * n_chunks)
        table = pa.table({"record": pa.array(range(len(cells))), "item": cells})
        assert counts(table) == [n_chunks, 0, 0]
    assert sum(chunk.nbytes for chunk in cells.chunks) > 1 << 31


def of_bytes(words: list[bytes], kind: pa.DataType) -> pa.Array:
    """An array of text, or of a view, that need not be UTF-8."""
    if kind == pa.string_view():
        views = pa.array(words, pa.binary_view())
        return pa.Array.from_buffers(kind, len(views), views.buffers())
    held = pa.array(words, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, len(held), held.buffers())


class Named(pa.ExtensionType):  # type: ignore[misc]  # pyarrow is not typed
    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "tests.named")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, _: bytes) -> Named:
        return cls(storage)


def named(array: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(Named(array.type), array)


def runs(array: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), pa.int32()), array)


def views(array: pa.Array) -> pa.Array:
    size = len(array)
    return pa.ListViewArray.from_arrays(pa.array(range(size), pa.int32()), pa.array([1] * size, pa.int32()), array)


def large_views(array: pa.Array) -> pa.Array:
    size = len(array)
    return pa.LargeListViewArray.from_arrays(pa.array(range(size)), pa.array([1] * size), array)


@each_frame
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("stored", [lambda array: array, named], ids=["plain", "extension"])
def test_text_that_is_none_stands_for_nothing_and_names_a_record(wrap: Wrap, kind: Any, stored: Any) -> None:
    cells = stored(of_bytes([b"milk", b"tea", b"milk", NO_TEXT], kind))
    assert counts(wrap(pa.table({"record": pa.array(range(4)), "item": cells}))) == [2, 1, 0]
    read = bk.Baskets.from_frame(wrap(pa.table({"record": cells, "item": ["milk"] * 4})), layout="long", **DROP)
    assert read.n_records == 3
    table = bk.Table.from_frame(wrap(pa.table({"a": cells})), values={"a": ["milk", "tea"]}, unknown="other")
    assert table.codes[:, 0].tolist() == [0, 1, 0, 2]


@each_frame
@pytest.mark.parametrize("lists", [views, large_views], ids=["list_view", "large_list_view"])
def test_views_are_lists(wrap: Wrap, lists: Any) -> None:
    cells = lists(of_bytes([b"milk", b"tea", NO_TEXT], pa.string()))
    assert counts(wrap(pa.table({"items": cells})), "list") == [1, 1, 0]
    assert counts(wrap(pa.table({"items": cells.slice(1)})), None) == [0, 1, 0]


def test_views_out_of_order_and_missing() -> None:
    words = pa.array(["milk", "tea", "1"])
    cells = pa.ListViewArray.from_arrays(
        pa.array([1, 0, 0], pa.int32()), pa.array([2, 3, 1], pa.int32()), words, mask=pa.array([False, False, True])
    )
    read = bk.Baskets.from_frame(pa.table({"items": cells}), layout="list", **DROP)
    assert [sorted(map(str, record)) for record in read] == [["1", "tea"], ["1", "milk", "tea"], []]


@each_frame
def test_runs_are_what_they_repeat(wrap: Wrap) -> None:
    cells = runs(pa.array([b"milk", b"tea", NO_TEXT, b"milk"]))
    for part, expected in ((cells, [2, 1, 0]), (cells.slice(1), [1, 1, 0])):
        assert counts(wrap(pa.table({"record": pa.array(range(len(part))), "item": part}))) == expected


BEYOND = 86_400_000 * 4 * 10**6  # milliseconds, in the year 12921


@each_frame
@pytest.mark.parametrize("kind", [pa.date64(), pa.timestamp("s"), pa.duration("s")], ids=str)
def test_a_day_beyond_the_calendar_is_a_name_like_any_other(wrap: Wrap, kind: Any) -> None:
    for last, n_records in (([0], 2), ([BEYOND], 3), ([None], 2)):
        names = pa.array([0, 86_400_000, *last], pa.int64()).cast(kind)
        frame = wrap(pa.table({"record": names, "item": ["milk"] * 3}))
        assert bk.Baskets.from_frame(frame, layout="long", **DROP).n_records == n_records


@each_frame
@pytest.mark.parametrize("lists", [None, views, large_views], ids=["plain", "view", "large_view"])
def test_dates_are_refused_by_their_type_whatever_the_cells_are(wrap: Wrap, lists: Any) -> None:
    said = set()
    for last in (0, BEYOND):
        days = pa.array([0, last], pa.int64()).cast(pa.date64())
        with pytest.raises(DataError, match="must") as refused:
            counts(
                wrap(pa.table({"record": [1, 2], "item": days if lists is None else lists(days)})),
                "list" if lists else "long",
            )
        said.add(str(refused.value))
        table = bk.Table.from_frame(wrap(pa.table({"a": days})), values={"a": ["milk", "tea"]}, unknown="other")
        assert table.codes[:, 0].tolist() == [2, 2]
    assert len(said) == 1


@pytest.mark.parametrize("kind", ["string[python]", "string[pyarrow]", "str"])
def test_half_of_a_letter_changes_no_other_text(kind: str) -> None:
    words = pd.Series(["milk", "tea", "milk"], dtype=kind)
    if kind == "string[python]":
        words[1] = "\ud800"
    assert counts(pd.DataFrame({"record": [1, 2, 3], "item": words}))[0] == 2


def test_a_category_that_makes_an_error_is_no_value() -> None:
    """Categories that Arrow holds, one of which is beyond Python's calendar."""
    times = pa.array([0, 2**62, 1], pa.int64()).cast(pa.timestamp("s"))
    kept = pd.Series(times, dtype=pd.ArrowDtype(times.type)).astype("category")
    assert counts(pd.DataFrame({"record": [1, 2, 3], "item": kept})) == [0, 0, 0]
    assert counts(pd.DataFrame({"record": kept, "item": ["milk"] * 3})) == [3, 0, 0]


def test_whole_numbers_of_128_bits() -> None:
    frame = pl.DataFrame({"record": [1, 2, 3], "item": pl.Series([1, 2**100, 1], dtype=pl.Int128)})
    assert counts(frame) == [0, 0, 2]
    assert counts(pl.DataFrame({"items": pl.Series([[1], [2**100]], dtype=pl.List(pl.Int128))}), "list") == [0, 0, 1]


def scanned(folder: Path, last: str = "") -> pl.LazyFrame:
    """Numbers, and perhaps a row far below that are none."""
    path = folder / "x.csv"
    path.write_text("record,item\n" + "".join(f"{at},1\n" for at in range(2000)) + last)
    return pl.scan_csv(path)


@pytest.mark.parametrize("last", ["", "x,SECRET\n"])
def test_a_lazy_frame_is_refused_by_its_type(tmp_path: Path, last: str) -> None:
    """One row of the file would decide whether it can be collected."""
    frame = scanned(tmp_path, last)
    for read in (
        lambda: counts(frame),
        lambda: bk.Table.from_frame(frame, columns=["item"], values={"item": [1, 2]}, unknown="other"),
    ):
        with pytest.raises(DataError, match="must be collected before"):
            read()


@pytest.mark.parametrize("options", [{}, {"items": [1, 2]}], ids=["seen", "declared"])
def test_an_error_of_a_lazy_frame_quotes_no_cell(tmp_path: Path, options: dict[str, Any]) -> None:
    assert bk.Baskets.from_frame(scanned(tmp_path), **options).n_records == 2000
    with pytest.raises(DataError, match="cannot be collected") as refused:
        bk.Baskets.from_frame(scanned(tmp_path, "x,SECRET\n"), **options)
    assert refused.value.__context__ is None
    assert "SECRET" not in str(refused.value)


def test_names_that_were_chosen_to_crowd_take_no_time_for_each_other() -> None:
    """Whole numbers of one hash value; 20 000 of them took two seconds, and twice as many four times that."""
    names = pd.Series([at * (2**61 - 1) for at in range(1, 40_001)], dtype=object)
    frame = pd.DataFrame({"record": names, "item": ["milk"] * names.size})
    with effort_within(4):
        assert counts(frame) == [40_000, 0, 0]


def test_equal_numbers_name_one_record_whatever_their_type() -> None:
    names = pd.Series([1, 1.0, True, np.int8(1), 2**70, 2.0**70, 0.5, np.float32(0.5), "1", -0.0, 0], dtype=object)
    read = bk.Baskets.from_frame(pd.DataFrame({"record": names, "item": ["milk"] * names.size}), layout="long", **DROP)
    assert read.n_records == 5


def test_tuples_of_many_paths_take_time_by_their_limit() -> None:
    """Ten references at each of fifteen levels: a thousand million million paths, and sixteen tuples."""
    label: Any = ()
    for _ in range(15):
        label = (label,) * 10
    with effort_within(2):
        read = bk.Baskets([["milk", label], ["tea", ("milk",)]], **DROP)
        assert [list(record) for record in read] == [["milk"], ["tea"]]
        frame = pd.DataFrame({"record": pd.Series([label, "r"], dtype=object), "item": ["milk", "tea"]})
        assert counts(frame) == [0, 1, 0]


@pytest.mark.parametrize("cells", [[1, 2**100], [[1], [2**100]]], ids=["long", "list"])
def test_whole_numbers_of_128_bits_are_labels(cells: list[Any]) -> None:
    kind: Any = pl.List(pl.Int128) if isinstance(cells[0], list) else pl.Int128
    frame = pl.DataFrame({"record": [1, 2], "item": pl.Series(cells, dtype=kind)})
    read = bk.Baskets.from_frame(frame.select("item") if isinstance(cells[0], list) else frame)
    assert set(read.domain.labels) == {1, 2**100}


needs_narrow = pytest.mark.skipif(not hasattr(pa, "decimal32"), reason="decimals of 32 bits came with Arrow 18")
NARROW = [("decimal32", 7), ("decimal64", 15)]


def prices(name: str, digits: int, *, is_full: bool) -> pa.ChunkedArray:
    """1.00 and 2.50, and where it is full the largest number that the bits have room for, beyond the digits."""
    kind = getattr(pa, name)(digits, 2)
    chunks = [pa.array(["1.00", "2.50"]).cast(pa.decimal128(digits, 2)).cast(kind)]
    if is_full:
        most = b"\xff" * (kind.byte_width - 1) + b"\x7f"
        chunks.append(pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(most)]))
    return pa.chunked_array(chunks)


@needs_narrow
@each_frame
@pytest.mark.parametrize(("name", "digits"), NARROW)
def test_a_decimal_of_more_digits_than_its_type_says_is_no_value(
    wrap: Wrap, name: str, digits: int, tmp_path: Path
) -> None:
    table = pa.table({"price": prices(name, digits, is_full=True)})
    declared: dict[str, Any] = {"values": {"price": [1, 2.5]}, "unknown": "other"}
    pq.write_table(table, tmp_path / "prices.parquet")
    for read in (
        bk.Table.from_frame(wrap(table), **declared),
        bk.Table.read(tmp_path / "prices.parquet", **declared),
    ):
        assert read.to_baskets().item_counts().tolist() == [1, 1, 1]


@needs_narrow
@pytest.mark.parametrize(("name", "digits"), [*NARROW, ("decimal256", 7)])
@pytest.mark.parametrize("encoding", [{}, {"use_dictionary": False, "column_encoding": {"item": "DELTA_BYTE_ARRAY"}}])
def test_such_a_decimal_names_a_record(name: str, digits: int, encoding: dict[str, Any], tmp_path: Path) -> None:
    names = prices("decimal32" if name == "decimal256" else name, digits, is_full=True)
    if name == "decimal256":
        names = names.cast(pa.decimal256(38, 2))
        bits = [chunk.buffers()[1] for chunk in names.chunks]
        kind = pa.decimal256(digits, 2)
        names = pa.chunked_array(
            [pa.Array.from_buffers(kind, len(one), [None, two]) for one, two in zip(names.chunks, bits, strict=True)]
        )
    table = pa.table({"record": names, "item": ["milk", "tea", "milk"]})
    pq.write_table(table, tmp_path / "sales.parquet", **encoding)
    for read in (
        bk.Baskets.read(tmp_path / "sales.parquet", layout="long", **DROP),
        bk.Baskets.from_frame(table, layout="long", **DROP),
    ):
        assert read.item_counts().tolist() == [2, 1, 0]
        assert len(read) == 3
