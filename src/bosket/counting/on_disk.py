"""Bitmaps in files, counted segment by segment: they take the memory of the columns of one segment that are asked for.

A segment file is the columns of :class:`~bosket.counting.bitmaps.Bitmaps` one behind the other and nothing else, so
that a column is one run of bytes.  What it holds is noted beside it, with a checksum; a file of another length is
refused.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows, Words
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.shards import added
from bosket.errors import DataError

_AT_ONCE = 1 << 22  # bytes of a file that are looked at together


@dataclass(frozen=True)
class BitmapFile:
    """A segment: where it is, and what it holds."""

    path: Path
    n_items: int
    strata: tuple[int, ...]
    stratum_records: tuple[int, ...]

    @property
    def n_records(self) -> int:
        return sum(self.stratum_records)

    @property
    def n_words(self) -> int:
        """Words of a column."""
        return sum(-(-size // 64) for size in self.stratum_records)

    @property
    def n_bytes(self) -> int:
        return 8 * self.n_items * self.n_words

    def check(self) -> None:
        """Refuse a file that is not there, or of another length."""
        if not self.path.is_file() or self.path.stat().st_size != self.n_bytes:
            raise _spoilt(self.path)

    def checksum(self, start: int = 0) -> int:
        """CRC-32 of what the file holds, behind what has this one."""
        return file_checksum(self.path, start)

    def bitmaps(self, items: npt.NDArray[np.int32], into: Words | None = None) -> Bitmaps:
        """The bitmaps of some items, sorted; ``into`` is room for their columns, one behind the other."""
        into = np.empty(len(items) * self.n_words, np.uint64) if into is None else into
        columns = into[: len(items) * self.n_words].reshape(len(items), self.n_words)
        self._read(items, columns)
        return Bitmaps(columns, strata=self.strata, stratum_records=self.stratum_records, items=items)

    def _read(self, items: npt.NDArray[np.int32], columns: Words) -> None:
        """Read the columns of some items, those that stand together at once."""
        starts = np.flatnonzero(np.diff(items, prepend=-2) != 1).tolist()
        try:
            with self.path.open("rb", buffering=0) as file:
                for start, stop in zip(starts, [*starts[1:], len(items)], strict=True):
                    file.seek(8 * self.n_words * int(items[start]))
                    self._fill(memoryview(columns[start:stop].reshape(-1).view(np.uint8)), file)  # type: ignore[arg-type]  # a buffer
        except OSError:
            raise _spoilt(self.path) from None

    def _fill(self, room: memoryview, file: io.FileIO) -> None:
        while len(room):
            n = file.readinto(room)
            if not n:
                raise _spoilt(self.path)
            room = room[n:]


@dataclass(frozen=True)
class _Segment:
    """A counter of one segment that reads into room which others use after it.

    Fresh memory for each would be given by the system a page at a time, which takes a third of the time of reading.
    """

    file: BitmapFile
    items: npt.NDArray[np.int32]
    into: Words

    @property
    def strata(self) -> tuple[int, ...]:
        return self.file.strata

    @property
    def n_records(self) -> int:
        return self.file.n_records

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        return self.file.bitmaps(self.items, self.into).supports(itemsets, on_progress=on_progress)


class DiskBitmaps:
    """A :class:`~bosket.counting.base.Counter` over segments in files, one in memory at a time."""

    def __init__(self, files: Sequence[BitmapFile]) -> None:
        self.files = tuple(files)
        self.strata = tuple(sorted({stratum for file in files for stratum in file.strata})) or (0,)
        self.n_records = sum(file.n_records for file in files)
        for file in files:
            file.check()

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        if itemsets.shape[1] == 0:
            records = dict.fromkeys(self.strata, 0)
            for file in self.files:
                for stratum, number in zip(file.strata, file.stratum_records, strict=True):
                    records[stratum] += number
            every = np.array([records[stratum] for stratum in self.strata], np.int64)
            return np.repeat(every[:, None], len(itemsets), axis=1)
        if not len(itemsets):
            return np.zeros((len(self.strata), 0), np.int64)
        items = np.unique(itemsets).astype(np.int32)
        into = np.empty(len(items) * max((file.n_words for file in self.files), default=0), np.uint64)
        parts = [_Segment(file, items, into) for file in self.files]
        return added(self.strata, parts, [1] * len(parts), itemsets, on_progress)


def write_columns(bitmaps: Bitmaps, path: Path, start: int = 0) -> int:
    """Write the columns of bitmaps; their CRC-32, behind what has this one."""
    return write_arrays([bitmaps.columns], path, start)


def write_arrays(arrays: Iterable[npt.NDArray[Any]], path: Path, start: int = 0) -> int:
    """Write the numbers of arrays one behind the other; their CRC-32, behind what has this one."""
    result = start
    with path.open("wb", buffering=0) as file:
        for array in arrays:
            room = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # a buffer
            while len(room):
                n = file.write(room[:_AT_ONCE])
                result = zlib.crc32(room[:n], result)
                room = room[n:]
    return result


def file_checksum(path: Path, start: int = 0) -> int:
    """CRC-32 of what a file holds, behind what has this one."""
    result, room = start, bytearray(_AT_ONCE)
    try:
        with path.open("rb", buffering=0) as file:
            while n := file.readinto(room):
                result = zlib.crc32(memoryview(room)[:n], result)
    except OSError:
        raise _spoilt(path) from None
    return result


def _spoilt(path: Path) -> DataError:
    return DataError(
        f"The segment {path} is not as it was written.", path=path, hint="Remove the scratch folder, and open again."
    )
