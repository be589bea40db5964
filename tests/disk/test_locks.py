"""The lock of a scratch folder: held by one call at a time, and given back when it ends."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bosket as bk
from bosket.disk.folders import locked, once_in_a_thread
from bosket.progress import LevelProgress
from tests.collection.test_collection import some_reports
from tests.disk.test_open_baskets import opened, some_baskets
from tests.disk.test_opened import open_with, written

Data = bk.OpenReports | bk.OpenBaskets


def is_free(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Handles that share each file that is opened, as a program that is forked meanwhile does."""
    opened, handles = os.open, list[int]()

    def sharing(path: Path, flags: int, mode: int) -> int:
        handle = opened(path, flags, mode)
        handles.append(os.dup(handle))
        return handle

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", sharing)
        yield handles
    for handle in handles:
        os.close(handle)


def test_a_lock_is_given_back_while_a_forked_program_lives(tmp_path: Path, shared: list[int]) -> None:
    """A pool that was forked during a first pass kept the lock, and the next pass waited for its end."""
    path = tmp_path / "lock"
    with locked(path) as is_held:
        assert is_held
        assert not is_free(path)
    assert len(shared) == 1
    assert is_free(path)


def test_a_forked_program_does_not_give_back_the_lock(
    tmp_path: Path, shared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that leaves by an exception passes the end of the block, and its parent still writes."""
    path = tmp_path / "lock"
    own = os.getpid()
    with locked(path):
        monkeypatch.setattr(os, "getpid", lambda: own + 1)
    assert len(shared) == 1
    assert not is_free(path)


def reports_of(folder: Path, scratch: Path | None) -> bk.OpenReports:
    paths = [folder / "000.parquet", folder / "001.parquet"]
    if not paths[0].exists():
        written(folder, [some_reports(400, seed) for seed in range(2)])
    return open_with(paths, 300, scratch)


def baskets_of(folder: Path, scratch: Path | None) -> bk.OpenBaskets:
    path = folder / "x.dat"
    if not path.exists():
        some_baskets(60, 2, numbers=True).write(path)
    return opened(path, 60, folder=scratch)


@pytest.mark.parametrize("opens", [reports_of, baskets_of])
@pytest.mark.parametrize("is_same", [True, False])
@pytest.mark.parametrize("is_lasting", [True, False])
def test_a_listener_that_asks_what_is_being_read_is_refused(
    opens: Callable[[Path, Path | None], Data], is_same: bool, is_lasting: bool, tmp_path: Path
) -> None:
    """It waited for itself, or began the pass again."""
    scratch = tmp_path / "scratch" if is_lasting else None
    data = opens(tmp_path, scratch)
    heard: list[LevelProgress] = []

    def ask(progress: LevelProgress) -> None:
        heard.append(progress)
        if len(heard) > 1:  # all may be there by now
            return
        other = data if is_same else opens(tmp_path, scratch)
        if is_same or is_lasting:
            with pytest.raises(bk.DataError, match="by this very call"):
                assert other.counter().n_records
        else:
            assert other.counter().n_records, "another folder"

    data._on_progress = ask
    n_records = data.counter().n_records
    assert heard
    assert opens(tmp_path, scratch).counter().n_records == n_records


def test_another_thread_is_not_refused(tmp_path: Path) -> None:
    passed = []

    def enter() -> None:
        with once_in_a_thread(tmp_path):
            passed.append(threading.get_ident())

    with once_in_a_thread(tmp_path):
        other = threading.Thread(target=enter)
        other.start()
        other.join(60)
        with pytest.raises(bk.DataError):
            enter()
        with once_in_a_thread(tmp_path.parent):
            pass
    enter()
    assert len(passed) == 2
