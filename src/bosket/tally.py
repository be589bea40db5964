"""Tallies: numbers of reports by distinct report, the sufficient statistics of any mechanism.

What reports say does not depend on their order, so a collector may keep how often each report came and nothing else.
Tallies of one plan are made batch by batch, saved, added and taken away; evidence from a tally is that of the reports
themselves.  Equal reports stand in it once: it takes less room than the reports, never more but for the numbers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bosket import report_files
from bosket.collected import Collected, checked_batch, whole_batch
from bosket.counting.base import Counter
from bosket.counting.distinct_rows import Multiplicities, are_distinct, distinct
from bosket.counting.duplicates import BY_CHANCE, log_chance
from bosket.counting.shards import OneByOne, Shards
from bosket.errors import DataError, PlanMismatchError
from bosket.mechanisms.columns import ByteRows, Numbers
from bosket.mechanisms.payload import Batch, Payload
from bosket.plan import Plan
from bosket.report_files import MAX_BYTES, FileLayout
from bosket.report_notes import check_plan
from bosket.reports import Reports, given_twice, refuse_repeated_over, refuse_some_named

MOST_RECORDS = 1 << 53
"""Most reports of a tally: as many as a double counts exactly."""

_AT_ONCE = 8  # counters that are held together
_LAYOUT = FileLayout((Numbers("count", MOST_RECORDS, "how often it came as its count", "int64", least=1),))


class Tally(Collected):
    """Numbers of reports by distinct report, of one plan.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9))
    >>> monday, tuesday = (plan.randomize(bk.Baskets([["a"]] * 50), rng=bk.Seeded(day)) for day in (1, 2))
    >>> week = bk.Tally.of(monday) + bk.Tally.of(tuesday)
    >>> week.n_records, week.n_distinct
    (100, 4)
    >>> week - bk.Tally.of(tuesday) == bk.Tally.of(monday)
    True
    >>> bool(bk.estimate(week, [{"a"}]).value[0] == bk.estimate(bk.Reports.concat([monday, tuesday]), [{"a"}]).value[0])
    True
    """

    def __init__(self, plan: Plan) -> None:
        """The tally of no reports."""
        check_plan(plan)
        self.plan = plan
        self.randomness = "secure"
        self.rows: ByteRows = np.zeros((0, plan.channel.payload.width), np.uint8)
        """The bytes of the different reports, in their order."""
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    @classmethod
    def of(cls, reports: Reports) -> Tally:
        """The tally of a batch of reports; it does not keep their respondents, which were checked before."""
        if not isinstance(reports, Reports):
            raise DataError(f"Reports can be tallied, a {type(reports).__name__} cannot.")
        rows = reports.channel.payload.to_rows(reports.batch)
        return cls._made(reports.plan, *distinct(rows), reports.randomness)

    @classmethod
    def _made(cls, plan: Plan, rows: ByteRows, counts: npt.NDArray[np.int64], randomness: str) -> Tally:
        result = cls(plan)
        result.rows, result._counts, result.randomness = rows, counts, randomness
        for array in (rows, counts):
            array.flags.writeable = False
        return result

    def __add__(self, other: Tally) -> Tally:
        """The reports of both; a batch that stands in both is counted twice, and not noticed."""
        if not isinstance(other, Tally):
            return NotImplemented
        return self._sum([self, other])

    @classmethod
    def _sum(cls, parts: Sequence[Tally]) -> Tally:
        """All reports of the parts, sorted once."""
        first = parts[0]
        for part in parts[1:]:
            first._check_same(part, "added to")
        numbers = [part.n_records for part in parts]
        if first.channel.belong_together and sum(number > 0 for number in numbers) > 1:
            raise whole_batch(first.plan)
        if sum(numbers) > MOST_RECORDS:
            raise DataError(f"A tally must be of at most {MOST_RECORDS} reports.")
        rows, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "counts"))
        simulated = next((part.randomness for part in parts if part.is_simulation), "secure")
        return cls._made(first.plan, *distinct(rows, counts), simulated)

    @classmethod
    def concat(cls, parts: Iterable[Tally | Reports], *, allow_duplicates: bool = False) -> Tally:
        """The sum of tallies, and of reports, of one plan.

        One that is given twice is refused, as by ``Reports.concat``; those that overlap in part are not noticed.
        Respondents of reports are checked over all reports at hand, all or none of which must name them; tallies know
        none.
        """
        parts = list(parts)
        refuse_some_named([part for part in parts if isinstance(part, Reports)])
        refuse_repeated_over(parts)
        tallies = [part if isinstance(part, Tally) else cls.of(part) for part in parts]
        if not tallies:
            raise DataError("There are no reports to put together.")
        together = cls._sum(tallies)
        if not allow_duplicates:
            _refuse_duplicates(tallies)
        return together

    def __sub__(self, other: Tally) -> Tally:
        """The reports of this tally without those of the other, all of which must be among them."""
        if not isinstance(other, Tally):
            return NotImplemented
        self._check_same(other, "taken from")
        if other.n_records not in (0, self.n_records) and self.channel.belong_together:
            raise whole_batch(self.plan)
        rows = np.concatenate([self.rows, other.rows])
        rows, counts = distinct(rows, np.concatenate([self.counts, -other.counts]))
        if counts.min(initial=0) < 0:
            raise DataError(
                "A tally can be taken only from one that holds all its reports: some would be less than none.",
                hint="Take away what was added before.",
            )
        left = counts > 0
        return Tally._made(self.plan, rows[left], counts[left], self.randomness)

    def _check_same(self, other: Tally, how: str) -> None:
        if other.plan.digest != self.plan.digest:
            raise PlanMismatchError(
                f"A tally of plan {other.plan.digest[:12]} cannot be {how} one of plan {self.plan.digest[:12]}."
            )

    @property
    def n_records(self) -> int:
        return int(self.counts.sum())

    @property
    def n_distinct(self) -> int:
        """How many different reports there are."""
        return len(self.rows)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each of the different reports came."""
        return self._counts

    @property
    def batch(self) -> Batch:
        """The different reports, one of each."""
        return self.channel.payload.from_rows(self.rows)

    @property
    def n_counters(self) -> int:
        """How many counters :meth:`counter` holds at once; each takes memory of its own."""
        return n_counters(self.counts)

    @property
    def n_ranges(self) -> int:
        return super().n_ranges * self.n_counters

    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports show: of all items, or of those asked for.

        Reports whose number has the bit b make a counter that counts 2^b times: memory and time go by the different
        reports, not by all.
        """
        return counter_of(self.channel.payload, self.batch, self.counts, items)

    def write(self, path: str | Path) -> None:
        """Write Parquet, reports with a column ``count``; an existing file is replaced only when it is complete."""
        report_files.write(
            path,
            plan=self.plan,
            batch=self.batch,
            randomness=self.randomness,
            layout=_LAYOUT,
            beside={"count": self.counts},
        )

    @classmethod
    def read(cls, path: str | Path, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Tally:
        """Read what ``write`` wrote; with ``plan``, refuse a tally of any other.

        The file may be anyone's, as for ``Reports.read``: reports must be those of the plan, all different and in
        their order, and come once or more each.
        """
        with report_files.opened(path, plan=plan, max_bytes=max_bytes) as file:
            batch, beside = file.read(_LAYOUT)
        try:
            batch = checked_batch(file.plan, batch)
        except DataError as problem:
            raise file.refused(problem) from None
        rows, counts = file.plan.channel.payload.to_rows(batch), beside["count"]
        if not are_distinct(rows):
            raise DataError(f"The reports of the tally in {path} must be different, in the order of bytes.", path=path)
        if max(float(counts.sum(dtype=float)) / 2, int(counts.sum())) > MOST_RECORDS:  # the former does not overflow
            raise DataError(f"The tally in {path} must be of at most {MOST_RECORDS} reports.", path=path)
        return cls._made(file.plan, rows, counts, file.randomness)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.plan.digest == other.plan.digest
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]  # large and array-like: not a key

    def __repr__(self) -> str:
        return f"Tally({self.n_records} records, {self.n_distinct} different, {self.plan}, {self.randomness})"


def counter_of(
    payload: Payload, batch: Batch, counts: Multiplicities, items: npt.NDArray[np.int32] | None = None
) -> Counter:
    """Counts what reports show that came ``counts`` times each."""
    bits = _bits(counts)
    if bits in ([], [0]):
        return payload.counter(batch, items)

    def part(bit: int) -> Counter:
        return payload.counter(batch.take(np.flatnonzero(counts >> bit & 1)), items)

    times = [1 << bit for bit in bits]
    if len(bits) > _AT_ONCE:  # numbers that somebody made up may have all bits
        return OneByOne([partial(part, bit) for bit in bits], times)
    return Shards([part(bit) for bit in bits], times)


def n_counters(counts: Multiplicities) -> int:
    """How many counters :func:`counter_of` holds at once."""
    return min(max(1, len(_bits(counts))), _AT_ONCE)


def _bits(counts: Multiplicities) -> list[int]:
    """The bits that some number of reports has."""
    return [bit for bit in range(int(counts.max(initial=1)).bit_length()) if (counts >> bit & 1).any()]


def read_collected(path: str | Path, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Reports | Tally:
    """The reports, or the tally, that a file holds."""
    with report_files.opened(path, plan=plan, max_bytes=max_bytes) as file:
        own = {column.name for column in file.plan.channel.payload.columns}
        is_tally = "count" in set(file.names) - own
    return (Tally if is_tally else Reports).read(path, plan=file.plan, max_bytes=max_bytes)


def _refuse_duplicates(tallies: Sequence[Tally]) -> None:
    """Refuse a tally that stands twice among these, where that does not happen by chance."""
    seen: dict[bytes, int] = {}
    for number, tally in enumerate(tallies, 1):
        if log_chance(tally.counts) < math.log(BY_CHANCE):
            content = hashlib.sha256(tally.rows.tobytes() + tally.counts.tobytes()).digest()
            earlier = seen.setdefault(content, number)
            if earlier != number:
                raise given_twice(earlier, number, tally.n_records)
