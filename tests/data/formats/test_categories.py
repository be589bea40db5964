"""Columns of categories (pandas): each category is looked at by itself, and Arrow never sees mixed ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bosket as bk
from bosket.data import Baskets, Domain, Table
from bosket.errors import DataError, ParameterError

ITEMS = ["milk", "tea"]
WORDS: list[Any] = ["milk", "tea"] * 10
ODD: list[Any] = [np.datetime64("2021-01-01"), np.float32(0.1)]
"""Arrow, asked for one type of these and text, ends the process."""


def categories(values: list[Any]) -> Any:
    return pd.Series(values, dtype=object).astype("category")


def items_of(column: Any, items: list[Any] = ITEMS) -> list[tuple[Any, ...]]:
    frame = pd.DataFrame({"record": [f"r{at}" for at in range(len(column))], "item": column})
    return list(Baskets.from_frame(frame, items=items, unknown="drop"))


@pytest.mark.parametrize("odd", [ODD, [b"x", 5], [pd.Interval(0, 1), 5], [frozenset({3}), 5], [10**400, -1]])
def test_no_category_changes_what_others_are(odd: list[Any]) -> None:
    assert items_of(categories([*odd, *WORDS])) == [()] * len(odd) + [(word,) for word in WORDS]
    names = categories([*odd, *(f"r{at}" for at in range(20))])
    frame = pd.DataFrame({"record": names, "item": ["tea"] * len(odd) + WORDS})
    truth = [("tea",)] * len(odd) + [(word,) for word in WORDS]
    assert list(Baskets.from_frame(frame, items=ITEMS, unknown="drop")) == truth


@pytest.mark.parametrize("odd", [ODD, [b"x"], [pd.Interval(0, 1)]])
def test_nor_where_nothing_is_declared(odd: list[Any]) -> None:
    frame = pd.DataFrame({"record": range(20 + len(odd)), "item": categories([*odd, *WORDS])})
    assert list(Baskets.from_frame(frame))[len(odd) :] == [(word,) for word in WORDS]


def test_bytes_are_text_whatever_else_there_is() -> None:
    words = [b"milk", b"tea", b"\xff"]
    assert items_of(categories(words)) == [("milk",), ("tea",), ()]
    assert items_of(categories([*words, 5])) == [("milk",), ("tea",), (), ()]


def test_bins_beside_another_category() -> None:
    """They were left out without a word as soon as one category was no bin."""
    bins = pd.Series(pd.cut([1, 5, 7], [0, 2, 6, 9]))
    more: Any = bins.cat.add_categories("unknown")
    more[2] = "unknown"
    declared = ["(0, 2]", "(2, 6]", "(6, 9]", "unknown"]
    assert items_of(bins, declared) == [("(0, 2]",), ("(2, 6]",), ("(6, 9]",)]
    assert items_of(more, declared) == [("(0, 2]",), ("(2, 6]",), ("unknown",)]
    frame = pd.DataFrame({"record": [1, 2, 3], "item": more})
    data = Baskets.from_frame(frame)
    assert (list(data), data.domain.labels) == (items_of(more, declared), tuple(declared))
    assert Table.from_frame(frame[["item"]]).codes[:, 0].tolist() == [0, 1, 3]


def test_numbers_keep_their_digits() -> None:
    narrow = pd.Series(np.array([0.1, 0.25], np.float32)).astype("category")
    assert items_of(narrow, ["0.1", "0.25"]) == [("0.1",), ("0.25",)]
    assert items_of(pd.Series([1.0, 2.0, None]).astype("category"), [1, 2]) == [(1,), (2,), ()]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1, 2])),
        pd.Series(pd.period_range("2020", periods=2, freq="D")),
        pd.Series([b"milk", b"bran"], dtype=pd.ArrowDtype(pa.binary(4))),
    ],
    ids=["bins", "periods", "bytes"],
)
def test_types_that_hold_no_items_are_refused(column: Any) -> None:
    """By the type, as in files; all cells were left out without a word.  As names of records they will do."""
    with pytest.raises(DataError, match="must hold items as text or numbers"):
        items_of(column)
    frame = pd.DataFrame({"record": column, "item": ITEMS})
    assert list(Baskets.from_frame(frame, items=ITEMS, unknown="drop")) == [("milk",), ("tea",)]


def test_so_are_lists_of_such() -> None:
    table = pa.table({"items": pa.array([[b"milk"], []], pa.list_(pa.binary(4)))})
    with pytest.raises(DataError, match="must hold lists of text or numbers"):
        Baskets.from_frame(table, layout="list", item="items", items=ITEMS, unknown="drop")


def test_a_curator_asks_for_the_items_of_a_column() -> None:
    """``astype("category")`` makes them of what occurs, and a release showed one that a single record brought."""
    frame = pd.DataFrame({"record": range(21), "item": categories([*WORDS, "Xq7"])})
    data = Baskets.from_frame(frame)
    with pytest.raises(ParameterError, match="categories of a column") as caught:
        bk.curator.mine(data, 1.0, 0.1, method="truncation")
    assert caught.value.parameter == "vocabulary"
    assert "Xq7" not in str(caught.value)
    release = bk.curator.mine(data, 1000.0, 0.1, vocabulary=ITEMS, method="truncation")
    assert release.domain.labels == tuple(ITEMS)
    assert "epsilon 1000" in str(release.guarantee)  # gamma is beyond floating-point numbers: it was an OverflowError


def test_the_card_says_that_items_are_categories() -> None:
    frame = pd.DataFrame({"record": range(20), "item": categories(WORDS)})
    domain = Baskets.from_frame(frame).domain
    assert "categories of a column" in str(bk.Plan(domain, bk.Flip(keep=0.9)).guarantee.assumptions)
    again = Domain.from_json(domain.to_json())
    assert (again, again.is_declared) == (domain, False)
    assert Domain(ITEMS).to_json() == {"kind": "items", "items": ITEMS, "declared": True}


EQUAL = [
    1,
    1.0,
    True,
    1 + 0j,
    Decimal("1.0"),
    Fraction(1),
    np.float32(1),
    np.bool_(True),
    np.longdouble(1),
    np.complex64(1),
    np.clongdouble(1),
]


@pytest.mark.parametrize("first", EQUAL, ids=repr)
@pytest.mark.parametrize("usual", [1, True], ids=repr)
@pytest.mark.parametrize(
    "how",
    [
        {"values": {"a": ["1", "2"]}},
        {"values": {"a": [1, 2]}},
        {"values": {"a": ["True", "False", "2"]}},
        {"values": {"a": {"yes": ["True"], "two": [2]}}},
        {"bins": {"a": [0, 1, 2]}},
    ],
    ids=str,
)
def test_of_equal_values_the_first_decides_nothing_in_a_table(first: Any, usual: Any, how: dict[str, Any]) -> None:
    """pandas keeps of equal categories the one that it saw first."""
    plain = Table.from_frame(pd.DataFrame({"a": categories([usual] * 5 + [2])}), unknown="other", **how)
    odd = Table.from_frame(pd.DataFrame({"a": categories([first, *[usual] * 5, 2])}), unknown="other", **how)
    assert odd.codes[1:].tolist() == plain.codes.tolist()
    assert odd.codes[0] == odd.codes[1]
    assert odd.domain.attributes[0].values[int(odd.codes[0, 0])] != "other"


@pytest.mark.parametrize(
    ("first", "usual", "item"),
    [
        *((one, 1, "1") for one in EQUAL),
        (np.bytes_(b"milk"), b"milk", "milk"),
        (np.float32(0.1), float(np.float32(0.1)), "0.10000000149011612"),
        (float(np.float32(0.1)), np.float32(0.1), "0.10000000149011612"),
        (pd.Interval(0.0, 1.0), pd.Interval(0, 1), "(0, 1]"),
        (pd.Interval(0, 1), pd.Interval(0.0, 1.0), "(0, 1]"),
        (np.float32(0.5), 0.5, "0.5"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("beside", [[], ["z"]], ids=["alone", "beside text"])
def test_of_equal_items_the_first_decides_nothing(first: Any, usual: Any, item: str, beside: list[str]) -> None:
    """Neither in a column of categories, nor in records that are restricted to a vocabulary afterwards."""
    if isinstance(first, pd.Interval | np.longdouble):
        beside = ["z"]  # alone, bins have the type of their ends, and pandas makes no categories of long doubles
    with_it = items_of(categories([first, *[usual] * 3, *beside]), [item])
    without = items_of(categories([*[usual] * 3, *beside]), [item])
    assert with_it == [(item,)] * 4 + [()] * len(beside)
    assert without == with_it[1:]
    table = Table.from_frame(
        pd.DataFrame({"a": categories([first, *[usual] * 3, *beside])}), unknown="other", values={"a": [item, "y"]}
    )
    assert table.codes[:, 0].tolist() == [0] * 4 + [2] * len(beside)


@pytest.mark.parametrize("first", EQUAL, ids=repr)
def test_of_equal_labels_the_first_decides_nothing_under_a_vocabulary(first: Any) -> None:
    pytest.importorskip("opendp")
    release = bk.curator.mine(
        Baskets([[first], *[[1, "a"]] * 500]), 1e5, 0.3, vocabulary=["1", "a"], method="truncation"
    )
    assert frozenset({"1"}) in {itemset for itemset, _ in release}


def test_values_that_would_be_one_once_they_are_read_are_refused() -> None:
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(ParameterError, match="two values of 'a' that are written alike"):
        Table.from_frame(frame, values={"a": ["1", "True"]}, unknown="other")
    together = Table.from_frame(frame, values={"a": {"yes": ["1", "True"], "no": ["0"]}}, unknown="other")
    assert together.codes.tolist() == [[0]]


def halves(*parts: list[float]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(np.array(part, np.float16)).dictionary_encode() for part in parts])


@pytest.mark.parametrize("as_frame", [pa.Table.to_pandas, lambda table: table], ids=["pandas", "arrow"])
@pytest.mark.parametrize("declared", [True, False])
def test_half_precision_in_chunks_of_different_dictionaries(as_frame: Any, declared: bool) -> None:
    """Arrow puts such dictionaries together by their bits: 1 became 15360 for everybody, for one value more."""
    how: dict[str, Any] = {"types_mapper": pd.ArrowDtype} if as_frame is pa.Table.to_pandas else {}
    column = halves([1, 2], [1, 2, 3])
    frame = as_frame(pa.table({"record": range(5), "item": column}), **how)
    items: dict[str, Any] = {"items": [1, 2], "unknown": "drop"} if declared else {}
    assert list(Baskets.from_frame(frame, layout="long", **items))[:4] == [(1,), (2,), (1,), (2,)]
    values: dict[str, Any] = {"values": {"a": ["1", "2"]}, "unknown": "other"} if declared else {}
    table = Table.from_frame(as_frame(pa.table({"a": column}), **how), **values)
    assert table.codes[:, 0].tolist() == [0, 1, 0, 1, 2]
    lists = pa.chunked_array(
        [pa.ListArray.from_arrays(pa.array([0, *range(1, len(chunk) + 1)]), chunk) for chunk in column.chunks]
    )
    found = Baskets.from_frame(as_frame(pa.table({"item": lists}), **how), layout="list", **items)
    assert list(found)[:4] == [(1,), (2,), (1,), (2,)]


@pytest.mark.parametrize("kind", [pa.date32(), pa.duration("s"), pa.timestamp("s")], ids=str)
@pytest.mark.parametrize("last", [0, 2**31 - 1])
def test_dates_that_a_dictionary_codes_are_refused_by_their_type(kind: pa.DataType, last: int) -> None:
    width = pa.int32() if kind == pa.date32() else pa.int64()
    days = pa.array([18262, last], width).cast(kind).dictionary_encode()
    for frame in (pa.table({"record": [1, 2], "item": days}), pa.table({"2020-01-01": days})):
        with pytest.raises(DataError, match="whose type is"):
            Baskets.from_frame(frame, items=["2020-01-01"], unknown="drop")
