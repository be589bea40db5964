"""``demo``, and the two thin commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bosket as bk
from tests.cli.conftest import Run


def test_demo(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "new" / "demo"
    result = run("demo", "--output", output, "--records", 20_000, "--seed", 3)
    assert result.code == 0
    assert sorted(path.name for path in output.iterdir()) == ["plan.json", "report.html", "reports.parquet"]
    plan = bk.Plan.from_json((output / "plan.json").read_text())
    reports = bk.Reports.read(output / "reports.parquet", plan=plan)
    assert reports.is_simulation
    assert reports.n_records == 20_000
    for words in ("Frequent itemsets by size", "Rules beside the truth", "hold the true", "protects nobody", "seconds"):
        assert words in result.out
    for unit in ("item", "record", "person"):
        assert f"\n  {unit}" in result.out
    page = (output / "report.html").read_text()
    assert page.count("<svg") >= 3
    assert "protects nobody" in page


def test_three_classes_and_a_tenth_most_sensitive() -> None:
    from bosket.cli.commands.demo import CLASSES

    assert len({group.keep for group in CLASSES}) == 3
    assert sorted(digit for group in CLASSES for digit in group.digits) == list(range(10))
    assert len(min(CLASSES, key=lambda group: group.keep).digits) == 1


def test_demo_into_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    result = run("demo", "--output", tmp_path / "file")
    assert result.code == 1
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.slow
def test_reproduce(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bosket.research.reproduce import re

    monkeypatch.setattr(re, "SETTINGS", {"S3": re.SETTINGS["S3"]})
    path = tmp_path / "re.json"
    result = run("reproduce", "re", "--records", 20_000, "--data", tmp_path, "-o", path)
    assert result.code == 0
    assert "Table 2" in result.out
    assert "(630)" in result.out
    assert "Table 3 is left out" in result.err
    assert json.loads(path.read_text())["schema"] == "bosket.reproduce.re/1"


def test_bench(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(**options: Any) -> dict[str, Any]:
        assert options["only"] == ["count"]
        return {"bars": [{"name": "counting", "ratio": 0.7, "bar": ">= 0.6", "holds": True}], "all_hold": True}

    monkeypatch.setattr("bosket.research.benchmarks.run", measured)
    path = tmp_path / "out" / "bench.json"
    result = run("bench", "--only", "count", "--output", path)
    assert result.code == 0
    assert "counting" in result.out
    assert json.loads(path.read_text())["all_hold"] is True
