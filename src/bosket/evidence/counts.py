"""How many counts there may be: one of each itemset in each stratum of the reports.

Whoever sends one report of every size that a plan allows makes as many strata as there are sizes.  Each takes a count
of every item, and 2^k of an itemset of k items, whatever it holds.
"""

from __future__ import annotations

from bosket.errors import TooManyCandidatesError
from bosket.mechanisms.questions.hashing import MOST_HASHES

COUNTS_A_CANDIDATE = 10
"""Counts that ``max_candidates`` allows for, for each candidate."""

MAX_COUNTS = 100_000_000
"""Counts that are kept at once, where no ``max_candidates`` is given: up to 4 GB while they are made."""


_HASHES_A_COUNT = 1000


def max_hashes(max_counts: int) -> int:
    """How many hashes of reports may be computed where there may be so many counts."""
    return max(MOST_HASHES, _HASHES_A_COUNT * max_counts)


def too_many_counts(what: str, number: int, n_strata: int, limit: int, *, level: int) -> TooManyCandidatesError:
    """The refusal to count in all strata of reports, a number of counts in each."""
    return TooManyCandidatesError(
        f"There are {number * n_strata:,} counts of {what} to keep, {number:,} in each of {n_strata:,} strata of the "
        f"reports, more than {limit:,}.",
        level=level,
        number=number * n_strata,
        limit=limit,
        hint="Ask for fewer items, declare a smaller max_size in the plan, or, where mine is asked, raise "
        f"max_candidates: there may be {COUNTS_A_CANDIDATE} times as many counts.",
    )


def too_many_answers(n_itemsets: int, number: int, limit: int, *, level: int) -> TooManyCandidatesError:
    """The refusal to count itemsets in all questions about them."""
    items = "1 item" if level == 1 else f"{level} items"
    return TooManyCandidatesError(
        f"There are {number:,} counts of itemsets of {items} to keep, one for each question about each of "
        f"{n_itemsets:,}, more than {limit:,}.",
        level=level,
        number=number,
        limit=limit,
        hint="Ask for fewer items, or, where mine is asked, raise max_candidates: there may be "
        f"{COUNTS_A_CANDIDATE} times as many counts.",
    )


def too_many_looks(n_itemsets: int, number: int, limit: int, *, level: int) -> TooManyCandidatesError:
    """The refusal to ask of so many itemsets how far each of so many answers moves them."""
    items = "1 item" if level == 1 else f"{level} items"
    return TooManyCandidatesError(
        f"There are {n_itemsets:,} itemsets of {items}, of which every answer that a law was fitted to is looked at: "
        f"{number:,} numbers, more than {limit:,}.",
        level=level,
        number=number,
        limit=limit,
        hint="Ask for a larger min_support or a smaller max_size, or read the answers without a law: model=None.",
    )
