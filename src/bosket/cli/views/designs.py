"""Designs: what they will see, on standard output, and their files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bosket.cli.views.console import say
from bosket.cli.views.tables import print_lines
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    from bosket.mechanisms import Design
    from bosket.planning import Preview


def design_text(design: Design) -> str:
    """The JSON of a design, a line for each question."""
    value = design.to_json()
    questions = ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in value.pop("questions"))
    others = "".join(f',\n  "{name}": {json.dumps(part)}' for name, part in value.items())
    return f'{{\n  "questions": [\n{questions}\n  ]{others}\n}}\n'


def show_design(design: Design, found: Preview, *, prior: float, people: int | None) -> None:
    """What is known before anybody answers; standard errors where the number of people is."""
    from bosket.privacy.guarantee import percent_down, percent_up, rounded_up

    record, most = found.guarantee.record, percent_up(found.guarantee.posterior(prior))
    rows = [
        ("questions", str(design)),
        ("pairs of attributes", f"{found.pairs[0]:,} of {found.pairs[1]:,} asked about together"),
        ("largest question", count_text(found.n_answers, "answer")),
        ("true answers", _true_answers(found)),
        ("gamma of the whole record", f"{rounded_up(record.gamma)} (epsilon {rounded_up(record.epsilon)})"),
        (
            "guarantee",
            f"a property of a record that had {percent_down(prior)} comes to {most} at most, for one who sees the "
            "answer",
        ),
    ]
    rows += [] if people is None else [_error_row(size, found, people) for size in (1, 2, 3)]
    width = max(len(name) for name, _ in rows)
    print_lines("\n".join(["What the design will see", *(f"  {name:<{width}}  {value}" for name, value in rows)]))
    if people is None:
        say("note: --people N shows the standard errors to expect")
    else:
        say(
            "note: standard errors are of each support by itself, whatever it is; the law that 'bosket mine' fits to "
            "all answers also tells of larger itemsets"
        )


def _true_answers(found: Preview) -> str:
    if not found.n_hashed:
        return f"{_percent(found.true_mean)} on average, {_percent(found.true_least)} to the largest question"
    hashed = f"{found.n_hashed} of {count_text(found.n_questions, 'question')}"
    shares = f"{_percent(found.true_mean)} on average, {_percent(found.true_least)} at least"
    return f"{shares}; {hashed} hashed: the bucket is true"


def _percent(share: float) -> str:
    """Three digits: a question about everything is answered truly once in ten thousand times."""
    return f"{100 * share:.3g}%"


def _error_row(size: int, found: Preview, people: int) -> tuple[str, str]:
    from bosket.privacy.guarantee import accuracy_text

    what = {1: "an item", 2: "a pair", 3: "a triple"}[size]
    heading = f"stderr of {what}, {'1 person' if people == 1 else f'{people:,} people'}"
    known = [one for one in found.guarantee.accuracy if one.size == size]
    if not known:
        return heading, "no single question tells" if size > found.widest else "not known beforehand"
    blind = "; no support can be as large" if known[0].is_hopeless(people) else ""
    return heading, accuracy_text(known, people).rpartition(" for ")[0] + blind
