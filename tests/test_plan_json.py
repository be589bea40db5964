"""The JSON of a plan, written by anyone: what is refused, what stays as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import bosket as bk
from bosket.privacy.guarantee import MOST_REPORTS
from tests.effort import effort_within

TABLE = bk.TableDomain([bk.Attribute("sex", ["F", "M"]), bk.Attribute("age", [1, 2, 3])])
MIXED = bk.Domain(["a", "b", 3, True, 2.5, ("x", 1)])
BY_ITEM = bk.Flip(keep={"a": 0.7, ("x", 1): 0.8}, keep_absent={"b": 0.95}, default=0.9)
TEN = bk.PrivacyUnit(max_size=10)
PLANS = {
    "flip": bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.9)),
    "by item": bk.Plan(MIXED, BY_ITEM, bk.PrivacyUnit(max_size=3, reports=4, longer="sample")),
    "stating": bk.Plan(MIXED, BY_ITEM, bk.PrivacyUnit(1, 4, "sample", state_sizes_to=3, size_epsilon=1.5)),
    "cut": bk.Plan(bk.Domain(range(10)), bk.CutAndPaste(cutoff=7, insert=0.35), TEN),
    "cut far": bk.Plan(bk.Domain(range(10)), bk.CutAndPaste(cutoff=1000, insert=0.35), TEN),
    "cut by size": bk.Plan(bk.Domain(range(10)), bk.CutAndPaste(cutoff={1: 2, 2: 3}, insert={1: 0.2, 2: 0.25})),
    "sizes": bk.Plan(bk.Domain(range(10)), bk.SelectASize(kept={0: [1.0], 2: [0.2, 0.3, 0.5]}, insert=0.3)),
    "replace": bk.Plan(bk.Domain(range(10)), bk.Replace(0.8), TEN),
    "mixing": bk.Plan(bk.Domain(range(10)), bk.Mixing(others=3, keep=0.5)),
    "gamma": bk.Plan(TABLE, bk.GammaDiagonal(19, spread=0.1)),
    "undeclared": bk.Plan(bk.Domain(["ä", "b\n"], is_declared=False), bk.Flip(keep=1e-300)),
}
DIGESTS = {  # of the first bosket that wrote plans: they name studies that are out in the world
    "flip": "ac0157117465b70fc19054debc45a914ba3a8437dda4da53d2f5f4e0e580b3e0",
    "by item": "5ac1feb3d1b23603eefa205346826ebd6caaaf4db85eac3bf79c3bd89ce6a1ab",
    "stating": "d464a0da27ddf2c642b78b4be460dd3b348048026429a82049c1fc04fa8e5010",
    "cut": "40556aeecc8c7486b074967676a67c72e8482ba00d530b4a88ee6a6eddb17993",
    "cut far": "236ece23ab840c4f59d4cb64ce6b5376de525732e6a29d0e7f7f512dd4e7e306",
    "cut by size": "94ac9a1627332852938916178846d0b474876937464d94f13e8d98b0c885790e",
    "sizes": "d4556fb1e649e658200e31ca3a905d0e743ea7e8381de36cd2ada905593e1390",
    "replace": "eef265c246e12ab03b265dd935c6fc557f5d5bf120837c784a3324763acc8703",
    "mixing": "d6f6d353009082285ccd0ebb407600a06447130884bdc0540ee3df1448850d35",
    "gamma": "54570381e28efac87a5aeec885d65bbaa36f3c27c34ae543b4246c305c10b3ad",
    "undeclared": "ef26e41336a12f1c2d7678ced5c750ec2e68048f2915e6521d2d839799ef17f0",
}


@pytest.mark.parametrize("name", PLANS)
def test_digests_do_not_drift(name: str) -> None:
    plan = PLANS[name]
    assert plan.digest == DIGESTS[name]
    again = bk.Plan.from_json(plan.json)
    assert (again, again.json, again.digest) == (plan, plan.json, plan.digest)


def changed(name: str, change: Callable[[dict[str, Any]], object]) -> str:
    value = json.loads(PLANS[name].json)
    change(value)
    return json.dumps(value)


def put(*path: Any, to: Any) -> Callable[[dict[str, Any]], object]:
    """Sets what stands at the end of a path."""

    def change(value: Any) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


def refused(text: str) -> bk.BosketError:
    with pytest.raises((bk.DataError, bk.ParameterError)) as caught:
        bk.Plan.from_json(text)
    assert len(str(caught.value)) < 300
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


FLIP = PLANS["flip"].json
TEXTS = {
    "deep lists": "[" * 100_000,
    "deep objects": '{"bosket_plan":' * 100_000,
    "deep label": FLIP.replace('"a"', '{"tuple":[' * 2000 + "1" + "]}" * 2000),
    "digits": FLIP.replace("0.9", "1" * 5000),
    "digits of a label": FLIP.replace('"a"', "1" * 5000),
    "digits after the point": FLIP.replace("0.9", "0." + "1" * 5000),
    "not a number": FLIP.replace("0.9", "NaN"),
    "infinite": FLIP.replace("0.9", "1e999"),
    "infinite label": FLIP.replace('"a"', "1e999"),
    "infinity": FLIP.replace('"a"', "-Infinity"),
    "key twice": FLIP.replace('"keep":0.9', '"keep":0.9,"keep":0.1'),
    "key twice at the top": FLIP[:-1] + ',"bosket_plan":1}',
    "half a pair": FLIP.replace('"a"', '"\\ud800"'),
    "half a pair as it is": FLIP.replace('"a"', '"\ud800"'),
    "huge list": FLIP.replace('"a"', "0," * 5_000_000 + "0"),
    "long": FLIP + " " * (1 << 26),
    "truth": "true",
    "text": '"plan"',
    "trailing": FLIP + "{}",
    "control character": FLIP.replace('"a"', '"\x00"'),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_that_are_refused(text: str) -> None:
    assert isinstance(refused(text), bk.DataError)


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "unknown field": ("flip", put("note", to="x")),
    "unknown field of the domain": ("flip", put("domain", "note", to=1)),
    "unknown field of the unit": ("flip", put("unit", "delta", to=1)),
    "unknown parameter": ("flip", put("mechanism", "keeps", to=0.9)),
    "unknown field of an attribute": ("gamma", put("domain", "attributes", 0, "unit", to="x")),
    "unknown field of a label": ("by item", put("domain", "items", 5, to={"tuple": ["x", 1], "list": []})),
    "unknown kind of label": ("by item", put("domain", "items", 5, to={"list": ["x", 1]})),
    "missing parameter": ("flip", lambda value: value["mechanism"].pop("default")),
    "missing reports": ("flip", lambda value: value["unit"].pop("reports")),
    "missing unit": ("flip", lambda value: value.pop("unit")),
    "missing declared": ("flip", lambda value: value["domain"].pop("declared")),
    "declared no": ("flip", put("domain", "declared", to="no")),
    "declared 1": ("flip", put("domain", "declared", to=1)),
    "declared null": ("gamma", put("domain", "declared", to=None)),
    "version true": ("flip", put("bosket_plan", to=True)),
    "version 1.0": ("flip", put("bosket_plan", to=1.0)),
    "version text": ("flip", put("bosket_plan", to="1")),
    "name": ("flip", put("mechanism", "name", to=["flip"])),
    "mechanism": ("flip", put("mechanism", to=[["name", "flip"]])),
    "unit": ("flip", put("unit", to=[])),
    "domain": ("flip", put("domain", to="abc")),
    "kind": ("flip", put("domain", "kind", to=["items"])),
    "items as text": ("flip", put("domain", "items", to="abc")),
    "items as an object": ("flip", put("domain", "items", to={"a": 1})),
    "a label null": ("flip", put("domain", "items", 0, to=None)),
    "a label a list": ("flip", put("domain", "items", 0, to=["a"])),
    "a tuple of text": ("flip", put("domain", "items", 0, to={"tuple": "ab"})),
    "values as text": ("gamma", put("domain", "attributes", 0, "values", to="FM")),
    "attribute": ("gamma", put("domain", "attributes", 0, to=[["name", "sex"], ["values", ["F", "M"]]])),
    "keep true": ("flip", put("mechanism", "keep", to=True)),
    "keep text": ("flip", put("mechanism", "keep", to="0.9")),
    "keep null": ("flip", put("mechanism", "keep", to=None)),
    "keep out of range": ("flip", put("mechanism", "keep", to=10**400)),
    "keep of an item twice": ("by item", put("mechanism", "keep", "items", to=[["a", 0.7], ["a", 0.8]])),
    "keep of an item thrice": ("by item", put("mechanism", "keep", "items", to=[["a", 0.7, 0.8]])),
    "keep of an item true": ("by item", put("mechanism", "keep", "items", to=[["a", True]])),
    "keep of items as an object": ("by item", put("mechanism", "keep", "items", to={"a": 0.7})),
    "keep of items as a list": ("by item", put("mechanism", "keep", to=[["a", 0.7]])),
    "default true": ("by item", put("mechanism", "default", to=True)),
    "reports true": ("flip", put("unit", "reports", to=True)),
    "reports 2.0": ("flip", put("unit", "reports", to=2.0)),
    "reports 10^900": ("flip", put("unit", "reports", to=10**900)),
    "reports 10^18": ("flip", put("unit", "reports", to=10**18)),
    "max_size 10^18": ("flip", put("unit", "max_size", to=10**18)),
    "max_size 2.0": ("flip", put("unit", "max_size", to=2.0)),
    "longer": ("flip", put("unit", "longer", to=["refuse"])),
    "state_sizes_to where nothing is cut": ("flip", put("unit", "state_sizes_to", to=9)),
    "state_sizes_to 9.0": ("stating", put("unit", "state_sizes_to", to=9.0)),
    "state_sizes_to null": ("stating", put("unit", "state_sizes_to", to=None)),
    "state_sizes_to the size as cut": ("stating", put("unit", "state_sizes_to", to=1)),
    "size_epsilon true": ("stating", put("unit", "size_epsilon", to=True)),
    "size_epsilon 0": ("stating", put("unit", "size_epsilon", to=0)),
    "size_epsilon 10^300": ("stating", put("unit", "size_epsilon", to=1e300)),
    "cutoff true": ("cut", put("mechanism", "cutoff", to=True)),
    "cutoff 7.0": ("cut", put("mechanism", "cutoff", to=7.0)),
    "cutoff 10^900": ("cut", put("mechanism", "cutoff", to=10**900)),
    "cutoff of a size twice": ("cut by size", put("mechanism", "cutoff", to=[[1, 2], [2, 3], [1, 3]])),
    "cutoff of a size 1.0": ("cut by size", put("mechanism", "cutoff", to=[[1.0, 2], [2, 3]])),
    "cutoff of a size 10^900": ("cut by size", put("mechanism", "cutoff", 1, 0, to=10**900)),
    "cutoff of a size alone": ("cut by size", put("mechanism", "cutoff", 1, to=[2])),
    "cutoff of a size as an object": ("cut by size", put("mechanism", "cutoff", to={"1": 2, "2": 3})),
    "insert text": ("cut", put("mechanism", "insert", to="0.3")),
    "kept as numbers": ("sizes", put("mechanism", "kept", 1, 1, to=0.3)),
    "kept as text": ("sizes", put("mechanism", "kept", 1, 1, to="abc")),
    "kept with true": ("sizes", put("mechanism", "kept", 0, 1, 0, to=True)),
    "kept null": ("sizes", put("mechanism", "kept", to=None)),
    "kept of a size twice": ("sizes", put("mechanism", "kept", to=[[0, [1.0]], [0, [1.0]]])),
    "kept of size 10^12": ("sizes", put("mechanism", "kept", 1, 0, to=10**12)),
    "others 10^900": ("mixing", put("mechanism", "others", to=10**900)),
    "others 3.0": ("mixing", put("mechanism", "others", to=3.0)),
    "others 10^9": ("mixing", put("mechanism", "others", to=10**9)),
    "gamma 10^400": ("gamma", put("mechanism", "gamma", to=10**400)),
    "gamma text": ("gamma", put("mechanism", "gamma", to="19")),
    "spread null": ("gamma", put("mechanism", "spread", to=None)),
    "probability list": ("replace", put("mechanism", "probability", to=[0.8])),
    "labels that collide": ("flip", put("domain", "items", to=[j * (2**61 - 1) for j in range(1000)])),
    "values that collide": (
        "gamma",
        put("domain", "attributes", 1, "values", to=[j * (2**61 - 1) for j in range(1000)]),
    ),
    "items of keep that collide": (
        "by item",
        put("mechanism", "keep", "items", to=[[j * (2**61 - 1), 0.5] for j in range(1000)]),
    ),
    "too many cells": (
        "gamma",
        put("domain", "attributes", to=[{"name": str(at), "values": [0, 1]} for at in range(3000)]),
    ),
}


@pytest.mark.parametrize("name, change", CHANGES.values(), ids=CHANGES)
def test_plans_that_are_refused(name: str, change: Callable[[dict[str, Any]], object]) -> None:
    refused(changed(name, change))


def test_a_misspelled_field_is_named_and_the_right_one_suggested() -> None:
    error = refused(FLIP.replace('"declared"', '"decalred"'))
    assert "'decalred'" in str(error)
    assert "'declared'" in str(error.hint)
    error = refused(FLIP.replace('"keep_absent"', '"keep_absnet"'))
    assert "'keep_absnet'" in str(error)
    assert "'keep_absent'" in str(error.hint)


def test_a_newer_version_is_told_before_its_fields() -> None:
    error = refused('{"bosket_plan":2,"questions":[]}')
    assert "version 2" in str(error)


def test_a_whole_number_may_stand_for_a_probability() -> None:
    plan = bk.Plan.from_json(FLIP.replace("0.9", "1"))
    assert plan == bk.Plan(PLANS["flip"].domain, bk.Flip(keep=1.0))
    assert plan.digest == bk.Plan(PLANS["flip"].domain, bk.Flip(keep=1)).digest


def test_counts_have_a_limit_at_which_the_card_still_prints() -> None:
    unit = bk.PrivacyUnit(reports=MOST_REPORTS, max_size=2**31 - 1)
    for name in ("flip", "cut", "sizes", "replace", "mixing"):
        card = bk.Plan(PLANS[name].domain, PLANS[name].mechanism, unit).guarantee.card()
        assert str(MOST_REPORTS) in card
    for wrong in (MOST_REPORTS + 1, 10**400, 10**5000):
        with pytest.raises(bk.ParameterError) as caught:
            bk.PrivacyUnit(reports=wrong)
        assert caught.value.value == wrong
        assert str(MOST_REPORTS) in str(caught.value)
        with pytest.raises(bk.ParameterError):
            bk.Flip(keep=0.9).guarantee(["a"], reports=wrong)
        with pytest.raises(bk.ParameterError):
            bk.Flip(keep=wrong)


def test_labels_that_could_not_be_read_back_are_not_written() -> None:
    nested: object = "a"
    for _ in range(100):
        nested = (nested,)
    for label in (10**1500, nested):
        with pytest.raises(bk.DataError, match="cannot be written"):
            _ = bk.Plan(bk.Domain([label]), bk.Flip(keep=0.9)).json
    deep = ((((("a", 1),),),),)
    plan = bk.Plan(bk.Domain([deep, 10**900]), bk.Flip(keep=0.9))
    assert bk.Plan.from_json(plan.json).domain.labels == (deep, 10**900)


@pytest.mark.parametrize("value", [None, 3, b"{}", ["{}"]], ids=repr)
def test_what_is_not_text_is_refused(value: Any) -> None:
    with pytest.raises(bk.DataError):
        bk.Plan.from_json(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cut_and_paste", "select_a_size"])
def test_record_sizes_that_collide_are_refused_at_once(name: str) -> None:
    """Multiples of 2^61 - 1 have one hash value, and a lookup among them takes time by their number."""
    pairs = [[k * (2**61 - 1), 3] for k in range(1, 200_000)]
    field = {"cut_and_paste": "cutoff", "select_a_size": "kept"}[name]
    value = json.loads(PLANS["cut by size"].json)
    value["mechanism"] = {"name": name, field: pairs, "insert": 0.1}
    text = json.dumps(value)
    with effort_within(10):
        assert "from 0 to" in str(refused(text))
