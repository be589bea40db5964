"""Mixing: a report shows part of what several people have together.

Example 4.1 of Evfimievski et al. (2004).  A record is united with K - 1 others, drawn with replacement from all N, and
each item of the union is kept with probability p.  Whoever does this sees raw records, so it needs a curator whom
people trust, and it promises nothing in the worst case: an item in the report was in one of the K records.

An itemset B is avoided by a union when all K records avoid it.  With a_B the fraction of records that avoid B and
x'_X = 1 for an item that a report shows:

    u_B = a_B^K                              fraction of unions that avoid B, in expectation
    u_B = E of the product over X in B of (1 - x'_X / p)
    s_A = sum over B in A of (-1)^|B| a_B    inclusion and exclusion

so the mean of the product over the reports estimates u_B without bias, its K-th root a_B, and the signed sum the
support of A: consistent, not unbiased.  Errors follow by the delta method: the weight of a report is the estimate
linearised in u_B.  Of what is expected of a weight, 1 / K comes from the person's own record and the rest from everyone
alike, hence the variance of the coins and the draws (``own`` = 1 / K^2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows, Words
from bosket.data import Domain
from bosket.errors import DataError, ParameterError, SingularChannelError
from bosket.mechanisms.base import Cells, Channel, Floats, Mechanism, Records, Strata, as_domain
from bosket.mechanisms.parameters import Option, Probability, Whole, parameter
from bosket.privacy import Amplification, Influence, LocalGuarantee
from bosket.privacy.guarantee import check_reports
from bosket.randomness import Randomness, Thresholds

MOST_OTHERS = 10_000
"""Most records that one is united with: an item is lost among far fewer."""

_CLEAR = 5.0  # standard errors


@dataclass(frozen=True, slots=True)
class Mixing(Mechanism):
    """Unite each record with ``others`` more, drawn at random from all, and keep each item with probability ``keep``.

    Needs a curator who sees the raw records.
    """

    name = "mixing"
    needs_curator: ClassVar[bool] = True

    others: int = field(
        metadata=parameter(
            Whole(least=1, most=MOST_OTHERS),
            "how many other records each record is united with",
            Option(
                "mix",
                "OTHERS",
                help="unite each record with so many others, and keep items with --mix-keep; needs a curator",
            ),
        )
    )
    keep: float = field(
        metadata=parameter(
            Probability(),
            "probability that an item of the united records stays",
            Option("mix_keep", "P", beside=("mix",)),
        )
    )

    def channel(self, domain: Domain) -> MixingChannel:
        return MixingChannel(domain, self.others, self.keep)

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """No worst-case promise: a report that shows an item which nobody else has gives its owner away."""
        as_domain(domain)
        check_reports(reports)
        epsilon = 0.0 if self.keep == 0 else math.inf
        record = Amplification(epsilon, "any two records, all others known")
        return LocalGuarantee(
            mechanism=str(self),
            item=Amplification(epsilon, "two records that differ in one item and nothing else, all others known"),
            record=record,
            person=record.repeated(reports, f"a person in {reports} report{'s' if reports > 1 else ''}"),
            reports=reports,
            assumptions=(
                "a curator sees the raw records and has to be trusted with them",
                "a person's items also appear in reports made from other people's records",
                "what hides a person is the other records; an item that is rare among them is not hidden",
            ),
        )


class MixingChannel(Channel):
    """Mixing on a domain.  a_B^K is about the batch that was mixed: its reports cannot be taken apart."""

    belong_together = True

    def __init__(self, domain: Domain, others: int, keep: float) -> None:
        self.domain = domain
        self.united = others + 1
        self.own = 1 / self.united**2
        self._lose = Thresholds(np.full(len(domain), 1.0 - keep))
        self.keep = float(1.0 - Thresholds(1.0 - keep).probability[0])

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        n = len(bits)
        if n < self.united:
            raise DataError(
                f"Mixing unites {self.united} records, so it needs at least as many, got {n}.",
                hint="A single person cannot mix: a curator who holds all records does it.",
            )
        truth = bits.copy()
        for _ in range(self.united - 1):
            bits |= truth[rng.integers(n, n)]
        rng.xor_bernoulli(bits, when_set=self._lose, when_clear=Thresholds(np.zeros(len(self.domain))))
        return bits, None

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        """The estimate linearised at the reports counted in ``cells``: its mean over them is the estimate itself.

        Where the fraction of unions that avoid B is within a standard error of 0 or below it, the slope is that at one
        standard error: a root has none at 0.
        """
        if self.keep == 0:
            raise SingularChannelError(
                "Nothing can be estimated: with a keep of 0 all reports are empty.",
                items=self.domain.labels,
            )
        if cells is None:
            raise ParameterError(
                "The 'cells' parameter must be given: Mixing has no weights before there are reports.",
                parameter="cells",
                value=None,
            )
        k = itemsets.shape[1]
        shown = 1.0 - 1.0 / self.keep
        unions, spread = self._unions(cells)
        signs = np.where(np.bitwise_count(np.arange(1 << k)) % 2 == 0, 1.0, -1.0)
        avoiding = np.maximum(unions, 0.0) ** (1 / self.united)
        floor = np.maximum(np.maximum(unions, spread), np.finfo(float).tiny)
        slope = signs * floor ** (1 / self.united - 1) / self.united
        constant = (signs * avoiding - slope * unions).sum(axis=1, keepdims=True)
        result: Floats = constant + _by_subsets(slope, shown)
        return result

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """Not known before there are reports; a curator makes them, so that people can lie about their record alone."""
        return None

    def doubts(self, itemsets: ItemsetRows, cells: Cells) -> npt.NDArray[np.bool_] | None:
        """Where the unions that avoid some of the items are less than five standard errors above 0.

        A root is far from linear there.
        """
        unions, spread = self._unions(cells)
        return np.asarray((unions < _CLEAR * spread)[:, 1:].any(axis=1))

    def _unions(self, cells: Cells) -> tuple[Floats, Floats]:
        """The fraction of unions that avoid each subset, estimated, and its standard error."""
        n = cells.sum(axis=1, keepdims=True)
        shown = 1.0 - 1.0 / self.keep  # the factor of an item of B that a report shows; 1 if it does not
        unions = _by_subsets(cells / n, shown)
        return unions, np.sqrt(np.maximum(_by_subsets(cells / n, shown**2) - unions**2, 0.0) / n)

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """None is known before there are reports."""
        return np.zeros(len(itemsets))


def _by_subsets(values: Floats, shown: float) -> Floats:
    """Sum over patterns y of values[y] shown^|B n y|, for every subset B: one item at a time, 2^k k steps.

    The matrix is symmetric, so it also sums over subsets B for every pattern.
    """
    result = values.copy()
    n, size = result.shape
    if n == 0:
        return result
    width = 1
    while width < size:
        pairs = result.reshape(n, -1, 2, width)
        without, having = pairs[:, :, 0].copy(), pairs[:, :, 1].copy()
        pairs[:, :, 0] = without + having
        pairs[:, :, 1] = without + shown * having
        width *= 2
    return result
