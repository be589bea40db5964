"""Chance in tests: every draw of the system's randomness, and of OpenDP's noise, follows from the name of a test.

A commit's verdict must not depend on luck, so :class:`~bosket.randomness.Secure` has keys, and noise has draws, that
are those of a test whichever tests ran before it, in whichever process.  Fixtures of a module or of a session draw by
names of their own, since any test may be the first to ask for them.  ``BOSKET_CHANCE=word`` gives other draws, as many
as there are words: a sound test passes with all of them but one in 1e9.

OpenDP takes no seed.  It is asked, pays and refuses as ever; what it answers is replaced by the counts with noise of
the law and the scale that it states.  Tests of the sources themselves, and audits, whose bounds hold with 1 - 1e-9
whatever is drawn, have the mark ``own_chance`` and draw as a program of a user does.  So do processes that tests start.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from bosket.curator import curate, noise
from bosket.curator.noise import GAUSSIAN, Composition, NoiseLaw, NoisyCounts
from bosket.randomness import Secure, streams
from bosket.randomness.streams import Stream

WORD = os.environ.get("BOSKET_CHANCE", "")


@dataclass
class Draws:
    """All that is drawn under one name."""

    name: str
    key: bytes = field(init=False)
    numbers: Iterator[int] = field(init=False)
    noise: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.key = hashlib.sha256(f"{WORD}:{self.name}".encode()).digest()
        self.numbers = itertools.count()
        self.noise = np.random.default_rng(list(self.key))

    def stream(self) -> Stream:
        return Stream(self.key, next(self.numbers), forks=streams._Forks.number)

    def noisy(self, counts: Any, law: NoiseLaw, scale: float, *, is_fine: bool = False) -> NoisyCounts:
        """Counts with noise: two-sided geometric; or normal, and rounded where the lattice is that of the counts, which
        is near OpenDP's from scales of 1 on.
        """
        exact = np.asarray(counts, np.int64)
        if is_fine:
            return np.asarray(exact + self.noise.normal(0.0, scale, exact.shape))
        if law is GAUSSIAN:
            return np.asarray(exact + np.rint(self.noise.normal(0.0, scale, exact.shape)).astype(np.int64))
        one, other = (self.noise.geometric(-np.expm1(-1 / scale), exact.shape) for _ in range(2))
        return np.asarray(exact + one - other)


_current: list[Draws | None] = [None]
"""The innermost is the one to draw from; None draws as programs do."""


@contextmanager
def drawing(name: str | None) -> Iterator[None]:
    """Draw by a name, or by nobody's."""
    _current.append(None if name is None else Draws(name))
    try:
        yield
    finally:
        _current.pop()


def install() -> None:
    """Have Secure and the noise ask for the current draws; where there are none they are what they were."""
    own_stream, own_noisy, own_answer, own_made = (
        Secure.stream, Composition.noisy, noise._with_noise, noise._measurement
    )  # fmt: skip

    def stream(self: Secure) -> Stream:
        draws = _current[-1]
        return own_stream(self) if draws is None else draws.stream()

    def noisy(self: Composition, counts: Any, *, epsilon: float, sensitivity: float) -> NoisyCounts:
        answer = own_noisy(self, counts, epsilon=epsilon, sensitivity=sensitivity)
        draws = _current[-1]
        if draws is None:
            return answer
        return draws.noisy(counts, self.law, self.scale_of(epsilon, sensitivity), is_fine=self._is_fine)

    def made(law: NoiseLaw, amount: float, sensitivity: float) -> tuple[Any, float]:
        measurement, scale = own_made(law, amount, sensitivity)
        measurement.stated = law, scale
        return measurement, scale

    def answered(counts: Any, answer: Any) -> NoisyCounts:
        draws = _current[-1]
        if draws is None or not hasattr(answer, "stated"):  # a composition, which is above
            return own_answer(counts, answer)
        return draws.noisy(counts, *answer.stated)

    made.cache_clear = own_made.cache_clear  # type: ignore[attr-defined]  # as the function it stands for has
    patch = pytest.MonkeyPatch()
    for name in ("_compiled", "_compiled_sieve"):  # once a process: not a draw of the test that comes first
        patch.setattr(curate, name, _apart(getattr(curate, name)))
    patch.setattr(Secure, "stream", stream)
    patch.setattr(Composition, "noisy", noisy)
    patch.setattr(noise, "_measurement", made)
    patch.setattr(noise, "_with_noise", answered)


def _apart(work: Callable[[], None]) -> Callable[[], None]:
    def done() -> None:
        with drawing(work.__name__):
            work()

    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with drawing(None if item.get_closest_marker("own_chance") else item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
    if fixturedef.scope == "function" or _current[-1] is None:
        return (yield)
    with drawing(f"{fixturedef.baseid}:{fixturedef.argname}:{getattr(request, 'param_index', 0)}"):
        return (yield)
