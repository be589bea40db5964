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
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

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
_MOST_STRATA = 64
"""Strata that are looked at one by one, beside all together: those with most reports, which no coin decides."""
_MOST_WEIGHTS = 1 << 24
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
    look = _Look(reports, _Strata.of(reports), level)
    rows = [look.row(reports.domain.itemset(check_not_text(labels))) for labels in itemsets]
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


@dataclass(frozen=True, eq=False)
class _Look:
    """A look at reports: weights of cells are worked out once for all itemsets that have the same."""

    reports: Reports
    strata: _Strata
    level: float
    _known: dict[tuple[int, ...] | int, Floats] = field(default_factory=dict)

    def row(self, itemset: tuple[int, ...]) -> dict[str, object]:
        size, reports, level = len(itemset), self.reports, self.level
        self._check(itemset)
        counts = self.strata.counts(shown_patterns(reports, itemset), size)
        weights = self._weights(itemset)
        parts = [slice(None), *self._apart(counts)]
        tests = LARGEST * math.comb(len(reports.domain), size) * len(parts)
        means = [_Means.of(counts[part].ravel(), weights[:, part].reshape(1 << size, -1)) for part in parts]
        cells = _worst(means, reports.plan.unit.reports, level / tests)
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

    def _check(self, itemset: tuple[int, ...]) -> None:
        size, groups = len(itemset), self.reports.domain.groups
        if not 1 <= size <= LARGEST:
            raise DataError(f"Contradictions are looked for in itemsets of 1 to {LARGEST} items, got {size}.")
        if groups is not None and len({int(groups[item]) for item in itemset}) < size:
            raise DataError("Contradictions are looked for in itemsets of items of different attributes.")
        if len(self.strata.names) << 2 * size > _MOST_WEIGHTS:
            raise DataError(
                f"Contradictions in itemsets of {size} items are looked for among fewer strata than "
                f"{len(self.strata.names):,}."
            )

    def _apart(self, counts: npt.NDArray[np.int64]) -> list[slice]:
        """Single strata, where the record settles its stratum."""
        if len(counts) < 2 or not isinstance(self.reports.channel, RecordChannel):
            return []
        largest = np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_STRATA]
        return [slice(at, at + 1) for at in sorted(largest.tolist())]

    def _weights(self, itemset: tuple[int, ...]) -> Floats:
        """By cell, stratum and pattern."""
        channel = self.reports.channel
        kind = len(itemset) if channel.items_alike else itemset
        if kind not in self._known:
            found = [cell_weights(channel, itemset, stratum) for stratum in self.strata.names]
            if not channel.items_alike:
                self._known.clear()  # of the one before
            self._known[kind] = np.stack(found, axis=1)
        return self._known[kind]


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


@dataclass(frozen=True, slots=True)
class _Means:
    """What reports that are put together say of all cells of an itemset."""

    n: int
    often: Floats
    weights: Floats
    shares: Floats
    errors: Floats
    scores: Floats

    @classmethod
    def of(cls, counts: npt.NDArray[np.int64], weights: Floats) -> _Means:
        n = int(counts.sum())
        often = counts / max(n, 1)
        shares = weights @ often
        errors = np.sqrt(np.maximum(np.square(weights) @ often - np.square(shares), 0.0) / max(n, 1))
        alike = np.where(shares < 0, -np.inf, 0.0)  # where all reports weigh the same
        return cls(n, often, weights, shares, errors, np.divide(shares, errors, out=alike, where=errors > 0))

    def cell(self, at: int, chance: float) -> tuple[int, float, float, float]:
        return at, float(self.shares[at]), float(self.errors[at]), chance


def _worst(parts: Sequence[_Means], repeats: int, beta: float) -> list[tuple[int, float, float, float]]:
    """By part, the cell that is least plausible: its number, share, standard error, and a bound on its chance.

    Bounds of frequencies are worked out for all parts together.  Where a part has fewer than ln(2 P / beta) people, a
    bound is 1 - 1 / e or more, whatever was seen, and no chance below beta^0.46 follows from such: it is 1 then.
    """
    found = [part.cell(int(np.argmin(part.scores)), 1.0) for part in parts]
    needed = [math.log(2 * len(part.often) / beta) for part in parts]
    worth = [at for at, part in enumerate(parts) if part.n / repeats >= needed[at] and (part.scores < -_WORTH).any()]
    if not worth:
        return found
    widths = [len(parts[at].often) for at in worth]
    most = upper_bounds(
        np.concatenate([parts[at].often for at in worth]),
        np.repeat([parts[at].n / repeats for at in worth], widths),
        np.repeat([needed[at] for at in worth], widths),
    )
    for at, bounds in zip(worth, np.split(most, np.cumsum(widths)[:-1]), strict=True):
        part = parts[at]
        for cell in np.flatnonzero(part.scores < -_WORTH).tolist():
            log_chance = log_tail(part.weights[cell], bounds, float(part.shares[cell]), part.n / repeats)
            chance = 2 * len(part.weights) * math.exp(min(0.0, log_chance))
            if chance < found[at][3]:
                found[at] = part.cell(cell, chance)
    return found


def upper_bounds(often: Floats, n: Floats | float, needed: Floats | float) -> Floats:
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
