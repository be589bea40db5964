"""A declared domain as readers need it: items by how they are written.

Where the items are declared, reading follows the declaration and never the data: what a cell stands for depends on how
that cell is written and on nothing else in the file.  A label is written as text: a whole number by its digits, any
other number as Python would, ``True`` and ``False``.  A cell of text stands for the label that is written so: "01" is
not 1.  A number in a column of numbers stands for the label that is written as that number is: 3 and 3.0 are "3".
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from bosket.data.baskets.rows import Offsets, plain
from bosket.data.domain import Domain, ItemIds, is_text
from bosket.data.formats.fimi_kernels import Text
from bosket.data.formats.line_kernels import index
from bosket.errors import DataError

Unknown: TypeAlias = Literal["refuse", "drop"]
"""What becomes of cells that are no declared item."""

UNKNOWNS: tuple[Unknown, ...] = ("refuse", "drop")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)
_HINT = "Items in a file are strings, numbers or booleans, each written in its own way."


def written(label: Hashable) -> str | None:
    """How a label is written, or None for one that has no place in a file."""
    label = plain(label)
    if isinstance(label, str):
        return label if is_text(label) else None
    if isinstance(label, float):
        if not math.isfinite(label):
            return None
        return str(int(label)) if label.is_integer() and abs(label) < 2**63 else repr(label)
    try:
        return str(label) if isinstance(label, int) else None
    except ValueError:  # thousands of digits
        return None


class Index(NamedTuple):
    """Words for the kernels: their letters, where each ends, and a hash table with its secret."""

    letters: Text
    offsets: Offsets
    table: ItemIds
    seed: int

    @classmethod
    def of(cls, words: Iterable[bytes]) -> Index:
        known = list(words)
        letters = np.frombuffer(b"".join(known) + b"\0", np.uint8)
        offsets = np.append(np.int64(0), np.cumsum([len(word) for word in known], dtype=np.int64))
        table = np.full(max(2, 1 << (2 * len(known)).bit_length()), -1, np.int32)
        seed = hash("words of a vocabulary") >> 2  # Python's own secret
        if not index(letters, offsets, table, seed):
            raise DataError("The declared items must not be such as are looked up slowly: too many share a hash value.")
        return cls(letters, offsets, table, seed)


@dataclass(frozen=True)
class Vocabulary:
    """The items that there can be, by how they are written; no two of them may be written alike."""

    domain: Domain
    unknown: Unknown = "refuse"

    def __post_init__(self) -> None:
        if None in self.texts:
            raise DataError("The declared items must be text, finite numbers or booleans.", hint=_HINT)
        if len(set(self.texts)) < len(self.texts):
            raise DataError("The declared items must be written differently, and two are not.", hint=_HINT)

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        return tuple(map(written, self.domain.labels))

    @cached_property
    def places(self) -> dict[str, int]:
        """From how an item is written to its id."""
        return {text: item for item, text in enumerate(self.texts) if text is not None}

    def among(self, names: Iterable[str]) -> list[bool]:
        """Whether each name of a column is how an item is written."""
        return [name in self.places for name in names]

    @property
    def is_strict(self) -> bool:
        return self.unknown == "refuse"

    def index(self, *, no: str, of: str) -> Index:
        """For files of text; an item with one of the signs ``no`` cannot be written there."""
        if any(sign in text for text in self.places for sign in no):
            fault = f"The declared items must be such as {of} can hold: none with a line end"
            raise DataError(
                f"{fault}{', a blank or no letters' if ' ' in no else ''}.", hint="A Parquet file holds any text."
            )
        if " " in no and "" in self.places:
            raise DataError(f"The declared items must be such as {of} can hold: none without letters.")
        return Index.of(text.encode() for text in self.places)

    def values(self, kind: Any) -> tuple[Any, ItemIds] | None:
        """The items that a column of this Arrow type can hold, as an array of it, and their ids; None if it cannot."""
        types = pa.types
        found: dict[Any, int]
        if types.is_null(kind):
            return pa.array([], kind), np.empty(0, np.int32)
        if types.is_binary(kind) or types.is_large_binary(kind):  # text, as readers ask for it
            found = {text.encode(): item for text, item in self.places.items()}
        elif types.is_boolean(kind):
            found = {value: self.places[str(value)] for value in (False, True) if str(value) in self.places}
        elif types.is_integer(kind):
            span = np.iinfo(kind.to_pandas_dtype())
            whole = {int(text): item for text, item in self.places.items() if _WHOLE.fullmatch(text)}
            found = {value: item for value, item in whole.items() if span.min <= value <= span.max}
        elif types.is_floating(kind):
            return _floats(self.places, kind)
        else:
            return None
        return pa.array(found, kind), np.fromiter(found.values(), np.int32, len(found))


def _floats(places: dict[str, int], kind: Any) -> tuple[Any, ItemIds]:
    """The numbers of this width that are written as an item is."""
    width = kind.to_pandas_dtype()
    found: dict[Any, int] = {}
    for text, item in places.items():
        try:
            with np.errstate(over="ignore"):
                value = width(text)
        except ValueError:
            continue
        if _written_float(value) == text:
            found[value] = item
    return pa.array(np.fromiter(found, width, len(found)), kind), np.fromiter(found.values(), np.int32, len(found))


def _written_float(value: Any) -> str | None:
    """A number of any width, with the fewest digits that tell it from the others of its width."""
    if not np.isfinite(value):
        return None
    if float(value).is_integer() and abs(float(value)) < 2**63:
        return str(int(value))
    return str(value)
