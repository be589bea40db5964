"""The files in deploy/ as they are documented: a proxy with TLS before a real collector, and what it tells of people.

Caddy and nginx are Debian's packages; without them these tests are skipped.  Names, ports and certificates are those of
the test; every other line is the file's.
"""

from __future__ import annotations

import contextlib
import datetime
import http.client
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.service.servers import MEDIA_TYPE, on_a_socket
from tests.service.studies import reports, study

DEPLOY = Path(__file__).parents[2] / "deploy"
CADDY = shutil.which("caddy")
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
AGENT = "a-very-special-agent"


def free_port() -> int:
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return int(at.getsockname()[1])


def replaced(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def caddy(folder: Path, upstream: int, port: int) -> list[str]:
    if CADDY is None:
        pytest.skip("caddy is not installed: apt-get install caddy")
    assert CADDY is not None
    own = f"{{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\thttp_port {free_port()}\n\thttps_port {port}\n"
    text = (DEPLOY / "Caddyfile").read_text()
    text = replaced(text, {"\n{\n": f"\n{own}", "study.example.org": "localhost", ":8080": f":{upstream}"})
    (folder / "Caddyfile").write_text(text)
    return [CADDY, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def nginx(folder: Path, upstream: int, port: int) -> list[str]:
    if NGINX is None:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    assert NGINX is not None
    certificate(folder)
    live = "/etc/letsencrypt/live/study.example.org/"
    text = replaced(
        (DEPLOY / "nginx.conf").read_text(),
        {live: f"{folder}/", "study.example.org": "localhost", "443": str(port), ":8080": f":{upstream}"},
    )
    (folder / "site.conf").write_text(text)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""  # else its workers cannot write to the test's folder
    main = f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr info;\nevents {{}}\n"
    (folder / "nginx.conf").write_text(f"{main}http {{\n{paths}\ninclude {folder}/site.conf;\n}}\n")
    return [NGINX, "-e", "stderr", "-c", str(folder / "nginx.conf")]


def certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "privkey.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
    sent = {"User-Agent": AGENT} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    answer.content = answer.read()  # type: ignore[attr-defined]  # for the test to look at
    connection.close()
    return answer


@contextmanager
def behind(kind: str, folder: Path, upstream: int) -> Iterator[tuple[int, list[str]]]:
    """A proxy that runs, its port, and once it has ended, all that it said."""
    port, said = free_port(), list[str]()
    command = {"caddy": caddy, "nginx": nginx}[kind](folder, upstream, port)
    environment = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "PATH": "/usr/bin",
    }
    log = (folder / "log").open("w+")
    process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        for _ in range(1200):
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(OSError):
                ask(port, "GET", "/health")
                break
            time.sleep(0.05)
        yield port, said
    finally:
        process.terminate()
        process.wait(60)
        log.close()
        said.append((folder / "log").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["caddy", "nginx"])
def test_a_collector_behind_the_documented_proxy(tmp_path: Path, kind: str) -> None:
    with study(tmp_path) as s, on_a_socket(s.collector) as address:
        with behind(kind, tmp_path, int(address.rpartition(":")[2])) as (port, said):
            page = ask(port, "GET", "/t/shop")
            assert page.status == 200
            assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
            assert "default-src 'self'" in page.headers["Content-Security-Policy"]
            for path in ("/t/worker.mjs", "/static/bosket.mjs", "/d/shop", "/v1/tasks", "/v1/tasks/shop", "/health"):
                assert ask(port, "GET", path).status == 200, path
            for path in ("/metrics", "/ready", "/v1/openapi.json", "/v1/tokens/x", "/", "/.env"):
                assert ask(port, "GET", path).status == 404, path
            some, key = reports(s.plan, 3), secrets.token_hex(16)
            post = {"Content_Type": MEDIA_TYPE, "Idempotency_Key": key}
            assert ask(port, "POST", "/v1/tasks/shop/reports", some.to_bytes(), **post).status == 201
            assert ask(port, "POST", "/v1/tasks/shop/reports", some.to_bytes(), **post).status == 200
            for size in (3 << 20, 3 << 19):  # above the proxy's limit, and between the collector's and that
                assert ask(port, "POST", "/v1/tasks/shop/reports", bytes(size), **post).status == 413
            assert ask(port, "GET", "/v1/tasks/shop/results", Authorization=f"Bearer {s.admin}").status == 409
        assert s.stored().n_records == 3
    for trace in (AGENT, "/t/shop", "/v1/tasks", key, s.admin):
        assert trace not in said[0], "nothing of a request is logged"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["caddy", "nginx"])
def test_the_proxy_hands_no_address_on_and_logs_none_of_a_collector_that_is_away(tmp_path: Path, kind: str) -> None:
    seen: list[dict[str, str]] = []

    class Upstream(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the standard library's name
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with behind(kind, tmp_path, server.server_address[1]) as (port, said):
        seen.clear()
        assert (
            ask(port, "GET", "/v1/tasks/shop", X_Forwarded_For="203.0.113.77", Forwarded="for=203.0.113.77").status
            == 200
        )
        server.shutdown()
        server.server_close()
        thread.join()
        assert ask(port, "GET", "/v1/tasks/somewhere").status == 502
    (headers,) = seen
    told = " ".join(f"{name}: {value}" for name, value in headers.items())
    for trace in (AGENT, "203.0.113.77", "127.0.0.1", "::1", "x-real-ip"):
        assert trace not in told.replace(f"127.0.0.1:{server.server_address[1]}", ""), told
    for trace in (AGENT, "/v1/tasks", "somewhere", "203.0.113.77", "client: "):
        assert trace not in said[0]
