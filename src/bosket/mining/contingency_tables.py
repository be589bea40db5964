"""The table of two or more itemsets named in advance: who has all of them, some, or none, with errors.

For sides A_1 .. A_s (itemsets without a common item) there are 2^s cells.  The weight of a cell is made of the weights
of unions of sides by inclusion and exclusion, omega_v(t') = sum over u containing v of (-1)^|u - v| w_u(t'), so that
E[omega_v | t] = [t shows v]; a function of the cells with gradient g has the influence h(t') = sum_v g_v omega_v(t'),
and its variance under the coins is, with S_v the estimated cell counts,

    sum over reports of h^2 - own sum_v g_v^2 S_v - (1 - own) (sum_v g_v S_v)^2 / N

Guo, Guo and Wu (2007), Eqs. (1) and (2), for every mechanism; they divide by n - 1 where we divide by n.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.checks import check_not_text
from bosket.errors import ParameterError
from bosket.evidence import EvidenceSource, Family, as_source, evidence_of
from bosket.evidence.mobius import differences
from bosket.measures import MLXTEND, Contingency, measure
from bosket.measures.inference import TRUSTED, Covariance, Tables, on_scale, root
from bosket.measures.many import ManyWay, margins, noise_of_squares
from bosket.mining.influence import warn_of
from bosket.mining.itemset_measures import many_way
from bosket.statistics.estimates import Floats, normal_quantile

if TYPE_CHECKING:
    from bosket.mining.bootstrap import Bootstrap, Replicates
    from bosket.randomness import Randomness

LARGEST = 10
"""Items that the sides may have together."""


@dataclass(frozen=True)
class MeasureEstimate:
    """A measure with its error: ``interval`` was made on ``scale``; distrust it unless ``is_trusted``."""

    name: str
    value: float
    stderr: float
    low: float
    high: float
    level: float
    scale: str
    is_trusted: bool
    bias: float
    """Second-order bias of ``value``; not a number where it is not worked out."""

    def __repr__(self) -> str:
        note = "" if self.is_trusted else ", not to be trusted"
        return (
            f"MeasureEstimate({self.name} {self.value:.4g} ± {self.stderr:.2g}, {100 * self.level:g}% "
            f"[{self.low:.4g}, {self.high:.4g}] ({self.scale}{note}))"
        )


@dataclass(frozen=True)
class ContingencyTable:
    """Estimated fractions of records by which sides they have; not clipped, so cells may be negative.

    ``value[i, j]`` is the fraction with the first side iff i and the second iff j (and so on for more sides);
    ``covariance`` is that of the flattened values.  ``sampling`` says what errors cover.
    """

    sides: tuple[frozenset[Hashable], ...]
    n_records: int
    sampling: bool
    randomness: str | None
    family: Family
    """The items of all sides, with all their subsets."""
    unions: tuple[int, ...]
    """The subsets that are unions of sides, as patterns of items: no side, the first, the second, both, and so on."""

    @property
    def value(self) -> Floats:
        return self._by_side(self._counts / self.n_records)

    @property
    def stderr(self) -> Floats:
        """Not a number where a variance estimate came out negative."""
        return root(np.diag(self.covariance)).reshape(self.value.shape)

    @cached_property
    def covariance(self) -> Floats:
        """Of the flattened values."""
        n, counts = self.n_records, self._counts
        result = _by_cells(self.family.covariance(self.unions)[0])
        if self.sampling:
            result = result + np.diag(counts) - np.outer(counts, counts) / n
        order = self._by_side(np.arange(len(counts))).ravel()
        matrix: Floats = result[np.ix_(order, order)] / n**2
        return matrix

    def measure(self, name: str, *, level: float = 0.95, interval: str = "default") -> MeasureEstimate:
        """A measure of the rule first side => second side, or of more sides (chi_squared, lift, leverage, cosine,
        jaccard).
        """
        if len(self.sides) > 2:
            return self._many(many_way(name), level)
        record = measure(name)
        tables = self._tables
        found = tables.infer(record, level=level, interval=interval)
        bias = tables.bias(record)[0] if record.gradient is not None else np.nan
        value, stderr, low, high = (float(part[0]) for part in found[:4])
        scale = record.scale.value if interval == "default" else interval
        return MeasureEstimate(
            record.name, value, stderr, low, high, level, scale, bool(found.is_trusted[0]), float(bias)
        )

    def measures(self, names: Iterable[str] = MLXTEND, *, level: float = 0.95) -> dict[str, MeasureEstimate]:
        """Several by name."""
        return {found.name: found for found in (self.measure(name, level=level) for name in names)}

    def bootstrap(self, name: str, *, replicates: int = 2000, rng: Randomness | None = None) -> Bootstrap:
        """The measure of tables drawn again from what was estimated: :meth:`replicates`, of one measure."""
        return self.replicates(replicates, rng=rng).of(name)

    def replicates(self, number: int = 2000, *, rng: Randomness | None = None) -> Replicates:
        """Tables drawn again from what was estimated: see :mod:`bosket.mining.bootstrap`.

        ``rng=Seeded(7)`` gives the same ones every time.
        """
        from bosket.mining.bootstrap import replicates

        return replicates(self, number, rng=rng)

    def _by_side(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Cells by pattern, first side in the lowest bit, as an array with an axis per side."""
        shape = (2,) * len(self.sides)
        return cells.reshape(shape).transpose()

    def drawn_again(self, number: int, rng: Randomness) -> Floats:
        """Estimated cell counts of reports drawn again, a row per replicate, by pattern of sides."""
        return differences(self.family.drawn_again(self.unions, number, rng, sampling=self.sampling))

    @cached_property
    def _counts(self) -> Floats:
        """Estimated cell counts by pattern of sides."""
        counts: Floats = differences(np.stack([self.family.value(union) for union in self.unions], axis=1))[0]
        return counts

    @cached_property
    def _tables(self) -> Tables:
        v = replace(self, sampling=False).covariance  # cells in the order 00, 01, 10, 11
        x, a, c = np.array([0, 0, 0, 1.0]), np.array([0, 0, 1.0, 1]), np.array([0, 1.0, 0, 1])
        pairs = ((x, x), (a, a), (c, c), (x, a), (x, c), (a, c))
        return Tables(
            Contingency.of_cells(self._counts[None, :], self.n_records),
            Covariance(*(np.array([one @ v @ other]) for one, other in pairs)),
            sampling=self.sampling,
            doubtful=np.array([self._is_doubtful]),
        )

    @cached_property
    def _is_doubtful(self) -> bool:
        """Whether the reports say too little for normal errors, of the channel's own or because coins seldom matter."""
        family = self.family
        return bool(family.doubtful[0]) or (not self.sampling and bool(family.rare_moves[0]))

    def _many(self, record: ManyWay, level: float) -> MeasureEstimate:
        cells = self._counts / self.n_records
        covariance = self.covariance
        order = self._by_side(np.arange(len(cells))).ravel()
        with np.errstate(all="ignore"):
            value = float(record.value(cells, self.n_records))
            slope = record.gradient(cells, self.n_records)[order]
            stderr = float(root(np.array(slope @ covariance @ slope)))
            low, high = on_scale(record.scale, np.array(value), np.array(stderr), normal_quantile(level))
            spread = root(np.diag(covariance))
            sure = [cells[-1] / spread[list(order).index(len(cells) - 1)]]
            sure += [share / _share_stderr(covariance, order, j) for j, share in enumerate(margins(cells))]
            trusted = np.isfinite(low) and np.isfinite(stderr) and min(sure) >= TRUSTED and not self._is_doubtful
            if record.is_dependence:
                inverse = np.argsort(order)
                trusted = (
                    trusted and noise_of_squares(cells, np.diag(covariance)[inverse], self.n_records) <= stderr / 2
                )
        return MeasureEstimate(
            record.name, value, stderr, float(low), float(high), level, record.scale.value, bool(trusted), np.nan
        )


