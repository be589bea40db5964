"""What a curator publishes: noisy supports with intervals, the parameters, and what was paid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.counting.base import ItemsetRows
from bosket.curator.rule_intervals import Ends, EndsOfRules, WithinSupports
from bosket.data import Domain
from bosket.data.domain import as_objects
from bosket.errors import DataError
from bosket.evidence import Provenance
from bosket.privacy.central import CentralGuarantee
from bosket.privacy.guarantee import rounded_up
from bosket.progress import Progress
from bosket.statistics.estimates import Floats

if TYPE_CHECKING:
    from bosket.mining.rules import RuleTemplate


@dataclass(frozen=True, eq=False, repr=False)
class Release(ABC):
    """Itemsets found under differential privacy, as ``FrequentItemsets`` has them.

    All of it may be published; nothing in it is exact.  Every method of the curator has a kind of its own.
    """

    domain: Domain
    about: dict[str, Any]
    """Epsilon and its parts, neighbours, parameters, the entries in the ledger, version, as plain values."""

    intervals: ClassVar[str]
    """What intervals of rules promise."""

    @property
    @abstractmethod
    def n_records(self) -> int:
        """The noisy number of records."""

    @property
    @abstractmethod
    def rows(self) -> list[ItemsetRows]:
        """The itemsets by size, as numbers of items."""

    @abstractmethod
    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """One row per itemset, the most frequent first: ``support``, ``itemsets``, ``size``, ``low``, ``high``,
        ``noisy``, ``consistent``, and what else a method has.
        """

    @abstractmethod
    def ends_at_once(self, level: float) -> Ends:
        """Intervals of all supports that hold at once with a probability of at least ``level``, by ``names``."""

    def ends_of_rules(self, level: float, *, on_progress: Progress | None = None) -> EndsOfRules:
        """Intervals of measures of rules: the least and largest value that supports within intervals, which all hold
        at once, let them have; a kind of release may have better ones.
        """
        return WithinSupports(self.consistent, self.ends_at_once(level))

    @property
    def guarantee(self) -> CentralGuarantee:
        """What was promised; ``print(release.guarantee)`` shows the card."""
        about = self.about
        return CentralGuarantee(
            about["mechanism"],
            about["epsilon"],
            about["neighbours"],
            tuple(about["parts"].items()),
            tuple(about["guarantee"]["not_covered"]),
            delta=about.get("delta", 0.0),
            max_records_per_person=about.get("max_records_per_person"),
        )

    @property
    def provenance(self) -> Provenance:
        """Mechanism, guarantee and randomness behind the release."""
        return Provenance(mechanism=self.about["mechanism"], guarantee=self.guarantee, randomness="secure")

    @property
    def sizes(self) -> dict[int, int]:
        """How many itemsets there are of each size."""
        return {part.shape[1]: len(part) for part in self.rows if len(part)}

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
        return [self.domain.name(row) for part in self.rows for row in part.tolist()]

    @cached_property
    def consistent(self) -> Floats:
        """The supports made consistent, in the order of ``names``."""
        frame = self.to_frame()
        known = dict(zip(frame["itemsets"], frame["consistent"].tolist(), strict=True))
        return np.array([known[name] for name in self.names], float)

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
        on_progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Association rules among the itemsets released, with intervals; nothing is looked at again, and nothing paid.

        metric, min_threshold  which measure must reach which value: one of mlxtend's ten, by any of its names
        measures               the measures to give; mlxtend's ten unless named
        template               a :class:`bosket.RuleTemplate`: items and sizes allowed on either side
        top                    at most this many, the best
        sort_by                "low", the low end of the metric's interval, the surest first; or "estimate"
        level                  of the intervals
        max_rules              refuse to make more
        on_progress            called with a :class:`~bosket.progress.LevelProgress`: some hundred thousand rules of the
                               sieve take minutes

        Columns: mlxtend's names, and for each measure m the ends m_low and m_high.  Values are those of the
        ``consistent`` supports.  ``frame.attrs["about"]["intervals"]`` says what the intervals promise.

        Of the sieve, an interval is that of joint draws from the posterior of all supports, for each rule by itself.
        Of truncation: with a probability of at least ``level`` the intervals of the supports of *all*
        candidates hold at once, so it does not matter which rules were chosen; m_low and m_high are the least and the
        largest value that the measure has within them (:mod:`bosket.curator.rule_intervals`).  The low ends of supports
        hold whatever was cut from records; the high ends allow for what truncation at random takes, as in ``to_frame``,
        and no more.
        """
        from bosket.curator.rules import RuleQuery, rules_of

        query = RuleQuery(metric, min_threshold, measures, template, top, sort_by, level, max_rules)
        return rules_of(self, query, on_progress)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} of size {size}" for size, count in self.sizes.items()) or "none"
        return f"Release({sizes}; epsilon {rounded_up(self.about['epsilon'], 6)}, about {self.n_records:,} records)"


def frame_of(release: Release, support: Floats, columns: dict[str, Any], *, level: float) -> pd.DataFrame:
    """Rows in the order of ``names``, with supports made consistent beside them, the most frequent first."""
    sizes = [np.full(len(part), part.shape[1]) for part in release.rows]
    frame = pd.DataFrame(
        {
            "support": support,
            "itemsets": as_objects(release.names),
            "size": joined(sizes).astype(np.int64),
            **columns,
            "consistent": np.maximum(capped(release.names, support), 0.0),
        }
    )
    frame = frame.iloc[np.argsort(-support, kind="stable")].reset_index(drop=True)
    frame.attrs["about"] = {**release.about, "level": level}
    return frame


def joined(parts: list[npt.NDArray[Any]]) -> Floats:
    return np.concatenate(parts).astype(float) if parts else np.empty(0)


def capped(names: list[frozenset[Hashable]], values: Floats, *, up: bool = False) -> Floats:
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
