"""The k most frequent itemsets: rounds as for a limit, which is not given but follows from what each round tells.

After a round the limit is the support L that k itemsets are expected to reach:

    sum of Pr(support of j >= L) over itemsets j that were measured, and over those not measured that may be  =  k

so what is undecided is what may or may not be among the k.  While items alone are known, three quarters of the k are
taken to be items.  Before anything is known L is N / (k + 10), which only says how much one record may add to items.
All of it is post-processing of noisy numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bosket.curator.sieve.beliefs import SievedLevel
from bosket.curator.sieve.rounds import Sieved, sizes_in
from bosket.curator.sieve.search import SieveSearch
from bosket.curator.sieve.selection import Announced, ReleasedItemsets, closed, taken

_ITEMS = 0.75  # of the k, while nothing but items was measured
_MORE = 10
_LEAST = 0.5  # of a record: a limit below it would be none
_STEPS = 30  # of the bisection, on a logarithmic scale: to a part in 1e8 of the range


@dataclass(frozen=True, eq=False)
class KthLimit:
    """The limit that k itemsets are expected to reach, round by round."""

    k: int
    n_records: int
    n_rounds: int
    largest: int

    @property
    def first(self) -> float:
        """Before anything is known."""
        return max(_LEAST, self.n_records / (self.k + _MORE))

    def after(self, number: int, levels: list[SievedLevel], search: SieveSearch) -> float:
        """The limit after a round; the levels tell their probabilities by it from now on."""
        wanted = max(1.0, self.k * _ITEMS) if number <= 2 else float(self.k)
        sizes = min(self.largest, sizes_in(number, self.n_rounds)) if 2 < number < self.n_rounds else 1
        low, high = math.log(_LEAST), math.log(self.n_records + 1.0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            is_low = _expected(math.exp(middle), levels, search, sizes, wanted) > wanted
            low, high = (middle, high) if is_low else (low, middle)
        limit = math.exp((low + high) / 2)
        _set(levels, limit)
        return limit


def _set(levels: list[SievedLevel], limit: float) -> None:
    for level in levels:
        level.limit = limit


def _expected(limit: float, levels: list[SievedLevel], search: SieveSearch, sizes: int, wanted: float) -> float:
    """How many itemsets are expected to reach a limit; those that were never measured count where it matters."""
    _set(levels, limit)
    known = sum(float(level.probability.sum()) for level in levels)
    if known > wanted or sizes < 2:
        return known
    found, missed = search.at(limit).candidates(levels, largest=sizes)
    return known + sum(missed) + sum(float(part.probability.sum()) for part in found)


def select_top(result: Sieved, k: int) -> tuple[list[ReleasedItemsets], Announced]:
    """The k itemsets that are likeliest among the k most frequent, of equally likely ones the more frequent, and of
    these the smaller; fewer where fewer were measured.  With an itemset all its subsets are released.

    What is announced is the share of them that is expected to be among the k: the sum of their probabilities over k
    and what was never measured.
    """
    by_size = closed(result.levels, [level.probability for level in result.levels])
    every = np.concatenate(by_size)
    mean = np.concatenate(closed(result.levels, [level.mean for level in result.levels]))
    chosen = np.zeros(len(every), bool)
    chosen[np.lexsort((-mean, -every))[:k]] = True  # stable: of equals the smaller
    parts = np.split(chosen, np.cumsum([len(part) for part in by_size])[:-1])
    share = float(every[chosen].sum()) / max(1.0, min(k, len(every)) + result.missed)
    return [
        taken(level, probability, np.flatnonzero(part))
        for level, probability, part in zip(result.levels, by_size, parts, strict=True)
    ], Announced(share, share, share)
