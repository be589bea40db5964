"""All benchmarks by name, and the one JSON they give."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from bosket._version import __version__
from bosket.errors import DataError
from bosket.research.benchmarks.bars import Bar
from bosket.research.benchmarks.generate import generating
from bosket.research.benchmarks.of_attributes import attributes
from bosket.research.benchmarks.of_curator import curating
from bosket.research.benchmarks.of_disk import on_disk
from bosket.research.benchmarks.of_exact_mining import exact
from bosket.research.benchmarks.of_first_contact import first_contact
from bosket.research.benchmarks.of_questions import questions
from bosket.research.benchmarks.of_reports import counting, cutting, flipping, mining, stratified
from bosket.research.benchmarks.of_rules import rules
from bosket.research.benchmarks.of_service import service
from bosket.research.benchmarks.of_sieve import sieving
from bosket.research.benchmarks.of_spark import on_spark
from bosket.research.benchmarks.of_streams import streams
from bosket.research.benchmarks.of_tables import tables
from bosket.threads import n_threads

BENCHMARKS: dict[str, Callable[[str | Path | None], list[Bar]]] = {
    "contact": lambda data: first_contact(),
    "generate": lambda data: generating(),
    "count": lambda data: counting(),
    "strata": lambda data: stratified(),
    "flip": lambda data: flipping(),
    "cut": lambda data: cutting(),
    "mine": lambda data: mining(),
    "streams": lambda data: streams(),
    "disk": lambda data: on_disk(),
    "spark": on_spark,
    "table": lambda data: tables(),
    "questions": lambda data: questions(),
    "attributes": attributes,
    "rules": lambda data: rules(),
    "curate": curating,
    "sieve": sieving,
    "exact": exact,
    "service": lambda data: service(),
}


def run(
    *,
    only: Iterable[str] = (),
    data: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the benchmarks (or ``only`` some) and return their bars with the machine they ran on.

    Those whose files are not at hand are left out, with a line that says so.
    """
    chosen = list(only) or list(BENCHMARKS)
    bars: list[Bar] = []
    missing: list[str] = []
    for name in chosen:
        tell(name)
        try:
            bars += BENCHMARKS[name](data)
        except DataError as problem:
            missing.append(f"{name} is left out: {problem} {problem.hint}")
            tell(missing[-1])
    return {
        "schema": "bosket.bench/1",
        "version": __version__,
        "machine": {
            "processor": _processor(),
            "cores": n_threads(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
        "missing": missing,
        "bars": [bar.to_json() for bar in bars],
        "all_hold": all(bar.holds for bar in bars),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
