"""Pandas frames of truth values as records, all columns at once.

A frame of thousands of columns takes seconds to go through column by column.  Where all columns hold truth values, or
all are sparse with nothing but 0 and 1, their memory is looked through as one piece; every other frame goes the usual
way, which gives the same records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.data.baskets.rows import Csr, from_pairs, plain
from bosket.data.domain import Domain


def truth_values(frame: Any) -> Csr | None:
    """The records of a frame of truth values; None for any other frame."""
    if not isinstance(frame, pd.DataFrame) or not len(frame.columns) or not frame.columns.is_unique:
        return None
    kinds = _kinds(frame)
    if all(isinstance(kind, np.dtype) and kind == np.dtype(bool) for kind in kinds):
        places: TruePlaces | None = _dense(frame.to_numpy())
    elif all(isinstance(kind, pd.SparseDtype) for kind in kinds):
        places = _sparse(frame, kinds)
    else:
        return None
    if places is None:
        return None
    rows, items = places
    domain = Domain([plain(name) for name in frame.columns], is_declared=False)
    return from_pairs(np.asarray(rows, np.int64), np.asarray(items, np.int32), len(frame), domain)


TruePlaces = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]
"""Rows and items of what is true."""


def _kinds(frame: pd.DataFrame) -> list[Any]:
    """The types of the columns, each object once: pandas takes as long to hash one as to read a column."""
    return list({id(kind): kind for kind in frame.dtypes}.values())


def _dense(cells: npt.NDArray[np.bool_]) -> TruePlaces:
    if cells.flags.c_contiguous:
        rows, items = np.divmod(np.flatnonzero(cells.ravel()), cells.shape[1])
    else:
        items, rows = np.divmod(np.flatnonzero(np.ascontiguousarray(cells.T).ravel()), max(1, len(cells)))
    return rows, items


def _sparse(frame: pd.DataFrame, kinds: list[Any]) -> TruePlaces | None:
    """None unless all values are 0 and 1, or false and true, and what is left out is 0."""
    if any(kind.kind not in "biuf" or kind.fill_value != 0 for kind in kinds):
        return None
    accessor: Any = frame.sparse
    found = accessor.to_coo()
    present = found.data != 0
    if not (found.data[present] == 1).all():
        return None
    return found.row[present], found.col[present]
