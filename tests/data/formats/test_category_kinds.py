"""Columns of categories (pandas): what one stands for under a declaration follows from its value alone.

pandas finds one type for all categories of a column of objects where it can, and keeps the first of equal ones.  So for
every pair of kinds of values: one record of the other kind changes nothing about what the first stands for.
"""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bosket.data import Baskets, Table
from bosket.errors import ParameterError

LARGE = 2**53 + 1
"""The first whole number that is no double."""
FEW_BITS = float(np.float32(0.3))

COMMON: dict[str, Any] = {
    "int": 1,
    "large int": LARGE,
    "int beyond 64 bits": 10**30,
    "float": 0.1,
    "whole float": 2.0,
    "float32": np.float32(0.3),
    "bool": True,
    "text": "x",
    "bytes": b"z",
    "complex": 5 + 0j,
    "time": pd.Timestamp("2020-01-03"),
    "duration": pd.Timedelta(1),
    "period": pd.Period("2020", "Y"),
    "bin": pd.Interval(0, 1),
    "bin of floats": pd.Interval(0.5, 1.5),
    "Decimal": Decimal("0.5"),
}
OTHERS: dict[str, Any] = {
    "zero": 0,
    "minus zero": -0.0,
    "largest double of whole numbers": 2.0**53,
    "below it": 2**53 - 1,
    "int64": 2**63 - 1,
    "least int64": -(2**63),
    "uint64": 2**63 + 5,
    "int8": np.int8(3),
    "uint64 of NumPy": np.uint64(2**60 + 1),
    "float16": np.float16(0.7),
    "longdouble": np.longdouble("0.2"),
    "longdouble without end": np.longdouble("1e4000"),
    "infinity": float("inf"),
    "least double": 5e-324,
    "float32 as a double": FEW_BITS,
    "whole float32": np.float32(2**24),
    "false": np.False_,
    "text of NumPy": np.str_("y"),
    "bytes of NumPy": np.bytes_(b"w"),
    "bytes that are no text": b"\xff",
    "imaginary": 1j,
    "complex64": np.complex64(0.3),
    "datetime": dt.datetime(2020, 1, 1),
    "date": dt.date(2020, 1, 2),
    "time with a zone": pd.Timestamp("2020", tz="UTC"),
    "time of NumPy": np.datetime64("2021-01-01"),
    "time far away": np.datetime64(10**12, "s"),
    "timedelta": dt.timedelta(3),
    "duration of NumPy": np.timedelta64(5, "s"),
    "month": pd.Period("2020-01", "M"),
    "whole bin of floats": pd.Interval(2.0, 3.0),
    "bin of few bits": pd.Interval(np.float32(0.1), np.float32(0.2)),
    "bin closed left": pd.Interval(3, 4, "left"),
    "bin of times": pd.Interval(pd.Timestamp(0), pd.Timestamp(1)),
    "bin of durations": pd.Interval(pd.Timedelta(0), pd.Timedelta(5)),
    "large bin": pd.Interval(LARGE, LARGE + 2),
    "bin without end": pd.Interval(0.0, float("inf")),
    "very large bin": pd.Interval(10**400, 10**401),
    "equal Decimal": Decimal(FEW_BITS),
    "large Decimal": Decimal(LARGE),
    "Fraction": Fraction(1, 3),
    "tuple": (1, 2),
    "frozenset": frozenset({3}),
}
EVERY = {**COMMON, **OTHERS}
ITEMS: list[Any] = [
    0, 1, 2, 3, 5, 16777216, 0.1, 0.2, 0.3, 0.5, 0.7, 5e-324, "x", "y", "z", "w", "(0, 1]", "(0.5, 1.5]", "(2, 3]",
    "(0.1, 0.2]", "[3, 4)", "(0, inf]", "(1970-01-01 00:00:00, 1970-01-01 00:00:00.000000001]", "(0.0, 5.0]",
    "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775807",
    "9223372036854775808", "9223372036854775813", "1152921504606846977",
    "1152921504606846976", "1000000000000000000000000000000", "(9007199254740993, 9007199254740995]",
    "(9007199254740992.0, 9007199254740996.0]", (1, 2), pd.Timestamp("2020-01-03"), pd.Timestamp("2021-01-01"),
    pd.Timedelta(1), pd.Timedelta("3D"), pd.Period("2020", "Y"),
]  # fmt: skip
VALUES = [item for item in ITEMS if isinstance(item, str | int | float)]


