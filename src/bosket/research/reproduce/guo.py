"""Guo, Guo and Wu (PKDD 2007), Figs. 1 to 3, on CoIL Challenge 2000.

Fig. 1: the 95% ranges, normal and by Chebyshev, of the estimated support of a rule G => H.  Fig. 2: chi-square and
interest of randomized data, in the population, over the distortions p1 of G and p2 of H.  Fig. 3: how many pairs of
items are seen to be dependent (chi-square at 5%) without the distortion being known.  The paper tells neither how items
are made of columns nor which are G and H; here there is an item wherever a column of the training records is above 0,
G is high education and H social class A in the neighbourhood, 63% and 70% of the records.

That gives 1175 dependent pairs in the original (913 with expected cells of at least 5, and 1120 by Fisher's test where
cells are small); the paper has 997.  Its other number, about 750 of them visible at p = 0.55, cannot be had by testing
reports at 5%, however items are made:

    |phi_reports| <= (2 p - 1)^2 |phi_original| <= 0.01 at p = 0.55,     n phi_reports^2 <= 0.58 for 5822 records

With that chi-square passes 3.84 in at most 12% of cases, and in 5% where there is no dependence at all.  Of 3655 pairs
some 190 pass (760 do at p = 0.95).  A third of them are dependent in the original, as is a third of all pairs: it is
chance, and none is left when p-values are adjusted for the number of tests.  If p = 0.55 were the probability of a true
answer, with a fair coin tossed otherwise, keep would be 0.775 and some 430 pairs visible.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bosket._version import __version__
from bosket.data import Baskets, Domain
from bosket.errors import DataError
from bosket.measures.dependence_tests import chi_squares, independence
from bosket.mechanisms import Flip
from bosket.mining import estimate
from bosket.mining.dependence import pairs_in
from bosket.mining.pair_tests import Pairs
from bosket.randomness import Seeded
from bosket.reports import Reports
from bosket.research.reproduce import guo_data
from bosket.research.reproduce.figures import Figure
from bosket.research.reproduce.guo_figures import RULE, RULE_TEXT, figures, ranges, surfaces
from bosket.statistics.estimates import normal_quantile
from bosket.statistics.multiple import adjust

ALPHA = 0.05
CRITICAL = normal_quantile(1 - ALPHA) ** 2
"""Chi-square with one degree of freedom passes this, 3.84, in 5% of cases."""

KEEPS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
SEEDS = 10
FAIR_COIN = 0.775
"""The keep of one who answers truly with probability 0.55 and else tosses a fair coin."""

PAPER = {"original": 997, "keep": 0.55, "visible": 750}


@dataclass(frozen=True, slots=True)
class ItemCoding:
    """One way to make items, and how many pairs it makes dependent."""

    coding: str
    n_records: int
    items: int
    pairs: int
    original: int
    large_cells: int
    """Those of ``original`` whose expected cells are all at least 5."""
    exact: int
    """By bosket's test at 5%: Fisher's where chi-square would be off."""
    visible: float
    """In reports at keep 0.55, mean over seeds."""
    visible_fair_coin: float


@dataclass(frozen=True, slots=True)
class Visible:
    """Pairs found in reports at one keep, means over seeds."""

    keep: float
    found: float
    spread: float
    """Standard deviation over seeds."""
    fewest: int
    most: int
    expected: float
    """By the normal law of phi in the reports of these very records."""
    right: float
    """Found, and dependent in the original by the same test."""
    wrong: float
    adjusted: float
    """Found at 5% after Benjamini and Yekutieli."""
    adjusted_wrong: float


def is_dependent(pairs: Pairs) -> Any:
    """The paper's test: chi-square at 5%, whatever the cells."""
    return chi_squares(*pairs.counts) >= CRITICAL


def randomize(baskets: Baskets, keep: float, seed: int) -> Reports:
    return Flip(keep=keep).randomize(baskets, rng=Seeded(seed))


def coding(name: str, table: pd.DataFrame, *, seed: int, seeds: int) -> ItemCoding:
    baskets = guo_data.items(table, name)
    pairs = pairs_in(baskets)
    own = is_dependent(pairs)
    n = pairs.n
    expected = np.minimum(pairs.one, n - pairs.one) * (np.minimum(pairs.other, n - pairs.other) / n)
    p, _ = independence(*pairs.counts)

    def visible(keep: float) -> float:
        numbers = [is_dependent(pairs_in(randomize(baskets, keep, 1000 * seed + k))).sum() for k in range(seeds)]
        return float(np.mean(numbers))

    return ItemCoding(
        name, n, baskets.n_items, len(pairs), int(own.sum()), int((own & (expected >= 5)).sum()),
        int((p <= ALPHA).sum()), visible(PAPER["keep"]), visible(FAIR_COIN),
    )  # fmt: skip


