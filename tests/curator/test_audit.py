"""Audits of the curator: what runs on neighbouring data sets prove about the privacy loss.

Every bound fails with a probability of 1e-9 at most, so a sound stage is found above its claim once in 1e9 fresh runs.
For the same neighbours and events the mistakes of ``broken`` are found above it.  Lower limits on the bounds of sound
stages say that the audit comes near the claim, hence that it would notice were the noise a little too small; they lie
five standard errors and more below what is expected, and these tests draw by their names (``tests/chance.py``).  The
noise itself and both calls as a whole are audited with OpenDP's own, fresh in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest

import bosket as bk
from bosket.audit.lower_bounds import (
    LowerBound,
    by_threshold,
    clopper_pearson,
    distinguish,
    distinguish_by,
    laplace_ratio,
)
from bosket.budget.budgets import Budget
from bosket.counting.base import Counts
from bosket.curator import NAIVE, HopelessError, Settings, curate, levels, miner
from bosket.curator.cardinality import kth_support, noisy_cardinality
from bosket.curator.declared import Declared
from bosket.curator.lengths import Lengths, bins, noisy_lengths, parts
from bosket.curator.levels import Heuristics, NoisyLevel, first_level, next_level, sensitivity
from bosket.curator.limit import BELOW, KthSupport, Limit, ShareOfRecords
from bosket.curator.miner import find_largest, look_first, mine_levels
from bosket.curator.noise import Composition, noisy, scale_of
from bosket.curator.paid import EpsilonParts
from bosket.curator.pool import Pool
from bosket.curator.prepared import Prepared
from bosket.curator.release import Release
from bosket.curator.truncation import count_candidates, count_items, random_truncation
from bosket.curator.truncation_release import TruncationRelease
from bosket.data import Baskets
from bosket.errors import ParameterError
from tests.curator import broken
from tests.curator.granted import Uncounted

pytest.importorskip("opendp")

PLAIN = Heuristics(double_standards=False)
NO_LENGTHS = Lengths(np.zeros(1, np.int64), 0, bins(0), 1.0)  # PLAIN does not ask for them


def of(records: list[list[int]], *, n_items: int) -> Baskets:
    return Baskets(records, items=range(n_items))


# ---------------------------------------------------------------------------------------------------- the bound itself


def test_bounds_of_clopper_and_pearson() -> None:
    for k, n in [(0, 10), (1, 10), (7, 10), (10, 10), (300, 1000)]:
        low, high = clopper_pearson([k], n, 1e-9)
        interval = binomtest(k, n).proportion_ci(1 - 2e-9, method="exact")
        assert (low[0], high[0]) == pytest.approx((interval.low, interval.high), rel=1e-6)


@pytest.mark.slow
def test_a_bound_is_near_a_loss_that_is_known() -> None:
    """Randomized response, in both directions, by the event and by its complement; nothing between equals."""
    rng = np.random.default_rng(1)

    def coin(p: float) -> bool:
        return bool(rng.random() < p)

    for one, other in ((0.9, 0.1), (0.1, 0.9)):
        for event in (bool, lambda answer: not answer):
            found = distinguish(coin, one, other, event, trials=20_000)
            assert 0.9 * np.log(9) < found.epsilon <= np.log(9)
    assert distinguish(coin, 0.9, 0.9, bool, trials=20_000).epsilon == 0
    assert distinguish(coin, 1.0, 0.1, lambda answer: not answer, trials=1000).epsilon > 3


@pytest.mark.slow
def test_a_mechanism_of_the_local_model() -> None:
    """A bit kept with 3/4 tells ln 3 at most; whoever is told by the first bit that it is 7/8 is found out."""
    one, other = (of([record], n_items=1) for record in ([0], []))

    def is_there(reports: bk.Reports) -> bool:
        return bool(reports.bits[0, 0] & np.uint64(1))

    honest, loud = (distinguish(bk.Flip(keep=keep), one, other, is_there, trials=2000) for keep in (0.75, 0.99))
    assert 0.5 < honest.epsilon <= np.log(3) < loud.epsilon
    with pytest.raises(ParameterError):
        distinguish(3, one, other, bool, trials=10)  # type: ignore[arg-type]  # that is the point


@pytest.mark.slow
def test_choosing_an_event_does_not_make_one() -> None:
    """The best of many events or thresholds between equals; measured where it was chosen, it would look like one."""
    rng = np.random.default_rng(2)
    events = [lambda cell, at=at: bool(cell == at) for at in range(2000)]
    found = distinguish(rng.integers, 2000, 2000, events, trials=100, failure=0.9)
    assert found.epsilon == 0
    assert found.trials == 50
    held = [by_threshold(rng.normal(size=60), rng.normal(size=60), failure=0.2).epsilon == 0 for _ in range(500)]
    assert sum(held) > 500 * (1 - 0.2)


@pytest.mark.parametrize("one, other", [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [0.0, 0.0])])
def test_numbers_that_say_nothing_are_refused(one: list[float], other: list[float]) -> None:
    with pytest.raises(ParameterError):
        by_threshold(one, other)


def test_no_event_is_refused() -> None:
    with pytest.raises(ParameterError):
        distinguish(int, 1, 2, [], trials=10)


# ---------------------------------------------------------------------------------------------------- plain noise


@pytest.mark.own_chance
@pytest.mark.slow
@pytest.mark.parametrize("n, near", [(10_000, 0.5), (100_000, 0.85)])
@pytest.mark.parametrize("epsilon, change", [(1.0, [0, 1, 0]), (2.0, [1, 0, -1])])
def test_noise(epsilon: float, change: list[int], n: int, near: float) -> None:
    """The noise itself, in one run for all trials, which it may be as every count has its own."""
    counts = np.array([5, 7, 9])
    other = counts + np.array(change)
    kappa = int(np.abs(change).sum())

    def ratios(truth: Counts) -> list[float]:
        draws = noisy(np.tile(truth, n), epsilon=epsilon, sensitivity=kappa).reshape(n, 3)
        return [laplace_ratio(draw, other, counts, kappa / epsilon) for draw in draws]

    found = by_threshold(ratios(counts), ratios(other))
    assert near * epsilon < found.epsilon <= epsilon


def test_noise_of_floating_point_is_found() -> None:
    """0 + z and 1 + z have other last bits: what is no multiple of 2^-53 cannot have come from 1."""
    rng = np.random.default_rng(1)

    def run(count: int) -> float:
        return float(broken.floating_noise([count], rng, epsilon=1.0, sensitivity=1)[0])

    found = distinguish(run, 0, 1, lambda value: not (value * 2.0**53).is_integer(), trials=3000)
    assert found.epsilon > 1.5


# ---------------------------------------------------------------------------------------------------- lengths


def lengths_ratio(lengths: Lengths, one: Counts, other: Counts, epsilon: float) -> float:
    """The likelihood ratio of the lengths and of the number of records."""
    of_lengths, of_total = (scale_of(part, 1) for part in parts(epsilon))
    total = laplace_ratio(lengths.total, one.sum(), other.sum(), of_total)
    return total + laplace_ratio(lengths.counts, one, other, of_lengths)


AT_THE_CUT = np.array([1] * 17 + [3] * 3)  # 85% of them have one item; of one record more, not


def audit_lengths(
    measure: Callable[..., Lengths], added: int, *, epsilon: float, trials: int
) -> tuple[LowerBound, LowerBound]:
    """The whole histogram by its likelihood ratio, and the cut alone, from the same runs."""
    longest = 4
    with_it = np.append(AT_THE_CUT, added)
    one, other = (np.bincount(np.minimum(s, longest), minlength=longest + 1) for s in (with_it, AT_THE_CUT))
    outputs = [
        [measure(sizes, granted=Uncounted(epsilon), epsilon=epsilon, longest=longest) for _ in range(trials)]
        for sizes in (with_it, AT_THE_CUT)
    ]
    return (
        by_threshold(*([lengths_ratio(lengths, one, other, epsilon) for lengths in part] for part in outputs)),
        by_threshold(*([lengths.cut(0.85) for lengths in part] for part in outputs)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("added", [3, 500])
def test_lengths(added: int) -> None:
    """A record that moves the cut, and one longer than any that is told apart."""
    histogram, cut = audit_lengths(noisy_lengths, added, epsilon=1.0, trials=3000)
    assert 0.05 < histogram.epsilon <= 1
    assert cut.epsilon <= 1


def test_lengths_that_nobody_paid_for_are_found() -> None:
    histogram, cut = audit_lengths(broken.exact_lengths, 3, epsilon=1.0, trials=400)
    assert histogram.epsilon > 2
    assert cut.epsilon > 2


# ---------------------------------------------------------------------------------------------------- levels


def audit_first(
    records: Baskets,
    fewer: Baskets,
    max_size: int,
    *,
    epsilon: float,
    trials: int = 3000,
    cut: Callable[[Baskets, int], Baskets] = random_truncation,
    grant: Callable[[float], Composition] = Uncounted,
) -> LowerBound:
    """Level one, cut and counted as the miner does it, by the likelihood ratio of all counts at once."""
    scale = scale_of(epsilon, sensitivity(max_size, 1, records.n_items, 1))
    one, other = count_items(records), count_items(fewer)

    def run(baskets: Baskets) -> NoisyLevel:
        short = cut(baskets, max_size)
        paid = {"granted": grant(epsilon), "epsilon": epsilon}
        return first_level(short, NO_LENGTHS, max_size, per_person=1, heuristics=PLAIN, **paid)  # type: ignore[arg-type]

    return distinguish_by(
        run, records, fewer, lambda level: laplace_ratio(level.noisy, one, other, scale), trials=trials
    )


FEW = [[0, 1], [1], [2, 3], []]


@pytest.mark.slow
def test_first_level() -> None:
    """A record of as many items as are kept, which is the worst: all of them go up by one."""
    fewer = of(FEW, n_items=6)
    found = audit_first(of([*FEW, [4, 5]], n_items=6), fewer, 2, epsilon=2.0)
    assert 0.7 < found.epsilon <= 2


@pytest.mark.slow
def test_first_level_of_long_records() -> None:
    """A record of six items where one is kept; were it not cut, its loss would be six times the claim."""
    records, fewer = of([*FEW, list(range(6))], n_items=6), of(FEW, n_items=6)
    assert audit_first(records, fewer, 1, epsilon=1.0, trials=1000).epsilon <= 1
    found = audit_first(records, fewer, 1, epsilon=1.0, trials=2000, cut=broken.whole_records)
    assert found.epsilon > 1


@pytest.mark.slow
def test_a_forgotten_sensitivity_is_found() -> None:
    """Six counts move, and the noise is that of one."""
    records, fewer = of([*FEW, list(range(6))], n_items=6), of(FEW, n_items=6)
    assert audit_first(records, fewer, 6, epsilon=1.0, trials=2000, grant=broken.Once).epsilon > 1


def audit_next(
    record: list[int],
    max_size: int,
    *,
    epsilon: float,
    trials: int = 3000,
    count: Callable[..., Counts] = count_candidates,
) -> LowerBound:
    """Pairs, all of which are candidates, by the likelihood ratio of all counts at once."""
    few = [[0, 1, 2], [0, 3], [4]]
    records, fewer = of([*few, record], n_items=5), of(few, n_items=5)
    public = np.array([50, 40, 30, 20, 10])
    before = NoisyLevel(
        np.arange(5, dtype=np.int32)[:, None], public, public.astype(float), public.astype(float), 2, 1.0, 2, 1.0, 5
    )
    pairs = np.array(list(combinations(range(5), 2)), np.int32)
    scores = public[pairs].sum(axis=1).astype(float)
    scale = scale_of(epsilon, sensitivity(max_size, 2, len(pairs), 1))
    one, other = (count(part, pairs, scores, max_size) for part in (records, fewer))

    def run(baskets: Baskets) -> NoisyLevel | None:
        return next_level(
            baskets, before, NO_LENGTHS, max_size, granted=Uncounted(epsilon), epsilon=epsilon, per_person=1,
            heuristics=PLAIN, max_candidates=100,
        )  # fmt: skip

    def ratio(level: NoisyLevel | None) -> float:
        assert level is not None
        np.testing.assert_array_equal(level.items, pairs)
        return laplace_ratio(level.noisy, one, other, scale)

    return distinguish_by(run, records, fewer, ratio, trials=trials)


@pytest.mark.slow
@pytest.mark.parametrize("record", [[1, 2, 3], [0, 1, 2, 3, 4]])
def test_next_level(record: list[int]) -> None:
    """A record that holds all the candidates that a record can, of as many items as are kept and of more."""
    found = audit_next(record, 3, epsilon=2.0, trials=2000)
    assert 0.1 < found.epsilon <= 2


@pytest.mark.slow
def test_next_level_of_whole_records_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "count_candidates", broken.count_whole)
    found = audit_next([0, 1, 2, 3, 4], 2, epsilon=1.0, trials=800, count=broken.count_whole)
    assert found.epsilon > 1


# ---------------------------------------------------------------------------------------------------- cardinality


def pool_of(baskets: Baskets) -> Pool:
    return Pool(baskets, np.arange(baskets.n_items, dtype=np.int32), baskets.n_records)


def audit_cardinality(
    supports: Callable[[Baskets], list[int]], records: Baskets, fewer: Baskets, *, min_count: int, epsilon: float,
    trials: int = 3000,
) -> LowerBound:  # fmt: skip
    one, other = supports(records), supports(fewer)

    def run(exact: list[int]) -> int:
        granted = Uncounted(epsilon)
        return noisy_cardinality(lambda size: exact[size - 1], len(exact), min_count, granted=granted, epsilon=epsilon)

    return distinguish_by(run, one, other, float, trials=trials)


def largest_up_to(cap: int) -> Callable[[Baskets], list[int]]:
    return lambda baskets: [pool_of(baskets).largest(size) for size in range(1, cap + 1)]


FIRST_PAIR = [[0]] * 80 + [[0, 1]] * 24  # one pair more reaches the floor, 25


@pytest.mark.slow
def test_cardinality() -> None:
    """A record that holds every itemset at the limit: all comparisons are as close as can be, and all of them move."""
    fewer = of([[0, 1, 2, 3]] * 9, n_items=4)
    records = of([[0, 1, 2, 3]] * 10, n_items=4)
    found = audit_cardinality(largest_up_to(4), records, fewer, min_count=10, epsilon=2.0)
    assert 0.7 < found.epsilon <= 2


@pytest.mark.slow
def test_the_first_itemset_of_a_size() -> None:
    """As the paper has it, y_2 is y_1 until a pair reaches the floor, and then falls to the floor."""
    records, fewer = of([*FIRST_PAIR, [0, 1]], n_items=2), of(FIRST_PAIR, n_items=2)
    assert audit_cardinality(largest_up_to(2), records, fewer, min_count=50, epsilon=1.0, trials=1000).epsilon <= 1
    found = audit_cardinality(
        lambda baskets: broken.copied_supports(baskets, floor=25, cap=2).tolist(),
        records, fewer, min_count=50, epsilon=1.0, trials=1000,
    )  # fmt: skip
    assert found.epsilon > 2


# ---------------------------------------------------------------------------------------------------- all of it


@dataclass(frozen=True)
class Mined:
    """Everything that the miner lets out."""

    prepared: Prepared
    levels: tuple[NoisyLevel, ...]


SHARES = {"lengths": 0.3, "cardinality": 0.2, "levels": 0.5}
SETTINGS = Settings(share_of_lengths=0.3, share_of_cardinality=0.2, longest=3, cap=2, clear=0.0)


def measured(baskets: Baskets, limit: Limit, *, epsilon: float, settings: Settings) -> Mined:
    """All that is measured, hopeless or not."""
    declared = Declared(baskets, limit, epsilon, settings)
    parts = EpsilonParts.of(declared)
    granted = Uncounted(parts.first)
    prepared = find_largest(declared, look_first(declared, parts, granted), parts, granted)
    return Mined(prepared, mine_levels(declared, prepared, Uncounted(parts.counts)).levels)


def mine(baskets: Baskets, *, epsilon: float = 1.0, min_support: float = 0.3) -> Mined:
    return measured(baskets, ShareOfRecords(min_support), epsilon=epsilon, settings=SETTINGS)


def evidence(
    records: Baskets, fewer: Baskets, *, lengths: float, cardinality: float
) -> Callable[[Mined | TruncationRelease], float]:
    """The likelihood ratio of the whole output, but for what is missing from it and for what is cut of records."""
    both = records, fewer
    one, other = (np.bincount(np.minimum(part.sizes, 3), minlength=4) for part in both)
    rows = [row for size in (1, 2) for row in combinations(range(records.n_items), size)]
    supports = {row: [sum(set(row) <= set(record) for record in part) for part in both] for row in rows}

    def ratio(mined: Mined | TruncationRelease) -> float:
        total = lengths_ratio(mined.prepared.lengths, one, other, lengths)
        total += miner.parts(cardinality)[1] / 2 * (1 if mined.prepared.largest == 2 else -1)
        for level in mined.levels:
            counts = np.array([supports[tuple(row)] for row in level.items.tolist()]).reshape(-1, 2)
            total += laplace_ratio(level.noisy, counts[:, 0], counts[:, 1], level.scale)
        return total

    return ratio


SMALL = [[0, 1], [0, 1], [0], [1], [2], [0, 2]]


@pytest.mark.slow
def test_the_miner() -> None:
    """One more record, with the commonest pair in it, by everything that comes out."""
    epsilon = 3.0
    records, fewer = of([*SMALL, [0, 1]], n_items=3), of(SMALL, n_items=3)
    found = distinguish_by(
        lambda baskets: mine(baskets, epsilon=epsilon),
        records,
        fewer,
        evidence(records, fewer, lengths=epsilon * SHARES["lengths"], cardinality=epsilon * SHARES["cardinality"]),
        trials=20_000,
    )
    assert 1 < found.epsilon <= epsilon


@pytest.mark.own_chance
@pytest.mark.slow
@pytest.mark.parametrize("record", [[], [0, 1, 2, 3, 4, 5]])
def test_the_miner_on_strange_records(record: list[int]) -> None:
    """A record without items, and one longer than any that is told apart, beside nothing at all."""
    events: list[Callable[[Mined], bool]] = [
        lambda mined: mined.prepared.largest == 2,
        lambda mined: mined.prepared.max_size > 1,
        lambda mined: mined.prepared.min_count > 1,
        lambda mined: mined.prepared.lengths.counts[-1] > 0,
        lambda mined: len(mined.levels) == 2,
        lambda mined: len(mined.levels[0].items) == 6,
        lambda mined: mined.levels[0].noisy.sum() > 0,
    ]
    found = distinguish(mine, of([record], n_items=6), of([], n_items=6), events, trials=300)
    assert found.epsilon <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "mistake, event",
    [
        (broken.exact_lengths, lambda mined: mined.prepared.max_size > 1),
        pytest.param(broken.exact_lengths, lambda mined: mined.prepared.min_count > 0.3 * 20.5, marks=pytest.mark.slow),
        (broken.lengths_with_total, lambda mined: mined.prepared.min_count > 0.3 * 20.5),
    ],
)
def test_lengths_and_totals_that_nobody_paid_for_are_found(
    mistake: Callable[..., Lengths], event: Callable[[Mined], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cut, and the limit, tell the number of records."""
    few = [[0]] * 17 + [[0, 1, 2]] * 3
    both = of([*few, [0, 1, 2]], n_items=3), of(few, n_items=3)
    assert distinguish(mine, *both, event, trials=200).epsilon <= 1
    monkeypatch.setattr(miner, "noisy_lengths", mistake)
    assert distinguish(mine, *both, event, trials=200).epsilon > 1


