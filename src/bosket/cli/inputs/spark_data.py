"""Files that a Spark session reads, where ``--spark`` names one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.inputs.attributes import reading_of
from bosket.cli.inputs.files import shown_path
from bosket.cli.inputs.named import check_made_by
from bosket.cli.inputs.options import clash
from bosket.cli.views.console import say
from bosket.data.formats.columns import MEANINGS
from bosket.errors import DataError

if TYPE_CHECKING:
    from bosket.plan import Plan
    from bosket.spark import SparkRecords, SparkReports

_SPOILT = "_a row of other cells than the header"


def read_spark(options: argparse.Namespace) -> tuple[SparkReports] | SparkRecords:
    """Reports or raw records of Parquet or CSV files, where the session at ``--spark`` finds them."""
    from bosket import spark
    from bosket.spark.jobs import spark_session
    from bosket.spark.report_rows import noted_plan

    if "-" in options.data:
        raise clash("spark", "come with files: standard input is read by this process alone", options)
    session = spark_session(options.spark)
    is_csv = all(path.lower().removesuffix(".gz").endswith(".csv") for path in options.data)
    frame = _frame(session, options.data, is_csv=is_csv)
    plan = _plan_here(options.data)
    if plan is not None or noted_plan(frame) is not None:
        reports = spark.open_reports(frame, plan)
        check_made_by(reports.plan.mechanism, options, of="These reports were")
        return (reports,)
    if options.table:
        how = reading_of(options)
        return spark.table(frame, columns=how.columns, bins=how.bins, values=how.values, missing=how.missing)
    layout = options.layout
    if is_csv and options.record is None and options.item is None:
        layout = layout or ("long" if len(frame.columns) == 2 else "one-hot")  # as files are read without Spark
        frame = _signs(frame) if layout == "one-hot" else frame
    if len(options.data) > 1 and (is_csv or options.record is not None) and layout != "one-hot":
        say("note: a name of a record means the same record in all files")
    return spark.baskets(frame, layout=layout, record=options.record, item=options.item)


def _frame(session: Any, paths: list[str], *, is_csv: bool) -> Any:
    """The files as one frame; refused where their columns differ, as Spark would read all by those of the first."""
    from bosket.spark.jobs import started

    def read(*paths: str) -> Any:
        return session.read.option("header", True).csv(list(paths)) if is_csv else session.read.parquet(*paths)

    first, *others = (
        [(column.name, column.dataType) for column in started(partial(_schema, read, path))] for path in paths
    )
    for path, columns in zip(paths[1:], others, strict=True):
        if columns != first:
            raise DataError(
                f"{shown_path(path)} has other columns than {shown_path(paths[0])}, or of other types.",
                path=path,
                hint="Files that are read together have the same columns, in the same order.",
            )
    return started(lambda: _rows(session, paths, read(paths[0])) if is_csv else read(*paths))


def _rows(session: Any, paths: list[str], first: Any) -> Any:
    """The rows of CSV files that have the columns of the first; a row of more or fewer cells ends every job.

    Spark would leave such cells out without a word, or quote the row in its log.
    """
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
    from pyspark.sql.types import StringType, StructField, StructType

    from bosket.spark.jobs import MISCOUNTED

    names = list(first.columns)
    schema = StructType([*first.schema.fields, StructField(_SPOILT, StringType())])
    reader = session.read.option("header", True).option("columnNameOfCorruptRecord", _SPOILT).schema(schema)
    cells = [F.col("`" + name.replace("`", "``") + "`") for name in names]
    checked = F.when(F.col(f"`{_SPOILT}`").isNull(), cells[0]).otherwise(F.raise_error(F.lit(MISCOUNTED)))
    return reader.csv(paths).select(checked.alias(names[0]), *cells[1:])


def _schema(read: Callable[..., Any], path: str) -> Any:
    return read(path).schema.fields


def _signs(frame: Any) -> Any:
    """A frame of text as whole numbers: 1 for present, 0 for absent or empty, 2 for what is neither, to be refused."""
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    def sign(name: str) -> Any:
        cell = F.col("`" + name.replace("`", "``") + "`")
        present, absent = ([text for text, meaning in MEANINGS.items() if meaning == one] for one in (1, 0))
        found = F.when(F.lower(cell).isin(present), 1).when(cell.isNull() | F.lower(cell).isin(absent), 0)
        return found.otherwise(2).alias(name)

    return frame.select(*map(sign, frame.columns))


def _plan_here(paths: list[str]) -> Plan | None:
    """The plan of report files that bosket wrote, which Spark does not see: files of this machine can be asked."""
    from bosket.report_files import has_plan, opened

    found = None
    for path in map(Path, paths):
        if path.is_file() and has_plan(path):
            with opened(path, plan=found, max_bytes=None) as file:
                found = file.plan
    return found
