"""A collector as a process: uvicorn without a log of requests, ended gracefully by SIGTERM and Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from bosket.errors import DataError

GRACE = 20
"""Seconds that requests have to end before the server does."""
IDLE = 30
"""Seconds that a connection has for the head of a request, from its beginning or from the answer before."""
UNREAD = 120
"""Seconds in which who is answered must read something; systems tell of that by a mebibyte or so."""
_MOST_FILES = 1 << 16
FEW_CHUNKS = 64
"""Chunks of a body that may be of any size; with more, all have ``LEAST_CHUNK`` bytes on the average."""
LEAST_CHUNK = 256


class ChunkCounter(h11.Connection):
    """Refuses bodies in chunks of a few bytes: each chunk takes a hundred times as long as the six bytes that it is
    sent by, and all that came at once are gone through before anybody else is answered.
    """

    _chunks, _bytes = 0, 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks, self._bytes = 0, 0
        elif isinstance(event, h11.Data):
            self._bytes += len(event.data)
            self._chunks += event.chunk_start
            if self._chunks > FEW_CHUNKS + self._bytes // LEAST_CHUNK:
                raise h11.RemoteProtocolError("a body in too small chunks")
        return event


class PunctualProtocol(H11Protocol):
    """Ends connections on which no request comes: uvicorn waits for a head that has begun for ever, and some thousand
    connections with half a head leave no file for anybody else.  So do as many that ask and read no answer: those on
    which nothing is read for long are cut off.  Bytes that are no request end a connection without a line in the log.
    """

    _waiting: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def __init__(self, config: uvicorn.Config, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        self.conn = ChunkCounter(h11.SERVER)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request; uvicorn would answer a second time where an answer has begun, or let the
        application do so, and write the fault of that to the log.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._unwatch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._wait()
        self._unwatch()

    def _wait(self) -> None:
        """Give the next head its time, unless it runs already, or a request is being answered."""
        is_idle = not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)
        if is_idle and self._waiting is None:
            self._waiting = self.loop.call_later(IDLE, self._close)
        elif not is_idle and self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self.transport.is_closing():
            self._watch()

    def _close(self) -> None:
        self.transport.close()
        self._watch()

    def _watch(self) -> None:
        """See that what waits to be read becomes less: nothing is added to it while it waits, or at the end."""
        if self._reading is None:
            self._reading = self.loop.call_later(UNREAD, self._look, self.transport.get_write_buffer_size())

    def _look(self, before: int) -> None:
        self._reading = None
        if self.transport.get_write_buffer_size() < before:
            self._watch()
        else:
            self.transport.abort()

    def _unwatch(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def _is_of_the_server(record: logging.LogRecord) -> bool:
    """Whether a line of asyncio tells of more than that somebody went away before the answer was written."""
    return record.msg != "socket.send() raised exception."


@contextlib.contextmanager
def _silent_about_lost_connections() -> Iterator[None]:
    """Keep the one sentence out of the log that anybody can have written there by resetting a connection."""
    log = logging.getLogger("asyncio")
    log.addFilter(_is_of_the_server)
    try:
        yield
    finally:
        log.removeFilter(_is_of_the_server)


def allow_files() -> None:
    """As many connections at once as the system allows, where that is more than it begins with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listening(host: str, port: int) -> socket.socket:
    """A socket that waits for clients; port 0 finds a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise DataError(f"Cannot listen on {host}, port {port}: {error.strerror}.") from None


def address_of(at: socket.socket) -> str:
    host, port = at.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: FastAPI) -> uvicorn.Server:
    """A server that logs nothing of a request, and neither believes nor sends a header that says where it came from."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=IDLE,
        http=PunctualProtocol,
    )
    return uvicorn.Server(config)


def serve(app: FastAPI, at: socket.socket, *, on_started: Callable[[], None] = lambda: None) -> None:
    """Serve until SIGTERM or Ctrl-C; what waits is written first."""
    allow_files()
    server = server_of(app)
    before = _ended_by_signals(server)
    try:
        with _silent_about_lost_connections():
            on_started()
            server.run(sockets=[at])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended_by_signals(server: uvicorn.Server) -> dict[int, Any]:
    """Let SIGTERM and Ctrl-C end a server and nothing else; the handlers before.

    uvicorn has its own while it runs, and raises the signal again once it has ended: then this one hears it.
    """

    def end(number: int, frame: object) -> None:
        server.should_exit = True

    return {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
