"""Randomize the records of a frame on the workers, with secure coins, once.

A task that is run again draws new coins.  Whoever saw both reports of a person would know more than was promised, and
counts of a frame that changes between jobs add up to nothing.  So reports are never left to a lazy frame: they are
written to Parquet files, of which Spark keeps those of one attempt of each task alone, and read from there; or, without
a folder, they are checkpointed on the workers, whose loss is then an error and never a second draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bosket.checks import check_integer
from bosket.collected import whole_batch
from bosket.data import Baskets, Table, TableDomain
from bosket.errors import DataError, ParameterError
from bosket.plan import Plan
from bosket.randomness import Secure
from bosket.spark.counted import sums_row
from bosket.spark.encoding import place, times
from bosket.spark.jobs import Frame, started
from bosket.spark.records import SparkRecords
from bosket.spark.report_rows import report_schema, to_rows
from bosket.spark.segments import Job, PlaceOf, read
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


def randomized(plan: Plan, records: SparkRecords, *, people: int | None, folder: str | None) -> Frame:
    """A frame of reports of these records, which are over the plan's domain; written once."""
    limit = plan.max_size
    if limit is not None and plan.unit.longer == "refuse" and records.encoded.longest > limit:
        _refuse_longer(records, limit)
    n = records.n_records
    plan.warn_of_hopeless(n if people is None else check_integer("people", people, least=1))
    schema, job = report_schema(plan, "secure"), _drawing(plan, records.places)
    segments = records.encoded.frame
    made = started(lambda: segments.mapInArrow(job, schema))
    if folder is None:
        _refuse_speculation(segments)
        result = started(lambda: made.localCheckpoint(eager=True))
    else:
        session = segments.sparkSession
        plain = {"parquet.enable.dictionary": "false"}  # coins do not repeat
        started(lambda: made.write.mode("error").options(**plain).parquet(folder))
        result = started(lambda: session.read.schema(schema).parquet(folder))
    written = started(lambda: result.count())
    if written != n:
        raise DataError(
            f"There are {written} reports of {n} records: not all were written, or some twice.",
            hint="Remove them, and randomize into an empty folder.",
        )
    return result


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
    domain = plan.domain

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        rng = Secure()  # of this task, its key from the operating system
        with use_threads(1):
            for indptr, items in read(batches, places):
                for start, stop in slices(len(indptr) - 1, _AT_ONCE):
                    own = items[indptr[start] : indptr[stop]]
                    data: Baskets | Table
                    if isinstance(domain, TableDomain):
                        codes = own.reshape(stop - start, -1) - domain.offsets[:-1]
                        data = Table.from_codes(codes, domain)
                    else:
                        data = Baskets.from_csr(indptr[start : stop + 1] - indptr[start], own, domain)
                    yield to_rows(plan, plan.randomize(data, rng=rng, people=1).batch)

    return job


def _refuse_longer(records: SparkRecords, limit: int) -> None:
    """Say how many records are longer than a plan allows, and where the first of them is."""

    def job(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            columns = {
                name: batch.column(batch.schema.get_field_index(name)) for name in ("part", "first_row", "sizes")
            }
            for at in range(batch.num_rows):
                longer = np.flatnonzero(np.frombuffer(columns["sizes"][at].as_buffer(), np.uint32) > limit)
                if len(longer):
                    first = columns["first_row"][at].as_py() + int(longer[0])
                    yield sums_row(len(longer), np.array([columns["part"][at].as_py(), first], np.int64))

    rows = records.encoded.map(job, "n_records long, counts binary")
    count = int(np.sum(rows["n_records"].to_numpy()))
    first = min(tuple(np.frombuffer(one.as_buffer(), np.int64).tolist()) for one in rows["counts"])
    raise DataError(
        f"A record must have at most the {limit} items that the plan allows for: {times(count)} it has more, first in "
        f"{place(first)}.",
        hint="Leave such records out, or make the plan with longer='sample'.",
    )
