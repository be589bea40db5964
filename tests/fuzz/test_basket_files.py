"""Baskets from files of every format and layout: only our errors come out, and under a declaration that drops, none."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Baskets, Domain
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused

ITEMS = ["milk", "beer", 3, "07", 'a"b', "x,y", "item", 2.5]
SUFFIXES = ["dat", "csv", "parquet"]
LAYOUTS = [None, "list", "long", "one-hot"]
HEADERS = {
    ("dat", None): b"",
    ("csv", "list"): b"",
    ("csv", "long"): b"record,item\n",
    ("csv", "one-hot"): b'milk,"x,y",other,item\n',
}
NAMED_HEADER = b'milk,"x,y",basket,,\n'
_WORDS = [b"milk", b"beer", b"3", b"07", b"7", b'"a""b"', b'"x,y"', b"item", b"record", b"0", b"1", b"true", b"2.5"]
_WORDS += [b"nan", b"=1"]
_SIGNS = [b",", b",", b"\n", b"\n", b"\r\n", b"\r", b" ", b"\t", b'"', b'""', b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3"]
texts = st.lists(st.sampled_from(_WORDS + _SIGNS), max_size=40).map(b"".join) | st.binary(max_size=80)


@st.composite
def mutated(draw: st.DrawFn, sound: st.SearchStrategy[bytes]) -> bytes:
    """A sound file with some bytes exchanged, cut out, repeated or added."""
    content = bytearray(draw(sound))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(content)))
        size = draw(st.integers(0, 9))
        change = draw(st.sampled_from(["exchange", "cut", "repeat", "add", "end"]))
        if change == "exchange":
            content[at : at + size] = draw(st.binary(min_size=size, max_size=size))
        elif change == "cut":
            del content[at : at + size]
        elif change == "repeat":
            content[at:at] = content[at : at + size] * draw(st.integers(1, 5))
        elif change == "add":
            content[at:at] = draw(st.binary(max_size=9))
        else:
            del content[at:]
    return bytes(content)


_cells = st.sampled_from([1, 3, 2.5, float("nan"), "milk", "3", "07", "", None, True, b"\xff", -1, 2**62])


def _array(values: list[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError):
        return pa.array([None if value is None else str(value) for value in values])


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A sound Parquet file of some columns, lists among them."""
    n_rows = draw(st.integers(0, 4))
    names = draw(st.lists(st.sampled_from(["record", "item", "items", "milk", "beer", "3", ""]), max_size=4))
    columns = []
    for _ in names:
        kind = draw(st.sampled_from([[1, 0], [1.0, 2.5, None], ["milk", "07", None], [True, False], None]))
        cells: st.SearchStrategy[Any] = _cells if kind is None else st.sampled_from(kind)
        if draw(st.booleans()) and kind is not None:
            values: list[Any] = draw(
                st.lists(st.lists(cells, max_size=3) | st.none(), min_size=n_rows, max_size=n_rows)
            )
        else:
            values = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
        columns.append(_array(values))
    file = io.BytesIO()
    stored = draw(st.sampled_from([None, b"{", b'{"kind":"items","items":["milk",3],"declared":true}', b"[]", b"\xff"]))
    table = pa.table(columns, names=names)
    parquet.write_table(table if stored is None else table.replace_schema_metadata({b"bosket.domain": stored}), file)
    return file.getvalue()


@dataclass(frozen=True)
class Case:
    suffix: str
    layout: Any
    content: bytes
    is_packed: bool
    is_declared: bool
    names: tuple[str | None, str | None]
    """The columns that are named, of records and of items."""

    def write(self, place: Path) -> Path:
        path = place / f"x.{self.suffix}{'.gz' if self.is_packed else ''}"
        path.write_bytes(self.content)
        return path


@st.composite
def cases(draw: st.DrawFn) -> Case:
    suffix, layout = draw(st.sampled_from(SUFFIXES)), draw(st.sampled_from(LAYOUTS))
    head = draw(st.sampled_from([*HEADERS.values(), b"a,b\n", b"milk\n", b'"'])) if suffix == "csv" else b""
    sound = tables() if suffix == "parquet" else texts.map(lambda text: head + text)
    is_packed = draw(st.booleans())
    if is_packed and draw(st.booleans()):
        content = draw(mutated(sound.map(partial(gzip.compress, mtime=0))))
    else:
        content = draw(mutated(sound))
        content = gzip.compress(content) if is_packed else content
    named = st.sampled_from(
        [(None, None), ("record", "item"), ("milk", "3"), (None, "items"), ("a", "b"), ("other", "x,y")]
    )
    return Case(suffix, layout, content, is_packed, draw(st.booleans()), draw(named))


