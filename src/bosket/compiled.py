"""How kernels are compiled: by numba, free of the interpreter lock, and kept on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.extending import intrinsic

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """A numba kernel; cached on disk, unless neither the package nor the user's cache folder can be written to."""
    try:
        return cast(Kernel, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # "no locator available": compile anew in each process rather than refuse to start
        return cast(Kernel, njit(nogil=True)(function))


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """The number of set bits of a 64-bit word, as the machine's own instruction (vectorized where it can be)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate
