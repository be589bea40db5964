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
    known, seen = known.copy(), list(held)
    for segment in new:
        for at, given in enumerate(segment.given):
            if known[given.fingerprint]:
                _compare(segment.alone(at), given.fingerprint, seen, number=at)
            known[given.fingerprint] += 1
        seen.append(segment)


def _compare(batch: Segment, fingerprint: Fingerprint, seen: Sequence[Segment], *, number: int) -> None:
    """Refuse a batch that is among those seen, one of which at least has its fingerprint.

    number  batches of its own segment that stand before it
    """
    contents, counts = batch.contents(named=False)
    if log_chance(counts) >= math.log(BY_CHANCE):
        return
    places = [(segment, at) for segment in seen for at in range(len(segment.given))]
    for earlier, (segment, at) in enumerate(places, 1):
        if segment.given[at].fingerprint == fingerprint and segment.alone(at).contents(named=False)[0] == contents:
            raise given_twice(earlier, len(places) + number + 1, batch.n_records)
