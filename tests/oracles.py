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
                other = channel[t][report]
                worst = max(worst, probability / other if other > 0 else float("inf"))
    return worst
