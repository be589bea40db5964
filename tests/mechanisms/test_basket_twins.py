"""An audit of one answer about a basket: no more than epsilon is found, and twins that break a rule are caught."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.audit.lower_bounds import by_threshold
from tests.mechanisms.basket_laws import buckets_of

N = 40_000
EPSILON = 1.0


def audited(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    return by_threshold(one, other).epsilon


def _evidence_for(
    seeds: Any, values: Any, own: Sequence[int], others: Sequence[int], g: int
) -> npt.NDArray[np.float64]:
    """How many items of the one basket a report shows, less those of the other."""
    score = np.zeros(len(seeds))
    for key in own:
        score += buckets_of(seeds, key, g) == values
    for key in others:
        score -= buckets_of(seeds, key, g) == values
    return score


def _sampled_in_the_open(basket: Sequence[int], rng: np.random.Generator, *, told: bool) -> Any:
    """Randomized response on the hash of one sampled item, as strong as a hidden sample of distinct hashes allows.

    Items that share a bucket count twice; where the sample is ``told``, it is the seed's last bit.
    """
    g, strong = 4, 2 * (math.exp(EPSILON) - 1) + 1
    seeds = rng.integers(0, 2**63, N).astype(np.uint64)
    slot = (seeds & np.uint64(1)).astype(int) if told else rng.integers(0, 2, N)
    buckets = np.array([buckets_of(seeds, key, g) for key in basket])
    truth = buckets[slot, np.arange(N)]
    lies = rng.random(N) >= strong / (strong + g - 1)
    values = np.where(lies, (truth + rng.integers(1, g, N)) % g, truth)
    return seeds, values, slot


def test_an_audit_finds_no_more_than_epsilon() -> None:
    """Two full baskets of different items; the bound comes near epsilon, so that a twin would be caught."""
    domain = bk.Domain(range(4))
    mechanism = bk.AskBaskets(epsilon=EPSILON, length=2, size=8)
    scores = []
    for seed, basket in enumerate([(0, 1), (2, 3)]):
        people = bk.Baskets([basket], items=domain.labels).repeat(N)
        batch = mechanism.randomize(people, domain=domain, rng=bk.Seeded(seed)).batch
        scores.append(_evidence_for(batch["seed"], batch["value"], (0, 1), (2, 3), 8))
    assert 0.75 * EPSILON < audited(*scores) <= EPSILON


def test_a_twin_that_counts_shared_buckets_twice_is_caught() -> None:
    rng = np.random.default_rng(1)
    scores = []
    for basket in ((0, 1), (2, 3)):
        seeds, values, _ = _sampled_in_the_open(basket, rng, told=False)
        scores.append(_evidence_for(seeds, values, (0, 1), (2, 3), 4))
    assert audited(*scores) > EPSILON


def test_a_twin_that_tells_which_item_was_sampled_is_caught() -> None:
    rng = np.random.default_rng(2)
    scores = []
    for basket in ((0, 1), (2, 3)):
        seeds, values, slot = _sampled_in_the_open(basket, rng, told=True)
        own = [_evidence_for(seeds, values, [key], [key + 2], 4) for key in (0, 1)]
        scores.append(np.where(slot == 0, *own))
    assert audited(*scores) > EPSILON


def test_a_twin_that_tells_dummies_is_caught() -> None:
    """Of two slots one is drawn: an item goes through randomized response, a dummy is told as it is."""
    domain = bk.Domain(range(4))
    mechanism = bk.AskBaskets(epsilon=EPSILON, length=2, by="response")
    rng = np.random.default_rng(4)
    sound, twin = [], []
    for seed, basket in enumerate([(2,), (2, 3)]):
        people = bk.Baskets([basket], items=domain.labels).repeat(N)
        answers = mechanism.randomize(people, domain=domain, rng=bk.Seeded(seed)).batch["answer"]
        sound.append((answers >= 4).astype(float))
        twin.append((rng.integers(0, 2, N) >= len(basket)).astype(float))
    assert 0.2 < audited(*sound) <= EPSILON
    assert audited(*twin) > EPSILON


@pytest.mark.parametrize(("share", "is_sound"), [((0.3, 0.3), True), ((0.6, 0.1), False)], ids=["lot", "basket"])
def test_a_study_whose_phases_depend_on_the_basket_is_caught(share: tuple[float, float], is_sound: bool) -> None:
    """Who holds item 0 is asked second with the first share, who does not with the other; reports tell their phase."""
    domain = bk.Domain(range(4))
    first = bk.AskBaskets(epsilon=EPSILON, length=2, size=8)
    second = bk.AskBaskets(epsilon=EPSILON, length=2, by="response", candidates=((0,), (1,), (2,), (3,)))
    rng = np.random.default_rng(3)
    scores = []
    for seed, basket in enumerate([(0, 1), (2, 3)]):
        n_second = int((rng.random(N) < share[seed]).sum())
        people = bk.Baskets([basket], items=domain.labels).repeat(N)
        early = first.randomize(people[n_second:], domain=domain, rng=bk.Seeded(seed)).batch
        late = second.randomize(people[:n_second], domain=domain, rng=bk.Seeded(seed + 9)).batch["answer"]
        of_early = _evidence_for(early["seed"], early["value"], (0, 1), (2, 3), 8)
        of_late = np.where(late < 2, 1.0, np.where(late < 4, -1.0, 0.0))
        scores.append(rng.permutation(np.concatenate([of_early, 10 + of_late])))
    assert (audited(*scores) <= EPSILON) == is_sound
