"""What dishonest people can do: the bound is attained and never exceeded; what is noticed, and what is not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket.audit.poisons import tail_bounds
from bosket.mechanisms import RecordChannel
from tests.contracts.cases import CASES, KEPT, Case, cells_shown
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


def reports_of(plan: bk.Plan, chosen: list[tuple[int, int]]) -> bk.Reports:
    """Reports by their bits and stated size."""
    strata = np.array([size for _, size in chosen], np.int32) if plan.mechanism.sends_sizes else None
    return bk.Reports(plan, np.array([[bits] for bits, _ in chosen], np.uint64), strata=strata, randomness="secure")


@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
class TestBound:
    """f (max w - min w), by all that a collector takes."""

    @pytest.mark.slow
    @pytest.mark.parametrize("plan", PLANS, ids=lambda plan: str(plan.mechanism))
    def test_it_is_attained(self, plan: bk.Plan) -> None:
        """Two of twenty people who would have sent the report of least weight send that of the largest."""
        legal = legal_reports(plan)
        for k in (1, 2):
            shift = bk.audit.poisoning(plan, fraction=0.1, sizes=[k])["shift"][0]
            itemsets = list(combinations(plan.domain.labels, k))
            alone = np.array([bk.estimate(reports_of(plan, [one]), itemsets).value for one in legal])
            widest = int(np.argmax(np.ptp(alone, axis=0)))
            low, high = (legal[int(at)] for at in (np.argmin(alone[:, widest]), np.argmax(alone[:, widest])))
            before, after = reports_of(plan, [low] * 20), reports_of(plan, [low] * 18 + [high] * 2)
            moved = np.diff([bk.estimate(part, [itemsets[widest]]).value[0] for part in (before, after)])[0]
            assert moved == pytest.approx(shift, rel=1e-9)

    @pytest.mark.slow
    @settings(max_examples=40)
    @given(st.data())
    def test_it_is_never_exceeded(self, data: st.DataObject) -> None:
        """Whatever honest people sent, and whatever the dishonest ones send instead."""
        plan = data.draw(st.sampled_from(PLANS))
        legal = st.sampled_from(legal_reports(plan))
        honest = data.draw(st.lists(legal, min_size=2, max_size=12))
        picked = data.draw(st.lists(legal, min_size=1, max_size=len(honest)))
        itemset = data.draw(st.lists(st.sampled_from(plan.domain.labels), min_size=1, max_size=3, unique=True))
        found = bk.audit.poisoning(plan, fraction=len(picked) / len(honest), sizes=[len(itemset)])
        before = bk.estimate(reports_of(plan, honest), [itemset]).value[0]
        after = bk.estimate(reports_of(plan, picked + honest[len(picked) :]), [itemset]).value[0]
        bound = found["shift"][0] if len(found) else 0.0
        assert abs(after - before) <= bound * (1 + 1e-9) + 1e-12

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
