"""Plans out of any text: mutated ones, any JSON, any text."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import strategies as st

import bosket as bk
from tests.fuzz.budget import EXAMPLES, fuzz, only_refused
from tests.test_plan_json import PLANS

HOSTILE: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    1.0,
    0.5,
    -0.0,
    1e-320,
    1e308,
    2**31 - 1,
    2**31,
    2**53,
    2**63,
    10**9,
    10**18,
    10**400,
    "",
    "no",
    "sample",
    "table",
    "items",
    "\x1b[2J",
    "\ud800",
    [],
    [[]],
    [[1, 0.5]],
    [[0, [1.0]], [1, [0.5, 0.5]]],
    {},
    {"tuple": []},
    {"tuple": [1, {"tuple": ["a"]}]},
    {"items": [["a", 0.5]]},
    list(range(50)),
]
LETTERS = '{}[]",:\\0123456789.eE+-tfn \n'
NAMES = sorted(name for name, known in bk.Mechanism.registry.items() if known.__module__.startswith("bosket."))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=15,
)


def inner_of(value: Any) -> list[tuple[Any, Any]]:
    """Every place within a value, as the container and the key of it."""
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        one = left.pop()
        keys = list(one) if isinstance(one, dict) else list(range(len(one))) if isinstance(one, list) else []
        found += [(one, key) for key in keys]
        left += [one[key] for key in keys]
    return found


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid plan with some of its values changed, taken away, doubled, renamed, or taken from another plan."""
    value = json.loads(PLANS[draw(st.sampled_from(sorted(PLANS)))].json)
    for _ in range(draw(st.integers(1, 4))):
        places = inner_of(value)
        container, key = places[draw(st.integers(0, len(places) - 1))]
        how = draw(st.sampled_from(["hostile", "value", "name", "drop", "rename", "double", "wrap", "graft", "scale"]))
        if how == "hostile":
            container[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))  # they are changed later
        elif how == "value":
            container[key] = draw(values)
        elif how == "name":
            value["mechanism"] = draw(st.sampled_from(NAMES).map(lambda name: {"name": name}) | values)
        elif how == "drop":
            del container[key]
        elif how == "rename" and isinstance(container, dict):
            container[draw(st.text(max_size=5) | st.sampled_from(["keep", "name", "kind", "items"]))] = container[key]
        elif how == "double" and isinstance(container, list):
            container *= draw(st.integers(2, 30))
        elif how == "wrap":
            container[key] = [container[key]]
        elif how == "graft":
            other = json.loads(PLANS[draw(st.sampled_from(sorted(PLANS)))].json)
            part = draw(st.sampled_from(["domain", "mechanism", "unit"]))
            if isinstance(value, dict):
                value[part] = other[part]
        elif how == "scale" and isinstance(container[key], int | float) and not isinstance(container[key], bool):
            with suppress(OverflowError):  # of a whole number that is too large for a double
                container[key] *= draw(st.sampled_from([-1, 10, 1000, 10**6, 1e-9]))
        if not inner_of(value):
            break
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def scratched(draw: st.DrawFn) -> str:
    """The text of a valid plan with some letters changed."""
    text = PLANS[draw(st.sampled_from(sorted(PLANS)))].json
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(text)))
        gone = draw(st.integers(0, 3))
        new = draw(
            st.text('{}[]",:\\0123456789.eE+-tfn \n', max_size=3) | st.sampled_from(["[" * 70, "9" * 1100, "NaN"])
        )
        text = text[:at] + new * draw(st.sampled_from([1, 1, 1, 50])) + text[at + gone :]
    return text


texts = (
    mutated() | scratched() | values.map(json.dumps) | st.text() | st.binary().map(lambda data: data.decode("latin-1"))
)


def read(text: str) -> None:
    """A plan is refused, or it is one: it has its card or says why not, and its own text gives it back."""
    plan = only_refused(lambda: bk.Plan.from_json(text))
    if plan is not None:
        only_refused(lambda: plan.guarantee.card())
        only_refused(lambda: plan.max_size)
        again = bk.Plan.from_json(plan.json)
        assert (again, again.digest) == (plan, plan.digest)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_plan_json(examples: int) -> None:
    fuzz(read, texts, examples=examples)


@pytest.mark.slow
def test_the_mutations_reach_both_outcomes() -> None:
    """Else the target would test nothing: some mutated plans are still plans, and most are refused."""
    outcomes: list[bool] = []
    fuzz(lambda text: outcomes.append(only_refused(lambda: bk.Plan.from_json(text)) is None), mutated(), examples=150)
    assert 10 < sum(outcomes) < len(outcomes) - 10
