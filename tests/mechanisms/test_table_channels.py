"""Questions answered through a hash function: ratios, moments and covariances by every function; which channel when.

The law is written here from its definition: a function from answers to buckets, each as likely as any other; the bucket
of the true answer with probability p, any other with (1 - p) / (g - 1).  An answer is shown where its bucket is told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.evidence.answers import AnswersEvidence
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.answer_reports import Shown, shown_by
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.hash_kernels import bucket_of
from bosket.mechanisms.questions.table_channels import AUTO, HASHING, RESPONSE, best_buckets, hashing_is_better, told
from tests.stats import assert_plausible, assert_rejected, chi_square

PAIR = bk.TableDomain([bk.Attribute("a", ["1", "2"]), bk.Attribute("b", ["x", "y"])])
MANY = bk.TableDomain([bk.Attribute("a", ["1", "2"]), bk.Attribute("c", list(range(40)))])
MIXED = bk.Design([["a"], ["c"], ["c", "a"]], [1, 1, 2])
"""Two answers, forty, and eighty: at gamma 8.14 the last two are hashed."""


def outcomes(n_answers: int, g: int, p: Fraction, truth: int) -> Iterator[tuple[Fraction, tuple[bool, ...]]]:
    """Every function and every bucket that is told, with its probability and the answers that it shows."""
    for function in product(range(g), repeat=n_answers):
        for value in range(g):
            chance = p if value == function[truth] else (1 - p) / (g - 1)
            yield chance / g**n_answers, tuple(bucket == value for bucket in function)


@pytest.mark.parametrize("gamma", [1.01, 1.5, 3.0, 8.14, 19.0, 1000.0])
def test_the_channel_is_that_of_least_variance(gamma: float) -> None:
    """q (1 - q) / (p - q)^2 from the definitions, over all numbers of buckets; more than 3 gamma + 2 answers."""
    exact = Fraction(gamma)

    def variance(p: Fraction, q: Fraction) -> Fraction:
        return q * (1 - q) / (p - q) ** 2

    def hashing(g: int) -> Fraction:
        return variance(exact / (exact + g - 1), Fraction(1, g))

    sizes = [2**power for power in range(1, 17)]
    assert best_buckets(gamma) == min(sizes, key=hashing)
    least = hashing(best_buckets(gamma))
    numbers = [d for d in range(2, 6000) if hashing_is_better(gamma, d)]
    assert numbers == list(range(numbers[0], 6000))
    for d in (2, numbers[0] - 1, numbers[0], 5999):
        response = variance(exact / (exact + d - 1), 1 / (exact + d - 1))
        assert (least < response) == (d >= numbers[0])
    assert numbers[0] > 3 * gamma + 2
    assert numbers[0] <= 1.04 * (3 * gamma + 2) + 4, "powers of two cost little"


def test_where_the_channel_changes() -> None:
    first = {gamma: next(d for d in range(2, 500) if hashing_is_better(gamma, d)) for gamma in (3.0, 8.14, 19.0)}
    assert first == {3.0: 12, 8.14: 27, 19.0: 61}
    assert [best_buckets(gamma) for gamma in (1.5, 3.0, 8.14, 19.0)] == [2, 4, 8, 16]
    assert not hashing_is_better(2.0**1000, 1 << 16)


@pytest.mark.parametrize("gamma", [1.5, 3.0, 8.14, 19.0])
def test_the_ratio_is_gamma_under_every_function(gamma: float) -> None:
    """Any two records, every function from their answers to buckets, every bucket: in fractions."""
    by = told(HASHING, gamma, 5)
    p, g = Fraction(by.threshold, 2**53), by.n_values
    worst = Fraction(0)
    for function in product(range(g), repeat=2):
        laws = [[p if value == own else (1 - p) / (g - 1) for value in range(g)] for own in function]
        assert all(sum(law) == 1 for law in laws)
        worst = max(worst, *(one / other for one, other in zip(*laws, strict=True)))
    assert worst == 1 + by.excess
    assert worst <= Fraction(gamma)
    assert float(worst) == pytest.approx(gamma, rel=1e-9)
    mechanism = bk.Ask(bk.Design([["a"], ["a", "b"]]), gamma, HASHING)
    card = mechanism.guarantee(PAIR)
    assert math.log(float(worst)) <= card.record.epsilon * (1 + 1e-12)
    assert card.record.epsilon <= math.log(gamma) * (1 + 1e-12)
    assert "bucket" in card.card()


@pytest.mark.parametrize("g", [2, 4])
def test_moments_over_all_functions(g: int) -> None:
    """Of three answers: E S, Var S and Cov(S_A, S_B) for all sets of answers, and any shares of people."""
    p = Fraction(2, 3)
    q = Fraction(1, g)
    kappa = p - q
    shares = [Fraction(part, 10) for part in (1, 2, 7)]
    sets = [at for at in product((False, True), repeat=3) if any(at)]
    first = dict.fromkeys(sets, Fraction(0))
    second = dict.fromkeys(product(sets, sets), Fraction(0))
    for truth, share in enumerate(shares):
        for chance, shown in outcomes(3, g, p, truth):
            number = {one: sum(a and b for a, b in zip(one, shown, strict=True)) for one in sets}
            for one in sets:
                first[one] += share * chance * number[one]
                for other in sets:
                    second[one, other] += share * chance * number[one] * number[other]
    have = {one: sum((f for f, at in zip(shares, one, strict=True) if at), Fraction(0)) for one in sets}
    have[False, False, False] = Fraction(0)
    for one in sets:
        assert first[one] == sum(one) * q + kappa * have[one]
        for other in sets:
            both = tuple(a and b for a, b in zip(one, other, strict=True))
            covariance = second[one, other] - first[one] * first[other]
            assert covariance == (
                sum(both) * q * (1 - q) + (1 - 2 * q) * kappa * have[both] - kappa**2 * have[one] * have[other]
            )


def test_stated_errors_are_those_of_all_functions() -> None:
    """One question about two attributes, asked of everybody: what evidence states, against every function.

    Reports are put in at their expected numbers, of a hundred million people, so that rounding is 1e-8 of them.
    """
    n, gamma = 10**8, 3.0
    channel = bk.Ask(bk.Design([["a", "b"]]), gamma, HASHING).channel(PAIR)
    by = channel.asked[0].told
    p, g = Fraction(by.threshold, 2**53), by.n_values
    shares = [Fraction(part, 20) for part in (2, 3, 5, 10)]
    kappa = by.keep
    itemsets = {1: (0,), 2: (2,), 3: (0, 2)}  # a=1, b=x and both, by mask
    stands = {1: (1, 1, 0, 0), 2: (1, 0, 1, 0), 3: (1, 0, 0, 0)}
    mean, product_ = dict.fromkeys(stands, 0.0), dict.fromkeys(product(stands, stands), 0.0)
    answers = np.zeros(4)
    for truth, share in enumerate(shares):
        for chance, shown in outcomes(4, g, p, truth):
            weight = float(share * chance)
            answers += weight * np.array(shown)
            number = {mask: float(np.dot(one, shown)) for mask, one in stands.items()}
            for mask, value in number.items():
                mean[mask] += weight * value
                for other, value2 in number.items():
                    product_[mask, other] += weight * value * value2
    evidence = AnswersEvidence(channel, Shown(np.array([n]), [np.rint(n * answers).astype(np.int64)]))
    family = evidence.family(np.array([[0, 2]], np.int32))
    have = {mask: float(sum(f for f, at in zip(shares, one, strict=True) if at)) for mask, one in stands.items()}
    masks = list(itemsets)
    found = family.covariance(masks)[0] / n
    for i, one in enumerate(masks):
        assert family.value(one)[0] / n == pytest.approx(have[one], abs=1e-6)
        for j, other in enumerate(masks):
            by_coins = (product_[one, other] - mean[one] * mean[other]) / kappa**2
            people = have[one | other] - have[one] * have[other]
            assert found[i, j] == pytest.approx(by_coins - people, rel=1e-5, abs=1e-6)
    single = channel.accuracy(1)
    assert single is not None
    assert single.least <= found[0, 0] <= single.most


@pytest.mark.parametrize("at", [0, 1, 2])
def test_reports_of_a_mixed_design_follow_its_law(at: int) -> None:
    """Of one record: questions by their shares, the truth as often as told; 1e-9 false alarms, and 1% off is seen."""
    n = 200_000
    mechanism = bk.Ask(MIXED, gamma=8.14)
    channel = mechanism.channel(MANY)
    assert channel.hashed.tolist() == [False, True, True]
    record = (1, 33)
    table = bk.Table.from_codes(np.tile(record, (n, 1)), MANY)
    batch = mechanism.randomize(table, rng=bk.Seeded(3)).batch
    numbers = np.bincount(batch["question"], minlength=3)
    assert_plausible(chi_square(numbers, np.array([0.25, 0.25, 0.5])))
    assert_rejected(chi_square(numbers, np.array([0.24, 0.25, 0.51])))
    rows = np.flatnonzero(batch["question"] == at)
    if at == 0:
        assert not batch["seed"][rows].any()
        true = batch["answer"][rows] == 1
        chance = 8.14 / 9.14
    else:
        answer = 33 if at == 1 else 2 * 33 + 1  # the last attribute of the question runs fastest
        own = np.array([bucket_of(seed, answer, 8) for seed in batch["seed"][rows]])
        true = batch["answer"][rows] == own
        chance = 8.14 / (8.14 + 7)
        others = (batch["answer"][rows] - own)[~true] % 8
        assert_plausible(chi_square(np.bincount(others, minlength=8)[1:], np.full(7, 1 / 7)))
    seen = np.array([true.sum(), len(true) - true.sum()])
    assert_plausible(chi_square(seen, np.array([chance, 1 - chance])))
    assert_rejected(chi_square(seen, np.array([chance - 0.03, 1 - chance + 0.03])))


def test_shown_answers_are_those_of_the_buckets() -> None:
    """By a loop over reports and answers; counts of tallies, and batches that add."""
    plan = bk.Plan(MANY, bk.Ask(MIXED, gamma=8.14))
    channel = plan.channel
    assert isinstance(channel, AskChannel)
    table = bk.Table.from_cells(np.arange(80), MANY)
    reports = plan.randomize(table, rng=bk.Seeded(1))
    whole = shown_by(channel, reports.batch)
    expected = [np.zeros(size, np.int64) for size in channel.sizes]
    for question, answer, seed in zip(*(reports.batch[name].tolist() for name in reports.batch.columns), strict=True):
        if channel.hashed[question]:
            for y in range(channel.sizes[question]):
                expected[question][y] += int(bucket_of(np.uint64(seed), y, 8)) == answer
        else:
            expected[question][answer] += 1
    assert all(np.array_equal(one, other) for one, other in zip(whole.numbers, expected, strict=True))
    assert whole.asked.tolist() == np.bincount(reports.batch["question"], minlength=3).tolist()
    tally = bk.Tally.of(reports[:30]) + bk.Tally.of(reports[30:]) + bk.Tally.of(reports)
    twice = shown_by(channel, tally.batch, tally.counts)
    assert all(np.array_equal(one, 2 * other) for one, other in zip(twice.numbers, whole.numbers, strict=True))
    assert (twice.asked == 2 * whole.asked).all()


class TestPlans:
    """Which channel a plan's JSON means."""

    LARGE = bk.Design([["c", "a"]])

    def test_small_questions_leave_it_as_it_was(self) -> None:
        plan = bk.Plan(MANY, bk.Ask(bk.Design([["a"]]), gamma=8.14))
        assert set(json.loads(plan.json)["mechanism"]) == {"name", "design", "gamma"}
        assert plan == bk.Plan(MANY, bk.Ask(bk.Design([["a"]]), 8.14, RESPONSE))
        assert str(plan.mechanism) == "Ask(design=1 question about 1 attribute, gamma=8.14)"
        assert [column.name for column in plan.channel.payload.columns] == ["question", "answer"]

    def test_old_files_of_large_questions_are_read_as_they_were_written(self) -> None:
        """No channel is named in them: 80 answers by randomized response."""
        old = bk.Plan(MANY, bk.Ask(self.LARGE, 8.14, RESPONSE))
        assert "channel" not in old.json
        again = bk.Plan.from_json(old.json)
        assert (again, again.digest) == (old, old.digest)
        assert not again.channel.hashed.any()  # type: ignore[attr-defined]  # it is an AskChannel
        reports = old.randomize(bk.Table.from_cells(np.arange(80), MANY), rng=bk.Seeded(1))
        assert reports.batch["answer"].max() > 8
        assert bk.Reports.from_bytes(again, reports.to_bytes()) == reports
        now = bk.Plan(MANY, bk.Ask(self.LARGE, 8.14))
        assert now.digest != old.digest
        with pytest.raises(bk.BosketError):
            bk.Reports(now, reports.batch, randomness="secure")
        with pytest.raises(bk.BosketError):
            bk.Reports.from_bytes(now, reports.to_bytes())

    @pytest.mark.parametrize(("design", "word"), [(LARGE, HASHING), (MIXED, AUTO)])
    def test_large_questions_say_so(self, design: bk.Design, word: str) -> None:
        plan = bk.Plan(MANY, bk.Ask(design, 8.14))
        assert json.loads(plan.json)["mechanism"]["channel"] == word
        assert bk.Plan.from_json(plan.json) == plan
        assert bk.Plan.from_json(plan.json).channel.hashed[-1]  # type: ignore[attr-defined]  # likewise

    def test_words_that_are_none(self) -> None:
        with pytest.raises(bk.ParameterError, match="channel"):
            bk.Ask(MIXED, 8.14, "unary")
        value = json.loads(bk.Plan(MANY, bk.Ask(MIXED, 8.14)).json)
        for wrong in ("subset", None, 1):
            value["mechanism"]["channel"] = wrong
            with pytest.raises(bk.BosketError):
                bk.Plan.from_json(json.dumps(value))

    def test_a_gamma_that_tells_nothing(self) -> None:
        with pytest.raises(bk.ParameterError, match="must be larger"):
            bk.Plan(MANY, bk.Ask(self.LARGE, 1 + 2**-52, HASHING))


