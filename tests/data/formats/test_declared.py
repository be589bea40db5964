"""Reading under a declaration: what a cell stands for depends on that cell and the declaration alone."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Baskets, Domain
from bosket.data.formats import parquet_texts
from bosket.data.formats.vocabulary import Unknown
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said
from tests.memory import memory_within
from tests.strategies import Records, baskets, numbers, records, texts

ITEMS = ["milk", "beer", "3", 4, 'a"b', "x,y", "010", "é"]
HEADERS = {"dat": b"", "list": b"", "one-hot": b'milk,other,"x,y",beer\r\n', "long": b"record,item\n"}
LAYOUTS = list(HEADERS)
FAULTS = {
    "list": "bosket.data.formats.declared_parquet.pc.list_flatten",
    "long": "bosket.data.formats.declared_parquet.pc.index_in",
    "one-hot": "bosket.data.formats.declared_parquet.pc.is_in",
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)

_parts = [b"milk", b"beer", b"3", b"04", b"010", b'"', b'""', b",", b" ", b"\t", b"\r", b"\0", b"\xff", b"1", b"true"]
_parts += [b"0", b'"x,y"', b'"a""b"', b"TrUe", b"\xef\xbb\xbf", "é".encode(), b"ann,", b"bob,", b"1,0,1,1", b'"milk']
lines = st.lists(st.sampled_from(_parts), max_size=8).map(b"".join) | st.binary(max_size=12).map(
    lambda text: text.replace(b"\n", b"")
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("declared")


@pytest.fixture(params=["blocks", "crumbs"])
def _sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Once as it is, and once with so little read at a time that every line is cut, some to their greatest length."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "crumbs":
            patch.setattr("bosket.data.formats.sources.BLOCK", 5)
            patch.setattr("bosket.data.formats.lines.LONGEST", 24)
        yield


def read(path: Path, layout: Any, content: bytes, **options: Any) -> Baskets:
    file = path / ("x.dat" if layout == "dat" else "x.csv")
    file.write_bytes(content)
    options = {"items": ITEMS, "unknown": "drop", **options}
    return Baskets.read(file, layout=None if layout in ("dat", "long") else layout, **options)


def joined(layout: str, given: list[bytes]) -> bytes:
    return HEADERS[layout] + b"".join(line + b"\n" for line in given)


@every_layout
@pytest.mark.usefixtures("_sizes")
@given(content=st.binary(max_size=60) | st.lists(lines, max_size=6).map(b"\n".join))
def test_whatever_follows_the_header_is_records(place: Path, layout: str, content: bytes) -> None:
    data = read(place, layout, HEADERS[layout] + content)
    assert data.domain == Domain(ITEMS)
    assert data.domain.is_declared
    if layout != "long":
        assert data.n_records == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


@pytest.mark.parametrize("layout", ["dat", "list", "one-hot"])
@pytest.mark.usefixtures("_sizes")
@given(given=st.lists(lines, min_size=1, max_size=6), other=lines, at=st.integers(0, 5))
@example(given=[b"\xef\xbb\xbfmilk"], other=b"beer", at=0)
@example(given=[b"\xef\xbb\xbf1,1,1,1"], other=b'"1', at=0)
@example(given=[b"milk", b"beer"], other=b'"milk', at=0)
@example(given=[b"milk", b"beer"], other=b"milk" + b" " * 30, at=0)
def test_a_line_is_a_record_and_nothing_else(
    place: Path, layout: str, given: list[bytes], other: bytes, at: int
) -> None:
    """Changing a line changes that record alone, and adding one adds one, whatever its bytes."""
    at %= len(given)
    before = list(read(place, layout, joined(layout, given)))
    alone = list(read(place, layout, joined(layout, [other])))
    assert len(alone) == 1
    assert list(read(place, layout, joined(layout, [*given[:at], other, *given[at + 1 :]]))) == [
        *before[:at],
        *alone,
        *before[at + 1 :],
    ]
    added = list(read(place, layout, joined(layout, [*given[:at], other, *given[at:]])))
    assert added == [*before[:at], *alone, *before[at:]]


@pytest.mark.usefixtures("_sizes")
@given(given=st.lists(lines, max_size=6), other=lines, at=st.integers(0, 6))
def test_a_line_of_a_long_file_is_at_most_one_item_of_one_record(
    place: Path, given: list[bytes], other: bytes, at: int
) -> None:
    before = Counter(read(place, "long", joined("long", given)))
    after = Counter(read(place, "long", joined("long", [*given[:at], other, *given[at:]])))
    lost, gained = (before - after).elements(), (after - before).elements()
    changed = [set(record) for record in lost], [set(record) for record in gained]
    assert len(changed[0]) <= len(changed[1]) <= 1
    for new in changed[1]:
        old = changed[0][0] if changed[0] else set()
        assert old <= new
        assert len(new - old) <= 1


def cells_of(line: bytes) -> list[str]:
    """What Python's own reader makes of one line."""
    text = line.decode("latin-1").removesuffix("\r").removeprefix("\xef\xbb\xbf")
    return next(csv.reader([text]), [])


