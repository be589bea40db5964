"""What reports of any perturbation matrix will say, before anybody answers.

With w_A = the sum, over cells of A, of the rows of the (pseudo-)inverse, E[w_A | u] = [u in A] for every record u, and

    Var(w_A | u) = sum over reports v of A[v, u] w_A(v)^2 - [u in A]

which differs from record to record.  Where a share s of people has A, records with A are taken for equally likely, and
so are those without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from bosket.checks import check_fraction, check_integer, check_positive, check_probability
from bosket.data import TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms.matrix import Matrix
from bosket.planning.spreads import Spread, lowest
from bosket.statistics.estimates import Floats


@dataclass(frozen=True)
class MatrixForesight:
    """What reports of a matrix from so many people will say of supports; as :class:`Foresight`, without rules."""

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

    def spread(self, itemset_size: int) -> Spread | None:
        """The variance that a person brings to a support; None where there are no itemsets of the size.

        The mean over sets of attributes, and over values of each.
        """
        k = check_integer("itemset_size", itemset_size, least=1)
        if k not in self._known:
            sets = combinations(range(len(self.domain.attributes)), k)
            parts = [np.mean([self._of(cells) for cells in _cells_of(self.domain, one)], axis=0) for one in sets]
            if parts:
                having, lacking = (float(np.mean([part[at] for part in parts])) for at in (0, 1))
                self._known[k] = Spread(k, lambda support: lacking + (having - lacking) * support)
            else:
                self._known[k] = None
        return self._known[k]

    def _of(self, cells: Floats) -> tuple[float, float]:
        """The mean variance of records with the itemset, and of those without."""
        entries = np.asarray(self.matrix.entries)
        weights = np.linalg.lstsq(entries.T, cells, rcond=None)[0]  # E[w | u] = [u in A] for every u
        variance = (weights**2) @ entries - cells
        return float(variance[cells > 0].mean()), float(variance[cells == 0].mean()) if (cells == 0).any() else 0.0

    def stderr(self, itemset_size: int, support: float) -> float:
        """The standard error of the support of so many items, by the coins alone; infinite where there are none."""
        found = self.spread(itemset_size)
        share = check_probability("support", support)
        return math.inf if found is None else math.sqrt(found.at(share) / self.people)

    def lowest_support(self, itemset_size: int, *, sigmas: float = 4.0) -> float:
        """The support that lies ``sigmas`` of its own standard errors above zero; infinite where none does."""
        check_positive("sigmas", sigmas)
        found = self.spread(itemset_size)
        return math.inf if found is None else lowest(found, people=self.people, sigmas=sigmas)

    def deepest(self, support: float, *, sigmas: float = 4.0) -> int:
        """The largest size of itemsets of which such a support is seen; 0 for none."""
        limit, size = check_fraction("support", support), 0
        while size < len(self.domain.attributes) and self.lowest_support(size + 1, sigmas=sigmas) <= limit:
            size += 1
        return size

    def people_for(self, itemset_size: int, support: float, *, stderr: float) -> float:
        """How many people bring the standard error down to this; infinite where none do."""
        found = self.spread(itemset_size)
        check_positive("stderr", stderr)
        if found is None:
            return math.inf
        return max(1, math.ceil(found.at(check_probability("support", support)) / stderr**2))


def _cells_of(domain: TableDomain, attributes: tuple[int, ...]) -> Iterator[Floats]:
    """For every combination of values of these attributes, which cells have it."""
    sizes = [int(size) for size in domain.sizes]
    places = np.indices(sizes).reshape(len(sizes), -1)
    for values in product(*(range(sizes[at]) for at in attributes)):
        yield (places[list(attributes)] == np.array(values)[:, None]).all(axis=0).astype(float)
