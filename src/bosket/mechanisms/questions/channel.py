"""Questions on the domain of a table, each answered through randomized response.

With d answers and ratio gamma, the true answer is given with probability kappa, and any of the d, all alike, otherwise:

    Pr(y | x) = kappa [y = x] + (1 - kappa) / d,    kappa = (gamma - 1) / (gamma + d - 1)

so that two records are told apart by a factor of gamma at most, whatever is asked: the question does not depend on the
record, and given the question the answer has the ratio gamma.  Of the people asked question q, who answer within the
set G of g answers that stand for an itemset A with probability r, the share with A is (r - b) / kappa, b = (1 - kappa)
g / d.

As weights of single reports, which cards and bounds are made of, a person asked q with probability pi counts for
a / pi people, a being the share of q in what is known of A: in proportion to pi kappa^2 / (b (1 - b)), the inverse of
the variance where nobody has A.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.checks import shown
from bosket.counting.base import Counts, ItemsetRows, Words
from bosket.data import TableDomain
from bosket.errors import DataError, ParameterError
from bosket.mechanisms.base import Cells, Channel, Floats
from bosket.mechanisms.columns import Numbers, PayloadColumn
from bosket.mechanisms.payload import Batch, Payload
from bosket.mechanisms.questions.designs import MOST_ANSWERS, Design, Question
from bosket.mechanisms.questions.foreseen import Attributes as Attributes
from bosket.mechanisms.questions.foreseen import accuracy_of, influence_of
from bosket.mechanisms.questions.kernels import answer_block
from bosket.mechanisms.questions.telling import Questionnaire, Tellers, Within, pieces
from bosket.privacy import Accuracy, Influence
from bosket.privacy.product import outward
from bosket.randomness import Randomness
from bosket.randomness.kernels import PRECISION

_ONE = 1 << PRECISION
_MOST_CELLS = 1 << 24  # of all questions together


@lru_cache(maxsize=1024)
def _kept(gamma: float, n_answers: int) -> tuple[int, Fraction]:
    """kappa of a question with this number of answers, as a multiple of 2**-53."""
    exact = Fraction(gamma)
    threshold = min(math.floor((exact - 1) / (exact + n_answers - 1) * _ONE), _ONE - 1)
    return threshold, Fraction(threshold, _ONE)


class Asked:
    """A question on a domain: its attributes by number, and the answer of each combination of their values."""

    def __init__(self, question: Question, domain: TableDomain, places: dict[str, int], gamma: float) -> None:
        unknown = [name for name in question.attributes if name not in places]
        if unknown:
            raise ParameterError(
                f"The 'design' parameter of Ask must ask about attributes of the table, got {shown(unknown[0])}.",
                parameter="design",
                value=unknown[0],
                hint=f"The attributes are {_listed(domain.names, 12)}.",
            )
        numbers = [places[name] for name in question.attributes]
        shape = tuple(int(domain.sizes[at]) for at in numbers)
        n_cells = next((cells for cells in accumulate(shape, mul) if cells > MOST_ANSWERS), None)
        if n_cells is not None:  # and not all of them: thousands of attributes have numbers of thousands of digits
            raise ParameterError(
                f"The 'design' parameter of Ask must have questions of at most {MOST_ANSWERS} combinations of values, "
                f"got {n_cells} or more of {_listed(question.attributes)}.",
                parameter="design",
                value=n_cells,
            )
        n_cells = math.prod(shape)
        answers = np.arange(n_cells) if question.merged is None else np.array(question.merged)
        if len(answers) != n_cells:
            raise ParameterError(
                f"The 'design' parameter of Ask must give an answer to each of the {n_cells} combinations of "
                f"{_listed(question.attributes)}, got {len(answers)}.",
                parameter="design",
                value=len(answers),
            )
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        self.attributes: Attributes = tuple(numbers[at] for at in order)
        self.shape = tuple(shape[at] for at in order)
        self.answers: npt.NDArray[np.int64] = np.ascontiguousarray(answers.reshape(shape).transpose(order)).ravel()
        """By combination, the last attribute's values running fastest."""
        self.n_answers = int(self.answers.max()) + 1
        if self.n_answers < 2:
            raise ParameterError(
                f"The 'design' parameter of Ask must have questions of two answers or more, got one of one answer, "
                f"about {_listed(question.attributes)}.",
                parameter="design",
                value=1,
            )
        self.threshold, self.exact_keep = _kept(gamma, self.n_answers)
        self.keep = float(self.exact_keep)
        self.by_chance = (1.0 - self.keep) / self.n_answers  # 1 - keep is exact: a multiple of 2**-53
        """The probability of each answer beside the true one."""

    @property
    def excess(self) -> Fraction:
        """The realised ratio, less 1."""
        return self.exact_keep * self.n_answers / (1 - self.exact_keep)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every combination is an answer of its own."""
        return self.n_answers == len(self.answers) and np.array_equal(self.answers, np.arange(self.n_answers))

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What a value of each attribute counts for in the number of a combination."""
        return tuple(math.prod(self.shape[place + 1 :]) for place in range(len(self.shape)))


