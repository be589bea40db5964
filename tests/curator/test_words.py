"""The library speaks of arguments; options are the command line's words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import bosket

ROOT = Path(bosket.__file__).parent


def texts(path: Path) -> list[str]:
    """All strings of a module but its docstrings, those of f-strings included."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.value) for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }  # fmt: skip
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("room", ["curator", "privacy", "budget"])
def test_no_message_names_an_option_or_a_command(room: str) -> None:
    found = [
        (path.name, text)
        for path in sorted((ROOT / room).rglob("*.py"))
        for text in texts(path)
        if re.search(r"(?<![-\w])--[a-z]|\bbosket (budget|curate|mine|rules)\b", text)
    ]
    assert not found
