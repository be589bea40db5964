"""What a collection refuses to take: a batch that it has, and batches some of which name their respondents."""

from __future__ import annotations

import math
from collections import Counter as Numbers
from collections.abc import Sequence

from bosket.collection.segments import Fingerprint, Segment
from bosket.counting.duplicates import BY_CHANCE, log_chance
from bosket.errors import DataError
from bosket.reports import given_twice


def refuse_some_named(segments: Sequence[Segment]) -> None:
    """Refuse batches that name their respondents beside others that do not."""
    if len({segment.tokens is None for segment in segments}) > 1:
        raise DataError(
            "Batches that name their respondents and others that name nobody cannot be in one collection: who "
            "answered more often than the plan allows would not be seen.",
            hint="Take the names away from all: reports.without_respondents(). A tally names nobody.",
        )


def refuse_duplicates(new: Sequence[Segment], held: Sequence[Segment], known: Numbers[Fingerprint]) -> None:
    """Refuse a new batch that is held, or stands twice among the new ones, where that does not happen by chance.

    ``known`` says how many batches that are held have a fingerprint.
    """
    known, seen = known.copy(), [(segment, at) for segment in held for at in range(len(segment.given))]
    for segment in new:
        for at, given in enumerate(segment.given):
            if known[given.fingerprint]:
                _compare(segment, at, seen)
            known[given.fingerprint] += 1
            seen.append((segment, at))


def _compare(segment: Segment, at: int, seen: Sequence[tuple[Segment, int]]) -> None:
    """Refuse a batch that is among those seen, one of which at least has its fingerprint."""
    batch, given = segment.alone(at), segment.given[at]
    contents, counts = batch.contents(named=False)
    given.digests[False] = contents
    if log_chance(counts) >= math.log(BY_CHANCE):
        return
    for number, (other, place) in enumerate(seen, 1):
        if (
            other.given[place].fingerprint == given.fingerprint and other.digest(place, named=False) == contents
        ):  # each is looked at once, however many were made to be alike
            raise given_twice(number, len(seen) + 1, batch.n_records)
