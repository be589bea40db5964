"""Run compiled kernels on all cores.

The kernels release the interpreter lock, so plain threads are enough.  They are preferred to numba's own parallel
loops: those compile several times slower, are not re-entrant on the portable threading layer, and hold Ctrl-C back
until the whole loop is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def n_threads() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


def parallel_map(
    function: Callable[[T], R],
    parts: Sequence[T],
    *,
    on_done: Callable[[int], None] | None = None,
) -> list[R]:
    """``[function(part) for part in parts]`` on all cores, in order; ``on_done`` hears how many are finished.

    Parts should take well under a second each: Ctrl-C is answered when the running ones are done.
    """
    workers = min(n_threads(), len(parts))
    if workers <= 1:
        results = []
        for number, part in enumerate(parts, 1):
            results.append(function(part))
            if on_done is not None:
                on_done(number)
        return results
    with ThreadPoolExecutor(workers) as pool:
        futures: list[Future[R]] = [pool.submit(function, part) for part in parts]
        try:
            results = []
            for number, future in enumerate(futures, 1):
                results.append(future.result())
                if on_done is not None:
                    on_done(number)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def slices(total: int, size: int) -> Iterable[tuple[int, int]]:
    """Cut ``range(total)`` into consecutive (start, stop) pairs of at most ``size``."""
    return ((start, min(start + size, total)) for start in range(0, total, size))
