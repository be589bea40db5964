"""Tables from files: only our errors come out, and what is read has the domain that was declared."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Table
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused
from tests.fuzz.test_basket_files import mutated

_PARTS = [b"F", b"M", b"?", b"15", b"60", b"1e9", b"nan", b"-1", b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b'""']
_PARTS += [b" ", b"\0", b"\xff", b"sex", b"age", b"\xef\xbb\xbf", b"F,15\n", b"M,60\n", b'"F",20\n', b"=1"]
headers = st.sampled_from(
    [b"sex,age\n", b"age,sex\r\n", b"sex\n", b"\n\nsex,age\n", b"", b"sex,sex\n", b'"sex","age"\n']
)
texts = st.tuples(headers, st.lists(st.sampled_from(_PARTS), max_size=30).map(b"".join) | st.binary(max_size=60)).map(
    b"".join
)
choices: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"columns": ["sex"]},
        {"values": {"sex": ["F", "M"]}, "bins": {"age": [0, 20, 50]}},
        {"values": {"sex": ["F", "M"]}, "bins": {"age": [0, 20, 50]}, "missing": "unknown"},
        {"values": {"sex": {"F": ["F"], "Other": "*"}}, "columns": ["sex"]},
        {"values": {"sex": [1, 2.5, "F"]}, "columns": ["sex"], "missing": {"sex": "unknown"}},
    ]
)
_columns = st.sampled_from(
    [
        ["F", "M"],
        ["F", None],
        [15, 60],
        [15.0, float("nan")],
        [True, False],
        [[1], [2]],
        [b"\xff", b"M"],
        [{"a": 1}, None],
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    names = draw(st.sampled_from([["sex", "age"], ["age", "sex"], ["sex"], ["sex", "sex"], ["", "age"], []]))
    table = pa.table([pa.array(draw(_columns)) for _ in names], names=names)
    domain = b'{"kind":"table","attributes":[{"name":"sex","values":["F","M"]}],"declared":true}'
    stored = draw(st.sampled_from([None, b"{", b"[]", b"\xff", domain]))
    file = io.BytesIO()
    parquet.write_table(table if stored is None else table.replace_schema_metadata({b"bosket.table": stored}), file)
    return file.getvalue()


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables(tmp_path: Path, examples: int, suffix: str) -> None:
    sound = texts if suffix == "csv" else tables()

    def target(case: tuple[bytes, bool, dict[str, Any]]) -> None:
        content, is_packed, how = case
        path = tmp_path / f"x.{suffix}{'.gz' if is_packed else ''}"
        path.write_bytes(gzip.compress(content) if is_packed else content)
        table = only_refused(lambda: Table.read(path, max_bytes=1 << 20, **how))
        if table is not None and "values" in how and "columns" not in how:
            assert set(table.domain.names) == {"sex", "age"}
            assert table.domain.attribute("age").values[:3] == ("[0,20)", "[20,50)", "[50,inf)")
            assert table.domain.is_declared

    fuzz(target, st.tuples(mutated(sound) | sound, st.booleans(), choices), examples=examples)
