"""Columns from pandas, polars and Arrow frames, by way of narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from bosket.data.columns import Column, Columns
from bosket.data.sources import Source
from bosket.errors import DataError

FRAME = Source("the frame")


def columns_of(frame: Any) -> Columns:
    """The columns of any frame that narwhals knows; a lazy one is collected."""
    fault = None
    try:
        known = nw.from_native(frame)
    except TypeError:
        fault = f"A frame must come from pandas, polars or Arrow, got {type(frame).__name__}."
    except DuplicateError:
        fault = "The frame must not give two columns the same name."
    if fault is not None:
        raise DataError(fault)
    collected = known.collect() if isinstance(known, nw.LazyFrame) else known
    values = tuple(_column(series) for series in collected.iter_columns())
    return Columns(tuple(collected.columns), values, FRAME)


def _column(series: nw.Series[Any]) -> Column:
    """The column as Arrow, else as a list: mixed types, sparse pandas columns, polars objects."""
    if series.dtype == nw.Object and series.implementation.is_polars():
        return series.to_list()
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        values = series.to_numpy()
    return values.tolist() if values.dtype == object else pa.array(values)
