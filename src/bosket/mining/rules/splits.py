"""All splits of frequent itemsets into A => C, with what their errors are made of, in columns.

For a rule with X = A u C the supports of X, A and C were estimated already; their covariance under the coins takes

    sum w_X^2, sum w_A^2, sum w_C^2     kept with every itemset
    sum w_X w_A, sum w_X w_C, sum w_A w_C   ``Channel.split_products``, for all splits of an itemset at once
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.table import patterns
from bosket.estimates import Floats, expected_products, variance
from bosket.measures import Contingency
from bosket.measures.inference import Covariance
from bosket.mechanisms.identity import IdentityChannel
from bosket.mining.apriori import Level
from bosket.mining.cautions import say_too_little
from bosket.mining.support import StratumCells, cells_of, rare_moves
from bosket.threads import slices

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

_CELLS = 1 << 17  # patterns of itemsets held at once

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rules:
    """Rules in columns: support counts of both sides together, of A and of C; where to find the names of the sides."""

    x: Floats
    a: Floats
    c: Floats
    antecedent: Places
    consequent: Places
    covariance: Covariance | None
    """Of the support fractions, under the coins alone; None where nothing is randomized."""
    doubtful: npt.NDArray[np.bool_]
    """Where the reports say too little for normal errors of the estimates."""
    rare_moves: npt.NDArray[np.bool_]
    """Where they say too little for normal errors of the coins alone."""

    def __len__(self) -> int:
        return len(self.x)

    def take(self, chosen: Any) -> Rules:
        covariance = None if self.covariance is None else self.covariance.take(chosen)
        return Rules(
            self.x[chosen],
            self.a[chosen],
            self.c[chosen],
            self.antecedent[chosen],
            self.consequent[chosen],
            covariance,
            self.doubtful[chosen],
            self.rare_moves[chosen],
        )

    @classmethod
    def join(cls, parts: Sequence[Rules]) -> Rules:
        if len(parts) == 1:
            return parts[0]
        names = ("x", "a", "c", "antecedent", "consequent", "doubtful", "rare_moves")
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        covariances = [part.covariance for part in parts if part.covariance is not None]
        return cls(**columns, covariance=Covariance.join(covariances) if covariances else None)

    def table(self, n_records: int) -> Contingency:
        return Contingency.of_counts(self.x, self.a, self.c, n_records)


class Source:
    """The itemsets that rules are made of, and all that was found out about them."""

    def __init__(self, found: FrequentItemsets) -> None:
        self.found = found
        sizes = [len(level) for level in found.levels]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.is_exact = isinstance(found.channel, IdentityChannel)
        found.table  # noqa: B018  # built here: the pieces are made by several threads

    def families(self) -> Iterator[Family]:
        """The frequent itemsets in pieces, each of one size."""
        for level in self.found.levels[1:]:
            rows = level.items[self.found.reported(level)]
            for start, stop in slices(len(rows), _rows_of_a_family(rows.shape[1])):
                yield Family(self, np.ascontiguousarray(rows[start:stop]))

    @property
    def n_families(self) -> int:
        """How many pieces there are."""
        sizes = self.found.sizes.items()
        return sum(-(-number // _rows_of_a_family(size)) for size, number in sizes if size > 1)

    @cached_property
    def rare_items(self) -> npt.NDArray[np.bool_]:
        """By item id: whether the coins change few reports of it."""
        found = self.found
        result = np.zeros(len(found.domain), bool)
        if not self.is_exact and found.levels:
            first = found.levels[0]
            items = np.ascontiguousarray(first.items[:, 0])
            share = first.value / found.n_records
            result[items] = rare_moves(found.channel, found.strata, found.stratum_records, items, share)
        return result

    @cached_property
    def noise(self) -> list[Floats]:
        """Variances of the support counts of every itemset kept, by size; no smaller than any data set's."""
        found = self.found
        return [
            np.maximum(self._variance(level), found.least_variances(np.ascontiguousarray(level.items)))
            for level in found.levels
        ]

    def _variance(self, level: Level) -> Floats:
        found = self.found
        return variance(level.value.astype(float), level.second.astype(float), found.n_records, own=found.channel.own)


def _rows_of_a_family(size: int) -> int:
    return max(1, _CELLS >> size)


