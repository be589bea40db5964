"""The lock of a scratch folder: held by one call at a time, and given back when it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bosket.disk.folders import locked


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
