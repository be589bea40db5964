"""The page of a plan: what to do, how mechanisms compare, and what more privacy would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bosket.privacy import CentralGuarantee, LocalGuarantee
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
    note: str = "",
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
                    *([Paragraph(note)] if note else []),
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
            _promise(guarantee),
        ],
    )


def release_plan_page(
    table: PageTable,
    by_size: PageTable,
    *,
    sentence: str,
    figures: Sequence[tuple[str, str]],
    epsilons: Sequence[float],
    scores: Mapping[str, Sequence[float | None]],
    rehearsed: str,
    releases: int,
    guarantee: CentralGuarantee | None,
) -> Page:
    """What a curator was asked for, what will come out, every way to make it in a row, and its F by epsilon."""
    picture = curves(
        list(epsilons),
        dict(scores),
        name="privacy-accuracy",
        title="F of a release",
        x_label="epsilon of the release",
        y_label="mean F",
        x_is_share=False,
        y_is_log=False,
        y_is_share=False,
    )
    return Page(
        title="A plan for a release",
        lede=sentence,
        opening=[Tiles(figures)],
        sections=[
            Section(
                "Ways to make it at the same promise",
                [
                    Paragraph(
                        f"By {rehearsed}. F is the harmonic mean of two shares: of what is frequent, how much is "
                        "released, and of what is released, how much is frequent."
                    ),
                    table,
                    by_size,
                ],
            ),
            Section(
                "What more privacy would cost",
                [
                    Picture(picture, "F by epsilon; further up is better, further left is more private."),
                    Paragraph(
                        f"Points beside the epsilon that was asked for are means of {releases} rehearsals, each with "
                        "noise of its own: small steps mean nothing."
                    ),
                ],
            ),
            Section(
                "What this page is not",
                [
                    Paragraph(
                        "No record that is to be protected was looked at, and nothing was paid: what stands here is of "
                        "public or simulated records. A release of other records will differ where many itemsets are "
                        "close to the limit."
                    )
                ],
            ),
            *([] if guarantee is None else [_promise(guarantee)]),
        ],
    )


def _promise(guarantee: LocalGuarantee | CentralGuarantee) -> Section:
    return Section("What is promised to each person", [Card(guarantee.card())])
