"""Labels of a column as numbers: whole numbers, which go by a table, as any others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data.formats.frames import FRAME
from bosket.data.formats.parquet_streams import NumberedLabels

BOUNDS = {pa.int8(): (-(1 << 7), 1 << 7), pa.uint8(): (0, 1 << 8), pa.int32(): (-(1 << 31), 1 << 31)}
BOUNDS |= {pa.int64(): (-(1 << 63), 1 << 63), pa.uint64(): (0, 1 << 64)}


@pytest.mark.parametrize("kind", BOUNDS, ids=str)
@given(data=st.data())
def test_every_cell_has_the_number_of_its_label(kind: Any, data: st.DataObject) -> None:
    """Numbers near to each other, anywhere in the range of a type, and far apart; some of them missing; in chunks."""
    least, beyond = BOUNDS[kind]
    middle = data.draw(st.integers(least, beyond - 1))
    near = st.integers(max(least, middle - 3), min(beyond - 1, middle + 3))
    cells = data.draw(st.lists(near | st.just(least) | st.just(beyond - 1) | st.none(), max_size=20))
    others = data.draw(st.lists(near, min_size=1, max_size=20))
    labels = NumberedLabels(lambda _: None)
    for values in (others, cells, others + cells):
        chunks = pa.chunked_array([pa.array(values[:7], kind), pa.array(values[7:], kind)])
        found = labels.number(chunks, FRAME).tolist()
        known = list(labels.index)
        assert [None if number < 0 else known[number] for number in found] == values
    assert all(type(label) is int for label in labels.index)
