"""Columns of reports: what stands in memory, in Arrow and in bytes, and which values there can be.

A column is packed bits, whole numbers or tokens.  In the bytes of a report every column has a fixed width: bit i of
byte j is the bit 8 j + i, numbers are little-endian in the width of their type, and tokens are filled up with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Words
from bosket.counting.distinct_rows import ByteRows as ByteRows
from bosket.errors import DataError
from bosket.threads import slices

ColumnValues = npt.NDArray[Any]
"""The values of a column: a row, a number or a token for each report."""

LONGEST_TOKEN = 64
"""Most characters of a token."""
_ORDER = 16  # bytes of a token's place and of the room for sorting, while tokens are compared
_ROWS_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class Bits:
    """Packed bits, a row of words in memory and a fixed-width binary in Arrow."""

    name: str
    n_bits: int

    @property
    def width(self) -> int:
        """Bytes of one value."""
        return -(-self.n_bits // 8)

    @property
    def memory(self) -> int:
        """Bytes of one value in memory."""
        return 8 * self._words

    @property
    def _words(self) -> int:
        return -(-self.n_bits // 64)

    @property
    def must(self) -> str:
        return f"{self.n_bits} bits"

    @property
    def kind(self) -> str:
        """What an Arrow column must hold, for messages."""
        return f"{self.width} bytes for each report"

    def room(self, n: int) -> Words:
        """Values of no bits."""
        return np.zeros((n, self._words), np.uint64)

    def checked(self, values: ColumnValues) -> Words:
        """The values themselves; refused where they are not rows of this many bits."""
        if values.dtype != np.uint64 or values.ndim != 2 or values.shape[1] != self._words:
            raise DataError(f"Reports of {self.n_bits} bits must be rows of {self._words} words of 64 bits.")
        spare = self.n_bits % 64
        if spare and len(values) and int(values[:, -1].max() >> np.uint64(spare)):
            raise DataError(f"A report has more than the {self.n_bits} bits of its plan.")
        return values

    def to_rows(self, values: Words) -> ByteRows:
        words = np.ascontiguousarray(values)
        return words.view(np.uint8).reshape(len(words), self.memory)[:, : self.width]

    def from_rows(self, rows: ByteRows) -> Words:
        values = self.room(len(rows))
        values.view(np.uint8).reshape(len(rows), self.memory)[:, : self.width] = rows
        return values

    def arrow_type(self) -> Any:
        import pyarrow as pa  # slow to import

        return pa.binary(self.width)

    def takes(self, kind: Any) -> bool:
        """Whether an Arrow column of this type can be read."""
        return bool(kind == self.arrow_type())

    def to_arrow(self, values: Words) -> Any:
        import pyarrow as pa  # slow to import

        rows = np.ascontiguousarray(self.to_rows(values))
        return pa.FixedSizeBinaryArray.from_buffers(self.arrow_type(), len(rows), [None, pa.py_buffer(rows)])

    def from_arrow(self, column: Any) -> Words | None:
        """The values of an Arrow column that is not empty; None where one is missing."""
        if column.null_count:
            return None
        n = len(column)
        found = np.frombuffer(column.buffers()[1], np.uint8)[column.offset * self.width :][: n * self.width]
        return self.from_rows(found.reshape(n, self.width))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Whole numbers from ``least`` to ``most``; ``must`` says what they are, for messages.

    ``dtype`` is their type in memory, in bytes and in Arrow; it must hold ``most``.
    """

    name: str
    most: int
    must: str
    dtype: str = "int32"
    least: int = 0

    def __post_init__(self) -> None:
        limits = np.iinfo(self.dtype)
        assert limits.min <= self.least <= self.most <= limits.max, "the type must hold all numbers"

    @property
    def width(self) -> int:
        """Bytes of one value."""
        return np.dtype(self.dtype).itemsize

    @property
    def memory(self) -> int:
        """Bytes of one value in memory."""
        return self.width

    @property
    def kind(self) -> str:
        """What an Arrow column must hold, for messages."""
        return "whole numbers"

    def room(self, n: int) -> ColumnValues:
        return np.zeros(n, self.dtype)

    def holds(self, values: ColumnValues) -> bool:
        """Whether all values, of any type of whole numbers, are in the range."""
        return not len(values) or (int(values.min()) >= self.least and int(values.max()) <= self.most)

    def checked(self, values: ColumnValues) -> ColumnValues:
        """The values in the column's type; refused where they are no such numbers."""
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise DataError(f"The column '{self.name}' of reports must hold whole numbers, got {values.dtype}.")
        if not self.holds(values):
            raise DataError(f"A report must have {self.must}.")
        return values.astype(self.dtype, copy=False)

    def to_rows(self, values: ColumnValues) -> ByteRows:
        numbers = np.ascontiguousarray(values, np.dtype(self.dtype).newbyteorder("<"))
        return numbers.view(np.uint8).reshape(len(numbers), self.width)

    def from_rows(self, rows: ByteRows) -> ColumnValues:
        numbers = np.ascontiguousarray(rows).view(np.dtype(self.dtype).newbyteorder("<"))
        return numbers.reshape(len(rows)).astype(self.dtype)

    def arrow_type(self) -> Any:
        import pyarrow as pa  # slow to import

        return pa.from_numpy_dtype(np.dtype(self.dtype))

    def takes(self, kind: Any) -> bool:
        """Whether an Arrow column of this type can be read: whole numbers of any width are the same numbers."""
        import pyarrow as pa  # slow to import

        return bool(pa.types.is_integer(kind))

    def to_arrow(self, values: ColumnValues) -> Any:
        import pyarrow as pa  # slow to import

        return pa.array(values)

    def from_arrow(self, column: Any) -> ColumnValues | None:
        """The values of an Arrow column that is not empty; None where one is missing or out of range."""
        if column.null_count:
            return None
        values: ColumnValues = column.to_numpy(zero_copy_only=False)
        return values if len(values) == len(column) and self.holds(values) else None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words of 1 to 64 visible ASCII characters, fixed-width binaries in Arrow that are filled up with zeros.

    The width is fixed so that no file can hold a longer one.
    """

    name: str

    @property
    def width(self) -> int:
        """Bytes of one value."""
        return LONGEST_TOKEN

    @property
    def memory(self) -> int:
        """Bytes of one value in memory, and of its place among all, by which those that are alike are found."""
        return LONGEST_TOKEN + _ORDER

    @property
    def must(self) -> str:
        return f"a token of 1 to {LONGEST_TOKEN} visible ASCII characters as its {self.name}"

    @property
    def kind(self) -> str:
        """What an Arrow column must hold, for messages."""
        return f"{LONGEST_TOKEN} bytes for each report"

    def room(self, n: int) -> ColumnValues:
        return np.zeros(n, f"S{LONGEST_TOKEN}")

    def checked(self, values: ColumnValues) -> ColumnValues:
        """The values themselves; refused where one is no token."""
        if values.ndim != 1 or values.dtype != np.dtype(f"S{LONGEST_TOKEN}") or not _are_tokens(self.to_rows(values)):
            raise DataError(f"A report must have {self.must}.")
        return values

    def to_rows(self, values: ColumnValues) -> ByteRows:
        return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), LONGEST_TOKEN)

    def from_rows(self, rows: ByteRows) -> ColumnValues:
        return np.ascontiguousarray(rows).view(f"S{LONGEST_TOKEN}").reshape(len(rows)).copy()

    def arrow_type(self) -> Any:
        import pyarrow as pa  # slow to import

        return pa.binary(LONGEST_TOKEN)

    def takes(self, kind: Any) -> bool:
        """Whether an Arrow column of this type can be read."""
        return bool(kind == self.arrow_type())

    def to_arrow(self, values: ColumnValues) -> Any:
        import pyarrow as pa  # slow to import

        rows = self.to_rows(values)
        return pa.FixedSizeBinaryArray.from_buffers(self.arrow_type(), len(rows), [None, pa.py_buffer(rows)])

    def from_arrow(self, column: Any) -> ColumnValues | None:
        """The values of an Arrow column that is not empty; None where one is missing or no token."""
        if column.null_count:
            return None
        n = len(column)
        found = np.frombuffer(column.buffers()[1], np.uint8)[column.offset * self.width :][: n * self.width]
        rows = found.reshape(n, self.width)
        return self.from_rows(rows) if _are_tokens(rows) else None


def _are_tokens(rows: ByteRows) -> bool:
    """Whether each row is visible ASCII characters, at least one, and after the last of them zeros alone."""
    return all(_are_few_tokens(rows[start:stop]) for start, stop in slices(len(rows), _ROWS_AT_ONCE))


def _are_few_tokens(rows: ByteRows) -> bool:
    is_sign = (rows >= ord("!")) & (rows <= ord("~"))
    return bool(is_sign[:, 0].all() and (is_sign | (rows == 0)).all() and (is_sign[:, :-1] >= is_sign[:, 1:]).all())


PayloadColumn = Bits | Numbers | Tokens
