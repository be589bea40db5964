"""How much a task takes: bytes of a body, and submissions a second."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import Request

from bosket.service.problems import Refusal
from bosket.service.settings import MOST_BODY


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

    def check(self) -> None:
        """Refuse one for whom there is no turn, and say when to come again."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            wait = math.ceil((1 - self._left) / self._rate)
            raise Refusal(429, "rate", "Too many submissions at present.", headers={"Retry-After": str(max(1, wait))})

    def take(self) -> None:
        """Take the turn of one that was let through; of several that were at once, those of later ones."""
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


SMALL = 1 << 16
"""Bytes of a body that counts as small."""


GRACE = 5.0
"""Seconds that a body has before it may count as slow."""
SLOW = 1 << 16
"""Bytes a second, on the average: a body that comes slower than that after the grace gives way where room is wanted."""


class BodyRoom:
    """Bytes of bodies that are held for all who send at once: of many who send slowly each holds what came so far.

    Where it is full, the slow ones that hold most are ended, so that nobody keeps others out who sends little.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._senders: set[BodySender] = set()

    def take(self, n_bytes: int, sender: BodySender | None = None) -> None:
        """Make room, or refuse; asked in the thread of the event loop alone."""
        if n_bytes > self._left:
            self._end_slow(n_bytes, sender)
        if n_bytes > self._left:
            again = {"Retry-After": "1", "Connection": "close"}
            raise Refusal(429, "busy", "Too much is being sent at present.", headers=again)
        self._left -= n_bytes

    def give(self, n_bytes: int) -> None:
        self._left += n_bytes

    def enter(self) -> BodySender:
        sender = BodySender(self)
        self._senders.add(sender)
        return sender

    def leave(self, sender: BodySender) -> None:
        self._senders.discard(sender)
        sender.give_back()

    def _end_slow(self, n_bytes: int, but: BodySender | None) -> None:
        now = time.monotonic()
        slow = [one for one in self._senders if one is not but and one.is_slow(now)]
        for one in sorted(slow, key=lambda one: -one.held):
            if n_bytes <= self._left:
                return
            one.end()


class BodySender:
    """Somebody whose body is coming: what is held of it, and since when."""

    def __init__(self, room: BodyRoom) -> None:
        self._room, self._since = room, time.monotonic()
        self.held = 0
        self.coming: asyncio.Timeout | None = None
        """The time that the body has, while it comes."""

    def is_slow(self, now: float) -> bool:
        return self.coming is not None and self.held > 0 and self.held < SLOW * (now - self._since - GRACE)

    def take(self, n_bytes: int) -> None:
        self._room.take(n_bytes, self)
        self.held += n_bytes

    def give_back(self) -> None:
        self._room.give(self.held)
        self.held = 0

    def end(self) -> None:
        """Wait no longer for the rest of it."""
        if self.coming is not None and not self.coming.expired():
            self.coming.reschedule(0.0)
        self.coming = None
        self.give_back()


@dataclass(frozen=True)
class BodyRooms:
    """Room for large bodies, and for small ones, as most people send, room that large ones cannot take."""

    large: BodyRoom = field(default_factory=lambda: BodyRoom(MOST_BODY))
    small: BodyRoom = field(default_factory=lambda: BodyRoom(64 << 20))


def _told_length(request: Request) -> int | None:
    """How many bytes the body has; None where that is not told, or not by this alone."""
    told = request.headers.get("content-length", "")
    is_told = told.isdecimal() and len(told) < 20 and "transfer-encoding" not in request.headers
    return int(told) if is_told else None


@asynccontextmanager
async def held_body(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body of a request, which counts towards what the application holds until it is done with."""
    told = _told_length(request)
    rooms: BodyRooms = request.app.state.rooms
    is_small = told is not None and told <= min(SMALL, most)
    room, most = (rooms.small, min(SMALL, most)) if is_small else (rooms.large, most)
    sender = room.enter()
    try:
        yield await body_of(request, most, sender=sender)
    finally:
        room.leave(sender)


async def body_of(request: Request, most: int, *, sender: BodySender | None = None) -> bytes:
    """The body of a request, up to a number of bytes and seconds: no more than that is ever held, or for longer.

    ``sender`` hears of each part before it is kept.
    """
    told = _told_length(request)
    if told is not None and told > most:
        if told <= most + PASSED_BY:
            await _pass_by(request)
        raise _too_large(most)
    parts, total = [], 0
    try:
        async with asyncio.timeout(SLOWEST) as coming:
            if sender is not None:
                sender.coming = coming
            async for part in request.stream():
                total += len(part)
                if total > most:
                    raise _too_large(most)
                if sender is not None:
                    sender.take(len(part))
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "slow", "The body took too long to come.", headers={"Connection": "close"}) from None
    finally:
        if sender is not None:
            sender.coming = None
    return b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too-large", f"A body must have at most {most} bytes.", headers={"Connection": "close"})
