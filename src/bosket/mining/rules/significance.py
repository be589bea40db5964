"""Is a rule more than chance?  p-values that count both the drawing of people and the coins.

The hypothesis is that A and C are independent in the population that people were drawn from.  Leverage, x - a c, is 0
then.  From reports it is estimated with a standard error that covers drawing and coins, and

    z = leverage / stderr

is about standard normal.  Of exact data the one-sided p-value is Fisher's exact one.

Of the many rules that were looked at, those that are shown were selected, by their support at least.  The family of
hypotheses is therefore every split that the template allows of every itemset that was counted; those not shown count as
p = 1, which keeps p-values valid and both procedures conservative.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from bosket.counting.table import ItemsetIndex
from bosket.estimates import Floats
from bosket.measures import Contingency
from bosket.measures.inference import Covariance, root
from bosket.mining.candidates import next_candidates
from bosket.mining.rules.splits import Rules
from bosket.mining.rules.template import Shape

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

ALTERNATIVES = ("greater", "less", "two-sided")


def p_values(rules: Rules, n_records: int, alternative: str) -> Floats:
    """Of independence of the two sides, against more (or less, or either) than chance; 1 where nothing can be said."""
    if rules.covariance is None:
        return _fisher(rules, n_records, alternative)
    from scipy.special import ndtr  # slow to import, and few need it

    table = rules.table(n_records)
    z = leverage_z(table, rules.covariance.with_sampling(table))
    tail = {"greater": ndtr(-z), "less": ndtr(z), "two-sided": 2 * ndtr(-np.abs(z))}
    result: Floats = np.where(np.isnan(z), 1.0, tail[alternative])
    return result


def leverage_z(table: Contingency, covariance: Covariance) -> Floats:
    """Leverage in standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = (table.pi11 - table.a * table.c) / root(covariance.of((1.0, -table.c, -table.a)))
    return result


def _fisher(rules: Rules, n_records: int, alternative: str) -> Floats:
    """Fisher's exact test; two-sided as twice the smaller tail."""
    from scipy import stats

    law = stats.hypergeom(n_records, rules.a, rules.c)
    more = np.minimum(law.sf(rules.x - 1), 1.0) if alternative != "less" else 1.0
    fewer = np.minimum(law.cdf(rules.x), 1.0) if alternative != "greater" else 1.0
    result: Floats = {"greater": more, "less": fewer}.get(alternative, np.minimum(2 * np.minimum(more, fewer), 1.0))
    return result


def tests_in_family(found: FrequentItemsets, shape: Shape) -> int:
    """How many rules could have been shown: allowed splits of all itemsets that were counted."""
    total = 0
    for size in range(2, _largest(found) + 1):
        total += shape.splits(size) * _candidates(found, size)
    return max(total, 1)


def _largest(found: FrequentItemsets) -> int:
    """The size of the largest itemsets that were counted: one more than was kept, unless the search was to stop."""
    kept, limit = len(found.levels), found.about.get("max_size")
    return kept if limit is not None and kept >= limit else kept + 1


def _candidates(found: FrequentItemsets, size: int) -> int:
    """How many itemsets of a size have all their subsets among those kept."""
    kept = found.levels[size - 2].items
    if size == 2:
        return comb(len(kept), 2)
    in_order = np.ascontiguousarray(kept[np.lexsort(kept.T[::-1])])
    return len(next_candidates(ItemsetIndex(in_order), max_candidates=1 << 62))
