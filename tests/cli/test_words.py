"""The library speaks of its arguments, the command line of its options."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bosket as bk
from bosket.cli.views.words import in_options
from tests.cli.conftest import Run, Study

ROOT = Path(bk.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
SPEAK_OF_OPTIONS = ("cli", "research/benchmarks")
"""The command line, and what runs it."""


def texts(path: Path) -> Iterator[str]:
    """Texts of a module, but for docstrings and for what an option that it declares says."""
    tree = ast.parse(path.read_text())
    left_out = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Option")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


@pytest.mark.slow
def test_the_library_names_no_options() -> None:
    looked_at = 0
    for path in sorted(ROOT.rglob("*.py")):
        if not path.relative_to(ROOT).as_posix().startswith(SPEAK_OF_OPTIONS):
            for text in texts(path):
                assert not OPTION.search(text), f"{path}: {text}"
            looked_at += 1
    assert looked_at > 150


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("make the plan with longer='sample'.", "make the plan with --longer sample."),
        ("allow_duplicates=True counts both.", "--allow-duplicates counts both."),
        (
            "Raise it with max_bytes=..., or take it away with max_bytes=None.",
            "Raise it with --max-bytes, or take it away with --max-bytes none.",
        ),
        ("named by item= and longer=.", "named by item= and --longer."),
        ("Write PrivacyUnit(max_size=20).", "Write PrivacyUnit(max_size=20)."),
        ("mine(..., items=...) goes on.", "mine(..., items=...) goes on."),
        ("import its module first.", "name it by --mechanism module:Class, which imports its module."),
        ("bosket.measures.CATALOGUE lists them all.", "bosket.measures.CATALOGUE lists them all."),
        ("", ""),
    ],
)
def test_hints_speak_of_options(hint: str, said: str) -> None:
    """Of those that the command has; the others stay as they are."""
    options = argparse.Namespace(longer=None, allow_duplicates=False, max_bytes=1, max_size=None, mechanism=None)
    assert in_options(hint, options) == said


def test_commands_say_so(run: Run, study: Study, tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    result = run("randomize", study.baskets, "-o", out, "--keep", 0.9, "--max-size", 1)
    assert "hint: Leave such records out, or make the plan with --longer sample." in result.err
    result = run("mine", study.reports, "--min-support", 0.5, "--max-bytes", 10)
    assert "hint: Raise it with --max-bytes, or take it away with --max-bytes none." in result.err
    result = run("mine", study.baskets, "--min-support", 0.5, "--max-bytes", 10)
    assert "raise the cap with --max-bytes; --max-bytes none is no cap." in result.err
    result = run("rules", study.reports, "--min-support", 0.5, "--metric", "liff")
    assert "Did you mean 'lift'? --list-measures lists them all." in result.err
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(study.reports.read_bytes())
    result = run("mine", study.reports, copy, "--min-support", 0.5)
    assert "hint: Leave one of them out; --allow-duplicates counts both." in result.err
