"""Records and reports in a Spark session: the same calls, counted and randomized where the data are."""

from typing import TYPE_CHECKING

from bosket._lazy import attach

if TYPE_CHECKING:
    from bosket.spark.engine import baskets, open_reports, randomize, table
    from bosket.spark.records import SparkRecords
    from bosket.spark.reports import SparkReports

__all__ = ["SparkRecords", "SparkReports", "baskets", "open_reports", "randomize", "table"]

__getattr__, __dir__ = attach(__name__, __file__, __all__)
