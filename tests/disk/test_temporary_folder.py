"""A temporary scratch folder is there as long as something may ask for what it holds, and goes once nothing does."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from tests.collection.test_collection import PAIRS, mined, some_reports
from tests.disk.test_open_baskets import opened, some_baskets
from tests.disk.test_opened import open_with, written


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return written(tmp_path, [some_reports(400, seed) for seed in range(3)])


def test_an_estimate_outlives_the_reports_that_it_was_made_of(paths: list[Path]) -> None:
    """Its folder went with the reports: a segment was said to be damaged that was gone."""
    expected = bk.estimate(bk.Reports.concat([bk.Reports.read(path) for path in paths]), [["a"], ["a", "b"]])
    found = bk.estimate(bk.open(paths), [["a"], ["a", "b"]])
    gc.collect()
    np.testing.assert_array_equal(found.covariance, expected.covariance)


def test_a_counter_of_baskets_does_too(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    some_baskets(60, 2, numbers=True).write(path)
    counter = opened(path, 60).counter()
    gc.collect()
    assert counter.supports(np.array([[0, 1]], np.int32)).shape == (1, 1)


def test_the_folder_goes_with_the_last_that_needs_it(paths: list[Path], tmp_path: Path) -> None:
    reports = open_with(paths, 300)
    folder, counter = reports._scratch.folder, reports.counter()
    del reports
    gc.collect()
    assert folder.is_dir()
    del counter
    gc.collect()
    assert not folder.exists()
    some_baskets(60, 2, numbers=True).write(tmp_path / "x.dat")
    baskets = opened(tmp_path / "x.dat", 60)
    folder = baskets._scratch.folder
    assert baskets.n_records == 60
    del baskets
    gc.collect()
    assert not folder.exists()


def test_what_was_closed_says_so(paths: list[Path], tmp_path: Path) -> None:
    """It was said that a segment is not as it was written."""
    with open_with(paths, 300) as reports:
        counter = reports.counter()
        estimate = bk.estimate(reports, [["a"], ["a", "b"]])
    with open_with(paths, 300) as unread:
        pass
    for look in (
        lambda: counter.supports(PAIRS),
        reports.counter,
        lambda: estimate.covariance,
        lambda: bk.mine(reports, 0.2),
        lambda: bk.mine(unread, 0.2),
    ):
        with pytest.raises(bk.DataError, match="was closed") as problem:
            look()
        assert "scratch=" in str(problem.value.hint)
    some_baskets(60, 2, numbers=True).write(tmp_path / "x.dat")
    with opened(tmp_path / "x.dat", 60) as read:
        assert read.n_records == 60
    assert read.item_counts().sum() > 0, "what was counted before is still known"
    with opened(tmp_path / "x.dat", 60) as baskets:
        pass
    for look in (lambda: bk.mine(read, 0.2), lambda: read.counter().supports(PAIRS), lambda: bk.mine(baskets, 0.2)):
        with pytest.raises(bk.DataError, match="was closed"):
            look()


def test_closing_leaves_a_folder_of_one_s_own(paths: list[Path], tmp_path: Path) -> None:
    with open_with(paths, 300, tmp_path / "scratch") as reports:
        found = mined(reports, 0.2)
    assert mined(reports, 0.2).to_frame().equals(found.to_frame())  # type: ignore[union-attr]  # neither is an error
    reports.close()  # a second time


FORKING = """
import os, sys
from pathlib import Path
import bosket as bk

reports = bk.open(sys.argv[1])
counter = reports.counter()
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
assert reports._scratch.folder.is_dir()
print(counter.n_records)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such programs")
def test_a_forked_program_that_ends_leaves_the_folder(paths: list[Path], tmp_path: Path) -> None:
    """It was removed while the program that made it went on, which then said that a segment was damaged."""
    (tmp_path / "t").mkdir()
    command = [sys.executable, "-c", FORKING, str(paths[0])]
    environment = os.environ | {"TMPDIR": str(tmp_path / "t")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, "400\n"), done.stderr
    assert not list((tmp_path / "t").glob("bosket-*"))