class Family:
    """Some itemsets of one size with the estimates of all their subsets."""

    def __init__(self, source: Source, rows: ItemsetRows) -> None:
        self.source = source
        self.found = source.found
        self.rows = rows
        self.full = (1 << rows.shape[1]) - 1

    @cached_property
    def places(self) -> Places:
        """Where each subset stands among the itemsets of its size, by pattern; shape (n, 2**k)."""
        n, k = self.rows.shape
        result = np.zeros((n, 1 << k), np.int64)
        for size in range(1, k + 1):
            masks, positions = patterns(k, size)
            found = self.found.table.index(size).find(self.rows[:, positions].reshape(-1, size))
            result[:, masks] = found.reshape(n, len(masks))
        return result

    def by_size(self, columns: Sequence[npt.NDArray[Any]], empty: Any) -> Any:
        """A value of each subset, from those of the itemsets of each size; of the last axis."""
        n, k = self.rows.shape
        result = np.empty((*columns[0].shape[:-1], n, 1 << k), columns[0].dtype)
        result[..., 0] = empty
        for size in range(1, k + 1):
            masks, _ = patterns(k, size)
            result[..., masks] = columns[size - 1][..., self.places[:, masks]]
        return result

    @cached_property
    def values(self) -> Floats:
        """Estimated support counts of all subsets, by pattern: shape (n, 2**k)."""
        result: Floats = self.by_size([level.value for level in self.found.levels], self.found.n_records)
        return result.astype(float, copy=False)

    def rules(self, rows: Places, antecedents: Places) -> Rules:
        """The rules that split these rows so: patterns of the antecedents."""
        consequents = self.full ^ antecedents
        starts = self.source.starts
        sizes = np.bitwise_count(antecedents).astype(np.int64)
        return Rules(
            self.values[rows, self.full],
            self.values[rows, antecedents],
            self.values[rows, consequents],
            self.places[rows, antecedents] + starts[sizes - 1],
            self.places[rows, consequents] + starts[self.rows.shape[1] - sizes - 1],
            None if self.source.is_exact else self._covariance(rows, antecedents),
            self.doubtful[rows],
            self.rare_moves[rows],
        )

    @cached_property
    def observed(self) -> npt.NDArray[np.int64]:
        """Numbers of reports that show each subset, by pattern: shape (n, 2**k)."""
        columns = [level.observed.sum(axis=0) for level in self.found.levels]
        result: npt.NDArray[np.int64] = self.by_size(columns, self.found.n_records)
        return result

    @cached_property
    def cells(self) -> StratumCells:
        """Numbers of reports by the pattern they show: shape (n_strata, n, 2**k)."""
        found = self.found
        return cells_of(self.by_size([level.observed for level in found.levels], found.stratum_records[:, None]))

    @property
    def weights(self) -> list[Floats]:
        """By stratum, the weights of every subset by what a report shows of the whole: shape (2**k, n, 2**k)."""
        channel, full = self.found.channel, self.full
        result = []
        for stratum, cells in zip(self.found.strata, self.cells, strict=True):
            weights = np.ones((full + 1, len(self.rows), full + 1))
            for mask in range(1, full + 1):
                weights[mask] = channel.subset_weights(self.rows, mask, stratum, cells)
            result.append(weights)
        return result

    def stderr(self, mask: int, *, sampling: bool) -> Floats:
        """Of the support count of a subset."""
        value = self.values[:, mask]
        people = value * (1 - value / self.found.n_records) if sampling else 0.0
        coins = 0.0 if self.source.is_exact else self._noise[:, mask]
        return np.sqrt(np.maximum(coins + people, 0.0))

    @cached_property
    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Itemsets of which these reports tell too little for normal errors; see :mod:`bosket.mining.cautions`."""
        if self.source.is_exact:
            return np.zeros(len(self.rows), bool)
        last = self.found.levels[self.rows.shape[1] - 1].observed.sum(axis=0)
        shown = last[self.found.table.index(self.rows.shape[1]).find(self.rows)]
        return say_too_little(self.found.channel, self.rows, shown, lambda: self.cells)

    @cached_property
    def rare_moves(self) -> npt.NDArray[np.bool_]:
        """Itemsets with an item of which the coins change few reports."""
        return np.asarray(self.source.rare_items[self.rows].any(axis=1))

    def influence(self, rows: Places, antecedent: int) -> tuple[Floats, Floats]:
        """The most that one of the reports can move leverage up, and down, for the rules with this antecedent.

        w_X - c w_A - a w_C + a c, over the patterns that some report shows; of fractions, a place per row.
        """
        n = self.found.n_records
        a, c = (self.values[rows, side][:, None] / n for side in (antecedent, self.full ^ antecedent))
        up, down = np.zeros(len(rows)), np.zeros(len(rows))
        items = np.ascontiguousarray(self.rows[rows])
        for stratum, cells in zip(self.found.strata, self.cells[:, rows], strict=True):
            x_, a_, c_ = (
                self.found.channel.subset_weights(items, side, stratum, np.ascontiguousarray(cells))
                for side in (self.full, antecedent, self.full ^ antecedent)
            )
            moved = np.where(cells > 0, x_ - c * a_ - a * c_ + a * c, 0.0)
            up, down = np.maximum(up, moved.max(axis=1)), np.maximum(down, -moved.min(axis=1))
        return up, down

    @cached_property
    def _products(self) -> tuple[Floats, Floats]:
        """Sums over all reports of w_X w_A and of w_A w_(X - A), by pattern of A."""
        found = self.found
        with_whole, with_rest = np.zeros(self.values.shape), np.zeros(self.values.shape)
        for stratum, cells in zip(found.strata, self.cells, strict=True):
            parts = found.channel.split_products(self.rows, stratum, cells)
            with_whole += parts[0]
            with_rest += parts[1]
        return with_whole, with_rest

    @cached_property
    def _noise(self) -> Floats:
        result: Floats = self.by_size(self.source.noise, 0.0)
        return result

    def _covariance(self, rows: Places, antecedents: Places) -> Covariance:
        n, own = self.found.n_records, self.found.channel.own
        consequents = self.full ^ antecedents
        with_whole, with_rest = self._products
        x, a, c = (self.values[rows, side] for side in (self.full, antecedents, consequents))

        def covariance(products: Floats, one: Floats, other: Floats) -> Floats:
            less = expected_products(x, one, other, n, own=own, sampling=False)
            result: Floats = (products - less) / n**2
            return result

        return Covariance(
            xx=self._noise[rows, self.full] / n**2,
            aa=self._noise[rows, antecedents] / n**2,
            cc=self._noise[rows, consequents] / n**2,
            xa=covariance(with_whole[rows, antecedents], x, a),
            xc=covariance(with_whole[rows, consequents], x, c),
            ac=covariance(with_rest[rows, antecedents], a, c),
        )
