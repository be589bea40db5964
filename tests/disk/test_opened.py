"""Reports in files: the results of the same reports in memory, and nothing half-written passes for whole."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket.disk import reading, scratch
from bosket.disk.budget import memory_bytes, memory_for_data
from bosket.disk.reading import known_file
from bosket.mechanisms.payload import Batch
from bosket.progress import LevelProgress
from tests.collection.test_collection import PAIRS, PLAN, mined, named, some_reports
from tests.contracts.cases import CASES, Case


def open_with(
    paths: list[Path], rows: int, folder: Path | None = None, allow_duplicates: bool = False
) -> bk.OpenReports:
    """Files, opened with so little memory that a segment has ``rows`` reports."""
    files, plan = [], None
    for path in paths:
        file, plan = known_file(path, plan)
        files.append(file)
    assert plan is not None
    made = bk.OpenReports(plan, files, memory=1 << 30, scratch=folder, allow_duplicates=allow_duplicates)
    if folder is None or not any(folder.glob("*.json")) or made._scratch.rows > rows:
        made._scratch.rows = rows
    return made


def written(folder: Path, parts: list[bk.Reports]) -> list[Path]:
    paths = [folder / f"{at:03d}.parquet" for at in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        part.write(path)
    return paths


def assert_counts_are_those_of_all_reports(sizes: list[int], rows: int) -> None:
    parts = [some_reports(4 * size, seed)[:size] for seed, size in enumerate(sizes)]
    everything = bk.Reports.concat(parts, allow_duplicates=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_with(written(Path(folder), parts), rows, allow_duplicates=True) as reports,
    ):
        found, expected = reports.counter(), everything.counter()
        assert (found.strata, found.n_records) == (expected.strata, expected.n_records)
        for itemsets in (PAIRS, PAIRS[:1], PAIRS[:0], np.array([[2]], np.int32), np.empty((3, 0), np.int32)):
            np.testing.assert_array_equal(found.supports(itemsets), expected.supports(itemsets))
        assert reports.strata_shown == everything.strata_shown
        assert reports.batch == everything.batch
        assert (reports.n_records, reports.randomness) == (len(everything), everything.randomness)


def test_counts_of_some_files() -> None:
    """Segments within files and across them, an empty file, a stratum that few segments have."""
    assert_counts_are_those_of_all_reports([70, 0, 121, 3], 64)


@pytest.mark.slow
@given(
    sizes=st.lists(st.integers(0, 120), min_size=1, max_size=3).filter(any), rows=st.sampled_from([50, 64, 100, 1000])
)
def test_counts_are_those_of_all_reports(sizes: list[int], rows: int) -> None:
    assert_counts_are_those_of_all_reports(sizes, rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_mechanism(case: Case, tmp_path: Path) -> None:
    reports = case.reports(800, seed=3)
    parts = [reports] if reports.channel.belong_together else [reports[:200], reports[200:201], reports[201:]]
    largest = [reports.domain.labels[item] for item in case.itemsets[-1][0].tolist()]
    wanted = [set(largest[:1]), set(largest)]
    with open_with(written(tmp_path, parts), 300) as files:
        one, other = (bk.estimate(data, wanted, sampling=True) for data in (files, reports))
        np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(one.covariance, other.covariance)
        found, expected = mined(files, 0.2), mined(reports, 0.2)
        if isinstance(found, type) or isinstance(expected, type):
            assert found is expected
            return
        assert found.to_frame().equals(expected.to_frame())
        assert found.about == expected.about
        assert found.rules(min_threshold=0.0).equals(expected.rules(min_threshold=0.0))


class StoppedError(Exception):
    """What ends a first pass in the middle."""


def stops_after(n_bytes: int) -> Callable[[LevelProgress], None]:
    def hear(progress: LevelProgress) -> None:
        assert progress.stage == "reading"
        if progress.done > n_bytes:
            raise StoppedError

    return hear


@pytest.fixture
def parts() -> list[bk.Reports]:
    return [some_reports(400, seed) for seed in range(5)]


def test_a_first_pass_goes_on_where_it_ended(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"
    half = sum(path.stat().st_size for path in paths[:3])
    begun = open_with(paths, 300, folder)
    begun._on_progress = stops_after(half)
    with pytest.raises(StoppedError):
        begun.counter()
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.bits")}
    assert 1 <= len(before) < 7
    heard: list[float] = []
    again = open_with(paths, 300, folder)
    again._on_progress = lambda progress: heard.append(progress.done / progress.total)
    np.testing.assert_array_equal(again.counter().supports(PAIRS), bk.Reports.concat(parts).counter().supports(PAIRS))
    assert heard == sorted(heard)
    assert heard[0] > 0.5, "what was finished is not read again"
    assert heard[-1] == 1
    for name, when in before.items():
        assert (folder / name).stat().st_mtime_ns == when
    once_more = open_with(paths, 300, folder)
    once_more._on_progress = stops_after(-1)
    assert once_more.counter().n_records == 2000, "nothing is read but footers"


@pytest.mark.parametrize("fault", ["no note", "half a note", "short", "missing"])
def test_what_is_half_written_is_written_again(fault: str, parts: list[bk.Reports], tmp_path: Path) -> None:
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"
    open_with(paths, 300, folder).counter()
    note, bits = folder / "000003.json", folder / "000003.bits"
    if fault == "no note":
        note.unlink()
        bits.write_bytes(b"\0" * bits.stat().st_size)
    elif fault == "half a note":
        note.write_bytes(note.read_bytes()[:20])
        bits.write_bytes(b"\0" * bits.stat().st_size)
    elif fault == "short":
        bits.write_bytes(bits.read_bytes()[:-8])
    else:
        bits.unlink()
    again = open_with(paths, 300, folder).counter()
    np.testing.assert_array_equal(again.supports(PAIRS), bk.Reports.concat(parts).counter().supports(PAIRS))


def test_a_segment_that_shrinks_while_it_is_counted_is_refused(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"
    counter = open_with(paths, 300, folder).counter()
    os.truncate(folder / "000002.bits", 8)
    with pytest.raises(bk.DataError, match="not as it was written"):
        counter.supports(PAIRS)


def test_a_full_scratch_disk(parts: list[bk.Reports], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system says so in the middle of a segment; or there is too little room before."""
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"

    def full(bitmaps: object, path: Path, start: int) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(scratch, "write_columns", full)
        with pytest.raises(bk.DataError, match="No space left"):
            open_with(paths, 300, folder).counter()
    assert sorted(path.name for path in folder.iterdir()) == ["bosket-scratch.json", "lock"]
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 9, 1))
        with pytest.raises(bk.DataError, match="has room for 1 bytes"):
            open_with(paths, 300, folder).counter()
    assert open_with(paths, 300, folder).counter().n_records == 2000


