"""Work on all cores: order, errors, progress, and an end to it on Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

import bosket as bk
from bosket import threads
from bosket.threads import mapped_ahead, parallel_map

_n_threads = threads.n_threads


@pytest.fixture(autouse=True)
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: 2)


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
        parallel_map(work, range(1_000_000))
    assert len(begun) < 100_000, "a minute and more, were this thread not heard for so long"
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
            end.wait(300)

    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        parallel_map(work, range(50), on_done=_interrupt)
    took = time.perf_counter() - started
    end.set()
    assert took < threads.PATIENCE + 100
    assert max(begun) <= 3, "no part is begun any more"


def _interrupt(number: int) -> None:
    raise KeyboardInterrupt


def _running() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "bosket"]


def test_short_parts_are_over_when_the_interruption_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing goes on behind the user's back.  A part is short if it takes less than is waited for."""
    monkeypatch.setattr(threads, "PATIENCE", 100.0)
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


class TestAhead:
    """Parts that are read while others are worked on."""

    @pytest.mark.parametrize("workers", [1, 2, 9])
    def test_results_come_in_the_order_of_the_parts(self, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
        monkeypatch.setattr(threads, "n_threads", lambda: workers)

        def square(part: int) -> int:
            time.sleep(0.002 * (part % 3))
            return part * part

        assert list(mapped_ahead(square, iter(range(30)))) == [part * part for part in range(30)]
        assert list(mapped_ahead(square, iter([]))) == []

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_part_that_cannot_be_read_comes_after_those_before_it(
        self, monkeypatch: pytest.MonkeyPatch, workers: int
    ) -> None:
        monkeypatch.setattr(threads, "n_threads", lambda: workers)

        def parts() -> Iterator[int]:
            yield from range(3)
            raise LookupError

        found: list[int] = []
        with pytest.raises(LookupError):
            found.extend(mapped_ahead(abs, parts()))
        assert found == [0, 1, 2]

    @pytest.mark.parametrize("workers", [1, 2])
    def test_the_error_of_a_part_comes_before_what_follows(self, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
        monkeypatch.setattr(threads, "n_threads", lambda: workers)

        def parts() -> Iterator[int]:
            yield from (1, 0, 1)
            raise LookupError

        found: list[int] = []
        with pytest.raises(ZeroDivisionError):
            found.extend(mapped_ahead(lambda part: 1 // part, parts()))
        assert found == [1]

    def test_few_parts_are_held_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "n_threads", lambda: 64)
        read: list[int] = []

        def parts() -> Iterator[int]:
            for part in range(100):
                read.append(part)
                yield part

        for result in mapped_ahead(abs, parts()):
            assert len(read) <= result + 2 + threads.MOST_AHEAD

    def test_an_interruption_does_not_wait(self) -> None:
        end = threading.Event()

        def parts() -> Iterator[int]:
            yield 1
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(mapped_ahead(lambda part: end.wait(300), parts()))
        end.set()


class TestNumber:
    """How many threads there are: chosen by the program, by the environment, or by the machine."""

    @pytest.fixture(autouse=True)
    def the_real_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "n_threads", _n_threads)
        monkeypatch.delenv("BOSKET_THREADS", raising=False)
        monkeypatch.setattr(threads, "_chosen", None)

    def test_it_is_chosen_from_now_on_or_within_a_block(self) -> None:
        by_default = threads.n_threads()
        bk.use_threads(3)
        assert threads.n_threads() == 3
        with bk.use_threads(5):
            assert threads.n_threads() == 5
            with bk.use_threads(None):
                assert threads.n_threads() == by_default
        assert threads.n_threads() == 3

    def test_the_environment_says_it_where_the_program_does_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BOSKET_THREADS", "7")
        assert threads.n_threads() == 7
        with bk.use_threads(2):
            assert threads.n_threads() == 2
        for wrong in ("0", "two", "-1", "1.5", "99999"):
            monkeypatch.setenv("BOSKET_THREADS", wrong)
            with pytest.raises(bk.ParameterError, match="BOSKET_THREADS"):
                threads.n_threads()

    def test_other_numbers_are_refused(self) -> None:
        for wrong in (0, -1, 1.5, "2"):
            with pytest.raises(bk.ParameterError, match="number"):
                bk.use_threads(wrong)  # type: ignore[arg-type]

    @pytest.mark.parametrize("number", [1, 3])
    def test_kernels_run_on_so_many_threads(self, number: int) -> None:
        """Parts of the work note who does them; more than there are would be seen."""
        workers: set[str] = set()
        at_once, most, lock = 0, 0, threading.Lock()

        def work(_: int) -> None:
            nonlocal at_once, most
            with lock:
                workers.add(threading.current_thread().name)
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.005)
            with lock:
                at_once -= 1

        with bk.use_threads(number):
            parallel_map(work, range(12))
        assert most <= number
        assert (threading.current_thread().name in workers) == (number == 1), "one thread is the caller's own"

    def test_counting_mining_and_randomizing_start_no_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        crews: list[int] = []
        crew = threads._Crew

        class Watched(crew):  # type: ignore[misc, valid-type]
            def __init__(self, function: object, parts: object, workers: int) -> None:
                crews.append(workers)
                super().__init__(function, parts, workers)

        monkeypatch.setattr(threads, "_Crew", Watched)
        people = bk.quest(records=40_000, items=60, mean_size=8, seed=7)
        results = []
        for number in (1, 3):
            crews.clear()
            with bk.use_threads(number):
                reports = bk.Plan(people.domain, bk.Flip(keep=0.9)).randomize(people, rng=bk.Seeded(1))
                found = bk.mine(reports, min_support=0.05)
                results.append((reports.to_bytes(), found.to_frame(), bk.mine(people, min_support=0.01).to_frame()))
            assert set(crews) <= {1, number}, "one is a call apart"
            assert (number in crews) == (number > 1)
        (bytes_1, frame_1, exact_1), (bytes_3, frame_3, exact_3) = results
        assert bytes_1 == bytes_3
        assert frame_1.equals(frame_3)
        assert exact_1.equals(exact_3)
