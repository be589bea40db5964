"""What is foreseen of supports and rules from the variance that a person brings to them: the same for every plan.

The errors are those of estimates without a model, by the coins alone unless ``sampling`` is asked for; a law that is
fitted to answers, as :func:`bosket.mine` fits one by default, has smaller ones.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
import pandas as pd

from bosket.checks import check_between, check_fraction, check_integer, check_positive, check_probability
from bosket.planning.discoverability import Overlaps, independent
from bosket.planning.goals import check_stderr
from bosket.planning.rule_errors import chance_to_find, rule_ratio
from bosket.planning.spreads import Spread, lowest
from bosket.statistics.estimates import Floats
from bosket.statistics.roots import root

MOST_ITEMS = 12
"""The largest itemsets that are looked at for the deepest usable size."""


class SupportsForeseen(ABC):
    """What reports from so many people will say of supports and rules.

    Itemsets are given by their number of items; an error is that of a typical one, the root of the mean square over
    itemsets where these differ.
    """

    people: int

    @property
    @abstractmethod
    def name(self) -> str:
        """Of what randomizes."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """The most items that an itemset can have."""

    @abstractmethod
    def spread(self, itemset_size: int) -> Spread | None:
        """The variance that a person brings to a support; None where reports do not tell of so many items."""

    @abstractmethod
    def _rule(self, a: int, b: int, support: float, confidence: float, assumption: Overlaps) -> Floats | None:
        """N times the covariance of the supports of both sides together and of the antecedent, by the coins."""

    def stderr(self, itemset_size: int, support: float, *, sampling: bool = False) -> float:
        """The standard error of the support of so many items, where a share ``support`` of people has them.

        Infinite where reports do not tell of so many items.  With ``sampling`` the error of drawing people is part.
        """
        share = check_probability("support", support)
        found = self.spread(itemset_size)
        if found is None:
            return math.inf
        drawing = share * found.kept * (1 - share * found.kept) if sampling else 0.0
        return math.sqrt((found.at(share) + drawing) / self.people)

    def bias(self, itemset_size: int, support: float) -> float:
        """What is missing of a support on average, where long records are cut before anything is told of them."""
        found = self.spread(itemset_size)
        return 0.0 if found is None else (found.kept - 1) * check_probability("support", support)

    def error(self, itemset_size: int, support: float) -> float:
        """The root mean square error: of the coins, and of what cutting long records takes away."""
        return math.hypot(self.stderr(itemset_size, support), self.bias(itemset_size, support))

    def lowest_support(self, itemset_size: int, *, sigmas: float = 4.0) -> float:
        """The support that lies ``sigmas`` of its own standard errors above zero; infinite where none does."""
        check_positive("sigmas", sigmas)
        found = self.spread(itemset_size)
        if found is None:
            return math.inf
        return lowest(found, people=self.people, sigmas=sigmas)

    def deepest(self, support: float, *, sigmas: float = 4.0) -> int:
        """The largest size of itemsets of which such a support lies ``sigmas`` standard errors above zero; 0 for none.

        No size beyond one that is lost counts: a search goes up size by size.
        """
        limit = check_fraction("support", support)
        size = 0
        while size < min(MOST_ITEMS, self.longest) and self.lowest_support(size + 1, sigmas=sigmas) <= limit:
            size += 1
        return size

    def people_for(self, itemset_size: int, support: float, *, stderr: float) -> float:
        """How many people bring the standard error down to this; infinite where none do."""
        check_stderr(stderr)
        found = self.spread(itemset_size)
        if found is None:
            return math.inf
        return max(1, math.ceil(found.at(check_probability("support", support)) / stderr**2))

    def rule_covariance(
        self,
        antecedents: int,
        consequents: int,
        *,
        support: float,
        confidence: float,
        sampling: bool = False,
        assumption: Overlaps = independent,
    ) -> Floats | None:
        """The covariance of the estimated supports of both sides together and of the antecedent."""
        a, b = (
            check_integer(name, n, least=1) for name, n in (("antecedents", antecedents), ("consequents", consequents))
        )
        check_fraction("support", support)
        check_probability("confidence", confidence)
        found = self._rule(a, b, support, confidence, assumption)
        if found is None:
            return None
        both = support * confidence
        drawing = np.array([[both * (1 - both), both * (1 - support)], [both * (1 - support), support * (1 - support)]])
        result: Floats = (found + drawing * sampling) / self.people
        return result

    def lowest_confidence(
        self,
        antecedents: int,
        consequents: int,
        *,
        support: float,
        probability: float = 0.95,
        times: float = 2.0,
        assumption: Overlaps = independent,
    ) -> float:
        """The smallest confidence that is ``times`` the radius within which its estimate falls with ``probability``.

        ``support`` is that of the antecedent.  Not a number where even a confidence of 1 is not discoverable.
        """
        check_between("probability", probability, 0, 1)

        def excess(confidence: float) -> float | None:
            found = self.rule_covariance(
                antecedents, consequents, support=support, confidence=confidence, assumption=assumption
            )
            if found is None:
                return None
            ratio = rule_ratio(found, support=support, confidence=confidence, people=1)
            return confidence - times * ratio.radius(probability)

        most = excess(1.0)
        if most is None or most <= 0:
            return math.nan
        least = excess(1e-9)
        if least is not None and least > 0:
            return 0.0
        return root(lambda confidence: excess(confidence) or 0.0, 1e-9, 1.0, xtol=1e-9)

    def power(
        self,
        antecedents: int,
        consequents: int,
        *,
        support: float,
        confidence: float,
        min_support: float,
        min_confidence: float,
        sampling: bool = False,
        assumption: Overlaps = independent,
    ) -> float:
        """The probability that a rule is listed whose antecedent has ``support`` and that holds with ``confidence``.

        It is listed where both sides together are estimated at ``min_support`` or above, and the confidence at
        ``min_confidence`` or above.  0 where reports do not tell of the rule.
        """
        check_fraction("min_support", min_support)
        check_probability("min_confidence", min_confidence)
        found = self.rule_covariance(
            antecedents, consequents, support=support, confidence=confidence, sampling=sampling, assumption=assumption
        )
        if found is None:
            return 0.0
        mean = (support * confidence, support)
        return chance_to_find(mean, found, min_support=min_support, min_confidence=min_confidence)

    def to_frame(self, supports: Iterable[float], *, max_size: int = 3, sigmas: float = 4.0) -> pd.DataFrame:
        """A row for each size of itemsets and support: stderr, bias, and the lowest support that is seen."""
        rows = [
            {
                "size": k,
                "support": support,
                "stderr": self.stderr(k, support),
                "bias": self.bias(k, support),
                "lowest_support": self.lowest_support(k, sigmas=sigmas),
            }
            for k in range(1, check_integer("max_size", max_size, least=1, most=MOST_ITEMS) + 1)
            for support in supports
        ]
        return pd.DataFrame(rows, columns=["size", "support", "stderr", "bias", "lowest_support"])

    def __str__(self) -> str:
        lines = [f"{self.name}, {self.people} people"]
        for k in (1, 2, 3):
            lowest_seen = self.lowest_support(k)
            seen = "nothing is seen" if math.isinf(lowest_seen) else f"supports from {lowest_seen:.2%} on are seen"
            lines.append(f"  {k} item{'s' if k > 1 else ''}: {seen}")
        return "\n".join(lines)
