"""What cannot be seen, on the command line: warned of before anything is sent, refused when it is mined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bosket as bk
from tests.cli.conftest import Run
from tests.mining.test_hopeless import BLIND, survey


def test_noise_is_told_of_and_in_the_file(tmp_path: Path, run: Run) -> None:
    baskets = bk.Baskets([["a", "b"], ["a", "c"], ["b"]] * 200)
    bk.Flip(keep=0.7).randomize(baskets, rng=bk.Seeded(2)).write(tmp_path / "reports.parquet")
    result = run("mine", tmp_path / "reports.parquet", "--min-support", 0.05, "--format", "json")
    assert "warning: At size 1 the standard error is about" in result.err
    assert json.loads(result.out)["about"]["noise"]


def test_mining_is_refused_and_a_design_named(tmp_path: Path, run: Run) -> None:
    with pytest.warns(bk.HopelessPlanWarning):
        reports = BLIND.randomize(survey(3000), rng=bk.Seeded(1))
    reports.write(tmp_path / "reports.parquet")
    for command in ("mine", "rules"):
        result = run(command, tmp_path / "reports.parquet", "--min-support", 0.1)
        assert result.code == 1
        assert "Nothing can be seen in 3000 reports" in result.err
        assert "Ask(Design.pairs(domain), gamma=19)" in result.err


def test_randomizing_warns_and_the_card_has_the_errors(tmp_path: Path, run: Run) -> None:
    raw = tmp_path / "raw.csv"
    survey(300).to_frame().to_csv(raw, index=False)
    columns = ",".join(f"q{at}" for at in range(16))
    result = run(
        "randomize", raw, "-o", tmp_path / "r.parquet", "--table", "--columns", columns, "--gamma", 19, "--seed", 1
    )
    assert result.code == 0, result.err
    assert "warning: Nothing can be seen in 300 reports" in result.err
    assert "among 300 people the standard error of a support is" in result.err
