"""Noise for counts, from OpenDP: the two-sided geometric law, sampled exactly, never from floating-point numbers.

Zeng, Naughton and Cai (2012), Theorem 1: adding to counts of L1 sensitivity s noise with Pr(z) ~ exp(-epsilon |z| / s)
is epsilon-differentially private.  OpenDP proves and computes what its measurement costs; we choose the scale so that
this is no more than was paid.  OpenDP also composes them: every count of the curator goes through the privacy filter of
a :class:`Composition`, which holds what was granted and refuses whatever would take the sum beyond it.

Gaussian noise is drawn on a lattice so fine that it cannot be told from a normal variable that was rounded to it: then
what a release costs in all follows the curve of one Gaussian mechanism, which is less than its rho alone would prove
(:mod:`bosket.curator.accounting`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import RLock, Thread
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bosket.checks import check_integer, check_positive
from bosket.counting.base import Counts
from bosket.errors import BosketError, BudgetExceeded, ParameterError

T = TypeVar("T")
NoisyCounts = npt.NDArray[Any]
"""Whole numbers, or, with Gaussian noise on its finer lattice, doubles."""

_PATIENCE = 0.2  # seconds
CONTRIB = "contrib"
"""The feature of OpenDP that lets what is not yet vetted be used: nearly all of it."""
_OUR_WORD = "honest-but-curious"
"""The feature that lets us state sensitivities of our own."""
_FEATURES = RLock()

FINEST = 26
"""Gaussian noise has a standard deviation of at least 2^26 steps of the lattice that it is drawn on."""
MOST_RHO = 2.0
"""Where no more is granted: distances are at least 1, so that all scales are at least 1/2."""
MOST_NUMBERS = 1 << 30
"""Of one composition with Gaussian noise."""
_LARGEST = 1 << 62  # of what noise is added to: the rest of 64 bits is for the noise

_MARGIN = 1 - 1e-12  # a budget is kept in decimals, and parts of it are rounded: no part may cost a hair more


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


@dataclass(frozen=True)
class NoiseLaw:
    """A law of noise by OpenDP: what it is called there, and in which terms privacy and distances are counted."""

    unit: str
    """What an amount of privacy is: epsilon, or rho."""
    measure: str
    maker: str
    norm: str
    number: str

    @property
    def counts(self) -> Any:
        """Vectors of counts, and how far apart two of them are."""
        return _counts(self)

    def divergence(self) -> Any:
        with allowed(CONTRIB) as dp:
            return getattr(dp, self.measure)()

    def measurement(self, amount: float, sensitivity: float) -> tuple[Any, float]:
        """A measurement of vectors of counts that costs no more than ``amount``, and its scale."""
        return _measurement(self, check_positive(self.unit, amount), self.distance(sensitivity))

    def make(self, scale: float) -> Any:
        with allowed(CONTRIB) as dp:
            return getattr(dp.m, self.maker)(*self.counts, scale=scale)

    def least_scale(self, amount: float, sensitivity: float) -> float:
        """The scale that costs this amount, up to rounding."""
        return sensitivity / amount if self.number == "i64" else sensitivity / math.sqrt(2 * amount)

    def distance(self, sensitivity: float) -> float:
        """What neighbours differ by, checked: a whole number, or one that is no smaller than 1."""
        if self.number == "i64":
            return check_integer("sensitivity", sensitivity, least=1)
        distance = check_positive("sensitivity", sensitivity)
        if distance < 1.0:
            raise ParameterError(
                f"The 'sensitivity' parameter must be 1 at least, got {distance:g}.",
                parameter="sensitivity",
                value=sensitivity,
            )
        return distance


LAPLACE = NoiseLaw("epsilon", "max_divergence", "make_laplace", "l1_distance", "i64")
"""Pr(z) ~ exp(-|z| / scale): for L1 norms, in epsilon."""
GAUSSIAN = NoiseLaw("rho", "zero_concentrated_divergence", "make_gaussian", "l2_distance", "f64")
"""Pr(z) ~ exp(-z^2 / (2 scale^2)): for L2 norms, in rho of zero-concentrated privacy (Bun and Steinke 2016; for whole
numbers Canonne, Kamath and Steinke 2020)."""


def finer(scale: float) -> int:
    """By how many bits the lattice is finer on which Gaussian noise of this scale, at least 1/2, is drawn."""
    return max(0, math.ceil(FINEST - math.log2(scale)))


@lru_cache(maxsize=2)
def _counts(law: NoiseLaw) -> Any:
    with allowed(CONTRIB) as dp:
        return dp.vector_domain(dp.atom_domain(T="i64")), getattr(dp, law.norm)(T=law.number)


@lru_cache(maxsize=1)
def _records() -> Any:
    """Data sets, and how far apart two of them are: 1 if they are neighbours."""
    with allowed(_OUR_WORD) as dp:
        return dp.user_domain("records", lambda value: True), dp.user_distance("steps from neighbour to neighbour")


@lru_cache(maxsize=64)
def _measurement(law: NoiseLaw, amount: float, sensitivity: float) -> tuple[Any, float]:
    scale = law.least_scale(amount * _MARGIN, sensitivity)
    measurement = law.make(scale)
    while measurement.map(sensitivity) > amount * _MARGIN:
        scale = math.nextafter(scale, math.inf)
        measurement = law.make(scale)
    return measurement, scale


def scale_of(epsilon: float, sensitivity: int) -> float:
    """The scale of the noise: Pr(z) ~ exp(-|z| / scale)."""
    return LAPLACE.measurement(epsilon, sensitivity)[1]


class Composition:
    """An epsilon that was granted, and the only way to noisy counts for it: OpenDP's filter adds up what they cost.

    A measurement that costs more than is left is refused before anything is drawn.  What is asked next, and for how
    much, may depend on what was answered (Rogers, Roth, Ullman and Vadhan 2016; for rho Whitehouse and others 2023).

    >>> granted = Composition(1.0)
    >>> len(granted.noisy([3, 4], epsilon=1.0, sensitivity=1))
    2
    >>> granted.noisy([3, 4], epsilon=0.1, sensitivity=1)
    Traceback (most recent call last):
    ...
    bosket.errors.BudgetExceeded: What was to be measured next costs more than is left of the epsilon that was granted.
    """

    def __init__(self, amount: float, law: NoiseLaw = LAPLACE) -> None:
        """``amount`` is an epsilon, or a rho where the law is Gaussian."""
        self.law = law
        self.epsilon = check_positive(law.unit, amount)
        self.left = self.epsilon
        self._numbers = 0
        with allowed(CONTRIB) as dp:
            odometer = dp.c.make_fully_adaptive_composition(*_records(), law.divergence())
            self._admit = dp.c.make_privacy_filter(odometer, d_in=1, d_out=self.epsilon)(None)

    def noisy(self, counts: npt.ArrayLike, *, epsilon: float, sensitivity: float) -> NoisyCounts:
        """Counts with noise that costs ``epsilon`` of what was granted, in its unit, if neighbours differ by at most
        ``sensitivity``, in the norm of the law.
        """
        values, distance = np.asarray(counts, np.int64), self.law.distance(sensitivity)
        if not self._is_fine:
            measurement, _ = self.law.measurement(epsilon, distance)
            return _with_noise(values, lambda some: self._answer(some, measurement, distance))
        if self._numbers + values.size > MOST_NUMBERS:  # as many as records have items, or as settings allow: public
            raise BosketError(f"A composition with Gaussian noise is of at most {MOST_NUMBERS:,} noisy numbers.")
        bits = finer(self.scale_of(epsilon, distance))
        fine = 2**bits * distance
        measurement, _ = self.law.measurement(epsilon, fine)
        most = _LARGEST >> bits  # what is cut to it moves no farther than it did
        drawn = _with_noise(np.clip(values, -most, most) << bits, lambda some: self._answer(some, measurement, fine))
        self._numbers += values.size
        return np.asarray(drawn / 2**bits)

    @property
    def _is_fine(self) -> bool:
        """Whether noise is drawn on the finer lattice: wherever the curve of a Gaussian mechanism may be claimed."""
        return self.law == GAUSSIAN and self.epsilon <= MOST_RHO

    def scale_of(self, epsilon: float, sensitivity: float) -> float:
        """The scale of the noise that this costs."""
        return self.law.measurement(epsilon, sensitivity)[1]

    def _answer(self, counts: Counts, measurement: Any, sensitivity: float) -> Any:
        with allowed(CONTRIB, _OUR_WORD) as dp:
            count = dp.t.make_user_transformation(
                *_records(), *self.law.counts, lambda records: counts, lambda distance: distance * sensitivity
            )
            query = count >> measurement
        asked = measurement.map(sensitivity)
        try:
            result = self._admit(query)
        except dp.OpenDPException as problem:  # what it says is about budgets, never about counts
            raise BudgetExceeded(
                f"What was to be measured next costs more than is left of the {self.law.unit} that was granted.",
                name="composition", asked=(asked, 0.0), remaining=(self.left, 0.0),
            ) from problem  # fmt: skip
        finally:
            _let_go(query)
        self.left -= asked
        return result


def _let_go(made: Any) -> None:
    """Have something of OpenDP's end with its last reference, not when the garbage collector comes by.

    OpenDP casts it to a pointer, and ctypes then notes it in its own list of what must stay alive, a cycle.  The
    collector would run its ``__del__`` in whichever thread it finds, and Python drops a Ctrl-C that arrives there.
    Nothing looks through the pointer any more.
    """
    if made._objects:
        made._objects.clear()


def noisy(counts: npt.ArrayLike, *, epsilon: float, sensitivity: int) -> Counts:
    """One measurement that no composition adds up: for comparisons with other methods, which keep accounts of their
    own, and for tests.
    """
    measurement, _ = LAPLACE.measurement(epsilon, sensitivity)
    return _with_noise(counts, measurement)


def _with_noise(counts: npt.ArrayLike, answer: Callable[[Counts], Any]) -> Counts:
    values = np.asarray(counts, np.int64)
    if not values.size:
        return values.copy()
    drawn = answering_interrupts(partial(answer, values.ravel()))
    return np.array(drawn, np.int64).reshape(values.shape)


def answering_interrupts(work: Callable[[], T]) -> T:
    """What ``work`` returns, done on a thread of its own: Ctrl-C is answered at once, where OpenDP would draw on.

    What is left undone then goes on unheard, and ends with the process.
    """
    result: Future[T] = Future()
    Thread(target=_fulfil, args=(result, work), daemon=True).start()
    while not wait([result], timeout=_PATIENCE).done:
        pass  # a signal may reach another thread, and is answered here
    try:
        return result.result()
    finally:
        del result  # an error holds this frame, and would hold itself with it


def _fulfil(result: Future[T], work: Callable[[], T]) -> None:
    try:
        result.set_result(work())
    except BaseException as problem:  # noqa: BLE001 - it is raised again where somebody waits for it
        result.set_exception(problem)
        del result
