"""Work on all cores: order, errors, progress, and an end to it on Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from bosket import threads
from bosket.threads import at_most_threads, n_threads, parallel_map


@pytest.fixture(autouse=True)
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: 2)


def test_a_worker_of_a_cluster_takes_one_core() -> None:
    before = n_threads()
    with at_most_threads(1):
        assert n_threads() == 1
        with at_most_threads(10_000):
            assert n_threads() == before
        assert n_threads() == 1
    assert n_threads() == before


def test_results_come_in_the_order_of_the_parts() -> None:
    seen: list[int] = []

    def square(part: int) -> int:
        time.sleep(0.01 * (part % 3))
        return part * part

    found = parallel_map(square, range(20), on_done=seen.append)
    assert found == [part * part for part in range(20)]
    assert seen == list(range(1, 21))
    assert parallel_map(str, []) == []
    assert parallel_map(str, [5]) == ["5"]


def test_the_error_of_a_part_is_raised_and_no_more_are_begun() -> None:
    begun: list[int] = []

    def work(part: int) -> None:
        begun.append(part)
        if part == 3:
            raise ZeroDivisionError
        time.sleep(0.002)

    with pytest.raises(ZeroDivisionError):
        parallel_map(work, range(1000))
    assert len(begun) < 100
    assert not _running(), "the running ones are waited for"


def test_an_interruption_does_not_wait_for_a_long_part() -> None:
    """Ctrl-C comes while both threads are in parts that take long; on_done is where this thread can be made to see
    it.
    """
    end = threading.Event()
    begun: list[int] = []

    def work(part: int) -> None:
        begun.append(part)
        if part:
            end.wait(30)

    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        parallel_map(work, range(50), on_done=_interrupt)
    took = time.perf_counter() - started
    end.set()
    assert took < threads.PATIENCE + 5
    assert max(begun) <= 3, "no part is begun any more"


def _interrupt(number: int) -> None:
    raise KeyboardInterrupt


def _running() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "bosket"]


def test_short_parts_are_over_when_the_interruption_is_answered() -> None:
    """Then nothing goes on behind the user's back."""
    with pytest.raises(KeyboardInterrupt):
        parallel_map(lambda part: time.sleep(0.01), range(50), on_done=_interrupt)
    assert not _running()


def test_errors_of_the_listener_are_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(number: int) -> None:
        raise LookupError(number)

    work: Callable[[int], int] = abs
    for workers in (1, 2):
        monkeypatch.setattr(threads, "n_threads", lambda workers=workers: workers)
        with pytest.raises(LookupError):
            parallel_map(work, range(5), on_done=fail)
