"""Numbers of records by cell, reconstructed from reports.

FRAPP: Agrawal, Haritsa and Prakash (2009), section 8.2.  Of N reports over a domain of n cells, Y_v of them in cell v,
the gamma-diagonal matrix gives

    X_v = (Y_v - b N) / kappa,    b = (1 - kappa) / n                                   Eq. (29), its closed form

unbiased, and negative wherever fewer reports fall than chance alone would bring.  A cell that no report shows has
-b N / kappa, so only cells that were reported can come out positive: as many as there are reports at most, however
large the domain.  The sum of all X_v is N exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bosket.data import Table, TableDomain
from bosket.data.tables.domain import MOST_CELLS, Codes
from bosket.errors import DataError, ParameterError
from bosket.evidence import Evidence, evidence_of
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.mining import estimate
from bosket.models.room import NoLawError
from bosket.reports import Reports
from bosket.statistics.estimates import Floats
from bosket.threads import slices

_LARGEST = 1 << 24
_LARGEST_IN_ALL = 1 << 25
"""Most numbers held at once where every cell is estimated as an itemset."""

_AT_ONCE = 1 << 16
"""Cells that are estimated at once."""

_DUST = 1e-9
"""A share of the total below which positive estimates are rounding, not records."""


@dataclass(frozen=True)
class Frequencies:
    """Numbers of records that add up and of which none is negative; ``variance`` is the sum of their variances."""

    value: Floats
    variance: float


def scale_down(estimates: npt.ArrayLike, total: float) -> Floats:
    """Estimates of numbers of records made frequencies that sum to ``total`` (FRAPP, section 8.2.1).

    Negative ones are set to zero and the positive ones scaled uniformly.  Of the gamma-diagonal matrix the estimates
    sum to ``total`` before, so this is down; of other mechanisms it may be up.  Where none is positive, nothing is
    known, and all are alike.  This is biased, where the estimates are not: learners need it, supports do not.

    >>> scale_down([60.0, 50.0, -10.0], 100).round(2).tolist()
    [54.55, 45.45, 0.0]
    """
    return reconstruct(np.asarray(estimates, float), 0.0, total).value


def reconstruct(estimates: Floats, variance: float, total: float) -> Frequencies:
    """The same for estimates whose variances sum to ``variance``; the scale factor is taken for given."""
    positive = np.maximum(estimates, 0.0)
    mass = float(positive.sum())
    if mass > _DUST * total:
        scale = total / mass
        return Frequencies(positive * scale, variance * scale**2)
    return Frequencies(np.full(estimates.shape, total / max(1, estimates.size)), variance)


@dataclass(frozen=True)
class CellCounts:
    """Estimated numbers of records by cell, with their variances under the coins alone; unbiased and not clipped.

    ``codes`` names the cells listed, a row each; any of the other ``n_elsewhere`` has the estimate ``elsewhere``,
    never above 0, with ``variance_elsewhere``.
    """

    codes: Codes
    value: Floats
    variance: Floats
    n_elsewhere: int = 0
    elsewhere: float = 0.0
    variance_elsewhere: float = 0.0

    @property
    def total(self) -> float:
        """The sum over all cells."""
        return float(self.value.sum()) + self.n_elsewhere * self.elsewhere

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all cells; not the variance of the sum."""
        return max(0.0, float(self.variance.sum()) + self.n_elsewhere * self.variance_elsewhere)

    def frequencies(self, total: float) -> Frequencies:
        """Of the cells listed, clipped and scaled to ``total``; those of all others are 0."""
        return reconstruct(self.value, self.total_variance, total)

    def dense(self, domain: TableDomain) -> Floats:
        """The estimate of every cell, in the order of ``Table.cells``; for domains that are not too large."""
        result = np.full(domain.n_cells, self.elsewhere)
        result[Table.from_codes(self.codes, domain).cells()] = self.value
        return result


