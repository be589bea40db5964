"""Columns found by their names, and what is told where there is no such column."""

from __future__ import annotations

import difflib
from collections.abc import Hashable

from bosket.checks import shown
from bosket.data.formats.columns import Columns
from bosket.errors import ParameterError

_MOST_SHOWN, _MOST_LOOKED_AT = 12, 1000


def position(columns: Columns, parameter: str, name: Hashable) -> int:
    """The place of the column that a parameter names."""
    if name not in columns.names:
        words = [known for known in columns.names if isinstance(known, str)] if _can_be_shown(columns) else []
        guess = difflib.get_close_matches(str(name), words[:_MOST_LOOKED_AT], 1)
        raise ParameterError(
            f"The '{parameter}' parameter must name a column of {columns.source.name}, which has {_names_of(columns)}, "
            f"got {shown(name)}.",
            parameter=parameter,
            value=name,
            hint=_hint(columns) or (f"Did you mean {shown(guess[0])}?" if guess else None),
        )
    if columns.names.count(name) > 1:
        raise columns.source.error("must not give two columns the same name")
    return columns.names.index(name)


def _names_of(columns: Columns) -> str:
    """The names of columns, or how many there are."""
    names = columns.names
    if not _can_be_shown(columns):
        return f"{len(names):,} columns, with numbers for names"
    told = list(map(shown, names[:_MOST_SHOWN]))
    if len(names) > len(told):
        return f"{', '.join(told)} and {len(names) - len(told):,} more"
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]])) if told else "no columns"


def _can_be_shown(columns: Columns) -> bool:
    """Whether names may be told; not those of a file with a number among them, which may be a record by mistake."""
    return columns.source.path is None or not any(map(_is_number, columns.names))


def _is_number(name: Hashable) -> bool:
    """Whether a name is a number, a date or a time."""
    return isinstance(name, str) and name != "" and not name.strip("0123456789+-.:/ ")


def _hint(columns: Columns) -> str | None:
    is_one_of_a_file = columns.source.path is not None and len(columns.names) == 1
    return "Cells of CSV are parted by commas." if is_one_of_a_file else None
