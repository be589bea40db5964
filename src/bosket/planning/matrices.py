"""What reports of any perturbation matrix will say, before anybody answers.

With w_A = the sum, over cells of A, of the rows of the (pseudo-)inverse, E[w_A | u] = [u in A] for every record u, and

    Cov(w_A, w_B | u) = sum over reports v of A[v, u] w_A(v) w_B(v) - [u in A] [u in B]

which differs from record to record.  Where a share s of people has A, records with A are taken for equally likely, and
so are those without; for a rule so are all records that have l_A values of its antecedent and l_B of its consequent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, islice, product

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer
from bosket.data import TableDomain
from bosket.errors import ParameterError, SingularChannelError
from bosket.mechanisms.matrix import Matrix
from bosket.planning.discoverability import Overlaps
from bosket.planning.foreseen import SupportsForeseen
from bosket.planning.overlaps import spaced
from bosket.planning.spreads import Spread
from bosket.statistics.estimates import Floats

_LOOKED_AT = 20_000  # sets, and combinations, that typical ones are chosen among
_COMBINATIONS = 256  # itemsets that stand for all of a size

CellMask = npt.NDArray[np.bool_]
Combination = tuple[tuple[int, int], ...]
"""Attributes, each with the number of a value."""


@dataclass(frozen=True)
class MatrixForesight(SupportsForeseen):
    """What reports of a matrix from so many people will say of supports and rules; as :class:`Foresight`."""

    matrix: Matrix
    domain: TableDomain
    people: int
    _known: dict[int, Spread | None] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_integer("people", self.people, least=1)
        if not isinstance(self.domain, TableDomain) or self.domain.n_cells != self.matrix.n_records:
            raise ParameterError(
                f"The 'domain' parameter must be of a table of {self.matrix.n_records} cells, one for each column of "
                "the matrix.",
                parameter="domain",
                value=None,
            )

    @property
    def name(self) -> str:
        return str(self.matrix)

    @property
    def longest(self) -> int:
        return len(self.domain.attributes)

    def spread(self, itemset_size: int) -> Spread | None:
        """The variance that a person brings to a support: the mean over sets of attributes, and values of each."""
        k = check_integer("itemset_size", itemset_size, least=1)
        if k not in self._known:
            self._known[k] = self._spread(k)
        return self._known[k]

    def _spread(self, k: int) -> Spread | None:
        try:
            parts = [self._of(np.stack([self._has(one).all(axis=0) for one in every])) for every in self._typical(k)]
        except SingularChannelError:
            return None
        if not parts:
            return None
        having, lacking = (float(np.mean([part[at] for part in parts])) for at in (0, 1))
        return Spread(k, lambda support: lacking + (having - lacking) * support)

    def _of(self, has: CellMask) -> tuple[float, float]:
        """The mean variance of records with an itemset, and of those without: over itemsets, a row of cells each."""
        cells = has.astype(float)
        variance = (cells @ self.matrix.inverse) ** 2 @ self.matrix.entries - cells
        return _mean(variance, has), _mean(variance, ~has)

    def _rule(self, a: int, b: int, support: float, confidence: float, assumption: Overlaps) -> Floats | None:
        law = assumption(a, b, support, confidence)
        try:
            parts = [
                np.mean([self._of_rule(self._has(one), a, law) for one in every], axis=0)
                for every in self._typical(a + b)
            ]
        except SingularChannelError:
            return None
        return np.asarray(np.mean(parts, axis=0)) if parts else None

    def _of_rule(self, has: CellMask, a: int, law: Floats) -> Floats:
        """The covariance of one rule, whose antecedent are the first ``a`` values, over classes of records."""
        cells = np.stack([has.all(axis=0), has[:a].all(axis=0)]).astype(float)  # of both sides, and of the antecedent
        weights = cells @ self.matrix.inverse
        covariance = (weights[:, None] * weights) @ self.matrix.entries - cells[:, None] * cells
        class_of = has[:a].sum(axis=0) * law.shape[1] + has[a:].sum(axis=0)
        number = np.bincount(class_of, minlength=law.size)
        share = law.ravel() * (number > 0)  # attributes of one value leave classes that no record is in
        share = share / share.sum() / np.maximum(number, 1)
        return np.asarray(covariance @ share[class_of])

    def _typical(self, k: int) -> list[list[Combination]]:
        """Of sets of k attributes, combinations of their values: all, or a few spread evenly over the first many."""
        sizes = [int(size) for size in self.domain.sizes]
        sets = spaced(list(islice(combinations(range(len(sizes)), k), _LOOKED_AT)))
        each = max(1, _COMBINATIONS // max(1, len(sets)))
        values = [islice(product(*(range(sizes[at]) for at in one)), _LOOKED_AT) for one in sets]
        return [
            [tuple(zip(one, chosen, strict=True)) for chosen in spaced(list(every), each)]
            for one, every in zip(sets, values, strict=True)
        ]

    def _has(self, chosen: Combination) -> CellMask:
        """By value and cell, whether the cell has it."""
        sizes = [int(size) for size in self.domain.sizes]
        places = np.unravel_index(np.arange(self.domain.n_cells), sizes)
        return np.stack([places[at] == value for at, value in chosen])


def _mean(values: Floats, where: CellMask) -> float:
    """The mean over rows of the mean where it says; 0 of rows where it says nowhere."""
    return float(((values * where).sum(axis=1) / np.maximum(where.sum(axis=1), 1)).mean())
