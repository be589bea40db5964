"""The page for people in a real browser: what it asks, what leaves, and that it needs nothing but its own server.

Chromium is Debian's package ``chromium``; without it these tests are skipped.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import bosket as bk
from tests.browsers import chromium, needs_chromium, violations
from tests.client.node import STATIC
from tests.client.server import Collector, collecting, document

pytestmark = [pytest.mark.slow, needs_chromium]
GOODS = [
    "milk",
    "bread",
    "beer",
    "rice",
    "tea",
    "eggs",
    "apples",
    "käse",
    "flour",
    "salt",
    "honey",
    "wine",
    "fish",
    "oil",
]
KEPT = """(async () => {
    const found = {};
    for (const name of await caches.keys())
        for (const request of await (await caches.open(name)).keys())
            found[request.url] = await (await caches.match(request)).text();
    return found;
})()"""
CONTROLLED = """navigator.serviceWorker.controller !== null || new Promise((done) =>
    navigator.serviceWorker.addEventListener("controllerchange", () => done(true)))"""  # waiting in words needs eval
ORIGINS = """(async () => {
    const found = [];
    for (const name of await caches.keys()) {
        const kept = await caches.open(name);
        for (const request of await kept.keys()) found.push((await kept.match(request)).url);
    }
    return found;
})()"""
PERIODS = {"first": "2027-01-01", "every": "month", "number": 2, "reports": 1, "versions": "unlinked"}
BASKETS = bk.Plan(bk.Domain(GOODS), bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=5))
TABLE = bk.TableDomain(
    [
        bk.Attribute("Do you smoke?", ["yes", "no"]),
        bk.Attribute("How old are you?", ["under 30", "30 to 59", "60 or more"]),
        bk.Attribute("How many live with you?", [0, 1, 2, 3]),
    ]
)
SURVEY = bk.Plan(TABLE, bk.GammaDiagonal(19.0))
ASK = bk.Plan(TABLE, bk.Ask(bk.Design.pairs(TABLE), 19.0))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


class Visit:
    """One person at the page, and all that the browser asked for or complained of."""

    def __init__(self, browser: Any, collector: Collector, width: int = 390, **more: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 844}, **more)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.asked: list[str] = []
        self.faults: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.collector = collector

    def open(self, path: str = "/t/study") -> Visit:
        self.page.goto(f"{self.collector.url}{path}")
        self.page.wait_for_selector("#study:not([hidden]), #trouble:not([hidden])")
        return self

    def sent(self) -> str:
        self.page.wait_for_selector("#thanks:not([hidden])")
        text: str = self.page.inner_text("#thanks-text")
        return text

    def lose_the_line(self) -> None:
        """For the browser, and at the other end: a page loaded anew may ask before the browser cuts its line too."""
        self.collector.is_away = True
        self.context.set_offline(True)

    def find_the_line(self) -> None:
        self.collector.is_away = False
        self.context.set_offline(False)

    def leaves(self) -> str:
        """The bytes on show."""
        self.page.click("#show")
        self.page.wait_for_selector("#leaves:not([hidden])")
        text: str = self.page.inner_text("#bytes")
        return text.replace(" ", "")


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Visit]:
    plan, more = request.param if isinstance(request.param, tuple) else (request.param, {})
    with collecting(document(plan, **more)) as collector:
        one = Visit(browser, collector)
        yield one
        one.context.close()
    allowed = {"/t/study", "/t/worker.mjs", "/v1/tasks/study", "/v1/tasks/study/reports", "/favicon.ico"}
    for url in one.asked:
        assert url.startswith(collector.url), "no external request"
        path = re.sub(r"[#?].*", "", url.removeprefix(collector.url))
        assert path in allowed or path.startswith("/static/")


@pytest.mark.parametrize("visit", [BASKETS], indirect=True)
def test_a_basket_from_the_list_to_the_collector(visit: Visit) -> None:
    page = visit.open().page
    assert page.title() == "What people buy together"
    promise = page.inner_text("#promise")
    for sentence in BASKETS.guarantee.for_participants().split("\n"):
        assert sentence in promise
    page.fill("#search", "BRE")
    assert page.locator(".choice:visible").count() == 1
    page.check("text=bread")
    page.fill("#search", "")
    page.check("text=käse")
    shown = visit.leaves()
    page.click("#show")  # away, and back: the same coins
    assert visit.leaves() == shown
    page.click("#send")
    assert "arrived" in visit.sent()
    ((_, path, headers, body),) = visit.collector.posted
    assert path == "/v1/tasks/study/reports"
    assert body.hex() == shown, "what was shown is what left"
    assert "Cookie" not in headers
    assert "Referer" not in headers
    reports = visit.collector.reports(BASKETS)
    assert reports.n_records == 1
    assert not reports.is_simulation
    visit.open()
    assert "already" in visit.sent()
    assert not visit.faults


@pytest.mark.parametrize("visit", [BASKETS], indirect=True)
def test_answers_stay_on_the_device(visit: Visit) -> None:
    """Neither the requests nor what the page remembers tell what was ticked: equal but for the report.

    A secret beside a digest of the report did: whoever had the device could try all answers.
    """
    page = visit.open().page
    page.check("text=honey")
    page.click("#send")
    visit.sent()
    outside = [entry for entry in page.evaluate("Object.entries(localStorage)") if ".document." not in entry[0]]
    assert {name.split(".")[1] for name, _ in outside} == {"key", "sent", "left"}, "no secret: nothing more may leave"
    assert hashlib.sha256(visit.collector.posted[0][3]).hexdigest() not in str(outside)
    assert len(visit.collector.posted) == 1
    assert len(visit.collector.posted[0][3]) == len(BASKETS.domain.labels) // 8 + 1 + 16


@pytest.mark.parametrize("visit", [BASKETS], indirect=True)
def test_too_many_items_are_refused_in_words(visit: Visit) -> None:
    page = visit.open().page
    for good in GOODS[:6]:
        page.check(f"text={good}")
    page.click("#send")
    page.wait_for_selector(".state.wrong")
    assert "at most 5" in page.inner_text("#state")
    assert not visit.collector.posted


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_a_questionnaire_by_keyboard_alone(visit: Visit) -> None:
    page = visit.open().page
    assert page.locator("fieldset").count() == 3
    page.click("#send")
    assert "Please choose" in page.inner_text("#state")
    assert page.evaluate("document.activeElement.name") == "q0"
    page.keyboard.press("Space")
    for _ in range(2):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "show"
    page.keyboard.press("Enter")
    page.wait_for_selector("#leaves:not([hidden])")
    assert page.locator("#meaning li").count() == 3
    page.focus("#send")
    page.keyboard.press("Enter")
    visit.sent()
    assert visit.collector.reports(SURVEY).n_records == 1


@pytest.mark.parametrize("visit", [ASK], indirect=True)
def test_only_the_question_that_was_drawn_is_asked(visit: Visit) -> None:
    page = visit.open().page
    assert page.locator("fieldset").count() == 2
    asked = page.locator("legend").all_inner_texts()
    assert "Chance picked these 2 questions" in page.inner_text("#why")
    for _ in range(3):
        visit.open()
        assert page.locator("legend").all_inner_texts() == asked, "nobody shops for a question"
    for at in range(2):
        page.locator("fieldset").nth(at).locator("input").first.check()
    page.click("#send")
    visit.sent()
    reports = visit.collector.reports(ASK)
    question = ASK.mechanism.to_json()["design"]["questions"][int(reports.batch["question"][0])]
    assert question["attributes"] == asked


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_a_report_waits_until_there_is_a_line(visit: Visit) -> None:
    page = visit.open().page
    for at in range(3):
        page.locator("fieldset").nth(at).locator("input").first.check()
    shown = visit.leaves()
    visit.lose_the_line()
    page.click("#send")
    page.wait_for_selector("#state:has-text('waits on this device')")
    assert not visit.collector.posted
    visit.find_the_line()
    visit.sent()
    ((*_, body),) = visit.collector.posted
    assert body.hex() == shown


@pytest.mark.parametrize("visit", [BASKETS], indirect=True)
def test_the_page_opens_without_a_line_and_its_worker_keeps_files_alone(visit: Visit) -> None:
    """Opened once, then offline: it loads again, takes an answer, which waits, and loads again; the report then leaves.

    What the worker keeps is the page's files, byte for byte, under names of their own: no study, token or answer.
    """
    page = visit.open("/t/study#token=secret-ticket").page
    scope = page.evaluate("navigator.serviceWorker.ready.then((found) => new URL(found.scope).pathname)")
    assert scope == "/t/"
    page.evaluate(CONTROLLED)
    visit.lose_the_line()
    page.reload()
    page.wait_for_selector("#study:not([hidden])")
    page.check("text=bread")
    shown = visit.leaves()
    page.click("#send")
    page.wait_for_selector("#state:has-text('waits on this device')")
    page.reload()
    page.wait_for_selector("#state:has-text('offline')")
    assert page.locator("input:checked").count() == 0, "answers are kept nowhere"
    kept = page.evaluate(KEPT)
    names = {"page.html", "page.mjs", "bosket.mjs", "show.mjs", "page.css", "icon.svg"}
    assert set(kept) == {f"{visit.collector.url}/static/{name}" for name in names}
    for url, text in kept.items():
        assert text == (STATIC / url.rpartition("/")[2]).read_text("utf-8")
    assert not visit.collector.posted
    visit.find_the_line()
    visit.sent()
    ((*_, headers, body),) = visit.collector.posted
    assert body.hex() == shown
    assert headers["Bosket-Token"] == "secret-ticket"
    visit.faults.clear()  # the browser tells of what it could not load


@pytest.mark.parametrize("visit", [BASKETS], indirect=True)
def test_the_worker_answers_for_the_page_alone(visit: Visit) -> None:
    """With the files of a newer version the page is the newer one; other addresses are the network's."""
    page = visit.open().page
    page.evaluate(CONTROLLED)
    page.evaluate("caches.open('bosket-page-1').then((kept) => kept.put('/static/page.css', new Response('old')))")
    page.reload()
    page.wait_for_selector("#study:not([hidden])")
    assert page.evaluate(KEPT)[f"{visit.collector.url}/static/page.css"] == (STATIC / "page.css").read_text("utf-8")
    assert not any("/t/" in url for url in page.evaluate(ORIGINS)), "no address of a study"
    visit.lose_the_line()
    reached = "(url) => fetch(url).then(() => true, () => false)"
    assert page.evaluate(reached, "/static/page.css")
    for url in ("/v1/tasks/study", "/static/dashboard.mjs", "/static/page.css?x", "/t/study/more"):
        assert not page.evaluate(reached, url)
    visit.find_the_line()
    visit.faults.clear()
    visit.asked.clear()  # by this test, not by the page


