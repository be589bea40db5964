"""Partial supports: how many records have just so many of an itemset's items.

Evfimievski et al. (2004), Definitions 9, 11 and 13, for every mechanism: what a record has exactly follows from the
supports of subsets, s_l = sum over j >= l of (-1)^(j - l) C(j, l) Sigma_j with Sigma_j the sum of the supports of all
subsets of j items (Statement 4), and so do estimates and covariances.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import comb

import numpy as np

from bosket.counting.bitmaps import Bitmaps
from bosket.counting.table import count_subsets, members
from bosket.data import Baskets
from bosket.errors import DataError, ParameterError
from bosket.estimates import Floats, expected_products
from bosket.mechanisms.base import Channel, Records
from bosket.mechanisms.identity import IdentityChannel
from bosket.mining.mine import as_baskets, not_a_string
from bosket.mining.support import cells_of, moments, product_sums
from bosket.reports import Reports

LARGEST = 8


@dataclass(frozen=True)
class PartialSupports:
    """Estimated fractions of records that have l of the items, or l_A and l_B of two itemsets' items.

    ``value`` has a place for each l = 0 .. k (two axes for two itemsets); ``covariance`` is that of the flattened
    values, under the coins alone or with the sampling of people.
    """

    value: Floats
    covariance: Floats
    n_records: int
    sampling: bool

    @property
    def stderr(self) -> Floats:
        """Root of the variances where these came out positive, else not a number."""
        with np.errstate(invalid="ignore"):
            result: Floats = np.sqrt(np.diag(self.covariance)).reshape(self.value.shape)
        return result

    @property
    def cumulative(self) -> Floats:
        """Sigma_l: the sum of the supports of all subsets of l items (Definition 11); of one itemset."""
        if self.value.ndim != 1:
            raise ParameterError(
                "Cumulative supports are those of one itemset.", parameter="other", value=self.value.shape
            )
        from bosket.privacy.breaches import partial_to_cumulative

        return partial_to_cumulative(self.value)


def partial_supports(
    data: Reports | Records,
    itemset: Iterable[Hashable],
    other: Iterable[Hashable] | None = None,
    *,
    sampling: bool = False,
) -> PartialSupports:
    """How many records have l of the items of ``itemset``; with ``other``, a disjoint itemset, how many have l and l'.

    Of reports with strata, ``reports[reports.strata == 5]`` are those of records of five items.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["a", "b"], ["a"], ["a", "c"], []])
    >>> bk.partial_supports(baskets, ["a", "b"]).value.tolist()
    [0.25, 0.5, 0.25]
    """
    data = as_baskets(data)
    if not isinstance(data, Reports | Baskets):
        raise DataError(f"Supports can be estimated from Reports or Baskets, not from a {type(data).__name__}.")
    if data.n_records == 0:
        raise DataError("There are no records to estimate from.")
    first = data.domain.itemset(not_a_string(itemset))
    second = () if other is None else data.domain.itemset(not_a_string(other))
    union = tuple(sorted({*first, *second}))
    if not first or (other is not None and not second) or len(union) < len(first) + len(second):
        raise ParameterError(
            "The 'itemset' and 'other' parameters must be itemsets that are not empty and have no common item.",
            parameter="other",
            value=other,
        )
    if len(union) > LARGEST:
        raise ParameterError(
            f"The 'itemset' parameter must have at most {LARGEST} items, got {len(union)}.",
            parameter="itemset",
            value=len(union),
        )
    rows = np.array([union], np.int32)
    channel: Channel
    if isinstance(data, Reports):
        channel, counter = data.channel, data.counter(rows[0])
    else:
        channel, counter = IdentityChannel(data.domain), Bitmaps.from_rows(data.to_bits(), data.n_items, items=rows[0])
    n, k = counter.n_records, len(union)
    cells = cells_of(count_subsets(counter, rows))
    masks = range(1, 1 << k)
    supports = np.empty(1 << k)
    supports[0] = n
    for mask in masks:
        chosen = members(mask)
        part = np.ascontiguousarray(rows[:, chosen])
        supports[mask] = moments(channel, counter.strata, part, cells_of(count_subsets(counter, part))).value[0]
    products = np.full((1 << k, 1 << k), np.nan)
    products[1:, 1:] = product_sums(channel, counter.strata, rows, cells, masks)[0]
    products[0, :] = products[:, 0] = supports
    numbers = np.arange(1 << k)
    both = supports[numbers[:, None] | numbers]
    less = expected_products(both, supports[:, None], supports, n, own=channel.own, sampling=sampling)
    exact = _exact_overlaps(union, first)
    shape = (len(first) + 1,) if other is None else (len(first) + 1, len(second) + 1)
    value: Floats = (exact @ supports / n).reshape(shape)
    return PartialSupports(value, exact @ (products - less) @ exact.T / n**2, n, sampling)


def _exact_overlaps(union: tuple[int, ...], first: tuple[int, ...]) -> Floats:
    """Row (l_A, l_B), a column per subset: having exactly so many, as a sum over supports (Statement 4)."""
    k = len(union)
    in_first = sum(1 << place for place, item in enumerate(union) if item in first)
    a = len(first)
    rows = []
    for l_a in range(a + 1):
        for l_b in range(k - a + 1):
            row = np.zeros(1 << k)
            for mask in range(1 << k):
                j_a, j_b = (mask & in_first).bit_count(), (mask & ~in_first).bit_count()
                row[mask] = (-1) ** (j_a - l_a + j_b - l_b) * comb(j_a, l_a) * comb(j_b, l_b)
            rows.append(row)
    return np.array(rows)
