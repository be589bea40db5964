"""A lower bound on the privacy loss of a mechanism, by running it on two neighbouring data sets many times.

If M is epsilon-differentially private, then Pr(M(D) in E) <= exp(epsilon) Pr(M(D') in E) for every event E and all
neighbours D, D'.  So an event, two neighbours and enough runs give

    epsilon >= ln(p_low / q_high)        in either direction, for the event and for its complement

with p_low and q_high the bounds of Clopper and Pearson (1934) on the two probabilities.  Four bounds are used, each of
which fails with a quarter of ``failure``, so that all that is said holds with probability 1 - ``failure``.  An event
that is chosen by looking at outputs is chosen on the first half of the runs and measured on the second.  Where a delta
is allowed, Pr(M(D) in E) <= exp(epsilon) Pr(M(D') in E) + delta, and it is taken off p_low first.

**What it proves.**  A bound above the epsilon that a mechanism claims refutes the claim, whatever the reason: a wrong
sensitivity, a step nobody paid for, faulty noise.  **What it does not.**  A bound below the claim proves nothing about
other neighbours, about other events, or about what an output leaves out (time, memory, errors); a private mechanism
is proved private on paper.  Nor can few runs show much: n of them never show more than about ln(n / ln(4 / failure)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from bosket.checks import check_between, check_integer, check_probability
from bosket.errors import ParameterError
from bosket.statistics.estimates import Floats

Data = TypeVar("Data")
Output = TypeVar("Output")
Event = Callable[[Output], bool]
"""A claim about an output, true or false."""


class Randomizer(Protocol):
    """A mechanism of the local model."""

    def randomize(self, baskets: Any) -> Any: ...


_RUNS = 2  # the least that can be halved


@dataclass(frozen=True, slots=True)
class LowerBound:
    """The privacy loss is at least ``epsilon``, unless something of probability ``failure`` has happened."""

    epsilon: float
    """0 where nothing could be shown."""
    p: float
    """The share of the outputs of the one data set in the event."""
    q: float
    """Likewise of the other."""
    trials: int
    """The runs on each data set in which the event was measured; those in which it was chosen are not among them."""
    failure: float


def distinguish(
    mechanism: Callable[[Data], Output] | Randomizer,
    one: Data,
    other: Data,
    event: Event[Output] | Sequence[Event[Output]],
    *,
    trials: int,
    failure: float = 1e-9,
    delta: float = 0.0,
) -> LowerBound:
    """How far apart a mechanism keeps two neighbouring data sets, by an event: a bound on epsilon from below.

    mechanism  a function of the data (``lambda baskets: bk.curator.mine(baskets, 1.0, 0.01)``) or a mechanism of the
               local model, whose reports are looked at; runs must be independent of each other
    one, other  neighbouring data sets, in either order
    event      what is looked for in an output, true or false; of several the best on the first half of the trials is
               measured on the second
    trials     runs on each data set
    delta      what the claim allows beside epsilon

    >>> import math, random
    >>> rng = random.Random(1)
    >>> found = distinguish(lambda truth: (rng.random() < 0.75) == truth, True, False, bool, trials=10_000)
    >>> 0.9 < found.epsilon < math.log(3)
    True
    """
    run = _runner(mechanism)
    n = check_integer("trials", trials, least=_RUNS)
    events = [event] if callable(event) else list(event)
    if not events:
        raise ParameterError("The 'event' parameter must hold an event, got none.", parameter="event", value=event)

    def observe(data: Data) -> npt.NDArray[np.bool_]:
        return np.array([[bool(claim(output)) for claim in events] for output in (run(data) for _ in range(n))])

    p, q = observe(one), observe(other)
    if len(events) == 1:
        return _bound(p[:, 0], q[:, 0], failure, delta)
    half = n // 2
    best = int(np.argmax(_losses(p[:half].sum(axis=0), q[:half].sum(axis=0), half, failure, delta)))
    return _bound(p[half:, best], q[half:, best], failure, delta)


def distinguish_by(
    mechanism: Callable[[Data], Output] | Randomizer,
    one: Data,
    other: Data,
    statistic: Callable[[Output], float],
    *,
    trials: int,
    failure: float = 1e-9,
    delta: float = 0.0,
) -> LowerBound:
    """As :func:`distinguish`, by the events "the statistic is at least t", for the best t.

    No statistic is better than the likelihood ratio (Neyman and Pearson); see :func:`laplace_ratio`.
    """
    n = check_integer("trials", trials, least=_RUNS)
    run = _runner(mechanism)
    return by_threshold(
        *([statistic(run(data)) for _ in range(n)] for data in (one, other)), failure=failure, delta=delta
    )


def _runner(mechanism: Any) -> Callable[[Any], Any]:
    """A local mechanism is run by its ``randomize``."""
    run: Callable[[Any], Any] = getattr(mechanism, "randomize", mechanism)
    if not callable(run):
        raise ParameterError(
            "The 'mechanism' parameter must be a function of the data, or a mechanism.",
            parameter="mechanism",
            value=mechanism,
        )
    return run


def by_threshold(one: npt.ArrayLike, other: npt.ArrayLike, *, failure: float = 1e-9, delta: float = 0.0) -> LowerBound:
    """The bound from a number for each run, as many of the one data set as of the other.

    The threshold is chosen on the first half of each and measured on the second.
    """
    x, y = check_runs(one, other)
    half = x.size // 2
    thresholds = np.unique(np.concatenate([x[:half], y[:half]]))
    p, q = (half - np.searchsorted(np.sort(part[:half]), thresholds) for part in (x, y))
    threshold = thresholds[np.argmax(_losses(p, q, half, failure, delta))]
    return _bound(x[half:] >= threshold, y[half:] >= threshold, failure, delta)


def check_runs(one: npt.ArrayLike, other: npt.ArrayLike) -> tuple[Floats, Floats]:
    """A number for each run, as many of the one data set as of the other."""
    try:
        x, y = np.asarray(one, np.float64), np.asarray(other, np.float64)
    except (TypeError, ValueError):  # text, or rows of several lengths
        x = y = np.empty(0)
    if x.ndim != 1 or x.shape != y.shape or x.size < _RUNS or np.isnan(x).any() or np.isnan(y).any():
        raise ParameterError(
            "The 'one' and 'other' parameters must be rows of as many numbers, at least 2.", parameter="one", value=one
        )
    return x, y


def laplace_ratio(output: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike, scale: npt.ArrayLike) -> float:
    """The log-likelihood ratio of counts with discrete Laplace noise, true counts ``one`` against ``other``.

    sum of (|x - b| - |x - a|) / s, x being ``output``, a and b the counts, s the scale: Pr(x) ~ exp(-|x - a| / s).
    Never above the sum of |a - b| / s, which is the privacy loss.
    """
    x, a, b = (np.asarray(part, np.float64) for part in (output, one, other))
    return float(np.sum((np.abs(x - b) - np.abs(x - a)) / np.asarray(scale, np.float64)))


def clopper_pearson(successes: npt.ArrayLike, trials: npt.ArrayLike, failure: float) -> tuple[Floats, Floats]:
    """Bounds on a probability from below and from above, each of which fails with probability at most ``failure``."""
    k, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, failure), 0.0)
    high = np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 1), failure), 1.0)
    return low, high


def losses(one: npt.NDArray[Any], other: npt.NDArray[Any], trials: int, failure: float, delta: float = 0.0) -> Floats:
    """The bound on epsilon for each event, from how often it happened in ``trials`` runs on each data set."""
    return _losses(one, other, trials, failure, delta)


def _losses(one: npt.NDArray[Any], other: npt.NDArray[Any], trials: int, failure: float, delta: float) -> Floats:
    """The bound on epsilon for each event, from how often it happened."""
    each = check_between("failure", failure, 0, 1) / 4
    check_probability("delta", delta)
    p_low, p_high = clopper_pearson(one, trials, each)
    q_low, q_high = clopper_pearson(other, trials, each)
    pairs = [(p_low, q_high), (q_low, p_high), (1 - p_high, 1 - q_low), (1 - q_high, 1 - p_low)]
    ratios = [np.divide(some - delta, most, out=np.zeros_like(some), where=most > 0) for some, most in pairs]
    return np.asarray(np.log(np.maximum(1.0, np.max(ratios, axis=0))))


def _bound(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_], failure: float, delta: float) -> LowerBound:
    trials = len(one)
    loss = _losses(one.sum(keepdims=True), other.sum(keepdims=True), trials, failure, delta)
    return LowerBound(float(loss[0]), float(one.mean()), float(other.mean()), trials, failure)
