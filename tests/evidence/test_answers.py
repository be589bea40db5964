"""Evidence from answers: sums over the questions that tell, against the formulas in plain loops; bounded work."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

import bosket as bk
from bosket.evidence import AnswersEvidence, LinearEvidence, provenance_of
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.answer_reports import Shown, shown_by
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.foreseen import _bound, influence_of
from bosket.progress import LevelProgress
from tests.effort import effort_within
from tests.memory import memory_within

DOMAIN = bk.TableDomain([bk.Attribute(name, list(values)) for name, values in (("a", "12"), ("b", "xyz"), ("c", "no"))])
SIZES = {"a": 2, "b": 3, "c": 2}


def channel_of(reports: bk.Reports) -> AskChannel:
    assert isinstance(reports.channel, AskChannel)
    return reports.channel


def unbiased(reports: bk.Reports, max_counts: int = 10**8) -> AnswersEvidence:
    """The evidence that reads question by question, whatever else is fitted to such reports."""
    channel = channel_of(reports)
    shown = shown_by(channel, reports.batch)
    return AnswersEvidence(channel, shown, provenance=provenance_of(reports), max_counts=max_counts)


def yes_or_no(n: int) -> bk.TableDomain:
    return bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(n)])


def any_answers(plan: bk.Plan, n: int) -> bk.Reports:
    """Answers drawn alike, without a table behind them."""
    channel = plan.channel
    assert isinstance(channel, AskChannel)
    rng = np.random.default_rng(1)
    question = rng.integers(0, len(channel.asked), n)
    answer = (rng.random(n) * np.array(channel.sizes)[question]).astype(np.int32)
    return bk.Reports(plan, Batch({"question": question.astype(np.int32), "answer": answer}), randomness="secure")


@st.composite
def designs(draw: st.DrawFn) -> bk.Design:
    """Questions in any order, some of them merged at random."""
    questions = []
    for _ in range(draw(st.integers(1, 4))):
        names = tuple(draw(st.permutations(list(SIZES)))[: draw(st.integers(1, 3))])
        n = int(np.prod([SIZES[name] for name in names]))
        merged = None
        if draw(st.booleans()):
            raw = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
            numbered = {value: at for at, value in enumerate(dict.fromkeys(raw))}
            merged = tuple(numbered[value] for value in raw) if len(numbered) > 1 else None
        questions.append(bk.Question(names, merged))
    return bk.Design(questions)


@lru_cache(maxsize=1000)  # a channel is itself and no other
def reading(channel: AskChannel, at: int, itemset: tuple[int, ...]) -> npt.NDArray[np.bool_] | None:
    """The answers of a question that stand for an itemset; None where it does not tell.  By a list of all records."""
    question = channel.design.questions[at]
    names = list(SIZES)
    answers: dict[int, set[bool]] = {}
    for record in product(*(range(size) for size in SIZES.values())):
        place = 0
        for name in question.attributes:
            place = place * SIZES[name] + record[names.index(name)]
        answer = place if question.merged is None else question.merged[place]
        items = {int(channel.domain.offsets[j]) + value for j, value in enumerate(record)}
        answers.setdefault(answer, set()).add(set(itemset) <= items)
    if any(len(found) > 1 for found in answers.values()) or not any(True in found for found in answers.values()):
        return None
    return np.array([True in answers[answer] for answer in range(len(answers))])


def by_loops(evidence: AnswersEvidence, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[float, float, float]:
    """The supports of two itemsets and N^2 sum of a_A a_B Cov, from the formulas of the module."""
    channel, n = evidence.channel, evidence.n_records
    said: list[dict[int, tuple[float, float, npt.NDArray[np.bool_]]]] = []
    for itemset in (one, other):
        known = {}
        for at, asked in enumerate(channel.asked):
            stands = reading(channel, at, itemset)
            if stands is not None and evidence.asked[at]:
                g = asked.told.n_values
                b = stands.sum() * (1 / g if asked.told.is_hashed else (1 - asked.keep) / g)
                noise = b * (1 - 1 / g) if asked.told.is_hashed else b * (1 - b)
                known[at] = evidence.asked[at] * asked.keep**2 / noise, b, stands
        whole = sum(part[0] for part in known.values())
        said.append({at: (part[0] / whole, part[1], part[2]) for at, part in known.items()})
    values, covariance = [], 0.0
    for known in said:
        parts = [
            a * (evidence.numbers[at][stands].sum() / evidence.asked[at] - b) / channel.asked[at].keep
            for at, (a, b, stands) in known.items()
        ]
        values.append(n * float(sum(parts)))
    for at in set(said[0]) & set(said[1]):
        (a, b, stands), (a2, b2, stands2) = said[0][at], said[1][at]
        share, keep = evidence.numbers[at] / evidence.asked[at], channel.asked[at].keep
        rates = share[stands & stands2].sum() - share[stands].sum() * share[stands2].sum()
        if channel.asked[at].told.is_hashed:
            q = 1 / channel.asked[at].told.n_values
            rates = (stands & stands2).sum() * q**2 + (1 - 2 * q) * share[stands & stands2].sum()
            rates -= (share[stands].sum() - b) * (share[stands2].sum() - b2)
            if one == other:
                rates = max(rates, min(b * (1 - q), b * (1 - q) + keep * (1 - 2 * q - keep)))
        covariance += n**2 * a * a2 * rates / (channel.asked[at].keep ** 2 * evidence.asked[at])
    return values[0], values[1], covariance


@pytest.mark.slow
@settings(max_examples=16, deadline=None)
@given(designs(), st.integers(0, 10**6), st.sampled_from([(6.0, "response"), (6.0, "hashing"), (1.1, "auto")]))
def test_sums_are_those_of_the_formulas(design: bk.Design, seed: int, how: tuple[float, str]) -> None:
    """Values, variances and covariances, merged answers and clashing values among them; what is covered, too."""
    channel = bk.Ask(design, *how).channel(DOMAIN)
    rng = np.random.default_rng(seed)
    numbers = [rng.integers(0, 40, size) * int(rng.integers(0, 4) > 0) for size in channel.sizes]
    asked = [max(int(one.max()), int(one.sum() * rng.uniform(0.3, 2))) for one in numbers]
    people = np.where(channel.hashed, asked, [one.sum() for one in numbers])
    evidence = AnswersEvidence(channel, Shown(people, numbers))
    itemsets = [itemset for k in (1, 2, 3) for itemset in combinations(range(7), k)]
    told = {}
    for itemset in itemsets:
        row = np.array([itemset], np.int32)
        clash = len({int(DOMAIN.groups[item]) for item in itemset}) < len(itemset)
        readings = [reading(channel, at, itemset) is not None for at in range(len(numbers))]
        assert channel.covers(row)[0] == (any(readings) or clash)
        told[itemset] = any(known and evidence.asked[at] for at, known in enumerate(readings))
        assert evidence.covers(row)[0] == (told[itemset] or clash)
    sound = [itemset for itemset in itemsets if told[itemset]]
    for one, other in list(product(sound, sound))[:: max(1, len(sound) ** 2 // 30)]:
        first, second, covariance = by_loops(evidence, one, other)
        union = tuple(sorted({*one, *other}))
        clash = len({int(DOMAIN.groups[item]) for item in union}) < len(union)
        if not clash and not told[union]:
            continue
        family = evidence.family(np.array([union], np.int32))
        masks = [sum(1 << union.index(item) for item in part) for part in (one, other)]
        assert family.value(masks[0])[0] == pytest.approx(first, abs=1e-6)
        assert family.value(masks[1])[0] == pytest.approx(second, abs=1e-6)
        both = 0.0 if clash else by_loops(evidence, union, union)[0]
        expected = covariance - (both - first * second / evidence.n_records)
        assert family.covariance(masks)[0, 0, 1] == pytest.approx(expected, abs=1e-4, rel=1e-9)


def test_a_question_of_65536_merged_answers_takes_memory_by_its_answers() -> None:
    """And not by their square: 32 GiB before."""
    n = 256
    domain = bk.TableDomain([bk.Attribute(name, list(range(n))) for name in "ab"])
    question = bk.Question(("a", "b"), tuple(reversed(range(n * n))))
    with memory_within(256 << 20):
        plan = bk.Plan(domain, bk.Ask(bk.Design([question]), 19, "response"))
        assert [part.size for part in plan.guarantee.influence] == [1, 2]
        evidence = unbiased(any_answers(plan, 5))
        every = np.arange(2 * n, dtype=np.int32)[:, None]
        assert evidence.covers(every).all()
        value = evidence.supports(every).value.reshape(2, n)
        assert value.sum(axis=1) == pytest.approx([5, 5], rel=1e-6), "each person has a value of each"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")
def test_pairs_of_many_attributes_take_memory_by_what_is_told() -> None:
    """120 attributes, 7140 questions, each of which tells of four pairs; hundreds of megabytes were taken before."""
    plan = bk.Plan(domain := yes_or_no(120), bk.Ask(bk.Design.pairs(domain), gamma=19))
    evidence = unbiased(any_answers(plan, 50_000))
    bk.mine(evidence, min_support=0.4, max_size=1)  # compiled
    heard: list[LevelProgress] = []
    with effort_within(20), memory_within(200 << 20):
        found = bk.mine(evidence, min_support=0.01, max_size=2, slack=20, on_progress=heard.append)
        assert sum(len(itemset) == 2 for itemset, _ in found) > 10_000
    assert {(one.size, one.stage) for one in heard} >= {(1, "estimating"), (2, "estimating")}


def test_many_questions_about_the_same_are_refused_before_they_are_counted() -> None:
    """Ten counts for each of max_candidates, one for each question about each itemset."""
    domain = bk.TableDomain([bk.Attribute("a", ["n", "y"]), bk.Attribute("b", list(range(500)))])
    plan = bk.Plan(domain, bk.Ask(bk.Design([["a"]] * 4000), gamma=19))
    reports = any_answers(plan, 40_000)
    evidence = unbiased(reports, max_counts=10 * 502)
    with pytest.raises(bk.TooManyCandidatesError, match="one for each question about each of 2,") as caught:
        bk.mine(evidence, min_support=0.1, max_candidates=502)
    assert (caught.value.number, caught.value.limit) == (8000, 5020)
    assert len(bk.mine(unbiased(reports), min_support=0.1)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [19.0, 1000.0])
@pytest.mark.parametrize("questions", ["a", "ab"])
def test_intervals_that_miss_too_often_come_with_caution(gamma: float, questions: str) -> None:
    """By all numbers of answers that 300 people can give, whether few have an itemset or nearly all.

    They are all people, or half of them, drawn at random, the others being asked something else.
    """
    domain, n = bk.TableDomain([bk.Attribute(name, ["n", "y"]) for name in "ab"]), 300
    people = n * len(questions)
    channel = bk.Ask(bk.Design([[name] for name in questions]), gamma=gamma).channel(domain)
    value, error, doubtful = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, bool)
    for shown in range(n + 1):
        numbers = [np.array([n - shown, shown]), np.array([n, 0])][: len(questions)]
        family = AnswersEvidence(channel, Shown.one_each(numbers)).family(np.array([[1]], np.int32))
        value[shown], error[shown] = family.whole.value[0], family.whole.stderr[0]
        doubtful[shown] = family.doubtful[0] | family.rare_moves[0]
    assert (error > 0).all(), "no data set has a variance of 0"
    true, false = channel.by_chance[0] + channel.keep[0], channel.by_chance[0]
    laws = [
        np.convolve(binom.pmf(np.arange(have + 1), have, true), binom.pmf(np.arange(n - have + 1), n - have, false))
        for have in range(n + 1)
    ]
    for have in range(0, people + 1, 2):
        law = hypergeom.pmf(np.arange(n + 1), people, have, n) @ np.array(laws)
        missed = law[(np.abs(value - have) > 1.96 * error) & ~doubtful].sum()
        assert missed < 0.08
    assert doubtful[[5, 295]].all()
    assert gamma > 100 or not doubtful[120:180].any()


@pytest.mark.parametrize("kind", ["unbiased", "linear"])
def test_tables_of_sides_that_no_report_tells_of_are_refused_by_name(kind: str) -> None:
    """One answer stands for both being yes, the other for all else: nothing is known of one of them alone."""
    domain = bk.TableDomain([bk.Attribute(name, ["n", "y"]) for name in "ab"])
    plan = bk.Plan(domain, bk.Ask(bk.Design([bk.Question(("a", "b"), (0, 0, 0, 1))]), gamma=19))
    reports = plan.randomize(bk.Table.from_codes(np.ones((500, 2), int), domain), rng=bk.Seeded(1))
    linear = LinearEvidence(plan.channel, reports.counter(), provenance=provenance_of(reports))
    evidence = linear if kind == "linear" else unbiased(reports)
    assert bk.estimate(evidence, [{"a=y", "b=y"}]).value[0] > 0.8
    for call in (
        lambda: bk.contingency(evidence, {"a=y"}, {"b=y"}),
        lambda: bk.partial_supports(evidence, ["a=y", "b=y"]),
        lambda: bk.confidence(evidence, {"a=y"}, {"b=y"}),
        lambda: evidence.family(np.array([[1, 3]], np.int32)).covariance([1, 3]),
    ):
        with pytest.raises(bk.SingularChannelError, match="Nothing can be estimated about 'a=y'"):
            call()


@settings(max_examples=12, deadline=None)
@given(designs())
def test_influence_is_that_of_the_worst_weights(design: bk.Design) -> None:
    """Of all itemsets and questions; where these are too many to look at, no less is stated."""
    channel = bk.Ask(design, gamma=6.0).channel(DOMAIN)
    for k in (1, 2, 3):
        itemsets = np.array(list(combinations(range(7), k)), np.int32)
        weights = np.concatenate([channel.weights(itemsets, at) for at in range(len(design))], axis=1)
        found = channel.influence(k)
        assert (found is not None) == weights.any()
        if found is not None:
            assert (found.low, found.high) == pytest.approx((weights.min(), weights.max()), rel=1e-9)
            assert found.width >= np.ptp(weights, axis=1).max() * (1 - 1e-9)
            assert found.is_ratio
            for shares in (channel.shares, np.append(channel.shares[:-1], 0.0)):
                exact = influence_of(channel, k, shares)
                bound = _bound(channel, k, shares)
                if exact is not None:
                    assert bound.low <= exact.low * (1 + 1e-9)
                    assert bound.high >= exact.high * (1 - 1e-9)
                    assert bound.width >= exact.width * (1 - 1e-9)


@settings(max_examples=12, deadline=None)
@given(designs(), st.sampled_from([(6.0, "hashing"), (1.1, "auto")]))
def test_influence_of_hashed_answers(design: bk.Design, how: tuple[float, str]) -> None:
    """From none of the answers that stand for an itemset to all of them; where itemsets are too many, no less."""
    channel = bk.Ask(design, *how).channel(DOMAIN)
    for k in (1, 2, 3):
        low = high = 0.0
        for itemset in combinations(range(7), k):
            known = {at: stands for at in range(len(design)) if (stands := reading(channel, at, itemset)) is not None}
            g = {at: int(stands.sum()) for at, stands in known.items()}
            chance = {at: channel.by_chance[at] for at in known}
            noise = {at: g[at] * q * (1 - (q if channel.hashed[at] else g[at] * q)) for at, q in chance.items()}
            whole = sum(channel.shares[at] * channel.keep[at] ** 2 / noise[at] for at in known)
            for at, q in chance.items():
                counts_for = channel.keep[at] / noise[at] / whole
                most = g[at] if channel.hashed[at] else 1
                low, high = min(low, -g[at] * q * counts_for), max(high, (most - g[at] * q) * counts_for)
        found = channel.influence(k)
        assert (found is not None) == (high > 0)
        if found is not None:
            assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
            for shares in (channel.shares, np.append(channel.shares[:-1], 0.0)):
                exact, bound = influence_of(channel, k, shares), _bound(channel, k, shares)
                if exact is not None:
                    assert bound.low <= exact.low * (1 - 1e-9)
                    assert bound.high >= exact.high * (1 - 1e-9)
                    assert bound.width >= exact.width * (1 - 1e-9)


def test_cards_of_many_questions_leave_out_no_size_that_can_be_estimated() -> None:
    """2775 questions of a hundred answers each; and where itemsets are too many to look at, a bound is stated."""
    domain = bk.TableDomain([bk.Attribute(f"q{at}", list(range(10))) for at in range(75)])
    plan = bk.Plan(domain, bk.Ask(bk.Design.pairs(domain), 19, "response"))
    one, two = plan.guarantee.influence
    keep = 18 / 118
    assert two.width == pytest.approx(2775 / keep)
    assert one.width == pytest.approx(2775 / 74 / keep)
    assert "where as many are asked each question as planned" in str(plan.guarantee)
    wide = bk.TableDomain([bk.Attribute(f"q{at}", ["n", "y"]) for at in range(700)])
    many = bk.Ask(bk.Design([wide.names[at : at + 12] for at in range(689)]), 19, "response").channel(wide)
    found = many.influence(6)
    assert found is not None
    assert found.width >= 689 / many.keep.min()
