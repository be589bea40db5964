"""Report files that anyone may have written: what is counted is what was read, and nothing else is believed.

A footer's number of rows decides nothing but a refusal: rows are read in batches, counted as they come, and room is
made for those that came.  Columns must be the ones that such a file has, of their types; numbers are checked before
they are stored in 32 bits.  Both kinds of reports are read here, plain ones and those by class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bosket import strict_json
from bosket._version import __version__
from bosket.checks import check_integer, shown
from bosket.counting.base import Words
from bosket.errors import BosketError, DataError, ParameterError, PlanMismatchError
from bosket.plan import Plan

MAX_BYTES = 8 << 30
"""Most memory that reports take when read, unless told otherwise: 8 GiB."""
MOST_ROW_GROUPS = 1 << 16

_PREFIX = b"bosket."
_BATCH_BYTES = 1 << 24
_BATCH_ROWS = 1 << 15
_LONGEST_NOTE = 200
_FOREIGN = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)
"""What opening and reading a broken file may raise."""

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class NumberColumn:
    """A column of whole numbers from 0 to ``most``; ``must`` says what they are, for messages."""

    name: str
    most: int
    must: str


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A Parquet file; whatever is wrong with it is said without quoting it."""
    fault = None
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except BosketError:
        raise
    except FileNotFoundError:
        fault = f"There is no file {path}."
    except _FOREIGN as problem:
        name = type(problem).__name__
        fault = f"{path} cannot be read as Parquet: it is not, or it was cut short ({name})."
    if fault is not None:
        raise DataError(fault, path=path)


def has_plan(path: str | Path) -> bool:
    """Whether a file is Parquet with a bosket plan in it."""
    try:
        with pq.ParquetFile(path) as file:
            return b"bosket.plan" in (file.schema_arrow.metadata or {})
    except _FOREIGN:
        return False


def notes_of(file: Any) -> dict[str, bytes]:
    """What the file says of itself in bosket's words: ``plan``, ``digest``, ``randomness``, ``version``, ``label``."""
    metadata: Mapping[bytes, bytes] = file.schema_arrow.metadata or {}
    return {
        key.removeprefix(_PREFIX).decode("ascii", "replace"): value
        for key, value in metadata.items()
        if key.startswith(_PREFIX)
    }


def metadata_of(plan: Plan, randomness: str, path: str | Path) -> dict[str, str]:
    """What a file is to say of itself; a plan too long to be read back is refused."""
    most = strict_json.MOST_CHARACTERS
    if len(plan.json.encode()) > most:
        raise DataError(
            f"Cannot write {path}: its plan would take more than {most} bytes, and could not be read back.",
            path=path,
            hint="Declare fewer items, or shorter labels.",
        )
    return {
        "bosket.plan": plan.json,
        "bosket.digest": plan.digest,
        "bosket.randomness": randomness,
        "bosket.version": __version__,
    }


def check_options(plan: object, max_bytes: object) -> None:
    """Refuse what is given for a plan and is none, and likewise of the cap."""
    if max_bytes is not None:
        check_integer("max_bytes", max_bytes, least=1)
    if plan is not None and not isinstance(plan, Plan):
        raise ParameterError(
            f"The 'plan' parameter must be a Plan, got a {type(plan).__name__}.",
            parameter="plan",
            value=plan,
            hint="Read one with Plan.from_json(text).",
        )


def plan_of(notes: Mapping[str, bytes], path: Path, *, expected: Plan | None) -> Plan:
    """The plan that the file holds; with ``expected``, refused if it is another."""
    if "plan" not in notes:
        raise DataError(
            f"{path} does not hold reports: it has no plan.",
            path=path,
            hint="Raw baskets are read with bosket.Baskets.read.",
        )
    try:
        plan = Plan.from_json(notes["plan"])
    except BosketError as problem:
        raise DataError(f"The plan in {path} cannot be used: {problem}", path=path, hint=problem.hint) from None
    if plan.digest.encode() != notes.get("digest"):
        raise PlanMismatchError(f"The plan in {path} does not match its digest.", path=path)
    if expected is not None and expected.digest != plan.digest:
        raise PlanMismatchError(
            f"The reports in {path} were made under plan {plan.digest[:12]}, not under {expected.digest[:12]}.",
            path=path,
        )
    return plan


def randomness_of(notes: Mapping[str, bytes]) -> str:
    """How the chance came about, as the file says: ``secure``, or one line that anyone may have written."""
    note = notes.get("randomness", b"")
    if note == b"secure":
        return "secure"
    text = note[: 4 * _LONGEST_NOTE].decode("utf-8", "replace")
    line = "".join(letter if letter.isprintable() else " " for letter in text)[:_LONGEST_NOTE].strip()
    return "unknown" if line in ("", "secure") else line


