"""Bitmaps in files, counted segment by segment: they take the memory of the columns of one segment that are asked for.

A segment file is the columns of :class:`~bosket.counting.bitmaps.Bitmaps` one behind the other and nothing else, so
that a column is one run of bytes.  What it holds is noted beside it, with a checksum; a file of another length is
refused.

Files are mapped into memory while they are counted, so that kernels read what the system has of a file where it lies:
all cores do, and nothing is copied.  Reading into memory of the process first takes two to three times as long.  While
one is counted the system is told to read the next.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.shards import added
from bosket.errors import DataError

_AT_ONCE = 1 << 22  # bytes of a file that are looked at together
_ANNOUNCED = 1 << 17  # bytes that a system surely reads when it is told that they are wanted


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

    def bitmaps(self, items: npt.NDArray[np.int32]) -> Bitmaps:
        """The bitmaps, mapped while they are in use; of some items, sorted, columns are looked at."""
        columns = np.zeros((self.n_items, 0), np.uint64)
        if self.n_bytes:
            columns = np.frombuffer(self._mapped(items), np.uint64).reshape(self.n_items, self.n_words)
        return Bitmaps(columns, strata=self.strata, stratum_records=self.stratum_records)

    def _mapped(self, items: npt.NDArray[np.int32]) -> mmap.mmap:
        """The file, which nobody writes to; a mapping for reading alone would have all kernels compiled once more."""
        try:
            with self.path.open("rb", buffering=0) as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError):  # a ValueError where it is empty
            raise _spoilt(self.path) from None
        if len(mapped) != self.n_bytes:
            raise _spoilt(self.path)
        if 2 * len(items) < self.n_items and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_RANDOM)  # a system reads what lies between their columns too, otherwise
        return mapped

    def announce(self, items: npt.NDArray[np.int32]) -> None:
        """Have the system read the columns of some items that it has not: it goes on while something else is counted.

        Errors are left to who counts.
        """
        if not hasattr(mmap.mmap, "madvise") or not self.n_bytes:
            return
        width = 8 * self.n_words
        with (
            suppress(OSError, ValueError),
            self.path.open("rb", buffering=0) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        ):
            for item in items.tolist():
                start, stop = item * width, (item + 1) * width
                if _is_at_hand(file.fileno(), start) and _is_at_hand(file.fileno(), stop - 1):
                    continue
                for at in range(start // mmap.PAGESIZE * mmap.PAGESIZE, stop, _ANNOUNCED):
                    mapped.madvise(mmap.MADV_WILLNEED, at, min(_ANNOUNCED, stop - at))


@dataclass(frozen=True)
class _Segment:
    """A counter of one segment, which is mapped when it is asked, while the system reads the one after it.

    Kernels look at some words of all columns, then at the next: a system that reads what is near keeps them waiting.
    """

    file: BitmapFile
    items: npt.NDArray[np.int32]
    after: BitmapFile | None

    @property
    def strata(self) -> tuple[int, ...]:
        return self.file.strata

    @property
    def n_records(self) -> int:
        return self.file.n_records

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        if self.after is not None:
            self.after.announce(self.items)
        return self.file.bitmaps(self.items).supports(itemsets, on_progress=on_progress)


class DiskBitmaps:
    """A :class:`~bosket.counting.base.Counter` over segments in files, one in memory at a time."""

    def __init__(self, files: Sequence[BitmapFile], refuse_closed: Callable[[], None] = lambda: None) -> None:
        """``refuse_closed`` is called before every look: it refuses where the files were removed on purpose.

        Held by it, whatever removes a temporary folder at its end lives as long as this counter.
        """
        self.files, self._refuse_closed = tuple(files), refuse_closed
        refuse_closed()
        self.strata = tuple(sorted({stratum for file in files for stratum in file.strata})) or (0,)
        self.n_records = sum(file.n_records for file in files)
        for file in files:
            file.check()

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        self._refuse_closed()
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
        self.files[0].announce(items)
        parts = [_Segment(file, items, after) for file, after in zip(self.files, [*self.files[1:], None], strict=True)]
        return added(self.strata, parts, [1] * len(parts), itemsets, on_progress)


def _is_at_hand(handle: int, at: int) -> bool:
    """Whether the system has this byte of a file in memory; False where it does not say."""
    try:
        return os.preadv(handle, [bytearray(1)], at, os.RWF_NOWAIT) == 1
    except (OSError, AttributeError):  # not on macOS or Windows
        return False


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
