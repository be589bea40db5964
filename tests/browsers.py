"""A real browser, and the accessibility checker that runs in it; tests that need one say what is not there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


@contextmanager
def chromium() -> Iterator[Any]:
    """Headless Chromium through playwright."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'bosket[web]'"
    )
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield browser
        browser.close()


def axe() -> Path:
    """The accessibility checker, fetched once where npm can."""
    place = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "bosket-tests"
    file = place / "axe-core-4.10.3.js"
    npm, tar = shutil.which("npm"), shutil.which("tar")
    if file.is_file():
        return file
    if npm is None or tar is None:
        pytest.skip("npm is not installed: accessibility is not checked by axe")
    place.mkdir(parents=True, exist_ok=True)
    try:
        command = [npm, "pack", "axe-core@4.10.3", "--silent"]
        packed = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True, timeout=120)
        name = packed.stdout.strip().splitlines()[-1]
        found = subprocess.run([tar, "-xOzf", name, "package/axe.min.js"], cwd=place, capture_output=True, check=True)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("axe-core cannot be had from npm here: accessibility is not checked by axe")
    file.write_bytes(found.stdout)
    (place / name).unlink()
    return file


def violations(page: Any) -> list[tuple[str, list[str]]]:
    """What axe finds wrong in a page whose context bypasses the content security policy."""
    page.evaluate(axe().read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 10, "the checker has run"
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]