def read_rows(
    file: Any,
    path: Path,
    *,
    plan: Plan,
    bits: str,
    numbers: Sequence[NumberColumn],
    max_bytes: int | None,
) -> tuple[Words, dict[str, Numbers]]:
    """The packed reports in the column ``bits``, and the columns of numbers that the file has, row by row.

    ``max_bytes`` is the most memory that they may take, by what the footer claims and by what is read.
    """
    present = _columns(file.schema_arrow, path, plan, bits, numbers)
    store = _Store(path, len(plan.domain), present, _claimed(file.metadata, path), max_bytes)
    names = [bits, *(column.name for column in present)]
    size = max(1, min(_BATCH_ROWS, _BATCH_BYTES // store.width))
    for batch in file.iter_batches(batch_size=size, columns=names, use_threads=False):
        batch.validate()
        store.add(batch, bits)
    return store.finished()


def _columns(schema: Any, path: Path, plan: Plan, bits: str, numbers: Sequence[NumberColumn]) -> list[NumberColumn]:
    """The columns of numbers that the file has; one that does not belong there is refused."""
    names = schema.names
    width = -(-len(plan.domain) // 8)
    if names.count(bits) != 1 or schema.field(bits).type != pa.binary(width):
        raise DataError(
            f"The reports in {path} do not have the {len(plan.domain)} bits of their plan, in one column '{bits}'.",
            path=path,
        )
    known = {column.name: column for column in numbers}
    for name in names:
        if name != bits and (name not in known or names.count(name) != 1):
            raise DataError(
                f"A file of reports must have the columns {', '.join([bits, *known])}, each once, and no other; {path} "
                f"has {shown(name)}.",
                path=path,
            )
    for name in known.keys() & set(names):
        if not pa.types.is_integer(schema.field(name).type):
            raise DataError(f"The column '{name}' of {path} must hold whole numbers.", path=path)
    return [column for column in numbers if column.name in names]


def _claimed(metadata: Any, path: Path) -> int:
    """How many reports the footer claims there are; its row groups must agree on it.

    Counts of single columns are left to the reader: asking pyarrow for them can end the process, where they are broken.
    A footer that agrees with itself on fewer reports hides the others, as does leaving them out.
    """
    if metadata.num_row_groups > MOST_ROW_GROUPS:
        raise DataError(
            f"A file of reports must have at most {MOST_ROW_GROUPS} row groups, {path} has {metadata.num_row_groups}.",
            path=path,
            hint="Write it again with larger ones.",
        )
    groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    claimed = int(metadata.num_rows)
    if min(groups, default=0) < 0 or sum(groups) != claimed:
        raise _miscounted(path)
    return claimed


def _miscounted(path: Path) -> DataError:
    return DataError(f"The footer of {path} claims another number of reports than the file holds.", path=path)


class _Store:
    """Room for reports, which grows with those that have been read and not with those that are claimed."""

    def __init__(
        self, path: Path, n_items: int, columns: Sequence[NumberColumn], claimed: int, cap: int | None
    ) -> None:
        self.path, self.columns, self.claimed, self.cap = path, columns, claimed, cap
        self.width = -(-n_items // 8)
        self._words = -(-n_items // 64)
        self._bits = np.zeros((0, self._words), np.uint64)
        self._numbers = {column.name: np.zeros(0, np.int32) for column in columns}
        self._n = 0
        self._check_cap(claimed)

    def _check_cap(self, rows: int) -> None:
        needed = rows * (8 * self._words + 4 * len(self.columns))
        if self.cap is not None and needed > self.cap:
            raise DataError(
                f"The reports in {self.path} would take {needed} bytes of memory, more than the cap of {self.cap}.",
                path=self.path,
                hint="Raise it with max_bytes=... (--max-bytes), or take it away with max_bytes=None.",
            )

    def add(self, batch: Any, name: str) -> None:
        """Store the rows of a batch, whose columns are checked."""
        n, start, stop = batch.num_rows, self._n, self._n + batch.num_rows
        if stop > self.claimed:
            raise _miscounted(self.path)
        if n == 0:
            return
        self._check_cap(stop)
        self._make_room(stop)
        column = batch.column(name)
        if column.null_count:
            raise DataError(f"A report in {self.path} is missing.", path=self.path)
        rows = np.frombuffer(column.buffers()[1], np.uint8)[column.offset * self.width :][: n * self.width]
        as_bytes(self._bits[start:stop])[:, : self.width] = rows.reshape(n, self.width)
        for known in self.columns:
            self._numbers[known.name][start:stop] = self._checked(batch.column(known.name), known)
        self._n = stop

    def _checked(self, column: Any, known: NumberColumn) -> npt.NDArray[np.integer[Any]]:
        """Numbers in their range, which 32 bits can hold."""
        values: npt.NDArray[np.integer[Any]] = np.empty(0, np.int32)
        if column.null_count == 0:
            values = column.to_numpy(zero_copy_only=False)
        if len(values) != len(column) or values.min() < 0 or values.max() > known.most:
            raise DataError(f"A report in {self.path} must have {known.must}.", path=self.path)
        return values

    def _make_room(self, rows: int) -> None:
        """At most twice what has been read, and no more than is claimed."""
        if rows <= len(self._bits):
            return
        room = max(rows, min(2 * len(self._bits), self.claimed))
        self._bits.resize((room, self._words), refcheck=False)  # in place where the system can: no second copy
        for values in self._numbers.values():
            values.resize(room, refcheck=False)

    def finished(self) -> tuple[Words, dict[str, Numbers]]:
        if self._n != self.claimed:
            raise _miscounted(self.path)
        return self._bits, self._numbers


def as_bytes(bits: Words) -> npt.NDArray[np.uint8]:
    """Packed reports, eight items to a byte."""
    return bits.view(np.uint8).reshape(len(bits), 8 * bits.shape[1])
