"""The categories of a pandas column, each looked at by itself.

Arrow gives all categories of a column one type, by what they are together: one category more can change what the others
become, and a few mixtures of NumPy's values end the process.  So categories of mixed kinds never reach Arrow.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from bosket.data.csr import Offsets


def is_categorical(native: Any) -> TypeGuard[pd.Series[Any]]:
    """Whether a column is one of pandas whose type lists its values."""
    return isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype)


def values_of(native: pd.Series[Any]) -> list[Any]:
    """The categories, bins (``pandas.cut``) as text; numbers of few bits keep their type, which says their digits."""
    index = native.cat.categories
    values = index.to_numpy() if isinstance(index.dtype, np.dtype) and index.dtype.kind == "f" else index
    return [str(value) if type(value) is pd.Interval else value for value in values]


def codes_of(native: pd.Series[Any]) -> Offsets:
    """The place of the category of each cell, -1 where it is missing."""
    codes: Offsets = native.cat.codes.to_numpy().astype(np.int64)
    return codes


def cells_of(native: pd.Series[Any]) -> list[Any]:
    """The category of each cell, None where it is missing."""
    values = [*values_of(native), None]
    return [values[code] for code in codes_of(native).tolist()]
