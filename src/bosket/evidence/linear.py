"""Evidence from reports that are counted: every report has a weight, and weights add.

With w_A the weight of a report for itemset A, E[w_A | truth] = [A in truth] (:mod:`bosket.statistics.estimates`): sums
of w, of w^2 and of w_A w_B over the reports are all that supports, variances and covariances take.  They are made of
numbers of reports by pattern and stratum, which a counter gives, and of the weights, which a channel gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.table import count_subsets, marginal, members, restrict
from bosket.errors import DataError
from bosket.evidence.base import Evidence, Family, Observed
from bosket.evidence.carried import Carried
from bosket.evidence.cautions import effective_number, say_too_little
from bosket.evidence.concentration import carried_by_few
from bosket.evidence.counts import MAX_COUNTS, too_many_counts
from bosket.evidence.kept import Kept, Level, Places, Truths
from bosket.evidence.mobius import differences, sums_over_subsets
from bosket.evidence.provenance import Provenance
from bosket.evidence.redraw import draw_supports
from bosket.evidence.sums import (
    Alike,
    StratumCells,
    alike,
    cells_of,
    least_variances,
    moments,
    rare_moves,
)
from bosket.mechanisms.base import Channel
from bosket.mechanisms.foreseen import foreseen_accuracy
from bosket.privacy import Accuracy
from bosket.progress import Meter, Progress, counting_work, estimating_work
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats, expected_products, variance
from bosket.threads import n_threads, parallel_map, slices

_CELLS = 1 << 17  # cells estimated in one piece: a MiB for each array of them
_RAW = Provenance()


class LinearEvidence(Evidence):
    """A counter of reports, and the channel that the reports went through."""

    def __init__(
        self, channel: Channel, counter: Counter | Mapping[int, int], *, provenance: Provenance = _RAW
    ) -> None:
        """``counter`` counts the reports; numbers of reports by stratum will do where all that is asked was kept."""
        self.channel = channel
        self.domain = channel.domain
        self.provenance = provenance
        self.is_exact = channel.is_exact
        self.items_apart = channel.items_apart
        self.mixes_people = channel.belong_together
        self._counter = None if isinstance(counter, Mapping) else counter
        self.strata = tuple(counter if isinstance(counter, Mapping) else counter.strata)
        self.stratum_records = (
            np.array([counter[stratum] for stratum in self.strata], np.int64)
            if isinstance(counter, Mapping)
            else counter.supports(np.empty((1, 0), np.int32))[:, 0]
        )
        self.n_records = int(self.stratum_records.sum())
        self.n_strata = max(1, len(self.strata))
        self._alike: dict[int, Alike | None] = {}  # by size of itemsets
        self._rare = np.full(len(self.domain), -1, np.int8)  # by item: 1 where coins change few reports, -1 not known

    @property
    def counter(self) -> Counter:
        if self._counter is None:
            raise DataError("The reports behind this result were let go; estimate from the reports themselves.")
        return self._counter

    def without_reports(self) -> LinearEvidence:
        result = copy(self)
        result._counter = None
        return result

    def sees(self, size: int) -> bool:
        return self.channel.recovers(size, self.strata)

    def accuracy(self, size: int) -> Accuracy | None:
        if self.is_exact:
            return None
        most = None if self.provenance.unit is None else self.provenance.unit.max_size
        return next(iter(foreseen_accuracy(self.channel, most, [size])), None)

    def covers(self, itemsets: ItemsetRows) -> Truths | None:
        return self.channel.covers(itemsets)

    def shown(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Observed:
        result: Observed = self.counter.supports(itemsets, on_progress=on_progress).sum(axis=0)
        return result

    def nothing_kept(self) -> Kept:
        return Kept(self.stratum_records)

    def seconds(self, n_itemsets: int, size: int) -> float:
        work = counting_work(n_itemsets, self.n_records) + estimating_work(n_itemsets, size, len(self.strata))
        return work / n_threads()

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> LinearFamily:
        if kept is None and rows.shape[1]:
            self.refuse_not_covered(rows)
        return LinearFamily(self, rows, kept)

    def supports(
        self, itemsets: ItemsetRows, *, kept: Kept | None = None, on_progress: Progress | None = None
    ) -> Level:
        """Counted on all cores, then estimated in pieces on all cores."""
        if kept is None:
            return self.family(itemsets).whole
        n, size = itemsets.shape
        counting = Meter(on_progress, size, "counting", n, work=counting_work(n, self.n_records))
        observed = self.counter.supports(itemsets, on_progress=counting)
        counting.finish()
        work = estimating_work(n, size, len(self.strata))
        estimating = Meter(on_progress, size, "estimating", n, work=work)
        level = self._estimate(itemsets, observed, kept, estimating)
        estimating.finish()
        return level

    def _estimate(self, itemsets: ItemsetRows, observed: Counts, kept: Kept, tell: Meter) -> Level:
        n, k = itemsets.shape
        value, noise, least = (np.empty(n) for _ in range(3))
        self.alike(k, tell=lambda: tell(0.0))

        def piece(part: tuple[int, int]) -> Carried:
            start, stop = part
            rows = itemsets[start:stop]
            cells = cells_of(kept.subset_counts(rows, observed[:, start:stop]))
            value[start:stop], noise[start:stop], least[start:stop], carried = self.estimates(rows, cells)
            return carried

        parts = list(slices(n, max(1, (_CELLS >> k) // len(self.strata))))
        carried = parallel_map(piece, parts, on_done=lambda number: tell(parts[number - 1][1]))
        return Level(itemsets, value, noise, least, observed, Carried.together(carried))

    def estimates(self, rows: ItemsetRows, cells: StratumCells) -> tuple[Floats, Floats, Floats, Carried]:
        """Support counts of itemsets, their variances under the coins, the least that these can be, and who carries."""
        known = self.alike(rows.shape[1])
        found = moments(self.channel, self.strata, rows, cells, known=known)
        noise = variance(found.value, found.second, self.n_records, own=self.channel.own)
        if known is None:
            least = least_variances(self.channel, self.strata, self.stratum_records, rows)
        else:
            least = np.full(len(rows), known.least)
        if self.is_exact:
            return found.value, noise, least, Carried(len(rows))
        few = carried_by_few(found, self.stratum_records)
        carried = few.summary(rows, self.n_records, lambda at: self.channel.record_size(self.strata[at]))
        return found.value, noise, least, carried

    def alike(self, size: int, *, tell: Callable[[], None] | None = None) -> Alike | None:
        """The weights of all itemsets of a size, where the channel treats all items alike."""
        if size not in self._alike:
            self._alike[size] = alike(self.channel, self.strata, self.stratum_records, size, tell=tell)
        return self._alike[size]

    def rare_items(self, items: npt.NDArray[np.int32], share: Floats) -> Truths:
        """Whether the coins change few reports of each of these items; ``share`` are their estimated supports."""
        unknown, first = np.unique(items[self._rare[items] < 0], return_index=True)
        if len(unknown):
            shares = share[self._rare[items] < 0][first]
            self._rare[unknown] = rare_moves(self.channel, self.strata, self.stratum_records, unknown, shares)
        return self._rare[items] > 0


class LinearFamily(Family):
    """Itemsets with their subsets, from numbers of reports by the pattern they show."""

    evidence: LinearEvidence

    @cached_property
    def cells(self) -> StratumCells:
        """Numbers of reports by the pattern they show: shape (n_strata, n, 2**k)."""
        evidence = self.evidence
        patterns = self.full + 1
        if evidence.n_strata > 1 and evidence.n_strata * patterns > MAX_COUNTS:
            size = self.rows.shape[1]
            raise too_many_counts(f"patterns of {size} items", patterns, evidence.n_strata, MAX_COUNTS, level=size)
        if self.kept is None:
            return cells_of(count_subsets(evidence.counter, self.rows))
        columns = [level.observed for level in self.kept.levels]
        return cells_of(self.kept.by_pattern(columns, self.places, evidence.stratum_records[:, None]))

    @cached_property
    def whole(self) -> Level:
        value, noise, least, carried = self.evidence.estimates(self.rows, self.cells)
        return Level(self.rows, value, noise, least, self.cells[:, :, -1], carried)

    def value(self, mask: int) -> Floats:
        self.refuse_not_covered([mask])
        return self._value(mask)

    def _value(self, mask: int) -> Floats:
        """The sum of weights, which is 0 where no report tells."""
        if mask == 0:
            return np.full(len(self.rows), float(self.n_records))
        if self.kept is not None:
            return self.values[:, mask]
        part = np.ascontiguousarray(self.rows[:, members(mask)])
        known = self.evidence.alike(part.shape[1])
        found = moments(self.evidence.channel, self.evidence.strata, part, self._cells_of(mask), known=known)
        return found.value

    def _cells_of(self, mask: int) -> StratumCells:
        """Numbers of reports by the pattern they show of a subset."""
        if mask == self.full:
            return self.cells
        shown = restrict(self.rows.shape[1], mask)
        return np.stack([marginal(cells, shown) for cells in self.cells])

    def covariance(self, masks: Sequence[int]) -> Floats:
        """sum w_A w_B less what is expected of it; 0 where nothing is randomized."""
        masks = list(masks)
        n, m = len(self.rows), len(masks)
        if self.evidence.is_exact:
            return np.zeros((n, m, m))
        total = np.zeros((n, m, m))
        for weights, cells in zip(self.weights(masks), self.cells, strict=True):
            total += np.einsum("nif,njf->nij", weights * cells[:, None, :], weights)
        one = np.stack([self.value(mask) for mask in masks], axis=1)
        unions = {mask | other for mask in masks for other in masks}
        values = {mask: self.value(mask) for mask in unions}
        both = np.stack([np.stack([values[mask | other] for other in masks], axis=1) for mask in masks], axis=1)
        total -= self._expected(both, one[:, :, None], one[:, None, :])
        return total

    def _expected(self, both: Floats, one: Floats, other: Floats) -> Floats:
        own = self.evidence.channel.own
        result: Floats = expected_products(both, one, other, self.n_records, own=own, sampling=False)
        return result

    def weights(self, masks: Sequence[int]) -> list[Floats]:
        """By stratum, the weights of these subsets by what a report shows of the whole: shape (n, m, 2**k)."""
        self.refuse_not_covered(masks)
        channel, rows = self.evidence.channel, self.rows
        result = []
        for stratum, cells in zip(self.evidence.strata, self.cells, strict=True):
            weights = np.ones((len(rows), len(masks), self.full + 1))
            for at, mask in enumerate(masks):
                if mask:
                    weights[:, at] = channel.subset_weights(rows, mask, stratum, cells)
            result.append(weights)
        return result

    @cached_property
    def splits(self) -> tuple[Floats, Floats]:
        values = self.values
        with_whole, with_rest = np.zeros(values.shape), np.zeros(values.shape)
        for stratum, cells in zip(self.evidence.strata, self.cells, strict=True):
            parts = self.evidence.channel.split_products(self.rows, stratum, cells)
            with_whole += parts[0]
            with_rest += parts[1]
        x, c = values[:, [self.full]], values[:, self.full ^ np.arange(self.full + 1)]
        return with_whole - self._expected(x, x, values), with_rest - self._expected(x, values, c)

    @cached_property
    def _all_weights(self) -> list[Floats]:
        return self.weights(range(self.full + 1))

    def variance_of(self, slopes: Floats) -> Floats:
        """sum h^2 less what is expected of it, with h the sum of slope times weight.

        By cells: sum over A, B of g_A g_B S_(A u B) is the sum over patterns v of S_v (sum over A in v of g_A)^2.
        """
        n, own = self.n_records, self.evidence.channel.own
        total = np.zeros(len(self.rows))
        if self.evidence.is_exact:
            return total
        for weights, cells in zip(self._all_weights, self.cells, strict=True):
            influence = np.einsum("nu,nuf->nf", slopes, weights)
            total += (cells * influence**2).sum(axis=1)
        by_cell = sums_over_subsets(slopes.copy())
        counts = differences(self.values.copy())
        squares, mean = (counts * by_cell**2).sum(axis=1), (counts * by_cell).sum(axis=1) ** 2 / n
        result: Floats = total - (own * squares + (1 - own) * mean)
        return result

    def reach(self, chosen: Places, masks: Sequence[int], slopes: Sequence[Floats]) -> tuple[Floats, Floats]:
        up, down = np.zeros(len(chosen)), np.zeros(len(chosen))
        items = np.ascontiguousarray(self.rows[chosen])
        for stratum, cells in zip(self.evidence.strata, self.cells[:, chosen], strict=True):
            seen = np.ascontiguousarray(cells)
            moved = np.zeros(seen.shape)
            for mask, slope in zip(masks, slopes, strict=True):
                weights = self.evidence.channel.subset_weights(items, mask, stratum, seen) if mask else 1.0
                moved += slope[:, None] * weights
            moved = np.where(seen > 0, moved, 0.0)
            up, down = np.maximum(up, moved.max(axis=1)), np.maximum(down, -moved.min(axis=1))
        return up, down

    @cached_property
    def shown(self) -> Observed:
        assert self.kept is not None
        columns = [level.shown for level in self.kept.levels]
        result: Observed = self.kept.by_pattern(columns, self.places, self.n_records)
        return result

    @cached_property
    def turned(self) -> Truths:
        result = np.zeros(len(self.rows), bool)
        for j in range(self.rows.shape[1]):
            weights = self.evidence.channel.weights(np.ascontiguousarray(self.rows[:, [j]]))
            result ^= weights[:, 1] < weights[:, 0]
        return result

    @cached_property
    def doubtful(self) -> Truths:
        if self.evidence.is_exact:
            return np.zeros(len(self.rows), bool)
        size, evidence = self.rows.shape[1], self.evidence
        if self.kept is None:
            observed = self.cells[:, :, -1]
        else:
            level = self.kept.levels[size - 1]
            observed = level.observed[:, level.index.find(self.rows)]
        shown = effective_number(evidence.channel, size, evidence.strata, observed)
        return say_too_little(evidence.channel, self.rows, shown, lambda: self.cells)

    @cached_property
    def rare_moves(self) -> Truths:
        if self.evidence.is_exact:
            return np.zeros(len(self.rows), bool)
        items = self.rows.ravel()
        share = np.stack([self._value(1 << j) for j in range(self.rows.shape[1])], axis=1) / self.n_records
        return np.asarray(self.evidence.rare_items(items, share.ravel()).reshape(self.rows.shape).any(axis=1))

    def drawn_again(self, masks: Sequence[int], number: int, rng: Randomness, *, sampling: bool) -> Floats:
        evidence = self.evidence
        items = tuple(self.rows[0].tolist())
        draws = draw_supports(
            evidence.channel, evidence.strata, items, self.cells[:, 0], number, rng, sampling=sampling
        )
        total = sum(draw @ weights[0].T for draw, weights in zip(draws, self.weights(masks), strict=True))
        return np.asarray(total, float)
