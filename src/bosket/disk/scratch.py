"""The scratch folder: segments that are written once, whole or not at all, and found again after a program was killed.

A manifest names the plan, the files with their sizes and times, and how many reports a segment has.  Each segment has a
note that says what it holds and is written last: a segment without one is written again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bosket import strict_json
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.on_disk import BitmapFile, write_columns
from bosket.data.formats.atomic import atomic_path
from bosket.errors import BosketError, DataError

_MANIFEST = "bosket-scratch.json"
_SCHEMA = "bosket.scratch/1"


@dataclass(frozen=True)
class Noted:
    """What is known of a segment.

    pieces  of which files its reports are: the number of the file, how many, and a sum over them
    """

    strata: tuple[int, ...]
    stratum_records: tuple[int, ...]
    pieces: tuple[tuple[int, int, int], ...]

    @property
    def n_records(self) -> int:
        return sum(number for _, number, _ in self.pieces)

    def to_json(self) -> dict[str, Any]:
        return {"strata": self.strata, "stratum_records": self.stratum_records, "pieces": self.pieces}

    @classmethod
    def from_json(cls, value: Any) -> Noted:
        known = strict_json.fields(value, of="note", required=["strata", "stratum_records", "pieces"])
        numbers = {
            name: tuple(
                strict_json.whole(one, name, of="note") for one in strict_json.sequence(known[name], name, of="note")
            )
            for name in ("strata", "stratum_records")
        }
        pieces = []
        for piece in strict_json.sequence(known["pieces"], "pieces", of="note"):
            file, number, total = (
                strict_json.whole(one, "piece", of="note")
                for one in strict_json.sequence(piece, "piece", of="note", length=3)
            )
            pieces.append((file, number, total))
        return cls(numbers["strata"], numbers["stratum_records"], tuple(pieces))


class Scratch:
    """A folder of segments of one data set."""

    unit = "reports"
    """What the rows of a segment are called."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], rows: int, *, lasting: bool = True) -> None:
        """``identity`` says of which data set; ``rows`` how many reports a segment may have at most.

        ``lasting``: segments are on the disk before they are counted as finished, so that none is lost with the power.
        A folder that was begun before goes on with its own number of rows, which must be no larger.
        """
        self.folder, self.lasting = folder, lasting
        self.rows = self._begun(dict(identity), rows)

    def _begun(self, identity: dict[str, Any], rows: int) -> int:
        manifest = self.folder / _MANIFEST
        if not self.folder.is_dir():
            _refuse_os(self.folder, lambda: self.folder.mkdir(mode=0o700, parents=True))
        if not manifest.exists():
            if any(self.folder.iterdir()):
                raise DataError(
                    f"The scratch folder {self.folder} must be empty, or one of this data set.", path=self.folder
                )
            self._write_json(manifest, {"schema": _SCHEMA, "rows": rows, "of": identity})
            return rows
        found = strict_json.parse(manifest.read_bytes(), what="the manifest of the scratch folder", path=manifest)
        if (
            not isinstance(found, dict)
            or found.get("schema") != _SCHEMA
            or found.get("of") != json.loads(json.dumps(identity))
        ):
            raise DataError(
                f"The scratch folder {self.folder} is of other files, or of these as they were before.",
                path=self.folder,
                hint="Give another folder, or remove this one.",
            )
        begun = strict_json.whole(found.get("rows"), "rows", of="manifest")
        if not 1 <= begun <= rows:
            raise DataError(
                f"The scratch folder {self.folder} was begun with segments of {begun} {self.unit}, and there is memory "
                f"for {rows} now.",
                path=self.folder,
                hint="State as much memory as before, or give another folder.",
            )
        return begun

    def noted(self, number: int) -> Noted | None:
        """What is known of a segment; None where it was not finished."""
        path = self._path(number, "json")
        if not path.exists():
            return None
        try:
            return Noted.from_json(strict_json.parse(path.read_bytes(), what="the note of a segment", path=path))
        except BosketError:
            return None  # written again

    def bitmap_file(self, number: int, noted: Noted, n_items: int) -> BitmapFile:
        return BitmapFile(self._path(number, "bits"), n_items, noted.strata, noted.stratum_records)

    def write(self, number: int, noted: Noted, bitmaps: Bitmaps | None) -> None:
        """Write a segment, its note last; a full disk is a ``DataError`` and leaves nothing that passes for whole."""
        if bitmaps is not None:
            self._refuse_full(bitmaps.columns.nbytes)
            with atomic_path(self._path(number, "bits"), sync=self.lasting) as temporary:
                write_columns(bitmaps, temporary)
        self._write_json(self._path(number, "json"), noted.to_json())

    def _write_json(self, path: Path, value: Any) -> None:
        with atomic_path(path, sync=self.lasting) as temporary:
            temporary.write_text(json.dumps(value), "utf-8")

    def _refuse_full(self, needed: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise DataError(
                f"The scratch folder {self.folder} has room for {free} bytes, and a segment takes {needed}.",
                path=self.folder,
                hint="Give a folder on a larger disk: open(..., scratch=...).",
            )

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:06d}.{suffix}"


def identity_of(paths: Sequence[Path], plan: str) -> dict[str, Any]:
    """What a data set is known by: the plan, and the names, sizes and times of its files."""
    files = [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
    return {"plan": plan, "files": files}


def _refuse_os(path: Path, call: Any) -> None:
    fault = None
    try:
        call()
    except OSError as problem:
        fault = f"Cannot make {path}: {problem.strerror or 'the operating system refused'}."
    if fault is not None:
        raise DataError(fault, path=path)
