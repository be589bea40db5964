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
from threading import RLock, Thread
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, check_positive
from bosket.errors import BosketError, BudgetExceeded

T = TypeVar("T")
Counts = npt.NDArray[np.int64]

_PATIENCE = 0.2  # seconds
CONTRIB = "contrib"
"""The feature of OpenDP that lets what is not yet vetted be used: nearly all of it."""
_OUR_WORD = "honest-but-curious"
"""The feature that lets us state sensitivities of our own."""
_FEATURES = RLock()

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
    return dp


@contextmanager
def allowed(*features: str) -> Iterator[Any]:
    """The library with these of its features on; afterwards those are off again that were off before.

    OpenDP keeps its features for the whole process and asks for them when something is made, not when it is used.  So
    they are on for moments, one thread at a time; what the rest of the program may do stays its own decision.
    """
    dp = opendp()
    from opendp.mod import GLOBAL_FEATURES

    with _FEATURES:
        missing = [feature for feature in features if feature not in GLOBAL_FEATURES]
        dp.enable_features(*missing)
        try:
            yield dp
        finally:
            dp.disable_features(*missing)


@lru_cache(maxsize=1)
def _counts() -> Any:
    """Vectors of counts, and how far apart two of them are."""
    with allowed(CONTRIB) as dp:
        return dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")


@lru_cache(maxsize=1)
def _records() -> Any:
    """Data sets, and how far apart two of them are: 1 if they are neighbours."""
    with allowed(_OUR_WORD) as dp:
        return dp.user_domain("records", lambda value: True), dp.user_distance("steps from neighbour to neighbour")


@contextmanager
def composed(epsilon: float) -> Iterator[None]:
    """All counts inside cost ``epsilon`` together: OpenDP's filter refuses, before anything is drawn, what costs more.

    Rogers, Roth, Ullman and Vadhan (2016): what is asked next, and for how much, may depend on what was answered.
    """
    with allowed(CONTRIB) as dp:
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
    scale = sensitivity / (epsilon * _MARGIN)
    with allowed(CONTRIB) as dp:
        measurement = dp.m.make_laplace(*_counts(), scale=scale)
        while measurement.map(sensitivity) > epsilon * _MARGIN:
            scale = math.nextafter(scale, math.inf)
            measurement = dp.m.make_laplace(*_counts(), scale=scale)
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
    with allowed(CONTRIB, _OUR_WORD) as dp:
        count = dp.t.make_user_transformation(
            *_records(), *_counts(), lambda records: counts, lambda distance: distance * sensitivity
        )
        query = count >> measurement
    asked = measurement.map(sensitivity)
    try:
        result = composition.admit(query)
    except dp.OpenDPException as problem:  # what it says is about budgets, never about counts
        raise BudgetExceeded(
            "What was to be looked at next costs more than is left of the epsilon that was declared.",
            name="composition", asked=(asked, 0.0), remaining=(composition.left, 0.0),
        ) from problem  # fmt: skip
    composition.left -= asked
    return result
