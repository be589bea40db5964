"""Empirical privacy breaches: what reports give away about the very records they were made from.

Evfimievski, Srikant, Agrawal and Gehrke, "Privacy preserving mining of association rules", Information Systems 29
(2004): Definition 4, section 5.4 ("Privacy analysis") and Tables 4 and 8.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from bosket._version import __version__
from bosket.audit.breaches.counts import count_breaches, with_fractions
from bosket.audit.breaches.itemsets import frequent_itemsets, named_itemsets
from bosket.audit.breaches.table import Breaches
from bosket.checks import check_between, check_fraction, check_integer
from bosket.data import Baskets, Table
from bosket.errors import DataError
from bosket.mechanisms.base import Strata
from bosket.reports import Reports

_LARGEST_DEFAULT = 10  # as in the paper


def breaches(
    raw: Baskets | Table,
    reports: Reports,
    *,
    min_support: float = 0.002,
    max_size: int | None = None,
    itemsets: Iterable[Iterable[Hashable]] | None = None,
    min_reports: int = 30,
    top: int = 10,
    level: float = 0.95,
) -> Breaches:
    """How surely a report that holds all of an itemset A tells that an item a of A is in the raw record.

    Among records of size m, the breach of A is the worst over its items of

        Pr(a in t | A in t'),    estimated by  #{A in t', a in t} / #{A in t'},

    with t the raw record and t' its report.  It is counted for every itemset A and every m >= the size of A.

    raw          the records that the reports were made from: the same people in the same order
    min_support  look at the itemsets of at least this support in ``raw``; of a size that has none, at those of highest
                 support: it is halved until some appear (where those would be too many to list, only itemsets that
                 records begin with are compared)
    max_size     for itemsets up to this size (None: that of the longest record, at most 10)
    top          the number of itemsets to look at where a size has no frequent ones
    itemsets     look at these instead; ``min_support``, ``max_size`` and ``top`` then play no part
    min_reports  leave out (and count in ``left_out``) an itemset at a record size where fewer reports hold it: its
                 fraction is mostly chance, and the worst of many such is near 1 whatever the mechanism.  Averages are
                 over what is left
    level        of the one-sided lower bounds ``low``

    The record size is that which reports state, where they do: the true size in the clear, or the size that a longer
    record was sampled down to.  Otherwise it is the true size, which an observer of such reports does not even know.

    What it is not.  Definition 4 depends on the prior: the same mechanism breaches more on data with commoner items,
    and an observer who knows more than supports learns more.  It looks at one kind of evidence (the items that a report
    holds) and at one kind of harm (that an item was there).  A low table is no guarantee; ``reports.guarantee`` is.
    And as it needs the raw data, its output is not private: keep it with the curator.

    >>> import bosket as bk
    >>> from bosket.audit import breaches
    >>> raw = bk.Baskets([["milk", "bread"], ["milk", "beer"], ["beer", "bread"], ["beer"], ["ale"]] * 500)
    >>> reports = bk.Flip(keep=0.8).randomize(raw, rng=bk.Seeded(7))
    >>> print(breaches(raw, reports))
    Record size                  1           2
    Worst average         1: 39.9%    2: 84.7%
    Worst of the worst    1: 80.6%    1: 90.3%
    Itemset size: share of the reports showing such an itemset whose record has its worst item.
    Left out: 0 pairs of record size and itemset with fewer than 30 reports.
    """
    raw = raw.to_baskets() if isinstance(raw, Table) else raw
    _check_types(raw, reports)
    min_support = check_fraction("min_support", min_support)
    max_size = None if max_size is None else check_integer("max_size", max_size, least=1)
    min_reports = check_integer("min_reports", min_reports, least=1)
    top = check_integer("top", top, least=1)
    level = check_between("level", level, 0, 1)
    if raw.n_records == 0:
        raise DataError("There are no records to audit.")
    if raw.n_records != reports.n_records:
        raise DataError(
            f"The raw records and the reports must be of the same people, got {raw.n_records} and {reports.n_records}."
        )
    if raw.domain != reports.domain:
        raw = raw.with_domain(reports.domain)
    sizes = _record_sizes(raw, reports)
    if itemsets is not None:
        chosen = named_itemsets(itemsets, raw.domain)
    else:
        largest = min(int(sizes.max()), _LARGEST_DEFAULT if max_size is None else max_size)
        chosen = frequent_itemsets(raw, min_support=min_support, max_size=largest, top=top)
    cells, left_out = count_breaches(raw, reports, sizes, chosen, min_reports)
    table = with_fractions(cells, level)
    table.attrs["about"] = about = {
        "version": __version__,
        "n_records": raw.n_records,
        "mechanism": str(reports.plan.mechanism),
        "plan": reports.plan.digest,
        "guarantee": reports.guarantee.to_json(),
        "randomness": reports.randomness,
        "min_support": min_support if itemsets is None else None,
        "min_reports": min_reports,
        "level": level,
        "selection": "bounds are not corrected for the worst item having been selected, nor for many itemsets",
        "privacy": "counted in the raw data: not private",
    }
    return Breaches(table, left_out=left_out, n_records=raw.n_records, about=about)


def _check_types(raw: object, reports: object) -> None:
    for name, value, kind in (("raw", raw, Baskets), ("reports", reports, Reports)):
        if not isinstance(value, kind):
            raise DataError(
                f"The {name} of an audit must be {kind.__name__}, got a {type(value).__name__}.",
                hint="Call breaches(raw, reports): first the baskets, then the reports made from them.",
            )


def _record_sizes(raw: Baskets, reports: Reports) -> Strata:
    """The size of each record as an observer sees it, or else its true size."""
    stated, plan = reports.record_sizes, reports.plan
    if stated is None:
        return raw.sizes.astype(np.int32)
    limit = plan.max_size if plan.unit.longer == "sample" and plan.unit.state_sizes_to is None else None
    expected = raw.sizes if limit is None else np.minimum(raw.sizes, limit)
    stated = np.where(stated < 0, expected, stated).astype(np.int32)  # those that state none
    is_wrong = stated != expected
    if is_wrong.any():
        raise DataError(
            f"The size in report {int(np.argmax(is_wrong)) + 1} must be the size of its raw record, got another.",
            hint="Reports and raw records must be of the same people, in the same order.",
        )
    return stated
