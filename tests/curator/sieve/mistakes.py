"""Mistakes that a sieve could make, each in the shape of what it takes the place of.

They are kept so that the audits can show that they would notice.  Nothing here is private; nothing here is to be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bosket.counting.base import Counts
from bosket.curator.noise import LAPLACE, Composition, NoisyCounts
from bosket.curator.sieve import curate, rounds, selection
from bosket.curator.sieve.bounds import Bound
from bosket.curator.sieve.contributions import (
    ActiveItems,
    GaussianBounding,
    PureBounding,
    Units,
)
from bosket.curator.sieve.histograms import Histogram, noisy_histogram
from bosket.curator.sieve.records import HeldByRecord
from bosket.curator.sieve.rounds import Sieve
from bosket.curator.sieve.search import SievedCandidates, SieveSearch
from bosket.curator.sieve.selection import Announced
from bosket.curator.sieve.settings import SieveSettings
from tests.curator.sieve.audits import Noting

Mistake = Callable[[pytest.MonkeyPatch], None]


class CoarsePure(PureBounding):
    """No mistake: a lattice of whole records, on which rounding is seen in few runs."""

    def budget(self, bound: float) -> int:
        return math.floor(bound)

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, np.minimum(1, budget // np.maximum(held, 1)), 0)


class CoarsePureUp(CoarsePure):
    """Contributions are rounded up."""

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, np.minimum(1, -(-budget // np.maximum(held, 1))), 0)


class CoarseGaussian(GaussianBounding):
    """No mistake, for L2 norms."""

    def budget(self, bound: float) -> int:
        return math.floor(bound)

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, np.minimum(1, budget // np.maximum(held, 1)), 0)


class CoarseGaussianUp(CoarseGaussian):
    """Roots are rounded up."""

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, np.minimum(1, -(-budget // np.maximum(held, 1))), 0)


class TooQuiet(Noting):
    """Noise a tenth too small."""

    def drawn(self, exact: Counts, amount: float, sensitivity: float) -> NoisyCounts:
        smaller = 0.9 if self.law is LAPLACE else 0.81
        return super().drawn(exact, amount / smaller, sensitivity)


class Averaging(Noting):
    """Everything is measured 25 times, and paid for once: the average has a fifth of the noise."""

    def drawn(self, exact: Counts, amount: float, sensitivity: float) -> NoisyCounts:
        every = super().drawn(np.tile(exact, (25, *[1] * exact.ndim)), amount, sensitivity)
        return np.asarray(np.rint(every.mean(axis=0)), np.int64)


def floating(counts: npt.ArrayLike, scale: float, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Noise in doubles: its law is right, its last bits are not (Mironov, CCS 2012)."""
    exact = np.asarray(counts, float)
    return np.asarray(exact + rng.laplace(scale=scale, size=exact.shape))


class _Seen(Composition):
    """Counts as they are, for whoever looks without paying."""

    def __init__(self, granted: Composition) -> None:
        self.law, self.epsilon, self.left = granted.law, granted.epsilon, granted.left

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> Counts:
        return np.array(counts, np.int64)


def unpaid_histogram(patch: pytest.MonkeyPatch) -> None:
    """The histogram of what records hold is the exact one, and costs nothing."""

    def exact(held: HeldByRecord, n_active: int, *, granted: Composition, **paid: Any) -> Histogram:
        return noisy_histogram(held, n_active, granted=_Seen(granted), **paid)

    patch.setattr(rounds, "noisy_histogram", exact)


def bound_of_exact_sums(patch: pytest.MonkeyPatch) -> None:
    """A histogram is paid for; the bound is what the longest record holds."""
    longest = [1]

    def looking(held: HeldByRecord, n_active: int, **paid: Any) -> Histogram:
        longest[0] = max(1, int(held.by_record.sum(axis=0).max(initial=1)))
        return noisy_histogram(held, n_active, **paid)

    patch.setattr(rounds, "noisy_histogram", looking)

    def bound(histogram: Histogram, *public: Any, **more: Any) -> Bound:
        return Bound(float(longest[0]), np.ones(histogram.occurrences.shape[1]))

    patch.setattr(rounds, "choose_bound", bound)


