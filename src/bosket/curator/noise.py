"""Noise for counts, from OpenDP: the two-sided geometric law, sampled exactly, never from floating-point numbers.

Zeng, Naughton and Cai (2012), Theorem 1: adding to counts of L1 sensitivity s noise with Pr(z) ~ exp(-epsilon |z| / s)
is epsilon-differentially private.  OpenDP proves and computes what its measurement costs; we choose the scale so that
this is no more than was paid.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, check_positive
from bosket.errors import BosketError

Counts = npt.NDArray[np.int64]

_MARGIN = 1 - 1e-12  # a budget is kept in decimals, and parts of it are rounded: no part may cost a hair more


@lru_cache(maxsize=1)
def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise BosketError("OpenDP is not installed.", hint="pip install 'bosket[dp]'") from None
    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=64)
def _measurement(epsilon: float, sensitivity: int) -> tuple[Any, float]:
    """A measurement of vectors of counts and its scale."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = sensitivity / (epsilon * _MARGIN)
    measurement = dp.m.make_laplace(*space, scale=scale)
    while measurement.map(sensitivity) > epsilon * _MARGIN:
        scale = math.nextafter(scale, math.inf)
        measurement = dp.m.make_laplace(*space, scale=scale)
    return measurement, scale


def scale_of(epsilon: float, sensitivity: int) -> float:
    """The scale of the noise: Pr(z) ~ exp(-|z| / scale)."""
    return _measurement(check_positive("epsilon", epsilon), check_integer("sensitivity", sensitivity, least=1))[1]


def noisy(counts: npt.ArrayLike, *, epsilon: float, sensitivity: int) -> Counts:
    """Counts with noise that makes them epsilon-differentially private, if one neighbour moves their sum of absolute
    differences by at most ``sensitivity``.
    """
    measurement, _ = _measurement(
        check_positive("epsilon", epsilon), check_integer("sensitivity", sensitivity, least=1)
    )
    values = np.asarray(counts, np.int64)
    return np.array(measurement(values.tolist()), np.int64).reshape(values.shape) if values.size else values.copy()
