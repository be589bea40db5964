"""The dashboard in a real browser: what it shows, what it asks for, and how it fits a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browsers import chromium, needs_chromium, violations
from tests.service.servers import on_a_socket
from tests.service.studies import Study, reports, study


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[tuple[Study, str, str]]:
    """A study with results, its address and a token."""
    with study(tmp_path, min_batch=50, min_support=0.2) as s:
        s.send(reports(s.plan, 400))
        s.settle()
        token = s.issue("analyse")[0]
        with on_a_socket(s.collector) as address:
            yield s, address, token


@pytest.mark.slow
@needs_chromium
def test_results_that_could_not_be_made_are_told_of(shown: tuple[Study, str, str]) -> None:
    """It said that the collector does not answer."""
    s, address, token = shown
    s.collector.results._tasks["shop"].picture = b'{"problem": "The results could not be made."}'
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"{address}/d/shop#token={token}")
        page.wait_for_selector("#status:has-text('could not be made')")
        assert page.is_hidden("#shown")


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_results_are_drawn_from_the_collector_alone(shown: tuple[Study, str, str], width: int) -> None:
    s, address, token = shown
    n_itemsets = len(s.client.get("/v1/tasks/shop/results", headers=s.bearer()).json()["itemsets"])
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 844})
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{address}/d/shop")
        page.wait_for_selector("#ask:visible")
        page.fill("#token", "wrong.token")
        page.press("#token", "Enter")
        page.wait_for_selector(
            "#status:has-text('does not show')"
        )  # a function would be evaluated, which the policy forbids
        said.clear()  # the browser tells of the 401
        page.fill("#token", token)
        page.press("#token", "Enter")
        page.wait_for_selector("#itemsets tr")
        assert page.is_hidden("#ask")
        assert page.text_content("#n-reports") == "400"
        assert page.text_content("#title") == "What is bought together"
        assert page.locator("#itemsets tr").count() == n_itemsets
        assert page.locator("#rules tr").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not said
        assert all(url.startswith(address) for url in asked)
        assert not any(token in url for url in asked)
        assert token not in page.url


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_violation(shown: tuple[Study, str, str], scheme: str) -> None:
    _, address, token = shown
    with chromium() as browser:
        page = browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
        page.goto(f"{address}/d/shop")
        page.wait_for_selector("#ask:visible")
        assert violations(page) == []
        page.fill("#token", token)
        page.press("#token", "Enter")
        page.wait_for_selector("#itemsets tr")
        assert violations(page) == []
