"""What a value in memory stands for, where the items are declared.

A value stands for the declared item that it *equals*, as a number or as text, or whose writing it is: 3, 3.0 and "3"
for 3 and for "3", True and "True" for "True", "01" for "01" alone.  That depends on the value and the declaration and
on nothing else.  Which of these comes is often decided by other records: a reader of text takes labels for numbers if
all of them are, a frame makes 1.0 of 1 where a value is missing, and Python keeps of 1, 1.0 and True the one that it
saw first.  So no two declared items may be such that one value stands for both.

Times are never equal to numbers, though NumPy says that a second is 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from bosket.data.baskets.rows import is_missing, plain
from bosket.data.domain import DEEPEST, Domain
from bosket.data.formats.vocabulary import written
from bosket.errors import ParameterError

_PLAIN = frozenset({str, int, float, bool})
_OTHER = object()
"""Marks the key of what is neither text nor a number; no label of anybody's equals it."""
_DIGITS = 15
"""Decimal digits that a double holds, whichever they are."""
_MOST_PARTS = 1 << 12
"""Parts of a tuple, and of those within it, that is looked up; what has more stands for nothing."""
_TRUTHS = {"True": True, "False": False}


@dataclass(frozen=True, slots=True)
class Ways:
    """A value that several labels may stand for, or none; the first that is declared is meant."""

    value: Hashable
    labels: tuple[Hashable, ...]


@dataclass(frozen=True)
class Lookup:
    """From values to the ids of declared items."""

    domain: Domain
    places: dict[Hashable, int]

    @classmethod
    def of(cls, domain: Domain, *, parameter: str = "items") -> Lookup:
        """Refused where one value would stand for two items, or an item looks like a missing value."""
        if any(map(is_missing, domain.labels)):
            must = f"The '{parameter}' parameter must not name None or NaN, which stand for what is missing."
            raise ParameterError(must, parameter=parameter, value=None)
        return cls(domain, places_of(zip(domain.labels, range(len(domain)), strict=True), "items", parameter=parameter))

    @classmethod
    def where_clear(cls, domain: Domain) -> Lookup:
        """Of any domain: a value that could stand for two items, and equals neither, stands for none."""
        exact = {_key(label): at for at, label in enumerate(domain.labels)}
        others: dict[Hashable, int] = {}
        for at, label in enumerate(domain.labels):
            for key in _other_ways(label):
                others[key] = at if others.get(key, at) == at else -1
        return cls(domain, {**others, **exact})

    @cached_property
    def longest(self) -> int:
        """The most bytes of a text that stands for an item."""
        return max((len(key.encode("utf-8", "surrogatepass")) for key in self.places if type(key) is str), default=0)

    def item(self, value: object) -> int:
        """The id of the item, -1 for a value that stands for none, whatever it is and whatever it raises."""
        try:
            found = place_of(value, self.places)
        except Exception:  # noqa: BLE001  # a hash or a comparison of somebody else's object
            return -1
        return -1 if found is None else found

    def items(self, values: list[Any]) -> list[int]:
        """The id of the item of each value, -1 for one that stands for none."""
        if _PLAIN.issuperset(map(type, values)):
            places = self.places
            return [places.get(value, -1) for value in values]
        return list(map(self.item, values))


def places_of(labels: Iterable[tuple[Hashable, int]], what: str, *, parameter: str) -> dict[Hashable, int]:
    """From all that stands for a label to its number; refused where one value would stand for two numbers."""
    places: dict[Hashable, int] = {}
    for label, at in labels:
        for key in {_key(label), *_other_ways(label)}:
            if places.setdefault(key, at) != at:
                raise ParameterError(
                    f"The '{parameter}' parameter must not name two {what} that are written alike, such as 1 and '1', "
                    "or that are equal once they are read, such as 1 and 'True'.",
                    parameter=parameter,
                    value=label,
                    hint="Whether a column holds numbers or text is decided by all its records together.",
                )
    return places


def place_of(value: object, places: dict[Hashable, int]) -> int | None:
    """The number of the label that a value stands for, None where it stands for none."""
    if type(value) is Ways:
        return next((places[key] for key in map(_key, value.labels) if key in places), None)
    found = places.get(_key(value))
    if found is None and isinstance(value, np.float16 | np.float32):
        found = places.get(float(str(value)))  # with the fewest digits, as in files
    return found


