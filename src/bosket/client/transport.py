"""HTTP with the standard library alone: one document is fetched, batches are posted, faults on the way are met again.

A batch has a random id, and the collector counts an id once: a batch whose answer was lost is sent again, under the
same id, without being counted twice.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bosket import strict_json
from bosket._version import __version__
from bosket.errors import BosketError, DataError, ParameterError

MOST_DOCUMENT = 1 << 26
_MOST_ANSWER = 1 << 20
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 507})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ServiceError(BosketError):
    """What a collector answered, or that it did not; ``status`` is None where it could not be reached."""

    def __init__(self, message: str, *, status: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A report goes where the user said, or nowhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class Transport:
    """How to reach a collector.

    timeout  seconds for one attempt
    tries    attempts in all
    wait     seconds before the second attempt, doubled before each further one
    """

    timeout: float = 30.0
    tries: int = 6
    wait: float = 0.5
    sleep: Callable[[float], None] = time.sleep

    def get(self, url: str) -> Any:
        """A JSON document."""
        request = urllib.request.Request(url, headers={"Accept": "application/json", **_AGENT})
        return strict_json.parse(self._answer(request, MOST_DOCUMENT), what="the task document")

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Any:
        """The answer to a batch, as JSON."""
        request = urllib.request.Request(url, data=body, headers={**headers, **_AGENT}, method="POST")
        return strict_json.parse(self._answer(request, _MOST_ANSWER), what="the collector's answer")

    def _answer(self, request: urllib.request.Request, most: int) -> bytes:
        opener = urllib.request.build_opener(_NoRedirects)
        for attempt in range(1, self.tries + 1):
            try:
                with opener.open(request, timeout=self.timeout) as answer:
                    data: bytes = answer.read(most + 1)
                if len(data) > most:
                    raise DataError(f"The answer of the collector must have at most {most} bytes.")
            except urllib.error.HTTPError as problem:
                with problem:
                    refusal = _refusal(problem)
                if problem.code not in _AGAIN or attempt == self.tries:
                    raise refusal from None
            except (urllib.error.URLError, http.client.HTTPException, OSError) as problem:
                if attempt == self.tries:
                    raise ServiceError(
                        f"The collector at {_place(request.full_url)} could not be reached: {type(problem).__name__}.",
                        hint="What was not acknowledged may be sent again under the same id.",
                    ) from None
            else:
                return data
            self.sleep(self.wait * 2 ** (attempt - 1))
        raise AssertionError


_AGENT = {"User-Agent": f"bosket/{__version__.split('.')[0]}"}


def check_url(url: str, *, is_pinned: bool) -> urllib.parse.SplitResult:
    """The parts of an address; one that anybody on the way can change is refused, unless a key is known beforehand."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(
            "The address of a task must be like https://collector.example/v1/tasks/NAME.", parameter="task", value=url
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not is_pinned:
        raise ParameterError(
            "The address of a task must be https: over http anybody on the way can change what is promised.",
            parameter="task",
            value=url,
            hint="Give the key of the study, which its owner publishes, to check the signature by.",
        )
    return parts


def _place(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _refusal(problem: urllib.error.HTTPError) -> ServiceError:
    """What a problem document (RFC 9457) says, in a line."""
    said: Any = None
    try:
        said = json.loads(problem.read(_MOST_ANSWER))
    except (ValueError, OSError, http.client.HTTPException):
        said = None
    words = [said[name] for name in ("title", "detail") if isinstance(said, dict) and isinstance(said.get(name), str)]
    text = ": ".join(words)[:300] or "no reason given"
    return ServiceError(f"The collector answered {problem.code}, {text}", status=problem.code)
