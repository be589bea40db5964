"""Reports in files that need not fit in memory: the same calls, in the memory that is stated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bosket.collected import Collected, Made, Summed, whole_batch
from bosket.counting.base import Counter
from bosket.counting.duplicates import digest_of_parts
from bosket.counting.on_disk import DiskBitmaps
from bosket.disk.budget import memory_for_data
from bosket.disk.paths import named_files
from bosket.disk.reading import ByChunks, KnownFile, chunks, known_file
from bosket.disk.scratch import Noted, Scratch
from bosket.disk.seen import identity_of
from bosket.errors import DataError, DuplicateReportsError, ParameterError
from bosket.mechanisms.payload import Batch, PackedBits
from bosket.plan import Plan
from bosket.progress import LevelProgress, Progress
from bosket.report_notes import check_plan
from bosket.reports import compared, given_twice

_SHARE = 6  # of the memory for data, one part is for a segment and its reports, while it is made
_OF_BITMAPS = 3  # and one part of as many for its bitmaps, where they take more since there are many strata
_OF_DIFFERENT = 8  # and one part of as many for different reports, where files are compared
_ROUND = 1 << 12  # reports that segments are whole numbers of, where they can be


def open(
    paths: str | Path | Iterable[str | Path],
    *,
    memory: int | str = "2GiB",
    scratch: str | Path | None = None,
    plan: Plan | None = None,
    allow_duplicates: bool = False,
    on_progress: Progress | None = None,
) -> OpenReports:
    """Reports in one or many Parquet files of one plan, which need not fit in memory.

    paths             a file, a folder of ``.parquet`` files, a pattern such as ``"reports/*.parquet"``, or several
    memory            the most that the process may take: a number of bytes, or text such as ``"2GiB"``
    scratch           a folder for bitmaps, as large as a bit for each item of each report; what is finished in it is
                      found again when the same files are opened with it.  A temporary one, unless given
    plan              refuse files of any other
    allow_duplicates  do not refuse a file that holds the reports of another
    on_progress       hears how many bytes of the files are read, in the first pass, as the stage "reading"

    Nothing is read but footers until something is asked.  Then a first pass checks all reports and writes bitmaps;
    every size of itemsets that a search looks at is one pass over those of the items that are left.  A scratch folder
    must be its owner's alone; bitmaps that are found in it are compared with their checksums.

    >>> import bosket as bk, tempfile
    >>> from pathlib import Path
    >>> people = bk.Baskets([["a", "b"], ["b"]] * 500)
    >>> plan = bk.Plan(people.domain, bk.Flip(keep=0.9))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = [plan.randomize(people, rng=bk.Seeded(day)) for day in (1, 2)]
    ...     for day, part in enumerate(parts):
    ...         part.write(Path(folder) / f"{day}.parquet")
    ...     with bk.open(f"{folder}/*.parquet") as reports:
    ...         found = bk.mine(reports, min_support=0.3).to_frame()
    >>> found.equals(bk.mine(bk.Reports.concat(parts), min_support=0.3).to_frame())
    True
    """
    if plan is not None:
        check_plan(plan)
    found = named_files(paths)
    known = []
    for path in found:
        file, plan = known_file(path, plan)
        known.append(file)
    assert plan is not None
    if plan.channel.belong_together and len(known) > 1:
        raise whole_batch(plan)
    return OpenReports(
        plan,
        known,
        memory=memory_for_data(memory),
        scratch=None if scratch is None else Path(scratch),
        allow_duplicates=allow_duplicates,
        on_progress=on_progress,
    )


class OpenReports(Collected):
    """Reports in files; :func:`open` makes one.  Everything that takes reports by their supports takes it."""

    def __init__(
        self,
        plan: Plan,
        files: Sequence[KnownFile],
        *,
        memory: int,
        scratch: Path | None = None,
        allow_duplicates: bool = False,
        on_progress: Progress | None = None,
    ) -> None:
        self.plan, self.files = plan, tuple(files)
        self.randomness = next((file.randomness for file in files if file.randomness != "secure"), "secure")
        self._memory, self._on_progress, self._allow_duplicates = memory, on_progress, allow_duplicates
        identity = identity_of([file.seen for file in files], plan.digest)
        self._scratch = Scratch(scratch, identity, self._rows(memory))
        self._sums: dict[Hashable, npt.NDArray[np.int64]] = {}

    def _rows(self, memory: int) -> int:
        """How many reports a segment has: as they are read, their bitmaps, and their order by stratum."""
        payload = self.channel.payload
        each = 2 * sum(column.memory for column in payload.columns) + 32
        if isinstance(payload, PackedBits):
            each += -(-payload.n_items // 8)
        rows = memory // _SHARE // each
        if not rows:
            raise ParameterError(
                f"The 'memory' parameter must leave {_SHARE * each} bytes for data, got {memory}.",
                parameter="memory",
                value=memory,
            )
        return rows // _ROUND * _ROUND or rows

    def close(self) -> None:
        """Remove the scratch folder, if it is a temporary one; then what was found of it has no more to say."""
        self._scratch.close()

    def __enter__(self) -> OpenReports:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_records(self) -> int:
        return sum(file.n_records for file in self.files)

    @property
    def n_rows(self) -> int:
        return self.n_records

    @property
    def batch(self) -> Batch:
        """All reports in memory; refused where they would take more than half of what there is."""
        needed = self.n_records * sum(column.memory for column in self.channel.payload.columns)
        if needed > self._memory // 2:
            raise DataError(
                f"These {self.n_records} reports would take {needed} bytes of memory, and there are {self._memory}.",
                hint="A law of bits needs all reports at once: read them with model=None.",
            )
        parts = list(self._chunks())
        return Batch.concat(parts) if parts else self.channel.payload.from_rows(self._no_rows)

    @property
    def _no_rows(self) -> npt.NDArray[np.uint8]:
        return np.zeros((0, self.channel.payload.width), np.uint8)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        return np.ones(self.n_records, np.int64)

    @property
    def multiplicities(self) -> None:
        return None

    @property
    def strata_shown(self) -> tuple[int, ...] | None:
        payload = self.channel.payload
        if payload.strata(payload.from_rows(self._no_rows)) is None:
            return None
        return tuple(sorted({stratum for note in self._noted for stratum in note.strata}))

    def _chunks(self) -> Iterator[Batch]:
        for batch, _ in chunks(self.files, self.plan, self._scratch.rows):
            yield batch

    @cached_property
    def _noted(self) -> list[Noted]:
        """What is known of each segment; those that are not there yet are written by a first pass over the files."""
        self._scratch.refuse_closed()
        rows = self._scratch.rows
        number = -(-self.n_records // rows)
        found = self._finished_after([], number)
        if len(found) < number:
            with self._scratch.alone():
                found = self._finished_after(found, number)  # another program may have written more
                for batch, pieces in chunks(self.files, self.plan, rows, first=len(found), tell=self._tell()):
                    found.append(self._written(len(found), batch, pieces))
        self._refuse_duplicates(found)
        return found

    def _finished_after(self, found: list[Noted], number: int) -> list[Noted]:
        """What is known of the segments behind those that were found, up to the first that is not there."""
        found = list(found)
        while len(found) < number and (note := self._finished(len(found))) is not None:
            found.append(note)
        return found

    def _tell(self) -> Callable[[int], None] | None:
        heard = self._on_progress
        total = sum(file.n_bytes for file in self.files)
        return None if heard is None else lambda done: heard(LevelProgress(0, done, total, "reading"))

    def _finished(self, number: int) -> Noted | None:
        """What is known of a segment that is there, with the bytes that were written."""
        note, payload = self._scratch.noted(number), self.channel.payload
        has_bitmaps = isinstance(payload, PackedBits)
        if note is None or not note.is_of(self._pieces(number), has_bitmaps=has_bitmaps):
            return None
        if isinstance(payload, PackedBits):
            file = self._scratch.bitmap_file(number, note, payload.n_items)
            try:
                file.check()
                return note if file.checksum(note.own_checksum) == note.checksum else None
            except DataError:
                return None
        return note if note.own_checksum == note.checksum else None

    def _pieces(self, number: int) -> list[tuple[int, int]]:
        """Of which files the reports of a segment are, and how many of each."""
        rows, ends = self._scratch.rows, np.cumsum([0, *(file.n_records for file in self.files)])
        inside = np.clip(ends, number * rows, (number + 1) * rows)
        return [(place, some) for place, some in enumerate(np.diff(inside).tolist()) if some]

    def _written(self, number: int, batch: Batch, pieces: tuple[tuple[int, int, int], ...]) -> Noted:
        payload = self.channel.payload
        if not isinstance(payload, PackedBits):
            strata = payload.strata(batch)
            note = Noted(() if strata is None else tuple(np.unique(strata).tolist()), (), pieces)
            return self._scratch.write(number, note, None)
        self._refuse_wide(batch, payload)
        bitmaps = payload.counter(batch)
        sizes = bitmaps.supports(np.empty((1, 0), np.int32))[:, 0]
        note = Noted(bitmaps.strata, tuple(sizes.tolist()), pieces)
        return self._scratch.write(number, note, bitmaps)

    def _refuse_wide(self, batch: Batch, payload: PackedBits) -> None:
        """Refuse bitmaps that do not fit, since reports state many sizes."""
        strata = payload.strata(batch)
        if strata is None:
            return
        needed = payload.bitmap_bytes(batch)
        if needed > self._memory // _OF_BITMAPS:
            raise DataError(
                f"These reports state {len(np.unique(strata))} different sizes, so that the bitmaps of "
                f"{payload.n_items} items would take {needed} bytes, and there are {self._memory // _OF_BITMAPS}.",
                hint="State more memory: open(..., memory='8GiB').",
            )

    def _refuse_duplicates(self, noted: Sequence[Noted]) -> None:
        """Refuse a file that holds the reports of another, which hardly happens by chance."""
        sums = [[0, 0] for _ in self.files]
        for place, number, total in (piece for note in noted for piece in note.pieces):
            if not 0 <= place < len(sums):
                raise _incomplete()
            sums[place] = [sums[place][0] + number, (sums[place][1] + total) % (1 << 64)]
        if [number for number, _ in sums] != [file.n_records for file in self.files]:
            raise _incomplete()
        if self._allow_duplicates:
            return
        alike: dict[tuple[int, ...], list[int]] = {}
        for at, (key, file) in enumerate(zip(map(tuple, sums), self.files, strict=True)):
            if file.n_records:
                alike.setdefault(key, []).append(at)
        for group in alike.values():
            if len(group) > 1:
                self._compare(group)

    def _compare(self, group: Sequence[int]) -> None:
        """Of files with the same sum over their reports: refused where two hold the same reports, which hardly happens
        by chance, or more different ones than can be compared in the memory, which never does.
        """
        seen: dict[bytes, int] = {}
        for at in group:
            digest = self._digest(at)
            if digest is not None and seen.setdefault(digest, at) != at:
                raise self._given_twice(seen[digest], at)

    def _digest(self, at: int) -> bytes | None:
        payload = self.channel.payload
        parts = chunks([self.files[at]], self.plan, self._scratch.rows)
        return digest_of_parts((compared(payload, batch) for batch, _ in parts), n_bytes=self._memory // _OF_DIFFERENT)

    def _given_twice(self, earlier: int, at: int) -> DuplicateReportsError:
        """The error that names both files."""
        problem = given_twice(earlier + 1, at + 1, self.files[at].n_records)
        names = " and ".join(str(self.files[one].path) for one in (earlier, at))
        hint = f"They are {names}. {problem.hint}"
        return DuplicateReportsError(str(problem), parts=problem.parts, hint=hint, path=self.files[at].path)

    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports show, segment by segment."""
        payload = self.channel.payload
        if not isinstance(payload, PackedBits):
            return self.counter_by("items", lambda batch, _: payload.counter(batch))
        if not self.n_records:
            return payload.counter(self.batch)
        files = [self._scratch.bitmap_file(number, note, payload.n_items) for number, note in enumerate(self._noted)]
        return DiskBitmaps(files, self._scratch.refuse_closed)

    def counter_by(self, what: Hashable, make: Made) -> Counter:
        assert self._noted is not None  # all reports were looked at
        return ByChunks(self._chunks, make, self.n_records)

    def summed(self, what: Hashable, of: Summed) -> npt.NDArray[np.int64]:
        assert self._noted is not None
        if what not in self._sums:
            total: npt.NDArray[np.int64] | None = None
            for batch in self._chunks():
                part = of(batch, None)
                total = part if total is None else total + part
            self._sums[what] = of(self.batch, None) if total is None else total
        return self._sums[what].copy()

    def __repr__(self) -> str:
        files = "1 file" if len(self.files) == 1 else f"{len(self.files)} files"
        return f"OpenReports({self.n_records} records in {files}, {self.plan}, {self.randomness})"


def _incomplete() -> DataError:
    return DataError("The scratch folder does not hold just the reports.", hint="Remove it, and open again.")
