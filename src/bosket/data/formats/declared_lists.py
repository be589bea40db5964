"""Arrow columns of lists under a declaration, a record a list.

Of a list only so many cells are looked at as a line of text has room for, and they are found by their places before
anything is decoded: a run, or a list of bits, says millions of cells in a few bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from bosket.data.baskets.kernels import once_in_list
from bosket.data.baskets.rows import Csr, Items, Offsets, canonical, frozen
from bosket.data.domain import ItemIds
from bosket.data.formats import lines
from bosket.data.formats.arrow_cells import ArrowCells, ranked, stored
from bosket.data.formats.columns import encoded
from bosket.data.formats.declared_types import element, is_text, value_type
from bosket.data.formats.declared_values import chunks_of, objects_of_words
from bosket.data.formats.list_cells import Spans, most_cells
from bosket.data.formats.long_words import lengths_of, taken_at
from bosket.data.formats.lookup import Lookup


def rows_of(column: Any, lookup: Lookup, refuse: Callable[[int], None] | None) -> Csr:
    """The records; ``refuse`` hears the row of the first cell that stands for no item, and lists are not cut then."""
    kind = element(column.type)
    most = most_cells(kind) if refuse is None else None
    kept, sizes, before = Items(), [np.zeros(1, np.int64)], 0
    last = np.zeros(lookup.domain.n_items, np.int64)
    for chunk in map(stored, chunks_of(column)):
        spans = Spans.of(chunk, most)
        found = np.zeros(len(chunk), np.int64)
        for start, places in spans.pieces():
            items = _items(ArrowCells.of(chunk.values, places), value_type(kind), lookup)
            if refuse is not None and (items < 0).any():
                refuse(before + int(np.searchsorted(spans.ends, start + np.argmin(items), side="right")))
            kept.append(once_in_list(frozen(items), spans.ends, start, last, before, found))
        sizes.append(found)
        before += len(chunk)
    return canonical(np.cumsum(np.concatenate(sizes)), kept.together(), lookup.domain)


def _items(cells: ArrowCells, kind: Any, lookup: Lookup) -> ItemIds:
    """The item of each cell, -1 for one that stands for none."""
    assert cells.places is not None
    words, ranks = _chosen(cells.words, _short(cells.words, cells.places, min(lookup.longest, lines.LONGEST)))
    codes, values = encoded(words.cast(kind))
    of_values = np.append(np.array(lookup.items(objects_of_words(values)), np.int32), np.int32(-1))
    items: ItemIds = np.append(of_values[codes], np.int32(-1))[ranks]
    return items


def _short(words: Any, places: Offsets, longest: int) -> Offsets:
    """The places, -1 in the place of words that are longer than any item: they need not be copied."""
    if not is_text(words.type) or not len(words):
        return places
    is_long = (lengths_of(words, places) > longest) & (places >= 0)
    return np.where(is_long, np.int64(-1), places) if is_long.any() else places


def _chosen(words: Any, places: Offsets) -> tuple[Any, Offsets]:
    """The words at some places, and for each place the rank of its word among them, -1 for none."""
    if places.size and places[0] >= 0 and (np.diff(places) == 1).all():
        return words.slice(int(places[0]), places.size), np.arange(places.size)
    used, ranks = ranked(places, len(words))
    if not used.size:
        return pa.nulls(0, words.type), ranks
    window = words.slice(int(used[0]), int(used[-1] - used[0]) + 1)
    return taken_at(window, used - used[0]), ranks
