"""A mechanism is declared once: what follows from its fields, for those of the package and for any other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket import strict_json
from bosket.checks import check_choice
from bosket.cli.inputs.named import describe, make_named
from bosket.mechanisms.base import Channel, Records
from bosket.mechanisms.mappings import ByItem, BySize, LawBySize, Mapped
from bosket.mechanisms.parameters import Kind, Probability, Real, Whole, declared_by, parameter, parameters_of
from tests.outside.thin import Thin

OWN = {name: known for name, known in bk.Mechanism.registry.items() if known.__module__.startswith("bosket.")}
TEXTS: dict[str, bk.Mechanism] = {
    "Flip(keep=0.9)": bk.Flip(0.9),
    "Flip(keep=0.5, keep_absent=0.95)": bk.Flip(keep=0.5, keep_absent=0.95),
    "Flip(keep={1 item: 0.5}, keep_absent={2 items: 0.25 to 0.5}, default=0.9)": bk.Flip(
        keep={"a": 0.5}, default=0.9, keep_absent={"b": 0.5, "c": 0.25}
    ),
    "Flip(keep={0 items}, default=0.9)": bk.Flip(keep={}, default=0.9),
    "CutAndPaste(cutoff=1e+06, insert=0.35)": bk.CutAndPaste(1_000_000, 0.35),
    "CutAndPaste(cutoff={sizes 1 to 3: 2 to 4}, insert={sizes 1 to 3: 0.2})": bk.CutAndPaste(
        {3: 4, 1: 2}, {1: 0.2, 3: 0.2}
    ),
    "CutAndPaste(cutoff={size 2: 2}, insert=0.2)": bk.CutAndPaste({2: 2}, 0.2),
    "SelectASize(sizes 1 to 1, insert=0.2)": bk.SelectASize({1: [0.5, 0.5]}, 0.2),
    "Replace(probability=0.333333)": bk.Replace(1 / 3),
    "Mixing(others=10000, keep=0.5)": bk.Mixing(10_000, 0.5),
    "GammaDiagonal(gamma=19)": bk.GammaDiagonal(19),
    "GammaDiagonal(gamma=19, spread=0.1)": bk.GammaDiagonal(19, spread=0.1),
    "Thin(keep=0.5)": Thin(keep=0.5),
    "Thin(keep={2 items: 0.5}, coins=3, floor=0.1)": Thin(keep={"a": 0.5, 1: 0.5}, coins=3, floor=0.1),
}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is registered in a test is forgotten after it."""
    known = dict(bk.Mechanism.registry)
    monkeypatch.setattr(bk.Mechanism, "registry", known)
    return known


@pytest.mark.parametrize("text", TEXTS)
def test_texts_copies_and_equality(text: str) -> None:
    mechanism = TEXTS[text]
    assert str(mechanism) == repr(mechanism) == text
    again = type(mechanism).from_json(mechanism.to_json())
    for other in (again, copy.copy(mechanism), copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
        assert other == mechanism
        assert hash(other) == hash(mechanism)
        assert type(other) is type(mechanism)
    assert sum(mechanism == other for other in TEXTS.values()) == 1


def test_a_mapping_may_name_no_item_at_all() -> None:
    """The card of such a plan, whoever wrote it, raised IndexError."""
    plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep={}, default=0.9))
    assert "{0 items}" in bk.Plan.from_json(plan.json).guarantee.card()


@pytest.mark.parametrize("name", OWN)
def test_every_field_is_declared(name: str) -> None:
    """A mechanism has options for all of them, or for none: then ``--mechanism`` and ``--set`` alone give them."""
    has_options = any(one.option is not None for one in declared_by(OWN[name]))
    for one in declared_by(OWN[name]):
        assert one.help
        assert one.kind.must
        if has_options:
            assert one.option is not None or isinstance(one.kind, Mapped), "the command line could not give it"
        if one.option is not None and not one.option.beside:
            assert one.is_required


def test_options_name_options_that_exist() -> None:
    options = [one.option for known in OWN.values() for one in parameters_of(known) if one.option is not None]
    files = [known.file_option.name for known in OWN.values() if known.file_option is not None]
    for option in options:
        assert set(option.beside) <= {other.name for other in options} | set(files)
    assert len({option.name for option in options} | set(files)) == len(options) + len(set(files))


# -- what a subclass of Mechanism gets -------------------------------------------------------------------------------


