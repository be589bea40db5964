"""The study of coverage behind the table of docs/theory/measures.md, with fewer repetitions."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from bosket.measures import CATALOGUE
from bosket.measures.inference import Covariance, Tables
from bosket.research import coverage


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, object]]:
    return {row["measure"]: row for row in coverage.run(repetitions=120).rows()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, record in CATALOGUE.items() if record.gradient is not None])
def test_intervals_without_caution_hold_the_truth(name: str, rows: dict[str, dict[str, float]]) -> None:
    """At least 93% of them over all settings, and not because nearly all rows carry a caution."""
    row = rows[name]
    assert row["coverage"] >= coverage.ENOUGH
    assert row["coverage"] >= row["coverage_of_all"] - 0.01
    assert row["trusted"] > 0.15


@pytest.mark.slow
def test_cautions_are_needed(rows: dict[str, dict[str, float]]) -> None:
    """Rows with a caution are worse: without it some measures would fall below 93%."""
    assert sum(row["coverage_of_all"] < coverage.ENOUGH for row in rows.values()) > 20


@pytest.mark.slow
def test_errors_that_are_too_small_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth off every standard error: no measure would pass, but for one that is nearly always 0 or far from it."""

    def smaller(table: object, covariance: Covariance, **options: object) -> Tables:
        honest = Tables(table, covariance, **options)  # type: ignore[arg-type]
        parts = {field.name: 0.64 * getattr(honest.covariance, field.name) for field in fields(Covariance)}
        honest.covariance = Covariance(**parts)
        return honest

    monkeypatch.setattr(coverage, "Tables", smaller)
    wrong = coverage.run(repetitions=60).rows()
    passed = {row["measure"] for row in wrong if row["coverage"] >= coverage.ENOUGH}
    assert passed <= {"representativity", "goodman_kruskal_lambda"}


@pytest.mark.slow
def test_no_usual_setting_falls_far_short() -> None:
    """Settings where nine rows in ten carry no caution: 2000 repetitions have an error of 0.5%."""
    for row in coverage.run(repetitions=2000).rows():
        assert row["worst"] >= coverage.ENOUGH - 0.02, row


def test_the_channels_are_drawn_as_they_are() -> None:
    """Estimates of the study are those of the library, unbiased: their mean over repetitions is the law's."""
    rng = np.random.default_rng(1)
    for channel in coverage.channels():
        people = [
            coverage._people(size, np.array([0.4, 0.2, 0.1, 0.3]), True, 4000, rng)
            for size in (np.array(list(channel.strata.values())) * 1000).astype(int)
        ]
        reports = [coverage._report(channel, at, group, rng) for at, group in enumerate(people)]
        table = coverage.estimate(channel, reports, sampling=True).table
        for values, truth in ((table.pi11, 0.3), (table.a, 0.5), (table.c, 0.4)):
            assert abs(values.mean() - truth) < 6 * values.std() / np.sqrt(4000)
