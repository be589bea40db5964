"""Frames of every make and layout, against the same records from plain lists."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Baskets, Table
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said
from tests.strategies import Records, baskets, records, texts

MAKES: list[Callable[[dict[str, Any]], Any]] = [
    pd.DataFrame,
    lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    pl.DataFrame,
    lambda columns: pl.DataFrame(columns).lazy(),
    pa.table,
]
makes = st.sampled_from(MAKES)


@given(makes, baskets())
def test_one_hot(make: Callable[[dict[str, Any]], Any], data: Baskets) -> None:
    cells = {f"i{item}": [item in row for row in data] for item in range(data.n_items)}
    truth = Baskets([[f"i{item}" for item in row] for row in data], items=cells)
    assert Baskets.from_frame(make(cells), layout="one-hot") == truth
    if data.n_records:  # as 0 and 1; without a row there is no type
        numbers = {name: [int(cell) for cell in column] for name, column in cells.items()}
        assert Baskets.from_frame(make(numbers), layout="one-hot") == truth


@given(makes, records(texts))
def test_long_and_list(make: Callable[[dict[str, Any]], Any], rows: Records) -> None:
    truth = Baskets(rows)
    pairs = [(number, label) for number, row in enumerate(rows, 100) for label in (row or [None])]
    if pairs and truth.n_items:
        columns = {"r": [number for number, _ in pairs], "i": [label for _, label in pairs]}
        assert Baskets.from_frame(make(columns), record="r", item="i") == truth
        assert Baskets.from_frame(make({**columns, "z": columns["r"]}), record="r", item="i") == truth
        assert Baskets.from_frame(make({"items": rows})) == truth


def test_records_of_a_long_frame_keep_their_order_of_first_appearance() -> None:
    frame = pd.DataFrame({"r": ["z", "a", "z", "m", "a"], "i": ["x", "y", "y", None, "x"]})
    truth = Baskets([["x", "y"], ["y", "x"], []])
    assert Baskets.from_frame(frame) == truth
    coded = frame.astype({"r": pd.CategoricalDtype(["a", "q", "m", "z"]), "i": pd.CategoricalDtype(["n", "y", "x"])})
    assert list(Baskets.from_frame(coded)) == [("y", "x"), ("y", "x"), ()]  # the categories of records do not matter
    assert Baskets.from_frame(frame[["i", "r"]], record="r") == truth
    assert Baskets.from_frame(frame[["i", "r"]], item="i") == truth


def test_whole_numbers_stay_whole_beside_a_missing_one() -> None:
    frame = pd.DataFrame({"r": [1, 1, 2], "i": [7, 3, None]})
    assert frame["i"].dtype == float
    data = Baskets.from_frame(frame)
    assert data == Baskets([[3, 7], []])
    assert all(type(label) is int for label in data.domain.labels)


def test_labels_of_mixed_types_come_through() -> None:
    frame = pd.DataFrame({"r": [1, 1, 2], "i": pd.Series(["1", 1, ("a", 2)], dtype=object)})
    assert Baskets.from_frame(frame) == Baskets([["1", 1], [("a", 2)]])
    lists = pd.DataFrame({"items": pd.Series([["1", 1], None, float("nan"), [2]], dtype=object)})
    assert Baskets.from_frame(lists) == Baskets([["1", 1], [], [], [2]])


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, np.array])
def test_pandas_columns_of_any_collection_are_lists(kind: Callable[[Any], Any]) -> None:
    frame = pd.DataFrame({"items": pd.Series([kind([2, 1]), kind([3]), None], dtype=object)})
    assert Baskets.from_frame(frame) == Baskets([[1, 2], [3], []])


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.large_list(pa.int32()), pa.list_(pa.int64(), 2)])
def test_arrow_lists_of_every_width(kind: Any) -> None:
    column = pa.chunked_array([pa.array([[1, 2], None], kind), pa.array([[2, 2]], kind)])
    assert Baskets.from_frame(pa.table({"id": [1, 2, 3], "items": column})) == Baskets([[1, 2], [], [2]])
    two = pa.table({"a": column, "b": column.slice(0)})
    assert Baskets.from_frame(two, item="b").n_records == 3
    with pytest.raises(DataError, match="one column of lists, got 2"):
        Baskets.from_frame(two)


def test_one_hot_takes_words_missing_values_sparse_columns_and_any_column_name() -> None:
    truth = [("a", "c"), ("b",)]
    for a in ([True, None], ["true", "False"], [1.0, float("nan")], [1, 0], pd.array([1, None], "Int8")):
        frame = pd.DataFrame({"a": a, "b": [0, 1], "c": ["1", "0"]})
        assert list(Baskets.from_frame(frame)) == truth
    thin = pd.DataFrame({1: [True, False], 2: [False, True], 3: [False, False]}).astype(pd.SparseDtype("bool"))
    assert Baskets.from_frame(thin) == Baskets([[1], [2]], items=[1, 2, 3])
    assert Baskets.from_frame(pl.DataFrame({"a": [None, None]})) == Baskets([[], []], items=["a"])


def test_odd_columns_mean_what_they_say() -> None:
    """Dictionaries with repeats and holes, pandas.NA among objects, objects in polars."""
    coded = pa.DictionaryArray.from_arrays([0, 1, 2, 3], pa.array(["y", "x", "y", None]))
    assert Baskets.from_frame(pa.table({"r": [1, 1, 2, 3], "i": coded})) == Baskets([["x", "y"], ["y"], []])
    objects = pd.DataFrame({"r": [1, 1, 2], "i": pd.Series([("a",), 5, pd.NA], dtype=object)})
    assert Baskets.from_frame(objects, layout="long") == Baskets([[("a",), 5], []])
    sets = pl.DataFrame({"items": pl.Series([{1, 2}, {3}], dtype=pl.Object)})
    assert Baskets.from_frame(sets) == Baskets([[1, 2], [3]])


def test_layout_is_told_from_the_columns() -> None:
    bits = {"a": [0, 1], "b": [1, 1]}
    with pytest.raises(DataError) as caught:
        Baskets.from_frame(pd.DataFrame(bits))
    assert "layout=" in str(caught.value.hint)
    assert Baskets.from_frame(pd.DataFrame(bits), layout="one-hot") == Baskets([["b"], ["a", "b"]])
    assert Baskets.from_frame(pd.DataFrame(bits), layout="long") == Baskets([[1], [1]])
    assert Baskets.from_frame(pd.DataFrame(bits).astype(bool)) == Baskets([["b"], ["a", "b"]])
    assert Baskets.from_frame(pd.DataFrame(bits).set_axis(["record", "item"], axis=1)) == Baskets([[1], [1]])
    assert Baskets.from_frame(pd.DataFrame({**bits, "c": [0, 0]})).n_items == 3
    assert Baskets.from_frame(pd.DataFrame({"a": [0, 0, 1], "b": [1, 2, 1]})) == Baskets([[1, 2], [1]])


@pytest.mark.slow
def test_a_million_rows_pass_without_a_loop_over_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain Python path would visit a value at a time; it must not be taken."""
    monkeypatch.setattr("bosket.data.formats.columns._codes_of_list", None)
    monkeypatch.setattr("bosket.data.formats.layouts.from_records", None)
    numbers = np.arange(1_000_000)
    names = np.array([f"item {item}" for item in range(100)])
    columns = {"r": numbers // 10, "i": names[numbers % 97]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        data = Baskets.from_frame(frame)
        assert (data.n_records, data.n_items, data.sizes.max()) == (100_000, 97, 10)


SECRET = "Xq7"
SECRET_NUMBER = 98765


@pytest.mark.parametrize(
    "frame, options, where",
    [
        (pd.DataFrame({"a": [0, 1, SECRET_NUMBER], "b": [0, 1, 0], "c": [0, 0, 0]}), {}, "Column 'a' .* row 3"),
        (pl.DataFrame({"a": ["1", SECRET, "0"]}), {}, "Column 'a' .* row 2"),
        (pl.DataFrame({"a": range(SECRET_NUMBER)}), {}, "Column 'a' .* row 3"),
        (pd.DataFrame({"a": [0.5, 1], "b": [0, 1]}), {"layout": "one-hot"}, "Column 'a' .* row 1"),
        (pd.DataFrame({"a": pd.Series([1, SECRET, None], dtype=object)}), {}, "Column 'a' .* row 2"),
        (pl.DataFrame({"r": [1, None], "i": [SECRET, SECRET]}), {}, "Column 'r' .* row 2"),
        (pl.DataFrame({"items": [[SECRET], [SECRET, None]]}), {}, "Column 'items' .* row 2"),
        (pd.DataFrame({"items": pd.Series([[SECRET], [1, None]], dtype=object)}), {}, "Record 2 "),
        (pd.DataFrame({"items": pd.Series([[SECRET], 7], dtype=object)}), {}, "Record 2 "),
        (pl.DataFrame({"r": [1], "i": [{"x": SECRET}]}), {}, "cannot be items"),
        (pl.DataFrame({"a": [SECRET], "b": [1]}), {"layout": "list"}, "one column of lists, got 0"),
        (pl.DataFrame({"a": [SECRET], "b": [1]}), {"layout": "list", "item": "a"}, "lists in column 'a'"),
        (pl.DataFrame({"a": [SECRET], "b": [1], "c": [1]}), {"layout": "long"}, "two columns .* got 3"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), {}, "same name"),
        (pd.DataFrame(index=[1, 2]), {}, "no columns"),
        ([[SECRET]], {}, "got list"),
    ],
)
def test_bad_frames_are_refused_without_quoting_them(frame: Any, options: dict[str, Any], where: str) -> None:
    with pytest.raises(DataError, match=where) as caught:
        Baskets.from_frame(frame, **options)
    assert SECRET not in said(caught.value)
    assert str(SECRET_NUMBER) not in said(caught.value)


