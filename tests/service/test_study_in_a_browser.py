"""A whole study in a real browser: ten people answer on the page, the collector keeps it, the dashboard shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bosket as bk
from bosket.cli import main
from tests.browsers import chromium, needs_chromium
from tests.service.servers import on_a_socket
from tests.service.studies import study

pytestmark = [pytest.mark.slow, needs_chromium]
PEOPLE = [["a", "b"]] * 6 + [["c"]] * 2 + [[]] * 2


class Answered:
    """One person at the page, and every request of the browser."""

    def __init__(self, browser: Any, address: str, basket: list[str]) -> None:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page = context.new_page()
        self.requests: list[Any] = []
        self.faults: list[str] = []
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.goto(f"{address}/t/shop")
        page.wait_for_selector("#study:not([hidden])")
        for item in basket:
            page.locator(".choice", has_text=item).locator("input").check()
        page.click("#show")
        page.wait_for_selector("#leaves:not([hidden])")
        self.shown = page.inner_text("#bytes").replace(" ", "")
        page.click("#send")
        page.wait_for_selector("#thanks:not([hidden])")
        self.bodies = [request.post_data_buffer for request in self.requests if request.method == "POST"]
        context.close()


def test_from_ten_people_to_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with study(tmp_path, min_batch=10, min_support=0.2) as s, on_a_socket(s.collector) as address:
        token = s.issue("analyse")[0]
        with chromium() as browser:
            people = [Answered(browser, address, basket) for basket in PEOPLE]
            look_at_the_dashboard(browser, address, token)
        for person in people:
            assert not person.faults
            (body,) = person.bodies
            assert body.hex() == person.shown, "what was shown is what left, and nothing else"
            assert bk.Reports.from_bytes(s.plan, body).n_records == 1
            assert all(request.url.startswith(address) for request in person.requests)
        stored = s.stored()
        sent = bk.Reports.concat([bk.Reports.from_bytes(s.plan, person.bodies[0]) for person in people])
        assert bk.Tally.of(stored) == bk.Tally.of(sent), "every report once, none but these"
        assert not stored.is_simulation
        assert main(["mine", f"{address}/d/shop", "--token", token, "--min-support", "0.2", "--format", "csv"]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 1


def look_at_the_dashboard(browser: Any, address: str, token: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 844})
    page.goto(f"{address}/d/shop")
    page.wait_for_selector("#ask:visible")
    page.fill("#token", token)
    page.press("#token", "Enter")
    page.wait_for_selector("#itemsets tr")
    page.wait_for_function(f"document.getElementById('n-reports').textContent === '{len(PEOPLE)}'")
