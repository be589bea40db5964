"""Reports that were not drawn as a design says, whatever the records are.

Each person draws a question by its share: of N people a binomial number is asked each.  Of n people who are asked a
question, each gives a certain answer with probability b at least and kappa + b at most, whatever the truth; so the
number of those who do lies between two binomial ones, in law.  Where answers are hashed, each of g buckets is told with
probability 1/g whatever the truth, over functions drawn at random: which seeds people say they drew is not looked at.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bosket.mechanisms.payload import Batch
from bosket.statistics.binomial_tails import at_least_of_people

if TYPE_CHECKING:
    from bosket.mechanisms.questions.channel import AskChannel


def not_drawn(channel: AskChannel, batch: Batch, level: float, repeats: int) -> npt.NDArray[np.bool_]:
    """Reports of questions that too many were asked, or of answers that too many gave; any with ``level`` at most.

    All reports of a question are marked where too few gave one of its answers.  ``repeats`` is how many one person may
    send.
    """
    starts = np.append(0, np.cumsum(channel.n_values))
    place = starts[batch["question"]] + batch["answer"]
    given = np.bincount(place, minlength=int(starts[-1])).astype(float)
    asked = np.add.reduceat(given, starts[:-1])
    alpha = level / (len(asked) + 2 * len(given))
    question = np.repeat(np.arange(len(asked)), np.diff(starts))
    chance = channel.by_chance[question]
    keep = np.where(channel.hashed, 0.0, channel.keep)[question]
    at_least = partial(at_least_of_people, repeats=repeats)
    crowded = at_least(asked, np.full(len(asked), asked.sum()), channel.shares) < alpha
    many = at_least(given, asked[question], chance + keep) < alpha
    few = at_least(asked[question] - given, asked[question], 1 - chance) < alpha
    crowded |= np.logical_or.reduceat(few, starts[:-1])
    marked: npt.NDArray[np.bool_] = (many | crowded[question])[place]
    return marked
