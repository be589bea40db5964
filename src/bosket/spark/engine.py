"""What is done with a frame of Spark: the functions of :class:`bosket.engines.Engine`, and some with options."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from bosket.collected import Collected
from bosket.data import Domain
from bosket.errors import DataError
from bosket.evidence.raw import RawRecords
from bosket.spark.domains import domain_of_columns, domain_of_lists, domain_of_table, over_domain
from bosket.spark.encoding import encode
from bosket.spark.jobs import Frame
from bosket.spark.records import SparkRecords
from bosket.spark.shapes import Shaped, SparkLayout, shaped


def source(frame: Frame) -> Collected | RawRecords:
    """Reports, where the frame has the plan of some, or else raw records as its schema says."""
    check_frame(frame)
    return read(shaped(frame), {})


def check_frame(frame: object) -> None:
    """Refuse what comes from PySpark and is no DataFrame."""
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame):
        raise DataError(f"Of Spark, bosket reads a DataFrame, got {type(frame).__name__}.")


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


def read(found: Shaped, options: Mapping[str, Any], domain: Domain | None = None) -> SparkRecords:
    """One pass over a frame; ``domain`` is a declared one."""
    encoded = encode(found.frame, found.shape)
    try:
        if found.shape == "table":
            meant = domain_of_table(encoded, found.names, options, domain)  # type: ignore[arg-type]  # of a table too
        elif domain is not None:
            meant = over_domain(encoded, domain, "the domain")
        elif found.shape == "one-hot":
            meant = domain_of_columns(encoded, found.names)
        else:
            meant = domain_of_lists(encoded)
    except BaseException:
        encoded.close()
        raise
    return SparkRecords(encoded, *meant)
