"""Questions: what one answer a person tells of a table, at the same protection of the whole record.

Every way gives each person one report of ratio gamma.  A way is measured by the mean relative error of the estimates of
all truly frequent itemsets, found or not, and by F, the harmonic mean of precision and recall of the itemsets found; a
fitted law also by how often its 95% intervals hold the truth.  As in FRAPP an itemset is extended only if it is found
frequent.  The figures beside ours are those of an independent prototype at gamma 19.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bosket._version import __version__
from bosket.data import Table
from bosket.errors import BosketWarning, DataError
from bosket.evidence import Evidence, FittedEvidence, evidence_of, pool
from bosket.mechanisms import Ask, Design, GammaDiagonal
from bosket.mining import Search, estimate, mine, mine_evidence
from bosket.plan import Plan
from bosket.planning import gamma_from
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.reproduce.frapp_data import census, survey

MIN_SUPPORT = 0.02
GAMMAS = (19.0, gamma_from(0.05, 0.3))
"""A property of prior 5% stays below 50%, below 30%."""
REPETITIONS = 10
FIRST = 0.15
"""The share of people who answer in the first of two phases."""
LEVEL = 0.95
TABLES: dict[str, Callable[[str | Path | None], Table]] = {"CENSUS": census, "HEALTH": survey}
WHAT = {
    "CENSUS": "Adult, the attributes and bins of FRAPP's Table 1",
    "HEALTH": "BRFSS 2015: HighBP, GenHlth, Sex, BMI cut at 25 and 30, Age, Education and Income in five groups each; "
    "other attributes than those of 'reproduce frapp'",
}

WAYS = {
    "whole": "whole record, inverted (FRAPP)",
    "whole-law": "the same reports, law",
    "pairs": "one pair each, unbiased, where told",
    "pairs-law": "one pair each, law",
    "triples-law": "one triple each, law",
    "phases-law": "two phases, law",
}
PROTOTYPE = {
    "CENSUS": {
        "whole": (1.13, 0.54), "whole-law": (0.31, 0.83), "pairs-law": (0.109, 0.93), "triples-law": (0.076, 0.954),
        "phases-law": (0.058, 0.964), "goal": (0.05, 0.97),
    },
    "HEALTH": {
        "whole": (2.58, 0.35), "whole-law": (0.48, 0.59), "pairs-law": (0.059, 0.95), "triples-law": (0.055, 0.956),
        "phases-law": (0.050, 0.960), "goal": (0.045, 0.965),
    },
}  # fmt: skip
"""Mean relative error and F at gamma 19, of ten repetitions; its pairs were read by consistency and iterative
proportional fitting."""


@dataclass(frozen=True)
class Truth:
    """The frequent itemsets of a table, and their supports."""

    table: Table
    min_support: float = MIN_SUPPORT

    @cached_property
    def supports(self) -> dict[frozenset[Any], float]:
        return dict(mine(self.table, min_support=self.min_support))


@dataclass(frozen=True, slots=True)
class Score:
    """How well one way did once."""

    error: float
    f: float
    coverage: float | None
    n_itemsets: int
    """The truly frequent itemsets that it tells of."""
    order: int | None
    """Of the law, where one was fitted."""


def score(evidence: Evidence, truth: Truth) -> Score:
    """Estimates of the truly frequent itemsets against their supports, and what is found against what is there."""
    real = truth.supports
    told = {itemset: share for itemset, share in real.items() if _tells(evidence, itemset)}
    share = np.array(list(told.values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BosketWarning)
        estimates = estimate(evidence, told)
    found = {
        itemset for itemset, _ in mine_evidence(evidence, Search(truth.min_support, slack=0.0, keep_hopeless=True))
    }
    is_law = isinstance(evidence, FittedEvidence)
    low, high = estimates.interval(LEVEL).T
    return Score(
        error=float(np.mean(np.abs(estimates.value - share) / share)),
        f=2 * len(found & told.keys()) / (len(found) + len(told)),
        coverage=float(np.mean((low <= share) & (share <= high))) if is_law else None,
        n_itemsets=len(told),
        order=evidence.law(evidence.asked).fit.order if isinstance(evidence, FittedEvidence) else None,
    )


def _tells(evidence: Evidence, itemset: frozenset[Any]) -> bool:
    covered = evidence.covers(np.array([evidence.domain.itemset(itemset)], np.int32))
    return covered is None or bool(covered[0])


def studies(
    table: Table, gamma: float, seed: int, *, min_support: float = MIN_SUPPORT
) -> Iterator[tuple[str, Evidence]]:
    """Every way once: its name, and what its reports say."""
    domain = table.domain
    whole = Plan(domain, GammaDiagonal(gamma)).randomize(table, rng=Seeded(seed))
    yield "whole", evidence_of(whole, model=None)
    yield "whole-law", evidence_of(whole, model="log-linear")
    pairs = Plan(domain, Ask(Design.pairs(domain), gamma)).randomize(table, rng=Seeded(seed + 1))
    yield "pairs", evidence_of(pairs, model=None)
    yield "pairs-law", evidence_of(pairs)
    triples = Plan(domain, Ask(Design.triples(domain), gamma))
    yield "triples-law", evidence_of(triples.randomize(table, rng=Seeded(seed + 2)))
    yield "phases-law", pool(*two_phases(table, Design.pairs(domain), gamma, seed + 3, min_support=min_support))


def two_phases(table: Table, design: Design, gamma: float, seed: int, *, min_support: float) -> tuple[Reports, Reports]:
    """The first people, drawn by lot, answer a design, and the others what their answers make of it."""
    order = np.argsort(Seeded(seed + 2).integers(1 << 52, table.n_records), kind="stable")
    n_first = round(FIRST * table.n_records)
    first, second = (Table.from_codes(table.codes[part], table.domain) for part in (order[:n_first], order[n_first:]))
    heard = Plan(table.domain, Ask(design, gamma)).randomize(first, rng=Seeded(seed))
    refined = design.refine(heard, people=second.n_records, min_support=min_support)
    return heard, Plan(table.domain, Ask(refined, gamma)).randomize(second, rng=Seeded(seed + 1))


def comparison(
    name: str, table: Table, gamma: float, *, repetitions: int, seed: int, tell: Callable[[str], None]
) -> dict[str, list[Score]]:
    """The scores of every way, repetition by repetition."""
    truth = Truth(table)
    scores: dict[str, list[Score]] = {way: [] for way in WAYS}
    for repetition in range(repetitions):
        tell(f"{name}, gamma {gamma:g}: repetition {repetition + 1} of {repetitions}")
        for way, evidence in studies(table, gamma, 1_000_000 * seed + 10 * repetition):
            scores[way].append(score(evidence, truth))
    return scores


def row(way: str, scores: list[Score], prototype: tuple[float, float] | None) -> dict[str, Any]:
    """Means, with the standard errors over repetitions where there are several."""
    covered = [one.coverage for one in scores if one.coverage is not None]
    return {
        "way": way,
        "name": WAYS[way],
        "itemsets": scores[0].n_itemsets,
        "error": _mean([one.error for one in scores]),
        "f": _mean([one.f for one in scores]),
        "coverage": _mean(covered) if covered else None,
        "prototype": None if prototype is None else {"error": prototype[0], "f": prototype[1]},
        "behind": None if prototype is None else _both_behind(scores, *prototype),
        "repetitions": [asdict(one) for one in scores],
    }


def _both_behind(scores: list[Score], error: float, f: float) -> dict[str, float | None]:
    """By how many standard errors we are behind the prototype."""
    return {"error": _behind([one.error for one in scores], error), "f": _behind([-one.f for one in scores], -f)}


def _behind(values: list[float], other: float) -> float | None:
    """Of values, the less the better; the error is that of both means, its repetitions taken to vary as ours do."""
    if len(values) < 2 or not np.std(values):
        return None
    error = float(np.std(values, ddof=1)) * math.sqrt(1 / len(values) + 1 / REPETITIONS)
    return (float(np.mean(values)) - other) / error


def _mean(values: list[float]) -> dict[str, float | None]:
    n = len(values)
    return {"mean": float(np.mean(values)), "stderr": float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else None}


def run(
    *,
    data: str | Path | None = None,
    repetitions: int = REPETITIONS,
    gammas: tuple[float, ...] = GAMMAS,
    names: tuple[str, ...] = tuple(TABLES),
    seed: int = 7,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Everything that the data at hand allow."""
    started = time.perf_counter()
    missing = []
    tables = []
    for name in names:
        try:
            table = TABLES[name](data)
        except DataError as problem:
            missing.append(f"{name} is left out: {problem} {problem.hint}")
            continue
        for gamma in gammas:
            began = time.perf_counter()
            scores = comparison(name, table, gamma, repetitions=repetitions, seed=seed, tell=tell)
            known = PROTOTYPE.get(name, {}) if gamma == GAMMAS[0] else {}
            tables.append(
                {
                    "data": name, "what": WHAT.get(name), "gamma": gamma, "n_records": table.n_records,
                    "n_cells": table.domain.n_cells, "repetitions": repetitions,
                    "rows": [row(way, found, known.get(way)) for way, found in scores.items()],
                    "goal": known.get("goal"), "seconds": time.perf_counter() - began,
                }
            )  # fmt: skip
    return {
        "schema": "bosket.reproduce.questions/1",
        "version": __version__,
        "seed": seed,
        "min_support": MIN_SUPPORT,
        "level": LEVEL,
        "tables": tables,
        "missing": missing,
        "seconds": time.perf_counter() - started,
    }
