"""What is known about supports: the one object that mining, rules, tables and tests read.

:class:`Evidence` answers for single itemsets: estimated support counts with their variances.  Its :class:`Family`
answers for itemsets with all their subsets, which rules, contingency tables and measures are made of: values,
covariances and how far one report can move a combination of them.  A new kind of evidence (a fitted model, a posterior)
implements ``family`` and the two abstract methods of a family; everything else follows from these here.

Support counts, not fractions, are spoken of throughout; variances are those of the coins alone, and
:func:`add_sampling` adds the drawing of people, alike for every kind of evidence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.counting.table import members
from bosket.data import Domain
from bosket.errors import DataError, ParameterError, SingularChannelError
from bosket.evidence.kept import Kept, Level, Places, Truths
from bosket.evidence.provenance import Provenance
from bosket.privacy import Accuracy
from bosket.progress import Progress
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats

Observed = npt.NDArray[np.int64]
"""Numbers of reports."""


class Evidence(ABC):
    """What reports, or raw records, say about the supports of itemsets."""

    domain: Domain
    n_records: int
    provenance: Provenance
    """Where the evidence comes from: mechanism, plan, guarantee, randomness."""

    is_exact: bool = False
    """Whether supports were counted in raw records: then there is no error but that of drawing people."""

    items_apart: bool = False
    """Whether every item was randomized on its own: then reports show no dependence that the truth does not have."""

    mixes_people: bool = False
    """Whether a report mixes records of several people: then reports depend on each other."""

    n_strata: int = 1
    """The counts that are kept of each itemset."""

    def sees(self, size: int) -> bool:
        """Whether itemsets of this size can be estimated."""
        return True

    def accuracy(self, size: int) -> Accuracy | None:
        """How large errors of supports of this size are, whatever the reports say; None where this is not known.

        It may depend on the plan and on nothing else.
        """
        return None

    def is_hopeless(self, size: int) -> bool:
        """Whether no support of this size can be as large as its standard error, by the number of reports alone."""
        known = self.accuracy(size)
        return known is not None and known.is_hopeless(self.n_records)

    def covers(self, itemsets: ItemsetRows) -> Truths | None:
        """Which of these itemsets, all of one size, can be estimated; None for all.  A search leaves out the others."""
        return None

    def refuse_not_covered(self, rows: ItemsetRows) -> None:
        """Refuse itemsets that no report tells of."""
        covered = self.covers(rows)
        if covered is not None and not covered.all():
            labels = tuple(self.domain.labels[item] for item in rows[int(np.argmin(covered))].tolist())
            names, them = ", ".join(map(repr, labels)), "it" if len(labels) == 1 else "them all"
            raise SingularChannelError(
                f"Nothing can be estimated about {names}: no report tells of {them}.",
                items=labels,
                hint="A search leaves such itemsets out; reports that tell of them need another plan.",
            )

    def supports(
        self, itemsets: ItemsetRows, *, kept: Kept | None = None, on_progress: Progress | None = None
    ) -> Level:
        """Estimated support counts of itemsets of one size.

        ``kept`` holds all their proper subsets, where a search has looked at them before.
        """
        return self.family(itemsets).whole

    @abstractmethod
    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> Family:
        """These itemsets with all their subsets; ``kept``, if given, holds the itemsets and their subsets."""

    def shown(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Observed:
        """How many reports show each itemset; refused where reports do not show itemsets."""
        raise DataError("These reports do not show items, so dependence between items cannot be read off them.")

    def nothing_kept(self) -> Kept:
        """Where a search begins: nothing is kept but the number of records."""
        return Kept(np.array([self.n_records]))

    def without_reports(self) -> Evidence:
        """The evidence for results, which answers from what was kept and lets the reports go."""
        return self

    def seconds(self, n_itemsets: int, size: int) -> float:
        """How long ``supports`` of this many itemsets takes, roughly; 0 where it is not known."""
        return 0.0


class Family(ABC):
    """Itemsets of one size (``rows``) with all their subsets, which are named by patterns: bit j is the j-th item."""

    def __init__(self, evidence: Evidence, rows: ItemsetRows, kept: Kept | None = None) -> None:
        self.evidence = evidence
        self.rows = rows
        self.kept = kept
        self.full = (1 << rows.shape[1]) - 1

    @abstractmethod
    def value(self, mask: int) -> Floats:
        """The estimated support count of one subset of each itemset."""

    @abstractmethod
    def covariance(self, masks: Sequence[int]) -> Floats:
        """Of the estimated support counts of these subsets, under the coins alone: shape (n, m, m)."""

    @property
    def n_records(self) -> int:
        return self.evidence.n_records

    @cached_property
    def _known_as_covered(self) -> set[int]:
        return {0}

    def refuse_not_covered(self, masks: Iterable[int]) -> None:
        """Refuse subsets that no report tells of, though one tells of the whole; what a search kept was told."""
        for mask in sorted(set(masks) - self._known_as_covered) if self.kept is None else ():
            self.evidence.refuse_not_covered(np.ascontiguousarray(self.rows[:, members(mask)]))
            self._known_as_covered.add(mask)

    @cached_property
    def whole(self) -> Level:
        """The itemsets themselves."""
        variance = self.covariance([self.full])[:, 0, 0]
        return Level(
            self.rows,
            self.value(self.full),
            variance,
            np.zeros(len(self.rows)),
            np.empty((0, len(self.rows)), np.int64),
        )

    @cached_property
    def places(self) -> Places:
        """Where each subset stands among the itemsets kept of its size: shape (n, 2**k)."""
        assert self.kept is not None
        return self.kept.places(self.rows)

    @cached_property
    def values(self) -> Floats:
        """Estimated support counts of all subsets, by pattern: shape (n, 2**k)."""
        if self.kept is not None:
            columns = [level.value for level in self.kept.levels]
            kept: Floats = self.kept.by_pattern(columns, self.places, self.n_records)
            return kept.astype(float, copy=False)
        result = np.empty((len(self.rows), self.full + 1))
        result[:, 0] = self.n_records
        for mask in range(1, self.full + 1):
            result[:, mask] = self.value(mask)
        return result

    @cached_property
    def noise(self) -> Floats:
        """Variances of the coins for all subsets, no smaller than any data set's: shape (n, 2**k)."""
        if self.kept is not None:
            result: Floats = self.kept.by_pattern([level.noise for level in self.kept.levels], self.places, 0.0)
            return result
        noise: Floats = np.maximum(np.einsum("nii->ni", self.covariance(range(self.full + 1))), 0.0)
        return noise

    def stderr(self, mask: int, *, sampling: bool) -> Floats:
        """Of the support count of a subset."""
        value = self.values[:, mask]
        people = value * (1 - value / self.n_records) if sampling else 0.0
        coins = 0.0 if self.evidence.is_exact else self.noise[:, mask]
        return np.sqrt(np.maximum(coins + people, 0.0))

    @cached_property
    def splits(self) -> tuple[Floats, Floats]:
        """Covariances of the support of each subset A with that of the whole X, and with that of the rest X - A.

        Two arrays of shape (n, 2**k), by pattern of A.
        """
        every = np.arange(self.full + 1)
        covariance = self.covariance(every.tolist())
        return covariance[:, every, self.full], covariance[:, every, self.full ^ every]

    def variance_of(self, slopes: Floats) -> Floats:
        """The variance, under the coins, of the sum over subsets of slope times support count; slopes: (n, 2**k)."""
        result: Floats = np.einsum("ni,nij,nj->n", slopes, self.covariance(range(self.full + 1)), slopes)
        return result

    def reach(self, chosen: Places, masks: Sequence[int], slopes: Sequence[Floats]) -> tuple[Floats, Floats]:
        """The most that one report moves the sum of slope times support count up, and down.

        For the ``chosen`` rows; ``slopes`` has a number for each of them.  The empty set has mask 0.
        """
        raise ParameterError(
            "The 'adjust' parameter must be None, and there can be no 'alpha': for this kind of evidence there are no "
            "p-values.",
            parameter="adjust",
            value=None,
            hint="Read the intervals instead; those of a lift that leave 1 out say that it is more than chance.",
        )

    @cached_property
    def shown(self) -> Observed:
        """Numbers of reports that show each subset, by pattern: shape (n, 2**k)."""
        raise DataError("These reports do not show items.")

    @cached_property
    def turned(self) -> Truths:
        """Itemsets with an odd number of items that are reported less often where they are than where they are not."""
        return np.zeros(len(self.rows), bool)

    @cached_property
    def doubtful(self) -> Truths:
        """Itemsets of which the evidence says too little for normal errors."""
        return np.zeros(len(self.rows), bool)

    @cached_property
    def rare_moves(self) -> Truths:
        """Itemsets with an item of which the coins change few reports: errors of the coins alone are not normal."""
        return np.zeros(len(self.rows), bool)

    def drawn_again(self, masks: Sequence[int], number: int, rng: Randomness, *, sampling: bool) -> Floats:
        """Support counts of these subsets of the one itemset, drawn again ``number`` times: shape (number, m)."""
        raise ParameterError(
            "The 'replicates' parameter must not be given: this kind of evidence cannot be drawn again.",
            parameter="replicates",
            value=number,
        )


def add_sampling(covariance: Floats, both: Floats, one: Floats, other: Floats, n_records: int) -> Floats:
    """The covariance of two support counts with the drawing of people added.

    People drawn from a population add S_(A u B) - S_A S_B / N, whatever the kind of evidence.
    """
    result: Floats = covariance + (both - one * other / n_records)
    return result


def of_pairs(n: int, masks: Sequence[int], of_two: Callable[[int, int], Floats]) -> Floats:
    """A symmetric matrix for each of ``n`` itemsets, of what two of its subsets have in common; the empty subset, of
    which all is known, has zeros.
    """
    result = np.zeros((n, len(masks), len(masks)))
    for i, one in enumerate(masks):
        for j, other in enumerate(masks[: i + 1]):
            if one and other:
                result[:, i, j] = result[:, j, i] = of_two(one, other)
    return result
