"""What goes wrong: bodies that do not end, clients that go away, faults; and what is logged of it, which is nothing."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import logging
import secrets
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI

from bosket.service.limits import BodyRoom, BodyRooms
from bosket.service.portions import PORTION
from bosket.service.problems import Refusal
from bosket.service.server import LEAST_CHUNK, PunctualProtocol, listening, serve
from bosket.service.submissions import Submission
from bosket.service.tasks import ServedTask
from tests.service.servers import on_a_socket
from tests.service.studies import MEDIA_TYPE, Study, reports, study


class Endless:
    """A body of a thousand parts; how many were drawn."""

    def __init__(self) -> None:
        self.drawn = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(1000):
            self.drawn += 1
            yield bytes(1000)


def test_who_has_no_token_has_no_body_read(tmp_path: Path) -> None:
    """A body of JSON without end is refused before it is read, and an administrator's at the limit."""
    with study(tmp_path) as s:
        for headers, status in (({}, 401), (s.bearer("no.token"), 401), (s.bearer(), 413)):
            body = Endless()
            sent = {"Content-Type": "application/json", **headers}
            answer = s.client.post("/v1/tasks/shop/tokens", content=body, headers=sent)
            assert answer.status_code == status
            assert body.drawn <= 6
        text = {"Content-Type": "text/plain", **s.bearer()}
        assert s.client.post("/v1/tasks/shop/tokens", content=b"{}", headers=text).status_code == 415
        deep = {"Content-Type": "application/json", **s.bearer()}
        assert s.client.post("/v1/tasks/shop/tokens", content=b"[" * 4000, headers=deep).status_code == 422


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.service.limits.SLOWEST", 0.01)

    async def stuck() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(3600)

    with study(tmp_path) as s:
        headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16)}
        answer = s.client.post("/v1/tasks/shop/reports", content=stuck(), headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (408, "urn:bosket:problem:slow")


def test_faults_are_logged_by_their_kind_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server logs the traceback of what reaches it, and an error may quote what was sent."""

    def fault(group: list[Submission]) -> None:
        raise RuntimeError(f"could not write {group[0].body.hex()}")

    with study(tmp_path) as s, on_a_socket(s.collector) as address, caplog.at_level(logging.DEBUG):
        monkeypatch.setattr(s.collector.store, "_commit", fault)
        body = reports(s.plan, 3).to_bytes()
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16)}
        connection.request("POST", "/v1/tasks/shop/reports", body, headers)
        answer = connection.getresponse()
        assert answer.status == 500
        assert answer.headers["content-security-policy"]
        assert body.hex() not in answer.read().decode()
        connection.close()
    assert "RuntimeError" in caplog.text
    assert body.hex() not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_client_that_goes_away_leaves_no_trace(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Half a body and a closed connection: else each one is a traceback in the log, with its time."""
    with study(tmp_path) as s, caplog.at_level(logging.DEBUG):
        with on_a_socket(s.collector) as address:
            at = urlsplit(address)
            with socket.create_connection((at.hostname, at.port), timeout=60) as connection:
                connection.sendall(
                    b"POST /v1/tasks/shop/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
                    + f"Content-Type: {MEDIA_TYPE}\r\nIdempotency-Key: {secrets.token_hex(16)}\r\n\r\n".encode()
                    + b"half"
                )
        assert s.client.get("/health").status_code == 200
    assert "Disconnect" not in caplog.text
    assert "Exception" not in caplog.text


def test_who_asks_for_much_and_resets_the_connection_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A request of 40 bytes for the document of a large plan was a line in the log for each portion of it."""
    is_asked, is_gone, is_told = threading.Event(), threading.Event(), threading.Event()

    def document(self: ServedTask) -> bytes:
        is_asked.set()
        is_gone.wait(60)  # which keeps the server from hearing of it before it writes
        return bytes(1 << 23)

    lost = PunctualProtocol.connection_lost

    def connection_lost(self: PunctualProtocol, exc: Exception | None) -> None:
        lost(self, exc)
        is_told.set()

    monkeypatch.setattr(ServedTask, "document", document)
    monkeypatch.setattr(PunctualProtocol, "connection_lost", connection_lost)
    with study(tmp_path) as s, caplog.at_level(logging.WARNING), on_a_socket(s.collector) as address:
        with socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=60) as one:
            one.sendall(b"GET /v1/tasks/shop HTTP/1.1\r\nHost: x\r\n\r\n")
            assert is_asked.wait(60)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        is_gone.set()
        assert is_told.wait(60)
    assert caplog.text == ""


def test_what_asyncio_says_of_lost_connections_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """While a server runs; what else it says is, and so is all of it afterwards."""
    said = logging.getLogger("asyncio")

    def started() -> None:
        said.warning("socket.send() raised exception.")
        said.warning("something else")
        signal.raise_signal(signal.SIGTERM)

    with listening("127.0.0.1", 0) as at:
        serve(FastAPI(), at, on_started=started)
    said.warning("socket.send() raised exception.")
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == [
        "something else",
        "socket.send() raised exception.",
    ]


def _in_chunks(*chunks: bytes, path: str = "/v1/tasks/shop/reports") -> list[bytes]:
    """A request whose body comes in chunks: its head, and each of them."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nTransfer-Encoding: chunked\r\n"
    return [f"{head}Idempotency-Key: {secrets.token_hex(16)}\r\n\r\n".encode(), *chunks]


def _answered(address: str, parts: list[bytes], *, apart: bool) -> bytes:
    """What comes back of parts that are sent at once, or each after the answer to those before, until it is the end."""
    at = urlsplit(address)
    with socket.create_connection((at.hostname, at.port), timeout=60) as connection:
        answer = b""
        for part in parts if apart else [b"".join(parts)]:
            connection.sendall(part)
            if apart and part is not parts[-1]:
                answer += connection.recv(1 << 16)
        with contextlib.suppress(ConnectionResetError):
            while more := connection.recv(1 << 16):
                answer += more
        return answer


@pytest.mark.parametrize("apart", [False, True])
def test_bytes_that_are_no_chunk_leave_no_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, apart: bool
) -> None:
    """Before and after the answer to one who has no token: each was two kilobytes of the log."""
    with study(tmp_path, tokens="one-time") as s, caplog.at_level(logging.ERROR):
        with on_a_socket(s.collector) as address:
            answer = _answered(address, _in_chunks(b"zz\r\nno chunk"), apart=apart)
        assert answer.startswith(b"HTTP/1.1 401" if apart else b"HTTP/1.1 400")
        assert answer.count(b"HTTP/1.1") == 1
    assert caplog.text == ""


