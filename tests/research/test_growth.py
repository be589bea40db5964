"""The page of growth: points are measured in processes of their own, and the sums are right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bosket.errors import DataError
from bosket.research import growth
from bosket.research.growth_on_spark import SparkPoint, measured_on_spark
from tests.spark.sessions import NEEDS_JAVA

TOOK = {"first": 9.0, "first_work": 7.2, "mined": 4.0, "mined_work": 3.6, "peak": 300 << 20, "bytes": 25_000_000}
POINT = growth.Point(1_000_000, 200, 0.01, 2, 17_000_000, {**TOOK, "itemsets": 421, "sizes": 5})


def test_sums_are_in_proportion() -> None:
    found = dict(growth.arithmetic(POINT))
    assert found["files of reports"] == "170 GB"
    assert found["bitmaps in the scratch folder"] == "250 GB"
    assert found["first pass: check, transpose, write"] == "20.0 core-hours"
    assert found["mining"] == "10.0 core-hours"
    assert found["first pass by the clock, on a machine as busy"] == "25.0 hours"


def test_the_page_has_a_row_for_each_point() -> None:
    page = growth.page([POINT, replace(POINT, threads=1, measured="in May, idle")])
    row = "| 1,000,000 | 200 | 1.00% | {} | 17 | 25 | 9.0 (7.2) | 4.0 (3.6) | 5 | 421 | 300 | {} |"
    assert page.index(row.format(1, "in May, idle")) < page.index(row.format(2, ""))
    assert "By proportion from 1,000,000 reports" in page


def test_points_are_kept_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is measured again takes the place of the one before; the page can be made of what is kept."""
    first, second = replace(POINT, n_records=10), replace(POINT, took={**POINT.took, "itemsets": 422})
    found = iter([[first, POINT], [second]])
    monkeypatch.setattr(growth, "points", lambda largest: next(found))
    for _ in range(2):
        growth.main([str(tmp_path / "page.md"), "--load", "idle"])
    expected = (tmp_path / "page.md").read_text()
    assert [expected.count(text) for text in ("| 10 |", "| 421 |", "| 422 |")] == [1, 1, 1]
    (tmp_path / "page.md").unlink()
    growth.main([str(tmp_path / "page.md"), "--only", "none"])
    assert (tmp_path / "page.md").read_text() == expected


def test_a_damaged_file_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    """Simulated baskets were measured in its place."""
    (tmp_path / "retail.dat.gz").write_bytes(b"no such format")
    with pytest.raises(DataError):
        measured_on_spark(tmp_path, 1)


def test_the_page_compares_with_spark_where_that_was_measured() -> None:
    """A row for each point that is kept; without any, no number."""
    seconds = {"spark": 0.75, "first run": 2.0, "FPGrowth": 15.04, "one process": 0.1}
    point = SparkPoint("retail x 20", 1_763_240, 0.005, 2, 580, seconds, "in May")
    row = "| retail x 20 | 1,763,240 | 0.50% | 2 | 580 | 0.75 | 15.0 | 0.050 | 0.10 | in May |"
    assert row in growth.page([POINT], [point])
    assert "the benchmark of Spark" in growth.page([POINT])


@NEEDS_JAVA
@pytest.mark.slow
def test_spark_is_measured_beside_bosket(tmp_path: Path) -> None:
    """In a process of its own, whose session is not that of other tests; without the file of retail."""
    (tmp_path / "page.jsonl").write_text(json.dumps(asdict(POINT)) + "\n")
    command = [sys.executable, "-W", "ignore", "-m", "bosket.research.growth", str(tmp_path / "page.md")]
    around = {name: value for name, value in os.environ.items() if name != "BOSKET_DATA"}
    done = subprocess.run(
        [*command, "--only", "none", "--spark", "--times", "1", "--load", "idle", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**around, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (kept,) = (tmp_path / "page.spark.jsonl").read_text().splitlines()
    assert json.loads(kept)["n_itemsets"] > 10
    assert "| simulated, 3 of 50 items | 10,000 | 0.50% |" in (tmp_path / "page.md").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_point_is_measured(tmp_path: Path) -> None:
    growth.write_reports(tmp_path, 20_000, 50)
    point = growth.measured(tmp_path, 20_000, 50, 0.02, 1)
    assert point.took["itemsets"] > 10
    assert point.took["bytes"] == 50 * 8 * -(-20_000 // 64)
    assert 0 < point.took["peak"] < growth.MEMORY
