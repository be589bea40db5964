"""docs/choosing.md says what the numbers say; ``python -m tests.test_choosing_page`` writes its tables anew."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import bosket as bk
from bosket import planning
from bosket.privacy.guarantee import rounded_up

PAGE = Path(__file__).parent.parent / "docs" / "choosing.md"
BEGIN = "<!-- written by tests/test_choosing_page.py from planning.compare -->"
GAMMA = 19.0


def survey(attributes: int, people: int = 21_000, **wanted: float) -> planning.Study:
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(attributes)])
    size, support = int(wanted.get("size", 2)), wanted.get("support", 0.1)
    return planning.Study(domain, people=people, itemset_size=size, support=support)


def shop(items: int, people: int = 50_000, **wanted: float) -> planning.Study:
    sizes = planning.geometric_sizes(5.0, most=15)
    size, support = int(wanted.get("size", 2)), wanted.get("support", 0.02)
    return planning.Study(bk.Domain(range(items)), people=people, itemset_size=size, support=support, sizes=sizes)


def table(title: str, studies: dict[int, planning.Study], goal: planning.Goal) -> list[str]:
    """Errors by size of itemset, the order that of pairs, with what a report lets through."""
    found = {size: planning.compare(study, goal) for size, study in studies.items()}
    errors = {size: {option.family: option.error for option in ranking.options} for size, ranking in found.items()}
    lines = [
        "",
        f"## {title}",
        "",
        "| mechanism | 1 item | 2 items | 3 items | epsilon of a record | of an item | a report, for pairs |",
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for option in found[2].options:
        by_size = [errors[size].get(option.family, math.inf) for size in (1, 2, 3)]
        shown = ["" if math.isinf(error) else rounded_up(error, 2) for error in by_size]
        promised = [rounded_up(planning.Goal(1.0, unit).of(option.guarantee), 3) for unit in ("record", "item")]
        lines.append(f"| {option.family} | {' | '.join(shown)} | {' | '.join(promised)} | {option.why} |")
    return lines


def written() -> str:
    """Tables for a survey and a shop, at the same gamma for the record, and for an item."""
    lines = [
        BEGIN,
        "",
        f"Predicted standard errors of a support, gamma {GAMMA:g}: 10% of 21 000 people in a survey of sixteen yes/no "
        "questions, 2% of 50 000 in a shop of 500 items and baskets of five.",
    ]
    for unit, words in (("record", "the whole record"), ("item", "one item or attribute, all others known")):
        goal = planning.Goal.of_gamma(GAMMA, unit=unit)
        surveys = {size: survey(16, size=size) for size in (1, 2, 3)}
        shops = {size: shop(500, size=size) for size in (1, 2, 3)}
        lines += table(f"A survey, gamma {GAMMA:g} for {words}", surveys, goal)
        lines += table(f"A shop, gamma {GAMMA:g} for {words}", shops, goal)
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_the_page_says_what_the_numbers_say() -> None:
    assert PAGE.read_text().split(BEGIN)[1] == written().split(BEGIN)[1]


@pytest.mark.parametrize(
    ("study", "goal", "families"),
    [
        (survey(16), planning.Goal.of_gamma(GAMMA), {"Ask"}),
        (survey(3), planning.Goal.of_gamma(1000.0), {"Ask", "GammaDiagonal"}),
        (survey(16), planning.Goal.of_gamma(GAMMA, unit="item"), {"Flip, one keep", "Flip, two keeps"}),
        pytest.param(shop(100), planning.Goal.of_gamma(GAMMA), {"Ask.baskets"}, marks=pytest.mark.slow),
        pytest.param(
            shop(100),
            planning.Goal.of_gamma(GAMMA, unit="item"),
            {"Flip, one keep", "Flip, two keeps"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_tree_leads_where_the_numbers_lead(study: planning.Study, goal: planning.Goal, families: set[str]) -> None:
    assert planning.compare(study, goal).best.family in families


def test_where_a_record_has_few_values_the_matrix_is_as_good_as_any() -> None:
    """A question about all attributes is the matrix: at a weak promise nothing is left to gain by asking less."""
    found = {
        option.family: option.error for option in planning.compare(survey(3), planning.Goal.of_gamma(1000)).options
    }
    assert found["GammaDiagonal"] <= 1.01 * found["Ask"]


if __name__ == "__main__":
    head = PAGE.read_text().split(BEGIN)[0]
    PAGE.write_text(head + written())