@pytest.mark.parametrize(
    "options, parameter",
    [
        ({"layout": "wide"}, "layout"),
        ({"record": "nope"}, "record"),
        ({"item": "nope"}, "item"),
        ({"record": "r", "item": "nope"}, "item"),
        ({"layout": "one-hot", "record": "r"}, "record"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Baskets.from_frame(pd.DataFrame({"r": [1], "i": ["x"]}), **options)
    assert caught.value.parameter == parameter


CATEGORIES = ["wine", "beer", "milk"]
DECLARED = [
    lambda labels: pd.Series(pd.Categorical(labels, categories=CATEGORIES)),
    lambda labels: pd.Series(pd.Categorical(labels, categories=CATEGORIES, ordered=True)),
    lambda labels: pl.Series(labels, dtype=pl.Enum(CATEGORIES)),
]


def frame_of(columns: dict[str, Any]) -> Any:
    is_polars = any(isinstance(column, pl.Series) for column in columns.values())
    return pl.DataFrame(columns) if is_polars else pd.DataFrame(columns)


@pytest.mark.parametrize("column", DECLARED, ids=["pandas", "ordered", "enum"])
def test_declared_categories_are_the_domain(column: Callable[[list[Any]], Any]) -> None:
    """In their order, those that no row has too; but whether they were made of the data, a column does not say."""
    labels = ["milk", "wine", "milk", None]
    frame = frame_of({"record": [1, 1, 2, 3], "item": column(labels)})
    data = Baskets.from_frame(frame)
    assert data.domain.labels == tuple(CATEGORIES)
    assert (data.domain.is_declared, data.domain.of_categories) == (False, True)
    assert list(data) == [("wine", "milk"), ("milk",), ()]
    table = Table.from_frame(frame[["item"]], missing={"item": "none"})
    assert table.domain.attributes[0].values == (*CATEGORIES, "none")
    assert not table.domain.is_declared
    assert [row["item"] for row in table] == ["milk", "wine", "milk", "none"]
    other = Table.from_frame(frame[["item"]], values={"item": {"drink": "*", "m": ["milk"]}}, missing="?")
    assert [row["item"] for row in other] == ["m", "drink", "m", "?"]


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame], ids=["arrow", "polars"])
def test_dictionaries_made_of_what_occurs_declare_nothing(make: Any) -> None:
    values = (
        pa.array(["b", "a", "c"]).dictionary_encode()[:2]
        if make is pa.table
        else pl.Series(["b", "a"], dtype=pl.Categorical)
    )
    frame = make({"record": [1, 2], "item": values})
    data = Baskets.from_frame(frame)
    assert data.domain.labels == ("a", "b")
    assert not data.domain.is_declared
    assert not Table.from_frame(frame, columns=["item"]).domain.is_declared


def test_bins_that_pandas_made_are_declared() -> None:
    """Arrow has no such values, and the frame was refused."""
    frame = pd.DataFrame({"age": pd.cut([1, 5, 1], [0, 2, 6, 9])})
    table = Table.from_frame(frame)
    assert table.domain.labels == ("age=(0, 2]", "age=(2, 6]", "age=(6, 9]")
    assert table.codes[:, 0].tolist() == [0, 1, 0]


def test_numbers_as_categories() -> None:
    frame = pd.DataFrame({"n": pd.Categorical([2.0, 1.0], categories=[3.0, 2.0, 1.0])})
    assert Table.from_frame(frame).domain.attributes[0].values == (3, 2, 1)
    with pytest.raises(DataError, match="written alike"):
        Table.from_frame(pd.DataFrame({"n": pd.Categorical([1], categories=[1, "1"])}))
    with pytest.raises(DataError, match="no two different values"):
        Table.from_frame(pd.DataFrame({"n": pd.Categorical(["Xq7"], categories=["Xq7"])}))


def test_a_question_mark_is_missing_among_categories_too() -> None:
    frame = pd.DataFrame({"work": ["farm", "?", "office"]}).astype("category")
    with pytest.raises(DataError, match="nothing or '\\?' is none"):
        Table.from_frame(frame)
    assert Table.from_frame(frame, missing="unknown").domain.attributes[0].values == ("farm", "office", "unknown")


@pytest.mark.parametrize(
    "array",
    [
        np.array([[True, False], [False, True]]),
        np.array([[0, 1, 1], [1, 0, 0]]),
        np.array([[0.0, 1.0]]),
        np.array([[True, False]], object),
        np.array([[1]], np.uint8),
        [np.array([True, False])],
    ],
    ids=["bool", "int", "float", "object", "one", "list of bool"],
)
def test_an_array_of_marks_is_no_list_of_items(array: Any) -> None:
    """It made two items, called False and True, or 0 and 1."""
    with pytest.raises(DataError, match="one-hot") as caught:
        Baskets(array)
    assert "from_frame" in str(caught.value.hint)


def test_arrays_of_items_are_lists_of_items() -> None:
    assert list(Baskets(np.array([[3, 1], [2, 1]]))) == [(1, 3), (1, 2)]
    assert list(Baskets([[0, 1], [1]])) == [(0, 1), (1,)]
    assert list(Baskets(np.array([["a", "b"]]))) == [("a", "b")]
    assert list(Baskets(np.array([[0, 1]]), items=[0, 1, 2])) == [(0, 1)]  # declared, so meant
    assert list(Baskets([[True], []])) == [(True,), ()]


def _objects(cells: list[Any]) -> Any:
    return pd.Series(cells, dtype=object)


@pytest.mark.parametrize("first", [[b"x"], [3], [1.5], [True], [dt.date(2020, 1, 1)], [("a",)], ["x", None]])
def test_one_list_of_a_frame_does_not_decide_what_the_others_hold(first: list[Any]) -> None:
    """Arrow makes bytes of all texts where one value is bytes."""
    for rows in ([first, ["milk", "tea"]], [["milk", "tea"], first]):
        frame = pd.DataFrame({"items": _objects(rows)})
        if None in first:
            with pytest.raises(DataError):
                Baskets.from_frame(frame)
            continue
        assert Baskets.from_frame(frame) == Baskets(rows)
    zones = [dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=hour))) for hour in (0, 5)]
    both = Baskets.from_frame(pd.DataFrame({"items": _objects([[zone] for zone in zones])}))
    assert both == Baskets([[zone] for zone in zones])