def _listed(names: Sequence[str], most: int = 4) -> str:
    """The first few names, in messages."""
    return ", ".join(map(shown, names[:most])) + (", ..." if len(names) > most else "")


def _asked_one_by_one(design: Design, domain: TableDomain, gamma: float) -> Iterator[Asked]:
    """The questions of a design; refused as soon as they have too many combinations, before the rest are made."""
    places = {name: at for at, name in enumerate(domain.names)}
    n_cells = 0
    for number, question in enumerate(design.questions, 1):
        one = Asked(question, domain, places, gamma)
        n_cells += len(one.answers)
        if n_cells > _MOST_CELLS:
            raise ParameterError(
                f"The 'design' parameter of Ask must have at most {_MOST_CELLS} combinations of values in all its "
                f"questions, got more in the first {number} of {len(design)}.",
                parameter="design",
                value=n_cells,
            )
        yield one


@dataclass(frozen=True)
class Answers(Payload):
    """(question, answer): a question by its number, and one of its answers."""

    sizes: tuple[int, ...]
    channel: AskChannel

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        return (
            Numbers("question", len(self.sizes) - 1, "one of the questions of its design as its question"),
            Numbers("answer", max(self.sizes) - 1, "one of the answers to its question as its answer"),
        )

    def strata(self, batch: Batch) -> npt.NDArray[np.integer[Any]] | None:
        return batch["question"]

    def checked(self, batch: Batch) -> Batch:
        found = Payload.checked(self, batch)
        if len(found) and (found["answer"] >= np.array(self.sizes)[found["question"]]).any():
            raise DataError("A report must have one of the answers to its question as its answer.")
        return found

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> AnswerCounter:
        return AnswerCounter(self.channel, histograms(self.sizes, batch))


def histograms(sizes: tuple[int, ...], batch: Batch, counts: npt.NDArray[np.int64] | None = None) -> list[Counts]:
    """Numbers of reports by answer, for each question; they add over batches."""
    starts = np.append(0, np.cumsum(sizes))
    place = starts[batch["question"]] + batch["answer"]
    every = np.bincount(place, minlength=int(starts[-1])) if counts is None else _added(place, counts, int(starts[-1]))
    return [every[start:stop] for start, stop in pairwise(starts.tolist())]


def _added(place: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], n: int) -> Counts:
    every = np.zeros(n, np.int64)
    np.add.at(every, place, counts)
    return every


