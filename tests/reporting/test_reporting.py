"""Pictures, pages, and the comparison with the truth."""

from __future__ import annotations

import re
import threading
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import bosket as bk
from bosket.reporting import pictures
from bosket.reporting.comparison import Comparison, compare, true_rules, true_supports
from bosket.reporting.page import Card, Page, PageTable, Paragraph, Picture, Section, Tiles, Warning
from bosket.reporting.study import itemsets_page, rules_page, simulation_page
from bosket.reporting.text import (
    count_text,
    decimals_for,
    in_order,
    interval_text,
    itemset_text,
    label_text,
    number,
    rule_text,
    visible,
)

NASTY = ["<script>alert(1)</script>", "$x^2$", "$open", "a\"b'c", "&amp;", "\x1b[31m\x00", "日本", "#21302a", 'id="x']


@pytest.fixture(scope="module")
def nasty() -> tuple[bk.FrequentItemsets, bk.Reports]:
    reports = bk.Flip(keep=0.97).randomize(bk.Baskets([NASTY, NASTY[:4]] * 200), rng=bk.Seeded(1))
    return bk.mine(reports, min_support=0.3, max_size=3), reports


@pytest.fixture(scope="module")
def simulation() -> tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets]:
    baskets = bk.quest(records=4000, mean_size=5, items=20, patterns=10, seed=7)
    reports = bk.Flip(keep=0.9).randomize(baskets, rng=bk.Seeded(7))
    return baskets, reports, bk.mine(reports, min_support=0.05), bk.mine(baskets, min_support=0.05)


@pytest.fixture(scope="module")
def comparison(simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets]) -> Comparison:
    baskets, reports, found, truth = simulation
    return compare(found, truth, reports=reports, baskets=baskets)


class Reader(HTMLParser):
    """Tags, what they refer to, and whether they nest."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "data", "poster"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            assert not name.startswith("on"), "an event handler is a script"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def check_page(text: str) -> Reader:
    """Self-contained, well-formed, no scripts, unique ids."""
    page = Reader(text)
    assert not {"script", "link", "iframe", "object", "embed", "img", "base"} & set(page.tags)
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"""(src|href|action)\s*=\s*["']?\s*(https?:)?//""", text)
    assert not re.search(r"url\((?!#)|@import", text)
    assert page.tags.count("h1") == 1
    return page


def drawn(svg: str) -> list[str]:
    """The texts of a picture, which must be well-formed."""
    root = ET.fromstring(svg)  # our own
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.slow
def test_pages_of_nasty_labels(nasty: tuple[bk.FrequentItemsets, bk.Reports]) -> None:
    found, reports = nasty
    frame, rules = found.to_frame(), found.rules(min_threshold=0.1)
    pages = [itemsets_page(frame, sizes=found.sizes, guarantee=reports.guarantee), rules_page(rules, guarantee=None)]
    for page in pages:
        text = page.html()
        read = check_page(text)
        assert "svg" in read.tags
        for label in ("<script>alert(1)</script>", "$x^2$", "$open", "a\"b'c", "&amp;", "日本"):
            assert label in read.text
        assert "\x1b" not in text
        assert "\x00" not in text


def test_labels_are_drawn_as_they_are(nasty: tuple[bk.FrequentItemsets, bk.Reports]) -> None:
    frame = nasty[0].to_frame().head(len(NASTY))
    names = [itemset_text(itemset) for itemset in frame["itemsets"]]
    svg = pictures.intervals(names, frame, column="support", x="support", name="x")
    assert set(names) <= set(drawn(svg))
    assert "<script" not in svg


def test_pictures_follow_the_scheme_of_the_page(comparison: Comparison) -> None:
    svg = pictures.support_against_truth(comparison.frame, min_support=comparison.min_support)
    assert "var(--found, #2b7a57)" in svg
    for colour in pictures.COLOURS.values():
        assert not re.search(rf"(?<!, ){colour}", re.sub(r">[^<]*<", "><", svg))
    style = Page("t", "l", [], []).html()
    for name, colour in pictures.COLOURS.items():
        assert style.count(f"--{name}: ") == 2
        assert f"--{name}: {colour};" in style


