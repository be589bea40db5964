"""The catalogue against mlxtend and PyFIM, on generated and on real records."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import bosket as bk
from bosket.measures import CATALOGUE, MLXTEND, Contingency
from bosket.measures.catalogue import SIDES
from tests.files import benchmark_file

Load = Callable[[], bk.Baskets]


def generated() -> bk.Baskets:
    return bk.quest(records=3000, items=60, patterns=40, seed=3)


def read(name: str) -> Load:
    return lambda: bk.Baskets.read(benchmark_file(name))


def sources(**min_supports: float) -> pytest.MarkDecorator:
    """The generated records always; the real ones where they are at hand."""
    cases = [pytest.param(generated, min_supports["generated"], id="generated")]
    for name in ("groceries", "mushroom"):
        load = read(f"{name}.dat.gz")
        cases.append(pytest.param(load, min_supports[name], id=name, marks=pytest.mark.data))
    return pytest.mark.parametrize("load, min_support", cases)


@sources(generated=0.02, groceries=0.005, mushroom=0.5)
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
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9), name


def quotient(value: Any) -> Any:
    """How far a ratio is from 1, in [0, 1]."""
    return 1 - np.minimum(value, 1 / value)


PYFIM: dict[str, tuple[str, str, Callable[[Any, float], Any], float]] = {
    "c": ("conf", "confidence", lambda v, n: v, 1e-12),
    "d": ("confdiff", "added_value", lambda v, n: np.abs(v), 1e-12),
    "l": ("lift", "lift", lambda v, n: v, 1e-12),
    "a": ("liftdiff", "varying_liaison", lambda v, n: np.abs(v), 1e-12),
    "q": ("liftquot", "lift", lambda v, n: quotient(v), 1e-12),
    "v": ("cvct", "conviction", lambda v, n: v, 1e-12),
    "e": ("cvctdiff", "conviction", lambda v, n: np.abs(v - 1), 1e-12),
    "r": ("cvctquot", "conviction", lambda v, n: quotient(v), 1e-12),
    "k": ("cprob", "relative_risk", lambda v, n: v, 1e-12),
    "j": ("import", "relative_risk", lambda v, n: np.log2(v), 1e-12),  # without Laplace's corrections, in bits
    "z": ("cert", "certainty_factor", lambda v, n: v, 1e-12),
    "n": ("chi2", "chi_squared", lambda v, n: v / n, 1e-12),
    "p": ("chi2pval", "chi_squared", lambda v, n: chi2.sf(v, 1), 1e-12),
    "i": ("info", "mutual_information", lambda v, n: v / np.log(2), 1e-12),  # in bits
    "g": ("infopval", "g2", lambda v, n: chi2.sf(v, 1), 1e-9),
    "s": ("fetsupp", "fisher", lambda v, n: v, 1e-9),  # theirs is 1 - (a sum), and may come out negative
}
"""By code of ``eval``: PyFIM's name, ours, what is done to ours, and the absolute error that is PyFIM's rounding.

Left out: b (ldratio), which is 0 for rules; y and t, with Yates' correction; f, h and m, two-sided exact tests.
"""
LOWER_IS_BETTER = "pgs"


@pytest.mark.parametrize("code", PYFIM, ids=[name for name, *_ in PYFIM.values()])
@sources(generated=0.01, groceries=0.003, mushroom=0.3)
def test_pyfim(load: Load, min_support: float, code: str) -> None:
    fim = pytest.importorskip("fim")
    data = load()
    _, name, change, absolute = PYFIM[code]
    rules = fim.arules(
        [list(record) for record in data],
        supp=100 * min_support,
        conf=1,
        zmin=2,
        zmax=3,
        report="abhe",
        eval=code,
        thresh=1e9 if code in LOWER_IS_BETTER else -1e9,
    )
    assert len(rules) > 1000
    values = np.array([rule[2:] for rule in rules])
    x, a, c = values[:, :3].astype(int).T
    n = data.n_records
    table = Contingency.of_counts(x, a, c, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        ours = change(CATALOGUE[name](table), n)
    decided = np.isfinite(CATALOGUE[name](table))  # of empty cells PyFIM has its own conventions
    assert decided.mean() > 0.4
    assert ours[decided] == pytest.approx(values[decided, 3], rel=1e-9, abs=absolute)
