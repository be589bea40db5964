"""What a curator's release will say, before the records are looked at.

There is no formula for it: what a round measures follows from what the round before said.  So releases are rehearsed on
records that are public or simulated, by the program that will release, with its rounds, bounds and noise; and what is
foreseen of an itemset of k items and support s is what came out for those of that size whose supports are nearest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from bosket.checks import check_between, check_fraction, check_integer, check_probability
from bosket.planning.releases.asked import Curator
from bosket.planning.releases.rehearsals import BELOW, Rehearsed
from bosket.privacy.central import CentralGuarantee
from bosket.statistics.estimates import Floats

_WITHIN = 1.25  # itemsets whose errors are pooled: within this factor of a support, nearer ones the more
_OFTEN = 0.25  # of the releases: what is released less often is there by luck, and its errors are those of luck
_RULES = 60  # rules whose errors are pooled
_LOOKED_AT = 200  # itemsets that they are made of

ItemsetPlaces = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReleaseForesight:
    """What a release of so many records will say, by rehearsals.

    Itemsets are given by their number of items and their support, a fraction.  Errors are those of ``support`` of a
    release over repetitions, of itemsets that are released; that of drawing people is not part: a release is about the
    records that there are.
    """

    curator: Curator
    people: int
    rehearsed: Rehearsed
    is_simulated: bool
    """Whether the records were simulated, from their sizes alone; those of a pilot otherwise."""
    _curves: dict[int, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)

    @property
    def guarantee(self) -> CentralGuarantee | None:
        """What the release promises; None where it would be refused, as only noise would be said."""
        return self.rehearsed.guarantee

    def stderr(self, itemset_size: int, support: float) -> float:
        """The standard deviation of the released support over releases; infinite where no such itemset is released."""
        found, weights = self._nearest(itemset_size, support)
        if not len(found):
            return math.inf
        return math.sqrt(float(weights @ np.nanvar(self.rehearsed.said[found], axis=1, ddof=1)))

    def bias(self, itemset_size: int, support: float) -> float:
        """How far released supports are off on average, of itemsets that are alike: with a sign.

        Long records tell less of each itemset, and those near the limit are released where noise lifts them.
        """
        found, weights = self._nearest(itemset_size, support)
        if not len(found):
            return math.nan
        return float(weights @ (np.nanmean(self.rehearsed.said[found], axis=1) - self.rehearsed.support[found]))

    def error(self, itemset_size: int, support: float) -> float:
        """The root mean square error over itemsets that are alike and over releases."""
        found, weights = self._nearest(itemset_size, support)
        if not len(found):
            return math.inf
        off = self.rehearsed.said[found] - self.rehearsed.support[found, None]
        return math.sqrt(float(weights @ np.nanmean(off**2, axis=1)))

    def chance(self, itemset_size: int, support: float) -> float:
        """The probability that such an itemset is released: never falling as the support grows.

        Not a number where the records that were rehearsed on have no itemset of so many items.
        """
        k, share = check_integer("itemset_size", itemset_size, least=1), check_probability("support", support)
        supports, chances = self._curve(k)
        if not len(supports):
            return math.nan
        if share < min(BELOW * self.curator.min_support, float(supports[0])):
            return 0.0
        return float(np.interp(share, supports, chances))

    def lowest_support(self, itemset_size: int, *, probability: float = 0.9) -> float:
        """The least support that is released with this probability; infinite where none is."""
        least = check_between("probability", probability, 0, 1)
        supports, chances = self._curve(check_integer("itemset_size", itemset_size, least=1))
        reached = np.flatnonzero(chances >= least)
        if not len(reached):
            return math.inf
        at = int(reached[0])
        if at == 0 or chances[at] == chances[at - 1]:
            return float(supports[at])
        part = (least - chances[at - 1]) / (chances[at] - chances[at - 1])
        return float(supports[at - 1] + part * (supports[at] - supports[at - 1]))

    def deepest(self, support: float, *, probability: float = 0.9) -> int:
        """The largest size of itemsets of which such a support is released with this probability; 0 for none."""
        limit = check_fraction("support", support)
        size = 0
        while self.lowest_support(size + 1, probability=probability) <= limit:
            size += 1
        return size

    def power(
        self, antecedents: int, consequents: int, *, support: float, confidence: float, min_confidence: float
    ) -> float:
        """The probability that a rule is listed whose antecedent has ``support`` and that holds with ``confidence``.

        It is listed where both sides together are released, and the confidence of what is released reaches
        ``min_confidence``: the first by :meth:`chance`, the second by a normal law with the errors of rules that are
        alike.  Not a number where there are none.
        """
        a, b = check_integer("antecedents", antecedents, least=1), check_integer("consequents", consequents, least=1)
        both = check_fraction("support", support) * check_probability("confidence", confidence)
        least = check_probability("min_confidence", min_confidence)
        off = self._errors_of_rules(a, a + b, both, confidence)
        released = self.chance(a + b, both)
        if math.isnan(released) or released == 0.0:
            return released
        if len(off) < 2:
            return math.nan
        away = confidence + float(off.mean()) - least
        return released * float(ndtr(away / max(float(off.std(ddof=1)), 1e-12)))

    def mistakes(self) -> pd.DataFrame:
        """By size: itemsets that are frequent, missed and listed by mistake, means over releases with their errors."""
        return self.rehearsed.mistakes()

    @property
    def f(self) -> float:
        """The mean F of releases: 2 hits / (released + frequent)."""
        return float(self.rehearsed.scores.mean())

    def to_frame(self, supports: Iterable[float], *, max_size: int = 3) -> pd.DataFrame:
        """A row for each size of itemsets and support: stderr, bias, the chance to be released, and the least support
        that is released nine times in ten.
        """
        rows = [
            {
                "size": k,
                "support": support,
                "stderr": self.stderr(k, support),
                "bias": self.bias(k, support),
                "chance": self.chance(k, support),
                "lowest_support": self.lowest_support(k),
            }
            for support in supports
            for k in range(1, check_integer("max_size", max_size, least=1) + 1)
        ]
        frame = pd.DataFrame(rows, columns=["size", "support", "stderr", "bias", "chance", "lowest_support"])
        return frame.sort_values(["size", "support"], kind="stable", ignore_index=True)

    def __str__(self) -> str:
        of = "simulated records" if self.is_simulated else "records of a pilot"
        lines = [f"{self.curator}: {self.rehearsed.n_releases} releases of {self.people:,} {of}, F {self.f:.2f}"]
        for k in (1, 2, 3):
            lowest = self.lowest_support(k)
            seen = "none is released" if math.isinf(lowest) else f"supports from {lowest:.2%} on are released"
            lines.append(f"  {k} item{'s' if k > 1 else ''}: {seen}")
        if not self.is_simulated:
            lines.append("  what is said of a pilot is not protected: its records must be public")
        return "\n".join(lines)

    def _nearest(self, itemset_size: int, support: float) -> tuple[ItemsetPlaces, Floats]:
        """Itemsets of the size that were released often enough, and weights that fall with the ratio of supports.

        A normal weight of ln(ratio), of which two standard deviations are the factor 1.25; never none, since it counts
        from the nearest.  Errors grow with the support, so that a plain mean of some neighbours would be too small for
        the most frequent itemset, which has neighbours on one side alone.
        """
        k, share = check_integer("itemset_size", itemset_size, least=1), check_fraction("support", support)
        places = self.rehearsed.places(k)
        often = self.rehearsed.released[places].sum(axis=1) >= max(2, _OFTEN * self.rehearsed.n_releases)
        places = places[often]
        away = np.log(self.rehearsed.support[places] / share) / (math.log(_WITHIN) / 2)
        weights = np.exp((np.min(away**2, initial=np.inf) - away**2) / 2)
        return places, weights / weights.sum() if len(weights) else weights

    def _curve(self, k: int) -> tuple[Floats, Floats]:
        """Supports of itemsets of the size, rising, and how often those are released: the nearest rising numbers."""
        if k not in self._curves:
            places = self.rehearsed.places(k)
            order = places[np.argsort(self.rehearsed.support[places], kind="stable")]
            supports, numbers = np.unique(self.rehearsed.support[order], return_counts=True)
            starts = np.concatenate([[0], np.cumsum(numbers)[:-1]]).astype(np.int64)
            often = self.rehearsed.released[order].mean(axis=1)
            shares = np.add.reduceat(often, starts) / numbers if len(order) else np.empty(0)
            fitted = isotonic_regression(shares, weights=numbers).x if len(order) else shares
            self._curves[k] = supports, np.asarray(fitted)
        return self._curves[k]

    def _errors_of_rules(self, a: int, k: int, support: float, confidence: float) -> Floats:
        """Errors of the confidence of rules of these sizes, those whose support and confidence are nearest."""
        known = {name: place for place, name in enumerate(self.rehearsed.names)}
        supports, said = self.rehearsed.support, self.rehearsed.said
        rules = []
        for whole in self._near(k, support).tolist():
            for left in combinations(self.rehearsed.names[whole], a):
                place = known.get(frozenset(left))
                if place is not None:
                    truth = supports[whole] / supports[place]
                    away = abs(math.log(supports[whole] / support)) + abs(truth - confidence)
                    rules.append((away, whole, place, truth))
        rules.sort()
        parts = [said[whole] / said[place] - truth for _, whole, place, truth in rules[:_RULES]]
        every = np.concatenate([np.empty(0), *parts])
        return np.asarray(every[np.isfinite(every)])

    def _near(self, k: int, support: float) -> ItemsetPlaces:
        places = self.rehearsed.places(k)
        away = np.abs(np.log(self.rehearsed.support[places] / max(support, 1e-300)))
        return places[np.argsort(away, kind="stable")[:_LOOKED_AT]]
