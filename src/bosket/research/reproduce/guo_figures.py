"""Figs. 1 and 2 of Guo, Guo and Wu (2007): one rule G => H under randomization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bosket.data import Baskets, Domain
from bosket.measures import Contingency, measure
from bosket.mechanisms import Flip
from bosket.mining import estimate
from bosket.randomness import Seeded
from bosket.research.reproduce.figures import Figure
from bosket.statistics.estimates import Floats, normal_quantile

LEVEL = 0.95
RULE = ("MOPLHOOG", "MSKA")
RULE_TEXT = "high education => social class A"
"""G and H, columns 16 and 25: the paper does not name its own.  Both are in more than half of the records."""

RANGES = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
GRID = tuple(step / 20 for step in range(21))
DRAWN = (1.0, 0.8, 0.2)
"""The p2 for which Fig. 2 is drawn over p1; the result has the whole surface."""


def ranges(baskets: Baskets, *, seed: int) -> list[dict[str, float]]:
    """Fig. 1: the estimate and its 95% ranges; errors of coins and sampling as in Eq. (2), with n in place of n - 1."""
    rows = []
    for place, keep in enumerate(RANGES):
        reports = Flip(keep=keep).randomize(baskets, rng=Seeded(1000 * seed + place))
        found = estimate(reports, [RULE], sampling=True)
        value, error = float(found.value[0]), float(found.stderr[0])
        normal, chebyshev = normal_quantile(LEVEL) * error, error / math.sqrt(1 - LEVEL)
        rows.append(
            {
                "keep": keep, "estimate": value, "stderr": error, "normal_low": value - normal,
                "normal_high": value + normal, "chebyshev_low": value - chebyshev, "chebyshev_high": value + chebyshev,
            }
        )  # fmt: skip
    return rows


def surface(law: Floats, n: int, p1: float, p2: float) -> tuple[float, float]:
    """Chi-square and interest of G and H after randomization, in the population; ``law`` over patterns, G in bit 0."""
    reported = law @ Flip(keep={0: p1, 1: p2}).channel(Domain(range(2))).transition((0, 1))
    table = Contingency.of_counts([n * reported[3]], [n * (reported[1] + reported[3])], [n * reported[2:].sum()], n)
    return float(measure("chi_squared")(table)[0]), float(measure("lift")(table)[0])


def surfaces(baskets: Baskets) -> dict[str, Any]:
    """Fig. 2 on a grid, with what the original has.

    Interest - 1 = Cov (2 p1 - 1)(2 p2 - 1) / (supports in reports) shrinks too while both p are at least 1/2.  Where
    both items are turned around, the interest of a positive correlation can exceed that of the original: it does so at
    p1 = p2 = 0 if the supports of G and H add up to more than 1.
    """
    both, one, other = (round(v * baskets.n_records) for v in estimate(baskets, [RULE, RULE[:1], RULE[1:]]).value)
    n = baskets.n_records
    law = np.array([n - one - other + both, one - both, other - both, both]) / n
    rows = [[surface(law, n, p1, p2) for p2 in GRID] for p1 in GRID]
    chi_squared, interest = surface(law, n, 1.0, 1.0)
    return {
        "rule": RULE, "p": GRID, "original": {"chi_squared": chi_squared, "interest": interest},
        "chi_squared": [[value for value, _ in row] for row in rows],
        "interest": [[value for _, value in row] for row in rows],
    }  # fmt: skip


def figures(truth: float, range_rows: list[dict[str, float]], surface: dict[str, Any]) -> list[Figure]:
    """The pictures; Fig. 2 as lines over p1."""

    def line(name: str) -> tuple[float, ...]:
        return tuple(row[name] for row in range_rows)

    drawn = [
        Figure(
            1, f"{RULE_TEXT}: estimated support and its 95% ranges", "p", "support", RANGES, False,
            {
                "normal, low": line("normal_low"), "Chebyshev, low": line("chebyshev_low"),
                "estimate": line("estimate"), "truth": tuple(truth for _ in RANGES),
                "normal, high": line("normal_high"), "Chebyshev, high": line("chebyshev_high"),
            },
            y_is_log=False,
        )
    ]  # fmt: skip
    for letter, name, title in (("a", "chi_squared", "chi-square"), ("b", "interest", "interest")):
        curves = {f"p2 = {p2:g}": tuple(row[GRID.index(p2)] for row in surface[name]) for p2 in DRAWN}
        curves["original"] = tuple(surface["original"][name] for _ in GRID)
        drawn.append(
            Figure(
                f"2{letter}", f"{RULE_TEXT}: {title} of randomized data", "p1", title, GRID, False, curves,
                y_is_log=False, y_is_share=False,
            )
        )  # fmt: skip
    return drawn
