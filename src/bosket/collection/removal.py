"""Batches, or single reports, taken out of segments.

A batch that was given whole is known by its fingerprint, then by its contents.  Reports of any others are looked for
one by one: by their marks, which are quick and can be forged, then by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bosket.collection.segments import Fingerprint, Given, Segment, fingerprint_of
from bosket.counting.distinct_rows import Multiplicities, distinct
from bosket.errors import DataError

RowsLeft = list[Multiplicities | None]
"""How often each report of each segment is still there; None for a segment that nothing was taken of."""
BatchPlaces = dict[Fingerprint, list[tuple[int, int]]]
"""Where batches with a fingerprint stand, each by the number of its segment and its place there."""


def taken_out(segments: Sequence[Segment], batches: Sequence[Segment]) -> list[tuple[Segment | None, Segment | None]]:
    """What is left of each segment without these batches, and what was taken of it; refused where they are not there.

    None stands for no reports.  A segment that nothing is taken of stays the very same.
    """
    left: RowsLeft = [None] * len(segments)
    places: BatchPlaces = {}
    for at, segment in enumerate(segments):
        for place, given in enumerate(segment.given):
            places.setdefault(given.fingerprint, []).append((at, place))
    rest = [batch for batch in batches if not _took_whole(segments, left, batch, places)]
    if rest:
        _take_reports(segments, left, rest)
    return [
        (segment, None) if often is None else (_part(segment, often), _part(segment, segment.how_often - often))
        for segment, often in zip(segments, left, strict=True)
    ]


def _took_whole(segments: Sequence[Segment], left: RowsLeft, batch: Segment, places: BatchPlaces) -> bool:
    """Take a batch that was given as it is; False where there is none that was not taken before."""
    (wanted,) = batch.given
    alike = places.get(wanted.fingerprint, [])
    contents = batch.digest(0, named=True) if alike else None
    for number, (at, place) in enumerate(alike):
        segment = segments[at]
        if segment.digest(place, named=True) == contents:
            often = left[at] = _often(segment, left[at])
            often[slice(*segment.starts[place : place + 2])] = 0
            del alike[number]
            return True
    return False


def _often(segment: Segment, left: Multiplicities | None) -> Multiplicities:
    """Numbers that can be changed."""
    return segment.how_often.copy() if left is None else left


def _take_reports(segments: Sequence[Segment], left: RowsLeft, batches: Sequence[Segment]) -> None:
    """Take reports wherever they stand, the first of those that are alike first."""
    together = Segment.joined(batches)
    rows, counts = distinct(together.rows(named=True), together.times)
    wanted = {row.tobytes(): count for row, count in zip(rows, counts.tolist(), strict=True)}
    known = np.unique(together.marks)
    for at, segment in enumerate(segments):
        hits = np.flatnonzero(np.isin(segment.marks, known))
        if not len(hits):
            continue
        often = _often(segment, left[at])
        for row, place in zip(segment.taken(hits, None, ()).rows(named=True), hits.tolist(), strict=True):
            key = row.tobytes()
            number = min(wanted.get(key, 0), int(often[place]))
            if number:
                often[place] -= number
                wanted[key] -= number
                left[at] = often
    missing = sum(wanted.values())
    if missing:
        raise DataError(
            f"Only reports that are in the collection can be taken away: {missing} of those given are not there.",
            hint="Take away what was appended before, and not yet taken away.",
        )


def _part(segment: Segment, often: Multiplicities) -> Segment | None:
    """The reports of a segment that come so often, those that do not come left out."""
    chosen = np.flatnonzero(often)
    if not len(chosen):
        return None
    times = None if segment.times is None else often[chosen]
    found = segment.taken(chosen, times, ())
    n_rows = np.diff(np.searchsorted(chosen, segment.starts)).tolist()
    given, own, start = [], found.marks, 0
    whole = segment.how_often
    for n, before, first in zip(n_rows, segment.given, segment.starts, strict=False):
        rows = slice(start, start + n)
        if n == before.n_rows and (times is None or np.array_equal(whole[first : first + n], times[rows])):
            given.append(before)
        elif n:
            given.append(Given(n, before.randomness, fingerprint_of(own[rows], None if times is None else times[rows])))
        start += n
    return Segment(found.payload, found.batch, times, found.tokens, tuple(given))