@pytest.mark.parametrize("examples", EXAMPLES)
def test_files(tmp_path: Path, examples: int) -> None:
    def target(case: Case) -> None:
        path = case.write(tmp_path)
        how: dict[str, Any] = {"layout": case.layout, "record": case.names[0], "item": case.names[1]}
        options: dict[str, Any] = {"items": ITEMS, "unknown": "drop"} if case.is_declared else {}
        data = only_refused(lambda: Baskets.read(path, max_bytes=1 << 20, **how, **options))
        if data is None:
            return
        assert data.n_records == len(list(data))
        if case.is_declared:
            assert data.domain == Domain(ITEMS)
            strict = only_refused(lambda: Baskets.read(path, items=ITEMS, **how))
            assert strict is None or strict == data

    fuzz(target, cases(), examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_nothing_after_the_header_is_refused(tmp_path: Path, examples: int) -> None:
    def target(case: tuple[tuple[str, Any], bytes, bool]) -> None:
        (suffix, layout), text, is_packed = case
        content = HEADERS[suffix, layout] + text
        path = tmp_path / f"x.{suffix}{'.gz' if is_packed else ''}"
        path.write_bytes(gzip.compress(content) if is_packed else content)
        data = Baskets.read(path, layout=None if layout == "long" else layout, items=ITEMS, unknown="drop")
        n_lines = text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))
        assert data.n_records == n_lines or (layout == "long" and data.n_records <= n_lines)

    whole = st.tuples(st.sampled_from(list(HEADERS)), texts | mutated(texts), st.booleans())
    fuzz(target, whole, examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_nothing_after_the_header_is_refused_where_columns_are_named(tmp_path: Path, examples: int) -> None:
    """Nor does a line touch another record than that which it names."""
    path = tmp_path / "x.csv"
    how: dict[str, Any] = {"record": "basket", "item": "x,y", "items": ITEMS, "unknown": "drop"}

    def target(text: bytes) -> None:
        path.write_bytes(NAMED_HEADER + b"1,milk,A,,\n1,3,A,,\n" + text)
        data = Baskets.read(path, **how)
        assert data[0][:1] == ("milk",)
        assert 3 in data[0]
        path.write_bytes(NAMED_HEADER + b"1,milk,A,,\n1,3,A,,\n" + text + b"\nx,beer,B,\xff,")
        more = Baskets.read(path, **how)
        assert more.n_records - data.n_records in (0, 1)
        assert sum(len(one) for one in more) - sum(len(one) for one in data) in (0, 1)

    fuzz(target, texts | mutated(texts), examples=examples)


kinds = st.sampled_from(
    [
        pa.int8(),
        pa.uint64(),
        pa.float32(),
        pa.float64(),
        pa.float16(),
        pa.bool_(),
        pa.string(),
        pa.large_string(),
        pa.null(),
    ]
)


@st.composite
def sound_parquet(draw: st.DrawFn) -> bytes:
    """A Parquet file whose schema can be read under the declaration, with any cells."""
    n_rows = draw(st.integers(0, 5))

    def column(kind: Any) -> Any:
        words = [b"milk", b"07", b"3", b"\xff", b"true", b"1", None, b""]
        numbers = [0, 1, 3, 7, None] + ([2.5, -0.0, float("nan"), float("inf")] if pa.types.is_floating(kind) else [])
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            bare = pa.binary() if pa.types.is_string(kind) else pa.large_binary()
            values = draw(st.lists(st.sampled_from(words), min_size=n_rows, max_size=n_rows))
            return pa.array(values, bare).view(kind)
        known: list[Any] = (
            [None] if pa.types.is_null(kind) else [True, False, None] if pa.types.is_boolean(kind) else numbers
        )
        return pa.array(draw(st.lists(st.sampled_from(known), min_size=n_rows, max_size=n_rows)), kind)

    layout = draw(st.sampled_from(["list", "long", "one-hot"]))
    if layout == "list":
        flat = column(draw(kinds))
        ends = sorted(draw(st.lists(st.integers(0, n_rows), max_size=4)))
        table = pa.table({"items": pa.ListArray.from_arrays(pa.array([0, *ends, n_rows], pa.int32()), flat)})
    elif layout == "long":
        table = pa.table({"record": column(draw(kinds)), "item": column(draw(kinds))})
    else:
        table = pa.table({"milk": column(draw(kinds)), "x,y": column(draw(kinds)), "other": column(draw(kinds))})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


@pytest.mark.parametrize("examples", EXAMPLES)
def test_no_cell_of_parquet_is_refused(tmp_path: Path, examples: int) -> None:
    def target(content: bytes) -> None:
        (tmp_path / "x.parquet").write_bytes(content)
        data = Baskets.read(tmp_path / "x.parquet", items=ITEMS, unknown="drop")
        assert data.domain == Domain(ITEMS)

    fuzz(target, sound_parquet(), examples=examples)


@pytest.mark.parametrize("stride", [pytest.param(5, id="quick"), pytest.param(1, id="slow", marks=pytest.mark.slow)])
def test_every_byte_of_a_footer(tmp_path: Path, stride: int) -> None:
    """Asking Arrow for the metadata of a column with damaged statistics ended the process."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": [["milk", "beer"], [], None, ["3"]] * 50}), path)
    sound = path.read_bytes()
    footer = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    for at in [*range(footer, footer + 64), *range(footer + 64, len(sound), stride)]:  # the schema comes first
        for value in (0, 0x7F, 0xFF, sound[at] ^ 1, sound[at] ^ 8):
            path.write_bytes(sound[:at] + bytes([value]) + sound[at + 1 :])
            only_refused(lambda: Baskets.read(path, max_bytes=1 << 20))
            only_refused(lambda: Baskets.read(path, max_bytes=1 << 20, items=ITEMS, unknown="drop"))
