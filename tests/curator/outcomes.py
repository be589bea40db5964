"""What somebody can see of a curator who is at work, apart from the release itself.

An :class:`Outcome` holds what is not covered by noise: whether there is a release, a refusal or an error and of which
kind, what is said and with which exit code, the entries in the ledger and their times, and how much work and memory it
took.  On two data sets that differ in one record all of it must be alike.  Runs are at an epsilon at which no noise is
left, so that what differs is not chance.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

from bosket.budget import accounts
from bosket.budget import budgets as budget_module
from bosket.budget.budgets import Budget
from bosket.cli import main
from bosket.counting.bitmaps import Bitmaps
from bosket.curator import HopelessError, Release, truncation
from bosket.curator.sieve import contributions
from bosket.errors import BosketError
from bosket.mining import exact
from tests.memory import traced

SURE = 1e6
_NUMBER = re.compile(r"\d[\d,.e+-]*")
_MIB = 1 << 20


@dataclass(frozen=True)
class Outcome:
    kind: str
    """``release``, ``refusal``, or the name of an error."""
    said: str
    """The message, or standard error, numbers left out."""
    code: int | None
    """Of the command line."""
    entries: tuple[tuple[str, int | None, str], ...]
    """Purpose, what is returned, and time."""
    found: tuple[str, ...]
    """The itemsets of the release: without noise, and at a limit that one record cannot reach or leave, they differ
    only if one record changed how the others were read."""
    work: int = field(compare=False)
    """Itemsets that were looked up in the data: in all of it, in one record, or in 64 at once; items of records cut."""
    memory: int = field(compare=False)
    """The largest number of bytes in use."""

    def is_like(self, other: Outcome) -> bool:
        """The same to see: work and memory within a half, or too little to matter."""
        return self == other and _near(self.work, other.work, 1000) and _near(self.memory, other.memory, 4 * _MIB)


def _near(one: int, other: int, least: int) -> bool:
    low, high = sorted((max(one, least), max(other, least)))
    return high <= 1.5 * low


class Clock:
    """A clock that goes by the work done: a minute for each thousand itemsets.  So no run hangs on the machine."""

    def __init__(self) -> None:
        self.work = 0
        self._lock = Lock()

    def add(self, steps: int) -> None:
        """From any thread."""
        with self._lock:
            self.work += steps

    def counting(self, patch: pytest.MonkeyPatch, where: Any, name: str, steps: Callable[..., int]) -> None:
        """Let a function add the steps that its arguments tell of."""
        function = getattr(where, name)

        def counted(*arguments: Any) -> Any:
            self.add(steps(*arguments))
            return function(*arguments)

        patch.setattr(where, name, counted)

    def now(self) -> str:
        return f"minute {self.work // 1000}"


@contextmanager
def watched() -> Iterator[Clock]:
    """Counts what the curator looks up, and lets the ledger's clock go by it."""
    clock = Clock()
    supports, listed = Bitmaps.supports, exact.exact_itemsets

    def counting(self: Bitmaps, itemsets: Any, **options: Any) -> Any:
        clock.add(len(itemsets))
        return supports(self, itemsets, **options)

    def listing(*arguments: Any, **options: Any) -> Any:
        levels = listed(*arguments, **options)
        clock.add(sum(len(counts) for _, counts in levels))
        return levels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bitmaps, "supports", counting)
        patch.setattr(exact, "exact_itemsets", listing)
        clock.counting(patch, truncation, "count_truncated", _looks)
        clock.counting(patch, truncation, "keep_some", lambda ends, *_: int(ends[-1] - ends[0]))
        for kernel in ("count_held", "add_units"):
            clock.counting(patch, contributions, kernel, lambda _, rows, start, stop, *__: len(rows) * (stop - start))
        patch.setattr(accounts, "now", clock.now)
        patch.setattr(budget_module, "now", clock.now)
        yield clock


def _looks(ends: Any, indices: Any, rank: Any, candidates: Any, scores: Any, max_size: int, most: int, *_: Any) -> int:
    """Candidates that are looked at in records that smart truncation cuts."""
    n, k = candidates.shape
    by_size = np.array([min(n, comb(size, k)) for size in range(most + 1)])
    return int(by_size[np.minimum(np.diff(ends), most)].sum())


def of_call(call: Callable[[Budget], Release]) -> Outcome:
    """What is seen of a call of the library that pays from a budget."""
    budget = Budget.in_memory(2 * SURE)
    kind, said = "release", ""
    found: tuple[str, ...] = ()
    with watched() as clock, traced() as meter:
        try:
            release = call(budget)
        except HopelessError as refusal:
            kind, said = "refusal", _masked(str(refusal))
        except (BosketError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            kind, told = type(error).__name__, error.__context__
            said = str(error) + ("" if told is None else f" ({told})")  # numbers in it were not paid for
        memory = meter.peak
    if kind == "release":
        found = tuple(sorted(repr(sorted(map(str, itemset))) for itemset, _ in release))
    return Outcome(kind, said, None, _entries(budget), found, clock.work, memory)


def of_file(path: Path, capsys: pytest.CaptureFixture[str], *options: str, items: str) -> Outcome:
    """What is seen of ``bosket curate`` on a file, with a ledger and the items in files of their own."""
    ledger, declared = path.with_suffix(".ledger"), path.with_suffix(".items")
    declared.write_text(items, "utf-8")
    Budget.create(ledger, "all", epsilon=2 * SURE)
    asked = ("--epsilon", str(SURE), "--min-support", "0.4", "--items", str(declared), "--format", "csv")
    capsys.readouterr()
    with watched() as clock:
        code = main(
            [
                "curate",
                str(path),
                "--method",
                "truncation",
                *asked,
                "--ledger",
                str(ledger),
                "--budget",
                "all",
                *options,
            ]
        )
    said = capsys.readouterr()
    kind = "release" if code == 0 else "refusal" if "within the noise" in said.err else "error"
    lines = said.err.replace(str(path), "FILE").replace(path.name, "FILE").splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("note:", "about:")))  # these follow from noise
    rows = csv.DictReader(said.out.splitlines())
    found = tuple(sorted(row["itemsets"] for row in rows)) if kind == "release" else ()
    return Outcome(kind, _masked(text), code, _entries(Budget.open(ledger, "all")), found, clock.work, 0)


def _entries(budget: Budget) -> tuple[tuple[str, int | None, str], ...]:
    return tuple((entry.purpose, entry.returns, entry.time) for entry in budget.entries())


def _masked(text: str) -> str:
    """Without the numbers, which are paid for, and the form of words that goes with them."""
    return _NUMBER.sub("#", text).replace("itemsets", "itemset")
