"""Bases: a few small sets of items that have every item and every pair asked about (Li, Qardaji, Su and Cao 2012).

The maximal cliques of the graph of pairs, and the items in no pair by threes; two of them are united as long as that
lowers the mean variance over the items and pairs.  Which bases there are follows from what is released: no chance and
no records in here.

With w bases, of sizes l_b, a query (an item or a pair) of s items has the variance

    ~ w^2 / t,    t = sum over the bases that have it of 2^(s - l_b)

A union of i and j changes t of the queries within it alone.  So the change of sum(1 / t) is kept for every pair of
bases, and after a union only for those that share an item with it is it reckoned anew: the same greedy choices as by
looking at all queries for all pairs each time, in a small part of the time.  The authors' script unites those with the
largest intersection, whatever that does to the variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.compiling import compiled
from bosket.research.rivals.base import Itemset
from bosket.statistics.estimates import Floats

LARGEST = 12
"""Items of a basis at most."""
_TOGETHER = 3  # items that are in no pair: 2^l / l^2 is least near 3

Basis = tuple[int, ...]


def make_bases(items: list[int], pairs: list[Itemset], *, largest: int = LARGEST) -> list[Basis]:
    """Sets of at most ``largest`` items that have every item and every pair.

    >>> make_bases([3, 1, 2], [])
    [(1, 2, 3)]
    """
    if len(items) <= largest:
        return [tuple(sorted(items))]
    near: dict[int, set[int]] = {item: set() for pair in pairs for item in pair}
    for left, right in pairs:
        near[left].add(right)
        near[right].add(left)
    bases = [basis for clique in _cliques(set(), set(near), set(), near) for basis in _cut(clique, largest)]
    alone = [item for item in items if item not in near]
    bases += [tuple(sorted(alone[at : at + _TOGETHER])) for at in range(0, len(alone), _TOGETHER)]
    return united(sorted(set(bases)), pairs, largest=largest)


def _cliques(clique: set[int], some: set[int], seen: set[int], near: dict[int, set[int]]) -> Iterator[Basis]:
    """Maximal cliques (Bron and Kerbosch 1973, with a pivot)."""
    if not some:
        if not seen and clique:
            yield tuple(sorted(clique))
        return
    pivot = max(sorted(some | seen), key=lambda item: len(near[item] & some))
    for item in sorted(some - near[pivot]):
        yield from _cliques(clique | {item}, some & near[item], seen & near[item], near)
        some = some - {item}
        seen = seen | {item}


def _cut(clique: Basis, largest: int) -> Iterator[Basis]:
    """Parts of a clique that is too large: halves of a basis, two at a time, so that each pair is in one."""
    if len(clique) <= largest:
        yield clique
        return
    n_parts = -(-len(clique) // (largest // 2))
    parts = [clique[at::n_parts] for at in range(n_parts)]
    for left, right in combinations(parts, 2):
        yield tuple(sorted(left + right))


def united(bases: list[Basis], pairs: list[Itemset], *, largest: int = LARGEST) -> list[Basis]:
    """Greedy unions of two bases while the mean variance over their items, and over these pairs, falls.

    >>> united([(1, 2), (1, 3), (2, 3)], [(1, 2), (1, 3), (2, 3)])
    [(1, 2, 3)]
    """
    groups = _Groups(bases, pairs, largest)
    while groups.unite_best():
        pass
    return groups.bases()


class _Groups:
    """Bases as rows of the numbers of their items, and what each union of two would change."""

    def __init__(self, bases: list[Basis], pairs: list[Itemset], largest: int) -> None:
        self.items = sorted({item for basis in bases for item in basis})
        number = {item: at for at, item in enumerate(self.items)}
        self.members = np.zeros((len(bases), largest), np.int64)
        self.sizes = np.array([len(basis) for basis in bases], np.int64)  # 0 once united with another
        self.query = np.full((len(self.items), len(self.items)), -1, np.int64)
        np.fill_diagonal(self.query, np.arange(len(self.items)))
        for at, pair in enumerate(pairs, start=len(self.items)):
            left, right = sorted(number[item] for item in pair)
            self.query[left, right] = at
        self.total: Floats = np.zeros(len(self.items) + len(pairs))  # sums of powers of 2: exact
        for at, basis in enumerate(bases):
            self.members[at, : len(basis)] = sorted(number[item] for item in basis)
            self._add(at, 1.0)
        self.change: Floats = np.full((len(bases), len(bases)), np.inf)
        self._look_at(np.ones(len(bases), bool))

    def unite_best(self) -> bool:
        """Unite the two whose union serves best; not if that would not lower the variance."""
        n = int((self.sizes > 0).sum())
        if n < 2:
            return False
        i, j = divmod(int(self.change.argmin()), len(self.sizes))
        now = float((1 / self.total).sum())
        if not (n - 1) ** 2 * (now + self.change[i, j]) < n**2 * now:
            return False
        union = np.union1d(self._of(i), self._of(j))
        self._add(i, -1.0)
        self._add(j, -1.0)
        self.members[i, : len(union)] = union
        self.sizes[i], self.sizes[j] = len(union), 0
        self._add(i, 1.0)
        self.change[j], self.change[:, j] = np.inf, np.inf
        is_in = np.zeros(len(self.items), bool)
        is_in[union] = True
        filled = np.arange(self.members.shape[1]) < self.sizes[:, None]
        self._look_at(np.asarray((is_in[self.members] & filled).any(axis=1)))
        return True

    def bases(self) -> list[Basis]:
        kept = np.flatnonzero(self.sizes)
        return sorted(tuple(self.items[number] for number in self._of(at)) for at in kept)

    def _of(self, at: int | np.int64) -> npt.NDArray[np.int64]:
        return self.members[at, : self.sizes[at]]

    def _add(self, at: int, sign: float) -> None:
        """Adds a weight to every itemset of a basis."""
        of = self._of(at)
        singles = self.query[of, of]
        pairs = self.query[np.ix_(of, of)][np.triu_indices(len(of), 1)]
        self.total[singles] += sign * 2.0 ** (1 - len(of))
        self.total[pairs[pairs >= 0]] += sign * 2.0 ** (2 - len(of))

    def _look_at(self, touched: npt.NDArray[np.bool_]) -> None:
        _changes(self.members, self.sizes, touched, self.query, self.total, self.change)


@compiled
def _changes(members: Any, sizes: Any, touched: Any, query: Any, total: Any, change: Any) -> None:
    """By how much sum(1 / total) grows when i and j > i are united, in ``change``, where either is touched.

    Infinity where the union is too large.  Members are sorted; what only i and j have keeps a weight that is not 0, as
    the union has it too.
    """
    most = members.shape[1]
    union = np.empty(2 * most, np.int64)
    where = np.empty(2 * most, np.int64)  # 1: in i, 2: in j, 3: in both
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            if not (touched[i] or touched[j]) or sizes[i] == 0 or sizes[j] == 0:
                continue
            n = left = right = 0
            while left < sizes[i] or right < sizes[j]:
                if right == sizes[j] or (left < sizes[i] and members[i, left] < members[j, right]):
                    union[n], where[n] = members[i, left], 1
                    left += 1
                elif left == sizes[i] or members[j, right] < members[i, left]:
                    union[n], where[n] = members[j, right], 2
                    right += 1
                else:
                    union[n], where[n] = members[i, left], 3
                    left += 1
                    right += 1
                n += 1
            if n > most:
                change[i, j] = np.inf
                continue
            grown = 0.0
            for a in range(n):
                for b in range(a, n):
                    q = query[union[a], union[b]]
                    if q < 0:
                        continue
                    size = 1 if a == b else 2
                    both = where[a] & where[b]
                    new = total[q] + 2.0 ** (size - n)
                    if both & 1:
                        new -= 2.0 ** (size - sizes[i])
                    if both & 2:
                        new -= 2.0 ** (size - sizes[j])
                    grown += 1 / new - 1 / total[q]
            change[i, j] = grown
