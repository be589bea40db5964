"""Supports that a few dishonest reports cannot move far, however much each of them weighs: medians of means.

The reports are dealt into g groups at random, after they were sent.  Each group has an estimate of its own, and the
median of these is the robust one (Nemirovsky and Yudin 1983; Lerasle and Oliveira 2011 for the contaminated case).
Of k dishonest reports at most k groups hear anything.  With Y_(1) <= ... <= Y_(g) the estimates of the groups,

    Y_(r) <= m <= Y_(g + 1 - r)    with probability at least ``level``,    Pr(Bin(g - k, 1/2) < r) <= (1 - level) / 2

where m is the median of what an honest group estimates: for the lower end to lie above m, fewer than r of the g - k
honest groups lie below, whatever the others say.  But m is not the support.  A hundredth of dishonest reports leaves
groups of some 25, whose mean is skewed where most reports weigh nothing and a few much; the k can then shift what is
between the ends until m is all that the interval holds, and with many reports it holds the support hardly ever.  So an
interval of the *support* is that of the plain estimate, for which no shape is asked:

    mean - c <= support <= mean + c,    c = f W + z sqrt(S / ((n - k) n)) + W ln(2 / (1 - level)) / n

with W = w_max - w_min and S = sum (w - mean)^2.  f W is the most that a fraction f can move a mean of weights,
S / (n - k) is at least the variance of the honest ones whatever the others sent, and z is the normal quantile of the
level.  The last part is for what few reports show: of n that all weigh the same S is 0, and as many as ln(2 / (1 -
level)) others may have been expected (the Poisson bound for none).  The robust estimate is the median, or the end of
this interval nearest to it.  For weights bounded as those of Flip the interval is narrow; where a few
reports can weigh much, as with stated sizes, it is wide, since no more is certain, and the median is the better guess.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom, norm

from bosket.checks import check_between, check_limits, check_not_text
from bosket.errors import DataError
from bosket.mechanisms.payload import PackedBits
from bosket.randomness import Randomness, Secure, check_randomness
from bosket.reports import Reports
from bosket.statistics.estimates import Floats

LARGEST = 16
"""Items of an itemset, as for estimates."""
MOST_DISHONEST = 0.05
_COLUMNS = ["itemset", "support", "shift", "robust", "low", "high", "median_low", "median_high", "groups"]
_LEAST_GROUPS = 40
_GROUPS = 4  # for each dishonest report: three of four groups are honest


def robust(
    reports: Reports,
    itemsets: Iterable[Iterable[Hashable]],
    *,
    dishonest: float = 0.01,
    level: float = 0.95,
    rng: Randomness | None = None,
) -> pd.DataFrame:
    """Robust supports beside the plain ones: a row for each itemset.

    itemset     its labels
    support     the plain estimate: the mean of all weights
    shift       the most that dishonest people, this fraction of all, can move it
    robust      the median of the groups' estimates, no further than ``low`` and ``high``
    low, high   an interval of the support at ``level`` that holds whatever the dishonest sent
    median_low  and median_high, the same of the median of an honest group, which is near the support unless a few
                honest reports weigh much
    groups      how many groups there are

    The fraction is of reports.  Where one person may send several, which may be alike by a memo, intervals are wider by
    the root of their number, and of the median of a group nothing is said: groups are no draws apart.

    Only of packed bits read by sums of weights; the groups are drawn from the secure source unless ``rng`` is given,
    so that nobody who sends a report knows its group.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9))
    >>> reports = plan.randomize(bk.Baskets([["a"]] * 1000, items=["a", "b"]), rng=bk.Seeded(1))
    >>> frame = bk.audit.robust(reports, [{"a"}], rng=bk.Seeded(2))
    >>> bool(frame.low[0] <= 1.0 <= frame.high[0])
    True
    """
    check_bits(reports, "Robust supports")
    fraction = 0.0 if dishonest == 0 else check_limits("dishonest", dishonest, above=0.0, most=MOST_DISHONEST)
    level = check_between("level", level, 0, 1)
    n_dishonest = int(fraction * len(reports))
    starts, order = _groups(len(reports), n_dishonest, Secure() if rng is None else check_randomness(rng))
    repeats = reports.plan.unit.reports
    rank = _rank(len(starts), n_dishonest, level) if repeats == 1 else 0
    rows = []
    for labels in itemsets:
        itemset = reports.domain.itemset(check_not_text(labels))
        if len(itemset) > LARGEST:
            raise DataError(f"Robust supports are those of itemsets of at most {LARGEST} items, got {len(itemset)}.")
        weights = report_weights(reports, itemset)
        means = np.sort(np.add.reduceat(weights[order], starts) / np.diff([*starts.tolist(), len(weights)]))
        influence = reports.channel.influence(len(itemset), reports.plan.unit.max_size)
        width = np.nan if influence is None else influence.width
        shift = np.nan if influence is None else influence.shift(fraction)
        mean, reach = float(weights.mean()), _reach(weights, shift, width, n_dishonest, level, repeats)
        rows.append(
            {
                "itemset": tuple(reports.domain.labels[item] for item in itemset),
                "support": mean,
                "shift": shift,
                "robust": float(np.clip(np.median(means), mean - reach, mean + reach)),
                "low": mean - reach,
                "high": mean + reach,
                "median_low": float(means[rank - 1]) if rank else -np.inf,
                "median_high": float(means[-rank]) if rank else np.inf,
                "groups": len(means),
            }
        )
    return pd.DataFrame(rows, columns=_COLUMNS)


def _reach(weights: Floats, shift: float, width: float, k: int, level: float, repeats: int = 1) -> float:
    """How far the support lies from the mean of all weights at most; infinite where no shift is known.

    A person whose r reports are alike brings r^2 times the variance of one: r times that of r reports.
    """
    if np.isnan(shift):
        return np.inf
    n = len(weights)
    variance = repeats * float(np.square(weights - weights.mean()).sum()) / (n - k)
    seldom = repeats * width * np.log(2 / (1 - level)) / n
    return float(shift + norm.ppf((1 + level) / 2) * np.sqrt(variance / n) + seldom)


def check_bits(reports: Reports, what: str) -> None:
    """Refuse what is not reports of packed bits, one at least."""
    if not isinstance(reports, Reports) or not isinstance(reports.channel.payload, PackedBits):
        raise DataError(f"{what} are those of reports of packed bits.")
    if not len(reports):
        raise DataError("There are no reports.")


def shown_patterns(reports: Reports, itemset: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """What each report shows of an itemset: bit j stands for its j-th item."""
    patterns = np.zeros(len(reports), np.int64)
    for place, item in enumerate(itemset):
        shown = (reports.bits[:, item // 64] >> np.uint64(item % 64)) & np.uint64(1)
        patterns |= shown.astype(np.int64) << place
    return patterns


def report_weights(reports: Reports, itemset: tuple[int, ...]) -> Floats:
    """The weight of each report for an itemset: their mean is the estimated support."""
    rows = np.array([itemset], np.int32)
    patterns = shown_patterns(reports, itemset)
    strata = reports.strata
    if strata is None:
        return np.asarray(reports.channel.weights(rows)[0][patterns], np.float64)
    weights = np.empty(len(reports))
    for stratum in np.unique(strata).tolist():
        at = strata == stratum
        weights[at] = reports.channel.weights(rows, stratum)[0][patterns[at]]
    return weights


def _groups(n: int, k: int, rng: Randomness) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Where each group begins, and who stands where, in a random order."""
    n_groups = min(n, max(_LEAST_GROUPS, _GROUPS * k))
    order = np.argsort(rng.stream().words(n), kind="stable")
    return np.linspace(0, n, n_groups, endpoint=False).astype(np.int64), order


def _rank(n_groups: int, k: int, level: float) -> int:
    """The largest r with Pr(Bin(g - k, 1/2) < r) <= (1 - level) / 2; 0 where there is none."""
    honest = n_groups - k
    chances = binom.cdf(np.arange(honest + 1), honest, 0.5)  # at r - 1
    return int(np.searchsorted(chances, (1 - level) / 2, side="right"))
