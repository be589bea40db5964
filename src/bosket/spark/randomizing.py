"""Randomize the records of a frame on the workers, with secure coins, once.

A task that is run again draws new coins.  Whoever saw both reports of a person would know more than was promised, and
counts of a frame that changes between jobs add up to nothing.  So reports are never left to a lazy frame: they are
written to Parquet files, of which Spark keeps those of one attempt of each task alone, and read from there; or, without
a folder, they are checkpointed on the workers, whose loss is then an error and never a second draw.

Baskets that are written to files are read, checked and randomized in one job.  Where a task meets a record that is
refused, the job fails, Spark removes what it wrote, and a second job looks for all such records, to say how many there
are and where the first is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bosket.checks import check_integer, shown
from bosket.collected import whole_batch
from bosket.data import Baskets, Table, TableDomain
from bosket.data.baskets.rows import Offsets
from bosket.data.domain import ItemIds
from bosket.errors import DataError, ParameterError
from bosket.plan import Plan
from bosket.randomness import Secure
from bosket.spark.counted import SUMS, sums_row
from bosket.spark.faults import place, times
from bosket.spark.jobs import UNFINISHED, Frame, started
from bosket.spark.records import SparkRecords
from bosket.spark.report_rows import report_schema, to_rows
from bosket.spark.segments import PlaceOf, RowShape, kept, pieces, placed, read, segment_of
from bosket.spark.shapes import Shaped
from bosket.spark.summaries import Job, key_of
from bosket.threads import slices, use_threads

_AT_ONCE = 1 << 16  # records


def check_options(plan: Plan, rng: object, respondents: object) -> None:
    """Refuse what cannot be done on workers, before anything is read."""
    if rng is not None and not isinstance(rng, Secure):
        raise ParameterError(
            "The 'rng' parameter must be left out on Spark: workers draw secure coins of their own, and tasks that are "
            "run again would repeat a seed.",
            parameter="rng",
            value=rng,
            hint="A simulation runs on one machine: plan.randomize(baskets, rng=Seeded(...)).",
        )
    if respondents is not None:
        raise ParameterError(
            "The 'respondents' parameter must be left out on Spark.", parameter="respondents", value=None
        )
    if plan.channel.belong_together:
        raise whole_batch(plan)


def check_folder(folder: object) -> str | None:
    """The name of a folder, as text."""
    if folder is None:
        return None
    name = os.fspath(folder) if isinstance(folder, os.PathLike) else folder
    if not isinstance(name, str) or not name:
        raise ParameterError(
            f"The 'folder' parameter must be the name of a folder that all workers can write to, or None, got "
            f"{shown(folder)}.",
            parameter="folder",
            value=folder,
        )
    return name


def randomized(plan: Plan, records: SparkRecords, *, people: int | None, folder: str | None) -> Frame:
    """A frame of reports of these records, which are over the plan's domain; written once."""
    check_lengths(plan, records)
    n = records.n_records
    plan.warn_of_hopeless(n if people is None else check_integer("people", people, least=1))
    schema, job = report_schema(plan, "secure"), _drawing(plan, records.places)
    segments = records.segments.segments
    made = started(lambda: segments.mapInArrow(job, schema))
    if folder is None:
        _refuse_speculation(segments)
    result = started(lambda: made.localCheckpoint(eager=True)) if folder is None else _written(made, schema, folder)
    _check_number(result, n)
    return result


