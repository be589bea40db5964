"""From a table with errors to a measure with errors: the delta method, bias, intervals, and when not to trust them.

Guo, Guo and Wu (2007), section 3.1.  With g the derivatives of a measure by the support fractions x, a and c, and V
their covariance:

    Var(measure) = g' V g + o(1 / n)            bias = 1/2 trace(H V) + o(1 / n), H the second derivatives

The default interval is made where the measure is closest to normal and carried back; the paper's by Chebyshev's
theorem, value -+ stderr / sqrt(1 - level), holds for any distribution of that variance and is wider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.checks import check_between, check_choice
from bosket.measures.catalogue import CATALOGUE
from bosket.measures.measure import Gradient, Measure, Scale
from bosket.measures.table import FORMS, Array, Contingency
from bosket.statistics.estimates import Floats, normal_quantile

SURE = 2.0
"""Standard errors that a denominator must lie above 0 for a measure to mean anything."""

TRUSTED = 4.0
"""Standard errors that the cells an interval rests on must lie above 0."""

FEW = 16
"""Records: what a cell with fewer brings to the error is skewed, not normal."""

SKEWED = 0.1
"""The share of a variance that may come from cells with few records."""

EDGE = 3.0
"""Standard errors that a measure between -1 and 1 must lie from them."""

_ROUNDING = 1e-12
_STEP = 1e-3  # of a standard error, for second derivatives


@dataclass(frozen=True, slots=True)
class Covariance:
    """Covariance of the support fractions of X = A u C, A and C: arrays with a place per rule."""

    xx: Floats
    aa: Floats
    cc: Floats
    xa: Floats
    xc: Floats
    ac: Floats

    def of(self, slope: Gradient) -> Any:
        """g' V g."""
        gx, ga, gc = slope
        pairs = (
            (gx, gx, self.xx), (ga, ga, self.aa), (gc, gc, self.cc),
            (2 * gx, ga, self.xa), (2 * gx, gc, self.xc), (2 * ga, gc, self.ac),
        )  # fmt: skip
        return sum(g * h * part for g, h, part in pairs if not (_is_zero(g) or _is_zero(h)))

    def stderr(self, slope: Gradient) -> Floats:
        """Of a function of the table with these derivatives."""
        variance = self.of(slope) + np.zeros_like(self.xx)
        if not (variance < 0).any():
            return root(variance)
        size = Covariance(*map(np.abs, self.parts)).of((np.abs(slope[0]), np.abs(slope[1]), np.abs(slope[2])))
        return root(variance, size)

    def with_sampling(self, table: Contingency) -> Covariance:
        """The coins and the drawing of people: S_(A u B) / n - S_A S_B / n^2 more, in fractions divided by n."""
        x, a, c, n = table.pi11, table.a, table.c, table.n
        return Covariance(
            xx=self.xx + x * (1 - x) / n,
            aa=self.aa + a * (1 - a) / n,
            cc=self.cc + c * (1 - c) / n,
            xa=self.xa + x * (1 - a) / n,
            xc=self.xc + x * (1 - c) / n,
            ac=self.ac + (x - a * c) / n,
        )

    @property
    def parts(self) -> tuple[Floats, ...]:
        return self.xx, self.aa, self.cc, self.xa, self.xc, self.ac

    def take(self, rules: Any) -> Covariance:
        """Of some of the rules."""
        return Covariance(*(part[rules] for part in self.parts))

    @classmethod
    def join(cls, parts: Iterable[Covariance]) -> Covariance:
        return cls(*map(np.concatenate, zip(*(part.parts for part in parts), strict=True)))


def _is_zero(slope: Any) -> bool:
    return isinstance(slope, int | float) and slope == 0


def root(variance: Array, size: Any = 1e-3) -> Floats:
    """The standard error; what rounding leaves below 0 is 0, more is not a number.

    ``size`` is that of the terms that the variance is the sum of.
    """
    result: Floats = np.sqrt(np.where(variance < -_ROUNDING * size, np.nan, np.maximum(variance, 0.0)))
    return result


class Inferred(NamedTuple):
    """A measure of many rules with its errors; ``is_trusted`` says where the interval keeps its word."""

    value: Floats
    stderr: Floats
    low: Floats
    high: Floats
    is_trusted: npt.NDArray[np.bool_]


def present(measure: Measure, table: Contingency) -> Floats:
    """The measure of estimated tables; one that is infinite without exceptions is so too where these are below 0."""
    value: Floats = measure(table)
    return np.where(value < 0, np.inf, value) if measure.scale is Scale.RECIPROCAL else value


