"""All splits of frequent itemsets into A => C, with what their errors are made of, in columns.

For a rule with X = A u C the supports of X, A and C were estimated already; their covariance under the coins takes

    sum w_X^2, sum w_A^2, sum w_C^2     kept with every itemset
    sum w_X w_A, sum w_X w_C, sum w_A w_C   ``Family.splits`` of the evidence, for all splits of an itemset at once
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.evidence import Family
from bosket.evidence.kept import Places
from bosket.measures import Contingency
from bosket.measures.inference import Covariance
from bosket.mining.rules.template import Shape
from bosket.statistics.estimates import Floats
from bosket.threads import slices

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

_CELLS = 1 << 17  # patterns of itemsets held at once


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


class Families:
    """The itemsets that rules are made of, and the evidence about them."""

    def __init__(self, found: FrequentItemsets) -> None:
        self.found = found
        sizes = [len(level) for level in found.levels]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.is_exact = found.evidence.is_exact
        for level in found.levels:
            level.index  # noqa: B018  # built here: the pieces are made by several threads

    def families(self, shape: Shape) -> Iterator[Family]:
        """The frequent itemsets in pieces, each of one size; of sizes that have no allowed split none."""
        for level in self.found.levels[1:]:
            if not shape.splits(level.size):
                continue
            rows = level.items[self.found.reported(level)]
            for start, stop in slices(len(rows), _rows_of_a_family(rows.shape[1])):
                yield self.found.evidence.family(np.ascontiguousarray(rows[start:stop]), self.found.kept)

    def n_families(self, shape: Shape) -> int:
        """How many pieces there are."""
        sizes = self.found.sizes.items()
        return sum(-(-number // _rows_of_a_family(size)) for size, number in sizes if shape.splits(size))

    def rules(self, family: Family, rows: Places, antecedents: Places) -> Rules:
        """The rules that split these rows so: patterns of the antecedents."""
        consequents = family.full ^ antecedents
        sizes = np.bitwise_count(antecedents).astype(np.int64)
        return Rules(
            family.values[rows, family.full],
            family.values[rows, antecedents],
            family.values[rows, consequents],
            family.places[rows, antecedents] + self.starts[sizes - 1],
            family.places[rows, consequents] + self.starts[family.rows.shape[1] - sizes - 1],
            None if self.is_exact else _covariance(family, rows, antecedents),
            family.doubtful[rows],
            family.rare_moves[rows],
        )


def _rows_of_a_family(size: int) -> int:
    return max(1, _CELLS >> size)


def _covariance(family: Family, rows: Places, antecedents: Places) -> Covariance:
    """Of the support fractions of both sides together, of the antecedents and of the consequents."""
    n, consequents = family.n_records, family.full ^ antecedents
    with_whole, with_rest = family.splits
    return Covariance(
        xx=family.noise[rows, family.full] / n**2,
        aa=family.noise[rows, antecedents] / n**2,
        cc=family.noise[rows, consequents] / n**2,
        xa=with_whole[rows, antecedents] / n**2,
        xc=with_whole[rows, consequents] / n**2,
        ac=with_rest[rows, antecedents] / n**2,
    )
