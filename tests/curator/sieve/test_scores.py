"""The expected F of a release, which decides how much is released, and whether anything is."""

from __future__ import annotations

from itertools import product
from math import exp, factorial

import numpy as np
import pytest

from bosket.curator.sieve.beliefs import SievedLevel, Values
from bosket.curator.sieve.rounds import Sieved
from bosket.curator.sieve.scores import expected_scores, nothing_is_right
from bosket.curator.sieve.selection import select
from bosket.statistics.estimates import Floats


def enumerated(falling: list[float], missed: float) -> tuple[list[float], float]:
    """By all 2^n ways to be frequent and up to forty that were never measured; and the same of nothing."""
    scores, nothing = [0.0] * len(falling), 0.0
    for unmeasured in range(40):
        of_others = exp(-missed) * missed**unmeasured / factorial(unmeasured)
        for is_frequent in product([0, 1], repeat=len(falling)):
            chance = of_others * float(
                np.prod([p if one else 1 - p for p, one in zip(falling, is_frequent, strict=True)])
            )
            number = sum(is_frequent) + unmeasured
            nothing += chance * (number == 0)
            for k in range(1, len(falling) + 1):
                scores[k - 1] += chance * 2 * sum(is_frequent[:k]) / (k + number)
    return scores, nothing


@pytest.mark.parametrize("falling", [[0.45], [0.9, 0.5], [0.99, 0.6, 0.6, 0.3, 0.2, 0.05], [1.0, 1e-13], [0.0, 0.0]])
@pytest.mark.parametrize("missed", [0.0, 0.7, 3.0])
def test_scores_are_those_of_all_ways_to_be_frequent(falling: list[float], missed: float) -> None:
    scores, nothing = enumerated(falling, missed)
    found = expected_scores(np.array(falling), missed)
    n = sum(one > 1e-12 for one in falling)  # rarer ones are never the last that is released
    assert found[:n] == pytest.approx(scores[:n], abs=1e-9)
    assert nothing_is_right(np.array(falling), missed) == pytest.approx(nothing, abs=1e-12)


def test_a_mean_stands_for_many() -> None:
    """Just above and just below the number from which on it does, and for prefixes that are longer than any law."""
    few, many = (np.linspace(0.99, 0.01, n) for n in (23, 26))
    for falling in (few, many):
        likely = np.cumsum(falling)
        mean = 2 * likely / (np.arange(1, len(falling) + 1) + likely[-1])
        assert np.abs(expected_scores(falling, 0.0) - mean).max() < 0.02
        assert (expected_scores(falling, 0.0) == mean).all() == (len(falling) == 26)
    rare = np.full(300, 0.02)
    assert np.diff(expected_scores(rare, 0.0)).min() > 0, "many rare ones are released together, if any"


def sieved(probabilities: list[float], missed: float = 0.0) -> Sieved:
    """Items with these probabilities of having 100 records or more."""
    n = len(probabilities)
    level = SievedLevel(np.arange(n, dtype=np.int32)[:, None])
    level.grid = np.tile([50.0, 150.0, 250.0], (n, 1))
    level.posterior = np.array([[1 - p, 0.0, p] for p in probabilities])
    level.prior, level.classes, level.limit = np.full((1, 3), 1 / 3), np.zeros(n, np.int64), 175.0
    level.rounds.append(Values(np.arange(n), np.full(n, 100.0), 1.0, np.ones(n)))
    return Sieved([level], 1000, 175.0, missed, ())


def released(result: Sieved) -> Floats:
    return np.concatenate([np.zeros(0), *(part.rows.ravel() for part in select(result)[0])])


@pytest.mark.parametrize(
    ("probabilities", "missed", "expected"),
    [
        ([0.55], 0.0, [0]),
        ([0.45], 0.0, []),  # F is .45 with it, and .55 without
        ([0.45], 0.2, []),  # .42 with it, and .45 without, with what nobody measured
        ([0.45], 2.0, [0]),
        ([3e-9], 0.0, []),
        ([0.3, 0.3, 0.3], 0.0, [0, 1, 2]),
        ([1.0, 1e-6], 0.0, [0]),
    ],
)
def test_what_expects_most_of_itself_is_released(
    probabilities: list[float], missed: float, expected: list[int]
) -> None:
    result = sieved(probabilities, missed)
    scores, nothing = enumerated(sorted(probabilities, reverse=True), missed)
    assert (nothing > max(scores)) == (not expected)
    assert released(result).tolist() == expected
    announced = select(result)[1]
    assert announced.f == pytest.approx(scores[len(expected) - 1] if expected else nothing, abs=1e-9)
