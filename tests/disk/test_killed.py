"""Programs that end in the middle of a first pass, killed or on a full disk: nothing stays but whole segments."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bosket as bk
from bosket.disk.folders import system_mark
from bosket.disk.records.spill import Spill
from bosket.errors import DataError
from bosket.progress import LevelProgress
from tests.collection.test_collection import some_reports
from tests.disk.test_open_baskets import assert_alike, opened, some_baskets
from tests.disk.test_opened import open_with, written

MARK = f"{system_mark()}-" if system_mark() else ""
KINDS = [".000001.bits", ".000001.records", ".1000000.labels", ".000001.json", ".complete.json", ".bosket-scratch.json"]
STALE = [f"{kind}.{mark}0123456789abcdef.tmp" for kind in KINDS for mark in {"", "fedcba9876543210-", MARK}]
OTHERS = [
    ".000001.bits.tmp",
    ".diary.txt.0123456789abcdef.tmp",
    "000001.bits.0123456789abcdef.tmp",
    ".000001.bits.fedcba-0123456789abcdef.tmp",
]


Opens = Callable[[Path, Path], bk.OpenReports | bk.OpenBaskets]


def leave(folder: Path, seconds_ago: int = 3700) -> None:
    """What a killed program leaves, and what none does."""
    for name in STALE + OTHERS:
        (folder / name).write_bytes(b"some")
        then = (folder / name).stat().st_mtime - seconds_ago
        os.utime(folder / name, (then, then))
    (folder / ".000002.bits.0123456789abcdef.tmp").mkdir()


def hidden(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name in STALE + OTHERS}


def reports_of(folder: Path, scratch: Path) -> bk.OpenReports:
    paths = [folder / f"{at:03d}.parquet" for at in range(2)]
    if not paths[0].exists():
        written(folder, [some_reports(400, seed) for seed in range(2)])
    return open_with(paths, 300, scratch)


def baskets_of(folder: Path, scratch: Path) -> bk.OpenBaskets:
    path = folder / "x.dat"
    if not path.exists():
        some_baskets(60, 2, numbers=True).write(path)
    return opened(path, 60, folder=scratch)


@pytest.mark.parametrize("opens", [reports_of, baskets_of])
def test_what_a_killed_program_left_is_removed(opens: Opens, tmp_path: Path) -> None:
    """Up to a segment each, of raw records too, stayed for good."""
    scratch = tmp_path / "scratch"
    data = opens(tmp_path, scratch)
    leave(scratch)
    assert data.counter().n_records
    assert hidden(scratch) == set(OTHERS)
    assert (scratch / ".000002.bits.0123456789abcdef.tmp").is_dir()


@pytest.mark.parametrize("opens", [reports_of, baskets_of])
def test_what_another_system_may_be_writing_stays(opens: Opens, tmp_path: Path) -> None:
    """A network disk may keep its locks to itself: what somebody else was writing there was removed."""
    scratch = tmp_path / "scratch"
    data = opens(tmp_path, scratch)
    leave(scratch, seconds_ago=3500)
    assert data.counter().n_records
    ours = {name for name in STALE if MARK and MARK in name}
    assert hidden(scratch) == set(STALE + OTHERS) - ours


def test_an_hour_is_one_of_the_disk_s_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    data = reports_of(tmp_path, scratch)
    leave(scratch, seconds_ago=0)
    monkeypatch.setattr(time, "time", lambda: 1e11)
    assert data.counter().n_records
    assert hidden(scratch) >= {name for name in STALE if not MARK or MARK not in name}


@pytest.mark.skipif(not Path("/proc/sys/kernel/random/boot_id").exists(), reason="the system does not say")
def test_temporary_files_say_which_system_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    data = reports_of(tmp_path, scratch)
    with data._scratch._written(scratch / "000000.bits") as temporary:
        name = temporary.name
    assert MARK in name
    (scratch / "000000.bits").rename(scratch / name)
    assert data.counter().n_records
    assert not (scratch / name).exists()


@pytest.mark.parametrize("opens", [reports_of, baskets_of])
def test_where_nothing_can_be_locked_nothing_is_removed(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be what another program writes just now."""
    scratch = tmp_path / "scratch"
    data = opens(tmp_path, scratch)
    leave(scratch)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert data.counter().n_records
    assert hidden(scratch) == set(STALE + OTHERS)


