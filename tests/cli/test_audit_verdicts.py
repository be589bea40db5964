"""``audit`` of a plan's client and of a file of reports: a verdict on standard output, and an exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from tests.audit import sabotage as bad
from tests.cli.conftest import Run


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(bad.FLIP.json)
    return path


def test_a_reviewer_audits_a_plan(run: Run, plan: Path, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    options = ("--trials", 500, "--studies", 20, "--seed", 1, "--people", 500)
    result = run("audit", "--plan", plan, *options, "--report", page)
    assert result.code == 0
    assert result.out.startswith("Nothing found: 10 checks of the study of Flip(keep=0.9) passed.")
    assert "Nothing found" in page.read_text()
    again = json.loads(run("audit", "--plan", plan, *options, "--format", "json").out)
    assert again["convicted"] is False
    assert again["about"]["trials"] == 500


def test_a_sabotaged_client_ends_with_one(run: Run, plan: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "verdict.json", tmp_path / "audit.html"
    options = ("--trials", 200, "--studies", 0, "-o", out, "--report", page)
    result = run("audit", "--plan", plan, "--client", "tests.audit.sabotage:always_ones", *options)
    assert result.code == 1
    assert "The audit convicts the client of Flip(keep=0.9)" in result.err
    assert json.loads(out.read_text())["convicted"] is True
    assert 'class="warning"' in page.read_text()


def test_a_program_is_audited(run: Run, plan: Path) -> None:
    command = f"{sys.executable} -c \"import sys; [print('3f') for line in sys.stdin]\""
    result = run("audit", "--plan", plan, "--command", command, "--trials", 200, "--studies", 0)
    assert result.code == 1
    assert "CONVICTED" in result.out


def test_a_file_is_audited_without_raw_records(run: Run, tmp_path: Path) -> None:
    path, copied = tmp_path / "reports.parquet", tmp_path / "copied.parquet"
    honest = bad.FLIP.randomize(bk.Baskets([["a", "b"], ["c"]] * 500, items=bad.ITEMS.labels))
    honest.write(path)
    result = run("audit", path)
    assert result.code == 0
    assert "of the reports in reports.parquet passed" in result.out
    honest[np.concatenate([np.arange(1000), np.arange(300)])].write(copied)
    result = run("audit", copied)
    assert result.code == 1
    assert "reports were not copied" in result.err
    other = tmp_path / "other.json"
    other.write_text(bad.CUT.json)
    assert run("audit", path, "--plan", other).code == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "plan"),
        (("--trials", 500, "x.parquet"), "--trials"),
        (("--plan", "p.json", "a", "b"), "--plan"),
        (("--plan", "PLAN", "--client", "nothing"), "module:function"),
        (("--plan", "PLAN", "--client", "tests.audit.sabotage:nothing"), "has none called"),
        (("--plan", "PLAN", "--format", "csv"), "table or json"),
    ],
)
def test_options_that_make_no_sense(run: Run, plan: Path, options: tuple[object, ...], word: str) -> None:
    result = run("audit", *(plan if option == "PLAN" else option for option in options))
    assert result.code == 2
    assert word in result.err
