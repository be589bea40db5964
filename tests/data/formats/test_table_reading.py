"""Tables from frames and files: bins, declared values, groups, missing cells; errors with their place."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bosket.data import Attribute, Table, TableDomain
from bosket.data.tables.codings import BAD, binned
from bosket.errors import DataError, ParameterError
from bosket.mining import mine
from tests.data.leaks import said
from tests.files import benchmark_file
from tests.strategies import texts

MAKES: list[Callable[[dict[str, Any]], Any]] = [
    pd.DataFrame,
    lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    lambda columns: pd.DataFrame(columns, dtype=object),
    lambda columns: pd.DataFrame(columns).astype("category"),
    pl.DataFrame,
    lambda columns: pl.DataFrame(columns).lazy(),
    pa.table,
]
makes = st.sampled_from(MAKES)
packed = pytest.mark.parametrize("gz", ["", ".gz"], ids=["plain", "gz"])
AGES = [15, 35, 55, 75]
AGE_BINS = ("[15,35)", "[35,55)", "[55,75)", "[75,inf)")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bosket.data.formats.atomic._sync", lambda _: None)
        yield


def written(place: Path, text: str | bytes, name: str = "x.csv") -> Path:
    content = text.encode() if isinstance(text, str) else text
    path = place / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


# ---------------------------------------------------------------------------------------------------- bins


def slow_bin(number: float, ends: list[float]) -> int:
    return max(at for at, low in enumerate(ends) if low <= number)


@given(
    makes,
    st.lists(st.integers(-50, 50) | st.floats(-50, 50), min_size=1, max_size=5, unique=True).map(sorted),
    st.data(),
)
def test_bins_hold_their_lower_end_and_not_the_upper(make: Any, ends: list[float], data: st.DataObject) -> None:
    near = [number for end in ends for number in (end, float(np.nextafter(end, 99)), float(np.nextafter(end, -99)))]
    numbers = data.draw(st.lists(st.sampled_from([n for n in near if n >= ends[0]]) | st.just(1e300), min_size=1))
    frame = make({"x": [float(number) for number in numbers]})
    table = Table.from_frame(frame, bins={"x": ends}, missing="none")  # so that one bin will do
    assert table.codes[:, 0].tolist() == [slow_bin(number, ends) for number in numbers]
    assert table.domain.sizes.tolist() == [len(ends) + 1]
    assert table.domain.is_declared


def test_bins_are_called_by_their_ends() -> None:
    frame = pd.DataFrame({"age": [15, 34, 35, 74, 75, 1000]})
    table = Table.from_frame(frame, bins={"age": AGES})
    assert table.domain.attribute("age").values == AGE_BINS
    assert [row["age"] for row in table] == [AGE_BINS[at] for at in (0, 0, 1, 2, 3, 3)]
    odd = Table.from_frame(pd.DataFrame({"x": [0.0]}), bins={"x": [-0.5, -0.0, 0.1, 1e5, np.float64(200_000), 1e300]})
    assert odd.domain.labels == (
        "x=[-0.5,0)",
        "x=[0,0.1)",
        "x=[0.1,100000)",
        "x=[100000,200000)",
        "x=[200000,1e+300)",
        "x=[1e+300,inf)",
    )
    assert odd.codes.tolist() == [[1]]


@pytest.mark.parametrize(
    "column",
    [
        [20, 60],
        [20.0, 60.5],
        ["20", " 60 "],
        ["2e1", "+60."],
        [Decimal("20.5"), Decimal(60)],
        pd.array([20, 60], "Int8"),
        pd.Series([20, "60"], dtype=object),
        pd.Categorical([20, 60]),
        pl.Series([20, 60], dtype=pl.UInt64),
        pa.array([20, 60], pa.float32()),
        pa.array([20, 60]).dictionary_encode(),
        pa.chunked_array([pa.array([20]), pa.array([60])]),
    ],
    ids=str,
)
def test_numbers_of_every_kind_go_into_bins(column: Any) -> None:
    make = pl.DataFrame if isinstance(column, pl.Series) else pa.table if isinstance(column, pa.Array) else None
    make = pa.table if isinstance(column, pa.ChunkedArray) else make or pd.DataFrame
    assert Table.from_frame(make({"x": column}), bins={"x": AGES}).codes.tolist() == [[0], [2]]


@pytest.mark.parametrize(
    "cell",
    [
        *(14.999, -3, float("inf"), -float("inf"), True, pd.Timestamp("1987-06-05")),
        *("14", "-98765", "Xq7", "1_000", "inf", "nan", "NA", "1e999", "0x20"),
    ],
    ids=str,
)
def test_what_is_no_number_or_too_small_is_refused(cell: Any) -> None:
    """Each through the shorter way for numbers, where there is one, and the longer way for anything."""
    kinds = [object] if isinstance(cell, bool | str | pd.Timestamp) else [object, float]
    for kind in kinds:
        frame = pd.DataFrame({"x": pd.Series([20, 30, cell], dtype=kind)})
        must = r"Attribute 'x' must hold finite numbers, at least 15; row 3 of the frame"
        with pytest.raises(DataError, match=must) as caught:
            Table.from_frame(frame, bins={"x": AGES}, missing="unknown")
        assert not re.search("Xq7|98765|1_000", said(caught.value))
        with pytest.raises(DataError, match=r"not .*; row 3"):
            Table.from_frame(frame, bins={"x": AGES}, show_values=True)


@pytest.mark.parametrize(
    "ends", [[], [1, 1], [2, 1], [1, float("nan")], [1, float("inf")], ["1", "2"], "12", 5, {1, 2}, [True, 2], [1, [2]]]
)
def test_bins_that_are_none(ends: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        Table.from_frame(pd.DataFrame({"x": [1]}), bins={"x": ends})
    assert caught.value.parameter == "bins"


def test_a_number_beyond_all_floats_is_refused() -> None:
    assert binned("x", [0, 1]).code(10**400) == BAD


def test_a_million_numbers_pass_without_a_loop_over_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.tables.columns.factorize", None)
    numbers = np.random.default_rng(7).uniform(0, 100, 1_000_000)
    table = Table.from_frame(pl.DataFrame({"x": numbers}), bins={"x": [0, 25, 50, 75]})
    assert np.array_equal(table.codes[:, 0], numbers // 25)


# ---------------------------------------------------------------------------------------- values and groups


@given(makes, st.lists(st.sampled_from(["a", "B", "c c", "é"]), min_size=1), st.data())
def test_frames_of_every_make_agree(make: Any, column: list[str], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.integers(0, 3), min_size=len(column), max_size=len(column)))
    known = [Attribute("other", [3, 1, 0, 2]), Attribute("text", ["c c", "é", "a", "B"])]
    truth = Table([{"other": n, "text": t} for n, t in zip(other, column, strict=True)], known)
    frame = make({"text": column, "other": other, "unused": other})
    values = {one.name: one.values for one in known}
    table = Table.from_frame(frame, columns=["other", "text"], values=values)
    assert table == truth
    assert table.domain.is_declared
    if len(set(column)) > 1 < len(set(other)):
        seen = Table.from_frame(frame, columns=["other", "text"])
        assert [one.values for one in seen.domain.attributes] == [tuple(sorted(set(other))), tuple(sorted(set(column)))]
        assert list(seen) == list(truth)
        assert not seen.domain.is_declared, "categories may have been made of what occurs"


def test_one_column_read_off_makes_the_domain_undeclared() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    assert not Table.from_frame(frame, values={"a": ["x", "y"]}).domain.is_declared
    assert Table.from_frame(frame, values={"a": ["x", "y"]}, bins={"b": [0, 2]}).domain.is_declared
    assert Table.from_frame(frame, columns=["a"], values={"a": ["x", "y"]}).domain.is_declared


def test_cells_stand_for_what_equals_them_or_is_written_alike() -> None:
    columns: list[Any] = [[1, 2], [1.0, 2.0], pd.Categorical([1, 2]), [Decimal(1), Decimal(2)], ["1", "2"]]
    for column in columns:
        table = Table.from_frame(pd.DataFrame({"n": column}), values={"n": [2, 1]})
        assert table.codes.tolist() == [[1], [0]]
        assert table.domain.attribute("n").values == (2, 1)
        table = Table.from_frame(pd.DataFrame({"n": column}), values={"n": ["2", "1"]})
        assert table.codes.tolist() == [[1], [0]]
        assert table.domain.attribute("n").values == ("2", "1")
    truths = pd.DataFrame({"n": [True, False]})
    for values in ([0, 1], ["False", "True"], [False, True]):
        assert Table.from_frame(truths, values={"n": values}).codes.tolist() == [[1], [0]]


def test_whole_numbers_stay_whole_beside_a_missing_one() -> None:
    table = Table.from_frame(pd.DataFrame({"n": [2, None, 1]}), missing="none")
    assert table.domain.labels == ("n=1", "n=2", "n=none")


def test_groups_gather_cells(tmp_path: Path) -> None:
    groups: dict[str, Any] = {"home": ["United-States", "US"], "near": {"Canada", "Mexico"}, "far": "*"}
    path = written(tmp_path, "country\nUS\nFrance\nMexico\nUnited-States\n*\nfar\n")
    table = Table.read(path, values={"country": groups})
    assert [row["country"] for row in table] == ["home", "far", "near", "home", "far", "far"]
    assert table.domain.attribute("country").values == ("home", "near", "far")
    assert table.domain.is_declared
    by_number = pd.DataFrame({"n": [1, 2, 9]})
    grouped = Table.from_frame(by_number, values={"n": {"few": [1, 2], "many": ["9"]}})
    assert grouped.codes.tolist() == [[0], [0], [1]]


def test_all_others_are_not_the_missing_ones() -> None:
    frame = pd.DataFrame({"country": ["US", "?", "France", None]})
    groups: dict[str, Any] = {"country": {"home": ["US"], "Other": "*"}}
    with pytest.raises(DataError, match="'country' must hold a value"):
        Table.from_frame(frame, values=groups)
    table = Table.from_frame(frame, values=groups, missing={"country": "Other"})
    assert [row["country"] for row in table] == ["home", "Other", "Other", "Other"]
    groups["country"]["unknown"] = ["?"]  # said to be a value, so not missing
    table = Table.from_frame(frame[:3], values=groups)
    assert [row["country"] for row in table] == ["home", "unknown", "Other"]


@pytest.mark.parametrize(
    "values",
    [
        "ab",
        pytest.param({"a", "b"}, id="set"),
        ["a"],
        ["a", "a"],
        [1, "1"],
        [["a"], ["b"]],
        7,
        {"x": "*", "y": "*"},
        {"x": "ab", "y": "*"},
        {"x": ["a"], "y": ["a", "b"]},
        {"x": [1], "y": ["1"]},
        {"x": ["a"]},
        {"x": [["a"]], "y": "*"},
        {"x": 5, "y": "*"},
        {"": ["a"], None: "*"},
    ],
    ids=str,
)
def test_values_that_are_none(values: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        Table.from_frame(pd.DataFrame({"c": ["a"]}), values={"c": values})
    assert caught.value.parameter == "values"


# ------------------------------------------------------------------------------------------------- missing


@given(makes)
def test_a_category_for_the_missing_comes_last(make: Any) -> None:
    frame = make({"a": ["x", "y", None, "", " ? "], "b": ["z", "y", "y", "y", "z"]})
    table = Table.from_frame(frame, missing={"a": "an unknown"})
    assert table.domain.labels == ("a=x", "a=y", "a=an unknown", "b=y", "b=z")
    assert [row["a"] for row in table] == ["x", "y", "an unknown", "an unknown", "an unknown"]
    everywhere = Table.from_frame(frame, missing="none")
    assert everywhere.domain.labels == ("a=x", "a=y", "a=none", "b=y", "b=z", "b=none")
    assert everywhere.item_counts().tolist() == [1, 1, 3, 3, 2, 0]


def test_a_category_that_is_there_already_is_not_made_twice() -> None:
    frame = pd.DataFrame({"a": ["no", None, "unknown", "yes"]})
    seen = Table.from_frame(frame, missing="unknown")
    assert seen.domain.labels == ("a=no", "a=yes", "a=unknown")
    assert seen.codes.ravel().tolist() == [0, 2, 2, 1]
    told = Table.from_frame(frame, values={"a": ["unknown", "no", "yes"]}, missing="unknown")
    assert told.codes.ravel().tolist() == [1, 0, 0, 2]


def test_a_category_for_missing_numbers() -> None:
    for column in ([20, None, 40], ["20", "?", "40"], pd.array([20, None, 40], "Int64")):
        table = Table.from_frame(pd.DataFrame({"age": column}), bins={"age": AGES}, missing={"age": "unknown"})
        assert table.domain.attribute("age").values == (*AGE_BINS, "unknown")
        assert table.codes.ravel().tolist() == [0, 4, 1]
        assert table.domain.is_declared


def test_a_single_value_and_a_category_make_two() -> None:
    frame = pd.DataFrame({"a": ["x", None]})
    assert Table.from_frame(frame, missing="none").n_items == 2
    assert Table.from_frame(frame, values={"a": ["x"]}, missing="none").n_items == 2
    assert Table.from_frame(frame[:1], bins={}, values={"a": ["x"]}, missing="none").n_items == 2


# --------------------------------------------------------------------------------------- bad names and options


@pytest.mark.parametrize(
    "options, parameter",
    [
        ({"columns": ["a", "nope"]}, "columns"),
        ({"columns": ["a", "a"]}, "columns"),
        ({"columns": "ab"}, "columns"),
        ({"columns": []}, "columns"),
        ({"columns": [1]}, "columns"),
        ({"columns": 1}, "columns"),
        ({"bins": {"nope": [1, 2]}}, "bins"),
        ({"bins": {"b": [1, 2]}, "columns": ["a"]}, "bins"),
        ({"bins": [1, 2]}, "bins"),
        ({"bins": {"b": [1, 2]}, "values": {"b": [1, 2]}}, "bins"),
        ({"values": {"nope": [1, 2]}}, "values"),
        ({"values": [1, 2]}, "values"),
        ({"missing": {"nope": "none"}}, "missing"),
        ({"missing": ""}, "missing"),
        ({"missing": 5}, "missing"),
        ({"missing": {"a": None}}, None),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, Any], parameter: str | None) -> None:
    columns = {"a": ["x", "y"], "b": [1, 2]}
    pd.DataFrame(columns).to_csv(tmp_path / "x.csv", index=False)
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    sources: list[tuple[Callable[..., Table], Any]] = [
        (Table.from_frame, pd.DataFrame(columns)),
        (Table.read, tmp_path / "x.csv"),
        (Table.read, tmp_path / "x.parquet"),
    ]
    for make, source in sources:
        if parameter is None:
            assert make(source, **options).n_records == 2  # no category for that column, said in so many words
            continue
        with pytest.raises(ParameterError) as caught:
            make(source, **options)
        assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "frame, where",
    [
        (pd.DataFrame({"a": ["Xq7", "Xq7"]}), "'a' of the frame holds no two different values"),
        (pd.DataFrame({"a": pd.Series([], dtype=str)}), "'a' of the frame holds no two different values"),
        (pd.DataFrame({"a": pd.Series([1, "1"], dtype=object)}), "'a' .* written alike"),
        (pd.DataFrame({"a": ["x", "Xq7", None]}), "'a' must hold a value.*; row 3 of the frame"),
        (pd.DataFrame({"a": ["x", "Xq7", float("nan")]}), "'a' must hold a value.*; row 3 of the frame"),
        (pd.DataFrame({1: ["x", "Xq7"]}), "text for column names"),
        (pd.DataFrame({"": ["x", "Xq7"]}), "text for column names"),
        (pd.DataFrame(index=[1, 2]), "no columns"),
        (pl.DataFrame({"a": [["Xq7"], ["x"]]}), "cannot be items"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"),
        ([{"a": "Xq7"}], "got list"),
    ],
)
def test_bad_frames_are_refused_without_quoting_them(frame: Any, where: str) -> None:
    with pytest.raises(DataError, match=where) as caught:
        Table.from_frame(frame)
    assert "Xq7" not in said(caught.value)


# --------------------------------------------------------------------------------------------------- files


@packed
def test_csv_cells_are_text_without_blanks_around(tmp_path: Path, gz: str) -> None:
    text = '\ufeff age , sex,code\r\n 20, Male,01\r\n\r\n36 ,Female ,1\r\n75,"Male",1\r\n'
    path = written(tmp_path, text, "x.csv" + gz)
    table = Table.read(path, bins={"age": AGES})
    assert list(table) == [
        {"age": "[15,35)", "sex": "Male", "code": "01"},
        {"age": "[35,55)", "sex": "Female", "code": "1"},
        {"age": "[75,inf)", "sex": "Male", "code": "1"},
    ]
    assert Table.read(path, columns=["sex"]).domain.labels == ("sex=Female", "sex=Male")
    numbers = Table.read(path, columns=["age"])
    assert numbers.domain.attribute("age").values == ("20", "36", "75")


@pytest.mark.parametrize(
    "text, options, line",
    [
        ("a,b\nx,20\n\ny,14\n", {"bins": {"b": AGES}}, 4),
        ("a,b\nx,20\ny,Xq7\n", {"bins": {"b": AGES}}, 3),
        ("a,b\nx,20\ny,98765\n", {"values": {"b": ["20", "21"]}}, 3),
        ('a,b\n"x\nz",20\ny,Xq7\n', {"values": {"b": ["20", "21"]}}, 4),
        ("a,b\nx,Xq7\ny,\n", {}, 3),
        ("a,b\nx,Xq7\ny, ? \n", {}, 3),
        ('a,b\nx,Xq7\ny," "\n', {}, 3),
        ("a,b\nx,20\ny,?\n", {"bins": {"b": AGES}}, 3),
        ("a,b\nx,1\ny,2\n,2\n", {"missing": {"b": "none"}}, 4),
        ("a,b\nx,Xq7\ny\n", {}, 3),
        ("a,b\nx,Xq7,z\n", {}, 2),
        ("a, a\nXq7,y\n", {}, 1),
        ("Xq7,b\nXq7,y\nx,z\n", {}, 1),
        ("x,98765\nXq7,y\nx,z\n", {}, 1),
        ("a\nXq7\n\ny\n", {}, 3),
        ("a\nXq7\n\ny\n", {"missing": "none"}, 3),
        ("a,b\nx,Xq7\xff\n".encode("latin-1"), {}, 2),
    ],
)
@packed
def test_bad_cells_are_placed_and_not_quoted(
    tmp_path: Path, text: str | bytes, options: dict[str, Any], line: int, gz: str
) -> None:
    path = written(tmp_path, text, "x.csv" + gz)
    with pytest.raises(DataError) as caught:
        Table.read(path, **options)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert str(path) in str(caught.value)
    assert f"line {line} " in str(caught.value).lower()
    assert not re.search("Xq7|98765|layout", said(caught.value))


def test_a_message_names_the_attribute_and_on_request_the_cell(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\nx,20\ny, Xq7\n")
    ways: list[dict[str, Any]] = [{"bins": {"b": AGES}}, {"values": {"b": ["20", "21"]}}]
    for options in ways:
        with pytest.raises(DataError, match="Attribute 'b' must hold"):
            Table.read(path, **options)
        with pytest.raises(DataError, match=r"Attribute 'b' must hold .*, not 'Xq7'; line 3"):
            Table.read(path, show_values=True, **options)


def test_a_column_whose_name_is_also_a_value_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "a,2015\na,1\nb,2\n")
    with pytest.raises(DataError, match="looks like a record") as caught:
        Table.read(path)
    assert "columns=" in str(caught.value.hint)
    assert Table.read(path, columns=["2015", "a"]).n_records == 2


def test_blank_lines_that_are_no_records(tmp_path: Path) -> None:
    for columns in (None, ["a"]):
        for start in ("", "\n\n", "\ufeff\r\n"):
            assert len(Table.read(written(tmp_path, start + "a\nx\ny\n\n\n"), columns=columns)) == 2
    with pytest.raises(DataError) as caught:
        Table.read(written(tmp_path, "\n\na,b\n\nx,y\n\nx,\n"), missing={"a": "none"})
    assert caught.value.line == 7
    assert len(Table.read(written(tmp_path, 'a\nx\n""\ny'), missing="none")) == 3


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[Any]) -> Table:
    lists = st.lists(cells, min_size=2, max_size=5, unique_by=(str, lambda value: value))
    names = draw(st.lists(st.sampled_from(["a", 'b"', "c,", "d\ne", "é="]), min_size=1, max_size=3, unique=True))
    domain = TableDomain([Attribute(name, draw(lists)) for name in names], is_declared=draw(st.booleans()))
    return Table.from_cells(draw(st.lists(st.integers(0, domain.n_cells - 1), max_size=9)), domain)


clean = texts.map(str.strip)
plain = clean | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.tuples(clean)


@packed
@given(table=tables(clean))
def test_csv_round_trip(place: Path, table: Table, gz: str) -> None:
    path = place / f"round.csv{gz}"
    table.write(path, formulas="allow")
    again = Table.read(
        path, columns=table.domain.names, values={one.name: one.values for one in table.domain.attributes}
    )
    assert again == table


@packed
@given(table=tables(plain))
def test_parquet_keeps_the_whole_domain(place: Path, table: Table, gz: str) -> None:
    path = place / f"round.parquet{gz}"
    table.write(path)
    again = Table.read(path)
    assert again == table
    assert again.domain.is_declared == table.domain.is_declared
    for left, right in zip(again.domain.attributes, table.domain.attributes, strict=True):
        assert [type(value) for value in left.values] == [type(value) for value in right.values]
    name = table.domain.names[-1]
    assert Table.read(path, columns=[name]) == table.select([name])


def test_parquet_of_others(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"age": [20, 80], "sex": [" F", "M"]}), path)
    table = Table.read(path, bins={"age": AGES})
    assert list(table) == [{"age": "[15,35)", "sex": " F"}, {"age": "[75,inf)", "sex": "M"}]
    with pytest.raises(DataError, match=r"'sex' .* row 2 of the file") as caught:
        Table.read(path, values={"sex": [" F", "X"]})
    assert (caught.value.path, caught.value.line) == (path, None)


def test_parquet_keeps_numbers_beyond_64_bits_and_values_of_several_types(tmp_path: Path) -> None:
    table = Table([{"n": 2**70, "m": 1}, {"n": 5, "m": ("x", 2.5)}, {"n": 5, "m": "1.0"}])
    table.write(tmp_path / "x.parquet")
    again = Table.read(tmp_path / "x.parquet")
    assert again == table
    assert list(again) == list(table)


def test_our_own_parquet_can_be_told_otherwise(tmp_path: Path) -> None:
    table = Table([{"n": 1}, {"n": 30}, {"n": 5}], [Attribute("n", [30, 5, 1])])
    table.write(tmp_path / "x.parquet")
    assert Table.read(tmp_path / "x.parquet", bins={"n": [0, 10]}).codes.ravel().tolist() == [0, 1, 0]
    assert Table.read(tmp_path / "x.parquet", missing="none").n_items == 4


@pytest.mark.parametrize(
    "key, content, fault",
    [
        (b"bosket.table", b"{", "domain"),
        (b"bosket.table", b"[]", "domain"),
        (b"bosket.table", b'{"kind": "items", "items": ["x"], "declared": true}', "domain"),
        (b"bosket.table", b'{"kind":"table","attributes":[{"name":"b","values":[1,2]}],"declared":true}', "domain"),
        (
            b"bosket.table",
            b'{"kind":"table","attributes":[{"name":"a","values":[1,2]}],"declared":true}',
            "'a' must hold",
        ),
        (b"bosket.plan", b"{}", r"randomized reports, not a table; read it with bosket\.Reports\.read"),
    ],
)
def test_metadata_that_does_not_fit(tmp_path: Path, key: bytes, content: bytes, fault: str) -> None:
    table = pa.table({"a": ["Xq7", "x"]}).replace_schema_metadata({key: content})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(DataError, match=fault) as caught:
        Table.read(tmp_path / "x.parquet")
    assert "Xq7" not in said(caught.value)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    parquet.write_table(pa.table([["x"], ["y"]], names=["a", "a"]), tmp_path / "twice.parquet")
    written(tmp_path, b"PAR1 Xq7", "broken.parquet")
    for name, fault in (
        ("none.csv", "does not exist"),
        ("twice.parquet", "same name"),
        ("broken.parquet", "sound Parquet"),
    ):
        with pytest.raises(DataError, match=fault) as caught:
            Table.read(tmp_path / name)
        assert caught.value.path == tmp_path / name


@pytest.mark.parametrize("name", ["x.txt", "x", "x.gz", "x.dat", "x.csv.zip"])
def test_unknown_suffixes_are_told_the_known_ones(tmp_path: Path, name: str) -> None:
    table = Table([{"a": 1}, {"a": 2}])
    for attempt in (Table.read, table.write):
        with pytest.raises(DataError, match=r"\.csv, \.parquet, each also with \.gz"):
            attempt(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name, value", [("x.csv", " Xq7"), ("x.csv", "Xq7\0"), ("x.csv", "\ud800Xq7"), ("x.parquet", frozenset(["Xq7"]))]
)
def test_values_that_a_format_cannot_hold_are_refused_before_anything_is_lost(
    tmp_path: Path, name: str, value: Any
) -> None:
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(DataError, match="Cannot write") as caught:
        Table([{"a": value}], [Attribute("a", [value, "b"])]).write(path)
    assert "Xq7" not in said(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_large_files_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.data.formats.table_files._RECORDS_A_PART", 7)
    table = Table([{"a": str(number % 11), "b": str(number % 13)} for number in range(100)])
    for name in ("x.csv", "x.parquet"):
        table.write(tmp_path / name)
        assert Table.read(tmp_path / name) == table


# --------------------------------------------------------------------------------------------- the paper's data

CENSUS: dict[str, Any] = {
    "columns": ["race", "sex", "native-country", "age", "fnlwgt", "hours-per-week"],
    "bins": {"age": AGES, "fnlwgt": [0, 1e5, 2e5, 3e5, 4e5], "hours-per-week": [0, 20, 40, 60, 80]},
    "values": {
        "race": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"],
        "sex": ["Female", "Male"],
        "native-country": {"United-States": ["United-States"], "Other": "*"},
    },
    "missing": {"native-country": "Other"},
}


@pytest.mark.data
def test_census_as_in_table_1_of_frapp() -> None:
    table = Table.read(benchmark_file("adult_train.csv.gz"), **CENSUS)
    assert table.n_records == 32_561
    assert table.domain.is_declared
    assert table.domain.sizes.tolist() == [5, 2, 2, 4, 5, 5]
    assert table.domain.n_cells == 2000
    assert Table.from_cells(table.cells(), table.domain) == table
    frame = pd.read_csv(benchmark_file("adult_train.csv.gz"))
    assert Table.from_frame(frame, **CENSUS) == table
    counts = dict(zip(table.domain.labels, table.item_counts().tolist(), strict=True))
    assert counts["native-country=United-States"] == (frame["native-country"] == "United-States").sum()
    assert counts["age=[35,55)"] == frame["age"].between(35, 54).sum()
    assert counts["hours-per-week=[80,inf)"] == (frame["hours-per-week"] >= 80).sum()


@pytest.mark.slow
@pytest.mark.data
def test_census_has_as_many_frequent_itemsets_as_table_3_of_frapp_says() -> None:
    """The paper, with about 50 000 records and minimum support 2 %, has 19, 102, 203, 165, 64, 10 by size.

    It does not say what became of the question marks among the countries; with them among the others, and all 48 842
    records, there are 19, 102, 204, 164, 64, 9.
    """
    parts = [Table.read(benchmark_file(f"adult_{part}.csv.gz"), **CENSUS) for part in ("train", "test")]
    table = Table.from_codes(np.concatenate([part.codes for part in parts]), parts[0].domain)
    found = mine(table.to_baskets(), min_support=0.02).to_frame()
    by_size = found["size"].value_counts().sort_index().tolist()
    assert table.n_records == 48_842
    assert by_size == [19, 102, 204, 164, 64, 9]
    assert np.abs(np.subtract(by_size, [19, 102, 203, 165, 64, 10])).max() <= 1


@pytest.mark.data
def test_a_missing_cell_of_the_census_is_placed() -> None:
    path = benchmark_file("adult_train.csv.gz")
    with pytest.raises(DataError, match="'workclass' must hold a value") as caught:
        Table.read(path, columns=["sex", "workclass"])
    frame = pd.read_csv(path)
    assert caught.value.line == int(np.argmax(frame["workclass"] == "?")) + 2
    table = Table.read(path, columns=["sex", "workclass"], missing={"workclass": "unknown"})
    assert table.domain.sizes.tolist() == [2, 9]
    assert table.item_counts()[-1] == (frame["workclass"] == "?").sum()


@pytest.mark.parametrize("last", [2.0, 2.5])
def test_one_number_does_not_decide_how_the_others_are_read(tmp_path: Path, last: float) -> None:
    """A column of doubles was compared as whole numbers or not by the last of its cells."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"n": [1.0, 2.0, last]}), path)
    table = Table.read(path, values={"n": {"one": ["1"], "other": "*"}})
    assert [row["n"] for row in table] == ["one", "other", "other"]
    declared = {"n": ["1", "2", "1.0"]}
    if last == 2.0:
        assert Table.read(path, values=declared).codes[:, 0].tolist() == [0, 1, 1]
    else:
        with pytest.raises(DataError, match="row 3"):
            Table.read(path, values=declared)


def test_a_declared_value_may_be_called_like_its_column(tmp_path: Path) -> None:
    """One cell turned a reading under declared values into an error about the header."""
    path = tmp_path / "x.csv"
    path.write_text("sex,age\nF,1\nsex,2\n")
    table = Table.read(path, values={"sex": ["F", "sex"]}, bins={"age": [0, 2]})
    assert [row["sex"] for row in table] == ["F", "sex"]
    with pytest.raises(DataError, match="looks like a record"):
        Table.read(path, bins={"age": [0, 2]})
