"""The lock file that CI installs from: whole, by hash, of no particular index, and within our own ranges."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements" / "ci.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PARTS = ("test", "web", "lint", "learn", "dp", "spark", "serve", "postgres")
PYTHONS = ("3.11", "3.12", "3.13")


def locked() -> list[tuple[Requirement, list[str]]]:
    """Every pinned package with its hashes."""
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    result = []
    for entry in entries:
        line, *hashes = re.split(r"\s*\\\n\s*", entry)
        result.append((Requirement(line), hashes))
    return result


def direct() -> list[Requirement]:
    """What we ask for ourselves: to run, to develop, and to build."""
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    lines += [line for name in PARTS for line in extras[name] if "bosket[" not in line]
    lines += [line for line in (ROOT / "requirements" / "build.in").read_text().splitlines() if line[:1] != "#"]
    assert extras["dev"] == [f"bosket[{','.join(PARTS)}]"], "else this list lacks some"
    return [Requirement(line) for line in lines]


def version_on(python: str, name: str) -> Version:
    """The one version that the lock has for a package there."""
    where = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }
    found = [
        requirement
        for requirement, _ in locked()
        if canonicalize_name(requirement.name) == canonicalize_name(name)
        and (requirement.marker is None or requirement.marker.evaluate(where))
    ]
    assert len(found) == 1, f"{name} on Python {python}: {found}"
    (pin,) = found[0].specifier
    assert pin.operator == "=="
    return Version(pin.version)


@pytest.mark.parametrize("python", PYTHONS)
def test_every_direct_dependency_is_locked_within_its_range(python: str) -> None:
    for requirement in direct():
        version = version_on(python, requirement.name)
        assert version in requirement.specifier, f"{requirement} is locked at {version}; make lock"


def test_every_file_has_a_hash() -> None:
    pins = locked()
    assert len(pins) > 40
    for requirement, hashes in pins:
        assert hashes, requirement.name
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes), requirement.name
        assert requirement.url is None


def test_it_names_no_index_and_no_machine() -> None:
    assert not re.search(r"://|index|find-links|(^|\s)/|file:|@", LOCK)
    assert "bosket" not in LOCK


def test_the_lock_is_what_ci_installs() -> None:
    assert "make locked" in (ROOT / ".ci" / "run").read_text()
    recipe = (ROOT / "Makefile").read_text().split("\nlocked:")[1].split("\n\n")[0]
    assert "--require-hashes" in recipe
    assert "--no-deps --no-build-isolation" in recipe
    assert "[dev]" not in recipe


STAND_INS = {
    "nobody answers": ("exit 1", "exit 0", 0, "skipped"),
    "nothing is known": ("exit 0", "exit 0", 0, ""),
    "a fault is known": ("exit 0", "echo 'numpy 2.0: a fault' >&2; exit 1", 1, "a fault"),
}
"""What Python says when it asks whether a database answers, and what pip-audit says."""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("case", STAND_INS)
def test_the_audit_fails_on_findings_and_skips_without_a_database(tmp_path: Path, case: str) -> None:
    asked, audited, code, said = STAND_INS[case]
    (tmp_path / "bin").mkdir()
    for name, body in (("python", f"cat >/dev/null; {asked}"), ("pip-audit", audited)):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    command = ["bash", str(ROOT / ".ci" / "audit"), str(ROOT / "requirements" / "ci.lock"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == (1 if said else 0)
