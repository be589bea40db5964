"""Tables with empty cells: every measure on every pattern of them, decided once."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from bosket.measures import CATALOGUE
from tests.measures.definitions import DEFINITIONS, EXACT_TESTS, Counts
from tests.measures.tables import of_cells, of_counts

EXPECTED = """
                             x---  -x--  --x-  ---x   xx--  x-x-  x--x  -xx-  -x-x  --xx   xxx-  xx-x  x-xx  -xxx
antecedent support              r     r     r     r      r     r     r     r     r     r      r     r     r     r
consequent support              r     r     r     r      r     r     r     r     r     r      r     r     r     r
support                         r     r     r     r      r     r     r     r     r     r      r     r     r     r
confidence                      r     r   nan   nan      r     r     r     r     r   nan      r     r     r     r
lift                            r   nan   nan   nan      r     r     r     r   nan   nan      r     r     r     r
representativity                r     r     r     r      r     r     r     r     r     r      r     r     r     r
leverage                        r     r     r     r      r     r     r     r     r     r      r     r     r     r
conviction                    inf     r   nan   nan      r   inf   inf     r     r   nan      r     r   inf     r
zhangs_metric                   0     0     0     0      0     r     r     r     0     0      r     r     r     r
jaccard                         r     r     r   nan      r     r     r     r     r     r      r     r     r     r
certainty                       0     r     0   nan      r     0     r     r     r   nan      r     r     r     r
kulczynski                      r   nan   nan   nan      r     r     r     r   nan   nan      r     r     r     r
count                           r     r     r     r      r     r     r     r     r     r      r     r     r     r
cosine                          r     0     0   nan      r     r     r     r     0     0      r     r     r     r
all_confidence                  r     0     0   nan      r     r     r     r     0     0      r     r     r     r
max_confidence                  r   nan   nan   nan      r     r     r     r   nan   nan      r     r     r     r
imbalance                       r     r     r   nan      r     r     r     r     r     r      r     r     r     r
laplace                         r     r     r     r      r     r     r     r     r     r      r     r     r     r
certainty_factor                0     r   nan   nan      r     0     r     r     r   nan      r     r     r     r
added_value                     r     r   nan   nan      r     r     r     r     r   nan      r     r     r     r
klosgen                         r     r     0     0      r     r     r     r     r     0      r     r     r     r
difference_of_confidence      nan   nan   nan   nan    nan     r     r     r     r   nan      r     r     r     r
relative_risk                 nan   nan   nan   nan    nan     r   inf     r   nan   nan      r   inf     r     r
importance                      r     r     r     r      r     r     r     r     r     r      r     r     r     r
rule_power_factor               r     r     0     0      r     r     r     r     r     0      r     r     r     r
sebag                         inf     r   nan   nan      r   inf   inf     r     r   nan      r     r   inf     r
counterexample                  r  -inf   nan   nan      r     r     r  -inf  -inf   nan      r     r     r  -inf
confirmed_confidence            r     r   nan   nan      r     r     r     r     r   nan      r     r     r     r
least_contradiction             r  -inf     r   nan      r     r     r     r  -inf     r      r     r     r     r
casual_confidence             nan     r   nan   nan      r   nan     r     r     r   nan      r     r     r     r
casual_support                  r     r     r     r      r     r     r     r     r     r      r     r     r     r
ralambondrainy                  r     r     r     r      r     r     r     r     r     r      r     r     r     r
implication_index               0     r   nan     0      r     0     r     r     r     0      r     r     r     r
varying_liaison                 r   nan   nan   nan      r     r     r     r   nan   nan      r     r     r     r
correlation                   nan   nan   nan   nan    nan   nan     r     r   nan   nan      r     r     r     r
chi_squared                   nan   nan   nan   nan    nan   nan     r     r   nan   nan      r     r     r     r
standardized_residue            r     0     0   nan      r     r     r     r     0     0      r     r     r     r
odds_ratio                    nan   nan   nan   nan    nan   nan   inf     0   nan   nan      0   inf   inf     r
yule_q                        nan   nan   nan   nan    nan   nan     1    -1   nan   nan     -1     1     1     r
yule_y                        nan   nan   nan   nan    nan   nan     1    -1   nan   nan     -1     1     1     r
kappa                         nan     r     r   nan      r     r     r     r     r     r      r     r     r     r
collective_strength           nan   nan   nan   nan      r     r   inf     r     r     r      r     r     r     r
rld                           nan   nan   nan   nan    nan   nan     r     r   nan   nan      r     r     r     r
mutual_information              r     r     r     r      r     r     r     r     r     r      r     r     r     r
g2                              0     0     0     0      0     0     r     r     0     0      r     r     r     r
uncertainty_coefficient       nan   nan   nan   nan    nan     r     r     r     r   nan      r     r     r     r
normalized_mutual_information nan   nan   nan   nan    nan   nan     r     r   nan   nan      r     r     r     r
j_measure                       r     r     0     0      r     r     r     r     r     0      r     r     r     r
gini                            0     0     0     0      0     r     r     r     r     0      r     r     r     r
goodman_kruskal_lambda        nan   nan   nan   nan      r     0     r     r     0     r      r     r     r     r
fisher                          r     r     r     r      r     r     r     r     r     r      r     r     r     r
hyper_confidence                r     r     r     r      r     r     r     r     r     r      r     r     r     r
hyper_lift                      r   nan   nan   nan      r     r     r     r   nan   nan      r     r     r     r
"""

"""The head says which of the cells 11, 10, 01 and 00 have records: in x--- all have A and C, in xx-- all have A; x--x
has the same sides, x-xx no exceptions.  r stands for what the definition by another road says, a number for
what is decided where that says nothing, or for a convention."""

_, HEAD, *LINES = EXPECTED.splitlines()
PATTERNS = HEAD.split()
ROWS = {" ".join(line.split()[:-14]): line.split()[-14:] for line in LINES}

CONVENTIONS = {
    "conviction": "mlxtend: infinite where confidence is 1, also if C is in every record",
    "zhangs_metric": "mlxtend: 0 where the denominator is 0",
    "certainty": "mlxtend: 0 where C is in every record",
    "certainty_factor": "as certainty: where C is in every record or none, nothing can be gained or lost",
    "correlation": "R, NumPy, SciPy: a constant has no correlation, though the limit is 0 if the other side varies",
    "chi_squared": "as correlation",
}
"""Measures for which some pattern does not have the limit, and who says so."""


def test_every_measure_and_every_pattern() -> None:
    assert list(ROWS) == list(CATALOGUE), "EXPECTED has a row for each measure, in the order of the catalogue"
    assert sorted(PATTERNS) == sorted({"".join(p) for p in product("x-", repeat=4)} - {"xxxx", "----"})


@pytest.mark.parametrize("numbers", [(5, 4, 7, 9), (1, 1, 1, 1), (300, 20_000, 7, 1000)])
@pytest.mark.parametrize("name", ROWS)
def test_value(name: str, numbers: tuple[int, int, int, int]) -> None:
    if name in EXACT_TESTS and sum(numbers) > 1000:
        numbers = (30, 200, 7, 100)
    for pattern, token in zip(PATTERNS, ROWS[name], strict=True):
        t = Counts(*(number if mark == "x" else 0 for number, mark in zip(numbers, pattern, strict=True)))
        expected = float(DEFINITIONS[name](t)) if token == "r" else float(token)
        value = CATALOGUE[name](of_counts(t))[0]
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), pattern


def ways_to(pattern: str, weights: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """Full tables near one with empty cells, these being filled at different rates."""
    empty = [place for place in range(4) if pattern[place] == "-"]
    ways = []
    for powers in product((1.0, 1.5, 2.0), repeat=len(empty)):
        for factors in product((1, 3), repeat=len(empty)):
            cells = np.array(weights)
            cells[empty] = [factor * 1e-7**power for factor, power in zip(factors, powers, strict=True)]
            ways.append(cells)
    return np.array(ways)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in EXACT_TESTS])
def test_limits(name: str) -> None:
    """Not a number where full tables near the pattern disagree, else their limit; or one of ``CONVENTIONS``."""
    weights, n = (5.0, 4.0, 7.0, 9.0), 25
    otherwise = []
    for pattern in PATTERNS:
        near = CATALOGUE[name](of_cells(ways_to(pattern, weights), n))
        here = CATALOGUE[name](of_cells([w * (mark == "x") for w, mark in zip(weights, pattern, strict=True)], n))
        if np.isnan(here):
            as_ruled = np.ptp(near) > 0.01
        elif np.isinf(here):
            as_ruled = (near * np.sign(here) > 1000).all()
        else:
            as_ruled = (np.abs(near - here) < 0.01 * (1 + np.abs(here))).all()
        if not as_ruled:
            otherwise.append(pattern)
    assert bool(otherwise) == (name in CONVENTIONS), otherwise
