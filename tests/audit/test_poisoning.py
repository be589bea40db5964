"""What dishonest people can do: the bound is attained and never exceeded; what is noticed, and what is not."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

import bosket as bk
from bosket.audit.poisons import tail_bounds
from bosket.mechanisms import RecordChannel
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.hash_kernels import bucket_of
from tests.contracts.cases import CASES, KEPT, Case, cells_shown
from tests.evidence.test_answers import unbiased
from tests.mechanisms.test_influence import legal_reports
from tests.poison import sent

ITEMS = list("abcde")
TABLE = bk.TableDomain([bk.Attribute("a", [1, 2]), bk.Attribute("b", [1, 2, 3])])
UP_TO_4 = bk.PrivacyUnit(max_size=4)
PLANS = [
    bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.9)),
    bk.Plan(bk.Domain(ITEMS), bk.Flip(keep={"a": 0.6, "b": 0.2}, default=0.8, keep_absent={"c": 0.95})),
    bk.Plan(bk.Domain(ITEMS), bk.CutAndPaste(3, 0.3), UP_TO_4),
    bk.Plan(bk.Domain(ITEMS), bk.SelectASize(KEPT, 0.7)),
    bk.Plan(bk.Domain([*ITEMS, "f"]), bk.Replace(0.4), bk.PrivacyUnit(max_size=3)),
    bk.Plan(TABLE, bk.GammaDiagonal(19)),
]
ALIKE = bk.TableDomain([bk.Attribute(name, [1, 2]) for name in "abc"])
QUESTIONS = [
    bk.Plan(TABLE, bk.Ask(bk.Design([["a", "b"]]), gamma=7)),
    bk.Plan(ALIKE, bk.Ask(bk.Design.pairs(ALIKE), gamma=7)),
    bk.Plan(ALIKE, bk.Ask(bk.Design([["a", "b"], ["a"], bk.Question(("b", "c"), (0, 0, 1, 2))], [1, 5, 2]), gamma=3)),
]
"""The last has questions of different shapes: what is stated is a bound, attained where all that tell are alike."""
HASHED = [
    bk.Plan(ALIKE, bk.Ask(bk.Design([["a", "b"], ["a", "c"], ["b", "c"]], [1, 5, 2]), 3, "hashing")),
    bk.Plan(TABLE, bk.Ask(bk.Design([["a"], ["a", "b"]]), 1.1)),
]
"""The second asks one question of two answers by randomized response, one of six by hashing to two buckets."""


def legal(plan: bk.Plan) -> list[tuple[int, ...]]:
    """What a collector takes: bits and stated size, or answer and question; of seeds, a few."""
    channel = plan.channel
    if isinstance(channel, AskChannel):
        seeds = [range(1, 30) if is_hashed else [0] for is_hashed in channel.hashed]
        named = channel.hashed.any()
        return [
            (answer, at, seed) if named else (answer, at)
            for at, size in enumerate(channel.n_values.tolist())
            for answer in range(size)
            for seed in seeds[at]
        ]
    return list(legal_reports(plan))


def value_of(reports: bk.Reports, itemset: Iterable[Hashable]) -> float:
    """The estimated support; not a number where no report tells."""
    try:
        return float(bk.estimate(unbiased(reports) if "question" in reports.batch else reports, [itemset]).value[0])
    except bk.SingularChannelError:
        return math.nan


def reports_of(plan: bk.Plan, chosen: Sequence[tuple[int, ...]]) -> bk.Reports:
    """Reports by their bits and stated size, or by answer, question and perhaps seed."""
    if isinstance(plan.channel, AskChannel):
        names = ("answer", "question", "seed")[: len(chosen[0])]
        return bk.Reports(plan, Batch(dict(zip(names, np.array(chosen).T, strict=True))), randomness="secure")
    strata = np.array([size for _, size in chosen], np.int32) if plan.mechanism.sends_sizes else None
    return bk.Reports(plan, np.array([[bits] for bits, _ in chosen], np.uint64), strata=strata, randomness="secure")


@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
@pytest.mark.filterwarnings("ignore::bosket.errors.HopelessPlanWarning")  # a handful of reports
class TestBound:
    """f (max w - min w), by all that a collector takes."""

    @pytest.mark.slow
    @pytest.mark.parametrize("plan", PLANS + QUESTIONS[:2], ids=lambda plan: str(plan.mechanism))
    def test_it_is_attained(self, plan: bk.Plan) -> None:
        """Two of twenty people who would have sent the report of least weight send that of the largest."""
        every = legal(plan)
        for k in (1, 2):
            itemsets = list(combinations(plan.domain.labels, k))
            alone = np.array([[value_of(reports_of(plan, [one]), itemset) for itemset in itemsets] for one in every])
            widest = int(np.argmax(np.nanmax(alone, axis=0) - np.nanmin(alone, axis=0)))
            low, high = (every[int(at(alone[:, widest]))] for at in (np.nanargmin, np.nanargmax))
            before, after = reports_of(plan, [low] * 20), reports_of(plan, [low] * 18 + [high] * 2)
            moved = value_of(after, itemsets[widest]) - value_of(before, itemsets[widest])
            shift = bk.audit.poisoning(before, fraction=0.1, sizes=[k])["shift"][0]
            assert moved == pytest.approx(shift, rel=1e-9)

    @pytest.mark.slow
    @settings(max_examples=40)
    @given(st.data())
    def test_it_is_never_exceeded(self, data: st.DataObject) -> None:
        """Whatever honest people sent, and whatever the dishonest ones send instead."""
        plan = data.draw(st.sampled_from(PLANS + 2 * QUESTIONS + 2 * HASHED))
        every = st.sampled_from(legal(plan))
        honest = data.draw(st.lists(every, min_size=2, max_size=12))
        picked = data.draw(st.lists(every, min_size=1, max_size=len(honest)))
        itemset = data.draw(st.lists(st.sampled_from(plan.domain.labels), min_size=1, max_size=3, unique=True))
        sound, poisoned = reports_of(plan, honest), reports_of(plan, picked + honest[len(picked) :])
        moved = abs(value_of(poisoned, itemset) - value_of(sound, itemset))
        for at_hand in (sound, poisoned):  # whichever of the two is looked at
            found = bk.audit.poisoning(at_hand, fraction=len(picked) / len(honest), sizes=[len(itemset)])
            bound = found["shift"][0] if len(found) else 0.0
            assert math.isnan(moved) or moved <= bound * (1 + 1e-9) + 1e-12
            assert not len(found) or plan not in QUESTIONS + HASHED or found["up"][0] == found["down"][0] == bound

    @pytest.mark.slow
    def test_a_seed_that_puts_all_answers_into_one_bucket_attains_it(self) -> None:
        """Three answers stand for a=1; who finds such a seed moves its support three times as far as by one of them."""
        plan = bk.Plan(TABLE, bk.Ask(bk.Design([["a", "b"]]), 7, "hashing"))
        assert isinstance(plan.channel, AskChannel)
        g = int(plan.channel.n_values[0])
        buckets = {seed: [int(bucket_of(np.uint64(seed), y, g)) for y in range(3)] for seed in range(1, 2000)}
        seed = next(seed for seed, own in buckets.items() if len(set(own)) == 1)
        own = buckets[seed][0]
        high, low = (own, 0, seed), ((own + 1) % g, 0, seed)
        before, after = reports_of(plan, [low] * 20), reports_of(plan, [low] * 18 + [high] * 2)
        moved = value_of(after, ["a=1"]) - value_of(before, ["a=1"])
        assert moved == pytest.approx(0.1 * 3 / plan.channel.keep[0], rel=1e-9)
        assert moved == pytest.approx(bk.audit.poisoning(before, fraction=0.1, sizes=[1])["shift"][0], rel=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("case", [case for case in CASES if not case.mechanism.needs_curator], ids=str)
    def test_who_lies_and_then_follows_the_protocol_counts_for_one(self, case: Case) -> None:
        """E[w | t] is 0 or 1 for every record t, so a lie moves the expected support by at most the fraction.

        Where a curator holds the records, people send no reports.
        """
        for itemset in (row for rows in case.itemsets for row in rows):
            means = [
                sum(
                    float(law @ case.channel.weights(itemset[None, :], stratum)[0])
                    for stratum, law in cells_shown(case.law(record, {}), itemset.tolist()).items()
                )
                for record in case.taken
            ]
            assert np.ptp(means) <= 1 + 1e-9

    def test_the_table_of_a_plan(self) -> None:
        found = bk.audit.poisoning(bk.Plan(bk.Domain(range(9)), bk.Flip(keep=0.6)), fraction=0.01, sizes=[1, 5])
        columns = ["size", "low", "high", "lie", "up", "down", "shift"]
        expected = [[1, -2, 3, 0.01, 0.03, 0.03, 0.05], [5, -162, 243, 0.01, 2.43, 1.63, 4.05]]
        assert found[columns].to_numpy() == pytest.approx(np.array(expected))
        assert found["record_size"].isna().all()
        sized = bk.audit.poisoning(bk.Plan(bk.Domain(range(50)), bk.CutAndPaste(2, 0.2), bk.PrivacyUnit(max_size=20)))
        assert sized["size"].tolist() == [1, 2], "three items cannot be estimated with a cutoff of 2"
        assert sized["record_size"].tolist() == [20, 20]
        with pytest.raises(bk.ParameterError):
            bk.audit.poisoning(PLANS[0], fraction=1.1)
        with pytest.raises(bk.ParameterError):
            bk.audit.poisoning(PLANS[0], sizes=[17])
        with pytest.raises(bk.DataError):
            bk.audit.poisoning(bk.Flip(keep=0.9))  # type: ignore[arg-type]


FOUR_VALUES = [bk.Attribute(name, [1, 2, 3, 4]) for name in "abcdef"]
PAGE = [
    (bk.Plan(bk.Domain(range(100)), bk.Flip(keep=0.9)), [0.0125, 0.0141, 0.0158, 0.0200]),
    (bk.Plan(bk.Domain(range(100)), bk.Flip(keep=0.6)), [0.05, 0.15, 0.45, 4.05]),
    (bk.Plan(bk.Domain(range(100)), bk.Flip(keep=0.5, keep_absent=0.97)), [0.0213, 0.0439, 0.0906, 0.386]),
    (bk.Plan(bk.Domain(range(100)), bk.CutAndPaste(7, 0.35), bk.PrivacyUnit(max_size=5)), [0.025, 0.031, 0.035, 0.041]),
    (bk.Plan(bk.Domain(range(100)), bk.CutAndPaste(7, 0.35), bk.PrivacyUnit(max_size=10)), [0.044, 0.099, 0.211, 1.11]),
    (bk.Plan(bk.Domain(range(100)), bk.CutAndPaste(7, 0.35), bk.PrivacyUnit(max_size=20)), [0.088, 0.418, 2.00, 68.1]),
    (bk.Plan(bk.TableDomain(FOUR_VALUES[:3]), bk.GammaDiagonal(19)), [0.0456, 0.0456, 0.0456]),
    (bk.Plan(bk.TableDomain(FOUR_VALUES), bk.GammaDiagonal(19)), [2.29, 2.29, 2.29, 2.29]),
]


@pytest.mark.parametrize(("plan", "shifts"), PAGE, ids=lambda value: str(value)[:50])
def test_the_table_on_the_page(plan: bk.Plan, shifts: list[float]) -> None:
    """What 1% of dishonest people can do to supports of 1, 2, 3 and 5 items."""
    found = bk.audit.poisoning(plan, fraction=0.01, sizes=[1, 2, 3, 5])
    assert found["shift"].tolist() == pytest.approx(shifts, rel=0.02)


class TestFacts:
    """The two attacks that were found, with fixed seeds."""

    PEOPLE = bk.quest(records=10_000, mean_size=4, items=1000, patterns=50, seed=1).with_domain(bk.Domain(range(1000)))

    @pytest.mark.slow
    def test_one_report_that_states_900_items(self) -> None:
        """48 430 with a limit that allows for it; with one that fits the records the report is refused."""
        mechanism = bk.CutAndPaste(cutoff=3, insert=0.2)
        people = self.PEOPLE[self.PEOPLE.sizes <= 12]
        plan = bk.Plan(people.domain, mechanism, bk.PrivacyUnit(max_size=1000))
        honest = plan.randomize(people, rng=bk.Seeded(1))
        forged = bk.Reports.concat([honest, sent(plan, [[0, 1, 2]], size=900)])
        with pytest.warns(bk.InfluenceWarning, match="from records of 900 items"):
            moved = bk.estimate(forged, [{0, 1, 2}]).value[0]
        assert abs(bk.estimate(honest, [{0, 1, 2}]).value[0]) < 1
        weight = bk.audit.poisoning(plan.with_unit(max_size=900), fraction=1, sizes=[3])["up"][0]
        assert moved == pytest.approx(weight / len(forged), rel=1e-3)
        assert moved == pytest.approx(48_430, rel=0.02)
        bounded = plan.with_unit(max_size=12)
        with pytest.raises(bk.DataError, match="more items than the 12"):
            sent(bounded, [[0, 1, 2]], size=900)
        assert bk.audit.poisoning(bounded, fraction=1 / len(forged), sizes=[3])["shift"][0] < 0.2

    def test_one_in_a_hundred_sends_all_ones(self) -> None:
        """At keep 0.6 a report that shows five items weighs 3^5 = 243: 1% of them move the support by 2.43."""
        n, k = 20_000, 5
        domain = bk.Domain(range(100))
        plan = bk.Plan(domain, bk.Flip(keep=0.6))
        people = bk.Baskets([[]], items=range(100)).repeat(n)
        honest = plan.randomize(people, rng=bk.Seeded(2))
        liars = sent(plan, [range(100)] * (n // 100))
        poisoned = bk.Reports.concat([honest[n // 100 :], liars])
        before, after = (bk.estimate(part, [range(k)]).value[0] for part in (honest, poisoned))
        bound = bk.audit.poisoning(plan, fraction=0.01, sizes=[k]).iloc[0]
        assert bound["up"] == pytest.approx(2.43)
        assert abs(after - before - 2.43) < 5 * np.sqrt(0.01 * 6**k / n)
        marked = bk.audit.implausible(poisoned)
        assert marked.tolist() == [False] * (n - n // 100) + [True] * (n // 100)


class TestImplausible:
    """Reports that no record makes plausible, by the number of items that they show."""

    @pytest.mark.parametrize(
        "plan",
        [
            *PLANS[:4],
            bk.Plan(bk.Domain(ITEMS), bk.Flip(keep=0.7, keep_absent=0.9), bk.PrivacyUnit(max_size=2)),
            bk.Plan(TABLE, bk.Flip(keep=0.8)),
            bk.Plan(TABLE, bk.CutAndPaste(2, 0.1)),
        ],
        ids=lambda plan: f"{plan.mechanism} {plan.unit.max_size} {len(plan.domain)}",
    )
    def test_bounds_hold_for_every_record(self, plan: bk.Plan) -> None:
        """Against both tails of the number of items shown, enumerated for all records that the plan allows."""
        n, channel = len(plan.domain), plan.channel
        assert isinstance(channel, RecordChannel)
        ones = np.bitwise_count(np.arange(1 << n))
        sizes = range(n + 1) if plan.mechanism.sends_sizes else [0]
        for stratum in sizes:
            if plan.mechanism.sends_sizes and not channel.takes(stratum):  # type: ignore[attr-defined]
                continue
            bounds = np.exp(tail_bounds(channel, stratum, np.arange(n + 1), plan.unit.max_size))
            law = channel.transition(tuple(range(n)), stratum)
            for truth in range(1 << n):
                size = truth.bit_count()
                if not law[truth].sum() or (plan.unit.max_size is not None and size > plan.unit.max_size):
                    continue
                if plan.domain.groups is not None and truth not in (9, 17, 5, 10, 18, 6):  # a value of each attribute
                    continue
                shown = np.bincount(ones, weights=law[truth], minlength=n + 1)
                tails = 2 * np.minimum(np.cumsum(shown), np.cumsum(shown[::-1])[::-1])
                assert (tails <= bounds + 1e-12).all()

    def test_honest_reports_are_not_marked(self) -> None:
        people = bk.quest(records=20_000, mean_size=6, items=200, patterns=20, seed=4)
        for mechanism in (bk.Flip(keep=0.6), bk.Flip(keep=0.5, keep_absent=0.98), bk.CutAndPaste(5, 0.2)):
            assert not bk.audit.implausible(mechanism.randomize(people, rng=bk.Seeded(4))).any()
        table = bk.Table.from_cells(np.arange(600) % 6, TABLE)
        assert not bk.audit.implausible(bk.GammaDiagonal(19).randomize(table, rng=bk.Seeded(4))).any()

    def test_empty_reports_and_impossible_ones_are(self) -> None:
        plan = bk.Plan(bk.Domain(range(200)), bk.Flip(keep=0.7))
        assert bk.audit.implausible(sent(plan, [[], range(60), range(200)])).tolist() == [True, False, True]
        never = bk.Plan(bk.Domain(range(9)), bk.SelectASize({2: [0.5, 0.25, 0.25]}, insert=0.0))
        assert bk.audit.implausible(sent(never, [[1, 2], [1, 2, 3]], size=2)).tolist() == [False, True]

    @pytest.mark.slow
    @pytest.mark.parametrize("cell", range(6))
    def test_answers_of_honest_people_are_marked_seldom_enough(self, cell: int) -> None:
        """Twelve people of one record, by all that they can answer: the exact probability is below the level."""
        plan = bk.Plan(TABLE, bk.Ask(bk.Design([["a"], ["b"]], [3, 1]), gamma=3))
        channel, n, level = plan.channel, 12, 0.3
        assert isinstance(channel, AskChannel)
        values = (cell // 3, cell % 3)
        chances = np.concatenate(
            [
                channel.shares[at] * (one.by_chance + one.keep * (np.arange(one.n_answers) == values[at]))
                for at, one in enumerate(channel.asked)
            ]
        )
        reports = np.array([(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)], np.int32)
        total, seen = 0.0, 0.0
        for split in combinations(range(n + 4), 4):
            numbers = np.diff([-1, *split, n + 4]) - 1
            chance = float(multinomial.pmf(numbers, n, chances))
            sent = np.repeat(reports, numbers, axis=0)
            marked = channel.implausible(Batch({"question": sent[:, 0], "answer": sent[:, 1]}), level)
            assert marked is not None
            total += chance
            seen += chance * bool(marked.any())
        assert total == pytest.approx(1.0)
        assert 0 < seen <= level

    def test_answers_that_no_truth_gives_are_marked(self) -> None:
        """An answer that everybody gives though coins decide some, and one that nobody gives."""
        plan = bk.Plan(TABLE, bk.Ask(bk.Design([["a"], ["b"]]), gamma=3))
        question, answer = np.repeat(np.array([0, 1], np.int32), 100), np.zeros(200, np.int32)
        answer[120:] = np.arange(80) % 2
        reports = bk.Reports(plan, Batch({"question": question, "answer": answer}), randomness="secure")
        assert bk.audit.implausible(reports, level=1e-3).all()
        answer = np.concatenate([np.arange(100) % 2, np.arange(100) % 3]).astype(np.int32)
        reports = bk.Reports(plan, Batch({"question": question, "answer": answer}), randomness="secure")
        assert not bk.audit.implausible(reports, level=1e-3).any()

    def test_who_adds_a_few_items_to_an_honest_report_is_not(self) -> None:
        """No number of items gives this away, and it moves the support by the same 2.43."""
        n, k = 5000, 5
        plan = bk.Plan(bk.Domain(range(100)), bk.Flip(keep=0.6))
        honest = plan.randomize(bk.Baskets([[]], items=range(100)).repeat(n), rng=bk.Seeded(5))
        bits = honest.bits.copy()
        bits[: n // 100, 0] |= np.uint64((1 << k) - 1)
        picked = bk.Reports(plan, bits, randomness="secure")
        assert not bk.audit.implausible(picked).any()
        before, after = (bk.estimate(part, [range(k)]).value[0] for part in (honest, picked))
        assert abs(after - before - 2.43) < 5 * np.sqrt(0.01 * 6**k / n)
