"""Errors of an itemset and of its subsets together, where one coin decides about a whole record.

A report of :class:`~bosket.GammaDiagonal` that shows an itemset shows all its subsets, so their estimates err together.
With b_A = (1 - kappa) / (number of combinations of A's attributes), Pr(A shown | t) = b_A + kappa [A in t], and

    Cov(w_A, w_B | t) = (Pr(A u B shown | t) - Pr(A shown | t) Pr(B shown | t)) / kappa^2

summed over people.  The probabilities that all subsets are kept, and that the itemset then is listed or kept itself,
are those of a normal law of 2^k - 1 estimates, over a fixed lattice of points (an additive recurrence).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from bosket.counting.base import ItemsetRows
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.statistics.estimates import Floats

_POINTS = 4096
_PIECE = 64  # itemsets at once
_JITTER = 1e-10


@dataclass(frozen=True)
class Together:
    """Probabilities that all subsets of an itemset are kept, and then that it reaches the limit, and is kept."""

    looked_at: Floats
    reaches: Floats
    kept: Floats


@lru_cache(maxsize=8)
def _lattice(dimensions: int) -> Floats:
    """Standard normal points: shape (dimensions, points)."""
    root = 2.0
    for _ in range(60):  # of x^(d + 1) = x + 1
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1, dimensions + 1)
    cube = (0.5 + np.arange(1, _POINTS + 1)[None, :] * steps[:, None]) % 1.0
    points: Floats = ndtri(cube)
    points.flags.writeable = False
    return points


def together(
    channel: GammaDiagonalChannel, rows: ItemsetRows, shares: Floats, *, people: int, limit: float, slack: float
) -> Together:
    """``shares`` are the shares of people by the pattern of each itemset that they have: shape (n, 2**k)."""
    k = rows.shape[1]
    n_masks = (1 << k) - 1
    masks, patterns = np.arange(1, 1 << k), np.arange(1 << k)
    holds = (patterns[None, :] & masks[:, None]) == masks[:, None]  # by mask and pattern
    union = (masks[:, None] | masks[None, :]) - 1
    looked_at, reaches, kept = (np.empty(len(rows)) for _ in range(3))
    for start in range(0, len(rows), _PIECE):
        part = slice(start, start + _PIECE)
        own = shares[part]
        chance = np.stack(
            [channel.chance(np.ascontiguousarray(rows[part][:, [at for at in range(k) if mask >> at & 1]]))
             for mask in masks.tolist()], axis=1,
        )  # fmt: skip
        means = own @ holds.T
        shown = chance[:, :, None] + channel.keep * holds[None]  # by row, mask and pattern
        both = chance[:, union] + channel.keep * means[:, union]
        product = np.einsum("rap,rbp,rp->rab", shown, shown, own)
        covariance = (both - product) / channel.keep**2 / people
        error = np.sqrt(np.maximum(np.einsum("raa->ra", covariance), 1e-300))
        correlation = covariance / error[:, :, None] / error[:, None, :] + _JITTER * np.eye(n_masks)
        points = np.linalg.cholesky(correlation) @ _lattice(n_masks)
        away = (means - limit) / error  # an estimate reaches the limit where a point is above - away
        is_kept = points >= -(away + slack)[:, :, None]
        subsets = is_kept[:, :-1].all(axis=1)
        looked = subsets.mean(axis=1)
        looked_at[part] = looked
        safe = np.maximum(looked, 1e-300)
        reaches[part] = (subsets & (points[:, -1] >= -away[:, -1:])).mean(axis=1) / safe
        kept[part] = (subsets & is_kept[:, -1]).mean(axis=1) / safe
    return Together(looked_at, reaches, kept)
