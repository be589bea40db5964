"""Answers in portions: of one that nobody reads, a portion is held and not the whole.

The server writes what it is given at once, and what the network does not take stays in memory, a copy for each
connection: of the document of a plan of 200,000 items 8 MB, for as long as who asked may take to read.  Between parts
it waits until there is room, and others have their turn: it hears there that who asked has gone, and sends no more.
Without that asyncio writes a line to the log for each part, whoever asks and resets the connection.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PORTION = 1 << 16
"""Bytes that are handed to the server at once."""


class Portions:
    """Parts the bodies of answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            body: bytes = message.get("body", b"")
            last = max(0, len(body) - 1) // PORTION * PORTION
            for start in range(0, last, PORTION):
                part = body[start : start + PORTION]
                await send({"type": "http.response.body", "body": part, "more_body": True})
                await asyncio.sleep(0)  # the server hears that a connection was lost in a turn of its own
            await send({**message, "body": body[last:]} if last else message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)
