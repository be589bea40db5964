"""The catalogue against mlxtend and PyFIM, on generated and on real records."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import bosket as bk
from bosket.measures import CATALOGUE, MLXTEND, Contingency
from bosket.measures.catalogue import SIDES
from tests.files import benchmark_file

Load = Callable[[], bk.Baskets]


@cache
def generated() -> bk.Baskets:
    return bk.quest(records=3000, items=60, patterns=40, seed=3)


def read(name: str) -> Load:
    return cache(lambda: bk.Baskets.read(benchmark_file(name)))


def sources(**min_supports: float) -> pytest.MarkDecorator:
    """The generated records always; the real ones where they are at hand."""
    cases = [pytest.param(generated, min_supports["generated"], id="generated")]
    for name in ("groceries", "mushroom"):
        load = read(f"{name}.dat.gz")
        cases.append(pytest.param(load, min_supports[name], id=name, marks=pytest.mark.data))
    return pytest.mark.parametrize("load, min_support", cases)


@sources(generated=0.08, groceries=0.005, mushroom=0.5)
def test_mlxtend(load: Load, min_support: float) -> None:
    """All twelve columns; mushroom has an item that is in every record."""
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    data = load()
    frame = bk.mine(data, min_support=min_support).to_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its certainty divides by 0 before it looks
        rules = patterns.association_rules(frame[["support", "itemsets"]], metric="support", min_threshold=0)
    assert len(rules) > 500
    n = data.n_records
    x, a, c = (np.rint(n * rules[name].to_numpy()).astype(int) for name in ("support", *SIDES))
    table = Contingency.of_counts(x, a, c, n)
    for name in (*SIDES, *MLXTEND):
        ours, theirs = CATALOGUE[name](table), rules[name].to_numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=name)


def quotient(value: Any) -> Any:
    """How far a ratio is from 1, in [0, 1]."""
    return 1 - np.minimum(value, 1 / value)


@dataclass(frozen=True)
class Same:
    """What PyFIM computes, in terms of the catalogue."""

    name: str
    ours: str
    change: Callable[[Any, int], Any] = lambda value, n: value
    rounding: float = 1e-12
    """Of PyFIM's, in absolute terms."""


PYFIM = {
    "c": Same("conf", "confidence"),
    "d": Same("confdiff", "added_value", lambda value, n: np.abs(value)),
    "l": Same("lift", "lift"),
    "a": Same("liftdiff", "varying_liaison", lambda value, n: np.abs(value)),
    "q": Same("liftquot", "lift", lambda value, n: quotient(value)),
    "v": Same("cvct", "conviction"),
    "e": Same("cvctdiff", "conviction", lambda value, n: np.abs(value - 1)),
    "r": Same("cvctquot", "conviction", lambda value, n: quotient(value)),
    "k": Same("cprob", "relative_risk"),
    "j": Same("import", "relative_risk", lambda value, n: np.log2(value)),  # without Laplace's corrections
    "z": Same("cert", "certainty_factor"),
    "n": Same("chi2", "chi_squared", lambda value, n: value / n),
    "p": Same("chi2pval", "chi_squared", lambda value, n: chi2.sf(value, 1)),
    "i": Same("info", "mutual_information", lambda value, n: value / np.log(2)),  # in bits
    "g": Same("infopval", "g2", lambda value, n: chi2.sf(value, 1), 1e-5),  # errors of 1e-15 in g2 near p = 1
    "s": Same("fetsupp", "fisher", rounding=1e-9),  # theirs is 1 - (a sum), and may come out below 0
}
"""By code of ``eval``.  Left out: b (ldratio), 0 for all rules; y and t, with Yates' correction; f, h, m, two-sided."""


@sources(generated=0.05, groceries=0.005, mushroom=0.4)
@pytest.mark.slow  # PyFIM is a benchmark extra, and this is the heavier half
def test_pyfim(load: Load, min_support: float) -> None:
    fim = pytest.importorskip("fim")
    records, n = [list(record) for record in load()], load().n_records
    options = {"supp": 100 * min_support, "conf": 1, "zmin": 2, "zmax": 3, "report": "abhe"}
    for code, same in PYFIM.items():
        threshold = 1e9 if code in "pgs" else -1e9  # p-values must lie below it
        rules = np.array([rule[2:] for rule in fim.arules(records, eval=code, thresh=threshold, **options)])
        x, a, c = rules[:, :3].astype(int).T
        value = CATALOGUE[same.ours](Contingency.of_counts(x, a, c, n))
        decided = np.isfinite(value) & (x < a) & (x < c) & (c < n) & (a < n)  # PyFIM has its own conventions there
        assert decided.sum() > 1000
        with np.errstate(divide="ignore"):
            ours = same.change(value[decided], n)
        np.testing.assert_allclose(ours, rules[decided, 3], rtol=1e-9, atol=same.rounding, err_msg=same.name)
