"""The page of a plan: what to do, how mechanisms compare, and what more privacy would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bosket.privacy import LocalGuarantee
from bosket.reporting.page import Card, Page, PageTable, Paragraph, Picture, Section, Tiles
from bosket.reporting.pictures import curves


def plan_page(
    table: PageTable,
    *,
    goal: str,
    sentence: str,
    figures: Sequence[tuple[str, str]],
    epsilons: Sequence[float],
    errors: Mapping[str, Sequence[float | None]],
    wanted: str,
    guarantee: LocalGuarantee,
) -> Page:
    """What was asked, what wins, every mechanism in a row, and its error by epsilon."""
    picture = curves(
        list(epsilons),
        dict(errors),
        name="privacy-accuracy",
        title=f"Predicted error of {wanted}",
        x_label="epsilon of the promise",
        y_label="root mean square error",
        x_is_share=False,
        y_is_share=False,
    )
    return Page(
        title="A plan for a study",
        lede=sentence,
        opening=[Tiles(figures)],
        sections=[
            Section(
                "Mechanisms at the same promise",
                [
                    Paragraph(
                        f"The promise is {goal}. Each mechanism has the best parameters that it can have for it."
                    ),
                    table,
                ],
            ),
            Section(
                "What more privacy would cost",
                [
                    Picture(
                        picture, "Predicted errors by epsilon; further down is better, further left is more private."
                    ),
                    Paragraph(
                        "Errors are those of each support by itself, by the coins of the reports, before anybody "
                        "answers. Items of an itemset are taken for independent."
                    ),
                ],
            ),
            Section("What to tell people", [Paragraph(line) for line in guarantee.for_participants().split("\n")]),
            Section("What is promised to each person", [Card(guarantee.card())]),
        ],
    )
