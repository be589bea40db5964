"""Problem documents (RFC 9457): what every refusal is told as."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """A refusal: ``type`` names its kind, ``detail`` says it in a sentence that holds nothing of what was sent."""

    type: str
    title: str
    status: int
    detail: str


class Refusal(Exception):  # noqa: N818 - a refusal rather than a fault
    """A request that is not done; ``kind`` is the last part of the problem's type."""

    def __init__(self, status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})

    def response(self) -> Response:
        value: dict[str, Any] = {
            "type": f"urn:bosket:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return Response(json.dumps(value), self.status, self.headers, MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These statuses for the OpenAPI document: each with a problem document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def add_handlers(app: FastAPI) -> None:
    """Tell everything that goes wrong as a problem document."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return error.response()

    async def by_framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = {404: "not-found", 405: "method"}.get(error.status_code, "request")
        detail = {404: "There is nothing at this address.", 405: "This address does not take this method."}
        told = detail.get(error.status_code, "The request cannot be understood.")
        return Refusal(error.status_code, kind, told, headers=error.headers).response()

    async def invalid(request: Request, error: Exception) -> Response:
        return Refusal(422, "parameters", "A parameter or the body is not what the API's document says.").response()

    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(HTTPException, by_framework)
    app.add_exception_handler(RequestValidationError, invalid)


class Faults:
    """Ends what went wrong here: the server behind would log its traceback, with all that an error quotes.

    A handler of the framework's for all exceptions raises them again once it has answered, so this is none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_answered = False

        async def sending(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:  # before its body was whole: nobody is there to be told, and nothing is to be logged
            return
        except Exception as error:  # noqa: BLE001 - told by its kind alone
            logger.error("a request failed: %s", type(error).__name__)  # noqa: TRY400 - a traceback would quote it
            if not is_answered:
                refusal = Refusal(500, "fault", "The collector has a fault; nothing was acknowledged.")
                await refusal.response()(scope, receive, send)
