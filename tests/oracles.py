"""Independent routes to the same numbers: from the definitions, slow and obvious, sharing no code with the library."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pattern = tuple[int, ...]


def outcomes(truth: Pattern, p: Sequence[float], r: Sequence[float]) -> Iterator[tuple[Pattern, float]]:
    """Every report of one record under Flip, with its probability: item by item, straight from the definition."""
    for report in itertools.product((0, 1), repeat=len(truth)):
        probability = 1.0
        for x, y, stay, come in zip(truth, report, p, r, strict=True):
            shown = stay if x else come
            probability *= shown if y else 1 - shown
        yield report, probability


def mask_matrix(p: Sequence[float], r: Sequence[float]) -> Floats:
    """Xia et al., Eq. (2), with r in place of 1 - p for the 0s: P[i, j] = Pr(pattern i reported | pattern j true).

    Patterns are numbers whose bit l stands for item l.
    """
    k = len(p)
    matrix = np.ones((1 << k, 1 << k))
    for i, j, item in itertools.product(range(1 << k), range(1 << k), range(k)):
        shown = p[item] if j >> item & 1 else r[item]
        matrix[i, j] *= shown if i >> item & 1 else 1 - shown
    return matrix


def mask_estimate(cells: npt.ArrayLike, p: Sequence[float], r: Sequence[float]) -> Floats:
    """MASK: solve C' = P C for the true cell counts."""
    result: Floats = np.linalg.solve(mask_matrix(p, r), np.asarray(cells, float))
    return result


def supports_from_cells(cells: npt.ArrayLike) -> Floats:
    """S_f: all records whose pattern contains f."""
    counts = np.asarray(cells, float)
    return np.array([sum(counts[g] for g in range(len(counts)) if g & f == f) for f in range(len(counts))])


def re_recursion(supports: npt.ArrayLike, p: Sequence[float], r: Sequence[float]) -> float:
    """Xia et al., Eq. (4) in its EMASK form, as the recursion it is, for the support of all k items."""
    observed = np.asarray(supports, float)

    @cache
    def estimate(pattern: int) -> float:
        items = [item for item in range(len(p)) if pattern >> item & 1]
        total = observed[pattern]
        for f in range(pattern):
            if f & pattern == f:
                term = estimate(f)
                for item in items:
                    term *= p[item] - r[item] if f >> item & 1 else r[item]
                total -= term
        for item in items:
            total /= p[item] - r[item]
        return float(total)

    return estimate(len(observed) - 1)


Law = dict[frozenset[int], float]
"""Every report of one record with its probability."""


def _add(law: Law, report: frozenset[int], probability: float) -> None:
    if probability > 0:
        law[report] = law.get(report, 0.0) + probability


def _subsets(items: frozenset[int]) -> Iterator[frozenset[int]]:
    for size in range(len(items) + 1):
        yield from map(frozenset, itertools.combinations(sorted(items), size))


def select_a_size_law(truth: frozenset[int], n: int, kept: Sequence[float], rho: float) -> Law:
    """Evfimievski et al. (2004), Definition 7, step by step."""
    law: Law = {}
    others = frozenset(range(n)) - truth
    for j, chance in enumerate(kept):
        choices = list(itertools.combinations(sorted(truth), j))
        for choice, false in itertools.product(choices, _subsets(others)):
            heads = rho ** len(false) * (1 - rho) ** (len(others) - len(false))
            _add(law, frozenset(choice) | false, chance / len(choices) * heads)
    return law


def cut_and_paste_law(truth: frozenset[int], n: int, cutoff: int, rho: float) -> Law:
    """Definition 8, step by step: whatever was not chosen, of the record or not, comes in with probability rho."""
    law: Law = {}
    for j in range(cutoff + 1):
        choices = list(itertools.combinations(sorted(truth), min(j, len(truth))))
        for choice in choices:
            rest = frozenset(range(n)) - frozenset(choice)
            for more in _subsets(rest):
                heads = rho ** len(more) * (1 - rho) ** (len(rest) - len(more))
                _add(law, frozenset(choice) | more, heads / len(choices) / (cutoff + 1))
    return law


def replace_law(truth: frozenset[int], n: int, p: float) -> Law:
    """Section 2: each item goes with probability p, and as many different ones come from outside the record."""
    law: Law = {}
    others = sorted(frozenset(range(n)) - truth)
    for stay in _subsets(truth):
        gone = len(truth) - len(stay)
        news = list(itertools.combinations(others, gone))
        for new in news:
            _add(law, stay | frozenset(new), (1 - p) ** len(stay) * p**gone / len(news))
    return law


def mixing_law(records: Sequence[frozenset[int]], own: int, others: int, keep: float) -> Law:
    """Example 4.1 for one record of a data set: every draw of the others, every coin."""
    law: Law = {}
    draws = list(itertools.product(records, repeat=others))
    for draw in draws:
        union = records[own].union(*draw)
        for report in _subsets(union):
            _add(law, report, keep ** len(report) * (1 - keep) ** (len(union) - len(report)) / len(draws))
    return law


def brute_force_itemsets(
    records: Sequence[frozenset[int]], min_count: int, max_size: int | None = None
) -> dict[frozenset[int], int]:
    """Frequent itemsets by listing every subset of every record."""
    counts: dict[frozenset[int], int] = {}
    for record in records:
        longest = len(record) if max_size is None else min(max_size, len(record))
        for size in range(1, longest + 1):
            for itemset in itertools.combinations(sorted(record), size):
                key = frozenset(itemset)
                counts[key] = counts.get(key, 0) + 1
    return {itemset: count for itemset, count in counts.items() if count >= min_count}


def amplification(
    records: Sequence[frozenset[int]], channel: Mapping[frozenset[int], Mapping[frozenset[int], float]]
) -> float:
    """The largest ratio of the probabilities of any report under any two records."""
    worst = 1.0
    for s, t in itertools.permutations(records, 2):
        for report, probability in channel[s].items():
            if probability > 0:
                other = channel[t].get(report, 0.0)
                worst = max(worst, probability / other if other > 0 else float("inf"))
    return worst