@pytest.mark.slow
def test_items_that_only_one_person_has_are_found() -> None:
    """The domain must be declared.  This mistake is the caller's: `Baskets` without ``items`` holds what occurs."""
    records, fewer = of([*SMALL, [3]], n_items=4), of(SMALL, n_items=4)

    def shows_it(mined: Mined) -> bool:
        return bool((mined.levels[0].items == 3).any())

    assert distinguish(mine, records, fewer, shows_it, trials=200).epsilon <= 1
    seen = broken.seen_items(records), broken.seen_items(fewer)
    assert distinguish(mine, *seen, shows_it, trials=200).epsilon > 1


# ---------------------------------------------------------------------------------------------------- the two calls

MANY = [[0, 1]] * 200 + [[0]] * 100 + [[1, 2]] * 100 + [[2], []] * 50
CALLED = Settings(longest=3, cap=2, clear=0.0)
REFUSED = -1e9
"""The evidence of a refusal, in front of everything else."""

Call = Callable[[Baskets], Release]


def released(call: Call) -> Callable[[Baskets], TruncationRelease | None]:
    """None for a refusal."""

    def run(baskets: Baskets) -> TruncationRelease | None:
        try:
            release = call(baskets)
        except HopelessError:
            return None
        assert isinstance(release, TruncationRelease)
        return release

    return run