@pytest.mark.parametrize("order", ["C", "F"])
def test_truth_values_are_read_at_once_as_column_by_column(
    order: Literal["C", "F"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dense and sparse frames of pandas: the records of the quick way are those of the usual one."""
    chance = np.random.default_rng(8)
    cells = np.asarray(chance.random((90, 17)) < 0.2, order=order)
    dense = pd.DataFrame(cells, columns=[f"i{at}" for at in range(16)] + [7])
    sparse = dense.astype(pd.SparseDtype(bool, False))
    counted = dense.astype(int).astype(pd.SparseDtype(int, 0))
    quick = [Baskets.from_frame(frame) for frame in (dense, sparse, counted)]
    monkeypatch.setattr("bosket.data.baskets.records.truth_values", lambda frame: None)
    for frame, found in zip((dense, sparse, counted), quick, strict=True):
        usual = Baskets.from_frame(frame, layout="one-hot")
        assert list(found) == list(usual)
        assert found.domain == usual.domain
        assert found.domain.is_declared == usual.domain.is_declared


def test_types_of_sparse_columns_are_not_hashed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pandas takes as long to hash the type of a sparse column as to read the column."""
    frame: Any = pd.DataFrame(np.eye(300, dtype=bool)).astype(pd.SparseDtype(bool, False))
    hashed: list[object] = []
    original = pd.SparseDtype.__hash__

    def hash_of(kind: Any) -> int:
        hashed.append(kind)
        return original(kind)

    monkeypatch.setattr(pd.SparseDtype, "__hash__", hash_of)
    frame.sparse.to_coo()
    by_pandas = len(hashed)
    assert list(Baskets.from_frame(frame)) == [(item,) for item in range(300)]
    assert len(hashed) - 2 * by_pandas < 10


def test_sparse_columns_of_different_types_are_read_at_once() -> None:
    types = [pd.SparseDtype(kind, 0) for kind in ("int8", "uint16", "float32", "int64")]
    cells = np.random.default_rng(9).random((50, 4)) < 0.3
    columns = {f"i{at}": pd.arrays.SparseArray(cells[:, at], dtype=kind) for at, kind in enumerate(types)}
    expected = Baskets.from_frame(pd.DataFrame(cells, columns=list(columns)))
    assert Baskets.from_frame(pd.DataFrame(columns)) == expected


def test_other_frames_go_the_usual_way() -> None:
    twos = pd.DataFrame({"a": [0, 2], "b": [1, 0], "c": [1, 1]}).astype(pd.SparseDtype(int, 0))
    with pytest.raises(DataError):
        Baskets.from_frame(twos)
    filled = pd.DataFrame({"a": [True, False], "b": [True, True], "c": [True, True]}).astype(pd.SparseDtype(bool, True))
    assert [set(record) for record in Baskets.from_frame(filled)] == [{"a", "b", "c"}, {"b", "c"}]
    missing = pd.DataFrame({"a": [1.0, np.nan], "b": [0.0, 1.0], "c": [1.0, 1.0]}).astype(pd.SparseDtype(float, 0.0))
    assert [set(record) for record in Baskets.from_frame(missing)] == [{"a", "c"}, {"b", "c"}]
    empty = pd.DataFrame(np.zeros((0, 3), bool), columns=["a", "b", "c"])
    assert Baskets.from_frame(empty).n_records == 0


@pytest.mark.parametrize("kind", ["complex128", "i4,i4"])
@pytest.mark.parametrize("read", [Baskets.from_frame, Table.from_frame])
def test_columns_of_numbers_that_arrow_has_not_are_refused(read: Callable[[Any], Any], kind: str) -> None:
    """They ended in an error of Arrow's."""
    with pytest.raises(DataError, match="holds values that cannot be items"):
        read(pd.DataFrame({"a": np.zeros(2, np.dtype(kind)), "b": [0, 1]}))


@pytest.mark.parametrize("columns", [{"record": [1, 2, 2], "item": []}, {"a": [], "b": [1, 0, 1], "c": [1, 1, 1]}])
def test_a_decimal_that_signals_is_missing_as_others_are(columns: dict[str, list[Any]]) -> None:
    """It is no number, and does not let itself be compared."""
    made = []
    for nothing in ("sNaN", "NaN"):
        cells = np.array([decimal.Decimal(nothing), decimal.Decimal(1), decimal.Decimal(0)], object)
        made.append(Baskets.from_frame(pd.DataFrame({name: held or cells for name, held in columns.items()})))
    assert made[0].domain == made[1].domain
    assert list(made[0]) == list(made[1])
