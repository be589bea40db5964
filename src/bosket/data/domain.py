"""The domain: which items there are, in which order.

Inside bosket an item is a small integer and an itemset a sorted tuple of them; labels appear only at the edges.
A domain is that translation.  In a study it is declared before anything is collected: a domain read off the data
would itself tell which items occur.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from bosket import strict_json
from bosket.checks import shown
from bosket.errors import DataError

if TYPE_CHECKING:
    from typing import Self

ItemIds = npt.NDArray[np.int32]
"""Item ids; one row per itemset, increasing within a row, where two-dimensional."""

MOST_ITEMS = 2**31 - 1
"""Most items of a domain, or of a record: ids and record sizes have 32 bits."""

DEEPEST = 16
"""Most tuples within each other in a label that is to be written down."""

_SAME_HASH = 64
"""Most labels of one hash value: whole numbers can be chosen so that looking them up never ends."""


class Domain:
    """An ordered, immutable set of item labels (any hashable)."""

    labels: tuple[Hashable, ...]
    is_declared: bool
    of_categories: bool = False
    """Whether the labels are the categories of a column: somebody's list, or made of the data; nobody can tell."""
    kind: ClassVar[str] = "items"
    kinds: ClassVar[dict[str, type[Domain]]] = {}
    """The kinds of domain that ``from_json`` can read."""

    def __init_subclass__(cls) -> None:
        Domain.kinds[cls.kind] = cls

    def __init__(self, labels: Iterable[Hashable], *, is_declared: bool = True, of_categories: bool = False) -> None:
        """``is_declared=False`` marks labels read off data: they tell which items occur, and guarantees say so.

        Labels ``of_categories`` may have been, and so are not declared either; a file says no more of them than that.
        """
        if isinstance(labels, str):
            raise DataError("A domain must be a list of labels, got a string, each letter of which would be an item.")
        self.labels = tuple(labels)
        self.is_declared = is_declared and not of_categories
        self.of_categories = of_categories
        if len(self.index) != len(self.labels):
            seen: set[Hashable] = set()
            twice = next(label for label in self.labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]  # set.add returns None
            raise DataError(f"A domain must not name an item twice, got {shown(twice)} more than once.")

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """From label to item id."""
        return {label: item for item, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.labels)

    @property
    def n_items(self) -> int:
        return len(self.labels)

    @property
    def groups(self) -> ItemIds | None:
        """The attribute each item is a value of, where items are such: a record then holds one item of each group."""
        return None

    def __contains__(self, label: object) -> bool:
        return label in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        return f"Domain({self.n_items} items)"

    def itemset(self, labels: Iterable[Hashable]) -> tuple[int, ...]:
        """The sorted ids of some labels."""
        try:
            return tuple(sorted({self.index[label] for label in labels}))
        except KeyError as unknown:
            raise DataError(
                f"The domain has no item {unknown.args[0]!r}.", hint=self._how_items_are_written()
            ) from None

    def _how_items_are_written(self) -> str | None:
        """For who names one that is not there; nothing where the names are the user's own."""
        return None

    def name(self, itemset: Sequence[int]) -> frozenset[Hashable]:
        """The labels of some ids."""
        return frozenset(self.labels[item] for item in itemset)

    def to_json(self) -> dict[str, Any]:
        """The domain as plain JSON values; labels keep their types."""
        return {
            "kind": "items",
            "items": [label_to_json(label) for label in self.labels],
            "declared": self.is_declared,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The domain written by ``to_json``, of whatever kind it is."""
        kind = value.get("kind") if isinstance(value, dict) else None
        known = Domain.kinds.get(kind) if isinstance(kind, str) else None
        if known is None or not issubclass(known, cls):
            kinds = " or ".join(repr(kind) for kind, one in Domain.kinds.items() if issubclass(one, cls))
            raise DataError(f"The domain of a plan must be an object of kind {kinds}, got {shown(kind)}.")
        return known._from_json(value)

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> Self:
        known = strict_json.fields(value, of="a domain", required=("kind", "items", "declared"))
        items = strict_json.sequence(known["items"], "items", of="a domain")
        is_declared = strict_json.truth(known["declared"], "declared", of="a domain")
        return cls(labels_from_json(items), is_declared=is_declared)


Domain.kinds[Domain.kind] = Domain


def as_objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """An array of these very objects: NumPy would otherwise spread tuples and sets over dimensions."""
    result = np.empty(len(values), object)
    result[:] = values
    return result


def label_to_json(label: Hashable, *, depth: int = 0) -> Any:
    """Strings, whole numbers and booleans stand for themselves; a tuple becomes ``{"tuple": [...]}``."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str) and not is_text(label):
        raise DataError("A label with half a surrogate pair is not text and cannot be written down.")
    if isinstance(label, int) and label.bit_length() > strict_json.MOST_DIGITS * 3:
        raise DataError(f"A label of more than {3 * strict_json.MOST_DIGITS} binary digits cannot be written down.")
    if isinstance(label, str | bool | int):
        return label
    if isinstance(label, float) and np.isfinite(label):
        return label
    if isinstance(label, tuple) and depth < DEEPEST:
        return {"tuple": [label_to_json(part, depth=depth + 1) for part in label]}
    raise DataError(
        f"A label of type {type(label).__name__} cannot be written down{' so deep' if depth else ''}.",
        hint=f"Use strings, numbers, booleans, or tuples of these, at most {DEEPEST} deep, as item labels.",
    )


def is_text(label: str) -> bool:
    """Whether a string can be written down: half a surrogate pair cannot."""
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


def label_from_json(value: Any, *, depth: int = 0) -> Hashable:
    """The label that ``label_to_json`` wrote down."""
    if isinstance(value, str | bool | int) or (isinstance(value, float) and np.isfinite(value)):
        return value
    if not isinstance(value, dict) or depth >= DEEPEST:
        raise DataError(f"A label must be text, a number, true, false or a tuple of these, got {shown(value)}.")
    parts = strict_json.fields(value, of="a label", required=("tuple",))["tuple"]
    return tuple(label_from_json(part, depth=depth + 1) for part in strict_json.sequence(parts, "tuple", of="a label"))


def labels_from_json(values: list[Any]) -> tuple[Hashable, ...]:
    """Labels that somebody else chose, refused where they were chosen to be looked up slowly."""
    labels = tuple(map(label_from_json, values))
    check_hashes(labels)
    return labels


def check_hashes(labels: Sequence[Hashable]) -> None:
    """Refuse labels, none of them given twice, that were chosen to be looked up slowly: in a time like their square."""
    hashes = np.sort(np.fromiter(map(hash, labels), np.int64, len(labels)))
    if (hashes[_SAME_HASH:] == hashes[:-_SAME_HASH]).any():
        raise _crowded()


def check_crowds(labels: Iterable[Hashable]) -> None:
    """The same for labels that may be given several times, each of which counts once."""
    crowds: dict[int, list[Hashable]] = {}
    for label in labels:
        crowd = crowds.setdefault(hash(label), [])
        if label not in crowd:
            crowd.append(label)
        if len(crowd) > _SAME_HASH:
            raise _crowded()


def _crowded() -> DataError:
    return DataError(f"More than {_SAME_HASH} labels have the same hash value, so they cannot be told apart quickly.")
