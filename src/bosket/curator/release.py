"""What a curator publishes: noisy supports with intervals, the parameters, and what was paid."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.curator.levels import NoisyLevel
from bosket.curator.loss import maximal_support
from bosket.curator.miner import Plan
from bosket.data import Domain
from bosket.data.domain import as_objects
from bosket.estimates import Floats, normal_quantile


@dataclass(frozen=True, eq=False)
class Release:
    """Itemsets found under differential privacy.  All of it may be published; nothing in it is exact."""

    domain: Domain
    plan: Plan
    levels: tuple[NoisyLevel, ...]
    """The frequent itemsets by size."""
    about: dict[str, Any]
    """Epsilon and its parts, neighbours, parameters, the entries in the ledger, version."""

    @property
    def n_records(self) -> int:
        """The noisy number of records."""
        return max(self.plan.lengths.total, 1)

    @property
    def sizes(self) -> dict[int, int]:
        return {level.items.shape[1]: len(level.items) for level in self.levels if len(level.items)}

    def __len__(self) -> int:
        return sum(self.sizes.values())

    def __iter__(self) -> Iterator[tuple[frozenset[Hashable], float]]:
        """Itemsets with their estimated supports."""
        return iter(self._supports.items())

    def __contains__(self, itemset: object) -> bool:
        return isinstance(itemset, Iterable) and frozenset(itemset) in self._supports

    def support(self, itemset: Iterable[Hashable]) -> float:
        """The estimated support of an itemset; NaN if it was not found frequent, which does not say that it is not."""
        return self._supports.get(frozenset(itemset), math.nan)

    @cached_property
    def _supports(self) -> dict[frozenset[Hashable], float]:
        frame = self.to_frame()
        return dict(zip(frame["itemsets"], frame["support"].tolist(), strict=True))

    @property
    def guarantee(self) -> str:
        """What was promised, in a sentence to quote."""
        relation = {"add-remove": "added or removed", "replace": "put in the place of another"}
        return (
            f"Differentially private with epsilon {self.about['epsilon']:g}: what was published is at most "
            f"{_ratio(self.about['epsilon'])} times as likely with any one record "
            f"{relation[self.about['neighbours']]} as without.  A person with several records is protected for each of "
            "them, not for all together."
        )

    def _names(self, level: NoisyLevel) -> list[frozenset[Hashable]]:
        labels = self.domain.labels
        return [frozenset(labels[item] for item in row) for row in level.items.tolist()]

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """One row per itemset, smallest first.

        support     estimated share of the records: what to expect behind the noisy count, within the interval; of
                    single items also what truncation at random took, give or take a tenth where few records are
                    long.  Not so of larger itemsets: theirs are too small where records are long
        itemsets    frozenset of labels
        size        number of items
        low, high   interval at ``level``: the noise of the count and of the number of records, and that of many
                    candidates the luckiest are shown (of the intervals shown, 5% are expected to miss; Benjamini and
                    Yekutieli 2005).  Truncation can only lower a support, so the low end needs no correction, and
                    is no lower than any superset's; the high end allows for the loss when records are cut at random,
                    and is no higher than any subset's
        noisy       the noisy share of truncated records, as it was drawn
        consistent  ``support`` made consistent: not negative, and no larger than that of any subset
        """
        parts = [part for part in self.levels if len(part.items)]
        names = [name for part in parts for name in self._names(part)]
        ends = [self._interval(part, level) for part in parts]
        frame = pd.DataFrame(
            {
                "support": _join([part.average for part in parts]) / self.n_records,
                "itemsets": as_objects(names),
                "size": _join([np.full(len(part.items), part.items.shape[1]) for part in parts]).astype(np.int64),
                "low": _join([low for low, _ in ends]),
                "high": _join([high for _, high in ends]),
                "noisy": _join([part.noisy for part in parts]) / self.n_records,
            }
        )
        frame["high"] = _capped(names, np.minimum(frame["high"].to_numpy(float), 1.0))
        frame["low"] = -_capped(names[::-1], -frame["low"].to_numpy(float)[::-1], up=True)[::-1]
        frame["high"] = np.maximum(frame["low"], frame["high"])  # a lucky superset may say more than a subset allows
        frame["support"] = frame["support"].clip(frame["low"], frame["high"])
        frame["consistent"] = np.maximum(_capped(names, frame["support"].to_numpy(float)), 0.0)
        frame.attrs["about"] = {**self.about, "level": level}
        return frame

    def _interval(self, part: NoisyLevel, level: float) -> tuple[Floats, Floats]:
        """Half of what may fail for the count, half for the number of records."""
        normal_quantile(level)
        failure = (1 - level) / 2
        chosen = failure * len(part.items) / part.n_candidates
        reach = math.ceil(part.scale * math.log(1 / chosen))  # Pr(|z| > reach) < exp(-reach / scale)
        total = math.ceil(self.about["scale_of_total"] * math.log(1 / failure))
        above = maximal_support(np.maximum(part.noisy + reach, 0), part.kept, 1 / part.scale)
        return (
            (part.noisy - reach) / (self.n_records + total),
            np.maximum(above, part.noisy + reach) / max(self.n_records - total, 1.0),
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} of size {size}" for size, count in self.sizes.items()) or "none"
        return f"Release({sizes}; epsilon {self.about['epsilon']:g}, about {self.n_records:,} records)"


def _ratio(epsilon: float) -> str:
    """The ratio of probabilities that an epsilon allows; as a power where it is beyond floating-point numbers."""
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else f"e^{epsilon:g}"


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
