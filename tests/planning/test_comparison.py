"""From a promise to the best mechanism and back: goals met exactly, nothing better on a grid, both ways agree."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosket as bk
from bosket import planning
from bosket.planning.comparison import PHASED, best_of
from bosket.planning.families import FAMILIES
from bosket.planning.goals import LARGE, SMALL
from bosket.planning.item_factors import item_variance

TABLE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abcdef"])
UNEVEN = bk.TableDomain(
    [bk.Attribute("a", ["x", "y", "z"]), bk.Attribute("b", ["no", "yes"]), bk.Attribute("c", ["1", "2"])]
)
ITEMS = bk.Domain(range(12))
TABLE_STUDY = planning.Study(TABLE, people=20_000, support=0.2)
BASKET_STUDY = planning.Study(ITEMS, people=20_000, support=0.05, sizes={1: 0.2, 3: 0.5, 5: 0.3})


@pytest.mark.parametrize("unit", ["record", "item"])
@pytest.mark.parametrize("study", [TABLE_STUDY, BASKET_STUDY, planning.Study(UNEVEN, people=1000)], ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 2.0971411187792, 7.0])
def test_every_option_meets_the_goal_by_its_own_guarantee(unit: str, study: planning.Study, epsilon: float) -> None:
    """And spends it: a millionth more of the promise is not left."""
    goal = planning.Goal(epsilon, unit)
    found = planning.compare(study, goal)
    assert [option.error for option in found.options] == sorted(option.error for option in found.options)
    families = {option.family for option in found.options}
    assert ("Ask" in families) == study.is_table == ("GammaDiagonal" in families)
    assert (PHASED in families) != study.is_table
    for option in found.options:
        assert goal.is_met(option.guarantee)
        if option.family != "CutAndPaste":  # the smallest of sizes may have a promise to spare
            assert goal.of(option.guarantee) > epsilon * (1 - 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["record", "item"])
@pytest.mark.parametrize("study", [TABLE_STUDY, BASKET_STUDY], ids=str)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_no_keeps_on_a_grid_are_better(unit: str, study: planning.Study, epsilon: float) -> None:
    goal = planning.Goal(epsilon, unit)
    best = best_of("Flip, two keeps", study, goal)
    assert best is not None
    looked_at = 0
    for keep, absent in product(np.linspace(0.05, 0.99, 48), repeat=2):
        if keep + absent <= 1.02:
            continue
        mechanism = bk.Flip(keep=float(keep), keep_absent=float(absent))
        if goal.is_met(study.plan(mechanism).guarantee):
            seen = planning.foresee(study.plan(mechanism), people=study.people)
            assert seen.error(2, study.support) >= best.error * (1 - 1e-6)
            looked_at += 1
    assert looked_at > 5


@pytest.mark.slow
def test_no_cut_on_a_grid_is_better() -> None:
    """For records of one size: over all cutoffs and inserts that meet the goal."""
    study = planning.Study(ITEMS, people=20_000, support=0.1, sizes={4: 1.0})
    goal = planning.Goal(3.0)
    best = best_of("CutAndPaste", study, goal)
    assert best is not None
    looked_at = 0
    for cutoff, insert in product(range(2, 5), np.linspace(0.02, 0.95, 80).tolist()):
        mechanism = bk.CutAndPaste(cutoff, insert)
        if goal.is_met(study.plan(mechanism).guarantee):
            seen = planning.foresee(study.plan(mechanism), people=study.people, sizes=study.sizes)
            assert seen.error(2, 0.1) >= best.error * (1 - 1e-6)
            looked_at += 1
    assert looked_at > 20


@pytest.mark.slow
@pytest.mark.parametrize("study", [TABLE_STUDY, BASKET_STUDY], ids=str)
def test_the_other_way_round_agrees(study: planning.Study) -> None:
    """The epsilon found for an error gives that error, a little less gives a larger one, and N follows."""
    found = planning.privacy_for(study, stderr=0.02)
    assert found["epsilon"].is_monotonic_increasing
    assert len(found) >= 3
    for row in found.to_dict("records"):
        here, less = (
            best_of(str(row["family"]), study, planning.Goal(float(e))) for e in (row["epsilon"], row["epsilon"] * 0.98)
        )
        assert here is not None
        assert here.error <= 0.02
        assert less is None or less.error > 0.02 * (1 - 1e-3)
        half = best_of(str(row["family"]), study, planning.Goal(row["epsilon"] / 2))
        if half is not None and math.isfinite(row["people_at_half"]):
            more = planning.comparison.at_people(half, int(row["people_at_half"]))
            stderr = math.sqrt(more.error**2 - (0.0 if more.family != PHASED else _bias(more) ** 2))
            assert stderr <= 0.02 * 1.001
            assert stderr > 0.02 * 0.98


def _bias(option: planning.Prospect) -> float:
    assert isinstance(option.seen, planning.phased.Phased)
    return (1 - option.seen.kept) * option.study.support


def test_people_needed_are_those_of_the_error() -> None:
    goal = planning.Goal.of_gamma(19)
    found = planning.people_needed(TABLE_STUDY, goal, stderr=0.01)
    assert set(found["family"]) == set(FAMILIES)
    for row in found.to_dict("records"):
        study = planning.Study(TABLE, people=int(row["people"]), support=0.2)
        option = best_of(str(row["family"]), study, goal)
        assert option is not None
        assert option.error == pytest.approx(0.01, rel=0.01)


def test_sixteen_questions_can_all_be_asked() -> None:
    """The question that a new user asked: 5% below 30%, 21,000 people, sixteen yes/no questions, pairs."""
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(16)])
    found = planning.compare(planning.Study(domain, people=21_000, support=0.2), planning.Goal.below(0.3, prior=0.05))
    assert found.goal.gamma == pytest.approx(0.3 * 0.95 / (0.05 * 0.7))
    assert found.best.family == "Ask"
    assert "You can ask all 16 questions if each person answers one" in found.sentence
    assert found.best.guarantee.posterior(0.05) <= 0.3
    assert found.best.lowest_support < 0.2 < found.options[1].lowest_support
    assert found.best.seen.plan.guarantee.record.epsilon <= math.log(0.3 * 0.95 / (0.05 * 0.7))


def test_two_phases_are_those_that_refine_makes() -> None:
    """With the length that was planned, the second phase has the very error that was foreseen."""
    baskets = bk.quest(records=4000, items=60, patterns=30, seed=2)
    study = planning.Study(baskets.domain, people=4000, support=0.05, sizes={4: 1.0})
    found = best_of(PHASED, study, planning.Goal(4.0))
    assert found is not None
    phased = found.seen
    assert isinstance(phased, planning.phased.Phased)
    assert phased.first + phased.second == 4000
    first = phased.plan.mechanism
    assert isinstance(first, bk.AskBaskets)
    plan = bk.Plan(baskets.domain, first)
    reports = plan.randomize(baskets[: phased.first], rng=bk.Seeded(3))
    length = next(length for length in range(1, 60) if _kept(length, phased.n_keys * 0.05) >= phased.kept - 1e-12)
    second = first.refine(reports, top=20, max_size=2, length=length)
    assert second.candidates is not None
    assert len(second.candidates) == phased.n_keys
    seen = planning.foresee(second, baskets.domain, people=phased.second)
    assert seen.stderr(2, 0.0) == pytest.approx(math.sqrt(phased.variance / phased.second))
    assert second.guarantee(baskets.domain).record.epsilon <= 4.0


def _kept(length: int, mean: float) -> float:
    """The share of candidates that is told of, where people hold a geometric number of them."""
    return 1 - (mean / (1 + mean)) ** length


def test_weaker_promises_allow_larger_questions() -> None:
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(12)])
    study = planning.Study(domain, people=20_000)
    widest = []
    for epsilon in (1.0, 3.0, 6.0, 12.0):
        best = best_of("Ask", study, planning.Goal(epsilon))
        assert best is not None
        assert isinstance(best.mechanism, bk.Ask)
        widest.append(max(len(question.attributes) for question in best.mechanism.design.questions))
        pairs = planning.foresee(bk.Ask(bk.Design.pairs(domain), math.exp(epsilon)), domain, people=20_000)
        assert best.error <= pairs.stderr(2, 0.1) * (1 + 1e-9)
    assert widest == sorted(widest)
    assert widest[0] < widest[-1]


def test_a_promise_for_one_item_lets_flip_win_where_all_items_share_it_otherwise() -> None:
    assert planning.compare(TABLE_STUDY, planning.Goal(2.0, "item")).best.family.startswith("Flip")
    assert planning.compare(TABLE_STUDY, planning.Goal(2.0, "record")).best.family == "Ask"


@given(
    weights=st.lists(st.floats(0.05, 20), min_size=2, max_size=3),
    epsilon=st.floats(0.5, 6),
    limit=st.one_of(st.none(), st.floats(0.1, 2)),
)
@settings(max_examples=25)
def test_keeps_of_items_are_optimal(weights: list[float], epsilon: float, limit: float | None) -> None:
    """By the duality gap; by exhaustive search on a grid; and better than any single keep."""
    most = None if limit is None else {0: limit}
    found = planning.optimal_keeps(dict(enumerate(weights)), epsilon=epsilon, most=most)
    domain = bk.Domain(range(len(weights)))
    guarantee = found.mechanism.guarantee(domain)
    assert guarantee.record.epsilon <= epsilon
    if limit is not None:
        assert found.mechanism.channel(domain).log_ratios()[0][0] <= limit * (1 + 1e-9)
    assert 0 <= found.gap <= 1e-6
    assert found.objective <= found.single * (1 + 1e-9)
    steps = np.linspace(0, 1, 41)[1:-1]
    for shares in product(steps, repeat=len(weights) - 1):
        if sum(shares) < 1:
            odds = [epsilon * share for share in (*shares, 1 - sum(shares))]
            if limit is None or odds[0] <= limit:
                value = sum(weight * item_variance(l) for weight, l in zip(weights, odds, strict=True))
                assert found.objective <= value * (1 + 1e-9)


def test_different_weights_are_better_served_than_by_one_keep() -> None:
    found = planning.optimal_keeps({"rare": 1.0, "wanted": 50.0}, epsilon=2.0)
    assert found.objective < 0.8 * found.single
    assert found.gap < 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: planning.Goal(0.0),
        lambda: planning.Goal(1.0, "person"),
        lambda: planning.Goal.of_gamma(1.0),
        lambda: planning.Goal.below(0.05, prior=0.3),
        lambda: planning.Study(ITEMS, people=0),
        lambda: planning.Study(ITEMS, people=10, itemset_size=7),
        lambda: planning.Study(UNEVEN, people=10, itemset_size=4),
        lambda: planning.Study(TABLE, people=10, sizes={2: 1.0}),
        lambda: planning.privacy_for(TABLE_STUDY, stderr=0.0),
        lambda: planning.privacy_for(TABLE_STUDY, stderr=1e300),
        lambda: planning.people_needed(TABLE_STUDY, planning.Goal(1.0), stderr=1e-200),
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=10).people_for(1, 0.1, stderr=1e-200),
        lambda: planning.Study(ITEMS, people=10, support=1e-300),
        lambda: planning.optimal_keeps({}, epsilon=1.0),
        lambda: planning.optimal_keeps({"a": 1.0}, epsilon=1.0, most={"b": 1.0}),
    ],
)
def test_wrong_arguments(wrong: object) -> None:
    with pytest.raises(bk.ParameterError):
        wrong()  # type: ignore[operator]


@pytest.mark.parametrize("domain", [TABLE, ITEMS], ids=["table", "items"])
def test_what_is_wanted_at_its_limits_ends_in_no_error_of_pythons(domain: bk.Domain) -> None:
    sizes = {2: 1.0} if domain is ITEMS else None
    study = planning.Study(domain, people=10**30, support=2 * SMALL, sizes=sizes)
    for epsilon in (1e-9, 1.0, 600.0):
        assert planning.compare(study, planning.Goal(epsilon)).to_frame()["error"].notna().all()
    for stderr in (2 * SMALL, LARGE):
        assert (planning.people_needed(study, planning.Goal(1.0), stderr=stderr)["people"] >= 1).all()


def test_a_table_of_more_pairs_than_can_be_asked_about_has_other_mechanisms() -> None:
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(500)])
    found = planning.compare(planning.Study(domain, people=1000), planning.Goal(1.0, "item"))
    assert "Flip, one keep" in {option.family for option in found.options}
    assert "Ask" not in {option.family for option in found.options}


def test_the_sentence_says_what_is_sent_in_the_clear() -> None:
    """Where cut-and-paste wins, or is ranked, nobody must take its epsilon for one between records of all sizes."""
    study = planning.Study(bk.Domain(range(12)), people=50_000, sizes={1: 0.4, 2: 0.3, 3: 0.3})
    found = planning.compare(study, planning.Goal.below(0.3, prior=0.05))
    assert found.best.family == "CutAndPaste"
    assert "among records of one size" in found.sentence
    frame = found.to_frame()
    assert "the promise is among those of one" in str(frame.loc[0, "why"])
    assert [math.isinf(value) for value in frame["item_epsilon"]] == [name == "CutAndPaste" for name in frame["family"]]


@pytest.mark.parametrize("prior", [1e-6, 1.2e-4, 0.0501001, 0.05, 0.3])
def test_what_the_words_of_a_goal_say_had_so_much_stays_below(prior: float) -> None:
    """The prior in words is never larger than the one that was meant: what had 0.01% came to 98% and not below 30%."""
    goal = planning.Goal.below(0.4, prior=prior)
    said = float(goal.words.removeprefix("what had ").split("%")[0]) / 100
    assert said >= 0.999 * prior
    assert goal.gamma * said / (1 - said + goal.gamma * said) <= 0.4 + 1e-9


@pytest.mark.parametrize("gamma", [1.0000001, 19.000_04, 2.5])
def test_the_gamma_of_a_goal_is_not_said_smaller_than_it_is(gamma: float) -> None:
    said = float(planning.Goal.of_gamma(gamma).words.removeprefix("gamma "))
    assert gamma <= said <= 1.001 * gamma
