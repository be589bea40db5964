"""What supports of subsets lead to expect of an itemset.

Two numbers follow from subsets that are one and two items smaller:

    most    the smallest support of a subset, which no support exceeds
    joint   the largest s(X - a) s(X - b) / s(X - a - b): the support if a and b were independent given the rest
            (of pairs: if the items were independent)

Supports are looked at as ratios to the first.  Visits that follow one path have ratios that hardly depend on the second
number; what is bought by chance lies near it.  So itemsets are told apart by joint / most, in classes, and data say how
ratios are distributed in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.statistics.estimates import Floats

_CLASSES = np.array([0.015, 0.03, 0.06, 0.12, 0.25, 0.4, 0.55, 0.7, 0.85])
N_CLASSES = len(_CLASSES) + 1
"""Of itemsets, by joint / most."""


@dataclass(frozen=True, eq=False)
class KnownSupports:
    """Itemsets of one size with supports."""

    rows: ItemsetRows
    values: Floats

    @cached_property
    def index(self) -> ItemsetIndex:
        return ItemsetIndex(self.rows)


@dataclass(frozen=True, eq=False)
class Expected:
    """Of each itemset what its subsets say."""

    most: Floats
    joint: Floats

    @property
    def classes(self) -> npt.NDArray[np.int64]:
        return np.searchsorted(_CLASSES, self.joint / self.most)


def expected_of(rows: ItemsetRows, known: Sequence[KnownSupports], n_records: float, otherwise: float) -> Expected:
    """What is expected of itemsets by all that is known of smaller ones, by size; ``otherwise`` of unknown subsets."""
    size = rows.shape[1]
    one_less = _found(rows, known[size - 2], 1, otherwise)
    most = np.min(one_less, axis=0)
    two_less = [np.full(len(rows), n_records)] if size == 2 else _found(rows, known[size - 3], 2, otherwise)
    joint = np.zeros(len(rows))
    for (a, b), shared in zip(combinations(range(size), 2), two_less, strict=True):
        joint = np.maximum(joint, one_less[a] * one_less[b] / np.maximum(shared, 1.0))
    return Expected(np.maximum(most, 1e-3), np.clip(joint, 1e-3, np.maximum(most, 1e-3)))


def smallest_subset(rows: ItemsetRows, known: KnownSupports, otherwise: float) -> Floats:
    """Of each itemset the smallest value of a subset that is one smaller; ``otherwise`` for unknown subsets."""
    return np.asarray(np.min(_found(rows, known, 1, otherwise), axis=0))


def _found(rows: ItemsetRows, known: KnownSupports, n_left_out: int, otherwise: float) -> list[Floats]:
    """The values of subsets without each item, or each pair of items."""
    index, values, size = known.index, np.append(known.values, otherwise), rows.shape[1]
    return [
        values[index.find(rows, np.array([at for at in range(size) if at not in left_out], np.int64))]
        for left_out in combinations(range(size), n_left_out)
    ]