class Bare(bk.Mechanism):
    """What a mechanism must say besides its parameters."""

    def channel(self, domain: bk.Domain) -> Channel:
        raise NotImplementedError

    def guarantee(
        self, domain: bk.Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> bk.LocalGuarantee:
        raise NotImplementedError


def test_a_plain_dataclass_will_do(registry: dict[str, Any]) -> None:
    """The decorator writes no equality, hash and repr of its own over those that follow from the kinds."""

    @dataclass(frozen=True)
    class Plain(Bare):
        name = "plain"
        keep: Any = field(metadata=parameter(ByItem(Probability()), "keep"))
        most: int = field(default=3, metadata=parameter(Whole(least=1), "most"))

    one = Plain({"b": 1, "a": 0.5})
    assert one == Plain({"a": 0.5, "b": 1.0}) != Plain({"a": 0.5, "b": 1.0}, 4)
    assert hash(one) == hash(Plain({"a": 0.5, "b": 1.0}))
    assert repr(one) == "Plain(keep={2 items: 0.5 to 1})"
    assert one.to_json() == {"keep": {"items": [["a", 0.5], ["b", 1.0]]}, "most": 3}
    assert registry["plain"] is Plain
    wrongs: list[Any] = [{"keep": 0.5}, {"keep": 0.5, "most": 3, "more": 1}, {"keep": 0.5, "most": None}, [], None]
    for wrong in wrongs:
        with pytest.raises(bk.DataError):
            Plain.from_json(wrong)
    with pytest.raises(bk.ParameterError) as caught:
        Plain(keep=0.5, most=0)
    assert (caught.value.parameter, caught.value.value) == ("most", 0)
    assert "of Plain" in str(caught.value)


def test_what_a_mapping_held_later_changes_nothing() -> None:
    keeps = {"a": 0.5}
    mechanism = bk.Flip(keep=keeps, default=0.9)
    keeps["a"] = 0.1
    assert mechanism == bk.Flip(keep={"a": 0.5}, default=0.9)
    with pytest.raises(TypeError):
        mechanism.keep["a"] = 0.1  # type: ignore[index]


def test_mechanisms_of_two_classes_differ(registry: dict[str, Any]) -> None:
    """Though their parameters are called alike."""

    @dataclass(frozen=True)
    class Substitute(Bare):
        name = "substitute"
        probability: float = field(metadata=parameter(Probability(), "probability"))

    assert Substitute(0.5).to_json() == bk.Replace(0.5).to_json()
    assert Substitute(0.5) != bk.Replace(0.5)


def test_a_field_without_a_kind_is_written_by_its_mechanism_or_not_at_all(registry: dict[str, Any]) -> None:
    @dataclass(frozen=True)
    class Undeclared(Bare):
        name = "undeclared"
        words: tuple[str, ...]

    with pytest.raises(bk.ParameterError, match="field 'words' without one") as caught:
        Undeclared(("a",)).to_json()
    assert "field(metadata=parameter(" in str(caught.value.hint)
    with pytest.raises(bk.ParameterError):
        Undeclared.from_json({"words": ["a"]})

    class Loose(Bare):
        name = "loose"

        def __init__(self, keep: float) -> None:
            self.keep = keep

    with pytest.raises(bk.ParameterError, match="frozen dataclass"):
        Loose(0.5).to_json()

    @dataclass(frozen=True)
    class ByHand(Bare):
        name = "by_hand"
        words: tuple[str, ...]

        def to_json(self) -> dict[str, Any]:
            return {"words": list(self.words)}

        @classmethod
        def from_json(cls, value: dict[str, Any]) -> ByHand:
            return cls(tuple(value["words"]))

    assert ByHand.from_json({"words": ["a"]}) == ByHand(("a",)) != ByHand(("b",))
    assert str(ByHand(("a",))) == "ByHand(words=('a',))"
    assert pickle.loads(pickle.dumps(Thin(keep=0.5))) == Thin(keep=0.5)


def test_a_name_that_is_taken_is_refused(registry: dict[str, Any]) -> None:
    """Else whoever defines a class could change what plans in the world mean."""
    with pytest.raises(bk.ParameterError, match=r"bosket\.mechanisms\.flip\.Flip") as caught:

        @dataclass(frozen=True, slots=True)
        class Mine(Bare):
            name = "flip"

    assert (caught.value.parameter, caught.value.value) == ("name", "flip")
    assert registry["flip"] is bk.Flip
    for wrong in ("", "module:Class", 3, None):
        with pytest.raises(bk.ParameterError, match="must be text without ':'"):
            type("Other", (Bare,), {"name": wrong, "__module__": "elsewhere"})


def test_the_same_class_may_be_defined_again(registry: dict[str, Any]) -> None:
    """As by a cell of a notebook that is run twice, and by dataclass(slots=True) itself."""
    made = []
    for _ in range(2):

        @dataclass(frozen=True, slots=True)
        class Again(Bare):
            name = "again"

        made.append(Again)
        assert registry["again"] is Again
    assert made[0] is not made[1]


# -- kinds ------------------------------------------------------------------------------------------------------------

probabilities = st.floats(0, 1)
labels = st.text(max_size=3) | st.integers(-5, 5) | st.tuples(st.text(max_size=2), st.integers(0, 3))
numbers = st.integers(0) | st.integers(10**290, 10**900)
laws = st.dictionaries(st.integers(0, 4), st.just(None)).filter(bool)
KINDS: dict[str, tuple[Kind, st.SearchStrategy[Any]]] = {
    "probability": (Probability(), probabilities),
    "whole": (Whole(least=-2, most=10**6), st.integers(-2, 10**6)),
    "real": (Real(above=1), st.floats(1, exclude_min=True, allow_infinity=False)),
    "by item": (ByItem(Probability()), probabilities | st.dictionaries(labels, probabilities)),
    "by size": (BySize(Whole(least=0)), numbers | st.dictionaries(st.integers(0, 99), numbers, min_size=1)),
    "laws": (LawBySize(), laws.map(lambda sizes: {m: [1 / (m + 1)] * (m + 1) for m in sizes})),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_read_back(name: str) -> None:
    kind, values = KINDS[name]

    @given(values)
    def check(value: Any) -> None:
        checked = kind.check("x", value, of="Y")
        written = kind.to_json(checked)
        assert kind.check("x", kind.from_json(written, "x", of="y"), of="Y") == checked
        assert kind.to_json(checked) == written
        assert len(kind.shown("x", checked)) < 150

    check()


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Probability(), [-0.1, 1.1, True, "0.5", None, float("nan"), 10**400]),
        (Whole(least=1, most=3), [0, 4, 2.0, True, "2", None]),
        (Real(above=1, most=2.0**1000), [1, 1.0, float("inf"), float("nan"), 2**1001, 10**400, True, "2", None, 1j]),
        (ByItem(Probability()), [{"a": 2}, {"a": True}, {"a": None}, [0.5]]),
        (BySize(Probability()), [{}, {-1: 0.5}, {1.0: 0.5}, {True: 0.5}, {2**31: 0.5}, {1: 2}, [[1, 0.5]]]),
        (LawBySize(largest=3, most=8), [{}, 0.5, {1: [1]}, {1: [0.5, 0.6]}, {4: [0.2] * 5}, {1: 3}, {2: "abc"}]),
        (LawBySize(largest=3, most=3), [{2: [0.5, 0.25, 0.25], 0: [1]}]),
    ],
    ids=repr,
)
def test_values_that_are_refused(kind: Kind, wrong: list[Any]) -> None:
    for value in wrong:
        with pytest.raises(bk.ParameterError) as caught:
            kind.check("x", value, of="Y")
        assert "of Y" in str(caught.value)
        assert caught.value.parameter.startswith("x")


