"""The share that an itemset keeps, by how crowded the records are that hold it.

A record adds the less to each itemset the more active ones it holds, and itemsets of one size do not live in equally
crowded records: pairs of a clique of popular items keep half of what pairs keep on average.  A record with X is
expected to hold

    k(X) = sum over active Y of prod over y in Y - X of q(y)        q(y) = max over x in X of s(xy) / s(x)

active itemsets, by the supports s of items and pairs as far as they are known, and by independence where a pair was
never measured.  The average share a of a round and size is told by the histogram of the round.  Shares around it are

    1 / share(X) = 1 + c k(X)        with c such that  sum over X of y(X) / share(X) = sum over X of y(X) / a

where y are the noisy sums of that round and size: what all of them hold together stays what the histogram says, but for
shares that are cut to a fourth and four times.  Where the sum of y, or of y k, is not clear of its noise, shares are
the average.

Pure histograms hide crowded records: a bin is taken for noise while it has fewer than h records, five deviations.  Then
what is cut is told too small, in small files above all.  With K the average of k(X), weighed by y, the bound b that one
record may add, and n = sum of y / a,

    x = K / b       cut over kept = t^(1 - w) max(t, x^2 / (x + 4))^w       w = u^2 / (u^2 + 0.1^2)       u = h K / n

where t = 1 / a - 1 is what the histogram says: u is the part of all that records hold that one bin may hide.
All of it is post-processing of noisy numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.curator.sieve.contributions import filled_rows
from bosket.curator.sieve.kernels import count_company
from bosket.statistics.estimates import Floats
from bosket.threads import parallel_map, slices

_ITEMS = 1 << 12  # in all: beyond them itemsets are left with the average
_WORK = 1 << 26  # itemsets times active ones; of more active ones some stand for all
_AT_ONCE = 1 << 8  # itemsets
_FAR = 4.0  # times the average of what is cut, and a part of it
_EVEN = 4.0  # times the bound: how uneven crowds are
_DOUBT = 0.1  # of all that records hold: the part that a bin may hide from which on crowds count for half
_LEAST_CUT = 0.01  # over what is kept, so that ratios stay bounded
_CLEAR = 5.0  # scales of the noise of a sum over all itemsets


@dataclass(frozen=True, eq=False)
class Company:
    """How likely a record that holds one item holds another."""

    items: npt.NDArray[np.int32]
    """In rising order."""
    chances: npt.NDArray[np.float32]
    """A row for each item that is held."""

    def crowds(self, itemsets: ItemsetRows, active: list[ItemsetRows]) -> Floats:
        """How many of the active itemsets a record is expected to hold that holds each of these."""
        others = self._places(filled_rows(active))
        step = max(1, -(-len(itemsets) * len(others) // _WORK))
        places, others = self._places(itemsets), others[::step]
        expected = np.empty(len(itemsets))
        parallel_map(partial(self._count, places, others, expected), list(slices(len(itemsets), _AT_ONCE)))
        return step * expected

    def _count(self, places: ItemsetRows, others: ItemsetRows, expected: Floats, part: tuple[int, int]) -> None:
        count_company(self.chances, places[slice(*part)], others, expected[slice(*part)])

    def _places(self, rows: ItemsetRows) -> ItemsetRows:
        return np.where(rows >= 0, np.searchsorted(self.items, rows), -1).astype(np.int32)


@dataclass(frozen=True)
class LeastCut:
    """What is cut from itemsets at least, as crowds foresee it, where noise hides crowded records from a histogram."""

    bound: float
    """Itemsets that one record may add."""
    hidden: float
    """Records that noise may hide in one bin of the histogram."""

    def cut(self, told: Floats, crowd: float, held: float) -> Floats:
        """What is cut over what is kept: as the histogram told it, or more.

        crowd  average number of active itemsets in records with one of these
        held   how often records hold these itemsets, in all
        """
        doubt = self.hidden * crowd / max(held, 1.0)
        trust = doubt**2 / (doubt**2 + _DOUBT**2)
        over = crowd / self.bound
        least = over**2 / (over + _EVEN)
        return np.asarray(told * np.maximum(least / np.maximum(told, _LEAST_CUT), 1.0) ** trust)


def company_of(
    items: npt.NDArray[np.int32], supports: Floats, pairs: ItemsetRows, together: Floats, n_records: float
) -> Company | None:
    """Of these items by the supports of all items, and of pairs; None where they are too many.

    items     in rising order: those of pairs among them
    supports  of all items, by their number
    together  supports of the pairs
    """
    if len(items) > _ITEMS:
        return None
    known = np.maximum(supports[items], 1.0)
    chances = np.tile(np.minimum(known / n_records, 1.0).astype(np.float32), (len(items), 1))
    a, b = (np.searchsorted(items, pairs[:, at]) for at in (0, 1))
    chances[a, b], chances[b, a] = np.minimum(together / known[a], 1.0), np.minimum(together / known[b], 1.0)
    np.fill_diagonal(chances, 1.0)
    return Company(items, chances)


def crowded_shares(
    crowds: Floats, values: Floats, scale: float, average: Floats, least_cut: LeastCut | None = None
) -> Floats:
    """The share that each itemset keeps, of itemsets that keep this much on average by the histogram.

    least_cut  the least that is cut by what crowds themselves say
    """
    total, weighed = float(values.sum()), float(values @ crowds)
    noise = _CLEAR * scale
    if total <= noise * np.sqrt(len(values)) or weighed <= noise * np.linalg.norm(crowds):  # else one sum might decide
        return average
    relative = np.clip(crowds * (total / weighed), 1 / _FAR, _FAR)
    cut = 1 / average - 1
    if least_cut is not None:
        cut = least_cut.cut(cut, weighed / total, float(values @ (1 / average)))
    return np.asarray(1 / (1 + cut * relative))