def randomized_at_once(plan: Plan, found: Shaped, *, people: int | None, folder: str) -> Frame | None:
    """The same of a frame of baskets that was not read before; None where a job failed, most likely for its records.

    That few reports say nothing is warned of once they are counted.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    if people is not None:
        plan.warn_of_hopeless(check_integer("people", people, least=1))
    schema, job, seen = report_schema(plan, "secure"), _drawing_at_once(plan, found.shape), Observation()
    made = started(lambda: found.frame.mapInArrow(job, schema).observe(seen, F.count(F.lit(1)).alias("n")))
    try:
        result = _written(made, schema, folder)
    except DataError as problem:
        if not str(problem).startswith(UNFINISHED):
            raise
        _remove_empty(folder)
        return None
    n = int(started(lambda: seen.get["n"]))
    _check_number(result, n)
    if people is None:
        plan.warn_of_hopeless(n)
    return result


def _written(made: Frame, schema: Any, folder: str) -> Frame:
    """Reports in files, as a frame of these; coins neither repeat nor compress."""
    plain = {
        "parquet.enable.dictionary": "false",
        "compression": "uncompressed",
        "mapreduce.fileoutputcommitter.algorithm.version": "1",  # files of a job that fails are never in the folder
    }
    started(lambda: made.write.mode("error").options(**plain).parquet(folder))
    return started(lambda: made.sparkSession.read.schema(schema).parquet(folder))


def _check_number(result: Frame, n: int) -> None:
    written = started(lambda: result.count())
    if written != n:
        raise DataError(
            f"There are {written} reports of {n} records: not all were written, or some twice.",
            hint="Remove them, and randomize into an empty folder.",
        )


def _remove_empty(folder: str) -> None:
    """Remove the folder of a job that failed, if it is one of this machine; refuse to go on where it is not empty."""
    place = Path(folder.removeprefix("file://").removeprefix("file:"))
    with contextlib.suppress(OSError):
        place.rmdir()
    if place.is_dir():
        raise DataError(
            "Spark could not finish, and left files in the folder: they may hold reports of some records.",
            hint="Remove them before these records are randomized again: two draws of a record tell more than one.",
        )


def _refuse_speculation(frame: Frame) -> None:
    """Of two attempts of one task, both of which end, each may leave its block of reports with a worker of its own."""
    if str(started(lambda: frame.sparkSession.conf.get("spark.speculation", "false"))).lower() == "true":
        raise ParameterError(
            "The 'folder' parameter must be given where spark.speculation is on: a task that runs twice would leave "
            "two draws of its records with the workers.",
            parameter="folder",
            value=None,
        )


def _drawing(plan: Plan, places: PlaceOf) -> Job:
    def job(batches: Iterable[Any]) -> Iterator[Any]:
        rng = Secure()  # of this task, its key from the operating system
        with use_threads(1):
            for indptr, items in read(batches, places):
                yield from _reports(plan, indptr, items, rng)

    return job


def _drawing_at_once(plan: Plan, shape: RowShape) -> Job:
    """Reads rows of a frame as well; fails, without a word of what stands in them, where one is refused."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        rng, index = Secure(), plan.domain.index
        with use_threads(1):
            for rows in pieces(batches):
                made, faults = segment_of(rows, shape)
                if faults or not all(key_of(label) in index for label in made.labels):
                    raise DataError("The records of a task cannot be randomized under the plan.")
                yield from _reports(plan, made.indptr, placed(made, index), rng)

    return job


def _reports(plan: Plan, indptr: Offsets, items: ItemIds, rng: Secure) -> Iterator[Any]:
    """Reports of records over the plan's domain, some at a time."""
    domain = plan.domain
    for start, stop in slices(len(indptr) - 1, _AT_ONCE):
        own = items[indptr[start] : indptr[stop]]
        data: Baskets | Table
        if isinstance(domain, TableDomain):
            data = Table.from_codes(own.reshape(stop - start, -1) - domain.offsets[:-1], domain)
        else:
            data = Baskets.from_csr(indptr[start : stop + 1] - indptr[start], own, domain)
        yield to_rows(plan, plan.randomize(data, rng=rng, people=1).batch)


def check_lengths(plan: Plan, records: SparkRecords) -> None:
    """Refuse records that are longer than a plan allows."""
    limit = plan.max_size
    if limit is not None and plan.unit.longer == "refuse" and records.encoded.longest > limit:
        _refuse_longer(records, limit)


def _refuse_longer(records: SparkRecords, limit: int) -> None:
    """Say how many records are longer than a plan allows, and where the first of them is."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        n, firsts = 0, []
        for batch in batches:
            part, first_row = (batch.column(batch.schema.get_field_index(name)) for name in ("part", "first_row"))
            for at, segment in enumerate(kept([batch])):
                longer = np.flatnonzero(segment.sizes > limit)
                if len(longer):
                    n += len(longer)
                    firsts.append((part[at].as_py(), first_row[at].as_py() + int(longer[0])))
        if n:
            yield sums_row(n, np.array(min(firsts), np.int64))

    rows = records.segments.map(job, SUMS)
    count = int(np.sum(rows["n_records"].to_numpy()))
    first = min(tuple(np.frombuffer(one.as_buffer(), np.int64).tolist()) for one in rows["counts"])
    raise DataError(
        f"A record must have at most the {limit} items that the plan allows for: {times(count)} it has more, first in "
        f"{place(first)}.",
        hint="Leave such records out, or make the plan with longer='sample'.",
    )
