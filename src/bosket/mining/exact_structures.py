"""What the exact search works on: the index of the records, its limits, and the open path of a descent."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

KernelArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
U = np.uint64
"""Hot loops index with unsigned integers: numba need not look for negative ones."""

DONE, PAUSED, OVERFLOW = 0, 1, 2
"""How a part of the search ended."""


class RecordIndex(NamedTuple):
    """The records as the search reads them: by tails (sparse) or by bitmaps (dense); the other arrays are empty.

    The *tail* of item r in a record is what follows r there, by rank, closed by ``n_frequent``.  The tails of r are
    ``rows[tails[k] : tails[k] + lengths[k]]`` for k in ``first[r, c] : last[r, c]`` of every chunk c of records;
    empty ones are left out.  ``walk[r]`` sums their lengths.  ``bitmaps[r]`` has a bit for each record.
    """

    counts: KernelArray
    first: KernelArray
    last: KernelArray
    tails: KernelArray
    lengths: KernelArray
    rows: KernelArray
    walk: KernelArray
    bitmaps: KernelArray


class Limits(NamedTuple):
    """``cap`` is the largest size to find; an itemset longer than ``widest`` has too many subsets of some size."""

    min_count: int
    cap: int
    widest: int
    budget: int


class Descent(NamedTuple):
    """The open path of a depth-first search; frame d belongs to a node of size d + 1, frame 0 to the prefix item.

    ``job`` is (prefix, stop before this prefix, open frame or -1, width at overflow).  The extensions of frame d still
    to visit are k in ``turn[d] : stop[d]``, each with its ``item``, its ``counts`` with the node, and the place ``at``
    of its bitmap in the arena; those of the next frame come right after.  ``perfect[: n_perfect[d]]`` are the perfect
    extensions gathered down to frame d.  The bitmaps of frame d have ``n_words[d]`` words, the one of the node itself
    lies at ``node[d]``, and ``free[d]`` is where the arena is free for the frames below.
    """

    job: KernelArray
    item: KernelArray
    counts: KernelArray
    at: KernelArray
    turn: KernelArray
    stop: KernelArray
    perfect: KernelArray
    n_perfect: KernelArray
    n_words: KernelArray
    node: KernelArray
    free: KernelArray