def objects(values: list[Any]) -> Any:
    cells = np.empty(len(values), object)
    for at, value in enumerate(values):
        cells[at] = value
    return pd.Series(cells)


def categories(values: list[Any]) -> Any | None:
    """None where pandas itself refuses the mixture."""
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # of pandas
            return objects(values).astype("category")
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return None


def readings(column: Any) -> list[tuple[Any, ...]]:
    """What each cell stands for: as an item, as a value of a table, as a number of one, and as a sign of presence."""
    frame = pd.DataFrame({"record": range(len(column)), "item": column})
    items = Baskets.from_frame(frame, items=ITEMS, unknown="drop", layout="long")
    how: dict[str, Any] = {"missing": {"item": "gone"}, "unknown": "other"}
    values = Table.from_frame(frame[["item"]], values={"item": VALUES}, **how).codes[:, 0]
    numbers = Table.from_frame(frame[["item"]], bins={"item": [0, 0.1, 0.5, 1, 2, 2.0**53, 2.0**60]}, **how).codes[:, 0]
    signs = Baskets.from_frame(pd.DataFrame({1: column}), items=[1], unknown="drop", layout="one-hot")
    return list(zip(items, values.tolist(), numbers.tolist(), signs, strict=True))


def check_pairs(kinds: list[str]) -> None:
    """The first kind with each of the others, in both orders, with and without text: each cell is read as alone."""
    first = kinds[0]
    for other in kinds[1:]:
        for at, order in enumerate([(first, other), (other, first)]):
            column = categories([*(EVERY[kind] for kind in order), *["another"][:at]])
            if column is not None:
                found = readings(column)
                assert found[:2] == [alone(kind, found[cell]) for cell, kind in enumerate(order)], order


@cache
def _alone(kind: str) -> tuple[Any, ...] | None:
    column = categories([EVERY[kind]])
    return None if column is None else readings(column)[0]


