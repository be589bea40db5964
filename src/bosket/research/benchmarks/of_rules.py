"""A million rules with errors: seconds, memory, and mlxtend's time on the same itemsets."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import Any

import pandas as pd

from bosket.data import Baskets, quest
from bosket.errors import BosketError
from bosket.mechanisms import Flip
from bosket.mining import FrequentItemsets, mine
from bosket.randomness import Seeded
from bosket.research.benchmarks.bars import Bar, medians

SECONDS = 5.0
BYTES = 2 << 30
MILLION = 1_000_000
MIN_SUPPORT = 0.097
KEEP = 0.995


def rules() -> list[Bar]:
    """All rules of dense baskets: with the default measures and intervals from reports, and against mlxtend exactly."""
    baskets = _baskets()
    found, exact = _found(baskets), mine(baskets, min_support=MIN_SUPPORT)
    number = len(_all(found))
    if number < MILLION:
        raise BosketError(f"There should be a million rules to time, and there are {number:,}.")
    frame = exact.to_frame()
    took = medians({"reports": lambda: _all(found), "exact": lambda: _all(exact)}, repeats=5)
    theirs = medians({"mlxtend": lambda: _mlxtend(frame)}, repeats=1, warm=False)
    n_exact = len(_all(exact))
    memory = _peak_memory()
    return [
        Bar(
            f"{number:,} rules of reports with ten measures and intervals, a million of 5 s",
            took["reports"] / number * MILLION / SECONDS,
            1.0,
            False,
            {"seconds": took["reports"], "rules": number},
        ),
        Bar(
            "peak memory of these rules, a million of 2 GiB",
            memory["peak"] / number * MILLION / BYTES,
            1.0,
            False,
            memory,
        ),
        Bar(
            f"{n_exact:,} rules of exact itemsets, of mlxtend's time",
            took["exact"] / theirs["mlxtend"],
            0.1,
            False,
            {"seconds": {"bosket": took["exact"], **theirs}},
        ),
    ]


def _baskets() -> Baskets:
    return quest(records=50_000, mean_size=9, mean_pattern=7, items=18, patterns=10, seed=4)


def _found(baskets: Baskets) -> FrequentItemsets:
    return mine(Flip(keep=KEEP).randomize(baskets, rng=Seeded(1)), min_support=MIN_SUPPORT)


def _all(found: FrequentItemsets) -> pd.DataFrame:
    return found.rules(metric="support", min_threshold=0.0)


def _mlxtend(frame: pd.DataFrame) -> pd.DataFrame:
    try:
        from mlxtend.frequent_patterns import association_rules
    except ImportError:
        raise BosketError("mlxtend is not installed.", hint="pip install 'bosket[bench]'") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its certainty divides 0 by 0
        result: pd.DataFrame = association_rules(frame, metric="support", min_threshold=0.0)
    return result


def _peak_memory() -> dict[str, Any]:
    """Peak resident memory of a fresh process that makes the rules; all of it, interpreter and libraries too."""
    program = """
import json, re
from bosket.research.benchmarks.of_rules import _all, _baskets, _found
found = _found(_baskets())
frame = _all(found)
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps({"peak": peak, "rules": len(frame)}))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result
