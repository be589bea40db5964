"""Tasks that look for frequent itemsets in the records that they have just read, and keep none of them.

What comes back are the labels of a partition, as ever, and what was found in it.  A task keeps its records as segments
instead where it has too few to look for anything, so that chance would decide; where it would find too much; where its
rows cannot be read; and where they are too many to be held.  Which of these it does follows from its rows alone: a task
that is run again, anywhere, does the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from bosket.errors import TooManyCandidatesError
from bosket.evidence.raw import ExactLevels, Sought
from bosket.limits import least_count
from bosket.mining.exact import exact_itemsets
from bosket.spark.searched import LEAST_LOCAL, below
from bosket.spark.segments import LAYOUT, SUMMARY, KeptSegment, Label, RowShape, encoded, gathered, kept, key_of
from bosket.threads import use_threads

SURVEYED = LAYOUT + ", hidden long, later long, size int, itemsets binary, supports binary"
"""Columns of segments, and of rows of a size each for what was found.

``hidden``: in how many records of the task at most an itemset is that it did not find; missing where it did not look.
``later``: the bytes that a task found where they are too many to come back unasked, else 0.
"""
FOUND_ROWS = ("hidden", "size", "labels", "itemsets", "supports")
TOLD = (*SUMMARY, "hidden", "later", "size", "itemsets", "supports")
AT_ONCE = 1 << 16
"""Most bytes of what a task found that come back with its labels, of which there are about as many."""
MOST_FOUND = 1 << 20
"""Most bytes that a task finds: where there are more, searching takes so long that keeping records is nothing."""
_MOST_ITEMSETS = MOST_FOUND // 16  # of a size: pairs take as many bytes, others more
_MOST_HELD = 1 << 28  # bytes of segments


@dataclass(frozen=True)
class _Found:
    """What a task found: below which count nothing, the labels of frequent items, and itemsets of their numbers."""

    limit: int
    labels: list[Label]
    levels: ExactLevels

    @property
    def n_bytes(self) -> int:
        return sum(rows.nbytes + counts.nbytes for rows, counts in self.levels)


def surveyed(batches: Iterable[Any], shape: RowShape, sought: Sought) -> Iterator[Any]:
    """On a worker: what a partition holds and what was found in it, or else its segments."""
    held: list[Any] = []
    rest = encoded(batches, shape)
    for segment in rest:
        held.append(segment)
        if sum(one.nbytes for one in held) > _MOST_HELD:
            break
    else:
        found = _found(held, sought)
        if found is not None:
            yield from _told(held, found)
            return
    for segment in chain(held, rest):
        yield _row(segment, hidden=None, later=0)


def _found(held: Sequence[Any], sought: Sought) -> _Found | None:
    """The itemsets that reach a share of the limit; None where records are kept instead."""
    n = sum(one["n_records"][0].as_py() for one in held)
    share = least_count(sought.min_support, n) if n else 0
    if share < LEAST_LOCAL or any(one["faults"][0].is_valid for one in held):
        return None
    segments = list(kept(held))
    labels = _labels(segments)
    try:
        with use_threads(1):
            indptr, items = gathered(segments, {key_of(label): at for at, label in enumerate(labels)})
            levels = exact_itemsets(
                indptr,
                items,
                len(labels),
                min_count=below(share),
                max_size=sought.max_size,
                max_itemsets=min(sought.max_itemsets, _MOST_ITEMSETS),
            )
    except TooManyCandidatesError:
        return None
    single = levels[0][0][:, 0] if levels else np.empty(0, np.int32)
    number = np.zeros(len(labels), np.int32)
    number[single] = np.arange(len(single), dtype=np.int32)
    found = _Found(
        below(share), [labels[at] for at in single.tolist()], [(number[rows], counts) for rows, counts in levels[1:]]
    )
    return found if found.n_bytes <= MOST_FOUND else None


def _labels(segments: Sequence[KeptSegment]) -> list[Label]:
    """The labels of all segments, in the order of each, so that no record has to be sorted."""
    first = segments[0].labels
    if all(one.labels == first for one in segments):
        return first
    return sorted({label for one in segments for label in one.labels})  # of one column, hence of one kind


def _told(held: Sequence[Any], found: _Found) -> Iterator[Any]:
    hidden, size = found.limit - 1, found.n_bytes
    later = size if size > AT_ONCE else 0
    nothing = pa.array([b""], pa.binary())
    for segment in held:
        yield _row(segment, {"sizes": nothing, "items": nothing}, hidden=hidden, later=later)
    blank = dict.fromkeys(("sizes", "items", "counts", "firsts"), nothing)
    blank |= {name: pa.array([0], pa.int64()) for name in ("first_row", "n_records", "longest")}
    blank |= {"labels": pa.array([json.dumps(found.labels)], pa.string()), "faults": pa.array([None], pa.string())}
    for rows, counts in found.levels:
        yield _row(held[0], blank, hidden=hidden, later=later, level=(rows, counts))


def _row(
    segment: Any,
    but: dict[str, Any] | None = None,
    *,
    hidden: int | None,
    later: int,
    level: tuple[Any, Any] | None = None,
) -> Any:
    """The row of a segment, with some cells replaced, and those of a survey."""
    rows, counts = (b"", b"") if level is None else level
    values = dict(zip(segment.schema.names, segment.columns, strict=True)) | (but or {})
    return pa.record_batch(
        values
        | {
            "hidden": pa.array([hidden], pa.int64()),
            "later": pa.array([later], pa.int64()),
            "size": pa.array([0 if level is None else level[0].shape[1]], pa.int32()),
            "itemsets": pa.array([bytes(rows)], pa.binary()),
            "supports": pa.array([bytes(counts)], pa.binary()),
        }
    )