def audit_call(call: Call, *, added: list[int], trials: int, of_limit: float | None = None) -> LowerBound:
    """At epsilon 1, by all of the release, a refusal being one too; ``of_limit`` was paid for the second support."""
    records, fewer = of([*MANY, added], n_items=3), of(MANY, n_items=3)
    ratio = evidence(records, fewer, lengths=0.05, cardinality=0.1)
    one, other = (kth_support(pool_of(part), 2) for part in (records, fewer))

    def all_of_it(release: TruncationRelease | None) -> float:
        if release is None:
            return REFUSED
        if of_limit is None:
            return ratio(release)
        return ratio(release) + laplace_ratio(release.prepared.min_count / BELOW, one, other, scale_of(of_limit, 1))

    return distinguish_by(released(call), records, fewer, all_of_it, trials=trials)


@pytest.mark.own_chance
@pytest.mark.slow
@pytest.mark.parametrize("added", [[0, 1], [0, 1, 2]])
def test_mine(added: list[int]) -> None:
    """3000 runs would show a loss of 1.3."""
    found = audit_call(
        lambda baskets: curate.mine(baskets, 1.0, 0.4, settings=CALLED, method="truncation"), added=added, trials=3000
    )
    assert found.epsilon <= 1


@pytest.mark.own_chance
@pytest.mark.slow
def test_top_k() -> None:
    """The second support is that of an item the added record has."""
    found = audit_call(
        lambda baskets: curate.top_k(baskets, 1.0, 2, settings=CALLED, method="truncation"),
        added=[0, 1],
        trials=3000,
        of_limit=0.05,
    )
    assert found.epsilon <= 1


