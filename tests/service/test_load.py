"""The benchmark of the collector runs, on a small scale, and would notice what is lost, doubled or changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bosket.research.benchmarks import of_service
from tests.service.servers import write_study
from tests.service.studies import random_reports, small_plan, study


@pytest.mark.slow
def test_a_small_load_is_stored_once() -> None:
    """Ratios hang on the machine and are not judged here."""
    batches, single, exact, memory = of_service.service(10_000, 500)
    assert exact.ratio == 1.0
    assert batches.detail["statuses"] == single.detail["statuses"] == [201]
    assert batches.ratio > 0
    assert single.ratio > 0
    assert memory.ratio > 0


def test_the_comparison_notices(tmp_path: Path) -> None:
    plan = small_plan(128)
    sent = random_reports(plan, 50)
    rows = plan.channel.payload.to_rows(sent.batch)
    with study(tmp_path, plan=plan) as s:
        s.send(sent)
        s.collector.store.seal("shop", 1)
    path = write_study(tmp_path, plan, f"sqlite:///{tmp_path / 'study.db'}")
    assert of_service.is_exact(path, rows[::-1], task="shop"), "in whatever order"
    changed = rows.copy()
    changed[7, 3] ^= 1
    for other in (rows[1:], np.concatenate([rows, rows[:1]]), np.concatenate([rows[1:], rows[1:2]]), changed):
        assert not of_service.is_exact(path, other, task="shop")
