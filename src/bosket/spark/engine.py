"""What is done with a frame of Spark: the functions of :class:`bosket.engines.Engine`, and some with options."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from bosket.checks import shown
from bosket.collected import Collected
from bosket.data import Domain, TableDomain
from bosket.errors import DataError, PlanMismatchError
from bosket.evidence.raw import RawRecords, Sought
from bosket.plan import Plan
from bosket.report_files import MAX_BYTES
from bosket.report_notes import check_plan
from bosket.reports import Reports
from bosket.spark.curated import SparkCurated
from bosket.spark.domains import domain_of_columns, domain_of_lists, domain_of_table, over_domain
from bosket.spark.encoding import encode, refuse_unknown
from bosket.spark.jobs import UNFINISHED, Frame, is_connected, telling
from bosket.spark.randomizing import check_folder, check_lengths, check_options, randomized, randomized_at_once
from bosket.spark.records import SparkRecords
from bosket.spark.report_rows import noted_plan
from bosket.spark.reports import SparkReports
from bosket.spark.shapes import Shaped, SparkLayout, shaped


@telling
def source(frame: Frame | SparkRecords, sought: Sought | None = None) -> Collected | RawRecords:
    """Reports, where the frame has the plan of some, or else raw records as its schema says.

    Tasks look for what is ``sought`` in the raw records that they read, and keep those of which they do not.
    """
    if isinstance(frame, SparkRecords | SparkReports):
        return frame
    check_frame(frame)
    return read(shaped(frame), {}, sought=sought) if noted_plan(frame) is None else open_reports(frame)


@telling
def open_reports(frame: Frame, plan: Plan | None = None) -> SparkReports:
    """Reports of a frame that ``plan.randomize`` made, or that was read from files of it; with ``plan``, those alone.

    A frame that says nothing of a plan, such as one of files that ``Reports.write`` wrote, is of the ``plan`` given;
    how its chance came about is not known then.
    """
    check_frame(frame)
    if plan is not None:
        check_plan(plan)
    noted = noted_plan(frame)
    if noted is None:
        if plan is None:
            raise DataError("The frame does not say of which plan its reports are.", hint="Give it: plan=...")
        noted = plan, "unknown"
    if plan is not None and plan.digest != noted[0].digest:
        raise PlanMismatchError(
            f"The reports of the frame were made under plan {noted[0].digest[:12]}, not under {plan.digest[:12]}."
        )
    return SparkReports(frame, noted[0], randomness=noted[1])


@telling
def collected_reports(frame: Frame, plan: Plan | None, max_bytes: int | None = MAX_BYTES) -> Reports:
    """All reports of a frame in the memory of this process."""
    with open_reports(frame, plan) as reports:
        return Reports(reports.plan, reports.fetched(max_bytes), randomness=reports.randomness)


@telling
def curated(frame: Frame, domain: Domain) -> SparkCurated:
    """Baskets of a frame for a curator, with those items alone that are declared; refused by its schema alone."""
    if isinstance(frame, SparkRecords | SparkReports):
        raise DataError(
            "A curator reads a frame itself, so that no record is refused: give it the frame, not what was made of it."
        )
    check_frame(frame)
    found = None if noted_plan(frame) is not None else shaped(frame)
    if found is None or found.shape != "list":
        raise DataError(
            "On Spark a curator reads lists of items, or rows of record and item: this frame is another one.",
            hint="For tables and one-hot columns, curate a Table or Baskets in memory.",
        )
    return SparkCurated.read(found.frame, domain)


@telling
def randomize(
    plan: Plan,
    frame: Frame | SparkRecords,
    *,
    rng: object = None,
    people: int | None = None,
    respondents: object = None,
    folder: str | os.PathLike[str] | None = None,
) -> Frame:
    """A frame of reports, one of each record, drawn on the workers with secure coins and written once.

    ``folder`` is a new one that all workers can write to, for Parquet files; without it reports are held by the
    workers, and are lost with them.
    """
    check_options(plan, rng, respondents)
    folder = check_folder(folder)
    if isinstance(frame, SparkRecords):
        return randomized(plan, _over(frame, plan), people=people, folder=folder)
    check_frame(frame)
    if isinstance(plan.domain, TableDomain):
        found = shaped(frame, "table", columns=plan.domain.names)
    else:
        found = shaped(frame)
        if found.shape == "table":
            raise DataError(
                "A table is randomized under a plan for its attributes, and baskets under one for items.",
                hint="Make the plan with the table's own domain.",
            )
    at_once = folder if found.shape != "table" and not is_connected(frame) else None
    made = None if at_once is None else randomized_at_once(plan, found, people=people, folder=at_once)
    if made is not None:
        return made
    with read(found, {}, plan.domain) as records:
        if at_once is not None:
            check_lengths(plan, records)
            raise DataError(
                f"{UNFINISHED}, though its records could be read: are workers able to write to {shown(at_once)}?",
                hint="Its log says why.",
            )
        return randomized(plan, records, people=people, folder=folder)


def _over(records: SparkRecords, plan: Plan) -> SparkRecords:
    """Records that were read before, over the plan's domain."""
    if (records.domain.groups is None) != (plan.domain.groups is None):
        raise DataError("A table is randomized under a plan for its attributes, and baskets under one for items.")
    if records.domain == plan.domain:
        return records
    names, index = records.domain.labels, plan.domain.index
    met = records.encoded.met
    refuse_unknown((met[key] for key, item in records.places.items() if names[item] not in index), "the plan's domain")
    places = {key: index[names[item]] for key, item in records.places.items()}
    return SparkRecords(records.segments, plan.domain, places)


