"""How the cells of a column become values of an attribute: by bins, by a declared domain, by groups, or as they are."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from bosket.data.baskets.rows import domain_of, plain
from bosket.data.formats.vocabulary import written
from bosket.data.tables.domain import Attribute, refused

Groups: TypeAlias = Mapping[Hashable, Iterable[Hashable] | Literal["*"]]
"""From value to the cells that stand for it; ``"*"`` for all that no other value has."""

DeclaredValues: TypeAlias = Iterable[Hashable] | Groups

MISSING = -1
BAD = -2
_NUMBER = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class Coding:
    """The values of an attribute, and which of them a cell stands for."""

    values: tuple[Hashable, ...]
    code: Callable[[Hashable], int]
    """The place of the value among them, ``MISSING``, or ``BAD``."""
    must: str = "hold a value"
    hint: str | None = None
    is_declared: bool = True
    ends: tuple[float, ...] | None = None
    """The lower ends of bins, for which whole columns of numbers take a shorter way."""
    cells: tuple[tuple[Hashable, int], ...] = ()
    """The cells that were declared, each with the place of its value; none for bins."""
    rest: int = BAD
    """What all other cells stand for."""


def looks_missing(cell: Hashable) -> bool:
    """Blank text or a question mark; None and NaN never get here."""
    return isinstance(cell, str) and cell.strip() in ("", "?")


def binned(name: str, ends: Iterable[float]) -> Coding:
    """Bins by their lower ends, increasing, the last one open above.

    >>> binned("age", [15, 35, 55]).values
    ('[15,35)', '[35,55)', '[55,inf)')
    """
    of = f"The bins of {name!r} must be a list of finite numbers, increasing: the lower end of each bin"
    if isinstance(ends, str | bytes | set | frozenset | Mapping) or not isinstance(ends, Iterable):
        raise refused("bins", of, ends)
    given = [plain(end) if isinstance(end, Hashable) else end for end in ends]
    lows = [None if isinstance(end, str) else number(end) for end in given]
    known = [low for low in lows if low is not None]
    if not known or len(known) < len(lows) or any(low >= high for low, high in pairwise(known)):
        raise refused("bins", of, given)
    written = [*map(_written, known), "inf"]
    values = tuple(f"[{low},{high})" for low, high in pairwise(written))

    def code(cell: Hashable) -> int:
        value = number(cell)
        if value is None:
            return MISSING if looks_missing(cell) else BAD
        return bisect_right(known, value) - 1 if value >= known[0] else BAD

    return Coding(values, code, f"hold finite numbers, at least {written[0]}", ends=tuple(known))


def number(cell: object) -> float | None:
    """The finite number that a cell is or spells, if any."""
    if isinstance(cell, str):
        if _NUMBER.fullmatch(cell.strip()) is None:
            return None
    elif isinstance(cell, bool) or not isinstance(cell, Real | Decimal):
        return None
    try:
        value = float(cell)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _written(end: float) -> str:
    return str(int(end)) if end.is_integer() and abs(end) < 1e16 else repr(end)


def declared(name: str, values: DeclaredValues, *, is_declared: bool = True) -> Coding:
    """The values there can be, in order; or a mapping from each value to the cells that stand for it.

    A cell stands for the value that equals it, or else for the one written alike: the cells of a CSV file are text.
    The number 1.0 is written "1", whatever the other cells are.
    """
    if isinstance(values, Mapping):
        names, cells, rest = _groups(name, values)
    else:
        names = _listed(name, "values", values)
        cells, rest = [(value, at) for at, value in enumerate(names)], BAD
    equal: dict[Hashable, int] = {}
    alike: dict[str, int] = {}
    for cell, at in cells:
        if cell in equal or str(cell) in alike:
            must = f"The values of {name!r} must all differ, and be written differently"
            raise refused("values", must, cell)
        equal[cell] = alike[str(cell)] = at

    def code(cell: Hashable) -> int:
        if isinstance(cell, np.float16 | np.float32):  # 0.1 of few bits is written 0.1
            cell = float(str(cell))
        at = equal.get(cell, alike.get(written(cell) or "" if isinstance(cell, float) else str(cell)))
        if at is not None:
            return at
        return MISSING if looks_missing(cell) else rest

    must = f"hold one of its {len(names)} declared values"
    hint = "Declare the value too, or make a group of all others: values={'name': {..., 'Other': '*'}}."
    return Coding(names, code, must, hint, is_declared, cells=tuple(cells), rest=rest)


def _groups(name: str, values: Groups) -> tuple[tuple[Hashable, ...], list[tuple[Hashable, int]], int]:
    """The values, the cells that stand for each, and which one stands for all others."""
    cells: list[tuple[Hashable, int]] = []
    rest = BAD
    for at, members in enumerate(values.values()):
        if not isinstance(members, str):
            listed = sorted(members, key=repr) if isinstance(members, set | frozenset) else members
            cells += [(cell, at) for cell in _listed(name, "group", listed)]
        elif members == "*" and rest == BAD:
            rest = at
        else:
            raise refused("values", f"A group of {name!r} must be a list of cells, or for one group '*'", members)
    return tuple(map(plain, values)), cells, rest


def _listed(name: str, what: str, values: Any) -> tuple[Hashable, ...]:
    must = f"The {what} of {name!r} must be a list of hashable values, in order"
    if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
        raise refused("values", must, values)
    known = tuple(map(plain, values))
    try:
        hash(known)
    except TypeError:
        raise refused("values", must, values) from None
    return known


def seen(cells: Iterable[Hashable], missing: str | None) -> Coding:
    """The cells as they are, sorted; blank ones and question marks are missing, and their category comes last."""
    known = [plain(cell) for cell in cells if not looks_missing(cell)]
    values = domain_of(cell for cell in known if cell != missing)[0].labels
    values += (missing,) if missing in known else ()
    code = {value: at for at, value in enumerate(values)}
    return Coding(values, lambda cell: code.get(cell, MISSING), is_declared=False)


def with_missing(name: str, coding: Coding, category: str) -> tuple[Attribute, int]:
    """The attribute with a category for missing cells, and the code of that; appended, unless it is there already."""
    if category in coding.values:
        return Attribute(name, coding.values), coding.values.index(category)
    return Attribute(name, (*coding.values, category)), len(coding.values)
