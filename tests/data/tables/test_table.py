"""Tables beside plain Python records, and what they refuse."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Attribute, Baskets, Domain, Table, TableDomain
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said

Record = dict[str, Hashable]
SECRET = "Xq7"

FRAPP = TableDomain(
    [
        Attribute("age", ["child", "adult", "senior"]),
        Attribute("sex", ["male", "female"]),
        Attribute("education", ["elementary", "graduate"]),
    ]
)

some_values = st.lists(st.text(max_size=3) | st.integers(0, 300), min_size=2, max_size=6, unique_by=str)
many_values = st.sampled_from([range(63), range(64), range(65), range(300)])


@st.composite
def domains(draw: st.DrawFn) -> TableDomain:
    """Domains whose items end before, at and after the ends of words."""
    lists: list[Any] = draw(st.lists(some_values | many_values, min_size=1, max_size=4))
    return TableDomain([Attribute(f"a{at}", values) for at, values in enumerate(lists)])


def records_over(domain: TableDomain) -> st.SearchStrategy[list[Record]]:
    record = st.fixed_dictionaries({one.name: st.sampled_from(one.values) for one in domain.attributes})
    return st.lists(record, max_size=8)


told = domains().flatmap(lambda domain: st.tuples(st.just(domain), records_over(domain)))
tables = told.map(lambda pair: Table(pair[1], pair[0]))


@pytest.mark.slow
@given(told)
def test_records_are_those_that_were_given(pair: tuple[TableDomain, list[Record]]) -> None:
    domain, rows = pair
    table = Table(iter(rows), domain.attributes)
    assert table.domain == domain
    assert list(table) == rows
    assert [table[number] for number in range(len(table))] == rows
    assert [table[number - len(table)] for number in range(len(table))] == rows
    assert table.sizes.tolist() == [len(row) for row in rows]
    counts = Counter(f"{name}={value}" for row in rows for name, value in row.items())
    assert dict(zip(domain.labels, table.item_counts().tolist(), strict=True)) == {
        label: counts[str(label)] for label in domain.labels
    }
    assert not table.codes.flags.writeable
    assert table.codes.dtype == domain.dtype


@pytest.mark.slow
@given(tables)
def test_bits_are_one_hot_and_lead_back(table: Table) -> None:
    bits = table.to_bits()
    assert bits.shape == (table.n_records, -(-table.n_items // 64))
    for row, record in zip(bits, table, strict=True):
        number = sum(int(word) << (64 * at) for at, word in enumerate(row))
        assert number == sum(1 << table.domain.index[f"{name}={value}"] for name, value in record.items())
    assert Table.from_bits(bits, table.domain) == table
    baskets = table.to_baskets()
    assert baskets.domain is table.domain
    assert np.array_equal(baskets.to_bits(), bits)
    assert baskets == Baskets([[f"{n}={v}" for n, v in row.items()] for row in table], items=table.domain)


def test_bits_are_packed_in_parts_by_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = TableDomain([Attribute("a", range(7)), Attribute("b", range(70))])
    table = Table.from_codes([[number % 7, number % 70] for number in range(100)], domain)
    whole = table.to_bits()
    monkeypatch.setattr("bosket.data.tables.rows._RECORDS_A_PART", 6)
    assert np.array_equal(table.to_bits(), whole)
    assert Table.from_bits(whole, domain) == table
    whole[77] = 0
    with pytest.raises(DataError, match="record 78"):
        Table.from_bits(whole, domain)


@given(st.lists(st.sets(st.integers(0, 6)), max_size=5))
def test_bits_of_anything_but_one_value_of_each_attribute_are_refused(rows: list[set[int]]) -> None:
    bits = np.array([sum(1 << item for item in row) for row in rows], np.uint64).reshape(-1, 1)
    groups = FRAPP.groups.tolist()
    bad = next((at for at, row in enumerate(rows, 1) if sorted(groups[item] for item in row) != [0, 1, 2]), None)
    if bad is None:
        assert np.array_equal(Table.from_bits(bits, FRAPP).to_bits(), bits)
    else:
        with pytest.raises(DataError, match=f"record {bad} "):
            Table.from_bits(bits, FRAPP)


@pytest.mark.parametrize(
    "bits", [np.zeros((2, 2), np.uint64), np.zeros((2, 1), np.int64), np.full((2, 1), 128, np.uint64)]
)
def test_bits_that_do_not_fit_the_domain_are_refused(bits: Any) -> None:
    with pytest.raises(DataError):
        Table.from_bits(bits, FRAPP)


def test_cells_are_those_of_the_paper() -> None:
    """FRAPP, section 3: the four records map to 1, 2, 4 and 9, counted from 1."""
    rows = [
        ("child", "male", "elementary"),
        ("child", "male", "graduate"),
        ("child", "female", "graduate"),
        ("senior", "male", "elementary"),
    ]
    table = Table([dict(zip(FRAPP.names, row, strict=True)) for row in rows], FRAPP)
    assert FRAPP.n_cells == 12
    assert (table.cells() + 1).tolist() == [1, 2, 4, 9]


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4))
def test_cells_and_records_are_one_to_one(sizes: list[int]) -> None:
    domain = TableDomain([Attribute(f"a{at}", range(size)) for at, size in enumerate(sizes)])
    cells = np.arange(math.prod(sizes))
    table = Table.from_cells(cells, domain)
    assert [tuple(row.values()) for row in table] == list(itertools.product(*map(range, sizes)))
    assert np.array_equal(table.cells(), cells)
    assert table.cells().dtype == np.int64


@given(tables)
def test_cells_lead_back(table: Table) -> None:
    assert Table.from_cells(table.cells(), table.domain) == table


def test_cells_that_are_none() -> None:
    for cells in ([12], [-1], [0.5], [[1]], [2**63], np.array([2**64 - 1], np.uint64)):
        with pytest.raises(DataError):
            Table.from_cells(cells, FRAPP)
    many = TableDomain([Attribute(str(at), [0, 1]) for at in range(63)])
    for attempt in (lambda: Table.from_cells([0], many), lambda: Table.from_codes([[1] * 63], many).cells()):
        with pytest.raises(ParameterError):
            attempt()
    assert Table.from_cells([], FRAPP).n_records == 0
    last = TableDomain([Attribute(str(at), [0, 1]) for at in range(62)])
    assert Table.from_codes([[1] * 62], last).cells().tolist() == [2**62 - 1]


@pytest.mark.parametrize("codes", [[[0, 0]], [[0, 0, 2]], [[-1, 0, 0]], [0, 0, 0], [[0.0, 0.0, 0.0]]])
def test_codes_that_do_not_fit_the_domain_are_refused(codes: Any) -> None:
    with pytest.raises(DataError):
        Table.from_codes(codes, FRAPP)


def test_a_plain_domain_will_not_do() -> None:
    plain: Any = Domain(["a", "b"])
    given_to: list[tuple[Callable[..., Table], Any]] = [
        (Table.from_codes, [[0]]),
        (Table.from_cells, [0]),
        (Table.from_bits, np.ones((1, 1), np.uint64)),
        (Table.with_domain, Table.from_cells([0], FRAPP)),
    ]
    for make, data in given_to:
        with pytest.raises(ParameterError) as caught:
            make(data, plain)
        assert caught.value.parameter == "domain"


@given(tables)
def test_a_frame_holds_the_values_and_leads_back(table: Table) -> None:
    frame = table.to_frame()
    assert [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)] == list(table)
    assert all(isinstance(kind, pd.CategoricalDtype) for kind in frame.dtypes)
    for attribute in table.domain.attributes:
        assert list(frame[attribute.name].cat.categories) == list(attribute.values)
    values = {one.name: one.values for one in table.domain.attributes}
    again = Table.from_frame(frame, values=values)
    assert again == table
    assert again.domain.is_declared


def test_tuples_are_values_too() -> None:
    domain = TableDomain([Attribute("pair", [("a", 1), ("b", 2), ("c", 3)])])
    table = Table([{"pair": ("b", 2)}], domain)
    assert table.to_frame()["pair"].tolist() == [("b", 2)]
    assert domain.labels[1] == "pair=('b', 2)"


@pytest.mark.slow
@given(tables, st.data())
def test_fewer_attributes(table: Table, data: st.DataObject) -> None:
    names = data.draw(st.permutations(table.domain.names))[: data.draw(st.integers(1, table.n_attributes))]
    fewer = table.select(names)
    assert fewer.domain == table.domain.select(names)
    assert [list(row.items()) for row in fewer] == [[(name, row[name]) for name in names] for row in table]
    assert fewer.codes.flags.c_contiguous
    assert Table.from_bits(fewer.to_bits(), fewer.domain) == fewer


@given(tables, st.integers(1, 4))
def test_repeat_multiplies_every_count(table: Table, times: int) -> None:
    many = table.repeat(times)
    assert list(many) == list(table) * times
    assert many.item_counts().tolist() == (times * table.item_counts()).tolist()


@given(tables, st.randoms())
def test_another_domain_changes_no_record(table: Table, random: Any) -> None:
    attributes = []
    for one in table.domain.attributes:
        values = [*one.values, "quite other", ("a", "pair")]
        random.shuffle(values)
        attributes.append(Attribute(one.name, values))
    random.shuffle(attributes)
    again = table.with_domain(TableDomain(attributes))
    assert list(again) == list(table)
    assert again.domain.attributes == tuple(attributes)
    assert again.with_domain(table.domain) == table


def test_another_domain_may_write_values_as_text() -> None:
    table = Table([{"n": 1}, {"n": 2}])
    as_text = table.with_domain(TableDomain([Attribute("n", ["2", "1"])]))
    assert list(as_text) == [{"n": "1"}, {"n": "2"}]
    assert list(as_text.with_domain(table.domain)) == list(table)


def test_values_that_another_domain_lacks_are_named_only_on_request() -> None:
    table = Table([{"n": SECRET, "m": 1}, {"n": "b", "m": 2}])
    domain = TableDomain([Attribute("m", [1, 2]), Attribute("n", ["b", "c"])])
    with pytest.raises(DataError, match="attribute 'n'") as caught:
        table.with_domain(domain)
    assert SECRET not in said(caught.value)
    with pytest.raises(DataError, match=f"attribute 'n'.*{SECRET}"):
        table.with_domain(domain, show_values=True)
    assert len(table[1:].with_domain(domain)) == 1  # the value does not occur, so it is not missed
    with pytest.raises(DataError, match="differ in 'k', 'n'"):
        table.with_domain(TableDomain([Attribute("m", [1, 2]), Attribute("k", [1, 2])]))


@given(tables)
def test_copies_are_equal_and_still_read_only(table: Table) -> None:
    for again in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), copy.copy(table)):
        assert again == table
        assert not again.codes.flags.writeable
        assert again.domain.is_declared == table.domain.is_declared


def test_some_records_by_slice_by_truth_values_or_by_numbers() -> None:
    table = Table([{"a": value} for value in "xyzx"])
    rows = list(table)
    assert list(table[1:]) == rows[1:]
    assert list(table[::-2]) == rows[::-2]
    assert np.array_equal(table[::2].to_bits(), table.to_bits()[::2])
    assert list(table[table.codes[:, 0] == 0]) == [rows[0], rows[3]]
    assert list(table[np.array([3, -3])]) == [rows[3], rows[1]]
    assert table[:0].n_records == 0
    assert table[1:].domain is table.domain
    assert not table[1:].codes.flags.writeable
    for number in (4, -5, np.array(1), np.array([[1]]), np.array([4]), np.array([True])):
        with pytest.raises(IndexError):
            table[number]
    with pytest.raises(ParameterError):
        table.repeat(0)


def test_what_was_given_may_change_later_without_harm() -> None:
    codes = np.zeros((1, 3), np.uint8)
    table = Table.from_codes(codes, FRAPP)
    codes[0, 0] = 2
    assert table[0]["age"] == "child"
    with pytest.raises(AttributeError):
        table.codes = codes  # type: ignore[misc]  # the point of the test


def test_equality_looks_at_domain_and_records() -> None:
    table = Table.from_cells([1, 2], FRAPP)
    assert table == Table.from_cells([1, 2], FRAPP)
    assert table != Table.from_cells([2, 1], FRAPP)
    assert table.select(["age"]) != table
    assert table != list(table)


def test_the_domain_is_read_off_in_sorted_order() -> None:
    """It is published: its first value must not be known to be in the first record."""
    table = Table([{"b": "y", "a": 2}, {"a": 10, "b": "x"}])
    assert table.domain.labels == ("b=x", "b=y", "a=2", "a=10")
    assert not table.domain.is_declared
    mixed = Table([{"a": np.int64(3)}, {"a": "x"}, {"a": 1}])
    assert mixed.domain.attribute("a").values == (1, 3, "x")
    assert [type(value) for value in mixed.domain.attribute("a").values] == [int, int, str]
    assert Table([], FRAPP).domain is FRAPP
    hearsay = TableDomain(FRAPP.attributes, is_declared=False)
    assert not Table([], hearsay).domain.is_declared


def test_repr_holds_no_contents() -> None:
    assert repr(Table([{"a": SECRET}, {"a": "b"}])) == "Table(2 records, 1 attributes, 2 items)"


@pytest.mark.parametrize(
    "rows, where",
    [
        ([{"a": 1}, {"a": 2, SECRET: 1}], "Record 2 "),
        ([{"a": 1}, {}], "Record 2 "),
        ([{"a": 1}, [SECRET]], "Record 2 .* got list"),
        (pd.DataFrame({"a": [SECRET]}), "Record 1 .* got str"),
        ([{"a": SECRET}, {"a": SECRET}], "'a' of the records holds no two different values"),
        ([{"a": SECRET}, {"a": 1}, {"a": "1"}], "'a' of the records holds different values that are written alike"),
        ([{"a": SECRET}, {"a": None}], "'a' must hold a value.* row 2 of the records"),
        ([{"a": SECRET}, {"a": "b"}, {"a": " "}], "'a' must hold a value.* row 3 of the records"),
        ([{"a": SECRET}, {"a": [SECRET]}], "cannot be items"),
        ([{1: SECRET}], "text for column names"),
        ([{}], "told its attributes"),
        ([], "told its attributes"),
    ],
)
def test_bad_records_are_placed_and_not_quoted(rows: Any, where: str) -> None:
    with pytest.raises(DataError, match=where) as caught:
        Table(rows)
    assert SECRET not in said(caught.value)


def test_values_outside_the_declared_domain() -> None:
    good = {"age": "child", "sex": "male", "education": "graduate"}
    with pytest.raises(DataError, match="'sex' must hold one of its 2 declared values; row 2 of the records") as caught:
        Table([good, {**good, "sex": SECRET}], FRAPP)
    assert SECRET not in said(caught.value)


@pytest.mark.parametrize("layout", ["list", "long", "one-hot"])
def test_baskets_in_a_file_keep_the_domain_of_a_table(tmp_path: Path, layout: Any) -> None:
    baskets = Table.from_cells([0, 5, 11], FRAPP).to_baskets()
    baskets.write(tmp_path / "x.parquet", layout=layout)
    again = Baskets.read(tmp_path / "x.parquet")
    assert again == baskets
    assert Table.from_bits(again.to_bits(), FRAPP) == Table.from_cells([0, 5, 11], FRAPP)