class AnswerCounter:
    """Numbers of reports that show an itemset, by question; none where a question does not tell it."""

    def __init__(self, channel: AskChannel, numbers: list[Counts]) -> None:
        self.channel = channel
        self.numbers = numbers
        self.strata = tuple(at for at, one in enumerate(numbers) if one.sum()) or (0,)
        self.n_records = int(sum(int(one.sum()) for one in numbers))

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        found = np.zeros((len(self.strata), len(itemsets)), np.int64)
        if itemsets.shape[1] == 0:
            found[:] = np.array([self.numbers[at].sum() for at in self.strata])[:, None]
            return found
        questions, numbers = self.channel.questionnaire, np.concatenate(self.numbers)
        places = np.full(len(self.numbers), -1)
        places[list(self.strata)] = np.arange(len(self.strata))
        number, work = questions.count(itemsets, places >= 0)
        for start, stop in pieces(number, work):
            rows = itemsets[start:stop]
            tellers = questions.tellers(rows, places >= 0, number[start:stop])
            found[places[tellers.question], start + tellers.row] = questions.within(rows, tellers, numbers).shown
            if on_progress is not None:
                on_progress(stop)
        return found


@dataclass(frozen=True, slots=True)
class Information:
    """What questions know of itemsets, in proportion to n kappa^2 / (b (1 - b))."""

    by_chance: Floats
    """b: the probability that somebody without the itemset answers as if they had it."""
    share: Floats
    """a: the share of the question in all that is known of the itemset; 0 where it does not tell."""
    total: Floats
    """By itemset, all that is known."""


