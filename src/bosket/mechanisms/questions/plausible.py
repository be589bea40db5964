"""Reports that were not drawn as a design says, whatever the records are.

Each person draws a question by its share: of N people a binomial number is asked each.  Of n people who are asked a
question, each gives a certain answer with probability b at least and kappa + b at most, whatever the truth; so the
number of those who do lies between two binomial ones, in law.  Where answers are hashed, each of g buckets is told with
probability 1/g whatever the truth, over functions drawn at random: which seeds people say they drew is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from bosket.mechanisms.payload import Batch
from bosket.statistics.estimates import Floats

if TYPE_CHECKING:
    from bosket.mechanisms.questions.channel import AskChannel


def not_drawn(channel: AskChannel, batch: Batch, level: float) -> npt.NDArray[np.bool_]:
    """Reports of questions that too many were asked, or of answers that too many gave; any with ``level`` at most.

    All reports of a question are marked where too few gave one of its answers.
    """
    starts = np.append(0, np.cumsum(channel.n_values))
    place = starts[batch["question"]] + batch["answer"]
    given = np.bincount(place, minlength=int(starts[-1])).astype(float)
    asked = np.add.reduceat(given, starts[:-1])
    alpha = level / (len(asked) + 2 * len(given))
    question = np.repeat(np.arange(len(asked)), np.diff(starts))
    chance = channel.by_chance[question]
    keep = np.where(channel.hashed, 0.0, channel.keep)[question]
    crowded = at_least(asked, np.full(len(asked), asked.sum()), channel.shares) < alpha
    many = at_least(given, asked[question], chance + keep) < alpha
    few = at_least(asked[question] - given, asked[question], 1 - chance) < alpha
    crowded |= np.logical_or.reduceat(few, starts[:-1])
    marked: npt.NDArray[np.bool_] = (many | crowded[question])[place]
    return marked


def at_least(number: Floats, of: Floats, probability: Floats) -> Floats:
    """Pr(a binomial number >= number)."""
    some = number > 0
    result: Floats = np.ones(len(number))
    result[some] = betainc(number[some], of[some] - number[some] + 1, np.minimum(probability[some], 1.0))
    return result
