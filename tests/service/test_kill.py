"""kill -9 of a real server in the middle of its work: what was acknowledged is there, once."""

from __future__ import annotations

import http.client
import secrets
import signal
import threading
import time
from pathlib import Path

import pytest

import bosket as bk
from bosket.service.collector import Collector
from bosket.service.settings import read_settings
from tests.service.servers import ServerProcess, ServerStarter, send, write_study
from tests.service.studies import random_reports, rows_of, small_plan

CLIENTS = 4
KILLS = 20


class Sender(threading.Thread):
    """A client that sends one report after the other, and sends again, under the same key, what was not answered."""

    def __init__(self, plan: bk.Plan) -> None:
        super().__init__(daemon=True)
        self.plan = plan
        self.port = 0
        self.is_over = threading.Event()
        self.acknowledged: list[bk.Reports] = []
        self.waiting: tuple[bk.Reports, str] | None = None
        self.repeated = 0
        self.statuses: set[int] = set()

    def run(self) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self.is_over.is_set() or self.waiting is not None:
            if self.waiting is None:
                self.waiting = random_reports(self.plan, 1 + secrets.randbelow(3)), secrets.token_hex(16)
            try:
                if connection is None or connection.port != self.port:
                    if connection is not None:
                        connection.close()
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
                status = send(connection, self.waiting[0].to_bytes(), self.waiting[1])
            except (OSError, http.client.HTTPException):
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.02)
                continue
            self.statuses.add(status)
            assert status in (200, 201)
            self.repeated += status == 200
            self.acknowledged.append(self.waiting[0])
            self.waiting = None
        if connection is not None:
            connection.close()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_by_kills(tmp_path: Path, store_url: str) -> None:
    """Reports are 128 random bits, so that no two are alike but by being stored twice."""
    plan = small_plan(128)
    study = write_study(tmp_path, plan, store_url, min_batch=1_000_000, batch_size=50)
    servers = ServerStarter()
    servers.start(study)
    senders = [Sender(plan) for _ in range(CLIENTS)]
    for sender in senders:
        sender.port = servers.port
        sender.start()
    for kill in range(KILLS):
        enough = sum(len(sender.acknowledged) for sender in senders) + 10 + 3 * kill
        until = time.monotonic() + 60
        while sum(len(sender.acknowledged) for sender in senders) < enough and time.monotonic() < until:
            time.sleep(0.003)
        assert servers.end(signal.SIGKILL) == -signal.SIGKILL  # as a power cut would, for the process: no handler runs
        servers.start(study)
        for sender in senders:
            sender.port = servers.port
    for sender in senders:
        sender.is_over.set()
    for sender in senders:
        sender.join()
        assert sender.statuses <= {200, 201}
    assert servers.end(signal.SIGTERM) == 0
    servers.close()
    collector = Collector(read_settings(study))
    try:
        stored = rows_of(collector.reports("shop", 1))
    finally:
        collector.stop()
    sent = sorted(row for sender in senders for some in sender.acknowledged for row in rows_of(some))
    assert len(sent) > 10 * KILLS
    assert stored == sent


@pytest.mark.slow
def test_a_server_ends_gracefully_and_logs_nothing_of_requests(tmp_path: Path) -> None:
    plan = small_plan(128)
    study = write_study(tmp_path, plan, f"sqlite:///{tmp_path / 'study.db'}", min_batch=2, min_support=0.99)
    server = ServerProcess(study)
    connection = server.connect()
    sent = random_reports(plan, 5)
    assert send(connection, sent.to_bytes(), secrets.token_hex(16)) == 201
    assert send(connection, b"nonsense", secrets.token_hex(16)) == 422
    connection.close()
    assert server.stop() == 0
    assert not [line for line in server.log if "127.0.0.1" in line and "http://" not in line]
    assert "POST" not in "".join(server.log)
    collector = Collector(read_settings(study))
    try:
        assert rows_of(collector.reports("shop", 1)) == rows_of(sent)
        assert [batch.n_reports for batch in collector.batches("shop")] == [5], "sealed at the end"
    finally:
        collector.stop()
