"""The categories of a pandas column, each looked at by itself.

Arrow gives all categories of a column one type, by what they are together: one category more can change what the others
become, and a few mixtures of NumPy's values end the process.  So categories of mixed kinds never reach Arrow.

pandas does the same: of equal values it keeps the one that it saw first, and the categories of a column of objects get
one type where they can.  Whole numbers and numbers of few bits are doubles then, and so are the ends of bins.  What a
category stands for under a declaration must not hang on that, so it follows from its value alone (:func:`meanings_of`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from itertools import product
from numbers import Number
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from bosket.data.baskets.rows import Offsets, plain
from bosket.data.formats.arrow_cells import inside
from bosket.data.formats.lookup import Ways
from bosket.data.formats.one_by_one import cells_in
from bosket.errors import ParameterError

_ROUNDED = 2**53
"""Whole numbers from here on are not all doubles."""


def is_categorical(native: Any) -> TypeGuard[pd.Series[Any]]:
    """Whether a column is one of pandas whose type lists its values."""
    return isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype)


def labels_of(native: pd.Series[Any]) -> list[Any]:
    """The categories, where nothing is declared; bins (``pandas.cut``) as the text that pandas shows."""
    return list(map(_label, native.cat.categories))


def _label(value: Any) -> Any:
    if isinstance(value, np.float16 | np.float32):
        return float(value)
    with suppress(ValueError):  # ends of thousands of digits
        return str(value) if type(value) is pd.Interval else value
    return value


def meanings_of(native: pd.Series[Any]) -> list[Any]:
    """The categories under a declaration: equal ones are one meaning, whatever their types; None for no value.

    Numbers are doubles, where there is one that equals them.  One that has few bits (float32) may also be declared by
    its digits, and a bin by its text, with or without the ``.0`` of whole ends.  Numbers of 2^53 and more stand for
    nothing that is declared: pandas may have rounded them.
    """
    return list(map(_meaning, cells_in(native.cat.categories)))


def _meaning(value: Any) -> Any:
    """No code of the class of text, bytes and common numbers is run; an error of any other means no value."""
    kind = type(value)
    if kind is str:
        return value
    try:
        if issubclass(kind, str):
            return str.__str__(value)
        if issubclass(kind, bytes):
            return bytes.decode(value)
        if issubclass(kind, pd.Interval):
            return _bin(value)
        is_number = issubclass(kind, Number) and not issubclass(kind, np.timedelta64)
        return _number(value) if is_number else plain(value)
    except Exception:  # noqa: BLE001  # of somebody else's object, and of bytes that are no text
        return None


def _number(value: Any) -> Any:
    if issubclass(type(value), complex | np.complexfloating):
        if value.imag != 0:
            return value
        value = value.real
    value = _as_pythons(value)
    if abs(value) >= _ROUNDED:
        return Ways(value, ())
    if type(value) is int or float(value) != value:
        return value
    digits = _digits(float(value))
    return float(value) if digits == value else Ways(float(value), (float(value), digits))


def _as_pythons(value: Any) -> Any:
    """A whole number as an integer of Python's, one of floating point as a double; any other as it is."""
    kind = type(value)
    if issubclass(kind, int):
        return int.__int__(value)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, np.longdouble):
        return np.longdouble.__float__(value)
    return np.generic.item(value) if issubclass(kind, np.generic) else value


def _digits(value: float) -> float:
    """A double that a number of 32 bits equals, and that is not whole, by the fewest digits that tell that number."""
    narrow = np.float32(value)
    return float(str(narrow)) if float(narrow) == value and not value.is_integer() else value


def _bin(value: pd.Interval[Any]) -> Ways:
    first = "[" if value.closed in ("left", "both") else "("
    last = "]" if value.closed in ("right", "both") else ")"
    ways = tuple(f"{first}{left}, {right}{last}" for left, right in product(_ends(value.left), _ends(value.right)))
    return Ways(ways[0] if ways else f"{first}{value.left}, {value.right}{last}", ways)


def _ends(end: Any) -> list[str]:
    """How the end of a bin may be written: times with a zone by those of UTC, since all zones have equal times."""
    if isinstance(end, pd.Timestamp | pd.Timedelta):
        return [str(end if isinstance(end, pd.Timedelta) or end.tzinfo is None else end.tz_convert("UTC"))]
    number = float(end)
    if np.isinf(number):
        return [str(number)]
    if abs(number) >= _ROUNDED:
        return []
    return [str(int(number)), str(float(int(number)))] if number.is_integer() else [str(number), str(_digits(number))]


def check_declared(labels: Iterable[Hashable], *, parameter: str) -> None:
    """Refuse numbers that a column of categories cannot stand for, by the declaration and the type of the column."""
    for label in map(plain, labels):
        if isinstance(label, int | float) and abs(label) >= _ROUNDED:
            raise ParameterError(
                f"The '{parameter}' parameter must name numbers below 2^53 where a column of categories is read.",
                parameter=parameter,
                value=label,
                hint="pandas rounds larger ones if one category is not whole. Make text of them in column and "
                "declaration, or read a column without categories.",
            )


def has_codes_beyond(native: pd.Series[Any]) -> bool:
    """Whether a cell has a code that is no place of a category, nor that of a missing cell."""
    codes = native.cat.codes.to_numpy()
    return bool(codes.size) and not -1 <= int(codes.min()) <= int(codes.max()) < len(native.cat.categories)


def codes_of(native: pd.Series[Any]) -> Offsets:
    """The place of the category of each cell, -1 where it is missing, or has none: pandas need not have looked."""
    codes: Offsets = native.cat.codes.to_numpy().astype(np.int64)
    return inside(codes, len(native.cat.categories))


def cells_of(native: pd.Series[Any]) -> list[Any]:
    """The category of each cell, None where it is missing."""
    values = [*labels_of(native), None]
    return [values[code] for code in codes_of(native).tolist()]
