"""Answers a second, laws fitted to them, and how their time grows with cells, questions and people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from bosket.data import Attribute, Table, TableDomain
from bosket.evidence import FittedEvidence, evidence_of
from bosket.mechanisms import Ask, Design, GammaDiagonal
from bosket.models.loglinear import LogLinear
from bosket.plan import Plan
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.benchmarks.bars import Bar, medians, seconds

N = 2_500_000
CENSUS = (5, 2, 2, 4, 5, 5)
GAMMA = 19.0
ANSWERS = 5e6
"""A second."""
FEW, MANY = 2.0, 30.0
"""Seconds for 2000 cells, and for 65 536 cells and 120 questions."""


def questions() -> list[Bar]:
    """Randomizing, fitting and growth."""
    return [*answering(), *fitting(), *growing()]


def answering() -> list[Bar]:
    """One answer about two of six attributes from each of 2.5 million people, by secure coins."""
    table = people(CENSUS, N)
    plans = {
        "response": Plan(table.domain, Ask(Design.pairs(table.domain), GAMMA, "response")),
        "hashing": Plan(table.domain, Ask(Design.pairs(table.domain), GAMMA, "hashing")),
        "whole record": Plan(table.domain, GammaDiagonal(GAMMA)),
    }
    took = medians({name: partial(plan.randomize, table) for name, plan in plans.items()})
    rate = {name: N / took[name] for name in took}
    return [
        Bar(
            f"answers about two attributes a second by {channel}, of 5 million",
            rate[channel] / ANSWERS,
            1.0,
            True,
            {"answers_per_second": rate[channel], "of_whole_records": rate[channel] / rate["whole record"]},
        )
        for channel in ("response", "hashing")
    ]


def fitting() -> list[Bar]:
    """A law of the best order, fitted to answers about pairs."""
    bars = []
    for shape, n_people, limit in ((CENSUS, 48_842, FEW), ((2,) * 16, 21_000, MANY)):
        reports = one_answer_each(shape, n_people)
        took = seconds(partial(evidence_of, reports, model="log-linear"))
        n_questions = len(list(combinations(shape, 2)))
        name = f"fit {np.prod(shape)} cells to {n_questions} questions, of {limit:g} s"
        bars.append(Bar(name, took / limit, 1.0, False, {"seconds": took, "people": n_people}))
    return bars


def growing() -> list[Bar]:
    """A law of order 2 as one of three numbers grows; steps of scoring depend on the answers, so a step is compared."""
    return [
        _growth("cells (28 questions), over their number", _by_cells(), 1.0),
        _growth("questions (4096 cells), over their number", _by_questions(), 1.0),
        _growth("people (66 questions, 4096 cells), over the root of their number", _by_people(), 0.5),
    ]


def _growth(what: str, cases: Iterator[tuple[int, Reports]], most: float) -> Bar:
    """``most`` is the power of the number by which the time of a step may grow."""
    table: list[dict[str, Any]] = []
    for number, reports in cases:
        evidence = evidence_of(reports, model=LogLinear(2))
        assert isinstance(evidence, FittedEvidence)
        steps = evidence.law(evidence.asked).fit.steps
        took = seconds(partial(evidence_of, reports, model=LogLinear(2)), warm=False)
        table.append({"number": number, "seconds": took, "steps": steps, "a_step": took / steps})
    first, last = table[0], table[-1]
    ratio = (last["a_step"] / first["a_step"]) / (last["number"] / first["number"]) ** most
    return Bar(f"growth of a step of a law with {what}", ratio, 1.0, False, {"table": table})


def _by_cells() -> Iterator[tuple[int, Reports]]:
    for n in (8, 10, 12, 14, 16):
        yield 1 << n, one_answer_each((2,) * n, 100_000, around(n, 28))


def _by_questions() -> Iterator[tuple[int, Reports]]:
    for n_questions in (12, 24, 48, 66):
        yield n_questions, one_answer_each((2,) * 12, 100_000, around(12, n_questions))


def _by_people() -> Iterator[tuple[int, Reports]]:
    for n_people in (10_000, 100_000, 1_000_000):
        yield n_people, one_answer_each((2,) * 12, n_people)


def around(n: int, n_questions: int) -> list[tuple[int, int]]:
    """Pairs of n attributes in a circle, the nearest first: every attribute is asked about."""
    every = sorted(combinations(range(n), 2), key=lambda pair: min(pair[1] - pair[0], n - pair[1] + pair[0]))
    return every[:n_questions]


def people(shape: Sequence[int], n: int) -> Table:
    """Records that mostly have the first values, with a common cause of the odd attributes."""
    domain = TableDomain([Attribute(f"a{j}", range(size)) for j, size in enumerate(shape)])
    generator = np.random.default_rng(5)
    cause = generator.random(n) < 0.3
    codes = [
        np.minimum(generator.geometric(np.where(cause & (j % 2 == 1), 0.35, 0.6)) - 1, size - 1)
        for j, size in enumerate(shape)
    ]
    return Table.from_codes(np.stack(codes, axis=1), domain)


def one_answer_each(shape: Sequence[int], n: int, pairs: Sequence[tuple[int, int]] | None = None) -> Reports:
    """Of n such people to one of these pairs of attributes, or of all pairs."""
    table = people(shape, n)
    names = table.domain.names
    design = Design.pairs(table.domain) if pairs is None else Design([[names[a], names[b]] for a, b in pairs])
    return Plan(table.domain, Ask(design, GAMMA)).randomize(table, rng=Seeded(7))
