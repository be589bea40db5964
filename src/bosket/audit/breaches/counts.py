"""Counting breaches: reports and the records they were made from, side by side in one set of bitmaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.bitmaps import Bitmaps
from bosket.data import Baskets
from bosket.data.domain import as_objects
from bosket.mechanisms.base import Strata
from bosket.reports import Reports
from bosket.statistics.estimates import Floats
from bosket.threads import slices

Integers = npt.NDArray[np.int64]

_COUNTS = 1 << 20  # counts held at once: 8 MiB


def count_breaches(
    raw: Baskets, reports: Reports, sizes: Strata, chosen: list[ItemsetRows], min_reports: int
) -> tuple[pd.DataFrame, int]:
    """A row per record size and itemset with ``hits``, the worst item's count; and how many had too few reports.

    Each report is laid beside its raw record, so that item i of the report has the id i and item i of the record the
    id ``offset`` + i: the reports that hold A from records that hold a are the support of A with ``offset`` + a.
    """
    chosen = chosen or [np.empty((0, 1), np.int32)]  # so that an empty table has its columns too
    items = np.unique(np.concatenate([rows.ravel() for rows in chosen]))
    joined = np.hstack([reports.bits, raw.to_bits()])
    offset = 64 * reports.bits.shape[1]
    counter = Bitmaps.from_rows(
        joined, 64 * joined.shape[1], strata=sizes, items=np.concatenate([items, items + np.int32(offset)])
    )
    labels = as_objects(raw.domain.labels)
    record_sizes = np.array(counter.strata, np.int64)
    parts, left_out = [], 0
    for rows in chosen:
        size = rows.shape[1]
        is_able = (record_sizes >= size)[:, None]
        for start, stop in slices(max(1, len(rows)), max(1, _COUNTS // (len(record_sizes) * (size + 1)))):
            part = rows[start:stop]
            held, given_away = _supports(counter, part, offset)
            is_kept = is_able & (held >= min_reports)
            left_out += int((is_able & ~is_kept).sum())
            stratum, itemset = np.nonzero(is_kept)
            hits = given_away[stratum, itemset]
            seen, name = np.unique(itemset, return_inverse=True)
            parts.append(
                pd.DataFrame(
                    {
                        "record_size": record_sizes[stratum],
                        "size": np.full(len(stratum), size, np.int64),
                        "itemsets": as_objects([frozenset(row) for row in labels[part[seen]].tolist()])[name],
                        "item": labels[part[itemset, hits.argmax(axis=1)]],
                        "reports": held[stratum, itemset],
                        "hits": hits.max(axis=1),
                    }
                )
            )
    cells = pd.concat(parts, ignore_index=True)
    return cells.sort_values(["record_size", "size"], kind="stable", ignore_index=True), left_out


def _supports(counter: Bitmaps, rows: ItemsetRows, offset: int) -> tuple[Counts, Counts]:
    """Reports that hold each itemset, and for each of its items (last axis) those whose raw record has it."""
    n, size = rows.shape
    joined = np.empty((n, size, size + 1), np.int32)
    joined[:, :, :size] = rows[:, None, :]
    joined[:, :, size] = rows + offset
    both = counter.supports(joined.reshape(n * size, size + 1))
    return counter.supports(rows), both.reshape(len(counter.strata), n, size)


def with_fractions(cells: pd.DataFrame, level: float) -> pd.DataFrame:
    """The table of :class:`~bosket.audit.Breaches`: fractions, errors and lower bounds in the place of hits."""
    reports, hits = cells["reports"].to_numpy(), cells["hits"].to_numpy()
    breach = hits / reports
    stderr = np.sqrt(breach * (1 - breach) / reports)
    return cells.drop(columns="hits").assign(breach=breach, stderr=stderr, low=_lower_bounds(hits, reports, level))


def _lower_bounds(hits: Integers, n: Integers, level: float) -> Floats:
    """Clopper and Pearson (1934): the probability under which this many hits or more are seen with chance 1 - level.

    It is the (1 - level) quantile of Beta(hits, n - hits + 1), and 0 without hits.
    """
    from scipy.special import betaincinv  # slow to import

    bounds = np.asarray(betaincinv(np.maximum(hits, 1), n - hits + 1, 1 - level), np.float64)
    return np.where(hits > 0, bounds, 0.0)
