"""Baskets of a Spark session for a curator: sums over records, made where these are; noise is added by whoever asks.

Each task answers for its own segments by the code of one machine (:mod:`bosket.curator.sieve.records`), in whole
numbers, and the driver adds them up: what is released is what one machine would release with the same noise.

No record is refused, and none decides how others are read: an item that is missing, that is not declared or that is no
text is left out, and so is a row that does not name its record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bosket.counting.base import Counts, ItemsetRows
from bosket.curator.sieve.contributions import Bounding, Units
from bosket.curator.sieve.records import BasketRecords, CuratedRecords, Held
from bosket.data import Baskets, Domain
from bosket.data.formats.lookup import Lookup
from bosket.errors import DataError
from bosket.spark.counted import MOST_COUNTS, SUMS, added_counts, sums_row
from bosket.spark.encoding import unpersist
from bosket.spark.jobs import Frame, collected, persisted, started
from bosket.spark.segments import LOST, pieces
from bosket.threads import use_threads

LAYOUT = "n_records long, sizes binary, items binary"
_MOST_TASKS = 256

LookAtRecords = Callable[[CuratedRecords], Counts]
"""What is asked of the records of a segment; answers of all segments are added up."""


class SparkCurated(CuratedRecords):
    """Records over a vocabulary that the workers hold until :meth:`close`."""

    def __init__(self, frame: Frame, domain: Domain, n_records: int) -> None:
        self.domain, self.n_records = domain, n_records
        self._frame = frame
        self._forget = finalize(self, unpersist, frame)
        self._forget.atexit = False  # the session may be gone by then, and takes all with it

    @classmethod
    def read(cls, frame: Frame, domain: Domain) -> SparkCurated:
        """One pass over a frame of lists."""
        job = _reading(Lookup.of(domain, parameter="vocabulary"))
        kept = persisted(lambda: frame.mapInArrow(job, LAYOUT))
        try:
            numbers = collected(lambda: kept.select("n_records"))["n_records"]
        except BaseException:
            unpersist(kept)
            raise
        return cls(kept, domain, int(np.sum(numbers.to_numpy(), dtype=np.int64)))

    def close(self) -> None:
        self._forget()

    def __repr__(self) -> str:
        return f"SparkCurated({len(self.domain)} items)"

    def items(self) -> SparkActive:
        return SparkActive(self, None)

    def itemsets(self, rows: Sequence[ItemsetRows]) -> SparkActive:
        return SparkActive(self, list(rows))

    def asked(self, question: LookAtRecords, shape: tuple[int, ...]) -> Counts:
        """The sum of what segments answer; by fewer tasks where each of them answers with many numbers."""
        n_counts = int(np.prod(shape))
        job, tasks = _asking(self.domain, question, n_counts), max(1, MOST_COUNTS // max(1, n_counts))
        frame = started(lambda: self._frame.coalesce(min(tasks, _MOST_TASKS)))  # of segments that workers keep
        total, n = added_counts(collected(lambda: frame.mapInArrow(job, SUMS)), n_counts)
        if n != self.n_records:  # a message with the numbers would tell them
            raise DataError(
                "The frame is not the same each time it is computed.",
                hint="Write it to a table or checkpoint it before it is curated.",
            )
        return total.reshape(shape)


class SparkActive:
    """The itemsets of a round; None for all single items."""

    def __init__(self, records: SparkCurated, rows: list[ItemsetRows] | None) -> None:
        self._records, self._rows = records, rows

    def held_by(self, groups: Units) -> SparkHeld:
        return SparkHeld(self._records, self._rows, groups)


class SparkHeld:
    """What records hold, asked for in a job for each question."""

    def __init__(self, records: SparkCurated, rows: list[ItemsetRows] | None, groups: Units) -> None:
        self._records, self._rows, self._groups = records, rows, groups

    def divided(self, starts: Units, bounding: Bounding) -> Units:
        shape = len(starts), int(self._groups.max(initial=0)) + 1
        return self._asked(lambda held: held.divided(starts, bounding), shape)

    def sums(self, bounding: Bounding, budget: int) -> Counts:
        return self._asked(lambda held: held.sums(bounding, budget), (len(self._groups),))

    def _asked(self, of: Callable[[Held], Counts], shape: tuple[int, ...]) -> Counts:
        rows, groups = self._rows, self._groups

        def question(records: CuratedRecords) -> Counts:
            return of((records.items() if rows is None else records.itemsets(rows)).held_by(groups))

        return self._records.asked(question, shape)


def _reading(lookup: Lookup) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Turns rows into segments over the vocabulary."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        with use_threads(1):
            for rows in pieces(batches):
                indptr, items = over_vocabulary(rows, lookup)
                yield pa.record_batch(
                    {
                        "n_records": pa.array([len(indptr) - 1], pa.int64()),
                        "sizes": pa.array([np.diff(indptr).astype(np.uint32).tobytes()], pa.binary()),
                        "items": pa.array([items.tobytes()], pa.binary()),
                    }
                )

    return job


def over_vocabulary(rows: Any, lookup: Lookup) -> tuple[Units, ItemsetRows]:
    """Records as compressed rows of declared items, increasing; each by itself, whatever it holds."""
    if LOST in rows.column_names:
        rows = rows.filter(pc.equal(rows[LOST], 0))
    lists, n_items = rows["items"].combine_chunks(), len(lookup.domain)
    values, record = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy()
    coded = values.dictionary_encode()
    ids = np.append(np.array(lookup.items(_labels(coded.dictionary)), np.int64), -1)
    items = ids[pc.fill_null(coded.indices, len(ids) - 1).to_numpy()]
    keys = np.unique((record * n_items + items)[items >= 0])
    indptr = np.zeros(rows.num_rows + 1, np.int64)
    np.cumsum(np.bincount(keys // n_items, minlength=rows.num_rows), out=indptr[1:])
    return indptr, (keys % n_items).astype(np.int32)


def _labels(words: Any) -> list[Any]:
    """Labels as Python has them; None for what is no text, though its column says so.

    Numbers of 32 bits stay what they are: they stand for items by the fewest digits that tell them.
    """
    if pa.types.is_float32(words.type):
        return list(words.to_numpy(zero_copy_only=False))
    if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)):
        return list(words.to_pylist())
    return [_decoded(one) for one in words.cast(pa.large_binary()).to_pylist()]


def _decoded(word: bytes | None) -> str | None:
    try:
        return None if word is None else word.decode()
    except UnicodeDecodeError:
        return None


def _asking(domain: Domain, question: LookAtRecords, n_counts: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Answers for the records of a task."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        with use_threads(1):
            total, n = np.zeros(n_counts, np.int64), 0
            for batch in batches:
                sizes, items = (batch.column(batch.schema.get_field_index(name)) for name in ("sizes", "items"))
                for at in range(batch.num_rows):
                    lengths = np.frombuffer(sizes[at].as_buffer(), np.uint32)
                    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
                    own = Baskets.from_csr(indptr, np.frombuffer(items[at].as_buffer(), np.int32), domain)
                    total += question(BasketRecords(own)).ravel()
                    n += len(lengths)
            yield sums_row(n, total)

    return job
