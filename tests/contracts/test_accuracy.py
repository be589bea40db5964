"""Errors that are foreseen, of every mechanism: those of the law of its reports, by enumeration."""

from __future__ import annotations

import json
import warnings
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

import bosket as bk
from bosket.mechanisms.mixing import MixingChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.privacy import Accuracy
from tests.contracts.cases import CASES, WIDE, Case, restricted
from tests.stats import assert_plausible, assert_rejected

FORESEEN = [case for case in CASES if not isinstance(case.channel, MixingChannel)]
BY_WEIGHTS = [case for case in FORESEEN if not isinstance(case.channel, AskChannel)]
ASKING = [case for case in FORESEEN if isinstance(case.channel, AskChannel)]


def slow_if_hashed(case: Case) -> list[pytest.MarkDecorator]:
    """All hash functions of a table are gone through."""
    assert isinstance(case.channel, AskChannel)
    return [pytest.mark.slow] if any(one.told.is_hashed for one in case.channel.asked) else []


def held(case: Case, k: int) -> list[tuple[int, ...]]:
    """The itemsets of k items that can be estimated and that a record can hold."""
    rows = next((rows for rows in case.itemsets if rows.shape[1] == k), np.empty((0, k), np.int32))
    itemsets: list[tuple[int, ...]] = [tuple(row) for row in rows.tolist()]
    return [one for one in itemsets if any(holds(record, one) for record in case.taken)]


def holds(record: int, itemset: tuple[int, ...]) -> bool:
    return all(record >> item & 1 for item in itemset)


def variance_of(case: Case, record: int, itemset: tuple[int, ...]) -> float:
    """Of the weight of one record's report, by its law."""
    moments = np.zeros(2)
    for (stratum, shown), chance in case.law(record, case.population).items():
        weights = case.channel.weights(np.array([itemset], np.int32), stratum)
        weight = float(weights[0, restricted(shown, itemset)])
        moments += chance * weight, chance * weight**2
    return float(moments[1] - moments[0] ** 2)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("case", BY_WEIGHTS, ids=str)
def test_foreseen_errors_are_those_of_the_law(case: Case, k: int) -> None:
    found = case.channel.accuracy(k, case.plan.unit.max_size)
    itemsets = held(case, k)
    if not itemsets:
        assert found is None
        return
    assert found is not None
    large = [record for record in case.taken if record.bit_count() >= k or not case.mechanism.sends_sizes]
    every = {(one, record): variance_of(case, record, one) for one in itemsets for record in large}
    having = [value for (one, record), value in every.items() if holds(record, one)]
    if case.unit is not None:  # records that are cut: bounds, by those of records as cut
        assert found.least <= min(every.values()) + 1e-9
        assert found.full <= min(having) + 1e-9
        assert max(every.values()) - 1e-9 <= found.most <= 2 * max(every.values())
        return
    assert found.least == pytest.approx(min(every.values()), rel=1e-9, abs=1e-9)
    assert found.most == pytest.approx(max(every.values()), rel=1e-9)
    assert found.full == pytest.approx(min(having), rel=1e-9, abs=1e-9)


def share_variance(case: Case, itemset: tuple[int, ...], share: float) -> float:
    """N times the variance of the estimated share of an itemset, by the law of answers, the others having none of it.

    Each question is read by the number of people who were asked it, so that a report counts for a / pi of
    ([shown] - b) / kappa less the share itself.
    """
    channel = case.channel
    assert isinstance(channel, AskChannel)
    has = next(record for record in case.taken if holds(record, itemset))
    lacks = next(record for record in case.taken if not any(record >> item & 1 for item in itemset))
    laws = [(share, case.law(has, {})), (1 - share, case.law(lacks, {}))]
    about = [
        {channel.domain.names[channel.domain.groups[item]] for item in itemset} <= set(question.attributes)
        for question in channel.design.questions
    ]
    asked = [sum(chance for (at, _), chance in laws[0][1].items() if at == one) for one in range(len(about))]

    def shown_by(law: dict[tuple[int, int], float], one: int) -> float:
        return sum(chance for (at, shown), chance in law.items() if at == one and holds(shown, itemset)) / asked[one]

    chance = np.array([shown_by(laws[1][1], one) for one in range(len(about))])
    kappa = np.array([shown_by(laws[0][1], one) for one in range(len(about))]) - chance
    known = np.where(about, np.array(asked) * kappa**2 / np.where(about, chance * (1 - chance), 1.0), 0.0)
    known /= known.sum()
    second = 0.0
    for part, law in laws:
        for (at, shown), likely in law.items():
            if about[at]:
                counted = (holds(shown, itemset) - chance[at]) / kappa[at] - share
                second += part * likely * (known[at] / asked[at] * counted) ** 2
    return second - share * (1 - share)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("case", [pytest.param(one, marks=slow_if_hashed(one)) for one in ASKING], ids=str)
