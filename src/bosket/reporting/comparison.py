"""Estimates beside the truth: what a simulation can show and a study cannot.

An itemset is *found* if it is frequent and reported, *missed* if it is frequent and not reported, *false* if it is
reported and not frequent.  Coverage is judged on the truly frequent itemsets, reported or not: judging it on the
reported ones alone would favour those whose error carried them over the threshold.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bosket.data import Baskets
from bosket.mining import FrequentItemsets, estimate
from bosket.reports import Reports
from bosket.statistics.estimates import Floats

LabelSet = frozenset[Hashable]


@dataclass(frozen=True)
class Comparison:
    """One row per itemset that is frequent or was reported.

    Columns: itemsets, size, truth, support (the estimate), stderr, low, high, status.
    """

    frame: pd.DataFrame
    min_support: float
    level: float

    @cached_property
    def frequent(self) -> pd.DataFrame:
        """The truly frequent itemsets."""
        return self.frame[self.frame["status"] != "false"]

    @property
    def covered(self) -> int:
        """How many intervals of the truly frequent itemsets hold the truth."""
        return int(_held(self.frequent).sum())

    def by_size(self) -> pd.DataFrame:
        """For each size: the itemsets frequent, found, missed and false, and the intervals that hold the truth."""
        frame = self.frame
        table = pd.DataFrame(
            {
                "frequent": frame["status"] != "false",
                "found": frame["status"] == "found",
                "missed": frame["status"] == "missed",
                "false": frame["status"] == "false",
                "covered": _held(frame) & (frame["status"] != "false"),
            }
        )
        return table.groupby(frame["size"]).sum().reset_index()


def _held(frame: pd.DataFrame) -> pd.Series[bool]:
    return (frame["low"] <= frame["truth"]) & (frame["truth"] <= frame["high"])


def compare(
    found: FrequentItemsets, truth: FrequentItemsets, *, reports: Reports, baskets: Baskets, level: float = 0.95
) -> Comparison:
    """What was found in the reports beside what is in the baskets."""
    supports = dict(truth)
    reported = {itemset for itemset, _ in found}
    missed = [itemset for itemset in supports if itemset not in reported]
    frame = found.to_frame(level=level)
    for name in ("low", "high") if "stderr" not in frame else ():  # exact data have no errors
        frame[name], frame["stderr"] = frame["support"], 0.0
    frame["status"] = ["found" if itemset in supports else "false" for itemset in frame["itemsets"]]
    if missed:
        estimates = estimate(reports, missed)
        low, high = estimates.interval(level).T
        more = {
            "support": estimates.value,
            "itemsets": missed,
            "size": [len(itemset) for itemset in missed],
            "stderr": estimates.stderr,
            "low": low,
            "high": high,
            "status": "missed",
        }
        frame = pd.concat([frame.drop(columns="observed", errors="ignore"), pd.DataFrame(more)], ignore_index=True)
    frame["truth"] = true_supports(frame["itemsets"], truth, baskets)
    columns = ["itemsets", "size", "truth", "support", "stderr", "low", "high", "status"]
    return Comparison(frame[columns], found.min_support, level)


def true_supports(itemsets: Iterable[LabelSet], truth: FrequentItemsets, baskets: Baskets) -> Floats:
    """The supports of any itemsets in the baskets: looked up where they were mined, counted where not."""
    known = dict(truth)
    wanted = list(itemsets)
    others = list({itemset for itemset in wanted if itemset not in known})
    if others:
        known.update(zip(others, estimate(baskets, others).value.tolist(), strict=True))
    return np.array([known[itemset] for itemset in wanted], float)


def true_rules(rules: pd.DataFrame, truth: FrequentItemsets, baskets: Baskets) -> pd.DataFrame:
    """The same rules with two columns more: the true ``confidence`` as ``truth``, and whether the interval holds it."""
    both = [a | c for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    whole, part = (true_supports(sets, truth, baskets) for sets in (both, rules["antecedents"]))
    true = np.divide(whole, part, out=np.full(len(whole), np.nan), where=part > 0)
    return rules.assign(truth=true, held=(rules["confidence_low"] <= true) & (true <= rules["confidence_high"]))
