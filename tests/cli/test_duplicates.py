"""The command line refuses one file of reports by two names, and copies of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import bosket as bk
from tests.cli.conftest import Run

PEOPLE = bk.Baskets([["a"], ["b", "c"], []], items=list("abcdefgh")).repeat(40)
REPORTS = bk.Flip(keep=0.8).randomize(PEOPLE, rng=bk.Seeded(1))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    REPORTS.write(tmp_path / "r.parquet")
    return tmp_path / "r.parquet"


@pytest.mark.parametrize("how", ["same", "link", "hard link", "copy", "written again"])
@pytest.mark.parametrize("command", ["mine", "rules"])
def test_a_file_given_twice_is_refused(run: Run, file: Path, how: str, command: str) -> None:
    twin = file if how == "same" else file.with_name("twin.parquet")
    if how == "link":
        twin.symlink_to(file)
    elif how == "hard link":
        os.link(file, twin)
    elif how == "copy":
        shutil.copy(file, twin)
    elif how == "written again":
        bk.Reports.read(file)[::-1].write(twin)
    result = run(command, file, twin, "--min-support", 0.2)
    assert result.code == 1
    assert "twice" in result.err
    assert run(command, file, twin, "--min-support", 0.2, "--allow-duplicates").code == 0


def test_one_file_of_few_reports_by_two_names_is_refused_too(run: Run, tmp_path: Path) -> None:
    one, twin = tmp_path / "one.parquet", tmp_path / "twin.parquet"
    REPORTS[:1].write(one)
    twin.symlink_to(one)
    assert run("mine", one, twin, "--min-support", 0.2).code == 1
    assert "There is no file" in run("mine", one, tmp_path / "none.parquet", "--min-support", 0.2).err