@pytest.mark.slow
def test_pictures_say_what_they_show(comparison: Comparison) -> None:
    for svg in (
        pictures.support_against_truth(comparison.frame, min_support=comparison.min_support),
        pictures.error_by_size(comparison.frequent, quantile=1.96),
    ):
        root = ET.fromstring(svg)  # our own
        assert root.get("role") == "img"
        assert root.get("aria-label", "").endswith(".")


@pytest.mark.slow
def test_the_same_picture_twice_and_no_state_left_behind(comparison: Comparison) -> None:
    before = dict(mpl.rcParams)
    first, second = (pictures.error_by_size(comparison.frequent, quantile=1.96) for _ in range(2))
    assert first == second
    assert dict(mpl.rcParams) == before


def test_error_bars_and_points_are_where_they_should_be(comparison: Comparison) -> None:
    """A picture of three known points: the legend counts, and the axes are percentages."""
    frame = pd.DataFrame(
        {
            "truth": [0.2, 0.06, 0.0],
            "support": [0.21, 0.04, 0.055],
            "low": [0.19, -0.01, 0.03],
            "high": [0.23, 0.07, 0.08],
            "status": ["found", "missed", "false"],
        }
    )
    texts = drawn(pictures.support_against_truth(frame, min_support=0.05))
    assert {"found (1)", "missed (1)", "false (1)", "true support", "estimated support", "10%"} <= set(texts)


def test_pictures_of_nothing(comparison: Comparison, nasty: tuple[bk.FrequentItemsets, bk.Reports]) -> None:
    none = comparison.frame.head(0)
    drawn(pictures.support_against_truth(none, min_support=0.05))
    drawn(pictures.error_by_size(none, quantile=1.96))
    rules = nasty[0].rules(min_threshold=2.0).head(0)
    drawn(pictures.rules_scatter(rules))
    check_page(rules_page(_with_about(rules, nasty[0]), guarantee=None).html())


def _with_about(frame: pd.DataFrame, found: bk.FrequentItemsets) -> pd.DataFrame:
    frame.attrs = found.rules(min_threshold=2.0).attrs
    return frame


