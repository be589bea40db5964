"""Reports that a collector exports: fetched into a file for as long as they are read."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import re
import ssl
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from bosket import strict_json
from bosket.data.formats.sources import BLOCK
from bosket.errors import DataError

_TASK = re.compile(r"(.*)/(?:v1/tasks|t|d)/([a-z0-9-]+)(?:/reports|/results)?/?", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,256}", re.ASCII)
_HERE = {"localhost", "127.0.0.1", "::1"}
_TIMEOUT = 120.0
"""Seconds in which a collector must say something."""
_REFUSAL = 30.0
"""Seconds in which all of a refusal must come, once it has begun."""
_LEAST = 1 << 16
"""Bytes of an export that must come in each ``_MINUTE``: one that drips would be waited for without end."""
_MINUTE = 60.0
VARIABLE = "BOSKET_TOKEN"


def is_address(path: str) -> bool:
    return path.startswith(("https://", "http://"))


@contextlib.contextmanager
def fetched(paths: Sequence[str], options: argparse.Namespace) -> Iterator[list[str]]:
    """The paths, with a file in place of each address of a collector's task."""
    if not any(map(is_address, paths)):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="bosket-") as folder:
        found = []
        for number, path in enumerate(paths):
            if is_address(path):
                target = Path(folder) / f"reports-{number}.parquet"
                _fetch(path, target, options)
                path = str(target)
            found.append(path)
        yield found


def _fetch(address: str, target: Path, options: argparse.Namespace) -> None:
    """Write the reports of a task to a file; a redirection is not followed, since the token would go with it."""
    try:
        parts = urlsplit(address if address.isascii() and address.isprintable() else "")
        has_place = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")  # as it is when it is looked up
    except ValueError:  # of brackets, of a port, or of a name with parts that none has
        parts, has_place = urlsplit(""), False
    match = _TASK.fullmatch(parts.path)
    if match is None or not has_place or parts.username:
        raise DataError(
            f"The address {address} is not that of a collector's task.",
            hint="Write https://HOST/v1/tasks/ID/reports, and ?phase=1 for those of a first phase.",
        )
    if parts.scheme == "http" and parts.hostname not in _HERE:
        raise DataError(
            f"The address {address} must begin with https://: the token, and the reports, would be open to the network."
        )
    token = (options.token or os.environ.get(VARIABLE) or "").strip()
    if not token:
        raise DataError(
            "Reports of a collector need a token with the scope analyse.", hint=f"Give --token, or set {VARIABLE}."
        )
    if not _TOKEN.fullmatch(token):  # http.client would quote it in its error
        raise DataError("The token is none of a collector's: it must be one line of letters, digits and -_.~+/=.")
    path = f"{match[1]}/v1/tasks/{match[2]}/reports" + (f"?{parts.query}" if parts.query else "")
    try:
        _get(_connection(parts), path, token, target, options.max_bytes)
    except (OSError, http.client.HTTPException) as error:
        fault = getattr(error, "strerror", None) or type(error).__name__
        raise DataError(f"The collector at {parts.hostname} cannot be reached: {fault}.") from None


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=_TIMEOUT)
    return http.client.HTTPSConnection(host, parts.port, timeout=_TIMEOUT, context=ssl.create_default_context())


def _get(connection: http.client.HTTPConnection, path: str, token: str, target: Path, max_bytes: int | None) -> None:
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise DataError(f"The collector refused ({answer.status}): {_why(answer)}")
        total = 0
        with target.open("wb") as file:
            for block in _parts(answer):
                total += len(block)
                if max_bytes is not None and total > max_bytes:
                    raise DataError(f"The collector sends more than {max_bytes:,} bytes.", hint="Raise --max-bytes.")
                file.write(block)


def _parts(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """An export as it comes, refused where it comes too slowly."""
    until, came = time.monotonic() + _MINUTE, 0
    while part := answer.read1(BLOCK):
        yield part
        came += len(part)
        now = time.monotonic()
        if now > until:
            if came < _LEAST:
                raise DataError(f"The collector must send at least {_LEAST:,} bytes a minute, got {came:,}.")
            until, came = now + _MINUTE, 0


def _why(answer: http.client.HTTPResponse) -> str:
    """The sentence of a refusal, if all of it comes in time."""
    from bosket.client.transport import whole

    try:
        return _detail(whole(answer, BLOCK, _REFUSAL))
    except TimeoutError:
        return _detail(b"")


def _detail(body: bytes) -> str:
    """The sentence of a problem document, as far as it is one."""
    try:
        found = strict_json.parse(body, what="the refusal")
    except DataError:
        found = None
    detail = found.get("detail") if isinstance(found, dict) else None
    return detail[:500] if isinstance(detail, str) else "it does not say why."
