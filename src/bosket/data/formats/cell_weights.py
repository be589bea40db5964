"""What the cells of a batch of Arrow take, and the words that they are codes of, as they count towards a cap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.data.formats import lines
from bosket.data.formats.list_cells import CELL_BYTES

WORD_BYTES = 100
"""Of a different word, beside its letters, while Arrow tells it from others."""
_OFFSET_BYTES = 8  # of text that is not codes
_VIEW_BYTES = 16


def weight(column: Any) -> tuple[int, int]:
    """The bytes of the cells of a column, and those of the words that they are codes of."""
    if pa.types.is_nested(column.type):
        cells = pc.list_flatten(column)
        held, words = weight(cells)
        width = max(CELL_BYTES, held // max(1, len(cells)))
        return _sum_of(pc.multiply(pc.cast(pc.list_value_length(column), pa.int64()), width)), words
    if pa.types.is_dictionary(column.type):
        words = column.dictionary
        return column.indices.nbytes, _sum_of(pc.binary_length(words)) + WORD_BYTES * len(words)
    if is_text(column.type):
        return _OFFSET_BYTES * len(column) + _sum_of(pc.binary_length(column)), 0
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return _VIEW_BYTES * len(column) + _sum_of(_lengths_of_views(column)), 0
    return column.nbytes, 0


def is_text(kind: Any) -> bool:
    """Whether cells are text, or bytes, each with a length of its own."""
    types = pa.types
    return any(
        is_kind(kind) for is_kind in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)
    )


def _lengths_of_views(column: Any) -> Any:
    """What ``pc.binary_length`` does not tell of them: a view begins with its length, and a missing one has none."""
    views = np.frombuffer(column.buffers()[1], np.int32)[:: _VIEW_BYTES // 4]
    return pc.if_else(column.is_valid(), pa.array(views[column.offset : column.offset + len(column)]), 0)


def _sum_of(sizes: Any) -> int:
    """The sum of sizes, of each of them no more than a line of text may have."""
    return pc.sum(pc.min_element_wise(sizes, lines.LONGEST, skip_nulls=False)).as_py() or 0