def test_pictures_of_exact_results_and_of_numbers_that_are_not() -> None:
    """Without errors, and with a rule whose confidence is NaN: the axes stay named, and the rule keeps its row."""
    exact = bk.mine(bk.Baskets([["a", "b"], ["a"], ["b", "c"]]), min_support=0.3)
    rules = exact.rules(min_threshold=0.1)
    assert {"support", "confidence"} <= set(drawn(pictures.rules_scatter(rules)))
    rules.loc[0, ["confidence", "confidence_low", "confidence_high", "lift"]] = np.nan
    assert {"support", "confidence"} <= set(drawn(pictures.rules_scatter(rules)))
    names = [rule_text(a, c) for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    shown = drawn(pictures.intervals(names, rules, column="confidence", x="confidence", name="c"))
    assert set(names) <= set(shown)


@pytest.mark.slow
def test_pictures_from_several_threads(comparison: Comparison) -> None:
    before = dict(mpl.rcParams)
    svgs: list[str] = []
    threads = [
        threading.Thread(target=lambda: svgs.append(pictures.error_by_size(comparison.frequent, quantile=1.96)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(svgs) == 3
    assert len(set(svgs)) == 1
    assert dict(mpl.rcParams) == before


def test_many_rules_are_thinned_out_evenly(
    simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, object],
) -> None:
    rules = simulation[2].rules(min_threshold=0.0)
    assert len(rules) > pictures.MOST_RULES
    thin = pictures._spread(rules, 50, "confidence")
    assert len(thin) == 50
    assert thin["confidence"].min() == rules["confidence"].min()
    assert thin["confidence"].max() == rules["confidence"].max()


def test_comparison_is_what_its_definitions_say(
    simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets], comparison: Comparison
) -> None:
    """Against plain sets and counting by hand."""
    baskets, reports, found, truth = simulation
    records = [frozenset(record) for record in baskets]
    reported, frequent = {itemset for itemset, _ in found}, {itemset for itemset, _ in truth}
    frame = comparison.frame
    status = dict(zip(frame["itemsets"], frame["status"], strict=True))
    assert {itemset for itemset, value in status.items() if value == "found"} == reported & frequent
    assert {itemset for itemset, value in status.items() if value == "missed"} == frequent - reported
    assert {itemset for itemset, value in status.items() if value == "false"} == reported - frequent
    assert len(status) == len(frame)
    assert frequent - reported, "the case is worth having"
    assert reported - frequent, "the case is worth having"
    for itemset, support in zip(frame["itemsets"], frame["truth"], strict=True):
        assert support == pytest.approx(sum(itemset <= record for record in records) / len(records), rel=1e-12)
    estimates = bk.estimate(reports, frame["itemsets"])
    np.testing.assert_allclose(frame["support"], estimates.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(frame[["low", "high"]], estimates.interval(0.95), rtol=1e-9, atol=1e-12)
    sizes = comparison.by_size()
    assert sizes["frequent"].tolist() == (sizes["found"] + sizes["missed"]).tolist()
    assert sizes["covered"].sum() == comparison.covered
    assert sizes["frequent"].sum() == len(frequent)
    assert sizes["false"].sum() == len(reported - frequent)


def test_comparison_of_exact_mining_with_itself(
    simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets],
) -> None:
    baskets, reports, _, truth = simulation
    same = compare(truth, truth, reports=reports, baskets=baskets)
    assert set(same.frame["status"]) == {"found"}
    assert same.covered == len(truth)
    drawn(pictures.error_by_size(same.frequent, quantile=1.96))


@pytest.mark.slow
def test_true_rules(simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets]) -> None:
    baskets, _, found, truth = simulation
    rules = true_rules(found.rules(min_threshold=0.5), truth, baskets)
    exact = truth.rules(min_threshold=0.0)
    known = {(a, c): v for a, c, v in exact[["antecedents", "consequents", "confidence"]].itertuples(index=False)}
    checked = 0
    for _, rule in rules.iterrows():
        value = known.get((rule["antecedents"], rule["consequents"]))
        if value is not None:
            checked += 1
            assert rule["truth"] == pytest.approx(value, rel=1e-12)
            assert rule["held"] == (rule["confidence_low"] <= value <= rule["confidence_high"])
    assert checked > 10


def test_true_supports_counts_what_was_not_mined(
    simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets],
) -> None:
    baskets, _, _, truth = simulation
    everything = frozenset(range(10))
    expected = sum(everything <= set(record) for record in baskets) / len(baskets)
    assert true_supports([everything, everything], truth, baskets).tolist() == [expected] * 2


@pytest.mark.slow
def test_simulation_page(
    simulation: tuple[bk.Baskets, bk.Reports, bk.FrequentItemsets, bk.FrequentItemsets],
    comparison: Comparison,
    tmp_path: Path,
) -> None:
    baskets, reports, found, truth = simulation
    rules = true_rules(found.rules(min_threshold=0.5), truth, baskets)
    for shown in (rules.head(10), rules.head(0)):
        page = simulation_page(
            comparison,
            shown,
            story=["<one>", "two"],
            rules_note="a note",
            classes=PageTable("classes", ["class"], [["<all>"]]),
            about=found.to_frame().attrs["about"],
            guarantee=reports.guarantee,
        )
        page.write(tmp_path / "page.html")
        read = check_page((tmp_path / "page.html").read_text())
        assert read.tags.count("figure") == (3 if len(shown) else 2)
        assert "<one>" in read.text
        assert "protects nobody" in read.text
        for line in reports.guarantee.card().splitlines():
            assert line.split()[-1] in read.text


def test_blocks_escape_what_they_are_given() -> None:
    bad = '<img src="http://x">'
    page = Page(bad, bad, [Warning(bad), Card(f"{bad}\n  item {bad}\n  note: {bad}")], [
        Section(bad, [Paragraph(bad), PageTable(bad, [bad], [[bad]])])
    ])  # fmt: skip
    read = check_page(page.html())
    assert read.text.count(bad) >= 10


HIDDEN = "\x1b\x07\x9b\x7f\x00\r\t\u202e\u2066\u200b\u200d\ufeff\u2028\u2029\x85\ud83c\U000e0041\u00ad\ue000"


def test_nothing_stays_hidden() -> None:
    """Controls of terminals, turned writing, signs of no width, half a pair, ends of lines, tags."""
    shown = visible(HIDDEN)
    assert shown.isprintable()
    assert shown.startswith(r"\x1b\x07\x9b\x7f\x00\x0d\x09\u202e\u2066\u200b")
    assert shown.endswith(r"\U000e0041\xad\ue000")
    assert visible("a\nb") == r"a\x0ab"
    assert visible("a\nb\r\x1b[2J", lines=True) == "a\nb" + r"\x0d\x1b[2J"


def test_letters_of_every_script_stay() -> None:
    for text in (
        "milk & <b>",
        "été",
        "молоко",
        "牛乳　パン",
        "חלב",
        "حليب",
        "दूध",
        "นม",
        "ሚልክ",
        "🥛",
        "a\u00a0b",
        "e\u0301",
    ):
        assert visible(text) == text


def test_pages_hide_nothing() -> None:
    bad = f"<b>{HIDDEN}"
    page = Page(bad, bad, [Warning(bad), Card(f"{bad}\n  item {bad}\n  note: {bad}"), Tiles([(bad, bad)])], [
        Section(bad, [Paragraph(bad), PageTable(bad, [bad], [[bad]]), Picture("<svg></svg>", bad)])
    ])  # fmt: skip
    written = page.html()
    assert not set(HIDDEN) & set(written.replace("\t", ""))
    assert written.count(r"&lt;b&gt;\x1b\x07") >= 10
    written.encode()


def test_labels_as_text() -> None:
    assert label_text("milk") == "milk"
    assert label_text(7) == "7"
    assert label_text("a\nb\x1b") == r"a\x0ab\x1b"
    assert len(label_text("x" * 500)) == 60
    assert in_order({3, 1, 2}) == [1, 2, 3]
    assert in_order({"b", 1, "a"}) == [1, "a", "b"]
    assert itemset_text({10, 9}) == "9, 10"
    assert rule_text({"b", "a"}, {"c"}) == "a, b → c"


def test_numbers_as_text() -> None:
    assert number(-0.5, 1) == "\N{MINUS SIGN}0.5"
    assert number(float("nan")) == "–"
    assert number(float("inf")) == "∞"
    assert interval_text(-0.1, 0.2, 1) == "\N{MINUS SIGN}0.1 to 0.2"
    assert [decimals_for(value) for value in (1, 0.5, 0.1, 0.01, 0.0025)] == [3, 3, 3, 4, 5]
    assert [count_text(count, "rule") for count in (0, 1, 2, 12345)] == ["0 rules", "1 rule", "2 rules", "12,345 rules"]


def test_curves_break_where_there_is_nothing_and_say_what_they_show() -> None:
    picture = pictures.curves(
        [0.0, 0.5, 1.0],
        {"one": [0.1, None, 0.3], "other": [0.2, 0.2, 0.2]},
        name="figure-x",
        title="A <title>",
        x_label="spread",
        y_label="error",
        x_is_share=False,
        y_is_log=False,
    )
    root = ET.fromstring(picture)
    assert root.attrib["aria-label"].startswith("A <title>: error against spread")
    texts = [element.text for element in root.iter() if element.text and element.text.strip()]
    assert {"one", "other", "A <title>", "spread", "error"} <= set(texts)
    assert "0.5" in texts or "0.4" in texts  # steps between whole numbers
    logarithmic = pictures.curves(
        [1, 2], {"n": [10.0, 1000.0]}, name="f", title="t", x_label="x", y_label="y", x_is_share=True, y_is_share=False
    )
    assert "1,000" in logarithmic