class TestReports:
    PLAN = bk.Plan(MANY, bk.Ask(MIXED, gamma=8.14))

    def made(self, question: int, answer: int, seed: int) -> bk.Reports:
        batch = Batch({"question": np.array([question]), "answer": np.array([answer]), "seed": np.array([seed])})
        return bk.Reports(self.PLAN, batch, randomness="secure")

    def test_what_no_channel_gives_is_refused(self) -> None:
        self.made(0, 1, 0)
        self.made(1, 7, 5)
        for question, answer, seed, match in (
            (0, 1, 5, "0 as its seed"),  # a message beside the answer
            (0, 2, 0, "one of the answers"),
            (1, 8, 5, "one of the answers"),  # 40 answers, and eight buckets
            (2, 39, 5, "one of the answers"),
        ):
            with pytest.raises(bk.DataError, match=match):
                self.made(question, answer, seed)

    def test_there_and_back(self, tmp_path: Path) -> None:
        table = bk.Table.from_cells(np.arange(8000) % 80, MANY)
        reports = self.PLAN.randomize(table, rng=bk.Seeded(2))
        assert self.PLAN.channel.payload.width == 16
        reports.write(tmp_path / "reports.parquet")
        assert bk.Reports.read(tmp_path / "reports.parquet") == reports
        assert bk.Reports.from_bytes(self.PLAN, reports.to_bytes()).batch == reports.batch
        bk.Tally.of(reports).write(tmp_path / "tally.parquet")
        tally = bk.Tally.read(tmp_path / "tally.parquet")
        itemsets = [{"a=1"}, {"c=3"}, {"a=1", "c=3"}]
        one, other = (bk.estimate(each, itemsets, model=None) for each in (reports, tally))
        assert one.value.tolist() == other.value.tolist()
        assert one.covariance.tolist() == other.covariance.tolist()

    def test_buckets_that_came_up_too_often_are_marked(self) -> None:
        table = bk.Table.from_cells(np.arange(8000) % 80, MANY)
        honest = self.PLAN.randomize(table, rng=bk.Seeded(2))
        assert not bk.audit.implausible(honest).any()
        seeds = np.arange(1, 1001, dtype=np.uint64)
        batch = Batch({"question": np.full(1000, 1), "answer": np.zeros(1000, np.int32), "seed": seeds})
        both = bk.Reports.concat([honest, bk.Reports(self.PLAN, batch, randomness="secure")])
        marked = bk.audit.implausible(both)
        assert marked[8000:].all()

    def test_weights_of_reports_that_show_an_itemset_twice_are_refused(self) -> None:
        channel = self.PLAN.channel
        assert channel.weights(np.array([[2]], np.int32), 1).shape == (1, 2)
        with pytest.raises(bk.DataError, match="no weight"):
            channel.weights(np.array([[2]], np.int32), 2)


def test_phases_of_different_channels_are_pooled() -> None:
    cells = np.random.default_rng(1).integers(0, 80, 40_000)
    first, second = (
        bk.Ask(MIXED, 8.14, word).randomize(bk.Table.from_cells(part, MANY), rng=bk.Seeded(seed))
        for seed, (word, part) in enumerate(zip((RESPONSE, AUTO), np.split(cells, 2), strict=True))
    )
    itemsets = [{"a=1"}, {"c=3"}, {"a=1", "c=3"}]
    truth = bk.estimate(bk.Table.from_cells(cells, MANY), itemsets).value
    found = bk.estimate(bk.pool(first, second, model=None), itemsets)
    assert (np.abs(found.value - truth) < 6 * found.stderr).all()
    alone = bk.estimate(second, itemsets, model=None)
    assert (found.stderr < alone.stderr).all()
