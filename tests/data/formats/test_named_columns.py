"""Files whose columns have other names: the two that are named are read, and the others are not looked at."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Baskets, Domain
from bosket.data.formats import parquet_cells
from bosket.data.formats.parquet_opening import opened
from bosket.data.formats.parquet_texts import coded_table
from bosket.data.formats.sources import Content
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said
from tests.strategies import Records, records, texts

ITEMS = ["beer", "bread", "milk"]
SALES: dict[str, list[Any]] = {
    "Description": ["white", "two, sliced", 'a "pint"', "", "again"],
    "StockCode": ["milk", "bread", "beer", None, "milk"],
    "Quantity": [1, 2, 3, 4, 5],
    "InvoiceNo": ["A1", "A1", "B 2", "C3", "A1"],
}
NAMES: dict[str, Any] = {"record": "InvoiceNo", "item": "StockCode"}
WANTED = [("bread", "milk"), ("beer",), ()]
DECLARED = [
    pytest.param({}, id="seen"),
    pytest.param({"items": ITEMS}, id="refuse"),
    pytest.param({"items": ITEMS, "unknown": "drop"}, id="drop"),
]
declared = pytest.mark.parametrize("options", DECLARED)
suffixes = pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "parquet.gz"])


def content(columns: dict[str, list[Any]], suffix: str) -> bytes:
    file = io.BytesIO()
    if suffix.startswith("csv"):
        pd.DataFrame(columns, dtype=object).to_csv(file, index=False)
    else:
        parquet.write_table(pa.table(columns), file)
    return gzip.compress(file.getvalue()) if suffix.endswith(".gz") else file.getvalue()


def written(columns: dict[str, list[Any]], path: Path) -> Path:
    path.write_bytes(content(columns, path.name.partition(".")[2]))
    return path


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    return written(SALES, tmp_path / "sales.csv")


@suffixes
@declared
def test_two_columns_are_read_among_others(tmp_path: Path, suffix: str, options: dict[str, Any]) -> None:
    path = written(SALES, tmp_path / f"sales.{suffix}")
    if suffix == "parquet.gz" and "unknown" in options:  # refused by its name
        return
    data = Baskets.read(path, **NAMES, **options)
    assert list(data) == WANTED
    assert data.domain == (Domain(ITEMS) if options else Domain(sorted(ITEMS), is_declared=False))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@declared
def test_layout_may_be_said_too(tmp_path: Path, suffix: str, options: dict[str, Any]) -> None:
    path = written(SALES, tmp_path / f"sales.{suffix}")
    assert list(Baskets.read(path, layout="long", **NAMES, **options)) == WANTED


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("renamed")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@settings(max_examples=30)
@given(rows=records(texts), name=st.sampled_from(["x", "a.b", "record", "", "0", "x,y", 'q"', "länge"]))
def test_as_of_a_file_that_was_renamed(place: Path, suffix: str, rows: Records, name: str) -> None:
    """Names that mean something elsewhere mean nothing here: records are called items, and items anything."""
    pairs = [(at, label) for at, row in enumerate(rows) for label in [*sorted(map(str, row)), *([] if row else [None])]]
    assume(any(label for _, label in pairs))
    keys, labels = [f"r{at}" for at, _ in pairs], [label for _, label in pairs]
    plain = written({"record": keys, "item": labels}, place / f"plain.{suffix}")
    other = written({"item": keys, "unread": keys, name: labels}, place / f"other.{suffix}")
    same = Baskets.read(other, record="item", item=name)
    assert same == Baskets.read(plain, layout="long")
    items = same.domain.labels
    if suffix == "csv" and any(set(str(label)) & {"\n", "\r"} for label in items):
        return  # no line of a text file can hold them, where lines are read one by one
    for unknown in ("refuse", "drop"):
        options: dict[str, Any] = {"items": items, "unknown": unknown}
        assert Baskets.read(other, record="item", item=name, **options) == Baskets.read(plain, layout="long", **options)


@declared
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("names", [("InvoiceNo", "Product"), ("Kunde", "StockCode")])
def test_a_name_that_is_no_column(tmp_path: Path, suffix: str, options: dict[str, Any], names: tuple[str, str]) -> None:
    path = written(SALES, tmp_path / f"sales.{suffix}")
    with pytest.raises(ParameterError) as caught:
        Baskets.read(path, record=names[0], item=names[1], **options)
    wrong = next(name for name in names if name not in SALES)
    assert caught.value.parameter == ("item" if wrong == names[1] else "record")
    assert caught.value.value == wrong
    assert all(repr(name) in str(caught.value) for name in SALES)
    assert "sales" in str(caught.value)


@declared
def test_a_name_that_is_nearly_right(sales: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        Baskets.read(sales, record="Invoiceno", item="StockCode", **options)
    assert "'InvoiceNo'" in str(caught.value.hint)


@declared
@pytest.mark.parametrize("first", ["77,milk,bread", "wine,2024-03-01,secret", "2.5,secret"])
def test_a_first_line_that_may_be_a_record_is_not_shown(tmp_path: Path, options: dict[str, Any], first: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{first}\n{first}\n")
    with pytest.raises(ParameterError) as caught:
        Baskets.read(path, **NAMES, **options)
    assert not any(cell and cell in said(caught.value) for cell in first.split(","))


@declared
def test_cells_that_are_parted_by_another_sign(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("InvoiceNo;StockCode\nA1;milk\n")
    with pytest.raises(ParameterError, match="'InvoiceNo;StockCode'") as caught:
        Baskets.read(path, **NAMES, **options)
    assert "commas" in str(caught.value.hint)


@declared
def test_what_a_spreadsheet_writes(tmp_path: Path, options: dict[str, Any]) -> None:
    """A byte-order mark, carriage returns, blank columns, and a last line without its end."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbfInvoiceNo,StockCode,,\r\nA1,milk,,\r\nA1,beer,,\r\nB2,,,")
    assert list(Baskets.read(path, **NAMES, **options)) == [("beer", "milk"), ()]


