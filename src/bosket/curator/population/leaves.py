"""Leaves: the patterns of literals cut into disjoint parts, as a tree that a fitted population chooses.

A node asks for one literal, and every record ends in one leaf, so numbers of records by leaf move by one where a record
comes or goes, however many leaves there are.  The tree is grown on particles: the leaf that is expected to have most
records is cut next, by the literal that cuts it most evenly.  So where records come in few patterns, leaves tell of
many literals at once what pairs do not.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts
from bosket.curator.population.kernels import leaves_of
from bosket.statistics.estimates import Floats
from bosket.threads import parallel_map, slices

_RECORDS = 1 << 16  # in one call of a kernel

MOST_LEAVES = 1 << 16
"""Of one tree."""
LiteralWords = npt.NDArray[np.uint64]
LeafPlaces = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree over literals; its leaves part the patterns of all records."""

    asks: npt.NDArray[np.int64]
    """Of each node the literal that it asks for, -1 of a leaf."""
    goes: npt.NDArray[np.int64]
    """The node that comes next, without the literal and with it; of a leaf its number, twice."""
    masks: LiteralWords
    """Of each leaf the literals that were asked for."""
    values: LiteralWords
    """Of each leaf those of them that its patterns hold."""

    def __len__(self) -> int:
        return len(self.masks)

    def of(self, patterns: LiteralWords) -> LeafPlaces:
        """The leaf of each pattern."""
        result = np.empty(len(patterns), np.int64)

        def one(part: tuple[int, int]) -> None:
            leaves_of(patterns[slice(*part)], self.asks, self.goes, result[slice(*part)])

        parallel_map(one, list(slices(len(patterns), _RECORDS)))
        return result

    def counts(self, patterns: LiteralWords) -> Counts:
        """How many patterns each leaf has."""
        return np.bincount(self.of(patterns), minlength=len(self))


def words_of(particles: npt.NDArray[np.uint8]) -> LiteralWords:
    """Particles as words, a bit for each literal."""
    bits = np.uint64(1) << np.arange(particles.shape[1], dtype=np.uint64)
    return np.asarray(particles.astype(np.uint64) @ bits)


def grown(particles: npt.NDArray[np.uint8], weights: Floats, *, most: int, least: float) -> Leaves:
    """A tree of at most ``most`` leaves; none that is expected to have less than the share ``least`` is cut again."""
    m = particles.shape[1]
    asks, goes, masks, values = [-1], [(0, 0)], [np.uint64(0)], [np.uint64(0)]
    n_leaves = 1
    waiting: list[tuple[float, int, npt.NDArray[np.int64]]] = [(-1.0, 0, np.arange(len(particles)))]
    while waiting and n_leaves < most:
        mass, node, inside = heapq.heappop(waiting)
        if -mass < least:
            break
        mine = weights[inside]
        holds = particles[inside]
        shares = (mine @ holds) / max(mine.sum(), 1e-300)
        evenness = shares * (1 - shares)
        evenness[[bool(masks[node] >> np.uint64(i) & np.uint64(1)) for i in range(m)]] = 0.0
        literal = int(np.argmax(evenness))
        if evenness[literal] <= 0.0:
            continue
        mask = masks[node] | np.uint64(1) << np.uint64(literal)
        asks[node], goes[node] = literal, (len(asks), len(asks) + 1)
        for side in (0, 1):
            part = inside[holds[:, literal] == side]
            heapq.heappush(waiting, (-float(weights[part].sum()), len(asks), part))
            asks.append(-1)
            goes.append((0, 0))
            masks.append(mask)
            values.append(values[node] | np.uint64(side) << np.uint64(literal))
        n_leaves += 1
    nodes = np.flatnonzero(np.array(asks) < 0)
    ends = np.array(goes, np.int64)
    ends[nodes] = np.arange(len(nodes))[:, None]
    return Leaves(np.array(asks, np.int64), ends, np.array(masks, np.uint64)[nodes], np.array(values, np.uint64)[nodes])


NO_LEAVES = Leaves(np.full(1, -1, np.int64), np.zeros((1, 2), np.int64), np.zeros(1, np.uint64), np.zeros(1, np.uint64))
"""All patterns are in one leaf."""
