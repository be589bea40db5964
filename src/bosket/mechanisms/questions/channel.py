"""Questions on the domain of a table, each answered with ratio gamma.

A report of question q shows the true answer with probability kappa + q, any other with q
(:mod:`bosket.mechanisms.questions.table_channels`), so that two records are told apart by a factor of gamma at most,
whatever is asked: the question does not depend on the record, and given the question what is told has the ratio gamma.
Let S be the number of the g answers standing for an itemset A that a report shows: 0 or 1 by randomized response, up to
g by hashing.  If a share f of those who are asked have A,

    E S = b + kappa f,    Var S = b (1 - e) + (1 - 2 e) kappa f - kappa^2 f^2,    b = g q

with e = b for randomized response, where Var S = E S (1 - E S), and e = q for hashing.  There two answers y and y' are
shown together with probability q^2 + q kappa (f_y + f_y'), since the bucket of one of them at least is drawn on its
own; likewise, for the answers that stand for A, for B and for both,

    Cov(S_A, S_B) = g_AB q (1 - q) + (1 - 2 q) kappa f_AB - kappa^2 f_A f_B    by hashing.

As weights of single reports, which cards and bounds are made of, a person asked q with probability pi counts for
a / pi people, a being the share of q in what is known of A: in proportion to pi kappa^2 / (b (1 - e)), the inverse of
the variance where nobody has A.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows, Words
from bosket.data import TableDomain
from bosket.errors import DataError, ParameterError
from bosket.mechanisms.base import Cells, Channel, Floats
from bosket.mechanisms.payload import Batch, Payload
from bosket.mechanisms.questions.answer_reports import Answers
from bosket.mechanisms.questions.asked import Asked as Asked
from bosket.mechanisms.questions.designs import Design
from bosket.mechanisms.questions.foreseen import Attributes as Attributes
from bosket.mechanisms.questions.foreseen import accuracy_of, influence_of
from bosket.mechanisms.questions.hashed_kernels import hashed_block
from bosket.mechanisms.questions.kernels import answer_block
from bosket.mechanisms.questions.table_channels import AUTO, told
from bosket.mechanisms.questions.telling import Questionnaire, Tellers, Within
from bosket.privacy import Accuracy, Influence
from bosket.privacy.product import outward
from bosket.randomness import Randomness

_MOST_CELLS = 1 << 24  # of all questions together


def _asked_one_by_one(design: Design, domain: TableDomain, gamma: float, by: str | Sequence[str]) -> Iterator[Asked]:
    """The questions of a design; refused as soon as they have too many combinations, before the rest are made."""
    places = {name: at for at, name in enumerate(domain.names)}
    words = [by] * len(design.questions) if isinstance(by, str) else by
    n_cells = 0
    for number, (question, word) in enumerate(zip(design.questions, words, strict=True), 1):
        one = Asked(question, domain, places, partial(told, word, gamma))
        n_cells += len(one.answers)
        if n_cells > _MOST_CELLS:
            raise ParameterError(
                f"The 'design' parameter of Ask must have at most {_MOST_CELLS} combinations of values in all its "
                f"questions, got more in the first {number} of {len(design)}.",
                parameter="design",
                value=n_cells,
            )
        yield one


@dataclass(frozen=True, slots=True)
class Information:
    """What questions know of itemsets, in proportion to n kappa^2 / (b (1 - e))."""

    by_chance: Floats
    """b: the answers of the itemset that a report of somebody without it shows, in the mean."""
    beside: Floats
    """e: b by randomized response, the chance of a single answer by hashing."""
    share: Floats
    """a: the share of the question in all that is known of the itemset; 0 where it does not tell."""
    total: Floats
    """By itemset, all that is known."""


class AskChannel(Channel):
    """Questions on the domain of a table."""

    domain: TableDomain
    read_together = True

    def __init__(self, domain: TableDomain, design: Design, gamma: float, by: str | Sequence[str] = AUTO) -> None:
        """``by`` says how questions are answered: one word for all of them, or one for each."""
        self.domain = domain
        self.design = design
        self.asked = tuple(_asked_one_by_one(design, domain, gamma, by))
        weights = design.weights
        self.shares = np.array(weights, float) / sum(weights)
        kinds = {one.told for one in self.asked}
        excess = max(one.excess for one in kinds)
        if min(one.exact_keep for one in kinds) <= 0:
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

    @cached_property
    def n_values(self) -> npt.NDArray[np.int64]:
        """What may be told, question by question: the answers, or the buckets of a hash."""
        return np.array([one.told.n_values for one in self.asked], np.int64)

    @cached_property
    def hashed(self) -> npt.NDArray[np.bool_]:
        """Which questions are answered through a hash function."""
        return np.array([one.told.is_hashed for one in self.asked])

    @property
    def payload(self) -> Payload:
        return Answers(self)

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
        thresholds = np.array([one.told.threshold for one in self.asked], np.int64)
        drawn = np.cumsum(np.array(self.design.weights, np.int64))
        question, answer = np.empty(len(bits), np.int32), np.empty(len(bits), np.int32)
        if not self.hashed.any():
            rng.by_rows(
                bits,
                lambda start, stop, done, buffer: answer_block(
                    bits[:stop], lanes, asked, strides, answers, starts, self.n_values, thresholds, drawn,
                    start + done, buffer, question, answer,
                ),
            )  # fmt: skip
            return Batch({"question": question, "answer": answer})
        seed = np.zeros(len(bits), np.uint64)
        rng.by_rows(
            bits,
            lambda start, stop, done, buffer: hashed_block(
                bits[:stop], lanes, asked, strides, answers, starts, self.n_values, self.hashed, thresholds, drawn,
                start + done, buffer, question, answer, seed,
            ),
        )  # fmt: skip
        return Batch({"question": question, "answer": answer, "seed": seed})

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
        """q of each question: the probability that an answer is shown which is not the true one."""
        return np.array([one.by_chance for one in self.asked])

    def chances(self, tellers: Tellers, within: Within) -> tuple[Floats, Floats]:
        """b and e of itemsets in questions."""
        chance = self.by_chance[tellers.question]
        b = chance * within.n_answers
        return b, np.where(self.hashed[tellers.question], chance, b)

    def most_shown(self, tellers: Tellers, within: Within) -> npt.NDArray[np.int64]:
        """How many of the answers that stand for an itemset one report may show."""
        most: npt.NDArray[np.int64] = np.where(self.hashed[tellers.question], within.n_answers, 1)
        return most

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        return self.questionnaire.covers(itemsets, self.every) | self.clashes(itemsets)

    def information(self, tellers: Tellers, within: Within, asked: Floats) -> Information:
        """What questions know of itemsets; ``asked`` is the number of people, or their share, for each question."""
        question = tellers.question
        b, e = self.chances(tellers, within)
        known = np.divide(
            asked[question] * self.keep[question] ** 2, b * (1 - e), out=np.zeros(len(b)), where=within.n_answers > 0
        )
        total = tellers.total(known)
        whole = tellers.of_row(total)
        return Information(b, e, np.divide(known, whole, out=np.zeros(len(b)), where=whole > 0), total)

    def _counting_for(self, itemsets: ItemsetRows) -> tuple[Tellers, Within, Information, Floats]:
        """The questions of itemsets, and how many people a report of each counts for, over kappa."""
        tellers = self.questionnaire.tellers(itemsets, self.every)
        within = self.questionnaire.within(itemsets, tellers)
        known = self.information(tellers, within, self.shares)
        return tellers, within, known, known.share / (self.shares * self.keep)[tellers.question]

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        """Refused where a report may show several answers that stand for an itemset: then there is no one weight."""
        assert stratum is not None
        tellers, within, known, counts_for = self._counting_for(itemsets)
        own, b = tellers.question == stratum, known.by_chance
        if self.most_shown(tellers, within)[own].max(initial=0) > 1:
            raise DataError(
                "A report of a hashed question may show an itemset several times, and has no weight of its own.",
                hint="bosket.estimate and bosket.mine read such reports question by question.",
            )
        rows = tellers.row[own]
        weights = np.zeros((len(itemsets), 1 << itemsets.shape[1]))
        weights[rows] = (-b * counts_for)[own, None]
        weights[rows, -1] = ((1 - b) * counts_for)[own]
        return weights

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """Of a record whatever it will be asked: the question is drawn with the coins."""
        tellers, _, known, counts_for = self._counting_for(itemsets)
        b, e = known.by_chance, known.beside
        least = np.full(len(itemsets), np.inf)
        for has in (0, 1):
            squares = counts_for**2 * (b * (1 - e) + has * self.keep[tellers.question] * (1 - 2 * e))
            least = np.minimum(least, tellers.total(self.shares[tellers.question] * squares) - has)
        return np.where(self.clashes(itemsets), 0.0, least)

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """Where as many people are asked each question as its share says."""
        return influence_of(self, k, self.shares)

    def influence_among(self, k: int, batch: Batch, max_size: int | None = None) -> Influence | None:
        numbers = np.bincount(batch["question"], minlength=len(self.asked))
        return influence_of(self, k, numbers / max(1, len(batch)))

    def implausible(self, batch: Batch, level: float, repeats: int = 1) -> npt.NDArray[np.bool_]:
        from bosket.mechanisms.questions.plausible import not_drawn  # SciPy is imported on first use

        return not_drawn(self, batch, level, repeats)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """Over the same itemsets, as :mod:`bosket.evidence.answers` estimates them."""
        return accuracy_of(self, k)

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        asked = [self.asked[stratum] for stratum in strata] or self.asked
        return any(len(one.attributes) >= k for one in asked)
