"""Kinds of parameters that may be a mapping: by item, or by the size of a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from bosket import strict_json
from bosket.checks import check_integer, shown
from bosket.data.domain import MOST_ITEMS, label_to_json, labels_from_json
from bosket.errors import DataError, ParameterError
from bosket.mechanisms.laws import check_law
from bosket.mechanisms.parameters import Kind


def _spread(one: Kind, value: Mapping[Any, Any]) -> str:
    """``: 0.5 to 0.9``: the least and the largest number of a mapping; nothing of one without any."""
    numbers = sorted(set(value.values()))
    if not numbers:
        return ""
    least, most = one.short(numbers[0]), one.short(numbers[-1])
    return f": {least}" if len(numbers) == 1 else f": {least} to {most}"


class Mapped(Kind):
    """A kind whose values may be mappings, and may come from a file: ``key`` says by what, ``item`` or ``size``."""

    key: ClassVar[str]

    fits_a_cell: ClassVar[bool] = True
    """Whether one value of the mapping can stand in a cell of CSV."""

    one: Kind
    """What one number for all keys may be."""

    def at(self, key: Any) -> Kind:
        """What the value of one key may be."""
        return self.one

    @property
    def noun(self) -> str:
        return self.one.noun

    def parse(self, text: str) -> Any:
        return self.one.parse(text)


@dataclass(frozen=True, slots=True)
class ByItem(Mapped):
    """One number for all items, or a mapping from item to number; in JSON ``{"items": [[label, number], ...]}``.

    ``otherwise`` names the parameter that stands for items which the mapping leaves out, if there is one.
    """

    key: ClassVar[str] = "item"

    one: Kind
    otherwise: str | None = None

    @property
    def must(self) -> str:
        return f"{self.one.must}, or a mapping from item to such a number"

    def check(self, name: str, value: Any, *, of: str | None = None) -> Any:
        if not isinstance(value, Mapping):
            return self.one.check(name, value, of=of)
        return MappingProxyType(
            {item: self.one.check(name, number, of=f"{of} for {shown(item)}") for item, number in value.items()}
        )

    def to_json(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self.one.to_json(value)
        pairs = [[label_to_json(item), self.one.to_json(number)] for item, number in value.items()]
        return {"items": sorted(pairs, key=lambda pair: json.dumps(pair[0]))}  # whatever the mapping's order

    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        if not isinstance(value, dict):
            return self.one.from_json(value, name, of=of)
        items = strict_json.fields(value, of=f"{name} of {of}", required=("items",))["items"]
        pairs = [
            strict_json.sequence(pair, name, of=of, length=2)
            for pair in strict_json.sequence(items, "items", of=f"{name} of {of}")
        ]
        labels = labels_from_json([label for label, _ in pairs])
        numbers = {
            label: self.one.from_json(number, name, of=of) for label, (_, number) in zip(labels, pairs, strict=True)
        }
        if len(numbers) < len(pairs):
            raise DataError(f"The field {name!r} of {of} must name every item once, got one again.")
        return numbers

    def short(self, value: Any) -> str:
        if not isinstance(value, Mapping):
            return self.one.short(value)
        return f"{{{len(value)} item{'' if len(value) == 1 else 's'}{_spread(self.one, value)}}}"


@dataclass(frozen=True, slots=True)
class BySize(Mapped):
    """One number for all records, or a mapping from record size to number; in JSON ``[[size, number], ...]``."""

    key: ClassVar[str] = "size"

    one: Kind

    @property
    def must(self) -> str:
        return f"{self.one.must}, or a mapping from record size to such a number"

    def check(self, name: str, value: Any, *, of: str | None = None) -> Any:
        if not isinstance(value, Mapping):
            return self.one.check(name, value, of=of)
        if not value:
            raise ParameterError(
                f"The '{name}' parameter of {of} must name at least one record size, got none.",
                parameter=name,
                value=value,
            )
        sizes = {
            check_integer(f"{name} size", size, least=0, most=MOST_ITEMS, of=of): one for size, one in value.items()
        }
        return self._by_size(name, sizes, of=of)

    def _by_size(self, name: str, sizes: Mapping[int, Any], *, of: str | None) -> Mapping[int, Any]:
        return MappingProxyType(
            {size: self.at(size).check(f"{name}[{size}]", sizes[size], of=of) for size in sorted(sizes)}
        )

    def to_json(self, value: Any) -> Any:
        """A mapping as pairs, since JSON has no whole numbers as keys."""
        if not isinstance(value, Mapping):
            return self.one.to_json(value)
        return [[size, self.at(size).to_json(value[size])] for size in sorted(value)]

    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        return (
            self._from_pairs(value, name, of=of) if isinstance(value, list) else self.one.from_json(value, name, of=of)
        )

    def _from_pairs(self, value: Any, name: str, *, of: str) -> dict[int, Any]:
        result: dict[int, Any] = {}
        for pair in strict_json.sequence(value, name, of=of):
            size, one = strict_json.sequence(pair, name, of=of, length=2)
            if not 0 <= strict_json.whole(size, name, of=of) <= MOST_ITEMS:  # larger ones could collide by the thousand
                raise DataError(f"The field {name!r} of {of} must name record sizes from 0 to {MOST_ITEMS}.")
            if size in result:
                raise DataError(f"The field {name!r} of {of} must name every record size once, got one again.")
            result[size] = self.at(size).from_json(one, name, of=of)
        return result

    def short(self, value: Any) -> str:
        return f"{{{_sizes(value)}{_spread(self.one, value)}}}" if isinstance(value, Mapping) else self.one.short(value)


def _sizes(value: Mapping[int, Any]) -> str:
    sizes = sorted(value)
    return f"size {sizes[0]}" if len(sizes) == 1 else f"sizes {sizes[0]} to {sizes[-1]}"


@dataclass(frozen=True, slots=True)
class Law(Kind):
    """The probabilities of keeping 0 to ``size`` items of a record."""

    size: int

    @property
    def must(self) -> str:
        return f"{self.size + 1} probabilities that sum to 1"

    def check(self, name: str, value: Any, *, of: str | None = None) -> tuple[float, ...]:
        return check_law(name, self.size, value, of=of)

    def to_json(self, value: Any) -> list[float]:
        return list(value)

    def from_json(self, value: Any, name: str, *, of: str) -> list[float]:
        return [strict_json.real(one, name, of=of) for one in strict_json.sequence(value, name, of=of)]


@dataclass(frozen=True, slots=True)
class LawBySize(BySize):
    """A mapping from record size m to the m + 1 probabilities of keeping 0 .. m items.

    largest   the largest m
    most      how many probabilities there may be in all
    """

    fits_a_cell: ClassVar[bool] = False

    one: Kind = Law(0)
    largest: int = 10_000
    most: int = 1 << 19

    def at(self, key: int) -> Law:
        return Law(key)

    @property
    def must(self) -> str:
        return (
            f"a mapping from record size m, at most {self.largest}, to m + 1 probabilities that sum to 1, at most "
            f"{self.most} in all"
        )

    def check(self, name: str, value: Any, *, of: str | None = None) -> Any:
        if not isinstance(value, Mapping) or not value:
            raise ParameterError(
                f"The '{name}' parameter of {of} must be a mapping from record size to probabilities.",
                parameter=name,
                value=value,
            )
        sizes = {
            check_integer(f"{name} size", size, least=0, most=self.largest, of=of): row for size, row in value.items()
        }
        if sum(sizes) + len(sizes) > self.most:
            raise ParameterError(
                f"The '{name}' parameter of {of} must have at most {self.most} probabilities in all, got "
                f"{sum(sizes) + len(sizes)}.",
                parameter=name,
                value=len(sizes),
                hint="Declare fewer record sizes, or use CutAndPaste, which needs two numbers for each.",
            )
        return self._by_size(name, sizes, of=of)

    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        return self._from_pairs(value, name, of=of)

    @property
    def noun(self) -> str:
        return "file, written @FILE"

    def parse(self, text: str) -> Any:
        raise ValueError(text)

    def shown(self, name: str, value: Any) -> str:
        sizes = sorted(value)
        return f"sizes {sizes[0]} to {sizes[-1]}"