def test_foreseen_errors_of_questions_are_those_of_the_law(case: Case, k: int) -> None:
    found = case.channel.accuracy(k)
    if not held(case, k):
        assert found is None
        return
    assert found is not None
    shares = np.linspace(0, 1, 201).tolist()
    every = {one: [share_variance(case, one, share) for share in shares] for one in held(case, k)}
    assert found.least == pytest.approx(min(map(min, every.values())), rel=1e-9)
    assert found.full == pytest.approx(min(values[-1] for values in every.values()), rel=1e-9)
    largest = max(map(max, every.values()))
    assert largest <= found.most * (1 + 1e-9)
    assert found.most == pytest.approx(largest, rel=1e-4)


@pytest.mark.slow
def test_foreseen_errors_of_questions_come_out() -> None:
    """400 studies of 1500 people, all of the same record: 1e-9 false alarms, and twice the variance is told apart.

    What is foreseen is the error of the unbiased estimate; a fitted law has a smaller one.
    """
    mechanism, n, studies = bk.Ask(bk.Design.pairs(WIDE), gamma=19), 1500, 400
    table = bk.Table.from_cells(np.zeros(n, int), WIDE)
    rng = bk.Seeded(3)
    answers = (mechanism.randomize(table, rng=rng) for _ in range(studies))
    values = [bk.estimate(each, [[WIDE.labels[0]]], model=None).value[0] for each in answers]
    found = mechanism.channel(WIDE).accuracy(1)
    assert found is not None
    squares = float(((np.array(values) - 1) ** 2).sum()) * n / found.full

    def p_value(statistic: float) -> float:
        return float(2 * min(chi2.sf(statistic, studies), chi2.cdf(statistic, studies)))

    assert_plausible(p_value(squares))
    assert_rejected(p_value(2 * squares))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_card_states_the_errors_of_one_two_and_three_items(case: Case) -> None:
    promise = case.plan.guarantee.among(5000)
    sizes = [k for k in (1, 2, 3) if held(case, k)] if case in FORESEEN else []
    assert [part.size for part in promise.accuracy] == sizes
    written = json.loads(json.dumps(promise.to_json()))["accuracy"]
    for part, one in zip(promise.accuracy, written, strict=True):
        assert one["size"] == part.size
        assert (one["least_stderr"], one["most_stderr"]) == pytest.approx(part.stderr(5000))
    assert ("among 5000 people the standard error of a support is" in promise.card()) == bool(sizes)
    reported = case.reports(n=400).guarantee
    assert reported.people == 400


@pytest.mark.parametrize("case", FORESEEN, ids=str)
def test_mine_refuses_what_nobody_could_see_by_the_number_of_reports_alone(case: Case) -> None:
    """One report less than the errors take is refused; the same reports given as many times over are not."""
    found = case.channel.accuracy(1, case.plan.unit.max_size)
    assert found is not None
    needed = found.people()
    if needed == 1:
        assert not found.is_hopeless(1)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BosketWarning)
        reports = case.reports(n=4 * needed)
        with pytest.raises(bk.HopelessError) as refusal:
            bk.mine(reports[: needed - 1], 0.1)
        bk.mine(reports[:needed], 0.1)
    assert refusal.value.people == needed - 1
    assert refusal.value.stderr > 1


def test_no_support_is_as_large_as_its_error_where_a_plan_is_hopeless() -> None:
    """The claim behind the refusal, over many populations of two kinds of records: s^2 N < the variance."""
    looked_at = 0
    for case in BY_WEIGHTS:
        found = case.channel.accuracy(1, case.plan.unit.max_size)
        assert found is not None
        people = max(1, round(0.99 * found.full))
        if not found.is_hopeless(people):
            continue
        item = held(case, 1)[0]
        large = [record for record in case.taken if record.bit_count() >= 1]
        brings = {record: variance_of(case, record, item) for record in large}
        for one, other, tenths in product(large, large, range(1, 11)):
            share = tenths / 10
            support = share * holds(one, item) + (1 - share) * holds(other, item)
            assert support**2 * people <= share * brings[one] + (1 - share) * brings[other]
        looked_at += 1
    assert looked_at > 3


def test_no_support_of_questions_is_as_large_as_its_error_where_they_are_hopeless() -> None:
    """Of any share of people who have a value, by the law of answers; one report more in a hundred, and one is."""
    case = Case(bk.Ask(bk.Design([["a"], ["a", "b"], ["b", "c"]], [1, 2, 4]), gamma=1.3, channel="response"), WIDE)
    found = case.channel.accuracy(1)
    assert found is not None
    blind, seeing = 0.99 * found.full, 1.01 * found.full
    every = [
        (share, share_variance(case, one, share))
        for one in held(case, 1)
        for share in np.linspace(0.01, 1, 100).tolist()
    ]
    assert found.is_hopeless(int(blind))
    assert all(share**2 * blind <= variance for share, variance in every)
    assert any(share**2 * seeing > variance for share, variance in every)


def test_people_are_the_number_that_an_error_takes() -> None:
    found = Accuracy(1, least=1.0, most=9.0, full=4.0)
    assert found.stderr(100) == (0.1, 0.3)
    assert found.best(100) == 0.2
    assert (found.people(), found.people(0.1)) == (4, 400)
    assert (found.is_hopeless(3), found.is_hopeless(4)) == (True, False)
