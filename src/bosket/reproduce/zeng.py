"""Zeng, Naughton and Cai (2012), Figs. 2 to 7: F-scores under differential privacy, on files that are at hand.

At epsilon 1, every method a number of times, the mean and the spread of F, precision and recall against exact mining.
What the items are is taken as public.  PrivBasis, DiffPart and Bhaskar et al. answer top-k questions: for a limit they
are told how many itemsets reach it, which costs them nothing here, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from bosket.curator import AS_PUBLISHED, NAIVE, Heuristics, HopelessError, Settings, mine, top_k
from bosket.curator.rivals import bhaskar, diffpart, privbasis, untruncated
from bosket.data import Baskets
from bosket.errors import DataError
from bosket.mining import mine as exact
from bosket.reproduce.datasets import find
from bosket.reproduce.figures import Figure

EPSILON = 1.0
LIMITS = {
    "bms_webview1": (0.004, 0.006, 0.01),
    "bms_webview2": (0.004, 0.006, 0.01),
    "retail": (0.005, 0.01),
    "kosarak_prefix70k": (0.006, 0.01),
}
TOP = (10, 50, 100, 200)
CUTS = (1, 2, 4, 8, 16, 32)
"""What records are cut to, in Fig. 7."""
OF_CUTS = ("bms_webview1", 0.004)

_MANY = 300  # itemsets: PrivBasis takes minutes beyond, as the paper says too
_WIDE = 1000  # items: without truncation nearly all of them pass, and all pairs of them are candidates

Itemsets = set[tuple[int, ...]]
Method = Callable[[Baskets, float, int], Itemsets]
"""Itemsets by item id, from records, a limit and the number that reach it."""


def _ours(settings: Settings) -> Method:
    def run(baskets: Baskets, limit: float, number: int) -> Itemsets:
        try:
            release = mine(baskets, epsilon=EPSILON, min_support=limit, settings=settings, vocabulary=baskets.domain)
        except HopelessError:
            return set()
        return {tuple(row) for level in release.levels for row in level.items.tolist()}

    return run


THRESHOLD: dict[str, Method] = {
    "ours": _ours(Settings()),
    "as published": _ours(AS_PUBLISHED),
    "naive": _ours(NAIVE),
    "smart truncation alone": _ours(replace(AS_PUBLISHED, heuristics=Heuristics(True, False, 1.0))),
    "double standards alone": _ours(replace(AS_PUBLISHED, heuristics=Heuristics(False, True, 1.0))),
    "PrivBasis": lambda baskets, limit, number: set(privbasis.top_k(baskets, epsilon=EPSILON, k=number).itemsets()),
    "DiffPart": lambda baskets, limit, number: set(
        diffpart.frequent(baskets, epsilon=EPSILON, min_count=max(1, round(limit * baskets.n_records))).itemsets()
    ),
    "no truncation": lambda baskets, limit, number: set(
        untruncated.frequent(baskets, epsilon=EPSILON, min_support=limit).itemsets()
    ),
}
"""Methods for all itemsets above a limit: Figs. 2, 4, 5 and 6."""


def run(
    *, data: str | Path | None = None, times: int = 10, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """All that the files at hand allow."""
    thresholds: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    cuts: list[dict[str, Any]] = []
    missing: list[str] = []
    for name, limits in LIMITS.items():
        try:
            baskets = Baskets.read(find(f"{name}.dat.gz", data))
        except DataError as problem:
            missing.append(f"{name} is left out: {problem}")
            continue
        for limit in limits:
            tell(f"{name} at {100 * limit:g}%")
            thresholds += _threshold(name, baskets, limit, times)
        tell(f"{name}, top k")
        ranks += _ranks(name, baskets, times)
        if name == OF_CUTS[0]:
            tell("the cut")
            cuts = _cuts(baskets, OF_CUTS[1], times)
    return {
        "thresholds": thresholds, "top_k": ranks, "cuts": cuts, "missing": missing, "epsilon": EPSILON, "times": times,
        "figures": [asdict(figure) for figure in _figures(thresholds, ranks, cuts)],
    }  # fmt: skip


def quality(claimed: Itemsets, true: Itemsets) -> dict[str, float]:
    """Definition 10."""
    hit = len(claimed & true)
    precision, recall = hit / len(claimed) if claimed else 0.0, hit / len(true) if true else 0.0
    score = 2 * precision * recall / (precision + recall) if hit else 0.0
    return {"f": score, "precision": precision, "recall": recall}


def _summary(runs: list[dict[str, float]]) -> dict[str, float]:
    means = {key: fmean(run[key] for run in runs) for key in runs[0]}
    return means | {"spread": pstdev(run["f"] for run in runs)}


def _true(baskets: Baskets, limit: float) -> Itemsets:
    return {tuple(row) for level in exact(baskets, min_support=limit).levels for row in level.items.tolist()}


def _threshold(name: str, baskets: Baskets, limit: float, times: int) -> list[dict[str, Any]]:
    true = _true(baskets, limit)
    pairs: Itemsets = {itemset for itemset in true if len(itemset) == 2}
    rows = []
    for method, answer in THRESHOLD.items():
        if (method == "PrivBasis" and len(true) > _MANY) or (method == "no truncation" and baskets.n_items > _WIDE):
            continue
        found = [answer(baskets, limit, len(true)) for _ in range(times)]
        row = {"data": name, "limit": limit, "true": len(true), "method": method}
        row |= _summary([quality(claimed, true) for claimed in found])
        of_pairs = _summary([quality({i for i in claimed if len(i) == 2}, pairs) for claimed in found])
        rows.append(row | {f"pairs_{key}": value for key, value in of_pairs.items()})
    return rows


def _ranks(name: str, baskets: Baskets, times: int) -> list[dict[str, Any]]:
    rows = []
    methods: dict[str, Callable[[int], Itemsets]] = {
        "ours": lambda k: _top(baskets, k),
        "PrivBasis": lambda k: set(privbasis.top_k(baskets, epsilon=EPSILON, k=k).itemsets()),
        "Bhaskar et al., sizes 1 and 2": lambda k: set(
            bhaskar.top_k(baskets, epsilon=EPSILON, k=k, sizes=(1, 2)).itemsets()
        ),
    }
    if name not in ("bms_webview1", "bms_webview2"):
        methods.pop("Bhaskar et al., sizes 1 and 2")  # pairs of long records are too many
    for k in TOP:
        limit = sorted((value for _, value in exact(baskets, min_support=0.002)), reverse=True)[k - 1]
        true = _true(baskets, limit)
        for method, answer in methods.items():
            rows.append(
                {"data": name, "k": k, "method": method} | _summary([quality(answer(k), true) for _ in range(times)])
            )
    return rows


def _top(baskets: Baskets, k: int) -> Itemsets:
    try:
        release = top_k(baskets, epsilon=EPSILON, k=k, vocabulary=baskets.domain)
    except HopelessError:
        return set()
    return {tuple(row) for level in release.levels for row in level.items.tolist()}


def _cuts(baskets: Baskets, limit: float, times: int) -> list[dict[str, Any]]:
    """Fig. 7: single items, records cut to a given number: ``cap=1`` looks at nothing larger."""
    from bosket.curator.lengths import noisy_lengths
    from bosket.curator.levels import first_level
    from bosket.curator.truncation import random_truncation

    true: Itemsets = {itemset for itemset in _true(baskets, limit) if len(itemset) == 1}
    rows = []
    for cut in CUTS:
        runs = []
        for _ in range(times):
            lengths = noisy_lengths(baskets.sizes, epsilon=0.05 * EPSILON, longest=100)
            level = first_level(
                random_truncation(baskets, cut), lengths, cut,
                epsilon=0.95 * EPSILON, per_person=1, heuristics=Heuristics(double_standards=False),
            )  # fmt: skip
            chosen = level.items[level.average >= limit * lengths.total]
            runs.append(quality({tuple(row) for row in chosen.tolist()}, true))
        rows.append({"cut": cut} | _summary(runs))
    return rows


def _figures(thresholds: list[Any], ranks: list[Any], cuts: list[Any]) -> list[Figure]:
    figures = []
    for at, name in enumerate(dict.fromkeys(row["data"] for row in thresholds)):
        rows = [row for row in thresholds if row["data"] == name]
        x = tuple(dict.fromkeys(row["limit"] for row in rows))
        lines: dict[str, tuple[float | None, ...]] = {}
        for method in THRESHOLD:
            scores = {row["limit"]: row["f"] for row in rows if row["method"] == method}
            if scores:
                lines[method] = tuple(scores.get(limit) for limit in x)
        letter = "abcd"[at]
        figures.append(
            Figure(f"2{letter}", f"Itemsets above a limit, {name}", "limit", "F-score", x, True, lines, False)
        )
        top = [row for row in ranks if row["data"] == name]
        ks = tuple(dict.fromkeys(row["k"] for row in top))
        by_method = {
            method: tuple(row["f"] for row in top if row["method"] == method)
            for method in dict.fromkeys(row["method"] for row in top)
        }
        figures.append(
            Figure(f"3{letter}", f"The most frequent itemsets, {name}", "k", "F-score", ks, False, by_method, False)
        )
    if cuts:
        x = tuple(float(row["cut"]) for row in cuts)
        of_cuts: dict[str, tuple[float | None, ...]] = {"single items": tuple(row["f"] for row in cuts)}
        title = f"The cut, {OF_CUTS[0]} at {100 * OF_CUTS[1]:g}%"
        figures.append(Figure("7", title, "records cut to", "F-score", x, False, of_cuts, False))
    return figures
