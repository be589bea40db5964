"""Which files a user names: by a path, a folder, a pattern, or several of these."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from bosket.checks import shown
from bosket.errors import DataError, ParameterError

_LONGEST = 200  # characters of a name that a message repeats


def named_files(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """All files that are named, each once, in the order of their names."""
    if not isinstance(paths, str | Path | Iterable):
        raise ParameterError(
            f"The 'paths' parameter must name files, got a {type(paths).__name__}.", parameter="paths", value=None
        )
    found: list[Path] = []
    paths = paths if isinstance(paths, str | Path) else list(paths)
    for one in [paths] if isinstance(paths, str | Path) else paths:
        if not isinstance(one, str | Path) or "\0" in str(one):
            raise ParameterError(
                f"The 'paths' parameter must name files, got {shown(one)}.", parameter="paths", value=None
            )
        found += _named(one)
    unique = list(dict.fromkeys(map(_resolved, found)))
    if not unique:
        names = ", ".join([str(paths)] if isinstance(paths, str | Path) else map(str, paths))
        called = names if len(names) <= _LONGEST else f"by names of {len(names)} characters"
        raise DataError(f"There are no files {called}.", hint="A pattern such as reports/*.parquet names many.")
    return unique


def _named(one: str | Path) -> list[Path]:
    path, name = Path(one), str(one)
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.exists() or not glob.has_magic(name):
            return [path]
    except OSError as problem:  # a name that is too long, or a folder that may not be entered
        if not glob.has_magic(name):
            called = name if len(name) <= _LONGEST else f"whose name has {len(name)} characters"
            why = problem.strerror or "the operating system refused"
            raise DataError(f"The file {called} cannot be looked for: {why}.", path=path) from None
    return sorted(map(Path, glob.glob(str(one), recursive=True)))  # noqa: PTH207  # patterns may be absolute


def _in_folder(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise DataError(
            f"The folder {folder} has no Parquet files.", path=folder, hint="Name others by a pattern: folder/*.dat."
        )
    return files


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links that go round
        raise DataError(f"There is no file {path}.", path=path) from None
