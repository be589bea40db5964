"""Baskets beside plain Python sets, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from bosket.data import Baskets, Domain
from bosket.errors import DataError, ParameterError
from tests.data.leaks import said
from tests.strategies import Records, baskets, numbers, records, texts


@given(records(numbers | texts))
def test_records_are_the_sets_that_were_given(rows: Records) -> None:
    data = Baskets(rows)
    truth = [frozenset(row) for row in rows]
    assert [frozenset(row) for row in data] == truth
    assert [frozenset(data[number]) for number in range(len(data))] == truth
    assert [frozenset(data[number - len(data)]) for number in range(len(data))] == truth
    assert data.sizes.tolist() == [len(row) for row in truth]
    assert set(data.domain.labels) == frozenset().union(*truth)
    counts = Counter(label for row in truth for label in row)
    assert dict(zip(data.domain.labels, data.item_counts().tolist(), strict=True)) == counts


@given(baskets())
def test_arrays_are_canonical_and_read_only(data: Baskets) -> None:
    assert data.indptr.dtype == np.int64
    assert data.indices.dtype == np.int32
    for start, stop in zip(data.indptr, data.indptr[1:], strict=False):
        assert (np.diff(data.indices[start:stop]) > 0).all()
    assert not data.indptr.flags.writeable
    assert not data.indices.flags.writeable


@given(st.lists(st.lists(st.integers(0, 299), max_size=200), max_size=4))
def test_long_records_are_sorted_and_freed_of_repeats(rows: list[list[int]]) -> None:
    indptr = np.cumsum([0, *map(len, rows)])
    data = Baskets.from_csr(indptr, [item for row in rows for item in row], range(300))
    assert list(data) == [tuple(sorted(set(row))) for row in rows]


@given(baskets(max_items=130))
def test_bits_there_and_back(data: Baskets) -> None:
    bits = data.to_bits()
    assert bits.shape == (data.n_records, -(-data.n_items // 64))
    for row, record in zip(bits, data, strict=True):
        number = sum(int(word) << (64 * at) for at, word in enumerate(row))
        assert number == sum(1 << data.domain.index[label] for label in record)
    assert Baskets.from_bits(bits, data.domain) == data


def test_bits_are_packed_in_parts_by_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Baskets([[number % 7, number % 70] for number in range(100)], items=range(70))
    whole = data.to_bits()
    monkeypatch.setattr("bosket.data.baskets.records._WORDS_A_PART", 6)
    assert np.array_equal(data.to_bits(), whole)
    assert Baskets.from_bits(whole, data.domain) == data


@given(baskets(), st.integers(1, 4))
def test_repeat_multiplies_every_count(data: Baskets, times: int) -> None:
    many = data.repeat(times)
    assert list(many) == list(data) * times
    assert many.item_counts().tolist() == (times * data.item_counts()).tolist()


@given(baskets(), st.randoms())
def test_another_domain_changes_no_record(data: Baskets, random: Any) -> None:
    labels = [*data.domain.labels, "other", ("a", "pair")]
    random.shuffle(labels)
    again = data.with_domain(Domain(labels))
    assert [set(row) for row in again] == [set(row) for row in data]
    assert again.with_domain(data.domain) == data


@given(baskets())
def test_copies_are_equal_and_still_read_only(data: Baskets) -> None:
    for again in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert again == data
        assert not again.indices.flags.writeable


@given(baskets())
def test_sparse_matrices_of_every_kind(data: Baskets) -> None:
    dense = np.zeros((data.n_records, data.n_items))
    for number, row in enumerate(data):
        dense[number, data.domain.itemset(row)] = -1.5
    for kind in ("csr", "csc", "coo", "lil", "dok"):
        assert Baskets.from_scipy(sparse.coo_array(dense).asformat(kind)) == data


def test_sparse_zeros_and_duplicates_do_not_count() -> None:
    entries = (np.array([1, 1, 0, 2, -2]), (np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 2, 2])))
    matrix = sparse.coo_array(entries, shape=(2, 3))
    assert list(Baskets.from_scipy(matrix, items=["x", "y", "z"])) == [("y",), ()]
    assert matrix.nnz == 5  # the argument is left alone


def test_domain_is_sorted_and_never_in_order_of_appearance() -> None:
    """The domain is published: its first label must not be known to be in the first record."""
    assert Baskets([["c", "a"], ["b"]]).domain.labels == ("a", "b", "c")
    assert Baskets([["c", 1], ["b"]]).domain.labels == (1, "b", "c")
    assert not Baskets([["c"]]).domain.is_declared
    assert Baskets([["c"]], items=["c", "d"]).domain.is_declared
    assert Baskets([["c", "a"]], items=["c", "b", "a"]).domain.labels == ("c", "b", "a")


def test_numpy_scalars_become_plain_labels() -> None:
    assert [type(label) for label in Baskets([np.array([2, 3])]).domain.labels] == [int, int]
    assert [type(label) for label in Baskets([[2]], items=np.arange(3)).domain.labels] == [int, int, int]


def test_what_was_given_may_change_later_without_harm() -> None:
    indptr, indices = np.array([0, 2]), np.array([0, 1], np.int32)
    data = Baskets.from_csr(indptr, indices, ["a", "b"])
    indices[0] = 1
    indptr[1] = 0
    assert list(data) == [("a", "b")]
    with pytest.raises(AttributeError):
        data.indices = indices  # type: ignore[misc]  # the point of the test


def test_equality_looks_at_domain_and_records() -> None:
    data = Baskets([["a"], []], items=["a", "b"])
    assert data == Baskets([["a"], []], items=["a", "b"])
    assert data != Baskets([["a"], []])
    assert data != Baskets([[], ["a"]], items=["a", "b"])
    assert data != [("a",), ()]


def test_repr_holds_no_contents() -> None:
    assert repr(Baskets([["secret"]])) == "Baskets(1 records, 1 items)"


SECRET = "Xq7"


@pytest.mark.parametrize(
    "rows, items, number",
    [
        ([["a"], [SECRET]], ["a"], 2),
        ([["a"], SECRET], None, 2),
        ([[], [], SECRET.encode()], None, 3),
        (SECRET, None, 1),
        ([["a"], 5], None, 2),
        ([["a", [SECRET]]], None, 1),
        ([["a"], [], [SECRET, None]], None, 3),
        ([["a"], [float("nan"), 1.0]], None, 2),
    ],
    ids=["unknown", "string", "bytes", "one string", "number", "unhashable", "None", "NaN"],
)
def test_bad_records_are_named_by_number_alone(rows: Any, items: list[str] | None, number: int) -> None:
    with pytest.raises(DataError, match=f"^Record {number} ") as caught:
        Baskets(rows, items=items)
    assert SECRET not in said(caught.value)


def test_a_string_as_domain_is_refused() -> None:
    with pytest.raises(ParameterError) as caught:
        Baskets([["a"]], items="abc")
    assert caught.value.parameter == "items"


def test_unknown_items_are_counted_not_named() -> None:
    data = Baskets([[SECRET, "b"], ["c"]], items=[SECRET, "b", "c", "d"])
    with pytest.raises(DataError, match="2 different items") as caught:
        data.with_domain(["c"])
    assert SECRET not in said(caught.value)
    assert data.with_domain([SECRET, "b", "c"]).n_items == 3  # 'd' never occurs, so it is not missed


@pytest.mark.parametrize(
    "indptr, indices",
    [
        ([0, 2, 1], [0]),
        ([1, 1], [0]),
        ([0, 1], [0, 1]),
        ([], []),
        ([0, 1], [-1]),
        ([0, 1], [2]),
        ([0, 1], [2**32]),
        ([0, 1], [0.5]),
        ([[0, 1]], [0]),
        (np.array([0, 2, 1, 2], np.uint64), [0, 1]),
    ],
)
def test_rows_that_do_not_fit_together_are_refused(indptr: Any, indices: Any) -> None:
    with pytest.raises(DataError):
        Baskets.from_csr(indptr, indices, ["a", "b"])


@pytest.mark.parametrize(
    "bits", [np.zeros((2, 2), np.uint64), np.zeros((2, 1), np.int64), np.full((2, 1), 8, np.uint64)]
)
def test_bits_that_do_not_fit_the_domain_are_refused(bits: Any) -> None:
    with pytest.raises(DataError):
        Baskets.from_bits(bits, range(3))


@pytest.mark.parametrize(
    "matrix, items",
    [(np.eye(2), None), (sparse.csr_array(np.eye(2)), "x"), (sparse.csr_array([[np.nan, 0.0]]), None)],
)
def test_matrices_that_are_not_baskets_are_refused(matrix: Any, items: Any) -> None:
    with pytest.raises(DataError):
        Baskets.from_scipy(matrix, items=None if items is None else [items])


def test_numbers_of_records_beyond_the_last_are_an_index_error() -> None:
    data = Baskets([["a"]])
    for number in (1, -2):
        with pytest.raises(IndexError):
            data[number]
    with pytest.raises(ParameterError):
        data.repeat(0)


def test_a_slice_of_baskets_is_baskets() -> None:
    data = Baskets([["a", "b"], [], ["c"], ["b", "c"]])
    assert list(data[1:]) == list(data)[1:]
    assert list(data[::-2]) == list(data)[::-2]
    assert data[:0].n_records == 0
    assert data[1:].domain == data.domain
    assert list(data.domain) == ["a", "b", "c"]


def test_some_records_by_truth_values_or_numbers() -> None:
    baskets = Baskets([["a"], ["a", "b"], [], ["c"]])
    assert list(baskets[baskets.sizes == 1]) == [("a",), ("c",)]
    assert list(baskets[np.array([3, 0])]) == [("c",), ("a",)]
    assert baskets[baskets.sizes == 1].domain == baskets.domain