def cell_counts(data: Reports | Table, *, n_parts: int = 1) -> CellCounts:
    """Numbers of records by cell of all attributes: exact of a table, estimated of reports, of which there are several
    parts, a class each.

    Reports of the gamma-diagonal mechanism take the closed form; those of any other the estimated support of every
    cell as an itemset, where the domain is small.
    """
    if isinstance(data, Table):
        codes, counts = _distinct(data)
        return CellCounts(codes, counts.astype(float), np.zeros(len(counts)))
    if not isinstance(data.domain, TableDomain):
        raise DataError("Cells can be counted in the reports of a table, not in those of baskets.")
    if isinstance(data.channel, GammaDiagonalChannel):
        return _gamma_diagonal(data, data.channel)
    return _by_itemsets(data, data.domain, n_parts)


def _distinct(table: Table) -> tuple[Codes, npt.NDArray[np.int64]]:
    """The different records of a table, and how often each occurs."""
    if math.prod(table.domain.sizes.tolist()) > MOST_CELLS:  # cells cannot be numbered: slower, by rows
        codes, counts = np.unique(table.codes, axis=0, return_counts=True)
        return codes, counts
    cells, counts = np.unique(table.cells(), return_counts=True)
    return Table.from_cells(cells, table.domain).codes, counts


def _gamma_diagonal(reports: Reports, channel: GammaDiagonalChannel) -> CellCounts:
    """X_v = (Y_v - b N) / kappa; its variance as in ``bosket.statistics.estimates``: sum of squared weights less X_v.

    A report in v weighs (1 - b) / kappa and any other -b / kappa.
    """
    if channel.keep == 0:
        raise channel.singular(())
    codes, counts = _distinct(Table.from_bits(reports.bits, channel.domain))
    n, kappa = reports.n_records, channel.keep
    b = (1.0 - kappa) / channel.n_cells
    inside, outside = ((1.0 - b) / kappa) ** 2, (b / kappa) ** 2
    value: Floats = (counts.astype(float) - b * n) / kappa
    elsewhere = -b * n / kappa
    return CellCounts(
        codes,
        value,
        counts * inside + (n - counts) * outside - value,
        n_elsewhere=channel.n_cells - len(codes),
        elsewhere=elsewhere,
        variance_elsewhere=n * outside - elsewhere,
    )


def _by_itemsets(reports: Reports, domain: TableDomain, n_parts: int = 1) -> CellCounts:
    """Every cell as an itemset with a value of each attribute: general and slow; some two minutes for all parts.

    Of several parts each is read without a law: fits would take three minutes for each of thousands.
    """
    work = domain.n_cells << domain.n_attributes
    if work > _LARGEST or work * n_parts > _LARGEST_IN_ALL:
        raise ParameterError(
            f"The domain of reports by {reports.plan.mechanism} must have fewer cells for a classifier that needs them "
            f"one by one, got {domain.n_cells} over {domain.n_attributes} attributes for each of {n_parts} classes.",
            parameter="domain",
            value=domain.n_cells,
            hint="ReconstructedNaiveBayes needs no cells; of GammaDiagonal reports any number will do.",
        )
    n = reports.n_records
    codes = Table.from_cells(np.arange(domain.n_cells if n else 0), domain).codes
    if n == 0:
        return CellCounts(codes, np.zeros(0), np.zeros(0))
    labels, value, variance = np.array(domain.labels, object), *np.empty((2, len(codes)))
    try:
        evidence = evidence_of(reports, model="auto" if n_parts == 1 else None)
        _fill(value, variance, evidence, labels, codes + domain.offsets[:-1])
    except NoLawError:
        _fill(value, variance, evidence_of(reports, model=None), labels, codes + domain.offsets[:-1])
    return CellCounts(codes, value * n, variance * n**2)


def _fill(
    value: Floats, variance: Floats, evidence: Evidence, labels: npt.NDArray[np.object_], items: npt.NDArray[np.intp]
) -> None:
    """Supports of all cells and their variances, some at a time; each takes some 400 bytes meanwhile."""
    for start, stop in slices(len(items), _AT_ONCE):
        found = estimate(evidence, labels[items[start:stop]].tolist())
        value[start:stop], variance[start:stop] = found.value, found.variance
