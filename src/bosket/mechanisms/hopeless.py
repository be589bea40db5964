"""Plans that cannot see: what is said of them, and which plan would.

What is hopeless is defined in :mod:`bosket.privacy.accuracy`.  It follows from the plan and the number of reports, and
from nothing that the reports say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

from bosket.data import Domain, TableDomain
from bosket.errors import BosketError
from bosket.mechanisms.questions.ask import Ask
from bosket.mechanisms.questions.baskets import MOST_EPSILON
from bosket.mechanisms.questions.designs import Design
from bosket.privacy import Accuracy
from bosket.privacy.guarantee import accuracy_text, number_up, rounded_down, rounded_up

WANTED = 0.05
"""A standard error that shows something, which plans are suggested for."""
_MOST_QUESTIONS = 5000  # of a design that is suggested: more take long to weigh


def hopeless_text(mechanism: str, single: Accuracy, people: int) -> str:
    """What cannot be seen, in one sentence."""
    return (
        f"Nothing can be seen in {people} reports of {mechanism}: the standard error of the support of a single item "
        f"is {rounded_up(single.best(people), 3)} at best, and no support is above 1."
    )


def instead(domain: Domain, epsilon: float, single: Accuracy, people: int) -> str:
    """With how many people it would be seen, and what the same people could be asked at the same epsilon."""
    more = (
        f"It takes {number_up(single.people())} reports for a standard error of 1, and "
        f"{number_up(single.people(WANTED))} for one of {WANTED:g}."
    )
    return f"{_other_plan(domain, epsilon, people)} {more}".strip()


def _other_plan(domain: Domain, epsilon: float, people: int) -> str:
    if isinstance(domain, TableDomain):
        for name, found in _questions(domain, epsilon):
            if found and not found[0].is_hopeless(people):
                return (
                    f"{name} asks each person one question with the same epsilon for the whole record: the standard "
                    f"error is then {accuracy_text(found, people)}."
                )
        return "" if math.isinf(epsilon) else "No design of one question each sees more with this epsilon."
    return f"{_one_answer(domain, epsilon, people)} {_by_item(people)}".strip()


def _one_answer(domain: Domain, epsilon: float, people: int) -> str:
    """What one answer about a basket shows."""
    if not 0 < epsilon <= MOST_EPSILON:
        return ""
    try:
        found = Ask.baskets(domain, epsilon=epsilon).accuracy(domain)
    except BosketError:  # an epsilon at which nothing is told
        return ""
    if not found or found[0].is_hopeless(people):
        return ""
    return (
        f"Ask.baskets(domain, epsilon={rounded_down(epsilon)}) asks each person for one item with the same epsilon for "
        f"the whole basket: the standard error is then {accuracy_text(found, people)}."
    )


def _by_item(people: int) -> str:
    keep = least_keep(people)
    item = rounded_up(math.log(keep / (1 - keep)), 3)
    return (
        f"Of baskets, Flip(keep={keep:g}) or more has a standard error of {WANTED:g} for 1 item, with an epsilon of "
        f"{item} for each item; a smaller max_size brings the epsilon of a record down."
    )


def _questions(domain: TableDomain, epsilon: float) -> Iterator[tuple[str, tuple[Accuracy, ...]]]:
    """Designs for a table by name, those that see most first, and what they see; none that has too many answers."""
    if not 0 < epsilon < math.log(2.0**1000):
        return  # no promise to keep
    gamma, n = math.exp(epsilon), len(domain.attributes)
    for name, size in (("Design.pairs(domain)", 2), ("Design.of_size(domain, 1)", 1)):
        if n >= size and math.comb(n, size) <= _MOST_QUESTIONS:
            with suppress(BosketError):
                found = Ask(Design.of_size(domain, size), gamma).accuracy(domain)
                yield f"Ask({name}, gamma={rounded_down(gamma)})", found


def least_keep(people: int) -> float:
    """The keep with which Flip has the wanted error, in thousandths: 1 / (2 p - 1)^2 = 1 + 4 N stderr^2."""
    return math.ceil(500 + 500 / math.sqrt(1 + 4 * people * WANTED**2)) / 1000
