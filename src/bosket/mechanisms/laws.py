"""Laws of the number of items that are kept: as they are declared, and as they are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bosket.checks import check_probability
from bosket.errors import ParameterError
from bosket.randomness.kernels import PRECISION

Value = TypeVar("Value")


class OnDemand(dict[int, Value]):
    """Values by record size, each worked out when it is first asked for: a plan may declare thousands of sizes."""

    def __init__(self, make: Callable[[int], Value]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, size: int) -> Value:
        self[size] = value = self._make(size)
        return value


def check_law(name: str, size: int, row: Any, *, of: str | None) -> tuple[float, ...]:
    """The probabilities of keeping 0 to ``size`` items, the parameter ``name`` of ``of``."""
    try:
        law = tuple(check_probability(name, value, of=of) for value in row)
    except TypeError:
        law = ()
    if len(law) != size + 1 or abs(math.fsum(law) - 1.0) > 1e-9:
        raise ParameterError(
            f"The '{name}' parameter of {of} must be {size + 1} probabilities that sum to 1, of keeping 0 to {size} "
            "items.",
            parameter=name.partition("[")[0],
            value=row,
        )
    return law


def cumulative(law: Sequence[float]) -> npt.NDArray[np.int64]:
    """Sums of the first probabilities in multiples of 2**-53, of numbers that sum to about 1; the last is 2**53.

    Doubles are whole numbers over a power of two, so sums and quotients are exact until they are rounded, to even.
    """
    ratios = [p.as_integer_ratio() for p in law]
    finest = max(below for _, below in ratios)
    parts = [above * (finest // below) for above, below in ratios]
    total = sum(parts)
    steps = np.empty(len(parts), np.int64)
    for j, so_far in enumerate(accumulate(parts)):
        step, rest = divmod(so_far << PRECISION, total)
        steps[j] = step + (2 * rest > total or (2 * rest == total and step % 2 == 1))
    return steps
