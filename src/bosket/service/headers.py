"""Headers of every answer: nothing is loaded from elsewhere, guessed, kept or told on."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class SafeHeaders:
    """Adds the headers; with ``origins``, pages from there may call the API as well."""

    def __init__(self, app: ASGIApp, *, origins: tuple[str, ...] = ()) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origin = ""
        if self._origins:
            origin = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = [*message.get("headers", ()), *_RAW]
                if not any(name == b"cache-control" for name, _ in sent):
                    sent.append((b"cache-control", b"no-store"))
                message["headers"] = sent
                headers = MutableHeaders(raw=sent)
                if origin in self._origins:
                    headers["Access-Control-Allow-Origin"] = origin
                    headers["Access-Control-Allow-Headers"] = (
                        "authorization, bosket-token, content-type, idempotency-key"
                    )
                    headers["Access-Control-Allow-Methods"] = "GET, POST"
                    headers["Access-Control-Expose-Headers"] = "retry-after"
                    headers["Cross-Origin-Resource-Policy"] = "cross-origin"
                    headers["Vary"] = "Origin"
            await send(message)

        if scope["method"] == "OPTIONS" and origin in self._origins:
            await sending({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, sending)