@pytest.mark.slow
def test_a_limit_that_nobody_paid_for_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """top_k with the exact k-th support: it is in the release for all to see."""

    def unpaid(self: KthSupport, lengths: Lengths, pool: Pool, **paid: object) -> float:
        return BELOW * kth_support(pool, self.k)

    monkeypatch.setattr(KthSupport, "count", unpaid)
    records, fewer = of([*MANY, [0, 1]], n_items=3), of(MANY, n_items=3)
    exact = BELOW * kth_support(pool_of(records), 2)
    found = distinguish(
        released(lambda baskets: curate.top_k(baskets, 1.0, 2, settings=CALLED, method="truncation")),
        records,
        fewer,
        lambda release: release is not None and release.prepared.min_count == exact,
        trials=110,
    )
    assert found.epsilon > 1


@pytest.mark.slow
def test_no_data_set_makes_it_fail() -> None:
    """An error is an output too."""
    data: list[list[list[int]]] = [[], [[]], [[], []], [[0]], [[0, 1, 2, 3]], [[0, 1, 2, 3]] * 3]
    for records in data:
        for heuristics in (Heuristics(), PLAIN):
            settings = Settings(
                share_of_lengths=0.25, share_of_cardinality=0.25, longest=2, cap=4, clear=0.0, heuristics=heuristics
            )
            for _ in range(5):
                measured(of(records, n_items=4), ShareOfRecords(0.5), epsilon=2.0, settings=settings)


