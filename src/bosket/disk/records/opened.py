"""Raw baskets in files that need not fit in memory: mined exactly, in the memory that is stated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.checks import shown
from bosket.data.baskets.grouped import sizes_of
from bosket.data.baskets.rows import Csr, canonical, taken
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.vocabulary import Vocabulary, written
from bosket.disk.budget import LEAST, memory_for_data
from bosket.disk.paths import named_files
from bosket.disk.records.counter import RecordCounter, counted
from bosket.disk.records.kernels import keep_items
from bosket.disk.records.kinds import check_alike, stream_of
from bosket.disk.records.scratch import ItemCodes, RecordScratch, SegmentNote, checksum_of
from bosket.disk.records.spill import Spill
from bosket.disk.records.streams import MOST_TOGETHER, too_many_labels
from bosket.disk.seen import SeenFile, identity_of, refuse_changed, unchanged
from bosket.errors import DataError, ParameterError
from bosket.evidence.raw import ExactLevels, RawRecords
from bosket.mining.exact_parts import exact_by_parts
from bosket.progress import LevelProgress, Progress

_SHARE = 16
"""Of the memory for data, one part is for the records of a segment: a search holds several times as much."""

_SPILL_ROW = 40  # bytes, while rows are sorted
_CELL = 64  # bytes of an item, while the records that it is in are read
_LABELS = 2  # one part of as many is for the labels of items, which are held all the time

_BATCH = 16  # one part of as many is for words that are read together, of which there are several copies


def _owned(codes: ItemCodes) -> ItemCodes:
    """The same codes, not as the small part of a large array that would be held as long as they are."""
    whole = codes.base
    return codes.copy() if isinstance(whole, np.ndarray) and whole.nbytes > 2 * codes.nbytes else codes


def _check_written(domain: Domain) -> None:
    """Refuse an item that one file has as text and another as a number: as two items each would have a part of it."""
    if len({isinstance(label, str) for label in domain.labels}) < 2:
        return
    texts = {label for label in domain.labels if isinstance(label, str)}
    n_alike = sum(not isinstance(label, str) and written(label) in texts for label in domain.labels)
    if n_alike:
        items = "1 item" if n_alike == 1 else f"{n_alike} items"
        raise DataError(
            f"The files hold {items} as text in one and as a number in another.",
            hint="Declare the items with items=...: both then stand for the declared one.",
        )


class _Known(NamedTuple):
    """What a first pass leaves: what segments hold, and what codes stand for."""

    notes: list[SegmentNote]
    domain: Domain
    codes: npt.NDArray[np.int64]
    rank: ItemIds
    counts: npt.NDArray[np.int64]


def open_baskets(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    told: Arrangement,
    *,
    memory: int | str,
    scratch: str | os.PathLike[str] | None,
    on_progress: Progress | None,
    across_files: bool | None = None,
    vocabulary: Vocabulary | None = None,
) -> OpenBaskets:
    """What :meth:`bosket.Baskets.open` gives."""
    many = [paths] if isinstance(paths, str | os.PathLike) else paths
    found = named_files([Path(path) for path in many] if isinstance(many, Iterable) else many)
    folder = None if scratch is None else Path(scratch)
    if not (across_files is None or isinstance(across_files, bool)):
        raise ParameterError(
            f"The 'across_files' parameter must be True, False or None, got {shown(across_files)}.",
            parameter="across_files",
            value=across_files,
        )
    return OpenBaskets(
        found,
        told,
        memory=memory_for_data(memory),
        scratch=folder,
        on_progress=on_progress,
        across_files=across_files,
        vocabulary=vocabulary,
    )


class OpenBaskets(RawRecords):
    """Baskets in files; :meth:`bosket.Baskets.open` makes one.  :func:`bosket.mine` and ``estimate`` take it.

    Nothing is read until something is asked.  Then a first pass writes the records to a scratch folder, as codes of
    four bytes an item, in segments that fit the memory.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        told: Arrangement,
        *,
        memory: int,
        scratch: Path | None = None,
        on_progress: Progress | None = None,
        across_files: bool | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        most = {"most_cells": max(MOST_TOGETHER, memory // _CELL), "label_bytes": memory // _LABELS}
        most["batch_bytes"] = max(LEAST, memory) // _BATCH
        self._streams = [stream_of(path, told, **most) for path in paths]
        self.files = tuple(paths)
        self.memory, self._on_progress = memory, on_progress
        missing = next((stream for stream in self._streams if not stream.path.is_file()), None)
        if missing is not None:
            raise missing.content.source.error("does not exist" if not missing.path.exists() else "is no file")
        self._seen = [SeenFile.of(path) for path in paths]  # before anything of them is read
        check_alike(self._streams, across_files)
        self._across_files, self._vocabulary = across_files, vocabulary
        self._n_bytes = [file.n_bytes for file in self._seen]
        said = f"records {told.layout} {told.record!r} {told.item!r}"
        identity = identity_of(self._seen, said if across_files is None else f"{said} across {across_files}")
        self._scratch = RecordScratch(scratch, identity, max(1, self.segment_memory // 4))

    def close(self) -> None:
        """Remove the scratch folder, if it is a temporary one.

        Then records cannot be read any more; what the first pass counted, such as ``item_counts``, is still known.
        """
        self._scratch.close()

    @property
    def domain(self) -> Domain:
        return self._known.domain

    @property
    def n_items(self) -> int:
        """How many items the domain has."""
        return self.domain.n_items

    @property
    def n_records(self) -> int:
        return sum(note.n_records for note in self._known.notes)

    def __len__(self) -> int:
        return self.n_records

    @property
    def segment_memory(self) -> int:
        """What the records of a segment may take."""
        return self.memory // _SHARE

    def item_counts(self) -> npt.NDArray[np.int64]:
        return self._known.counts.copy()

    def counter(self, items: ItemIds | None = None) -> RecordCounter:
        return RecordCounter(self)

    def frequent_itemsets(
        self,
        *,
        min_count: int,
        max_size: int | None,
        max_itemsets: int,
        items: ItemIds | None = None,
        on_done: Callable[[float], None] | None = None,
    ) -> ExactLevels:
        return exact_by_parts(
            self.groups,
            self.group_sizes,
            self.counts_of(items),
            min_count=min_count,
            max_size=max_size,
            max_itemsets=max_itemsets,
            count=lambda csr, itemsets: counted(csr, itemsets, memory=self.segment_memory),
            on_done=on_done or (lambda _: None),
        )

    @property
    def group_sizes(self) -> list[int]:
        """How many records each of the groups has that are in memory one after the other."""
        return [sum(self._known.notes[number].n_records for number in group) for group in self._groups]

    @cached_property
    def _groups(self) -> list[list[int]]:
        """Segments by number; a last one that is less than half as long as others goes with the one before it.

        A share of a count that few records must reach is reached by too many itemsets.
        """
        notes = self._known.notes
        groups = [[number] for number in range(len(notes))]
        cells = [note.n_codes + 2 * note.n_records for note in notes]
        if len(groups) > 1 and 2 * cells[-1] < max(cells):
            groups[-2:] = [groups[-2] + groups[-1]]
        return groups

    def groups(self, items: npt.NDArray[np.bool_] | None = None) -> Iterator[Csr]:
        """The records of one group after the other; with ``items``, of these items alone."""
        for group in self._groups:
            sizes, codes = [], []
            for number in group:
                some, parts = self._scratch.records(number, self._known.notes[number])
                kept = self._ids(parts, number, self._known)
                if items is not None:
                    kept = kept[: keep_items(some, kept, items)]
                sizes.append(some)
                codes.append(kept)
            indptr = np.concatenate([np.zeros(1, np.int64), *sizes])
            np.cumsum(indptr, out=indptr)
            yield canonical(indptr, codes[0] if len(codes) == 1 else np.concatenate(codes), self.domain)

    def _ids(self, codes: ItemCodes, number: int, of: _Known) -> ItemIds:
        """The item id of each code of a segment; a code that stands for no item is none that was written."""
        known, rank = of.codes, of.rank
        largest = int(known[-1]) if known.size else -1
        if codes.size and (int(codes.min()) < 0 or int(codes.max()) > largest):
            raise self._scratch.spoilt(number)
        ids: ItemIds
        if largest > 4 * known.size + 1_000_000:
            places = np.searchsorted(known, codes)
            if (known[places] != codes).any():
                raise self._scratch.spoilt(number)
            ids = rank[places]
            return ids
        table = np.full(largest + 1, -1, np.int32)
        table[known] = rank
        if codes.dtype != np.int32:
            ids = table[codes]
        else:
            for start in range(0, codes.size, 1 << 20):  # in their place
                codes[start : start + (1 << 20)] = table[codes[start : start + (1 << 20)]]
            ids = codes.astype(np.int32, copy=False)
        if int(ids.min(initial=0)) < 0:
            raise self._scratch.spoilt(number)
        return ids

    @cached_property
    def _known(self) -> _Known:
        with unchanged(self._seen):  # headers and footers are read here too
            with self._scratch.alone():
                notes = self._found()
                if not self._scratch.is_finished(notes):
                    self._scratch.begin_again()
                    if self._streams[0].is_long:
                        with self._scratch.spilling() as folder:
                            notes = self._sorted(folder)
                    else:
                        notes = self._split(notes)
                    refuse_changed(self._seen)
                    self._scratch.finish(notes)
            return self._together(notes)

    def _found(self) -> list[SegmentNote]:
        """Segments that are there, one after the other, with the labels of their codes."""
        notes: list[SegmentNote] = []
        while (note := self._scratch.found(len(notes), checksum_of(notes))) is not None and note.file < len(self.files):
            notes.append(note)
        if not self._take_labels(notes):
            notes = []
            self._take_labels(notes)
        return notes

    def _take_labels(self, notes: Sequence[SegmentNote]) -> bool:
        """What codes stand for, from a pass before; whether those are all."""
        stream = self._streams[-1]
        labels = self._scratch.labels(range(len(notes)))
        stream.take_labels(labels)
        for other in self._streams:
            other.labels = stream.labels
        return len(labels) == (notes[-1].n_labels if notes else 0)

    def _tell(self, before: int, done: int) -> None:
        if self._on_progress is not None:
            self._on_progress(LevelProgress(0, before + done, sum(self._n_bytes), "reading"))

    def _split(self, notes: list[SegmentNote]) -> list[SegmentNote]:
        """Cut streams of whole records into segments, from the first that is not there."""
        first, at, line = (notes[-1].file, notes[-1].at, notes[-1].line) if notes else (0, 0, 0)
        n_labels = notes[-1].n_labels if notes else 0
        sizes: list[ItemCodes] = []
        codes: list[ItemCodes] = []
        cells, before = 0, sum(self._n_bytes[:first])
        end = (first, at, line)

        def save() -> None:
            nonlocal cells, n_labels
            labels = self._streams[0].labels_from(n_labels)
            n_labels += len(labels)
            whole = np.concatenate(codes)
            next_at = (*end, n_labels, checksum_of(notes))
            refuse_changed(self._seen[notes[-1].file if notes else 0 : end[0] + 1])  # what the segment was read from
            notes.append(self._scratch.save(len(notes), np.concatenate(sizes), whole, labels, next_at))
            cells = 0
            sizes.clear()
            codes.clear()

        if self._streams[0].columns is not None:
            self._streams[0].check_labels(taken(n_labels=len(self._streams[0].columns)))
        for number, stream in enumerate(self._streams[first:], first):
            stream.labels = self._streams[0].labels
            for part in stream.parts((at, line), lambda done, before=before: self._tell(before, done)):  # type: ignore[misc]  # bound here
                self._streams[0].labels = stream.labels
                stream.check_labels()
                sizes.append(part.sizes.astype(np.int32))
                codes.append(_owned(part.codes))
                cells += part.codes.size + 2 * part.sizes.size
                end = (number, *part.place)
                if cells >= self._scratch.rows:
                    save()
            before += self._n_bytes[number]
            at, line = 0, 0
        if sizes:
            save()
        for stream in self._streams:
            stream.labels = self._streams[0].labels
        return notes

    def _sorted(self, folder: Path) -> list[SegmentNote]:
        """Sort the rows of long files by record, in a folder for them, and make segments of them."""
        stream, before = self._streams[0], 0
        self._take_labels([])
        spill = Spill(folder, buffered=self.segment_memory // _SPILL_ROW)
        for number, one in enumerate(self._streams):
            for keys, records, codes in one.rows(lambda done, before=before: self._tell(before, done)):  # type: ignore[misc]  # bound here
                stream.check_labels()
                spill.append(keys, records, codes)
            before += self._n_bytes[number]
            if not self._across_files:
                spill.rename()
        spill.flush()
        refuse_changed(self._seen)
        if all(one.may_be_signs for one in self._streams):
            stream.check_rows()
        labels = stream.labels_from(0)
        notes: list[SegmentNote] = []
        most_rows = max(1, self._scratch.rows // 2)
        for group in spill.groups(most_rows):
            found = spill.records(group, len(labels), most_rows)
            new = labels if not notes else []
            sizes = sizes_of(found.indptr)
            next_at = (0, 0, 0, len(labels), checksum_of(notes))
            notes.append(self._scratch.save(len(notes), sizes, found.indices, new, next_at))
        return notes

    def _together(self, notes: list[SegmentNote]) -> _Known:
        found = [self._scratch.distinct(number, note) for number, note in enumerate(notes)]
        codes = np.unique(np.concatenate([np.empty(0, np.int64), *(distinct for distinct, _ in found)]))
        if taken(n_labels=codes.size) - taken() > self.memory // _LABELS:
            raise too_many_labels(codes.size)
        domain, known, rank = self._streams[-1].domain(codes, self._streams)
        occurs = np.isin(known, codes)
        if self._vocabulary is not None:
            domain, rank = self._vocabulary.domain, self._declared(domain, rank, occurs)
        elif len(self.files) > 1:
            _check_written(domain)
        counts = np.zeros(domain.n_items, np.int64)
        for distinct, numbers in found:
            places = np.searchsorted(known, distinct)
            if places.size and (int(places.max()) >= known.size or (known[places] != distinct).any()):
                raise DataError("The scratch folder does not hold just the records.", hint="Remove it, and open again.")
            np.add.at(counts, rank[places], numbers)
        result = _Known(notes, domain, known, rank, counts)
        is_one_each = np.unique(rank[occurs]).size == np.count_nonzero(occurs)
        return result if is_one_each else result._replace(counts=self._recounted(result))

    def _recounted(self, known: _Known) -> npt.NDArray[np.int64]:
        """In how many records each item is, where several codes stand for one: a record may have it by two of them."""
        counts = np.zeros(known.domain.n_items, np.int64)
        for number, note in enumerate(known.notes):
            sizes, codes = self._scratch.records(number, note)
            indptr = np.concatenate([np.zeros(1, np.int64), sizes])
            np.cumsum(indptr, out=indptr)
            found = canonical(indptr, self._ids(codes, number, known), known.domain)
            counts += np.bincount(found.indices, minlength=counts.size)
        return counts

    def _declared(self, domain: Domain, rank: ItemIds, occurs: npt.NDArray[np.bool_]) -> ItemIds:
        """The declared item of each code, by how it is written; -1 for one that is not declared and does not occur."""
        assert self._vocabulary is not None
        places = self._vocabulary.places
        texts = map(written, domain.labels)
        ids = np.array([-1 if text is None else places.get(text, -1) for text in texts], np.int32)[rank]
        n_unknown = int(np.count_nonzero(occurs & (ids < 0)))
        if n_unknown:
            items = "1 item" if n_unknown == 1 else f"{n_unknown} different items"
            raise DataError(f"The files hold {items} that the declared domain does not have.")
        return ids

    def __repr__(self) -> str:
        return f"OpenBaskets({'1 file' if len(self.files) == 1 else f'{len(self.files)} files'})"