@pytest.mark.parametrize("path", ["/v1/tasks/shop/reports", "/health"])
def test_bodies_in_chunks_of_a_few_bytes_are_not_gone_through(tmp_path: Path, path: str) -> None:
    """A megabyte a second of them kept everybody else waiting for 25 seconds, whether they were for anything or not."""
    with study(tmp_path) as s, on_a_socket(s.collector) as address:
        started = time.process_time()
        for _ in range(5):
            answer = _answered(address, _in_chunks(*[b"1\r\nx\r\n"] * 40_000, path=path), apart=False)
            assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 405", b"")  # cut off, answered or not
        assert time.process_time() - started < 1  # it was above 2


def test_bodies_in_chunks_are_read(tmp_path: Path) -> None:
    """A few of any size, or as many as are large enough, whatever parts they come in."""
    with study(tmp_path) as s, on_a_socket(s.collector) as address:
        body = reports(s.plan, 2000).to_bytes()
        for size in (len(body) // 50, LEAST_CHUNK, 1 << 15):
            parts = [body[at : at + size] for at in range(0, len(body), size)]
            chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
            sent = b"".join(_in_chunks(*chunks, b"0\r\n\r\n"))
            at = urlsplit(address)
            with socket.create_connection((at.hostname, at.port), timeout=60) as connection:
                for start in range(0, len(sent), 1000):
                    connection.sendall(sent[start : start + 1000])
                assert connection.recv(1 << 16).startswith(b"HTTP/1.1 201")


@pytest.mark.parametrize("settings", [{"tokens": "one-time"}, {"submit_token": True}])
@pytest.mark.parametrize("header", [{}, {"Bosket-Token": "no token"}])
def test_reports_without_a_token_are_not_held(tmp_path: Path, settings: dict[str, Any], header: dict[str, str]) -> None:
    """Nor do they take the turn of those who have one."""
    with study(tmp_path, rate=1e-6, **settings) as s:
        for _ in range(3):
            body = Endless()
            sent = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16), **header}
            answer = s.client.post("/v1/tasks/shop/reports", content=body, headers=sent)
            assert answer.status_code == (403 if header and "tokens" in settings else 401)
            assert body.drawn <= 1


