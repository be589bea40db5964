"""The sieve on files that are at hand, against truncation and the rivals, at equal epsilon.

At epsilon 1, pure and with a delta of 1e-6, every method a number of times: F, precision and recall against exact
mining, and of releases with intervals

    announced   the F that the release expects of itself
    coverage    the share of released itemsets whose interval at 95% holds the true support, of all and by size
    error       the median of |support - true support| / true support over released itemsets
    width       the median width of intervals, as a share of the records
    seconds     of one release

PrivBasis, DiffPart and Bhaskar et al. answer top-k questions: for a limit they are told how many itemsets reach it,
which costs them nothing here.  Bhaskar et al. are asked for items and pairs, and scored against itemsets of all sizes.
All of them are pure and have the same epsilon; what the items are is public.  Left out: "no truncation" beyond a
thousand items, Bhaskar et al. where records are long, and both on dense files: too many candidates.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median, pstdev
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from bosket.curator import AS_PUBLISHED, HopelessError, Release, mine, top_k
from bosket.data import Baskets
from bosket.errors import DataError
from bosket.limits import least_count
from bosket.research.reproduce.datasets import find
from bosket.research.reproduce.sieve_cells import DENSE, QUICK, RANKS, SPARSE, TABLES, UNTOUCHED, LimitCell, RankCell
from bosket.research.reproduce.zeng import DIFFPART, FoundItemsets, Tell, quality
from bosket.research.rivals import Rival, bhaskar, diffpart, privbasis, untruncated
from bosket.research.rivals.base import Itemset, exact_top_k, mined, supports_of

EPSILON, DELTA = 1.0, 1e-6
OURS = ("sieve, pure", "sieve, delta 1e-6")
REMARK = (
    f"The settings of the sieve were chosen on other files than {', '.join(UNTOUCHED)}; the rivals run with the "
    "constants of their papers and programs, except DiffPart, whose three were chosen to serve it best."
)
_WIDE = 1000  # items
_SHORT = ("bms_webview1", "bms_webview2")

Attempt = Callable[[], "Attempted"]


@dataclass(frozen=True)
class Attempted:
    """Itemsets by item id, what a release says of them, or why there are none."""

    itemsets: FoundItemsets
    release: Release | None = None
    note: str = ""


def run(
    *,
    data: str | Path | None = None,
    times: int = 10,
    files: Sequence[str] | None = None,
    limits: Sequence[float] | None = None,
    is_quick: bool = False,
    only_ours: bool = False,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """All cells that the files at hand allow, or those of some files and limits."""
    cells = QUICK if is_quick else SPARSE + DENSE
    ranks = () if is_quick or limits is not None else RANKS
    chosen = [cell for cell in cells if _is_wanted(cell.data, files) and _is_among(cell.limit, limits)]
    rows: list[dict[str, Any]] = []
    top: list[dict[str, Any]] = []
    missing: list[str] = []
    for name in dict.fromkeys(cell.data for cell in chosen):
        try:
            baskets = _records(name, data)
        except DataError as problem:
            missing.append(f"{name} is left out: {problem}")
            continue
        for cell in chosen:
            if cell.data == name:
                rows += _above(cell, baskets, times, only_ours, tell)
        for ranked in ranks:
            if ranked.data == name:
                top += _ranked(ranked, baskets, times, only_ours, tell)
    about = {"epsilon": EPSILON, "delta": DELTA, "times": times, "remark": REMARK, "untouched": list(UNTOUCHED)}
    return {"schema": "bosket.reproduce.sieve/1", **about, "rows": rows, "top_k": top, "missing": missing}


def _records(name: str, data: str | Path | None) -> Baskets:
    """The records of a file; those of a table hold what stands in its cells, but for cells that are missing."""
    if name not in TABLES:
        return Baskets.read(find(f"{name}.dat.gz", data))
    cells = pd.read_csv(find(f"{name}.csv.gz", data), dtype=str)
    records = cells.to_dict("records")
    return Baskets([[f"{at}={cell}" for at, cell in record.items() if isinstance(cell, str)] for record in records])


def _is_wanted(name: str, files: Sequence[str] | None) -> bool:
    return files is None or name in files


def _is_among(limit: float, limits: Sequence[float] | None) -> bool:
    return limits is None or any(math.isclose(limit, one) for one in limits)


# ------------------------------------------------------------------------------------------------ methods


def _released(call: Callable[[], Release]) -> Attempted:
    try:
        release = call()
    except HopelessError:
        return Attempted(set(), note="refused: the limit is within the noise")
    return Attempted({tuple(row) for part in release.rows for row in part.tolist()}, release)


def _found(rival: Rival) -> Attempted:
    return Attempted(set(rival.itemsets()))


def _methods(cell: LimitCell, baskets: Baskets, true: FoundItemsets, *, only_ours: bool) -> dict[str, Attempt]:
    """By name; those that may be told how many itemsets there are."""
    own: dict[str, Any] = {"epsilon": EPSILON, "min_support": cell.limit, "vocabulary": baskets.domain}
    ours: dict[str, Attempt] = {
        name: partial(_released, partial(mine, baskets, delta=delta, method="sieve", **own))
        for name, delta in zip(OURS, (0.0, DELTA), strict=True)
    }
    if only_ours:
        return ours
    n, n_small = len(true), sum(len(itemset) <= 2 for itemset in true)
    others: dict[str, Attempt] = {
        "truncation": partial(_released, partial(mine, baskets, method="truncation", **own)),
        "as published": partial(_released, partial(mine, baskets, method="truncation", settings=AS_PUBLISHED, **own)),
        "PrivBasis": lambda: _found(privbasis.top_k(baskets, epsilon=EPSILON, k=n)),
        "DiffPart": lambda: _found(diffpart.top_k(baskets, epsilon=EPSILON, k=n, **DIFFPART)),
    }
    if cell in SPARSE and baskets.n_items <= _WIDE:
        others["no truncation"] = lambda: _found(untruncated.frequent(baskets, epsilon=EPSILON, min_support=cell.limit))
    if cell.data in _SHORT:
        others["Bhaskar et al."] = lambda: _found(bhaskar.top_k(baskets, epsilon=EPSILON, k=n_small, sizes=[1, 2]))
    return ours | others


def _above(cell: LimitCell, baskets: Baskets, times: int, only_ours: bool, tell: Tell) -> list[dict[str, Any]]:
    """A row for each method."""
    least = least_count(cell.limit, baskets.n_records)
    true: FoundItemsets = {tuple(row) for items, _ in mined(baskets, least) for row in items.tolist()}
    rows = []
    for method, ask in _methods(cell, baskets, true, only_ours=only_ours).items():
        tell(f"{cell.data} at {100 * cell.limit:g}%: {method}")
        named = {"data": cell.data, "limit": cell.limit, "true": len(true), "method": method}
        rows.append(named | _measured(ask, baskets, true, times) | _beside(cell, method))
    return rows


def _beside(cell: LimitCell | RankCell, method: str) -> dict[str, Any]:
    """The figures of the prototype, of PrivBasis there, and the goals."""
    if method in OURS:
        at = OURS.index(method)
        return {"prototype": cell.prototype[at], "goal": cell.goal[at]}
    if method == "PrivBasis" and isinstance(cell, LimitCell):
        return {"prototype": cell.privbasis, "goal": None}
    return {"prototype": None, "goal": None}


def _ranked(cell: RankCell, baskets: Baskets, times: int, only_ours: bool, tell: Tell) -> list[dict[str, Any]]:
    """The k most frequent itemsets; by the sieve where ``top_k`` knows it."""
    true: FoundItemsets = set(exact_top_k(baskets, cell.k))
    k, known = cell.k, inspect.signature(top_k).parameters
    own: dict[str, Any] = {"epsilon": EPSILON, "k": k, "vocabulary": baskets.domain}
    methods: dict[str, Attempt] = {}
    if "method" in known:
        for name, delta in zip(OURS, (0.0, DELTA), strict=True):
            more: dict[str, Any] = {"method": "sieve"} | ({"delta": delta} if "delta" in known else {})
            if not delta or "delta" in known:
                methods[name] = partial(_released, partial(top_k, baskets, **own, **more))
    by_truncation: dict[str, Any] = {"method": "truncation"} if "method" in known else {}
    if not only_ours or not methods:
        methods["truncation"] = partial(_released, partial(top_k, baskets, **own, **by_truncation))
    if not only_ours:
        methods["PrivBasis"] = lambda: _found(privbasis.top_k(baskets, epsilon=EPSILON, k=k))
        if cell.data in _SHORT:
            methods["Bhaskar et al."] = lambda: _found(bhaskar.top_k(baskets, epsilon=EPSILON, k=k, sizes=[1, 2]))
    rows = []
    for method, ask in methods.items():
        tell(f"{cell.data}, top {k}: {method}")
        named = {"data": cell.data, "k": k, "method": method}
        rows.append(named | _measured(ask, baskets, true, times) | _beside(cell, method))
    return rows


# ------------------------------------------------------------------------------------------------ figures


def _measured(ask: Attempt, baskets: Baskets, true: FoundItemsets, times: int) -> dict[str, Any]:
    """All runs of one method."""
    scores, announced, notes = [], [], set()
    held: dict[int, list[bool]] = {}
    errors: list[float] = []
    widths: list[float] = []
    seconds: list[float] = []
    for _ in range(times):
        start = perf_counter()
        answer = ask()
        seconds.append(perf_counter() - start)
        scores.append(quality(answer.itemsets, true))
        notes.add(answer.note)
        if answer.release is not None:
            told = answer.release.about.get("announced")
            announced += [] if told is None else [told["f"]]
            for size, is_held, error, width in _intervals(answer.release, baskets):
                held.setdefault(size, []).append(is_held)
                errors.append(error)
                widths.append(width)
    means = {key: fmean(score[key] for score in scores) for key in scores[0]}
    return means | {
        "spread": pstdev(score["f"] for score in scores),
        "announced": fmean(announced) if announced else None,
        "coverage": _share(part for values in held.values() for part in values),
        "coverage_by_size": {str(size): _share(held[size]) for size in sorted(held)},
        "intervals_by_size": {str(size): len(held[size]) for size in sorted(held)},
        "error": median(errors) if errors else None,
        "width": median(widths) if widths else None,
        "seconds": fmean(seconds),
        "most_seconds": max(seconds),
        "note": "; ".join(sorted(notes - {""})),
    }


def _intervals(release: Release, baskets: Baskets) -> Iterable[tuple[int, bool, float, float]]:
    """Of each released itemset its size, whether its interval holds the truth, its error and the width."""
    frame = release.to_frame(level=0.95)
    if not len(frame):
        return []
    itemsets: list[Itemset] = [baskets.domain.itemset(name) for name in frame["itemsets"]]
    truth = supports_of(baskets, itemsets) / max(1, baskets.n_records)
    low, high, support = (frame[name].to_numpy(float) for name in ("low", "high", "support"))
    is_held = (low <= truth) & (truth <= high)
    error = np.abs(support - truth) / np.maximum(truth, 1 / max(1, baskets.n_records))
    sizes = [len(itemset) for itemset in itemsets]
    return zip(sizes, is_held.tolist(), error.tolist(), (high - low).tolist(), strict=True)


def _share(values: Iterable[bool]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None