@declared
def test_a_name_without_end_is_looked_at_once(tmp_path: Path, options: dict[str, Any]) -> None:
    """A regular expression for numbers would take hours."""
    path = tmp_path / "x.csv"
    path.write_text("1" * 130_000 + "x,b\n")
    with pytest.raises(ParameterError) as caught:
        Baskets.read(path, **NAMES, **options)
    assert len(str(caught.value)) < 1000


@declared
def test_many_columns_are_not_all_shown(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(",".join([f"c{at}" for at in range(5000)] + ["x" * 5000]) + "\n")
    with pytest.raises(ParameterError) as caught:
        Baskets.read(path, **NAMES, **options)
    assert len(str(caught.value)) < 1000


@declared
@pytest.mark.parametrize(
    "names, parameter",
    [
        ({"record": "InvoiceNo"}, "item"),
        ({"item": "StockCode"}, "record"),
        ({"record": "StockCode", "item": "StockCode"}, "item"),
        ({"record": 3, "item": "StockCode"}, "record"),
        ({"record": "InvoiceNo", "item": b"StockCode"}, "item"),
        ({**NAMES, "layout": "one-hot"}, "record"),
        ({**NAMES, "layout": "list"}, "record"),
        ({"item": "StockCode", "layout": "list"}, "record"),
    ],
    ids=str,
)
def test_names_that_do_not_go_together(
    tmp_path: Path, options: dict[str, Any], names: dict[str, Any], parameter: str
) -> None:
    """They are refused before the file is looked at."""
    with pytest.raises(ParameterError) as caught:
        Baskets.read(tmp_path / "missing.csv", **names, **options)
    assert caught.value.parameter == parameter


@declared
@pytest.mark.parametrize("names", [NAMES, {"record": "x"}, {"item": "x"}], ids=str)
def test_fimi_files_have_no_columns(tmp_path: Path, options: dict[str, Any], names: dict[str, Any]) -> None:
    (tmp_path / "x.dat").write_text("1 2\n")
    with pytest.raises(ParameterError) as caught:
        Baskets.read(tmp_path / "x.dat", **names, **options)
    assert caught.value.parameter == next(iter(names))


@pytest.mark.slow
@declared
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_that_are_not_read_may_share_a_name(tmp_path: Path, suffix: str, options: dict[str, Any]) -> None:
    """A spreadsheet leaves blank columns at the end; of the two that are read, each must be one."""
    path = tmp_path / f"x.{suffix}"
    for names in (["a", "b", "", ""], ["a", "b", "c", "a"], ["a", "b", "b", "c"]):
        cells = [["r1", "r2"], ["milk", "beer"], ["x", "y"], ["x", "y"]]
        if suffix == "csv":
            path.write_text("\n".join(map(",".join, [names, *zip(*cells, strict=True)])) + "\n")
        else:
            parquet.write_table(pa.table(list(map(pa.array, cells)), names=names), path)
        if "" in names:
            assert list(Baskets.read(path, record="a", item="b", **options)) == [("milk",), ("beer",)]
        else:
            with pytest.raises(DataError, match="same name"):
                Baskets.read(path, record="a", item="b", **options)


def line(*cells: str | bytes) -> bytes:
    return b",".join(cell if isinstance(cell, bytes) else cell.encode() for cell in cells) + b"\n"


LATIN = "Pfündchen".encode("latin-1")


@declared
def test_other_columns_need_not_be_text(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.csv"
    rows = [line("a", LATIN, "milk"), line("b", LATIN + b"\xff", "beer"), line("a", "x", "bread")]
    path.write_bytes(line("basket", "what", "product") + b"".join(rows))
    assert list(Baskets.read(path, record="basket", item="product", **options)) == [("bread", "milk"), ("beer",)]


@pytest.mark.parametrize("options", DECLARED[:2])
@pytest.mark.parametrize("row", [line(LATIN, "x", "milk"), line("c", "x", LATIN)], ids=["record", "item"])
def test_what_is_read_must_be_text(tmp_path: Path, options: dict[str, Any], row: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(line("basket", "what", "product") + line("a", LATIN, "milk") + row)
    with pytest.raises(DataError) as caught:
        Baskets.read(path, record="basket", item="product", **options)
    assert caught.value.line == 3
    assert "nd" not in said(caught.value).replace("and", "")


@pytest.mark.parametrize("options", DECLARED[:2])
@pytest.mark.parametrize("row", [line("", LATIN, "milk"), line("c", LATIN)], ids=["no record", "short"])
def test_lines_are_told_beside_columns_that_are_no_text(tmp_path: Path, options: dict[str, Any], row: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(line("basket", "what", "product") + line("a", LATIN, "milk") + row)
    with pytest.raises(DataError) as caught:
        Baskets.read(path, record="basket", item="product", **options)
    assert caught.value.line == 3


@declared
def test_an_item_may_be_called_as_its_column(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("0,milk\na,milk\na,bread\n")
    assert list(Baskets.read(path, record="0", item="milk", **options)) == [("bread", "milk")]


def test_two_columns_of_signs_are_what_they_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n0,1\n1,0\n1,1\n")
    assert list(Baskets.read(path, record="a", item="b")) == [(1,), (0, 1)]


@declared
def test_a_declared_item_in_the_header_decides_nothing(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("milk,record,item,product\n1,a,beer,milk\n0,a,beer,bread\n")
    assert list(Baskets.read(path, record="record", item="product", **options)) == [("bread", "milk")]


# ------------------------------------------------------------------------------------------------------------- Parquet

ODD = {
    "when": pa.array([dt.date(2024, 1, 1)] * 2),
    "where": pa.array([{"lat": 1.0, "what": "x"}] * 2),
    "tags": pa.array([["a"], None]),
    "price": pa.array([b"\xff", b"\0"]).view(pa.string()),
}


@declared
def test_types_of_other_columns_do_not_matter(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({**ODD, "a": ["r", "r"], "where.what": ["milk", "beer"]}), path)
    assert list(Baskets.read(path, record="a", item="where.what", **options)) == [("beer", "milk")] or options
    if options:
        assert set(Baskets.read(path, record="a", item="where.what", **options)[0]) == {"beer", "milk"}


@declared
@pytest.mark.parametrize("layout", [None, "list"])
def test_a_column_of_lists_by_name(tmp_path: Path, options: dict[str, Any], layout: Any) -> None:
    path = tmp_path / "x.parquet"
    lists = [["milk", "beer"], None]
    parquet.write_table(pa.table({**ODD, "products": lists, "where.what": lists}), path)
    with pytest.raises(DataError, match="one column of lists"):
        Baskets.read(path, layout=layout, **options)
    for name in ("products", "where.what"):
        data = Baskets.read(path, item=name, layout=layout, **options)
        assert list(map(set, data)) == [{"milk", "beer"}, set()]


@declared
def test_a_column_of_no_lists_needs_a_record(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": ["r", "r"], "b": ["milk", "beer"], "c": [["milk"], []]}), path)
    with pytest.raises(DataError, match="lists") as caught:
        Baskets.read(path, item="b", **options)
    assert "record" in str(caught.value.hint)
    with pytest.raises(ParameterError) as wrong:
        Baskets.read(path, item="b", layout="long", **options)
    assert wrong.value.parameter == "record"
    with pytest.raises(DataError):
        Baskets.read(path, record="a", item="c", **options)


@declared
def test_other_columns_do_not_count_towards_the_cap(tmp_path: Path, options: dict[str, Any]) -> None:
    """Neither the text of another column, nor its lists, which the footer tells of."""
    path = tmp_path / "x.parquet"
    words = [f"{at:0200}" for at in range(2000)]
    codes = ["milk", "beer"] * 1000
    table = pa.table({"text": words, "a": ["r"] * 2000, "b": codes, "lists": [list(range(100))] * 2000})
    parquet.write_table(table, path)
    with pytest.raises(DataError, match="at most"):
        Baskets.read(path, record="a", item="text", max_bytes=200_000, items=words if options else None)
    with pytest.raises(DataError, match="at most"):
        Baskets.read(path, item="lists", max_bytes=200_000, items=range(100) if options else None)
    data = Baskets.read(path, record="a", item="b", max_bytes=200_000, **options)
    assert set(data[0]) == {"milk", "beer"}


def test_what_a_footer_claims_of_the_columns_is_checked_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": ["r"] * 2, "b": ["x" * 100_000, "y"]}), path)
    monkeypatch.setattr("bosket.data.formats.parquet_texts.group_batches", lambda *_: pytest.fail("something was read"))
    with pytest.raises(DataError, match="at most"):
        Baskets.read(path, record="a", item="b", max_bytes=50_000)


def test_what_is_counted_is_of_the_columns_that_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    lists = pa.array([[1, 2, 3], None] * 2500)
    table = pa.table({"s": pa.array([{"a": 1, "b": [1, 2]}] * 5000), "l": lists, "n": np.arange(5000), "m": lists})
    parquet.write_table(table, path, row_group_size=2000)
    with opened(Content(path)) as file:
        for columns in (["l"], ["n", "m"], ["n"], ["s"], ["s", "m"]):
            counted, held = parquet_cells.n_bytes(file, columns), coded_table(file, columns).nbytes
            assert held / 2.1 < counted < 2 * held, columns
            assert set(coded_table(file, columns).column_names) == set(columns)


def test_a_stored_domain_is_that_of_the_column(tmp_path: Path) -> None:
    """A file of ours whose columns were renamed keeps its items, those that no record has too."""
    path = tmp_path / "x.parquet"
    data = Baskets([[3, 1], []], items=[1, 2, 3])
    data.write(path, layout="long")
    table = parquet.read_table(path)
    other = table.rename_columns(["basket", "product"]).append_column("x", [["u"] * 3])
    parquet.write_table(other.replace_schema_metadata(table.schema.metadata), path)
    assert Baskets.read(path, record="basket", item="product") == data


# -------------------------------------------------------------------------------------------------------------- frames


@declared
def test_frames_refuse_one_column_twice(options: dict[str, Any]) -> None:
    frame = pd.DataFrame({"a": ["milk"], "b": ["x"], "c": ["y"]}, dtype="string")
    with pytest.raises(ParameterError) as caught:
        Baskets.from_frame(frame, record="a", item="a", **options)
    assert caught.value.parameter == "item"


@declared
def test_frames_tell_their_columns(options: dict[str, Any]) -> None:
    frame = pd.DataFrame({"a": ["milk"], "b": ["x"], 3: ["y"]}, dtype="string")
    with pytest.raises(ParameterError, match="'a', 'b' and 3"):
        Baskets.from_frame(frame, record="b", item="d", **options)


def test_the_module_csv_agrees(sales: Path) -> None:
    """Another reader of the same file."""
    found: dict[str, set[str]] = {}
    with sales.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["InvoiceNo"], set()).update({row["StockCode"]} - {""})
    assert list(map(set, Baskets.read(sales, **NAMES))) == list(found.values())


def test_a_column_of_marks_beside_a_structure(tmp_path: Path) -> None:
    """Arrow takes a.b for the values b within a as well."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": pa.array([{"b": 1}, {"b": 1}]), "a.b": [0, 1], "c": [1, 0]}), path)
    data = Baskets.read(path, items=["a.b", "c"], unknown="drop", layout="one-hot")
    assert list(data) == [("c",), ("a.b",)]
