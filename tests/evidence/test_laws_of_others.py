"""Laws fitted to designs that somebody else wrote: read in bounded memory and time, or without a law."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.counting.distinct_rows import distinct
from bosket.evidence import AnswersEvidence, FittedEvidence, evidence_of, laws
from bosket.evidence.block_laws import BlockLaws
from bosket.mechanisms.payload import Batch
from bosket.models.room import LEAST_WORK, MOST_OF_ALL, Room, allowance, not_settled
from tests.effort import effort_within
from tests.memory import memory_within, traced

pytestmark = pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")


def yes_or_no(n: int) -> bk.TableDomain:
    return bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(n)])


def one_answer_each(design: bk.Design, domain: bk.TableDomain) -> bk.Reports:
    """Everybody who was asked gave the first answer."""
    plan = bk.Plan(domain, bk.Ask(design, gamma=1e6))
    question = np.arange(len(design), dtype=np.int32)
    return bk.Reports(plan, Batch({"question": question, "answer": np.zeros_like(question)}), randomness="secure")


def test_wide_questions_are_read_without_a_law() -> None:
    """120 questions of 16 384 answers, in 12 kB of JSON, took 100 GB; of 13 attributes, 280 GB."""
    reports = one_answer_each(bk.Design.of_size(domain := yes_or_no(16), 14), domain)
    with memory_within(800 << 20):
        assert isinstance(evidence_of(reports), AnswersEvidence)
        with pytest.raises(bk.ParameterError, match="262144 answers of all questions"):
            evidence_of(reports, model="log-linear")


def test_a_wide_question_beside_many_is_read_without_a_law() -> None:
    """Answers are listed question by question, as many as the widest has."""
    domain = yes_or_no(16)
    narrow = [bk.Question(about, (0, 0, 0, 1)) for about in combinations(domain.names, 2)]
    narrow += [bk.Question(about, (0, 1, 1, 1)) for about in combinations(domain.names, 2)]
    narrow += [bk.Question(about) for about in combinations(domain.names, 3)]
    reports = one_answer_each(bk.Design([domain.names, *narrow]), domain)
    with memory_within(600 << 20):
        assert isinstance(evidence_of(reports), AnswersEvidence)
        with pytest.raises(bk.ParameterError, match="801 questions, one of them of 65536 answers"):
            evidence_of(reports, model="log-linear")


@pytest.mark.slow
def test_a_table_of_many_attributes_is_read_without_laws_of_blocks() -> None:
    """Of 120 attributes 280 840 triples were put into thousands of blocks, each fitted for seconds."""
    reports = one_answer_each(bk.Design.pairs(domain := yes_or_no(120)), domain)
    with effort_within(20):
        assert isinstance(evidence_of(reports), AnswersEvidence)
        for model in ("log-linear", bk.LogLinear(2)):
            with pytest.raises(bk.ParameterError, match="120 attributes would need more than 256 laws"):
                evidence_of(reports, model=model)


def test_blocks_are_counted_as_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """And questions seen from them, each of which takes a time of its own."""
    domain = bk.TableDomain([bk.Attribute(name, list(range(8))) for name in "abcdefg"])
    reports = one_answer_each(bk.Design.pairs(domain), domain)
    assert isinstance(evidence_of(reports), FittedEvidence)
    monkeypatch.setattr("bosket.evidence.block_laws._MOST_SEEN", 700)
    with pytest.raises(bk.ParameterError, match="at most 20 questions, got 21"):
        evidence_of(reports, model="log-linear")
    monkeypatch.setattr("bosket.evidence.blocks.MOST_BLOCKS", 30)
    with pytest.raises(bk.ParameterError, match="more than 30 laws"):
        evidence_of(reports, model="log-linear")


def values(n: int, size: int) -> bk.TableDomain:
    return bk.TableDomain([bk.Attribute(f"q{at}", list(range(size))) for at in range(n)])


@pytest.mark.slow
def test_laws_of_all_blocks_are_counted_before_the_first_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 attributes of 14 values, in 2 kB of JSON, have 220 laws: 100 GB and half an hour."""
    reports = one_answer_each(bk.Design.pairs(domain := values(12, 14)), domain)
    monkeypatch.setattr("bosket.evidence.block_laws.fit", None)
    with memory_within(200 << 20):
        assert isinstance(evidence_of(reports), AnswersEvidence)
        with pytest.raises(bk.ParameterError, match=r"laws of 220 blocks of attributes would keep 1.* GB"):
            evidence_of(reports, model="log-linear")


