"""What the contract tests run over: every mechanism on a small domain, with the law of its reports from the definition.

A case is a mechanism on a domain of few items.  Records and what reports show are patterns of all its items: bit j is
item j.  A new mechanism adds a case; a registered mechanism without one fails the first test.  Where its channel is no
``RecordChannel``, it adds the law of a report to ``LAWS`` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

import bosket as bk
from bosket.counting.base import ItemsetRows
from bosket.counting.table import count_subsets
from bosket.evidence.sums import cells_of
from bosket.mechanisms import Channel, RecordChannel
from bosket.mechanisms.cut import StatingChannel
from bosket.mechanisms.mixing import MixingChannel
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel as QuestionChannel
from bosket.mechanisms.questions.hash_kernels import siphash
from bosket.mechanisms.questions.responses import LocalHashing, SubsetSelection
from bosket.statistics.estimates import Floats
from tests.outside.asking import AskChannel, AskItems, HashChannel, HashValue, all_reports
from tests.outside.thin import Thin

Law = dict[tuple[int, int], float]
"""Probabilities of (stratum, pattern shown)."""
Population = Mapping[int, float]
"""Shares of people by their record."""


@dataclass(frozen=True)
class Case:
    """A mechanism on a domain, for records of at most three items unless a ``unit`` says otherwise."""

    mechanism: bk.Mechanism
    domain: bk.Domain
    unit: bk.PrivacyUnit | None = None

    def __str__(self) -> str:
        cut = "" if self.unit is None else f" cut to {self.unit.max_size}, {self.unit.size_epsilon}"
        return f"{self.mechanism}, {'table' if self.is_table else 'baskets'}{cut}"

    @property
    def is_table(self) -> bool:
        return self.domain.groups is not None

    @cached_property
    def plan(self) -> bk.Plan:
        unit = bk.PrivacyUnit(max_size=None if self.is_table else 3) if self.unit is None else self.unit
        return bk.Plan(self.domain, self.mechanism, unit)

    @property
    def channel(self) -> Channel:
        return self.plan.channel

    @cached_property
    def possible(self) -> list[int]:
        """All records of the domain."""
        if isinstance(self.domain, bk.TableDomain):
            table = bk.Table.from_cells(np.arange(self.domain.n_cells), self.domain)
            return [int(word) for word in table.to_bits()[:, 0]]
        return list(range(1 << len(self.domain)))

    @cached_property
    def taken(self) -> list[int]:
        """The records that the mechanism takes."""
        sizes = self.channel.record_sizes
        return [record for record in self.possible if sizes is None or record.bit_count() in sizes]

    @property
    def population(self) -> Population:
        """People with several records, in eighths; items depend on each other."""
        one, other, third = (self.taken[at] for at in (-1, 0, len(self.taken) // 2))
        return {one: 0.5, other: 0.25, third: 0.25}

    def records(self, population: Population, n: int) -> bk.Baskets | bk.Table:
        """``n`` records in these shares; n is a multiple of four."""
        held = [record for record, share in population.items() for _ in range(round(4 * share))]
        if isinstance(self.domain, bk.TableDomain):
            cells = np.array([self.possible.index(record) for record in held])
            return bk.Table.from_cells(np.resize(cells, n), self.domain)
        labels: list[list[Hashable]] = [
            [label for place, label in enumerate(self.domain.labels) if record >> place & 1] for record in held
        ]
        return bk.Baskets(labels, items=self.domain.labels).repeat(n // 4)

    def reports(self, n: int = 2000, seed: int = 1) -> bk.Reports:
        return self.plan.randomize(self.records(self.population, n), rng=bk.Seeded(seed))

    @cached_property
    def itemsets(self) -> list[ItemsetRows]:
        """Of one item, two and three, those that can be estimated; a row each."""
        result = []
        for size in (1, 2, 3):
            rows = np.array(list(combinations(range(len(self.domain)), size)), np.int32)
            strata = {stratum for record in self.taken for stratum, _ in self.law(record, self.population)}
            covered = self.channel.covers(rows)
            rows = rows if covered is None else rows[covered]
            if self.channel.recovers(size, strata) and len(rows):
                result.append(rows)
        return result

    def law(self, record: int, population: Population) -> Law:
        """What the report of a person with this record shows, among people in these shares."""
        for known in type(self.channel).__mro__:
            if known in LAWS:
                return LAWS[known](self.channel, record, population)
        raise AssertionError(
            f"{type(self.channel).__name__} is no RecordChannel, so that nothing states the law of its reports: write "
            "it from the definition, and enter it in LAWS of tests/contracts/cases.py."
        )

    def shown(self, reports: bk.Reports | bk.Tally) -> dict[tuple[int, int], int]:
        """Numbers of reports by stratum and pattern shown; of hashed answers report by report, not from a counter."""
        if isinstance(self.channel, QuestionChannel) and self.channel.hashed.any():
            return _shown_by_hashes(self.channel, reports)
        counter = reports.counter()
        every = np.arange(len(self.domain), dtype=np.int32)[None, :]
        cells = cells_of(count_subsets(counter, every))[:, 0]
        return {
            (stratum, shown): int(cells[at, shown])
            for at, stratum in enumerate(counter.strata)
            for shown in np.flatnonzero(cells[at]).tolist()
        }


def together(laws: Sequence[tuple[float, Law]]) -> Law:
    """A mixture of laws, each with its share."""
    result: Law = {}
    for share, law in laws:
        for outcome, chance in law.items():
            result[outcome] = result.get(outcome, 0.0) + share * chance
    return result


def members(record: int) -> set[int]:
    """The items of a pattern."""
    return {item for item in range(record.bit_length()) if record >> item & 1}


def restricted(pattern: int, itemset: Sequence[int]) -> int:
    """What a pattern of all items shows of a few."""
    return sum((pattern >> item & 1) << place for place, item in enumerate(itemset))


def cells_shown(law: Law, itemset: Sequence[int]) -> dict[int, Floats]:
    """By stratum, the probabilities of the patterns of a few items."""
    result: dict[int, Floats] = {}
    for (stratum, shown), chance in law.items():
        result.setdefault(stratum, np.zeros(1 << len(itemset)))[restricted(shown, itemset)] += chance
    return result


def _by_transition(channel: RecordChannel, record: int, population: Population) -> Law:
    """A channel of records says what a report shows of any items, so of all."""
    stratum = channel.stratum_of(record.bit_count())
    row = channel.transition(tuple(range(len(channel.domain))), stratum)[record]
    return {(stratum, shown): float(chance) for shown, chance in enumerate(row) if chance > 0}


def _cut(channel: StatingChannel, record: int, population: Population) -> Law:
    """Every choice of the items that stay, every size that may be stated, every report of the record as cut."""
    stated, size, n = channel.stated, record.bit_count(), len(channel.domain)
    limit, longest, epsilon = stated.limit, stated.longest, stated.epsilon
    items = [item for item in range(n) if record >> item & 1]
    choices = [sum(1 << item for item in kept) for kept in combinations(items, min(size, limit))]
    others = 0.0 if epsilon is None else 1 / (math.exp(epsilon) + longest - limit)
    sizes = dict.fromkeys(range(limit, longest + 1), others)
    sizes[max(size, limit)] = 1 - (longest - limit) * others
    if channel.sends_sizes and size < limit:
        sizes = {size: 1.0}
    result: Law = {}
    for kept, (s, chance) in product(choices, sizes.items()):
        row = channel.inner.transition(tuple(range(n)), channel.inner.stratum_of(kept.bit_count()))[kept]
        for shown in np.flatnonzero(row * chance).tolist():
            result[s, shown] = result.get((s, shown), 0.0) + chance * float(row[shown]) / len(choices)
    return result


def _mixed(channel: MixingChannel, record: int, population: Population) -> Law:
    """The record united with others drawn from all people, and each item of it kept by a coin."""
    parts = []
    for others in product(population, repeat=channel.united - 1):
        union = record
        for other in others:
            union |= other
        share = float(np.prod([population[other] for other in others]))
        kept: Law = {}
        for shown in range(union + 1):
            if shown & ~union == 0:
                n_kept = shown.bit_count()
                kept[0, shown] = channel.keep**n_kept * (1 - channel.keep) ** (union.bit_count() - n_kept)
        parts.append((share, kept))
    return together(parts)


def _answered(channel: QuestionChannel, record: int, population: Population) -> Law:
    return _hashed(channel, record) if channel.hashed.any() else _asked(channel, record)


def _asked(channel: QuestionChannel, record: int) -> Law:
    """A question drawn by its share; the answer shows values of its attributes, the true ones gamma times as often."""
    domain, weights = channel.domain, channel.design.weights
    result: Law = {}
    for at, question in enumerate(channel.design.questions):
        attributes = [domain.names.index(name) for name in question.attributes]
        choices = [range(int(domain.offsets[one]), int(domain.offsets[one + 1])) for one in attributes]
        answers = [sum(1 << item for item in answer) for answer in product(*choices)]
        least = 1 / (channel.gamma + len(answers) - 1)
        for answer in answers:
            is_true = answer & record == answer
            result[at, answer] = weights[at] / sum(weights) * (channel.gamma * least if is_true else least)
    return result


def _hashed(channel: QuestionChannel, record: int) -> Law:
    """Of one attribute each; under every function, alike, the bucket of the true value is gamma times as likely."""
    domain, weights = channel.domain, channel.design.weights
    result: Law = {}
    for at, question in enumerate(channel.design.questions):
        (one,) = (domain.names.index(name) for name in question.attributes)
        items = range(int(domain.offsets[one]), int(domain.offsets[one + 1]))
        g = int(channel.n_values[at])
        least = 1 / (channel.gamma + g - 1)
        for function in product(range(g), repeat=len(items)):
            own = next(bucket for item, bucket in zip(items, function, strict=True) if record >> item & 1)
            for value in range(g):
                shown = sum((bucket == value) << item for item, bucket in zip(items, function, strict=True))
                chance = (channel.gamma if value == own else 1) * least / g ** len(items)
                result[at, shown] = result.get((at, shown), 0.0) + weights[at] / sum(weights) * chance
    return result


def _shown_by_hashes(channel: QuestionChannel, reports: bk.Reports | bk.Tally) -> dict[tuple[int, int], int]:
    """By the bucket of every item under the seed of each report."""
    batch, domain = reports.batch, channel.domain
    times = reports.counts if isinstance(reports, bk.Tally) else np.ones(len(batch), np.int64)
    result: dict[tuple[int, int], int] = {}
    for at, question in enumerate(channel.design.questions):
        (one,) = (domain.names.index(name) for name in question.attributes)
        first, size = int(domain.offsets[one]), int(domain.sizes[one])
        rows = np.flatnonzero(batch["question"] == at)
        words = np.array([siphash(seed, 0) for seed in batch["seed"][rows]], np.uint64)
        patterns = np.zeros(len(rows), np.int64)
        for place in range(size):
            bucket = words >> np.uint64(16 * place) & np.uint64(channel.n_values[at] - 1)
            patterns |= (bucket == batch["answer"][rows].astype(np.uint64)).astype(np.int64) << (first + place)
        for pattern in np.unique(patterns).tolist():
            result[at, pattern] = int(times[rows][patterns == pattern].sum())
    return result


def _of_baskets(channel: BasketChannel, record: int, population: Population) -> Law:
    """Under every function from items to buckets, alike: own buckets e^epsilon times as likely as any other if many.

    Without hashing, values are items and as many dummies as there may be items, of which a record has the rest.
    """
    told, n = channel.response, len(channel.domain)
    held = [item for item in range(n) if record >> item & 1]
    assert len(held) <= told.length, "the law of records that are cut is another"
    gamma, g = math.exp(told.epsilon), told.n_values
    padded = {*held, *range(n, n + told.length - len(held))}
    result: Law = {}
    if isinstance(told, SubsetSelection):
        weights = {chosen: gamma if padded & {*chosen} else 1.0 for chosen in combinations(range(g), told.chosen)}
        for chosen, weight in weights.items():
            shown = sum(1 << item for item in chosen if item < n)
            result[0, shown] = result.get((0, shown), 0.0) + weight / sum(weights.values())
        return result
    is_hashed = isinstance(told, LocalHashing)
    p = gamma / (gamma * told.length + g - told.length)
    functions: Iterable[Sequence[int]] = product(range(g), repeat=n) if is_hashed else [range(g)]
    for function in functions:
        own = {function[item] for item in held} if is_hashed else padded
        for value in range(g):
            chance = p if value in own else (1 - len(own) * p) / (g - len(own))
            shown = sum((function[item] == value) << item for item in range(n))
            result[0, shown] = result.get((0, shown), 0.0) + chance / (g**n if is_hashed else 1)
    return result


def _of_items(channel: AskChannel, record: int, population: Population) -> Law:
    """An answer shows those items of its question that it says are there."""
    result: Law = {}
    for chance, (question, answer) in all_reports(channel, members(record)):
        shown = sum((answer >> place & 1) << item for place, item in enumerate(channel.asked[question]))
        result[question, shown] = result.get((question, shown), 0.0) + chance
    return result


def _of_hashes(channel: HashChannel, record: int, population: Population) -> Law:
    """A hash shows all values that have it."""
    result: Law = {}
    for chance, (seed, value) in all_reports(channel, members(record)):
        shown = sum((seed >> item & 1 == value) << item for item in range(len(channel.domain)))
        result[0, shown] = result.get((0, shown), 0.0) + chance
    return result


LAWS: dict[type, Callable[[Any, int, Population], Law]] = {
    RecordChannel: _by_transition,
    StatingChannel: _cut,
    MixingChannel: _mixed,
    QuestionChannel: _answered,
    BasketChannel: _of_baskets,
    AskChannel: _of_items,
    HashChannel: _of_hashes,
}
"""What the report of a record shows, by the class of the channel or the nearest above it; from the definition."""


ITEMS = bk.Domain(["a", "b", "c"])
NESTED = bk.Domain(["a", "b", ("c", 3)])
TABLE = bk.TableDomain([bk.Attribute("a", ["1", "2"]), bk.Attribute("b", ["x", "y", "z"])])
WIDE = bk.TableDomain([bk.Attribute(name, list(values)) for name, values in (("a", "12"), ("b", "xyz"), ("c", "no"))])
VALUES = bk.TableDomain([bk.Attribute("v", ["x", "y", "z"])])
KEPT = {0: [1.0], 1: [0.25, 0.75], 2: [0.5, 0.25, 0.25], 3: [0.125, 0.25, 0.5, 0.125]}
BY_SIZE = {0: 0.4, 1: 0.1, 2: 0.2, 3: 0.3}
FOUR = bk.Domain(["a", "b", "c", "d"])
CLEAR = bk.PrivacyUnit(max_size=2, longer="sample", state_sizes_to=4)
NOISY = bk.PrivacyUnit(max_size=2, longer="sample", state_sizes_to=4, size_epsilon=3.0)
CASES = [
    Case(bk.Flip(keep=0.9), ITEMS),
    Case(bk.Flip(keep=0.5, keep_absent=0.95), ITEMS),
    Case(bk.Flip(keep={"a": 0.7, ("c", 3): 0.6}, default=0.85, keep_absent={"b": 0.99}), NESTED),
    Case(bk.Flip(keep=0.9), TABLE),
    Case(bk.SelectASize(kept=KEPT, insert=BY_SIZE), ITEMS),
    Case(bk.SelectASize(KEPT, 0.2), ITEMS),
    Case(bk.SelectASize({2: [0.25, 0.25, 0.5]}, 0.2), TABLE),
    Case(bk.CutAndPaste(cutoff=7, insert=0.35), ITEMS),
    Case(bk.CutAndPaste(cutoff={0: 3, 1: 3, 2: 4, 3: 5}, insert=BY_SIZE), ITEMS),
    Case(bk.CutAndPaste(cutoff=2, insert=0.2), TABLE),
    Case(bk.Replace(probability=0.3), ITEMS),
    Case(bk.Replace(probability=0.3), TABLE),
    Case(bk.Mixing(others=2, keep=0.6), ITEMS),
    Case(bk.Mixing(others=1, keep=0.8), TABLE),
    Case(bk.GammaDiagonal(gamma=5), TABLE),
    Case(bk.GammaDiagonal(gamma=19, spread=0.2), TABLE),
    Case(bk.Ask(bk.Design([["a"], ["b"], ["b", "a"]], [1, 2, 3]), gamma=5), TABLE),
    Case(bk.Ask(bk.Design.pairs(WIDE), gamma=19), WIDE),
    Case(bk.Ask(bk.Design([["a"], ["b"]], [1, 2]), 6, "hashing"), TABLE),
    Case(bk.AskBaskets(epsilon=2.5, length=3, size=4), ITEMS),
    Case(bk.AskBaskets(epsilon=2.0, length=3, by="response"), NESTED),
    Case(bk.AskBaskets(epsilon=2.0, length=3, by="subset", size=2), ITEMS),
    Case(bk.Flip(keep={"a": 0.7, "d": 0.75}, default=0.85, keep_absent={"b": 0.99}), FOUR, CLEAR),
    Case(bk.Flip(keep=0.8), FOUR, NOISY),
    Case(bk.CutAndPaste(cutoff=3, insert=0.2), FOUR, CLEAR),
    Case(bk.CutAndPaste(cutoff=7, insert=0.35), FOUR, NOISY),
    Case(bk.SelectASize(KEPT, 0.2), FOUR, NOISY),
    Case(bk.Replace(probability=0.3), FOUR, CLEAR),
    Case(bk.Replace(probability=0.3), FOUR, NOISY),
    Case(Thin(keep=0.8, coins=2), ITEMS),  # this and what follows is from outside the package
    Case(Thin(keep={"a": 0.5, "b": 0.75, ("c", 3): 0.9}), NESTED),
    Case(AskItems(size=1, keep=0.8), ITEMS),
    Case(AskItems(size=2, keep=0.7), TABLE),
    Case(AskItems(size=2, keep=0.7, questions=(("a", "b"), ("b", "c"))), ITEMS),
    Case(HashValue(keep=0.8), VALUES),
]