@given(line=lines)
def test_cells_against_the_csv_module(place: Path, line: bytes) -> None:
    assume(b"\r" not in line.removesuffix(b"\r"))
    known = {str(label).encode().decode("latin-1"): label for label in ITEMS}
    cells = cells_of(line)
    truth = {known[cell] for cell in cells if cell in known}
    assert set(read(place, "list", line + b"\n")[0]) == truth
    present = [cell.lower() in ("1", "1.0", "true") for cell in cells]
    marked = {item for item, here in zip(["milk", None, "x,y", "beer"], present, strict=False) if here and item}
    assert set(read(place, "one-hot", HEADERS["one-hot"] + line + b"\n")[0]) == (marked if len(cells) == 4 else set())
    rows = read(place, "long", HEADERS["long"] + line + b"\n")
    named = len(cells) == 2 and bool(cells[0])
    assert list(rows) == ([tuple(known[cell] for cell in cells[1:] if cell in known)] if named else [])


@given(line=lines)
def test_tokens_against_split(place: Path, line: bytes) -> None:
    known = {str(label).encode(): label for label in ITEMS}
    bare = line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r").replace(b"\t", b" ").split(b" ")
    words = [word.lstrip(b"0") or b"0" if word.isdigit() and word not in known else word for word in bare]
    truth = {known[word] for word in words if word in known}
    assert set(read(place, "dat", line + b"\n")[0]) == truth


EVERY_FILE = [("csv", "long"), ("csv", "one-hot"), ("csv", "list"), *(("parquet", name) for name in LAYOUTS[1:])]


@pytest.mark.parametrize("suffix, layout", [("dat", None), *EVERY_FILE])
@given(rows=records(numbers), unknown=st.sampled_from(["refuse", "drop"]), spare=st.booleans())
def test_what_is_written_is_read_back_over_its_domain(
    place: Path, suffix: str, layout: Any, rows: Records, unknown: Any, spare: bool
) -> None:
    data = Baskets(rows)
    assume(data.n_records and data.n_items)
    data.write(place / f"x.{suffix}", layout=layout)
    items = [*reversed(data.domain.labels), *(["spare"] if spare and layout != "one-hot" else [])]
    again = Baskets.read(place / f"x.{suffix}", layout=layout, items=items, unknown=unknown)
    assert again == data.with_domain(items)
    as_text = Baskets.read(place / f"x.{suffix}", layout=layout, items=[str(item) for item in items], unknown=unknown)
    assert np.array_equal(as_text.indices, again.indices)  # labels keep the type that was declared


@pytest.mark.parametrize("suffix, layout", EVERY_FILE)
@given(rows=records(texts))
def test_texts_are_read_back_over_their_domain(place: Path, suffix: str, layout: Any, rows: Records) -> None:
    data = Baskets(rows)
    labels = [str(label) for label in data.domain.labels]
    assume(labels and not any(sign in label for label in labels for sign in "\r\n") and data.n_records)
    assume(layout != "list" or suffix == "parquet" or "" not in labels)
    assume(not any(label.startswith("\ufeff") for label in labels))
    data.write(place / f"t.{suffix}", layout=layout, formulas="allow")
    unknowns: tuple[Unknown, ...] = ("refuse", "drop")
    for unknown in unknowns:
        assert Baskets.read(place / f"t.{suffix}", layout=layout, items=data.domain, unknown=unknown) == data


@given(data=baskets())
def test_undeclared_items_are_left_out(place: Path, data: Baskets) -> None:
    assume(data.n_records)
    data.write(place / "u.dat")
    kept = [item for item in range(data.n_items) if item % 2]
    truth = Baskets([[item for item in row if item in kept] for row in data], items=kept)
    assert Baskets.read(place / "u.dat", items=kept, unknown="drop") == truth


