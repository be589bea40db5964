"""What noise does not hide: the lowest discoverable support and confidence of Evfimievski et al. (2004), sections 5.1
and 5.2.

How likely it is that a record has l of an itemset's k items must be assumed; the paper assumes independent items of the
same frequency.  For rules A => B it also tries the greatest dependence: B only where A is, and the more of A the more
of B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bosket.checks import check_between, check_fraction, check_integer
from bosket.data import Domain
from bosket.errors import ParameterError, SingularChannelError
from bosket.limits import keeps_to
from bosket.mechanisms import Channel, ExchangeableChannel, Mechanism
from bosket.mechanisms.select_a_size import SizedMechanism
from bosket.planning.laws import binomial_law
from bosket.planning.maximal import planning_channel
from bosket.planning.overlaps import overlap_law
from bosket.planning.spreads import Spread, lowest, spread
from bosket.privacy.breaches import Floats
from bosket.statistics.ratio import Ratio
from bosket.statistics.roots import root

_LEAST = 1e-9  # confidence that is looked at

Overlaps = Callable[[int, int, float, float], Floats]
"""s[l_A, l_B] for itemsets of a and b items, from the support of A and the confidence of A => B."""


def independent(a: int, b: int, support: float, confidence: float) -> Floats:
    """All items independent, those of A alike and those of B alike: supp(A) = f^a, confidence = supp(B) = g^b."""
    f, g = support ** (1 / a), confidence ** (1 / b)
    return np.outer(binomial_law(a, f), binomial_law(b, g))


def maximally_dependent(a: int, b: int, support: float, confidence: float) -> Floats:
    """B in t only if A in t, so supp(B) = supp(A) confidence; records filled with B in the order of decreasing |t n A|.

    Items of A among themselves, and of B, are independent: two binomial laws, joined so that the largest go together.
    """
    f, g = support ** (1 / a), (support * confidence) ** (1 / b)
    left = np.concatenate([[0.0], np.cumsum(binomial_law(a, f)[::-1])])  # from l = a downwards
    right = np.concatenate([[0.0], np.cumsum(binomial_law(b, g)[::-1])])
    left[-1] = right[-1] = 1.0
    overlap = np.minimum.outer(left[1:], right[1:]) - np.maximum.outer(left[:-1], right[:-1])
    result: Floats = np.maximum(overlap, 0.0)[::-1, ::-1]
    return result


def support_stderr(
    mechanism: Mechanism,
    itemset_size: int,
    *,
    support: float,
    records: Mapping[int, int],
    domain: Domain | None = None,
) -> float:
    """Predicted standard error (of the coins) of a support, items independent, over ``records[m]`` records of m items.

    ``support`` is a fraction of all of them.  Records that are too small for the itemset do not have it; where reports
    state sizes they bring no error.  ``domain`` is needed where the mechanism names items, or is for tables.
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
    found = _spread(mechanism, k, records, domain)
    return math.inf if found is None else math.sqrt(found.at(support) / n)


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


def _spread(mechanism: Mechanism, k: int, records: Mapping[int, int], domain: Domain | None) -> Spread | None:
    """What a person brings to the support; None where no report tells of it."""
    if not isinstance(mechanism, SizedMechanism):
        found = spread(_channel(mechanism, records, domain), k, sizes=_shares(records), people=sum(records.values()))
        able = sum(share for size, share in _shares(records).items() if size >= k)
        return None if found is None or not able else replace(found, able=min(found.able, able))
    shares = {size: share for size, share in _shares(records).items() if size >= k}
    variances = {size: planning_channel(mechanism, size).record_variances_by_overlap(k, size) for size in shares}
    able = math.fsum(shares.values())

    def variance(support: float) -> float:
        law = overlap_law(k, support / able)
        return math.fsum(share * float(law @ variances[size]) for size, share in shares.items())

    return Spread(k, variance, able=able) if shares else None


def _shares(records: Mapping[int, int]) -> dict[int, float]:
    n = sum(records.values())
    return {size: number / n for size, number in records.items()}


def _channel(mechanism: Mechanism, records: Mapping[int, int], domain: Domain | None) -> Channel:
    """The channel on the domain, or on one that is large enough where the mechanism treats all items alike."""
    if domain is not None:
        return mechanism.channel(domain)
    try:
        return mechanism.channel(Domain(range(2 * max(records, default=0) + 40)))
    except ParameterError:
        raise ParameterError(
            f"The 'domain' parameter must be given for {mechanism}: what it makes of a record depends on the items, or "
            "on the attributes of a table.",
            parameter="domain",
            value=None,
            hint="Write domain=table.domain.",
        ) from None


def lowest_support(
    mechanism: Mechanism,
    itemset_size: int,
    *,
    records: Mapping[int, int],
    sigmas: float = 4.0,
    domain: Domain | None = None,
) -> float:
    """The support that lies ``sigmas`` of its own standard errors above zero; infinite where none does.

    Section 5.1: the paper takes four.  ``records[m]`` is the number of records of m items.  Any mechanism will do;
    ``domain`` is needed where it names items, or is for tables.

    >>> import bosket as bk
    >>> round(lowest_support(bk.Flip(keep=0.9), 2, records={5: 21_000}), 4)
    0.0056
    """
    k = check_integer("itemset_size", itemset_size, least=1)
    records = _checked(records)
    if not any(size >= k for size in records):
        return math.inf
    try:
        found = _spread(mechanism, k, records, domain)
    except SingularChannelError:
        return math.inf
    return math.inf if found is None else lowest(found, people=sum(records.values()), sigmas=sigmas)


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
    At least 10^-9.  Not a number where even a confidence of 1 is not discoverable, or the sides do not fit a record.
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
    return _LEAST if excess(_LEAST) >= 0 else root(excess, _LEAST, 1.0, xtol=_LEAST)
