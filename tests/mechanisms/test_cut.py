"""Records that are cut and state their size: supports of whole records, by every cut, every size and every coin.

The laws of reports and the weights are written here from the definition, for Flip, and share nothing with the package.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations, product

import numpy as np
import pytest

import bosket as bk
from bosket.mechanisms.cut import CutChannel, StatingChannel
from bosket.mechanisms.stated_sizes import StatedSizes

KEEP, LIMIT, LONGEST, ITEMS = 0.75, 2, 4, 4
N = 4**ITEMS * 6 * 4  # reports of a record: a multiple of the denominators of all probabilities
RECORDS = (0b0000, 0b0010, 0b0011, 0b0111, 0b1101, 0b1111)
SETS = [(0,), (1,), (3,), (0, 1), (0, 2), (1, 3)]
State = Callable[[int], dict[int, float]]
"""The law of what the client states of a record of some size."""


def clear(size: int) -> dict[int, float]:
    return {max(size, LIMIT): 1.0}


def noisy(size: int) -> dict[int, float]:
    """Twice as likely the true one of three: the epsilon is ln 2."""
    return {stated: 0.5 if stated == max(size, LIMIT) else 0.25 for stated in range(LIMIT, LONGEST + 1)}


def law_of(record: int, state: State) -> dict[tuple[int, int], float]:
    """Every choice of items that stay, every size that is stated, every coin."""
    items = [item for item in range(ITEMS) if record >> item & 1]
    choices = list(combinations(items, min(len(items), LIMIT)))
    result: dict[tuple[int, int], float] = {}
    for kept, (stated, chance), shown in product(choices, state(len(items)).items(), range(1 << ITEMS)):
        flipped = (shown ^ sum(1 << item for item in kept)).bit_count()
        coins = (1 - KEEP) ** flipped * KEEP ** (ITEMS - flipped)
        result[stated, shown] = result.get((stated, shown), 0.0) + chance * coins / len(choices)
    return result


def undone(k: int, stated: int, state: State) -> float:
    """A factor of what is stated whose expectation at size m is m (m - 1) ... / l (l - 1) ..., by a linear system."""
    sizes = range(LIMIT, LONGEST + 1)
    law = np.array([[state(m).get(s, 0.0) for s in sizes] for m in sizes])
    wanted = [math.perm(m, k) / math.perm(LIMIT, k) for m in sizes]
    return float(np.linalg.solve(law, wanted)[stated - LIMIT])


def weight(itemset: tuple[int, ...], stated: int, shown: int, state: State) -> float:
    parts = [((shown >> item & 1) - (1 - KEEP)) / (2 * KEEP - 1) for item in itemset]
    return undone(len(itemset), stated, state) * math.prod(parts)


def holds(record: int, itemset: tuple[int, ...]) -> float:
    return float(all(record >> item & 1 for item in itemset))


def plan_of(state: State) -> bk.Plan:
    unit = bk.PrivacyUnit(
        max_size=LIMIT,
        longer="sample",
        state_sizes_to=LONGEST,
        size_epsilon=None if state is clear else math.log(2),
    )
    return bk.Plan(bk.Domain(range(ITEMS)), bk.Flip(keep=KEEP), unit)


def reports_by(plan: bk.Plan, state: State) -> bk.Reports:
    """As many reports of each kind as are expected of N people with each record: no chance is left."""
    bits, strata = [], []
    for record in RECORDS:
        for (stated, shown), chance in law_of(record, state).items():
            times = N * chance
            assert times == pytest.approx(round(times), abs=1e-6)
            bits += [shown] * round(times)
            strata += [stated] * round(times)
    packed = np.array(bits, np.uint64)[:, None]
    return bk.Reports(plan, packed, strata=np.array(strata, np.int32), randomness="secure")


each_law = pytest.mark.parametrize("state", [clear, noisy])


@each_law
def test_estimates_of_whole_records_are_unbiased_with_their_covariance(state: State) -> None:
    """What `estimate` makes of the expected numbers of reports is the expectation, since it is linear in them."""
    reports = reports_by(plan_of(state), state)
    found = bk.estimate(reports, [set(one) for one in SETS])
    n = N * len(RECORDS)
    laws = {record: law_of(record, state) for record in RECORDS}
    truth = [sum(holds(record, one) for record in RECORDS) / len(RECORDS) for one in SETS]
    np.testing.assert_allclose(found.value, truth, atol=1e-9)
    covariance = np.zeros((len(SETS), len(SETS)))
    for law in laws.values():
        w = np.array([[weight(one, *outcome, state) for outcome in law] for one in SETS])
        chances = np.array(list(law.values()))
        mean = w @ chances
        covariance += N * ((w * chances) @ w.T - np.outer(mean, mean))
    np.testing.assert_allclose(found.variance, np.diag(covariance) / n**2, rtol=1e-6)
    for i, j in combinations(range(len(SETS)), 2):
        if len({*SETS[i], *SETS[j]}) <= LIMIT:  # of larger unions nothing survives
            both = bk.estimate(reports, [set(SETS[i]), set(SETS[j])]).covariance
            assert both[0, 1] == pytest.approx(covariance[i, j] / n**2, rel=1e-6, abs=1e-15)


@each_law
def test_rules_have_that_covariance_too(state: State) -> None:
    """The error of a confidence by the delta method, from the covariance by hand."""
    frame = bk.mine(reports_by(plan_of(state), state), min_support=0.05).rules(metric="support", min_threshold=0.05)
    rule = next(row for _, row in frame.iterrows() if (row["antecedents"], row["consequents"]) == ({0}, {1}))
    sets, gradient_at = [(0, 1), (0,)], np.zeros((2, 2))
    for record in RECORDS:
        law = law_of(record, state)
        w = np.array([[weight(one, *outcome, state) for outcome in law] for one in sets])
        chances = np.array(list(law.values()))
        gradient_at += N * ((w * chances) @ w.T - np.outer(w @ chances, w @ chances))
    both, one = (N * sum(holds(record, itemset) for record in RECORDS) for itemset in sets)
    slope = np.array([1 / one, -both / one**2])
    assert rule["confidence"] == pytest.approx(both / one, rel=1e-9)
    assert rule["confidence_stderr"] == pytest.approx(math.sqrt(slope @ gradient_at @ slope), rel=1e-6)
    assert rule["support_of"] == "whole records"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda size: clear(min(size, LIMIT)),  # the size as cut
        lambda size: clear(max(size - 1, 0)),  # one less
        lambda size: clear(min(size + 1, LONGEST)),  # one more
    ],
)
def test_a_client_that_states_a_wrong_size_is_seen_by_this(wrong: State) -> None:
    found = bk.estimate(reports_by(plan_of(clear), wrong), [set(one) for one in SETS])
    truth = np.array([sum(holds(record, one) for record in RECORDS) / len(RECORDS) for one in SETS])
    assert np.abs(found.value - truth).max() > 0.1


def test_without_the_size_estimates_are_of_cut_records() -> None:
    """The same people, the same coins: of two items of four a half survives."""
    plan = plan_of(clear).with_unit(max_size=LIMIT, longer="sample")
    whole = reports_by(plan_of(clear), clear)
    found = bk.estimate(bk.Reports(plan, whole.bits.copy(), randomness="secure"), [{0}, {0, 1}])
    sizes = {record: record.bit_count() for record in RECORDS}
    for at, one in enumerate([(0,), (0, 1)]):
        survive = [math.perm(LIMIT, len(one)) / math.perm(max(m, LIMIT), len(one)) for m in sizes.values()]
        cut = sum(holds(record, one) * part for record, part in zip(RECORDS, survive, strict=True)) / len(RECORDS)
        assert found.value[at] == pytest.approx(cut, abs=1e-9)
    assert found.support_of == "cut records"


# -- what a report can do -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [None, 0.5, 3.0])
@pytest.mark.parametrize("mechanism", [bk.Flip(keep=0.8), bk.Flip(keep=0.3), bk.CutAndPaste(3, 0.2)], ids=str)
@pytest.mark.parametrize("k", [1, 2])
def test_the_weights_on_the_card_are_attained_and_not_exceeded(
    k: int, mechanism: bk.Mechanism, epsilon: float | None
) -> None:
    unit = bk.PrivacyUnit(max_size=2, longer="sample", state_sizes_to=5, size_epsilon=epsilon)
    plan = bk.Plan(bk.Domain(range(6)), mechanism, unit)
    channel = plan.channel
    assert isinstance(channel, StatingChannel)
    row = np.arange(k, dtype=np.int32)[None, :]
    every = np.concatenate([channel.weights(row, s)[0] for s in range(channel.least_stratum, 6)])
    said = next(part for part in plan.guarantee.influence if part.size == k)
    assert said.low == pytest.approx(every.min())
    assert said.high == pytest.approx(every.max())
    assert said.width == pytest.approx(every.max() - every.min())
    assert said.record_size == 5
    table = bk.audit.poisoning(plan, fraction=0.01, sizes=[k])
    assert table["shift"].tolist() == pytest.approx([0.01 * said.width])
    without = bk.Plan(plan.domain, mechanism, bk.PrivacyUnit(max_size=2, longer="sample")).guarantee
    assert said.largest > next(part for part in without.influence if part.size == k).largest


def test_forged_sizes_and_long_records_are_refused() -> None:
    plan = plan_of(clear)
    bits = np.zeros((2, 1), np.uint64)
    for size in (LONGEST + 1, LIMIT - 1, -1):  # below the limit, Flip tells nothing of sizes
        with pytest.raises(bk.DataError, match="size"):
            bk.Reports(plan, bits.copy(), strata=np.array([LIMIT, size], np.int32), randomness="secure")
    with pytest.raises(bk.DataError, match="strata"):
        bk.Reports(plan, bits.copy(), randomness="secure")
    sound = bk.Reports(plan, bits.copy(), strata=np.array([LIMIT, LONGEST], np.int32), randomness="secure").to_bytes()
    assert bk.Reports.from_bytes(plan, sound).n_records == 2
    forged = sound[: len(sound) // 2 - 8] + (LONGEST + 1).to_bytes(4, "little")
    with pytest.raises(bk.DataError, match="size"):
        bk.Reports.from_bytes(plan, forged + zlib.crc32(forged).to_bytes(4, "little"))
    few = plan.with_unit(max_size=LIMIT, longer="sample", state_sizes_to=3)
    with pytest.raises(bk.DataError, match="Record 2 has more items than the 3"):
        few.randomize(bk.Baskets([[0], [0, 1, 2, 3]], items=range(ITEMS)))


# -- plans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "parameter"),
    [
        ({"state_sizes_to": 9}, "state_sizes_to"),  # nothing is cut
        ({"longer": "sample", "max_size": 5, "state_sizes_to": 5}, "state_sizes_to"),
        ({"longer": "sample", "max_size": 5, "state_sizes_to": True}, "state_sizes_to"),
        ({"longer": "sample", "max_size": 5, "size_epsilon": 1.0}, "size_epsilon"),  # no size is stated
        ({"longer": "sample", "max_size": 5, "state_sizes_to": 9, "size_epsilon": 0.0}, "size_epsilon"),
        ({"longer": "sample", "max_size": 5, "state_sizes_to": 9, "size_epsilon": math.inf}, "size_epsilon"),
    ],
)
def test_units_that_make_no_sense(unit: dict[str, object], parameter: str) -> None:
    with pytest.raises(bk.ParameterError) as caught:
        bk.PrivacyUnit(**unit)  # type: ignore[arg-type]  # on purpose
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("mechanism", [bk.Mixing(others=2, keep=0.6), bk.AskBaskets(epsilon=2.0, length=2)], ids=str)
def test_only_packed_bits_of_one_record_can_be_weighed_so(mechanism: bk.Mechanism) -> None:
    unit = bk.PrivacyUnit(max_size=3, longer="sample", state_sizes_to=5)
    with pytest.raises(bk.ParameterError) as caught:
        bk.Plan(bk.Domain(range(8)), mechanism, unit)
    assert caught.value.parameter == "state_sizes_to"


def test_there_must_be_something_to_cut() -> None:
    unit = bk.PrivacyUnit(max_size=3, longer="sample", state_sizes_to=9)
    with pytest.raises(bk.ParameterError, match="must exceed the 3 items"):
        bk.Plan(bk.Domain(range(3)), bk.Flip(keep=0.8), unit)
    assert bk.Plan(bk.Domain(range(5)), bk.Flip(keep=0.8), unit).max_stated == 5  # no record has nine items of five


def test_an_epsilon_that_leaves_no_trace_is_refused() -> None:
    with pytest.raises(bk.ParameterError) as caught:
        StatedSizes(2, 40, 1e-17)
    assert caught.value.parameter == "size_epsilon"


def test_the_ratio_of_stated_sizes_is_at_most_that_of_epsilon() -> None:
    """In whole numbers: the probability is rounded towards privacy."""
    for epsilon, longest in product((0.01, math.log(2), 1.0, 7.3), (3, 9, 77)):
        stated = StatedSizes(2, longest, epsilon)
        ratio = stated.p / stated.q
        assert 1 < Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(epsilon).exp()
        assert stated.p + (stated.n_sizes - 1) * stated.q == 1
        assert float(ratio) == pytest.approx(math.exp(epsilon), rel=1e-12)


def test_plans_are_written_with_what_they_state_and_others_as_before() -> None:
    plan = plan_of(noisy)
    assert bk.Plan.from_json(plan.json) == plan
    assert f'"size_epsilon":{math.log(2)!r},"state_sizes_to":4' in plan.json
    before = plan.with_unit(max_size=LIMIT, longer="sample")
    assert before.digest not in {plan.digest, plan_of(clear).digest}
    assert "stat" not in before.json
    assert "size_epsilon" not in plan_of(clear).json


def test_the_card_says_what_is_sent_and_adds_what_is_paid() -> None:
    without = plan_of(clear).with_unit(max_size=LIMIT, longer="sample").guarantee
    open_, paid = plan_of(clear).guarantee, plan_of(noisy).guarantee
    assert without.reveals == paid.reveals == ()
    assert open_.reveals == ("the number of items in a record of more than 2, and that others have no more",)
    assert open_.to_json()["reveals"] == list(open_.reveals)
    assert open_.record.epsilon == without.record.epsilon
    assert "any two of the same size" in open_.record.unit
    assert "not protected" in open_.card()
    assert "one item rather than another" in open_.card()  # who knows the size and the rest knows the last item
    assert paid.record.epsilon == pytest.approx(without.record.epsilon + math.log(2))
    assert paid.item.epsilon == pytest.approx(without.item.epsilon + math.log(2))
    assert "supports and errors are of whole records" in open_.card()
    assert "supports and errors are of these" in without.card()
    sent = bk.Plan(bk.Domain(range(9)), bk.CutAndPaste(3, 0.2), bk.PrivacyUnit(3, 1, "sample", True, 9)).guarantee
    assert sent.reveals == ("the number of items in the record, as it was before it was cut",)
    unit = bk.PrivacyUnit(3, 2, "sample", True, 9, 1.5)
    hidden = bk.Plan(bk.Domain(range(9)), bk.CutAndPaste(3, 0.2), unit).guarantee
    assert hidden.reveals == ("the number of items in a record of fewer than 3, and that others have no fewer",)
    assert hidden.record.epsilon == pytest.approx(sent.record.epsilon + 1.5)
    assert hidden.person.epsilon == pytest.approx(2 * hidden.record.epsilon)
    assert hidden.item.epsilon == sent.item.epsilon  # an exchange leaves the size
    assert "the size of a record is sent as it is" in sent.card()
    assert "the size of a record is sent as it is" not in hidden.card()  # that of a record of fewer than 3 items is
    assert "the size of a record with fewer than 3 items is sent as it is" in hidden.card()


def test_itemsets_beyond_the_cut_are_not_estimated() -> None:
    reports = reports_by(plan_of(clear), clear)
    with pytest.raises(bk.SingularChannelError, match="never survive"):
        bk.estimate(reports, [{0, 1, 2}])
    assert max(bk.mine(reports, min_support=0.01).sizes) == LIMIT
    channel = plan_of(clear).channel
    assert channel.influence(3) is None
    assert channel.accuracy(3) is None


@pytest.mark.slow
def test_the_bootstrap_tosses_the_coins_of_cutting_again() -> None:
    """Where sizes are as stated; where they are randomized there is no law by stratum, and other people are drawn."""
    reports = reports_by(plan_of(clear), clear)
    table = bk.contingency(reports, [0], [1])
    again = table.bootstrap("support", replicates=4000, rng=bk.Seeded(5))
    assert again.stderr == pytest.approx(float(bk.estimate(reports, [{0, 1}]).stderr[0]), rel=0.06)  # five of 1.1%
    hidden = reports_by(plan_of(noisy), noisy)
    with pytest.raises(bk.ParameterError) as caught:
        bk.contingency(hidden, [0], [1]).bootstrap("support", replicates=10, rng=bk.Seeded(5))
    assert caught.value.parameter == "sampling"
    drawn = bk.contingency(hidden, [0], [1], sampling=True)
    stderr = float(bk.estimate(hidden, [{0, 1}], sampling=True).stderr[0])
    assert drawn.bootstrap("support", replicates=4000, rng=bk.Seeded(5)).stderr == pytest.approx(stderr, rel=0.06)


def test_plans_whose_sizes_drown_everything_are_refused() -> None:
    """Sixty sizes by a response that hardly depends on them: no item can be as large as its standard error."""
    raw = bk.Baskets([[0, 1, 2]] * 500, items=range(60))
    unit = bk.PrivacyUnit(max_size=1, longer="sample", state_sizes_to=60, size_epsilon=0.05)
    plan = bk.Plan(raw.domain, bk.Flip(keep=0.9), unit)
    assert not bk.Plan(raw.domain, bk.Flip(keep=0.9), bk.PrivacyUnit(3)).guarantee.accuracy[0].is_hopeless(500)
    assert plan.guarantee.accuracy[0].is_hopeless(500)
    with pytest.warns(bk.HopelessPlanWarning):
        reports = plan.randomize(raw, rng=bk.Seeded(1))
    with pytest.raises(bk.HopelessError):
        bk.mine(reports, min_support=0.1)


def test_dependence_of_cut_records_proves_nothing() -> None:
    """Cutting makes independent items depend on each other, stated sizes or not."""
    assert not plan_of(clear).channel.items_apart
    with pytest.raises(bk.DataError, match="proves none"):
        bk.dependent_pairs(reports_by(plan_of(clear), clear))


def test_a_stratum_tells_the_true_size_only_where_it_is_one() -> None:
    reports = reports_by(plan_of(clear), clear)
    assert reports.record_sizes is not None
    assert set(np.unique(reports.record_sizes).tolist()) == {-1, 3, 4}
    assert reports_by(plan_of(noisy), noisy).record_sizes is None
    channel = plan_of(clear).channel
    assert isinstance(channel, CutChannel)
    assert [channel.stratum_of(size) for size in range(5)] == [2, 2, 2, 3, 4]


def test_records_that_would_be_cut_to_nothing_state_no_size() -> None:
    """The mechanism takes records of no item and of two; of at most one item, that leaves those of none."""
    mechanism = bk.SelectASize(kept={0: [1.0], 2: [0.2, 0.3, 0.5]}, insert=0.3)
    with pytest.raises(bk.ParameterError) as caught:
        bk.Plan(bk.Domain(list("abcdef")), mechanism, bk.PrivacyUnit(1, longer="sample", state_sizes_to=3))
    assert caught.value.parameter == "state_sizes_to"
