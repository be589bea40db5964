"""Benchmark files, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bosket.errors import DataError
from bosket.research.reproduce.datasets import find


def benchmark_file(name: str) -> Path:
    """The path of a file of docs/data.md; the test is skipped, and says why, when it is not here."""
    try:
        return find(name)
    except DataError:
        pytest.skip(f"{name} is not here; set BOSKET_DATA to the folder that holds it")
