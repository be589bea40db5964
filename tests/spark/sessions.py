"""One Spark session for all tests of a process."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from functools import cache
from typing import Any

import pytest

NEEDS_JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none")


def settings(builder: Any) -> Any:
    """What makes a session small and quick to start."""
    return (
        builder.appName("bosket tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # nothing runs for long
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
    )


@cache
def session() -> Any:
    """A session of two cores in this process."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # a batch of Arrow is a partition of a frame that is made here
        few = settings(SparkSession.builder.master("local[2]")).config(
            "spark.sql.execution.arrow.maxRecordsPerBatch", 150
        )
        return few.getOrCreate()
