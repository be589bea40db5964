"""A small study on disk, and the command line as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import bosket as bk
from bosket.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("mine", path, "--min-support", 0.1)``: exit code, standard output and standard error."""

    def call(*arguments: object) -> Result:
        words: Sequence[str] = [str(argument) for argument in arguments]
        capsys.readouterr()
        code = main(words)
        return Result(code, *capsys.readouterr())

    return call


class Study(NamedTuple):
    """Raw baskets with numbers for labels, and reports of them."""

    baskets: Path
    reports: Path
    plan: Path


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    directory = tmp_path_factory.mktemp("study")
    baskets = bk.quest(records=3000, mean_size=5, items=20, patterns=10, seed=7)
    plan = bk.Plan(baskets.domain, bk.Flip(keep=0.95), bk.PrivacyUnit(max_size=20))
    paths = Study(directory / "baskets.dat", directory / "reports.parquet", directory / "plan.json")
    baskets.write(paths.baskets)
    plan.randomize(baskets, rng=bk.Seeded(7)).write(paths.reports)
    paths.plan.write_text(plan.json)
    return paths


AGES = ("--bins", "age=15,35,55")
WORK = ("--missing", "work=unknown")


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 1800 records: age in numbers, sex in words, and work that is missing now and then."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    rows = [
        f"{15 + 7 * at % 60},{'Female' if at % 5 < 2 or at % 60 < 20 else 'Male'},{('office', 'farm', '?')[at % 3]}"
        for at in range(1800)
    ]
    path.write_text("\n".join(["age,sex,work", *rows, ""]))
    return path


@pytest.fixture(scope="session")
def table(people: Path) -> bk.Table:
    return bk.Table.read(people, bins={"age": [15, 35, 55]}, missing={"work": "unknown"})


@pytest.fixture
def groceries(tmp_path: Path) -> Path:
    """Baskets with words for labels, some of them nasty."""
    path = tmp_path / "groceries.csv"
    records = [["milk", "<script>alert(1)</script>"], ["milk", "$x$"], ["milk", "$x$", "$y"], ["<b>&", "milk"], []]
    bk.Baskets(records * 20).write(path)
    return path
