"""The posterior of Definition 4 from reports alone: what they say about an item of an itemset that they show."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from bosket.checks import check_not_text
from bosket.errors import DataError, ParameterError
from bosket.mechanisms import ExchangeableChannel
from bosket.mechanisms.cut import StatingChannel
from bosket.mining import partial_supports
from bosket.reports import Reports
from bosket.statistics.ratio import Ratio


def posterior(reports: Reports, itemset: Iterable[Hashable], item: Hashable, *, record_size: int) -> Ratio:
    """P[item in t | itemset in t'] among records of one size, with its error.

    Evfimievski et al. (2004), section 4.4: sum of s_l^+ p[l -> k] over sum of s_l p[l -> k], where partial supports are
    estimated from the reports.  Needs no raw data, so anyone who holds reports can compute it: it is what they learn by
    the items that are shown.  Those that are not shown tell too, which is no part of it.

    >>> import bosket as bk
    >>> raw = bk.Baskets([["milk", "bread"], ["milk", "ale"], ["beer", "ale"]] * 3000)
    >>> reports = bk.CutAndPaste(cutoff=3, insert=0.4).randomize(raw, rng=bk.Seeded(1))
    >>> round(bk.audit.posterior(reports, ["milk", "bread"], "milk", record_size=2).value, 2)
    0.88
    """
    if not isinstance(reports, Reports):
        raise DataError(f"The posterior is that of Reports, not of a {type(reports).__name__}.")
    channel, sizes = reports.channel, reports.record_sizes
    channel = channel.inner if isinstance(channel, StatingChannel) else channel  # what records that are not cut meet
    if not isinstance(channel, ExchangeableChannel) or sizes is None:
        raise ParameterError(
            "The 'reports' parameter must be of a mechanism that sends the size of records.",
            parameter="reports",
            value=reports,
            hint="With the raw records at hand, bosket.audit.breaches counts it for any mechanism.",
        )
    labels = frozenset(check_not_text(itemset))
    if item not in labels:
        raise ParameterError("The 'item' parameter must be one of the itemset.", parameter="item", value=item)
    k = len(labels)
    if k > record_size:
        raise ParameterError(
            f"The 'record_size' parameter must be at least the {k} items of the itemset, got {record_size}.",
            parameter="record_size",
            value=record_size,
        )
    limit = reports.plan.max_size
    if reports.plan.unit.longer == "sample" and limit is not None and record_size >= limit:
        raise ParameterError(
            f"The 'record_size' parameter must be less than {limit}: of longer records the plan draws so many "
            "items, and what reports tell about these says too little about the whole record.",
            parameter="record_size",
            value=record_size,
            hint="With the raw records at hand, bosket.audit.breaches counts it.",
        )
    alike = reports[sizes == record_size]
    if not len(alike):
        raise DataError(f"There are no reports of records of {record_size} items.")
    rest = labels - {item}
    found = partial_supports(alike, [item], rest) if rest else partial_supports(alike, [item])
    has, others = np.indices((2, k))  # how many of {item} and of the rest a record has
    shown = channel.shown_given(k, record_size)[has + others].ravel()
    both = np.stack([shown * has.ravel(), shown])
    value = both @ found.value.ravel()
    covariance = both @ found.covariance @ both.T
    return Ratio(
        numerator=float(value[0]),
        denominator=float(value[1]),
        variance_numerator=float(max(covariance[0, 0], 0.0)),
        variance_denominator=float(max(covariance[1, 1], 0.0)),
        covariance=float(covariance[0, 1]),
    )