@pytest.mark.slow
def test_what_is_stated_of_a_block_is_what_it_keeps() -> None:
    """By tracemalloc: three attributes of 8 values, 511 coefficients of errors."""
    reports = one_answer_each(bk.Design.pairs(domain := values(7, 8)), domain)
    evidence = evidence_of(reports)
    assert isinstance(evidence, FittedEvidence)
    one, other = evidence.blocks[:2]
    evidence.law(one)
    gc.collect()
    tracemalloc.start()
    try:
        evidence.law(other)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    stated = 8 * max(room.kept for room in evidence.laws.rooms[other])
    assert 511**2 * 8 < kept < 1.2 * stated


@pytest.mark.slow
def test_margins_of_a_family_are_not_all_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 35 triples of 8 values take 4 MB each; here one is held at a time, and every number is the same."""
    reports = one_answer_each(bk.Design.pairs(domain := values(7, 8)), domain)
    rows = np.array([[8 * at for at in kind] for kind in combinations(range(7), 3)], np.int32)
    expected = evidence_of(reports).family(rows)
    before = expected.covariance([1, 3, 7]), expected.whole
    monkeypatch.setattr("bosket.evidence.block_laws._HELD", 1)
    evidence = evidence_of(reports)
    assert isinstance(evidence, FittedEvidence)
    evidence.laws.prepare(list(combinations(range(7), 3)))
    with traced() as memory:
        family = evidence.family(rows)
        found = family.covariance([1, 3, 7]), family.whole
        assert memory.peak < 70 << 20
    np.testing.assert_allclose(found[0], before[0], rtol=1e-9)
    np.testing.assert_array_equal(found[1].value, before[1].value)
    np.testing.assert_allclose(found[1].variance, before[1].variance, rtol=1e-9)
    assert found[1].carried == before[1].carried


@pytest.mark.parametrize("size", [160, 900, 1500])
def test_blocks_of_too_many_cells_are_read_without_a_law(size: int) -> None:
    """Four attributes asked by themselves: a block has millions of cells, or more coefficients than a law may have."""
    reports = one_answer_each(bk.Design([[name] for name in values(4, size).names]), values(4, size))
    assert isinstance(evidence_of(reports), AnswersEvidence)
    assert len(bk.mine(reports, 0.5, max_size=1)) == 4
    with pytest.raises(bk.ParameterError, match="more than 65536 cells"):
        bk.mine(reports, 0.5, model="log-linear")


def test_answers_about_pairs_have_no_law_without_interactions() -> None:
    """Five attributes of 30 values: order 2 has 2610 coefficients and 27 000 cells, and order 1 takes lifts for 1."""
    reports = one_answer_each(bk.Design.pairs(domain := values(5, 30)), domain)
    assert isinstance(evidence_of(reports), AnswersEvidence)
    with pytest.raises(bk.ParameterError, match="a law of 2610 coefficients"):
        evidence_of(reports, model="log-linear")
    assert isinstance(evidence_of(reports, model=bk.LogLinear(1)), FittedEvidence)


def test_laws_of_more_attributes_than_blocks_have_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An itemset of four attributes that no block holds has a law of its own, or is left out."""
    domain = values(7, 8)
    reports = one_answer_each(bk.Design.of_size(domain, 4), domain)
    evidence = evidence_of(reports, model=bk.LogLinear(2))
    assert isinstance(evidence, FittedEvidence)
    four = np.array([[0, 8, 16, 24]], np.int32)
    monkeypatch.setattr("bosket.evidence.block_laws.MOST_OF_ALL", 1)
    assert not evidence.covers(four).any()
    with pytest.raises(bk.SingularChannelError):
        bk.estimate(evidence, [{"q0=0", "q1=0", "q2=0", "q3=0"}])
    monkeypatch.undo()
    n = len(evidence.laws.rooms)
    assert evidence.covers(four).all()
    assert len(evidence.laws.rooms) == n + 1


