"""Which files a user names: by a path, a folder, a pattern, or several of these."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from bosket.errors import DataError, ParameterError


def named_files(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """All files that are named, each once, in the order of their names."""
    if not isinstance(paths, str | Path | Iterable):
        raise ParameterError(
            f"The 'paths' parameter must name files, got a {type(paths).__name__}.", parameter="paths", value=None
        )
    found: list[Path] = []
    for one in [paths] if isinstance(paths, str | Path) else paths:
        path = Path(one)
        if path.is_dir():
            found += sorted(path.glob("*.parquet"))
        elif path.exists() or not glob.has_magic(str(one)):
            found.append(path)
        else:
            found += sorted(map(Path, glob.glob(str(one), recursive=True)))  # noqa: PTH207  # patterns may be absolute
    unique = list(dict.fromkeys(path.resolve() for path in found))
    if not unique:
        raise DataError(f"There are no files {paths}.", hint="A pattern such as reports/*.parquet names many.")
    return unique
