"""Any perturbation matrix over a small domain: the framework of FRAPP in full, slow and general.

Agrawal, Haritsa and Prakash (2009), sections 3 and 7.  A[v, u] = Pr(report v | record u); columns sum to one, and there
may be more reports than records.  With Y the counts of reports and X those of records, E Y = A X (Eq. 6), so A^+ Y
estimates X (Eq. 8; by least squares where A is not square).  The fast mechanisms are tested against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.data import Table, TableDomain
from bosket.errors import DataError, ParameterError, SingularChannelError
from bosket.mechanisms.base import Floats, Mechanism, RecordChannel
from bosket.privacy import Influence
from bosket.randomness import Randomness, Secure, check_randomness
from bosket.randomness.kernels import PRECISION

CellNumbers = npt.NDArray[np.int64]
"""A record or a report as its number in the domain."""

LARGEST = 4096
"""Most records, or reports, of a dense matrix."""

_ROUNDING = 1e-12
_ONE = 1 << PRECISION


@dataclass(frozen=True)
class CellEstimates:
    """Estimated numbers of records in each cell, and their covariance under the coins alone."""

    value: Floats
    covariance: Floats
    n_records: int

    def support(self, cells: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Estimated fraction of the records in these cells, and its variance."""
        chosen = cells.astype(float)
        return float(chosen @ self.value) / self.n_records, float(chosen @ self.covariance @ chosen) / self.n_records**2


