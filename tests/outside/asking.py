"""Mechanisms with payloads of their own, outside the package: what somebody else would write.

AskItems   each person is asked about the presence of the items of one question, chosen at random: one item, or two.
           The report is (question, answer), the answer a pattern of the items through randomized response over all
           patterns (Warner 1965 for one item).  A stratum is a question.
HashValue  each person hashes their one value by a function chosen at random and tells the hash by randomized response
           (local hashing, Bassily and Smith 2015; Wang et al. 2017).  The report is (seed, value), of one stratum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import bosket as bk
from bosket import strict_json
from bosket.checks import check_between
from bosket.counting.base import Counts, ItemsetRows, Words
from bosket.data.domain import label_to_json, labels_from_json
from bosket.mechanisms import Batch, Channel, Numbers, Payload
from bosket.mechanisms.base import Cells, Floats, Records, as_domain
from bosket.mechanisms.columns import PayloadColumn
from bosket.mechanisms.parameters import Kind, Probability, Whole, parameter
from bosket.privacy import Accuracy, Amplification, Influence, LocalGuarantee
from bosket.randomness import Randomness

ONE = 1 << 53


def bit(records: Words, items: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Whether each record has the item at its place."""
    words = records[np.arange(len(records)), items // 64]
    return (words >> (items % 64).astype(np.uint64) & np.uint64(1)).astype(np.int64)


def responded(truth: npt.NDArray[np.int64], n: int, keep: float, rng: Randomness) -> npt.NDArray[np.int64]:
    """Randomized response over n answers: the truth with probability ``keep``, else any other, all alike."""
    other = rng.choose(np.array([round(keep * ONE), ONE], np.uint64), len(truth))
    return (truth + other * (1 + rng.integers(n - 1, len(truth)))) % n


def promised(mechanism: bk.Mechanism, keep: float, n: int, reports: int) -> LocalGuarantee:
    record = Amplification(math.log(keep * (n - 1) / (1 - keep)), "any two records")
    person = record.repeated(reports, "a person")
    return LocalGuarantee(mechanism=str(mechanism), item=record, record=record, person=person, reports=reports)


# -- questions about items ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers(Payload):
    """(question, answer); ``asked`` has the items of every question, a row each."""

    asked: tuple[tuple[int, ...], ...]

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        answers = (1 << len(self.asked[0])) - 1
        return (
            Numbers("question", len(self.asked) - 1, "one of the questions as its question"),
            Numbers("answer", answers, "one of the answers as its answer", "uint8"),
        )

    def strata(self, batch: Batch) -> npt.NDArray[np.integer[Any]] | None:
        return batch["question"]

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> AnswerCounter:
        numbers = np.zeros((len(self.asked), 1 << len(self.asked[0])), np.int64)
        np.add.at(numbers, (batch["question"], batch["answer"]), 1)
        return AnswerCounter(self.asked, numbers)


class AnswerCounter:
    """Numbers of reports by question and answer; an itemset that a question does not cover is in none of its."""

    def __init__(self, asked: tuple[tuple[int, ...], ...], numbers: npt.NDArray[np.int64]) -> None:
        self.strata = tuple(np.flatnonzero(numbers.sum(axis=1)).tolist()) or (0,)
        self.n_records = int(numbers.sum())
        self._asked, self._numbers = asked, numbers

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        found = np.zeros((len(self.strata), len(itemsets)), np.int64)
        for row, question in enumerate(self.strata):
            asked = self._asked[question]
            for at, itemset in enumerate(itemsets.tolist()):
                if set(itemset) <= set(asked):
                    mask = sum(1 << asked.index(item) for item in itemset)
                    shown = [answer for answer in range(1 << len(asked)) if answer & mask == mask]
                    found[row, at] = self._numbers[question, shown].sum()
        return found


class AskChannel(Channel):
    """With b the chance that an answer shows A where it is not, and kappa + b where it is, w_A = (shown - b) / kappa.

    It counts for all people: times the number of questions over that of those which cover A, and 0 under any other.
    """

    def __init__(self, domain: bk.Domain, asked: tuple[tuple[int, ...], ...], keep: float) -> None:
        self.domain = domain
        self.asked = asked
        self.size = len(asked[0])
        self.n_answers = 1 << self.size
        self.keep = round(keep * ONE) / ONE
        self.kappa = self.keep - (1 - self.keep) / (self.n_answers - 1)

    @property
    def payload(self) -> Payload:
        return Answers(self.asked)

    def randomize(self, bits: Words, rng: Randomness) -> Batch:
        question = rng.integers(len(self.asked), len(bits))
        asked = np.array(self.asked, np.int64)[question]
        truth = np.zeros(len(bits), np.int64)
        for place in range(self.size):
            truth |= bit(bits, asked[:, place]) << place
        return Batch({"question": question, "answer": responded(truth, self.n_answers, self.keep, rng)})

    def _by_chance(self, k: int) -> float:
        return (1 - self.keep) / (self.n_answers - 1) * (1 << (self.size - k))

    def _factors(self, itemsets: ItemsetRows) -> Floats:
        """The number of questions over that of those which cover each itemset; 0 where none does."""
        covering = sum(np.isin(itemsets, asked).all(axis=1).astype(float) for asked in self.asked)
        return np.divide(len(self.asked), covering, out=np.zeros(len(itemsets)), where=np.asarray(covering) > 0)

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        return self._factors(itemsets) > 0

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        assert stratum is not None
        n, k = itemsets.shape
        weights = np.zeros((n, 1 << k))
        covered = np.isin(itemsets, self.asked[stratum]).all(axis=1)
        if k <= self.size:
            b, factors = self._by_chance(k), self._factors(itemsets)[covered]
            weights[covered] = (-b / self.kappa * factors)[:, None]
            weights[covered, -1] = (1 - b) / self.kappa * factors
        return weights

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        """Of a record whatever it will be asked: the question is drawn with the coins."""
        if itemsets.shape[1] > self.size:
            return np.zeros(len(itemsets))
        least: Floats = np.minimum(*self._variances(itemsets))
        return least

    def _variances(self, itemsets: ItemsetRows) -> tuple[Floats, Floats]:
        """Of a record that lacks each itemset, and of one that has it."""
        b, factors = self._by_chance(itemsets.shape[1]), self._factors(itemsets)
        second = [factors / self.kappa**2 * (p * (1 - b) ** 2 + (1 - p) * b**2) for p in (b, b + self.kappa)]
        return second[0], second[1] - 1

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        groups = np.arange(len(self.domain)) if self.domain.groups is None else self.domain.groups
        every = {part for asked in self.asked for part in combinations(asked, k)}
        held = sorted(part for part in every if len(set(groups[list(part)].tolist())) == k)
        if not held:
            return None
        lacking, full = self._variances(np.array(held, np.int32))
        both = np.concatenate([lacking, full])
        return Accuracy(k, least=float(both.min()), most=float(both.max()), full=float(full.min()))

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        if k > self.size:
            return None
        rows = np.array(sorted({part for asked in self.asked for part in combinations(asked, k)}), np.int32)
        b, factor = self._by_chance(k), float(self._factors(rows).max())
        low, high = -b / self.kappa * factor, (1 - b) / self.kappa * factor
        return Influence(k, low=low, high=high, width=high - low)

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        return k <= self.size


class Questions(Kind):
    """A kind of one's own: questions, each a few items by their labels."""

    takes_json = True

    @property
    def noun(self) -> str:
        return "file, written @FILE"

    @property
    def must(self) -> str:
        return "a list of questions, each a list of different items, all of them equally long"

    def check(self, name: str, value: Any, *, of: str | None = None) -> tuple[tuple[Hashable, ...], ...]:
        asked = tuple(map(tuple, value))
        if not asked or any(len(set(one)) != len(asked[0]) or len(one) != len(asked[0]) for one in asked):
            fault = f"The '{name}' parameter of {of} must be {self.must}."
            raise bk.ParameterError(fault, parameter=name, value=value)
        return asked

    def to_json(self, value: Any) -> Any:
        return [list(map(label_to_json, asked)) for asked in value]

    def from_json(self, value: Any, name: str, *, of: str) -> Any:
        asked = strict_json.sequence(value, name, of=of)
        return [labels_from_json(strict_json.sequence(one, name, of=of)) for one in asked]

    def parse(self, text: str) -> Any:
        raise ValueError(text)

    def short(self, value: Any) -> str:
        return f"{len(value)} of {len(value[0])} items"


@dataclass(frozen=True, slots=True)
class AskItems(bk.Mechanism):
    """One question to each person: which of ``size`` items do you have?"""

    name = "ask_items"

    size: int = field(metadata=parameter(Whole(least=1, most=2), "how many items a question is about"))
    keep: float = field(metadata=parameter(Probability(), "probability that an answer is true"))
    questions: tuple[tuple[Hashable, ...], ...] | None = field(
        default=None, metadata=parameter(Questions(), "what people are asked, one of these each; all there can be")
    )

    def check_together(self) -> None:
        check_between("keep", self.keep, 0.5**self.size, 1, of="AskItems")
        if self.questions is not None and len(self.questions[0]) != self.size:
            fault = f"The 'questions' parameter of AskItems must be of {self.size} items each."
            raise bk.ParameterError(fault, parameter="questions", value=len(self.questions[0]))

    def channel(self, domain: bk.Domain) -> AskChannel:
        every = tuple(combinations(range(len(domain)), self.size))
        asked = every if self.questions is None else tuple(map(domain.itemset, self.questions))
        return AskChannel(domain, asked, self.keep)

    def guarantee(
        self, domain: bk.Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        channel = self.channel(as_domain(domain))
        return promised(self, channel.keep, channel.n_answers, reports)


# -- hashed values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hashes(Payload):
    """(seed, value): the seed names a function from values to {0, 1}, bit i being that of value i."""

    n_values: int

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        return (
            Numbers("seed", (1 << self.n_values) - 1, "a hash function as its seed", "uint64"),
            Numbers("value", 1, "a hash as its value", "uint8"),
        )

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> HashCounter:
        return HashCounter(batch)


class HashCounter:
    """A report shows every value whose hash is the one it tells."""

    strata = (0,)

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.n_records = len(batch)

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        found = np.zeros((1, len(itemsets)), np.int64)
        for at, itemset in enumerate(itemsets.tolist()):
            shown = np.ones(self.n_records, bool)
            for item in itemset:
                shown &= self._batch["seed"] >> np.uint64(item) & np.uint64(1) == self._batch["value"]
            found[0, at] = shown.sum()
        return found


class HashChannel(Channel):
    """A value of one's own is shown with ``keep``, any other with 1/2: w = (shown - 1/2) / (keep - 1/2)."""

    items_apart = True

    def __init__(self, domain: bk.Domain, keep: float) -> None:
        self.domain = domain
        self.keep = round(keep * ONE) / ONE

    @property
    def payload(self) -> Payload:
        return Hashes(len(self.domain))

    def randomize(self, bits: Words, rng: Randomness) -> Batch:
        seed = rng.integers(1 << len(self.domain), len(bits))
        held = np.log2(bits[:, 0].astype(float)).astype(np.int64)
        return Batch({"seed": seed.astype(np.uint64), "value": responded(seed >> held & 1, 2, self.keep, rng)})

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        return np.full(len(itemsets), itemsets.shape[1] == 1)

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        assert itemsets.shape[1] == 1
        return np.tile(np.array([-0.5, 0.5]) / (self.keep - 0.5), (len(itemsets), 1))

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        return np.full(len(itemsets), (0.5 / (self.keep - 0.5)) ** 2 - 1)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        lacking = (0.5 / (self.keep - 0.5)) ** 2
        return Accuracy(k, least=lacking - 1, most=lacking, full=lacking - 1) if k == 1 else None

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        return k == 1


@dataclass(frozen=True, slots=True)
class HashValue(bk.Mechanism):
    """The hash of one's value, by randomized response."""

    name = "hash_value"
    needs_table: ClassVar[bool] = True

    keep: float = field(metadata=parameter(Probability(), "probability that the hash told is the true one"))

    def check_together(self) -> None:
        check_between("keep", self.keep, 0.5, 1, of="HashValue")

    def channel(self, domain: bk.Domain) -> HashChannel:
        if not isinstance(domain, bk.TableDomain) or len(domain.attributes) != 1 or len(domain) > 62:
            fault = "The 'domain' parameter of HashValue must be that of a table with one attribute, of 62 values."
            raise bk.ParameterError(fault, parameter="domain", value=len(domain))
        return HashChannel(domain, self.keep)

    def guarantee(
        self, domain: bk.Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        return promised(self, self.channel(as_domain(domain)).keep, 2, reports)


def all_reports(channel: Channel, record: set[int]) -> Iterator[tuple[float, tuple[int, int]]]:
    """Every report that a record can give, with its probability, from the definition."""
    if isinstance(channel, AskChannel):
        for question, asked in enumerate(channel.asked):
            truth = sum((item in record) << place for place, item in enumerate(asked))
            for answer in range(channel.n_answers):
                chance = channel.keep if answer == truth else (1 - channel.keep) / (channel.n_answers - 1)
                yield chance / len(channel.asked), (question, answer)
    else:
        assert isinstance(channel, HashChannel)
        (held,) = record
        for seed, value in product(range(1 << len(channel.domain)), range(2)):
            chance = channel.keep if value == seed >> held & 1 else 1 - channel.keep
            yield chance / (1 << len(channel.domain)), (seed, value)
