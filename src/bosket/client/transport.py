"""HTTP with the standard library alone: one document is fetched, batches are posted, faults on the way are met again.

A batch has a random id, and the collector counts an id once: a batch whose answer was lost is sent again, under the
same id, without being counted twice.
"""

from __future__ import annotations

import http.client
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
_AT_ONCE = 1 << 16
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 507})
_LONGEST_WAIT = 60.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ServiceError(BosketError):
    """What a collector answered, or that it did not.

    status  of the answer; None where the collector could not be reached
    sent    how many reports were acknowledged before, from the first on
    id      of the batch that was not, under which it may be sent again (``Client.send(reports[sent:], id=id)``)
    """

    sent: int = 0
    id: str | None = None

    def __init__(self, message: str, *, status: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status

    def after(self, sent: int, of: int, id: str) -> ServiceError:
        """The same, with how far the sending came."""
        error = ServiceError(
            f"{self}{'' if str(self).endswith('.') else '.'} Of {of} reports, {sent} were acknowledged.",
            status=self.status,
            hint="Do not randomize again what was sent, which tells more of people: leave out the first records, or go "
            "on with the same reports by Client.send(reports[error.sent:], id=error.id).",
        )
        error.sent, error.id = sent, id
        return error


class SendingInterrupted(KeyboardInterrupt):
    """Ctrl-C while reports are sent; ``sent`` and ``id`` are those of a :class:`ServiceError`."""

    def __init__(self, sent: int, id: str) -> None:
        super().__init__()
        self.sent, self.id = sent, id


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A report goes where the user said, or nowhere; nor is it looked at where else, which may be no address at all."""

    def http_error_302(self, *_: Any, **__: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


@dataclass(frozen=True)
class Transport:
    """How to reach a collector.

    timeout  seconds that a collector may say nothing in one attempt, and that its answer may take to come once it began
    tries    attempts in all
    wait     seconds before the second attempt, doubled before each further one; longer where the collector says so
             (``Retry-After``), up to a minute
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
        # A proxy would read what goes over http, and what goes to this machine is to stay on it.
        direct = [urllib.request.ProxyHandler({})] if request.type == "http" else []
        opener = urllib.request.build_opener(_NoRedirects, *direct)
        for attempt in range(1, self.tries + 1):
            told = 0.0
            try:
                with opener.open(request, timeout=self.timeout) as answer:
                    data = whole(answer, most + 1, self.timeout)
                if len(data) > most:
                    raise DataError(f"The answer of the collector must have at most {most} bytes.")
            except urllib.error.HTTPError as problem:
                with problem:
                    refusal, told = _refusal(problem, self.timeout), _told(problem)
                if problem.code not in _AGAIN or attempt == self.tries:
                    raise refusal from None
            except (urllib.error.URLError, http.client.HTTPException, OSError) as problem:
                if attempt == self.tries:
                    raise ServiceError(
                        f"The collector at {_place(request.full_url)} could not be reached: {type(problem).__name__}."
                    ) from None
            else:
                return data
            self.sleep(max(told, self.wait * 2 ** (attempt - 1)))
        raise AssertionError


_AGENT = {"User-Agent": f"bosket/{__version__.split('.')[0]}"}


def check_url(url: str, *, is_pinned: bool) -> urllib.parse.SplitResult:
    """The parts of an address; one that anybody on the way can change is refused, unless a key is known beforehand."""
    try:
        parts = urllib.parse.urlsplit(url if url.isascii() and url.isprintable() and " " not in url else "")
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # as it is when it is looked up
    except ValueError:  # of brackets, of a port, or of a name with parts that none has
        is_whole = False
    if not is_whole:
        raise ParameterError(
            "The address of a task must be like https://collector.example/v1/tasks/NAME.", parameter="task", value=url
        )
    if _is_open(parts) and not is_pinned:
        raise ParameterError(
            "The address of a task must be https: over http anybody on the way can change what is promised.",
            parameter="task",
            value=url,
            hint="Give the key of the study, which its owner publishes, to check the signature by.",
        )
    return parts


def check_word(name: str, value: str | None, url: urllib.parse.SplitResult | None) -> None:
    """Refuse a token that is none, or that anybody on the way could read."""
    if value is None:
        return
    if not isinstance(value, str) or not value.isascii() or not value.isprintable() or not value or " " in value:
        raise ParameterError(f"The '{name}' parameter of Client must be one word.", parameter=name, value=None)
    if url is not None and _is_open(url):
        raise ParameterError(
            f"The '{name}' parameter of Client must not go over http: anybody on the way can read it, and use it.",
            parameter=name,
            value=None,
            hint="Use the https address of the collector.",
        )


def _is_open(parts: urllib.parse.SplitResult) -> bool:
    """Whether others can read and change what is sent."""
    return parts.scheme == "http" and parts.hostname not in _LOOPBACK


def _place(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def _told(problem: urllib.error.HTTPError) -> float:
    """Seconds that the collector asks to wait for (``Retry-After``), no more than a minute; 0 where it says none."""
    text = problem.headers.get("Retry-After", "")
    return min(float(text), _LONGEST_WAIT) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0


def whole(answer: Any, most: int, seconds: float) -> bytes:
    """Up to so many bytes of an answer, if they come in time: one that drips would be waited for without end."""
    until = time.monotonic() + seconds
    parts: list[bytes] = []
    while most > 0 and (part := answer.read1(min(most, _AT_ONCE))):
        parts.append(part)
        most -= len(part)
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(parts)


def _refusal(problem: urllib.error.HTTPError, seconds: float) -> ServiceError:
    """What a problem document (RFC 9457) says, in a line."""
    said: Any = None
    try:
        said = strict_json.parse(whole(problem, _MOST_ANSWER, seconds), what="the refusal")
    except (DataError, OSError, http.client.HTTPException):
        said = None
    words = [said[name] for name in ("title", "detail") if isinstance(said, dict) and isinstance(said.get(name), str)]
    text = ": ".join(words)[:300] or "no reason given"
    return ServiceError(f"The collector answered {problem.code}, {text}", status=problem.code)
