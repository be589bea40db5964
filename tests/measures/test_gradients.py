"""Gradients against complex steps, and complex steps against differences in hundred digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from bosket.measures import CATALOGUE, Measure
from tests.measures.definitions import Counts
from tests.measures.tables import counts, of_supports, random_cells

STEP = 1e-30
SMOOTH = [record for record in CATALOGUE.values() if record.gradient is not None]

Floats = npt.NDArray[np.float64]


def supports(cells: Floats) -> list[Floats]:
    pi = cells / cells.sum(-1, keepdims=True)
    return [pi[:, 0], pi[:, 0] + pi[:, 1], pi[:, 0] + pi[:, 2]]


def by_complex_step(record: Measure, at: list[Floats], n: float) -> Floats:
    """Im f(s + ih) / h for each support s: no difference is taken, so no digits are lost."""
    slopes = []
    for which in range(3):
        moved = [part + (1j * STEP if which == other else 0j) for other, part in enumerate(at)]
        slopes.append(record(of_supports(*moved, n=n)).imag / STEP)
    return np.array(slopes)


def by_formula(record: Measure, at: list[Floats], n: float) -> Floats:
    assert record.gradient is not None
    return np.array([slope + np.zeros_like(at[0]) for slope in record.gradient(of_supports(*at, n=n))])


def assert_alike(record: Measure, at: list[Floats], n: float) -> None:
    expected = by_complex_step(record, at, n)
    size = np.abs(expected).max(axis=0)  # terms that cancel in one derivative are of the size of the others
    assert np.isfinite(expected).all()
    rounding = 1e-15 * n  # where all three are 0: at independence, or off the corners of lambda
    assert np.all(np.abs(by_formula(record, at, n) - expected) <= 1e-8 * size + rounding), record.name


@pytest.mark.parametrize("record", SMOOTH, ids=[record.name for record in SMOOTH])
def test_on_all_sorts_of_tables(record: Measure) -> None:
    cells = np.maximum(random_cells(5000, seed=3), 1e-5)
    at = supports(cells)
    for n in (1.0, 12_345.0):
        assert_alike(record, at, n)


@given(counts)
def test_on_counts(t: Counts) -> None:
    """With ties among them, where |a - c| and the larger side have a corner: there both take the same side."""
    at = supports(np.array([[t.n11, t.n10, t.n01, t.n00]], float))
    for record in SMOOTH:
        assert_alike(record, at, float(t.n))


def information(x: Decimal, a: Decimal, c: Decimal) -> Decimal:
    pairs = ((x, a * c), (a - x, a * (1 - c)), (c - x, (1 - a) * c), (1 - a - c + x, (1 - a) * (1 - c)))
    return sum((pi * (pi / expected).ln() for pi, expected in pairs), Decimal(0))


@pytest.mark.parametrize("point", [("0.12", "0.3", "0.25"), ("0.0001", "0.4", "0.01"), ("0.3", "0.31", "0.95")])
def test_complex_steps_are_derivatives(point: tuple[str, str, str]) -> None:
    """Central differences of mutual information with steps of 1e-30 in 100 digits have an error of 1e-60."""
    at = [Decimal(text) for text in point]
    found = by_complex_step(CATALOGUE["mutual_information"], [np.array([float(part)]) for part in at], 1.0)[:, 0]
    with localcontext() as context:
        context.prec = 100
        h = Decimal(10) ** -30
        for which in range(3):
            up, down = (
                information(*(part + sign * h if other == which else part for other, part in enumerate(at)))
                for sign in (1, -1)
            )
            assert found[which] == pytest.approx(float((up - down) / (2 * h)), rel=1e-10)