def test_an_item_that_is_called_like_a_column(tmp_path: Path) -> None:
    """A CSV file one record of which holds the item "item" was refused as having no header."""
    rows = b"record,item\n1,milk\n2,item\n3,record\n"
    data = read(tmp_path, "long", rows, items=["milk", "item"])
    assert list(data) == [("milk",), ("item",), ()]
    with pytest.raises(DataError) as caught:
        read(tmp_path, "long", rows, items=["milk", "item", "record"])
    assert "layout=" in str(caught.value.hint)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("layout", ["list", "long"])
def test_doubles_that_are_whole_until_one_is_not(tmp_path: Path, layout: str, whole: bool) -> None:
    """Labels of a column of doubles were whole numbers or not by the last of its cells."""
    cells = [1.0, 2.0, 3.0 if whole else 2.5]
    columns = {"items": [[cell] for cell in cells]} if layout == "list" else {"record": [1, 2, 3], "item": cells}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    data = Baskets.read(tmp_path / "x.parquet", items=[1, 2, 3], unknown="drop")
    assert list(data) == [(1,), (2,), (3,) if whole else ()]


def test_one_word_among_numbers(tmp_path: Path) -> None:
    """One word in the list of items made all of them text, which no number of a FIMI file is."""
    data = read(tmp_path, "dat", b"1 2\n2\n", items=["1", "2", "milk"])
    assert list(data) == [("1", "2"), ("2",)]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), "dictionary"], ids=str
)
def test_numbers_of_every_type_stand_for_how_they_are_written(tmp_path: Path, kind: Any) -> None:
    is_text = kind == "dictionary" or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    cells = pa.array(["3", "1", None] if is_text else [3, 1, None], pa.string() if kind == "dictionary" else kind)
    cells = cells.dictionary_encode() if kind == "dictionary" else cells
    parquet.write_table(pa.table({"record": [1, 2, 3], "item": cells}), tmp_path / "x.parquet")
    for items in ([3, 300, -1, "0.1"], ["3", "300", "-1", "0.1"], [3.0, 10**30, True]):
        data = Baskets.read(tmp_path / "x.parquet", items=items, unknown="drop")
        assert list(data) == [(items[0],), (), ()]


def test_numbers_that_are_not_whole(tmp_path: Path) -> None:
    for kind in (pa.float32(), pa.float64()):
        cells = pa.array(
            [[0.1, -0.0, float("nan"), float("inf"), 1e300 if kind == pa.float64() else 1.0]], pa.list_(kind)
        )
        parquet.write_table(pa.table({"items": cells}), tmp_path / "x.parquet")
        data = Baskets.read(tmp_path / "x.parquet", items=["0", 0.1, "nan", "inf", "-0.0"], unknown="drop")
        assert set(data[0]) == {"0", 0.1}


def test_text_in_parquet_that_is_not_text(tmp_path: Path) -> None:
    """Arrow does not look whether strings are UTF-8, and Python falls over them."""
    broken = pa.array([b"milk", b"\xff\xfe"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"record": broken, "item": broken}), tmp_path / "x.parquet")
    data = Baskets.read(tmp_path / "x.parquet", items=["milk"], unknown="drop")
    assert list(data) == [("milk",), ()]


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("ns"), pa.duration("s"), pa.time32("s"), pa.decimal128(30, 2)]
)
def test_records_may_be_named_by_any_flat_value(tmp_path: Path, kind: Any) -> None:
    numbers = pa.array(
        [5, -(2**62) if kind.bit_width == 64 else 7, 5], pa.int32() if kind.bit_width == 32 else pa.int64()
    )
    names = numbers.cast(kind) if not pa.types.is_decimal(kind) else pa.array([5, 7, 5]).cast(kind)
    parquet.write_table(pa.table({"record": names, "item": ["milk", "milk", "beer"]}), tmp_path / "x.parquet")
    data = Baskets.read(tmp_path / "x.parquet", items=ITEMS, unknown="drop")
    assert list(data) == [("milk", "beer"), ("milk",)]