def alone(kind: str, otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a cell of this kind stands for in a column of its own, where pandas makes one."""
    found = _alone(kind)
    return otherwise if found is None else found


def test_one_record_changes_nothing_about_others() -> None:
    few = ["int", "large int", "float", "float32", "bin", "bin of floats"]
    for at in range(len(few)):
        check_pairs(few[at:])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*COMMON, *OTHERS])
def test_one_record_of_any_kind_changes_nothing_about_others(kind: str) -> None:
    check_pairs(list(EVERY)[list(EVERY).index(kind) :])


def partition(column: Any, n_records: int) -> list[tuple[int, ...]]:
    """Which rows are of one record, of the first so many rows."""
    frame = pd.DataFrame({"record": column, "item": range(len(column))})
    records = Baskets.from_frame(frame, items=range(len(column)), unknown="drop", layout="long")
    ends = records.indptr.tolist()
    parts = [records.indices[start:stop].tolist() for start, stop in pairwise(ends)]
    few = [tuple(row for row in part if row < n_records) for part in parts]
    return sorted(part for part in few if part)


@pytest.mark.parametrize("kind", ["int", "float32", "text", "bin"])
def test_names_of_records_are_told_apart_whatever_others_are(kind: str) -> None:
    check_names(kind, COMMON)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*COMMON, *OTHERS])
def test_names_of_any_kind_are_told_apart_whatever_others_are(kind: str) -> None:
    check_names(kind, EVERY)


def check_names(kind: str, others: dict[str, Any]) -> None:
    """A name that comes twice and one of another kind, with one of any kind beside them."""
    name = EVERY[kind]
    for other, odd in others.items():
        for names in ([name, 77, name], [name, 0.25, name], [name, "another", name]):
            column = categories([*names, odd])
            if column is not None:
                assert partition(column, 3) == [(0, 2), (1,)], (kind, other)


BINS = pd.Series(pd.cut(np.tile([0.5, 1.5], 250), [0.0, 1.0, 2.0])).astype(object)


@pytest.mark.parametrize("declared", [["(0.0, 1.0]", "(1.0, 2.0]"], ["(0, 1]", "(1, 2]"]], ids=str)
@pytest.mark.parametrize("odd", [["unknown"], [pd.Interval(0.5, 1.5)], [pd.Interval(3, 4)]])
def test_bins_are_found_however_their_ends_are_written(declared: list[str], odd: list[Any]) -> None:
    """One record more emptied the release."""
    column: Any = pd.concat([BINS, objects(odd)], ignore_index=True).astype("category")
    frame = pd.DataFrame({"record": range(len(column)), "item": column})
    data = Baskets.from_frame(frame, items=[*declared, "unknown"], unknown="drop")
    assert data.item_counts()[:2].tolist() == [250, 250]
    table = Table.from_frame(frame[["item"]], values={"item": declared}, unknown="other")
    assert table.codes[:500, 0].tolist() == [0, 1] * 250


@pytest.mark.parametrize("odd", ["x", 1, 0.5, np.float32(0.5), Decimal("0.5"), None])
def test_numbers_of_few_bits_are_found_by_their_digits(odd: Any) -> None:
    column = categories([np.float32(0.1), np.float32(0.2), odd])
    assert [first for first, *_ in readings(column)[:2]] == [(0.1,), (0.2,)]


def test_whole_numbers_are_no_others_for_their_few_digits() -> None:
    """123456792 is a number of 32 bits, and the one nearest to 123456790."""
    column = pd.Series([123456792, 5]).astype("category")
    frame = pd.DataFrame({"record": [1, 2], "item": column})
    assert list(Baskets.from_frame(frame, items=[123456790, 5], unknown="drop")) == [(), (5,)]


def test_equal_bins_of_two_zones_are_one() -> None:
    """pandas keeps the one that it saw first."""
    here = pd.Interval(pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-02", tz="UTC"))
    there = pd.Interval(here.left.tz_convert("Asia/Tokyo"), here.right.tz_convert("Asia/Tokyo"))
    frame = pd.DataFrame({"record": range(3), "item": categories([there, here, "x"])})
    text = "(2020-01-01 00:00:00+00:00, 2020-01-02 00:00:00+00:00]"
    assert list(Baskets.from_frame(frame, items=[text, "x"], unknown="drop")) == [(text,), (text,), ("x",)]


@pytest.mark.parametrize("number", [2**53, -LARGE, 1e300, float("inf"), np.int64(LARGE)], ids=repr)
def test_declared_numbers_that_pandas_rounds_are_refused(number: Any) -> None:
    """By the declaration and the type of the column, whatever the records are."""
    frame = pd.DataFrame({"record": [1], "item": categories(["x"])})
    with pytest.raises(ParameterError, match="below 2\\^53") as caught:
        Baskets.from_frame(frame, items=["x", number], unknown="drop")
    assert (caught.value.parameter, caught.value.value) == ("items", number)
    with pytest.raises(ParameterError, match="below 2\\^53"):
        Table.from_frame(frame[["item"]], values={"item": ["x", number]}, unknown="other")
    plain = pd.DataFrame({"record": [1], "item": objects([number])})
    assert list(Baskets.from_frame(plain, items=["x", number], unknown="drop", layout="long")) == [(number,)]


class Bytes(bytes):
    def __bytes__(self) -> bytes:
        raise ValueError("an error of its own")


class Double(float):
    def __float__(self) -> float:
        raise ValueError("an error of its own")


@pytest.mark.parametrize(
    "odd",
    [pd.Interval(10**400, 10**401), pd.Interval(10**5000, 10**5001), Bytes(b"z"), Double(0.5)],
    ids=["bin", "bin of many digits", "bytes", "number"],
)
def test_no_category_makes_an_error_of_its_own(odd: Any) -> None:
    """Neither as an item, nor as a value, nor as a name; equal ones stay what they are, though pandas keeps the odd."""
    found = readings(categories([odd, "x", b"z", 0.5]))
    assert [first for first, *_ in found[1:]] == [("x",), ("z",), (0.5,)]
    frame = pd.DataFrame({"record": categories([odd, "x", "y"]), "item": ["x", "y", "x"]})
    assert list(Baskets.from_frame(frame, items=["x", "y"], unknown="drop")) == [("x",), ("y",), ("x",)]
