"""Association rules with errors: support, confidence and lift of A => C for every split of a frequent itemset.

The supports of A, C and X = A u C are estimated from the same reports, so their errors go together; the delta method
uses their full covariance, made from the cells of X:

    confidence = S_X / S_A          d = (1 / S_A) dS_X - (S_X / S_A^2) dS_A
    lift = N S_X / (S_A S_C)        d ln = dS_X / S_X - dS_A / S_A - dS_C / S_C
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.checks import check_choice, check_real
from bosket.counting.base import ItemsetRows
from bosket.counting.table import members
from bosket.data.domain import as_objects
from bosket.estimates import Floats, expected_products, normal_quantile, standard_error
from bosket.mechanisms.identity import IdentityChannel
from bosket.mining.support import StratumCells, cells_of, product_sums
from bosket.threads import slices

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

SURE = 2.0
"""Standard errors that a denominator must lie above 0."""

_CELLS = 1 << 20  # cells held at once


class Measure(NamedTuple):
    """A function of the support fractions of X, A and C, and its derivatives by them."""

    value: Callable[[Floats, Floats, Floats], Floats]
    gradient: Callable[[Floats, Floats, Floats], list[Floats]]


MEASURES = {
    "support": Measure(lambda x, a, c: x, lambda x, a, c: [np.ones_like(x), np.zeros_like(x), np.zeros_like(x)]),
    "confidence": Measure(lambda x, a, c: x / a, lambda x, a, c: [1 / a, -x / a**2, np.zeros_like(x)]),
    "lift": Measure(lambda x, a, c: x / (a * c), lambda x, a, c: [1 / (a * c), -x / (a**2 * c), -x / (a * c**2)]),
}


def association_rules(
    found: FrequentItemsets,
    *,
    metric: str = "confidence",
    min_threshold: float = 0.8,
    level: float = 0.95,
    sampling: bool = False,
) -> pd.DataFrame:
    """All rules whose ``metric`` is at least ``min_threshold``, any sizes on either side.

    Columns: mlxtend's names first (antecedents, consequents, antecedent support, consequent support, support,
    confidence, lift), then for each measure m: m_stderr, m_low, m_high.  Sorted by the low end of the metric's
    interval, the surest first.  Values are not clipped, ratios of estimates are slightly biased, and nothing is
    corrected for selection: of many rules the best looking are the luckiest.

    A ratio whose denominator is less than two standard errors above 0 means nothing: confidence or lift is NaN then,
    and such a rule passes no threshold on it.  A standard error is NaN where its variance estimate came out negative.
    """
    check_choice("metric", metric, MEASURES)
    check_real("min_threshold", min_threshold)
    z = normal_quantile(level)
    parts = list(_rules(found, metric, min_threshold, sampling))
    columns: dict[str, npt.NDArray[np.generic]] = {}
    for side in ("antecedents", "consequents"):
        columns[side] = as_objects([name for part in parts for name in part[side]])
    numbers = ["antecedent support", "consequent support", *MEASURES, *(f"{name}_stderr" for name in MEASURES)]
    joined = {name: np.concatenate([np.empty(0), *(part[name] for part in parts)]) for name in numbers}
    for name in ("antecedent support", "consequent support", *MEASURES):
        columns[name] = joined[name]
    for name in MEASURES:
        error = joined[f"{name}_stderr"]
        columns[f"{name}_stderr"] = error
        columns[f"{name}_low"] = joined[name] - z * error
        columns[f"{name}_high"] = joined[name] + z * error
    frame = pd.DataFrame(columns).sort_values(f"{metric}_low", ascending=False, kind="stable", ignore_index=True)
    source = found.source_of_error(sampling)
    frame.attrs["about"] = {
        **found.about,
        "metric": metric,
        "min_threshold": min_threshold,
        "level": level,
        "stderr": source,
    }
    return frame


def _rules(
    found: FrequentItemsets, metric: str, threshold: float, sampling: bool
) -> Iterator[dict[str, list[frozenset[Hashable]] | Floats]]:
    """Rules in pieces: a slice of the itemsets of one size, and one way to split them."""
    for level in found.levels[1:]:
        rows = level.items[found.reported(level)]
        for start, stop in slices(len(rows), max(1, _CELLS >> rows.shape[1])):
            family = Family(found, rows[start:stop], sampling=sampling)
            for antecedent in range(1, family.full):
                piece = _split(family, antecedent, metric, threshold)
                if len(piece["support"]):
                    yield piece


class Family:
    """Some itemsets of one size with the estimates and cells of all their subsets."""

    def __init__(self, found: FrequentItemsets, rows: ItemsetRows, *, sampling: bool) -> None:
        self.found = found
        self.rows = np.ascontiguousarray(rows)
        self.sampling = sampling
        self.full = (1 << rows.shape[1]) - 1

    @cached_property
    def values(self) -> Floats:
        """Estimated support counts of all subsets, by pattern: shape (n, 2**k)."""
        values = np.empty((len(self.rows), self.full + 1))
        values[:, 0] = self.found.n_records
        for mask in range(1, self.full + 1):
            size = mask.bit_count()
            place = self.found.table.index(size).find(self.rows, members(mask))
            values[:, mask] = self.found.levels[size - 1].value[place]
        return values

    @cached_property
    def cells(self) -> StratumCells:
        return cells_of(self.found.table.subset_supports(self.rows))

    def least(self, chosen: npt.NDArray[np.int64], masks: list[int]) -> Floats:
        """The smallest variances that these support fractions could have: shape (n, m)."""
        parts = [
            self.found.least_variances(np.ascontiguousarray(self.rows[chosen][:, members(mask)])) for mask in masks
        ]
        return np.stack(parts, axis=1) / self.found.n_records**2

    def covariance(self, chosen: npt.NDArray[np.int64], masks: list[int]) -> Floats:
        """Covariance of the support fractions of these subsets, for the chosen itemsets: shape (n, m, m)."""
        n, m = self.found.n_records, len(masks)
        if isinstance(self.found.channel, IdentityChannel) and not self.sampling:
            return np.zeros((len(chosen), m, m))
        products = product_sums(self.found.channel, self.found.strata, self.rows[chosen], self.cells[:, chosen], masks)
        values = self.values[chosen]
        both = values[:, [[a | b for b in masks] for a in masks]]
        one, other = values[:, masks][:, :, None], values[:, masks][:, None, :]
        less = expected_products(both, one, other, n, own=self.found.channel.own, sampling=self.sampling)
        result: Floats = (products - less) / n**2
        return result


def _split(
    family: Family, antecedent: int, metric: str, threshold: float
) -> dict[str, list[frozenset[Hashable]] | Floats]:
    """The rules antecedent => the rest (patterns of the items of a row) that pass the threshold."""
    consequent = family.full ^ antecedent
    masks = [family.full, antecedent, consequent]
    x, a, c = (family.values[:, masks] / family.found.n_records).T
    with np.errstate(divide="ignore", invalid="ignore"):
        passed = np.flatnonzero(MEASURES[metric].value(x, a, c) >= threshold)
    x, a, c = x[passed], a[passed], c[passed]
    covariance = family.covariance(passed, masks)
    error = standard_error(np.diagonal(covariance, axis1=1, axis2=2), family.least(passed, masks))
    names = family.found.names
    result: dict[str, list[frozenset[Hashable]] | Floats] = {
        "antecedents": names(family.rows[passed][:, members(antecedent)]),
        "consequents": names(family.rows[passed][:, members(consequent)]),
        "antecedent support": a,
        "consequent support": c,
        "support": x,
        "support_stderr": error[:, 0],
    }
    sure_a = np.where(a > SURE * error[:, 1], a, np.nan)
    sure_c = np.where(c > SURE * error[:, 2], c, np.nan)
    for name in ("confidence", "lift"):
        slope = np.stack(MEASURES[name].gradient(x, sure_a, sure_c), axis=1)
        spread = np.einsum("ni,nij,nj->n", slope, covariance, slope)
        result[name] = MEASURES[name].value(x, sure_a, sure_c)
        result[f"{name}_stderr"] = np.sqrt(np.where(spread < -1e-15, np.nan, np.maximum(spread, 0.0)))
    if metric != "support":
        defined = ~np.isnan(np.asarray(result[metric], float))
        result = {key: _pick(values, defined) for key, values in result.items()}
    return result


def _pick(values: list[frozenset[Hashable]] | Floats, chosen: npt.NDArray[np.bool_]) -> Any:
    return list(compress(values, chosen)) if isinstance(values, list) else values[chosen]
