"""A collection of reports that keep coming: batches are appended and taken away, and mining costs what is new."""

from __future__ import annotations

from collections import Counter as Numbers
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.collected import Collected, Made, Summed, whole_batch
from bosket.collection import files
from bosket.collection.refusals import refuse_duplicates, refuse_some_named
from bosket.collection.removal import taken_out
from bosket.collection.running import Running
from bosket.collection.segments import Segment
from bosket.counting.base import Counter
from bosket.counting.distinct_rows import Multiplicities
from bosket.errors import DataError, PlanMismatchError
from bosket.evidence import Model
from bosket.mechanisms.columns import ColumnValues
from bosket.mechanisms.payload import Batch
from bosket.mining import FrequentItemsets, estimate, mine
from bosket.plan import Plan
from bosket.privacy import LocalGuarantee
from bosket.progress import Progress
from bosket.report_files import MAX_BYTES
from bosket.report_notes import check_plan
from bosket.reports import Reports
from bosket.respondents import naming, refuse_repeated_beside
from bosket.statistics.estimates import Estimates
from bosket.tally import MOST_RECORDS, Tally, counter_of, read_collected

if TYPE_CHECKING:
    import pandas as pd

BatchSource = Reports | Tally | bytes | bytearray | memoryview | str | Path
"""What a batch is given as: reports, a tally of them, their bytes, or a file of them."""


