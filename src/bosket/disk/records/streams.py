"""Files of baskets as streams of whole records, or of rows that say which record an item belongs to.

Items are codes here: the numbers of a FIMI file as they are, or numbers of labels in order of first appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.data.baskets.grouped import sizes_of
from bosket.data.baskets.kernels import canonicalize, is_canonical
from bosket.data.baskets.rows import frozen, taken
from bosket.data.domain import Domain, ItemIds
from bosket.data.formats import fimi
from bosket.data.formats.arrangements import Arrangement
from bosket.data.formats.parquet_streams import NumberedLabels
from bosket.data.formats.sources import MORE_MEMORY, Content
from bosket.data.formats.words import NumberedWords
from bosket.errors import DataError

TellBytes = Callable[[int], None]
MOST_TOGETHER = 1 << 18
"""Items of records that are read together, on the average."""


def too_many_labels(n_labels: int) -> DataError:
    """Of files whose labels do not fit in the memory, of which so many are known."""
    return DataError(
        f"The files hold more than {n_labels} different items, whose labels do not fit in the memory.",
        hint=MORE_MEMORY,
    )


class RecordPart(NamedTuple):
    """Some whole records, and where the next ones begin: what they are counted by, and a second number."""

    sizes: npt.NDArray[np.integer[Any]]
    codes: npt.NDArray[np.integer[Any]]
    place: tuple[int, int]


class KeyedRows(NamedTuple):
    """Some rows of a long file: the number of the record of each among ``keys``, and the code of its item or -1."""

    keys: NumberedWords
    records: ItemIds
    codes: ItemIds


@dataclass
class FileStream:
    """One file.  ``codes`` stand for numbers unless there are ``labels``."""

    content: Content
    told: Arrangement
    most_cells: int
    """Items that a record may have, at most."""

    label_bytes: int
    """What the labels of all items may take."""

    batch_bytes: int
    """What the words of rows that are read together may take, where they come from a file that is no text."""

    is_long = False
    may_be_signs = False
    """Whether the records of a long file that was read have such names that its columns may be two items."""

    labels: NumberedLabels | NumberedWords | None = None

    @property
    def path(self) -> Path:
        return self.content.path

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the items, where each has a column."""
        return None

    @property
    def long_columns(self) -> tuple[object, ...]:
        """What files with a row for each record and item must have in common to be one table."""
        return ()

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        raise NotImplementedError

    def rows(self, tell: TellBytes) -> Iterator[KeyedRows]:
        raise NotImplementedError

    def check_rows(self) -> None:
        """Refuse long files, all of which are read, if their columns may be two items."""

    def labels_from(self, start: int) -> list[Hashable]:
        """The labels of the codes from ``start`` on; none where codes stand for themselves."""
        if isinstance(self.labels, NumberedWords):
            return list(self.labels.texts(start))
        return [] if self.labels is None else list(islice(self.labels.index, start, None))

    @property
    def n_held(self) -> tuple[int, int]:
        """How many labels are held, and the letters of them; numbers that stand for themselves are counted later."""
        return (0, 0) if self.labels is None else (len(self.labels), self.labels.n_letters)

    def check_labels(self, n_bytes: int | None = None) -> None:
        """Refuse more different items than there is memory for, as they are met: those that are held, or some of which
        :func:`taken` tells the bytes.
        """
        free, (n_labels, n_letters) = taken(), self.n_held
        if n_bytes is not None:
            n_labels = max(n_labels, (n_bytes - free) // (taken(n_labels=1) - free))
        if taken(n_labels=n_labels) - free + n_letters > self.label_bytes:
            raise too_many_labels(n_labels)

    def take_labels(self, labels: list[Hashable]) -> None:
        """Go on with the labels of a pass before."""

    def domain(
        self, codes: npt.NDArray[np.int64], files: Sequence[FileStream]
    ) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        """The domain of all ``files``, the codes that occur, sorted, and the item id of each."""
        raise NotImplementedError


class FimiStream(FileStream):
    """A record a line; a place is a byte of the contents and the lines before it."""

    def parts(self, place: tuple[int, int], tell: TellBytes) -> Iterator[RecordPart]:
        at, line = place
        content = replace(self.content, start=at, on_read=tell)
        for block in fimi.blocks(content, before=line):
            if int(block.sizes.max(initial=0)) > self.most_cells:
                raise content.source.error(
                    f"must have records of at most {self.most_cells} items, as many as there is memory for, and has "
                    f"one of {block.sizes.max()}",
                    line=line + 1 + int(np.argmax(block.sizes > self.most_cells)),
                    hint=MORE_MEMORY,
                )
            at, line = at + block.n_bytes, line + block.n_lines
            yield RecordPart(block.sizes, block.numbers, (at, line))

    def domain(
        self, codes: npt.NDArray[np.int64], files: Sequence[FileStream]
    ) -> tuple[Domain, npt.NDArray[np.int64], ItemIds]:
        return Domain(codes.tolist(), is_declared=False), codes, np.arange(codes.size, dtype=np.int32)


def from_row(parts: Iterator[tuple[ItemIds, ItemIds]], before: int) -> Iterator[RecordPart]:
    """Sizes of records and their codes without the first ``before`` records; a place is a number of records."""
    done = 0
    for sizes, codes in parts:
        skipped = min(max(before - done, 0), len(sizes))
        done += len(sizes)
        if skipped < len(sizes):
            first = int(sizes[:skipped].sum(dtype=np.int64))
            yield RecordPart(*_each_once(sizes[skipped:], codes[first:]), (done, 0))


def _each_once(sizes: ItemIds, codes: ItemIds) -> tuple[ItemIds, ItemIds]:
    """The same records with each item once, increasing."""
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    if is_canonical(frozen(indptr.view()), frozen(codes.view())):
        return sizes, codes
    written = canonicalize(indptr, codes)
    return sizes_of(indptr), codes[:written]
