"""Parquet files whose runs of codes were rewritten: only our errors come out, and under a declaration that drops, none.

What a cell then says is checked too: a code has the word at its place in the dictionary, and any other none.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from bosket.data import Baskets, Table
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused
from tests.parquet_codes import N_CELLS, N_WORDS, in_turn, with_runs, written

ITEMS = ["a", "b", "c", "d", "e"]
SIGNS = ["1", "0", "true", "false", "0.0"]
_EDGES = [N_WORDS, N_WORDS + 2, 255, 256, 10**6, 10**9, 2**31 - 1, -(2**31), -1, -3, -N_WORDS, -N_WORDS - 1]
codes = st.integers(0, N_WORDS - 1) | st.sampled_from(_EDGES) | st.integers(-(2**31), 2**31 - 1)


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Some runs, of as many cells as there are."""
    ends = sorted({*draw(st.lists(st.integers(1, N_CELLS - 1), max_size=12)), N_CELLS})
    return [(end - start, draw(codes)) for start, end in zip([0, *ends], ends, strict=False)]


def _long(cells: pa.Array) -> pa.Table:
    return pa.table({"record": range(N_CELLS), "item": cells})


def _lists(cells: pa.Array) -> pa.Table:
    return pa.table({"items": pa.ListArray.from_arrays(pa.array(range(N_CELLS + 1), pa.int32()), cells)})


def _one_hot(cells: pa.Array) -> pa.Table:
    return pa.table({"a": cells, "b": [True] * N_CELLS})


def _names(cells: pa.Array) -> pa.Table:
    return pa.table({"record": cells, "item": ["a"] * N_CELLS})


def _table(cells: pa.Array) -> pa.Table:
    return pa.table({"x": cells})


KINDS = {"long": _long, "list": _lists, "one-hot": _one_hot, "names": _names, "table": _table}
cases = st.tuples(st.sampled_from(list(KINDS)), st.booleans(), runs())


def _read(path: Path, kind: str, how: dict[str, Any]) -> Any:
    if kind == "table":
        told: dict[str, Any] = {"values": {"x": how["items"]}} if "items" in how else {}
        told |= {"unknown": "other"} if "unknown" in how else {}
        return Table.read(path, max_bytes=1 << 20, **told).to_baskets()
    layout: Any = "long" if kind == "names" else kind
    return Baskets.read(path, layout=layout, max_bytes=1 << 20, **how)


def _expected(kind: str, words: list[str | None]) -> list[tuple[str, ...]]:
    """The records by hand, a cell without a word missing."""
    if kind in ("long", "list"):
        return [() if word is None else (word,) for word in words]
    if kind == "one-hot":
        return [("a", "b") if word in ("1", "true") else ("b",) for word in words]
    if kind == "names":
        return [("a",)] * len({word for word in words if word is not None})
    return [("x=other" if word is None else f"x={word}",) for word in words]


@pytest.mark.parametrize("examples", EXAMPLES)
def test_codes(tmp_path: Path, examples: int) -> None:
    path = tmp_path / "x.parquet"

    def target(case: tuple[str, bool, list[tuple[int, int]]]) -> None:
        kind, is_stored, rewritten = case
        known = SIGNS if kind == "one-hot" else ITEMS
        cells = pa.array(in_turn(known))
        path.write_bytes(with_runs(written(KINDS[kind](cells.dictionary_encode() if is_stored else cells)), rewritten))
        words = [known[code] if 0 <= code < N_WORDS else None for number, code in rewritten for _ in range(number)]
        records = _expected(kind, words)
        assert list(_read(path, kind, {"items": ITEMS, "unknown": "drop"})) == records
        ways: list[dict[str, Any]] = [{"items": ITEMS}, {}]
        for how in ways:
            found = only_refused(partial(_read, path, kind, how))
            assert found is None or (None not in words and list(found) == records)
            if kind != "table":
                assert (found is None) == (None in words)

    fuzz(target, cases, examples=examples)
