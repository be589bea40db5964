"""Answer channels by their names, and the best of them: the one with the smallest variance, from public numbers."""

from __future__ import annotations

import math

from bosket.mechanisms.questions.hash_kernels import MOST_BUCKETS
from bosket.mechanisms.questions.responses import LocalHashing, RandomizedResponse, Response, SubsetSelection

CHANNELS = (RandomizedResponse.name, LocalHashing.name, SubsetSelection.name)
_SMALL = 256  # values of a subset, at most, for the message to be about as short as that of a hash


def best_buckets(epsilon: float, length: int) -> int:
    """The power of two that gives the smallest variance: near gamma l, and above l."""
    gamma = 1 + math.expm1(min(epsilon, 60.0))
    sizes = [1 << power for power in range(1, MOST_BUCKETS.bit_length()) if 1 << power > length]

    def variance(g: int) -> float:
        slope = (gamma - 1) * (g - length) / (g * (gamma * length + g - length))
        return (g - 1) / g**2 / slope**2 if slope**2 > 0 else math.inf

    return min(sizes, key=variance)


def best_chosen(n_keys: int, length: int, epsilon: float) -> int:
    """The size of a subset that gives the smallest variance, which falls with it and then rises."""
    best = SubsetSelection(n_keys, length, epsilon, 1)
    for chosen in range(2, n_keys + 1):
        larger = SubsetSelection(n_keys, length, epsilon, chosen)
        if not larger.variance < best.variance:
            break
        best = larger
    return best.chosen


def response(channel: str, n_keys: int, length: int, epsilon: float, size: int | None = None) -> Response:
    """The channel of this name; nobody holds more keys than there are.

    ``size`` is the number of buckets of a hash, or of values of a subset; the best one unless given.
    """
    most = min(length, n_keys)
    if channel == RandomizedResponse.name:
        return RandomizedResponse(n_keys, most, epsilon)
    if channel == SubsetSelection.name:
        return SubsetSelection(n_keys, most, epsilon, best_chosen(n_keys, most, epsilon) if size is None else size)
    return LocalHashing(n_keys, most, epsilon, best_buckets(epsilon, most) if size is None else size)


def best_response(n_keys: int, length: int, epsilon: float) -> Response:
    """The channel with the smallest variance; subsets of few values only, and not of one: that is a response."""
    names = [name for name in CHANNELS if name != SubsetSelection.name or n_keys + length <= _SMALL]
    every = [response(name, n_keys, length, epsilon) for name in names]
    return min((one for one in every if size_of(one) != 1), key=lambda one: one.variance)


def size_of(told: Response) -> int | None:
    """What :func:`response` calls its size."""
    if isinstance(told, LocalHashing):
        return told.buckets
    return told.chosen if isinstance(told, SubsetSelection) else None
