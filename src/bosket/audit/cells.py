"""Reports that no honest people could have sent together: a share of people estimated far below nothing.

Whoever picks reports so that an itemset A gains most makes all of them show A.  Each looks like an honest report.  But
what all reports show of A has a law, and honest people, whatever their records, have laws of one kind only: mixtures of
the rows of the channel.  Read back, such a mixture gives a share of people for each *cell*, a choice of items of A that
people have and others that they lack, and no share is below 0.  With w_x the weights of a cell (their mean over the
reports is its estimated share; w_x by inclusion and exclusion from the weights of subsets),

    E[w_x given a record] = 1 if the record shows x of A, else 0,

so that under honesty a mean far below 0 comes by chance alone.  How far, for whatever records: let n be the number of
reports, r the number that one person may send, q_y the mean probability of pattern y (and of its stratum), p_y how
often it came.  By Chernoff, and since ln is concave, q_y <= U_y for all y but for a chance of beta / 2, where
(n / r) KL(p_y, U_y) = ln(2 P / beta), P patterns; and for every u > 0

    Pr(mean w_x <= -s) <= exp((n / r) (ln(1 + sum_y q_y g(u w_y)) - u s)),    g(z) = exp(-z) - 1 + z >= 0,

since ln E exp(-u w) = ln(1 - u E w + E g(u w)) and E w >= 0.  With U for q the right side is known.  (Reports of one
person may depend on each other: by Hoelder's inequality r of them count as one.)  beta is ``level`` over all itemsets
of the domain that have this size, over all sizes and over the ways of putting reports together: whichever itemsets are
looked at, and however they were found, an honest study is flagged with probability ``level`` at most.

Cells are all there is to see of A: the laws of honest reports are the simplex that their signs bound.  A poisoned law
in which every cell is 0 or more *is* that of some honest people, and nobody can tell it from theirs
(docs/theory/poisoning.md); what it can do to a support is :func:`bosket.audit.poisoning`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.audit.medians import check_bits, shown_patterns
from bosket.checks import check_between, check_not_text
from bosket.errors import DataError
from bosket.mechanisms import RecordChannel
from bosket.mechanisms.channels import Channel
from bosket.mechanisms.cut import StatingChannel
from bosket.reports import Reports
from bosket.statistics.estimates import Floats

LARGEST = 6
"""Items of the largest itemsets that are looked at."""
_COLUMNS = ["itemset", "present", "absent", "share", "stderr", "chance", "is_flagged"]
_TILTS = np.geomspace(1e-4, 30.0, 160)
"""Times the largest weight below 0: every one gives a bound that holds."""
_WORTH = 3.0  # standard errors below 0 from which on a bound is worked out: nearer ones are never flagged


def contradictions(reports: Reports, itemsets: Iterable[Iterable[Hashable]], *, level: float = 1e-6) -> pd.DataFrame:
    """Whether some share of people is estimated so far below 0 that no honest people make it plausible.

    itemset          its labels
    present, absent  the cell that is furthest below 0: the items that its people have, and those that they lack
    share            the estimated share of these people
    stderr           its standard error
    chance           a bound on the probability that any itemset at all shows as much, if all people are honest; no
                     bound below ``level`` is given
    is_flagged       whether that is ``level`` or less

    Of packed bits read by sums of weights, and of itemsets of at most six items of different attributes.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.6))
    >>> honest = plan.randomize(bk.Baskets([[]] * 60_000, items=["a", "b", "c"]), rng=bk.Seeded(1))
    >>> bk.audit.contradictions(honest, [{"a", "b", "c"}]).is_flagged.tolist()
    [False]
    """
    check_bits(reports, "Contradictions")
    channel = reports.channel
    if channel.belong_together or not isinstance(channel, RecordChannel | StatingChannel):
        raise DataError("Contradictions are those of reports that each person makes alone, read by sums of weights.")
    level = check_between("level", level, 0, 1)
    strata = _Strata.of(reports)
    rows = [_row(reports, strata, reports.domain.itemset(check_not_text(labels)), level) for labels in itemsets]
    return pd.DataFrame(rows, columns=_COLUMNS)


@dataclass(frozen=True)
class _Strata:
    """The strata of reports, and which one each is of; without any there is one, which has no name."""

    names: list[int | None]
    place: npt.NDArray[np.intp] | None = None

    @classmethod
    def of(cls, reports: Reports) -> _Strata:
        if reports.strata is None:
            return cls([None])
        channel = reports.channel
        if isinstance(channel, StatingChannel) and not isinstance(channel, RecordChannel):
            least = channel.least_stratum  # coins decide what is stated: what nobody stated might have come as well
            return cls(list(range(least, channel.stated.longest + 1)), (reports.strata - least).astype(np.intp))
        names, place = np.unique(reports.strata, return_inverse=True)
        return cls(names.tolist(), place)

    def counts(self, patterns: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
        """How many reports of each stratum show each pattern."""
        at = patterns if self.place is None else self.place * (1 << size) + patterns
        return np.bincount(at, minlength=len(self.names) << size).reshape(len(self.names), -1)


def _row(reports: Reports, strata: _Strata, itemset: tuple[int, ...], level: float) -> dict[str, object]:
    size, groups = len(itemset), reports.domain.groups
    if not 1 <= size <= LARGEST:
        raise DataError(f"Contradictions are looked for in itemsets of 1 to {LARGEST} items, got {size}.")
    if groups is not None and len({int(groups[item]) for item in itemset}) < size:
        raise DataError("Contradictions are looked for in itemsets of items of different attributes.")
    counts = strata.counts(shown_patterns(reports, itemset), size)
    weights = np.stack([cell_weights(reports.channel, itemset, stratum) for stratum in strata.names], axis=1)
    parts = [slice(None)]
    if len(strata.names) > 1 and isinstance(reports.channel, RecordChannel):  # then the record settles its stratum
        parts += [slice(at, at + 1) for at in range(len(strata.names))]
    tests = LARGEST * math.comb(len(reports.domain), size) * len(parts)
    cells = [
        _worst(counts[part].ravel(), weights[:, part].reshape(1 << size, -1), reports.plan.unit.reports, level / tests)
        for part in parts
    ]
    cell, share, stderr, chance = min(
        cells, key=lambda one: (one[3], one[1] / one[2] if one[2] else math.copysign(math.inf, one[1]))
    )
    labels = [reports.domain.labels[item] for item in itemset]
    found = min(1.0, max(level, chance * tests))  # frequencies are bounded but for a chance of half the level
    return {
        "itemset": tuple(labels),
        "present": tuple(label for at, label in enumerate(labels) if cell >> at & 1),
        "absent": tuple(label for at, label in enumerate(labels) if not cell >> at & 1),
        "share": share,
        "stderr": stderr,
        "chance": found,
        "is_flagged": found <= level,
    }


def cell_weights(channel: Channel, itemset: tuple[int, ...], stratum: int | None) -> Floats:
    """w[x, y]: the weight of a report that shows pattern y in the share of people whose record shows pattern x.

    Their sum over the cells that hold A is the weight of A, so w_x = sum over A that hold x of (-1)^|A - x| w_A.
    """
    size = len(itemset)
    rows = np.array([itemset], np.int32)
    found = np.empty((1 << size, 1 << size))
    found[0] = 1.0
    for mask in range(1, 1 << size):
        found[mask] = channel.subset_weights(rows, mask, stratum)[0]
    for item in range(size):
        without = [mask for mask in range(1 << size) if not mask >> item & 1]
        found[without] -= found[[mask | 1 << item for mask in without]]
    return found


def _worst(
    counts: npt.NDArray[np.int64] | Floats, weights: Floats, repeats: int, beta: float
) -> tuple[int, float, float, float]:
    """The cell that is least plausible: its number, share, standard error, and a bound on its chance."""
    n = int(counts.sum())
    if not n:
        return 0, 0.0, 0.0, 1.0
    often = counts / n
    shares = weights @ often
    errors = np.sqrt(np.maximum(np.square(weights) @ often - np.square(shares), 0.0) / n)
    alike = np.where(shares < 0, -np.inf, 0.0)  # where all reports weigh the same
    scores = np.divide(shares, errors, out=alike, where=errors > 0)
    at = int(np.argmin(scores))
    worst = (at, float(shares[at]), float(errors[at]), 1.0)
    alone = n / repeats
    most = upper_bounds(often, alone, math.log(2 * len(counts) / beta))
    for cell in np.flatnonzero(scores < -_WORTH).tolist():
        chance = 2 * len(weights) * math.exp(min(0.0, log_tail(weights[cell], most, float(shares[cell]), alone)))
        if chance < worst[3]:
            worst = (cell, float(shares[cell]), float(errors[cell]), chance)
    return worst


def upper_bounds(often: Floats, n: float, needed: float) -> Floats:
    """The largest q with n KL(often, q) <= needed, for each frequency, rounded up: by halving."""
    low, high = often.astype(float), np.ones(len(often))
    for _ in range(60):
        middle = (low + high) / 2
        is_inside = n * _divergence(often, middle) <= needed
        low, high = np.where(is_inside, middle, low), np.where(is_inside, high, middle)
    return high


def _divergence(p: Floats, q: Floats) -> Floats:
    """KL of two coins, p <= q."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0, p * np.log(p / q), 0.0)
        tails = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(heads + tails)


def log_tail(weights: Floats, most: Floats, share: float, n: float) -> float:
    """ln of the bound on the probability that the mean of weights is ``share`` < 0 or less, the best of the tilts."""
    tilts = _TILTS / -weights.min()
    steps = tilts[:, None] * weights
    grown = (np.expm1(-steps) + steps) @ most
    return float((n * (np.log1p(grown) + tilts * share)).min())
