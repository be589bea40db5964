"""What the sieve says of itself is true on average: intervals, and the F that it announces."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest

import bosket as bk
from bosket.curator.sieve import bounds
from bosket.curator.sieve.release import SieveRelease
from bosket.data import Baskets

pytest.importorskip("opendp")

LIMIT = 0.02
RUNS = 4


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    """Data that took no part in choosing anything: 1814 frequent itemsets, of up to eight items."""
    return bk.quest(records=30_000, items=150, patterns=60, mean_size=8, seed=11)


@pytest.fixture(scope="module")
def supports(baskets: Baskets) -> dict[frozenset[Hashable], float]:
    return dict(bk.mine(baskets, LIMIT / 5))


def judged(baskets: Baskets, supports: dict[frozenset[Hashable], float], delta: float) -> tuple[float, float]:
    """Over some releases: how far above the true F the announced one is, and how often intervals hold; means."""
    frequent = {name for name, support in supports.items() if support >= LIMIT}
    above, held = [], []
    for _ in range(RUNS):
        release = bk.curator.mine(baskets, 1.0, LIMIT, method="sieve", delta=delta)
        assert isinstance(release, SieveRelease)
        frame = release.to_frame()
        names = list(frame["itemsets"])
        above.append(release.announced.f - 2 * len(frequent & set(names)) / (len(frequent) + len(names)))
        ends = zip(names, frame["low"], frame["high"], strict=True)
        held.append(np.mean([low <= supports.get(name, 0.0) <= high for name, low, high in ends]))
    return float(np.mean(above)), float(np.mean(held))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_release_says_what_it_is_worth(
    baskets: Baskets, supports: dict[frozenset[Hashable], float], delta: float
) -> None:
    """Single runs were 0.02 too low with a standard deviation of 0.04 and held in 0.989 of cases with one of 0.007
    (pure; twelve runs): means of four leave these bounds once in 1e7.
    """
    above, held = judged(baskets, supports, delta)
    assert abs(above) < 0.13
    assert held > 0.9


@pytest.mark.slow
def test_sums_that_are_taken_as_whole_are_found(
    baskets: Baskets, supports: dict[frozenset[Hashable], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake beside it: nothing is put back for what was cut."""
    monkeypatch.setattr(bounds, "shares_at", lambda histogram, *_: np.ones(histogram.numbers.shape[1]))
    above, held = judged(baskets, supports, 0.0)
    assert abs(above) > 0.13 or held < 0.9
