"""Randomized records with their plan, in memory, on disk and as bytes.

On disk: Parquet with the columns of the mechanism's payload, and in the schema's metadata the plan as JSON, its digest,
and how the chance came about.  Packed bits have a fixed-width binary column ``report`` (bit i of byte j is item
8 j + i), and a column ``stratum`` where the mechanism has strata.  Reports that name who answered have a column
``respondent`` beside these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket import report_bytes, report_files
from bosket.collected import Collected, checked_batch, whole_batch
from bosket.counting.base import Counter, Words
from bosket.counting.duplicates import first_given_twice
from bosket.engines import engine_of
from bosket.errors import (
    DataError,
    DuplicateReportsError,
    ParameterError,
    PlanMismatchError,
    RepeatedRespondentError,
)
from bosket.mechanisms.base import Strata
from bosket.mechanisms.columns import ColumnValues
from bosket.mechanisms.payload import Batch, Chosen, PackedBits, Payload
from bosket.plan import Plan
from bosket.privacy import LocalGuarantee
from bosket.report_files import MAX_BYTES
from bosket.report_notes import check_options, check_plan
from bosket.respondents import COLUMN, naming, refuse_repeated, tokens_of

_NAMED = report_files.FileLayout((COLUMN,))


class Reports(Collected):
    """What the collector holds: randomized records, and the plan they were made under.

    ``randomness`` is ``secure``, or a sentence saying that this is a simulation.  Read from a file, it is a note of
    the last writer of the file, and not authenticated: it tells an honest mistake, not a forged study.
    """

    def __init__(
        self,
        plan: Plan,
        reports: Words | Batch,
        *,
        strata: Strata | None = None,
        randomness: str,
        respondents: Iterable[str | int] | None = None,
    ) -> None:
        """``reports`` are a batch of the plan's payload, or packed bits with their ``strata``.

        ``respondents`` are tokens of the people who sent them, one each (:mod:`bosket.respondents`); refused where
        somebody sent more reports than the plan allows.
        """
        if isinstance(reports, Batch) and strata is not None:
            raise DataError("Strata are given beside packed bits; a batch has its own.")
        batch = reports if isinstance(reports, Batch) else PackedBits.batch(reports, strata)
        self.plan = plan
        self._batch = checked_batch(plan, batch)
        self.randomness = randomness
        self._tokens: ColumnValues | None = None
        if respondents is not None:
            self._name(tokens_of(respondents, len(self._batch)))

    def _name(self, tokens: ColumnValues | None, path: str | Path | None = None) -> Reports:
        """These reports with tokens that are checked, one each; refused where somebody sent too many."""
        if tokens is not None:
            refuse_repeated([(tokens, self.plan.unit.reports)], path=path)
            tokens.flags.writeable = False
        self._tokens = tokens
        return self

    @classmethod
    def concat(cls, parts: Iterable[Reports], *, allow_duplicates: bool = False) -> Reports:
        """Reports of one plan put together, as a collector does; those of another plan are refused.

        So is a batch that is given twice, in whatever order its reports stand, unless ``allow_duplicates``: that does
        not happen by chance, but for a few reports or where nearly all are alike.  Batches that overlap in part are
        not noticed, unless the reports name their respondents: somebody who sent more than the plan allows over all
        batches is refused, whatever ``allow_duplicates`` says.
        """
        parts = list(parts)
        if not parts:
            raise DataError("There are no reports to put together.")
        for part in parts:
            if not isinstance(part, Reports):
                raise ParameterError(
                    f"The 'parts' parameter must hold Reports, got a {type(part).__name__}.",
                    parameter="parts",
                    value=None,
                    hint="A Collection takes batches and tallies; files that were opened are mined as they are.",
                )
        if len(parts) > 1 and parts[0].channel.belong_together:
            raise whole_batch(parts[0].plan)
        for part in parts[1:]:
            if part.plan.digest != parts[0].plan.digest:
                raise PlanMismatchError(
                    f"Reports of plan {part.plan.digest[:12]} cannot be put together with those of plan "
                    f"{parts[0].plan.digest[:12]}.",
                    hint=None
                    if part.plan.unit.is_declared
                    else "Randomize all with the same max_size: theirs was read off the data.",
                )
        if not allow_duplicates:
            refuse_duplicates([compared(part.channel.payload, part.batch) for part in parts])
        simulated = [part.randomness for part in parts if part.is_simulation]
        together = Batch.concat(part.batch for part in parts)
        tokens = _all_tokens(parts)
        return cls(parts[0].plan, together, randomness=simulated[0] if simulated else "secure")._name(tokens)

    def __getitem__(self, chosen: Chosen) -> Reports:
        """Some of the reports: by slice, by truth values, or by numbers."""
        if self.channel.belong_together:
            raise whole_batch(self.plan)
        if not isinstance(chosen, slice | np.ndarray):
            raise TypeError("Reports are chosen by a slice, or by an array of truth values or of numbers.")
        batch, tokens = self.batch.take(chosen), None if self._tokens is None else self._tokens[chosen].copy()
        return Reports(self.plan, batch, randomness=self.randomness)._name(tokens)

    @property
    def batch(self) -> Batch:
        """The reports as columns of the mechanism's payload."""
        return self._batch

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """1 for each report: they stand one by one."""
        return np.ones(len(self._batch), np.int64)

    @property
    def multiplicities(self) -> None:
        return None

    @property
    def n_records(self) -> int:
        return len(self._batch)

    @property
    def bits(self) -> Words:
        """The packed bits of each report; refused where reports are something else."""
        return self._packed()["report"]

    @property
    def strata(self) -> Strata | None:
        """The stratum of each report of packed bits, a label that the channel understands; None if there is one."""
        return self._packed().columns.get("stratum")

    def _packed(self) -> Batch:
        payload = self.channel.payload
        if not isinstance(payload, PackedBits):
            names = ", ".join(column.name for column in payload.columns)
            raise DataError(
                f"Reports of {self.plan.mechanism} are not packed bits: they have the columns {names}.",
                hint="reports.batch has the columns.",
            )
        return self.batch

    @property
    def record_sizes(self) -> Strata | None:
        """The size of the record that each report states, -1 for one that states none; None where none does."""
        strata = self.channel.payload.strata(self.batch)
        if strata is None:
            return None
        names, places = np.unique(strata, return_inverse=True)
        sizes = [self.channel.record_size(stratum) for stratum in names.tolist()]
        if sizes and all(size is None for size in sizes):
            return None
        return np.array([-1 if size is None else size for size in sizes], np.int32)[places]

    @property
    def tokens(self) -> ColumnValues | None:
        return self._tokens

    @property
    def respondents(self) -> npt.NDArray[np.str_] | None:
        """The token of the person who sent each report; None where reports name nobody."""
        return None if self._tokens is None else self._tokens.astype(np.str_)

    def without_respondents(self) -> Reports:
        """The same reports, naming nobody; what was checked by the tokens before cannot be checked again."""
        return Reports(self.plan, self.batch, randomness=self.randomness)

    @property
    def guarantee(self) -> LocalGuarantee:
        """That of all collected reports; tokens of respondents are in the clear, and the card says so."""
        promise = super().guarantee
        return promise if self._tokens is None else naming(promise)

    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports show: of all items, or of those asked for."""
        return self.channel.payload.counter(self.batch, items)

    def write(self, path: str | Path) -> None:
        """Write Parquet; an existing file is replaced only when the new one is complete."""
        tokens = self._tokens
        report_files.write(
            path,
            plan=self.plan,
            batch=self.batch,
            randomness=self.randomness,
            layout=report_files.PLAIN if tokens is None else _NAMED,
            beside=None if tokens is None else {COLUMN.name: tokens},
        )

    @classmethod
    def read(cls, path: str | Path, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Reports:
        """Read reports; with ``plan``, refuse those made under any other.

        The file may be anyone's: its reports are counted as they are read, its plan is read strictly, and they may take
        at most ``max_bytes`` of memory (8 GiB; None for no cap).
        """
        with report_files.opened(path, plan=plan, max_bytes=max_bytes) as file:
            refuse_other_kinds(file)
            own = {column.name for column in file.plan.channel.payload.columns}
            batch, beside = file.read(_NAMED if COLUMN.name in set(file.names) - own else report_files.PLAIN)
        try:
            return cls(file.plan, batch, randomness=file.randomness)._name(beside.get(COLUMN.name), path)
        except RepeatedRespondentError:
            raise
        except DataError as problem:
            raise file.refused(problem) from None

    @classmethod
    def from_spark(cls, frame: Any, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Reports:
        """All reports of a Spark frame, in no certain order; with ``plan``, those of any other are refused.

        They may take at most ``max_bytes`` of memory (8 GiB; None for no cap).  :func:`bosket.mine` takes the frame
        itself, which need not fit.
        """
        check_options(plan, max_bytes)
        engine = engine_of(frame)
        if engine is None:
            raise DataError(f"A Spark frame is needed, got {type(frame).__name__}.")
        reports: Reports = engine.collected_reports(frame, plan, max_bytes)
        return reports

    def to_bytes(self) -> bytes:
        """The reports for sending, a frame each, in one canonical form (:mod:`bosket.report_bytes`).

        Of a seed it is kept that there was one: what is read back says that it is a simulation.

        >>> import bosket as bk
        >>> reports = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"], ["b"]]), rng=bk.Seeded(1))
        >>> bk.Reports.from_bytes(reports.plan, reports.to_bytes()) == reports
        True
        """
        return report_bytes.pack(self.plan, self.batch, self.randomness, self._tokens)

    @classmethod
    def from_bytes(cls, plan: Plan, data: bytes | bytearray | memoryview) -> Reports:
        """The reports of :meth:`to_bytes`, or of several of these one after the other; refused if of another plan.

        The bytes may be anyone's: only a ``BosketError`` comes out, in time and memory that their number bounds.  It
        names the first report that is none.
        """
        check_plan(plan)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise DataError(f"Reports are made of bytes, a {type(data).__name__} is none.")
        return cls._from_frames(plan, bytes(data))

    def to_json(self) -> str:
        """The same frames as JSON, each in base64, with the whole digest of their plan."""
        return report_bytes.to_json(self.plan, self.to_bytes())

    @classmethod
    def from_json(cls, plan: Plan, text: str | bytes) -> Reports:
        """The reports of :meth:`to_json`; whoever wrote them, only a ``BosketError`` comes out."""
        check_plan(plan)
        return cls._from_frames(plan, report_bytes.from_json(plan, text))

    @classmethod
    def _from_frames(cls, plan: Plan, data: bytes) -> Reports:
        frames = report_bytes.split(plan, data)
        try:
            batch, tokens = frames.read()
            return cls(plan, batch, randomness=frames.randomness)._name(tokens)
        except RepeatedRespondentError:
            raise
        except DataError as problem:
            if plan.channel.belong_together:
                raise
            at = frames.place(_first_refused(frames))
            raise DataError(f"{at} is none of the plan.  {problem}", hint=problem.hint) from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Reports)
            and self.plan.digest == other.plan.digest
            and self.batch == other.batch
            and _are_alike(self._tokens, other._tokens)
        )

    __hash__ = None  # type: ignore[assignment]  # large and array-like: not a key

    def __repr__(self) -> str:
        named = "" if self._tokens is None else ", respondents named"
        return f"Reports({self.n_records} records, {self.plan}, {self.randomness}{named})"


def _first_refused(frames: report_bytes.Frames) -> int:
    """The number of the first report that is none of the plan, found by halves; there is one."""
    first, last = 0, len(frames.rows)
    while last - first > 1:
        half = (first + last) // 2
        try:
            checked_batch(frames.plan, frames.read(first, half)[0])
        except DataError:
            last = half
        else:
            first = half
    return first


def is_report_file(path: str | Path) -> bool:
    """Whether a file is Parquet with a bosket plan in it; nothing that a file may hold makes this fail."""
    return report_files.has_plan(path)


def refuse_other_kinds(file: report_files.ReportFile) -> None:
    """Say what else a file is, before its columns are refused."""
    kinds = {
        "randomized": "reports by class, with their labels in the clear",
        "count": "a tally of reports",
        "times": "a collection of batches of reports",
    }
    readers = {
        "randomized": "bosket.learning.ByClassReports.read",
        "count": "bosket.Tally.read",
        "times": "bosket.Collection.read",
    }
    own = {column.name for column in file.plan.channel.payload.columns}
    for name in kinds.keys() & set(file.names) - own:
        raise DataError(f"{file.path} holds {kinds[name]}.", path=file.path, hint=f"Read it with {readers[name]}.")


def refuse_repeated_over(parts: Iterable[Collected]) -> None:
    """Refuse people who answered too often over all of these, which may be of several plans.

    Of tallies, and of reports that name nobody, nothing is known.
    """
    named = [(part.tokens, part.plan.unit.reports) for part in parts]
    refuse_repeated([(tokens, allowed) for tokens, allowed in named if tokens is not None])


def _are_alike(one: ColumnValues | None, other: ColumnValues | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def _all_tokens(parts: Sequence[Reports]) -> ColumnValues | None:
    """The tokens of all parts, all or none of which must have some."""
    refuse_some_named(parts)
    tokens = [part._tokens for part in parts if part._tokens is not None]
    return np.concatenate(tokens) if tokens else None


def refuse_some_named(parts: Sequence[Reports]) -> None:
    """Refuse reports that name their respondents beside others that do not; no matter of a part without reports."""
    n_named = [len(part) for part in parts if part._tokens is not None]
    if n_named and sum(n_named) < sum(map(len, parts)):
        raise DataError(
            "Reports that name their respondents cannot be put together with others that name nobody: who answered "
            "more often than the plan allows would not be seen.",
            hint="Take the names away from all: part.without_respondents().",
        )


Compared = tuple[Words, Strata | None]
"""Reports as words that can be compared, whatever their payload."""


def compared(payload: Payload, batch: Batch) -> Compared:
    """The words and strata of packed bits; the bytes of other reports as words."""
    if isinstance(payload, PackedBits):
        return batch["report"], payload.strata(batch)
    rows = payload.to_rows(batch)
    words = np.zeros((len(rows), -(-rows.shape[1] // 8)), np.uint64)
    words.view(np.uint8).reshape(len(rows), 8 * words.shape[1])[:, : rows.shape[1]] = rows
    return words, None


def refuse_duplicates(batches: Sequence[Compared]) -> None:
    """Refuse a batch that stands twice among these."""
    found = first_given_twice(batches)
    if found is not None:
        raise given_twice(*found, len(batches[found[1] - 1][0]))


def given_twice(earlier: int, number: int, n_reports: int) -> DuplicateReportsError:
    """The error for a batch that holds the reports of an earlier one."""
    return DuplicateReportsError(
        f"Batch {number} holds the same {n_reports} reports as batch {earlier}, which does not happen by chance: it "
        "was given twice.",
        parts=(earlier, number),
        hint="Leave one of them out; allow_duplicates=True counts both.",
    )
