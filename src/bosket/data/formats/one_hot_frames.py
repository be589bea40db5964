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

from bosket.data.baskets.rows import Csr, canonical, plain
from bosket.data.domain import Domain


def truth_values(frame: Any) -> Csr | None:
    """The records of a frame of truth values; None for any other frame."""
    if not isinstance(frame, pd.DataFrame) or not len(frame.columns) or not frame.columns.is_unique:
        return None
    kinds = set(frame.dtypes)
    if kinds == {np.dtype(bool)}:
        items, rows = _dense(frame.to_numpy())
    elif all(isinstance(kind, pd.SparseDtype) for kind in kinds):
        found = _sparse(frame)
        if found is None:
            return None
        items, rows = found
    else:
        return None
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(frame)))]).astype(np.int64)
    domain = Domain([plain(name) for name in frame.columns], is_declared=False)
    return canonical(indptr, items[order].astype(np.int32), domain)


TruePlaces = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Items and rows of what is true."""


def _dense(cells: npt.NDArray[np.bool_]) -> TruePlaces:
    if cells.flags.c_contiguous:
        rows, items = np.divmod(np.flatnonzero(cells.ravel()), cells.shape[1])
    else:
        items, rows = np.divmod(np.flatnonzero(np.ascontiguousarray(cells.T).ravel()), max(1, len(cells)))
    return items, rows


def _sparse(frame: pd.DataFrame) -> TruePlaces | None:
    """None unless all values are 0 and 1, or false and true, and what is left out is 0."""
    if any(kind.kind not in "biuf" or kind.fill_value != 0 for kind in set(frame.dtypes)):
        return None
    accessor: Any = frame.sparse
    found = accessor.to_coo()
    present = found.data != 0
    if not (found.data[present] == 1).all():
        return None
    return found.col[present].astype(np.int64), found.row[present].astype(np.int64)
