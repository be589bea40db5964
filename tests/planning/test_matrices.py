"""Errors of any matrix, foreseen: those of gamma-diagonal in closed form, the general covariance, simulated studies."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.mechanisms.matrix import marginal_cells
from bosket.planning import MatrixForesight, foresee, independent
from tests.stats import assert_plausible, assert_rejected, binomial

TABLE = bk.TableDomain([bk.Attribute("a", ["x", "y"]), bk.Attribute("b", ["u", "v", "w"])])
THREE = bk.TableDomain([*TABLE.attributes, bk.Attribute("c", ["m", "n"])])
RULE: dict[str, Any] = {"support": 0.5, "confidence": 0.4}


def nobodys(n_cells: int) -> bk.Matrix:
    """A matrix that is no mechanism's."""
    entries = 2 * np.eye(n_cells) + np.random.default_rng(3).random((n_cells, n_cells))
    return bk.Matrix(entries / entries.sum(axis=0))


def combinations_of(domain: bk.TableDomain, k: int) -> list[list[tuple[int, ...]]]:
    """Itemsets by set of attributes."""
    offsets, sizes = domain.offsets.tolist(), domain.sizes.tolist()
    return [
        list(product(*(range(offsets[at], offsets[at] + sizes[at]) for at in chosen)))
        for chosen in combinations(range(len(sizes)), k)
    ]


@pytest.mark.parametrize("domain", [TABLE, THREE], ids=["two", "three"])
def test_gamma_diagonal_is_the_closed_form(domain: bk.TableDomain) -> None:
    mechanism = bk.GammaDiagonal(gamma=7)
    seen = foresee(bk.Matrix.of(mechanism, domain), domain, people=2000)
    known = foresee(mechanism, domain, people=2000)
    assert isinstance(seen, MatrixForesight)
    for k in range(1, len(domain.attributes) + 1):
        for support in (0.0, 0.1, 0.4):
            assert seen.stderr(k, support) ** 2 == pytest.approx(known.stderr(k, support) ** 2, rel=1e-6)
        assert seen.lowest_support(k) == pytest.approx(known.lowest_support(k), rel=1e-6)
    assert seen.deepest(0.9) == known.deepest(0.9)
    assert seen.people_for(2, 0.1, stderr=0.01) == known.people_for(2, 0.1, stderr=0.01)
    assert seen.stderr(4, 0.1) == math.inf
    assert seen.lowest_support(4) == math.inf
    assert seen.power(2, 2, **RULE, min_support=0.1, min_confidence=0.1) == 0.0


def test_rules_of_gamma_diagonal_are_those_of_its_plan() -> None:
    """Attributes of one number of values, so that every rule is as any other."""
    domain = bk.TableDomain([bk.Attribute(name, ["x", "y"]) for name in "abc"])
    mechanism = bk.GammaDiagonal(gamma=7)
    seen, known = foresee(bk.Matrix.of(mechanism, domain), domain, people=900), foresee(mechanism, domain, people=900)
    for a, b in ((1, 1), (2, 1), (1, 2)):
        one, other = (each.rule_covariance(a, b, **RULE) for each in (seen, known))
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(one, other, rtol=1e-6)
        limits: dict[str, Any] = {"min_support": 0.18, "min_confidence": 0.3}
        assert seen.power(a, b, **RULE, **limits) == pytest.approx(known.power(a, b, **RULE, **limits), abs=1e-6)
        assert seen.lowest_confidence(a, b, support=0.9, times=0.5) == pytest.approx(
            known.lowest_confidence(a, b, support=0.9, times=0.5), abs=1e-5, nan_ok=True
        )


