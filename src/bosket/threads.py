"""Run compiled kernels on all cores, or on as many as a user says.

The kernels release the interpreter lock, so plain threads are enough.  They are preferred to numba's own parallel
loops: those compile several times slower, are not re-entrant on the portable threading layer, and hold Ctrl-C back
until the whole loop is done.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import islice
from threading import Condition, Thread
from typing import Any, Generic, TypeVar, cast

from bosket.checks import check_integer, shown
from bosket.errors import ParameterError

T = TypeVar("T")
R = TypeVar("R")

_MOST = 1 << 12  # threads

PATIENCE = 0.5
"""Seconds that running parts are waited for on Ctrl-C."""


MOST_AHEAD = 4
"""Threads at most that read blocks of a file ahead, each of which holds one."""

VARIABLE = "BOSKET_THREADS"
"""The environment variable that says how many threads there are, where a program does not."""

_chosen: int | None = None


class use_threads:  # noqa: N801  # called like a function, and used like open
    """Have all work of this process done by ``number`` threads: from now on, or within a ``with`` block.

    None is what there is by default: as many as the environment variable ``BOSKET_THREADS`` says, or else as the
    process may use cores.  Results do not depend on it, to the last digit.  It is a setting of the process, not of one
    of its threads.

    >>> import bosket as bk
    >>> with bk.use_threads(1):
    ...     found = bk.mine(bk.Baskets([["milk", "bread"], ["milk"]]), min_support=0.5)
    >>> len(found)
    3
    """

    def __init__(self, number: int | None) -> None:
        global _chosen
        number = None if number is None else check_integer("number", number, least=1, most=_MOST)
        self._before, _chosen = _chosen, number

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        global _chosen
        _chosen = self._before


def n_threads() -> int:
    """The threads that work is done by: as many as were chosen, or the cores this process may use."""
    if _chosen is not None:
        return _chosen
    said = os.environ.get(VARIABLE, "").strip()
    if said:
        if not (said.isascii() and said.isdigit() and 1 <= int(said) <= _MOST):
            raise ParameterError(
                f"The environment variable {VARIABLE} must be a whole number from 1 to {_MOST}, got {shown(said)}.",
                parameter=VARIABLE,
                value=said,
            )
        return int(said)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


@contextmanager
def one_thread_of_blas() -> Iterator[None]:
    """Matrix products of a few hundred rows on one core.

    The threads of OpenBLAS wait for each other by spinning: with two processes on two cores, as in a test run, a
    Cholesky factor of 500 rows takes half a second instead of five milliseconds.
    """
    with _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def parallel_map(
    function: Callable[[T], R],
    parts: Sequence[T],
    *,
    on_done: Callable[[int], None] | None = None,
) -> list[R]:
    """``[function(part) for part in parts]`` on all cores, in order; ``on_done`` hears how many are finished.

    Parts should take well under a second each.  On Ctrl-C no further part is begun, and the running ones are waited for
    no longer than ``PATIENCE``; what is left of them then runs on unheeded.  An error of a part is raised when the
    running ones are done.
    """
    workers = min(n_threads(), len(parts))
    if workers > 1:
        return _Crew(function, parts, workers).results(on_done)
    results = []
    for number, part in enumerate(parts, 1):
        results.append(function(part))
        if on_done is not None:
            on_done(number)
    return results


def mapped_ahead(function: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
    """``map(function, parts)``, while further parts are read: some are done at once, and results come in order.

    Parts should take well under a second each, and a few of them fit in memory: one more than there are threads, of
    which there are at most ``MOST_AHEAD``.  An error that a part is read with is raised after the results before it.
    """
    workers = min(n_threads(), MOST_AHEAD)
    if workers == 1:
        yield from map(function, parts)
        return
    pool = ThreadPoolExecutor(workers, "bosket")
    waiting: deque[Future[R]] = deque()
    rest, problem = iter(parts), None
    try:
        while True:
            try:
                waiting.extend(pool.submit(function, part) for part in islice(rest, workers + 1 - len(waiting)))
            except Exception as error:  # noqa: BLE001  # raised again, below
                rest, problem = iter(()), error
            if not waiting:
                break
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    if problem is not None:
        raise problem


def apart(function: Callable[[], R]) -> R:
    """``function()`` in a thread of its own: for one long call, such as a sort, that nothing can cut into parts.

    Ctrl-C is answered after ``PATIENCE``, and the call runs on unheeded.
    """
    return _Crew(lambda _: function(), (None,), 1).results(None)[0]


class _Crew(Generic[T, R]):
    """Threads that take one part after the other.  They do not keep the interpreter from ending."""

    def __init__(self, function: Callable[[T], R], parts: Sequence[T], workers: int) -> None:
        self._function, self._parts = function, parts
        self._results: list[R | None] = [None] * len(parts)
        self._problems: dict[int, BaseException] = {}
        self._is_done = [False] * len(parts)
        self._begun = 0
        self._changed = Condition()
        self._threads = [Thread(target=self._work, name="bosket", daemon=True) for _ in range(workers)]

    def results(self, on_done: Callable[[int], None] | None) -> list[R]:
        try:
            for thread in self._threads:
                thread.start()
            for number in range(len(self._parts)):
                with self._changed:
                    self._changed.wait_for(lambda number=number: self._is_done[number])  # type: ignore[misc]  # bound here
                self._check(number)
                if on_done is not None:
                    on_done(number + 1)
        except Exception:
            self._stop(None)
            raise
        except BaseException:  # Ctrl-C, most likely
            self._stop(PATIENCE)
            raise
        return cast(list[R], self._results)

    def _check(self, number: int) -> None:
        if number in self._problems:
            raise self._problems[number]

    def _work(self) -> None:
        while True:
            with self._changed:
                number = self._begun
                if number >= len(self._parts):
                    return
                self._begun += 1
            try:
                self._results[number] = self._function(self._parts[number])
            except BaseException as problem:  # noqa: BLE001  # raised again where it is waited for
                self._problems[number] = problem
            with self._changed:
                self._is_done[number] = True
                self._changed.notify_all()

    def _stop(self, seconds: float | None) -> None:
        """Begin nothing more, and wait so long for what is running (None: to the end)."""
        with self._changed:
            self._begun = len(self._parts)
        until = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(None if until is None else max(0.0, until - time.monotonic()))


def slices(total: int, size: int) -> Iterable[tuple[int, int]]:
    """Cut ``range(total)`` into consecutive (start, stop) pairs of at most ``size``."""
    return ((start, min(start + size, total)) for start in range(0, total, size))
