"""What a fuzz target may take, and what it must hold to: only ``BosketError`` comes out, in bounded time and memory.

A target is a function of one example.  ``fuzz`` runs it over a strategy; ``EXAMPLES`` makes of it a test of seconds in
the quick suite and one of forty times as many examples in the slow suite:

    @pytest.mark.parametrize("examples", EXAMPLES)
    def test_plan_json(examples: int) -> None:
        fuzz(read_plan, plan_texts, examples=examples)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bosket.errors import BosketError
from tests import chance
from tests.effort import processor_time, slowness
from tests.memory import memory_within

Example = TypeVar("Example")
Result = TypeVar("Result")

QUICK, SLOW = 100, 1000
"""Numbers of examples: once, and in each of `ROUNDS`."""
ROUNDS = 4
"""By seeds of their own: a commit's verdict depends on no luck.  ``BOSKET_CHANCE=word`` draws other examples."""

EXAMPLES = [pytest.param(QUICK, id="quick"), pytest.param(SLOW, id="slow", marks=pytest.mark.slow)]

MEMORY = 512 << 20
"""Most bytes of memory that a target may add to the process, all examples together."""

SECONDS = 10.0
"""Most seconds of processor time for one example, on a usual machine: far more than any takes."""


def fuzz(
    target: Callable[[Example], object],
    inputs: st.SearchStrategy[Example],
    *,
    examples: int,
    memory: int = MEMORY,
    seconds: float = SECONDS,
) -> None:
    """Run a target on examples, which are the same ones every time."""

    def check(example: Example) -> None:
        started = processor_time()
        target(example)
        used = processor_time() - started
        if used > seconds:  # far more than any takes: only then it matters how fast the machine is
            assert used < seconds * slowness(), "an example took too long"

    options = settings(
        max_examples=examples,
        deadline=None,
        derandomize=False,
        database=None,
        print_blob=True,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with memory_within(memory):
        for number in range(ROUNDS if examples == SLOW else 1):
            drawn = seed(zlib.crc32(f"{chance.WORD}:{number}".encode()))
            options(drawn(given(inputs)(check)))()


def only_refused(call: Callable[[], Result]) -> Result | None:
    """What a call gives, or None where it refuses with an error of ours, which is one short line."""
    try:
        return call()
    except BosketError as error:
        message = str(error)
        assert message
        assert len(message) < 2000, f"a message of {len(message)} characters"
        assert "\n" not in message, "a message of several lines"
    return None
