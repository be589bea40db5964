"""Lists of Arrow that were made in memory and are not sound, and types that somebody added to Arrow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bosket as bk

WORDS = pa.array(["a", "b", "c", "a"])


def buffer(*numbers: int) -> Any:
    return pa.py_buffer(np.array(numbers, np.int32).tobytes())


def falling() -> Any:
    """Lists whose second offset is beyond the third; Arrow looks at the first and the last."""
    return pa.Array.from_buffers(pa.list_(pa.string()), 3, [None, buffer(0, 4, 2, 4)], children=[WORDS])


def views() -> Any:
    """A view of 2^30 cells from the thousandth of four on."""
    parts = [None, buffer(0, 1000), buffer(2, 1 << 30)]
    return pa.Array.from_buffers(pa.list_view(pa.string()), 2, parts, children=[WORDS])


def within() -> Any:
    return pa.StructArray.from_arrays([falling()], ["a"])


@pytest.mark.parametrize("made", [falling, views, within])
def test_a_frame_of_unsound_lists_is_refused(made: Any) -> None:
    """Without a declaration, and where a record may be refused: reading them ended the process, or in errors of
    NumPy's.
    """
    frame = pa.table({"items": pa.chunked_array([made()])})
    for read in (
        lambda: bk.Baskets.from_frame(frame),
        lambda: bk.Baskets.from_frame(frame, item="items"),
        lambda: bk.Table.from_frame(frame),
    ):
        with pytest.raises(bk.DataError, match="beyond their values"):
            read()
    if made is not within:  # no column of lists
        with pytest.raises(bk.DataError, match="beyond their values"):
            bk.Baskets.from_frame(frame, items=["a", "b", "c"], layout="list")


def test_where_no_record_is_refused_they_hold_what_they_reach() -> None:
    found = [
        list(bk.Baskets.from_frame(frame, items=["a", "b", "c"], unknown="drop", layout="list"))
        for frame in (pa.table({"items": pa.chunked_array([made()])}) for made in (falling, views))
    ]
    assert found == [[("a", "b", "c"), (), ("a", "c")], [("a", "b"), ()]]


def opaque(values: Any) -> Any:
    return pa.ExtensionArray.from_storage(pa.opaque(values.type, "kind", "vendor"), values)


def test_opaque_words_are_read_as_they_are_stored_or_refused(tmp_path: Path) -> None:
    """Arrow's name for types that it does not know; a file brings it in its stored schema."""
    frame = pa.table({"record": pa.array([1, 1, 2, 2]), "item": opaque(WORDS)})
    lists = pa.table({"items": opaque(pa.array([["a", "b"], ["c", "a"]]))})
    pq.write_table(frame, tmp_path / "long.parquet")
    pq.write_table(lists, tmp_path / "lists.parquet")
    expected = [("a", "b"), ("a", "c")]
    known: dict[str, Any] = {"items": ["a", "b", "c"]}
    for unknown in ("drop", "refuse"):
        known["unknown"] = unknown
        assert list(bk.Baskets.from_frame(frame, **known)) == expected
        assert list(bk.Baskets.from_frame(lists, **known, layout="list")) == expected
        assert list(bk.Baskets.read(tmp_path / "long.parquet", **known)) == expected
        with pytest.raises(bk.DataError, match="one column of lists"):  # by the type of the column
            bk.Baskets.read(tmp_path / "lists.parquet", **known, layout="list")
    reads: list[Callable[[], bk.Baskets]] = [
        lambda: bk.Baskets.from_frame(frame),
        lambda: bk.Baskets.from_frame(lists, layout="list"),
        lambda: bk.Baskets.read(tmp_path / "long.parquet"),
        lambda: bk.Baskets.read(tmp_path / "lists.parquet", layout="list"),
    ]
    for read in reads:
        with suppress(bk.DataError):
            assert list(read()) == expected
