"""What is asked of dense records: itemsets above a limit, or the k most frequent, whose limit follows from items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from bosket.curator.population.literals import MOST_LITERALS
from bosket.statistics.estimates import Floats


@dataclass(frozen=True)
class Wanted:
    """Itemsets of at most ``largest`` items above a limit, a share of the records; of the k most frequent ones, the
    limit that they are known to reach so far.
    """

    limit: float
    largest: int
    k: int | None = None
    least: float = 0.0
    """No limit of the k most frequent is lower."""

    def by(self, shares: Floats) -> Wanted:
        """The same, once shares of items are known: k itemsets reach what they would if items were independent.

        Items that go together reach more, so none that matters is left out.
        """
        if self.k is None:
            return self
        return replace(self, limit=max(kth_product(shares, self.k, self.largest), self.least))


def kth_product(shares: Floats, k: int, largest: int) -> float:
    """The k-th largest product of different numbers in [0, 1], of ``largest`` of them at most; the least there is where
    there are fewer.

    With the numbers in falling order, each set of places comes once: the last place moves on by one, or the next place
    is added.  Neither makes the product larger.
    """
    falling = -np.sort(-shares)[:MOST_LITERALS]
    waiting = [(-float(falling[0]), 0, 1)]  # product, last place, number of places
    product = 0.0
    for _ in range(k):
        if not waiting:
            break
        negative, last, number = heappop(waiting)
        product = -negative
        if last + 1 < len(falling):
            following = float(falling[last + 1])
            without = product / float(falling[last]) if falling[last] > 0 else 0.0
            heappush(waiting, (-without * following, last + 1, number))
            if number < largest:
                heappush(waiting, (-product * following, last + 1, number + 1))
    return product
