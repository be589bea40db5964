"""Counters and sums over the segments of a collection, which are kept up with what comes and goes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from bosket.collected import Made, Summed
from bosket.collection.segments import Segment, put_together
from bosket.counting.base import Counter
from bosket.counting.growing import Growing, PartCounter

_MOST_COUNTERS = 4  # ways to count that are kept, those last asked for
_MOST_SUMS = 16
_MANY = 32  # segments that came since the last look

RunningSums = npt.NDArray[np.int64]


class Running:
    """What is remembered of some segments, and what was taken out of them since.

    Counts and sums are those of the ``settled`` segments and of what was ``lost`` together.
    """

    def __init__(self) -> None:
        self._settled: list[Segment] = []
        self._lost: list[Segment] = []
        self._counters: dict[Hashable, tuple[Made, Growing]] = {}
        self._sums: dict[Hashable, tuple[Summed, RunningSums]] = {}

    def lose(self, before: Segment, left: Segment | None, taken: Segment) -> None:
        """Note that a segment has become another, without the reports that were taken out of it."""
        at = next((at for at, segment in enumerate(self._settled) if segment is before), None)
        if at is not None:  # else it came since the last look: nothing is remembered of it
            self._settled[at : at + 1] = [] if left is None else [left]
            self._lost.append(taken)

    def tidied(self, segments: Sequence[Segment]) -> list[Segment]:
        """The same batches; where many came since the last look, those in fewer segments."""
        known = {id(segment) for segment in self._settled}
        came = [segment for segment in segments if id(segment) not in known]
        return [*self._settled, *put_together(came)] if len(came) > _MANY else list(segments)

    def settle(self, segments: Sequence[Segment]) -> list[Segment]:
        """Count what came and what went for all that is remembered; the same batches, in fewer segments."""
        known = {id(segment) for segment in self._settled}
        came = put_together([segment for segment in segments if id(segment) not in known])
        went = put_together(self._lost)
        counters, sums = self._counters, self._sums
        if sum(part.n_rows for part in went) > sum(part.n_rows for part in segments):  # sooner counted again
            counters, sums = {}, {}
        every = put_together([*self._settled, *came])
        if came or went or len(every) < len(self._settled):
            counters = {
                what: (
                    make,
                    counter.moved(_parts(what, make, every), came=_parts(what, make, came), went=_made(make, went)),
                )
                for what, (make, counter) in counters.items()
            }
            sums = {
                what: (of, total + _total(of, came, total) - _total(of, went, total))
                for what, (of, total) in sums.items()
            }
        self._counters, self._sums = counters, sums  # all at once: what ends the counting before leaves all as it was
        self._settled, self._lost = every, []
        return list(every)

    def counter(self, what: Hashable, make: Made) -> Counter:
        """The counter of this name over the settled segments."""
        found = self._counters.pop(what, None)
        counter = Growing(_parts(what, make, self._settled)) if found is None else found[1]
        self._counters[what] = (make, counter)
        if len(self._counters) > _MOST_COUNTERS:
            self._forget(next(iter(self._counters)))
        return counter

    def _forget(self, what: Hashable) -> None:
        del self._counters[what]
        for segment in self._settled:
            segment.counters.pop(what, None)

    def summed(self, what: Hashable, of: Summed) -> RunningSums:
        """The sums of this name over the settled segments, of which there is one at least."""
        found = self._sums.pop(what, None)
        total = sum(of(part.batch, part.times) for part in self._settled) if found is None else found[1]
        assert isinstance(total, np.ndarray)
        self._sums[what] = (of, total)
        if len(self._sums) > _MOST_SUMS:
            del self._sums[next(iter(self._sums))]
        return total.copy()


def _parts(what: Hashable, make: Made, segments: Sequence[Segment]) -> list[PartCounter]:
    return [partial(segment.counter, what, make) for segment in segments]


def _made(make: Made, segments: Sequence[Segment]) -> list[PartCounter]:
    """Counters that are asked once."""
    return [partial(make, segment.batch, segment.times) for segment in segments]


def _total(of: Summed, segments: Sequence[Segment], like: RunningSums) -> RunningSums:
    total = np.zeros_like(like)
    for segment in segments:
        total += of(segment.batch, segment.times)
    return total
