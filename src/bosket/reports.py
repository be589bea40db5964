"""Randomized records with their plan, in memory and on disk.

On disk: Parquet, a fixed-width binary column ``report`` (bit i of byte j is item 8 j + i), a column ``stratum`` where
the mechanism has strata, and in the schema's metadata the plan as JSON, its digest, and how the chance came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bosket.counting.base import Words
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.duplicates import fingerprint, is_given_twice
from bosket.data import Domain
from bosket.data.atomic import atomic_path
from bosket.errors import DataError, DuplicateReportsError, PlanMismatchError
from bosket.mechanisms.base import Channel, Strata
from bosket.plan import Plan
from bosket.privacy import LocalGuarantee
from bosket.report_files import (
    MAX_BYTES,
    NumberColumn,
    as_bytes,
    check_options,
    has_plan,
    metadata_of,
    notes_of,
    opened,
    plan_of,
    randomness_of,
    read_rows,
)
from bosket.threads import slices

_ROW_GROUP = 1 << 15


class Reports:
    """What the collector holds: randomized records, and the plan they were made under.

    ``randomness`` is ``secure``, or a sentence saying that this is a simulation.  Read from a file, it is a note of
    whoever wrote the file last, and not authenticated: it tells an honest mistake, not a forged study.
    """

    def __init__(self, plan: Plan, bits: Words, *, strata: Strata | None = None, randomness: str) -> None:
        words = -(-len(plan.domain) // 64)
        if bits.dtype != np.uint64 or bits.ndim != 2 or bits.shape[1] != words:
            raise DataError(f"Reports on {len(plan.domain)} items must be rows of {words} words of 64 bits.")
        if strata is not None and len(strata) != len(bits):
            raise DataError(f"Every report needs its stratum: {len(bits)} reports, {len(strata)} strata.")
        if strata is not None and not np.issubdtype(strata.dtype, np.integer):
            raise DataError(f"Strata must be whole numbers, got {strata.dtype}.")
        plan.channel.check_strata(strata)
        if strata is not None and strata.dtype != np.int32:
            strata = strata.astype(np.int32)  # all of them are record sizes, as just seen
        if strata is not None and plan.max_size is not None and int(strata.max(initial=0)) > plan.max_size:
            raise DataError(f"A report states more items than the {plan.max_size} that its plan allows for.")
        spare = len(plan.domain) % 64
        if spare and len(bits) and int(bits[:, -1].max() >> np.uint64(spare)):
            raise DataError(f"A report has more than the {len(plan.domain)} bits of its plan.")
        plan.channel.check_reports(bits, strata)
        self.plan = plan
        self.bits = bits
        self.strata = strata
        self.randomness = randomness
        """``secure``, or a sentence saying that this is a simulation."""
        for array in (self.bits, self.strata):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def concat(cls, parts: Iterable[Reports], *, allow_duplicates: bool = False) -> Reports:
        """Reports of one plan put together, as a collector does; those of another plan are refused.

        So is a batch that is given twice, in whatever order its reports stand, unless ``allow_duplicates``: that does
        not happen by chance, but for a few reports or where nearly all are alike.  Batches that overlap in part are
        not noticed.
        """
        parts = list(parts)
        if not parts:
            raise DataError("There are no reports to put together.")
        if len(parts) > 1 and parts[0].channel.belong_together:
            raise _whole_batch(parts[0].plan)
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
            _refuse_duplicates(parts)
        strata = [part.strata for part in parts if part.strata is not None]
        simulated = [part.randomness for part in parts if part.is_simulation]
        return cls(
            parts[0].plan,
            np.concatenate([part.bits for part in parts]),
            strata=np.concatenate(strata) if strata else None,
            randomness=simulated[0] if simulated else "secure",
        )

    def __getitem__(self, chosen: slice | npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]) -> Reports:
        """Some of the reports: by slice, by truth values, or by numbers."""
        if self.channel.belong_together:
            raise _whole_batch(self.plan)
        if not isinstance(chosen, slice | np.ndarray):
            raise TypeError("Reports are chosen by a slice, or by an array of truth values or of numbers.")
        strata = None if self.strata is None else self.strata[chosen].copy()
        return Reports(self.plan, self.bits[chosen].copy(), strata=strata, randomness=self.randomness)

    @property
    def n_records(self) -> int:
        return len(self.bits)

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def domain(self) -> Domain:
        return self.plan.domain

    @property
    def channel(self) -> Channel:
        return self.plan.channel

    @property
    def guarantee(self) -> LocalGuarantee:
        promise = self.plan.guarantee
        return promise.noting(f"these reports are {self.randomness}") if self.is_simulation else promise

    @property
    def is_simulation(self) -> bool:
        """Whether the chance was seeded: such reports protect nobody.

        Read from a file, this is what the file says, which is not authenticated: whoever holds a file can rewrite it.
        """
        return self.randomness != "secure"

    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Bitmaps:
        """Bitmaps of the reports: of all items, or of those asked for."""
        return Bitmaps.from_rows(self.bits, len(self.domain), strata=self.strata, items=items)

    def write(self, path: str | Path) -> None:
        """Write Parquet; an existing file is replaced only when the new one is complete."""
        if Path(path).suffix.lower() != ".parquet":
            raise DataError(f"Reports are written as Parquet: {path} must end in .parquet.", path=path)
        width = -(-len(self.domain) // 8)
        fields = [pa.field("report", pa.binary(width), nullable=False)]
        if self.strata is not None:
            fields.append(pa.field("stratum", pa.int32(), nullable=False))
        schema = pa.schema(fields, metadata=metadata_of(self.plan, self.randomness, path))
        with (
            atomic_path(path) as temporary,
            pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as writer,
        ):
            for start, stop in slices(max(1, self.n_records), _ROW_GROUP):
                rows = np.ascontiguousarray(as_bytes(self.bits[start:stop])[:, :width])
                columns = [
                    pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])
                ]
                if self.strata is not None:
                    columns.append(pa.array(self.strata[start:stop]))
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))

    @classmethod
    def read(cls, path: str | Path, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Reports:
        """Read reports; with ``plan``, refuse those made under any other.

        The file may be anyone's: its reports are counted as they are read, its plan is read strictly, and they may take
        at most ``max_bytes`` of memory (8 GiB; None for no cap).
        """
        path = Path(path)
        check_options(plan, max_bytes)
        with opened(path) as file:
            notes = notes_of(file)
            found = plan_of(notes, path, expected=plan)
            if "randomized" in file.schema_arrow.names:
                raise DataError(
                    f"{path} holds reports by class, with their labels in the clear.",
                    path=path,
                    hint="Read them with bosket.learning.ByClassReports.read.",
                )
            sizes = NumberColumn("stratum", len(found.domain), "the size of a record as its stratum")
            bits, numbers = read_rows(file, path, plan=found, bits="report", numbers=[sizes], max_bytes=max_bytes)
        try:
            return cls(found, bits, strata=numbers.get("stratum"), randomness=randomness_of(notes))
        except DataError as problem:
            raise DataError(f"The reports in {path} cannot be of their plan: {problem}", path=path) from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Reports)
            and self.plan.digest == other.plan.digest
            and np.array_equal(self.bits, other.bits)
            and (self.strata is None) == (other.strata is None)
            and (self.strata is None or other.strata is None or np.array_equal(self.strata, other.strata))
        )

    __hash__ = None  # type: ignore[assignment]  # large and array-like: not a key

    def __repr__(self) -> str:
        return f"Reports({self.n_records} records, {self.plan}, {self.randomness})"


def is_report_file(path: str | Path) -> bool:
    """Whether a file is Parquet with a bosket plan in it; nothing that a file may hold makes this fail."""
    return has_plan(path)


def _whole_batch(plan: Plan) -> DataError:
    return DataError(
        f"Reports of {plan.mechanism} can be estimated from only batch by batch: they cannot be put together or taken "
        "apart.",
        hint="Mix all records at once.",
    )


def _refuse_duplicates(parts: list[Reports]) -> None:
    """Refuse a batch that stands twice among these."""
    seen: dict[tuple[int, int], list[int]] = {}
    for number, part in enumerate(parts, 1):
        alike = seen.setdefault(fingerprint(part.bits, part.strata), [])  # fingerprints can be forged
        for earlier in alike:
            other = parts[earlier - 1]
            if not is_given_twice((other.bits, other.strata), (part.bits, part.strata)):
                continue
            raise DuplicateReportsError(
                f"Batch {number} holds the same {len(part)} reports as batch {earlier}, which does not happen by "
                "chance: it was given twice.",
                parts=(earlier, number),
                hint="Leave one of them out; allow_duplicates=True (--allow-duplicates) counts both.",
            )
        alike.append(number)