def weights_of_exact_counts(patch: pytest.MonkeyPatch) -> None:
    """Items are weighted by their exact supports: one for those from thirty records on, a tenth for others."""
    sums = ActiveItems.sums

    def weighted(self: ActiveItems, units: Units) -> Counts:
        supports = sums(self, np.ones_like(units))
        return np.where(supports >= 30, sums(self, units), sums(self, units) // 10)

    patch.setattr(ActiveItems, "sums", weighted)


def whole_budget_for_each_round(patch: pytest.MonkeyPatch) -> None:
    """What was measured is measured again, each time for all of the budget."""
    patch.setattr(SieveSettings, "shares", lambda self: (1.0,) * len(self.rounds))


def stop_by_exact_data(patch: pytest.MonkeyPatch) -> None:
    """No further round where no exact support is near twelve records."""
    again = Sieve._again

    def stopping(self: Sieve, *public: Any, **more: Any) -> Any:
        supports = np.bincount(self.baskets.indices, minlength=self.baskets.n_items)
        return again(self, *public, **more) if (np.abs(supports - 12) <= 0.5).any() else None

    patch.setattr(Sieve, "_again", stopping)


def candidates_that_occur(patch: pytest.MonkeyPatch) -> None:
    """Itemsets that no record holds are not measured, which saves noise on nothing."""
    candidates, run = SieveSearch.candidates, Sieve.run
    records: list[list[frozenset[int]]] = []

    def looking(self: Sieve, *public: Any, **more: Any) -> Any:
        data = self.baskets
        records[:] = [
            [frozenset(data.indices[a:b].tolist()) for a, b in zip(data.indptr, data.indptr[1:], strict=False)]
        ]
        return run(self, *public, **more)

    def occurring(self: SieveSearch, *public: Any, **more: Any) -> Any:
        found, *rest = candidates(self, *public, **more)
        kept = [np.array([any(r.issuperset(row) for r in records[0]) for row in part.rows.tolist()]) for part in found]
        some = [(part, keep) for part, keep in zip(found, kept, strict=True) if keep.any()]
        return [SievedCandidates(part.rows[keep], part.probability[keep]) for part, keep in some], *rest

    patch.setattr(Sieve, "run", looking)
    patch.setattr(SieveSearch, "candidates", occurring)


def exact_number(patch: pytest.MonkeyPatch) -> None:
    """The number of records, for the limit, is the exact one."""
    patch.setattr(Sieve, "number", lambda self: self.data.n_records)


class PricedOnce(PureBounding):
    """The sensitivity is that of one record, where two differ."""

    def sensitivity(self, budget: int, per_person: int) -> float:
        return budget


class AllItHolds(PureBounding):
    """The noise is made for the bound, and contributions are not cut to it."""

    def units(self, held: Units, budget: int) -> Units:
        return np.where(held > 0, 1, 0)

    def budget(self, bound: float) -> int:
        return math.floor(bound)


def announced_by_exact_data(patch: pytest.MonkeyPatch) -> None:
    """The F that is announced is the true one, which nobody paid for."""
    truth: list[bool] = []
    run, select = Sieve.run, selection.select

    def looking(self: Sieve, *public: Any, **more: Any) -> Any:
        supports = np.bincount(self.baskets.indices, minlength=self.baskets.n_items)
        truth[:] = [bool(supports[0] >= 30)]
        return run(self, *public, **more)

    def telling(*public: Any, **more: Any) -> Any:
        chosen, *_ = select(*public, **more)
        return chosen, Announced(float(truth[0]), float(truth[0]), float(truth[0]))

    patch.setattr(Sieve, "run", looking)
    patch.setattr(curate, "select", telling)
