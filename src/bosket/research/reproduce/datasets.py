"""Where the public benchmark files are, if they are at all.  bosket ships none of them; docs/data.md says where they
come from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bosket.errors import DataError


def data_folders(given: str | Path | None = None) -> Iterator[Path]:
    """Folders to look in: the one given, $BOSKET_DATA, then ``data`` here or in a folder beside this one."""
    if given is not None:
        yield Path(given)
        return
    if "BOSKET_DATA" in os.environ:
        yield Path(os.environ["BOSKET_DATA"])
    here = Path.cwd()
    yield here / "data"
    yield here.parent / "data"
    yield from sorted(path for path in here.parent.glob("*/data") if path.is_dir())


def find(name: str, given: str | Path | None = None) -> Path:
    """The path of a benchmark file, or an error that says how to provide it."""
    for folder in data_folders(given):
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"The benchmark file {name} was not found.",
        hint="Name the folder that holds it by data=..., or by the environment variable BOSKET_DATA.",
    )
