"""What mining returns: itemsets with supports, standard errors and intervals, ready for frames and rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket._version import __version__
from bosket.counting.base import ItemsetRows
from bosket.data.domain import as_objects
from bosket.errors import DataError
from bosket.evidence import Errors, Evidence, Kept, Level, Provenance, Selection
from bosket.evidence.base import add_sampling
from bosket.limits import least_count, reaches
from bosket.mining.apriori import Search
from bosket.mining.pair_tests import MEASURES
from bosket.mining.support_of import support_of_column
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats, normal_quantile, standard_error
from bosket.threads import slices

if TYPE_CHECKING:
    from bosket.mining.rules import RuleTemplate

_LISTED = 1 << 17  # itemsets listed by label in one piece


class FrequentItemsets:
    """The frequent itemsets of a search: those whose estimate reaches ``min_support``, and all their subsets.

    Whoever has an itemset has its subsets, so a subset of a frequent itemset is frequent, though noise may have left
    its own estimate a little below the limit.  The result is closed downwards, as other tools expect it to be.

    ``levels`` also keep the itemsets that were extended without being frequent themselves; everything that lists
    itemsets lists the frequent ones only.
    """

    def __init__(self, evidence: Evidence, kept: Kept, search: Search, *, notes: dict[str, Any] | None = None) -> None:
        self.evidence = evidence
        self.kept = kept
        self.search = search
        self.domain = evidence.domain
        self.n_records = evidence.n_records
        self.min_support = search.min_support
        self.notes = {} if notes is None else notes
        """What the search has to say beside its results: why it stopped, whether a few reports carry a support."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """The itemsets that were extended, by size."""
        return tuple(self.kept.levels)

    @property
    def provenance(self) -> Provenance:
        """Mechanism, plan, guarantee and randomness behind the result."""
        return self.evidence.provenance

    @property
    def about(self) -> dict[str, Any]:
        """Version, search, mechanism, guarantee and notes as plain values, so that a file can be understood later."""
        selection = Selection.NONE if self._is_exact else Selection.UNCORRECTED
        return {
            "version": __version__,
            "n_records": self.n_records,
            "min_support": self.min_support,
            "slack": self.search.slack,
            "max_size": self.search.max_size,
            "selection": selection.value,
            **self.provenance.to_json(),
            **self.notes,
        }

    def reported(self, level: Level) -> npt.NDArray[np.bool_]:
        """Which itemsets of a level are frequent."""
        return self._frequent[level.size - 1]

    def above(self, level: Level) -> npt.NDArray[np.bool_]:
        """Which itemsets of a level have an estimate of at least ``min_support`` themselves."""
        result: npt.NDArray[np.bool_] = reaches(level.value, self.min_support * self.n_records)
        if self._is_exact:
            result = level.value >= least_count(self.min_support, self.n_records)
        return result

    @property
    def _is_exact(self) -> bool:
        return self.evidence.is_exact

    @cached_property
    def _frequent(self) -> list[npt.NDArray[np.bool_]]:
        """By size: above the limit, or part of a frequent itemset that is one larger."""
        frequent = [self.above(level) for level in self.levels]
        if self._is_exact:
            return frequent  # supports do not grow with size
        for size in range(len(self.levels) - 1, 0, -1):
            larger = np.ascontiguousarray(self.levels[size].items[frequent[size]])
            for left_out in range(size + 1):
                place = self.levels[size - 1].index.find(larger, np.delete(np.arange(size + 1), left_out))
                frequent[size - 1][place] = True
        return frequent

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many frequent itemsets there are of each size."""
        counts = {level.size: int(self.reported(level).sum()) for level in self.levels}
        return {size: count for size, count in counts.items() if count}

    def __len__(self) -> int:
        return sum(self.sizes.values())

    def __contains__(self, itemset: object) -> bool:
        """Whether an itemset, given by its labels, is among the frequent ones."""
        if not isinstance(itemset, Iterable):
            return False
        try:
            row = np.array([self.domain.itemset(itemset)], np.int32)
        except (DataError, TypeError):  # not of the domain, or not hashable
            return False
        place = self.kept.find(row)
        return place >= 0 and bool(self._frequent[row.shape[1] - 1][place])

    def __iter__(self) -> Iterator[tuple[frozenset[Hashable], float]]:
        """Frequent itemsets with their estimated supports, the most frequent first."""
        parts = self._parts
        names = self._listed(parts, None)
        supports = _join([_take(part.value, keep) for part, keep in parts]) / self.n_records
        for place in _most_frequent_first(supports).tolist():
            yield names[place], float(supports[place])

    @property
    def _parts(self) -> list[tuple[Level, npt.NDArray[np.bool_]]]:
        """The levels that have frequent itemsets, and which these are."""
        keeps = [self.reported(part) for part in self.levels]
        return [(part, keep) for part, keep in zip(self.levels, keeps, strict=True) if keep.any()]

    def names(self, rows: ItemsetRows) -> list[frozenset[Hashable]]:
        """Itemsets by label."""
        return [frozenset(row) for row in self._labels[rows].tolist()]

    @cached_property
    def _labels(self) -> npt.NDArray[np.object_]:
        return as_objects(self.domain.labels)

    def support(self, itemset: Iterable[Hashable]) -> float:
        """The estimated support of an itemset that was kept."""
        row = np.array([self.domain.itemset(itemset)], np.int32)
        place = self.kept.find(row)
        if place >= 0:
            return float(self.levels[row.shape[1] - 1].value[place]) / self.n_records
        raise DataError("The itemset asked for is not among those found; bosket.estimate can estimate any itemset.")

    def to_frame(
        self,
        *,
        level: float = 0.95,
        sampling: bool = False,
        measures: str | Iterable[str] = (),
        on_progress: Progress | None = None,
    ) -> pd.DataFrame:
        """One row per frequent itemset, the most frequent first.

        support   the estimate, not clipped to [0, 1]; unbiased for an itemset named in advance, but those that pass a
                  limit are the luckier ones, the more so the nearer to it
        itemsets  frozenset of labels
        size      number of items

        of reports, or with ``sampling``:

        stderr    standard error of support: of the coins alone, or of sampling too
        low, high normal interval at ``level``, likewise for an itemset named in advance

        of reports:

        observed  the fraction of reports that hold the itemset, before any estimation
        caution   whether the interval should not be trusted, since fewer than twenty reports show the itemset or coins
                  seldom change one of its items (:mod:`bosket.evidence.cautions`)

        of reports of records that may have been cut before they were randomized:

        support_of  what supports are of: "whole records", where reports state sizes, or "cut records"; "cut baskets" of
                    those that tell of a few items

        ``measures`` of the items of each set together, by their 2^k table (chi_squared, lift, leverage, cosine,
        jaccard), add a column m each, and where there are errors m_stderr, m_low and m_high, and ``measure_caution``,
        which names those whose interval should not be trusted in this row.  ``on_progress`` is called with a
        LevelProgress as the work goes on.
        """
        z = normal_quantile(level)
        n = self.n_records
        parts = self._parts
        value = _join([_take(part.value, keep) for part, keep in parts])
        support = value / n
        sizes = np.repeat([part.size for part, _ in parts], [int(keep.sum()) for _, keep in parts])
        columns: dict[str, Any] = {
            "support": support,
            "itemsets": as_objects(self._listed(parts, on_progress)),
            "size": sizes.astype(np.int64),
        }
        if self.errors(sampling) is not Errors.NONE:
            variance = _join([_take(part.variance, keep) for part, keep in parts])
            if sampling:
                variance = add_sampling(variance, value, value, value, n)
            stderr = standard_error(variance, _join([_take(part.least, keep) for part, keep in parts])) / n
            columns |= {"stderr": stderr, "low": support - z * stderr, "high": support + z * stderr}
        if not self._is_exact:
            columns["observed"] = _join([_take(part.shown / n, keep) for part, keep in parts])
        columns |= self._cautions(parts, sampling)
        columns |= support_of_column(self.provenance, len(support))
        columns |= self._measures(measures, level, sampling, on_progress)
        order = _most_frequent_first(support)
        frame = pd.DataFrame({name: column[order] for name, column in columns.items()})
        frame.attrs["about"] = {**self.about, "level": level, "stderr": self.errors(sampling).value}
        return frame

    def _listed(
        self, parts: list[tuple[Level, npt.NDArray[np.bool_]]], on_progress: Progress | None
    ) -> list[frozenset[Hashable]]:
        """The frequent itemsets of all levels by label."""
        names: list[frozenset[Hashable]] = []
        for part, keep in parts:
            rows = _take(part.items, keep)
            meter = Meter(on_progress, rows.shape[1], "listing", len(rows))
            for start, stop in slices(len(rows), _LISTED):
                names += self.names(rows[start:stop])
                meter(stop)
        return names

    def _cautions(
        self, parts: list[tuple[Level, npt.NDArray[np.bool_]]], sampling: bool
    ) -> dict[str, npt.NDArray[np.bool_]]:
        """The column ``caution``; exact data have none."""
        if self._is_exact:
            return {}
        found = [np.empty(0, bool)]
        for part, keep in parts:
            rows = _take(part.items, keep)
            for start, stop in slices(len(rows), max(1, _LISTED >> rows.shape[1])):
                family = self.evidence.family(np.ascontiguousarray(rows[start:stop]), self.kept)
                found.append(family.doubtful if sampling else family.doubtful | family.rare_moves)
        return {"caution": np.concatenate(found)}

    def _measures(
        self, names: str | Iterable[str], level: float, sampling: bool, tell: Progress | None
    ) -> dict[str, Any]:
        from bosket.mining.itemset_measures import itemset_columns

        chosen = [names] if isinstance(names, str) and names != "all" else names
        return itemset_columns(self, chosen, level=level, sampling=sampling, on_progress=tell) if chosen else {}

    @cached_property
    def typical_stderr(self) -> dict[int, float]:
        """The median standard error (of the coins) of the frequent itemsets of each size."""
        result = {}
        for part in self.levels:
            keep = self.reported(part)
            if keep.any():
                result[part.size] = float(np.median(part.stderr[keep])) / self.n_records
        return result

    def errors(self, sampling: bool) -> Errors:
        """What standard errors cover."""
        return Errors.of(sampling=sampling, is_exact=self._is_exact)

    def rules(
        self,
        *,
        metric: str = "confidence",
        min_threshold: float = 0.8,
        measures: str | Iterable[str] | None = None,
        template: RuleTemplate | None = None,
        top: int | None = None,
        sort_by: str = "low",
        min_improvement: float | None = None,
        interval: str = "default",
        level: float = 0.95,
        sampling: bool = False,
        bias: bool = False,
        fcr: bool = False,
        adjust: str | None = None,
        alpha: float | None = None,
        alternative: str = "greater",
        tests: int | None = None,
        max_rules: int = 20_000_000,
        on_progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Association rules among the frequent itemsets, with errors; see :func:`bosket.association_rules`."""
        from bosket.mining.rules import association_rules

        return association_rules(
            self,
            metric=metric,
            min_threshold=min_threshold,
            measures=measures,
            template=template,
            top=top,
            sort_by=sort_by,
            min_improvement=min_improvement,
            interval=interval,
            level=level,
            sampling=sampling,
            bias=bias,
            fcr=fcr,
            adjust=adjust,
            alpha=alpha,
            alternative=alternative,
            tests=tests,
            max_rules=max_rules,
            on_progress=on_progress,
        )

    def dependent_pairs(
        self,
        *,
        measures: Iterable[str] = MEASURES,
        level: float = 0.95,
        adjust: str = "by",
        symmetric: bool = False,
        min_expected: float = 5.0,
        max_p: float | None = None,
    ) -> pd.DataFrame:
        """Pairs of items that depend on each other, from the reports as they are, whatever the parameters; see
        :func:`bosket.dependent_pairs`, which looks at all pairs.  Here those that were kept are looked at.
        """
        from bosket.mining.dependence import dependent_pairs_of

        return dependent_pairs_of(
            self,
            measures=measures,
            level=level,
            adjust=adjust,
            symmetric=symmetric,
            min_expected=min_expected,
            max_p=max_p,
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} of size {size}" for size, count in self.sizes.items()) or "none"
        note = f", {self.provenance.randomness}" if self.provenance.is_simulation else ""
        return f"FrequentItemsets({sizes}; min_support={self.min_support:g}, {self.n_records} records{note})"


def _most_frequent_first(supports: Floats) -> npt.NDArray[np.int64]:
    """Smaller itemsets first where supports are equal."""
    return np.argsort(-supports, kind="stable")


def _take(values: Any, keep: npt.NDArray[np.bool_]) -> Any:
    return values if keep.all() else values[keep]


def _join(parts: list[npt.NDArray[Any]]) -> Floats:
    return np.concatenate(parts).astype(float) if parts else np.empty(0)
