"""Ask: one question to each person.  Laws, ratios and estimates against enumeration; designs; wrong arguments."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.evidence import evidence_of
from bosket.evidence.answers import AnswersEvidence
from bosket.mechanisms.questions.answer_reports import Shown
from bosket.mechanisms.questions.channel import AskChannel, Asked
from tests.effort import effort_within
from tests.memory import memory_within

DOMAIN = bk.TableDomain([bk.Attribute("a", ["1", "2"]), bk.Attribute("b", ["x", "y", "z"])])
WIDE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abcdefg"])
MERGED = bk.Question(("b", "a"), (0, 1, 2, 2, 2, 2))
"""Six combinations, b first: (x, 1) and (x, 2) are told, all others are one answer."""


def laws(channel: AskChannel) -> Iterator[tuple[float, Asked, npt.NDArray[np.float64]]]:
    """For every question, its share and Pr(answer | record), records as cells of the whole domain."""
    domain = channel.domain
    values = np.array(list(product(*(range(int(size)) for size in domain.sizes))))
    weights = channel.design.weights
    for at, asked in enumerate(channel.asked):
        cell = np.ravel_multi_index(tuple(values[:, list(asked.attributes)].T), asked.shape)
        truth = asked.answers[cell]
        least = (1 - asked.keep) / asked.n_answers
        law = np.full((len(values), asked.n_answers), least)
        law[np.arange(len(values)), truth] += asked.keep
        yield weights[at] / sum(weights), asked, law


@pytest.mark.parametrize("gamma", [1.5, 8.14, 19.0, 1e6])
@pytest.mark.parametrize(
    "design",
    [bk.Design.pairs(DOMAIN), bk.Design([["a"], ["b"]], [1, 4]), bk.Design([MERGED, bk.Question(("a",))])],
    ids=str,
)
def test_the_ratio_between_any_two_records_is_gamma(design: bk.Design, gamma: float) -> None:
    """And no more: questions are drawn alike whatever the record is."""
    mechanism = bk.Ask(design, gamma=gamma)
    channel = mechanism.channel(DOMAIN)
    worst = max((law.max(axis=0) / law.min(axis=0)).max() for _, _, law in laws(channel))
    assert worst == pytest.approx(gamma, rel=1e-9)
    card = mechanism.guarantee(DOMAIN)
    assert math.log(worst) <= card.record.epsilon * (1 + 1e-12)
    assert card.record.epsilon <= math.log(gamma) * (1 + 1e-12)
    assert card.item.epsilon == card.record.epsilon == card.person.epsilon


@pytest.mark.parametrize(
    "design",
    [pytest.param(bk.Design([["a"], ["a", "b"]]), marks=pytest.mark.slow), bk.Design([MERGED, bk.Question(("a",))])],
    ids=str,
)
def test_estimates_are_unbiased_over_all_outcomes(design: bk.Design) -> None:
    """Three people, every question and answer of each; given how many were asked what, some of them being told of."""
    plan = bk.Plan(DOMAIN, bk.Ask(design, gamma=4.0))
    channel = plan.channel
    assert isinstance(channel, AskChannel)
    cells = np.array([0, 1, 5])
    baskets = bk.Table.from_cells(cells, DOMAIN).to_baskets()
    records = [baskets.domain.itemset(record) for record in baskets]
    rows = [[0], [2], [0, 2], [1, 4]]
    each = [
        [
            (share * law[cell, answer], at, answer)
            for at, (share, _, law) in enumerate(laws(channel))
            for answer in range(law.shape[1])
        ]
        for cell in cells.tolist()
    ]
    for row in rows:
        itemset = np.array([row], np.int32)
        if not channel.covers(itemset)[0]:
            assert len(row) == 2
            continue
        truth = sum(set(row) <= set(record) for record in records)
        total: dict[tuple[int, ...], list[float]] = {}
        for outcome in product(*each):
            chance = math.prod(one[0] for one in outcome)
            asked = tuple(sorted(one[1] for one in outcome))
            numbers = [np.zeros(size, np.int64) for size in channel.sizes]
            for _, at, answer in outcome:
                numbers[at][answer] += 1
            evidence = AnswersEvidence(channel, Shown.one_each(numbers))
            if evidence.covers(itemset)[0]:
                value = evidence.supports(itemset).value[0]
                sums = total.setdefault(asked, [0.0, 0.0])
                sums[0] += chance
                sums[1] += chance * value
        assert total
        for chance, weighted in total.values():
            assert weighted / chance == pytest.approx(truth, abs=1e-9)


def test_merged_answers_tell_what_they_stand_for_alone() -> None:
    channel = bk.Ask(bk.Design([MERGED]), gamma=5).channel(DOMAIN)
    told: dict[tuple[int, ...], bool] = {}
    for row in ([0], [2], [3], [0, 2], [1, 2], [0, 3]):
        told[tuple(row)] = bool(channel.covers(np.array([row], np.int32))[0])
    assert told == {(0,): False, (2,): True, (3,): False, (0, 2): True, (1, 2): True, (0, 3): False}


def test_one_question_about_everything_is_the_gamma_diagonal_matrix() -> None:
    rng = np.random.default_rng(3)
    table = bk.Table.from_cells(rng.integers(0, 6, 4000), DOMAIN)
    reports = bk.Ask(bk.Design([["a", "b"]]), gamma=7).randomize(table, rng=bk.Seeded(1))
    channel = reports.channel
    assert isinstance(channel, AskChannel)
    as_records = bk.Table.from_cells(reports.batch["answer"], DOMAIN)
    same = bk.Reports(bk.Plan(DOMAIN, bk.GammaDiagonal(gamma=7)), as_records.to_bits(), randomness="secure")
    for itemset in ({"a=1"}, {"b=y"}, {"a=2", "b=x"}):
        ours, theirs = bk.estimate(reports, [itemset], model=None), bk.estimate(same, [itemset])
        assert ours.value[0] == pytest.approx(theirs.value[0], rel=1e-9)
        assert ours.stderr[0] == pytest.approx(theirs.stderr[0], rel=1e-9)  # N E w^2 - N f, both


@pytest.mark.slow
@pytest.mark.parametrize(("size", "channel"), [(2, "response"), (3, "hashing")])
def test_stated_errors_are_the_spread_over_repetitions(size: int, channel: str) -> None:
    rng = np.random.default_rng(5)
    codes = (rng.random((3000, 7)) < np.linspace(0.2, 0.9, 7)).astype(int)
    table = bk.Table.from_codes(codes, WIDE)
    mechanism = bk.Ask(bk.Design.of_size(WIDE, size), 19, channel)
    itemsets = [{"a=yes"}, {"g=yes"}, {"a=yes", "b=no"}, {"f=yes", "g=yes"}]
    runs = [bk.estimate(mechanism.randomize(table, rng=bk.Seeded(seed)), itemsets, model=None) for seed in range(300)]
    values, errors = np.array([run.value for run in runs]), np.array([run.stderr for run in runs])
    truth = bk.estimate(table, itemsets).value
    spread = values.std(axis=0, ddof=1)
    np.testing.assert_allclose(errors.mean(axis=0) / spread, 1, atol=0.25)  # six standard errors of a spread
    assert (np.abs(values.mean(axis=0) - truth) < 6 * spread / math.sqrt(300)).all()


@pytest.mark.slow
def test_rules_have_covariances() -> None:
    """A confidence that is a ratio of two dependent estimates varies as it says."""
    rng = np.random.default_rng(5)
    first = rng.random(4000) < 0.5
    codes = np.zeros((4000, 7), int)
    codes[:, 0], codes[:, 1] = first, rng.random(4000) < np.where(first, 0.8, 0.3)
    table = bk.Table.from_codes(codes, WIDE)
    mechanism = bk.Ask(bk.Design([["a", "b"], ["b", "c"]]), gamma=19)
    found = []
    for seed in range(200):
        reports = mechanism.randomize(table, rng=bk.Seeded(seed))
        rules = bk.mine(reports, min_support=0.1, model=None).rules(min_threshold=0.1)
        row = rules[(rules["antecedents"] == {"a=yes"}) & (rules["consequents"] == {"b=yes"})].iloc[0]
        found.append((row["confidence"], row["confidence_stderr"]))
    values, errors = np.array(found).T
    assert errors.mean() / values.std(ddof=1) == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize(("size", "times"), [(2, 1), (3, 1), (4, 1), (4, 3), (7, 2)])
def test_a_covering_design_asks_about_every_pair(size: int, times: int) -> None:
    design = bk.Design.covering(WIDE, size=size, times=times)
    asked = dict.fromkeys(combinations("abcdefg", 2), 0)
    for question in design.questions:
        assert len(question.attributes) == size
        for pair in combinations(sorted(question.attributes), 2):
            asked[pair] += 1
    assert min(asked.values()) >= times
    least = math.ceil(21 * times / math.comb(size, 2))
    assert least <= len(design) <= 2.5 * least


def test_covering_designs_are_made_quickly_or_refused_before() -> None:
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(460)])
    with effort_within(3):
        assert len(bk.Design.covering(bk.TableDomain(domain.attributes[:200]), size=10)) == 602
        for size, times in ((2, 1), (3, 1000), (4, 7)):
            with pytest.raises(bk.ParameterError, match="at most 100000 questions"):
                bk.Design.covering(domain, size=size, times=times)


def test_designs_by_name() -> None:
    assert (len(bk.Design.pairs(WIDE)), len(bk.Design.triples(WIDE)), len(bk.Design.triples(DOMAIN))) == (21, 35, 1)
    assert bk.Design([["a"], ["b"]], [2, 4]) == bk.Design([["a"], ["b"]], [1, 2])
    assert bk.Design([["a"], ["b"]], [3, 3]) == bk.Design([["a"], ["b"]])


def test_json_there_and_back() -> None:
    design = bk.Design([MERGED, bk.Question(("a",))], [1, 3])
    plan = bk.Plan(DOMAIN, bk.Ask(design, gamma=9))
    again = bk.Plan.from_json(plan.json)
    assert again == plan
    assert again.mechanism.design == design  # type: ignore[attr-defined]  # it is an Ask
    value = json.loads(plan.json)
    value["mechanism"]["design"]["questions"][0]["attribute"] = ["a"]
    with pytest.raises(bk.DataError, match="must not have the field 'attribute'"):
        bk.Plan.from_json(json.dumps(value))


@pytest.mark.parametrize(
    ("design", "match"),
    [
        (bk.Design([["a", "age"]]), "must ask about attributes of the table, got 'age'"),
        (bk.Design([bk.Question(("a",), (0, 0))]), "two answers or more"),
        (bk.Design([bk.Question(("a",), (0, 1, 2))]), "an answer to each of the 2 combinations"),
    ],
    ids=str,
)
def test_designs_that_do_not_fit_the_table(design: bk.Design, match: str) -> None:
    with pytest.raises(bk.ParameterError, match=match):
        bk.Plan(DOMAIN, bk.Ask(design, gamma=19))


@pytest.mark.parametrize(
    ("questions", "shares", "match"),
    [
        ([], None, "at least one question"),
        ([["a", "a"]], None, "different names"),
        ([[]], None, "one or more different names"),
        ([["a"]], [0], "shares"),
        ([["a"]], [1, 1], "as many as there are questions"),
        ([bk.Question(("a",), (0, 1))], [2.5], "shares"),
    ],
)
def test_designs_that_are_none(questions: list[list[str]], shares: list[int] | None, match: str) -> None:
    with pytest.raises(bk.ParameterError, match=match):
        bk.Design(questions, shares)
    with pytest.raises(bk.ParameterError, match="numbered from 0"):
        bk.Question(("a",), (0, 2))


def test_a_gamma_that_protects_nobody_or_tells_nothing() -> None:
    for gamma in (1.0, 0.5, -1, math.nan, math.inf):
        with pytest.raises(bk.ParameterError, match="gamma"):
            bk.Ask(bk.Design([["a"]]), gamma=gamma)
    with pytest.raises(bk.ParameterError, match="must be larger"):
        bk.Plan(DOMAIN, bk.Ask(bk.Design([["a"]]), gamma=1 + 1e-16 * 2.3))
    with pytest.raises(bk.ParameterError, match="that of a table"):
        bk.Plan(bk.Domain(["a", "b"]), bk.Ask(bk.Design([["a"]]), gamma=19))


def test_answers_that_a_question_does_not_have_are_refused() -> None:
    plan = bk.Plan(DOMAIN, bk.Ask(bk.Design([["a"], ["b"]]), gamma=19))
    sound = plan.randomize(bk.Table.from_cells(np.arange(6), DOMAIN), rng=bk.Seeded(1))
    width = plan.channel.payload.width
    data = bytearray(plan.channel.payload.to_bytes(sound.batch)[:width])
    data[:8] = (0).to_bytes(4, "little") + (2).to_bytes(4, "little")  # the third answer to a question that has two
    with pytest.raises(bk.DataError, match="one of the answers to its question"):
        plan.channel.payload.from_bytes(bytes(data))


def test_a_pair_that_nobody_was_asked_about_is_named() -> None:
    table = bk.Table.from_codes(np.ones((500, 7), int), WIDE)
    reports = bk.Ask(bk.Design([["a", "b"], ["c"]]), gamma=19).randomize(table, rng=bk.Seeded(1))
    with pytest.raises(bk.BosketError, match=r"a=yes.*c=yes"):
        bk.estimate(reports, [{"a=yes", "c=yes"}])
    found = bk.mine(reports, min_support=0.3)
    assert frozenset({"a=yes", "b=yes"}) in {itemset for itemset, _ in found}
    assert found.about["left_out"]


def test_tallies_of_batches_add() -> None:
    table = bk.Table.from_codes(np.random.default_rng(1).integers(0, 2, (2000, 7)), WIDE)
    plan = bk.Plan(WIDE, bk.Ask(bk.Design.pairs(WIDE), gamma=19))
    whole = plan.randomize(table, rng=bk.Seeded(1))
    parts = bk.Tally.of(whole[:700]) + bk.Tally.of(whole[700:])
    one, other = evidence_of(whole), evidence_of(parts)
    rows = np.array([[0], [3]], np.int32)
    assert one.supports(rows).value.tolist() == other.supports(rows).value.tolist()


@pytest.mark.slow
def test_a_plan_of_many_questions_is_read_in_bounded_memory() -> None:
    """One question of 65 536 combinations beside thousands: answers are kept one behind the other."""
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(16)])
    wide = bk.Question(domain.names, (0,) * (2**16 - 1) + (1,))
    design = bk.Design([wide, *[["q1", "q2"]] * 5_000])
    with memory_within(256 << 20):
        plan = bk.Plan(domain, bk.Ask(design, gamma=19))
        reports = plan.randomize(bk.Table.from_codes(np.zeros((50, 16), int), domain), rng=bk.Seeded(1))
        assert len(reports) == 50
        assert "one report counts" in str(plan.guarantee) or plan.guarantee.influence == ()


def test_combinations_of_all_questions_are_counted_before_they_are_made() -> None:
    """87 kB of JSON took 1.7 GB, and 2.8 MB would have taken 51."""
    domain = bk.TableDomain([bk.Attribute(name, list(range(256))) for name in "ab"])
    design = bk.Design([["a", "b"]] * 3000)
    with (
        memory_within(400 << 20),
        pytest.raises(bk.ParameterError, match="16777216 combinations of values in all its questions"),
    ):
        bk.Plan(domain, bk.Ask(design, gamma=19))


def test_a_question_about_thousands_of_attributes_is_refused_in_few_words() -> None:
    """Their combinations have a number of thousands of digits, and their names may be long."""
    names = [f"{at}{'x' * 1000}" for at in range(15_000)]
    domain = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in names])
    for about, match in ((names, "65536 combinations"), (["y" * 10**6], "attributes of the table")):
        with pytest.raises(bk.ParameterError, match=match) as caught:
            bk.Plan(domain, bk.Ask(bk.Design([about]), gamma=19))
        assert len(str(caught.value)) < 500


def test_answers_of_one_hash_value_are_refused_before_they_are_told_apart() -> None:
    """Whole numbers that are alike modulo 2^61 - 1 took a time like their square: a minute."""
    with effort_within(5):
        with pytest.raises(bk.ParameterError, match="numbered from 0"):
            bk.Question(("a",), tuple(at * (2**61 - 1) for at in range(2**16)))
        with pytest.raises(bk.ParameterError, match="at most 65536"):
            bk.Question(("a",), tuple(range(2**16 + 1)))
