"""The two calls of an analyst: mine frequent itemsets, or estimate the supports of given ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket._version import __version__
from bosket.checks import check_fraction, check_integer, check_not_negative
from bosket.counting.base import Counter, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.counting.table import count_subsets
from bosket.data import Baskets, Table
from bosket.errors import DataError, ParameterError
from bosket.estimates import Estimates, Floats, expected_products, variance
from bosket.limits import least_count
from bosket.mechanisms.base import Channel, Records
from bosket.mechanisms.identity import IdentityChannel
from bosket.mining.apriori import Level, Search, levelwise
from bosket.mining.cautions import say_too_little
from bosket.mining.concentration import Concentration, at_a_time, concentrations, warn_of, worth_a_look
from bosket.mining.exact import exact_itemsets
from bosket.mining.progress import LevelProgress, Progress
from bosket.mining.result import FrequentItemsets
from bosket.mining.support import StratumCells, cells_of, least_variances, moments, product_sums, rare_moves
from bosket.reports import Reports
from bosket.threads import slices

_LARGEST_UNION = 16
_HOW_TO_MAKE = "Baskets(records), Baskets.from_frame(frame) and Baskets.read(path) make baskets."


def mine(
    data: Reports | Records,
    *,
    min_support: float,
    max_size: int | None = None,
    slack: float = 1.0,
    max_candidates: int = 10_000_000,
    items: Iterable[Hashable] | None = None,
    on_progress: Progress | None = None,
) -> FrequentItemsets:
    """Frequent itemsets of randomized reports, or of raw baskets exactly.

    min_support     report itemsets whose estimated support, a fraction, is at least this, and their subsets
    max_size        look no further than itemsets of this size
    slack           extend itemsets down to min_support - slack standard errors
    max_candidates  refuse to go on when one size has more candidates (for raw baskets: more frequent itemsets)
    items           look at these items only (all, if not given)
    on_progress     called with a LevelProgress about every second or more often; its ``seconds`` say how long the stage
                    at hand will take, before it begins, and what the callable raises ends the search

    **Time and memory.**  Candidates are counted before they are made: a size that has more than ``max_candidates`` is
    refused before anything of it is allocated.  One of size k takes about 60 + 4 k + 8 bytes for each stratum of the
    reports: 10 million pairs or triples about 1 GB.  Counting it takes n_records / 64 steps, estimating it 2^k.  Ctrl-C
    is answered within a second.

    An :class:`InfluenceWarning` says where a few reports, which one dishonest person could have sent, carry a support.

    Of many noisy estimates those above a limit are the luckier ones: among reported itemsets near min_support,
    estimates are too high on average and intervals cover less often than they say.  :func:`estimate` on itemsets named
    in advance has no such bias.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"], ["milk"], ["bread", "milk", "beer"]])
    >>> for itemset, support in bk.mine(baskets, min_support=0.6):
    ...     print(sorted(itemset), round(support, 3))
    ['bread'] 0.667
    ['milk'] 1.0
    ['bread', 'milk'] 0.667
    """
    data = as_baskets(data)
    if not isinstance(data, Reports | Baskets):
        raise DataError(f"Reports, Baskets or a Table can be mined, a {type(data).__name__} cannot.", hint=_HOW_TO_MAKE)
    search = Search(
        min_support=check_fraction("min_support", min_support),
        slack=check_not_negative("slack", slack),
        max_size=None if max_size is None else check_integer("max_size", max_size, least=1),
        max_candidates=check_integer("max_candidates", max_candidates, least=1),
        items=None if items is None else data.domain.itemset(items),
        on_progress=on_progress,
    )
    if data.n_records == 0:
        raise DataError("There are no records to mine.")
    if isinstance(data, Baskets):
        return _mine_exactly(data, search)
    counter = data.counter()
    found = mine_counter(counter, data.channel, search, about=_about_reports(data, search))
    _look_for_few(found)
    return found


def _look_for_few(found: FrequentItemsets) -> None:
    """Warn, and note in ``about``, where a few reports carry the supports that are reported."""
    carried: list[Concentration] = []
    looked_at = 0
    for level in found.levels:
        keep = found.reported(level)
        reported = level.items[keep]
        looked_at += len(reported)
        if len(found.strata) > 1:
            second, observed = level.second[keep].astype(float), level.observed[:, keep]
            known = found.channel, found.strata, found.stratum_records
            reported = reported[worth_a_look(*known, reported, observed, second)]
        for start, stop in slices(len(reported), at_a_time(len(found.strata), reported.shape[1])):
            rows = np.ascontiguousarray(reported[start:stop])
            cells = cells_of(found.table.subset_supports(rows))
            carried += concentrations(found.channel, found.strata, rows, cells)
    note = warn_of(carried, found.domain, looked_at=looked_at)
    if note is not None:
        found.about["influence"] = note


def mine_counter(counter: Counter, channel: Channel, search: Search, *, about: dict[str, Any]) -> FrequentItemsets:
    """Mine whatever can count: the engine behind :func:`mine`, for counters of your own."""
    empty = counter.supports(np.empty((1, 0), np.int32))
    levels = levelwise(counter, channel, search)
    reached = len(levels)
    if reached and reached != search.max_size and not channel.recovers(reached + 1, counter.strata):
        about = {
            **about,
            "stopped": f"itemsets of more than {reached} items cannot be estimated from these reports",
        }
    return FrequentItemsets(
        channel,
        levels,
        strata=counter.strata,
        stratum_records=empty[:, 0],
        min_support=search.min_support,
        about=about,
    )


def _mine_exactly(baskets: Baskets, search: Search) -> FrequentItemsets:
    tell = search.on_progress
    n = baskets.n_records
    indptr, indices = baskets.indptr, baskets.indices
    if search.items is not None:
        chosen = np.isin(indices, search.items)
        indptr, indices = np.concatenate([[0], np.cumsum(chosen)])[indptr], indices[chosen]
    levels = exact_itemsets(
        indptr,
        indices,
        baskets.n_items,
        min_count=least_count(search.min_support, n),
        max_size=search.max_size,
        max_itemsets=search.max_candidates,
        on_progress=None if tell is None else lambda done: tell(LevelProgress(0, done, 1.0, "searching")),
    )
    return FrequentItemsets(
        IdentityChannel(baskets.domain),
        [Level(items, counts[None, :], counts, counts) for items, counts in levels],
        strata=(0,),
        stratum_records=np.array([n]),
        min_support=search.min_support,
        about={**_about(n, search), "selection": None, "mechanism": None, "guarantee": None, "randomness": None},
    )


def _about(n_records: int, search: Search) -> dict[str, Any]:
    return {
        "version": __version__,
        "n_records": n_records,
        "min_support": search.min_support,
        "slack": search.slack,
        "max_size": search.max_size,
        "selection": "estimates and intervals are not corrected for having been selected",
    }


def _about_reports(reports: Reports, search: Search) -> dict[str, Any]:
    return {
        **_about(reports.n_records, search),
        "mechanism": str(reports.plan.mechanism),
        "unit": {"reports": reports.plan.unit.reports, "longer": reports.plan.unit.longer},
        "plan": reports.plan.digest,
        "guarantee": reports.guarantee.to_json(),
        "randomness": reports.randomness,
    }


def as_baskets(data: Reports | Records) -> Reports | Baskets:
    """Raw tables as baskets of attribute=value; everything else as it is."""
    return data.to_baskets() if isinstance(data, Table) else data


def estimate(data: Reports | Records, itemsets: Iterable[Iterable[Hashable]], *, sampling: bool = False) -> Estimates:
    """Estimated supports of these itemsets, with standard errors, intervals and, on request, their covariance.

    ``sampling=False``: the error of the coins alone, for this very data set.  ``sampling=True``: that of drawing
    people too.  An :class:`InfluenceWarning` says where a few reports carry a support.
    """
    data = as_baskets(data)
    if not isinstance(data, Reports | Baskets):
        raise DataError(
            f"Supports can be estimated from Reports or Baskets, not from a {type(data).__name__}.", hint=_HOW_TO_MAKE
        )
    if data.n_records == 0:
        raise DataError("There are no records to estimate from.")
    wanted = [data.domain.itemset(not_a_string(itemset)) for itemset in itemsets]
    largest = max((len(itemset) for itemset in wanted), default=0)
    if largest > _LARGEST_UNION:
        raise ParameterError(
            f"The 'itemsets' parameter must hold itemsets of at most {_LARGEST_UNION} items, got one of {largest}.",
            parameter="itemsets",
            value=largest,
        )
    items = np.array(sorted({item for itemset in wanted for item in itemset}), np.int32)
    if isinstance(data, Reports):
        channel, counter = data.channel, data.counter(items)
    else:
        channel, counter = IdentityChannel(data.domain), Bitmaps.from_rows(data.to_bits(), data.n_items, items=items)
    randomness = data.randomness if isinstance(data, Reports) else None
    return _estimates(channel, counter, wanted, sampling, randomness)


def not_a_string(itemset: Iterable[Hashable]) -> Iterable[Hashable]:
    if isinstance(itemset, str):
        raise ParameterError(
            "The 'itemsets' parameter must hold sets of items, got a string.",
            parameter="itemsets",
            value=itemset,
            hint="Write [{'milk'}] rather than ['milk'].",
        )
    return itemset


def _estimates(
    channel: Channel, counter: Counter, wanted: list[tuple[int, ...]], sampling: bool, randomness: str | None
) -> Estimates:
    n = counter.n_records
    records = counter.supports(np.empty((1, 0), np.int32))[:, 0]
    value, second, least = (np.empty(len(wanted)) for _ in range(3))
    carried: list[Concentration] = []
    looked_at = 0
    caution = np.zeros(len(wanted), bool)
    rare = _rare_items(channel, counter, wanted, records) if not sampling else np.zeros(len(channel.domain), bool)
    for size in {len(itemset) for itemset in wanted}:
        places = [place for place, itemset in enumerate(wanted) if len(itemset) == size]
        rows: ItemsetRows = np.array([wanted[place] for place in places], np.int32).reshape(len(places), size)
        cells = cells_of(count_subsets(counter, rows))
        found = moments(channel, counter.strata, rows, cells)
        if size and (sampling or not isinstance(channel, IdentityChannel)):
            caution[places] = _doubtful(channel, rows, cells) | rare[rows].any(axis=1)
        value[places], second[places] = found.value, found.second
        if randomness is not None:
            carried += concentrations(channel, counter.strata, rows, cells)
            looked_at += len(rows)
        least[places] = least_variances(channel, counter.strata, records, rows)

    warn_of(carried, channel.domain, looked_at=looked_at)

    def covariance() -> Floats:
        """Pair by pair: the product of two weights is a function of what a report shows of the union."""
        matrix = np.empty((len(wanted), len(wanted)))
        for i, first in enumerate(wanted):
            for j, other in enumerate(wanted[: i + 1]):
                union = tuple(sorted({*first, *other}))
                if len(union) > _LARGEST_UNION:
                    raise ParameterError(
                        f"The union of two itemsets must have at most {_LARGEST_UNION} items for their covariance, got "
                        f"{len(union)}.",
                        parameter="itemsets",
                        value=len(union),
                    )
                rows = np.array([union], np.int32)
                masks = [sum(1 << union.index(item) for item in part) for part in (first, other, union)]
                cells = cells_of(count_subsets(counter, rows))
                sums = product_sums(channel, counter.strata, rows, cells, masks[:2])[0]
                both = float(moments(channel, counter.strata, rows, cells).value[0])
                less = expected_products(both, value[i], value[j], n, own=channel.own, sampling=sampling)
                matrix[i, j] = matrix[j, i] = (sums[0, 1] - less) / n**2
        return matrix

    return Estimates(
        value=value / n,
        variance=variance(value, second, n, own=channel.own, sampling=sampling) / n**2,
        least_variance=least / n**2,
        n_records=n,
        sampling=sampling,
        randomness=randomness,
        covariance_of=covariance,
        caution=caution,
    )


def _doubtful(channel: Channel, rows: ItemsetRows, cells: StratumCells) -> npt.NDArray[np.bool_]:
    return say_too_little(channel, rows, cells[:, :, -1].sum(axis=0), lambda: cells)


def _rare_items(
    channel: Channel, counter: Counter, wanted: list[tuple[int, ...]], records: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """By item id: whether the coins change few reports of an item of these itemsets."""
    result = np.zeros(len(channel.domain), bool)
    items = np.array(sorted({item for itemset in wanted for item in itemset}), np.int32)
    if len(items) and not isinstance(channel, IdentityChannel):
        single = items[:, None]
        share = moments(channel, counter.strata, single, cells_of(count_subsets(counter, single))).value
        result[items] = rare_moves(channel, counter.strata, records, items, share / counter.n_records)
    return result
