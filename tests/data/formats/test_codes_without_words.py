"""Codes that their dictionary has no word for, in Parquet files and in frames.

Arrow hands out the codes of a file, and of a frame, as they are.  One beyond the words was an error of NumPy's, or as
many bytes of memory as the code says; one below zero was counted from the end, and gave another word.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bosket.data import Baskets, Table
from bosket.data.formats.arrow_cells import ArrowCells
from bosket.errors import DataError
from tests.memory import memory_within
from tests.parquet_codes import N_CELLS, N_WORDS, in_turn, with_last, with_runs, written

MIB = 1 << 20
CODES = [N_WORDS, N_WORDS + 2, 10**9, -1, -3]
ITEMS = ["a", "b", "c", "d", "e"]
SIGNS = ["1", "0", "true", "false", "0.0"]
RECORDS = list(range(N_CELLS))
LAYOUTS = ["long", "list", "fixed lists", "one-hot", "table", "names"]
DROP: Any = {"items": ITEMS, "unknown": "drop"}
STRICT: Any = {"items": ITEMS}
VALUES: Any = {"values": {"x": ITEMS}}


def as_layout(cells: Any, layout: str) -> pa.Table:
    if layout == "long":
        return pa.table({"record": RECORDS, "item": cells})
    if layout == "list":
        return pa.table({"items": pa.ListArray.from_arrays(pa.array(range(N_CELLS + 1), pa.int32()), cells)})
    if layout == "fixed lists":
        return pa.table({"items": pa.FixedSizeListArray.from_arrays(cells, 2)})
    if layout == "one-hot":
        return pa.table({"a": cells, "b": [True] * N_CELLS})
    if layout == "table":
        return pa.table({"x": cells})
    return pa.table({"record": cells, "item": ["a"] * (N_CELLS - 1) + ["e"]})


def words_of(layout: str) -> list[str]:
    return SIGNS if layout == "one-hot" else ITEMS


def sound_table(layout: str, *, is_stored: bool) -> pa.Table:
    """Whose stored schema says that text is text, or codes."""
    cells = pa.array(in_turn(words_of(layout)))
    return as_layout(cells.dictionary_encode() if is_stored else cells, layout)


def with_none(layout: str) -> pa.Table:
    """What the file with one code exchanged says, if that is missing."""
    words = words_of(layout)
    half = N_CELLS // 2
    return as_layout(pa.array([words[0]] * half + [words[1]] * (N_CELLS - half - 1) + [None]), layout)


def read_with(path: Path, layout: str, mode: str) -> Any:
    if layout == "table":
        how: dict[str, Any] = {"drop": {**VALUES, "unknown": "other"}, "strict": VALUES, "undeclared": {}}[mode]
        return Table.read(path, max_bytes=MIB, **how)
    how = {"drop": DROP, "strict": STRICT, "undeclared": {}}[mode]
    named = {"record": "record", "item": "item"} if layout in ("long", "names") else {}
    told: Any = named or {"layout": layout.split()[-1].removesuffix("s")}
    return Baskets.read(path, max_bytes=MIB, **told, **how)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("mode", ["strict", "undeclared"])
@pytest.mark.parametrize("is_stored", [False, True], ids=["text", "codes"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_with_such_a_code_is_refused(tmp_path: Path, layout: str, is_stored: bool, mode: str, code: int) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(with_last(written(sound_table(layout, is_stored=is_stored)), code))
    with memory_within(64 * MIB), pytest.raises(DataError, match="is not a sound Parquet file"):
        read_with(path, layout, mode)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("is_stored", [False, True], ids=["text", "codes"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_no_record_is_refused_such_a_cell_is_missing(
    tmp_path: Path, layout: str, is_stored: bool, code: int
) -> None:
    path, missing = tmp_path / "x.parquet", tmp_path / "y.parquet"
    path.write_bytes(with_last(written(sound_table(layout, is_stored=is_stored)), code))
    missing.write_bytes(written(with_none(layout)))
    with memory_within(64 * MIB):
        found = read_with(path, layout, "drop")
    assert found == read_with(missing, layout, "drop")
    assert found != read_with_last_word(tmp_path / "z.parquet", layout)


def read_with_last_word(path: Path, layout: str) -> Any:
    path.write_bytes(with_last(written(sound_table(layout, is_stored=False)), 0))
    return read_with(path, layout, "drop")


@pytest.mark.parametrize("mode", ["drop", "strict", "undeclared"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_codes_with_words_are_read_as_before(tmp_path: Path, layout: str, mode: str) -> None:
    path, plain = tmp_path / "x.parquet", tmp_path / "y.parquet"
    runs = [(100, 4), (100, 3), (50, 0), (4, 2), (2, 1)]
    path.write_bytes(with_runs(written(sound_table(layout, is_stored=True)), runs))
    cells = [words_of(layout)[code] for number, code in runs for _ in range(number)]
    plain.write_bytes(written(as_layout(pa.array(cells), layout)))
    assert read_with(path, layout, mode) == read_with(plain, layout, mode)


@pytest.mark.parametrize("mode", ["drop", "strict", "undeclared"])
def test_numbers_whose_codes_have_no_word_are_no_sound_file(tmp_path: Path, mode: str) -> None:
    """These Arrow looks up itself, and refuses."""
    path = tmp_path / "x.parquet"
    content = written(pa.table({"record": RECORDS, "item": in_turn([1.5, 2.5, 3.5, 4.5, 5.5])}))
    path.write_bytes(with_last(content, N_WORDS + 2))
    how: dict[str, Any] = {"drop": {"items": [1.5, 2.5], "unknown": "drop"}, "strict": {"items": [1.5]}}
    with pytest.raises(DataError, match="is not a sound Parquet file"):
        Baskets.read(path, **how.get(mode, {}))


def test_columns_that_are_not_read_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(with_last(written(pa.table({"r": RECORDS, "i": ["a"] * N_CELLS, "x": in_turn(ITEMS)})), -3))
    ways: list[Any] = [DROP, STRICT, {}]
    for how in ways:
        assert Baskets.read(path, record="r", item="i", **how).item_counts()[0] == N_CELLS


def test_a_class_is_not_read_off_such_a_code(tmp_path: Path) -> None:
    from bosket.data.formats.sources import Content
    from bosket.data.formats.table_files import read_column

    path = tmp_path / "x.parquet"
    path.write_bytes(with_last(written(pa.table({"x": in_turn(ITEMS)})), -3))
    with pytest.raises(DataError, match="is not a sound Parquet file"):
        read_column(Content(path), "x")


def test_codes_in_nested_values_are_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    cells = pa.StructArray.from_arrays([pa.array(in_turn(ITEMS))], ["y"])
    path.write_bytes(with_last(written(pa.table({"x": cells, "z": ["a"] * N_CELLS})), 10**9))
    with pytest.raises(DataError, match="is not a sound Parquet file"):
        Table.read(path, columns=["z"])


def coded(words: Any, last: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, last]), words, safe=False)


def arrow(cells: Any) -> pa.Table:
    return pa.table({"record": range(len(cells)), "item": cells})


def in_chunks(cells: Any) -> pa.Table:
    """Beside a chunk of other words: putting them together, Arrow does not look at codes either."""
    others = pa.DictionaryArray.from_arrays(pa.array([0, 1], cells.type.index_type), cells.dictionary[::-1])
    return arrow(pa.chunked_array([others, cells]))


def backed(cells: Any) -> pd.DataFrame:
    item = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells])))
    return pd.DataFrame({"record": range(len(cells)), "item": item})


FRAMES: list[Callable[[Any], Any]] = [arrow, in_chunks, backed]
WORDS = [pa.array(["1", "0", "true"]), pa.array([1, 0, 2]), pa.array([1.0, 0.0, 2.0], pa.float16())]


@pytest.mark.parametrize("code", [3, 5, 10**9, -1, -3])
@pytest.mark.parametrize("words", WORDS, ids=["text", "numbers", "half"])
@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_with_such_a_code_is_refused(frame: Callable[[Any], Any], words: Any, code: int) -> None:
    ways: list[Any] = [{}, {"items": words.to_pylist()[:2]}]
    named: list[Any] = [{"record": "record", "item": "item"}, {"record": "item", "item": "record"}]
    bad, good = frame(coded(words, code)), frame(coded(words, 2))
    with memory_within(64 * MIB):
        for how in ways:
            for names in named:
                with pytest.raises(DataError, match="codes that their dictionary has no word for"):
                    Baskets.from_frame(bad, **names, **how)
        with pytest.raises(DataError, match="codes that their dictionary has no word for"):
            Table.from_frame(bad, columns=["item"])
    assert len(Baskets.from_frame(good, record="record", item="item")) == len(good)


@pytest.mark.parametrize("code", [3, 10**9, -1])
@pytest.mark.parametrize("how", [{}, {"items": ["0", "1"]}], ids=["undeclared", "strict"])
def test_lists_and_signs_with_such_a_code_are_refused(how: Any, code: int) -> None:
    cells = coded(WORDS[0], code)
    lists = [
        pa.ListArray.from_arrays([0, 1, 3], cells),
        pa.LargeListArray.from_arrays([0, 1, 3], cells),
        pa.FixedSizeListArray.from_arrays(cells, 1),
    ]
    frames = [*(pa.table({"items": one}) for one in lists), pa.table({"0": cells, "1": cells})]
    for frame in frames:
        with memory_within(64 * MIB), pytest.raises(DataError, match="codes that their dictionary has no word for"):
            Baskets.from_frame(frame, layout="one-hot" if frame.num_columns == 2 else "list", **how)


def test_codes_outside_of_a_slice_do_not_count() -> None:
    cells = coded(WORDS[0], 10**9)
    lists = pa.ListArray.from_arrays([0, 1, 2, 3], cells)
    for column in (cells, lists, pa.FixedSizeListArray.from_arrays(cells, 1)):
        assert len(Baskets.from_frame(pa.table({"record": range(3), "item": column})[:2], item="item")) == 2


@pytest.mark.parametrize("code", [3, 5, 100, -2, -3])
def test_a_category_without_a_value_is_missing_or_refused(code: int) -> None:
    """pandas takes such codes where it is told not to look."""
    codes = np.array([0, 1, code], np.int8)
    cells = pd.Categorical.from_codes(codes, pd.Index(["1", "0", "true"]), validate=False)
    frame = pd.DataFrame({"record": range(3), "item": cells})
    assert list(Baskets.from_frame(frame, record="record", item="item", items=["1", "true"], unknown="drop")) == [
        ("1",),
        (),
        (),
    ]
    ways: list[Any] = [{}, {"items": ["1", "0", "true"]}]
    for how in ways:
        with pytest.raises(DataError, match="codes that their dictionary has no word for"):
            Baskets.from_frame(frame, record="record", item="item", **how)
    with pytest.raises(DataError, match="codes that their dictionary has no word for"):
        Table.from_frame(frame, columns=["item"])
    table = Table.from_frame(frame, columns=["item"], values={"item": ["1", "0", "true"]}, unknown="other")
    assert table.to_baskets().item_counts().tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("kind", [pa.int16(), pa.int32(), pa.int64()])
@pytest.mark.parametrize("offset", [0, 3])
def test_runs_are_found_without_a_copy_of_their_ends(kind: Any, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of another type than the ends made NumPy copy all ends, for each piece of a list."""
    ends = pa.array(range(2, 2002, 2), kind)
    runs = pa.RunEndEncodedArray.from_arrays(ends, pa.array([str(at) for at in range(1000)])).slice(offset)
    searched, kinds = np.searchsorted, []

    def watching(ends: Any, places: Any, **how: Any) -> Any:
        kinds.append((ends.dtype, places.dtype))
        return searched(ends, places, **how)

    monkeypatch.setattr(np, "searchsorted", watching)
    places = np.array([0, 1, 2, -1, len(runs) - 1, len(runs), 10**12])
    cells = ArrowCells.of(runs, places)
    assert kinds
    assert all(one == other for one, other in kinds)
    assert cells.places is not None
    found = [None if place < 0 else cells.words[int(place)].as_py() for place in cells.places]
    known = runs.to_pylist()
    assert found == [known[0], known[1], known[2], None, known[-1], None, None]
