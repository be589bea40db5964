"""Domains: labels to ids and back, and through JSON."""

from __future__ import annotations

import json
from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Domain
from bosket.errors import DataError

scalars = st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
labels = st.lists(scalars | st.tuples(scalars, st.tuples(scalars)), unique=True, max_size=8)


@given(labels)
def test_json_keeps_labels_and_their_types(given_labels: list[Hashable]) -> None:
    domain = Domain(given_labels)
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert hash(again) == hash(domain)
    assert [type(label) for label in again.labels] == [type(label) for label in given_labels]


@given(labels)
def test_itemsets_are_sorted_ids_and_names_lead_back(given_labels: list[Hashable]) -> None:
    domain = Domain(given_labels)
    chosen = given_labels[::2] * 2
    itemset = domain.itemset(reversed(chosen))
    assert list(itemset) == sorted(set(itemset))
    assert domain.name(itemset) == frozenset(chosen)
    assert all(label in domain for label in chosen)


def test_what_a_domain_refuses() -> None:
    with pytest.raises(DataError, match="'a' more than once"):
        Domain(["b", "a", "c", "a"])
    with pytest.raises(DataError, match="no item 'z'"):
        Domain(["a"]).itemset(["a", "z"])
    with pytest.raises(DataError, match="frozenset"):
        Domain([frozenset("a")]).to_json()
    with pytest.raises(DataError, match="'columns'"):
        Domain.from_json({"kind": "columns"})
