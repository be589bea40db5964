"""docs/theory/measures.md lists the catalogue: names, formula, and whether randomization can raise a measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bosket.measures import CATALOGUE, Measure, Monotone
from bosket.measures.catalogue import names

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "measures.md"
GROWS = {Monotone.ALWAYS: "never grows", Monotone.SYMMETRIC: "if flipped alike", Monotone.NO: ""}


def row(record: Measure) -> str:
    others = ", ".join(f"`{name}`" for name in names(record)[1:])
    formula = record.formula.replace("|", "\\|")
    return f"| `{record.name}` | {others} | {formula} | {GROWS[record.monotone]} |"


@pytest.mark.parametrize("record", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_the_page_has_the_row_of_every_measure(record: Measure) -> None:
    text = PAGE.read_text()
    assert row(record) in text, "add this row to docs/theory/measures.md"
    assert record.gradient is None or text.count(f"| `{record.name}` |") == 2, (
        "add its row to the table of coverage in docs/theory/measures.md: bosket reproduce coverage --times 4000"
    )
