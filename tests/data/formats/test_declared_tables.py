"""Tables in which no record is refused: every line or row is one record, read by itself, and every cell has a value."""

from __future__ import annotations

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
from tests.memory import traced

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
        (b'"' + b"x" * 200_000 + b'",F,x\n', ["other", "F"]),
        (b'"a\r"b,"F"\r,x\n', ["other", "F"]),
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


@pytest.mark.slow
def test_what_a_footer_claims_is_not_held_to_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    words = ["F", "M"] * 500 + ["Z" * 60_000_000]
    parquet.write_table(pa.table({"sex": words}), path, compression="zstd")
    table = Table.read(path, values={"sex": ["F", "M"]}, unknown="other", max_bytes=40_000_000)
    assert len(table) == 1001


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_row_of_millions_of_cells_is_not_made_out(tmp_path: Path, quote: str) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("age,sex\n20,F\n" + f"{quote}{quote}" + "," * 8_000_000 + "\n30,M\n")
    with traced() as memory:
        table = Table.read(path, bins={"age": [15, 35]}, values={"sex": ["F", "M"]}, unknown="other")
        assert memory.peak < 60_000_000, "a list of all cells takes more"
    assert [record["sex"] for record in table] == ["F", "other", "M"]


@pytest.mark.slow
def test_a_column_of_long_cells_is_not_kept(tmp_path: Path) -> None:
    """Codes of cells were remembered with the cells, however long these were: all of a file, once more."""
    path = tmp_path / "long.csv"
    path.write_text("sex\n" + "".join(f"{at:x}{'x' * 4000}\n" for at in range(20_000)))
    with traced() as memory:
        table = Table.read(path, values={"sex": ["F", "M"]}, unknown="other")
        assert memory.peak < 30_000_000
    assert len(table) == 20_000


@pytest.mark.parametrize("line", ["", "\r", '""', " "])
def test_a_blank_line_of_one_column_is_a_missing_cell(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.csv").write_text(f"sex\nF\n{line}\nM\nx\n")
    table = Table.read(tmp_path / "x.csv", values={"sex": ["F", "M"]}, unknown="other", missing="none")
    assert [record["sex"] for record in table] == ["F", "none", "M", "other"]


FAR = [
    pa.array([None, 0, 2**31 - 1], pa.date32()),
    pa.array([None, 0, 2**62], pa.date64()),
    pa.array([None, 0, 2**50], pa.timestamp("s")),
    pa.array([None, 0, 2**62], pa.timestamp("us", "UTC")),
    pa.array([None, 0, 2**62], pa.duration("s")),
    pa.array([None, 0, 86399], pa.time32("s")),
    pa.array([None, b"F", b"M"], pa.binary(1)),
    pa.array([None, 0, 2**31 - 1], pa.date32()).dictionary_encode(),
]


@pytest.mark.parametrize("column", FAR, ids=lambda column: str(column.type).split(",")[0])
@pytest.mark.parametrize("source", ["Arrow", "Parquet", "polars", "pandas"])
def test_dates_are_no_values_whatever_the_calendar(tmp_path: Path, column: Any, source: str) -> None:
    """Python has no year 5 881 580: one cell refused the file, or made an error that was not ours."""
    frame: Any = pa.table({"sex": column})
    options: dict[str, Any] = {"values": {"sex": ["F", "M"]}, "unknown": "other", "missing": "none"}
    if source == "Parquet":
        parquet.write_table(frame, tmp_path / "x.parquet", coerce_timestamps=None)
        table = Table.read(tmp_path / "x.parquet", **options)
    elif source == "polars":
        pl = pytest.importorskip("polars")
        if pa.types.is_fixed_size_binary(column.type) or pa.types.is_dictionary(column.type):
            return  # which polars has not
        table = Table.from_frame(pl.from_arrow(frame), **options)
    elif source == "pandas":
        table = Table.from_frame(frame.to_pandas(types_mapper=pd.ArrowDtype), **options)
    else:
        table = Table.from_frame(frame, **options)
    assert [record["sex"] for record in table] == ["none", "other", "other"]


@pytest.mark.parametrize("kind", [pa.decimal128(30, 2), pa.decimal256(50, 2), pa.float16(), pa.int8(), pa.float32()])
@pytest.mark.parametrize("is_read", [False, True])
def test_numbers_of_every_type_are_values(tmp_path: Path, kind: Any, is_read: bool) -> None:
    frame = pa.table({"n": pa.array([1, 2, 3, None]).cast(kind)})
    options: dict[str, Any] = {"bins": {"n": [2, 3]}, "unknown": "other"}
    parquet.write_table(frame, tmp_path / "x.parquet")
    table = Table.read(tmp_path / "x.parquet", **options) if is_read else Table.from_frame(frame, **options)
    assert [record["n"] for record in table] == ["other", "[2,3)", "[3,inf)", "other"]


@pytest.mark.parametrize("encoding", ["dictionary", "PLAIN", "DELTA_BYTE_ARRAY"])
def test_long_words_of_a_table_are_put_away_first(tmp_path: Path, monkeypatch: Any, encoding: str) -> None:
    """A word beyond a line of text is no value, not even one of all others, and is never an object."""
    monkeypatch.setattr("bosket.data.formats.lines.LONGEST", 1000)
    frame = pa.table({"sex": ["F", "x", "y" * 2000, None]})
    options: dict[str, Any] = {} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": encoding}
    parquet.write_table(frame, tmp_path / "x.parquet", **options)
    seen: list[Any] = []

    def note(_: Any, cell: Any) -> int:
        seen.append(cell)
        return 0

    monkeypatch.setattr("bosket.data.formats.declared_tables._Attribute.code", note)
    Table.read(tmp_path / "x.parquet", values={"sex": {"F": ["F"], "rest": "*"}}, unknown="other")
    assert sorted(seen, key=str) == ["F", None, "x"]
    monkeypatch.undo()
    monkeypatch.setattr("bosket.data.formats.lines.LONGEST", 1000)
    for table in (
        Table.read(tmp_path / "x.parquet", values={"sex": {"F": ["F"], "rest": "*"}}, unknown="other", missing="none"),
        Table.from_frame(frame, values={"sex": {"F": ["F"], "rest": "*"}}, unknown="other", missing="none"),
    ):
        assert [record["sex"] for record in table] == ["F", "rest", "other", "none"]


@pytest.mark.slow
def test_words_of_a_table_are_made_objects_some_at_a_time(tmp_path: Path) -> None:
    """Half a million words were half a million objects at once, and once more in each batch of their row group."""
    n = 1 << 19
    parquet.write_table(pa.table({"sex": [f"a{at:x}" for at in range(n)]}), tmp_path / "x.parquet", row_group_size=n)
    with traced() as memory:
        table = Table.read(tmp_path / "x.parquet", values={"sex": ["a0", "a1"]}, unknown="other")
        assert memory.peak < 30_000_000
    assert np.bincount(table.codes[:, 0]).tolist() == [1, 1, n - 2]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_numbers_of_few_bits_are_those_they_are_written_as(kind: Any) -> None:
    frame = pd.DataFrame({"d": np.array([1, 2, 0.1], kind)})
    table = Table.from_frame(frame, values={"d": ["1", "2", "0.1"]}, unknown="other")
    assert [record["d"] for record in table] == ["1", "2", "0.1"]
