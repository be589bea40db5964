"""The scratch folder as the operating system has it: its owner's alone.

Who can write there could put bitmaps in place of those that were counted, or a link in the place of a file that is to
be written, so the folder must belong to this user, who alone may write it.  A folder that is made here nobody else can
read either.  On systems without POSIX users nothing is known of owners.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from bosket.errors import DataError

try:
    import fcntl
except ImportError:  # not a POSIX system
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

T = TypeVar("T")

_writers: set[tuple[int, int, int, int]] = set()
"""Who writes in which folder, or waits to: the folder's device and inode, the process and the thread."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def own_folder(folder: Path) -> None:
    """Make the folder if there is none; refuse one that others can write, or that belongs to somebody else."""
    if not asked(folder, "make", folder.is_dir):
        asked(folder, "make", lambda: folder.mkdir(mode=0o700, parents=True, exist_ok=True))  # by another program too
    status = asked(folder, "look at", folder.stat)
    if os.name == "nt":
        return
    if status.st_uid != os.geteuid():
        raise DataError(
            f"The scratch folder {folder} belongs to another user, who can change what was counted.",
            path=folder,
            hint="Give a folder of your own: open(..., scratch=...).",
        )
    if status.st_mode & _OTHERS_WRITE:
        raise DataError(
            f"The scratch folder {folder} can be written by others than its owner (its mode is "
            f"{stat.S_IMODE(status.st_mode):o}), who can change what was counted.",
            path=folder,
            hint=f"Remove it, or if you trust what it holds: chmod go-w {folder}",
        )


@contextmanager
def once_in_a_thread(folder: Path) -> Iterator[None]:
    """Refuse a call that comes from within the block, such as one by a listener: it would wait for itself.

    Other threads and processes are not refused.
    """
    status = asked(folder, "look at", folder.stat)
    writer = status.st_dev, status.st_ino, os.getpid(), threading.get_ident()
    if writer in _writers:
        raise DataError(
            f"The scratch folder {folder} is being written by this very call; ask again once it is done.", path=folder
        )
    _writers.add(writer)
    try:
        yield
    finally:
        _writers.remove(writer)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file, which is made, until the block ends or the process does; who comes meanwhile waits.

    Gives whether it is held: not every system and disk has locks.  A lock belongs to the open file, which programs
    forked meanwhile share, so it is given back here, by the program that took it, rather than by closing the file.
    """
    if not _HAS_LOCKS:
        yield False
        return
    handle = asked(path, "open", lambda: os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    owner, is_held = os.getpid(), False
    try:
        with suppress(OSError):  # a disk without locks: then sizes tell
            fcntl.flock(handle, fcntl.LOCK_EX)
            is_held = True
        yield is_held
    finally:
        if is_held and os.getpid() == owner:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


@cache
def system_mark() -> str:
    """Sixteen digits for the running system, others after it starts anew; nothing where it does not say.

    A lock is sure among the programs of one system alone: on some network disks others do not see it.
    """
    try:
        return hashlib.sha256(_BOOT.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def small_file(path: Path, most: int) -> bytes | None:
    """The bytes of a file; None where there is none.  What is no plain file, or larger, is refused."""
    return asked(path, "read", path.read_bytes) if is_file(path, most) else None


def is_file(path: Path, most: int | None = None) -> bool:
    """Whether there is a file; what is no plain one, such as a link or a pipe, or a larger one, is refused."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise refused(path, "read", problem) from None
    if not stat.S_ISREG(status.st_mode) or (most is not None and status.st_size > most):
        size = "" if most is None else f" of at most {most} bytes"
        raise DataError(f"{path} must be a plain file{size}.", path=path)
    return True


def asked(path: Path, what: str, call: Callable[[], T]) -> T:
    """What a call to the operating system gives; a ``DataError`` where it refuses."""
    try:
        return call()
    except OSError as problem:
        raise refused(path, what, problem) from None


def refused(path: Path, what: str, problem: OSError) -> DataError:
    return DataError(f"Cannot {what} {path}: {problem.strerror or 'the operating system refused'}.", path=path)
