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

from bosket.errors import TooManyCandidatesError
from bosket.evidence.raw import ExactLevels, Sought
from bosket.limits import least_count
from bosket.mining.exact import exact_itemsets
from bosket.spark.searched import LEAST_LOCAL, below
from bosket.spark.segments import LAYOUT, KeptSegment, Label, RowShape, gathered, kept, segments_of
from bosket.spark.summaries import FOUND, Summary, key_of, row_of
from bosket.threads import use_threads

SURVEY = ", hidden long, found_bytes long, size int, itemsets binary, supports binary"
"""Columns of what was found, in a row of each size, and in the numbers of a task: in how many of its records at most an
itemset is that it did not find, missing where it did not look; and the bytes of all that it found.  The labels of its
items stand in the first of its rows alone.
"""
SURVEYED = LAYOUT + SURVEY
FOUND_ROWS = ("part", "hidden", "size", "labels", "itemsets", "supports")
MOST_FOUND = 1 << 20
"""Most bytes that a task finds: where there are more, searching takes so long that keeping records is nothing."""
_MOST_ITEMSETS = MOST_FOUND // 16  # of a size: pairs take as many bytes, others more
_MOST_HELD = 1 << 28  # bytes of segments


@dataclass(frozen=True)
class _Found:
    """What a task found: below which count nothing, itemsets, and the labels of the items in them, as JSON."""

    limit: int
    labels: str
    levels: ExactLevels

    @property
    def n_bytes(self) -> int:
        return len(self.labels) + sum(rows.nbytes + counts.nbytes for rows, counts in self.levels)


def surveyed(batches: Iterable[Any], shape: RowShape, sought: Sought) -> Iterator[Any]:
    """On a worker: what a partition holds and what was found in it, or else its segments."""
    summary = Summary.of_task()
    held: list[Any] = []
    found = None
    rest = segments_of(batches, shape, summary, SURVEYED)
    for segment in rest:
        held.append(segment)
        if sum(one.nbytes for one in held) > _MOST_HELD:
            break
    else:
        found = _found(held, summary, sought)
    if found is None:
        yield from chain(held, rest)
        yield from summary.rows(SURVEYED)
        return
    hidden = found.limit - 1
    yield from summary.rows(SURVEYED, hidden=hidden, found_bytes=found.n_bytes)
    own = {"kind": FOUND, "part": summary.part, "n_bytes": found.n_bytes, "hidden": hidden}
    for rows, counts in found.levels:
        labels = found.labels if rows.shape[1] == 2 else None
        yield row_of(SURVEYED, size=rows.shape[1], labels=labels, itemsets=rows, supports=counts, **own)


def _found(held: Sequence[Any], summary: Summary, sought: Sought) -> _Found | None:
    """The itemsets that reach a share of the limit; None where records are kept instead."""
    share = least_count(sought.min_support, summary.n_records) if summary.n_records else 0
    if share < LEAST_LOCAL or summary.faults:
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
    larger = levels[1:]
    if not larger:
        return _Found(below(share), "", [])
    used = np.unique(larger[0][0])  # pairs have the items of all larger itemsets
    number = np.zeros(len(labels), np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    words = json.dumps([labels[at] for at in used.tolist()])
    found = _Found(below(share), words, [(number[rows], counts) for rows, counts in larger])
    return found if found.n_bytes <= MOST_FOUND else None


def _labels(segments: Sequence[KeptSegment]) -> list[Label]:
    """The labels of all segments, in the order of each, so that no record has to be sorted."""
    first = segments[0].labels
    if all(one.labels == first for one in segments):
        return first
    return sorted({label for one in segments for label in one.labels})  # of one column, hence of one kind