async def _while_one_is_slow(s: Study, first: bytes, rest: bytes, **told: str) -> list[int]:
    """How two are answered of whom the one sends all at once while the other is half way, and one who comes later."""
    half = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield first
        await half.wait()
        yield rest

    async def post(content: bytes | AsyncIterator[bytes], **headers: str) -> int:
        sent = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16), **headers}
        return (await s.client.http.post("/v1/tasks/shop/reports", content=content, headers=sent)).status_code

    slow = asyncio.ensure_future(post(slowly(), **told))
    rooms = s.client.app.state.rooms
    while not any(sender.held for room in (rooms.small, rooms.large) for sender in room._senders):
        await asyncio.sleep(0.001)  # a first request may load much before it takes anything
    await asyncio.sleep(0.05)
    meanwhile = await post(first + rest)
    half.set()
    return [meanwhile, await slow, await post(first + rest)]


def in_a_room_for_one(s: Study) -> tuple[list[int], BodyRoom, int]:
    """Statuses of bodies of which one is slow, where there is room for one; the room, and what it holds."""
    body = reports(s.plan, 20).to_bytes()
    n_bytes = len(body) + 10
    rooms = s.client.app.state.rooms = BodyRooms(small=BodyRoom(n_bytes))
    told = {"Content-Length": str(len(body))}
    statuses = s.client.loop.run_until_complete(_while_one_is_slow(s, body[:40], body[40:], **told))
    return statuses, rooms.small, n_bytes


def test_bodies_of_all_who_send_at_once_have_a_bound(tmp_path: Path) -> None:
    """Each body has a limit, and many came at once: all of them were held while they came, before anything counted."""
    with study(tmp_path) as s:
        statuses, room, n_bytes = in_a_room_for_one(s)
        assert statuses == [429, 201, 201]
        room.take(n_bytes)  # all of it was given back


def test_who_sends_slowly_gives_way_where_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand who sent 64 KiB and then a byte now and then kept everybody out, for a minute each."""
    monkeypatch.setattr("bosket.service.limits.GRACE", 0.0)
    with study(tmp_path) as s:
        statuses, room, n_bytes = in_a_room_for_one(s)
        assert statuses == [201, 408, 201]
        room.take(n_bytes)  # all of it was given back, once
        with pytest.raises(Refusal):
            room.take(1)


@pytest.mark.slow
def test_connections_on_which_no_request_comes_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a head was waited for without end: as many of these as a process has files kept everybody out."""
    monkeypatch.setattr("bosket.service.server.IDLE", 1.0)
    with study(tmp_path) as s, on_a_socket(s.collector) as address:
        where = (urlsplit(address).hostname, urlsplit(address).port)
        body = reports(s.plan, 20).to_bytes()
        with socket.create_connection(where, timeout=30) as half, socket.create_connection(where, timeout=30) as slow:
            half.sendall(b"POST /v1/tasks/shop/reports HTTP/1.1\r\nHost: x\r\n")
            head = f"Host: x\r\nContent-Type: {MEDIA_TYPE}\r\nIdempotency-Key: {secrets.token_hex(16)}\r\n"
            slow.sendall(
                f"POST /v1/tasks/shop/reports HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode()
                + body[:40]
            )
            assert half.recv(1) == b""
            slow.sendall(body[40:])
            assert slow.recv(12) == b"HTTP/1.1 201"
            while slow.recv(1 << 16):  # which ends once nothing more is asked
                pass


