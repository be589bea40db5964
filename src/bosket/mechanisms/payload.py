"""What one report is: its columns, its bytes, which reports there can be, and how many of them are counted.

A mechanism's channel names its :class:`Payload`.  Packed bits, with the stratum of each report where the channel has
strata, are the default; a question with its answer, or the seed of a hash function with a value, are others.  A payload
states its columns and makes a counter of a batch; files, bytes, validation and tallies follow from the columns.

A counter answers by stratum.  Strata are whole numbers that only the channel understands: the true size of a record,
the number of a question.  ``Channel.record_size`` says which of them stand for sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter, Strata, Words
from bosket.counting.bitmaps import Bitmaps
from bosket.errors import DataError
from bosket.mechanisms.columns import Bits, ByteRows, ColumnValues, Numbers, PayloadColumn

Chosen = slice | npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports as named columns of one length, which cannot be changed."""

    columns: Mapping[str, ColumnValues]

    def __post_init__(self) -> None:
        columns = {name: np.asarray(values) for name, values in self.columns.items()}
        lengths = {name: len(values) if values.ndim else 0 for name, values in columns.items()}
        if len(set(lengths.values())) != 1 or not all(values.ndim for values in columns.values()):
            shown = ", ".join(f"{length} of '{name}'" for name, length in lengths.items())
            raise DataError(f"Every report needs a value in every column, got {shown or 'no columns'}.")
        for values in columns.values():
            values.flags.writeable = False
        object.__setattr__(self, "columns", MappingProxyType(columns))

    @classmethod
    def concat(cls, parts: Iterable[Batch]) -> Batch:
        """Batches of one payload, one after the other."""
        parts = list(parts)
        return cls({name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns})

    def take(self, chosen: Chosen) -> Batch:
        """Some of the reports, copied: by slice, by truth values, or by numbers."""
        is_view = isinstance(chosen, slice)
        return Batch(
            {name: values[chosen].copy() if is_view else values[chosen] for name, values in self.columns.items()}
        )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> ColumnValues:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Batch)
            and self.columns.keys() == other.columns.keys()
            and all(np.array_equal(values, other[name]) for name, values in self.columns.items())
        )

    __hash__ = None  # type: ignore[assignment]  # large and array-like: not a key

    def __reduce__(self) -> tuple[Any, ...]:
        return Batch, (dict(self.columns),)


class Payload(ABC):
    """What a report of a channel is."""

    @property
    @abstractmethod
    def columns(self) -> tuple[PayloadColumn, ...]:
        """The columns of a report, in the order in which files and bytes have them."""

    @abstractmethod
    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports of a batch show: of all items, or at least of those asked for."""

    def strata(self, batch: Batch) -> npt.NDArray[np.integer[Any]] | None:
        """The stratum of each report, as the counter names it; None where all are of one."""
        return None

    @property
    def fields(self) -> tuple[Any, ...]:
        """The Arrow fields of a report."""
        import pyarrow as pa  # slow to import

        return tuple(pa.field(column.name, column.arrow_type(), nullable=False) for column in self.columns)

    @property
    def width(self) -> int:
        """Bytes of one report."""
        return sum(column.width for column in self.columns)

    def checked(self, batch: Batch) -> Batch:
        """The batch with every column in its type; refused where a column or a value is none of this payload."""
        names = [column.name for column in self.columns]
        if set(batch.columns) != set(names):
            got = ", ".join(batch.columns)
            raise DataError(f"Reports of this mechanism must have the columns {', '.join(names)}, got {got}.")
        return Batch({column.name: column.checked(batch[column.name]) for column in self.columns})

    def to_rows(self, batch: Batch) -> ByteRows:
        """The bytes of each report: shape (n, width)."""
        rows = np.empty((len(batch), self.width), np.uint8)
        start = 0
        for column in self.columns:
            rows[:, start : start + column.width] = column.to_rows(batch[column.name])
            start += column.width
        return rows

    def from_rows(self, rows: ByteRows) -> Batch:
        """The reports with these bytes; refused where there are no such reports."""
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != self.width:
            raise DataError(f"The bytes of reports of this mechanism must be rows of {self.width}.")
        found, start = {}, 0
        for column in self.columns:
            found[column.name] = column.from_rows(rows[:, start : start + column.width])
            start += column.width
        return self.checked(Batch(found))

    def to_bytes(self, batch: Batch) -> bytes:
        """The bytes of all reports, one after the other."""
        return self.to_rows(batch).tobytes()

    def from_bytes(self, data: bytes) -> Batch:
        """The reports of :meth:`to_bytes`; refused where there are no such reports."""
        if len(data) % self.width:
            raise DataError(f"The bytes of reports must be a multiple of {self.width}, got {len(data)}.")
        return self.from_rows(np.frombuffer(data, np.uint8).reshape(-1, self.width))


@dataclass(frozen=True, slots=True)
class PackedBits(Payload):
    """A bit for each item, and the stratum of the report where there are several.

    n_items  bits of a report
    most     the largest stratum; None where there is but one
    must     what a stratum is, for messages
    """

    n_items: int
    most: int | None = None
    must: str = "a stratum of its mechanism"

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        bits = Bits("report", self.n_items)
        return (bits,) if self.most is None else (bits, Numbers("stratum", self.most, self.must))

    @staticmethod
    def batch(bits: Words, strata: Strata | None) -> Batch:
        """Reports from their bits, and their strata if there are any."""
        return Batch({"report": bits} if strata is None else {"report": bits, "stratum": strata})

    def checked(self, batch: Batch) -> Batch:
        if "report" in batch and self.most is None and "stratum" in batch:
            raise DataError("These reports name strata, which their mechanism does not have.")
        if "report" in batch and self.most is not None and "stratum" not in batch:
            raise DataError("These reports lack their strata, which their mechanism has.")
        return Payload.checked(self, batch)

    def strata(self, batch: Batch) -> Strata | None:
        return batch.columns.get("stratum")

    def bitmap_bytes(self, batch: Batch) -> int:
        """What the bitmaps of reports take: every stratum begins a word of 64 reports in the column of every item."""
        strata = self.strata(batch)
        sizes = np.array([len(batch)]) if strata is None else np.unique(strata, return_counts=True)[1]
        return 8 * self.n_items * int((-(-sizes // 64)).sum())

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> Bitmaps:
        """Bitmaps of the reports."""
        return Bitmaps.from_rows(batch["report"], self.n_items, strata=self.strata(batch), items=items)