@pytest.mark.parametrize("visit", [BASKETS], indirect=True)
def test_a_new_worker_deletes_what_older_ones_kept_and_nothing_of_others(visit: Visit) -> None:
    page = visit.open().page
    page.evaluate("navigator.serviceWorker.ready.then((found) => found.unregister())")
    page.evaluate("Promise.all(['bosket-page-0', 'of-others'].map((name) => caches.open(name)))")
    visit.open()
    page.evaluate("navigator.serviceWorker.ready.then((found) => found.active.scriptURL)")
    page.wait_for_timeout(300)  # for it to tidy up
    assert set(page.evaluate("caches.keys()")) == {"bosket-page-1", "of-others"}


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_a_study_of_periods_takes_one_of_a_person_in_each_and_no_more_in_all(visit: Visit) -> None:
    page, signer, plan = visit.page, Ed25519PrivateKey.generate(), SURVEY.with_unit(reports=2)
    visit.collector.document = document(plan, signer, periods=PERIODS | {"name": None})
    assert "Not now" in visit.open().page.inner_text("#thanks-title")
    for month in ("01", "02", "03"):
        said = {"periods": PERIODS | {"name": f"2027-{month}-01"}, "period": f"2027-{month}-01"}
        visit.collector.document = document(plan, signer, **said)
        visit.open()
        if month == "03":
            assert "already" in visit.sent(), "two in all, whatever the collector calls a period"
            break
        answer(page)
        page.click("#send")
        assert "arrived" in visit.sent()
        visit.open()
        assert "once in each month" in visit.sent()
    assert len(visit.collector.batches) == 2
    first, second = (body for *_, body in visit.collector.posted)
    assert len(first) == len(second)


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_a_page_that_stays_open_takes_the_coins_of_the_new_period(visit: Visit) -> None:
    """Past midnight it took those of the last one: the report of the same answers was the same, and tied both."""
    page, signer, plan = visit.page, Ed25519PrivateKey.generate(), SURVEY.with_unit(reports=3)

    def begin(name: str, now: str) -> None:
        said = {"periods": PERIODS | {"name": name, "reports": 3}, "period": name}
        visit.collector.document = document(plan, signer, **said)
        page.clock.set_fixed_time(now)

    def send() -> None:
        visit.open()
        answer(page)
        page.click("#send")
        assert "arrived" in visit.sent()

    begin("2027-01-01", "2027-01-31T23:00:00Z")
    send()
    left = hashlib.sha256(visit.collector.posted[0][3]).hexdigest()
    assert left not in str(page.evaluate("Object.entries(localStorage)")), "though more may leave, by the same secret"
    visit.open()
    answer(page)
    begin("2027-02-01", "2027-02-01T00:10:00Z")
    with page.expect_navigation():
        page.click("#send")
    assert len(visit.collector.posted) == 1
    send()
    page.clock.set_fixed_time("2027-03-01T00:10:00Z")
    visit.open()
    answer(page)
    visit.lose_the_line()
    page.click("#send")
    page.wait_for_selector("#state:has-text('seems to be over')")
    visit.find_the_line()
    assert len(visit.collector.posted) == 2


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_an_answer_that_was_lost_is_counted_once(visit: Visit) -> None:
    page = visit.open("/t/study#token=ticket").page
    for at in range(3):
        page.locator("fieldset").nth(at).locator("input").first.check()
    visit.collector.faults = ["lost", "503"]
    page.click("#send")
    visit.sent()
    assert len(visit.collector.batches) == 1
    assert {headers["Bosket-Token"] for _, _, headers, _ in visit.collector.posted} == {"ticket"}
    assert all("ticket" not in path for _, path, _, _ in visit.collector.requests), "never in an address"