@dataclass(frozen=True, slots=True)
class Word(Kind):
    """A kind of somebody else: one of a few words."""

    words: tuple[str, ...]

    @property
    def must(self) -> str:
        return f"one of {', '.join(self.words)}"

    def check(self, name: str, value: Any, *, of: str | None = None) -> str:
        return check_choice(name, value, self.words, of=of)

    def from_json(self, value: Any, name: str, *, of: str) -> str:
        return strict_json.text(value, name, of=of)

    def parse(self, text: str) -> str:
        return text

    def short(self, value: Any) -> str:
        return repr(value)


def test_a_kind_of_ones_own(registry: dict[str, Any]) -> None:
    @dataclass(frozen=True, slots=True)
    class Worded(Bare):
        name = "worded"
        how: str = field(metadata=parameter(Word(("fast", "slow")), "how it is done"))

    assert str(Worded("fast")) == "Worded(how='fast')"
    assert Worded.from_json({"how": "slow"}) == Worded("slow")
    assert make_named(Worded, [("how", "slow")], bk.Domain(["a"])) == Worded("slow")
    assert "how: how it is done (one of fast, slow)" in describe(Worded)
    for wrong in ({"how": 3}, {"how": "later"}, {}):
        with pytest.raises((bk.DataError, bk.ParameterError)):
            Worded.from_json(wrong)
    with pytest.raises(bk.ParameterError, match="one of fast, slow"):
        make_named(Worded, [("how", "later")], bk.Domain(["a"]))


def test_limits_are_written_as_one_writes_them() -> None:
    assert Real(above=1, most=2.0**1000).must == "a number above 1 and at most 2**1000"
    assert Real(most=0.5).must == "a number at most 0.5"
    assert Real().must == "a finite number"
    assert Whole(least=2).must == "a whole number, at least 2"
