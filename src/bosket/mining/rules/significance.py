"""Is a rule more than chance?  p-values that count both the drawing of people and the coins.

The hypothesis is that A and C are independent in the population that people were drawn from.

    raw records                         Fisher's exact test, one-sided
    reports with items apart (Flip),    A and C are independent just if A' and C' are, so Fisher's exact test of the
    an item on either side              reports; turned around where one of the items is turned more often than not
    anything else                       leverage, x - a c, is a mean of independent terms, and 0 then; Bennett's bound
                                        (1962) on the tail of such a mean,

        Pr(mean >= t) <= exp(-(n v / b^2) h(b t / v)),  h(u) = (1 + u) ln(1 + u) - u

with b the most that one report can move it, and v its variance a report: the larger of the estimate and of that under
independence, a (1 - a) c (1 - c) from people and the coins' on top.  It is a little larger than the normal tail near
the middle, and right where few reports decide, where the normal tail is too small by orders of magnitude.

Of the many rules that were looked at, those that are shown were selected, by their support at least.  The family of
hypotheses is therefore every split that the template allows of every itemset that was counted; those not shown count as
p = 1, and p-values that are made larger stay valid.  (Which itemsets of three and more items were counted depends on
the data, through smaller ones.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.counting.table import ItemsetIndex
from bosket.errors import ParameterError, TooManyCandidatesError
from bosket.evidence import Family
from bosket.evidence.kept import Places
from bosket.mining.candidates import count_candidates, next_candidates
from bosket.mining.rules.splits import Rules
from bosket.mining.rules.template import Shape
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats
from bosket.statistics.exact_kernels import fisher_tail
from bosket.threads import apart, slices

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

ALTERNATIVES = ("greater", "less", "two-sided")
_ROWS = 1 << 16
_TABLES = 1 << 10


def check_testable(found: FrequentItemsets) -> None:
    """Refuse reports that are not independent of each other."""
    if found.evidence.mixes_people:
        raise ParameterError(
            "The 'adjust' parameter must be None for reports that mix several people's records: they depend on each "
            "other, and there are no p-values for them.",
            parameter="adjust",
            value=found.provenance.mechanism,
        )


def p_values(family: Family, rules: Rules, rows: Places, antecedents: Places, alternative: str) -> Floats:
    """Of independence of the two sides, against more (or less, or either) than chance; 1 where nothing can be said.

    The rules are the splits of these rows of the family.
    """
    evidence = family.evidence
    if evidence.is_exact or (evidence.items_apart and family.rows.shape[1] == 2):
        up, down = _exact(family, rows, antecedents)
    else:
        up, down = _bounds(family, rules, rows, antecedents)
    tails: dict[str, Floats] = {"greater": up, "less": down, "two-sided": np.minimum(2 * np.minimum(up, down), 1.0)}
    return tails[alternative]


def _exact(family: Family, rows: Places, antecedents: Places) -> tuple[Floats, Floats]:
    """Fisher's tails of what the reports show."""
    counts = family.shown
    x, a, c = (counts[rows, side] for side in (family.full, antecedents, family.full ^ antecedents))
    n = float(family.n_records)
    tails = np.empty((2, len(rows)))
    for start, stop in slices(len(rows), _TABLES):  # Ctrl-C is answered between two of them
        for tail, is_upper in zip(tails, (True, False), strict=True):
            fisher_tail(x[start:stop], a[start:stop], c[start:stop], n, is_upper, tail[start:stop])
    if not family.evidence.is_exact:  # an item that is reported less often where it is
        tails = np.where(family.turned[rows], tails[::-1], tails)
    return tails[0], tails[1]


