"""Files that somebody writes to while they are open: what is read is what was opened, or nothing is said."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import bosket as bk
from bosket.progress import LevelProgress
from tests.collection.test_collection import PAIRS, some_reports
from tests.disk.test_open_baskets import opened, some_baskets
from tests.disk.test_opened import open_with, written
from tests.disk.test_scratch import ASKED, TABLE


def once(change: Callable[[], object]) -> Callable[[LevelProgress], None]:
    """Hears progress, and changes something at the first of it."""
    heard: list[LevelProgress] = []

    def hear(progress: LevelProgress) -> None:
        heard.append(progress)
        if len(heard) == 1:
            change()

    return hear


def later(path: Path) -> None:
    """Have the time of a file be a second later, whatever the clock of the disk says."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


class TestReports:
    @pytest.fixture
    def paths(self, tmp_path: Path) -> list[Path]:
        return written(tmp_path, [some_reports(400, seed) for seed in range(5)])

    def test_another_draw_of_as_many_is_refused(self, paths: list[Path], tmp_path: Path) -> None:
        """It was mined without a word, and its bitmaps stood in the scratch folder as those of the file before."""
        reports = open_with(paths, 300, tmp_path / "scratch")
        some_reports(400, 9).write(paths[2])
        with pytest.raises(bk.DataError, match="has changed since it was opened") as problem:
            reports.counter()
        assert problem.value.path == paths[2]
        notes = {path.name for path in (tmp_path / "scratch").glob("0*.json")}
        assert "000003.json" not in notes, "the reports 900 to 1200 are of the file that changed"

    def test_a_file_that_was_read_may_not_change_before_its_segment_is_noted(
        self, paths: list[Path], tmp_path: Path
    ) -> None:
        reports = open_with(paths, 300, tmp_path / "scratch")

        def change() -> None:
            some_reports(400, 9).write(paths[0])
            later(paths[0])

        reports._on_progress = once(change)
        with pytest.raises(bk.DataError, match="has changed") as problem:
            reports.counter()
        assert problem.value.path == paths[0]
        assert {path.name for path in (tmp_path / "scratch").glob("0*.json")} == {"000000.json"}

    def test_a_file_that_is_gone_is_refused(self, paths: list[Path]) -> None:
        reports = open_with(paths, 300)
        paths[4].unlink()
        with pytest.raises(bk.DataError, match="has been removed since it was opened") as problem:
            reports.counter()
        assert problem.value.path == paths[4]

    @pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES])
    def test_one_that_cannot_be_looked_at_is_not_said_to_have_changed(
        self, number: int, paths: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever opens it again because of that comes to the same fault of the disk."""
        reports = open_with(paths, 300)
        stat = Path.stat

        def look(path: Path, **how: bool) -> os.stat_result:
            if path == paths[0]:
                raise OSError(number, os.strerror(number))
            return stat(path, **how)

        monkeypatch.setattr(Path, "stat", look)
        with pytest.raises(bk.DataError, match=os.strerror(number)) as problem:
            reports.counter()
        assert problem.value.path == paths[0]
        assert "changed" not in str(problem.value)

    def test_all_looks_are_at_the_same_reports(self, tmp_path: Path) -> None:
        """Answers to questions are read again at every look."""
        people = bk.Table([{"a": "no", "b": "yes"}] * 400, TABLE)
        (path,) = written(tmp_path, [ASKED.randomize(people, rng=bk.Seeded(1))])
        reports = open_with([path], 300)
        counter = reports.counter()
        before = counter.supports(PAIRS[:1])
        assert (counter.supports(PAIRS[:1]) == before).all()
        ASKED.randomize(people, rng=bk.Seeded(2)).write(path)
        for look in (lambda: counter.supports(PAIRS[:1]), lambda: reports.batch, reports.counter):
            with pytest.raises(bk.DataError, match="has changed"):
                look()

    def test_a_scratch_folder_goes_by_the_files_as_they_were_opened(self, paths: list[Path], tmp_path: Path) -> None:
        reports = bk.open(paths, scratch=tmp_path / "scratch")
        with bk.open(paths) as expected:
            known = expected.counter().supports(PAIRS)
        assert (reports.counter().supports(PAIRS) == known).all()
        some_reports(400, 9).write(paths[0])
        assert (reports.counter().supports(PAIRS) == known).all(), "bitmaps are those of the files before"
        with pytest.raises(bk.DataError, match="of other files"):
            bk.open(paths, scratch=tmp_path / "scratch")


class TestBaskets:
    def write(self, path: Path, seed: int) -> None:
        some_baskets(120, seed, numbers=path.suffix == ".dat").write(
            path, layout="long" if ".csv" in path.name else "list"
        )

    @pytest.fixture(params=["x.dat", "x.csv", "x.parquet"])
    def path(self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr("bosket.data.formats.sources.BLOCK", 64)
        monkeypatch.setattr("bosket.disk.records.csv_stream._TOGETHER", 64)
        path: Path = tmp_path / request.param
        self.write(path, 5)
        return path

    def test_another_file_in_its_place_is_refused(self, path: Path, tmp_path: Path) -> None:
        with opened(path, 60, folder=tmp_path / "scratch") as made:
            self.write(path, 6)
            with pytest.raises(bk.DataError, match="has changed since it was opened") as problem:
                made.item_counts()
        assert problem.value.path == path
        assert not list((tmp_path / "scratch").glob("0*.json"))

    def test_so_is_one_that_changes_while_it_is_read(self, path: Path, tmp_path: Path) -> None:
        with opened(path, 60, folder=tmp_path / "scratch") as made:
            made._on_progress = once(lambda: later(path))
            with pytest.raises(bk.DataError, match="has changed") as problem:
                made.item_counts()
        assert problem.value.path == path
        assert not list((tmp_path / "scratch").glob("0*.json"))
        assert not (tmp_path / "scratch" / "complete.json").exists()

    def test_lines_that_are_appended_are_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "x.dat"
        self.write(path, 5)
        made = bk.Baskets.open(path)
        with path.open("a") as file:
            file.write("3\n" * 100)
        with pytest.raises(bk.DataError, match="has changed"):
            bk.mine(made, 0.1)

    def test_a_file_that_becomes_unsound_has_changed(self, tmp_path: Path) -> None:
        """What is wrong with it now would be said of a file that the user did not open."""
        path = tmp_path / "x.dat"
        self.write(path, 5)
        made = bk.Baskets.open(path)
        path.write_text("no numbers\n")
        with pytest.raises(bk.DataError, match="has changed"):
            bk.mine(made, 0.1)
