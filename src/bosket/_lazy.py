"""Names of a package that are imported on first use.

A package lists its public names once, as imports under ``if TYPE_CHECKING``: type checkers and readers see them there,
and :func:`attach` reads the same lines to know which module has which name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str, names: Iterable[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose ``__init__`` is this file; ``names`` are its public ones."""
    public = sorted(names)

    @cache
    def homes() -> dict[str, str]:
        return _homes(Path(file).read_text("utf-8"))

    def getattribute(name: str) -> Any:
        home = None if name.startswith("__") else homes().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return getattribute, lambda: public


def _homes(text: str) -> dict[str, str]:
    """The module of each name that is imported under ``if TYPE_CHECKING``."""
    return {
        alias.name: node.module
        for block in ast.parse(text).body
        if isinstance(block, ast.If) and getattr(block.test, "id", None) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
