"""Itemsets put in an order in which many begin alike: what they share is met once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows

_FEW = 16  # itemsets that are counted as they are


def worth_grouping(n_itemsets: int, n_groups: int) -> bool:
    """Whether itemsets in so many groups, each of which begins alike, might be in far fewer."""
    return n_itemsets > _FEW and 2 * n_groups > n_itemsets


def grouped(rows: ItemsetRows) -> tuple[npt.NDArray[np.int64], ItemsetRows]:
    """The order, and the itemsets in it, their own items in an order too: those that stand in many of them first.

    Candidates that are new to a search hold one of a few itemsets that became frequent, whose items stand at the end
    of some and in the middle of others.  At the beginning, they are met once.
    """
    often = np.bincount(rows.ravel())
    places = np.argsort(-often[rows], axis=1, kind="stable")
    ordered = np.take_along_axis(rows, places, axis=1)
    order = np.lexsort(ordered.T[::-1])
    return order, np.ascontiguousarray(ordered[order])
