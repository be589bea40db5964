"""Tails of binomial numbers, and of reports that one person may repeat: against sums over all outcomes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from bosket.statistics.binomial_tails import at_least, at_least_of_people


def test_tails_are_sums() -> None:
    for n, k in product((1, 5, 20), (0, 1, 4)):
        if k <= n:
            exact = sum(math.comb(n, j) * 0.3**j * 0.7 ** (n - j) for j in range(k, n + 1))
            assert at_least(k, n, 0.3) == pytest.approx(exact)
            assert at_least_of_people(k, n, 0.3, repeats=1) == at_least(k, n, 0.3)


@pytest.mark.parametrize("each", [(3, 3, 3, 3), (1, 3, 2, 1, 3), (1,) * 9])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.8])
def test_no_number_is_likelier_than_the_bound(each: tuple[int, ...], p: float) -> None:
    """People who send one to three reports, all alike: over all outcomes, the chance of a number or more."""
    n = sum(each)
    chance = np.zeros(n + 1)
    for coins in product((0, 1), repeat=len(each)):
        chance[sum(c * m for c, m in zip(coins, each, strict=True))] += math.prod(p if c else 1 - p for c in coins)
    true = chance[::-1].cumsum()[::-1]
    assert (true <= at_least_of_people(np.arange(n + 1), n, p, repeats=3) + 1e-12).all()
    if each[0] == 3:
        assert (true > at_least(np.arange(n + 1), n, p) + 1e-3).any(), "as if all were draws apart, it is"
