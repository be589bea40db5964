"""Segments of raw records in a scratch folder: sizes of records and codes of items, written whole or not at all.

A segment has a note with a checksum of all that it holds, written last.  One that is not what its note says is written
again, and all after it: a note has the checksum of the one before, so that segments of two passes, which may cut the
records in other places, are not taken for those of one.  What a sound checksum does not show, that somebody made the
folder up, is looked for where codes are read: none may stand for an item that there is not.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket import strict_json
from bosket.counting.on_disk import file_checksum, write_arrays
from bosket.data.domain import label_to_json, labels_from_json
from bosket.disk.folders import asked, is_file, small_file
from bosket.disk.scratch import Scratch
from bosket.errors import BosketError, DataError
from bosket.threads import slices

_WIDTHS: dict[int, type[np.integer[Any]]] = {4: np.int32, 8: np.int64}
_LABELS_A_LINE = 1 << 12
ItemCodes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class SegmentNote:
    """What a segment holds, and where in the files the next one begins.

    width       bytes of a code
    n_distinct  different codes
    n_labels    labels that codes stand for up to its end; those that it adds are beside it
    before      the checksum of the segment before it; 0 of the first
    checksum    CRC-32 of all this, of the segment and of these labels
    """

    n_records: int
    n_codes: int
    width: int
    n_distinct: int
    file: int
    at: int
    line: int
    n_labels: int
    before: int
    checksum: int = 0

    @property
    def n_bytes(self) -> int:
        return 4 * self.n_records + self.width * self.n_codes + 16 * self.n_distinct

    @property
    def own_checksum(self) -> int:
        """That of the note alone, where that of the segment begins."""
        return zlib.crc32(json.dumps(asdict(replace(self, checksum=0))).encode())


_FIELDS = tuple(SegmentNote.__dataclass_fields__)


class RecordScratch(Scratch):
    """A folder of segments of raw records of one data set; ``rows`` are cells of four bytes."""

    unit = "cells"

    def found(self, number: int, before: int) -> SegmentNote | None:
        """What is known of a segment; None where it was not finished, is not as it was written, or does not follow the
        segment with the checksum ``before``.
        """
        path = self._path(number, "json")
        text = small_file(path, strict_json.MOST_CHARACTERS)
        if text is None:
            return None
        try:
            value = strict_json.parse(text, what="the note of a segment", path=path)
            known = strict_json.fields(value, of="note", required=list(_FIELDS))
            note = SegmentNote(**{name: strict_json.whole(known[name], name, of="note") for name in _FIELDS})
        except BosketError:
            return None  # written again
        if note.width not in _WIDTHS or note.before != before or min(asdict(note).values()) < 0:
            return None
        records, labels = self._path(number, "records"), self._path(number, "labels")
        if not is_file(records) or asked(records, "look at", records.stat).st_size != note.n_bytes:
            return None
        found = file_checksum(records, note.own_checksum)
        return note if note.checksum == (file_checksum(labels, found) if is_file(labels) else found) else None

    def save(
        self, number: int, sizes: ItemCodes, codes: ItemCodes, labels: Sequence[Hashable], next_at: Sequence[int]
    ) -> SegmentNote:
        """Write a segment and the labels that it adds, its note last.

        ``next_at`` is (file, place, line, labels in all): where the next segment begins, and the checksum of the one
        before.
        """
        distinct, counts = _counted(codes)
        note = SegmentNote(sizes.size, codes.size, codes.itemsize, distinct.size, *next_at)
        self._refuse_full(note.n_bytes)
        arrays = sizes.astype(np.int32, copy=False), codes, distinct.astype(np.int64), counts.astype(np.int64)
        with self._written(self._path(number, "records")) as temporary:
            checksum = write_arrays(arrays, temporary, note.own_checksum)
        beside = self._path(number, "labels")
        asked(beside, "remove", lambda: beside.unlink(missing_ok=True))  # those of a pass before
        if labels:
            with self._written(beside) as temporary, temporary.open("wb") as file:
                for start, stop in slices(len(labels), _LABELS_A_LINE):
                    line = f"{json.dumps([label_to_json(label) for label in labels[start:stop]])}\n".encode()
                    checksum = zlib.crc32(line, checksum)
                    file.write(line)
        note = replace(note, checksum=checksum)
        self._write_json(self._path(number, "json"), asdict(note))
        return note

    def records(self, number: int, note: SegmentNote) -> tuple[npt.NDArray[np.int32], ItemCodes]:
        """The sizes of the records of a segment, and their codes."""
        sizes = self._numbers(number, np.int32, note.n_records, 0)
        codes = self._numbers(number, _WIDTHS[note.width], note.n_codes, 4 * note.n_records)
        if int(sizes.min(initial=0)) < 0 or int(sizes.sum(dtype=np.int64)) != codes.size:
            raise self.spoilt(number)
        return sizes, codes

    def distinct(self, number: int, note: SegmentNote) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The different codes of a segment, sorted, and in how many of its records each is."""
        start = 4 * note.n_records + note.width * note.n_codes
        both = self._numbers(number, np.int64, 2 * note.n_distinct, start)
        return both[: note.n_distinct], both[note.n_distinct :]

    def _numbers(self, number: int, dtype: type[np.integer[Any]], count: int, start: int) -> npt.NDArray[Any]:
        self.refuse_closed()
        path = self._path(number, "records")
        found = asked(path, "read", lambda: np.fromfile(path, dtype, count, offset=start))
        if found.size != count:
            raise self.spoilt(number)
        return found

    def labels(self, numbers: Iterable[int]) -> list[Hashable]:
        """The labels that these segments add."""
        found: list[Hashable] = []
        for number in numbers:
            path = self._path(number, "labels")
            if is_file(path):
                for line in asked(path, "read", path.read_bytes).splitlines():
                    some = strict_json.parse(line, what="the labels of a segment", path=path)
                    found += strict_json.sequence(some, "labels", of="segment")
        return list(labels_from_json(found))

    def begin_again(self) -> None:
        """What is written from now on are not the segments that there were in all."""
        path = self._end
        asked(path, "remove", lambda: path.unlink(missing_ok=True))

    def finish(self, notes: Sequence[SegmentNote]) -> None:
        """Note that there are all segments."""
        self._write_json(self._end, {"segments": len(notes), "checksum": checksum_of(notes)})

    def is_finished(self, notes: Sequence[SegmentNote]) -> bool:
        """Whether these segments are all, by the pass that wrote the last of them."""
        text = small_file(self._end, strict_json.MOST_CHARACTERS)
        if text is None:
            return False
        try:
            value = strict_json.parse(text, what="the end of the scratch folder", path=self._end)
        except BosketError:
            return False  # written again
        return bool(value == {"segments": len(notes), "checksum": checksum_of(notes)})

    @property
    def _end(self) -> Path:
        return self.folder / "complete.json"

    @contextmanager
    def spilling(self) -> Iterator[Path]:
        """A folder for rows that are sorted, which is not there yet, and is removed however the block ends.

        What stands in its place and is no folder is for the user to remove.
        """
        folder = self.folder / "spilt"
        shutil.rmtree(folder, ignore_errors=True)  # of a program that was killed
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def spoilt(self, number: int) -> DataError:
        path = self._path(number, "records")
        return DataError(
            f"The segment {path} is not as it was written.", path=path, hint="Remove the folder, and open again."
        )


def checksum_of(notes: Sequence[SegmentNote]) -> int:
    """That of segments up to the last of these, which vouches for all before it."""
    return notes[-1].checksum if notes else 0


def _counted(codes: ItemCodes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Different codes, each once in a record, and how many records have each."""
    largest = int(codes.max(initial=0))
    if largest > codes.size + 1_000_000:
        distinct, counts = np.unique(codes, return_counts=True)
        return distinct.astype(np.int64), counts.astype(np.int64)
    counts = np.bincount(codes, minlength=1)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]
