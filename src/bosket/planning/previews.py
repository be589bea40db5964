"""What a design will see, before anybody answers: from the design, the declared attributes and gamma alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bosket.data import TableDomain
from bosket.mechanisms.questions.ask import Ask
from bosket.mechanisms.questions.designs import Design
from bosket.privacy import LocalGuarantee
from bosket.privacy.guarantee import rounded_up


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """What is known of a design before anybody answers."""

    n_questions: int
    n_answers: int
    """Of the question that has most."""
    n_hashed: int
    """Questions that are answered through a hash function."""
    widest: int
    """Attributes of one question, at most."""
    pairs: tuple[int, int]
    """Pairs of attributes that some question is about, and all there are."""
    true_least: float
    true_mean: float
    """The probability that an answer is the true one, or in its bucket where answers are hashed: the smallest of any
    question, and over all people."""
    guarantee: LocalGuarantee
    """What is promised, with the errors of supports to expect; ``guarantee.among(people)`` states these on its card."""

    def __repr__(self) -> str:
        """In a line; the card has the rest."""
        told, all_pairs = self.pairs
        return (
            f"Preview({self.n_questions} questions of at most {self.n_answers} answers about at most {self.widest} "
            f"attributes, {told} of {all_pairs} pairs together, {self.true_mean:.1%} true answers, epsilon "
            f"{rounded_up(self.guarantee.epsilon)})"
        )


def preview(design: Design, domain: TableDomain, *, gamma: float) -> Preview:
    """What a design will see of these attributes, answered with ratio gamma.

    >>> from bosket.data import Attribute
    >>> domain = TableDomain([Attribute(name, ["no", "yes"]) for name in "abcd"])
    >>> found = preview(Design.pairs(domain), domain, gamma=19)
    >>> found.n_questions, found.n_answers, found.pairs, round(found.true_mean, 3)
    (6, 4, (6, 6), 0.864)
    >>> [(one.size, round(one.stderr(21_000)[0], 4)) for one in found.guarantee.accuracy]
    [(1, 0.0034), (2, 0.0043)]
    >>> print(found)  # doctest: +ELLIPSIS
    Preview(6 questions of at most 4 answers about at most 2 attributes, ..., epsilon 2.945)
    """
    mechanism = Ask(design, gamma)
    channel = mechanism.channel(domain)
    true = np.array([one.keep + one.by_chance for one in channel.asked])
    together = {pair for one in channel.asked for pair in combinations(one.attributes, 2)}
    return Preview(
        n_questions=len(design),
        n_answers=max(channel.sizes),
        n_hashed=int(channel.hashed.sum()),
        widest=max(len(one.attributes) for one in channel.asked),
        pairs=(len(together), math.comb(len(domain.attributes), 2)),
        true_least=float(true.min()),
        true_mean=float(true @ channel.shares),
        guarantee=mechanism.guarantee(domain),
    )
