"""Files for other tools: PMML, and the names of arules."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import bosket as bk
from tests.cli.conftest import Run, Study

P = "{http://www.dmg.org/PMML-4_4}"


@pytest.mark.parametrize("source", ["baskets", "reports"])
def test_rules_in_pmml(run: Run, study: Study, tmp_path: Path, source: str) -> None:
    path = tmp_path / "rules.pmml"
    data = getattr(study, source)
    result = run("rules", data, "--min-support", 0.1, "-o", path)
    assert result.code == 0
    assert result.out == ""
    found = bk.mine((bk.Reports if source == "reports" else bk.Baskets).read(data), min_support=0.1)
    root = ElementTree.parse(path).getroot()
    assert len(list(root.iter(f"{P}AssociationRule"))) == len(found.rules())
    assert f"wrote {len(found.rules()):,} rows" in result.err
    told = {one.attrib["name"]: one.attrib["value"] for one in root.findall(f"{P}Header/{P}Extension")}
    assert told["mechanism"] == ("Flip(keep=0.95)" if source == "reports" else "null")
    assert list(tmp_path.iterdir()) == [path]
    assert run("mine", data, "--min-support", 0.1, "-o", path).code == 0
    root = ElementTree.parse(path).getroot()
    assert len(list(root.iter(f"{P}Itemset"))) == len(found)
    assert not list(root.iter(f"{P}AssociationRule"))


def test_rules_without_confidence_are_announced(run: Run, tmp_path: Path) -> None:
    """An antecedent within two standard errors of 0 has no confidence, and PMML no place for such a rule."""
    baskets = bk.quest(records=300, mean_size=3, items=8, patterns=5, seed=1)
    reports = bk.Flip(keep=0.7).randomize(baskets, rng=bk.Seeded(1))
    reports.write(tmp_path / "r.parquet")
    rules = bk.mine(reports, min_support=0.01, slack=3).rules(metric="support", min_threshold=0)
    n_without = int(rules["confidence"].isna().sum())
    assert n_without > 1
    options = ["--min-support", 0.01, "--slack", 3, "--metric", "support", "--min-threshold", 0]
    result = run("rules", tmp_path / "r.parquet", *options, "-o", tmp_path / "rules.pmml")
    assert result.code == 0
    assert f"wrote {len(rules) - n_without:,} rows" in result.err
    assert f"left out {n_without:,} rows" in result.err


def test_other_results_are_not_pmml(run: Run, study: Study, tmp_path: Path) -> None:
    result = run("audit", study.baskets, study.reports, "-o", tmp_path / "out.pmml")
    assert result.code == 2
    assert "must end in .csv, .json, .parquet, got 'out.pmml'" in result.err
    result = run("rules", study.reports, "--min-support", 0.1, "--format", "json", "-o", tmp_path / "out.pmml")
    assert result.code == 2
    assert not list(tmp_path.iterdir())


def test_names_of_arules(run: Run, study: Study, tmp_path: Path) -> None:
    options = ["--min-support", 0.1, "--names", "arules"]
    rules = bk.mine(bk.Baskets.read(study.baskets), min_support=0.1).rules()
    value = json.loads(run("rules", study.baskets, *options, "--format", "json").out)
    assert value["vocabulary"] == "arules"
    assert [row["coverage"] for row in value["rules"]] == rules["antecedent support"].tolist()
    assert [frozenset(row["lhs"]) for row in value["rules"]] == list(rules["antecedents"])
    assert run("rules", study.baskets, *options, "-o", tmp_path / "out.csv").code == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["rhsSupport"]) for row in rows] == rules["consequent support"].tolist()
    assert (tmp_path / "out.csv.about.json").exists()


@pytest.mark.parametrize("where", [(), ("--format", "table"), ("-o", "out.parquet"), ("-o", "out.pmml")])
def test_names_of_arules_elsewhere(
    run: Run, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("rules", study.baskets, "--min-support", 0.1, "--names", "arules", *where)
    assert result.code == 2
    assert "The '--names' option must be bosket unless CSV or JSON is written" in result.err
    assert not list(tmp_path.iterdir())