@pytest.mark.slow
def test_many_small_laws_are_refused_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a hundredth of a second, however small, and as long to look at: of four of forty, half an hour."""
    domain = yes_or_no(17)
    evidence = evidence_of(one_answer_each(bk.Design.pairs(domain), domain), model=bk.LogLinear(2))
    assert isinstance(evidence, FittedEvidence)
    four = np.array(list(combinations(range(0, 34, 2), 4)), np.int32)
    n_blocks, calls = len(evidence.laws.rooms), Counter[str]()
    monkeypatch.setattr("bosket.evidence.block_laws.MOST_OF_ALL", (n_blocks + 100) * LEAST_WORK)
    monkeypatch.setattr(BlockLaws, "_room_for", lambda *_: calls.update(["room"]))
    covered = evidence.covers(four)
    assert 0 < covered.mean() < 0.9, "those that the blocks hold"
    assert not calls
    assert allowance([Room((2, 2), [(0, 1)], 4, 2)] * 10_000) == 1.0, "small ones use up what there is"


@pytest.mark.parametrize("problem", [not_settled(), MemoryError("Unable to allocate 1.21 GiB")])
def test_a_block_that_cannot_be_fitted_is_read_without_a_law(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laws of blocks are fitted when they are asked for."""
    reports = one_answer_each(bk.Design.pairs(domain := values(7, 8)), domain)
    assert isinstance(evidence_of(reports), FittedEvidence)

    def failing(*_: object, **rest: object) -> None:
        raise problem

    monkeypatch.setattr("bosket.evidence.block_laws.fit", failing)
    expected = bk.mine(reports, 0.5, model=None)
    assert list(bk.mine(reports, 0.5)) == list(expected)
    assert "model" not in bk.mine(reports, 0.5).about
    found = bk.estimate(reports, [{"q0=0"}])
    assert found.value.tolist() == bk.estimate(reports, [{"q0=0"}], model=None).value.tolist()
    with pytest.raises(bk.ParameterError, match="The 'model' parameter must be None here"):
        bk.mine(reports, 0.5, model="log-linear")


