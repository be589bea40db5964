"""Runs the browser's module in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import bosket

STATIC = Path(bosket.__file__).parent / "service" / "static"
MODULE = STATIC / "bosket.mjs"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the browser's client is not run")


def run(jobs: list[dict[str, Any]], *, module: Path = MODULE) -> list[Any]:
    """What the module makes of jobs (see driver.mjs)."""
    assert NODE is not None
    command = [NODE, str(Path(__file__).parent / "driver.mjs"), str(module)]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[Any] = json.loads(done.stdout)
    return answers
