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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows, Words
from bosket.data import TableDomain
from bosket.errors import DataError, ParameterError
from bosket.mechanisms.base import Cells, Channel, Floats
from bosket.mechanisms.columns import Numbers, PayloadColumn
from bosket.mechanisms.payload import Batch, Payload
from bosket.mechanisms.questions.designs import MOST_ANSWERS, Design, Question
from bosket.mechanisms.questions.kernels import answer_block
from bosket.privacy import Influence
from bosket.privacy.product import outward
from bosket.randomness import Randomness
from bosket.randomness.kernels import PRECISION

_ONE = 1 << PRECISION
_MOST_CELLS = 1 << 24  # of all questions together
_MOST_LISTED = 1 << 18  # combinations of values, of all questions, that the worst weight is looked for among

Attributes = tuple[int, ...]
"""Some attributes of a table by their numbers, rising."""


class Asked:
    """A question on a domain: its attributes by number, and the answer of each combination of their values."""

    def __init__(self, question: Question, domain: TableDomain, places: dict[str, int], gamma: float) -> None:
        unknown = [name for name in question.attributes if name not in places]
        if unknown:
            raise ParameterError(
                f"The 'design' parameter of Ask must ask about attributes of the table, got {unknown[0]!r}.",
                parameter="design",
                value=unknown[0],
                hint=f"The attributes are {', '.join(map(repr, domain.names[:12]))}"
                + (", ..." if len(domain.names) > 12 else "."),
            )
        numbers = [places[name] for name in question.attributes]
        shape = tuple(int(domain.sizes[at]) for at in numbers)
        n_cells = math.prod(shape)
        if n_cells > MOST_ANSWERS:
            raise ParameterError(
                f"The 'design' parameter of Ask must have questions of at most {MOST_ANSWERS} combinations of values, "
                f"got {n_cells} of {', '.join(question.attributes)}.",
                parameter="design",
                value=n_cells,
            )
        answers = np.arange(n_cells) if question.merged is None else np.array(question.merged)
        if len(answers) != n_cells:
            raise ParameterError(
                f"The 'design' parameter of Ask must give an answer to each of the {n_cells} combinations of "
                f"{', '.join(question.attributes)}, got {len(answers)}.",
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
                f"about {', '.join(question.attributes)}.",
                parameter="design",
                value=1,
            )
        exact = Fraction(gamma)
        self.threshold = min(math.floor((exact - 1) / (exact + self.n_answers - 1) * _ONE), _ONE - 1)
        self.exact_keep = Fraction(self.threshold, _ONE)
        self.keep = float(self.exact_keep)
        self.by_chance = float((1 - self.exact_keep) / self.n_answers)
        """The probability of each answer beside the true one."""

    @property
    def excess(self) -> Fraction:
        """The realised ratio, less 1."""
        return self.exact_keep * self.n_answers / (1 - self.exact_keep)

    def places(self, attributes: Attributes) -> tuple[int, ...] | None:
        """Where these attributes stand among those of the question; None where it is not about all of them."""
        if not set(attributes) <= set(self.attributes):
            return None
        return tuple(self.attributes.index(at) for at in attributes)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether every combination is an answer of its own."""
        return self.n_answers == len(self.answers) and np.array_equal(self.answers, np.arange(self.n_answers))

    def work(self, attributes: Attributes) -> int:
        """The numbers that a margin without counts is made of."""
        if not self._is_plain:
            return len(self.answers)
        return math.prod(size for at, size in zip(self.attributes, self.shape, strict=True) if at in attributes)

    def margin(self, attributes: Attributes, numbers: npt.NDArray[Any] | None = None) -> Margin | None:
        """What answers say of these attributes; ``numbers`` counts the answers."""
        places = self.places(attributes)
        if places is None:
            return None
        others = tuple(at for at in range(len(self.shape)) if at not in places)
        if self._is_plain:
            size = math.prod(self.shape[at] for at in others)
            if numbers is None:
                shown = np.zeros([self.shape[at] for at in places])
            else:
                shown = np.asarray(numbers, float).reshape(self.shape).sum(axis=others)
            return Margin(shown, np.full(shown.shape, float(size)), np.ones(shown.shape, bool))
        return self._merged_margin(places, numbers)

    def _merged_margin(self, places: tuple[int, ...], numbers: npt.NDArray[Any] | None) -> Margin:
        """A combination of values is told where each answer stands for it wholly or not at all."""
        shape = tuple(self.shape[at] for at in places)
        values = np.indices(self.shape).reshape(len(self.shape), -1)[list(places)]
        cell = np.ravel_multi_index(tuple(values), shape)
        n = math.prod(shape)
        within = np.zeros((n, self.n_answers))
        np.add.at(within, (cell, self.answers), 1)
        whole = np.bincount(self.answers, minlength=self.n_answers)
        is_in = within == whole
        told = (is_in | (within == 0)).all(axis=1)
        counted = np.zeros(self.n_answers) if numbers is None else np.asarray(numbers, float)
        return Margin((is_in @ counted).reshape(shape), is_in.sum(axis=1).reshape(shape), told.reshape(shape))


@dataclass(frozen=True, slots=True)
class Margin:
    """Of each combination of values of some attributes: the answers that stand for it."""

    shown: Floats
    """How many people gave one of them."""
    n_answers: Floats
    """Their number."""
    told: npt.NDArray[np.bool_]
    """Whether they stand for nothing else."""


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
        for attributes, rows, values in self.channel.by_attributes(itemsets):
            for at, stratum in enumerate(self.strata):
                margin = self.channel.asked[stratum].margin(attributes, self.numbers[stratum])
                if margin is not None:
                    found[at, rows] = np.where(margin.told[values], margin.shown[values], 0)
        return found


class AskChannel(Channel):
    """Questions on the domain of a table."""

    domain: TableDomain

    def __init__(self, domain: TableDomain, design: Design, gamma: float) -> None:
        self.domain = domain
        self.design = design
        places = {name: at for at, name in enumerate(domain.names)}
        self.asked = tuple(Asked(one, domain, places, gamma) for one in design.questions)
        n_cells = sum(len(one.answers) for one in self.asked)
        if n_cells > _MOST_CELLS:
            raise ParameterError(
                f"The 'design' parameter of Ask must have at most {_MOST_CELLS} combinations of values in all its "
                f"questions, got {n_cells}.",
                parameter="design",
                value=n_cells,
            )
        weights = design.weights
        self.shares = np.array(weights, float) / sum(weights)
        excess = max(one.excess for one in self.asked)
        if min(one.exact_keep for one in self.asked) <= 0:
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
            strides[at, : len(one.shape)] = [math.prod(one.shape[place + 1 :]) for place in range(len(one.shape))]
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
        kinds, which = np.unique(groups[sound], axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            rows = sound[which.ravel() == number]
            values = ordered[rows] - self.domain.offsets[kind]
            yield tuple(kind.tolist()), rows, tuple(values.T)

    def clashes(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        """Itemsets with two values of one attribute, which nobody has."""
        result: npt.NDArray[np.bool_] = (np.diff(np.sort(self.domain.groups[itemsets], axis=1), axis=1) == 0).any(
            axis=1
        )
        return result

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        covered: npt.NDArray[np.bool_] = self._information(itemsets).any(axis=0) | self.clashes(itemsets)
        return covered

    def _information(self, itemsets: ItemsetRows) -> Floats:
        """pi kappa^2 / (b (1 - b)) of each question for each itemset; 0 where it is not told.  Shape (questions, n)."""
        found = np.zeros((len(self.asked), len(itemsets)))
        for attributes, rows, values in self.by_attributes(itemsets):
            for at, one in enumerate(self.asked):
                margin = one.margin(attributes)
                if margin is not None:
                    b = one.by_chance * margin.n_answers[values]
                    known = self.shares[at] * one.keep**2
                    found[at, rows] = np.divide(known, b * (1 - b), out=np.zeros_like(b), where=margin.told[values])
        return found

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        assert stratum is not None
        one = self.asked[stratum]
        information = self._information(itemsets)
        total = information.sum(axis=0)
        counts_for = np.divide(information[stratum], total, out=np.zeros(len(itemsets)), where=total > 0)
        counts_for /= self.shares[stratum]
        by_chance = np.zeros(len(itemsets))
        for attributes, rows, values in self.by_attributes(itemsets):
            margin = one.margin(attributes)
            if margin is not None:
                by_chance[rows] = one.by_chance * margin.n_answers[values]
        weights = np.repeat((-by_chance / one.keep * counts_for)[:, None], 1 << itemsets.shape[1], axis=1)
        weights[:, -1] = (1 - by_chance) / one.keep * counts_for
        return weights

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """Of a record whatever it will be asked: the question is drawn with the coins."""
        least = np.full(len(itemsets), np.inf)
        for has in (0, 1):
            second = np.zeros(len(itemsets))
            for at, one in enumerate(self.asked):
                weights = self.weights(itemsets, at)
                low, high = weights[:, 0], weights[:, -1]
                counts_for = (high - low) * one.keep
                by_chance = np.divide(-low * one.keep, counts_for, out=np.zeros_like(low), where=counts_for > 0)
                shown = by_chance + has * one.keep
                second += self.shares[at] * (shown * high**2 + (1 - shown) * low**2)
            least = np.minimum(least, second - has)
        return np.where(self.clashes(itemsets), 0.0, least)

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """Over all itemsets that a question tells, by their attributes; None if these are too many."""
        about: dict[Attributes, list[int]] = {}
        for at, one in enumerate(self.asked):
            if math.comb(len(one.attributes), k) > _MOST_LISTED:
                return None
            for attributes in combinations(one.attributes, k):
                about.setdefault(attributes, []).append(at)
        work = sum(self.asked[at].work(one) for one, asked in about.items() for at in asked)
        if work > _MOST_LISTED:
            return None
        found = [weights for attributes, asked in about.items() if (weights := self._worst(attributes, asked))]
        if not found:
            return None
        low, high, width = zip(*found, strict=True)
        return Influence(k, low=min(low), high=max(high), width=max(width))

    def _worst(self, attributes: Attributes, asked: list[int]) -> tuple[float, float, float] | None:
        """The smallest weight, the largest, and the largest difference, for any combination of values that is told."""
        margins = [margin for at in asked if (margin := self.asked[at].margin(attributes)) is not None]
        shares = self.shares[asked].reshape(-1, *[1] * len(attributes))
        keeps = np.array([self.asked[at].keep for at in asked]).reshape(shares.shape)
        chances = np.array([self.asked[at].by_chance for at in asked]).reshape(shares.shape)
        b = chances * np.array([margin.n_answers for margin in margins])
        told = np.array([margin.told for margin in margins])
        information = np.divide(shares * keeps**2, b * (1 - b), out=np.zeros_like(b), where=told)
        total = information.sum(axis=0)
        if not total.any():
            return None
        counts_for = np.divide(information, total, out=np.zeros_like(b), where=total > 0) / shares / keeps
        low, high = -b * counts_for, (1 - b) * counts_for
        return float(low.min()), float(high.max()), float((high.max(axis=0) - low.min(axis=0)).max())

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        asked = [self.asked[stratum] for stratum in strata] or self.asked
        return any(len(one.attributes) >= k for one in asked)