@pytest.mark.parametrize(
    "columns",
    [
        {"record": [1], "item": pa.array([1], pa.date32())},
        {"record": pa.array([{"a": 1}]), "item": ["milk"]},
        {"milk": pa.array([1], pa.date32()), "beer": [True], "z": [1]},
        {"items": pa.array([[[1]]])},
        {"a": [["milk"]], "b": [["milk"]]},
        {"tea": [True], "coffee": [False], "cocoa": [False]},
        {"milk": ["milk"], "b": ["Xq7"]},
    ],
    ids=lambda columns: "-".join(columns),
)
def test_a_schema_that_cannot_be_read_is_refused_without_its_rows(tmp_path: Path, columns: dict[str, Any]) -> None:
    full = pa.table(columns)
    for table in (full, full[:0]):
        parquet.write_table(table, tmp_path / "x.parquet")
        with pytest.raises(DataError) as caught:
            Baskets.read(tmp_path / "x.parquet", items=ITEMS, unknown="drop")
        assert "Xq7" not in said(caught.value)


@pytest.mark.parametrize(
    "header, layout",
    [
        (b"record,item", "long"),
        (b"item,record", "long"),
        (b"person,product", "long"),
        (b"milk,beer", "one-hot"),
        (b"beer,other,milk", "one-hot"),
        (b"milk", "one-hot"),
        (b"when,record,item", "long"),
    ],
)
def test_the_layout_is_in_the_names(tmp_path: Path, header: bytes, layout: str) -> None:
    """Whatever the cells are: two columns of 0 and 1 were ambiguous, one of other signs was not."""
    width = header.count(b",") + 1
    (tmp_path / "x.csv").write_bytes(header + b"\n" + b",".join([b"1"] * width) + b"\n")
    data = Baskets.read(tmp_path / "x.csv", items=["milk", "beer", 1], unknown="drop")
    assert list(data) == [
        (1,) if layout == "long" else tuple(name for name in ("milk", "beer") if name.encode() in header)
    ]


@pytest.mark.parametrize(
    "header", [b"person,milk", b"beer,product", b"x,y,z", b"tea", b"record,item,milk", b'"a', b"\xff"]
)
@pytest.mark.parametrize("unknown", ["refuse", "drop"])
def test_an_unclear_header_is_refused_before_any_record_is_looked_at(
    tmp_path: Path, header: bytes, unknown: Any
) -> None:
    told = []
    for rest in (b"", b"\n", b"\n1,1\n", b'\n"\xff\0'):
        (tmp_path / "x.csv").write_bytes(header + rest)
        with pytest.raises(DataError) as caught:
            Baskets.read(tmp_path / "x.csv", items=["milk", "beer"], unknown=unknown)
        told.append((str(caught.value), caught.value.hint))
    assert len(set(told)) == 1


@pytest.mark.parametrize("name, layout", [("x.dat", None), ("x.csv", "list"), ("x.csv", None)])
def test_no_records_are_none(tmp_path: Path, name: str, layout: Any) -> None:
    for content in (b"", *([b"record,item", b"\nrecord,item\r\n"] if name == "x.csv" and layout is None else [])):
        (tmp_path / name).write_bytes(content)
        data = Baskets.read(tmp_path / name, items=["milk"], unknown="drop", layout=layout)
        assert (data.n_records, data.domain.labels) == (0, ("milk",))


@pytest.mark.parametrize(
    "name, layout, content, line",
    [
        ("x.dat", None, b"milk\nbeer 3\nmilk Xq7\n", 3),
        ("x.dat", None, b"milk\n\n\xff", 3),
        ("x.csv", "list", b"milk\nXq7,beer\n", 2),
        ("x.csv", "list", b'milk\n\n"beer\nmilk"\n', 3),
        ("x.csv", None, b"record,item\n1,milk\n1,Xq7\n", 3),
        ("x.csv", None, b"record,item\n1,milk\n2\n1,Xq7\n", 3),
        ("x.csv", None, b"record,item\n1,milk\n,milk\n", 3),
        ("x.csv", None, b"record,item\n1,milk\n\xff,milk\n", 3),
        ("x.csv", None, b"record,item\n1,milk\n\0,milk\n", 3),
        ("x.csv", "one-hot", b"milk,beer\n1,0\n1\n", 3),
        ("x.csv", "one-hot", b"milk,beer\n1,0\nXq7,1\n", 3),
        ("x.csv", "one-hot", b"milk,Xq7\n1,0\n", None),
    ],
)
@pytest.mark.usefixtures("_sizes")
def test_what_is_not_declared_is_refused_with_its_line(
    tmp_path: Path, name: str, layout: Any, content: bytes, line: int | None
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        Baskets.read(path, layout=layout, items=ITEMS if name == "x.csv" else ["milk", "beer", 3])
    assert (caught.value.path, caught.value.line) == (path, line)
    assert "Xq7" not in said(caught.value)


@pytest.mark.parametrize(
    "columns, row",
    [
        ({"items": [["milk"], ["beer", "Xq7"]]}, 2),
        ({"items": [["milk"], ["beer", None]]}, 2),
        ({"record": [1, 2, None], "item": ["milk"] * 3}, 3),
        ({"record": [1, 2, 2], "item": ["milk", "beer", "Xq7"]}, 3),
        ({"milk": [1, 0], "beer": [1, 2]}, 2),
    ],
)
def test_rows_of_parquet_that_are_refused(tmp_path: Path, columns: dict[str, Any], row: int) -> None:
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=f"row {row}") as caught:
        Baskets.read(tmp_path / "x.parquet", items=ITEMS)
    assert "Xq7" not in said(caught.value)


