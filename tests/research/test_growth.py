"""The page of growth: points are measured in processes of their own, and the sums are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from bosket.research import growth

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
    page = growth.page([POINT, POINT], "idle")
    assert page.count("| 1,000,000 | 200 | 1.00% | 2 | 17 | 25 | 9.0 (7.2) | 4.0 (3.6) | 5 | 421 | 300 |") == 2
    assert "By proportion from 1,000,000 reports" in page


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_point_is_measured(tmp_path: Path) -> None:
    growth.write_reports(tmp_path, 20_000, 50)
    point = growth.measured(tmp_path, 20_000, 50, 0.02, 1)
    assert point.took["itemsets"] > 10
    assert point.took["bytes"] == 50 * 8 * -(-20_000 // 64)
    assert 0 < point.took["peak"] < growth.MEMORY
