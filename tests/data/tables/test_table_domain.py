"""Attributes, the items and cells they make, and through JSON."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket.data import Attribute, Domain, TableDomain
from bosket.errors import DataError, ParameterError
from bosket.mechanisms import Flip
from bosket.plan import Plan

CENSUS = TableDomain(
    [
        Attribute("race", ["White", "Black"]),
        Attribute("age", ["[15,35)", "[35,55)", "[55,inf)"]),
        Attribute("children", [0, 1, 2.5, "many"]),
    ]
)

scalars = st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.lists(scalars | st.tuples(scalars), min_size=2, max_size=5, unique_by=(str, lambda value: value))


@st.composite
def domains(draw: st.DrawFn) -> TableDomain:
    names = draw(st.lists(st.text(st.characters(exclude_characters="="), min_size=1), min_size=1, unique=True))
    return TableDomain([Attribute(name, draw(values)) for name in names], is_declared=draw(st.booleans()))


def test_items_are_the_values_of_one_attribute_after_the_other() -> None:
    assert CENSUS.labels[:3] == ("race=White", "race=Black", "age=[15,35)")
    assert CENSUS.labels[-4:] == ("children=0", "children=1", "children=2.5", "children=many")
    assert CENSUS.groups.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert CENSUS.offsets.tolist() == [0, 2, 5, 9]
    assert CENSUS.sizes.tolist() == [2, 3, 4]
    assert (CENSUS.n_cells, CENSUS.n_items, CENSUS.n_attributes) == (24, 9, 3)
    assert CENSUS.groups.dtype == np.int32
    assert CENSUS.attribute("age").values == ("[15,35)", "[35,55)", "[55,inf)")
    assert CENSUS.itemset(["age=[35,55)", "race=White"]) == (0, 3)
    assert CENSUS.select(["children", "race"]).names == ("children", "race")
    assert repr(CENSUS) == "TableDomain(3 attributes, 9 items)"


def test_a_plain_domain_has_no_groups_and_is_another() -> None:
    plain = Domain(CENSUS.labels)
    assert plain.groups is None
    assert plain != CENSUS
    assert not CENSUS.__eq__(plain)
    assert len({plain, CENSUS, Domain(CENSUS.labels)}) == 2


def test_domains_differ_in_names_values_order_and_writing() -> None:
    one = TableDomain([Attribute("a", [1, 2]), Attribute("b", [1, 2])])
    assert one == TableDomain([Attribute("a", (1, 2)), Attribute("b", np.array([1, 2]))], is_declared=False)
    for other in (
        [Attribute("b", [1, 2]), Attribute("a", [1, 2])],
        [Attribute("a", [2, 1]), Attribute("b", [1, 2])],
        [Attribute("a", [1.0, 2.0]), Attribute("b", [1, 2])],
        [Attribute("a", ["1", "2"]), Attribute("b", [1, 2])],
        [Attribute("a", [1, 2])],
    ):
        assert one != TableDomain(other)


@given(domains())
def test_json_keeps_attributes_types_and_whether_declared(domain: TableDomain) -> None:
    again = Domain.from_json(json.loads(json.dumps(domain.to_json()))) if writable(domain) else domain
    assert isinstance(again, TableDomain)
    assert (again, hash(again), again.is_declared) == (domain, hash(domain), domain.is_declared)
    for left, right in zip(again.attributes, domain.attributes, strict=True):
        assert [type(value) for value in left.values] == [type(value) for value in right.values]


def writable(domain: TableDomain) -> bool:
    try:
        "".join([*domain.names, *map(str, domain.labels)]).encode()
    except UnicodeEncodeError:
        with pytest.raises(DataError, match="surrogate"):
            domain.to_json()
        return False
    return True


def test_json_stays_as_it_is() -> None:
    """Plans that are out there are named by a digest of it."""
    text = json.dumps(CENSUS.to_json(), sort_keys=True, separators=(",", ":"))
    assert text == (
        '{"attributes":[{"name":"race","values":["White","Black"]},'
        '{"name":"age","values":["[15,35)","[35,55)","[55,inf)"]},'
        '{"name":"children","values":[0,1,2.5,"many"]}],"declared":true,"kind":"table"}'
    )


def test_a_plan_keeps_the_domain_and_its_digest_tells_it_from_plain_items() -> None:
    plan = Plan(CENSUS, Flip(0.9))
    again = Plan.from_json(plan.json)
    assert (again.domain, again.digest) == (CENSUS, plan.digest)
    assert Plan(Domain(CENSUS.labels), Flip(0.9)).digest != plan.digest
    assert Plan(TableDomain(CENSUS.attributes[::-1]), Flip(0.9)).digest != plan.digest


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "items", "items": ["a"], "declared": True},
        {"kind": "table", "attributes": [], "declared": True},
        {"kind": "table", "attributes": [{"name": "a", "values": [1]}], "declared": True},
        {"kind": "table", "attributes": [{"name": "", "values": [1, 2]}], "declared": True},
        {"kind": "columns"},
        {},
    ],
)
def test_json_of_something_else_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        TableDomain.from_json(value)


@given(domains())
def test_copies_are_equal_and_read_only(domain: TableDomain) -> None:
    for again in (domain, pickle.loads(pickle.dumps(domain)), copy.deepcopy(domain)):
        assert again == domain
        assert again.is_declared == domain.is_declared
        for values in (again.groups, again.offsets, again.sizes):
            assert not values.flags.writeable


@pytest.mark.parametrize(
    "name, given_values, parameter",
    [
        ("", [1, 2], "name"),
        (3, [1, 2], "name"),
        ("a", "xy", "values"),
        ("a", {1, 2}, "values"),
        ("a", 5, "values"),
        ("a", [], "values"),
        ("a", ["only"], "values"),
        ("a", [1, 2, 1], "values"),
        ("a", [1, 2, True], "values"),
        ("a", [1, "1"], "values"),
        ("a", [1, None], "values"),
        ("a", [1, float("nan")], "values"),
        ("a", [1, [2]], "values"),
        ("a", [1, (2, [3])], "values"),
        ("a", [1, np.array([1, 2])], "values"),
    ],
)
def test_attributes_that_are_none(name: Any, given_values: Any, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Attribute(name, given_values)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "attributes",
    [
        [],
        ["a"],
        [Attribute("a", [1, 2]), Attribute("a", [3, 4])],
        [Attribute("a", ["b=c", "d"]), Attribute("a=b", ["c", "d"])],
    ],
    ids=["none", "not one", "name twice", "label twice"],
)
def test_attributes_that_make_no_domain(attributes: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        TableDomain(attributes)
    assert caught.value.parameter == "attributes"


def test_names_that_are_not_there() -> None:
    for attempt in (CENSUS.attribute, CENSUS.position, CENSUS.select):
        with pytest.raises(ParameterError):
            attempt("nope")
    with pytest.raises(ParameterError):
        CENSUS.select(["age", "age"])
    with pytest.raises(ParameterError):
        CENSUS.select([])


def test_too_many_cells_cannot_be_numbered_but_can_be_items() -> None:
    bits: list[Hashable] = [0, 1]
    assert TableDomain([Attribute(str(at), bits) for at in range(62)]).n_cells == 2**62
    many = TableDomain([Attribute(str(at), bits) for at in range(63)])
    assert many.n_items == 126
    with pytest.raises(ParameterError) as caught:
        many.n_cells  # noqa: B018  # the point of the test
    assert caught.value.value == 2**63


def test_codes_take_no_more_room_than_they_need() -> None:
    for size, kind in ((2, np.uint8), (256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)):
        assert TableDomain([Attribute("a", range(size))]).dtype == kind