def repeated_word(layout: str, *, length: int, times: int) -> pa.Table:
    """A thousand sound records, and one that says a word which is not declared over and over."""
    codes = np.concatenate([np.tile([0, 1], 1000), np.full(times, 2)]).astype(np.int32)
    words = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["milk", "beer", "x" * length]))
    if layout == "list":
        offsets = np.append(np.arange(0, 2001, 2), 2000 + times).astype(np.int32)
        return pa.table({"items": pa.ListArray.from_arrays(pa.array(offsets), words)})
    records = np.append(np.repeat(np.arange(1000), 2), np.full(times, 1000))
    if layout == "long":
        return pa.table({"record": records, "item": words})
    if layout == "keys":
        names = pa.array([*(f"{number}" for number in range(1000)), "x" * length])
        item = pa.array(["milk", "beer"]).take(pa.array(np.arange(records.size) % 2))
        return pa.table({"record": pa.DictionaryArray.from_arrays(pa.array(records), names), "item": item})
    signs = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["1", "0", "x" * length]))
    return pa.table({"milk": signs, "beer": signs, "other": codes})


@pytest.mark.parametrize("as_codes", [True, False], ids=["codes", "text"])
@pytest.mark.parametrize("layout", ["list", "long", "keys", "one-hot"])
def test_a_long_word_that_a_record_repeats(tmp_path: Path, layout: str, as_codes: bool) -> None:
    """2.2 GB of text in a file of 10 kB: an error of Arrow's came out, or the file was called unsound."""
    path = tmp_path / "x.parquet"
    table = repeated_word(layout, length=100_000, times=22_000)
    parquet.write_table(table, path, dictionary_pagesize_limit=1 << 28, store_schema=as_codes)
    assert path.stat().st_size < 200_000
    with memory_within(200 << 20):
        data = Baskets.read(path, items=["milk", "beer"], unknown="drop")
    truth = {
        "list": [("milk", "beer")] * 1000 + [()],
        "long": [("milk", "beer")] * 1000 + [()],
        "keys": [("milk", "beer")] * 1001,
        "one-hot": [("milk", "beer"), ()] * 1000 + [()] * 22_000,
    }
    assert list(data) == truth[layout]


@pytest.mark.parametrize("n_groups", [1, 3])
def test_words_beyond_what_codes_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_groups: int) -> None:
    """Arrow gives up at 2 GiB of different words; the rows after that are read without codes, none of them twice."""
    rows = [["milk"], ["beer", "Xq7"], [], ["milk", "beer"], ["x"]] * 6
    parquet.write_table(pa.table({"items": rows}), tmp_path / "x.parquet", row_group_size=len(rows) // n_groups)
    read_some = parquet.ParquetFile.iter_batches

    def full(file: Any, size: int, **options: Any) -> Iterator[Any]:
        if size == parquet_texts._FEW_ROWS:
            yield from read_some(file, 3, **options)
            return
        yield next(read_some(file, 4, **options))
        raise pa.lib.ArrowCapacityError("Xq7")

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", full)
    data = Baskets.read(tmp_path / "x.parquet", items=ITEMS, unknown="drop")
    assert list(data) == [("milk",), ("beer",), (), ("milk", "beer"), ()] * 6


@pytest.mark.parametrize("layout", ["list", "long", "one-hot"])
def test_no_error_of_arrow_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: Any) -> None:
    Baskets([["milk"], ["beer"]]).write(tmp_path / "x.parquet", layout=layout)

    def fail(*_: Any, **__: Any) -> None:
        raise pa.ArrowNotImplementedError("Xq7")

    monkeypatch.setattr(FAULTS[layout], fail)
    with pytest.raises(DataError, match="not a sound Parquet file") as caught:
        Baskets.read(tmp_path / "x.parquet", items=ITEMS, unknown="drop")
    assert "Xq7" not in said(caught.value)


