"""Columns of categories (pandas): each category is looked at by itself, and Arrow never sees mixed ones."""

from __future__ import annotations

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
        bk.curator.mine(data, 1.0, 0.1)
    assert caught.value.parameter == "vocabulary"
    assert "Xq7" not in str(caught.value)
    release = bk.curator.mine(data, 1000.0, 0.1, vocabulary=ITEMS)
    assert release.domain.labels == tuple(ITEMS)
    assert "e^1000 times" in release.guarantee  # beyond floating-point numbers; it was an OverflowError


def test_the_card_says_that_items_are_categories() -> None:
    frame = pd.DataFrame({"record": range(20), "item": categories(WORDS)})
    domain = Baskets.from_frame(frame).domain
    assert "categories of a column" in str(bk.Plan(domain, bk.Flip(keep=0.9)).guarantee.assumptions)
    again = Domain.from_json(domain.to_json())
    assert (again, again.is_declared) == (domain, False)
    assert Domain(ITEMS).to_json() == {"kind": "items", "items": ITEMS, "declared": True}
