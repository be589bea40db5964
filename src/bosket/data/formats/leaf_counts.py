"""How many values the pages of a Parquet file have of the cells that Arrow read.

A column of the file, a leaf, has a value for each cell within all its lists, and one for each list without cells.
Arrow reads as many lists as the footer says there are rows, and says nothing of those beyond; their values are missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bosket.data.formats.arrow_cells import stored
from bosket.data.formats.declared_types import is_view


def value_counts(column: Any) -> Iterator[int]:
    """The values of each leaf that an array is made of, in the order of the file; ``ArrowInvalid`` where a type of
    cells is not known here.
    """
    array = stored(column)
    kind, types = array.type, pa.types
    if types.is_struct(kind):
        for field in array.flatten():  # with what is missing of the structure
            yield from value_counts(field)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        starts = array.offsets.to_numpy()
        n_empty = int(np.count_nonzero(starts[1:] == starts[:-1]))
        cells = array.values.slice(int(starts[0]), int(starts[-1] - starts[0]))
        yield from _within(cells, n_empty)
    elif is_view(kind):
        sizes = array.sizes.to_numpy(zero_copy_only=False)
        is_there = array.is_valid().to_numpy(zero_copy_only=False)
        yield from _within(array.flatten(), int(np.count_nonzero(~is_there | (sizes == 0))))
    elif types.is_fixed_size_list(kind):
        yield from _within(array.flatten(), array.null_count if kind.list_size else len(array))
    elif types.is_nested(kind):
        raise pa.ArrowInvalid("Values of such a type are not counted.")
    else:
        yield len(array)


def _within(cells: Any, n_empty: int) -> Iterator[int]:
    """The values of lists that have these cells, so many of the lists none."""
    return (n_empty + number for number in value_counts(cells))
