"""The card in the participant's voice: short sentences, whole numbers, no Greek.

What somebody may come to believe is said in people out of a hundred, rounded up.  Where a report could give a whole
record away, that is said first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bosket.privacy.guarantee import Amplification, LocalGuarantee

_SURE = 0.99  # a belief from which on nothing is said to be hidden
_PRIORS = (0.05, 0.5)
ABOUT_AN_EXCHANGE = "that a record has one item rather than another, which had 5%, knowing the rest of it,"
"""What the item's line of a card means where sizes are sent in the clear."""
CHANGES_SHOW = "The same answers give the same report. If your answers change, it can be seen that they did."
"""What a person should know besides who may send several reports by one memo; the next says it on a card."""
CHANGES_SHOW_ON_CARD = (
    "the same record gives the same report (a memo): that the record of a person changed between two reports shows for "
    "certain, whatever epsilon is; what it was, and is, has an epsilon for each"
)


def participant_text(promise: LocalGuarantee) -> str:
    """What a person who is asked to take part should know, a sentence on each line."""
    several = promise.reports > 1
    what = "your reports" if several else "your report"
    if math.isinf(promise.item.epsilon):
        lines = [f"What you send may show what is true of you. Those who see {what} may be sure of it."]
    else:
        lines = [f"Chance is added to {what} before {'they leave' if several else 'it leaves'} you."]
    lines += [
        f"One thing is sent just as it is: {revealed}. What it tells of you is sure." for revealed in promise.reveals
    ]
    lines.append(
        f"So nobody can be sure what {'else is' if promise.reveals else 'is'} true of you, not even those who run the "
        "study."
        if promise.posterior(0.5) < _SURE
        else f"This does not hide all of your record from someone who sees {what}."
    )
    lines += _beliefs(promise)
    if several:
        lines.append(f"You may be asked up to {promise.reports} times, and this covers all of them.")
    else:
        lines.append("This is for one report. If you send more, more can be learned.")
    mixed = promise.shuffled()
    if mixed is not None and mixed.epsilon <= min(promise.epsilon / 2, math.log(3)):  # from 50 in 100 to 75 at most
        lines.append(f"Say the reports of {promise.people} or more people are mixed first.")
        lines.append("If no one then knows which is yours, nor what you were asked, much less can be learned.")
    lines.append("That you took part is not hidden.")
    return "\n".join(lines)


def _beliefs(promise: LocalGuarantee) -> list[str]:
    """Of one who knows what is sent as it is: a prior is one among people of whom that is alike."""
    knows = "knows that, and " if promise.reveals else ""
    if promise.posterior(0.5) < _SURE:
        return [_belief(promise.posterior(prior), prior, "something is true of you", knows) for prior in _PRIORS]
    item: Amplification = promise.item.repeated(promise.reports, "")
    if item.posterior(0.5) >= _SURE:
        return ["Nor does it hide a single thing about you."]
    single = "one single thing is true of you, and knows all the rest"
    if promise.about_an_item == ABOUT_AN_EXCHANGE:  # who knows the size, and all the rest, knows the last thing
        single = "you have one thing in place of some other, and knows all the rest"
    return [_belief(item.posterior(prior), prior, single, knows) for prior in _PRIORS]


def _belief(posterior: float, prior: float, what: str, knows: str) -> str:
    before, after = _out_of_hundred(prior), _out_of_hundred(posterior)
    return (
        f"Say someone {knows}thinks the odds are {before} in 100 that {what}. "
        f"They may come to think {after} in 100, no more."
    )


def _out_of_hundred(chance: float) -> int:
    """Rounded up, but for an excess of less than a part in a billion."""
    near = round(100 * chance)
    return near if math.isclose(100 * chance, near, rel_tol=1e-9) else math.ceil(100 * chance)
