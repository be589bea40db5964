"""Which keys reports show: every different one looked at once, hashed for each four keys, in work that is known before.

A report of twelve bytes is hashed for every key that is looked at, and files hold reports in far fewer bytes than
twelve: those that are alike take next to nothing there, and so do seeds that rise by one.  So reports that are alike
are counted together, only keys that are asked for are hashed, and more hashes than ``MOST_HASHES`` are refused before
the first.  Subsets of keys, which name them without a hash, are looked at in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, Words
from bosket.counting.distinct_rows import alike_together, joined_by_bytes, joined_by_order
from bosket.errors import TooManyCandidatesError
from bosket.mechanisms.questions.hash_kernels import LANES, count_blocks, count_sets
from bosket.mechanisms.questions.subset_kernels import count_subsets
from bosket.threads import n_threads, parallel_map, slices

log = logging.getLogger(__name__)
MOST_HASHES = 10**11
"""Hashes of one look at reports: some minutes on one core; a quarter of an hour where sets of keys are looked for."""
HASH = "hashes to compute, one for each report and four of the answers or items that it may show"
HASH_OF_SET = "hashes to compute, one for each report and item of an itemset"
LOOK = "looks at subsets to take, one for each report and item that it may show"
A_SECOND = {HASH: 3e8, HASH_OF_SET: 1e8, LOOK: 3e8}
"""How many on one core; cautious figures."""
KEYS_A_SECOND = LANES * A_SECOND[HASH]
"""Keys that a report is looked at for."""
_AT_ONCE = 1 << 22  # hashes in one piece
_SUBSETS_AT_ONCE = 1 << 12  # subsets in one piece, which should stay in a cache
_BYTES_AT_ONCE = 1 << 24  # of subsets that are joined
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
    times: Counts | None
    """None where each came once."""
    n_buckets: int

    @classmethod
    def of(
        cls,
        seeds: npt.NDArray[np.uint64],
        values: npt.NDArray[np.int32],
        times: Counts | None,
        n_buckets: int,
    ) -> HashedReports:
        """Those that are alike together, unless more than a quarter of all are different.

        Beside the reports it takes less than twice their bytes, however many are different.
        """
        found = alike_together((seeds, values), times, joined_by_order, most=len(seeds) // 4)
        if found is None:
            return cls(seeds, values, times, n_buckets)
        (seeds, values), times = found
        return cls(seeds, values, times, n_buckets)

    def __len__(self) -> int:
        return len(self.seeds)

    def hashes(self, keys: KeyNumbers) -> int:
        """How many are made to count these keys, four of which may take one."""
        return len(self) * len(_blocks(keys))

    def shown(self, keys: KeyNumbers, done: Done | None = None) -> Counts:
        """How many reports show each key: have its bucket as their value."""
        blocks = _blocks(keys)
        found = np.zeros((len(blocks), LANES), np.int64)
        in_pieces(count_blocks, (self.seeds, self.values), self.times, (self.n_buckets, blocks, found), done)
        counts: Counts = found[np.searchsorted(blocks, keys // LANES), keys % LANES]
        return counts

    def showing_all(self, sets: KeyNumbers, done: Done | None = None) -> Counts:
        """How many reports show every key of a row."""
        found = np.zeros(len(sets), np.int64)
        in_pieces(count_sets, (self.seeds, self.values), self.times, (self.n_buckets, sets, found), done)
        return found


@dataclass(frozen=True)
class SubsetReports:
    """Different subsets of values, and how often each came."""

    words: Words
    times: Counts | None
    """None where each came once."""

    @classmethod
    def of(cls, words: Words, times: Counts | None) -> SubsetReports:
        """Those that are alike together, unless more than an eighth of all are different: they are long."""
        at_once = max(1, _BYTES_AT_ONCE // max(1, 8 * words.shape[1]))
        found = alike_together([words], times, joined_by_bytes, most=len(words) // 8, at_once=at_once)
        if found is None:
            return cls(words, times)
        (words,), times = found
        return cls(words, times)

    def __len__(self) -> int:
        return len(self.words)

    def showing_all(self, sets: KeyNumbers, done: Done | None = None) -> Counts:
        """How many reports show every key of a row."""
        found = np.zeros(len(sets), np.int64)
        in_pieces(count_subsets, (self.words,), self.times, (len(sets), sets, found), done, at_once=_SUBSETS_AT_ONCE)
        return found


def in_pieces(
    kernel: Callable[..., None],
    reports: tuple[npt.NDArray[Any], ...],
    times: Counts | None,
    looked_for: tuple[int, KeyNumbers, Counts],
    done: Done | None,
    *,
    at_once: int | None = None,
) -> None:
    """Some reports at a time, and for these some rows on each core: well under a second each.

    looked_for  a number for the kernel, rows of keys, and where to add how many reports show each
    """
    number, rows, found = looked_for
    n = len(reports[0])
    for start, stop in slices(n, at_once or _AT_ONCE):
        parts = list(slices(len(rows), max(1, _AT_ONCE * len(rows) // ((stop - start) * max(rows.size, 1)))))
        counts = np.ones(stop - start, np.int64) if times is None else times[start:stop]
        some = (*(column[start:stop] for column in reports), counts, number)
        tell = None if done is None else partial(_tell, done, start / n, stop / n, len(parts))
        parallel_map(partial(_piece, kernel, some, rows, found), parts, on_done=tell)


def _piece(
    kernel: Callable[..., None], some: tuple[Any, ...], rows: KeyNumbers, found: Counts, part: tuple[int, int]
) -> None:
    kernel(*some, rows[part[0] : part[1]], found[part[0] : part[1]])


def _tell(done: Done, start: float, stop: float, n_parts: int, number: int) -> None:
    done(start + (stop - start) * number / n_parts)


def refuse_many_hashes(hashes: int, limit: int, *, level: int = 1, each: str = HASH) -> None:
    """Refuse more than ``limit``; the log tells of what will take long.  ``each`` says what they are."""
    seconds = hashes / A_SECOND[each] / n_threads()
    if hashes > limit:
        raise TooManyCandidatesError(
            f"There are {hashes:,} {each}, more than {limit:,}: some {max(1, round(seconds / 60)):,} minutes.",
            level=level,
            number=hashes,
            limit=limit,
            hint="Ask for fewer items, or take some of the reports; where mine is asked, max_candidates may be raised: "
            "there may be 10,000 times as many.",
        )
    if seconds > _LONG:
        log.info("reports: %d %s, about %.0f s", hashes, each, seconds)


def _blocks(keys: KeyNumbers) -> KeyNumbers:
    return np.unique(keys // LANES)
