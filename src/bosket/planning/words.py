"""Rankings in words: what each person does, and what a report lets through."""

from __future__ import annotations

from collections.abc import Sequence

from bosket.mechanisms import Ask, CutAndPaste, Flip, GammaDiagonal
from bosket.planning.foresight import Foresight
from bosket.planning.goals import Study
from bosket.planning.phased import Phased

CLEAR_SIZES = (
    "How many items a record has is sent as it is: the promise is among records of one size, and those of different "
    "sizes are told apart for certain."
)
"""What is to be known of cut-and-paste for baskets, beside an epsilon."""
SHOWN_ALONE = (
    "A breach level is kept from one who knows supports alone, looks at no more of the items that a report shows than "
    "it says, and not at those that it does not show: these tell too. Epsilons say what others may learn."
)
"""What is to be known of a breach level."""
SIZES_UNKNOWN = (
    "No maximal supports are known of records of {} items: an item may be commoner among them than the goal says, and "
    "cut-and-paste cannot be planned by the breach level."
)
"""What is to be known of a breach level where a study has records of sizes that no pilot had."""
_MOST_NAMED = 5


def number_text(people: float) -> str:
    """A number of people; one that no study has, in words."""
    return f"{people:,.0f}" if people < 1e12 else "more than a million million"


def numbers_text(numbers: Sequence[int]) -> str:
    """Some numbers in words, of many the first.

    >>> numbers_text([2, 5, 7]), numbers_text(range(1, 9))
    ('2, 5 and 7', '1, 2, 3, 4, 5 and 3 other numbers')
    """
    if len(numbers) > _MOST_NAMED:
        return f"{', '.join(map(str, numbers[:_MOST_NAMED]))} and {len(numbers) - _MOST_NAMED} other numbers"
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def answers_text(k: int) -> str:
    """So many answers together, in words."""
    return {1: "single answers", 2: "pairs of answers", 3: "triples of answers"}.get(k, f"{k} answers together")


def advice(seen: Foresight | Phased, study: Study) -> str:
    """What each person does, in a sentence."""
    mechanism = seen.plan.mechanism
    if isinstance(mechanism, Ask):
        widest = max(len(question.attributes) for question in mechanism.design.questions)
        what = {1: "one question", 2: "one pair", 3: "one triple"}.get(widest, f"one group of {widest}")
        return f"You can ask all {study.n_units} questions if each person answers {what}."
    if isinstance(seen, Phased):
        return seen.advice
    if isinstance(mechanism, GammaDiagonal):
        return "Each person answers everything, and the whole record is kept or replaced by any other."
    if isinstance(mechanism, CutAndPaste):
        clear = "" if study.is_table else f" {CLEAR_SIZES}"
        return f"Each person sends a few of their items among false ones.{clear}"
    return "Each person answers everything, and every answer is flipped now and then."


def why(seen: Foresight | Phased, study: Study) -> str:
    """What a report lets through, in a few words."""
    mechanism = seen.plan.mechanism
    if isinstance(seen, Phased):
        return seen.why
    if isinstance(mechanism, Ask):
        channel = mechanism.channel(study.domain)
        true = float(channel.shares @ (channel.keep + channel.by_chance))
        told = "fall into the bucket of the true one" if channel.hashed.any() else "are true"
        return f"one question of {max(channel.sizes)} answers each: {true:.0%} of all answers {told}"
    if isinstance(mechanism, GammaDiagonal):
        keep = mechanism.channel(study.domain).keep
        return f"a record is kept with probability {keep:.2g}, and drawn anew otherwise"
    if isinstance(mechanism, Flip):
        flip = mechanism.channel(study.domain)
        return (
            f"every item is told of: one that is there is shown with {flip.present[0]:.3f}, one that is not with "
            f"{flip.absent[0]:.3f}"
        )
    if isinstance(mechanism, CutAndPaste):
        rates = mechanism.insert if isinstance(mechanism.insert, (int, float)) else max(mechanism.insert.values())
        clear = (
            "" if study.is_table else "; the size of a record is sent in the clear, the promise is among those of one"
        )
        return f"an item that is not there comes in with up to {float(rates):.2f}{clear}"
    return ""
