"""The exception tree.

::

    BosketError
    ├── ParameterError (also a ValueError)      an argument outside its range
    ├── DataError                               a file, frame or record that cannot be what it should be
    ├── PlanMismatchError (a DataError)         reports that belong to another plan
    ├── DuplicateReportsError (a DataError)     a batch of reports that was given twice
    ├── RepeatedRespondentError (a DataError)   people who answered more often than their plan allows
    ├── HopelessError                           a request that noise alone would answer
    ├── SingularChannelError                    a channel that randomizes but cannot be inverted
    ├── TooManyCandidatesError                  the search would outgrow its limit; nothing partial is returned
    ├── TooManyRulesError                       likewise of rules
    └── BudgetExceeded                          a release that costs more than is left; nothing was spent

    BosketWarning (a UserWarning)
    ├── ExposedLedgerWarning                    a ledger that others can write was read; spending from it is refused
    ├── HopelessPlanWarning                     reports in which nothing will be seen
    ├── InfluenceWarning                        an estimate that a few reports carry
    ├── LargeDeltaWarning                       a delta that would let one of the records be published
    ├── NoiseWarning                            a limit within the noise: many itemsets that pass it are chance
    └── UnsureReleaseWarning                    a release that expects little of itself

One sentence each: what, of what, must be, got.  The offending value is an attribute, so that callers and tests
need not read prose.  A message about input names the file and the line, never the contents of a record.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any


class BosketError(Exception):
    """Root of every error that bosket raises on purpose.

    ``hint`` says, where we know, what to do about it; the command line prints it under the sentence, and so do
    tracebacks, as a note.
    """

    hint: str | None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint is not None:
            self.add_note(f"hint: {hint}")


class ParameterError(BosketError, ValueError):
    """An argument that is not what it must be."""

    def __init__(self, message: str, *, parameter: str, value: Any, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.parameter = parameter
        self.value = value


class DataError(BosketError):
    """Input that cannot be read as what it was said to be."""

    def __init__(
        self, message: str, *, path: Path | str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = None if path is None else Path(path)
        self.line = line


class PlanMismatchError(DataError):
    """Reports that were made under another plan than the one given."""


class DuplicateReportsError(DataError):
    """A batch of reports that was given twice; ``parts`` are the numbers of the two, from 1."""

    def __init__(
        self, message: str, *, parts: tuple[int, int], path: Path | str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, path=path, hint=hint)
        self.parts = parts


class RepeatedRespondentError(DataError):
    """People who answered more often than their plan allows.

    ``people`` is how many did, ``allowed`` the most reports that one of them may send.
    """

    def __init__(
        self, message: str, *, people: int, allowed: int, path: Path | str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, path=path, hint=hint)
        self.people = people
        self.allowed = allowed


class SingularChannelError(BosketError):
    """The report does not depend on the truth, so nothing can be estimated from it.

    ``items`` are the ones that are erased, ``record_size`` the size of records in which it happens, where these matter.
    """

    def __init__(
        self, message: str, *, items: tuple[Any, ...] = (), record_size: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.items = items
        self.record_size = record_size


class HopelessError(BosketError):
    """What was asked for would be answered by noise alone.

    Of reports, no support of a single item can be as large as its standard error: ``stderr`` is that of an item which
    everybody has, a fraction, the item that is seen best, and ``people`` the number of reports.

    Of a curator's request, the limit lies within the noise at its epsilon: ``discoverable`` is the smallest support of
    single items that noise alone hardly reaches, as in the ``about`` of a release, infinite where the number of records
    is lost in the noise too; ``spent`` is what was spent to find out.
    """

    def __init__(
        self,
        message: str,
        *,
        stderr: float = float("nan"),
        people: int = 0,
        discoverable: float = float("nan"),
        spent: float = 0.0,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.stderr = stderr
        self.people = people
        self.discoverable = discoverable
        self.spent = spent


class TooManyCandidatesError(BosketError):
    """A level of the search holds more itemsets than ``max_candidates``, or more counts of them than are allowed."""

    def __init__(self, message: str, *, level: int, number: int, limit: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.level = level
        self.number = number
        self.limit = limit


class TooManyRulesError(BosketError):
    """More rules pass than ``max_rules``."""

    def __init__(self, message: str, *, number: int, limit: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.number = number
        self.limit = limit


class BudgetExceeded(BosketError):  # noqa: N818 - the name is the design's; it is a refusal rather than a fault
    """A release that costs more than a budget has left.  Nothing was spent, and nothing may be looked at.

    ``name`` is the budget's; ``asked`` and ``remaining`` are pairs of epsilon and delta.
    """

    def __init__(
        self,
        message: str,
        *,
        name: str,
        asked: tuple[float, float],
        remaining: tuple[float, float],
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.name = name
        self.asked = asked
        self.remaining = remaining


class BosketWarning(UserWarning):
    """Root of every warning that bosket gives on purpose; the command line prints each as one line."""


class ExposedLedgerWarning(BosketWarning):
    """A ledger that others than its owner can write, or replace, was read: what it says may be theirs."""


class HopelessPlanWarning(BosketWarning):
    """Reports of which ``mine`` will refuse to say anything: no support of a single item can be as large as its error.

    ``stderr`` and ``people`` are those of :class:`HopelessError`.
    """

    def __init__(self, message: str, *, stderr: float = float("nan"), people: int = 0) -> None:
        super().__init__(message)
        self.stderr = stderr
        self.people = people


class NoiseWarning(BosketWarning):
    """The standard error of itemsets of ``size`` items is more than a third of the minimum support.

    Then itemsets that nobody has pass by chance, and there are many of them.  ``stderr`` is the typical one of those
    that were found, a fraction.
    """

    def __init__(self, message: str, *, size: int = 0, stderr: float = float("nan")) -> None:
        super().__init__(message)
        self.size = size
        self.stderr = stderr


class LargeDeltaWarning(BosketWarning):
    """A delta above one in the number of records: to publish one of them, drawn at random, would be as private.

    How many records there are is not known before it is paid for, so the warning comes with the ``release``: where it
    is turned into an error, what was paid is not lost.
    """

    def __init__(self, message: str, *, release: Any = None) -> None:
        super().__init__(message)
        self.release = release


class UnsureReleaseWarning(BosketWarning):
    """A release that expects an F below 0.3 of itself: most of it is chance, or most of what is frequent is not in it.

    That is known once it was paid for, so the warning comes with the ``release``.
    """

    def __init__(self, message: str, *, release: Any = None) -> None:
        super().__init__(message)
        self.release = release


class InfluenceWarning(BosketWarning):
    """More than half of an estimate's variance comes from a few reports, which a few dishonest people could have sent.

    ``itemset`` is the worst case by labels, ``reports`` how many reports carry it, and ``record_size`` the size that
    they state, where sizes are sent.
    """

    def __init__(
        self, message: str, *, itemset: tuple[Any, ...] = (), reports: int = 0, record_size: int | None = None
    ) -> None:
        super().__init__(message)
        self.itemset = itemset
        self.reports = reports
        self.record_size = record_size


@contextmanager
def telling_no_sizes(doing: str) -> Iterator[None]:
    """Let no error for want of memory say how much was asked for: that tells how large records are, or how many."""
    try:
        yield
    except MemoryError:
        error = MemoryError(f"There is not enough memory to {doing}.")
        try:
            raise error
        finally:
            error.__context__ = None  # the other error, which names shapes, must not hang on it


_HUSHED: ContextVar[bool] = ContextVar("hushed", default=False)


@contextmanager
def hushed() -> Iterator[None]:
    """Let no warning of ours be given in this thread while the block runs.

    ``warnings.catch_warnings`` changes the filters of all threads, and puts back what another one may have changed.
    """
    before = _HUSHED.set(True)
    try:
        yield
    finally:
        _HUSHED.reset(before)


def warn(warning: BosketWarning) -> None:
    """Warn whoever called the library: the warning points at the first caller outside of it."""
    if _HUSHED.get():
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "bosket":
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
