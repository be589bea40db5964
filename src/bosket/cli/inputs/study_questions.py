"""Five questions about a study, asked on a terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, TextIO

from bosket.cli.inputs.options import above, share, whole
from bosket.cli.views.console import say


def ask_about_study(lines: TextIO) -> dict[str, Any]:
    """Options of ``bosket plan``, from answers; an empty line takes what stands in brackets."""
    say("Five questions; an empty line takes the answer in brackets.")
    found: dict[str, Any] = {}
    kind = _ask(
        lines, "1. Does each person answer questions, or have a basket of items? [questions]", "questions", _kind
    )
    if kind == "questions":
        found["questions"] = _ask(lines, "2. How many yes/no questions? [16]", "16", whole("questions", 1))
    else:
        both = _ask(lines, "2. How many different items, and how many in a basket on average? [500 5]", "500 5", _two)
        found["items"], found["mean_size"] = both
    found["people"] = _ask(lines, "3. How many people will answer? [10000]", "10000", whole("people", 1))
    found["prior"] = 0.05
    found["posterior"] = _ask(
        lines,
        "4. Somebody believes a thing of a person with 5%. At most how much may the report make of that? [50%]",
        "50%",
        _posterior,
    )
    found["itemset_size"] = _ask(
        lines, "5. How many things together do you look for: 1, 2 or 3? [2]", "2", whole("size", 1)
    )
    return found


def _ask(lines: TextIO, question: str, usual: str, parse: Callable[[str], Any]) -> Any:
    """The answer to one question; a wrong one is said and asked for again."""
    while True:
        say(question)
        sys.stderr.flush()
        line = lines.readline()
        if not line:
            raise KeyboardInterrupt  # the terminal was closed
        try:
            return parse(line.strip() or usual)
        except argparse.ArgumentTypeError as error:
            say(str(error))


def _kind(text: str) -> str:
    for kind in ("questions", "basket"):
        if kind.startswith(text.lower().rstrip("s")) or text.lower().startswith(kind[:6]):
            return kind
    raise argparse.ArgumentTypeError(f"must be questions or basket, got {text!r}")


def _two(text: str) -> tuple[int, float]:
    parts = text.replace(",", " ").split()
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"must be two numbers, as in 500 5, got {text!r}")
    return whole("items", 2)(parts[0]), above("mean_size", 0)(parts[1])


def _posterior(text: str) -> float:
    value: float = share("posterior")(text)
    if value <= 0.05:
        raise argparse.ArgumentTypeError(f"must be above 5%, got {text!r}")
    return value
