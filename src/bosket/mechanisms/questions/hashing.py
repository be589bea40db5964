"""Which keys hashed reports show: every different report hashed once for each four keys, in work that is known before.

A report of twelve bytes is hashed for every key that is looked at, and files hold reports in far fewer bytes than
twelve: those that are alike take next to nothing there, and so do seeds that rise by one.  So reports that are alike
are counted together, only keys that are asked for are hashed, and more hashes than ``MOST_HASHES`` are refused before
the first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts
from bosket.errors import TooManyCandidatesError
from bosket.mechanisms.questions.hash_kernels import LANES, count_blocks, count_sets
from bosket.threads import n_threads, parallel_map, slices

log = logging.getLogger(__name__)
MOST_HASHES = 10**11
"""Hashes of one look at reports: half an hour on one core."""
HASHES_A_SECOND = 6e7
"""On one core; a cautious figure."""
KEYS_A_SECOND = LANES * HASHES_A_SECOND
"""KeyNumbers that a report is looked at for."""
_AT_ONCE = 1 << 22  # hashes in one piece
_LONG = 10.0  # seconds that the log tells of beforehand

KeyNumbers = npt.NDArray[np.int64]
"""Numbers of keys; -1 for an itemset that is none."""
Done = Callable[[float], None]
"""Hears which part of the work is done, up to 1."""


@dataclass(frozen=True)
class HashedReports:
    """Different reports, and how often each came."""

    seeds: npt.NDArray[np.uint64]
    values: npt.NDArray[np.int32]
    times: Counts
    n_buckets: int

    @classmethod
    def of(
        cls,
        seeds: npt.NDArray[np.uint64],
        values: npt.NDArray[np.int32],
        times: Counts | None,
        n_buckets: int,
    ) -> HashedReports:
        """Those that are alike together, unless more than half of all have a seed that no other has."""
        counts = np.ones(len(seeds), np.int64) if times is None else times
        ordered = np.sort(seeds)
        if np.count_nonzero(ordered[1:] != ordered[:-1]) >= len(seeds) // 2:
            return cls(seeds, values, counts, n_buckets)
        order = np.lexsort((values, seeds))
        seeds, values = seeds[order], values[order]
        first = np.append(True, (seeds[1:] != seeds[:-1]) | (values[1:] != values[:-1]))
        starts = np.flatnonzero(first)
        return cls(seeds[starts], values[starts], np.add.reduceat(counts[order], starts), n_buckets)

    def __len__(self) -> int:
        return len(self.seeds)

    def hashes(self, keys: KeyNumbers) -> int:
        """How many are made to count these keys, four of which may take one."""
        return len(self) * len(_blocks(keys))

    def shown(self, keys: KeyNumbers, done: Done | None = None) -> Counts:
        """How many reports show each key: have its bucket as their value."""
        blocks = _blocks(keys)
        found = np.zeros((len(blocks), LANES), np.int64)
        self._count(count_blocks, blocks, found, done)
        counts: Counts = found[np.searchsorted(blocks, keys // LANES), keys % LANES]
        return counts

    def showing_all(self, sets: KeyNumbers, done: Done | None = None) -> Counts:
        """How many reports show every key of a row."""
        found = np.zeros(len(sets), np.int64)
        self._count(count_sets, sets, found, done)
        return found

    def _count(self, kernel: Callable[..., None], rows: KeyNumbers, found: Counts, done: Done | None) -> None:
        """Some reports at a time, and for these some rows on each core: well under a second each."""
        for start, stop in slices(len(self), _AT_ONCE):
            parts = list(slices(len(rows), max(1, _AT_ONCE * len(rows) // ((stop - start) * max(rows.size, 1)))))
            chosen = slice(start, stop)
            some = (self.seeds[chosen], self.values[chosen], self.times[chosen], self.n_buckets)
            tell = None if done is None else partial(_tell, done, start / len(self), stop / len(self), len(parts))
            parallel_map(partial(_piece, kernel, some, rows, found), parts, on_done=tell)


def _piece(
    kernel: Callable[..., None], some: tuple[Any, ...], rows: KeyNumbers, found: Counts, part: tuple[int, int]
) -> None:
    kernel(*some, rows[part[0] : part[1]], found[part[0] : part[1]])


def _tell(done: Done, start: float, stop: float, n_parts: int, number: int) -> None:
    done(start + (stop - start) * number / n_parts)


def seconds_of(hashes: float) -> float:
    """How long they take on all cores, roughly."""
    return hashes / HASHES_A_SECOND / n_threads()


def refuse_many_hashes(hashes: int, limit: int, *, level: int = 1) -> None:
    """Refuse more than ``limit``; the log tells of what will take long."""
    seconds = seconds_of(hashes)
    if hashes > limit:
        raise TooManyCandidatesError(
            f"There are {hashes:,} hashes to compute, one for each report and four of the answers or items that it may "
            f"show, more than {limit:,}: some {seconds / 60:,.0f} minutes.",
            level=level,
            number=hashes,
            limit=limit,
            hint="Ask for fewer items, or take some of the reports; where mine is asked, max_candidates may be raised: "
            "there may be 10,000 times as many hashes.",
        )
    if seconds > _LONG:
        log.info("hashed reports: %d hashes, about %.0f s", hashes, seconds)


def _blocks(keys: KeyNumbers) -> KeyNumbers:
    return np.unique(keys // LANES)
