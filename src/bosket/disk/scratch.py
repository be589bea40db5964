"""The scratch folder: segments that are written once, whole or not at all, and found again after a program was killed.

A manifest names the plan, the files with their sizes and times, and how many reports a segment has.  Each segment has a
note that says what it holds, with a checksum of its bitmaps, and is written last: a segment without one, or of other
bytes, is written again.  The folder is its owner's alone (:mod:`bosket.disk.folders`).  A temporary one is removed when
it is closed, or when nothing is left that may ask for what it holds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import finalize

from bosket import strict_json
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.on_disk import BitmapFile, write_columns
from bosket.data.formats.atomic import atomic_path
from bosket.disk.folders import asked, locked, once_in_a_thread, own_folder, small_file, system_mark
from bosket.errors import BosketError, DataError

_MANIFEST, _LOCK = "bosket-scratch.json", "lock"
_SCHEMA = "bosket.scratch/2"
_TEMPORARY = re.compile(
    rf"\.(\d{{6,}}\.(bits|records|labels|json)|complete\.json|{re.escape(_MANIFEST)})\.(?P<system>[0-9a-f]{{16}}-)?[0-9a-f]{{16}}\.tmp"
)
_HOUR = 3600  # seconds in which whoever writes a file adds to it
_SLACK = 4  # of the reports that there is memory for, one part is left out: there may be less when one comes back


@dataclass(frozen=True)
class Noted:
    """What is known of a segment.

    pieces    of which files its reports are: the number of the file, how many, and a sum over them
    checksum  CRC-32 of all this and of its bitmaps
    """

    strata: tuple[int, ...]
    stratum_records: tuple[int, ...]
    pieces: tuple[tuple[int, int, int], ...]
    checksum: int = 0

    @property
    def n_records(self) -> int:
        return sum(number for _, number, _ in self.pieces)

    @property
    def own_checksum(self) -> int:
        """That of a segment without bitmaps, and where that of others begins."""
        return zlib.crc32(json.dumps([self.strata, self.stratum_records, self.pieces]).encode())

    def is_of(self, pieces: Sequence[tuple[int, int]], *, has_bitmaps: bool) -> bool:
        """Whether this may be the note of reports of these files, so many of each."""
        if [piece[:2] for piece in self.pieces] != list(pieces) or list(self.strata) != sorted(set(self.strata)):
            return False
        if not has_bitmaps:
            return not self.stratum_records
        return (
            len(self.strata) == len(self.stratum_records)
            and min(self.stratum_records, default=0) > 0
            and sum(self.stratum_records) == self.n_records
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "strata": self.strata,
            "stratum_records": self.stratum_records,
            "pieces": self.pieces,
            "checksum": self.checksum,
        }

    @classmethod
    def from_json(cls, value: Any) -> Noted:
        known = strict_json.fields(value, of="note", required=["strata", "stratum_records", "pieces", "checksum"])
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
        checksum = strict_json.whole(known["checksum"], "checksum", of="note")
        return cls(numbers["strata"], numbers["stratum_records"], tuple(pieces), checksum)


class Scratch:
    """A folder of segments of one data set."""

    unit = "reports"
    """What the rows of a segment are called."""

    def __init__(self, folder: Path | None, identity: Mapping[str, Any], rows: int) -> None:
        """``identity`` says of which data set; ``rows`` how many reports a segment may have at most.

        Without a folder there is a temporary one.  In a folder that lasts, segments are on the disk before they are
        counted as finished, so that none is lost with the power.  One that was begun before goes on with its own number
        of rows, which must be no larger.
        """
        self.lasting = folder is not None
        self.folder = _temporary() if folder is None else folder
        self._remove = None if self.lasting else finalize(self, _remove, self.folder, os.getpid())
        self.rows = self._begun(dict(identity), rows)

    def close(self) -> None:
        """Remove the folder, if it is a temporary one."""
        if self._remove is not None:
            self._remove()

    def refuse_closed(self) -> None:
        """Refuse to look for what went with a temporary folder."""
        if self._remove is not None and not self._remove.alive:
            raise DataError(
                "The data set was closed, and its temporary scratch folder was removed.",
                hint="Ask before it is closed, or give a folder that stays: open(..., scratch=...).",
            )

    def _begun(self, identity: dict[str, Any], rows: int) -> int:
        own_folder(self.folder)
        text = self._manifest()
        if text is None:
            self._refuse_others()
            with self.alone():
                text = self._manifest()  # who came at the same moment may have been first
                if text is None:
                    begun = max(1, rows - rows // _SLACK) if self.lasting else rows
                    self._write_json(self.folder / _MANIFEST, {"schema": _SCHEMA, "rows": begun, "of": identity})
                    return begun
        return self._going_on(text, identity, rows)

    def _manifest(self) -> bytes | None:
        return small_file(self.folder / _MANIFEST, strict_json.MOST_CHARACTERS)

    def _refuse_others(self) -> None:
        """Refuse a folder that holds something else than what a program leaves here that is about to begin."""
        names = asked(self.folder, "read", lambda: [path.name for path in self.folder.iterdir()])
        is_begun = _MANIFEST in names  # by another program, just now
        if not is_begun and any(name != _LOCK and not name.startswith(f".{_MANIFEST}.") for name in names):
            raise DataError(
                f"The scratch folder {self.folder} must be empty, or one of this data set.", path=self.folder
            )

    def _going_on(self, text: bytes, identity: dict[str, Any], rows: int) -> int:
        """The rows of a segment in a folder that was begun before; refused where it is of another data set."""
        found = strict_json.parse(text, what="the manifest of the scratch folder", path=self.folder / _MANIFEST)
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
                hint="State more memory (this program may hold more than the one that began it), or remove the folder.",
            )
        return begun

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else begins or writes here until the block ends; who comes meanwhile waits, and finds what is done.

        Rows of long files are dealt out by points that are drawn: two programs would mix up theirs.  What killed
        programs left half-written is removed.  A call from within the block, in the same thread, is refused.
        """
        self.refuse_closed()
        with once_in_a_thread(self.folder):
            if not self.lasting:  # a temporary folder is one program's
                yield
                return
            with locked(self.folder / _LOCK) as is_held:
                if is_held:
                    self._remove_half_written()
                yield

    def _remove_half_written(self) -> None:
        """Remove half-written files that nobody writes any more.

        Those are the ones of programs of this system, which hold the lock as long as they write, and whatever has not
        changed for an hour.  Programs elsewhere may not see the lock, and those of older versions have none.
        """
        lock, mark = self.folder / _LOCK, system_mark()
        asked(lock, "write", lambda: os.utime(lock))
        now = asked(lock, "look at", lock.stat).st_mtime  # by the clock of the disk
        for path in asked(self.folder, "read", lambda: list(self.folder.iterdir())):
            found = _TEMPORARY.fullmatch(path.name)
            if found is not None:
                with suppress(OSError):  # a folder of that name is none of ours
                    is_ours = bool(mark) and found["system"] == f"{mark}-"
                    if is_ours or path.lstat().st_mtime < now - _HOUR:
                        path.unlink()

    def noted(self, number: int) -> Noted | None:
        """What is known of a segment; None where it was not finished."""
        path = self._path(number, "json")
        text = small_file(path, strict_json.MOST_CHARACTERS)
        if text is None:
            return None
        try:
            return Noted.from_json(strict_json.parse(text, what="the note of a segment", path=path))
        except BosketError:
            return None  # written again

    def bitmap_file(self, number: int, noted: Noted, n_items: int) -> BitmapFile:
        return BitmapFile(self._path(number, "bits"), n_items, noted.strata, noted.stratum_records)

    def write(self, number: int, noted: Noted, bitmaps: Bitmaps | None) -> Noted:
        """Write a segment, its note last; a full disk is a ``DataError`` and leaves nothing that passes for whole."""
        noted = replace(noted, checksum=noted.own_checksum)
        if bitmaps is not None:
            self._refuse_full(bitmaps.columns.nbytes)
            with self._written(self._path(number, "bits")) as temporary:
                noted = replace(noted, checksum=write_columns(bitmaps, temporary, noted.own_checksum))
        self._write_json(self._path(number, "json"), noted.to_json())
        return noted

    def _written(self, path: Path) -> AbstractContextManager[Path]:
        """A file that is there whole or not at all, and that its owner alone reads: the folder may let others in."""
        mark = system_mark()
        return atomic_path(path, sync=self.lasting, private=True, mark=f"{mark}-" if mark else "")

    def _write_json(self, path: Path, value: Any) -> None:
        with self._written(path) as temporary:
            temporary.write_text(json.dumps(value), "utf-8")

    def _refuse_full(self, needed: int) -> None:
        free = asked(self.folder, "look at", lambda: shutil.disk_usage(self.folder)).free
        if free < needed:
            raise DataError(
                f"The scratch folder {self.folder} has room for {free} bytes, and a segment takes {needed}.",
                path=self.folder,
                hint="Give a folder on a larger disk: open(..., scratch=...).",
            )

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:06d}.{suffix}"


def _temporary() -> Path:
    parent = Path(tempfile.gettempdir())
    return Path(asked(parent, "make a folder in", lambda: tempfile.mkdtemp(prefix="bosket-")))


def _remove(folder: Path, owner: int) -> None:
    """Remove a temporary folder in the program that made it: one that is forked may end before it does."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
