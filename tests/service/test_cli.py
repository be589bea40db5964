"""``bosket serve``, and ``bosket mine`` of what a collector holds, over real sockets on the loopback."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bosket as bk
from bosket.cli import main
from bosket.cli.inputs import remote
from bosket.cli.inputs.remote import _detail
from bosket.service.collector import Collector
from bosket.service.demo import ITEMS, TASK, MadeUpPeople, demo_settings, made_up
from tests.service.servers import ServerProcess, on_a_socket, write_study
from tests.service.studies import Study, reports, study


def token_of(s: Study) -> str:
    return s.issue("analyse")[0]


def test_mining_what_a_collector_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with study(tmp_path, min_batch=10) as s:
        s.send(reports(s.plan, 400))
        token = token_of(s)
        with on_a_socket(s.collector) as address:
            expected = bk.mine(s.stored(), 0.2).to_frame()
            for path in ("/v1/tasks/shop/reports", "/v1/tasks/shop", "/d/shop"):
                command = ["mine", f"{address}{path}", "--token", token, "--min-support", "0.2", "--format", "csv"]
                assert main(command) == 0
                assert len(capsys.readouterr().out.splitlines()) == len(expected) + 1
            assert main(["mine", f"{address}/d/shop", "--token", "wrong.token", "--min-support", "0.2"]) == 1
            assert "(401)" in capsys.readouterr().err
            assert main(["mine", f"{address}/d/none", "--token", token, "--min-support", "0.2"]) == 1


@pytest.mark.parametrize(
    "address, says",
    [
        ("http://collector.example/d/shop", "https://"),
        ("https://collector.example/somewhere", "not that of a collector's task"),
        ("https://someone@collector.example/d/shop", "not that of a collector's task"),
        ("https://collector.example:99999/d/shop", "not that of a collector's task"),
        ("https://[::1/d/shop", "not that of a collector's task"),
        ("https://collector..example/d/shop", "not that of a collector's task"),
        ("https://collector.example/\u00e9/d/shop", "not that of a collector's task"),
        ("http://127.0.0.1:1/d/shop", "cannot be reached"),
    ],
)
def test_other_addresses_are_refused(address: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mine", address, "--token", "a.b", "--min-support", "0.2"]) == 1
    assert says in capsys.readouterr().err


def test_a_refusal_of_brackets_within_brackets_is_one() -> None:
    assert _detail(b"[" * 100_000) == "it does not say why."
    assert _detail(b'{"detail": "There is no such task."}') == "There is no such task."


@contextlib.contextmanager
def dripping(status: str) -> Iterator[tuple[int, threading.Event]]:
    """A port where an answer has a head, and then a byte ten times a second for a minute; whether that is over."""
    gone, over = threading.Event(), threading.Event()

    def answer() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 100000\r\n\r\n".encode())
            for _ in range(600):
                connection.sendall(b" ")
                if gone.wait(0.1):
                    return
            over.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield server.getsockname()[1], over
        gone.set()
        thread.join()


@pytest.mark.parametrize(
    "status, says",
    [("200 OK", "at least 65,536 bytes a minute"), ("403 Forbidden", r"refused \(403\): it does not say why")],
)
def test_what_a_collector_lets_drip_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, says: str
) -> None:
    """Each byte came in time, and the whole export, or refusal, never."""
    monkeypatch.setattr(remote, "_MINUTE", 0.5)
    monkeypatch.setattr(remote, "_REFUSAL", 0.5)
    with dripping(status) as (port, over):
        options = argparse.Namespace(token="a.b", max_bytes=None)
        with pytest.raises(bk.DataError, match=says):
            remote._fetch(f"http://127.0.0.1:{port}/d/shop", tmp_path / "reports", options)
        assert not over.is_set()


def test_an_export_that_comes_slowly_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part each twenty seconds, of a third of what must come in a minute, or of a byte less."""

    def taken(size: int) -> int:
        left = [bytes(size)] * 30
        clock = iter(range(0, 10_000, 20))
        monkeypatch.setattr("bosket.cli.inputs.remote.time", SimpleNamespace(monotonic=lambda: next(clock)))
        answer: Any = SimpleNamespace(read1=lambda most: left.pop() if left else b"")
        return sum(map(len, remote._parts(cast(http.client.HTTPResponse, answer))))

    assert taken(remote._LEAST // 4) == 30 * (remote._LEAST // 4)
    with pytest.raises(bk.DataError, match="bytes a minute"):
        taken(remote._LEAST // 4 - 1)


def test_a_token_of_two_lines_is_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mine", "http://127.0.0.1:1/d/shop", "--token", "se.cret\nX: y", "--min-support", "0.2"]) == 1
    assert "se.cret" not in capsys.readouterr().err


def test_a_token_is_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("BOSKET_TOKEN", raising=False)
    assert main(["mine", "https://collector.example/d/shop", "--min-support", "0.2"]) == 1
    assert "BOSKET_TOKEN" in capsys.readouterr().err


def test_serve_says_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve"]) == 2
    assert main(["serve", "study.toml", "--demo"]) == 2
    assert main(["serve", "--demo", "--store", "sqlite:///x.db"]) == 2  # which says that nothing is kept
    assert main(["serve", str(tmp_path / "none.toml")]) == 1
    assert "Cannot read" in capsys.readouterr().err


def test_a_plan_without_a_promise_is_not_served(tmp_path: Path) -> None:
    """It is refused before the store knows the task, so that another plan may take its place."""
    plan = bk.Plan(bk.Domain(range(100_000)), bk.CutAndPaste(1_000_000, 1e-9), bk.PrivacyUnit(max_size=100_000))
    with pytest.raises(bk.ParameterError, match="'plan' of the task shop must") as caught, study(tmp_path, plan=plan):
        pass
    assert "at most 134217728 steps" in str(caught.value)
    assert "Limit the records" in (caught.value.hint or "")
    with study(tmp_path) as s:
        assert s.client.get("/v1/tasks/shop").status_code == 200


def test_a_task_without_a_promise_that_has_reports_is_still_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reports could not be had otherwise, nor those of the other tasks of the store."""
    with study(tmp_path) as s:
        s.send(reports(s.plan, 40))

    def refuse(task: object) -> None:
        raise bk.ParameterError("No card.", parameter="plan", value=None)

    monkeypatch.setattr("bosket.service.collector._check_promise", refuse)
    with study(tmp_path) as s:
        assert s.collector.store.n_reports("shop", 1) == 40


def test_a_backup_from_the_command_line(tmp_path: Path) -> None:
    with study(tmp_path) as s:
        s.send(reports(s.plan, 40))
        path = write_study(tmp_path, s.plan, f"sqlite:///{tmp_path / 'study.db'}")
        assert main(["serve", str(path), "--backup", str(tmp_path / "copy.db")]) == 0
        assert main(["serve", str(path), "--backup", str(tmp_path / "copy.db")]) == 1
    assert (tmp_path / "copy.db").stat().st_size > 0


def test_made_up_people_answer(tmp_path: Path) -> None:
    """They ask for the plan, randomize, and send, as anybody would."""
    collector = Collector(demo_settings(tmp_path))
    try:
        with on_a_socket(collector) as address:
            crowd = MadeUpPeople(address, 100, pause=0.0)
            crowd.start()
            crowd.join()
        assert collector.store.n_reports(TASK, 1) == 100
        assert not collector.reports(TASK, 1).is_simulation, "their coins are those of real clients"
        assert set(made_up(50).domain.labels) == set(ITEMS)
    finally:
        collector.stop()


@pytest.mark.slow
def test_a_server_of_a_study(tmp_path: Path) -> None:
    path = write_study(
        tmp_path, bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9)), f"sqlite:///{tmp_path / 'study.db'}"
    )
    server = ServerProcess(path)
    connection = server.connect()
    connection.request("GET", "/v1/tasks/shop")
    assert connection.getresponse().status == 200
    connection.close()
    assert server.stop() == 0
    assert "admin token" in "".join(server.log)
    assert (tmp_path / "admin.token").stat().st_mode & 0o777 == 0o600
