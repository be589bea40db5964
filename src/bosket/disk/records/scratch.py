"""Segments of raw records in a scratch folder: sizes of records and codes of items, written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket import strict_json
from bosket.data.domain import label_to_json, labels_from_json
from bosket.data.formats.atomic import atomic_path
from bosket.disk.scratch import Scratch
from bosket.errors import BosketError, DataError

_FIELDS = ("n_records", "n_codes", "width", "n_distinct", "file", "at", "line", "n_labels")
_WIDTHS = {4: np.int32, 8: np.int64}
ItemCodes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class SegmentNote:
    """What a segment holds, and where in the files the next one begins.

    width       bytes of a code
    n_distinct  different codes
    n_labels    labels that codes stand for up to its end; those that it adds are beside it
    """

    n_records: int
    n_codes: int
    width: int
    n_distinct: int
    file: int
    at: int
    line: int
    n_labels: int

    @property
    def n_bytes(self) -> int:
        return 4 * self.n_records + self.width * self.n_codes + 16 * self.n_distinct


class RecordScratch(Scratch):
    """A folder of segments of raw records of one data set; ``rows`` are cells of four bytes."""

    unit = "cells"

    def found(self, number: int) -> SegmentNote | None:
        """What is known of a segment; None where it was not finished."""
        path = self._path(number, "json")
        if not path.exists():
            return None
        try:
            value = strict_json.parse(path.read_bytes(), what="the note of a segment", path=path)
            known = strict_json.fields(value, of="note", required=list(_FIELDS))
            note = SegmentNote(**{name: strict_json.whole(known[name], name, of="note") for name in _FIELDS})
        except BosketError:
            return None  # written again
        records = self._path(number, "records")
        is_sound = note.width in _WIDTHS and records.is_file() and records.stat().st_size == note.n_bytes
        return note if is_sound else None

    def save(
        self, number: int, sizes: ItemCodes, codes: ItemCodes, labels: Sequence[Hashable], next_at: Sequence[int]
    ) -> SegmentNote:
        """Write a segment and the labels that it adds, its note last.

        ``next_at`` is (file, place, line, labels in all): where the next segment begins.
        """
        distinct, counts = _counted(codes)
        note = SegmentNote(sizes.size, codes.size, codes.itemsize, distinct.size, *next_at)
        self._refuse_full(note.n_bytes)
        with (
            atomic_path(self._path(number, "records"), sync=self.lasting) as temporary,
            temporary.open("wb", buffering=0) as file,
        ):
            for array in (
                sizes.astype(np.int32, copy=False),
                codes,
                distinct.astype(np.int64),
                counts.astype(np.int64),
            ):
                _write(file, array)
        if labels:
            self._write_json(self._path(number, "labels"), [label_to_json(label) for label in labels])
        self._write_json(self._path(number, "json"), asdict(note))
        return note

    def records(self, number: int, note: SegmentNote) -> tuple[npt.NDArray[np.int32], ItemCodes]:
        """The sizes of the records of a segment, and their codes."""
        with self._path(number, "records").open("rb") as file:
            sizes = np.fromfile(file, np.int32, note.n_records)
            codes = np.fromfile(file, _WIDTHS[note.width], note.n_codes)
        if sizes.size != note.n_records or codes.size != note.n_codes or int(sizes.sum(dtype=np.int64)) != codes.size:
            raise self._spoilt(number)
        return sizes, codes

    def distinct(self, number: int, note: SegmentNote) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The different codes of a segment, sorted, and in how many of its records each is."""
        with self._path(number, "records").open("rb") as file:
            file.seek(4 * note.n_records + note.width * note.n_codes)
            both = np.fromfile(file, np.int64, 2 * note.n_distinct)
        if both.size != 2 * note.n_distinct:
            raise self._spoilt(number)
        return both[: note.n_distinct], both[note.n_distinct :]

    def labels(self, numbers: Iterable[int]) -> list[Hashable]:
        """The labels that these segments add."""
        found: list[Hashable] = []
        for number in numbers:
            path = self._path(number, "labels")
            if path.exists():
                found += labels_from_json(
                    strict_json.parse(path.read_bytes(), what="the labels of a segment", path=path)
                )
        return found

    def finish(self, n_segments: int) -> None:
        """Note that there are all segments."""
        self._write_json(self.folder / "complete.json", {"segments": n_segments})

    @property
    def n_finished(self) -> int | None:
        """How many segments there are in all; None while that is not known."""
        path = self.folder / "complete.json"
        if not path.exists():
            return None
        value = strict_json.parse(path.read_bytes(), what="the end of the scratch folder", path=path)
        known = strict_json.fields(value, of="end", required=["segments"])
        return strict_json.whole(known["segments"], "segments", of="end")

    @property
    def spill_folder(self) -> Path:
        return self.folder / "spilt"

    def without_spill(self) -> None:
        shutil.rmtree(self.spill_folder, ignore_errors=True)

    def _spoilt(self, number: int) -> DataError:
        path = self._path(number, "records")
        return DataError(
            f"The segment {path} is not as it was written.", path=path, hint="Remove the folder, and open again."
        )


def _write(file: Any, array: npt.NDArray[Any]) -> None:
    room = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # a buffer
    while len(room):
        room = room[file.write(room[: 1 << 28]) :]


def _counted(codes: ItemCodes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Different codes, each once in a record, and how many records have each."""
    largest = int(codes.max(initial=0))
    if largest > codes.size + 1_000_000:
        distinct, counts = np.unique(codes, return_counts=True)
        return distinct.astype(np.int64), counts.astype(np.int64)
    counts = np.bincount(codes, minlength=1)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]
