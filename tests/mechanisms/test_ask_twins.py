"""What Ask draws, word by word, and an audit: no more than gamma is found, and twins that break a rule are caught."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.audit.lower_bounds import by_threshold
from bosket.mechanisms.questions.channel import AskChannel
from bosket.randomness import Seeded

ONE = 1 << 53
FAR = 1 << 40  # words from here on are taken as they are, modulo whatever is drawn
SIZES = {"a": 2, "b": 3, "c": 2}
DOMAIN = bk.TableDomain([bk.Attribute(name, list(range(size))) for name, size in SIZES.items()])
REST = bk.Question(("b", "a"), (0, 1, 2, 2, 2, 2))
"""Six combinations, b first, four of which are one answer."""
DESIGN = bk.Design([REST, ("a",), bk.Question(("c", "b"), (0, 1, 0, 2, 1, 0)), ("c", "a", "b")], [5, 1, 2, 3])
Record = tuple[int, ...]
RECORDS: list[Record] = list(product(*(range(size) for size in SIZES.values())))
Report = tuple[int, int]
N = 150_000
GAMMA = 3.0


def truth(question: bk.Question, record: Record) -> int:
    """The answer of a record, from the definition of a question."""
    place = 0
    for name in question.attributes:
        place = place * SIZES[name] + record[list(SIZES).index(name)]
    return place if question.merged is None else question.merged[place]


def law(channel: AskChannel, record: Record) -> dict[Report, Fraction]:
    """Of a report, from the definition, with what is drawn in the place of kappa."""
    result = {}
    for at, (question, asked) in enumerate(zip(DESIGN.questions, channel.asked, strict=True)):
        kappa, d = Fraction(asked.told.threshold, ONE), asked.n_answers
        for answer in range(d):
            chance = kappa * (answer == truth(question, record)) + (1 - kappa) / d
            result[at, answer] = Fraction(DESIGN.weights[at], sum(DESIGN.weights)) * chance
    return result


class GivenWords(Seeded):
    """Hands a kernel these words and no others."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(0)
        self.given = np.array(words, np.uint64)

    def by_rows(
        self,
        bits: npt.NDArray[np.uint64],
        kernel: Callable[[int, int, int, npt.NDArray[np.uint64]], tuple[int, int]],
        *,
        keeps_rest: bool = False,
    ) -> None:
        assert kernel(0, len(bits), 0, self.given) == (1, len(self.given))


def drawn(channel: AskChannel, record: Record) -> dict[Report, Fraction]:
    """Of a report, by all that the kernel draws: a question, a coin at either end of what it decides, an answer."""
    bits = bk.Table.from_codes(np.array([record]), DOMAIN).to_bits()
    asked_by = [at for at, share in enumerate(DESIGN.weights) for _ in range(share)]
    result: dict[Report, Fraction] = {}
    for number, at in enumerate(asked_by):
        d, threshold = channel.asked[at].n_answers, channel.asked[at].told.threshold
        coins = [((0, threshold - 1), Fraction(threshold, ONE)), ((threshold, ONE - 1), 1 - Fraction(threshold, ONE))]
        for (ends, chance), other in product(coins, range(d)):
            reports = set()
            for coin in ends:
                words = [word(len(asked_by), number), coin << 11, word(d, other)]
                batch = channel.randomize(bits, GivenWords(words))
                reports.add((int(batch["question"][0]), int(batch["answer"][0])))
            (report,) = reports
            result[report] = result.get(report, Fraction(0)) + chance / len(asked_by) / d
    return result