class Tables:
    """Tables with the covariance of their supports, and what several measures need of them.

    ``coins`` is the covariance under the coins alone; with ``sampling`` the drawing of people is added.  No interval of
    a ``doubtful`` rule is trusted.
    """

    def __init__(
        self,
        table: Contingency,
        coins: Covariance,
        *,
        sampling: bool,
        doubtful: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.table = table
        self.coins = coins
        self.covariance = coins.with_sampling(table) if sampling else coins
        self.sampling = sampling
        self.doubtful = doubtful
        self._ratio: dict[str, Floats] = {}

    def ratio(self, name: str) -> Floats:
        """How many standard errors a cell or margin lies above 0; without error, infinitely many if it does."""
        if name not in self._ratio:
            form = FORMS[name]
            value = getattr(self.table, name) if hasattr(self.table, name) else self.table.at(form)
            with np.errstate(divide="ignore", invalid="ignore"):
                error = self.covariance.stderr(form[:3])
                self._ratio[name] = np.where(error == 0, np.where(value > 0, np.inf, 0.0), value / error)
        return self._ratio[name]

    def values(self, measure: Measure) -> Floats:
        """Not a number where what it divides by is not surely above 0."""
        value = present(measure, self.table)
        for name in measure.must_be_sure:
            ratio = self.ratio(name)
            unsure = ~(ratio > SURE) & (ratio != 0)  # 0 of no error is a degenerate table, which has its own convention
            if unsure.any():
                value = np.where(unsure, np.nan, value)
        return value

    def infer(self, measure: Measure, *, level: float, interval: str = "default") -> Inferred:
        """Value, standard error and interval."""
        if measure.gradient is None:
            nothing = np.full(len(self.table), np.nan)
            value = nothing if self._has_coins else self.values(measure)
            return Inferred(value, nothing, nothing, nothing, np.zeros(value.shape, bool))
        value = self.values(measure)
        with np.errstate(all="ignore"):
            slope = measure.gradient(self.table)
            stderr = np.where(np.isnan(value), np.nan, self.covariance.stderr(slope))
            low, high = INTERVALS[interval](self, measure, value, stderr, level)
            trusted = np.isfinite(low) & ~np.isnan(stderr)
            if self.doubtful is not None:
                trusted &= ~self.doubtful
            stderr = np.where(np.isinf(value), np.nan, stderr)
            for name in measure.trusted_if:
                trusted &= self.ratio(name) >= TRUSTED
            if self.sampling:
                skewed = self._skewed(slope)
                trusted &= skewed <= SKEWED * stderr**2
                if not measure.is_share:  # no error is seen, but there is one
                    low, high = (np.where((stderr == 0) & (skewed > 0), np.nan, end) for end in (low, high))
            if measure.scale is Scale.PHI:
                trusted &= self.infer(CATALOGUE["correlation"], level=level).is_trusted
            if measure.scale is Scale.FISHER_Z:  # which squeezes what is next to an end of the range
                trusted &= 1 - np.abs(value) >= EDGE * stderr
            for name in measure.kinks:
                trusted &= np.abs(self._leverage if name == "leverage" else self.ratio(name)) >= TRUSTED
        return Inferred(value, stderr, low, high, trusted)

    @property
    def _has_coins(self) -> bool:
        return any(part.any() for part in self.coins.parts)

    @property
    def _leverage(self) -> Floats:
        """How many standard errors x - a c lies from 0."""
        if "leverage" not in self._ratio:
            table = self.table
            error = self.covariance.stderr((1.0, -table.c, -table.a))
            self._ratio["leverage"] = (table.pi11 - table.a * table.c) / error
        return self._ratio["leverage"]

    def _skewed(self, slope: Gradient) -> Floats:
        """What few people bring to the variance of a measure by being drawn or not.

        A record of cell v moves the measure by g_v less its mean; cells with fewer than ``FEW`` records are taken with
        one more, so that an empty one, which has no variance by itself, counts too.
        """
        table, n = self.table, self.table.n
        by_x, by_a, by_c = slope
        cells = ((table.pi11, by_x + by_a + by_c), (table.pi10, by_a), (table.pi01, by_c), (table.pi00, 0.0))
        mean = table.pi11 * (by_x + by_a + by_c) + table.pi10 * by_a + table.pi01 * by_c
        total = np.zeros(len(table))
        for share, by_cell in cells:
            few = share * n < FEW
            if few.any():
                total += np.where(few, (np.maximum(share, 0.0) + 1 / n) * (by_cell - mean) ** 2, 0.0)
        return total / n

    def bias(self, measure: Measure) -> Floats:
        """The second-order bias, 1/2 trace(H V), by differences of the gradient."""
        if measure.gradient is None:
            return np.full(len(self.table), np.nan)
        v = self.covariance
        rows = ((v.xx, v.xa, v.xc), (v.xa, v.aa, v.ac), (v.xc, v.ac, v.cc))
        total = np.zeros(len(self.table))
        with np.errstate(all="ignore"):
            for at, row in enumerate(rows):
                step = _STEP * np.sqrt(np.maximum(row[at], 0.0))
                shift = [step if other == at else 0.0 for other in range(3)]
                after = measure.gradient(self.table.shifted(*shift))
                before = measure.gradient(self.table.shifted(*(-np.asarray(part) for part in shift)))
                for part, up, down in zip(row, after, before, strict=True):
                    total += np.where(step > 0, part * (up - down) / (2 * step), 0.0)
        return np.where(np.isnan(self.values(measure)), np.nan, total / 2)


Interval = Callable[[Tables, Measure, Floats, Floats, float], tuple[Floats, Floats]]
"""Low and high end from tables, measure, value, stderr and level."""


def _normal(tables: Tables, measure: Measure, value: Floats, stderr: Floats, level: float) -> Any:
    reach = normal_quantile(level) * stderr
    return value - reach, value + reach


def _chebyshev(tables: Tables, measure: Measure, value: Floats, stderr: Floats, level: float) -> Any:
    """The paper's section 3.2."""
    reach = stderr / np.sqrt(1 - check_between("level", level, 0, 1))
    return value - reach, value + reach


def _default(tables: Tables, measure: Measure, value: Floats, stderr: Floats, level: float) -> Any:
    """On the measure's own scale; where that is not defined for the estimate, the normal one."""
    z = normal_quantile(level)
    match measure.scale:
        case Scale.FIELLER:
            return _fieller(tables, measure, z)
        case Scale.PHI:
            phi = tables.infer(CATALOGUE["correlation"], level=level)
            least, most = _squares(phi.low, phi.high)
            return tables.table.n * least, tables.table.n * most
        case Scale.RECIPROCAL:  # by the estimate itself, though it be shown as infinite where it is negative
            return on_scale(measure.scale, measure(tables.table), stderr, z)
    return on_scale(measure.scale, value, stderr, z)


def on_scale(scale: Scale, value: Floats, stderr: Floats, z: float) -> tuple[Floats, Floats]:
    """Low and high end: value -+ z stderr on the scale, carried back; the normal ones where it is not defined."""
    low, high = value - z * stderr, value + z * stderr
    match scale:
        case Scale.RECIPROCAL:
            return _reciprocal(value, stderr, z)
        case Scale.ROOT:
            middle = np.sqrt(value)
            reach = z * stderr / (2 * middle)
            return _squares(middle - reach, middle + reach)
        case Scale.LOG:
            inside, step = value > 0, np.exp(z * stderr / value)
            ends = value / step, value * step
        case Scale.FISHER_Z:
            inside, step = np.abs(value) < 1, z * stderr / (1 - value * value)
            ends = np.tanh(np.arctanh(value) - step), np.tanh(np.arctanh(value) + step)
        case _:
            return low, high
    return np.where(inside, ends[0], low), np.where(inside, ends[1], high)


def _fieller(tables: Tables, measure: Measure, z: float) -> tuple[Floats, Floats]:
    """All r with |over - r under| <= z sqrt(Var(over - r under)): Fieller (1954).

    No end on either side where the denominator is not surely apart from 0.  Of a share, whose numerator counts some of
    what the denominator counts, the drawing of people brings r (1 - r) under / n; with it the interval of raw records
    is Wilson's (1927), which does not shrink to a point at 0 and 1.
    """
    assert measure.ratio is not None
    top, bottom = measure.ratio
    is_score = measure.is_share and tables.sampling
    v, table = tables.coins if is_score else tables.covariance, tables.table
    over, under = table.at(top), table.at(bottom)
    var_over, var_under = (v.of(form[:3]) + np.zeros_like(v.xx) for form in (top, bottom))
    both = v.of((top[0] + bottom[0], top[1] + bottom[1], top[2] + bottom[2]))
    cov = (both - var_over - var_under) / 2
    square = z * z
    a = under * under - square * var_under
    b = over * under - square * cov
    c = over * over - square * var_over
    if is_score:  # r (1 - r) under / n for the people
        people = square * under / table.n
        a, b = a + people, b + people / 2
    reach = np.sqrt(np.maximum(b * b - a * c, 0.0))
    bounded = a > 0
    missing = np.isnan(tables.values(measure))
    low = np.where(missing, np.nan, np.where(bounded, (b - reach) / a, -np.inf))
    high = np.where(missing, np.nan, np.where(bounded, (b + reach) / a, np.inf))
    return low, high


def _reciprocal(value: Floats, stderr: Floats, z: float) -> tuple[Floats, Floats]:
    """On the scale of 1 / value, where a rule without exceptions is 0."""
    turned = 1 / value
    reach = z * stderr / (value * value)
    above, below = turned + reach, turned - reach
    low, high = (np.where(end <= 0, np.inf, 1 / end) for end in (above, below))  # not a number stays so
    return low, high


def _squares(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The range of r^2 for r between two ends."""
    least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low * low, high * high))
    return least, np.maximum(low * low, high * high)


INTERVALS: dict[str, Interval] = {"default": _default, "normal": _normal, "chebyshev": _chebyshev}


def check_interval(interval: str) -> str:
    return check_choice("interval", interval, INTERVALS)
