"""Rankings of mechanisms: as a table, as JSON, and as a page with curves."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bosket._version import __version__
from bosket.cli.views.tables import print_lines, print_table, standard_output

if TYPE_CHECKING:
    import pandas as pd

    from bosket.data import Baskets, Table
    from bosket.planning import Goal, Ranking, Study
    from bosket.reporting.page import Page

VERSION = 1
_HEADINGS = ("mechanism", "error", "lowest support", "epsilon of a record", "of an item", "why")
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the epsilon that is promised: where a page looks at errors."""


def _rows(frame: pd.DataFrame) -> list[list[str]]:
    """Texts of a ranking: mechanism, error, lowest support, epsilon of a record and of an item, why."""
    from bosket.privacy.guarantee import percent_up, rounded_up

    return [
        [
            str(row["family"]),
            "none" if math.isinf(float(row["error"])) else rounded_up(float(row["error"]), 3),
            "none" if math.isinf(float(row["lowest_support"])) else percent_up(float(row["lowest_support"])),
            rounded_up(float(row["record_epsilon"])),
            rounded_up(float(row["item_epsilon"])),
            str(row["why"]),
        ]
        for row in frame.to_dict("records")
    ]


def wanted_text(study: Study) -> str:
    """What is looked for, in words."""
    size = study.itemset_size
    what = {1: "an item", 2: "a pair", 3: "a triple"}.get(size, f"{size} items")
    people = "1 person" if study.people == 1 else f"{study.people:,} people"
    return f"{what} that {100 * study.support:.4g}% have, {people}"


def show_ranking(found: Ranking) -> None:
    """The sentence, and a row for each mechanism."""
    print_lines(found.sentence)
    print_table(f"{found.goal}; {wanted_text(found.study)}", _HEADINGS, _rows(found.to_frame()), has_remark=True)


def show_mistakes(found: Ranking, pilot: Baskets | Table, min_support: float) -> None:
    """What a search of reports of the best mechanism would miss, and list by mistake, among people as in a pilot."""
    from bosket.errors import ParameterError
    from bosket.planning import Foresight, expected_errors

    seen = found.best.seen
    if not isinstance(seen, Foresight):
        return  # candidates of a second phase are chosen by answers to the first
    try:
        frame = expected_errors(seen, pilot, min_support=min_support, max_size=min(3, found.study.itemset_size))
    except ParameterError:  # too many itemsets are within the noise, or records are mixed
        return
    rows = [
        [f"{row['size']:.0f}", f"{row['frequent']:,.0f}"]
        + [f"{row[name]:,.1f}" for name in ("false_negatives", "false_positives")]
        for row in frame.to_dict("records")
    ]
    title = f"a search at a support of {100 * min_support:g}%, if people are as in the pilot"
    print_table(title, ("items", "frequent", "missed", "listed by mistake"), rows, text_columns=0)


def show_other_way(frame: pd.DataFrame, title: str) -> None:
    """What an accuracy allows or takes."""
    headings = [name.replace("_", " ") for name in frame.columns]
    rows = [[_number(value, str(name)) for name, value in row.items()] for row in frame.to_dict("records")]
    print_table(title, headings, rows, text_columns=1)


def _number(value: Any, name: str) -> str:
    from bosket.privacy.guarantee import rounded_up

    if isinstance(value, str):
        return value
    if name in ("epsilon", "gamma"):
        return rounded_up(value)  # towards less privacy
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def print_json(found: Ranking) -> None:
    with standard_output() as stream:
        stream.write(json.dumps(ranking_json(found), indent=2, ensure_ascii=False) + "\n")


def ranking_json(found: Ranking) -> dict[str, Any]:
    """The whole answer, with the plan that wins."""
    rows = [
        {name: ("infinite" if isinstance(value, float) and math.isinf(value) else value) for name, value in row.items()}
        for row in found.to_frame().to_dict("records")
    ]
    return {
        "version": VERSION,
        "bosket": __version__,
        "goal": {"epsilon": found.epsilon, "unit": found.goal.unit, "words": str(found.goal)},
        **({"note": found.note} if found.note else {}),
        "study": {
            "people": found.study.people,
            "itemset_size": found.study.itemset_size,
            "support": found.study.support,
        },
        "sentence": found.sentence,
        "options": rows,
        "guarantee": found.best.guarantee.to_json(),
        "participant": found.best.guarantee.for_participants(),
        "plan": json.loads(found.best.seen.plan.json),
    }


def ranking_page(found: Ranking) -> Page:
    """A page with the error of every family by epsilon."""
    from bosket.planning.comparison import PHASED, best_of
    from bosket.planning.families import FAMILIES
    from bosket.privacy.guarantee import percent_up, rounded_up
    from bosket.reporting.page import PageTable
    from bosket.reporting.planned import plan_page

    goals: list[Goal] = [replace(found.goal, epsilon=found.goal.epsilon * times) for times in TIMES]
    errors: dict[str, list[float | None]] = {}
    is_plain = {option.family for option in found.options} <= {*FAMILIES, PHASED}
    for option in found.options:
        if is_plain:
            line = [best_of(option.family, found.study, goal) for goal in goals]
        elif found.goal.is_met(option.guarantee):  # classes, or a breach level: what is known is at this goal alone
            line = [option if times == 1 else None for times in TIMES]
        else:
            continue  # a breach level, whose epsilon is no goal
        errors[option.family] = [None if one is None or not math.isfinite(one.error) else one.error for one in line]
    best = found.best
    lowest = "none" if math.isinf(best.lowest_support) else percent_up(best.lowest_support)
    return plan_page(
        PageTable(
            "Mechanisms, the smallest predicted error first", _HEADINGS, _rows(found.to_frame()), has_remark=True
        ),
        goal=str(found.goal),
        note=found.note,
        sentence=found.sentence,
        figures=[
            ("people", f"{found.study.people:,}"),
            ("the best", best.family),
            ("its epsilon", rounded_up(found.goal.of(best.guarantee))),
            ("its error", rounded_up(best.error, 2)),
            ("lowest support", lowest),
        ],
        epsilons=[goal.epsilon for goal in goals],
        errors=errors,
        wanted=wanted_text(found.study),
        guarantee=best.guarantee,
    )