def contingency(data: EvidenceSource, *sides: Iterable[Hashable], sampling: bool = False) -> ContingencyTable:
    """The estimated table of these itemsets, with its covariance, from reports or (exactly) from raw records.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"], ["milk"], ["bread"], [], ["milk", "bread"]])
    >>> table = bk.contingency(baskets, {"milk"}, {"bread"}, sampling=True)
    >>> table.value.tolist()
    [[0.2, 0.2], [0.2, 0.4]]
    >>> table.measure("lift").value
    1.1111111111111112
    """
    data = as_source(data)
    named = tuple(frozenset(check_not_text(side)) for side in sides)
    ids = [data.domain.itemset(side) for side in named]
    items = tuple(sorted({item for side in ids for item in side}))
    if len(named) < 2 or not all(named) or len(items) < sum(map(len, ids)) or len(items) > LARGEST:
        raise ParameterError(
            f"The 'sides' parameter must be at least two itemsets that are not empty, have no common item and at most "
            f"{LARGEST} items together, got {len(named)} with {len(items)} items.",
            parameter="sides",
            value=named,
        )
    rows = np.array([items], np.int32)
    evidence = evidence_of(data, rows[0])
    sides_of = [sum(1 << items.index(item) for item in side) for side in ids]
    unions = tuple(sum(side for j, side in enumerate(sides_of) if pattern >> j & 1) for pattern in range(1 << len(ids)))
    family = evidence.family(rows)
    family.refuse_not_covered(unions)
    warn_of(family.whole.carried, evidence.domain)
    return ContingencyTable(named, evidence.n_records, sampling, evidence.provenance.randomness, family, unions)


def _by_cells(covariance: Floats) -> Floats:
    """The covariance of cells from that of supports: inclusion and exclusion on both sides."""
    return differences(differences(covariance.copy()).T.copy())


def _share_stderr(covariance: Floats, order: npt.NDArray[np.int64], j: int) -> float:
    has = (order >> j & 1).astype(float)
    return float(root(np.array(has @ covariance @ has)))
