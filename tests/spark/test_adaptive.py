"""Adaptive execution, which sessions of users have: long frames are shuffled, and their partitions merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import bosket as bk
from bosket import spark
from tests.spark.sessions import NEEDS_JAVA, session

pytestmark = NEEDS_JAVA

SETTINGS = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "60"}
MAY_MERGE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


@pytest.fixture
def adaptive() -> Iterator[Any]:
    """The session of all tests, with adaptive execution for a while."""
    conf = session().conf
    before = {name: conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        conf.set(name, value)
    yield session()
    for name, value in before.items():
        conf.set(name, value)


def test_a_long_frame_is_few_partitions(adaptive: Any, tmp_path: Path) -> None:
    """Sixty tasks of fifty records each took a minute; results are those of one machine, and settings stay."""
    data = bk.quest(records=300, mean_size=4, mean_pattern=2, items=12, seed=7)
    nothing: list[int | None] = [None]
    rows = [(number, item) for number in range(len(data)) for item in (list(data[number]) or nothing)]
    columns = {"record": pa.array([row[0] for row in rows]), "item": pa.array([row[1] for row in rows], pa.int64())}
    long = adaptive.createDataFrame(pa.table(columns))
    was = adaptive.conf.get(MAY_MERGE)
    with spark.baskets(long) as held:
        assert held.encoded.n_partitions == 1
    assert adaptive.conf.get(MAY_MERGE) == was
    expected = bk.mine(data, 0.05)
    assert bk.mine(long, 0.05).to_frame().equals(expected.to_frame())
    plan = bk.Plan(bk.Domain(range(12)), bk.Flip(keep=0.9))
    for reports in (plan.randomize(long), plan.randomize(long, folder=str(tmp_path / "reports"))):
        local = bk.Reports.from_spark(reports)
        assert local.n_records == len(data)
        assert bk.mine(reports, 0.1).to_frame().equals(bk.mine(local, 0.1).to_frame())
