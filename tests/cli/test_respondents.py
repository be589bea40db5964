"""``bosket randomize --respondent``: tokens beside the answers, and people who answered twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from tests.cli.conftest import Result, Run

DECLARED = ("--values", "a=n,y", "--values", "b=n,y", "--columns", "a,b")
WHO = ["t1", "t2", "007", "7"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("who,a,b\nt1,n,y\nt2,y,y\n007,n,n\n7,y,n\n")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "r.parquet"


def randomized(run: Run, raw: Path, out: Path, *more: object) -> Result:
    return run("randomize", raw, "-o", out, "--table", "--gamma", 19, "--seed", 3, "--respondent", "who", *more)


@pytest.mark.parametrize("names", ["a,b", "b,a"])
def test_tokens_are_no_attribute_and_stand_beside_the_reports(run: Run, people: Path, out: Path, names: str) -> None:
    result = randomized(run, people, out, *DECLARED[:4], "--columns", names)
    assert result.code == 0
    assert "in the clear: a token of the person" in result.err
    reports = bk.Reports.read(out)
    assert reports.respondents is not None
    assert reports.respondents.tolist() == WHO
    plain = out.with_name("plain.parquet")
    run("randomize", people, "-o", plain, "--table", "--gamma", 19, "--seed", 3, *DECLARED[:4], "--columns", names)
    assert bk.Reports.read(plain) == reports.without_respondents(), "plan and reports are what they are without"


def test_under_a_plan_and_from_parquet(run: Run, people: Path, out: Path, tmp_path: Path) -> None:
    domain = bk.TableDomain([bk.Attribute(name, ["n", "y"]) for name in "ba"])
    plan, raw = tmp_path / "plan.json", tmp_path / "raw.parquet"
    plan.write_text(bk.Plan(domain, bk.GammaDiagonal(19)).json)
    frame = pd.read_csv(people)
    frame["who"] = [4, 3, 2, 1]
    frame.to_parquet(raw)
    arguments = ("randomize", raw, "-o", out, "--table", "--plan", plan, "--respondent", "who")
    assert run(*arguments).code == 0
    reports = bk.Reports.read(out)
    assert reports.domain == domain
    assert reports.respondents is not None
    assert reports.respondents.tolist() == ["4", "3", "2", "1"]
    result = run(*arguments[:-1], "a")
    assert result.code == 2
    assert "no attribute" in result.err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("t1,n,y\nt1,y,y\n", "1 person answered more often"),
        ("t1,n,y\nJane Doe,y,y\n", "record 2"),
        ("t1,n,y\n,y,y\n", "record 2"),
        ("t1,n,y\n?,y,y\n", "record 2"),
    ],
    ids=["twice", "a name", "blank", "not known"],
)
def test_what_is_refused(run: Run, people: Path, out: Path, rows: str, said: str) -> None:
    people.write_text("who,a,b\n" + rows)
    result = randomized(run, people, out, *DECLARED)
    assert result.code == 1
    assert said in result.err
    assert "Jane" not in result.err
    assert not out.exists()
    result = randomized(run, people, out, *DECLARED, "--missing", "unknown")
    assert result.code == 1, "a category for missing cells is nobody's token"


def test_one_person(run: Run, people: Path, out: Path) -> None:
    people.write_text("who,a,b\n 4711 ,n,y\n")
    assert randomized(run, people, out, *DECLARED).code == 0
    assert bk.Reports.read(out).respondents.tolist() == ["4711"]  # type: ignore[union-attr]


def test_options_that_do_not_go_together(run: Run, people: Path, out: Path) -> None:
    wrong = run("randomize", people, "-o", out, "--keep", 0.9, "--respondent", "who")
    assert wrong.code == 2
    assert "--table" in wrong.err
    for more, code, said in (
        (("--columns", "a,b,who"), 2, "no attribute"),
        (("--columns", "a,b", "--respondent", "nobody"), 1, "must have one column 'nobody'"),
        ((), 2, "--columns"),
    ):
        result = randomized(run, people, out, *DECLARED[:4], *more)
        assert (result.code, said in result.err) == (code, True), result.err
    wrong = randomized(run, Path("-"), out, *DECLARED)
    assert (wrong.code, "standard input" in wrong.err) == (2, True)
    reports = out.with_name("reports.parquet")
    assert randomized(run, people, reports, *DECLARED).code == 0
    assert "randomized already" in randomized(run, reports, out, *DECLARED).err


def test_files_and_phases_that_hold_a_person_twice_are_refused(run: Run, tmp_path: Path) -> None:
    """What ``mine`` puts together, of one plan or of two."""
    domain = bk.TableDomain([bk.Attribute(name, ["n", "y"]) for name in "abc"])
    design = bk.Design.pairs(domain)
    plan = bk.Plan(domain, bk.Ask(design, gamma=19))
    codes = np.random.default_rng(1).integers(0, 2, (300, 3))
    table = bk.Table.from_codes(codes, domain)
    first = plan.randomize(table, rng=bk.Seeded(1), respondents=range(300))
    refined = bk.Plan(domain, bk.Ask(design.refine(first, people=300, min_support=0.1), gamma=19))
    for name, other, start in (("same", plan, 299), ("phase", refined, 299), ("fine", refined, 300)):
        path = tmp_path / f"{name}.parquet"
        other.randomize(table, rng=bk.Seeded(2), respondents=range(start, start + 300)).write(path)
        first.write(tmp_path / "first.parquet")
        result = run("mine", tmp_path / "first.parquet", path, "--min-support", 0.2)
        assert (result.code, "1 person" in result.err) == ((0, False) if name == "fine" else (1, True)), name
