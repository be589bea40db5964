"""FRAPP: Agrawal, Haritsa and Prakash (Data Mining and Knowledge Discovery 18, 2009), Table 3, Figs. 2 to 7, Table 5.

For each mechanism at the same amplification, by length of itemset: the mean relative error of the supports of those
rightly found (mu), the share of frequent itemsets missed (sigma-), and of others claimed (sigma+).  The paper gives the
miner 50 perturbed versions of every record.  If the versions of a person can be told to belong together their
amplification is gamma^50, so everything is also run with one version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bosket._version import __version__
from bosket.data import Table
from bosket.errors import DataError
from bosket.evidence import evidence_of
from bosket.mechanisms import CutAndPaste, Flip, GammaDiagonal, Mechanism
from bosket.mechanisms.exchangeable import ExchangeableChannel
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel, ran_gd_range
from bosket.mining import FrequentItemsets, Search, mine, mine_evidence
from bosket.plan import Plan
from bosket.planning import cut_and_paste_insert, mask_keep
from bosket.randomness import Seeded
from bosket.research.reproduce.figures import Figure
from bosket.research.reproduce.frapp_data import census, health, work

MIN_SUPPORT = 0.02
GAMMAS = {2: 19.0, 4: 13.28, 5: 9.0}
"""The amplification of each figure on CENSUS; Fig. 3 is HEALTH at 19."""

VERSIONS = (50, 1)
CUTOFF = 3
SPREADS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PAPER_TABLE_3 = {"CENSUS": (19, 102, 203, 165, 64, 10), "HEALTH": (23, 123, 292, 361, 250, 86, 12)}


@dataclass(frozen=True, slots=True)
class Quality:
    """How well the itemsets of one length were found, as shares; None where nothing was, or nothing is there."""

    length: int
    frequent: int
    found: int
    mu: float | None
    missed: float | None
    false: float | None


def mechanisms(gamma: float, table: Table) -> dict[str, Mechanism]:
    """The four of section 9.1.4, each with exactly this amplification over the legal records of the table."""
    m, n = table.n_attributes, table.n_items
    return {
        "DET-GD": GammaDiagonal(gamma),
        "RAN-GD": GammaDiagonal(gamma, spread=0.5),
        "MASK": Flip(keep=mask_keep(gamma, m)),
        "C&P": CutAndPaste(CUTOFF, cut_and_paste_insert(gamma, CUTOFF, m, n)),
    }


def quality(truth: FrequentItemsets, found: FrequentItemsets, longest: int) -> list[Quality]:
    real, claimed = dict(truth), dict(found)
    rows = []
    for length in range(1, longest + 1):
        frequent = {itemset for itemset in real if len(itemset) == length}
        ours = {itemset for itemset in claimed if len(itemset) == length}
        right = frequent & ours
        errors = [abs(claimed[itemset] - real[itemset]) / real[itemset] for itemset in right]
        n = len(frequent)
        rows.append(
            Quality(
                length,
                n,
                len(ours),
                float(np.mean(errors)) if errors else None,
                len(frequent - ours) / n if n else None,
                len(ours - frequent) / n if n else None,
            )
        )
    return rows


def run_mechanism(
    table: Table, truth: FrequentItemsets, mechanism: Mechanism, *, versions: int, seed: int
) -> list[Quality]:
    """Perturb, mine and compare; as in the paper an itemset is extended only if it is found frequent, noise or not."""
    reports = Plan(table.domain, mechanism).randomize(table.repeat(versions), rng=Seeded(seed))
    found = mine_evidence(evidence_of(reports), Search(MIN_SUPPORT, slack=0.0, keep_hopeless=True))
    return quality(truth, found, max(truth.sizes))


def comparison(
    name: str, table: Table, gamma: float, *, versions: int, seed: int, tell: Callable[[str], None]
) -> dict[str, list[Quality]]:
    truth = mine(table, min_support=MIN_SUPPORT)
    result = {}
    for place, (label, mechanism) in enumerate(mechanisms(gamma, table).items()):
        tell(f"{name}, gamma {gamma:g}, {versions} version{'s' if versions > 1 else ''}: {label}")
        result[label] = run_mechanism(table, truth, mechanism, versions=versions, seed=100 * seed + place)
    return result


def condition_numbers(table: Table, gamma: float) -> dict[str, tuple[float, ...]]:
    """Fig. 7: of the matrix that reconstructs supports of itemsets of each length."""
    result = {}
    lengths = range(1, table.n_attributes + 1)
    for label, mechanism in mechanisms(gamma, table).items():
        channel = mechanism.channel(table.domain)
        if isinstance(channel, GammaDiagonalChannel):
            result[label] = tuple(channel.condition for _ in lengths)
        elif isinstance(channel, ExchangeableChannel):
            result[label] = tuple(channel.condition(k, table.n_attributes) for k in lengths)
        else:  # the k-fold product of [[p, 1 - p], [1 - p, p]]
            keep = mask_keep(gamma, table.n_attributes)
            result[label] = tuple((1 / (2 * keep - 1)) ** k for k in lengths)
    return result


def figures(name: str, number: int, title: str, qualities: dict[str, list[Quality]], versions: int) -> Iterator[Figure]:
    """The three panels of Figs. 2 to 5."""
    lengths = tuple(float(row.length) for row in next(iter(qualities.values())))
    kind = f"{versions} version{'s' if versions > 1 else ''}"
    for letter, what, field, is_log in (
        ("a", "support error", "mu", True),
        ("b", "false negatives", "missed", False),
        ("c", "false positives", "false", False),
    ):
        curves = {label: tuple(getattr(row, field) for row in rows) for label, rows in qualities.items()}
        yield Figure(
            f"{number}{letter}-{versions}", f"{name} {title}, {kind}: {what}", "length of itemsets", what, lengths,
            False, curves, y_is_log=is_log,
        )  # fmt: skip


def figure_6(
    table: Table, name: str, letter: str, *, versions: int, seed: int, tell: Callable[[str], None]
) -> Iterator[Figure]:
    """Posterior range of one who knows r, and support error of itemsets of length 4, over the spread."""
    n = table.domain.n_cells
    if letter == "c":
        ranges = [ran_gd_range(19.0, n, spread, prior=0.05) for spread in SPREADS]
        yield Figure(
            "6a", "Posterior from 5% at gamma 19, for one who knows r", "alpha / (gamma x)", "posterior", SPREADS,
            False, {"rho2-": tuple(low for low, _ in ranges), "rho2+": tuple(high for _, high in ranges),
             "not knowing r": tuple(0.5 for _ in SPREADS)}, y_is_log=False,
        )  # fmt: skip
    truth = mine(table, min_support=MIN_SUPPORT)
    errors = []
    for place, spread in enumerate(SPREADS):
        tell(f"Fig. 6, {name}: spread {spread:g}")
        rows = run_mechanism(table, truth, GammaDiagonal(19.0, spread), versions=versions, seed=7000 * seed + place)
        errors.append(rows[3].mu)
    yield Figure(
        f"6{letter}", f"{name} gamma 19, {versions} versions: support error at length 4", "alpha / (gamma x)",
        "support error", SPREADS, False, {"RAN-GD": tuple(errors)}, y_is_log=False,
    )  # fmt: skip


def classification(data: str | Path | None, tell: Callable[[str], None]) -> dict[str, Any]:
    """Table 5 on Adult: the tree as it is by default, one left to grow (as noisy as the paper's), and naive Bayes."""
    from bosket.learning import ReconstructedNaiveBayes, ReconstructedTreeClassifier
    from bosket.research.classification import table5

    people = work(data)
    classifiers = {
        "tree": ReconstructedTreeClassifier(),
        "tree, not pruned": ReconstructedTreeClassifier(ccp_alpha=0.0, min_leaf=0.0),
        "naive Bayes": ReconstructedNaiveBayes(),
    }
    result = {}
    for name, classifier in classifiers.items():
        tell(f"Table 5: {name}")
        result[name] = table5(people, "income", gamma=19.0, seeds=10, train=0.75, classifier=classifier)
    return result


def run(
    *,
    data: str | Path | None = None,
    versions: tuple[int, ...] = VERSIONS,
    seed: int = 7,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Everything that the data at hand allow."""
    started = time.perf_counter()
    tables: dict[str, Table] = {}
    missing = []
    for name, read in (("CENSUS", census), ("HEALTH", health)):
        try:
            tables[name] = read(data)
        except DataError as problem:
            missing.append(f"{name} is left out: {problem} {problem.hint}")
    drawn: list[Figure] = []
    qualities = []
    for name, table in tables.items():
        for number, gamma in GAMMAS.items() if name == "CENSUS" else {3: 19.0}.items():
            for times in versions:
                rows = comparison(name, table, gamma, versions=times, seed=seed, tell=tell)
                drawn += figures(name, number, f"at gamma {gamma:g}", rows, times)
                qualities.append(
                    {
                        "figure": number, "data": name, "gamma": gamma, "versions": times,
                        "qualities": {label: [asdict(row) for row in part] for label, part in rows.items()},
                    }
                )  # fmt: skip
        letter = "c" if name == "CENSUS" else "b"
        drawn += figure_6(table, name, letter, versions=versions[0], seed=seed, tell=tell)
        lengths = tuple(float(k) for k in range(1, table.n_attributes + 1))
        drawn.append(
            Figure(
                f"7{'a' if name == 'CENSUS' else 'b'}", f"{name} at gamma 19: condition numbers", "length of itemsets",
                "condition number", lengths, False,
                {k: tuple(c if np.isfinite(c) else None for c in v) for k, v in condition_numbers(table, 19.0).items()},
                y_is_share=False,
            )
        )  # fmt: skip
    table_5: dict[str, Any] = {}
    if "CENSUS" in tables:
        try:
            table_5 = classification(data, tell)
        except ImportError as problem:
            missing.append(f"Table 5 is left out: {problem}")
    counts = {name: list(mine(table, min_support=MIN_SUPPORT).sizes.values()) for name, table in tables.items()}
    return {
        "schema": "bosket.reproduce.frapp/1",
        "version": __version__,
        "seed": seed,
        "table_3": {"ours": counts, "paper": PAPER_TABLE_3},
        "table_5": table_5,
        "accuracy": qualities,
        "figures": [asdict(figure) for figure in drawn],
        "missing": missing,
        "seconds": time.perf_counter() - started,
    }
