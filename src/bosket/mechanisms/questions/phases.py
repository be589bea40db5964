"""Questions about baskets from public numbers: how many keys a person tells of, who answers first, what is asked then.

Nothing here looks at a record.  Sizes of baskets are stated by whoever plans the study, as a mean; those who hold more
keys than the length l are cut to l, which keeps of a typical key the share r(l), and the variance grows with l:

    the length maximises r(l)^2 / V(l),    r(l) = E min(m, l) / E m

with m geometric, which assumes least beside the mean.  For m from 1 on, r = 1 - (1 - 1/mu)^l, and l is near 1.26 mu
where items are many; where they are few V grows less, and l may be larger.

An item is found in the first phase where its share stands out of the noise in n items, about sqrt(2 ln n V / N_1) / r,
and in the second where it does in K candidates, sqrt(2 ln K V / N_2).  The phases are made equal in this: the first has
the share A / (A + B) of the people, A = ln n / r^2, B = ln K.  Who looks for items alone needs one phase.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bosket.checks import check_integer, check_limits
from bosket.mechanisms.questions.answer_channels import best_response
from bosket.mechanisms.questions.kinds import MOST_SETS
from bosket.mechanisms.questions.responses import MOST_LENGTH
from bosket.statistics.estimates import Floats

MOST_SIZE = 10_000.0
"""The largest mean size of baskets that can be stated."""


def survival(length: int, mean: float, *, from_zero: bool = False) -> float:
    """r(l): the share of a typical key that is left where records of geometric size are cut to ``length``."""
    stays = mean / (1 + mean) if from_zero else 1 - 1 / mean
    return 1 - float(stays**length)


def best_length(n_keys: int, epsilon: float, mean: float, *, least: int = 2, from_zero: bool = False) -> int:
    """The length with the largest r^2 / V, for records that hold ``mean`` keys on average."""

    def known(length: int) -> float:
        return survival(length, mean, from_zero=from_zero) ** 2 / best_response(n_keys, length, epsilon).variance

    most = max(least, min(n_keys, MOST_LENGTH, math.ceil(3 * mean) + 2))
    return _largest(known, min(least, n_keys), min(most, n_keys))


def _largest(value: Callable[[int], float], low: int, high: int) -> int:
    """Where a function that rises and then falls is largest, but for its ripples: by every number, or every few."""
    step = max(1, (high - low) // 64)
    near = max(range(low, high + 1, step), key=value)
    return max(range(max(low, near - step), min(high, near + step) + 1, max(1, step // 8)), key=value)


@dataclass(frozen=True)
class Phases:
    """How many people answer first, how many afterwards, and what can be seen.

    ``print`` it.  ``least_first`` and ``least_second`` are the shares of people that stand out of the noise: of an item
    among all items in the first phase, of a candidate in the second.
    """

    first: int
    second: int
    length: int
    channel: str
    stderr_first: float
    """Of the share of one item, by the first phase alone."""
    stderr_second: float
    """Of the share of one candidate, by the second phase alone, if people hold as many of them; infinite without."""
    least_first: float
    least_second: float

    def __str__(self) -> str:
        lines = [
            f"{self.first} people tell of one item, of at most {self.length}, by {self.channel}: a share has the "
            f"standard error {self.stderr_first:.2g}, and stands out from {self.least_first:.2g} on"
        ]
        if self.second:
            lines.append(
                f"{self.second} others tell of one candidate: standard error {self.stderr_second:.2g}, stands out from "
                f"{self.least_second:.2g} on"
            )
        else:
            lines.append("one phase: nobody is asked afterwards")
        return "\n".join(lines)


def split(
    n_people: int, n_items: int, *, epsilon: float, expected_size: float, top: int = 20, max_size: int = 2
) -> Phases:
    """Whom to ask when, for the ``top`` itemsets of each size up to ``max_size``: by predicted variance."""
    people = check_integer("n_people", n_people, least=1)
    n_items = check_integer("n_items", n_items, least=1)
    mean = check_limits("expected_size", expected_size, above=0, most=MOST_SIZE)
    top = check_integer("top", top, least=1, most=MOST_TOP)
    max_size = check_integer("max_size", max_size, least=1, most=MOST_SETS)
    length = best_length(n_items, epsilon, max(mean, 1.0))
    told = best_response(n_items, length, epsilon)
    left = survival(length, max(mean, 1.0))
    n_candidates = 2 * top * max_size
    wanted_first, wanted_second = math.log(max(n_items, 2)) / left**2, math.log(n_candidates)
    share = 1.0 if max_size == 1 else wanted_first / (wanted_first + wanted_second)
    first = people if max_size == 1 else min(people, max(1, round(share * people)))
    second = people - first
    error_first = math.sqrt(told.variance / first)
    error_second = math.sqrt(told.variance / second) if second else math.inf
    return Phases(
        first=first,
        second=second,
        length=length,
        channel=told.name,
        stderr_first=error_first,
        stderr_second=error_second,
        least_first=math.sqrt(2 * math.log(max(n_items, 2))) * error_first / left,
        least_second=math.sqrt(2 * math.log(n_candidates)) * error_second,
    )


@dataclass(frozen=True)
class Candidates:
    """Itemsets to ask about, and how many of them a basket is expected to hold."""

    itemsets: tuple[tuple[int, ...], ...]
    expected: float


def candidates(shares: Floats, *, top: int, max_size: int) -> Candidates:
    """The 2 ``top`` items with the largest shares, and of each larger size the 2 ``top`` likeliest sets of them.

    As SVSM has it, an itemset is guessed by the product of the shares of its items; all its subsets must be asked about
    too.  How many sets of s items people hold is guessed for a number of held items that is geometric, mean mu, by
    mu^s: twice what independent items would give for pairs, since items go together.
    """
    best = np.argsort(-shares, kind="stable")[: 2 * top]
    guess = np.maximum(shares[best], 0.0)
    mean = float(guess.sum())
    chosen: list[tuple[int, ...]] = [(int(item),) for item in best]
    expected = mean
    asked: set[tuple[int, ...]] = {(place,) for place in range(len(best))}
    everything = [1.0] + [0.0] * max_size  # elementary symmetric sums: the products of all sets of s items
    for share in guess.tolist():
        for size in range(max_size, 0, -1):
            everything[size] += share * everything[size - 1]
    for size in range(2, max_size + 1):
        ranked = sorted(_larger(asked, size), key=lambda one: (-math.prod(guess[list(one)].tolist()), one))[: 2 * top]
        mass = sum(math.prod(guess[list(one)].tolist()) for one in ranked)
        expected += mean**size * (mass / everything[size] if everything[size] > 0 else 0.0)
        chosen += [tuple(sorted(int(best[place]) for place in one)) for one in ranked]
        asked = set(ranked)
    return Candidates(tuple(chosen), expected)


def _larger(asked: set[tuple[int, ...]], size: int) -> list[tuple[int, ...]]:
    """Sets of ``size`` places, all of whose subsets of one less are among those asked."""
    if size == 2:
        return list(combinations(sorted(place for (place,) in asked), 2))
    places = sorted({place for one in asked for place in one})
    found = []
    for one in sorted(asked):
        for place in places:
            larger = (*one, place)
            if place > one[-1] and all(part in asked for part in combinations(larger, size - 1)):
                found.append(larger)
    return found


MOST_TOP = 1000