@pytest.mark.parametrize("visit", [(SURVEY, {"tokens": "one-time"})], indirect=True)
def test_a_study_of_one_report_a_person_asks_for_the_link(visit: Visit) -> None:
    page = visit.open().page
    assert page.is_disabled("#send")
    assert "the link that you were given" in page.inner_text("#state")


@pytest.mark.parametrize("visit", [(SURVEY, {"closes": "2020-01-01T00:00:00+00:00"})], indirect=True)
def test_a_study_that_is_over_says_so(visit: Visit) -> None:
    assert visit.open().sent() == "This study is closed."
    assert not visit.page.is_visible("#answers")


@pytest.mark.parametrize("visit", [(SURVEY, {"title": "<img src=x onerror=alert(1)>"})], indirect=True)
def test_words_of_others_are_shown_as_words(visit: Visit) -> None:
    page = visit.open().page
    assert page.inner_text("#title") == "<img src=x onerror=alert(1)>"
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_a_study_under_another_key_is_not_shown(visit: Visit) -> None:
    visit.open()
    visit.collector.document = document(SURVEY)
    visit.open()
    assert "another key" in visit.page.inner_text("#trouble")
    assert not visit.page.is_visible("#study")
    visit.context.clear_cookies()
    forged = document(SURVEY)
    visit.collector.document = forged | {"signed": forged["signed"].replace("19.0", "1e9")}
    visit.page.evaluate("localStorage.clear()")
    visit.open()
    assert "not signed" in visit.page.inner_text("#trouble")


