"""Reports of many files, read in chunks of one size: what a segment is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bosket import report_files
from bosket.collected import Made, checked_batch
from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.duplicates import marks
from bosket.disk.seen import SeenFile, changed, refuse_changed, unchanged
from bosket.errors import DataError
from bosket.mechanisms.columns import ColumnValues
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.reports import compared, refuse_other_kinds
from bosket.respondents import COLUMN

Piece = tuple[int, int, int]
"""Reports of one file in a chunk: the number of the file, how many, and a sum over them."""


@dataclass(frozen=True)
class KnownFile:
    """A file of reports, by its footer."""

    seen: SeenFile
    n_records: int
    randomness: str

    @property
    def path(self) -> Path:
        return self.seen.path

    @property
    def n_bytes(self) -> int:
        return self.seen.n_bytes


def known_file(path: Path, plan: Plan | None) -> tuple[KnownFile, Plan]:
    """What a file says of itself, and its plan; refused where it holds something else than plain reports."""
    seen = SeenFile.of(path)  # before it is read
    with report_files.opened(path, plan=plan, max_bytes=None) as file:
        refuse_other_kinds(file)
        own = {column.name for column in file.plan.channel.payload.columns}
        if COLUMN.name in set(file.names) - own:
            raise DataError(
                f"{path} names its respondents, and who answered twice over many files cannot be seen without holding "
                "all their tokens.",
                path=path,
                hint="Read such files with Reports.read, or write them without: reports.without_respondents().",
            )
        file.checked_columns()
        return KnownFile(seen, file.claimed, file.randomness), file.plan


def chunks(
    files: Sequence[KnownFile], plan: Plan, rows: int, *, first: int = 0, tell: Callable[[int], None] | None = None
) -> Iterator[tuple[Batch, tuple[Piece, ...]]]:
    """The reports of all files, ``rows`` at a time, from chunk ``first`` on; ``tell`` hears the bytes that are read.

    Reports of a file that has changed since it was opened are not given.
    """
    columns = plan.channel.payload.columns
    left = sum(file.n_records for file in files) - first * rows
    values: dict[str, ColumnValues] = {}
    sizes: list[tuple[int, int]] = []  # of the chunk at hand: file, how many
    n, passed, bytes_before = 0, 0, 0
    for number, file in enumerate(files):
        start = max(0, first * rows - passed)
        passed += file.n_records
        at = start
        if start < file.n_records or not file.n_records:
            with unchanged([file.seen]), report_files.opened(file.path, plan=plan, max_bytes=None) as opened:
                if opened.claimed != file.n_records:
                    raise changed(file.path)
                for part in opened.parts(start):
                    taken, n_part = 0, len(next(iter(part.values())))
                    at += n_part
                    while taken < n_part:
                        if not values:
                            values = {column.name: column.room(min(rows, left)) for column in columns}
                        some = min(n_part - taken, min(rows, left) - n)
                        for column in columns:
                            values[column.name][n : n + some] = part[column.name][taken : taken + some]
                        sizes.append((number, some))
                        n, taken = n + some, taken + some
                        if n == min(rows, left):
                            refuse_changed([files[one].seen for one in dict.fromkeys(one for one, _ in sizes)])
                            full, values = values, {}
                            yield _chunk(plan, full, sizes, files)
                            del full
                            left, n, sizes = left - n, 0, []
                    if tell is not None:
                        tell(bytes_before + file.n_bytes * at // file.n_records)
        bytes_before += file.n_bytes
    assert n == 0, "footers were checked"


def _chunk(
    plan: Plan, values: dict[str, ColumnValues], sizes: Sequence[tuple[int, int]], files: Sequence[KnownFile]
) -> tuple[Batch, tuple[Piece, ...]]:
    fault = None
    try:
        batch = checked_batch(plan, Batch(values))
    except DataError as problem:
        names = sorted({str(files[number].path) for number, _ in sizes})
        fault = DataError(f"The reports in {', '.join(names)} cannot be of their plan: {problem}", path=names[0])
    if fault is not None:
        raise fault
    own = marks(*compared(plan.channel.payload, batch))
    found: dict[int, tuple[int, int]] = {}
    start = 0
    for number, some in sizes:
        before = found.get(number, (0, 0))
        total = int(own[start : start + some].sum(dtype=np.uint64))
        found[number] = (before[0] + some, (before[1] + total) % (1 << 64))
        start += some
    return batch, tuple((number, n, total) for number, (n, total) in found.items())


class ByChunks:
    """A counter that reads all reports for every look, a chunk at a time."""

    def __init__(self, read: Callable[[], Iterator[Batch]], make: Made, n_records: int) -> None:
        """``read`` gives all chunks, from the first on."""
        self._read, self._make, self.n_records = read, make, n_records
        self.strata = tuple(sorted({one for counter in self._counters() for one in counter.strata})) or (0,)

    def _counters(self) -> Iterator[Counter]:
        return (self._make(batch, None) for batch in self._read())

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        total = np.zeros((len(self.strata), len(itemsets)), np.int64)
        for counter in self._counters():
            total[[self.strata.index(stratum) for stratum in counter.strata]] += counter.supports(itemsets)
        if on_progress is not None:
            on_progress(len(itemsets))
        return total
