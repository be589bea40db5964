"""Exact mining of real baskets against PyFIM and mlxtend, with the results compared in the same run."""

from __future__ import annotations

import gc
import math
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pandas as pd

from bosket.data import Baskets
from bosket.errors import BosketError
from bosket.mining import FrequentItemsets, mine
from bosket.research.benchmarks.bars import Bar, medians
from bosket.research.reproduce.datasets import find

CASES = {
    "retail": 0.001,
    "T10I4D100K": 0.001,
    "bms_webview1": 0.001,
    "bms_webview2": 0.001,
    "mushroom": 0.10,
    "chess": 0.50,
    "kosarak_prefix70k": 0.003,
}
WITH_FRAME = ("retail", "T10I4D100K", "bms_webview1", "bms_webview2", "kosarak_prefix70k")
PATIENCE = 120  # seconds for mlxtend


def exact(data: str | Path | None = None) -> list[Bar]:
    """Every case that has its file; ``Baskets`` in memory to a result object against lists in memory to PyFIM's
    list.
    """
    try:
        import fim
    except ImportError:
        raise BosketError("PyFIM is not installed.", hint="pip install 'bosket[bench]'") from None
    bars = []
    for name, fraction in CASES.items():
        baskets = Baskets.read(find(f"{name}.dat.gz", data))
        lists = [list(record) for record in baskets]
        least = math.ceil(fraction * len(lists))
        gc.freeze()  # the lists are PyFIM's input: the collector should not walk them while anyone is timed
        ours = partial(mine, baskets, min_support=fraction)
        algorithms = {"apriori": fim.apriori, "eclat": fim.eclat, "fpgrowth": fim.fpgrowth}
        peers = {peer: partial(run, lists, target="s", supp=-least, report="a") for peer, run in algorithms.items()}
        _check_same(ours(), peers["fpgrowth"](), name)
        took = medians({"bosket": ours, "bosket with frame": partial(_with_frame, ours), **peers}, repeats=5)
        best = min(took[peer] for peer in peers)
        detail = {"seconds": took, "itemsets": len(ours())}
        title = f"exact {name} at {100 * fraction:g}%"
        bars.append(Bar(f"{title}, of PyFIM's time", took["bosket"] / best, 0.5, False, detail))
        if name in WITH_FRAME:
            bars.append(
                Bar(f"{title} with to_frame(), of PyFIM's time", took["bosket with frame"] / best, 1.0, False, {})
            )
        theirs = _mlxtend_seconds(baskets, fraction)
        if theirs is None:
            detail["mlxtend"] = f"not finished in {PATIENCE} s"
        else:
            bars.append(
                Bar(f"{title}, times faster than mlxtend", theirs / took["bosket"], 10, True, {"mlxtend": theirs})
            )
        gc.unfreeze()
    return bars


def _with_frame(ours: Callable[[], FrequentItemsets]) -> pd.DataFrame:
    return ours().to_frame()


def _check_same(found: FrequentItemsets, peer: list[tuple[tuple[int, ...], int]], name: str) -> None:
    """Identical itemsets and counts, or the figures mean nothing.

    PyFIM leaves out an item that is in every record (mushroom's 85); such itemsets are let pass if their count says so.
    """
    theirs = {tuple(sorted(itemset)): count for itemset, count in peer}
    labels = np.array(found.domain.labels)
    for level in found.levels:
        for row, count in zip(labels[level.items].tolist(), level.value.tolist(), strict=True):
            if theirs.pop(tuple(row), found.n_records) != count:
                raise BosketError(f"bosket and PyFIM disagree on an itemset of {name}.")
    if theirs:
        raise BosketError(f"bosket misses {len(theirs)} itemsets of {name} that PyFIM finds.")


def _mlxtend_seconds(baskets: Baskets, fraction: float) -> float | None:
    """mlxtend's fpgrowth on a sparse frame, in a process of its own so that it can be given up on."""
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_run_mlxtend, args=(baskets, fraction, send))
    process.start()
    try:
        return float(receive.recv()) if receive.poll(PATIENCE) else None
    except EOFError:
        return None
    finally:
        process.terminate()
        process.join()


def _run_mlxtend(baskets: Baskets, fraction: float, send: Connection) -> None:
    from mlxtend.frequent_patterns import fpgrowth
    from scipy import sparse

    ones = np.ones(len(baskets.indices), bool)
    matrix = sparse.csr_matrix((ones, baskets.indices, baskets.indptr), (baskets.n_records, baskets.n_items))
    frame = pd.DataFrame.sparse.from_spmatrix(  # type: ignore[attr-defined]  # an accessor the stubs miss
        matrix, columns=[str(label) for label in baskets.domain.labels]
    )
    started = time.perf_counter()
    fpgrowth(frame, min_support=fraction)
    send.send(time.perf_counter() - started)