def test_a_scratch_folder_of_other_files_is_refused(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"
    open_with(paths, 300, folder).counter()
    with pytest.raises(bk.DataError, match="other files"):
        open_with(paths[:4], 300, folder)
    some_reports(400, 9).write(paths[0])
    with pytest.raises(bk.DataError, match="other files"):
        open_with(paths, 300, folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises(bk.DataError, match="must be empty"):
        open_with(paths, 300, tmp_path / "mine")
    (folder / "bosket-scratch.json").write_text("[")
    with pytest.raises(bk.DataError, match="manifest"):
        open_with(paths, 300, folder)


def test_less_memory_than_a_scratch_folder_was_begun_with(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths, folder = written(tmp_path, parts), tmp_path / "scratch"
    open_with(paths, 300, folder)
    manifest = json.loads((folder / "bosket-scratch.json").read_text())
    (folder / "bosket-scratch.json").write_text(json.dumps(manifest | {"rows": 1 << 40}))
    with pytest.raises(bk.DataError, match="there is memory for"):
        bk.open(paths, memory="1GiB", scratch=folder)


def test_files_are_found_by_pattern_folder_and_name(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths = written(tmp_path, parts)
    every: list[str | Path | list[str | Path]] = [
        f"{tmp_path}/*.parquet",
        tmp_path,
        [*paths],
        [str(paths[0]), tmp_path],
    ]
    for named_by in every:
        assert bk.open(named_by).n_records == 2000
    assert bk.open(paths[0]).n_records == 400
    with pytest.raises(bk.DataError, match="no files"):
        bk.open(f"{tmp_path}/*.csv")
    with pytest.raises(bk.DataError, match="no file"):
        bk.open(tmp_path / "nothing.parquet")
    with pytest.raises(bk.ParameterError):
        bk.open(5)  # type: ignore[arg-type]


def test_files_that_do_not_belong_there(parts: list[bk.Reports], tmp_path: Path) -> None:
    path, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    parts[0].write(path)
    some_reports(40, 1, bk.Plan(PLAN.domain, bk.CutAndPaste(2, 0.4), bk.PrivacyUnit(max_size=3))).write(other)
    with pytest.raises(bk.PlanMismatchError):
        bk.open([path, other])
    with pytest.raises(bk.PlanMismatchError):
        bk.open(other, plan=PLAN)
    named(["x"], 1).write(other)
    with pytest.raises(bk.DataError, match="respondents"):
        bk.open([path, other])
    bk.Tally.of(parts[0]).write(other)
    with pytest.raises(bk.DataError, match="tally"):
        bk.open([path, other])
    mixed = bk.Plan(PLAN.domain, bk.Mixing(others=2, keep=0.6))
    for seed, one in enumerate((path, other)):
        some_reports(40, seed, mixed).write(one)
    with pytest.raises(bk.DataError, match="batch by batch"):
        bk.open([path, other])


def test_a_file_twice_is_refused(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths = written(tmp_path, [*parts, parts[1][::-1]])
    with pytest.raises(bk.DuplicateReportsError), open_with(paths, 300) as reports:
        reports.counter()
    with open_with(paths, 300, allow_duplicates=True) as reports:
        assert reports.counter().n_records == 2400


def test_files_that_hold_the_same_reports_are_named(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths = written(tmp_path, [parts[0], parts[1], parts[2], parts[1][::-1]])
    with (
        pytest.raises(bk.DuplicateReportsError, match="Batch 4 holds the same") as caught,
        open_with(paths, 300) as some,
    ):
        some.counter()
    assert caught.value.parts == (2, 4)
    assert caught.value.path == paths[3]
    assert f"{paths[1]} and {paths[3]}" in str(caught.value.hint)


def test_of_files_with_equal_sums_every_two_are_compared(
    parts: list[bk.Reports], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was compared with the first alone; sums can be forged, so that a copy of the second was counted twice."""
    monkeypatch.setattr(reading, "marks", lambda bits, strata: np.zeros(len(bits), np.uint64))
    some = [part[:300] for part in parts[:3]]
    with open_with(written(tmp_path, some), 300) as reports:
        assert reports.counter().n_records == 900
    with (
        pytest.raises(bk.DuplicateReportsError) as caught,
        open_with(written(tmp_path, [*some, some[1][::-1]]), 300) as reports,
    ):
        reports.counter()
    assert caught.value.parts == (2, 4)


FEW = bk.Plan(bk.Domain(["a"]), bk.Flip(keep=0.9))


def few_reports(n_shown: int, n: int = 200) -> bk.Reports:
    """Reports of one item, so many of which show it: files of them may well be alike by chance."""
    bits = (np.arange(n) < n_shown).astype(np.uint64)[:, None]
    return bk.Reports(FEW, Batch({"report": bits}), randomness="secure")


@pytest.mark.parametrize("memory", [1 << 30, 100])
def test_files_that_may_be_alike_by_chance_are_taken(memory: int, tmp_path: Path) -> None:
    """They were refused where they do not fit in memory, which Reports.concat does not do."""
    parts = [few_reports(150), few_reports(150)[::-1]]
    with open_with(written(tmp_path, parts), 70) as reports:
        reports._memory = memory
        item = np.zeros((1, 1), np.int32)
        expected = bk.Reports.concat(parts).counter().supports(item)
        np.testing.assert_array_equal(reports.counter().supports(item), expected)


@pytest.mark.parametrize("memory", [1 << 30, 1000])
def test_files_that_are_not_are_refused_however_little_memory_there_is(
    memory: int, parts: list[bk.Reports], tmp_path: Path
) -> None:
    with open_with(written(tmp_path, [parts[0], parts[0][::-1]]), 70) as reports:
        reports._memory = memory
        with pytest.raises(bk.DuplicateReportsError, match="Batch 2 holds the same"):
            reports.counter()


def test_equal_sums_alone_refuse_nothing_that_can_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may choose reports whose sum is that of another file."""
    monkeypatch.setattr("bosket.disk.reading.marks", lambda bits, strata: np.zeros(len(bits), np.uint64))
    batches = [some_reports(400, 1), some_reports(400, 2)]
    with open_with(written(tmp_path, batches), 70) as reports:
        reports._memory = 1000
        assert reports.counter().n_records == 800


def test_a_file_that_changes_under_the_reader_is_refused(parts: list[bk.Reports], tmp_path: Path) -> None:
    paths = written(tmp_path, parts)
    reports = open_with(paths, 300)
    some_reports(80, 9).write(paths[2])
    with pytest.raises(bk.DataError, match="changed"):
        reports.counter()


def test_the_temporary_scratch_folder_goes(parts: list[bk.Reports], tmp_path: Path) -> None:
    with open_with(written(tmp_path, parts), 300) as reports:
        reports.counter()
        folder = reports._scratch.folder
        assert len(list(folder.glob("*.bits"))) == 7
    assert not folder.exists()


def test_memory_is_stated_in_bytes_or_words() -> None:
    assert [memory_bytes(one) for one in (10, "10", "1.5 kB", "2MiB", "1 TB")] == [10, 10, 1500, 2 << 20, 10**12]
    for wrong in ("", "much", "1 gib", "-1GiB", "1e3MB", "9" * 40):
        with pytest.raises(bk.ParameterError):
            memory_bytes(wrong)
    with pytest.raises(bk.ParameterError, match="by itself"):
        memory_for_data("8MiB")


def test_reports_that_do_not_fit_are_not_put_in_memory(parts: list[bk.Reports], tmp_path: Path) -> None:
    reports = open_with(written(tmp_path, parts), 300)
    reports._memory = 1000
    with pytest.raises(bk.DataError, match="would take 24000 bytes"):
        _ = reports.batch
    assert reports.counter().n_records == 2000