def _bounds(family: Family, rules: Rules, rows: Places, antecedents: Places) -> tuple[Floats, Floats]:
    """Bennett's bounds of both tails."""
    n = family.n_records
    table = rules.table(n)
    assert rules.covariance is not None
    slope = (1.0, -table.c, -table.a)
    coins = np.maximum(rules.covariance.of(slope), 0.0)
    people = np.clip(table.a * table.not_a, 0.0, None) * np.clip(table.c * table.not_c, 0.0, None) / n
    variance = n * np.maximum(coins + people, rules.covariance.with_sampling(table).of(slope))
    leverage = table.pi11 - table.a * table.c
    most = np.empty((2, len(rows)))
    for antecedent in np.unique(antecedents).tolist():
        here = antecedents == antecedent
        most[:, here] = _most(family, rows[here], antecedent)
    up, down = (_bennett(sign * leverage, variance, b, n) for sign, b in zip((1.0, -1.0), most, strict=True))
    return up, down


def _most(family: Family, rows: Places, antecedent: int) -> tuple[Floats, Floats]:
    """The most that one of the reports can move leverage up, and down: w_X - c w_A - a w_C + a c, of fractions."""
    n, consequent = family.n_records, family.full ^ antecedent
    a, c = family.values[rows, antecedent] / n, family.values[rows, consequent] / n
    return family.reach(rows, (family.full, antecedent, consequent, 0), (np.ones(len(rows)), -c, -a, a * c))


def _bennett(mean: Floats, variance: Floats, most: Floats, n: int) -> Floats:
    """The bound on the chance of a mean as high; 1 for one below 0."""
    with np.errstate(all="ignore"):
        u = np.maximum(most, 1e-300) * mean / variance
        exponent = n * variance / most**2 * ((1 + u) * np.log1p(u) - u)
        small = u < 1e-4  # h(u) = u^2 / 2 - u^3 / 6 + ..., where the difference would cancel
        exponent = np.where(small, n * mean**2 / variance * (0.5 - u / 6), exponent)
        result: Floats = np.where((mean > 0) & (exponent > 0), np.exp(-exponent), 1.0)
    return result


def tests_in_family(found: FrequentItemsets, shape: Shape, on_progress: Progress | None) -> int:
    """How many rules could have been shown: allowed splits of all itemsets that were counted."""
    total = 0
    for size in range(2, _largest(found) + 1):
        total += _splits(found, shape, size, Meter(on_progress, size, "counting rules", 1.0))
    return max(total, 1)


def _largest(found: FrequentItemsets) -> int:
    """The size of the largest itemsets that were counted: one more than was kept, unless the search was to stop."""
    kept, limit = len(found.levels), found.search.max_size
    return kept if limit is not None and kept >= limit else kept + 1


def _splits(found: FrequentItemsets, shape: Shape, size: int, tell: Meter) -> int:
    """Allowed splits of the itemsets of a size that have all their subsets among those kept."""
    if not found.levels or not len(shape.antecedents(size)):
        return 0
    kept = found.levels[size - 2].items
    if size == 2:
        return _pairs(found, shape, kept[:, 0])
    order = apart(lambda: np.lexsort(kept.T[::-1]))
    index = ItemsetIndex(np.ascontiguousarray(kept[order]))
    if shape.takes_all_items:
        return shape.splits(size) * count_candidates(index, on_done=tell)
    try:
        rows = next_candidates(index, max_candidates=found.search.max_candidates, on_done=tell)
    except TooManyCandidatesError as problem:
        problem.hint = "Say by tests= how many rules were looked at, or raise max_candidates."
        raise
    masks = shape.antecedents(size)
    allowed = (shape.allowed(rows[start:stop], masks) for start, stop in slices(len(rows), _ROWS))
    return sum(int(part.sum()) for part in allowed if part is not None)


def _pairs(found: FrequentItemsets, shape: Shape, items: npt.NDArray[np.int32]) -> int:
    """Rules with an item on either side, of different attributes."""
    lead = items if shape.may_lead is None else items[shape.may_lead[items]]
    follow = items if shape.may_follow is None else items[shape.may_follow[items]]
    total = len(lead) * len(follow) - len(np.intersect1d(lead, follow))
    groups = found.domain.groups
    if groups is None:
        return total
    one, other = (np.bincount(groups[side], minlength=int(groups.max()) + 1) for side in (lead, follow))
    return len(lead) * len(follow) - int((one * other).sum())
