"""What workers could not read, told without a word of what stands there: how often, and where first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from bosket.errors import BosketError, DataError, PlanMismatchError

ANOTHER_PLAN = "Reports of another plan"
MOST_SINGLE = 1 << 12
"""How many bad rows a task looks for one by one; that there are more is told as at least so many."""


@dataclass(frozen=True)
class Fault:
    """A rule that some rows of a partition break: how many, or how many values in them, and the first of them."""

    text: str
    count: int
    row: int
    hint: str | None = None
    at_least: bool = False


def fault_of(problem: BosketError, count: int) -> Fault:
    """The fault that a reader of one machine tells, which may name its first row."""
    text, _, rest = str(problem).rpartition("; row ")
    number = rest.partition(" ")[0]
    if not text or not number.isdigit():
        return Fault(str(problem), count, 0, problem.hint)
    return Fault(text, count, int(number) - 1, problem.hint)


def faults_text(faults: Sequence[Fault], first_row: int = 0) -> str | None:
    """Faults on their way to the driver; ``first_row`` is the number of the row that they call 0."""
    if not faults:
        return None
    return json.dumps([asdict(replace(one, row=first_row + one.row)) for one in faults])


def faults_in(text: str | None) -> list[Fault]:
    return [] if text is None else [Fault(**one) for one in json.loads(text)]


def together(faults: Iterable[Fault]) -> list[Fault]:
    """Those of one text put together."""
    found: dict[str, Fault] = {}
    for one in faults:
        known = found.get(one.text)
        if known is None:
            found[one.text] = one
        else:
            first = min(known, one, key=lambda fault: fault.row)
            at_least = known.at_least or one.at_least
            found[one.text] = replace(first, count=known.count + one.count, at_least=at_least)
    return list(found.values())


@dataclass
class BadRows:
    """Looks for bad rows in the pieces of a task: for ``MOST_SINGLE`` of them, and then for the first of a piece."""

    n_found: int = 0

    def faults(self, n: int, problem_in: Callable[[int, int], str | None]) -> list[Fault]:
        """What is wrong with rows of which it can only be asked whether all from one to another are sound.

        Halves that are not are halved again.
        """
        most = max(1, MOST_SINGLE - self.n_found)
        found: list[Fault] = []
        waiting = [(0, n)]
        while waiting:
            start, stop = waiting.pop()
            text = problem_in(start, stop)
            if text is None:
                continue
            if stop - start > 1:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]  # the first rows first
                continue
            is_last = len(found) == most - 1
            found.append(Fault(text, 1, start, at_least=is_last and bool(waiting)))
            if is_last:
                break
        self.n_found += len(found)
        return together(found)


def refuse_faults(told: Iterable[tuple[int, str | None]]) -> None:
    """Refuse what workers could not read, by number of partition and text: how often, and where first.

    Reports of another plan are told before all else; of other rules, the one that is broken first.
    """
    found: dict[str, list[tuple[int, int, Fault]]] = {}
    for part, text in told:
        for fault in faults_in(text):
            found.setdefault(fault.text, []).append((part, fault.row, fault))
    if not found:
        return
    text = ANOTHER_PLAN if ANOTHER_PLAN in found else min(found, key=lambda one: min(at[:2] for at in found[one]))
    part, row, first = min(found[text], key=lambda one: one[:2])
    count = times(sum(one.count for *_, one in found[text]))
    if any(one.at_least for *_, one in found[text]):
        count = f"at least {count}"
    where = f"{count}, first in {place((part, row))}"
    if text == ANOTHER_PLAN:
        raise PlanMismatchError(
            f"The frame holds reports of another plan than its own: {where}.",
            hint="Frames of different plans were put together: mine each by itself.",
        )
    raise DataError(f"{text.rstrip('.')}: {where}.", hint=first.hint)


def place(at: tuple[int, int]) -> str:
    """Where a row of a frame is, for messages."""
    return f"row {at[1] + 1} of partition {at[0]}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
