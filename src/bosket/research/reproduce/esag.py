"""Evfimievski, Srikant, Agrawal and Gehrke (Information Systems 29, 2004): Figs. 1 to 9 and Tables 1 to 4.

The figures are computed from formulas.  The tables are run on two real streams, kosarak's first 70 000 sessions and
BMS-WebView-2, where the paper has soccer and mailorder; parameters are chosen as in its section 5.4: cutoff 7, the
smallest rho that keeps breaches of all itemsets of up to 7 items below 50%.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bosket._version import __version__
from bosket.errors import DataError, TooManyCandidatesError
from bosket.privacy.breaches import challenging_level, worst_level
from bosket.research.reproduce.esag_data import read_stream
from bosket.research.reproduce.esag_figures import figures, maximal
from bosket.research.reproduce.esag_tables import outcome

STREAMS = ("kosarak_prefix70k", "bms_webview2")
MIN_SUPPORT = 0.002
TIMES = 100
RAREST = 0.25
"""Items below this part of the minimum support are left out: they are over four sigmas away from it."""

PAPER: dict[str, dict[int, tuple[int, ...]]] = {
    # itemset size: true itemsets, true positives, false drops, false positives
    "mailorder": {1: (65, 65, 0, 0), 2: (228, 212, 16, 28), 3: (22, 18, 4, 5)},
    "soccer": {1: (266, 254, 12, 31), 2: (217, 195, 22, 45), 3: (48, 43, 5, 26)},
}


def run(
    *,
    data: str | Path | None = None,
    times: int = TIMES,
    min_support: float = MIN_SUPPORT,
    seed: int = 7,
    worst: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """All figures, and the tables of the streams that are there.

    With ``worst``, parameters are planned against the worst itemset that the maximal supports allow, not against the
    paper's (Eqs. 15 and 16), which some itemsets of kosarak outdo.
    """
    measure = worst_level if worst else challenging_level
    drawn = []
    for figure in figures():
        tell(f"Fig. {figure.number}")
        drawn.append(asdict(figure))
    outcomes, missing = [], []
    for name in STREAMS:
        try:
            stream = read_stream(name, data, rarest=RAREST * min_support)
        except DataError as problem:
            missing.append(f"The tables of {name} are left out: {problem} {problem.hint}")
        else:
            try:
                found = outcome(stream, min_support=min_support, times=times, seed=seed, measure=measure, tell=tell)
                outcomes.append(asdict(found))
            except TooManyCandidatesError as problem:
                missing.append(f"The tables of {name} are left out: {problem} Take more times or a larger min_support.")
    return {
        "schema": "bosket.reproduce.esag/1",
        "version": __version__,
        "seed": seed,
        "planned_against": "the worst itemset" if worst else "the itemset of Eqs. (15) and (16)",
        "maximal": maximal(),
        "figures": drawn,
        "tables": outcomes,
        "paper": PAPER,
        "missing": missing,
    }
