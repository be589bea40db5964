"""How much memory there is for data: what the user states, less what the program takes by itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from bosket.checks import check_integer, shown
from bosket.errors import ParameterError

try:
    import resource
except ImportError:  # not a POSIX system
    _HAS_USAGE = False
else:
    _HAS_USAGE = True

_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{letter}": base**power
    for base, letter in ((1000, "B"), (1024, "iB"))
    for power, prefix in enumerate(("k" if base == 1000 else "K", "M", "G", "T"), 1)
}
_TEXT = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*([A-Za-z]*)\s*", re.ASCII)
_STATUS = Path("/proc/self/status")
_ITSELF = 160 << 20  # of a program with its libraries, where the system does not say
_KERNELS = 136 << 20  # what libraries and kernels take that are loaded on first use, and a line of text or two

LEAST = 32 << 20
"""Least memory for data."""


def memory_bytes(memory: int | str) -> int:
    """A number of bytes, or text such as "2GiB", "512 MB" or "1.5GiB".

    >>> memory_bytes("2GiB"), memory_bytes("1.5 kB"), memory_bytes(4096)
    (2147483648, 1500, 4096)
    """
    if not isinstance(memory, str):
        return check_integer("memory", memory, least=1)
    found = _TEXT.fullmatch(memory)
    if found is None or found[2] not in _UNITS:
        raise ParameterError(
            f"The 'memory' parameter must be a number of bytes, or text such as '2GiB', got {shown(memory)}.",
            parameter="memory",
            value=memory,
        )
    return int(float(found[1]) * _UNITS[found[2]])


def memory_for_data(memory: int | str) -> int:
    """The bytes that data may take, so that the whole process stays within ``memory``; refused where there are few."""
    budget = memory_bytes(memory)
    itself = resident() + _KERNELS
    if budget - itself < LEAST:
        takes = f"takes {itself >> 20} by itself"
        if _present() is None and _peak():
            takes = f"has taken at most {itself - _KERNELS >> 20} by itself and may take {_KERNELS >> 20} more"
        raise ParameterError(
            f"The 'memory' parameter must be at least {(itself + LEAST >> 20) + 1} MiB here, of which the program "
            f"{takes}, got {budget >> 20} MiB.",
            parameter="memory",
            value=memory,
        )
    return budget - itself


def resident() -> int:
    """Bytes of memory that this process has now; where only the most that it ever had is known, that, which is safe."""
    return _present() or _peak() or _ITSELF


def _present() -> int | None:
    """Bytes of memory that this process has now; None where the system does not say."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return 1024 * int(line.split()[1])
    return None


def _peak() -> int:
    """Bytes of memory that this process has had at most; 0 where the system does not say."""
    if not _HAS_USAGE:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