@pytest.mark.slow
def test_connections_on_which_no_answer_is_read_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that nobody read were waited for without end, and kept as many files as half heads did."""
    monkeypatch.setattr("bosket.service.server.UNREAD", 0.5)
    with study(tmp_path) as s, on_a_socket(s.collector) as address, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect((urlsplit(address).hostname, urlsplit(address).port))
        deaf.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(4000):
                deaf.send(b"GET /static/bosket.mjs HTTP/1.1\r\nHost: x\r\n\r\n")
        ended = select.poll()
        ended.register(deaf, 0)
        assert ended.poll(60_000)


def test_of_an_answer_that_is_not_read_a_portion_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand who asked for the plan of a large study, and read nothing, took its size a thousand times."""
    held: list[int] = []
    is_full = threading.Event()
    paused = PunctualProtocol.pause_writing

    def pause_writing(self: PunctualProtocol) -> None:
        held.append(self.transport.get_write_buffer_size())
        is_full.set()
        paused(self)

    monkeypatch.setattr(PunctualProtocol, "pause_writing", pause_writing)
    with study(tmp_path) as s, on_a_socket(s.collector) as address:
        whole = s.collector.tasks["shop"]._documents[None] = secrets.token_bytes(1 << 20) * 16
        with socket.create_connection((urlsplit(address).hostname or "", urlsplit(address).port or 0)) as deaf:
            deaf.sendall(b"GET /v1/tasks/shop HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert is_full.wait(60)
            assert held[0] <= 4 * PORTION
            with deaf.makefile("rb") as answer:  # and who reads gets all of it
                while answer.readline().strip():
                    pass
                assert answer.read() == whole


def test_who_reads_slowly_is_not_cut_off() -> None:
    left = iter([90, 40, 40, 40])
    later: list[Any] = []
    aborted: list[bool] = []
    one = PunctualProtocol.__new__(PunctualProtocol)
    one.loop = SimpleNamespace(call_later=lambda seconds, act, *given: later.append((act, given)))  # type: ignore[assignment]
    one.transport = SimpleNamespace(  # type: ignore[assignment]
        get_write_buffer_size=lambda: next(left), abort=lambda: aborted.append(True)
    )
    one._watch()
    for is_cut in (False, True):
        act, given = later.pop()
        act(*given)
        assert bool(aborted) is is_cut


def test_large_bodies_leave_room_for_small_ones(tmp_path: Path) -> None:
    """Some hundred who sent a mebibyte slowly kept everybody else out, of every task."""
    with study(tmp_path) as s:
        body = reports(s.plan, 20).to_bytes()
        rooms = s.client.app.state.rooms = BodyRooms(large=BodyRoom(len(body)))
        statuses = s.client.loop.run_until_complete(_while_one_is_slow(s, body[:40], body[40:]))
        assert statuses == [201, 201, 201], "who does not tell how much will come is counted with the large ones"
        rooms.large.take(1)
        assert (
            s.client.post(
                "/v1/tasks/shop/reports",
                content=Endless(),
                headers={"Content-Type": MEDIA_TYPE, "Idempotency-Key": secrets.token_hex(16)},
            ).status_code
            == 429
        )


def test_who_asks_whether_it_is_ready_does_not_part_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody needs a token to ask, and each question was a job of its own between two groups of submissions."""
    with study(tmp_path) as s:
        asked = []

        def ping() -> bool:
            asked.append(1)
            time.sleep(0.05)
            return True

        monkeypatch.setattr(s.collector.store, "ping", ping)
        answers = s.client.together([("GET", "/ready", {})] * 50)
        assert {answer.status_code for answer in answers} == {200}
        assert len(asked) == 1
        assert s.client.get("/ready").status_code == 200
        assert len(asked) == 2, "asked anew"
