"""Tables in which no record is refused: every line or row is one record, read by itself, and every cell has a value."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Table
from bosket.errors import DataError, ParameterError

DECLARED: dict[str, Any] = {
    "columns": ["age", "sex"],
    "bins": {"age": [15, 35]},
    "values": {"sex": ["F", "M"]},
    "unknown": "other",
}
DOMAIN = ("age=[15,35)", "age=[35,inf)", "age=other", "sex=F", "sex=M", "sex=other")


class Hostile:
    def __hash__(self) -> int:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


def rows(table: Table) -> list[list[Any]]:
    return [list(record.values()) for record in table]


def csv(path: Path, *lines: bytes) -> list[list[Any]]:
    path.write_bytes(b"age,sex,more\n" + b"".join(lines))
    table = Table.read(path, **DECLARED)
    assert table.domain.labels == DOMAIN
    assert table.domain.is_declared
    return rows(table)


@pytest.mark.parametrize(
    "line, read",
    [
        (b"20,F,x\n", ["[15,35)", "F"]),
        (b" 40 , M ,x\r\n", ["[35,inf)", "M"]),
        (b"3,F,x\n", ["other", "F"]),
        (b"old,?,x\n", ["other", "other"]),
        (b",,\n", ["other", "other"]),
        (b"inf,f,x\n", ["other", "other"]),
        (b"\n", ["other", "other"]),
        (b"20,F\n", ["other", "other"]),
        (b"20,F,x,y\n", ["other", "other"]),
        (b'20,F,"x\n', ["[15,35)", "F"]),
        (b'"20","F","a,b"\n', ["[15,35)", "F"]),
        (b"20,F,\xff\xfe\0\n", ["[15,35)", "F"]),
        (b"20,\xff,x\n", ["[15,35)", "other"]),
        (b"a\rb,F,x\n", ["other", "F"]),
        (b'"' + b"x" * 200_000 + b'",F,x\n', ["other", "other"]),
        (b"20,F,x", ["[15,35)", "F"]),
    ],
)
def test_a_line_is_a_record_and_touches_no_other(tmp_path: Path, line: bytes, read: list[str]) -> None:
    plain = b"40,M,x\n"
    assert csv(tmp_path / "t.csv", plain, line) == [["[35,inf)", "M"], read]
    if line.endswith(b"\n"):
        assert csv(tmp_path / "t.csv", line, plain) == [read, ["[35,inf)", "M"]]


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=6))
def test_no_bytes_after_the_header_are_refused(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    assert len(csv(path, *(line + b"\n" for line in lines))) == len(lines)


@pytest.mark.parametrize(
    "cell",
    [None, float("nan"), Hostile(), [1], b"F", 10**5000, Decimal("1e400"), np.timedelta64(20, "M"), "F "],
    ids=lambda cell: type(cell).__name__,
)
@pytest.mark.parametrize("column", ["age", "sex"])
def test_a_cell_of_a_frame_is_read_by_itself(cell: Any, column: str) -> None:
    without = pd.DataFrame({"age": [20, 40], "sex": ["F", "M"]})
    with_it = pd.DataFrame(
        {name: pd.Series([cell if name == column else 20, *without[name]], dtype=object) for name in without}
    )
    assert rows(Table.from_frame(with_it, **DECLARED))[1:] == rows(Table.from_frame(without, **DECLARED))
    place = list(without).index(column)
    found = rows(Table.from_frame(with_it, **DECLARED))[0][place]
    assert found == "other" or cell == "F " or isinstance(cell, Decimal)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    wrong = pa.array([b"F", b"\xff", None, b"M"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 4, wrong.buffers())
    parquet.write_table(pa.table({"age": pa.array([20.0, 3.0, None, 99.0]), "sex": texts, "more": [1, 2, 3, 4]}), path)
    assert rows(Table.read(path, **DECLARED)) == [
        ["[15,35)", "F"], ["other", "other"], ["other", "other"], ["[35,inf)", "M"]
    ]  # fmt: skip


def test_a_file_with_its_domain_needs_no_other(tmp_path: Path) -> None:
    table = Table.from_frame(pd.DataFrame({"age": [20, 3], "sex": ["F", "M"]}), **DECLARED)
    table.write(tmp_path / "t.parquet")
    again = Table.read(tmp_path / "t.parquet", unknown="other")
    assert rows(again) == rows(table)
    assert again.domain == table.domain


def test_missing_cells_may_have_a_category_of_their_own() -> None:
    frame = pd.DataFrame({"age": [20, None, 3], "sex": ["F", "?", "x"]})
    table = Table.from_frame(frame, **DECLARED, missing={"sex": "no answer"})
    assert rows(table) == [["[15,35)", "F"], ["other", "no answer"], ["other", "other"]]


@pytest.mark.parametrize("wrong", [{"unknown": ""}, {"unknown": 3}, {"values": {}}, {"bins": {}}])
def test_what_is_not_declared_is_refused(wrong: dict[str, Any]) -> None:
    frame = pd.DataFrame({"age": [20], "sex": ["F"]})
    with pytest.raises(ParameterError) as caught:
        Table.from_frame(frame, **DECLARED | wrong)
    assert caught.value.parameter == "unknown"


def test_schemas_are_public(tmp_path: Path) -> None:
    """Columns that are not there, or hold lists, are refused whatever the records are."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"age": pa.array([[20]]), "sex": ["F"]}), path)
    with pytest.raises(DataError):
        Table.read(path, **DECLARED)
    with pytest.raises(ParameterError):
        Table.from_frame(pd.DataFrame({"age": [1]}), **DECLARED)


def test_a_cell_of_digits_takes_time_by_its_length() -> None:
    """A million digits and a letter: tried at every place, they would take hours."""
    frame = pd.DataFrame({"age": ["20", "1" * 1_000_000 + "x"], "sex": ["F", "M"]})
    table = Table.from_frame(frame, bins={"age": [15, 35]}, values={"sex": ["F", "M"]}, unknown="other")
    assert [record["age"] for record in table] == ["[15,35)", "other"]


def test_what_an_object_says_of_its_class_is_not_asked() -> None:
    class Odd:
        @property  # type: ignore[misc]  # that is what is odd about it
        def __class__(self) -> Any:
            raise RuntimeError("the class of this object")

    frame = pd.DataFrame({"sex": ["F", Odd(), "M"]}, dtype=object)
    table = Table.from_frame(frame, values={"sex": ["F", "M"]}, unknown="other")
    assert [record["sex"] for record in table] == ["F", "other", "M"]


def test_what_a_footer_claims_is_not_held_to_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    words = ["F", "M"] * 500 + ["Z" * 60_000_000]
    parquet.write_table(pa.table({"sex": words}), path, compression="zstd")
    table = Table.read(path, values={"sex": ["F", "M"]}, unknown="other", max_bytes=40_000_000)
    assert len(table) == 1001


def test_a_row_of_millions_of_cells_is_not_made_out(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("age,sex\n20,F\n" + "," * 8_000_000 + "\n30,M\n")
    tracemalloc.start()
    table = Table.read(path, bins={"age": [15, 35]}, values={"sex": ["F", "M"]}, unknown="other")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [record["sex"] for record in table] == ["F", "other", "M"]
    assert peak < 60_000_000, "a list of all cells takes more"


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_numbers_of_few_bits_are_those_they_are_written_as(kind: Any) -> None:
    frame = pd.DataFrame({"d": np.array([1, 2, 0.1], kind)})
    table = Table.from_frame(frame, values={"d": ["1", "2", "0.1"]}, unknown="other")
    assert [record["d"] for record in table] == ["1", "2", "0.1"]
