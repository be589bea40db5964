"""Which layout a file has, and where its items are, by the names of its columns and the declared items alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from bosket.data.domain import ItemIds
from bosket.data.formats.layouts import LONG_NAMES, Layout
from bosket.data.formats.sources import Source
from bosket.data.formats.vocabulary import Vocabulary
from bosket.errors import DataError

SAY = (
    "Pass layout='long' for columns of records and items, 'one-hot' for a column per item, 'list' for a record a line "
    "without a header, or a list a row. Columns of records and items by other names are given by record= and item=."
)


def declared_layout(names: Sequence[Hashable], are_items: Sequence[bool], source: Source) -> Layout:
    """The layout that the names of columns, of which none holds lists, can have; no cell is looked at."""
    check_names(names, source)
    is_long = set(LONG_NAMES) <= set(names) if len(names) != 2 or any(are_items) else True
    if is_long and any(are_items) and (len(names) > 2 or all(are_items)):
        raise ambiguous(source)
    if is_long:
        return "long"
    if len(names) == 2 and not all(are_items):
        raise ambiguous(source)
    if not any(are_items):
        raise source.error("names no declared item in its header, nor columns record and item", hint=SAY)
    return "one-hot"


def ambiguous(source: Source) -> DataError:
    return source.error("may be read in more than one layout, by the names of its columns", hint=SAY)


def check_names(names: Sequence[Hashable], source: Source) -> None:
    """Refuse columns that cannot be told apart."""
    if not names:
        raise source.error("has no columns")
    if len(set(names)) < len(names):
        raise source.error("must not give two columns the same name")


def item_columns(names: Sequence[str], vocabulary: Vocabulary, source: Source) -> ItemIds:
    """The item of each column of a one-hot file; -1 for one that is not declared, where that may be."""
    check_names(names, source)
    items = np.array([vocabulary.places.get(name, -1) for name in names], np.int32)
    if vocabulary.is_strict and items.min() < 0:
        at = int(np.argmin(items)) + 1
        raise source.error(f"must name a declared item in the header of each column; column {at} does not", hint=SAY)
    return items