def law_of_rule(domain: bk.TableDomain, itemset: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Shares of cells where items are independent as the rule says, those with as many of either side alike."""
    has = np.stack([marginal_cells(domain, (item,)) for item in itemset])
    overlaps = independent(1, len(itemset) - 1, **RULE)
    kinds = has[0].astype(int), has[1:].sum(axis=0)
    number = np.zeros_like(overlaps)
    np.add.at(number, kinds, 1)
    return np.asarray((overlaps / number)[kinds])


def test_rules_of_any_matrix_have_its_general_covariance() -> None:
    """By FRAPP's covariance of all cells at the law of the rule, over all pairs of values."""
    matrix, people = nobodys(12), 700
    seen = foresee(matrix, THREE, people=people)
    sets = []
    for every in combinations_of(THREE, 2):
        found = []
        for itemset in every:
            whole = matrix.variance(people * law_of_rule(THREE, itemset))
            cells = np.stack([marginal_cells(THREE, itemset), marginal_cells(THREE, itemset[:1])]).astype(float)
            found.append(cells @ whole @ cells.T / people**2)
        sets.append(np.mean(found, axis=0))
    covariance = seen.rule_covariance(1, 1, **RULE)
    assert covariance is not None
    np.testing.assert_allclose(covariance, np.mean(sets, axis=0), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_errors_come_out_in_studies(k: int) -> None:
    """Of a matrix that is nobody's mechanism, with cells in equal shares; 400 studies, seven standard errors."""
    matrix, people, studies = nobodys(12), 1200, 400
    seen = foresee(matrix, THREE, people=people)
    rng = np.random.default_rng(3)
    counts = sum(rng.multinomial(people // 12, matrix.entries[:, cell], studies) for cell in range(12))
    estimates = counts @ np.linalg.inv(matrix.entries).T / people
    came, foreseen = [], []
    for every in combinations_of(THREE, k):
        for itemset in every:
            cells = marginal_cells(THREE, itemset)
            having, lacking = seen._of(cells[None, :])
            share = cells.mean()
            came.append(estimates[:, cells].sum(axis=1).var(ddof=1))
            foreseen.append((having * share + lacking * (1 - share)) / people)
    assert np.mean(came) == pytest.approx(np.mean(foreseen), rel=7 * math.sqrt(2 / (studies - 1)))
    if k == 3:  # itemsets of one support
        assert seen.stderr(3, 1 / 12) ** 2 == pytest.approx(np.mean(foreseen), rel=1e-9)


def test_the_chance_to_find_a_rule_comes_out() -> None:
    """Of 2000 studies of one rule in a table of two cells each side: within 0.05 of what is foreseen, which is 4.5
    standard errors, and no more than 1e-9 unlikely; half the chance is."""
    domain = bk.TableDomain([bk.Attribute("a", ["x", "y"]), bk.Attribute("b", ["u", "v"])])
    matrix, people, studies = bk.Matrix.of(bk.GammaDiagonal(gamma=6), domain), 400, 2000
    seen = foresee(matrix, domain, people=people)
    limits: dict[str, Any] = {"min_support": 0.17, "min_confidence": 0.35}
    foreseen = seen.power(1, 1, **RULE, **limits)
    law = law_of_rule(domain, (1, 3))
    rng = np.random.default_rng(5)
    numbers = np.rint(law * people).astype(int)
    counts = sum(rng.multinomial(number, matrix.entries[:, cell], studies) for cell, number in enumerate(numbers))
    estimates = counts @ matrix.inverse.T / people
    both, left = (estimates[:, marginal_cells(domain, one)].sum(axis=1) for one in ((1, 3), (1,)))
    found = int(((both >= limits["min_support"]) & (both >= limits["min_confidence"] * left)).sum())
    assert found / studies == pytest.approx(foreseen, abs=0.05)
    assert_plausible(binomial(found, studies, foreseen))
    assert_rejected(binomial(found, studies, foreseen / 2))


def test_what_is_no_table_of_the_matrix_is_refused() -> None:
    for wrong in (
        lambda: MatrixForesight(bk.Matrix(np.eye(4)), TABLE, people=10),
        lambda: foresee(bk.Matrix(np.eye(4)), TABLE, people=10),
        lambda: foresee(bk.Matrix(np.eye(4)), bk.Domain(range(2)), people=10),  # type: ignore[call-overload]  # wrong
        lambda: foresee(bk.Matrix(np.eye(6)), TABLE, people=10, sizes={2: 1.0}),  # type: ignore[call-overload]  # wrong
        lambda: foresee(bk.Matrix(np.eye(6)), people=10),
    ):
        with pytest.raises(bk.ParameterError):
            wrong()


def test_records_that_no_report_tells_apart_are_not_seen() -> None:
    seen = foresee(bk.Matrix(np.full((6, 6), 1 / 6)), TABLE, people=10**6)
    assert seen.stderr(1, 0.5) == math.inf
    assert seen.power(1, 1, **RULE, min_support=0.1, min_confidence=0.1) == 0.0
    assert seen.deepest(0.9) == 0
