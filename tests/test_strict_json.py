"""The reader of JSON from outside: its limits, and the types it insists on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bosket import strict_json
from bosket.errors import DataError
from bosket.strict_json import MOST_CHARACTERS, MOST_DEPTH, MOST_DIGITS, MOST_VALUES, parse
from tests.effort import effort_within

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


@given(values, st.booleans(), st.booleans())
def test_what_json_writes_is_read(value: Any, ensure_ascii: bool, as_bytes: bool) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)
    again = parse(text.encode() if as_bytes else text, what="it")
    assert again == value
    assert json.dumps(again) == json.dumps(value), "types too"


@given(st.text(st.sampled_from('{}[]",:\\u d8019.eE+-tn\n')) | st.text())
def test_any_text_is_read_as_json_reads_it_or_refused(text: str) -> None:
    try:
        value = parse(text, what="the text")
    except DataError:
        return
    assert json.loads(text) == value


@pytest.mark.slow
def test_limits_are_where_they_are_said_to_be() -> None:
    assert parse("[" * MOST_DEPTH + "]" * MOST_DEPTH, what="it")
    brackets = "[" * 500 + '{"' * 500
    assert parse(json.dumps([brackets]), what="it") == [brackets], "brackets in strings are not depth"
    assert parse('["\\\\", "\\"[[", []]', what="it") == ["\\", '"[[', []]
    assert parse("9" * MOST_DIGITS, what="it") == 10**MOST_DIGITS - 1
    commas = "," * (MOST_VALUES + 1)
    assert parse(json.dumps([commas]), what="it") == [commas], "commas in strings are not values"
    assert len(parse("[" + "true," * (MOST_VALUES - 2) + "0]", what="it")) == MOST_VALUES - 1


BEYOND = {
    "depth": ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), str(MOST_DEPTH)),
    "depth of both kinds": ('[{"a":' * MOST_DEPTH + "0" + "}]" * MOST_DEPTH, str(MOST_DEPTH)),
    "digits": ("9" * (MOST_DIGITS + 1), str(MOST_DIGITS)),
    "digits below zero": ("-" + "9" * MOST_DIGITS, str(MOST_DIGITS)),
    "digits of a fraction": ("0." + "9" * MOST_DIGITS, str(MOST_DIGITS)),
    "digits of an exponent": ("1e" + "0" * MOST_DIGITS, str(MOST_DIGITS)),
    "values": ("[" + "0," * MOST_VALUES + "0]", str(MOST_VALUES)),
    "lists": ("[" + "[]," * (MOST_VALUES // 2) + "[]]", str(MOST_VALUES)),
    "characters": (" " * MOST_CHARACTERS + "0", str(MOST_CHARACTERS)),
    "closing": ("]" * 10**6, "more brackets"),
    "infinite": ("-1e400", "infinite"),
    "NaN": ("[NaN]", "NaN"),
    "Infinity": ("[-Infinity]", "-Infinity"),
    "twice": ('[{"a":{"b":1,"c":2,"b":1}}]', "'b' more than once"),
    "half a pair": ('["\\ud83d"]', "surrogate"),
    "half a pair as a key": ('{"\\uDE00":1}', "surrogate"),
    "half a pair as it is": ('"\udc00"', "UTF-8"),
    "no string end": ('"' + '\\"' * 10**6, "JSON"),
}


@pytest.mark.parametrize("text, said", BEYOND.values(), ids=BEYOND)
def test_beyond_the_limits(text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        parse(text, what="the text")
    assert str(caught.value).startswith(("The text ", "Line 1 of the text "))
    assert said in str(caught.value)
    assert len(str(caught.value)) < 200
    assert caught.value.__context__ is None, "an error of the decoder would quote the text"


def test_bytes_must_be_utf_8() -> None:
    assert parse('"ä😀"'.encode(), what="it") == "ä😀"
    assert parse('"\\ud83d\\ude00"', what="it") == "😀"
    for content in (b'"\xff"', b'"\xed\xa0\x80"'):
        with pytest.raises(DataError, match="UTF-8"):
            parse(content, what="it")


def test_the_line_of_a_fault_is_told() -> None:
    with pytest.raises(DataError, match="Line 3 of the schema cannot be read as JSON") as caught:
        parse('{"a": 1,\n"b": 2,\n}', what="the schema")
    assert caught.value.line == 3


def test_hostile_texts_take_time_in_proportion_to_their_length() -> None:
    for text in ('"' + '\\"' * 500_000, '"\\', '"' * 1_000_001, "[" * 10**6, '{"a":' * 10**6, "]" * 10**6):
        with effort_within(2), pytest.raises(DataError):
            parse(text, what="it")


@pytest.mark.parametrize(
    "read, good, bad",
    [
        (strict_json.truth, [True, False], [None, 0, 1, "no", "true", []]),
        (strict_json.whole, [0, -3, 10**50], [None, True, 1.0, "1", [1]]),
        (
            strict_json.real,
            [0, 1, 0.5, -3, sys.float_info.max, -sys.float_info.max],
            [None, False, "0.5", 10**400, -(10**400), [], float("inf"), float("nan")],
        ),
        (strict_json.text, ["", "a"], [None, 1, True, ["a"]]),
        (strict_json.sequence, [[], [1]], [None, "ab", {"a": 1}, (1, 2), 3]),
    ],
)
def test_types_are_exact(read: Callable[..., Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert read(value, "keep", of="flip") == value
    for value in bad:
        with pytest.raises(DataError, match="The field 'keep' of flip must be"):
            read(value, "keep", of="flip")


def test_fields() -> None:
    def read(value: Any) -> dict[str, Any]:
        return strict_json.fields(value, of="a unit", required=("reports", "max_size"), optional=("longer",))

    assert read({"reports": 1, "max_size": None})["reports"] == 1
    with pytest.raises(DataError, match="must have the field 'max_size'"):
        read({"reports": 1})
    with pytest.raises(DataError, match="'maxsize'") as caught:
        read({"reports": 1, "maxsize": 2})
    assert caught.value.hint == "Did you mean 'max_size'?"
    with pytest.raises(DataError) as caught:
        read({"reports": 1, "max_size": 2, "x" * 10**6: 3})
    assert len(str(caught.value)) < 200
    assert caught.value.hint == "The fields are reports, max_size, longer."
    wrong: list[Any] = [None, [], "reports", 1]
    for value in wrong:
        with pytest.raises(DataError, match="must be an object"):
            read(value)
    with pytest.raises(DataError, match="lists of 2"):
        strict_json.sequence([1, 2, 3], "kept", of="it", length=2)
