"""How much a task takes: bytes of a body, and submissions a second."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable

from fastapi import Request

from bosket.service.problems import Refusal


class RateLimit:
    """A bucket of tokens: ``rate`` a second on the average, and as many as a second's worth at once.

    All submissions of a task share it.  The collector never looks at an address; a limit for each is the proxy's.
    """

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = max(1.0, rate)
        self._clock = clock
        self._left = self._most
        self._at = clock()

    def take(self) -> None:
        """Let one through, or refuse it and say when to come again."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            wait = math.ceil((1 - self._left) / self._rate)
            raise Refusal(429, "rate", "Too many submissions at present.", headers={"Retry-After": str(max(1, wait))})
        self._left -= 1


SLOWEST = 60.0
"""Seconds that a body may take to come."""


PASSED_BY = 1 << 20
"""Bytes beyond the limit up to which a body is read, and not kept, before it is refused: a proxy that still writes when
the connection is closed would tell of a fault in its place, after which clients send it all again."""
_PATIENCE = 5.0  # seconds


async def _pass_by(request: Request) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            async for _ in request.stream():
                pass


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request, up to a number of bytes and seconds: no more than that is ever held, or for longer."""
    told = request.headers.get("content-length", "")
    if told.isdecimal() and len(told) < 20 and int(told) > most:
        if int(told) <= most + PASSED_BY:
            await _pass_by(request)
        raise _too_large(most)
    parts, total = [], 0
    try:
        async with asyncio.timeout(SLOWEST):
            async for part in request.stream():
                total += len(part)
                if total > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "slow", "The body took too long to come.", headers={"Connection": "close"}) from None
    return b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too-large", f"A body must have at most {most} bytes.", headers={"Connection": "close"})
