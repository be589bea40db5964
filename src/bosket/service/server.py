"""A collector as a process: uvicorn without a log of requests, ended gracefully by SIGTERM and Ctrl-C."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from bosket.errors import DataError

GRACE = 20
"""Seconds that requests have to end before the server does."""


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
        timeout_keep_alive=30,
    )
    return uvicorn.Server(config)


def serve(app: FastAPI, at: socket.socket, *, on_started: Callable[[], None] = lambda: None) -> None:
    """Serve until SIGTERM or Ctrl-C; what waits is written first."""
    server = server_of(app)
    before = _ended_by_signals(server)
    try:
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
