"""Clients that press a server on the loopback: each on one connection, one request after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bosket.statistics.estimates import Floats


@dataclass(frozen=True)
class Load:
    """What a run brought."""

    n_requests: int
    n_bytes: int
    seconds: float
    latencies: Floats
    statuses: frozenset[int]
    processor_seconds: float = 0.0
    """Of the server, where the system tells: what does not hang on who else is at work."""

    @property
    def requests_per_second(self) -> float:
        return self.n_requests / self.seconds

    @property
    def bytes_per_second(self) -> float:
        return self.n_bytes / self.seconds


def request_of(path: str, body: bytes, key: str) -> bytes:
    """A whole request, as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/vnd.bosket.reports\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def press(port: int, requests: Sequence[bytes], *, clients: int, n_bytes: int) -> Load:
    """Send all requests from so many clients; ``n_bytes`` are those of the bodies."""
    return asyncio.run(_press(port, requests, clients, n_bytes))


async def _press(port: int, requests: Sequence[bytes], clients: int, n_bytes: int) -> Load:
    import numpy as np

    latencies = np.zeros(len(requests))
    statuses: set[int] = set()
    ahead = iter(range(len(requests)))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for number in ahead:
                started = time.perf_counter()
                writer.write(requests[number])
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
                await reader.readexactly(length)
                latencies[number] = time.perf_counter() - started
                statuses.add(int(head[9:12]))
        finally:
            writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return Load(len(requests), n_bytes, time.perf_counter() - started, latencies, frozenset(statuses))
