"""The parametric bootstrap of a table: drawn again from what was estimated, measured again.

The oracle for standard errors of the delta method, and an answer where these are not to be trusted.  Evidence draws
(:mod:`bosket.evidence.redraw`): with ``sampling`` other people with other coins, otherwise the same people, whose coins
are tossed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bosket.checks import check_integer
from bosket.measures import Contingency, measure
from bosket.mining.itemset_measures import many_way
from bosket.randomness import Randomness, Secure, check_randomness
from bosket.statistics.estimates import Floats, normal_quantile

if TYPE_CHECKING:
    from bosket.mining.contingency_tables import ContingencyTable


@dataclass(frozen=True)
class Bootstrap:
    """Replicates of a measure."""

    values: Floats

    @property
    def stderr(self) -> float:
        """Their standard deviation; not a number where some are not finite."""
        with np.errstate(invalid="ignore"):
            return float(np.std(self.values, ddof=1))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Percentiles; replicates without a value count on neither side."""
        normal_quantile(level)
        low, high = np.nanquantile(self.values, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


@dataclass(frozen=True)
class Replicates:
    """Estimated cell counts, a row per replicate, by pattern of sides."""

    counts: Floats
    n_records: int

    def of(self, name: str) -> Bootstrap:
        """A measure of every replicate."""
        if self.counts.shape[1] > 4:
            with np.errstate(all="ignore"):
                return Bootstrap(many_way(name).value(self.counts / self.n_records, self.n_records))
        return Bootstrap(np.asarray(measure(name)(Contingency.of_cells(self.counts, self.n_records)), float))


def replicates(table: ContingencyTable, number: int = 2000, *, rng: Randomness | None = None) -> Replicates:
    """Draws ``number`` tables; ``Seeded`` makes the draw repeatable."""
    check_integer("replicates", number, least=2)
    rng = Secure() if rng is None else check_randomness(rng)
    return Replicates(table.drawn_again(number, rng), table.n_records)