class Collection(Collected):
    """Reports of one plan that keep coming.

    Everything that takes reports takes a collection, and finds what it would find in ``Reports.concat`` of all
    batches.  Counts of the itemsets that a search looked at are remembered: the next one counts them in what came, or
    went, since then, and asks the batches before for new itemsets alone.  Answers to questions are added up, and laws
    fitted to their sums.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9))
    >>> monday, tuesday = (plan.randomize(bk.Baskets([["a"]] * 50), rng=bk.Seeded(day)) for day in (1, 2))
    >>> week = bk.Collection(plan)
    >>> week.append(monday)
    >>> week.append(tuesday.to_bytes())
    >>> week.n_records, week.n_batches
    (100, 2)
    >>> both = bk.mine(bk.Reports.concat([monday, tuesday]), min_support=0.5)
    >>> week.mine(min_support=0.5).to_frame().equals(both.to_frame())
    True
    >>> week.subtract(monday)
    >>> week.n_records
    50
    """

    def __init__(self, plan: Plan) -> None:
        """A collection of no reports."""
        check_plan(plan)
        self.plan = plan
        self.randomness = "secure"
        self._segments: list[Segment] = []
        self._fingerprints: Numbers[tuple[int, int]] = Numbers()
        self._running = Running()

    # what is given and taken away

    def append(
        self, reports: BatchSource, *, allow_duplicates: bool = False, max_bytes: int | None = MAX_BYTES
    ) -> None:
        """Add a batch: reports, a tally of them, their bytes, or a file of either by its path.

        Refused, and nothing is added, where it is of another plan; where it was appended before, in whatever order its
        reports stand, unless ``allow_duplicates``; where somebody answered more often than the plan allows over all
        batches; and where some batches name their respondents and others do not.  ``max_bytes`` is that of
        ``Reports.read``.
        """
        self._take([Segment.of(self._batch_of(reports, max_bytes))], allow_duplicates=allow_duplicates)

    def merge(self, other: Collection, *, allow_duplicates: bool = False) -> None:
        """Add all batches of another collection, which stays as it is; refused as by :meth:`append`."""
        if not isinstance(other, Collection):
            raise DataError(
                f"A Collection can be merged, a {type(other).__name__} cannot.", hint="Collection.append takes batches."
            )
        self._check_plan(other.plan)
        self._take([segment.again() for segment in other._segments], allow_duplicates=allow_duplicates)

    def subtract(self, other: Collection | BatchSource, *, max_bytes: int | None = MAX_BYTES) -> None:
        """Take away a batch, some reports, or all batches of another collection; refused where one is not there.

        A batch that was appended as it is costs what it costs itself.  Others, such as the reports of one person who
        withdrew, are looked for in all batches.  Where reports name their respondents, so must those to be taken away.
        """
        if isinstance(other, Collection):
            self._check_plan(other.plan)
            batches = [batch for segment in other._segments for batch in segment.batches()]
        else:
            batches = [Segment.of(self._batch_of(other, max_bytes))]
        batches = [batch for batch in batches if batch.n_rows]
        if not batches:
            return
        refuse_some_named([*self._segments, *batches])
        found = taken_out(self._segments, batches)
        if self.channel.belong_together and any(left is not None for left, _ in found):
            raise whole_batch(self.plan)
        with self._whole():
            for before, (left, taken) in zip(self._segments, found, strict=True):
                if taken is not None:
                    self._running.lose(before, left, taken)
            self._set([left for left, _ in found if left is not None])

    def _batch_of(self, given: BatchSource, max_bytes: int | None) -> Collected:
        if isinstance(given, str | Path):
            return read_collected(given, plan=self.plan, max_bytes=max_bytes)
        if isinstance(given, bytes | bytearray | memoryview):
            return Reports.from_bytes(self.plan, given)
        if not isinstance(given, Reports | Tally):
            raise DataError(
                f"Reports, a Tally, bytes or a file of them can be a batch of a Collection, a {type(given).__name__} "
                "cannot.",
                hint="Collection.merge adds another collection.",
            )
        self._check_plan(given.plan)
        return given

    def _check_plan(self, plan: Plan) -> None:
        if plan.digest != self.plan.digest:
            raise PlanMismatchError(
                f"Reports of plan {plan.digest[:12]} cannot be in a collection of plan {self.plan.digest[:12]}.",
                hint=None if plan.unit.is_declared else "Randomize all with the plan of the collection.",
            )

    def _take(self, segments: Sequence[Segment], *, allow_duplicates: bool) -> None:
        """Add segments, if nothing speaks against one of them."""
        new = [segment for segment in segments if segment.n_rows]
        every = [*self._segments, *new]
        if self.channel.belong_together and len(every) > 1:
            raise whole_batch(self.plan)
        if sum(segment.n_records for segment in every) > MOST_RECORDS:
            raise DataError(f"A collection must be of at most {MOST_RECORDS} reports.")
        refuse_some_named(every)
        for number, segment in enumerate(new, len(self._segments)):
            if segment.tokens is not None:
                earlier = (one.sorted_tokens for one in every[:number])
                refuse_repeated_beside(segment.tokens, earlier, self.plan.unit.reports)
        if not allow_duplicates:
            refuse_duplicates(new, self._segments, self._fingerprints)
        with self._whole():
            self._segments = self._running.tidied(every)
            self._note(new)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """A change of what is held, which is undone where anything ends it on the way, Ctrl-C or want of memory.

        So who hears of an error may try again.  What is remembered is forgotten then, and what batches are known by
        noted again.
        """
        before = self._segments
        try:
            yield
        except BaseException:
            self._segments = before  # first: what follows may fail as well
            self._running = Running()
            self._set(before)
            raise

    def _set(self, segments: list[Segment]) -> None:
        """Hold these segments in place of all others."""
        self._segments, self.randomness = segments, "secure"
        self._fingerprints.clear()
        self._note(segments)

    def _note(self, segments: Sequence[Segment]) -> None:
        """Note what batches are known by, and how their chance came about, as ``Reports.concat`` of all would."""
        for given in (one for segment in segments for one in segment.given):
            self._fingerprints[given.fingerprint] += 1
            if self.randomness == "secure":
                self.randomness = given.randomness

    # what evidence reads

    @property
    def n_records(self) -> int:
        return sum(segment.n_records for segment in self._segments)

    @property
    def n_rows(self) -> int:
        return sum(segment.n_rows for segment in self._segments)

    @property
    def n_batches(self) -> int:
        """How many batches there are, those of which some reports were taken away among them."""
        return sum(len(segment.given) for segment in self._segments)

    @property
    def batch(self) -> Batch:
        """All reports, batch by batch; a copy, where there are several."""
        if not self._segments:
            payload = self.channel.payload
            return payload.from_rows(np.zeros((0, payload.width), np.uint8))
        return Batch.concat(segment.batch for segment in self._segments)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each report of the batch came."""
        every = [segment.how_often for segment in self._segments]
        return np.concatenate(every) if every else np.zeros(0, np.int64)

    @property
    def multiplicities(self) -> Multiplicities | None:
        return None if all(segment.times is None for segment in self._segments) else self.counts

    @property
    def tokens(self) -> ColumnValues | None:
        tokens = [segment.tokens for segment in self._segments if segment.tokens is not None]
        return np.concatenate(tokens) if tokens else None

    @property
    def guarantee(self) -> LocalGuarantee:
        """That of all collected reports; tokens of respondents are in the clear, and the card says so."""
        promise = super().guarantee
        return naming(promise) if any(segment.tokens is not None for segment in self._segments) else promise

    @property
    def strata_shown(self) -> tuple[int, ...] | None:
        strata = [segment.strata for segment in self._segments if segment.strata is not None]
        return tuple(sorted(set().union(*strata))) if strata else None

    @property
    def n_ranges(self) -> int:
        return max([super().n_ranges, *(segment.n_ranges for segment in self._segments)])

    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports show, of all items; it remembers what it counted."""
        return self.counter_by("items", partial(_counter, self.channel.payload))

    def counter_by(self, what: Hashable, make: Made) -> Counter:
        self._segments = self._running.settle(self._segments)
        return self._running.counter(what, make)

    def summed(self, what: Hashable, of: Summed) -> npt.NDArray[np.int64]:
        if not self._segments:
            return of(self.batch, None)
        self._segments = self._running.settle(self._segments)
        return self._running.summed(what, of)

    # what an analyst asks

    def mine(
        self,
        min_support: float,
        *,
        max_size: int | None = None,
        slack: float = 1.0,
        max_candidates: int = 10_000_000,
        items: Iterable[Hashable] | None = None,
        model: Model = "auto",
        on_progress: Progress | None = None,
    ) -> FrequentItemsets:
        """Frequent itemsets of all reports at present: :func:`bosket.mine` of this collection."""
        return mine(
            self,
            min_support,
            max_size=max_size,
            slack=slack,
            max_candidates=max_candidates,
            items=items,
            model=model,
            on_progress=on_progress,
        )

    def estimate(
        self, itemsets: Iterable[Iterable[Hashable]], *, sampling: bool = False, model: Model = "auto"
    ) -> Estimates:
        """Estimated supports in all reports at present: :func:`bosket.estimate` of this collection."""
        return estimate(self, itemsets, sampling=sampling, model=model)

    def rules(
        self, min_support: float, *, max_size: int | None = None, model: Model = "auto", **options: Any
    ) -> pd.DataFrame:
        """Association rules among the frequent itemsets; ``options`` are those of ``FrequentItemsets.rules``."""
        return self.mine(min_support, max_size=max_size, model=model).rules(**options)

    # files

    def write(self, path: str | Path) -> None:
        """Write Parquet: all reports, with their batches; an existing file is replaced only when it is complete."""
        whole = Segment.joined(self._segments) if self._segments else Segment(self.channel.payload, self.batch)
        files.write(path, plan=self.plan, segment=whole, randomness=self.randomness)

    @classmethod
    def read(cls, path: str | Path, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Collection:
        """Read what :meth:`write` wrote; with ``plan``, refuse a collection of any other.

        The file may be anyone's, as for ``Reports.read``.  The first search after it counts all reports.
        """
        found, segment = files.read(path, plan=plan, max_bytes=max_bytes)
        result = cls(found)
        result._set([segment] if segment.n_rows else [])
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Without what is remembered, which is counted again; what batches are known by is the copy's own."""
        return self.__dict__ | {"_running": Running(), "_fingerprints": self._fingerprints.copy()}

    def __repr__(self) -> str:
        batches = "1 batch" if self.n_batches == 1 else f"{self.n_batches} batches"
        return f"Collection({self.n_records} records in {batches}, {self.plan}, {self.randomness})"


def _counter(payload: Any, batch: Batch, times: Multiplicities | None) -> Counter:
    return payload.counter(batch) if times is None else counter_of(payload, batch, times)
