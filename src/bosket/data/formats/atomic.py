"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from bosket.errors import DataError


@contextlib.contextmanager
def atomic_path(
    path: str | os.PathLike[str], *, sync: bool = True, private: bool = False, mark: str = ""
) -> Iterator[Path]:
    """Yield a temporary file beside ``path``; when the block succeeds it takes that name, else it disappears.

    Readers see the old file or the new one, never a part.  A symbolic link is followed and kept; an existing file
    keeps its permissions, a new one gets those of the process's umask; a ``private`` one is its owner's alone, whatever
    was there.  Any exception of the block, Ctrl-C included,
    removes the temporary file and leaves the old one as it was.  An ``OSError`` on the way (a full disk, a missing
    directory) becomes a ``DataError`` that names ``path``.  Without ``sync``, for files that nobody needs after the
    process, the disk is not waited for.  The name of the temporary file has the ``mark``, which may say who writes it.
    """
    shown = os.fspath(path)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{mark}{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode(target, shown)
        mode = stat.S_IRUSR | stat.S_IWUSR if private else mode
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode & 0o600))
        if mode is not None:
            temporary.chmod(mode)
        yield temporary
        if sync:
            _sync(temporary)
        temporary.replace(target)
    except OSError as error:
        _discard(temporary)
        raise DataError(
            f"Cannot write {shown}: {error.strerror or 'the operating system refused'}.", path=shown
        ) from None
    except BaseException:
        _discard(temporary)
        raise
    with contextlib.suppress(OSError):  # not every system lets a directory be opened; the file is in place by now
        if sync:
            _sync(target.parent)


def _mode(target: Path, shown: str) -> int | None:
    """The permissions of the file to be replaced; replacing a directory or a device is refused."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"Cannot write {shown}: it exists and is not a regular file.", path=shown)
    return stat.S_IMODE(status.st_mode)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
