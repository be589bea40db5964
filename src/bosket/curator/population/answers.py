"""Noisy answers about itemsets, each record counted as a half that speaks for an itemset or against it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.curator.noise import LAPLACE, Composition
from bosket.curator.population.literals import LiteralRecords, Literals
from bosket.curator.sieve.contributions import Bounding
from bosket.statistics.estimates import Floats


@dataclass(frozen=True, eq=False)
class HalfCounts:
    """Of m itemsets, for an amount of what was granted: halves of records that hold one minus halves that do not.

    A record adds 1 or -1 to each, so where one comes or goes sums over k itemsets move by k in L1 and by sqrt(k) in L2;
    where one is replaced, by twice as much.  So many records of a person move them by as many times that.
    """

    records: LiteralRecords
    literals: Literals
    bounding: Bounding
    granted: Composition
    amount: float
    n_records: float
    """As they are known: halves do not tell how many there are."""
    per_person: int
    records_each: int = 1

    def sensitivity(self, number: int) -> float:
        """Of halves of so many itemsets; never less, by rounding."""
        times = self.per_person * self.records_each
        if self.bounding.law is LAPLACE:
            return times * number
        root = math.isqrt(number)
        return float(times * root) if root**2 == number else math.nextafter(times * math.sqrt(number), math.inf)

    def deviation(self, m: int) -> float:
        """The standard deviation of the noise of each share, if m are asked about in all."""
        scale = self.granted.scale_of(self.amount, self.sensitivity(m))
        return self.bounding.deviation(scale) / (2 * self.n_records)

    def of(self, rows: ItemsetRows, m: int) -> Floats:
        """Noisy shares of some of these m: places of literals, filled up with -1.

        Where there are more records by a part nu than is known, a share s is told as s + (s - 1/2) nu.
        """
        halves = 2 * self.records.holding(*self.literals.words(rows)) - self.records.n_records
        amount = self.amount * len(rows) / m
        noisy = self.granted.noisy(halves, epsilon=amount, sensitivity=self.sensitivity(len(rows)))
        return np.asarray(0.5 + noisy / (2 * self.n_records))
