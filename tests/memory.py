"""Memory that a piece of work takes, by what Python traces or by what the process holds; compiling is not counted.

Kernels compile on first use, which takes tens of megabytes: only the first test that needs one would pay for it.
"""

from __future__ import annotations

import resource
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.effort import compiling

_FENCE = 4 << 30


class Traced:
    """The peak of what Python and NumPy hold since this was made."""

    def __init__(self) -> None:
        self._most = 0
        self._base, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()

    @property
    def peak(self) -> int:
        return max(self._most, tracemalloc.get_traced_memory()[1] - self._base)

    def pause(self) -> None:
        self._most = self.peak
        self._before, _ = tracemalloc.get_traced_memory()

    def go_on(self) -> None:
        self._base += tracemalloc.get_traced_memory()[0] - self._before
        tracemalloc.reset_peak()


@contextmanager
def traced() -> Iterator[Traced]:
    """Trace what is allocated; the peak is to be looked at inside the block."""
    tracemalloc.start()
    meter = Traced()
    try:
        with compiling.watched_by(meter):
            yield meter
    finally:
        tracemalloc.stop()


class Resident:
    """The peak of what the process holds since this was made; 0 where the system does not tell."""

    def __init__(self) -> None:
        self._most = 0
        _restart()
        self._base = _status("VmHWM")  # where it may not be started again, less is noticed, and nothing wrong

    @property
    def peak(self) -> int:
        return max(self._most, _status("VmHWM") - self._base)

    def pause(self) -> None:
        self._most = self.peak
        self._before = _status("VmRSS")

    def go_on(self) -> None:
        grown = _status("VmRSS") - self._before
        _restart()
        self._base = max(self._base + grown, _status("VmHWM") - self._most)


@contextmanager
def memory_within(limit: int) -> Iterator[None]:
    """Fail if the process grows by more than ``limit`` bytes, and let no single step go far beyond that.

    A fence on the address space turns an absurd allocation, touched or not, into a MemoryError before the machine
    suffers; what was really used is read off the high-water mark.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = _status("VmSize")
    if before:
        fence = before + max(_FENCE, 2 * limit)
        resource.setrlimit(resource.RLIMIT_AS, (fence if hard == resource.RLIM_INFINITY else min(fence, hard), hard))
    meter = Resident()
    try:
        with compiling.watched_by(meter):
            yield
        assert meter.peak <= limit, f"{meter.peak >> 20} MiB were taken"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _restart() -> None:
    """Let the high-water mark start again from here."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    """Bytes by the name of a field of the process's status; 0 where the system does not tell."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) << 10
    return 0
