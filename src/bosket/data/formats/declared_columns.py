"""Columns of frames under a declaration: what is in them, and how they are read, follows from their types.

Columns of Arrow's own, and of types all cells of which Arrow has, are read as Arrow, chunk by chunk.  The cells of
others (Python objects, sparse columns, whole numbers of 128 bits) are looked at one by one.  Which of the two it is
follows from the type, and nothing that a cell holds leads from one to the other.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from bosket.data.baskets.rows import Offsets
from bosket.data.formats import categories
from bosket.data.formats.columns import is_absent
from bosket.data.formats.declared_types import bare, element, is_item
from bosket.data.formats.declared_values import values_of
from bosket.data.formats.list_cells import most_cells
from bosket.data.formats.one_by_one import cells_in

ColumnKind: TypeAlias = Literal["objects", "categories", "lists", "values", "other"]
"""What the type of a column says: anything, one of some values of any kind (pandas), lists of text or numbers, text or
numbers, or what cannot be items."""

_KEPT_BY_ARROW = (
    *(pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype),
    *(pd.UInt8Dtype, pd.UInt16Dtype, pd.UInt32Dtype, pd.UInt64Dtype),
    *(pd.Float32Dtype, pd.Float64Dtype, pd.BooleanDtype, pd.DatetimeTZDtype),
)
"""Types of pandas' own that Arrow has too; NumPy's are told by their letters."""


def arrow_type(series: nw.Series[Any]) -> Any:
    """The Arrow type that a column is read in, None for one whose cells are looked at one by one."""
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return native.type
    if isinstance(native, pd.Series):
        if _is_backed(native.dtype):
            return native.array.__arrow_array__().type  # type: ignore[attr-defined]  # the protocol of Arrow
        if not _is_kept(native.dtype):
            return None
    if series.dtype == nw.Object:
        return None
    try:
        return series.head(0).to_arrow().type
    except (pa.ArrowException, TypeError, ValueError):  # of a type, without a cell: Arrow has not all of polars'
        return None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # polars', of lists of decimals that came from narrow ones
            raise
        return None


def arrow_column(series: nw.Series[Any]) -> Any:
    """The column as Arrow, of a type that :func:`arrow_type` tells."""
    native = series.to_native()
    if isinstance(native, pd.Series) and _is_backed(native.dtype):
        return native.array.__arrow_array__()  # type: ignore[attr-defined]  # the protocol of Arrow
    return native if isinstance(native, pa.ChunkedArray) else series.to_arrow()


def _is_backed(dtype: Any) -> bool:
    """Whether a column of pandas is one of Arrow's within."""
    is_text = isinstance(dtype, pd.StringDtype) and dtype.storage != "python"
    return is_text or isinstance(dtype, pd.ArrowDtype)


def _is_kept(dtype: Any) -> bool:
    """Whether Arrow has a type for all cells of a column of pandas, by its type; text of Python's need not be text."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "biuMm" or (dtype.kind == "f" and dtype.itemsize <= 8)
    return isinstance(dtype, _KEPT_BY_ARROW)


def kind_of(series: nw.Series[Any]) -> ColumnKind:
    """What a column may hold, by its type."""
    native = series.to_native()
    if isinstance(native, pd.Series) and native.dtype == object:  # narwhals would look at the cells
        return "objects"
    if categories.is_categorical(native):
        return "categories"
    kind = arrow_type(series)
    if kind is None:
        return _kind_without_arrow(series)
    if pa.types.is_null(kind):  # nothing, which may be in the place of values and of lists
        return "objects"
    within = element(kind)
    if within is not None:
        return "lists" if is_item(within) else "other"
    return "values" if is_item(bare(kind)) else "other"


def _kind_without_arrow(series: nw.Series[Any]) -> ColumnKind:
    """Of bins and periods of pandas, text of Python's, sparse columns, and types of polars that Arrow has not."""
    native, kind = series.to_native(), series.dtype
    if isinstance(native, pd.Series):
        if isinstance(native.dtype, pd.IntervalDtype | pd.PeriodDtype):
            return "other"
        return "values" if isinstance(native.dtype, pd.StringDtype) else "objects"
    if kind == nw.Object:
        return "objects"
    if isinstance(kind, nw.List | nw.Array):
        return "lists" if _is_number(kind.inner) else "other"
    return "values" if _is_number(kind) else "other"


def _is_number(kind: Any) -> bool:
    return bool(kind.is_numeric()) and kind != nw.Decimal


def cells_of(series: nw.Series[Any], kind: ColumnKind) -> tuple[Offsets, list[Any]]:
    """A code for each cell, -1 where it is missing, and the values coded; those of objects are not compared."""
    if kind == "categories":
        native = series.to_native()
        return categories.codes_of(native), categories.meanings_of(native)
    if kind == "values" and arrow_type(series) is not None:
        return values_of(arrow_column(series))
    cells = objects_of(series)
    codes = [-1 if _is_missing(cell) else at for at, cell in enumerate(cells)]
    return np.array(codes, np.int64), cells


def without_rest(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column of which the lists of polars that Arrow has not are cut, before each of their cells is an object."""
    if not isinstance(series.dtype, nw.List):
        return series
    return nw.from_native(series.to_native().list.head(most_cells()), series_only=True)


def objects_of(series: nw.Series[Any]) -> list[Any]:
    """The cells of a column as Python's objects."""
    native = series.to_native()
    return cells_in(native.array) if isinstance(native, pd.Series) else series.to_list()


def _is_missing(cell: object) -> bool:
    try:
        return is_absent(cell)
    except Exception:  # noqa: BLE001  # a comparison of somebody else's object
        return False
