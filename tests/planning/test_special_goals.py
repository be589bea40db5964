"""Goals by item and by breach level: every option keeps them, and none that is left out would be better."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import bosket as bk
from bosket import Plan
from bosket.planning import (
    Goal,
    Ranking,
    Study,
    breach_levels,
    compare,
    compare_breaches,
    compare_classes,
    maximal_supports,
)
from bosket.planning.maximal import planning_channel
from bosket.planning.special_goals import BY_BREACH, BY_ITEM
from bosket.privacy.guarantee import percent_up, rounded_up

STUDY = Study(bk.Domain(range(12)), people=50_000, itemset_size=1, sizes={1: 0.4, 2: 0.3, 3: 0.3})


class TestClasses:
    def test_every_option_keeps_the_goal_and_the_classes(self) -> None:
        goal, classes = Goal(6.0), {3: 0.2, 4: 0.5}
        found = compare_classes(STUDY, goal, classes)
        assert {option.family for option in found.options} >= {BY_ITEM, "Flip, one keep", "Ask.baskets"}
        for option in found.options:
            assert goal.is_met(option.guarantee)
            if option.family == BY_ITEM:
                channel = option.mechanism.channel(STUDY.domain)
                odds = np.max(channel.log_ratios(), axis=0)  # type: ignore[attr-defined]  # Flip has them
                assert odds[3] <= 0.2 + 1e-12
                assert odds[4] <= 0.5 + 1e-12
            else:
                assert option.guarantee.item.epsilon <= 0.2

    def test_sizes_in_the_clear_hide_no_item_from_one_who_knows_all_others(self) -> None:
        found = compare_classes(STUDY, Goal(6.0), {3: 1.0})
        assert not any(option.guarantee.reveals for option in found.options)
        assert not any(option.guarantee.reveals for option in compare(STUDY, Goal(1.0, "item")).options)
        promise = Plan(bk.Domain(range(12)), bk.CutAndPaste(3, 0.9), bk.PrivacyUnit(max_size=3)).guarantee
        assert promise.item.epsilon < 2
        assert not Goal(2.0, "item").is_met(promise)  # with the other items known, the size tells whether it is there

    def test_items_that_may_be_told_of_spend_the_goal(self) -> None:
        found = compare_classes(STUDY, Goal(6.0), {3: 0.2})
        assert found.best.family == BY_ITEM
        assert 0.99 * 6 < found.best.guarantee.record.epsilon <= 6
        single = next(option for option in found.options if option.family == "Flip, one keep")
        assert found.best.error < 0.5 * single.error

    def test_classes_that_do_not_bind_change_little(self) -> None:
        plain = next(option for option in compare(STUDY, Goal(3.0)).options if option.family == "Flip, one keep")
        loose = next(
            option for option in compare_classes(STUDY, Goal(3.0), {3: 50.0}).options if option.family == BY_ITEM
        )
        assert loose.error == pytest.approx(plain.error, rel=0.01)

    def test_what_makes_no_sense_is_refused(self) -> None:
        table = Study(bk.TableDomain([bk.Attribute("a", ["x", "y"])]), people=10, itemset_size=1)
        for study, classes in ((STUDY, {}), (STUDY, {99: 1.0}), (STUDY, {3: -1.0}), (table, {"a=x": 1.0})):
            with pytest.raises(bk.ParameterError):
                compare_classes(study, Goal(3.0), classes)


MAXIMAL = {1: [0.2], 2: [0.2, 0.05], 3: [0.25, 0.06, 0.02]}


@pytest.fixture(scope="module")
def found() -> Ranking:
    return compare_breaches(STUDY, MAXIMAL, level=0.5)


class TestBreaches:
    def test_cut_and_paste_stays_below_the_level(self, found: Ranking) -> None:
        option = next(one for one in found.options if one.family == BY_BREACH)
        assert (breach_levels(option.mechanism, MAXIMAL)["breach"] <= 0.5 + 1e-9).all()

    @pytest.mark.slow
    def test_no_itemset_of_the_pilot_passes_the_level(self) -> None:
        # a comes with two of three others, which never meet without it: worse than where all subsets are alike
        with_a = [["a", *rest, f"f{at % 40}"] for at, rest in enumerate([("b", "c"), ("b", "d"), ("c", "d")] * 40)]
        draws = np.random.default_rng(7)
        records = with_a + [[f"f{at}" for at in draws.choice(40, 4, replace=False)] for _ in range(1080)]
        pilot = bk.Baskets(records)
        study = Study(pilot.domain, people=50_000, itemset_size=2, sizes={4: 1.0})
        found = compare_breaches(study, maximal_supports(pilot), level=0.5)
        mechanism = next(one for one in found.options if one.family == BY_BREACH).mechanism
        channel = planning_channel(mechanism, 4)
        for k in range(1, 5):
            shown = channel.shown_given(k, 4)
            for itemset in combinations("abcd", k):
                chances = [(shown[len(set(itemset) & set(record))], "a" in record) for record in records]
                told = sum(chance for chance, has in chances if has) / sum(chance for chance, _ in chances)
                assert "a" not in itemset or told < 0.5

    @pytest.mark.slow
    def test_no_itemset_of_more_items_than_a_record_passes_the_level(self) -> None:
        # a comes with one of six others: shown with all of them it was told by 75% where pairs had 50%
        draws = np.random.default_rng(7)
        records = [["a", f"b{at % 6}"] for at in range(120)]
        records += [[f"f{at}" for at in draws.choice(60, 2, replace=False)] for _ in range(880)]
        pilot = bk.Baskets(records)
        for longer in ({}, {9: [0.05] * 7}):  # as of a pilot that has records of nine items too
            sizes = {2: 0.5, 9: 0.5} if longer else {2: 1.0}
            study = Study(pilot.domain, people=50_000, itemset_size=2, sizes=sizes)
            found = compare_breaches(study, {**maximal_supports(pilot), **longer}, level=0.5)
            assert "in an itemset of up to 7" in found.goal.words
            mechanism = next(one for one in found.options if one.family == BY_BREACH).mechanism
            channel = planning_channel(mechanism, 2)
            for k in range(1, 8):
                shown = channel.shown_given(k, 2)
                itemset = {"a", *(f"b{at}" for at in range(k - 1))}
                chances = [(shown[len(itemset & set(record))], "a" in record) for record in records]
                assert sum(chance for chance, has in chances if has) < 0.5 * sum(chance for chance, _ in chances)

    def test_itemsets_of_which_nothing_is_known_are_not_promised(self, found: Ranking) -> None:
        assert "up to 2," in compare_breaches(STUDY, {**MAXIMAL, 3: [0.25, 0.06]}, level=0.5).goal.words
        assert "up to 7," in found.goal.words

    def test_the_goal_says_the_epsilon_that_a_breach_level_has(self, found: Ranking) -> None:
        promise = next(one for one in found.options if one.family == BY_BREACH).guarantee
        assert promise.epsilon > found.goal.epsilon
        assert f"at epsilon {rounded_up(promise.epsilon)} for the whole record" in str(found.goal)

    def test_others_keep_the_commonest_item_below_it_whatever_they_show(self, found: Ranking) -> None:
        for option in found.options:
            if option.family != BY_BREACH:
                assert option.guarantee.record.posterior(0.25) <= 0.5 + 1e-9

    def test_what_is_not_shown_tells_too_and_the_words_say_how_far(self) -> None:
        """Five items of 20%, one to a record: 50% where one is shown, and 80% where the others are seen not to be."""
        items = list("abcde")
        study = Study(bk.Domain(items), people=20_000, itemset_size=1, sizes={1: 1.0})
        ranking = compare_breaches(study, {1: [0.2]}, level=0.5)
        option = next(one for one in ranking.options if one.family == BY_BREACH)
        channel = planning_channel(option.mechanism, 1)
        told = []
        for k in range(1, 6):  # items that are looked at, of which a alone is shown
            law = channel.transition(tuple(range(k)), 1)
            chances = [float(law[1 << at if at < k else 0, 1]) for at in range(5)]
            told.append(chances[0] / sum(chances))
        assert told[0] < 0.5 < told[1] < told[4]
        said = option.guarantee.record.posterior(0.2)
        assert told[4] <= said + 1e-9
        words = str(ranking.goal)
        assert f"by all that a report shows and does not show, up to {percent_up(said)}, at epsilon" in words
        assert "not at those that it does not show" in ranking.note
        assert ranking.note in str(ranking)
        assert ranking.epsilon >= ranking.best.guarantee.record.epsilon

    def test_the_last_epsilon_is_of_the_other_mechanisms_and_says_so(self, found: Ranking) -> None:
        before, after = str(found.goal).split("; any other: ")
        assert "for the whole record)" in before
        assert after.endswith(f"does not show, for the whole record, epsilon {rounded_up(found.goal.epsilon)}")

    def test_sizes_of_which_nothing_is_known_are_said(self) -> None:
        """The commonest item of the goal is that of the sizes that are known."""
        study = replace(STUDY, sizes={1: 0.4, 2: 0.3, 7: 0.2, 9: 0.1}, max_size=9)
        ranking = compare_breaches(study, MAXIMAL, level=0.5)
        assert all(option.family != BY_BREACH for option in ranking.options)
        assert "records of 7 and 9 items" in ranking.note
        assert ranking.note in str(ranking)

    def test_a_level_that_the_commonest_item_has_already_is_refused(self) -> None:
        with pytest.raises(bk.ParameterError):
            compare_breaches(STUDY, MAXIMAL, level=0.2)
