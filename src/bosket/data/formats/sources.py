"""Where records come from: the name for messages, and the bytes of a file, block by block and up to a cap.

A small compressed file may unpack to a very large one.  So contents are decompressed as they are read, and counted:
beyond ``max_bytes`` of them a file is refused.

Readers never let a foreign exception through, since those of CSV, Parquet and text decoding quote the input.  The
``DataError`` is raised outside the handler, so that nothing of the kind hangs on it as its context either.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import pyarrow as pa

from bosket.checks import check_integer
from bosket.errors import DataError

Result = TypeVar("Result")

MAX_BYTES = 8 << 30
"""Most bytes of contents, decompressed, that a reader takes unless it is told otherwise."""

BLOCK = 1 << 20
"""Bytes that are read at a time."""

MOST_COLUMNS = 1 << 17
"""Most columns of a file."""

MORE_MEMORY = "State more memory: Baskets.open(..., memory='8GiB')."
"""What helps where files are opened in a memory that is stated."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """A frame or a file, as messages call it; ``line_of`` turns a row number (from 0) into a line of the file.

    ``first_row`` is the number of the first row, where some of the rows are looked at by themselves.
    """

    name: str
    path: Path | None = None
    line_of: Callable[[int], int | None] | None = None
    first_row: int = 0

    def error(self, fault: str, *, line: int | None = None, hint: str | None = None) -> DataError:
        """``<name> <fault>.``, with the line where one is given."""
        where = self.name if line is None else f"line {line} of {self.name}"
        return DataError(f"{where[0].upper()}{where[1:]} {fault}.", path=self.path, line=line, hint=hint)

    def row_error(self, must: str, row: int, *, hint: str | None = None) -> DataError:
        """``<must>; row n of <name> does not.``, with rows from 1, or the line where lines are known."""
        line = None if self.line_of is None else self.line_of(row)
        where = f"row {self.first_row + row + 1}" if line is None else f"line {line}"
        return DataError(f"{must}; {where} of {self.name} does not.", path=self.path, line=line, hint=hint)


def file_source(path: Path, line_of: Callable[[int], int | None] | None = None) -> Source:
    # The name never starts a sentence as it is: a path must not change its first letter.
    return Source(f"the file {path}", path, line_of)


@dataclass(frozen=True)
class Content:
    """The contents of a file, decompressed if its name ends in ``.gz``; they can be read once.

    ``handle`` is an open file to read in place of the one at ``path``, such as standard input.  ``start`` is where to
    begin in the contents; ``on_read`` hears how many bytes of the file itself are read.
    """

    path: Path
    max_bytes: int | None = MAX_BYTES
    handle: IO[bytes] | None = None
    start: int = 0
    on_read: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        if self.max_bytes is not None:
            check_integer("max_bytes", self.max_bytes, least=1)

    @property
    def source(self) -> Source:
        return file_source(self.path)

    @property
    def is_packed(self) -> bool:
        return self.handle is None and self.path.suffix.lower() == ".gz"

    def blocks(self, *, is_strict: bool = True) -> Iterator[bytes]:
        """The contents, some bytes at a time.

        Unless ``is_strict``, nothing in them is refused: not that there are none, nor that they are gzip once more,
        nor how many they are; the caller counts.
        """
        total = 0
        file = self._guarded(self._open)
        try:
            if self.start:
                self._guarded(lambda: file.seek(self.start))
            while block := self._guarded(lambda: file.read(BLOCK)):
                if is_strict and total == self.start == 0 and self.is_packed and block.startswith(_GZIP):
                    raise self.source.error("is a gzip file within a gzip file")
                total += len(block)
                if is_strict:
                    self.check_size(total)
                if self.on_read is not None:
                    self.on_read(getattr(file, "myfileobj", None).tell() if self.is_packed else self.start + total)  # type: ignore[union-attr]  # of a GzipFile that opened its file
                yield block
        finally:
            if self.handle is None:
                with contextlib.suppress(OSError):
                    file.close()
        if is_strict and not total and not self.start:
            raise self.source.error("is empty")

    def load(self) -> bytes:
        """All of the contents."""
        return b"".join(self.blocks())

    def random_access(self, *, is_strict: bool = True) -> Any:
        """The contents as an Arrow file in which one can jump about.

        Where the file itself cannot be, they are held in memory, and counted.  Unless ``is_strict``, they are kept in
        a temporary file without a name instead, and not counted: a long word of one record would count for all its
        bytes.  Packed contents are refused then, by the name of the file: nothing else bounds what they unpack to.
        """
        if self.handle is None and not self.is_packed:
            status = self._guarded(self.path.stat)
            if stat.S_ISREG(status.st_mode):
                if not status.st_size:
                    raise self.source.error("is empty")
                return self._guarded(lambda: pa.OSFile(str(self.path)))
        if is_strict:
            return pa.BufferReader(self.load())
        if self.is_packed:
            raise self.source.error(
                "must be a Parquet file that is not packed once more, where no record may be refused",
                hint="Unpack it with gunzip. Parquet files are compressed within.",
            )
        return pa.PythonFile(self._guarded(self._copied), "r")

    def _copied(self) -> IO[bytes]:
        """A temporary file of the contents, which is gone once it is closed."""
        file = tempfile.TemporaryFile()  # noqa: SIM115  # whoever reads it closes it
        try:
            for block in self.blocks(is_strict=False):
                file.write(block)
            is_empty = not file.tell()
            file.seek(0)
        except BaseException:
            file.close()
            raise
        if is_empty:
            file.close()
            raise self.source.error("is empty")
        return file

    def check_size(self, n_bytes: int) -> None:
        """Refuse contents beyond the cap."""
        if self.max_bytes is not None and n_bytes > self.max_bytes:
            raise self.source.error(
                f"must hold at most {self.max_bytes:,} bytes, counted once they are decompressed, and holds more",
                hint="If it is what you expect, raise the cap with max_bytes=...; max_bytes=None is no cap.",
            )

    def _open(self) -> IO[bytes]:
        if self.handle is not None:
            return self.handle
        return gzip.open(self.path, "rb") if self.is_packed else self.path.open("rb")  # type: ignore[return-value]  # GzipFile is a binary file in all but its declared type

    def _guarded(self, step: Callable[[], Result]) -> Result:
        """Do a step with a file; what goes wrong is told in our words."""
        try:
            return step()
        except FileNotFoundError:
            fault = "does not exist"
        except IsADirectoryError:
            fault = "is a directory"
        except PermissionError:
            fault = "may not be read by this user"
        except gzip.BadGzipFile:
            fault = "is not a sound gzip file"
        except (EOFError, zlib.error):
            fault = "is a gzip file that was cut short or damaged"
        except OSError as error:
            fault = f"cannot be read ({error.strerror or 'the operating system refused'})"
        except ValueError:
            fault = "cannot have such a name"  # a NUL character
        raise self.source.error(fault)


def load(path: str | os.PathLike[str], *, max_bytes: int | None = MAX_BYTES) -> bytes:
    """The contents of a file, decompressed if its name ends in ``.gz``."""
    return Content(Path(path), max_bytes).load()
