"""A PostgreSQL of the tests' own: started from its binaries in a temporary folder, reached by a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _binaries() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).parent
    return next((place for place in _PLACES if (place / "initdb").exists()), None)


def _other_user() -> str | None:
    """PostgreSQL refuses to run as root; who else it can be."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return None


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a fresh server; skipped where there are no binaries."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's binaries are not installed (Debian: apt-get install postgresql)")
    user = _other_user()
    if os.getuid() == 0 and user is None:
        pytest.skip("PostgreSQL refuses to run as root, and there is no other user")
    folder = Path(tempfile.mkdtemp(prefix="bosket-pg-"))
    as_user = ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"] if user else []
    if user:
        shutil.chown(folder, user)
    folder.chmod(0o755)

    def run(*command: str) -> None:
        subprocess.run(
            [*as_user, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
        )

    data = folder / "data"
    try:
        run(str(binaries / "initdb"), "-D", str(data), "-U", "bosket", "-A", "trust", "--no-sync", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=40"
        options += " -c fsync=off -c full_page_writes=off"  # tests kill collectors, never this server or the machine
        run(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-o", options, "-l", str(folder / "log"), "start")
        try:
            yield f"postgresql://bosket@/postgres?host={folder}"
        finally:
            run(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
