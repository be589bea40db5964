"""The channel that changes nothing: exact mining is its case of zero variance."""

from __future__ import annotations

import numpy as np

from bosket.counting.base import ItemsetRows, Words
from bosket.data import Domain
from bosket.mechanisms.base import Cells, Floats, RecordChannel, Strata
from bosket.randomness import Randomness


class IdentityChannel(RecordChannel):
    """Reports are the records.  Only raw data have it; it is not a mechanism that can be put into a plan."""

    is_exact = True
    items_apart = True

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        return bits, None

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        return np.eye(1 << len(itemset))

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        weights = np.zeros((len(itemsets), 1 << itemsets.shape[1]))
        weights[:, -1] = 1.0
        return weights

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        return np.zeros(len(itemsets))
