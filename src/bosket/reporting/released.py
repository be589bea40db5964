"""The page of a curator's release: noisy supports with their intervals, and the guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bosket.privacy import CentralGuarantee
from bosket.reporting.page import Block, Page, PageTable, Paragraph, Section, Tiles
from bosket.reporting.study import most_frequent, privacy_section
from bosket.reporting.text import count_text, decimals_for, interval_text, itemset_text, number, visible

_ROWS = 100
_NOISY = (
    "Every number here is noisy, the number of records too. An itemset that is missing may be frequent, and one that "
    "is shown may not be."
)
_BELIEVED = (
    "Intervals, probabilities and what is expected are those of a posterior: they hold as far as its assumptions do. "
    "On files where that was tried most intervals held as often as they say, some held less often, and more was "
    "expected of some releases than they had."
)
_NAMES = {
    "version": "bosket",
    "method": "method",
    "mechanism": "mechanism",
    "epsilon": "epsilon",
    "delta": "delta",
    "neighbours": "neighbours",
    "max_records_per_person": "records used of a person, at most",
    "n_records": "records, noisy",
    "min_support": "minimum support",
    "k": "itemsets asked for",
    "min_count": "limit as a count",
    "budget": "budget",
    "level": "level of the intervals",
}


def release_page(frame: pd.DataFrame, *, sizes: Mapping[int, int], guarantee: CentralGuarantee) -> Page:
    """What ``Release.to_frame`` returned, on a page; ``sizes`` are its counts by itemset size."""
    about: dict[str, Any] = frame.attrs["about"]
    return Page(
        title="Frequent itemsets under differential privacy",
        lede=f"{count_text(len(frame), 'itemset')} {_asked(about)} in about {about['n_records']:,} records.",
        opening=[Paragraph(guarantee.sentence), Paragraph(_NOISY), *_announced(about, len(frame))],
        sections=[
            Section("Itemsets", _itemsets(frame, sizes, about)),
            privacy_section(guarantee),
            Section("How this was made", [_provenance(about)]),
        ],
    )


def _asked(about: Mapping[str, Any]) -> str:
    if "min_support" in about:
        return f"with a support of about {about['min_support']:g} or more"
    return f"for the {about['k']:,} most frequent"


def _announced(about: Mapping[str, Any], n_itemsets: int) -> list[Block]:
    """What the release expects of itself, where it does."""
    announced = about.get("announced")
    if announced is None:
        return []
    if not n_itemsets and "k" not in about:
        return [Tiles([("is how likely nothing is frequent, by all that was measured", f"{announced['f']:.0%}")])]
    return [
        Paragraph(_BELIEVED),
        Tiles(
            [
                ("of these are expected to be what was asked for", f"{announced['precision']:.0%}"),
                ("of all that was asked for are expected here", f"{announced['recall']:.0%}"),
            ]
        ),
    ]


def _itemsets(frame: pd.DataFrame, sizes: Mapping[int, int], about: Mapping[str, Any]) -> list[Block]:
    rows = [[str(size), f"{count:,}"] for size, count in sizes.items()]
    blocks: list[Block] = [PageTable("Itemsets by size", ["items", "itemsets"], rows, 0)]
    level = f"{100 * about['level']:g}% intervals"
    blocks += most_frequent(frame, about.get("min_support"), f", with {level}.")
    return [*blocks, _table(frame, level)]


def _table(frame: pd.DataFrame, level: str) -> PageTable:
    decimals = decimals_for(max(float(frame["support"].min()), 1e-6)) if len(frame) else 2
    has_probability = "probability" in frame
    rows = [
        [
            itemset_text(row["itemsets"]),
            number(row["support"], decimals),
            interval_text(row["low"], row["high"], decimals),
            *([number(row["probability"], 2)] if has_probability else []),
        ]
        for _, row in frame.head(_ROWS).iterrows()
    ]
    caption = f"The {len(rows)} most frequent of {len(frame):,}" if len(frame) > _ROWS else f"All {len(frame)}"
    return PageTable(
        caption, ["itemset", "support", level, *(["probability of being frequent"] if has_probability else [])], rows
    )


def _provenance(about: Mapping[str, Any]) -> PageTable:
    rows = [[name, visible(str(about[key]))] for key, name in _NAMES.items() if about.get(key) is not None]
    return PageTable("Everything needed to read this a year from now", ["", ""], rows, 2)
