"""What noise does not hide: the lowest discoverable support and confidence of Evfimievski et al. (2004), sections 5.1
and 5.2.

How likely it is that a record has l of an itemset's k items must be assumed; the paper assumes independent items of the
same frequency.  For rules A => B it also tries the greatest dependence: B only where A is, and the more of A the more
of B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from bosket.checks import check_between, check_fraction, check_integer
from bosket.errors import ParameterError, SingularChannelError
from bosket.limits import keeps_to
from bosket.mechanisms import ExchangeableChannel, Mechanism
from bosket.planning.maximal import planning_channel
from bosket.privacy.breaches import Floats
from bosket.statistics.ratio import Ratio

_LEAST = 1e-15

Overlaps = Callable[[int, int, float, float], Floats]
"""s[l_A, l_B] for itemsets of a and b items, from the support of A and the confidence of A => B."""


def independent(a: int, b: int, support: float, confidence: float) -> Floats:
    """All items independent, those of A alike and those of B alike: supp(A) = f^a, confidence = supp(B) = g^b."""
    f, g = support ** (1 / a), confidence ** (1 / b)
    return np.outer(binom.pmf(np.arange(a + 1), a, f), binom.pmf(np.arange(b + 1), b, g))


def maximally_dependent(a: int, b: int, support: float, confidence: float) -> Floats:
    """B in t only if A in t, so supp(B) = supp(A) confidence; records filled with B in the order of decreasing |t n A|.

    Items of A among themselves, and of B, are independent: two binomial laws, joined so that the largest go together.
    """
    f, g = support ** (1 / a), (support * confidence) ** (1 / b)
    left = np.concatenate([[0.0], np.cumsum(binom.pmf(np.arange(a, -1, -1), a, f))])  # from l = a downwards
    right = np.concatenate([[0.0], np.cumsum(binom.pmf(np.arange(b, -1, -1), b, g))])
    left[-1] = right[-1] = 1.0
    overlap = np.minimum.outer(left[1:], right[1:]) - np.maximum.outer(left[:-1], right[:-1])
    result: Floats = np.maximum(overlap, 0.0)[::-1, ::-1]
    return result


def support_stderr(mechanism: Mechanism, itemset_size: int, *, support: float, records: Mapping[int, int]) -> float:
    """Predicted standard error (of the coins) of a support, items independent, over ``records[m]`` records of m items.

    ``support`` is a fraction of all of them.  Records that are too small for the itemset do not have it, and bring no
    error.
    """
    k = check_integer("itemset_size", itemset_size, least=1)
    records = _checked(records)
    n = sum(records.values())
    able = sum(number for size, number in records.items() if size >= k)
    if not (support >= 0 and keeps_to(support * n, able)):
        raise ParameterError(
            f"The 'support' parameter must be at most the {able / n:.4g} of records that have {k} items or more, got "
            f"{support:g}.",
            parameter="support",
            value=support,
        )
    return _support_error(_variances(mechanism, k, records), k, records, support)


def _checked(records: Mapping[int, int]) -> dict[int, int]:
    """Numbers of records by size; sizes that nobody has are left out."""
    if not isinstance(records, Mapping):
        raise ParameterError(
            f"The 'records' parameter must be a mapping from record size to number, got a {type(records).__name__}.",
            parameter="records",
            value=records,
            hint="Write {5: 100_000} for 100,000 records of five items.",
        )
    numbers = {
        check_integer("records size", size, least=0): check_integer(f"records[{size}]", number, least=0)
        for size, number in records.items()
    }
    return {size: number for size, number in numbers.items() if number}


def _variances(mechanism: Mechanism, k: int, records: Mapping[int, int]) -> dict[int, Floats]:
    """Statement 3's variance of one record by the number of items it has, for every size that can hold the itemset."""
    return {
        size: planning_channel(mechanism, size).record_variances_by_overlap(k, size) for size in records if size >= k
    }


def _support_error(variances: Mapping[int, Floats], k: int, records: Mapping[int, int], support: float) -> float:
    n = sum(records.values())
    able = sum(records[size] for size in variances)
    frequency = min(1.0, support * n / able) ** (1 / k)
    overlaps = binom.pmf(np.arange(k + 1), k, frequency)
    return math.sqrt(sum(records[size] * float(overlaps @ variance) for size, variance in variances.items())) / n


def lowest_support(
    mechanism: Mechanism, itemset_size: int, *, records: Mapping[int, int], sigmas: float = 4.0
) -> float:
    """The support that lies ``sigmas`` of its own standard errors above zero; infinite where none does.

    Section 5.1: the paper takes four.  ``records[m]`` is the number of records of m items.
    """
    k = check_integer("itemset_size", itemset_size, least=1)
    records = _checked(records)
    able = sum(number for size, number in records.items() if size >= k)
    if not able:
        return math.inf
    try:
        variances = _variances(mechanism, k, records)
    except SingularChannelError:
        return math.inf
    most = able / sum(records.values())

    def excess(support: float) -> float:
        return support - sigmas * _support_error(variances, k, records, support)

    if excess(most) <= 0:
        return math.inf
    if excess(_LEAST) > 0:
        return 0.0  # there is no noise: any support can be distinguished from zero
    return float(brentq(excess, _LEAST, most, xtol=1e-15))


def confidence_ratio(
    channel: ExchangeableChannel,
    a: int,
    b: int,
    *,
    size: int,
    n_records: int,
    support: float,
    confidence: float,
    assumption: Overlaps = independent,
) -> Ratio:
    """The estimate of the confidence of A => B as a ratio of two Gaussians, as it will come out."""
    overlaps = assumption(a, b, support, confidence)
    covariance = channel.two_set_covariance(a, b, overlaps, size) / n_records
    return Ratio(
        numerator=support * confidence,
        denominator=support,
        variance_numerator=float(covariance[0, 0]),
        variance_denominator=float(covariance[1, 1]),
        covariance=float(covariance[0, 1]),
    )


def lowest_confidence(
    mechanism: Mechanism,
    antecedents: int,
    consequents: int,
    *,
    size: int,
    n_records: int,
    support: float,
    assumption: Overlaps = independent,
    probability: float = 0.95,
    times: float = 2.0,
) -> float:
    """The smallest confidence that is ``times`` the radius within which its estimate falls with this probability.

    Section 5.2, for rules of these sizes, ``support`` of the antecedent, and records of one size.
    Not a number where even a confidence of 1 is not discoverable, or the sides do not fit into a record.
    """
    a, b = check_integer("antecedents", antecedents, least=1), check_integer("consequents", consequents, least=1)
    check_between("probability", probability, 0, 1)
    check_fraction("support", support)
    size, n_records = check_integer("size", size, least=1), check_integer("n_records", n_records, least=1)
    channel = planning_channel(mechanism, size)
    if a + b > size:
        return math.nan

    def excess(confidence: float) -> float:
        ratio = confidence_ratio(
            channel,
            a,
            b,
            size=size,
            n_records=n_records,
            support=support,
            confidence=confidence,
            assumption=assumption,
        )
        return confidence - times * ratio.radius(probability)

    try:
        if excess(1.0) <= 0:
            return math.nan
    except SingularChannelError:
        return math.nan
    return float(brentq(excess, 1e-9, 1.0, xtol=1e-9))
