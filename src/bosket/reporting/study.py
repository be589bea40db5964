"""The pages: of itemsets, of rules, and of a simulation beside the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bosket.evidence.provenance import Errors
from bosket.privacy import CentralGuarantee, LocalGuarantee
from bosket.reporting import pictures
from bosket.reporting.comparison import Comparison
from bosket.reporting.page import Block, Card, Page, PageTable, Paragraph, Picture, Section, Tiles, Warning
from bosket.reporting.text import (
    count_text,
    decimals_for,
    interval_text,
    itemset_text,
    label_text,
    number,
    rule_text,
)
from bosket.statistics.estimates import normal_quantile

_ROWS = 100
_BARS = 25
NOT_CLIPPED = (
    "Estimates are not clipped: a support may come out below 0, a confidence above 1. What passes a limit is luckier "
    "than the rest, so values near the minimum, and the best of many, are too high on average; intervals are not "
    "corrected for that."
)
DOUBT = (
    "A ? marks an interval that should not be trusted: fewer than twenty reports show the itemset, or coins seldom "
    "change one of its items."
)
CUT = (
    "Long records were cut to a few of their items before they were randomized: supports and intervals are of the "
    "records as cut, and lie below those of whole records."
)
EXACT = "These results come from raw baskets: they are exact, and nothing protects the people in them."
SEEDED = "The reports were randomized with a seed: this is a simulation, and it protects nobody."


def itemsets_page(frame: pd.DataFrame, *, sizes: Mapping[int, int], guarantee: LocalGuarantee | None) -> Page:
    """What ``FrequentItemsets.to_frame`` returned, on a page; ``sizes`` are its counts by itemset size."""
    about: dict[str, Any] = frame.attrs["about"]
    ordered = frame.sort_values("support", ascending=False, kind="stable")
    blocks: list[Block] = [
        PageTable("Frequent itemsets by size", ["items", "itemsets"], [[str(k), f"{n:,}"] for k, n in sizes.items()], 0)
    ]
    caption = f"{_with_intervals(about)}; the dashed line is the minimum."
    blocks += most_frequent(ordered, about["min_support"], caption)
    blocks.append(_itemset_table(ordered, about))
    return Page(
        title="Frequent itemsets",
        lede=f"{count_text(len(frame), 'itemset')} with a support of at least {about['min_support']:g} in "
        f"{count_text(about['n_records'], 'record')}.",
        opening=_opening(about),
        sections=[Section("Itemsets", blocks), privacy_section(guarantee), _provenance(about)],
    )


def _itemset_table(ordered: pd.DataFrame, about: Mapping[str, Any]) -> PageTable:
    decimals = decimals_for(about["min_support"])
    is_exact = "stderr" not in ordered
    rows = [
        [
            itemset_text(row["itemsets"]),
            number(row["support"], decimals),
            *(
                []
                if is_exact
                else [
                    number(row["stderr"], decimals + 1),
                    interval_text(row["low"], row["high"], decimals) + (" ?" if row.get("caution", False) else ""),
                ]
            ),
        ]
        for _, row in ordered.head(_ROWS).iterrows()
    ]
    caption = _caption("most frequent itemsets", ordered)
    if "caution" in ordered and ordered["caution"].any():
        caption = f"{caption}. {DOUBT}"
    return PageTable(caption, ["itemset", "support", *([] if is_exact else ["standard error", "interval"])], rows)


def _caption(what: str, frame: pd.DataFrame) -> str:
    return f"The {min(_ROWS, len(frame))} {what} of {len(frame):,}" if len(frame) > _ROWS else f"All {len(frame)}"


def rules_page(rules: pd.DataFrame, *, guarantee: LocalGuarantee | None) -> Page:
    """What ``FrequentItemsets.rules`` returned, on a page, in the order of the frame."""
    about: dict[str, Any] = rules.attrs["about"]
    blocks: list[Block] = []
    if len(rules):
        which = "an even selection of the" if len(rules) > pictures.MOST_RULES else "all"
        caption = f"Support and confidence of {which} rules{_with_intervals(about)}."
        blocks.append(Picture(pictures.rules_scatter(rules), caption))
        top = rules.head(_BARS)
        names = [rule_text(a, c) for a, c in zip(top["antecedents"], top["consequents"], strict=True)]
        svg = pictures.intervals(names, top, column="confidence", x="confidence", name="confidence")
        blocks.append(Picture(svg, f"The confidence of the first {len(top)} rules{_with_intervals(about)}."))
    blocks.append(_rule_table(rules, about))
    return Page(
        title="Association rules",
        lede=f"{count_text(len(rules), 'rule')} with {about['metric']} of at least {about['min_threshold']:g} "
        f"and support of at least {about['min_support']:g} in {count_text(about['n_records'], 'record')}.",
        opening=_opening(about),
        sections=[Section("Rules", blocks), privacy_section(guarantee), _provenance(about)],
    )


def _rule_table(rules: pd.DataFrame, about: Mapping[str, Any]) -> PageTable:
    decimals = decimals_for(about["min_support"])
    top = rules.head(_ROWS)
    names = [rule_text(a, c) for a, c in zip(top["antecedents"], top["consequents"], strict=True)]
    is_exact = "caution" not in rules
    rows = []
    for name, (_, row) in zip(names, top.iterrows(), strict=True):
        cells = [name, number(row["support"], decimals)]
        for measure in ("confidence", "lift"):
            cells.append(number(row[measure]))
            if not is_exact:
                cells.append(interval_text(row[f"{measure}_low"], row[f"{measure}_high"]))
        rows.append(cells)
    interval = [] if is_exact else ["interval"]
    headings = ["rule", "support", "confidence", *interval, "lift", *interval]
    return PageTable(_caption("first rules", rules), headings, rows)


def simulation_page(
    comparison: Comparison,
    rules: pd.DataFrame,
    *,
    story: Sequence[str],
    rules_note: str,
    classes: PageTable,
    about: Mapping[str, Any],
    guarantee: LocalGuarantee,
) -> Page:
    """Estimates beside the truth; ``rules`` comes from :func:`~bosket.reporting.comparison.true_rules`."""
    sizes = comparison.by_size()
    n_frequent, n_found = int(sizes["frequent"].sum()), int(sizes["found"].sum())
    level = f"{100 * comparison.level:g}%"
    tiles = Tiles(
        [
            ("records, each randomized on its own", f"{about['n_records']:,}"),
            ("frequent itemsets found", f"{n_found:,} of {n_frequent:,}"),
            ("reported by mistake", f"{int(sizes['false'].sum()):,}"),
            (
                f"{level} intervals that hold, of truly frequent",
                f"{comparison.covered / max(1, n_frequent):.1%}",
            ),
        ]
    )
    truth = Picture(
        pictures.support_against_truth(comparison.frame, min_support=comparison.min_support),
        f"Each point is an itemset, with its {level} interval; of many itemsets an even selection is drawn. Right of "
        "the vertical dashed line an itemset is truly frequent; above the horizontal one it is reported.",
    )
    error = Picture(
        pictures.error_by_size(comparison.frequent, quantile=normal_quantile(comparison.level)),
        f"All truly frequent itemsets, reported or not. Left: errors in standard errors; the band is the {level} "
        "interval, and boxes spread alike at every size when the standard errors are right. Right: the same errors as "
        "a share of the truth. Boxes hold the middle half, whiskers 95%.",
    )
    columns = ["frequent", "found", "missed", "false", "covered"]
    counts = PageTable(
        "Frequent itemsets by size",
        ["items", "truly frequent", "found", "missed", "false", f"{level} intervals that hold, of truly frequent"],
        [[str(row["size"]), *(f"{row[name]:,}" for name in columns)] for _, row in sizes.iterrows()],
        text_columns=0,
    )
    return Page(
        title="What the forest has in common",
        lede="Baskets were randomized item by item before anyone saw them. This page sets what was found in the "
        "randomized reports beside what was in the baskets.",
        opening=[Warning(SEEDED), tiles],
        sections=[
            Section("What was done", [*map(Paragraph, story), classes]),
            Section("Supports: estimate and truth", [truth, counts]),
            Section("Error by itemset size", [error]),
            Section("Rules beside the truth", [Paragraph(rules_note), *_rules_beside_truth(rules, comparison)]),
            privacy_section(guarantee),
            _provenance(about),
        ],
    )


def _rules_beside_truth(rules: pd.DataFrame, comparison: Comparison) -> list[Block]:
    if not len(rules):
        return [Paragraph("No rule was strong enough to be shown.")]
    names = [rule_text(a, c) for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    decimals = decimals_for(comparison.min_support)
    rows = [
        [
            name,
            number(row["support"], decimals),
            number(row["confidence"]),
            interval_text(row["confidence_low"], row["confidence_high"]),
            number(row["truth"]),
            "yes" if row["held"] else "no",
        ]
        for name, (_, row) in zip(names, rules.iterrows(), strict=True)
    ]
    level = f"{100 * comparison.level:g}%"
    return [
        Picture(
            pictures.intervals(names, rules, column="confidence", x="confidence", name="beside"),
            f"Estimated confidence with its {level} interval, and the true confidence.",
        ),
        PageTable(
            f"The same rules in numbers; {NOT_CLIPPED[0].lower()}{NOT_CLIPPED[1:]}",
            ["rule", "support", "confidence", f"{level} interval", "truth", "holds it"],
            rows,
        ),
    ]


def most_frequent(ordered: pd.DataFrame, threshold: float | None, caption: str) -> list[Picture]:
    """Pictures of the most frequent itemsets, and of those of several items; ``caption`` ends what is said of them."""
    several = ordered[ordered["size"] > 1]
    found = []
    for part, what, name in ((ordered, "itemsets", "supports"), (several, "itemsets of two items and more", "larger")):
        if len(part) and (name == "supports" or len(several) < len(ordered)):
            top = part.head(_BARS)
            labels = [itemset_text(itemset) for itemset in top["itemsets"]]
            svg = pictures.intervals(labels, top, column="support", x="support", name=name, threshold=threshold)
            found.append(Picture(svg, f"The {len(top)} most frequent {what}{caption}"))
    return found


def _with_intervals(about: Mapping[str, Any]) -> str:
    return "" if about["stderr"] == Errors.NONE.value else f", with {_intervals(about)}"


def _intervals(about: Mapping[str, Any]) -> str:
    return f"{100 * about['level']:g}% intervals ({about['stderr']})"


_TOLD = ("influence", "stopped", "left_out", "hopeless")  # notes of a search that its reader must not overlook


def _opening(about: Mapping[str, Any]) -> list[Block]:
    if about["mechanism"] is None:
        return [Warning(EXACT)]
    told = [*about.get("noise", ()), *(about[name] for name in _TOLD if name in about)]
    return [
        *([Warning(SEEDED)] if about["randomness"] != "secure" else []),
        *(Warning(one[:1].upper() + one[1:]) for one in told),
        *([Paragraph(CUT)] if str(about.get("support_of")).startswith("cut") else []),
        Paragraph(NOT_CLIPPED),
    ]


def privacy_section(guarantee: LocalGuarantee | CentralGuarantee | None) -> Section:
    if guarantee is None:
        return Section("What privacy was given", [Paragraph("None: the records were not randomized.")])
    return Section("What privacy was given", [Card(guarantee.card())])


_NAMES = {
    "version": "bosket",
    "n_records": "records",
    "min_support": "minimum support",
    "slack": "slack, in standard errors",
    "max_size": "largest size",
    "mechanism": "mechanism",
    "plan": "digest of the plan",
    "randomness": "randomness",
    "metric": "metric",
    "min_threshold": "least value of the metric",
    "level": "level of the intervals",
    "stderr": "standard errors cover",
    "support_of": "supports are of",
}


def _provenance(about: Mapping[str, Any]) -> Section:
    rows = [[name, label_text(_shown(about[key]))] for key, name in _NAMES.items() if about.get(key) is not None]
    return Section(
        "How this was made", [PageTable("Everything needed to read this a year from now", ["", ""], rows, 2)]
    )


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
