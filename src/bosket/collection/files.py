"""Collections as files: Parquet with a row for each report, which says in which batch it came, and how often.

Remembered counts are not written.  A count that is not that of the reports can be told from one that is only by
counting: whoever reads a file counts once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bosket import report_files, strict_json
from bosket.collected import checked_batch, whole_batch
from bosket.collection.segments import Given, Segment, fingerprints_of
from bosket.counting.distinct_rows import Multiplicities
from bosket.errors import DataError, RepeatedRespondentError
from bosket.mechanisms.columns import ColumnValues, Numbers
from bosket.plan import Plan
from bosket.report_files import FileLayout, ReportFile
from bosket.report_notes import chance_said
from bosket.respondents import COLUMN, refuse_repeated
from bosket.tally import MOST_RECORDS

MOST_BATCHES = 1 << 31
BATCH_BYTES = 512
"""What a batch takes beside its reports, for what it is known by."""
_OWN = (
    Numbers("batch", MOST_BATCHES - 1, "the number of its batch as its batch", "int64"),
    Numbers("times", MOST_RECORDS, "how often it came as its times", "int64", least=1),
)
_LAYOUT = FileLayout(_OWN)
_NAMED = FileLayout((*_OWN, COLUMN))


def write(path: str | Path, *, plan: Plan, segment: Segment, randomness: str) -> None:
    """Write all batches; an existing file is replaced only when the new one is complete."""
    sizes = [given.n_rows for given in segment.given]
    beside: dict[str, ColumnValues] = {
        "batch": np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
        "times": segment.how_often,
    }
    if segment.tokens is not None:
        beside[COLUMN.name] = segment.tokens
    runs = [[len(list(same)), chance] for chance, same in groupby(given.randomness for given in segment.given)]
    report_files.write(
        path,
        plan=plan,
        batch=segment.batch,
        randomness=randomness,
        layout=_LAYOUT if segment.tokens is None else _NAMED,
        beside=beside,
        notes={"batches": json.dumps(runs)},
    )


def read(path: str | Path, *, plan: Plan | None, max_bytes: int | None) -> tuple[Plan, Segment]:
    """The plan, and the batches as one segment; whatever the file holds, only a ``BosketError`` comes out."""
    with report_files.opened(path, plan=plan, max_bytes=max_bytes) as file:
        own = {column.name for column in file.plan.channel.payload.columns}
        layout = _NAMED if COLUMN.name in set(file.names) - own else _LAYOUT
        batch, beside = file.read(layout)
    _check_cap(file, beside["batch"])
    try:
        batch = checked_batch(file.plan, batch)
        tokens = beside.get(COLUMN.name)
        if tokens is not None:
            refuse_repeated([(tokens, file.plan.unit.reports)], path=path)
        times = _times(beside["times"], is_named=tokens is not None)
        _check_numbers(beside["batch"])
        sizes: list[int] = np.bincount(beside["batch"]).tolist() if len(beside["batch"]) else []
        if file.plan.channel.belong_together and len(sizes) > 1:
            raise whole_batch(file.plan)
        chances = _chances(file, len(sizes))
    except RepeatedRespondentError:
        raise
    except DataError as problem:
        raise file.refused(problem) from None
    whole = Segment(file.plan.channel.payload, batch, times, tokens)
    known = zip(sizes, chances, fingerprints_of(whole.marks, times, sizes), strict=True)
    given = [Given(size, chance, fingerprint) for size, chance, fingerprint in known]
    return file.plan, Segment(whole.payload, batch, times, tokens, tuple(given))


def _times(times: Multiplicities, *, is_named: bool) -> Multiplicities | None:
    if max(float(times.sum(dtype=float)) / 2, int(times.sum())) > MOST_RECORDS:  # the former does not overflow
        raise DataError(f"A collection must be of at most {MOST_RECORDS} reports.")
    if times.max(initial=1) == 1:
        return None
    if is_named:
        raise DataError("Reports that name their respondents must have come once each.")
    return times


def _check_numbers(numbers: ColumnValues) -> None:
    """Batches must stand one behind the other, numbered from 0, none left out."""
    steps = np.diff(numbers, prepend=0)
    if len(numbers) and (numbers[0] != 0 or steps.min() < 0 or steps.max() > 1):
        raise DataError("Batches must be numbered from 0 and stand one behind the other.")


def _check_cap(file: ReportFile, numbers: ColumnValues) -> None:
    """Refuse more batches than there is memory for, beside their reports."""
    if file.max_bytes is None or not len(numbers):
        return
    n_batches = min(int(numbers[-1]) + 1, len(numbers))  # whether they are numbered so is looked at next
    columns = (*file.plan.channel.payload.columns, *_OWN)
    needed = len(numbers) * sum(column.memory for column in columns) + n_batches * BATCH_BYTES
    if needed > file.max_bytes:
        raise DataError(
            f"The {n_batches} batches in {file.path} would take {needed} bytes of memory, more than the cap of "
            f"{file.max_bytes}.",
            path=file.path,
            hint="Raise it with max_bytes=..., or take it away with max_bytes=None.",
        )


def _chances(file: ReportFile, n_batches: int) -> list[str]:
    """How the chance of each batch came about: runs of batches with one note, which anyone may have written."""
    what = "the note on batches"
    runs: Sequence[Any] = strict_json.sequence(
        strict_json.parse(file.notes.get("batches", b""), what=what), "batches", of=what
    )
    wrong = DataError("The note on batches must say how the chance of each came about.")
    chances: list[str] = []
    for run in runs:
        number, note = strict_json.sequence(run, "run", of=what, length=2)
        n = strict_json.whole(number, "run", of=what)
        if not 0 < n <= n_batches - len(chances):
            raise wrong
        chances += [chance_said(strict_json.text(note, "chance", of=what).encode())] * n
    if len(chances) != n_batches:
        raise wrong
    return chances
