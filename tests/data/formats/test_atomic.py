"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from bosket.data.formats.atomic import atomic_path
from bosket.errors import DataError


def test_success_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o640)
    with atomic_path(target) as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_gets_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    with atomic_path(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, RuntimeError, GeneratorExit])
def test_interruption_leaves_the_old_file(tmp_path: Path, interruption: type[BaseException]) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")

    def write_half() -> None:
        with atomic_path(target) as temporary:
            temporary.write_text("half of the n")
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_a_data_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "out.txt"
    target.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left") as caught, atomic_path(target) as temporary:
        temporary.write_text("new")
    assert caught.value.path == target
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "missing" / "out", tmp_path / "file" / "out", tmp_path, Path(os.devnull)):
        with pytest.raises(DataError) as caught, atomic_path(target):
            pytest.fail("the block must not run")
        assert caught.value.path == target
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_link_is_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    real, link = tmp_path / "kept" / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
