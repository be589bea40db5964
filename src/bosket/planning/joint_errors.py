"""Errors of an itemset and of its subsets together: the covariance of their weights, over people like those of a pilot.

With w_A the weight of a report (``E[w_A | t] = [A in t]``), estimates of A and B have the covariance

    sum over people of  E[w_A w_B | t] - [A in t] [B in t]

and what a report shows of A u B is all that it depends on, so that shares of people by the pattern of these items that
they have are enough.  Of items that are randomized one by one, E[w_A w_B | t] is a product over items: E[w^2 | t] of
those in both, the item itself of those in one.  Where one coin decides about a whole record, errors are nearly one.
Of answers to questions, each with a share pi of all people and of the weight a_A, estimates have N times the covariance

    sum over questions about both of  a_A a_B Cov(S_A, S_B) / (kappa^2 pi)   less   s_(A u B) - s_A s_B

where S_A counts the shown answers that stand for A: whom a question is put to is chance, who the people are is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.mechanisms import Channel, ExchangeableChannel
from bosket.mechanisms.flip import FlipChannel
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.statistics.estimates import Floats

Between = Callable[[int, int], Floats]
"""The mean over people of E[w_A w_B | t], for each itemset, where A and B are two masks of its items."""


def covariances(
    channel: Channel, rows: ItemsetRows, shares: Floats, strata: Sequence[int], masks: Sequence[int]
) -> Floats | None:
    """N Cov of the estimates of subsets of each itemset: shape (n, masks, masks); None where it has no closed form.

    ``shares`` are the shares of all people by stratum and by the pattern of each itemset that they have: shape
    (strata, n, 2**k).
    """
    if isinstance(channel, FlipChannel):
        between = _of_flips(channel, rows, shares[0])
    elif isinstance(channel, GammaDiagonalChannel):
        between = _of_records(channel, rows, shares[0])
    elif isinstance(channel, ExchangeableChannel):
        between = _of_exchangeable(channel, rows.shape[1], shares, strata)
    elif isinstance(channel, AskChannel) and channel.questionnaire.plain.all():
        between = _of_answers(channel, rows, shares[0])
    else:
        return None
    people = shares.sum(axis=0)
    found = np.empty((len(rows), len(masks), len(masks)))
    for i, a in enumerate(masks):
        for j, b in enumerate(masks[: i + 1]):
            found[:, i, j] = found[:, j, i] = between(a, b) - _support(people, a | b)
    return found


def _support(shares: Floats, mask: int) -> Floats:
    """The share of people who have these items of each itemset."""
    return np.asarray(shares[:, (np.arange(shares.shape[1]) & mask) == mask].sum(axis=1))


def _part(rows: ItemsetRows, mask: int) -> ItemsetRows:
    """These items of each itemset."""
    return np.ascontiguousarray(rows[:, [at for at in range(rows.shape[1]) if mask >> at & 1]])


def _of_flips(channel: FlipChannel, rows: ItemsetRows, shares: Floats) -> Between:
    present, absent = channel.squares(rows)
    has = np.arange(shares.shape[1])[:, None] >> np.arange(rows.shape[1]) & 1

    def between(a: int, b: int) -> Floats:
        second = shares.copy()
        for at in range(rows.shape[1]):
            if a & b & 1 << at:
                second *= np.where(has[:, at] == 1, present[:, at, None], absent[:, at, None])
            elif (a | b) & 1 << at:
                second *= has[:, at]
        return np.asarray(second.sum(axis=1))

    return between


def _of_records(channel: GammaDiagonalChannel, rows: ItemsetRows, shares: Floats) -> Between:
    """Pr(A shown | t) = b_A + kappa [A in t], and w_A = ([A shown] - b_A) / kappa."""

    def chance(mask: int) -> Floats:
        return np.asarray(channel.chance(_part(rows, mask)))

    def between(a: int, b: int) -> Floats:
        one, other, keep = chance(a), chance(b), channel.keep
        shown = [by_chance + keep * _support(shares, mask) for by_chance, mask in ((one, a), (other, b))]
        both = chance(a | b) + keep * _support(shares, a | b)
        return np.asarray((both - one * shown[1] - other * shown[0] + one * other) / keep**2)

    return between


def _of_exchangeable(channel: ExchangeableChannel, k: int, shares: Floats, strata: Sequence[int]) -> Between:
    """Items are alike: for each size of records one table of E[w_A w_B | pattern]."""
    patterns = np.arange(1 << k)
    tables = [
        (part, size, channel.transition(tuple(range(k)), size)) for part, size in zip(shares, strata, strict=True)
    ]

    def weight(mask: int, size: int) -> Floats:
        number = mask.bit_count()
        if number > size:  # no such record has the items
            return np.zeros(1 << k)
        row: npt.NDArray[np.int32] = np.arange(number, dtype=np.int32)[None, :]
        whole = channel.weights(row, size)[0]  # by pattern; as many items weigh alike
        return np.asarray(whole[(1 << np.bitwise_count(patterns & mask)) - 1])

    def between(a: int, b: int) -> Floats:
        return np.asarray(sum(part @ (law @ (weight(a, size) * weight(b, size))) for part, size, law in tables))

    return between


def _of_answers(channel: AskChannel, rows: ItemsetRows, shares: Floats) -> Between:
    """For each itemset and question: the weight of the question, and how many of its answers stand for the itemset."""
    n_questions = len(channel.shares)

    @cache
    def told(mask: int) -> tuple[Floats, Floats]:
        part = _part(rows, mask)
        tellers = channel.questionnaire.tellers(part, channel.every)
        within = channel.questionnaire.within(part, tellers)
        weight, number = np.zeros((len(rows), n_questions)), np.zeros((len(rows), n_questions))
        place = np.repeat(np.arange(len(rows)), np.diff(tellers.firsts)), tellers.question
        weight[place] = channel.information(tellers, within, channel.shares).share
        number[place] = within.n_answers
        return weight, number

    def between(a: int, b: int) -> Floats:
        (one, n_one), (other, n_other), (_, n_both) = told(a), told(b), told(a | b)
        chance, keep = channel.by_chance, channel.keep
        s_one, s_other, s_both = (_support(shares, mask)[:, None] for mask in (a, b, a | b))
        hashed = n_both * chance * (1 - chance) + (1 - 2 * chance) * keep * s_both - keep**2 * s_one * s_other
        shown = n_both * chance + keep * s_both
        direct = shown - (n_one * chance + keep * s_one) * (n_other * chance + keep * s_other)
        covariance = one * other / (keep**2 * channel.shares) * np.where(channel.hashed, hashed, direct)
        return np.asarray(covariance.sum(axis=1) + (s_one * s_other)[:, 0])

    return between