@pytest.mark.parametrize("ordered", [["ann", "bob", "eve"], ["eve", "bob", "ann", "unused"]])
def test_records_are_in_the_order_of_their_first_rows(tmp_path: Path, ordered: list[str]) -> None:
    """Whatever the order of the words in a dictionary."""
    rows = ["bob", "ann", None, "bob", "eve"]
    names = pa.DictionaryArray.from_arrays(
        pa.array([None if name is None else ordered.index(name) for name in rows], pa.int32()), pa.array(ordered)
    )
    table = pa.table({"record": names, "item": ["milk", "3", "milk", "beer", "x"]})
    parquet.write_table(table, tmp_path / "x.parquet")
    data = Baskets.read(tmp_path / "x.parquet", items=ITEMS, unknown="drop")
    assert list(data) == [("milk", "beer"), ("3",), ()]


@given(rows=st.lists(st.none() | st.lists(st.sampled_from([3, 4, 5, 3, None]), max_size=9), max_size=9))
@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_lists_in_pieces(place: Path, rows: list[list[int | None] | None], kind: Any) -> None:
    """Lists that are cut anywhere, repeat items, are empty or missing."""
    is_text = not pa.types.is_integer(kind)
    cells = [None if row is None else [str(x) if is_text and x else x for x in row] for row in rows]
    parquet.write_table(pa.table({"items": pa.array(cells, pa.list_(kind))}), place / "p.parquet", row_group_size=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bosket.data.formats.declared_parquet._CELLS_A_PIECE", 2)
        data = Baskets.read(place / "p.parquet", items=[4, 3], unknown="drop")
    assert [set(record) for record in data] == [{x for x in row or [] if x in (3, 4)} for row in rows]
    assert all(len(set(record)) == len(record) for record in data)


def test_the_row_of_a_list_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.declared_parquet._CELLS_A_PIECE", 2)
    rows = [["milk"] * 5, [], None, ["beer"] * 2, ["milk", "milk", "milk", "Xq7"]]
    parquet.write_table(pa.table({"items": rows}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="row 5"):
        Baskets.read(tmp_path / "x.parquet", items=ITEMS)


@pytest.mark.parametrize("items", [[3, "3"], [3.0, "3"], ["True", True], [("a",)], [None], [float("nan")], ["\ud800"]])
def test_items_that_cannot_be_told_apart_or_written(tmp_path: Path, items: list[Any]) -> None:
    for name in ("x.dat", "x.csv", "x.parquet"):  # none is there: the declaration is looked at first
        with pytest.raises(DataError, match="declared items must"):
            Baskets.read(tmp_path / name, items=items)


@pytest.mark.parametrize(
    "name, items", [("x.csv", ["a\nb"]), ("x.csv", ["a\r"]), ("x.dat", ["a\n"]), ("x.dat", ["a b"]), ("x.dat", [""])]
)
def test_items_that_a_line_cannot_hold(tmp_path: Path, name: str, items: list[str]) -> None:
    (tmp_path / name).write_bytes(b"record,item\n")
    with pytest.raises(DataError, match="declared items must"):
        Baskets.read(tmp_path / name, items=items, unknown="drop")


def test_nothing_can_be_unknown_where_nothing_is_declared(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        Baskets.read(tmp_path / "x.dat", unknown="drop")
    assert caught.value.parameter == "unknown"
    with pytest.raises(ParameterError):
        Baskets.read(tmp_path / "x.dat", items=["a"], unknown="keep")  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize("unknown", ["drop", "refuse"])
def test_columns_of_one_name_are_refused_by_the_schema(tmp_path: Path, unknown: Any) -> None:
    columns = [pa.array(["a", "b"]), pa.array([["a"], ["b"]])]
    parquet.write_table(pa.Table.from_arrays(columns, names=["item", "item"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="same name"):
        Baskets.read(tmp_path / "x.parquet", items=["a", "b"], unknown=unknown)
