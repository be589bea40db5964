"""How kernels are compiled: by numba, free of the interpreter lock, and kept on disk where that is possible.

The first use on a machine compiles, which can take a minute in all; a line on standard error says so once a process has
spent two seconds on it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core import event
from numba.extending import intrinsic
from numba.np import arrayobj

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_WORTH_A_WORD = 2.0  # seconds
_SENTENCE = "bosket: compiling numerical code on first use; it is kept on disk for the next time\n"


class _Announcer(event.Listener):
    """Says once that kernels are being compiled, when that has taken ``_WORTH_A_WORD`` seconds in all."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._depth = 0
        self._started = 0.0
        self._timer: threading.Timer | None = None
        self.said = False
        self._lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        with self._lock:
            self._depth += 1
            if self._depth > 1 or self.said:
                return
            self._started = time.perf_counter()
            self._timer = threading.Timer(max(0.0, _WORTH_A_WORD - self._spent), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth > 0 or self._timer is None:
                return
            self._timer.cancel()
            self._timer = None
            self._spent += time.perf_counter() - self._started

    def _say(self) -> None:
        with self._lock:
            if self.said or self._depth == 0:
                return
            self.said = True
        sys.stderr.write(_SENTENCE)
        sys.stderr.flush()


announcer = _Announcer()
event.register("numba:compile", announcer)  # type: ignore[no-untyped-call]  # numba has no types


def compiled(function: Kernel) -> Kernel:
    """A numba kernel; cached on disk, unless neither the package nor the user's cache folder can be written to."""
    try:
        return cast(Kernel, _forgiving(njit(cache=True, nogil=True)(function)))
    except RuntimeError:  # "no locator available": compile anew in each process rather than refuse to start
        return cast(Kernel, njit(nogil=True)(function))


@cache
def _stamp_of_all() -> tuple[tuple[str, int, int], ...]:
    """When and how long each module of kernels was written: they call each other."""
    files = sorted(Path(__file__).parent.rglob("*kernels.py"))
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)


def _forgiving(kernel: Any) -> Any:
    """The kernel, compiled anew where what is kept of it was written by another version.

    numba looks at the module of a kernel alone, whose code holds that of kernels in other modules as they were; and it
    looks at the types before it looks whether the source is the same, and fails where they are gone.
    """
    kept: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    load = getattr(kept, "_load_index", None)
    if load is None:
        return kernel
    kept._source_stamp = (kept._source_stamp, _stamp_of_all())

    def load_index() -> Any:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    kept._load_index = load_index
    return kernel


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """The number of set bits of a 64-bit word, as the machine's own instruction (vectorized where it can be)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def eight_bytes(typing_context: Any, text: Any, at: Any) -> Any:
    """The bytes ``text[at:at + 8]`` as one number, the first byte the lowest; nobody checks that they are there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = arrayobj.make_array(signature.args[0])(context, builder, args[0])  # type: ignore[no-untyped-call]  # numba has no types
        place = builder.gep(array.data, [args[1]])
        word = builder.load(builder.bitcast(place, context.get_value_type(types.uint64).as_pointer()))
        word.align = 1
        return builder.bswap(word) if sys.byteorder == "big" else word

    return types.uint64(text, types.int64), generate
