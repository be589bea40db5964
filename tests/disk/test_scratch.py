"""A scratch folder that somebody else could write, or wrote: nothing in it is believed that was not written here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.disk import budget
from bosket.mechanisms.payload import Batch
from tests.collection.test_collection import PAIRS, PLAN, some_reports
from tests.disk.test_opened import open_with, written

SIZED = bk.Plan(PLAN.domain, bk.CutAndPaste(2, 0.4), bk.PrivacyUnit(max_size=3))
TABLE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "ab"])
ASKED = bk.Plan(TABLE, bk.Ask(bk.Design.pairs(TABLE), gamma=9))
Spoil = Callable[[Path], object]


def with_note(**changed: object) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "000001.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    return spoil


def other_bits(folder: Path) -> None:
    path = folder / "000001.bits"
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))


@pytest.mark.parametrize(
    "spoil",
    [
        other_bits,
        with_note(strata=[], stratum_records=[]),
        with_note(strata=[1, 2, 3], stratum_records=[300]),
        with_note(strata=[1, 1, 3]),
        with_note(strata=[4, 5, 6]),
        with_note(stratum_records=[364, -128, 64]),
        with_note(stratum_records=[10**300, 1, 1]),
        with_note(pieces=[[0, 300, 7]]),
        with_note(pieces=[[0, -300, 7]]),
        with_note(pieces=[[99, 300, 7]]),
        with_note(checksum=0),
    ],
)
def test_a_segment_that_was_changed_is_written_again(spoil: Spoil, tmp_path: Path) -> None:
    parts = [some_reports(200, seed, SIZED) for seed in range(4)]
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"
    open_with(paths, 300, folder).counter()
    spoil(folder)
    with open_with(paths, 300, folder) as reports:
        found = reports.counter()
    expected = bk.Reports.concat(parts).counter()
    assert found.strata == expected.strata
    np.testing.assert_array_equal(found.supports(PAIRS), expected.supports(PAIRS))


@pytest.mark.parametrize("spoil", [with_note(strata=[3]), with_note(checksum=1), with_note(stratum_records=[5])])
def test_so_is_a_note_without_bitmaps(spoil: Spoil, tmp_path: Path) -> None:
    people = bk.Table([{"a": "no", "b": "yes"}] * 400, TABLE)
    paths = written(tmp_path, [ASKED.randomize(people, rng=bk.Seeded(1))])
    folder = tmp_path / "scratch"
    before = open_with(paths, 300, folder).strata_shown
    note = (folder / "000001.json").read_text()
    spoil(folder)
    assert open_with(paths, 300, folder).strata_shown == before
    assert (folder / "000001.json").read_text() == note


@pytest.mark.parametrize("name", ["bosket-scratch.json", "000001.json", "000001.bits"])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_and_not_waited_for(kind: str, name: str, tmp_path: Path) -> None:
    paths, folder = written(tmp_path, [some_reports(800, 1)]), tmp_path / "scratch"
    open_with(paths, 300, folder).counter()
    (folder / name).unlink()
    (folder / name).mkdir() if kind == "folder" else os.mkfifo(folder / name)
    with pytest.raises(bk.DataError, match=name):
        open_with(paths, 300, folder).counter()


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o703])
def test_a_folder_that_others_can_write_is_refused(mode: int, tmp_path: Path) -> None:
    paths, folder = written(tmp_path, [some_reports(80, 1)]), tmp_path / "scratch"
    open_with(paths, 300, folder).counter()
    assert folder.stat().st_mode & 0o077 == 0, "nobody else sees what was made here"
    folder.chmod(mode)
    with pytest.raises(bk.DataError, match="written by others"):
        open_with(paths, 300, folder)
    folder.chmod(0o755)
    assert open_with(paths, 300, folder).counter().n_records == 80


@pytest.mark.skipif(os.name == "nt", reason="owners are those of POSIX")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, folder = written(tmp_path, [some_reports(80, 1)]), tmp_path / "scratch"
    open_with(paths, 300, folder).counter()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(bk.DataError, match="another user"):
        open_with(paths, 300, folder)


def test_a_little_less_memory_than_before_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program itself takes more when it comes back to a folder."""
    paths, folder = written(tmp_path, [some_reports(80, 1)]), tmp_path / "scratch"
    before = bk.open(paths, memory="1GiB", scratch=folder)._scratch.rows
    monkeypatch.setattr(budget, "resident", lambda: 260 << 20)
    assert bk.open(paths, memory="1GiB", scratch=folder)._scratch.rows == before


def test_bitmaps_of_many_strata_are_refused_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of every size: each begins a word in the column of every item, 64 times what the reports take."""
    n = 400
    plan = bk.Plan(bk.Domain(range(n)), bk.CutAndPaste(2, 0.4), bk.PrivacyUnit(max_size=n))
    batch = Batch({"report": np.zeros((n, -(-n // 64)), np.uint64), "stratum": np.arange(1, n + 1, dtype=np.int32)})
    paths = written(tmp_path, [bk.Reports(plan, batch, randomness="secure")])
    reports = open_with(paths, 1000)
    reports._memory = 3 * 8 * n * n
    assert reports.counter().n_records == n
    reports = open_with(paths, 1000)
    reports._memory = 3 * 8 * n * n - 3
    monkeypatch.setattr(type(plan.channel.payload), "counter", lambda *_: pytest.fail("bitmaps were made"))
    with pytest.raises(bk.DataError, match="400 different sizes"):
        reports.counter()


@pytest.mark.parametrize("paths", ["a\0b", ["a\0*"], [1], b"x", [None]])
def test_names_that_no_file_can_have(paths: object) -> None:
    with pytest.raises(bk.ParameterError, match="must name files"):
        bk.open(paths)  # type: ignore[arg-type]


@pytest.mark.parametrize("opens", [bk.open, bk.Baskets.open])
@pytest.mark.parametrize("name", ["a" * 5000, "b/" * 4000 + "x.dat", Path("c" * 300 + ".dat"), ["d" * 5000]])
def test_names_that_are_too_long(opens: Callable[[object], object], name: object) -> None:
    with pytest.raises(bk.DataError, match="too long") as problem:
        opens(name)
    assert len(str(problem.value)) < 150
    with pytest.raises(bk.DataError, match="no files"):
        opens("*" + "a" * 5000)


def test_links_that_go_round_name_no_file(tmp_path: Path) -> None:
    link = tmp_path / "round.parquet"
    link.symlink_to(link)
    with pytest.raises(bk.DataError, match="no file"):
        bk.open(link)


def test_a_folder_without_parquet_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "records.dat").write_text("1 2\n")
    for paths in (tmp_path, [tmp_path]):
        with pytest.raises(bk.DataError, match=rf"The folder {tmp_path} has no Parquet files") as caught:
            bk.Baskets.open(paths)
        assert "*.dat" in str(caught.value.hint)
    with pytest.raises(bk.DataError, match=r"There are no files .*nothing\*\.dat"):
        bk.Baskets.open([tmp_path / "nothing*.dat"])
