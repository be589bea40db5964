"""Paid: all of a release is paid for before its first look, at one time, and what is not used is handed back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from bosket.budget.accounts import Entry
from bosket.budget.budgets import Budget
from bosket.curator.declared import Declared
from bosket.curator.noise import Composition
from bosket.errors import HopelessError


@dataclass(frozen=True)
class EpsilonParts:
    """How an epsilon is divided.  The first entry pays for lengths, limit and cardinality, the second for counts."""

    first: float
    lengths: float
    """For the lengths of records and their number."""
    cardinality: float
    """For the ranking of items, and how large frequent itemsets get."""
    limit: float
    counts: float

    @classmethod
    def of(cls, declared: Declared) -> EpsilonParts:
        settings, of_limit = declared.settings, declared.limit.share
        share = _written(settings.share_of_lengths + settings.share_of_cardinality + of_limit)
        first, rest = _split(declared.epsilon, share)
        lengths, cardinality = (
            first * part / share for part in (settings.share_of_lengths, settings.share_of_cardinality)
        )
        return cls(first, lengths, cardinality, declared.epsilon * of_limit, rest)


@dataclass(frozen=True, eq=False)
class Paid:
    """The entries in the ledger, and a composition for each: nothing is measured but through these."""

    budget: Budget
    entries: tuple[Entry, ...]
    parts: EpsilonParts
    first: Composition
    counts: Composition
    is_kept: bool
    """Whether the entries can be looked up afterwards."""

    @contextmanager
    def handing_back_counts(self) -> Iterator[None]:
        """Where a request turns out hopeless, which released numbers decide, the counts are not paid for."""
        try:
            yield
        except HopelessError:
            self.budget.give_back(self.entries[1])  # nothing was looked at for it
            raise


def pay(declared: Declared, budget: Budget | None) -> Paid:
    """Write the entries, all of them or none, with one time: digests are published, and must not tell how long a look
    took.  Without a budget they are kept in memory, and forgotten, and so are their digests: the time of such a payment
    is that at which the data had been read.
    """
    parts = EpsilonParts.of(declared)
    first, counts = Composition(parts.first), Composition(parts.counts)  # whatever fails fails before it is paid
    is_kept = budget is not None
    budget = Budget.in_memory(declared.epsilon, neighbours=declared.neighbours) if budget is None else budget
    what = ", ".join(f"{name} {value:g}" for name, value in declared.limit.asked.items())
    entries = budget.spend_together(
        [
            (parts.first, f"curate ({what}): lengths, limit and largest itemsets"),
            (parts.counts, f"curate ({what}): counts"),
        ]
    )
    return Paid(budget, entries, parts, first, counts, is_kept)


def _written(share: float) -> float:
    """A sum of shares as one would write it, 0.15 and not 0.15000000000000002, where rounding is all that differs."""
    short = round(share, 12)
    return short if abs(short - share) <= 4 * math.ulp(share) else share


def _split(epsilon: float, share: float) -> tuple[float, float]:
    """Epsilon in two parts, as decimals that add up to no more than the decimal of the whole."""
    whole = Decimal(repr(epsilon))
    first = float(whole * Decimal(repr(share)))
    rest = float(whole - Decimal(repr(first)))
    while Decimal(repr(rest)) > whole - Decimal(repr(first)):
        rest = math.nextafter(rest, 0.0)
    return first, rest
