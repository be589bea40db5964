"""The file of a ledger as the operating system has it: whole, its owner's alone, with nothing strange beside it.

Whoever can write a ledger, or put another file in its place, can give themselves a budget; a file that SQLite finds
beside it (``-journal``, ``-wal``) is read as a part of it.  So before SQLite opens a ledger

    for writing   the file must belong to this user, who alone may write it, and lie in a directory that not everybody
                  can write (or whose sticky bit keeps files from being replaced), and have one name: beside another
                  name, a journal that brings back what was spent would not be found; else it is refused
    for reading   the same gives a warning, but for the owner: anybody may look into a ledger that they can read
    either way    a file of 0 bytes, a write-ahead log beside it, or somebody else's journal is refused

A link is followed, and both directories are looked at.  Directories further up, and the time between this look and
SQLite's, are not guarded.  On systems without POSIX users nothing is known of owners.

The file itself is never opened here once it exists: closing it would drop the locks that SQLite holds in this process.
"""

from __future__ import annotations

import os
import stat
import time
import warnings
from pathlib import Path

from bosket.errors import DataError, ExposedLedgerWarning

BEING_MADE = 5.0
"""Seconds to wait for what somebody else is just making to have a first byte."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def make(path: Path) -> bool:
    """Make an empty file that its owner alone may read and write, from the first moment; False if there is a file."""
    give_up = time.monotonic() + BEING_MADE
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            if path.is_symlink() and not path.exists():
                raise refusal(path, "cannot be made: in its place is a link to nothing") from None
        except FileNotFoundError:
            raise refusal(path, f"cannot be made: there is no directory {path.parent}") from None
        except (OSError, ValueError) as error:
            raise refusal(path, _cannot_open(error)) from None
        else:
            return True
        if _status(path).st_size or time.monotonic() > give_up:
            return False
        time.sleep(0.005)


def unmake(path: Path) -> None:
    """Take away a file that was just made, if nothing was written into it."""
    try:
        if path.stat().st_size == 0:
            path.unlink()
    except OSError:
        pass


def check_file(path: Path, *, is_writing: bool, is_new: bool = False) -> None:
    """Refuse, or warn of, a file that should not be used as a ledger."""
    status = _status(path)
    if not status.st_size and not is_new:
        raise refusal(
            path,
            "has 0 bytes: it may have been truncated, with all that it said was spent",
            "Take up its latest copy, and add what was spent since; only if no ledger was ever here, remove the file.",
        )
    real = path.resolve()
    _check_beside(real, status, path)
    if os.name == "nt":
        return
    fault = _exposure(real, status) or _exposed_directory(path.absolute().parent)
    if is_writing and fault is None and status.st_uid != os.geteuid():
        fault = "belongs to another user, who can change what it says", "Spend as that user."
    if is_writing and fault is None and status.st_nlink > 1:
        fault = (
            f"has {status.st_nlink} names (hard links), and SQLite looks for what it needs beside one of them alone",
            f"Remove the other names; 'find -samefile {real}' lists them.",
        )
    if fault is None:
        return
    if is_writing:
        raise refusal(path, *fault)
    warnings.warn(f"The ledger {path} {fault[0]}; nothing more can be spent from it.", ExposedLedgerWarning, 3)


def refusal(path: Path, fault: str, hint: str | None = None) -> DataError:
    return DataError(f"The ledger {path} {fault}.", path=path, hint=hint)


WRITE_AHEAD = (
    "was switched to a write-ahead log, so that its last entries can be in a second file, which a copy would lack",
    "Close what uses it, and switch it back: sqlite3 FILE 'PRAGMA journal_mode = DELETE'.",
)
"""Fault and hint."""


def _check_beside(real: Path, status: os.stat_result, shown: Path) -> None:
    """Refuse what SQLite would read as a part of the ledger and should not."""
    if os.path.lexists(f"{real}-wal"):
        raise refusal(shown, *WRITE_AHEAD)
    try:
        journal = os.lstat(f"{real}-journal")
    except OSError:  # none, usually
        return
    is_ours = stat.S_ISREG(journal.st_mode) and journal.st_uid == status.st_uid
    if not is_ours or journal.st_mode & ~status.st_mode & _OTHERS_WRITE:
        raise refusal(
            shown,
            "has a journal beside it that somebody else made or can write",
            "Opened with it, the ledger would be changed to what it says; find out whose it is.",
        )


def _exposure(real: Path, status: os.stat_result) -> tuple[str, str] | None:
    """What lets others write the ledger or replace it, and what to do about it."""
    if status.st_mode & _OTHERS_WRITE:
        return (
            f"can be written by others than its owner (its mode is {stat.S_IMODE(status.st_mode):o})",
            f"Anybody may have changed it; if you trust it: chmod 600 {real}",
        )
    return _exposed_directory(real.parent)


def _exposed_directory(directory: Path) -> tuple[str, str] | None:
    mode = directory.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return (
            f"lies in a directory that everybody can write (its mode is {stat.S_IMODE(mode):o})",
            f"Anybody may have put another file in its place; if you trust it: chmod o-w {directory}",
        )
    return None


def _status(path: Path) -> os.stat_result:
    """Of a regular file; what could never be a ledger is refused in words that SQLite does not have."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise refusal(path, "does not exist", "Budget.create makes one.") from None
    except (OSError, ValueError) as error:
        raise refusal(path, _cannot_open(error)) from None
    if not stat.S_ISREG(status.st_mode):
        raise refusal(path, "is a directory" if stat.S_ISDIR(status.st_mode) else "is not a regular file")
    return status


def _cannot_open(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be opened, or made, by this user ({error.strerror or 'the operating system refused'})"
    return "cannot have such a name"  # a NUL character
