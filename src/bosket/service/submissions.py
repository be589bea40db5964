"""What goes into the store of a collector and comes out of it: submissions, tokens, phases, batches."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from bosket.counting.distinct_rows import ByteRows
from bosket.service.periods import TokenBudget

SECURE = "secure"


class SubmissionVerdict(Enum):
    """What became of a submission."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # it was accepted before, under this id
    CONFLICT = "conflict"  # another body was accepted under this id
    SPENT = "spent"  # its one-time token
    UNKNOWN_TOKEN = "unknown token"
    OTHER_PERIOD = "other period"  # its token is for another one
    CLOSED = "closed"
    REFUSED = "refused"  # it came with no reports that could be taken, and was not accepted before


class SubmissionOutcome(NamedTuple):
    verdict: SubmissionVerdict
    n_reports: int = 0


@dataclass(frozen=True)
class Submission:
    """What one request brings.  Without ``rows`` it is only asked whether it was accepted before."""

    task: str
    phase: int
    key: bytes
    body: bytes
    rows: ByteRows | None = None
    chance: str = SECURE
    token: bytes | None = None
    """The digest of its one-time token."""
    budget: TokenBudget | None = None
    """What a token may bring, where the study has periods; else it is spent at once."""

    @cached_property
    def receipt(self) -> bytes:
        return hashlib.sha256(b"bosket-receipt\n" + self.task.encode() + b"\n" + self.key).digest()

    @cached_property
    def code(self) -> bytes:
        return hmac.digest(self.key, self.body, "sha256")


class TokenState(NamedTuple):
    """What is known of a one-time token."""

    task: str
    is_spent: bool
    period: str | None
    used_in: str | None
    n_used: int
    n_total: int

    def after(self, n_reports: int, budget: TokenBudget | None) -> TokenState | None:
        """The token once it has brought so many reports; None where it may not."""
        if budget is None:  # what it brought while the study had periods is not given anew
            return None if self.is_spent or self.n_total else self._replace(is_spent=True)
        if self.used_in is not None and budget.period < self.used_in:  # names are days as ISO writes them: they sort
            return None
        used = n_reports + (self.n_used if self.used_in == budget.period else 0)
        total = n_reports + self.n_total
        if self.is_spent or used > budget.most or total > budget.total:
            return None
        return self._replace(used_in=budget.period, n_used=used, n_total=total)


@dataclass(frozen=True)
class PhaseState:
    """The plan of a phase, as JSON, and whether it takes reports no longer."""

    phase: int
    plan: str
    is_closed: bool
    calendar: str | None = None
    """The periods of a task, as JSON, in its first phase; None where they are not known."""


@dataclass(frozen=True)
class SealedBatch:
    """A sealed batch, or with no day an open one."""

    id: str
    phase: int
    day: str | None
    n_reports: int


@dataclass(frozen=True)
class StoredRows:
    """Reports as they are kept: bytes of each, and how their chance came about."""

    rows: ByteRows
    chance: str
