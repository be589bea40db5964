"""Measures of k things at once, by their 2^k table.

Guo, Guo and Wu (2007), section 3.1: chi-square (Eq. 4), interest, IS (cosine), PS and Jaccard extend to more than two
items.  With p_u the fraction of records that show pattern u (bit j for thing j), m_j the share that has thing j, and
e_u the product of m_j over the things in u and of 1 - m_j over the others:

    chi_squared   n sum over u of (p_u - e_u)^2 / e_u
    lift          p_full / product of m_j                       interest
    leverage      p_full - product of m_j                       Piatetsky-Shapiro
    cosine        p_full / (product of m_j)^(1/k)               IS, over the geometric mean
    jaccard       p_full / (1 - p_none)

For k = 2 they are the measures of rules.  Gradients are by the cells p_u, up to a constant, which makes no difference:
cells sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bosket.measures.measure import Scale
from bosket.measures.table import Array
from bosket.statistics.estimates import Floats


@dataclass(frozen=True)
class ManyWay:
    """A measure of k things: value and gradient of tables with cells on the last axis, of n records."""

    name: str
    value: Callable[[Array, float], Array]
    gradient: Callable[[Floats, float], Floats]
    scale: Scale
    is_dependence: bool
    """Whether it is 0, and flat, at independence."""


def margins(cells: Array) -> Array:
    """The share that has each thing: k on the last axis."""
    return np.stack([cells[..., _has(cells, j)].sum(axis=-1) for j in range(_things(cells))], axis=-1)


def _things(cells: Array) -> int:
    return int(cells.shape[-1]).bit_length() - 1


def _has(cells: Array, j: int) -> Array:
    """The patterns with thing j."""
    return (np.arange(cells.shape[-1]) >> j & 1).astype(bool)


def _expected(cells: Array) -> Array:
    share = margins(cells)
    result = np.ones_like(cells)
    for j in range(_things(cells)):
        result = result * np.where(_has(cells, j), share[..., j, None], 1 - share[..., j, None])
    return result


def _chi_squared(cells: Array, n: float) -> Array:
    expected = _expected(cells)
    result: Array = n * ((cells - expected) ** 2 / expected).sum(axis=-1)
    return result


def _chi_squared_gradient(cells: Floats, n: float) -> Floats:
    """2 p_v / e_v - sum over j of the sum of p_u^2 / e_u over the u with u_j = v_j, over the share of v_j."""
    expected, share = _expected(cells), margins(cells)
    squares = cells**2 / expected
    result: Floats = 2 * cells / expected
    for j in range(_things(cells)):
        has = _has(cells, j)
        present, absent = squares[..., has].sum(axis=-1) / share[..., j], squares[..., ~has].sum(axis=-1)
        result = result - np.where(has, present[..., None], (absent / (1 - share[..., j]))[..., None])
    return n * result


def _of_full(cells: Array, power: float) -> Array:
    """p_full over the product of the shares to a power."""
    result: Array = cells[..., -1] / margins(cells).prod(axis=-1) ** power
    return result


def _of_full_gradient(cells: Floats, power: float) -> Floats:
    value, share = _of_full(cells, power), margins(cells)
    result = np.zeros_like(cells)
    for j in range(_things(cells)):
        result -= np.where(_has(cells, j), (power * value / share[..., j])[..., None], 0.0)
    result[..., -1] += 1 / share.prod(axis=-1) ** power
    return result


def _leverage_gradient(cells: Floats, n: float) -> Floats:
    share = margins(cells)
    product = share.prod(axis=-1)
    result = np.zeros_like(cells)
    for j in range(_things(cells)):
        result -= np.where(_has(cells, j), (product / share[..., j])[..., None], 0.0)
    result[..., -1] += 1.0
    return result


def _jaccard_gradient(cells: Floats, n: float) -> Floats:
    union = 1 - cells[..., 0]
    result = np.zeros_like(cells)
    result[..., 0] = cells[..., -1] / union**2
    result[..., -1] = 1 / union
    return result


def noise_of_squares(cells: Floats, variances: Floats, n: float) -> Floats:
    """About how much of chi-square is noise: n times the sum over cells of Var(p_u) / e_u, which bounds its bias.

    Of k things there are 2^k - k - 1 squares, and noise alone makes each of them positive.
    """
    result: Floats = n * (np.maximum(variances, 0.0) / _expected(cells)).sum(axis=-1)
    return result


MANY_WAY: dict[str, ManyWay] = {
    record.name: record
    for record in (
        ManyWay("chi_squared", _chi_squared, _chi_squared_gradient, Scale.ROOT, is_dependence=True),
        ManyWay(
            "lift",
            lambda cells, n: _of_full(cells, 1.0),
            lambda cells, n: _of_full_gradient(cells, 1.0),
            Scale.LOG,
            False,
        ),
        ManyWay(
            "leverage",
            lambda cells, n: cells[..., -1] - margins(cells).prod(axis=-1),
            _leverage_gradient,
            Scale.LINEAR,
            False,
        ),
        ManyWay(
            "cosine",
            lambda cells, n: _of_full(cells, 1 / _things(cells)),
            lambda cells, n: _of_full_gradient(cells, 1 / _things(cells)),
            Scale.LOG,
            False,
        ),
        ManyWay("jaccard", lambda cells, n: cells[..., -1] / (1 - cells[..., 0]), _jaccard_gradient, Scale.LOG, False),
    )
}
"""By canonical name."""
