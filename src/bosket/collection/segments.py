"""What a collection keeps of the batches that it was given: segments of reports, which are not changed.

A segment holds the reports of one batch, or of several small ones one behind the other, and the counters that were made
of it.  Which reports came together is kept beside them, so that a batch can be known again and taken away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from bosket.collected import Collected, Made
from bosket.counting.base import Counter, Words
from bosket.counting.distinct_rows import ByteRows, Multiplicities, distinct
from bosket.counting.duplicates import marks
from bosket.mechanisms.columns import ColumnValues
from bosket.mechanisms.payload import Batch, Chosen, Payload
from bosket.reports import compared
from bosket.respondents import COLUMN
from bosket.tally import n_counters

LARGEST = 1 << 20
"""Most reports of a segment that is made of several."""

Fingerprint = tuple[int, int]
"""How many reports there are, and a sum over them: alike where batches are, and seldom where they are not."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A batch as it was given: how many rows of its segment are its own, and what it is known by."""

    n_rows: int
    randomness: str
    fingerprint: Fingerprint
    digests: dict[bool, bytes] = field(default_factory=dict, repr=False)
    """Of its contents, with names and without, once somebody asked: fingerprints can be forged to be alike."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Reports of some batches, one behind the other.

    times   how often each came; None where all came once
    tokens  who sent each; None where they name nobody
    given   the batches, in the order of their rows
    """

    payload: Payload
    batch: Batch
    times: Multiplicities | None = None
    tokens: ColumnValues | None = None
    given: tuple[Given, ...] = ()
    counters: dict[Hashable, Counter] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, reports: Collected) -> Segment:
        """A batch that is given."""
        payload, batch, times = reports.channel.payload, reports.batch, reports.multiplicities
        own = marks(*compared(payload, batch))
        given = Given(len(batch), reports.randomness, fingerprint_of(own, times))
        return cls(payload, batch, times, reports.tokens, (given,))

    @classmethod
    def joined(cls, parts: Sequence[Segment]) -> Segment:
        """Several segments as one."""
        if len(parts) == 1:
            return parts[0]
        counted = any(part.times is not None for part in parts)
        named = parts[0].tokens is not None
        return cls(
            parts[0].payload,
            Batch.concat(part.batch for part in parts),
            np.concatenate([part.how_often for part in parts]) if counted else None,
            np.concatenate([part.tokens for part in parts if part.tokens is not None]) if named else None,
            tuple(given for part in parts for given in part.given),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Segment, (self.payload, self.batch, self.times, self.tokens, self.given)  # without counters

    def again(self) -> Segment:
        """The same reports as a segment of its own: collections know by identity which of theirs they have counted."""
        return replace(self)

    @property
    def n_rows(self) -> int:
        return len(self.batch)

    @cached_property
    def n_records(self) -> int:
        return self.n_rows if self.times is None else int(self.times.sum())

    @property
    def how_often(self) -> Multiplicities:
        """How often each report came."""
        return np.ones(self.n_rows, np.int64) if self.times is None else self.times

    @cached_property
    def starts(self) -> list[int]:
        """The row at which each batch begins, and the number of all."""
        return list(accumulate((given.n_rows for given in self.given), initial=0))

    @property
    def marks(self) -> Words:
        """A number for each report, by which those that are alike are found."""
        return marks(*compared(self.payload, self.batch))

    @cached_property
    def sorted_tokens(self) -> ColumnValues:
        """The tokens of the people who sent the reports, in order."""
        assert self.tokens is not None
        result: ColumnValues = np.sort(self.tokens)
        return result

    @cached_property
    def strata(self) -> tuple[int, ...] | None:
        """The strata that there are reports of; None where the payload has none."""
        strata = self.payload.strata(self.batch)
        return None if strata is None else tuple(np.unique(strata).tolist())

    @property
    def n_ranges(self) -> int:
        """The ranges of records that a counter of the segment keeps."""
        own = 1 if self.times is None else n_counters(self.times)
        return own * (1 if self.strata is None else len(self.strata))

    def counter(self, what: Hashable, make: Made) -> Counter:
        """The counter of this name, which is made once."""
        if what not in self.counters:
            self.counters[what] = make(self.batch, self.times)
        return self.counters[what]

    def taken(self, chosen: Chosen, times: Multiplicities | None, given: tuple[Given, ...]) -> Segment:
        """Some of the rows, which came ``times`` times each."""
        tokens = None if self.tokens is None else self.tokens[chosen]
        return Segment(self.payload, self.batch.take(chosen), times, tokens, given)

    def alone(self, at: int) -> Segment:
        """The batch at a place, by itself."""
        if len(self.given) == 1:
            return self
        rows = slice(*self.starts[at : at + 2])
        return self.taken(rows, None if self.times is None else self.times[rows], (self.given[at],))

    def batches(self) -> Iterator[Segment]:
        """All batches, each by itself."""
        return (self.alone(at) for at in range(len(self.given)))

    def rows(self, *, named: bool) -> ByteRows:
        """The bytes of each report; ``named``: those of its token behind them, where it has one."""
        rows = self.payload.to_rows(self.batch)
        return np.hstack([rows, COLUMN.to_rows(self.tokens)]) if named and self.tokens is not None else rows

    def digest(self, at: int, *, named: bool) -> bytes:
        """That of the contents of the batch at a place, which is made once."""
        known = self.given[at].digests
        if named not in known:
            known[named] = self.alone(at).contents(named=named)[0]
        return known[named]

    def contents(self, *, named: bool) -> tuple[bytes, Multiplicities]:
        """SHA-256 of the reports in whatever order they stand, and how often the different ones came."""
        rows, counts = distinct(self.rows(named=named), self.times)
        return hashlib.sha256(rows.tobytes() + counts.tobytes()).digest(), counts


def fingerprint_of(own: Words, times: Multiplicities | None) -> Fingerprint:
    """That of reports with these marks, which came so often each."""
    weighed = own if times is None else own * times.astype(np.uint64)  # wraps round, as it should
    return len(own) if times is None else int(times.sum()), int(weighed.sum(dtype=np.uint64))


def fingerprints_of(own: Words, times: Multiplicities | None, sizes: Sequence[int]) -> list[Fingerprint]:
    """Those of batches that stand one behind the other, none of which is empty."""
    if not len(sizes):
        return []
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    weighed = own if times is None else own * times.astype(np.uint64)
    numbers = np.asarray(sizes) if times is None else np.add.reduceat(times, starts)
    return list(zip(numbers.tolist(), np.add.reduceat(weighed, starts).tolist(), strict=True))


def put_together(segments: Sequence[Segment], *, largest: int = LARGEST) -> list[Segment]:
    """The same batches in few segments: each more than twice as large as the one behind it, or as large as any may be.

    Every report is copied a number of times that goes by the logarithm of their number at most.
    """
    groups: list[list[Segment]] = []
    sizes: list[int] = []
    for segment in segments:
        groups.append([segment])
        sizes.append(segment.n_rows)
        while len(sizes) > 1 and sizes[-2] <= 2 * sizes[-1] and sizes[-2] + sizes[-1] <= largest:
            last = groups.pop()
            groups[-1] += last
            sizes[-2:] = [sum(sizes[-2:])]
    return [Segment.joined(group) for group in groups]
