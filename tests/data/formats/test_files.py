"""What is written parses back, and what cannot be read is refused with its place and without its contents."""

from __future__ import annotations

import errno
import gzip
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Baskets, Table
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said
from tests.files import benchmark_file
from tests.strategies import Records, baskets, numbers, records, texts

COLUMNAR = [
    ("csv", "long"),
    ("csv", "one-hot"),
    ("parquet", "list"),
    ("parquet", "long"),
    ("parquet", "one-hot"),
]
every_file = pytest.mark.parametrize("suffix, layout", [("dat", None), *COLUMNAR])
packed = pytest.mark.parametrize("gz", ["", ".gz"], ids=["plain", "gz"])


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bosket.data.formats.atomic._sync", lambda _: None)
        yield


@every_file
@given(rows=records(numbers), gz=st.sampled_from(["", ".gz"]))
def test_round_trip_of_numbers(place: Path, suffix: str, layout: Any, rows: Records, gz: str) -> None:
    data = Baskets(rows)
    assume(data.n_records and data.n_items)
    path = place / f"numbers.{suffix}{gz}"
    data.write(path, layout=layout)
    again = Baskets.read(path, layout=layout)
    assert again == data
    assert all(type(label) is int for label in again.domain.labels)


@pytest.mark.parametrize("suffix, layout", COLUMNAR)
@given(rows=records(texts))
def test_round_trip_of_texts(place: Path, suffix: str, layout: Any, rows: Records) -> None:
    data = Baskets(rows)
    assume(data.n_items and not all(re.fullmatch("-?[0-9]+", str(label)) for label in data.domain.labels))
    data.write(place / f"texts.{suffix}", layout=layout, formulas="allow")
    again = Baskets.read(place / f"texts.{suffix}", layout=layout)
    assert again == data
    assert all(type(label) is str for label in again.domain.labels)


@pytest.mark.parametrize("layout", ["list", "long", "one-hot"])
@given(data=baskets(), labels=st.sampled_from([str, float, int, lambda item: -item]))
def test_parquet_keeps_the_whole_domain(place: Path, layout: Any, data: Baskets, labels: Callable[[Any], Any]) -> None:
    known = [labels(label) for label in reversed(data.domain.labels)]
    told = Baskets([[labels(label) for label in row] for row in data], items=known)
    told.write(place / "domain.parquet", layout=layout)
    again = Baskets.read(place / "domain.parquet")  # the layout is told from the file
    assert again == told
    assert [type(label) for label in again.domain.labels] == [type(label) for label in known]


def test_layouts_that_need_not_be_told(tmp_path: Path) -> None:
    data = Baskets([["a", "b"], [], ["c"]])
    for suffix, layout in COLUMNAR:
        data.write(tmp_path / f"x.{suffix}", layout=layout)  # type: ignore[arg-type]  # from the table above
        assert Baskets.read(tmp_path / f"x.{suffix}") == data
    two = Baskets([[0, 1], [1]])
    two.write(tmp_path / "two.csv")
    assert Baskets.read(tmp_path / "two.csv") == two  # all 0 and 1, but we know our own header


