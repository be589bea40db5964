"""Columns from pandas, polars and Arrow frames, by way of narwhals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from bosket.data.baskets.rows import plain
from bosket.data.formats import categories
from bosket.data.formats.arrow_cells import has_codes_beyond, is_sound
from bosket.data.formats.columns import Column, Columns, guarded, whole, without_half_codes
from bosket.data.formats.sources import Source
from bosket.errors import DataError

FRAME = Source("the frame")
_KEPT_BY_ARROW = {str, bytes, bool, int, float, dt.date, np.bool_, np.str_, np.int64, np.float64}


def is_frame(value: object) -> bool:
    """Whether this is a frame that :func:`columns_of` can read."""
    known = nw.from_native(value, pass_through=True)
    return isinstance(known, nw.DataFrame | nw.LazyFrame)


def columns_of(frame: Any) -> Columns:
    """The columns of any frame that narwhals knows; a lazy one is collected."""
    known = collected(frame)
    columns = list(known.iter_columns())
    for series in columns:
        check_codes(series)
    known_of = {at: names for at, series in enumerate(columns) if (names := _categories(series)) is not None}
    return Columns(tuple(known.columns), tuple(map(_column, columns)), FRAME, known_of)


def collected(frame: Any, *, is_strict: bool = True) -> nw.DataFrame[Any]:
    """The frame as narwhals knows it, with columns of different names.

    A lazy frame is collected, and what goes wrong is told in our words: errors of polars quote cells.  Unless
    ``is_strict``, a lazy frame is refused, since one cell may decide whether it can be collected.
    """
    fault = None
    try:
        known: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except TypeError:
        fault = f"A frame must come from pandas, polars or Arrow, got {type(frame).__name__}."
    except DuplicateError:
        fault = "The frame must not give two columns the same name."
    if fault is not None:
        raise DataError(fault)
    if not isinstance(known, nw.LazyFrame):
        return known
    if not is_strict:
        raise DataError(
            f"A frame must be collected before it is read so that no record is refused, got {type(frame).__name__}.",
            hint="Call collect() first; what it makes of a file is decided there, by all rows together.",
        )
    try:
        return known.collect()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # whatever the query does; what it quotes stays here
        pass
    raise DataError("The lazy frame cannot be collected.", hint="Call collect() to see why.")


def _categories(series: nw.Series[Any]) -> tuple[Hashable, ...] | None:
    """What a column may hold, where that is declared: the categories of pandas, and of an Enum of polars.

    The dictionaries of Arrow and the Categorical of polars are made of what occurs, and declare nothing.
    """
    native = series.to_native()
    if categories.is_categorical(native):
        return tuple(whole([plain(label) for label in categories.labels_of(native)]))
    if isinstance(series.dtype, nw.Enum) and series.implementation.is_polars():
        return tuple(series.dtype.categories)
    return None


def _is_mixed(native: Any) -> bool:
    """Whether one cell, or one value in a list, could decide what Arrow makes of the others.

    Bytes of text where one is bytes, days of times, one zone of all times: so only values of one kind, of those that
    Arrow keeps as they are, are left to it.
    """
    present = [value for value in native if value is not None and value is not pd.NA and not _is_nan(value)]
    kinds = set(map(type, present))
    if kinds and kinds <= {list, tuple, np.ndarray}:
        kinds = _kinds_within(present)
    return len(kinds) > 1 or not kinds <= _KEPT_BY_ARROW


def _kinds_within(lists: list[Any]) -> set[type]:
    """The types of the values of all lists."""
    arrays = [values for values in lists if isinstance(values, np.ndarray)]
    loose = [values for values in lists if not isinstance(values, np.ndarray)]
    kinds = set(map(type, chain.from_iterable(loose)))
    for values in arrays:
        if values.ndim != 1:
            kinds.add(np.ndarray)
        else:
            kinds.update(map(type, values) if values.dtype == object else [values.dtype.type])
    return kinds


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def arrow_of(series: nw.Series[Any]) -> Any:
    """The column as Arrow."""
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.ArrowDtype):
        native = native.array.__arrow_array__()  # type: ignore[attr-defined]  # the protocol of Arrow
    if not isinstance(native, pa.ChunkedArray):
        return series.to_arrow()
    return without_half_codes(native).combine_chunks()


def check_codes(series: nw.Series[Any]) -> None:
    """Refuse a column with a code that has no word, or no category, and lists that reach beyond their values: nobody
    looked when it was made.
    """
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.ArrowDtype):
        native = native.array.__arrow_array__()  # type: ignore[attr-defined]  # the protocol of Arrow
    if isinstance(native, pa.ChunkedArray) and not is_sound(native):
        raise FRAME.error("holds lists that reach beyond their values")
    if categories.is_categorical(native):
        is_beyond = categories.has_codes_beyond(native)
    else:
        is_beyond = isinstance(native, pa.ChunkedArray) and has_codes_beyond(native)
    if is_beyond:
        raise FRAME.error("holds codes that their dictionary has no word for")


def _column(series: nw.Series[Any]) -> Column:
    """The column as Arrow, else as a list: mixed types, sparse pandas columns, polars objects."""
    if series.dtype == nw.Object and series.implementation.is_polars():
        return series.to_list()
    native = series.to_native()
    if categories.is_categorical(native) and _is_mixed(native.cat.categories):
        return categories.cells_of(native)
    if isinstance(native, pd.Series) and native.dtype == object and _is_mixed(native):
        return list(native)
    try:
        return arrow_of(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if series.implementation.is_polars():  # whole numbers of 128 bits, which NumPy has not either
            return series.to_list()
        values = series.to_numpy()
    return values.tolist() if values.dtype == object else guarded(lambda: pa.array(values), FRAME)