def answer(page: Any, choice: int = 0) -> None:
    for at in range(page.locator("fieldset").count()):
        page.locator("fieldset").nth(at).locator("input").nth(choice).check()


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_pressed_twice_it_is_sent_once(visit: Visit) -> None:
    page = visit.open().page
    answer(page)
    page.evaluate("for (let i = 0; i < 3; i++) document.getElementById('answers').requestSubmit()")
    visit.sent()
    page.wait_for_timeout(300)  # for a second one to arrive, if there were one
    assert len(visit.collector.batches) == 1


MANY = bk.Plan(bk.Domain(range(64)), bk.Flip(keep=0.6))  # reports of two records are alike once in 10^18


@pytest.mark.parametrize("visit", [MANY], indirect=True)
def test_other_answers_do_not_leave_after_a_refusal(visit: Visit) -> None:
    """A collector that refuses, so that people try other answers, would learn from each."""
    page = visit.open().page
    boxes = page.locator("input[type=checkbox]")
    boxes.nth(0).check()
    visit.collector.faults = ["refuse", "refuse"]
    page.click("#send")
    page.wait_for_selector("#state:has-text('did not take')")
    assert "does not keep" not in page.inner_text("#state")
    boxes.nth(1).check()
    page.click("#send")
    page.wait_for_selector("#state:has-text('have left this device already')")
    assert len(visit.collector.posted) == 1
    visit.open()
    boxes.nth(0).check()
    page.click("#send")
    page.wait_for_selector("#state:has-text('did not take')")
    page.click("#send")
    visit.sent()
    assert len(visit.collector.posted) == 3
    assert len({body for *_, body in visit.collector.posted}) == 1, "the very same report"