class AskChannel(Channel):
    """Questions on the domain of a table."""

    domain: TableDomain
    read_together = True

    def __init__(self, domain: TableDomain, design: Design, gamma: float) -> None:
        self.domain = domain
        self.design = design
        self.asked = tuple(_asked_one_by_one(design, domain, gamma))
        weights = design.weights
        self.shares = np.array(weights, float) / sum(weights)
        kinds = {one.n_answers: one for one in self.asked}.values()
        excess = max(one.excess for one in kinds)
        if min(one.threshold for one in kinds) <= 0:
            raise ParameterError(
                f"The 'gamma' parameter of Ask must be larger: at {gamma:g} an answer is true with less than 2**-53.",
                parameter="gamma",
                value=gamma,
            )
        self.gamma = float(1 + excess)
        self.epsilon = outward(math.log1p(float(excess)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of answers."""
        return tuple(one.n_answers for one in self.asked)

    @property
    def payload(self) -> Payload:
        return Answers(self.sizes, self)

    def randomize(self, bits: Words, rng: Randomness) -> Batch:
        widest = max(len(one.attributes) for one in self.asked)
        asked = np.full((len(self.asked), widest), -1, np.int64)
        strides = np.zeros_like(asked)
        answers = np.concatenate([one.answers for one in self.asked])
        starts = np.append(0, np.cumsum([len(one.answers) for one in self.asked]))
        for at, one in enumerate(self.asked):
            asked[at, : len(one.attributes)] = one.attributes
            strides[at, : len(one.shape)] = one.strides
        lanes = np.asarray(self.domain.offsets, np.int64)
        sizes = np.array(self.sizes, np.int64)
        thresholds = np.array([one.threshold for one in self.asked], np.int64)
        drawn = np.cumsum(np.array(self.design.weights, np.int64))
        question, answer = np.empty(len(bits), np.int32), np.empty(len(bits), np.int32)
        rng.by_rows(
            bits,
            lambda start, stop, done, buffer: answer_block(
                bits[:stop], lanes, asked, strides, answers, starts, sizes, thresholds, drawn, start + done, buffer,
                question, answer,
            ),
        )  # fmt: skip
        return Batch({"question": question, "answer": answer})

    def by_attributes(self, itemsets: ItemsetRows) -> Iterable[tuple[Attributes, Any, tuple[Any, ...]]]:
        """Itemsets by the attributes that they are about: these, the rows, and the places of the values.

        Itemsets with two values of one attribute are left out: nobody has them.
        """
        ordered = np.sort(itemsets, axis=1)
        groups = self.domain.groups[ordered]
        sound = np.flatnonzero((np.diff(groups, axis=1) > 0).all(axis=1))
        kinds, which, lengths = np.unique(groups[sound], axis=0, return_inverse=True, return_counts=True)
        parts = np.split(sound[np.argsort(which.ravel(), kind="stable")], np.cumsum(lengths)[:-1])
        for kind, rows in zip(kinds, parts, strict=True):
            values = ordered[rows] - self.domain.offsets[kind]
            yield tuple(kind.tolist()), rows, tuple(values.T)

    def clashes(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        """Itemsets with two values of one attribute, which nobody has."""
        result: npt.NDArray[np.bool_] = (np.diff(np.sort(self.domain.groups[itemsets], axis=1), axis=1) == 0).any(
            axis=1
        )
        return result

    @cached_property
    def questionnaire(self) -> Questionnaire:
        """The questions, by the attributes that they are about."""
        return Questionnaire(self.asked, self.domain)

    @cached_property
    def every(self) -> npt.NDArray[np.bool_]:
        """All questions, for those who ask which count."""
        return np.ones(len(self.asked), bool)

    @cached_property
    def keep(self) -> Floats:
        """kappa of each question."""
        return np.array([one.keep for one in self.asked])

    @cached_property
    def by_chance(self) -> Floats:
        """The probability of each answer to a question beside the true one."""
        return np.array([one.by_chance for one in self.asked])

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        return self.questionnaire.covers(itemsets, self.every) | self.clashes(itemsets)

    def information(self, tellers: Tellers, within: Within, asked: Floats) -> Information:
        """What questions know of itemsets; ``asked`` is the number of people, or their share, for each question."""
        question = tellers.question
        b = self.by_chance[question] * within.n_answers
        known = np.divide(
            asked[question] * self.keep[question] ** 2, b * (1 - b), out=np.zeros(len(b)), where=within.n_answers > 0
        )
        total = tellers.total(known)
        whole = tellers.of_row(total)
        return Information(b, np.divide(known, whole, out=np.zeros(len(b)), where=whole > 0), total)

    def _counting_for(self, itemsets: ItemsetRows) -> tuple[Tellers, Floats, Floats]:
        """The questions of itemsets, the chance b of each, and how many people a report of it counts for, kappa."""
        tellers = self.questionnaire.tellers(itemsets, self.every)
        known = self.information(tellers, self.questionnaire.within(itemsets, tellers), self.shares)
        question = tellers.question
        return tellers, known.by_chance, known.share / (self.shares * self.keep)[question]

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        assert stratum is not None
        tellers, b, counts_for = self._counting_for(itemsets)
        own = tellers.question == stratum
        rows = tellers.row[own]
        weights = np.zeros((len(itemsets), 1 << itemsets.shape[1]))
        weights[rows] = (-b * counts_for)[own, None]
        weights[rows, -1] = ((1 - b) * counts_for)[own]
        return weights

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """Of a record whatever it will be asked: the question is drawn with the coins."""
        tellers, b, counts_for = self._counting_for(itemsets)
        least = np.full(len(itemsets), np.inf)
        for has in (0, 1):
            shown = b + has * self.keep[tellers.question]
            squares = counts_for**2 * (shown * (1 - b) ** 2 + (1 - shown) * b**2)
            least = np.minimum(least, tellers.total(self.shares[tellers.question] * squares) - has)
        return np.where(self.clashes(itemsets), 0.0, least)

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """Where as many people are asked each question as its share says."""
        return influence_of(self, k, self.shares)

    def influence_among(self, k: int, batch: Batch, max_size: int | None = None) -> Influence | None:
        numbers = np.bincount(batch["question"], minlength=len(self.asked))
        return influence_of(self, k, numbers / max(1, len(batch)))

    def implausible(self, batch: Batch, level: float) -> npt.NDArray[np.bool_]:
        from bosket.mechanisms.questions.plausible import not_drawn  # SciPy is imported on first use

        return not_drawn(self, batch, level)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """Over the same itemsets, as :mod:`bosket.evidence.answers` estimates them."""
        return accuracy_of(self, k)

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        asked = [self.asked[stratum] for stratum in strata] or self.asked
        return any(len(one.attributes) >= k for one in asked)
