"""Counts over parts that come and go: every itemset is counted once in every part.

Supports add, so the counts of all itemsets that a search asked for, those just below its limit among them, are all that
it takes from the parts before.  When parts come or go, these itemsets are counted in what came and what went alone.
Parts that stayed are asked again for itemsets that nobody asked for before: where the border between frequent and
infrequent itemsets has moved (Pudi and Haritsa, "Quantifying the utility of the past in mining large databases",
Information Systems 25, 2000, whose DELTA keeps the counts of frequent itemsets and of their negative border).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.shards import added
from bosket.counting.table import ItemsetIndex

PartCounter = Callable[[], Counter]
"""Gives the counter of a part, which is made when it is first asked for."""

MOST_REMEMBERED = 1 << 26
"""Most counts that are remembered: 512 MiB, and half as much again for their itemsets."""

_EVERY = np.empty((1, 0), np.int32)  # the itemset that every record holds


class Growing:
    """A :class:`~bosket.counting.base.Counter` of some parts, which remembers what it counted.

    It stays that of its parts; :meth:`moved` gives the counter of others, which remembers the same itemsets.
    """

    def __init__(self, parts: Sequence[PartCounter], *, most: int = MOST_REMEMBERED) -> None:
        self._parts, self._most = tuple(parts), most
        self._levels: dict[int, tuple[ItemsetIndex, Counts]] = {}
        counters = [part() for part in self._parts]
        self._set_records(*_summed(counters, _EVERY))

    def _set_records(self, strata: tuple[int, ...], records: Counts) -> None:
        """Strata of no record are left out, as a counter of the very records would."""
        there = np.flatnonzero(records[:, 0])
        self.strata = tuple(strata[at] for at in there.tolist()) or (0,)
        self._records = records[there] if len(there) else np.zeros((1, 1), np.int64)
        self.n_records = int(self._records.sum())

    @property
    def n_remembered(self) -> int:
        """How many counts are remembered."""
        return sum(counts.size for _, counts in self._levels.values())

    def moved(
        self, parts: Sequence[PartCounter], *, came: Sequence[PartCounter] = (), went: Sequence[PartCounter] = ()
    ) -> Growing:
        """The counter of ``parts``: those of this one, with what ``came`` and without what ``went``.

        Where reports of many more strata came, sizes whose counts would be too many are forgotten.
        """
        plus, minus = ([part() for part in some] for some in (came, went))
        result = Growing.__new__(Growing)
        result._parts, result._most = tuple(parts), self._most
        result._set_records(*self._changed(_EVERY, self._records, plus, minus))
        result._levels = {}
        n_strata = len({*self.strata, *(stratum for counter in (*plus, *minus) for stratum in counter.strata)})
        left = self._most
        for size, (index, counts) in self._levels.items():
            if n_strata * len(index.rows) > left:
                continue
            left -= n_strata * len(index.rows)
            strata, sums = self._changed(index.rows, counts, plus, minus)
            result._levels[size] = (index, _rows_of(sums, strata, result.strata))
        return result

    def _changed(
        self, rows: ItemsetRows, counts: Counts, plus: Sequence[Counter], minus: Sequence[Counter]
    ) -> tuple[tuple[int, ...], Counts]:
        """Counts of these rows with those of some counters added, and those of others taken away."""
        strata, change = _summed([*plus, *minus], rows, [1] * len(plus) + [-1] * len(minus))
        every = tuple(sorted({*self.strata, *strata}))
        return every, _rows_of(counts, self.strata, every) + _rows_of(change, strata, every)

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        n, size = itemsets.shape
        if size == 0:
            return np.repeat(self._records, n, axis=1)
        known = self._levels.get(size)
        place = np.full(n, -1, np.int64) if known is None else known[0].find(itemsets)
        new = np.flatnonzero(place < 0)
        counts = np.empty((len(self.strata), n), np.int64)
        if known is not None:
            old = np.flatnonzero(place >= 0)
            counts[:, old] = known[1][:, place[old]]
        if len(new):
            rows = np.ascontiguousarray(itemsets[new])
            strata, sums = _summed([part() for part in self._parts], rows, on_progress=on_progress)
            counts[:, new] = _rows_of(sums, strata, self.strata)
            self._remember(itemsets, counts, new, known)
        return counts

    def _remember(
        self,
        itemsets: ItemsetRows,
        counts: Counts,
        new: npt.NDArray[np.int64],
        known: tuple[ItemsetIndex, Counts] | None,
    ) -> None:
        """Enter what was counted; where that is too much, what this size was asked for before is forgotten."""
        size = itemsets.shape[1]
        others = self.n_remembered - (0 if known is None else known[1].size)
        if known is not None and others + known[1].size + len(self.strata) * len(new) <= self._most:
            rows = np.concatenate([known[0].rows, itemsets[new]])
            self._levels[size] = (ItemsetIndex(rows), np.concatenate([known[1], counts[:, new]], axis=1))
        elif others + counts.size <= self._most:
            self._levels[size] = (ItemsetIndex(itemsets.copy()), counts.copy())
        else:
            self._levels.pop(size, None)


def _summed(
    counters: Sequence[Counter],
    rows: ItemsetRows,
    times: Sequence[int] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[tuple[int, ...], Counts]:
    """What counters count, each taken ``times`` times, and the strata of all of them."""
    strata = tuple(sorted({stratum for counter in counters for stratum in counter.strata}))
    return strata, added(strata, counters, [1] * len(counters) if times is None else times, rows, on_progress)


def _rows_of(counts: Counts, strata: tuple[int, ...], wanted: tuple[int, ...]) -> Counts:
    """Counts by these strata, from counts by others; strata that are left out have none."""
    if strata == wanted:
        return counts
    result = np.zeros((len(wanted), counts.shape[1]), np.int64)
    place = {stratum: row for row, stratum in enumerate(wanted)}
    for row, stratum in zip(counts, strata, strict=True):
        if stratum in place:
            result[place[stratum]] = row
        else:
            assert not row.any(), "a stratum without records has no counts"
    return result