def record_key(name: object) -> Hashable | None:
    """What a name of a record is compared by: text and numbers by themselves, anything else by what it is shown as.

    None for what shows nothing.  Objects are not compared: one could claim to be equal to the name of another record,
    or make an error where that is looked for.
    """
    try:
        name = name.value if type(name) is Ways else name
        key = _key(name)
        if type(key) is str or key is _OTHER:
            return None if key is _OTHER else key  # of too many parts to be shown
        return _digits_of(key) if type(key) in _PLAIN else (_OTHER, str.__str__(str(name)))  # type: ignore[arg-type]  # a number
    except Exception:  # noqa: BLE001  # of somebody else's object
        return None


def _digits_of(number: float) -> bytes:
    """A number as bytes, the same for equal ones: their hash has a secret, and numbers may be chosen to crowd."""
    is_whole = not isinstance(number, float) or number.is_integer()
    return (hex(int(number)) if is_whole else number.hex()).encode()


def may_change_in_frames(label: Hashable) -> bool:
    """Whether a label may become another in a frame, for what its other cells are.

    Text that reads as a number, or as a truth value, and is not written as that is: ``007`` is 7 in a column of numbers
    and itself in a column of text.  And numbers of more than fifteen digits, which a missing value rounds.
    """
    text = written(label)
    if text is None:
        return False
    if text.lower() in ("true", "false"):
        return text not in _TRUTHS
    if not text.isascii() or "_" in text:
        return False
    try:
        value = float(text)
    except ValueError:
        return False
    ways = {written(value), _whole(text)}
    return text not in ways or sum(map(str.isdigit, text)) > _DIGITS


def _whole(text: str) -> str | None:
    try:
        return written(int(text))
    except ValueError:
        return None


def _key(label: object) -> Hashable:
    """Values of one key are one item: numbers of one value, as 1, 1.0 and True are, and others that are equal.

    No code of the value's own class is run for text, whole numbers and floating-point ones.
    """
    kind = type(label)
    if kind in _PLAIN:
        return label
    if issubclass(kind, np.generic):
        label = plain(label)
        kind = type(label)
    if issubclass(kind, complex | np.complexfloating) and label.imag == 0:  # type: ignore[attr-defined]  # as just seen
        label = label.real  # type: ignore[attr-defined]  # as above
        kind = type(label)
    if issubclass(kind, np.floating):  # of more digits than a double has
        return _as_pythons(label)
    if issubclass(kind, str):
        return str.__str__(label)
    if issubclass(kind, int):
        return int.__int__(label)  # type: ignore[arg-type]  # mypy does not see that label has this type
    if issubclass(kind, float):
        return float.__float__(label)  # type: ignore[arg-type]  # as above
    if issubclass(kind, Number) and not issubclass(kind, np.generic):
        return label
    if _is_nested(label) and not _is_small(label):
        return _OTHER
    return _OTHER, label


def _as_pythons(value: Any) -> Hashable:
    """A number of NumPy's as Python's, where there is one that equals it."""
    if float(value) == value:
        return float(value)
    return int(value) if np.isfinite(value) and int(value) == value else (_OTHER, value)


def _is_small(label: Any) -> bool:
    """Whether tuples are not too deep within each other, nor too many, to be hashed.

    One that is in several places is hashed in each of them, and so counts for each.
    """
    level, n_parts = [label], 0
    for _ in range(DEEPEST):
        level = list(filter(_is_nested, level))
        n_parts += sum(map(len, level))
        if n_parts > _MOST_PARTS:
            return False
        level = [part for parts in level for part in parts]
    return not any(map(_is_nested, level))


def _is_nested(label: object) -> bool:
    return issubclass(type(label), tuple | frozenset)


def _other_ways(label: Hashable) -> Iterable[Hashable]:
    """A number as it is written, and a text that is the writing of a number or a truth value as that."""
    text = written(label)
    if text is None:
        return
    if not isinstance(label, str):
        yield text
        return
    if text in _TRUTHS:
        yield _TRUTHS[text]
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:  # also of thousands of digits
            continue
        if written(value) == text:
            yield value