TWICE = bk.Plan(TABLE, bk.GammaDiagonal(19.0), bk.PrivacyUnit(reports=2))


@pytest.mark.parametrize("visit", [(TWICE, {"reports_per_person": 99})], indirect=True)
def test_no_more_reports_leave_than_the_plan_counts_whatever_the_period_is(visit: Visit) -> None:
    signer = Ed25519PrivateKey.generate()
    for period in ("march", "april"):
        visit.collector.document = document(TWICE, signer, period=period)
        visit.open()
        answer(visit.page)
        visit.page.click("#send")
        assert "arrived" in visit.sent()
    visit.collector.document = document(TWICE, signer, period="may")
    assert "at most 2 times" in visit.open().sent()
    assert len(visit.collector.batches) == 2


@pytest.mark.parametrize("visit", [SURVEY], indirect=True)
def test_a_browser_that_keeps_nothing_keeps_it_until_the_page_is_closed(visit: Visit) -> None:
    no_storage = (
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    visit.page.add_init_script(no_storage)
    page = visit.open().page
    answer(page)
    shown = visit.leaves()
    answer(page, 1)
    answer(page)
    assert visit.leaves() == shown, "the same answers, the same coins"
    visit.collector.faults = ["refuse"]
    page.click("#send")
    page.wait_for_selector("#state:has-text('did not take')")
    assert "does not keep what has left it" in page.inner_text("#state"), "a new page would throw new coins"
    visit.lose_the_line()
    page.click("#send")
    page.wait_for_selector("#state:has-text('waits while this page is open')")
    visit.find_the_line()
    visit.sent()
    assert [body.hex() for *_, body in visit.collector.posted] == [shown, shown]


@pytest.mark.parametrize("visit", [(SURVEY, {"tokens": "one-time"})], indirect=True)
def test_a_token_outlives_the_skip_link_and_comes_with_a_link_that_is_opened_later(visit: Visit) -> None:
    page = visit.open().page
    page.goto(f"{visit.collector.url}/t/study#token=ticket")  # the same page but for the fragment
    page.wait_for_selector("#send:not([disabled])")
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answers"
    answer(page)
    page.click("#send")
    visit.sent()
    assert [headers["Bosket-Token"] for _, _, headers, _ in visit.collector.posted] == ["ticket"]


@pytest.mark.parametrize("visit", [(SURVEY, {"task": "trial"})], indirect=True)
def test_a_study_of_another_name_is_not_shown(visit: Visit) -> None:
    assert "another task" in visit.open().page.inner_text("#trouble")
    assert not visit.page.is_visible("#study")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("plan", [BASKETS, SURVEY, ASK], ids=["baskets", "table", "ask"])
def test_no_accessibility_violation(browser: Any, plan: bk.Plan, scheme: str) -> None:
    with collecting(document(plan)) as collector:
        visit = Visit(browser, collector, color_scheme=scheme, bypass_csp=True)
        page = visit.open().page
        for at in range(page.locator("fieldset").count()):
            page.locator("fieldset").nth(at).locator("input:not([type=search])").first.check()
        page.click("summary >> nth=0")
        visit.leaves()
        assert violations(page) == []
        visit.context.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("plan", [BASKETS, SURVEY, ASK], ids=["baskets", "table", "ask"])
def test_nothing_overflows(browser: Any, plan: bk.Plan, width: int, tmp_path: Path) -> None:
    """Pictures go to BOSKET_PICTURES, where it is set, for somebody to look at."""
    folder = Path(os.environ.get("BOSKET_PICTURES", tmp_path))
    with collecting(document(plan)) as collector:
        visit = Visit(browser, collector, width)
        page = visit.open().page
        name = f"{plan.mechanism.name}-{width}"
        page.screenshot(path=folder / f"{name}.png", full_page=True)
        for at in range(page.locator("fieldset").count()):
            page.locator("fieldset").nth(at).locator("input:not([type=search])").first.check()
        visit.leaves()
        page.screenshot(path=folder / f"{name}-leaves.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate(
            "[...document.querySelectorAll('button, .choice, summary')].filter((one) => one.offsetHeight > 0"
            " && one.getBoundingClientRect().height < 24).length"
        )
        assert small == 0, "targets for a thumb"
        visit.context.close()
    assert not visit.faults