def test_an_order_that_takes_too_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = one_answer_each(bk.Design.triples(domain := yes_or_no(6)), domain)
    law = evidence_of(reports)
    assert "of order 3" in str(law.provenance.model) or "at most 3 attributes" in str(law.provenance.model)
    about = list(combinations(range(6), 3))
    two, three = (Room((2,) * 6, about, 160, order).work for order in (2, 3))
    assert two < three
    monkeypatch.setattr("bosket.models.room.MOST_WORK", (two + three) // 2)
    smaller = str(evidence_of(reports).provenance.model)
    assert "log-linear" in smaller
    assert "3" not in smaller.partition("interactions")[2].partition("log evidence")[0]
    with pytest.raises(bk.ParameterError, match="41 coefficients and 160 answers to 20 questions takes too much"):
        evidence_of(reports, model=bk.LogLinear(3))
    monkeypatch.setattr("bosket.models.room.MOST_NUMBERS", 160 * 6 - 1)
    assert isinstance(evidence_of(reports), AnswersEvidence)


def test_itemsets_times_answers_are_counted_before_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = evidence_of(one_answer_each(bk.Design.pairs(domain := yes_or_no(4)), domain))
    assert isinstance(evidence, FittedEvidence)
    looks = 6 * 4 * 8
    monkeypatch.setattr("bosket.evidence.fitted_families._MOST_LOOKS", looks - 1)
    with pytest.raises(bk.TooManyCandidatesError, match=f"8 itemsets of 1 item, .* {looks} numbers") as caught:
        bk.mine(evidence, min_support=0.01, max_size=1)
    assert (caught.value.number, caught.value.limit, caught.value.level) == (looks, looks - 1, 1)
    monkeypatch.setattr("bosket.evidence.fitted_families._MOST_LOOKS", looks)
    assert bk.mine(evidence, min_support=0.01, max_size=1)


def test_wide_questions_are_not_made_of_their_features() -> None:
    """A matrix of 8192 rows and columns for each of 560 questions took 286 GB."""
    wide, narrow = (list(combinations(range(16), size)) for size in (13, 3))
    assert Room((2,) * 16, wide, 560 << 13, 2).by_margins
    assert not Room((2,) * 16, narrow, 560 << 3, 2).by_margins
    assert not Room((2,) * 16, narrow, 560 << 3, 3).by_margins
    assert Room((2,) * 16, narrow, 560 << 3, 3).is_enough
    assert not Room((4,) * 8, list(combinations(range(8), 5)), 56 << 10, 3).is_enough, "minutes for each step"


def test_phases_of_more_people_than_a_share_has_bits_are_pooled() -> None:
    """Their shares were refused, which nobody had given."""
    reports = one_answer_each(bk.Design([["q0"]]), domain := yes_or_no(1))
    one = bk.Tally.of(reports)
    many = bk.Tally._made(one.plan, one.rows.copy(), np.array([1 << 40]), "secure")
    assert bk.pool(many, model=None).n_records == 1 << 40
    assert bk.estimate(bk.pool(many), [{domain.labels[0]}]).value[0] == pytest.approx(1, abs=1e-5)


def test_answers_that_no_law_can_be_computed_from() -> None:
    """By doubles: a tally of one person here and 2^46 there, nearly all of whom are said to tell the truth."""
    domain = bk.TableDomain([bk.Attribute(name, list("123")) for name in "abc"])
    plan = bk.Plan(domain, bk.Ask(bk.Design([domain.names]), gamma=1e9))
    powers = [0, 46, 0, 40, 40, 46, 20, 46, 40, 46, 0, 46, 46, 0, 20, 40, 0, 40, 40, 46, 46, 20, 20, 20, 46, 0, 20]
    answer = np.arange(27, dtype=np.int32)
    every = bk.Reports(plan, Batch({"question": np.zeros_like(answer), "answer": answer}), randomness="secure")
    tally = bk.Tally(plan)
    for at, power in enumerate(powers):
        one = bk.Tally.of(every[at : at + 1])
        tally += one.__class__._made(plan, one.rows.copy(), np.array([1 << power]), "secure")
    with pytest.raises(bk.ParameterError, match="cannot be computed to the digits"):
        bk.estimate(tally, [{"a=1"}], model="log-linear")
    truth = sum(1 << power for power in powers[:9]) / sum(1 << power for power in powers)
    assert bk.estimate(tally, [{"a=1"}]).value[0] == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("mechanism", [bk.Flip(keep=0.9), bk.GammaDiagonal(gamma=19)])
def test_reports_are_counted_some_at_a_time_for_a_law(mechanism: bk.Flip | bk.GammaDiagonal) -> None:
    """A few megabytes of reports that are alike took 42 bytes for each, beside the eight that they have."""
    n = 1_000_000
    plan = bk.Plan(yes_or_no(4), mechanism)
    reports = bk.Reports(plan, np.full((n, 1), 0b01010101, np.uint64), randomness="simulation")
    evidence_of(reports[:100], model="log-linear")  # compiled before
    with traced() as memory:
        evidence = evidence_of(reports, model="log-linear")
        peak = memory.peak
    assert peak < 8 * n + (12 << 20)
    assert evidence.n_records == n


def test_more_different_reports_of_bits_than_a_law_is_fitted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.evidence.laws.MOST_ANSWERS", 15)
    plan = bk.Plan(yes_or_no(4), bk.Flip(keep=0.9))
    bits = np.arange(200, dtype=np.uint64)[:, None]
    reports = bk.Reports(plan, bits, randomness="simulation")
    with pytest.raises(bk.ParameterError, match="more different reports"):
        evidence_of(reports, model="log-linear")
    assert not isinstance(evidence_of(reports), FittedEvidence)


@pytest.mark.parametrize("sizes", [[64] * 100, [2] * 100, [64] * 3 + [2] * 8, [70_000, 2]], ids=str)
def test_a_table_without_room_for_a_law_is_refused_before_its_reports_are_told_apart(
    sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of 100 words were sorted, word by word, before anybody looked at the number of blocks."""

    def telling_apart(*_: Any, **__: Any) -> Any:
        raise AssertionError("reports were told apart")

    domain = bk.TableDomain([bk.Attribute(f"a{at}", range(size)) for at, size in enumerate(sizes)])
    plan = bk.Plan(domain, bk.Flip(keep=0.75))
    words = np.zeros((2, -(-len(domain) // 64)), np.uint64)
    reports = bk.Reports(plan, words, randomness="simulation")
    monkeypatch.setattr("bosket.evidence.laws.alike_together", telling_apart)
    with pytest.raises(bk.ParameterError, match="must be None here"):
        evidence_of(reports, model="log-linear")


def test_wide_reports_are_told_apart_in_the_order_of_their_words() -> None:
    rng = np.random.default_rng(4)
    words = rng.integers(0, 1 << 63, (50, 6), dtype=np.uint64)[rng.integers(50, size=400)]
    words[:, :2] >>= np.uint64(61)
    numbers = rng.integers(1, 5, len(words))
    (found,), sums = laws._joined([words], numbers)
    known = Counter(dict.fromkeys(map(tuple, words.tolist()), 0))
    for row, number in zip(words.tolist(), numbers.tolist(), strict=True):
        known[tuple(row)] += number
    assert found.dtype == np.uint64
    assert list(map(tuple, found.tolist())) == sorted(known)
    assert sums.tolist() == [known[row] for row in sorted(known)]


def far_apart(n_values: int) -> bk.Tally:
    """Three questions about pairs, one of them with counts from 1 to 10^9: a fit moves in small steps, without end."""
    domain = values(3, n_values)
    plan = bk.Plan(domain, bk.Ask(bk.Design.pairs(domain), gamma=13912.0))
    rng = np.random.default_rng(3)
    counts = np.zeros((3, n_values**2), np.int64)
    counts[0, 5] = 1
    counts[1] = np.floor(10 ** (9 * rng.random(n_values**2)))
    counts[2, rng.integers(n_values**2, size=5)] = 80
    at = np.flatnonzero(counts)
    question, answer = (one.astype(np.int32) for one in np.divmod(at, n_values**2))
    rows = plan.channel.payload.to_rows(Batch({"question": question, "answer": answer}))
    return bk.Tally._made(plan, *distinct(rows, counts.ravel()[at]), "secure")


@pytest.mark.filterwarnings("ignore::bosket.BosketWarning")
def test_a_fit_ends_where_the_stated_work_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve steps were counted, and answers of a few kilobytes made every fit take a hundred."""
    tally = far_apart(4)
    free = evidence_of(tally)
    assert isinstance(free, FittedEvidence)
    rooms = [one for orders in free.laws.rooms.values() for one in orders]
    work: list[int] = []
    of_step = Room.of_step
    monkeypatch.setattr(Room, "of_step", lambda room, tried: work.append(of_step(room, tried)) or work[-1])  # type: ignore[func-returns-value]
    monkeypatch.setattr("bosket.models.room.MOST_OF_ALL", sum(room.whole_work for room in rooms))
    evidence = evidence_of(tally)
    assert isinstance(evidence, FittedEvidence)
    one_step_more = sum(of_step(room, 16) for room in rooms)
    assert sum(work) < sum(room.stated for room in rooms) + one_step_more
    law = evidence.law((0, 1, 2))
    assert not law.fit.is_settled
    assert "not settled after" in str(evidence.provenance.model)
    assert evidence.family(np.array([[0], [7]], np.int32)).doubtful.all()


def test_what_many_laws_may_take_is_shared_by_them() -> None:
    """All of it together, whatever the answers are; and never less than was stated."""
    rooms = [Room((20, 20, 20), [(0, 1), (1, 2)], 800, order) for order in (1, 2)]
    steps = sum(room.stated for room in rooms)
    others = sum(room.whole_work for room in rooms) - steps
    for n in (1, 10):
        assert n * (allowance(n * rooms) * steps + others) == pytest.approx(MOST_OF_ALL)
    assert allowance(rooms * 1000) == 1.0


def test_fits_of_answers_as_people_give_them_settle() -> None:
    evidence = evidence_of(one_answer_each(bk.Design.pairs(domain := values(3, 6)), domain))
    assert isinstance(evidence, FittedEvidence)
    assert evidence.law((0, 1, 2)).fit.is_settled
    assert "not settled" not in str(evidence.provenance.model)