def test_a_long_record_does_not_end_the_run() -> None:
    """Few data may well have a noisy limit near 1; then one person's long record tells of itself by ending the run."""
    baskets = of([[0]] * 50 + [list(range(60))], n_items=60)
    settings = Settings(share_of_lengths=0.25, share_of_cardinality=0.25, longest=3, clear=0.0)
    declared = Declared(baskets, ShareOfRecords(1e-9), 2.0, settings)  # a limit of one record
    parts = EpsilonParts.of(declared)
    granted = Composition(parts.first)
    assert find_largest(declared, look_first(declared, parts, granted), parts, granted).min_count == 1


def test_an_item_outside_the_vocabulary_does_not_tell_of_itself() -> None:
    """It is left out of its record, which remains; nothing is said, whatever the items and their number."""
    for extra in ([["a", "secret"]], [["x"], ["y"], ["z"]], [["a"]]):
        budget = Budget.in_memory(1e6)
        release = curate.mine(
            Baskets([["a"]] * 30 + extra),
            epsilon=1e6,
            min_support=0.5,
            vocabulary=["a"],
            budget=budget,
            method="truncation",
        )
        assert release.n_records == 30 + len(extra)
        assert [set(itemset) for itemset, _ in release] == [{"a"}]
        assert "secret" not in repr((release.about, release.domain, release.to_frame()))


def test_records_cut_shorter_than_itemsets_do_not_end_the_run() -> None:
    """Not a matter of privacy, as both numbers are noisy; but the budget is spent, and nothing comes out."""
    prepared = Prepared(Lengths(np.array([0, 9, 1]), 10, bins(2), 1.0), 1.0, 2, 2, 1)
    declared = Declared(of([[0, 1]] * 9, n_items=2), ShareOfRecords(0.1), 10.0, NAIVE)
    mine_levels(declared, prepared, Composition(9.0))
