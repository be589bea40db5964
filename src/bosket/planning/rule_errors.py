"""The joint error of the support of a rule and of its antecedent, for any mechanism, before anybody answers.

X estimates the support of A and B together, Y that of A.  With weights x and y of a report they have the covariance

    sum over reports of x y / N^2  -  (own S_AB + (1 - own) S_A S_AB / N) / N^2

in expectation, own being 1 for whatever randomizes records one by one.  Answers to questions are read question by
question: a report that shows B and A shows A.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.special import ndtr, owens_t

from bosket.counting.base import ItemsetRows
from bosket.counting.table import restrict
from bosket.errors import ParameterError, SingularChannelError
from bosket.mechanisms import Channel, ExchangeableChannel, RecordChannel
from bosket.mechanisms.base import Cells
from bosket.mechanisms.mixing import MixingChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.foreseen import variances_of
from bosket.planning.discoverability import Overlaps, independent
from bosket.planning.laws import SizeShares, united_law
from bosket.planning.overlaps import typical_itemsets
from bosket.planning.spreads import strata_of
from bosket.statistics.estimates import Floats
from bosket.statistics.ratio import Ratio

_MOST_ITEMS = 8  # of a rule whose patterns are gone through


def rule_covariance(
    channel: Channel,
    a: int,
    b: int,
    *,
    support: float,
    confidence: float,
    sizes: SizeShares | None = None,
    people: int = 10**6,
    assumption: Overlaps = independent,
) -> Floats | None:
    """N times the covariance of (X, Y) for a rule of these sizes; None where the reports do not tell of it."""
    if a + b > _MOST_ITEMS:
        raise ParameterError(
            f"The 'consequents' parameter must leave a rule at most {_MOST_ITEMS} items, got {a + b}.",
            parameter="consequents",
            value=b,
        )
    if a + b > len(channel.domain):
        return None
    try:
        if isinstance(channel, AskChannel):
            return _of_answers(channel, a, b, support, confidence)
        if isinstance(channel, MixingChannel):
            truth = pattern_law(a, b, assumption(a, b, support, confidence))
            law = united_law(truth, channel.united, channel.keep)
            cells = np.rint(law * people * 2.0**20).astype(np.int64)[None, :]
            return _of_weights(channel, tuple(range(a + b)), a, law, truth, cells=cells)
        if isinstance(channel, RecordChannel):
            return _of_records(channel, a, b, support, confidence, sizes, assumption)
    except SingularChannelError:
        return None
    return None


def pattern_law(a: int, b: int, overlaps: Floats) -> Floats:
    """Probabilities of patterns of a + b items, A first, from those of (items of A, items of B) that a record has."""
    patterns = np.arange(1 << (a + b))
    of_a, of_b = np.bitwise_count(patterns & ((1 << a) - 1)), np.bitwise_count(patterns >> a)
    number = np.zeros_like(overlaps)
    np.add.at(number, (of_a, of_b), 1.0)
    law: Floats = (overlaps / number)[of_a, of_b]
    return law


def _of_records(
    channel: RecordChannel,
    a: int,
    b: int,
    support: float,
    confidence: float,
    sizes: SizeShares | None,
    assumption: Overlaps,
) -> Floats | None:
    """Over the sizes of records: those too small for A bring nothing, those too small for both nothing to X."""
    strata = strata_of(channel, sizes)
    able = [sum(share for size, share in strata.items() if size is None or size >= n) for n in (a, a + b)]
    if not able[1]:
        return None
    among, sure = min(1.0, support / able[0]), min(1.0, confidence * able[0] / able[1])
    total = np.zeros((2, 2))
    itemsets = [one for one in typical_itemsets(channel, a + b) if _has_weights(channel, one, strata)]
    if not itemsets:
        return None
    for size, share in strata.items():
        if size is not None and size < a:
            continue
        stratum = None if size is None else channel.stratum_of(size)
        if isinstance(channel, ExchangeableChannel) and stratum is not None and stratum >= a + b:
            overlaps = _possible(assumption(a, b, among, sure), channel.possible(a + b, stratum))
            total += share * channel.two_set_covariance(a, b, overlaps, stratum)
        elif stratum is not None:
            alone = channel.record_variances(tuple(range(a)), stratum)
            law = pattern_law(a, 0, assumption(a, 1, among, 0.0).sum(axis=1, keepdims=True))
            total[1, 1] += share * float(law @ alone)
        else:
            truth = pattern_law(a, b, assumption(a, b, among, sure))
            found = []
            for itemset in itemsets:
                report = truth @ channel.transition(itemset, stratum)
                found.append(_of_weights(channel, itemset, a, report, truth))
            total += share * np.mean(found, axis=0)
    return total


def _possible(overlaps: Floats, possible: range) -> Floats:
    """The law given that a record can have so many of the items in all."""
    together = np.add.outer(np.arange(overlaps.shape[0]), np.arange(overlaps.shape[1]))
    inside = np.where((together >= possible.start) & (together < possible.stop), overlaps, 0.0)
    total = float(inside.sum())
    return inside / total if total > 0 else overlaps


def _has_weights(channel: RecordChannel, itemset: tuple[int, ...], strata: dict[int | None, float]) -> bool:
    try:
        for size in strata:
            stratum = None if size is None else channel.stratum_of(size)
            if size is None or size >= len(itemset):
                channel.weights(np.array([itemset], np.int32), stratum)
    except SingularChannelError:
        return False
    return True


def _of_weights(
    channel: Channel, itemset: tuple[int, ...], a: int, report: Floats, truth: Floats, *, cells: Cells | None = None
) -> Floats:
    """From the law of what reports show, and that of the truth."""
    rows: ItemsetRows = np.array([itemset], np.int32)
    mask = (1 << a) - 1
    weights = np.stack([channel.weights(rows, None, cells)[0], channel.subset_weights(rows, mask, None, cells)[0]])
    has = restrict(len(itemset), mask) == mask
    supports = np.array([truth[-1], truth[has].sum()])
    both = np.array([[truth[-1], truth[-1]], [truth[-1], supports[1]]])
    second = (weights * report) @ weights.T
    covariance: Floats = second - channel.own * both - (1 - channel.own) * np.outer(supports, supports)
    return covariance


def _of_answers(channel: AskChannel, a: int, b: int, support: float, confidence: float) -> Floats | None:
    """Question by question; the mean over attributes that some question is about together."""
    domain = channel.domain
    together = {chosen for one in channel.asked for chosen in combinations(one.attributes, a + b)}
    spaced = sorted(together)[:: max(1, len(together) // 64)]
    found = []
    for attributes in spaced:
        whole = np.array([domain.offsets[list(attributes)]], np.int32)
        part = np.ascontiguousarray(whole[:, :a])
        shares = np.array([support * confidence, support])
        alone = np.array(
            [float(variances_of(channel, rows).at(share)[0]) for rows, share in zip((whole, part), shares, strict=True)]
        )
        between = _between_answers(channel, whole, part, shares)
        found.append(np.array([[alone[0], between], [between, alone[1]]]))
    known = [one for one in found if np.isfinite(one).all()]
    return np.mean(known, axis=0) if known else None


def _between_answers(channel: AskChannel, whole: ItemsetRows, part: ItemsetRows, shares: Floats) -> float:
    """N Cov(X, Y): over the questions about both, a a' / (kappa^2 pi) Cov(S, S'), less what drawing people adds."""
    terms: list[dict[int, tuple[float, int]]] = []
    for rows in (whole, part):
        tellers = channel.questionnaire.tellers(rows, channel.every)
        within = channel.questionnaire.within(rows, tellers)
        known = channel.information(tellers, within, channel.shares)
        terms.append(
            {
                int(q): (float(weight), int(number))
                for q, weight, number in zip(tellers.question, known.share, within.n_answers, strict=True)
            }
        )
    both, single = shares.tolist()
    total = 0.0
    for q, (weight, number) in terms[0].items():
        other, among = terms[1][q]
        chance, keep = float(channel.by_chance[q]), float(channel.keep[q])
        if channel.hashed[q]:
            covariance = number * chance * (1 - chance) + (1 - 2 * chance) * keep * both - keep**2 * both * single
        else:
            shown = [number * chance + keep * both, among * chance + keep * single]
            covariance = shown[0] * (1 - shown[1])
        total += weight * other / (keep**2 * float(channel.shares[q])) * covariance
    return float(total - both * (1 - single))


def rule_ratio(covariance: Floats, *, support: float, confidence: float, people: int) -> Ratio:
    """The estimate of the confidence as a ratio of two Gaussians."""
    return Ratio(
        numerator=support * confidence,
        denominator=support,
        variance_numerator=float(covariance[0, 0]) / people,
        variance_denominator=float(covariance[1, 1]) / people,
        covariance=float(covariance[0, 1]) / people,
    )


def chance_to_find(
    mean: tuple[float, float], covariance: Floats, *, min_support: float, min_confidence: float
) -> float:
    """Pr(X >= min_support and X >= min_confidence Y) for Gaussian (X, Y): the rule is listed.

    Also Y > 0, which the two imply.
    """
    x, y = mean
    turn = np.array([[1.0, 0.0], [1.0, -min_confidence]])
    centre = turn @ np.array([x, y]) - np.array([min_support, 0.0])
    spread = turn @ covariance @ turn.T
    scale = np.sqrt(np.maximum(np.diag(spread), 0.0))
    sure = scale <= 1e-15
    if sure.any():
        passes = [float(c >= 0) if s else float(ndtr(c / d)) for c, s, d in zip(centre, sure, scale, strict=True)]
        return passes[0] * passes[1]
    correlation = float(np.clip(spread[0, 1] / scale.prod(), -1 + 1e-12, 1 - 1e-12))
    away = centre / scale
    return min(1.0, max(0.0, both_below(float(away[0]), float(away[1]), correlation)))


def both_below(h: float, k: float, correlation: float) -> float:
    """Pr(Z1 <= h and Z2 <= k) of two standard normal variables, by Owen's function (Owen 1956, Eq. 2.1)."""
    root = math.sqrt((1 - correlation) * (1 + correlation))
    if h == 0 and k == 0:
        return 0.25 + math.asin(correlation) / (2 * math.pi)

    def part(one: float, other: float) -> float:
        """T(one, (other / one - correlation) / root), which is 1/4 of a turn where one is 0."""
        if one == 0:
            return 0.25 if other > 0 else -0.25
        return float(owens_t(one, (other / one - correlation) / root))

    apart = h * k < 0 or (h * k == 0 and h + k < 0)
    return float(0.5 * (ndtr(h) + ndtr(k)) - part(h, k) - part(k, h) - 0.5 * apart)
