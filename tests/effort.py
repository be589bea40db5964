"""Bounds on processor time that hold on any machine: what a test may take is stated in seconds of a usual one.

Time of the clock depends on what else a machine does, and time of the processor on how fast it is and on who shares its
caches.  So processor time is measured, of all threads of this process, and a bound grows with the time that a fixed
piece of work takes here and now.  What is compiled in between is not counted: only the first test that needs it pays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from numba.core import event

USUAL = 0.015
"""Seconds of processor time that `_work` takes on a usual machine."""


def slowness() -> float:
    """How many times slower than a usual machine this one is, at least 1: the better of two tries, of 15 ms each."""
    return max(1.0, min(_work(), _work()) / USUAL)


def _work() -> float:
    started = time.process_time()
    total, table = 0, list(range(1000))
    for number in range(200_000):
        total += table[number % 1000] * number
    return time.process_time() - started


class Meter(Protocol):
    """Something that measures, and lets compiling pass."""

    def pause(self) -> None: ...

    def go_on(self) -> None: ...


class Compiling(event.Listener):
    """Processor time that went into compiling, inner kernels with the outer ones; and meters that wait meanwhile."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._started = 0.0, 0, 0.0
        self._meters: list[Meter] = []

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._started = time.process_time()
            for meter in self._meters:
                meter.pause()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.process_time() - self._started
            for meter in self._meters:
                meter.go_on()

    @contextmanager
    def watched_by(self, meter: Meter) -> Iterator[None]:
        self._meters.append(meter)
        try:
            yield
        finally:
            self._meters.remove(meter)


compiling = Compiling()
event.register("numba:compile", compiling)  # type: ignore[no-untyped-call]  # numba has no types


def processor_time() -> float:
    """Seconds of this process so far, without those of compiling."""
    return time.process_time() - compiling.seconds


@contextmanager
def effort_within(seconds: float) -> Iterator[None]:
    """Fail if the block takes more processor time than that, on a usual machine.

    Bounds are several times what is needed: they are there for work that grows with a square, or without end.
    """
    started = processor_time()
    yield
    used = processor_time() - started
    if used >= seconds:  # only then it matters how fast the machine is
        limit = seconds * slowness()
        assert used < limit, f"it took {used:.1f} s of processor time, and may take {limit:.1f} s here"
