"""What one record in memory may take under a declaration: so many cells of a list, and words of so many bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Baskets, Table
from bosket.data.baskets import kernels
from bosket.data.formats import declared_columns, declared_lists, declared_values, lines
from bosket.data.formats.columns import encoded
from bosket.errors import DataError
from tests.effort import effort_within
from tests.memory import traced

DROP: dict[str, Any] = {"items": ["1", "2", "3"], "unknown": "drop"}
Lists = Callable[[pa.Array, pa.Array], pa.Array]


def in_views(offsets: pa.Array, cells: pa.Array) -> pa.Array:
    """Views of the same lists, the cells behind three that belong to none."""
    starts = offsets.to_numpy() + 3
    behind = pa.concat_arrays([cells.slice(0, 1)] * 3 + [cells]) if len(cells) else cells
    return pa.LargeListViewArray.from_arrays(pa.array(starts[:-1], pa.int64()), pa.array(np.diff(starts)), behind)


def in_runs(offsets: pa.Array, cells: pa.Array) -> pa.Array:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(cells) + 1), pa.int32()), cells)
    return pa.LargeListArray.from_arrays(offsets, runs)


def with_codes(offsets: pa.Array, cells: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets, cells.dictionary_encode())


def as_views_of_text(offsets: pa.Array, cells: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets, cells.cast(pa.string()).cast(pa.string_view()))


def as_text(offsets: pa.Array, cells: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets, cells.cast(pa.string()))


LAYOUTS: list[Lists] = [pa.LargeListArray.from_arrays, in_views, in_runs, with_codes, as_text, as_views_of_text]
each_layout = pytest.mark.parametrize("lists", LAYOUTS, ids=["lists", "views", "runs", "codes", "text", "text views"])


def frame(rows: list[list[Any]], lists: Lists) -> pa.Table:
    """In two chunks, the second of which is a part of an array."""
    offsets = pa.array(np.cumsum([0, *map(len, rows)]), pa.int64())
    column = lists(offsets, pa.array(list(itertools.chain(*rows)), pa.int32()))
    half = len(rows) // 2
    return pa.table({"items": pa.chunked_array([column.slice(0, half), column.slice(half)])})


@each_layout
def test_of_a_long_list_in_a_frame_as_much_is_read_as_of_a_long_line(
    lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1 << 10)
    most, seen, found = 256, 0, kernels.once_in_list

    def counted(items: Any, *others: Any) -> Any:
        nonlocal seen
        seen += items.size
        return found(items, *others)

    monkeypatch.setattr(declared_lists, "once_in_list", counted)
    rows: list[list[Any]] = [[1], [1] * (most - 1) + [2, 3], [], [1] * 5000 + [2], [2], [1] * most + [3], [3]]
    read = Baskets.from_frame(frame(rows, lists), **DROP)
    assert list(read) == [("1",), ("1", "2"), (), ("1",), ("2",), ("1",), ("3",)]
    assert seen == 3 * most + 3
    assert list(Baskets.from_frame(frame(rows, lists), items=["1", "2", "3"]))[3] == ("1", "2")  # a strict one sees all


@each_layout
@given(rows=st.lists(st.lists(st.sampled_from([1, 2, 7, None]), max_size=7), max_size=7))
def test_lists_of_frames_in_pieces(lists: Lists, rows: list[list[Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bosket.data.formats.list_cells._CELLS_A_PIECE", 2)
        read = Baskets.from_frame(frame(rows, lists), **DROP)
    assert [set(record) for record in read] == [{str(x) for x in row if x in (1, 2)} for row in rows]


def test_the_row_of_an_unknown_cell_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.list_cells._CELLS_A_PIECE", 2)
    with pytest.raises(DataError, match="row 4"):
        Baskets.from_frame(frame([[1] * 5, [], [2], [1, 1, 1, 7]], as_text), items=["1", "2", "3"])


def test_lists_of_a_fixed_size_and_missing_ones() -> None:
    rows = pa.array([[1, 2], None, [3, None], [7, 1]], pa.list_(pa.int8(), 2)).slice(1)
    assert list(Baskets.from_frame(pa.table({"items": rows}), **DROP)) == [(), ("3",), ("1",)]


@pytest.mark.parametrize(
    "record",
    [range(1, 10**12), itertools.count(1), np.arange(1, 3000, dtype=np.int16)],
    ids=["range", "no end", "array"],
)
def test_of_a_record_in_memory_as_much_is_read(record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1 << 10)
    read = Baskets([[300], record], items=[256, 257, 300], unknown="drop")
    assert list(read) == [(300,), (256,)]


def test_of_lists_that_arrow_has_not_as_much_is_made_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers of 128 bits."""
    monkeypatch.setattr(lines, "LONGEST", 1 << 10)
    taken: list[Any] = []

    def taking(series: Any) -> list[Any]:
        taken.append(series.to_list())
        return list(taken[-1])

    wide = pl.DataFrame({"items": pl.Series([[1] * 300 + [2], None, [2]], dtype=pl.List(pl.Int128))})
    monkeypatch.setattr(declared_columns, "objects_of", taking)
    assert list(Baskets.from_frame(wide, layout="list", **DROP)) == [("1",), (), ("2",)]
    assert len(taken[0][0]) == 256


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float32, np.float64, np.str_, object])
def test_arrays_are_records_like_lists(kind: Any) -> None:
    values = np.array([1, 2, 9, 1]).astype(kind)
    assert list(Baskets([values], **DROP)) == list(Baskets([list(values)], **DROP))


