"""Where reports say too little for normal errors: the one rule behind every ``caution`` of a support.

An interval of value -+ z standard errors holds its level where many reports decide.  It does not where

    few reports show the whole itemset     the sum of their weights is skewed, and the pattern that would have moved it
                                           most may not have come up at all: of fifty intervals of cut-and-paste
                                           (cutoff 10, insert 0.01) at size 4, some twenty miss
    few of them decide                     where records are cut and state their size, a report of a long one counts for
                                           many others: as many reports show the itemset as have that spread of weights,
                                           (sum of phi)^2 / sum of phi^2 over those that show it
    the channel says so                    an estimate that is not linear is far from it there (``Channel.doubts``)
    coins seldom change an item            the error of the coins is that of a handful of moves
                                           (:func:`bosket.evidence.sums.rare_moves`); not where people are drawn too
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bosket.counting.base import Counts, ItemsetRows
from bosket.evidence.kept import Truths
from bosket.evidence.sums import StratumCells
from bosket.mechanisms.base import Channel
from bosket.mechanisms.cut import StatingChannel
from bosket.statistics.estimates import Floats

FEW_REPORTS = 20
"""Reports that must show a whole itemset for normal errors of what is estimated of it."""


def effective_number(channel: Channel, size: int, strata: Sequence[int], observed: Counts) -> Floats:
    """How many reports show itemsets of this size, those that count for several others as fewer.

    ``observed`` has the numbers by stratum: shape (n_strata, n).
    """
    if not isinstance(channel, StatingChannel):
        return np.asarray(observed.sum(axis=0), float)
    factors = np.abs([channel.factor(size, stratum) for stratum in strata])
    squares = factors**2 @ observed
    result: Floats = np.divide((factors @ observed) ** 2, squares, out=np.zeros(len(squares)), where=squares > 0)
    return result


def say_too_little(channel: Channel, rows: ItemsetRows, shown: Floats, cells: Callable[[], StratumCells]) -> Truths:
    """Itemsets of which the reports tell too little: ``shown`` by few of them, or doubted by the channel.

    ``cells`` gives the numbers of reports by pattern and stratum; it is asked only where the channel wants to see them.
    """
    result: Truths = np.asarray(shown < FEW_REPORTS)
    if type(channel).doubts is not Channel.doubts:
        for stratum in cells():
            doubt = channel.doubts(rows, stratum)
            if doubt is not None:
                result = result | doubt
    return result
