"""The page of an audit: the verdict in a sentence, what was looked at, and how seldom that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bosket.reporting.page import Block, Page, PageTable, Paragraph, Section, Tiles, Warning

_SHOWN = {"convicted": "convicted", "nothing found": "passed", "not looked at": "skipped"}


def audit_page(verdict: Mapping[str, Any]) -> Page:
    """The page of a verdict's JSON."""
    findings: Sequence[Mapping[str, Any]] = verdict["findings"]
    convicted = [one for one in findings if one["verdict"] == "convicted"]
    opening: list[Block] = [Warning(str(one["words"])) for one in convicted]
    opening.append(
        Tiles(
            [
                ("verdict", "convicted" if convicted else "nothing found"),
                ("checks passed", str(sum(one["verdict"] == "nothing found" for one in findings))),
                ("comparisons", f"{sum(one['tests'] for one in findings):,}"),
                ("wrong with at most", f"{verdict['failure']:.1g}"),
            ]
        )
    )
    rows = [[str(one["check"]), _SHOWN[one["verdict"]], str(one["words"])] for one in findings]
    table = PageTable("What was looked at", ("check", "", "found"), rows, text_columns=3, has_remark=True)
    about = [[str(name).replace("_", " "), str(value)] for name, value in verdict["about"].items()]
    return Page(
        title="An audit",
        lede=str(verdict["sentence"]),
        opening=opening,
        sections=[
            Section("Checks", [table]),
            Section(
                "How to read it",
                [
                    Paragraph(
                        "A check that convicts is wrong about an honest study with the probability that is stated at "
                        "most, for all checks together. A check that passes proves nothing: privacy is proved on the "
                        "card of the plan, and an audit can only refute it."
                    ),
                    PageTable("The audit", ("what", "which"), about, text_columns=2),
                ],
            ),
        ],
    )