def word(bound: int, number: int) -> int:
    return (FAR // bound + 1) * bound + number


@pytest.mark.parametrize("gamma", [1.5, 19.0, 1e12])
def test_what_is_drawn_is_the_law_and_never_above_gamma(gamma: float) -> None:
    """In fractions: every record, merged answers and unequal shares among the questions."""
    channel = bk.Ask(DESIGN, gamma=gamma, channel="response").channel(DOMAIN)
    laws = [drawn(channel, record) for record in RECORDS]
    assert laws == [law(channel, record) for record in RECORDS]
    worst = max(one[report] / other[report] for one, other in product(laws, laws) for report in one)
    assert Fraction(gamma) * (1 - Fraction(gamma) / ONE * 24) < worst <= Fraction(gamma)  # 12 answers at most


@pytest.mark.slow
@pytest.mark.parametrize("by", ["response", "hashing"])
@pytest.mark.parametrize("n_answers", [2, 3, 9, 1000])
def test_no_rounding_is_above_gamma(n_answers: int, by: str) -> None:
    domain = bk.TableDomain([bk.Attribute("a", range(n_answers))])
    for gamma in np.exp(np.random.default_rng(1).uniform(1e-6, 20, 200)).tolist():
        mechanism = bk.Ask(bk.Design([["a"]]), gamma=gamma, channel=by)
        (asked,) = mechanism.channel(domain).asked
        true = Fraction(asked.told.threshold, ONE)  # the coin tells the truth; else any answer, or another bucket
        d = asked.told.n_values
        ratio = true * (d - 1) / (1 - true) if by == "hashing" else (true + (1 - true) / d) / ((1 - true) / d)
        assert ratio <= Fraction(gamma)
        assert math.log(ratio) <= mechanism.guarantee(domain).record.epsilon


# -- twins -----------------------------------------------------------------------------------------------------------

ONE_RECORD, OTHER_RECORD = (0, 0, 0), (1, 2, 1)


def scores(of: Callable[[Record, np.random.Generator], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]) -> float:
    """The epsilon that an audit finds between two records, by what a report says for the one against the other.

    Half of the reports are used to learn that, the other half to bound.
    """
    rng = np.random.default_rng(5)
    codes = [question * 100 + answer for question, answer in (of(one, rng) for one in (ONE_RECORD, OTHER_RECORD))]
    top = max(int(code.max()) for code in codes) + 1
    learned = [np.bincount(code[::2], minlength=top) + 1.0 for code in codes]
    evidence = np.log(learned[0] / learned[1])
    return by_threshold(evidence[codes[0][1::2]], evidence[codes[1][1::2]]).epsilon


def sound(record: Record, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    people = bk.Table.from_codes(np.array([record] * N), DOMAIN)
    batch = (
        bk.Ask(DESIGN, gamma=GAMMA, channel="response")
        .randomize(people, rng=bk.Seeded(int(rng.integers(1 << 30))))
        .batch
    )
    return batch["question"].astype(np.int64), batch["answer"].astype(np.int64)


def test_an_audit_finds_no_more_than_gamma() -> None:
    assert 0.75 * math.log(GAMMA) < scores(sound) <= math.log(GAMMA)


def test_a_twin_whose_question_is_the_record_s_own_is_caught() -> None:
    """Whoever has a = 0 is asked about a twice as often; every answer by itself has the ratio gamma."""

    def own(record: Record, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        question, answer = sound(record, rng)
        if record[0] == 0:
            more = rng.random(N) < 0.4
            lies = rng.random(N) >= (GAMMA - 1) / (GAMMA + 1)
            told = np.where(lies, rng.integers(0, 2, N), record[0])
            question, answer = np.where(more, 1, question), np.where(more, told, answer)
        return question, answer

    assert scores(own) > math.log(GAMMA)


def test_a_twin_that_tells_what_the_rest_stands_for_is_caught() -> None:
    """Who is in the rest of a merged question adds a bit of the combination, as if merging had protected it."""

    def open_rest(record: Record, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        question, answer = sound(record, rng)
        is_true = answer == truth(REST, record)
        tail = np.where(is_true & (question == 0) & (answer == 2), 1 + record[0], 0)
        return question, answer + 10 * tail

    assert scores(open_rest) > math.log(GAMMA)


@pytest.mark.parametrize(("share", "is_sound"), [((0.3, 0.3), True), ((0.6, 0.1), False)], ids=["lot", "record"])
def test_a_study_whose_phases_depend_on_the_record_is_caught(share: tuple[float, float], is_sound: bool) -> None:
    """Reports tell their phase: the second has plans of its own."""

    def phased(record: Record, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        question, answer = sound(record, rng)
        late = rng.random(N) < share[0 if record == ONE_RECORD else 1]
        return question + 10 * late, answer

    assert (scores(phased) <= math.log(GAMMA)) == is_sound
