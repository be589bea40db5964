"""The one reader of JSON that somebody else may have written: plans, domains, schema files.

The text is measured before anything is made of it, so that time and memory are bounded by its length: how long it is,
how deep it goes, how many values it holds.  No key may be given twice, no number may be infinite or have thousands of
digits, and every string is text.  What the values are is asked field by field, with exact types: ``true`` is no whole
number, 1.0 is none either, and a field that nobody knows is refused, since it may be a misspelled one.  A whole number
may stand where a real one is asked for.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from bosket.checks import shown
from bosket.errors import DataError

MOST_CHARACTERS = 1 << 26
MOST_VALUES = 1 << 22
"""Enough for a domain of a million items with a keep each."""
MOST_DEPTH = 64
MOST_DIGITS = 1000

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, or the rest of the text if it does not end: so every quote is looked at once."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_SUGGESTED = 40


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """A fault that the decoder's hooks find."""


def parse(text: str | bytes, *, what: str, path: Path | None = None) -> Any:
    """The value that a text stands for; ``what`` names the text in messages, as in "the plan"."""
    line = None
    try:
        decoded = _as_text(text)
        _measure(decoded)
        value = _DECODER.decode(decoded)
        if _SURROGATE.search(decoded):
            _check_strings(value)
    except _Refused as problem:
        fault = str(problem)
    except json.JSONDecodeError as problem:
        fault, line = "cannot be read as JSON", problem.lineno
    else:
        return value
    where = what if line is None else f"line {line} of {what}"  # raised here: the decoder's error quotes the text
    raise DataError(f"{where[0].upper()}{where[1:]} {fault}.", path=path, line=line)


def _as_text(text: str | bytes) -> str:
    if not isinstance(text, str | bytes):
        raise _Refused(f"must be text, got a {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise _Refused(f"must be JSON of at most {MOST_CHARACTERS} characters, got {len(text)}")
    decoded: str | None = None
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        decoded.encode()
    except UnicodeError:
        decoded = None
    if decoded is None:
        raise _Refused("must be text in UTF-8")
    return decoded


def _measure(text: str) -> None:
    """Refuse what would take more room or depth than there is, before any of it is made."""
    bare = _STRING.sub("", text)
    opened, closed = bare.count("[") + bare.count("{"), bare.count("]") + bare.count("}")
    if opened + bare.count(",") > MOST_VALUES:
        raise _Refused(f"must be JSON of at most {MOST_VALUES} values")
    if closed > opened:
        raise _Refused("cannot be read as JSON: it closes more brackets than it opens")
    codes = np.frombuffer(bare.encode("ascii", "replace"), np.uint8) & 0xDF  # '[' and '{' differ in one bit
    brackets = codes[(codes == ord("[")) | (codes == ord("]"))]
    depth = np.cumsum(np.where(brackets == ord("["), np.int32(1), np.int32(-1)), dtype=np.int32)
    if depth.max(initial=0) > MOST_DEPTH:
        raise _Refused(f"must be JSON with at most {MOST_DEPTH} brackets within each other")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _Refused(f"must be JSON with numbers of at most {MOST_DIGITS} digits")
    return int(digits)


def _real(digits: str) -> float:
    if len(digits) > MOST_DIGITS:
        raise _Refused(f"must be JSON with numbers of at most {MOST_DIGITS} digits")
    value = float(digits)
    if not math.isfinite(value):
        raise _Refused("must be JSON without infinite numbers")
    return value


def _constant(name: str) -> None:
    raise _Refused(f"must be JSON, which does not know the number {name}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # set.add returns None
        raise _Refused(f"must not give {shown(twice)} more than once")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_real, parse_constant=_constant, strict=True
)


def _check_strings(value: Any) -> None:
    """Refuse half a surrogate pair, wherever it is."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str) and _HALF.search(one):
            raise _Refused("must be JSON without half a surrogate pair, which is not text")


# -- what the values are ------------------------------------------------------------------------------------------


def fields(value: Any, *, of: str, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """An object that has all required fields, perhaps some optional ones, and no other."""
    if not isinstance(value, dict):
        raise DataError(f"The JSON of {of} must be an object, got {shown(value)}.")
    known = [*required, *optional]
    for name in value:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1) if isinstance(name, str) and len(name) < _SUGGESTED else []
            raise DataError(
                f"The JSON of {of} must not have the field {shown(name)}, which is not known here.",
                hint=f"Did you mean {near[0]!r}?" if near else f"The fields are {', '.join(known)}.",
            )
    for name in required:
        if name not in value:
            raise DataError(f"The JSON of {of} must have the field {name!r}.")
    return value


def _wrong(name: str, of: str, must: str, value: Any) -> DataError:
    return DataError(f"The field {name!r} of {of} must be {must}, got {shown(value)}.")


def truth(value: Any, name: str, *, of: str) -> bool:
    """``true`` or ``false``, nothing that merely counts as such."""
    if not isinstance(value, bool):
        raise _wrong(name, of, "true or false", value)
    return value


def text(value: Any, name: str, *, of: str) -> str:
    if not isinstance(value, str):
        raise _wrong(name, of, "text", value)
    return value


def whole(value: Any, name: str, *, of: str) -> int:
    """A whole number, written as one."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, of, "a whole number", value)
    return value


def real(value: Any, name: str, *, of: str) -> float:
    """A number, whole or not, that a double can stand for."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, of, "a number", value)
    if not abs(value) <= sys.float_info.max:
        raise _wrong(name, of, "a number that a double can hold", value)
    return float(value)


def sequence(value: Any, name: str, *, of: str, length: int | None = None) -> list[Any]:
    """A list, of a given length if one is given."""
    if not isinstance(value, list):
        raise _wrong(name, of, "a list", value)
    if length is not None and len(value) != length:
        raise DataError(f"The field {name!r} of {of} must hold lists of {length} values, got one of {len(value)}.")
    return value