@pytest.mark.slow
def test_large_files_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.parquet_files._RECORDS_A_GROUP", 7)
    monkeypatch.setattr("bosket.data.formats.parquet_files._CELLS_A_GROUP", 20)
    monkeypatch.setattr("bosket.data.formats.csv_writing._BLOCK", 200)
    for module in ("fimi", "csv_writing"):
        monkeypatch.setattr(
            f"bosket.data.formats.{module}.slices", lambda n, _: [(at, min(at + 9, n)) for at in range(0, n, 9)]
        )
    data = Baskets([[number % 11, number % 13] if number % 5 else [] for number in range(100)])
    for suffix, layout in [("dat", None), *COLUMNAR]:
        data.write(tmp_path / f"x.{suffix}", layout=layout)  # type: ignore[arg-type]  # from the table above
        assert Baskets.read(tmp_path / f"x.{suffix}", layout=layout) == data  # type: ignore[arg-type]  # the same


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    data = Baskets([[1, 2], [3]])
    for suffix in ("dat.gz", "csv.gz", "parquet"):
        data.write(tmp_path / f"a.{suffix}")
        data.write(tmp_path / f"b.{suffix}")
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_other_programs_can_read_what_is_written(tmp_path: Path) -> None:
    data = Baskets([["b", "a,"], [], ["c"]])
    data.write(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == 'record,item\n1,"a,"\n1,"b"\n2,\n3,"c"\n'
    data.write(tmp_path / "x.csv", layout="one-hot")
    assert (tmp_path / "x.csv").read_text() == '"a,","b","c"\n1,1,0\n0,0,0\n0,0,1\n'
    data.write(tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict() == {"items": [["a,", "b"], [], ["c"]]}
    Baskets([[10, 9], [], [0]]).write(tmp_path / "x.dat")
    assert (tmp_path / "x.dat").read_bytes() == b"9 10\n\n0\n"


@pytest.mark.parametrize(
    "text, truth",
    [
        (b"1 2\n3\n", [[1, 2], [3]]),
        (b"1 2\n3", [[1, 2], [3]]),
        (b"1 2\r\n\r\n3\r\n", [[1, 2], [], [3]]),
        (b"1 2\r\n3\r", [[1, 2], [3]]),
        (b"\n", [[]]),
        (b"\n\n", [[], []]),
        (b" 2  1 \n\t7\t2\n", [[1, 2], [2, 7]]),
        (b"5 5 5\n", [[5]]),
        (b"007 7\n", [[7]]),
        (b"\xef\xbb\xbf1\n", [[1]]),
        (b"9223372036854775807 0\n", [[0, 2**63 - 1]]),
    ],
)
def test_fimi_as_found_in_the_wild(tmp_path: Path, text: bytes, truth: list[list[int]]) -> None:
    (tmp_path / "x.dat").write_bytes(text)
    assert Baskets.read(tmp_path / "x.dat") == Baskets(truth)


@given(st.lists(st.text("0123456789 \t\r\n-x", max_size=12), max_size=6))
def test_fimi_against_split_and_int(place: Path, lines: list[str]) -> None:
    text = "\n".join(lines)
    assume(text)
    (place / "x.dat").write_bytes(text.encode())
    kept = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    bare = [line.removesuffix("\r") for line in kept]
    bad = [n for n, line in enumerate(bare, 1) if not re.fullmatch("[0-9 \t]*", line)]
    if bad:
        with pytest.raises(DataError) as caught:
            Baskets.read(place / "x.dat")
        assert caught.value.line == bad[0]
    else:
        assert Baskets.read(place / "x.dat") == Baskets([[int(number) for number in line.split()] for line in bare])


@pytest.mark.parametrize(
    "text, truth",
    [
        ("r,i\n1,x\n2,\n1,y\n", Baskets([["x", "y"], []])),
        ("\ufeffr,i\r\n1,x\r\n\r\n2,y", Baskets([["x"], ["y"]])),
        ('r,i\n1,""\n2,\n', Baskets([[""], []])),
        ("r,i\n1,NA\n2,null\n3,true\n", Baskets([["NA"], ["null"], ["true"]])),
        ("r,i\n1,01\n1,1\n", Baskets([["01", "1"]])),
        ("r,i\n1,1\n1,-3\n", Baskets([[-3, 1]])),
        ("r,i\n1,1.0\n1,1.00\n", Baskets([["1.0", "1.00"]])),
        ("r,i\n1,9223372036854775808\n1,2\n", Baskets([["9223372036854775808", "2"]])),
        ("record,item\n0,1\n1,1\n", Baskets([[1], [1]])),
        ("record,item\n", Baskets([])),
        ("b,a,c\n1,0,\ntrue,FALSE,1\n1.0,0.0,0\n", Baskets([["b"], ["b", "c"], ["b"]], items=["b", "a", "c"])),
        ("one\n1\n0\n", Baskets([["one"], []])),
        ("3,1,2\n1,0,1\n", Baskets([[3, 2]], items=[3, 1, 2])),
        ('"a\nb",c,"d""e"\n1,0,1\n', Baskets([["a\nb", 'd"e']], items=["a\nb", "c", 'd"e'])),
        ('r,i\n1,5" pipe\n', Baskets([['5" pipe']])),
        ("item,record\n3,1\n2,1\n", Baskets([[2, 3]])),
        ("\n\r\nrecord,item\n1,x\n", Baskets([["x"]])),
        ("\nb,a,c\n1,0,1\n", Baskets([["b", "c"]], items=["b", "a", "c"])),
    ],
)
def test_csv_as_found_in_the_wild(tmp_path: Path, text: str, truth: Baskets) -> None:
    (tmp_path / "x.csv").write_bytes(text.encode())
    data = Baskets.read(tmp_path / "x.csv")
    assert data == truth
    assert [type(label) for label in data.domain.labels] == [type(label) for label in truth.domain.labels]


def test_csv_in_crumbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are whole wherever a block ends: within quotes, within a sign, between the two bytes of a line end."""
    text = "\ufeffrecord,item\r\n" + "".join(f'{at},"é\r\n,""{at % 7}"\r\n\n{at},\ufeffb\n' for at in range(40))
    (tmp_path / "x.csv").write_bytes(text.encode())
    truth = Baskets([[f'é\r\n,"{at % 7}', "\ufeffb"] for at in range(40)])
    assert Baskets.read(tmp_path / "x.csv") == truth
    for size in (1, 2, 3, 50):
        monkeypatch.setattr("bosket.data.formats.sources.BLOCK", size)
        monkeypatch.setattr("bosket.data.formats.lines._ROWS", size)
        assert Baskets.read(tmp_path / "x.csv") == truth


S = "Xq7"  # what no message may repeat


@pytest.mark.parametrize(
    "name, content, line",
    [
        ("x.dat", b"1 2\n3\n4 Xq7\n", 3),
        ("x.dat", b"1 2\n-98765\n", 2),
        ("x.dat", b"1 98765.5\n", 1),
        ("x.dat", b"1\n\n98765 9223372036854775808\n", 3),
        ("x.dat", b"1\n98765 99999999999999999999999999\n", 2),
        ("x.dat", b"98765 1\r2\n", 1),
        ("x.dat", b"1\n98765\0\n", 2),
        ("x.dat", b"1\n98765\xff", 2),
        ("x.csv", b"r,i\n1,a\n2,Xq7,b\n", 3),
        ("x.csv", b"r,i\n1,a\n\n\n2\n", 5),
        ("x.csv", b'r,i\n1,"a\nb"\n2,Xq7,c\n', 4),
        ("x.csv", b"r,i\n1,Xq7\xff\n", 2),
        ("x.csv", b"r,i\n1,a\n2,Xq7\0\n", 3),
        ("x.csv", b'r,i\n1,a\n2,"Xq7\n3,b\n', 3),
        ("x.csv", b"r,i\n1,a\n,Xq7\n", 3),
        ("x.csv", b"a,b,c\n1,0,1\n\n1,Xq7,0\n", 4),
        ("x.csv", b"a,b,c\n1,0,1\n1,98765,0\n", 3),
        ("x.csv", b"a,b,a\n1,0,1\n", 1),
        ("x.csv", b"a,b\n1,0\n0,1\n", None),
        ("x.csv", b"a,b\ntrue,false\n", None),
        ("x.csv", b"\n\n", None),
        ("x.csv", b'"Xq7' + b" " * 200_000 + b'"\n1\n', None),
        ("x.parquet", b"PAR1 Xq7 98765", None),
        ("x.parquet", b"Xq7" * 100 + b"PAR1", None),
        ("x.dat", b"", None),
        ("x.csv", b"", None),
        ("x.parquet", b"", None),
    ],
)
@packed
def test_bad_contents_are_placed_and_not_quoted(
    tmp_path: Path, name: str, content: bytes, line: int | None, gz: str
) -> None:
    path = tmp_path / (name + gz)
    path.write_bytes(gzip.compress(content) if gz else content)
    with pytest.raises(DataError) as caught:
        Baskets.read(path)
    assert caught.value.path == path
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    assert (line is None) or f"line {line} " in str(caught.value).lower()
    assert ("is empty" in str(caught.value)) == (content == b"")
    assert not re.search("Xq7|98765", said(caught.value))


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "x.dat.gz"
    whole = gzip.compress(b"98765 1\n" * 5000)
    for content in (whole[:-1], whole[: len(whole) // 2], whole[:5], b"98765 1\n", whole[:30] + b"98765" + whole[35:]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="gzip") as caught:
            Baskets.read(path)
        assert caught.value.path == path
        assert "98765" not in said(caught.value)


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    Baskets([[f"{S}{number}"] for number in range(1000)]).write(path)
    whole = path.read_bytes()
    for content in (whole[:-10], whole[: len(whole) // 2], whole[:100] + b"\xff" * 2000 + whole[2100:]):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            Baskets.read(path)
        assert caught.value.path == path
        assert S not in said(caught.value)


@pytest.mark.parametrize("layout", ["list", "long", "one-hot"])
def test_strings_in_parquet_that_are_not_text(tmp_path: Path, layout: Any) -> None:
    """Arrow does not look whether strings are UTF-8; Python falls over them, and showed the bytes."""
    broken = pa.array([b"milk", b"Xq7\xff"], pa.binary()).view(pa.string())
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), broken)
    columns = {"list": {"items": lists}, "long": {"r": [1, 2], "i": broken}, "one-hot": {"a": broken}}[layout]
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="not UTF-8") as caught:
        Baskets.read(tmp_path / "x.parquet")
    assert S not in said(caught.value)


def test_columns_of_the_same_name(tmp_path: Path) -> None:
    parquet.write_table(pa.table([[True], [False]], names=["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="same name"):
        Baskets.read(tmp_path / "x.parquet")


def test_reports_are_not_baskets(tmp_path: Path) -> None:
    table = pa.table({"items": [[1]]}).replace_schema_metadata({b"bosket.plan": b"{}"})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"holds randomized reports, not baskets; read it with bosket\.Reports\.read"):
        Baskets.read(tmp_path / "x.parquet")


@pytest.mark.parametrize("domain", [b"{", b"[]", b'{"kind": "items"}', b'{"kind": "items", "items": [2]}', b"\xff"])
def test_a_domain_that_does_not_fit_is_refused(tmp_path: Path, domain: bytes) -> None:
    table = pa.table({"items": [[98765]]}).replace_schema_metadata({b"bosket.domain": domain})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(DataError, match="domain") as caught:
        Baskets.read(tmp_path / "x.parquet")
    assert "98765" not in said(caught.value)


def test_files_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.dat").mkdir()
    for name, fault in (("none.dat", "does not exist"), ("folder.dat", "is a directory")):
        with pytest.raises(DataError, match=fault) as caught:
            Baskets.read(tmp_path / name)
        assert caught.value.path == tmp_path / name

    def forbidden(*_: Any) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", forbidden)  # the tests may run as root, who may read anything
    with pytest.raises(DataError, match="may not be read"):
        Baskets.read(tmp_path / "x.dat")


@pytest.mark.parametrize("name", ["x.txt", "x", "x.gz", "x.dat.zip", "dat"])
def test_unknown_suffixes_are_told_the_known_ones(tmp_path: Path, name: str) -> None:
    for attempt in (Baskets.read, Baskets([[1]]).write):
        with pytest.raises(DataError, match=r"\.dat, \.csv, \.parquet, each also with \.gz"):
            attempt(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, layout", [("x.dat", "long"), ("x.csv", "wide"), ("x.parquet", "wide")])
def test_layouts_that_a_format_does_not_have(tmp_path: Path, name: str, layout: Any) -> None:
    for attempt in (Baskets.read, Baskets([[1]]).write):
        with pytest.raises(ParameterError) as caught:
            attempt(tmp_path / name, layout=layout)
        assert caught.value.parameter == "layout"


@pytest.mark.parametrize(
    "name, layout, rows",
    [
        ("x.dat", None, [[1, S]]),
        ("x.dat", None, [[-1]]),
        ("x.dat", None, [[True, 5]]),
        ("x.dat", None, [[2**63]]),
        ("x.dat", None, []),
        ("x.csv", None, [[1, S]]),
        ("x.csv", None, [[1.5]]),
        ("x.csv", None, [[True]]),
        ("x.csv", None, [[("a", S)]]),
        ("x.csv", None, [["a\0"]]),
        ("x.csv", None, [["\ud800"]]),
        ("x.csv", "one-hot", [[]]),
        ("x.parquet", None, [[1, S]]),
        ("x.parquet", None, [[("a", S)]]),
        ("x.parquet", None, [[2**63]]),
        ("x.parquet", None, [["\ud800"]]),
        ("x.parquet", None, [[float("inf")]]),
        ("x.parquet", "one-hot", [[]]),
    ],
)
def test_labels_that_a_format_cannot_hold_are_refused_before_anything_is_lost(
    tmp_path: Path, name: str, layout: Any, rows: list[list[Any]]
) -> None:
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(DataError) as caught:
        Baskets(rows).write(path, layout=layout)
    assert S not in said(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@every_file
@packed
def test_interrupted_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, layout: Any, gz: str
) -> None:
    path = tmp_path / f"x.{suffix}{gz}"
    path.write_text("old")

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    for module in ("fimi", "csv_writing", "parquet_files"):
        monkeypatch.setattr(f"bosket.data.formats.{module}.slices", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Baskets([[1, 2]]).write(path, layout=layout)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.data
@pytest.mark.parametrize(
    "name, n_records, n_items, longest, total",
    [
        ("retail", 88_162, 16_470, 76, 908_576),
        ("mushroom", 8_124, 119, 23, 186_852),
        ("T10I4D100K", 100_000, 870, 29, 1_010_228),
        ("kosarak_prefix70k", 69_999, 21_144, 796, 558_369),
    ],
)
def test_published_figures(name: str, n_records: int, n_items: int, longest: int, total: int) -> None:
    data = Baskets.read(benchmark_file(f"{name}.dat.gz"))
    assert (data.n_records, data.n_items) == (n_records, n_items)
    assert (int(data.sizes.max()), data.indices.size) == (longest, total)
    assert np.count_nonzero(data.item_counts()) == n_items


def test_a_record_a_line(tmp_path: Path) -> None:
    """The list layout of CSV: no header, blank lines are empty records, only when asked for."""
    path = tmp_path / "baskets.csv"
    path.write_text('milk,bread\n\n"beer, dark",,milk\n')
    data = Baskets.read(path, layout="list")
    assert list(data) == [("bread", "milk"), (), ("beer, dark", "milk")]
    data.write(tmp_path / "again.csv", layout="list")
    assert Baskets.read(tmp_path / "again.csv", layout="list") == data
    path.write_text("3,1\n2\n")
    assert list(Baskets.read(path, layout="list")) == [(1, 3), (2,)]
    with pytest.raises(DataError) as caught:
        Baskets.read(path)
    assert "layout='list'" in str(caught.value.hint)
    with pytest.raises(DataError, match="empty label"):
        Baskets([[""]]).write(path, layout="list")


@pytest.mark.parametrize("text", ["record,item\nann,milk\nann,beer\n", "item,record\nmilk,ann\nbeer,ann\n"])
def test_our_own_names_mean_what_they_say(tmp_path: Path, text: str) -> None:
    """Taken by place, the people would become the items, and the plan would publish them."""
    (tmp_path / "x.csv").write_text(text)
    assert list(Baskets.read(tmp_path / "x.csv")) == [("beer", "milk")]


@pytest.mark.parametrize("text", ["1,SECRET\n1,bread\n", "ann,SECRET\nann,bread\n", "SECRET,milk,beer\nx,y,z\n"])
def test_a_record_in_the_place_of_the_header_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        Baskets.read(path)
    assert "SECRET" not in said(caught.value)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("items", [None, ["beer", "milk"]], ids=["seen", "declared"])
def test_text_in_any_encoding(tmp_path: Path, encoding: str, items: Any) -> None:
    """Arrow makes no codes of words that are written as differences; such files were called unsound."""
    path = tmp_path / "x.parquet"
    rows = [("b", "milk"), ("a", "beer"), ("b", "beer")]
    long = pa.table({"record": [row for row, _ in rows], "item": [item for _, item in rows]})
    encodings = {"record": encoding, "item": encoding}
    parquet.write_table(long, path, use_dictionary=False, column_encoding=encodings, row_group_size=2)
    assert list(Baskets.read(path, items=items)) == [("beer", "milk"), ("beer",)]
    lists = pa.table({"items": [["milk", "beer"], [], ["beer"]]})
    parquet.write_table(lists, path, use_dictionary=False, column_encoding={"items.list.element": encoding})
    assert list(Baskets.read(path, items=items)) == [("beer", "milk"), (), ("beer",)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_tables_in_any_encoding(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "x.parquet"
    values = ["x", "y", "x", "z"]
    for encoding in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"):
        table = pa.table({"a": pa.array(values, kind), "b": [1, 2, 2, 1]})
        parquet.write_table(table, path, use_dictionary=["b"], column_encoding={"a": encoding}, row_group_size=3)
        rows = [tuple(row.values()) for row in Table.read(path)]
        assert rows == [("x", 1), ("y", 2), ("x", 2), ("z", 1)]


def test_one_row_group_with_codes_and_one_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow gives up at 2 GiB of different words in a row group; the rest of that group is read as it is."""
    rows = [["milk"], ["beer", "x"], [], ["milk", "beer"], ["x"]] * 6
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"items": rows}), path, row_group_size=10)
    read_some = parquet.ParquetFile.iter_batches
    calls = []

    def full(file: Any, size: int, **options: Any) -> Iterator[Any]:
        calls.append(size)
        if len(calls) != 2:
            yield from read_some(file, size, **options)
            return
        yield next(read_some(file, 4, **options))
        raise pa.lib.ArrowCapacityError("Xq7")

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", full)
    assert list(Baskets.read(path)) == list(Baskets(rows))
    assert len(calls) == 4


def test_records_are_in_the_order_of_the_rows(tmp_path: Path) -> None:
    """Not in that of the words of a dictionary, which may also be there twice, or for nothing."""
    words = pa.array(["none", "c", "a", "a", "b"])
    record = pa.DictionaryArray.from_arrays(pa.array([4, 3, 1, 2], pa.int8()), words)
    frame = pa.table({"record": record, "item": [1, 2, 3, 4]})
    truth = [(1,), (2, 4), (3,)]
    assert list(Baskets.from_frame(frame)) == truth
    parquet.write_table(frame, tmp_path / "x.parquet")
    assert list(Baskets.read(tmp_path / "x.parquet")) == truth


def test_a_column_of_nothing_in_several_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"milk": pa.nulls(3), "beer": [1, 0, 1], "x": [0, 0, 1]}), path, row_group_size=2)
    assert list(Baskets.read(path)) == [("beer",), (), ("beer", "x")]
