"""Attributes with their values, and the domain they make together.

Agrawal, Haritsa and Prakash (2008), section 3, "Data model": a record has M categorical attributes, the domain of
attribute j is a finite set, and that of a record is the product of them.  Its elements are called cells here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from bosket import strict_json
from bosket.checks import shown
from bosket.data.baskets.rows import Offsets, frozen, is_missing, plain
from bosket.data.domain import Domain, ItemIds, label_to_json, labels_from_json
from bosket.errors import DataError, ParameterError

if TYPE_CHECKING:
    from typing import Self

Codes = npt.NDArray[np.unsignedinteger[Any]]
"""A row per record and a column per attribute: the place of the value among those of the attribute."""

MOST_CELLS = 2**62
_COUNTED = 1000  # attributes whose cells are counted: each has two values at least, so that more are too many anyway


@dataclass(frozen=True, init=False)
class Attribute:
    """A name and the values there can be, in order; ``Attribute("sex", ["Female", "Male"])``.

    There are at least two values: an attribute that is always the same says nothing and can be left out.  No two of
    them are equal or written alike, since an item is called ``name=value``.
    """

    name: str
    values: tuple[Hashable, ...]

    def __init__(self, name: str, values: Iterable[Hashable]) -> None:
        if not isinstance(name, str) or not name:
            raise refused("name", "The name of an attribute must be text, and not empty", name)
        if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
            raise refused("values", f"The values of attribute {shown(name)} must be a list, in order", values)
        known = tuple(map(plain, values))
        fault = _fault(known)
        if fault is not None:
            raise refused("values", f"The values of attribute {shown(name)} must {fault[0]}", fault[1])
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", known)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """What its items are called."""
        return tuple(f"{self.name}={value}" for value in self.values)


def _fault(values: tuple[Hashable, ...]) -> tuple[str, Any] | None:
    """What the values must be and which one is not, if any."""
    seen: set[Hashable] = set()
    for value in values:
        try:
            if is_missing(value):
                return "not be missing ones", value
            if value in seen or str(value) in seen:
                return "all differ, and be written differently", value
        except (TypeError, ValueError):  # lists; arrays, which cannot even be compared
            return "be hashable", value
        seen |= {value, str(value)}
    return ("be at least two, or the attribute be left out", values) if len(values) < 2 else None


def refused(parameter: str, must: str, value: Any) -> ParameterError:
    """``<must>, got <value>.``, or its type where it is long."""
    return ParameterError(f"{must}, got {shown(value)}.", parameter=parameter, value=value)


class TableDomain(Domain):
    """Some attributes, in order; the items are all their values, ``name=value``, one attribute after the other.

    >>> domain = TableDomain([Attribute("sex", ["Female", "Male"]), Attribute("age", ["child", "adult", "senior"])])
    >>> domain.labels
    ('sex=Female', 'sex=Male', 'age=child', 'age=adult', 'age=senior')
    >>> domain.groups.tolist(), domain.offsets.tolist(), domain.n_cells
    ([0, 0, 1, 1, 1], [0, 2, 5], 6)
    """

    kind: ClassVar[str] = "table"
    attributes: tuple[Attribute, ...]
    offsets: Offsets
    """The first item of each attribute, and the number of items at the end."""
    sizes: npt.NDArray[np.int64]
    """How many values each attribute has."""

    def __init__(self, attributes: Iterable[Attribute], *, is_declared: bool = True) -> None:
        """``is_declared=False``: the values of an attribute were read off data, and tell which ones occur."""
        given = tuple(attributes)
        for attribute in given:
            if not isinstance(attribute, Attribute):
                raise refused("attributes", "The attributes of a table must be of type Attribute", attribute)
        if not given:
            raise refused("attributes", "A table must have at least one attribute", given)
        labels = [label for attribute in given for label in attribute.labels]
        for what in ([attribute.name for attribute in given], labels):
            if len(set(what)) < len(what):
                raise refused(
                    "attributes", "The attributes and items of a table must have different names", f"{len(what)} names"
                )
        super().__init__(labels, is_declared=is_declared)
        self.attributes = given
        self.sizes = frozen(np.array([len(attribute) for attribute in given], np.int64))
        self.offsets = frozen(np.append(np.int64(0), np.cumsum(self.sizes)))
        self._groups = frozen(np.repeat(np.arange(len(given), dtype=np.int32), self.sizes))

    @property
    def groups(self) -> ItemIds:
        """From item id to the number of its attribute."""
        return self._groups

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    @property
    def n_attributes(self) -> int:
        return len(self.attributes)

    @property
    def n_cells(self) -> int:
        """How many different records there can be; refused beyond 2**62, where cells could not be numbered."""
        cells: int = math.prod(self.sizes[:_COUNTED].tolist())
        if cells > MOST_CELLS:
            about = f"about {float(cells):.1e}" if cells < 10**300 else "over 1e300"
            if len(self.sizes) > _COUNTED:
                about = "far more"
            raise ParameterError(
                f"A table whose cells are to be numbered must have at most 2**62 of them, got {about}.",
                parameter="attributes",
                value=cells,
                hint="Choose fewer attributes, or group their values.",
            )
        return cells

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest type that holds every code."""
        return np.min_scalar_type(int(self.sizes.max()) - 1)

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name."""
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """The number of the attribute of that name, from 0."""
        at = self._places.get(name) if isinstance(name, str) else None
        if at is None:
            raise refused("name", "The name must be that of an attribute of the table", name)
        return at

    def _how_items_are_written(self) -> str | None:
        return f"An item of a table is a text, attribute=value, as in {self.labels[0]!r}."

    def select(self, names: Iterable[str]) -> TableDomain:
        """Some of the attributes, in the order given."""
        if isinstance(names, str):
            raise refused("names", "The names of attributes must be a list", names)
        return TableDomain([self.attribute(name) for name in names], is_declared=self.is_declared)

    def __eq__(self, other: object) -> bool:
        # The values 1 and 1.0 are equal, but they are written differently.
        return isinstance(other, TableDomain) and self.attributes == other.attributes and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((self.kind, self.labels))

    def __repr__(self) -> str:
        return f"TableDomain({self.n_attributes} attributes, {self.n_items} items)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew, since a copied array would be writable again."""
        return _made, (self.attributes, self.is_declared)

    def to_json(self) -> dict[str, Any]:
        """The domain as plain JSON values; the values of attributes keep their types."""
        attributes = [
            {"name": label_to_json(attribute.name), "values": [label_to_json(value) for value in attribute.values]}
            for attribute in self.attributes
        ]
        return {"kind": self.kind, "attributes": attributes, "declared": self.is_declared}

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> Self:
        known = strict_json.fields(value, of="a domain", required=("kind", "attributes", "declared"))
        is_declared = strict_json.truth(known["declared"], "declared", of="a domain")
        attributes = strict_json.sequence(known["attributes"], "attributes", of="a domain")
        try:
            return cls(map(_attribute_from_json, attributes), is_declared=is_declared)
        except ParameterError as error:
            raise DataError(str(error)) from None


def _attribute_from_json(value: Any) -> Attribute:
    known = strict_json.fields(value, of="an attribute", required=("name", "values"))
    name = strict_json.text(known["name"], "name", of="an attribute")
    return Attribute(name, labels_from_json(strict_json.sequence(known["values"], "values", of="an attribute")))


def _made(attributes: tuple[Attribute, ...], is_declared: bool) -> TableDomain:
    return TableDomain(attributes, is_declared=is_declared)