def test_bitmaps_are_written_by_one_program_at_a_time(tmp_path: Path) -> None:
    """Who comes second waits, and finds what is done, so that whatever lies about belongs to nobody."""
    scratch = tmp_path / "scratch"
    reports = reports_of(tmp_path, scratch)
    heard: list[LevelProgress] = []

    def lock() -> None:
        with (scratch / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def hear(progress: LevelProgress) -> None:
        with pytest.raises(BlockingIOError):
            lock()
        heard.append(progress)

    reports._on_progress = hear
    assert reports.counter().n_records == 800
    assert heard
    lock()
    leave(scratch)
    assert reports_of(tmp_path, scratch).counter().n_records == 800
    assert hidden(scratch) == set(STALE + OTHERS), "nothing is written, so nothing is locked"


@pytest.mark.parametrize("written", [0, 1])
def test_rows_that_were_sorted_go_where_the_disk_is_full(
    written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stayed, twenty bytes a row, and kept the disk full."""
    path, scratch = tmp_path / "x.csv", tmp_path / "scratch"
    baskets = some_baskets(60, 2)
    baskets.write(path, layout="long")
    append = Spill._append
    seen: list[Path] = []

    def full(self: Spill, to: Path, rows: Any) -> None:
        if len(seen) == written:
            raise DataError(f"Cannot write {to}: No space left on device.", path=to)
        seen.append(to)
        append(self, to, rows)

    with opened(path, 60, folder=scratch) as made:
        with monkeypatch.context() as patch:
            patch.setattr(Spill, "_append", full)
            with pytest.raises(bk.DataError, match="No space left"):
                made.item_counts()
        assert not (scratch / "spilt").exists()
        assert_alike(made, bk.Baskets.read(path))


PROGRAM = """
import sys, time
from pathlib import Path
from bosket.data.formats import sources
from bosket.disk.records import scratch
from tests.disk.test_open_baskets import opened

write, calls = scratch.write_arrays, []

def slowly(arrays, path, start=0):
    calls.append(path)
    if len(calls) < 4:
        return write(arrays, path, start)
    path.write_bytes(b"half a segment")
    print("in the middle", flush=True)
    time.sleep(600)

scratch.write_arrays, sources.BLOCK = slowly, 1024
opened(Path(sys.argv[1]), 600, folder=Path(sys.argv[2])).item_counts()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such signal")
@pytest.mark.parametrize("name", ["x.dat", "x.csv"])
def test_a_killed_first_pass_over_baskets_goes_on(name: str, tmp_path: Path) -> None:
    path, scratch = tmp_path / name, tmp_path / "scratch"
    some_baskets(2000, 5, numbers=name == "x.dat").write(path, layout="list" if name == "x.dat" else "long")
    command = [sys.executable, "-c", PROGRAM, str(path), str(scratch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert said == "in the middle\n"
    assert process.returncode == -signal.SIGKILL
    assert [path.read_bytes() for path in scratch.glob(".000003.records.*.tmp")] == [b"half a segment"]
    before = (scratch / "000001.records").stat().st_mtime_ns
    with opened(path, 600, folder=scratch) as made:
        assert_alike(made, bk.Baskets.read(path))
        n_segments = len(made._known.notes)
    is_found_again = (scratch / "000001.records").stat().st_mtime_ns == before
    assert is_found_again == (name == "x.dat"), "one over a long file begins again"
    segments = {f"{at:06d}.{kind}" for at in range(n_segments) for kind in ("records", "json")}
    if not MARK:  # it goes when it is an hour old
        (half,) = scratch.glob(".000003.records.*.tmp")
        half.unlink()
    left = {path.name for path in scratch.iterdir()} - segments
    assert left - {"000000.labels"} == {"bosket-scratch.json", "complete.json", "lock"}
    assert json.loads((scratch / "complete.json").read_text())["segments"] == n_segments