SLOW_KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in (pa.int8(), pa.null())]


@pytest.mark.parametrize("kind", [pa.bool_(), *SLOW_KINDS], ids=str)
def test_a_list_of_many_small_cells_takes_little(kind: pa.DataType) -> None:
    n_cells = 1 << 26
    bits = None if pa.types.is_null(kind) else pa.py_buffer(bytes(n_cells // 8 * kind.bit_width))
    cells = pa.nulls(n_cells) if bits is None else pa.Array.from_buffers(kind, n_cells, [None, bits])
    table = pa.table({"items": pa.LargeListArray.from_arrays(pa.array([0, 1, n_cells]), cells)})
    Baskets.from_frame(table.slice(0, 1), **DROP)
    with traced() as memory, effort_within(5):
        Baskets.from_frame(table, **DROP)
        assert memory.peak < 1 << 24


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The words that are told apart from now on."""
    seen = []

    def watching(column: Any) -> Any:
        seen.append(column)
        return encoded(column)

    for module in (declared_values, declared_lists):
        monkeypatch.setattr(module, "encoded", watching)
    return seen


TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.binary_view()]
CODES = [pa.dictionary(pa.int8(), kind) for kind in (pa.string(), pa.string_view())]


def of_type(words: list[str | None], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.array([word if word is None else word.encode() for word in words], pa.binary()).cast(kind)
    known = pa.array(words, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(known.indices.cast(kind.index_type), known.dictionary.cast(kind.value_type))


@pytest.mark.parametrize("kind", [*TEXTS, *CODES], ids=str)
def test_long_words_of_frames_are_put_away_before_they_are_copied(kind: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1000)
    long = "x" * (1 << 22)
    names = of_type([f"{long}a", "r", f"{long}b", f"{long}a", "r", None], kind)
    items = of_type(["1", "1", "1", "2", long, "2"], kind)
    many = pa.table({"record": names, "item": items})
    lists = pa.table({"items": pa.LargeListArray.from_arrays(pa.array([0, 1, 5, 6]), items)})
    few = pa.table({"record": of_type(["r"], kind), "item": of_type(["1"], kind)})
    Baskets.from_frame(few, layout="long", **DROP)  # what is imported and kept on first use is not of the words
    Table.from_frame(few, columns=["item"], values={"item": ["1", "2"]}, unknown="other").to_baskets().item_counts()
    Baskets.from_frame(
        pa.table({"items": pa.LargeListArray.from_arrays(pa.array([0, 1]), of_type(["1"], kind))}), **DROP
    )
    before = pa.default_memory_pool().bytes_allocated()
    with traced() as memory:
        held = watched(monkeypatch)
        assert list(Baskets.from_frame(many, layout="long", **DROP)) == [("1", "2"), ("1",), ("1",)]
        assert list(Baskets.from_frame(lists, **DROP)) == [("1",), ("1", "2"), ("2",)]
        table = Table.from_frame(many, columns=["item"], values={"item": ["1", "2"]}, unknown="other")
        assert table.to_baskets().item_counts().tolist() == [3, 2, 1]
        assert max(column.nbytes for column in held) < 1 << 16
        assert memory.peak < 1 << 20
    assert pa.default_memory_pool().bytes_allocated() - before < 1 << 16
    with pytest.raises(DataError):
        Baskets.from_frame(many, layout="long", items=["1", "2"])


def test_views_of_one_word_in_a_list_are_not_decoded_one_by_one() -> None:
    """A thousand words of a list that are places in one text: together they are a thousand times as long."""
    text = pa.array(["y" * (1 << 20)], pa.string_view())
    _, view, data = text.buffers()
    views = pa.Array.from_buffers(text.type, 1000, [None, pa.py_buffer(view.to_pybytes()[:16] * 1000), data])
    table = pa.table({"items": pa.LargeListArray.from_arrays(pa.array([0, 1000]), views)})
    before = pa.default_memory_pool().max_memory()
    assert list(Baskets.from_frame(table, **DROP)) == [()]
    assert pa.default_memory_pool().max_memory() - before < 1 << 26


@pytest.mark.parametrize("is_list", [False, True], ids=["values", "lists"])
def test_words_that_chunks_share_are_looked_at_once(is_list: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand words that fifty chunks share, those that occur."""
    words = pa.array([str(at) for at in range(1000)])
    chunks = [pa.DictionaryArray.from_arrays(pa.array([1, at % 3], pa.int32()), words) for at in range(50)]
    cells = pa.chunked_array([pa.ListArray.from_arrays([0, 2], one) for one in chunks] if is_list else chunks)
    seen = watched(monkeypatch)
    if is_list:
        read = Baskets.from_frame(pa.table({"items": cells}), **DROP)
        assert read.item_counts().tolist() == [50, 16, 0]
        assert sum(map(len, seen)) <= 100
    else:
        read = Baskets.from_frame(pa.table({"record": range(100), "item": cells}), **DROP)
        assert read.item_counts().tolist() == [67, 16, 0]
        assert sorted(map(len, seen)) == [3, 100]


@pytest.mark.parametrize("last", [2, 7, -1, -2, -128])
def test_a_code_beyond_its_dictionary_is_no_value(last: int) -> None:
    codes = pa.array([0, 1, last, None], pa.int8())
    check_codes(pa.DictionaryArray.from_arrays(codes, pa.array(["1", "2"]), safe=False))


@pytest.mark.parametrize("last", [2, 1 << 63, (1 << 64) - 1])
def test_a_code_beyond_numbers_with_a_sign_is_no_value(last: int) -> None:
    codes = pa.array([0, 1, last, None], pa.uint64())
    check_codes(pa.DictionaryArray.from_arrays(codes, pa.array(["1", "2"]), safe=False))


def check_codes(cells: pa.Array) -> None:
    names, lists = pa.array(range(4)), pa.ListArray.from_arrays(range(5), cells)
    assert Baskets.from_frame(pa.table({"record": names, "item": cells}), **DROP).item_counts().tolist() == [1, 1, 0]
    assert Baskets.from_frame(pa.table({"items": lists}), **DROP).item_counts().tolist() == [1, 1, 0]
    assert len(Baskets.from_frame(pa.table({"record": cells, "item": ["1"] * 4}), layout="long", **DROP)) == 2
    table = Table.from_frame(pa.table({"item": cells}), values={"item": ["1", "2"]}, unknown="other")
    assert table.to_baskets().item_counts().tolist() == [1, 1, 2]


def test_lists_beyond_their_values_hold_nothing() -> None:
    starts, sizes = pa.array([0, 5, -3], pa.int32()), pa.array([4, 1, 2], pa.int32())
    views = pa.Array.from_buffers(
        pa.list_view(pa.string()), 3, [None, starts.buffers()[1], sizes.buffers()[1]], children=[pa.array(["1"])]
    )
    assert list(Baskets.from_frame(pa.table({"items": views}), **DROP)) == [("1",), (), ()]


def test_decimals_in_lists_of_polars_are_refused_or_left_alone() -> None:
    """Of some that came from Arrow polars makes no type of Arrow's, and panics."""
    if not hasattr(pa, "decimal32"):
        pytest.skip("decimals of 32 bits came with Arrow 18")
    amounts = pa.array(["1"]).cast(pa.decimal128(20, 2)).cast(pa.decimal32(7, 2))
    lists = pl.from_arrow(pa.table({"a": pa.ListArray.from_arrays([0, 1], amounts)}))
    assert isinstance(lists, pl.DataFrame)
    table = lists.with_columns(record=pl.lit(1), item=pl.lit("2"))
    assert list(Baskets.from_frame(table, record="record", item="item", **DROP)) == [("2",)]
    with pytest.raises(DataError):
        Baskets.from_frame(lists, layout="list", item="a", **DROP)
