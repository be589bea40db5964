"""The confidence of one rule A => B named in advance, and how far the truth may be from it.

Evfimievski et al. (2004), Section 4.6, Eq. 16: the confidence supp(A u B) / supp(A) is estimated by X / Y, the ratio of
the estimated supports.  These two come from the same reports, so their errors go together; with their covariance, and
taken as jointly Gaussian, :class:`~bosket.statistics.ratio.Ratio` says how likely X / Y lies within delta of EX / EY.

The paper's f(delta) takes the true EX, EY and covariance.  Here the estimates stand in for them, as in every interval
of this library: f is that of data whose true supports are the estimated ones.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from bosket.errors import DataError, ParameterError
from bosket.evidence import EvidenceSource
from bosket.measures.inference import SURE
from bosket.mining.searching import estimate
from bosket.statistics.estimates import Estimates
from bosket.statistics.ratio import Ratio

_ROUNDING = 1e-12  # of the sums that a covariance is the difference of


@dataclass(frozen=True, slots=True, repr=False)
class Confidence:
    """The estimated confidence of the rule antecedents => consequents, not clipped to [0, 1].

    ``sampling`` says what the errors cover: the coins alone (False), or also the drawing of people (True).
    """

    antecedents: frozenset[Hashable]
    consequents: frozenset[Hashable]
    ratio: Ratio
    """Estimated supports of antecedents and consequents together, and of the antecedents, as fractions."""
    sampling: bool
    randomness: str | None
    """How the reports were randomized; None for raw data."""

    @property
    def value(self) -> float:
        return self.ratio.value

    @property
    def support(self) -> float:
        """Estimated support of antecedents and consequents together, a fraction."""
        return self.ratio.numerator

    @property
    def antecedent_support(self) -> float:
        """Estimated support of the antecedents, a fraction."""
        return self.ratio.denominator

    @property
    def is_sure(self) -> bool:
        """Whether the support of the antecedents is more than two standard errors above 0.

        Otherwise the value means little, which a wide interval shows; a table of rules gives NaN in this case.
        """
        return self.antecedent_support > SURE * math.sqrt(self.ratio.variance_denominator)

    def within(self, delta: float) -> float:
        """The probability that the estimated confidence is within ``delta`` of the true one."""
        return self.ratio.within(delta)

    def radius(self, probability: float) -> float:
        """The smallest delta with ``within(delta)`` at least ``probability``."""
        return self.ratio.radius(probability)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """``value`` -+ ``radius(level)``, not clipped.

        For rules named in advance, and where some twenty reports or more show the whole itemset.  The nearer the
        support of the antecedents is to 0, the wider the interval, and the more often it holds the truth than it says.
        """
        return self.ratio.interval(level)

    def __repr__(self) -> str:
        rule = f"{_shown(self.antecedents)} => {_shown(self.consequents)}"
        source = "coins and sampling" if self.sampling else "coins alone"
        doubt = "" if self.is_sure else f", antecedents not {SURE:g} standard errors above 0"
        note = f", {self.randomness}" if self.randomness not in (None, "secure") else ""
        shown = f"{self.value:.4g} ± {self.radius(0.95):.2g} (95%)"
        return f"Confidence({rule}: {shown}, error of the {source}{doubt}{note})"


def _shown(side: frozenset[Hashable]) -> str:
    return "{" + ", ".join(sorted(map(repr, side))) + "}"


def confidence(
    data: EvidenceSource,
    antecedents: Iterable[Hashable],
    consequents: Iterable[Hashable],
    *,
    sampling: bool = False,
) -> Confidence:
    """The confidence of the rule antecedents => consequents, with the distribution of its error.

    ``sampling=False``: the error of the coins alone, for this very data set.  ``sampling=True``: that of drawing
    people too.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["milk", "bread"], ["milk"], ["milk", "bread", "beer"], ["beer"], ["milk"]])
    >>> confidence(baskets, {"milk"}, {"bread"})
    Confidence({'milk'} => {'bread'}: 0.5 ± 0 (95%), error of the coins alone)
    """
    a, b = _side("antecedents", antecedents), _side("consequents", consequents)
    if a & b:
        raise ParameterError(
            f"The 'consequents' parameter must have no item in common with the antecedents, got {len(a & b)}.",
            parameter="consequents",
            value=b,
        )
    found = estimate(data, [a | b, a], sampling=sampling)
    return Confidence(a, b, _ratio(found), sampling, found.randomness)


def _side(name: str, items: Iterable[Hashable]) -> frozenset[Hashable]:
    if isinstance(items, str):
        raise ParameterError(
            f"The '{name}' parameter must be a set of items, got a string.",
            parameter=name,
            value=items,
            hint="Write {'milk'} rather than 'milk'.",
        )
    side = frozenset(items)
    if not side:
        raise ParameterError(f"The '{name}' parameter must hold at least one item.", parameter=name, value=side)
    return side


def _ratio(found: Estimates) -> Ratio:
    """Numerator, denominator and covariance from two estimated supports.

    Variances are those of ``Estimates.stderr``, no smaller than any data set's.  A variance and a covariance are
    differences of large sums; where nothing is randomized, what rounding leaves of them is taken as the 0 it is.
    """
    rounding = _ROUNDING * (np.abs(found.variance) + np.abs(found.value) / found.n_records)
    variance = np.where(found.stderr**2 > rounding, found.stderr**2, 0.0)
    covariance = float(found.covariance[0, 1])
    try:
        return Ratio(
            numerator=float(found.value[0]),
            denominator=float(found.value[1]),
            variance_numerator=float(variance[0]),
            variance_denominator=float(variance[1]),
            covariance=covariance if abs(covariance) > rounding.max() else 0.0,
        )
    except ParameterError as problem:
        if problem.parameter == "denominator":
            raise DataError("The support of the antecedents came out as 0: the rule has no confidence.") from None
        raise DataError(
            f"The {found.n_records} reports are too few: the estimated correlation of the two supports exceeds 1.",
            hint="Estimate the two supports by themselves, or collect more reports.",
        ) from None
