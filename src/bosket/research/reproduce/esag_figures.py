"""Figs. 1 to 9 of Evfimievski et al. (2004): how privacy, discoverability and the data depend on each other.

The figures need maximal supports s_max(k, m), which the text at hand does not give.  Ours are those that the paper's
own parameters for soccer (section 5.4, K = 7) just allow at 50%: for records of five items 31.8%, 9.2%, 2.5%, 0.7% and
0.2%.  So curves compare in shape and in order of magnitude, not point by point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from bosket.errors import ParameterError
from bosket.mechanisms import CutAndPaste
from bosket.planning import (
    Overlaps,
    allowed_maximal_supports,
    independent,
    lowest_confidence,
    lowest_support,
    maximally_dependent,
    smallest_insert,
)
from bosket.research.reproduce.esag_data import CUTOFF, SOCCER
from bosket.research.reproduce.figures import Figure

N = 5_000_000
SIZE = 5
LEVEL = 0.5
SUPPORT = 0.02
LEVELS = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
NUMBERS = (500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000, 7_000_000, 10_000_000)
SUPPORTS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)
RULES = ((1, 1), (1, 2), (2, 1), (2, 2))
"""|A| and |B| of the rules; the paper's four are not in the text."""


@cache
def maximal() -> dict[int, tuple[float, ...]]:
    """s_max(k, m) for records of up to ten items."""
    return allowed_maximal_supports(CutAndPaste(CUTOFF, SOCCER), tuple(SOCCER))


@cache
def mechanism(cutoff: int, size: int, level: float) -> CutAndPaste | None:
    """The weakest cut-and-paste that keeps to the level; None if even the prior is above it."""
    try:
        return CutAndPaste(cutoff, smallest_insert(cutoff, size, maximal()[size], level=level))
    except ParameterError:
        return None


def _support(k: int, *, cutoff: int = 5, size: int = SIZE, level: float = LEVEL, n: int = N) -> float | None:
    chosen = mechanism(cutoff, size, level)
    lowest = math.inf if chosen is None else lowest_support(chosen, k, records={size: n})
    return lowest if math.isfinite(lowest) else None


def _confidence(
    rule: tuple[int, int],
    *,
    cutoff: int = 5,
    size: int = SIZE,
    level: float = LEVEL,
    n: int = N,
    support: float = SUPPORT,
    assumption: Overlaps = independent,
) -> float | None:
    chosen = mechanism(cutoff, size, level)
    if chosen is None:
        return None
    lowest = lowest_confidence(chosen, *rule, size=size, n_records=n, support=support, assumption=assumption)
    return lowest if math.isfinite(lowest) else None


def _supports(
    number: int, title: str, x_label: str, x: Sequence[float], y: Callable[[int, float], float | None], is_share: bool
) -> Figure:
    curves = {f"{k}-itemsets": tuple(y(k, value) for value in x) for k in (1, 2, 3)}
    return Figure(number, title, x_label, "lowest discoverable support", tuple(x), is_share, curves)


def _confidences(
    number: int,
    title: str,
    x_label: str,
    x: Sequence[float],
    y: Callable[[tuple[int, int], float], float | None],
    is_share: bool,
) -> Figure:
    curves = {f"|A| = {a}, |B| = {b}": tuple(y((a, b), value) for value in x) for a, b in RULES}
    return Figure(number, title, x_label, "lowest discoverable confidence", tuple(x), is_share, curves)


def figures() -> Iterator[Figure]:
    """One after the other, as the paper numbers them."""
    sizes = tuple(float(size) for size in SOCCER)
    longer = sizes[1:]
    by_level, by_number, by_size = "breach level", "number of records", "record size"
    yield _supports(1, "Support and breach level", by_level, LEVELS, lambda k, level: _support(k, level=level), True)
    yield _supports(2, "Support and number of records", by_number, NUMBERS, lambda k, n: _support(k, n=int(n)), False)
    yield _supports(
        3, "Support and record size", by_size, sizes, lambda k, m: _support(k, size=int(m), cutoff=7), False
    )
    yield _confidences(
        4, "Confidence and breach level", by_level, LEVELS, lambda rule, level: _confidence(rule, level=level), True
    )
    yield _confidences(
        5, "Confidence and breach level, greatest dependence", by_level, LEVELS,
        lambda rule, level: _confidence(rule, level=level, assumption=maximally_dependent), True,
    )  # fmt: skip
    yield _confidences(
        6, "Confidence and support of A", "support of A", SUPPORTS, lambda rule, s: _confidence(rule, support=s), True
    )
    yield _confidences(
        7, "Confidence and record size, cutoff 7", by_size, longer,
        lambda rule, m: _confidence(rule, size=int(m), cutoff=7), False,
    )  # fmt: skip
    yield _confidences(
        8, "Confidence and record size, cutoff = record size", by_size, longer,
        lambda rule, m: _confidence(rule, size=int(m), cutoff=int(m)), False,
    )  # fmt: skip
    yield _confidences(
        9, "Confidence and number of records", by_number, NUMBERS, lambda rule, n: _confidence(rule, n=int(n)), False
    )