@dataclass(frozen=True, eq=False)
class Matrix:
    """A perturbation matrix, its columns the laws of reports.

    >>> import bosket as bk
    >>> warner = bk.Matrix([[0.75, 0.25], [0.25, 0.75]])
    >>> warner.amplification, round(warner.condition, 9)
    (3.0, 2.0)
    """

    entries: Floats
    _cumulative: npt.NDArray[np.uint64] = field(init=False, repr=False)

    def __init__(self, entries: npt.ArrayLike) -> None:
        try:
            matrix = np.array(entries, float)
        except (TypeError, ValueError):
            matrix = np.empty(0)  # no numbers: refused below
        if matrix.ndim != 2 or not matrix.size or max(matrix.shape) > LARGEST:
            raise ParameterError(
                f"The 'entries' parameter of Matrix must be a table of at most {LARGEST} x {LARGEST} numbers.",
                parameter="entries",
                value=np.shape(entries),
            )
        if not (matrix >= 0).all() or np.abs(matrix.sum(axis=0) - 1).max() > 1e-9:
            raise ParameterError(
                "The 'entries' parameter of Matrix must have columns of probabilities that sum to 1.",
                parameter="entries",
                value=matrix.shape,
            )
        if matrix.shape[0] < matrix.shape[1]:
            raise ParameterError(
                f"The 'entries' parameter of Matrix must have at least as many rows (reports) as columns (records), "
                f"got {matrix.shape[0]} and {matrix.shape[1]}.",
                parameter="entries",
                value=matrix.shape,
            )
        # what is drawn: cumulative probabilities in multiples of 2**-53, the last one 1
        cumulative = np.rint(np.cumsum(matrix / matrix.sum(axis=0), axis=0) * _ONE).astype(np.int64)
        cumulative = np.minimum(cumulative, _ONE)
        last = matrix.shape[0] - 1 - np.argmax(matrix[::-1] > 0, axis=0)
        for column, row in enumerate(last):
            cumulative[row:, column] = _ONE
        realised = np.diff(cumulative, axis=0, prepend=0) / _ONE
        realised.flags.writeable = False
        object.__setattr__(self, "entries", realised)
        object.__setattr__(self, "_cumulative", cumulative.astype(np.uint64))

    @classmethod
    def of(cls, mechanism: Mechanism, domain: TableDomain) -> Matrix:
        """The matrix of a mechanism on a table: a column per legal record, a row per report.

        For operators on one-hot bits (MASK, cut-and-paste) every pattern of bits is a report; for those that report
        legal records, these are.  So MASK, cut-and-paste and gamma-diagonal are members of one family.
        """
        if not isinstance(domain, TableDomain):
            raise ParameterError(
                "The 'domain' parameter of Matrix.of must be that of a table: attributes with values.",
                parameter="domain",
                value=domain,
            )
        channel = mechanism.channel(domain)
        if not isinstance(channel, RecordChannel):
            raise ParameterError(
                f"The 'mechanism' parameter must randomize record by record, got {mechanism}.",
                parameter="mechanism",
                value=mechanism,
            )
        n_items = len(domain)
        if 1 << n_items > LARGEST:
            raise ParameterError(
                f"The 'domain' parameter must have at most {LARGEST.bit_length() - 1} items for a dense matrix, got "
                f"{n_items}.",
                parameter="domain",
                value=n_items,
            )
        legal = legal_patterns(domain)
        full = channel.transition(tuple(range(n_items)), channel.stratum_of(len(domain.attributes)))
        rows = full[legal]
        if np.allclose(rows[:, legal].sum(axis=1), 1.0, atol=1e-9):
            rows = rows[:, legal]  # reports are legal records
        return cls(rows.T)

    @property
    def n_reports(self) -> int:
        return int(self.entries.shape[0])

    @property
    def n_records(self) -> int:
        return int(self.entries.shape[1])

    @cached_property
    def amplification(self) -> float:
        """gamma: the largest ratio of two entries in a row (Eq. 2); infinite where one of them is 0."""
        worst = 1.0
        for row in self.entries:
            if row.max() > 0:
                worst = max(worst, math.inf if row.min() == 0 else float(row.max() / row.min()))
        return worst

    @cached_property
    def condition(self) -> float:
        """Condition number in the spectral norm; infinite where reports do not tell records apart."""
        values = np.linalg.svd(self.entries, compute_uv=False)
        return float("inf") if values[-1] <= _ROUNDING * values[0] else float(values[0] / values[-1])

    @cached_property
    def inverse(self) -> Floats:
        """A^-1, or the least-squares left inverse where there are more reports than records."""
        if math.isinf(self.condition):
            raise SingularChannelError("Nothing can be estimated: some records have the same reports, or mixtures do.")
        square = self.n_reports == self.n_records
        result: Floats = np.asarray(np.linalg.inv(self.entries) if square else np.linalg.pinv(self.entries), float)
        return result

    def estimate(self, counts: npt.ArrayLike) -> CellEstimates:
        """Numbers of records from numbers of reports (Eq. 8), unbiased, with an unbiased covariance of the coins.

        Cov = sum over u of X_u B (diag a_u - a_u a_u^T) B^T with a_u the law of reports of u and B the inverse: that is
        B diag(E Y) B^T - diag X.
        """
        y = np.asarray(counts, float)
        if y.shape != (self.n_reports,):
            raise ParameterError(
                f"The 'counts' parameter must be {self.n_reports} numbers, one for each report.",
                parameter="counts",
                value=y.shape,
            )
        value: Floats = self.inverse @ y
        covariance: Floats = (self.inverse * y) @ self.inverse.T - np.diag(value)
        return CellEstimates(value, covariance, round(float(y.sum())))

    def influence(self, cells: npt.NDArray[np.bool_]) -> Influence:
        """The weights that a report which somebody picks can have in the number of records in these cells.

        Sums of rows of the inverse; attributes named in ``marginal_cells`` make an itemset of ``cells``.
        """
        weights = np.asarray(cells, float) @ self.inverse
        low, high = float(weights.min()), float(weights.max())
        return Influence(1, low=low, high=high, width=high - low)

    def variance(self, records: npt.ArrayLike) -> Floats:
        """Covariance of the estimate before any data, if ``cells`` records were truly in each cell."""
        x = np.asarray(records, float)
        if x.shape != (self.n_records,):
            raise ParameterError(
                f"The 'records' parameter must be {self.n_records} numbers, one for each record there can be.",
                parameter="records",
                value=x.shape,
            )
        result: Floats = (self.inverse * (self.entries @ x)) @ self.inverse.T - np.diag(x)
        return result

    def perturb(self, cells: CellNumbers, *, rng: Randomness | None = None) -> CellNumbers:
        """A report for each record, by the cumulative law of its column: as many steps as there are reports."""
        rng = Secure() if rng is None else check_randomness(rng)
        given = np.asarray(cells)
        is_whole = np.issubdtype(given.dtype, np.integer) or not given.size
        cells = given.astype(np.int64)
        if not is_whole or (len(cells) and not (cells.min() >= 0 and cells.max() < self.n_records)):
            raise DataError(f"Records must be numbers from 0 to {self.n_records - 1}.")
        drawn = np.empty(len(cells), np.int64)
        for u in np.unique(cells):
            rows = np.flatnonzero(cells == u)
            drawn[rows] = rng.choose(self._cumulative[:, u], len(rows))
        return drawn

    def perturb_by_attribute(self, table: Table, *, rng: Randomness | None = None) -> Table:
        """The dependent-column scheme of section 7: attribute by attribute, each by its law given those before.

        The same law as :meth:`perturb` for reports that are records of the table's domain; the number of steps for a
        record is the sum of the domain sizes, not their product.
        """
        rng = Secure() if rng is None else check_randomness(rng)
        domain = table.domain
        if self.n_reports != self.n_records or self.n_records != domain.n_cells:
            raise ParameterError(
                f"The matrix must have a row and a column for each of the {domain.n_cells} records of the table's "
                f"domain, got {self.n_reports} and {self.n_records}.",
                parameter="entries",
                value=self.entries.shape,
            )
        cells = table.cells()
        sizes = [int(size) for size in domain.sizes]
        drawn = np.zeros(len(cells), np.int64)  # the attributes drawn so far, as a number
        rest = domain.n_cells
        for size in sizes:
            rest //= size
            # mass[p, v, u]: reports of u that begin with the prefix p and go on with the value v
            mass = self.entries.reshape(-1, size, rest, self.n_records).sum(axis=2)
            keys = drawn * self.n_records + cells
            for key in np.unique(keys):
                rows = np.flatnonzero(keys == key)
                law = mass[key // self.n_records, :, key % self.n_records]
                steps = np.rint(np.cumsum(law) / law.sum() * _ONE).astype(np.uint64)
                steps[np.flatnonzero(law > 0)[-1] :] = _ONE
                drawn[rows] = drawn[rows] * size + rng.choose(steps, len(rows))
        return Table.from_cells(drawn, domain)

    def __repr__(self) -> str:
        return f"Matrix({self.n_reports} reports x {self.n_records} records, amplification {self.amplification:.4g})"


def legal_patterns(domain: TableDomain) -> npt.NDArray[np.int64]:
    """The one-hot pattern of every record of a domain, in the order of its cells."""
    table = Table.from_cells(np.arange(domain.n_cells), domain)
    return table.to_bits()[:, 0].astype(np.int64)


def marginal_cells(domain: TableDomain, itemset: ItemsetRows | tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Which cells of a domain hold all of an itemset."""
    patterns = legal_patterns(domain)
    mask = sum(1 << int(item) for item in itemset)
    result: npt.NDArray[np.bool_] = (patterns & mask) == mask
    return result
