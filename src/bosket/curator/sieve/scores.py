"""What F the first k itemsets of a list are expected to have, where each is right with a probability of its own.

With the itemsets in order of the probability p that they are frequent, let A of the first k be frequent, R of all
others that were measured, and a Poisson number U, with mean M, of those that were not.  Then

    F_k = 2 A / (k + A + R + U)

where probabilities are taken to be independent.  A and R are sums of indicators, whose laws follow by adding one after
the other.  Where many are expected to be frequent, A + R + U is near its mean T, and F_k is about 2 E[A] / (k + T).
"""

from __future__ import annotations

import math

import numpy as np

from bosket.statistics.estimates import Floats

_FEW = 12.0  # frequent itemsets, expected in all: from there on the mean stands for their number
_MOST = 96  # of them; more than 12 + 20 standard deviations
_LIKELY = 1e-12  # rarer ones are put to those that were not measured


def expected_scores(falling: Floats, missed: float) -> Floats:
    """The expected F of each prefix of these probabilities, the largest first; ``missed`` were never measured.

    >>> expected_scores(np.array([0.5]), 0.0)
    array([0.5])
    >>> expected_scores(np.array([1.0, 0.5]), 0.0).round(3)  # 1 / 2 (1 + 2/3), then 1 / 2 (2/3 + 1)
    array([0.833, 0.833])
    """
    likely = np.cumsum(falling)
    total = float(likely[-1]) + missed
    scores = np.asarray(2 * likely / (np.arange(1, len(falling) + 1) + total))
    if total <= _FEW:
        exact = _exact(falling[falling > _LIKELY], missed + float(falling[falling <= _LIKELY].sum()))
        scores[: len(exact)] = exact
    return scores


def nothing_is_right(falling: Floats, missed: float) -> float:
    """The expected F of a release of nothing: the probability that nothing is frequent."""
    return float(np.prod(1 - falling)) * math.exp(-missed)


def _exact(falling: Floats, missed: float) -> Floats:
    """By the laws of how many of the first k, and of all others, are frequent."""
    longest = min(len(falling), _MOST)
    numbers = np.arange(_MOST + 1)
    others = _poisson(missed)
    for one in falling[longest:]:
        others = _with(others, one)
    rest = [others]
    for one in falling[:longest][::-1]:  # of those after the first k, for falling k
        rest.append(_with(rest[-1], one))
    first = np.zeros(_MOST + 1)
    first[0] = 1.0
    scores = np.zeros(longest)
    for k, one in enumerate(falling[:longest], 1):
        first = _with(first, one)
        ratios = 2 * numbers[:, None] / (k + numbers[:, None] + numbers[None, :])
        scores[k - 1] = first @ ratios @ rest[longest - k]
    return scores


def _with(law: Floats, probability: float) -> Floats:
    """The law of a number, once one more is added with this probability; what passes the largest stays there."""
    result = (1 - probability) * law
    result[1:] += probability * law[:-1]
    result[-1] += probability * law[-1]
    return result


def _poisson(mean: float) -> Floats:
    law = np.zeros(_MOST + 1)
    law[0] = math.exp(-mean)
    for number in range(1, _MOST + 1):
        law[number] = law[number - 1] * mean / number
    return law