def expected_number(pairs: Pairs, keep: float) -> float:
    """How many pairs of these very records will pass, on average over the coins.

    With f = corr(A, A') corr(B, B'), sqrt(n) phi of reports is about normal around sqrt(n) f phi; over coins and people
    its variance is about 1, of which f^2 is the people's.
    """
    from scipy.special import ndtr

    factor = np.ones(len(pairs))
    for side in (pairs.one, pairs.other):
        share = side / pairs.n
        shown = share * keep + (1 - share) * (1 - keep)
        factor *= (2 * keep - 1) * np.sqrt(share * (1 - share) / (shown * (1 - shown)))
    middle = factor * np.sqrt(chi_squares(*pairs.counts))
    spread = np.sqrt(1 - factor**2)
    critical = math.sqrt(CRITICAL)
    return float((ndtr((middle - critical) / spread) + ndtr((-middle - critical) / spread)).sum())


def most_likely_seen(keep: float, n: int) -> float:
    """The greatest chance that any pair, be it one item twice, is seen at 5%."""
    law = 0.5 * np.eye(2).ravel()
    channel = Flip(keep=keep).channel(Domain(range(2)))
    reported = law @ channel.transition((0, 1))
    middle, critical = math.sqrt(n) * abs(reported[3] - 0.25) * 4, math.sqrt(CRITICAL)
    return 0.5 * (math.erfc((critical - middle) / math.sqrt(2)) + math.erfc((critical + middle) / math.sqrt(2)))


def visible(baskets: Baskets, keep: float, *, seed: int, seeds: int) -> Visible:
    """Fig. 3 at one p."""
    pairs = pairs_in(baskets)
    own = is_dependent(pairs)
    found, right, claimed, false = [], [], [], []
    for number in range(seeds):
        reported = pairs_in(randomize(baskets, keep, 1000 * seed + number))
        seen = is_dependent(reported)
        sure = adjust(independence(*reported.counts)[0], "by") <= ALPHA
        found.append(int(seen.sum()))
        right.append(int((seen & own).sum()))
        claimed.append(int(sure.sum()))
        false.append(int((sure & ~own).sum()))
    mean = float(np.mean(found))
    return Visible(
        keep, mean, float(np.std(found, ddof=1)) if seeds > 1 else 0.0, min(found), max(found),
        expected_number(pairs, keep), float(np.mean(right)), mean - float(np.mean(right)), float(np.mean(claimed)),
        float(np.mean(false)),
    )  # fmt: skip


def pictures(seen: list[Visible], original: int) -> list[Figure]:
    """Fig. 3 in two: how many, and how many of them rightly."""
    pairs_of = "CoIL 2000: pairs of items found dependent without p"
    how_many: dict[str, tuple[float | None, ...]] = {
        "reports, mean of seeds": tuple(row.found for row in seen),
        "the paper, reports": tuple(PAPER["visible"] if keep == PAPER["keep"] else None for keep in KEEPS),
        "the paper, original": tuple(PAPER["original"] for _ in KEEPS),
        "original": tuple(original for _ in KEEPS),
    }
    rightly: dict[str, tuple[float | None, ...]] = {
        "dependent in the original": tuple(row.right for row in seen),
        "not dependent there": tuple(row.wrong for row in seen),
        "Benjamini-Yekutieli, not dependent there": tuple(row.adjusted_wrong for row in seen),
        "Benjamini-Yekutieli, all": tuple(row.adjusted for row in seen),
    }
    return [
        Figure(number, title, "p", "pairs", KEEPS, False, lines, y_is_log=False, y_is_share=False)
        for number, title, lines in (("3a", pairs_of, how_many), ("3b", f"{pairs_of}, and how many are so", rightly))
    ]


def run(
    *,
    data: str | Path | None = None,
    seed: int = 7,
    seeds: int = SEEDS,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """All figures and the search for how items were made, if the data are there."""
    started = time.perf_counter()
    result: dict[str, Any] = {
        "schema": "bosket.reproduce.guo/1", "version": __version__, "seed": seed, "seeds": seeds, "rule": RULE_TEXT,
        "coding": guo_data.CHOSEN, "paper": PAPER, "codings": [], "figures": [], "missing": [],
    }  # fmt: skip
    for evaluation in (False, True):
        what = "training and evaluation records" if evaluation else "training records"
        try:
            table = guo_data.table(data, evaluation=evaluation)
        except DataError as problem:
            result["missing"].append(f"The {what} are left out: {problem} {problem.hint}")
            continue
        for name in guo_data.CODINGS:
            tell(f"items of {len(table)} records: {name}")
            result["codings"].append(asdict(coding(name, table, seed=seed, seeds=min(3, seeds))))
        if evaluation:
            continue
        baskets = guo_data.items(table)
        tell("Fig. 1")
        range_rows = ranges(baskets, seed=seed)
        tell("Fig. 2")
        surface = surfaces(baskets)
        seen = []
        for keep in KEEPS:
            tell(f"Fig. 3: p = {keep:g}")
            seen.append(visible(baskets, keep, seed=seed, seeds=seeds))
        truth = float(estimate(baskets, [RULE]).value[0])
        original = int(is_dependent(pairs_in(baskets)).sum())
        result |= {
            "support": truth, "figure_1": range_rows, "figure_2": surface,
            "figure_3": [asdict(row) for row in seen], "original": original,
            "most_likely_seen": most_likely_seen(PAPER["keep"], baskets.n_records),
            "figures": [
                asdict(figure) for figure in [*figures(truth, range_rows, surface), *pictures(seen, original)]
            ],
        }  # fmt: skip
    result["seconds"] = time.perf_counter() - started
    return result
