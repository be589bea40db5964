"""Files as they were when a data set was opened: what is read later must be the same files.

A file is known by its name, its size and the time it was last written, before anything of it is read.  Whatever reads
it looks again before and after: another file in its place, or one that grew, is refused, and what was read of it is
neither counted nor noted in a scratch folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bosket.disk.folders import asked, refused
from bosket.errors import DataError

_AGAIN = "Open the data set again."


@dataclass(frozen=True)
class SeenFile:
    """A file, its size, and when it was last written, in nanoseconds."""

    path: Path
    n_bytes: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> SeenFile:
        if not asked(path, "look at", path.exists):
            raise DataError(f"There is no file {path}.", path=path)
        status = asked(path, "look at", path.stat)
        return cls(path, status.st_size, status.st_mtime_ns)

    def refuse_changed(self) -> None:
        """Refuse a file that is another by now, is gone, or cannot be looked at."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise DataError(f"{self.path} has been removed since it was opened.", path=self.path, hint=_AGAIN) from None
        except OSError as problem:
            raise refused(self.path, "look at", problem) from None
        if (status.st_size, status.st_mtime_ns) != (self.n_bytes, self.mtime_ns):
            raise changed(self.path)


def changed(path: Path) -> DataError:
    """The error that says so."""
    return DataError(f"{path} has changed since it was opened.", path=path, hint=_AGAIN)


def refuse_changed(files: Sequence[SeenFile]) -> None:
    """Refuse files one of which is another by now, is gone, or cannot be looked at."""
    for file in files:
        file.refuse_changed()


@contextmanager
def unchanged(files: Sequence[SeenFile]) -> Iterator[None]:
    """Refuse files that have changed before the block or at its end.

    What is wrong with the data is then not said, since it may be wrong with the file that came later.
    """
    refuse_changed(files)
    problem = None
    try:
        yield
    except DataError as caught:
        problem = caught
    refuse_changed(files)
    if problem is not None:
        raise problem


def identity_of(files: Sequence[SeenFile], plan: str) -> dict[str, Any]:
    """What a data set is known by: the plan, and the names, sizes and times of its files."""
    return {"plan": plan, "files": [[str(file.path.resolve()), file.n_bytes, file.mtime_ns] for file in files]}
