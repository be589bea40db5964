"""Mechanisms with payloads of their own go through the command line, found by ``--mechanism module:Class`` alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import bosket as bk
from tests.cli.conftest import Run, run

__all__ = ["run"]

MODULE = "tests.outside.asking"


class Toy(NamedTuple):
    """How the command line names a mechanism, and what it randomizes."""

    name: str
    settings: dict[str, object]
    columns: tuple[str, str]
    is_table: bool = False
    finds_rules: bool = False

    @property
    def mechanism(self) -> tuple[str, str]:
        return "--mechanism", f"{MODULE}:{self.name}"

    @property
    def set(self) -> list[str]:
        return [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]

    def raw(self, folder: Path) -> tuple[Path, ...]:
        """A file of raw records, and the option that it takes."""
        path = folder / "raw.csv"
        if self.is_table:
            path.write_text("\n".join(["v", *("x" if at % 7 % 3 == 0 else "yz"[at % 2] for at in range(3000)), ""]))
            return path, Path("--table")
        bk.Baskets([["a", "b"], ["a", "b", "c"], ["d"], ["a", "b"], []] * 600).write(path)
        return (path,)


TOYS = [
    Toy("AskItems", {"size": 1, "keep": 0.9}, ("question", "answer")),
    Toy("AskItems", {"size": 2, "keep": 0.9}, ("question", "answer"), finds_rules=True),
    Toy("HashValue", {"keep": 0.9}, ("seed", "value"), is_table=True),
]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has imported the mechanisms yet; what a test imports is forgotten after it."""
    for name in [name for name in sys.modules if name.startswith("tests.outside.")]:
        monkeypatch.delitem(sys.modules, name)
    own = {name: known for name, known in bk.Mechanism.registry.items() if known.__module__.startswith("bosket.")}
    monkeypatch.setattr(bk.Mechanism, "registry", own)


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: f"{toy.name} {toy.settings}")
def test_all_the_way(run: Run, toy: Toy, tmp_path: Path) -> None:
    """Randomize, write, read, mine, rules; then tallies: saved, added, taken away, mined."""
    raw, *is_table = toy.raw(tmp_path)
    reports, plan, table = tmp_path / "r.parquet", tmp_path / "plan.json", tmp_path / "found.json"
    words = [raw, "-o", reports, *is_table, *toy.mechanism, *toy.set, "--seed", 3]
    result = run("randomize", *words, "--write-plan", plan)
    assert (result.code, result.out) == (0, ""), result.err
    parameters = json.loads(plan.read_text())["mechanism"]
    assert {name: parameters[name] for name in toy.settings} == toy.settings
    for command in ("mine", "rules"):
        result = run(command, reports, *toy.mechanism, "--min-support", 0.1, "-o", table)
        assert result.code == 0, result.err
        assert f"{toy.name}(" in result.err
        rows = json.loads(table.read_text())["itemsets" if command == "mine" else "rules"]
        assert bool(rows) == (command == "mine" or toy.finds_rules)

    kept = bk.Reports.read(reports)
    assert tuple(kept.batch.columns) == toy.columns
    other = tmp_path / "other.parquet"
    assert run("randomize", raw, "-o", other, *is_table, *toy.mechanism, "--plan", plan, "--seed", 4).code == 0
    both = bk.Tally.of(kept) + bk.Tally.of(bk.Reports.read(other))
    both.write(tmp_path / "both.parquet")
    bk.Tally.of(kept).write(tmp_path / "first.parquet")
    assert bk.Tally.read(tmp_path / "both.parquet") - bk.Tally.read(tmp_path / "first.parquet") == bk.Tally.of(
        bk.Reports.read(other)
    )
    told = []
    for paths in (["both.parquet"], ["first.parquet", "other.parquet"], ["r.parquet", "other.parquet"]):
        words = ["mine", *(tmp_path / path for path in paths), *toy.mechanism, "--min-support", 0.1, "-o", table]
        result = run(*words)
        assert result.code == 0, result.err
        assert f"{2 * len(kept):,} reports over" in result.err
        told.append(json.loads(table.read_text())["itemsets"])
    assert told[0] == told[1] == told[2]


def test_a_tally_that_is_given_twice_is_refused(run: Run, tmp_path: Path) -> None:
    """By copies of it too, and not where that may happen by chance."""
    reports = bk.Flip(keep=0.9).randomize(bk.Baskets([list("abcd"), list("efgh"), ["a"]] * 300), rng=bk.Seeded(1))
    one, copy, few = (tmp_path / f"{name}.parquet" for name in ("one", "copy", "few"))
    for path in (one, copy):
        bk.Tally.of(reports).write(path)
    bk.Tally.of(reports[:3]).write(few)
    result = run("mine", one, few, copy, "--min-support", 0.1)
    assert result.code == 1
    assert "Batch 3 holds the same 900 reports as batch 1" in result.err
    assert run("mine", one, few, copy, "--min-support", 0.1, "--allow-duplicates").code == 0
    assert len(bk.Tally.concat([bk.Tally.of(reports[:3]), reports[:3]])) == 6
    with pytest.raises(bk.DuplicateReportsError) as caught:
        bk.Tally.concat([bk.Tally.of(reports), reports])
    assert caught.value.parts == (1, 2)
    with pytest.raises(bk.PlanMismatchError):
        bk.Tally.concat([reports, bk.Flip(keep=0.8).randomize(bk.Baskets([list("abcdefgh")]))])
    with pytest.raises(bk.DataError):
        bk.Tally.concat([])


def test_a_design_comes_from_a_file(run: Run, tmp_path: Path) -> None:
    """A kind of one's own may take JSON; what is wrong with it is said with the file's name."""
    toy = TOYS[1]
    (raw,) = toy.raw(tmp_path)
    reports, design, plan = tmp_path / "r.parquet", tmp_path / "design.json", tmp_path / "plan.json"
    words = ["randomize", raw, "-o", reports, *toy.mechanism, *toy.set, "--set", f"questions=@{design}"]
    design.write_text('[["a", "b"], ["c", "d"]]')
    result = run(*words, "--write-plan", plan)
    assert result.code == 0, result.err
    assert "questions=2 of 2 items" in result.err
    assert json.loads(plan.read_text())["mechanism"]["questions"] == [["a", "b"], ["c", "d"]]
    result = run("mine", reports, *toy.mechanism, "--min-support", 0.1)
    assert result.code == 0
    assert "left out: no report tells of all the items together" in result.err
    assert set(np.unique(bk.Reports.read(reports).batch["question"])) == {0, 1}
    for text, said in (
        ("[[", "line 1 of the questions in"),
        ('{"a": 1}', "cannot be used"),
        ('[["a"], ["b", "c"]]', "all of them equally long"),
        ('[["a", "e"]]', "'e'"),
    ):
        design.write_text(text)
        result = run(*words)
        assert result.code in (1, 2)
        assert said in result.err.replace("Line", "line")
        assert "Traceback" not in result.err
    assert run(*words[:-2], "--set", "questions=a").code == 2
    assert "must not be another file" in run(*words, "--write-plan", design).err
    assert run(*words[:-1], f"questions=@{tmp_path / 'none.json'}").code == 1
