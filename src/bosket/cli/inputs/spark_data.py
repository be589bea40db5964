"""Files that a Spark session reads, where ``--spark`` names one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.attributes import reading_of
from bosket.cli.inputs.named import check_made_by
from bosket.cli.inputs.options import clash

if TYPE_CHECKING:
    from bosket.plan import Plan
    from bosket.spark import SparkRecords, SparkReports


def read_spark(options: argparse.Namespace) -> tuple[SparkReports] | SparkRecords:
    """Reports or raw records of Parquet or CSV files, where the session at ``--spark`` finds them."""
    from bosket import spark
    from bosket.spark.jobs import spark_session, started
    from bosket.spark.report_rows import noted_plan

    if "-" in options.data:
        raise clash("spark", "come with files: standard input is read by this process alone", options)
    session = spark_session(options.spark)
    is_csv = all(path.lower().removesuffix(".gz").endswith(".csv") for path in options.data)
    reader: Any = session.read
    frame = started(
        lambda: reader.option("header", True).csv(options.data) if is_csv else reader.parquet(*options.data)
    )
    plan = _plan_here(options.data)
    if plan is not None or noted_plan(frame) is not None:
        reports = spark.open_reports(frame, plan)
        check_made_by(reports.plan.mechanism, options, of="These reports were")
        return (reports,)
    if options.table:
        how = reading_of(options)
        return spark.table(frame, columns=how.columns, bins=how.bins, values=how.values, missing=how.missing)
    return spark.baskets(frame, layout=options.layout, record=options.record, item=options.item)


def _plan_here(paths: list[str]) -> Plan | None:
    """The plan of report files that bosket wrote, which Spark does not see: files of this machine can be asked."""
    from bosket.report_files import has_plan, opened

    found = None
    for path in map(Path, paths):
        if path.is_file() and has_plan(path):
            with opened(path, plan=found, max_bytes=None) as file:
                found = file.plan
    return found
