"""What a curator publishes: noisy supports with intervals, the parameters, and what was paid."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.curator.levels import NoisyLevel
from bosket.curator.loss import maximal_support
from bosket.curator.prepared import Prepared
from bosket.curator.rule_intervals import Ends
from bosket.data import Domain
from bosket.data.domain import as_objects
from bosket.errors import DataError
from bosket.evidence import Provenance
from bosket.privacy.central import CentralGuarantee
from bosket.statistics.estimates import Floats, normal_quantile

if TYPE_CHECKING:
    from bosket.mining.rules import RuleTemplate


@dataclass(frozen=True, eq=False)
class Release:
    """Itemsets found under differential privacy, as ``FrequentItemsets`` has them.

    All of it may be published; nothing in it is exact.
    """

    domain: Domain
    prepared: Prepared
    """What was measured first: lengths, limit, how large frequent itemsets get."""
    levels: tuple[NoisyLevel, ...]
    """The frequent itemsets by size."""
    about: dict[str, Any]
    """Epsilon and its parts, neighbours, parameters, the entries in the ledger, version, as plain values."""

    @property
    def n_records(self) -> int:
        """The noisy number of records."""
        return max(self.prepared.lengths.total, 1)

    @property
    def guarantee(self) -> CentralGuarantee:
        """What was promised; ``print(release.guarantee)`` shows the card."""
        about = self.about
        return CentralGuarantee(
            about["mechanism"], about["epsilon"], about["neighbours"], tuple(about["parts"].items())
        )

    @property
    def provenance(self) -> Provenance:
        """Mechanism, guarantee and randomness behind the release."""
        return Provenance(mechanism=self.about["mechanism"], guarantee=self.guarantee, randomness="secure")

    @property
    def sizes(self) -> dict[int, int]:
        """How many itemsets there are of each size."""
        return {level.items.shape[1]: len(level.items) for level in self.levels if len(level.items)}

    def __len__(self) -> int:
        return sum(self.sizes.values())

    def __iter__(self) -> Iterator[tuple[frozenset[Hashable], float]]:
        """Itemsets with their estimated supports, the most frequent first."""
        return iter(self._supports.items())

    def __contains__(self, itemset: object) -> bool:
        """Whether an itemset, given by its labels, was released."""
        try:
            return isinstance(itemset, Iterable) and frozenset(itemset) in self._supports
        except TypeError:  # not hashable
            return False

    def support(self, itemset: Iterable[Hashable]) -> float:
        """The estimated support of an itemset that was released."""
        name = self.domain.name(self.domain.itemset(itemset))
        if name in self._supports:
            return self._supports[name]
        raise DataError(
            "The itemset asked for is not among those released, which does not say that it is not frequent."
        )

    @cached_property
    def _supports(self) -> dict[frozenset[Hashable], float]:
        frame = self.to_frame()
        return dict(zip(frame["itemsets"], frame["support"].tolist(), strict=True))

    @cached_property
    def names(self) -> list[frozenset[Hashable]]:
        """The itemsets by label, smallest first."""
        return [self.domain.name(row) for level in self.levels for row in level.items.tolist()]

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """One row per itemset, the most frequent first.

        support     estimated share of the records: what to expect behind the noisy count, within the interval; of
                    single items also what truncation at random took, give or take a tenth where few records are
                    long.  Not so of larger itemsets: theirs are too small where records are long
        itemsets    frozenset of labels
        size        number of items
        low, high   interval at ``level``: the noise of the count and of the number of records, and that of many
                    candidates the luckiest are shown (of the intervals shown, 5% are expected to miss; Benjamini and
                    Yekutieli 2005).  Truncation can only lower a support, so the low end needs no correction; the
                    high end allows for the loss when records are cut at random.  An interval is that of its own count:
                    the largest low end of many supersets would be that of the luckiest, and miss far more often
        noisy       the noisy share of truncated records, as it was drawn
        consistent  ``support`` made consistent: not negative, and no larger than that of any subset
        """
        normal_quantile(level)
        failure = (1 - level) / 2  # half of what may fail for the count, half for the number of records
        ends = self._ends([failure * len(part.items) / part.n_candidates for part in self.levels], failure)
        support = (_join([part.average for part in self.levels]) / self.n_records).clip(ends.low, ends.high)
        sizes = [np.full(len(part.items), part.items.shape[1]) for part in self.levels]
        frame = pd.DataFrame(
            {
                "support": support,
                "itemsets": as_objects(self.names),
                "size": _join(sizes).astype(np.int64),
                "low": ends.low,
                "high": ends.high,
                "noisy": _join([part.noisy for part in self.levels]) / self.n_records,
                "consistent": np.maximum(_capped(self.names, support), 0.0),
            }
        )
        frame = frame.iloc[np.argsort(-support, kind="stable")].reset_index(drop=True)
        frame.attrs["about"] = {**self.about, "level": level}
        return frame

    @cached_property
    def consistent(self) -> Floats:
        """The supports made consistent, in the order of ``names``."""
        frame = self.to_frame()
        known = dict(zip(frame["itemsets"], frame["consistent"].tolist(), strict=True))
        return np.array([known[name] for name in self.names], float)

    def ends_at_once(self, level: float) -> Ends:
        """Intervals of all supports that hold at once with a probability of at least ``level``, in the order of
        ``names``; by Bonferroni over all candidates of all sizes and the number of records.

        Since all hold, no low end is below that of a superset, and no high end above that of a subset.  Of every size
        all candidates are counted in, released or not, so it does not matter which were chosen.
        """
        normal_quantile(level)
        failure = (1 - level) / (self.prepared.largest + 1)
        ends, names = self._ends([failure / part.n_candidates for part in self.levels], failure), self.names
        highest = _capped(names, ends.high)
        lowest = -_capped(names[::-1], -ends.low[::-1], up=True)[::-1]
        return Ends(lowest, np.maximum(lowest, highest))  # a lucky superset may say more than a subset allows

    def _ends(self, failures: list[float], of_total: float) -> Ends:
        """Intervals of supports, where each count of a size may fail with one probability, and the number of records.

        Pr(|z| > reach) < exp(-reach / scale) for the noise z of a count.
        """
        total = math.ceil(self.prepared.lengths.scale_of_total * math.log(1 / of_total))
        low, high = [], []
        for part, failure in zip(self.levels, failures, strict=True):
            reach = math.ceil(part.scale * math.log(1 / failure)) if failure else 0
            above = maximal_support(np.maximum(part.noisy + reach, 0), part.kept, 1 / part.scale)
            low.append((part.noisy - reach) / (self.n_records + total))
            high.append(np.maximum(above, part.noisy + reach) / max(self.n_records - total, 1.0))
        lowest, highest = _join(low), np.minimum(_join(high), 1.0)
        return Ends(lowest, np.maximum(lowest, highest))

    def rules(
        self,
        *,
        metric: str = "confidence",
        min_threshold: float = 0.8,
        measures: str | Iterable[str] | None = None,
        template: RuleTemplate | None = None,
        top: int | None = None,
        sort_by: str = "low",
        level: float = 0.95,
        max_rules: int = 1_000_000,
    ) -> pd.DataFrame:
        """Association rules among the itemsets released, with intervals; nothing is looked at again, and nothing paid.

        metric, min_threshold  which measure must reach which value: one of mlxtend's ten, by any of its names
        measures               the measures to give; mlxtend's ten unless named
        template               a :class:`bosket.RuleTemplate`: items and sizes allowed on either side
        top                    at most this many, the best
        sort_by                "low", the low end of the metric's interval, the surest first; or "estimate"
        level                  of the intervals
        max_rules              refuse to make more

        Columns: mlxtend's names, and for each measure m the ends m_low and m_high.  Values are those of the
        ``consistent`` supports.  With a probability of at least ``level`` the intervals of the supports of *all*
        candidates hold at once, so it does not matter which rules were chosen; m_low and m_high are the least and the
        largest value that the measure has within them (:mod:`bosket.curator.rule_intervals`).  The low ends of supports
        hold whatever was cut from records; the high ends allow for what truncation at random takes, as in ``to_frame``,
        and no more.
        """
        from bosket.curator.rules import RuleQuery, rules_of

        return rules_of(self, RuleQuery(metric, min_threshold, measures, template, top, sort_by, level, max_rules))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} of size {size}" for size, count in self.sizes.items()) or "none"
        return f"Release({sizes}; epsilon {self.about['epsilon']:g}, about {self.n_records:,} records)"


def _join(parts: list[npt.NDArray[Any]]) -> Floats:
    return np.concatenate(parts).astype(float) if parts else np.empty(0)


def _capped(names: list[frozenset[Hashable]], values: Floats, *, up: bool = False) -> Floats:
    """Smallest sets first: at most what each subset that is one smaller got.

    ``up``, largest sets first: at most what each superset that is one larger got.
    """
    known = dict(zip(names, values.tolist(), strict=True))
    for name in names:
        for part in map(frozenset, combinations(name, len(name) - 1)):
            if part in known:
                low, high = (name, part) if up else (part, name)
                known[high] = min(known[high], known[low])
    return np.array([known[name] for name in names], float)
