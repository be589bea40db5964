"""Noise for counts, from OpenDP: the two-sided geometric law, sampled exactly, never from floating-point numbers.

Zeng, Naughton and Cai (2012), Theorem 1: adding to counts of L1 sensitivity s noise with Pr(z) ~ exp(-epsilon |z| / s)
is epsilon-differentially private.  OpenDP proves and computes what its measurement costs; we choose the scale so that
this is no more than was paid.  OpenDP also composes them: inside :func:`composed` every count goes through its privacy
filter, which refuses whatever would take the sum beyond the epsilon declared for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, check_positive
from bosket.errors import BosketError, BudgetExceeded

T = TypeVar("T")
Counts = npt.NDArray[np.int64]

_PATIENCE = 0.2  # seconds
_MARGIN = 1 - 1e-12  # a budget is kept in decimals, and parts of it are rounded: no part may cost a hair more


@dataclass
class _Composition:
    admit: Any
    """OpenDP's filter."""
    left: float


_composition: ContextVar[_Composition | None] = ContextVar("composition", default=None)


@lru_cache(maxsize=1)
def opendp() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise BosketError("OpenDP is not installed.", hint="pip install 'bosket[dp]'") from None
    dp.enable_features("contrib", "honest-but-curious")  # the latter to state sensitivities of our own
    return dp


@lru_cache(maxsize=1)
def _counts() -> Any:
    """Vectors of counts, and how far apart two of them are."""
    dp = opendp()
    return dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")


@lru_cache(maxsize=1)
def _records() -> Any:
    """Data sets, and how far apart two of them are: 1 if they are neighbours."""
    dp = opendp()
    return dp.user_domain("records", lambda value: True), dp.user_distance("steps from neighbour to neighbour")


@contextmanager
def composed(epsilon: float) -> Iterator[None]:
    """All counts inside cost ``epsilon`` together: OpenDP's filter refuses, before anything is drawn, what costs more.

    Rogers, Roth, Ullman and Vadhan (2016): what is asked next, and for how much, may depend on what was answered.
    """
    dp = opendp()
    odometer = dp.c.make_fully_adaptive_composition(*_records(), dp.max_divergence())
    admit = dp.c.make_privacy_filter(odometer, d_in=1, d_out=check_positive("epsilon", epsilon))
    token = _composition.set(_Composition(admit(None), epsilon))
    try:
        yield
    finally:
        _composition.reset(token)


@lru_cache(maxsize=64)
def _measurement(epsilon: float, sensitivity: int) -> tuple[Any, float]:
    """A measurement of vectors of counts and its scale."""
    dp, space = opendp(), _counts()
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
    if not values.size:
        return values.copy()
    drawn = answering_interrupts(partial(_drawn, values.ravel(), measurement, sensitivity))
    return np.array(drawn, np.int64).reshape(values.shape)


def answering_interrupts(work: Callable[[], T]) -> T:
    """What ``work`` returns, done on a thread of its own: Ctrl-C is answered at once, where OpenDP would draw on.

    What is left undone then goes on unheard, and ends with the process.
    """
    result: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            result.set_result(context.run(work))
        except BaseException as problem:  # noqa: BLE001 - it is raised again where somebody waits for it
            result.set_exception(problem)

    Thread(target=run, daemon=True).start()
    while not wait([result], timeout=_PATIENCE).done:
        pass  # a signal may reach another thread, and is answered here
    return result.result()


def _drawn(counts: Counts, measurement: Any, sensitivity: int) -> Any:
    composition = _composition.get()
    if composition is None:
        return measurement(counts)
    dp = opendp()
    count = dp.t.make_user_transformation(
        *_records(), *_counts(), lambda records: counts, lambda distance: distance * sensitivity
    )
    asked = measurement.map(sensitivity)
    try:
        result = composition.admit(count >> measurement)
    except dp.OpenDPException as problem:  # what it says is about budgets, never about counts
        raise BudgetExceeded(
            "What was to be looked at next costs more than is left of the epsilon that was declared.",
            name="composition", asked=(asked, 0.0), remaining=(composition.left, 0.0),
        ) from problem  # fmt: skip
    composition.left -= asked
    return result
