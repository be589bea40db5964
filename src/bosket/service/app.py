"""The HTTP application: routes over a collector."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from bosket._version import __version__
from bosket.service import managing, pages, reading, submitting
from bosket.service.collector import Collector
from bosket.service.headers import SafeHeaders
from bosket.service.limits import BodyRooms, RateLimit
from bosket.service.metrics import ServiceMetrics, TimedAnswers
from bosket.service.portions import Portions
from bosket.service.problems import Faults, Problem, add_handlers

DESCRIPTION = """Collects randomized reports and shows what they say.

The words are those of the Distributed Aggregation Protocol: a *task* has a plan, people send *reports*, these are kept
in *batches*, and an analyst *collects* results. Every refusal is a problem document (RFC 9457)."""


def make_app(collector: Collector, *, ends_it: bool = True) -> FastAPI:
    """The application; it stops the collector when it ends, unless told not to."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        if ends_it:
            collector.stop()

    app = FastAPI(
        title="bosket collector",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
    )
    app.state.collector = collector
    app.state.metrics = ServiceMetrics()
    app.state.rooms = BodyRooms()
    app.state.pinging = None
    app.state.rates = {task.id: RateLimit(task.rate) for task in collector.settings.tasks if task.rate is not None}
    app.router.routes.insert(0, Route(submitting.PATH, submitting.submit, methods=["POST"]))
    for router in (reading.router, managing.router, pages.router, pages.health):
        app.include_router(router)
    add_handlers(app)
    app.add_middleware(Faults)
    app.add_middleware(SafeHeaders, origins=collector.settings.origins)
    app.add_middleware(TimedAnswers, metrics=app.state.metrics)
    app.add_middleware(Portions)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]  # how FastAPI says to extend it
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with problem documents and scopes of tokens."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        components = document.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        for model in (Problem, submitting.Accepted, managing.TokenRequest):
            schemas[model.__name__] = model.model_json_schema()
        document["paths"][submitting.PATH]["post"] = submitting.operation()
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        components["securitySchemes"] = {
            name: {"type": "http", "scheme": "bearer", "description": f"A token with the scope {name}"}
            for name in ("submit", "analyse", "admin")
        }
        app.openapi_schema = document
    return app.openapi_schema
