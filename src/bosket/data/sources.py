"""Where records come from: the name for messages, and the bytes of a file.

Readers never let a foreign exception through, since those of CSV, Parquet and text decoding quote the input.  The
``DataError`` is raised outside the handler, so that nothing of the kind hangs on it as its context either.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bosket.errors import DataError


@dataclass(frozen=True)
class Source:
    """A frame or a file, as messages call it; ``line_of`` turns a row number (from 0) into a line of the file."""

    name: str
    path: Path | None = None
    line_of: Callable[[int], int | None] | None = None

    def error(self, fault: str, *, line: int | None = None, hint: str | None = None) -> DataError:
        """``<name> <fault>.``, with the line where one is given."""
        where = self.name if line is None else f"line {line} of {self.name}"
        return DataError(f"{where[0].upper()}{where[1:]} {fault}.", path=self.path, line=line, hint=hint)

    def row_error(self, must: str, row: int, *, hint: str | None = None) -> DataError:
        """``<must>; row n of <name> does not.``, with rows from 1, or the line where lines are known."""
        line = None if self.line_of is None else self.line_of(row)
        where = f"row {row + 1}" if line is None else f"line {line}"
        return DataError(f"{must}; {where} of {self.name} does not.", path=self.path, line=line, hint=hint)


def file_source(path: Path, line_of: Callable[[int], int | None] | None = None) -> Source:
    # The name never starts a sentence as it is: a path must not change its first letter.
    return Source(f"the file {path}", path, line_of)


def load(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file, decompressed if its name ends in ``.gz``."""
    file = Path(path)
    fault = None
    content = b""
    try:
        content = file.read_bytes()
        if file.suffix.lower() == ".gz" and content:
            content = gzip.decompress(content)
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
    if fault is None and not content:
        fault = "is empty"
    if fault is not None:
        raise file_source(file).error(fault)
    return content
