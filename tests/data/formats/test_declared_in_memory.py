"""Records and frames under a declaration: what a value stands for depends on that value and the declaration alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from bosket.data import Baskets, Domain
from bosket.data.formats.lookup import may_change_in_frames
from bosket.errors import DataError, ParameterError

ITEMS = ["milk", "10", 2, 0.5, "01", "é"]
MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
every_frame = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


class Hostile:
    def __hash__(self) -> int:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def __str__(self) -> str:
        raise ZeroDivisionError


class Two(IntEnum):
    TWO = 2


def deep(levels: int) -> tuple[Any, ...]:
    nest: tuple[Any, ...] = ()
    for _ in range(levels):
        nest = (nest,)
    return nest


NONE = [
    None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64(2, "M"), np.timedelta64(2), Hostile(),
    [2], {"milk"}, {"milk": 2}, np.array([2, 2]), np.array([2]), b"milk", "1", "2.0", "\ud800", 10**5000, float("inf"),
    1j, ("milk",), object(), dt.date(2024, 1, 1), Decimal("0.1"),
]  # fmt: skip
SOME = [
    ("milk", "milk"), (np.str_("milk"), "milk"), (10, "10"), (10.0, "10"), (np.int8(10), "10"), ("2", 2), (2.0, 2),
    (np.uint64(2), 2), (Two.TWO, 2), (Decimal(2), 2), (0.5, 0.5), ("0.5", 0.5), (np.float32(0.5), 0.5), ("01", "01"),
]  # fmt: skip
POOL = [*NONE, *(value for value, _ in SOME)]
RECORDS = [None, "milk", 7, Hostile(), np.array([True])]
values = st.integers(0, len(POOL) - 1).map(lambda at: POOL[at])  # Hypothesis would hash them
odd_records = st.lists(st.lists(values, max_size=4) | st.integers(0, len(RECORDS) - 1).map(lambda at: RECORDS[at]))


def drop(records: Any, **options: Any) -> Baskets:
    return Baskets(records, **{"items": ITEMS, "unknown": "drop", **options})


def objects(cells: list[Any]) -> Any:
    return pd.Series(cells, dtype=object)


def frame_drop(frame: Any, **options: Any) -> Baskets:
    return Baskets.from_frame(frame, **{"items": ITEMS, "unknown": "drop", **options})


@pytest.mark.parametrize("value", NONE, ids=lambda value: type(value).__name__)
def test_what_is_no_item_says_nothing(value: Any) -> None:
    assert list(drop([["milk", value], [value], ["10"]])) == [("milk",), (), ("10",)]
    with pytest.raises(DataError) as caught:
        Baskets([["milk"], ["10", "milk"], [value, "milk"]], items=ITEMS)
    assert str(caught.value).startswith("Record 3 ")
    assert caught.value.__context__ is None


@pytest.mark.slow
def test_tuples_too_deep_to_be_hashed_say_nothing() -> None:
    assert list(drop([["milk", deep(300_000)], ["10"]])) == [("milk",), ("10",)]


@pytest.mark.parametrize(("value", "item"), SOME)
def test_a_value_stands_for_what_it_equals_or_is_the_writing_of(value: Any, item: Any) -> None:
    for unknown in ("drop", "refuse"):
        baskets = drop([[value, "milk"], [value]], unknown=unknown)
        assert baskets.domain.labels == tuple(ITEMS)
        assert baskets[1] == (item,)


@given(odd_records)
def test_every_record_is_read_by_itself(records: list[Any]) -> None:
    together = list(drop(records))
    assert together == [drop([record])[0] for record in records]
    assert together == list(frame_drop(pd.DataFrame({"items": objects(records)}), layout="list"))


@given(st.lists(st.tuples(values, values)))
def test_every_row_of_a_frame_is_read_by_itself(rows: list[tuple[Any, Any]]) -> None:
    names = [f"r{at}" for at in range(len(rows))]
    items = [item for item, _ in rows]
    long = frame_drop(pd.DataFrame({"record": names, "item": objects(items)}))
    assert list(long) == [drop([[item]])[0] for item in items]
    signs = pd.DataFrame({"milk": objects(items), "tea": objects(items), 2: objects([sign for _, sign in rows])})
    marks = frame_drop(signs)
    assert list(marks) == [frame_drop(signs.iloc[[at]])[0] for at in range(len(rows))]


@given(st.lists(st.sampled_from([1, "1", True, "tRue", 1.0, 0, None, 2, "x"]), max_size=6))
def test_signs_of_presence(signs: list[Any]) -> None:
    present = {1, "1", "tRue"}  # True and 1.0 are 1
    found = frame_drop(pd.DataFrame({"milk": objects(signs), "tea": objects(signs), "10": 0}))
    assert list(found) == [("milk",) if sign in present else () for sign in signs]


@pytest.mark.parametrize("first", NONE, ids=lambda value: type(value).__name__)
def test_names_of_records_touch_no_other_row(first: Any) -> None:
    names = objects([first, "a", "b", "a", 1, 1.0])
    frame = pd.DataFrame({"record": names, "item": objects(["milk", "milk", 2, "10", 2, "é"])})
    assert list(frame_drop(frame))[-3:] == [("milk", "10"), (2,), (2, "é")]


@every_frame
def test_frames_of_every_kind(make: Callable[[dict[str, Any]], Any]) -> None:
    truth = [("milk", 2), (), ("10",)]
    rows = {"record": [5, 5, 5, 7, 9], "item": ["2", "milk", "x", None, "10"]}
    assert list(frame_drop(make(rows))) == truth
    lists = make({"items": [["2", "milk", "x"], None, ["10", "10"]]})
    assert list(frame_drop(lists, layout="list")) == truth
    assert list(frame_drop(lists, layout="list", item="items")) == truth
    marks = make({"milk": [1, 0, 0], "2": [True, False, None], "10": ["0", "no", "TRUE"], "x": ["?", "?", "?"]})
    assert list(frame_drop(marks)) == truth
    numbers = make({"r": [1, 1, 2], "i": [10.0, 0.5, None]})
    assert list(Baskets.from_frame(numbers, items=ITEMS)) == [("10", 0.5), ()]


def test_codes_narrow_numbers_and_bytes() -> None:
    words = ["milk", "x", "milk", None]
    for column in (
        pd.Series(words, dtype="category"), pl.Series(words, dtype=pl.Categorical), pa.array(words).dictionary_encode(),
        pd.Series(words, dtype=pd.StringDtype("python")), pa.array(words, pa.large_string()), pl.Series(words),
    ):  # fmt: skip
        make = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(type(column).__module__.split(".")[0], pa.table)
        assert list(frame_drop(make({"r": [1, 2, 3, 4], "i": column}))) == [("milk",), (), ("milk",), ()]
    narrow = pl.DataFrame({"r": [1, 2], "i": pl.Series([0.1, 0.25], dtype=pl.Float32)})
    assert list(frame_drop(narrow, items=["0.1"])) == [("0.1",), ()]
    ends = pa.py_buffer(np.array([0, 1, 5, 6], np.int32).tobytes())
    wrong = pa.StringArray.from_buffers(3, ends, pa.py_buffer(b"\xffmilk2"))  # said to be UTF-8
    for column in (wrong, wrong.dictionary_encode()):
        assert list(frame_drop(pa.table({"r": [1, 2, 3], "i": column}))) == [(), ("milk",), (2,)]
        assert list(frame_drop(pa.table({"r": column, "i": [10, 10, 2]}))) == [("10",), ("10",), (2,)]
    halves = pd.DataFrame({"r": [1, 2], "i": pd.Series(["milk", "\ud800"], dtype=pd.StringDtype("python"))})
    assert list(frame_drop(halves)) == [("milk",), ()]


def test_what_is_refused_lies_in_names_and_types() -> None:
    times = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]
    refused: list[tuple[Any, dict[str, Any]]] = [
        (pd.DataFrame({"record": [1, 2], "item": times}), {}),
        (pd.DataFrame({"milk": times, "2": times, "10": times}), {}),
        (pl.DataFrame({"items": [[[1]], [[2]]]}), {"layout": "list"}),
        (pd.DataFrame({"items": ["milk", "tea"]}).astype("string"), {"layout": "list"}),
        (pl.DataFrame({"record": [[1], [2]], "item": [1, 2]}), {"layout": "long"}),
        (pd.DataFrame({"items": objects([["milk"], ["2"]])}), {}),
        (pd.DataFrame({"r": [1], "items": objects([["milk"]])}), {"item": "items"}),
        (pd.DataFrame({"milk": [1], "10": [0]}), {"items": ["milk", "10"], "layout": "list"}),
        (pd.DataFrame({10: [1], "10": [0], "2": [1]}), {}),
        (pd.DataFrame(), {}),
        ([["milk"]], {}),
    ]
    for frame, options in refused:
        said = []
        for data in (frame, frame[:1]):
            with pytest.raises(DataError) as caught:
                frame_drop(data, **options)
            said.append(str(caught.value))
        assert said[0] == said[1]
    dated = pd.DataFrame({"record": times, "item": ["milk", "2"]})
    assert list(frame_drop(dated)) == [("milk",), (2,)]


@pytest.mark.parametrize(
    ("frame", "row"),
    [
        (pd.DataFrame({"record": [1, 2], "item": ["milk", "x"]}), 2),
        (pd.DataFrame({"record": [1, None], "item": ["milk", "2"]}), 2),
        (pd.DataFrame({"milk": [1, 1, 3], "2": [0, 1, 0], "10": [1, 0, 2]}), 3),
        (pl.DataFrame({"items": [["milk"], [], ["2", "x"]]}), 3),
    ],
)
def test_what_is_unknown_is_refused_with_its_row(frame: Any, row: int) -> None:
    with pytest.raises(DataError, match=f"row {row}"):
        Baskets.from_frame(frame, items=ITEMS)
    assert frame_drop(frame).n_records in (1, 2, 3)


def test_declarations_that_are_refused() -> None:
    for items in (["1", 1], ["True", 1], ["True", "1"], [None, "a"], [float("nan")]):
        for read, data in ((drop, []), (frame_drop, pd.DataFrame({"a": [1]}))):
            with pytest.raises(ParameterError) as caught:
                read(data, items=items)
            assert caught.value.parameter == "items"
    wrong: list[dict[str, Any]] = [{"unknown": "drop"}, {"items": ["a"], "unknown": "no"}]
    for options in wrong:
        with pytest.raises(ParameterError) as caught:
            Baskets([], **options)
        assert caught.value.parameter == "unknown"
    assert list(Baskets([["1", 1], [1.0]], items=["1", 1])) == [("1", 1), (1,)]  # where nothing is dropped, they differ
    assert list(Baskets([[("a", 1)]], items=[("a", 1)], unknown="drop")) == [(("a", 1),)]
    for records in (pd.DataFrame({"milk": [1]}), "milk", np.zeros((2, 2), bool), sparse.eye_array(2).tocsr()):
        with pytest.raises(DataError):
            drop(records)


def test_missing_values_of_a_matrix() -> None:
    matrix = sparse.csr_array(np.array([[np.nan, 1.0], [2.0, 0.0]]))
    assert list(Baskets.from_scipy(matrix, ["a", "b"], unknown="drop")) == [("b",), ("a",)]
    with pytest.raises(DataError):
        Baskets.from_scipy(matrix, ["a", "b"])
    with pytest.raises(ParameterError):
        Baskets.from_scipy(matrix, unknown="drop")


def test_times_are_no_numbers_and_have_one_form() -> None:
    """NumPy says that twelve months are 12, that a day is its first second, and that this is Python's."""
    day, second = np.datetime64("2024-01-01"), np.datetime64("2024-01-01T00:00:00")
    cases: list[list[list[Any]]] = [[[day], [second]], [[second], [day]], [[dt.datetime(2024, 1, 1)], [day]]]
    for records in cases:
        assert Baskets(records).domain.labels == (pd.Timestamp("2024-01-01"),)
        frame = pd.DataFrame({"r": [1, 2], "i": objects([record[0] for record in records])})
        assert Baskets.from_frame(frame, layout="long").domain.labels == (pd.Timestamp("2024-01-01"),)
    assert Baskets([[np.timedelta64(5, "ns")], [5]]).n_items == 2
    with pytest.raises(DataError):
        Baskets([[np.timedelta64(12, "M")], [12]])
    with pytest.raises(DataError):
        Baskets([[np.timedelta64(12, "M")]], items=[12])


@pytest.mark.parametrize("label", ["007", "1.50", "1e3", "+1", " 7", "nan", "inf", "true", "FALSE", 10**15, "9" * 16])
def test_labels_that_other_cells_of_a_frame_change(label: Any) -> None:
    assert may_change_in_frames(label)


@pytest.mark.parametrize("label", ["7", "-1.5", "1_000", "milk", "True", True, 7, 0.1, 10**14, "a1", "", ("007",)])
def test_labels_that_they_do_not(label: Any) -> None:
    assert not may_change_in_frames(label)


def test_a_domain_is_taken_as_it_is() -> None:
    domain = Domain(["milk", "tea"])
    assert drop([["milk"]], items=domain).domain is domain
    assert frame_drop(pd.DataFrame({"r": [1], "i": ["x"]}), items=domain).domain is domain
