"""The categories of a pandas column, each looked at by itself.

Arrow gives all categories of a column one type, by what they are together: one category more can change what the others
become, and a few mixtures of NumPy's values end the process.  So categories of mixed kinds never reach Arrow.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from bosket.data.baskets.rows import Offsets


def is_categorical(native: Any) -> TypeGuard[pd.Series[Any]]:
    """Whether a column is one of pandas whose type lists its values."""
    return isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype)


def values_of(native: pd.Series[Any]) -> list[Any]:
    """The categories, bins (``pandas.cut``) as text; in a column of numbers of few bits their type says the digits."""
    index = native.cat.categories
    values = index.to_numpy() if isinstance(index.dtype, np.dtype) and index.dtype.kind == "f" else index
    if index.dtype == object:  # of equal values pandas keeps the one that it saw first, whatever its type
        return list(map(_whatever_its_type, values))
    return [str(value) if type(value) is pd.Interval else value for value in values]


def _whatever_its_type(value: Any) -> Any:
    """What equal values have in common: a number of few bits as the double it is, bins with whole ends as such."""
    if isinstance(value, np.float16 | np.float32):
        return float(value)
    if type(value) is not pd.Interval:
        return value
    left, right = value.left, value.right
    if isinstance(left, float | int | np.number) and float(left).is_integer() and float(right).is_integer():
        left, right = int(left), int(right)
    elif isinstance(left, float | int | np.number):
        left, right = float(left), float(right)
    return str(pd.Interval(left, right, value.closed))


def codes_of(native: pd.Series[Any]) -> Offsets:
    """The place of the category of each cell, -1 where it is missing."""
    codes: Offsets = native.cat.codes.to_numpy().astype(np.int64)
    return codes


def cells_of(native: pd.Series[Any]) -> list[Any]:
    """The category of each cell, None where it is missing."""
    values = [*values_of(native), None]
    return [values[code] for code in codes_of(native).tolist()]
