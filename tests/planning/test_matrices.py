"""Errors of any matrix, foreseen: those of gamma-diagonal in closed form, and those of simulated studies."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bosket as bk
from bosket.planning import MatrixForesight, foresee

TABLE = bk.TableDomain([bk.Attribute("a", ["x", "y"]), bk.Attribute("b", ["u", "v", "w"])])


def test_gamma_diagonal_is_the_closed_form() -> None:
    mechanism = bk.GammaDiagonal(gamma=7)
    seen = MatrixForesight(bk.Matrix.of(mechanism, TABLE), TABLE, people=2000)
    known = foresee(mechanism, TABLE, people=2000)
    for k in (1, 2):
        for support in (0.0, 0.1, 0.4):
            assert seen.stderr(k, support) ** 2 == pytest.approx(known.stderr(k, support) ** 2, rel=1e-6)
        assert seen.lowest_support(k) == pytest.approx(known.lowest_support(k), rel=1e-6)
    assert seen.deepest(0.9) == known.deepest(0.9)
    assert seen.people_for(2, 0.1, stderr=0.01) == known.people_for(2, 0.1, stderr=0.01)
    assert seen.stderr(3, 0.1) == math.inf
    assert seen.lowest_support(3) == math.inf


def test_errors_come_out_in_studies() -> None:
    """Of a matrix that is nobody's mechanism, with cells in equal shares; 400 studies, four standard errors."""
    rng = np.random.default_rng(3)
    entries = 2 * np.eye(6) + rng.random((6, 6))
    matrix = bk.Matrix(entries / entries.sum(axis=0))
    people = 600
    seen = MatrixForesight(matrix, TABLE, people=people)
    law = np.asarray(matrix.entries)
    counts = sum(rng.multinomial(people // 6, law[:, cell], 400) for cell in range(6))
    estimates = counts @ np.linalg.inv(law).T / people
    for k, cells in ((1, [[0, 1, 2], [3, 4, 5], [0, 3], [1, 4], [2, 5]]), (2, [[at] for at in range(6)])):
        seen_square = np.mean([estimates[:, one].sum(axis=1).var(ddof=1) for one in cells])
        foreseen = np.mean([_variance(seen, one) for one in cells])
        assert seen_square == pytest.approx(foreseen, rel=4 * math.sqrt(2 / 399))
        share = np.mean([len(one) / 6 for one in cells])
        if k == 2:  # itemsets of one support
            assert seen.stderr(2, float(share)) ** 2 == pytest.approx(foreseen, rel=1e-9)


def _variance(seen: MatrixForesight, cells: list[int]) -> float:
    chosen = np.isin(np.arange(6), cells).astype(float)
    having, lacking = seen._of(chosen)
    share = len(cells) / 6
    return (having * share + lacking * (1 - share)) / seen.people


def test_another_table_is_refused() -> None:
    with pytest.raises(bk.ParameterError):
        MatrixForesight(bk.Matrix(np.eye(4)), TABLE, people=10)
