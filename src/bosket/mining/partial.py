"""Partial supports: how many records have exactly l of an itemset's items.

Evfimievski et al. (2004), Definitions 9, 11 and 13, for every mechanism: what a record has exactly follows from the
supports of subsets, s_l = sum over j >= l of (-1)^(j - l) C(j, l) Sigma_j with Sigma_j the sum of the supports of all
subsets of j items (Statement 4), and so do estimates and covariances.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import comb

import numpy as np

from bosket.checks import check_not_text
from bosket.errors import ParameterError
from bosket.evidence import EvidenceSource, as_source, evidence_of
from bosket.evidence.base import add_sampling
from bosket.mining.influence import warn_of
from bosket.statistics.estimates import Floats

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
    data: EvidenceSource,
    itemset: Iterable[Hashable],
    other: Iterable[Hashable] | None = None,
    *,
    sampling: bool = False,
) -> PartialSupports:
    """How many records have l of the items of ``itemset``; with ``other``, a disjoint itemset, how many have l and l'.

    Where reports state sizes, ``reports[reports.record_sizes == 5]`` are those of records of five items.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["a", "b"], ["a"], ["a", "c"], []])
    >>> bk.partial_supports(baskets, ["a", "b"]).value.tolist()
    [0.25, 0.5, 0.25]
    """
    data = as_source(data)
    first = data.domain.itemset(check_not_text(itemset))
    second = () if other is None else data.domain.itemset(check_not_text(other))
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
    evidence = evidence_of(data, rows[0])
    n, k = evidence.n_records, len(union)
    family = evidence.family(rows)
    warn_of(family.whole.carried, evidence.domain)
    supports = family.values[0]
    covariance = family.covariance(range(1 << k))[0]
    if sampling:
        masks = np.arange(1 << k)
        both = supports[masks[:, None] | masks]
        covariance = add_sampling(covariance, both, supports[:, None], supports, n)
    exact = _exact_overlaps(union, first)
    shape = (len(first) + 1,) if other is None else (len(first) + 1, len(second) + 1)
    value: Floats = (exact @ supports / n).reshape(shape)
    return PartialSupports(value, exact @ covariance @ exact.T / n**2, n, sampling)


def _exact_overlaps(union: tuple[int, ...], first: tuple[int, ...]) -> Floats:
    """Row (l_A, l_B), a column per subset: having exactly l_A and l_B items, as a sum over supports (Statement 4)."""
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
