"""What the command line says of reports that outweigh all others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bosket as bk
from tests.cli.conftest import Run
from tests.poison import sent

PEOPLE = bk.quest(records=2000, mean_size=4, items=60, patterns=20, seed=3).with_domain(bk.Domain(range(60)))
PEOPLE = PEOPLE[PEOPLE.sizes <= 8]
PLAN = bk.Plan(PEOPLE.domain, bk.CutAndPaste(3, 0.1), bk.PrivacyUnit(max_size=50))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    honest, forged = tmp_path / "honest.parquet", tmp_path / "forged.parquet"
    PLAN.randomize(PEOPLE, rng=bk.Seeded(1)).write(honest)
    sent(PLAN, [[0, 1, 2]], size=50).write(forged)
    return honest, forged


@pytest.mark.parametrize("command", ["mine", "rules"])
def test_a_report_that_outweighs_all_others_is_told_of_once(
    run: Run, files: tuple[Path, Path], tmp_path: Path, command: str
) -> None:
    out = tmp_path / "found.json"
    result = run(command, *files, "--min-support", 0.05, "--max-size", 2, "-o", out)
    assert result.code == 0
    assert result.err.count("warning: A few reports carry") == 1
    assert "from records of 50 items" in result.err
    assert "InfluenceWarning" not in result.err, "a sentence, not a place in the program"
    assert "records of 50 items" in json.loads(out.read_text())["about"]["influence"]


def test_honest_reports_are_not(run: Run, files: tuple[Path, Path]) -> None:
    result = run("mine", files[0], "--min-support", 0.05, "--max-size", 2)
    assert result.code == 0
    assert "A few reports" not in result.err