def check_frame(frame: object) -> None:
    """Refuse what comes from PySpark and is no DataFrame."""
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame):
        raise DataError(f"Of Spark, bosket reads a DataFrame, got {type(frame).__name__}.")


@telling
def baskets(
    frame: Frame,
    *,
    layout: SparkLayout | None = None,
    record: str | None = None,
    item: str | None = None,
    items: Iterable[Hashable] | Domain | None = None,
) -> SparkRecords:
    """Baskets of a frame, kept by the workers until they are closed; the options are those of ``Baskets.from_frame``.

    ``items`` declares the domain; an item that it does not have is refused, with how often and where it was met.
    """
    check_frame(frame)
    domain = None if items is None else items if isinstance(items, Domain) else Domain(items)
    return read(shaped(frame, layout, record=record, item=item), {}, domain)


@telling
def table(
    frame: Frame,
    *,
    columns: Iterable[str] | None = None,
    bins: Mapping[str, Iterable[float]] | None = None,
    values: Mapping[str, Any] | None = None,
    missing: str | Mapping[str, str] | None = None,
) -> SparkRecords:
    """A table of a frame, kept by the workers until it is closed; the options are those of ``Table.from_frame``."""
    check_frame(frame)
    options = {"bins": bins, "values": values, "missing": missing}
    return read(shaped(frame, "table", columns=None if columns is None else tuple(columns)), options)


def read(
    found: Shaped, options: Mapping[str, Any], domain: Domain | None = None, sought: Sought | None = None
) -> SparkRecords:
    """One pass over a frame; ``domain`` is a declared one.

    What is ``sought`` is not looked for in a table yet: several of its cells may be one item.
    """
    encoded = encode(found.frame, found.shape, None if found.shape == "table" else sought)
    try:
        if found.shape == "table":
            meant = domain_of_table(encoded, found.kinds, options, domain)  # type: ignore[arg-type]  # of a table too
        elif domain is not None:
            meant = over_domain(encoded, domain, "the domain")
        elif found.shape == "one-hot":
            meant = domain_of_columns(encoded, tuple(found.kinds))
        else:
            meant = domain_of_lists(encoded)
    except BaseException:
        encoded.close()
        raise
    return SparkRecords(encoded, *meant)
