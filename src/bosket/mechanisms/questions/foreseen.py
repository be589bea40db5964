"""What is known of questions before there are answers: what one report can weigh, and how large errors will be.

A support is a mean over those who were asked, weighed by I_q = kappa^2 / (b (1 - e)), of (S - b) / kappa, S how many of
the g answers that stand for the itemset a report shows: from l_q = -b / kappa to h_q = (1 - b) / kappa by randomized
response.  By hashing to h_q = (g - b) / kappa: who picks the seed may find one that puts all of them into one bucket.
So a report counts for I_q l_q / T to I_q h_q / T people, T the mean of I over all people.  Who leaves one question for
another changes T too: of N people m that pick their reports move the support from U / T to U' / T', and with s, r, p
the means of those who stay, of the reports that are replaced and of those put in their place,

    U' / T' - U / T = alpha' (p - s) - alpha (r - s),    alpha, alpha' the shares of I that these reports have

which is max(alpha, alpha') (max h - min l) at most, and both shares are m max I / (N T) at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from bosket.counting.base import ItemsetRows
from bosket.mechanisms.questions.telling import Among, Questionnaire, Tellers, Within, pieces
from bosket.privacy import Accuracy, Influence
from bosket.statistics.estimates import Floats

if TYPE_CHECKING:
    from bosket.mechanisms.questions.channel import AskChannel

Attributes = tuple[int, ...]
"""Some attributes of a table by their numbers, rising."""

_MOST_LISTED = 1 << 18  # attributes together, combinations of their values
_MOST_TOLD = 1 << 22  # of these in questions
_MOST_STEPS = 1 << 24  # combinations of values that the answers of merged questions are looked up for


def influence_of(channel: AskChannel, k: int, asked: Floats) -> Influence | None:
    """For itemsets of k items, where these shares of all people were asked each question; None where none is told."""
    if not channel.recovers(k, ()):
        return None
    told = _told(channel, k)
    if told is None:
        return _bound(channel, k, asked)
    low, high, width = 0.0, 0.0, 0.0
    for tellers, within in told:
        found = _extremes(channel, tellers, within, asked)
        low, high, width = min(low, found[0]), max(high, found[1]), max(width, found[2])
    return Influence(k, low=low, high=high, width=width, is_ratio=True) if width else None


def accuracy_of(channel: AskChannel, k: int) -> Accuracy | None:
    """The extreme variances that a person brings to the support of k values; None if these are too many.

    With c = a^2 / (kappa^2 pi), N people of whom a share f has A, and N pi of them asked each question,

        Var / N = sum of c (b (1 - e) + (1 - 2 e) kappa f - kappa^2 f^2) - f (1 - f)

    of which nobody has A at f = 0 and everybody at f = 1.  It is concave in f, since the sum of a^2 / pi is 1 or more:
    least at one of the ends, and largest there or between them.
    """
    found = []
    for tellers, within in _told(channel, k) or ():
        part = _by_share(channel, tellers, within)
        if not len(part.nobody):
            continue
        nobody, everybody = part.nobody, part.at(1.0)
        top = np.clip(np.divide(-part.slope, 2 * part.bend, out=np.ones_like(part.bend), where=part.bend < 0), 0.0, 1.0)
        most = np.maximum(np.maximum(nobody, everybody), part.at(top))
        found.append((float(np.minimum(nobody, everybody).min()), float(most.max()), float(everybody.min())))
    if not found:
        return None
    leasts, mosts, fulls = zip(*found, strict=True)
    return Accuracy(k, least=max(0.0, min(leasts)), most=max(mosts), full=max(0.0, min(fulls)))


@dataclass(frozen=True, slots=True)
class ByShare:
    """N times the variance of the share of people who have an itemset, a parabola in the share itself."""

    nobody: Floats
    slope: Floats
    bend: Floats

    def at(self, share: float | Floats) -> Floats:
        """Where such a share of people has each itemset."""
        value: Floats = self.nobody + self.slope * share + self.bend * np.square(share)
        return value


def variances_by_share(channel: AskChannel, k: int) -> tuple[ByShare, Floats] | None:
    """The variances of itemsets of k values, one for all that questions treat alike; None if these are too many.

    With them the part of each in a mean over the attributes that are asked about together.
    """
    rows = _representatives(channel, k)
    if rows is None or not len(rows) or len(rows) > _MOST_LISTED:
        return None
    found = variances_of(channel, rows)
    told = ~np.isnan(found.nobody)
    if not told.any():
        return None
    _, which, number = np.unique(channel.domain.groups[rows[told]], axis=0, return_inverse=True, return_counts=True)
    part = 1.0 / number[which.ravel()]
    return ByShare(found.nobody[told], found.slope[told], found.bend[told]), part / part.sum()


def variances_of(channel: AskChannel, itemsets: ItemsetRows) -> ByShare:
    """The variances of these itemsets, not a number where no question tells of one."""
    number, _ = channel.questionnaire.count(itemsets, channel.every)
    result = ByShare(*(np.full(len(itemsets), np.nan) for _ in range(3)))
    told = np.flatnonzero(number > 0)
    rows = np.ascontiguousarray(itemsets[told])
    tellers = channel.questionnaire.tellers(rows, channel.every)
    known = _by_share(channel, tellers, channel.questionnaire.within(rows, tellers), keep_untold=True)
    for name in ("nobody", "slope", "bend"):
        getattr(result, name)[told] = getattr(known, name)
    return result


def _by_share(channel: AskChannel, tellers: Tellers, within: Within, *, keep_untold: bool = False) -> ByShare:
    known = channel.information(tellers, within, channel.shares)
    b, e = known.by_chance, known.beside
    keep, shares = channel.keep[tellers.question], channel.shares[tellers.question]
    c = known.share**2 / (keep**2 * shares)
    sums = (c * b * (1 - e), c * (b * (1 - e) + keep * (1 - 2 * e - keep)), c * keep**2)
    nobody, everybody, square = (
        np.where(known.total > 0, tellers.total(each), np.nan) if keep_untold else tellers.total(each)[known.total > 0]
        for each in sums
    )
    bend = np.minimum(1 - square, 0.0)
    return ByShare(nobody, everybody - nobody - bend, bend)


def _told(channel: AskChannel, k: int) -> Iterator[tuple[Tellers, Within]] | None:
    """The questions of itemsets of k items, one for all that are treated alike; None where these are too many."""
    rows = _representatives(channel, k)
    if rows is None:
        return None
    questions = channel.questionnaire
    number, _ = questions.count(rows, channel.every)
    _, work = questions.count(rows, ~questions.plain)
    if number.sum() > _MOST_TOLD or work.sum() > _MOST_STEPS:
        return None
    return _looked_up(questions, rows, channel.every, list(pieces(number, work)))


def _looked_up(
    questions: Questionnaire, rows: ItemsetRows, among: Among, parts: list[tuple[int, int]]
) -> Iterator[tuple[Tellers, Within]]:
    for start, stop in parts:
        tellers = questions.tellers(rows[start:stop], among)
        yield tellers, questions.within(rows[start:stop], tellers)


def _extremes(channel: AskChannel, tellers: Tellers, within: Within, asked: Floats) -> tuple[float, float, float]:
    """The smallest weight of a report, the largest, and the largest that one moves a support, of these itemsets."""
    told, keep = within.n_answers > 0, channel.keep[tellers.question]
    b, e = channel.chances(tellers, within)
    information = np.divide(keep**2, b * (1 - e), out=np.zeros(len(b)), where=told)
    total = tellers.total(information * asked[tellers.question])
    counts_for = np.divide(information, tellers.of_row(total), out=np.zeros(len(b)), where=tellers.of_row(total) > 0)
    low, high = np.where(told, -b / keep, 0.0), np.where(told, (channel.most_shown(tellers, within) - b) / keep, 0.0)
    firsts = tellers.firsts[:-1]
    reach = np.maximum.reduceat(high, firsts) - np.minimum.reduceat(low, firsts)
    width = np.maximum.reduceat(counts_for, firsts) * reach
    return float((low * counts_for).min()), float((high * counts_for).max()), float(width.max())


def _representatives(channel: AskChannel, k: int) -> ItemsetRows | None:
    """Itemsets of k items, one for all that questions treat alike; None where they are too many."""
    plain: dict[Attributes, None] = {}
    merged: dict[Attributes, None] = {}
    n_listed = 0
    for attributes, is_plain in {(one.attributes, one.is_plain): None for one in channel.asked}:
        n_listed += math.comb(len(attributes), k)
        if n_listed > _MOST_LISTED:
            return None
        (plain if is_plain else merged).update(dict.fromkeys(combinations(attributes, k)))
    sizes, offsets = channel.domain.sizes.tolist(), channel.domain.offsets.tolist()
    if sum(math.prod(sizes[at] for at in attributes) for attributes in merged) > _MOST_LISTED:
        return None
    rows = [[offsets[at] for at in attributes] for attributes in plain if attributes not in merged]
    for attributes in merged:
        rows += map(list, product(*(range(offsets[at], offsets[at] + sizes[at]) for at in attributes)))
    return np.array(rows, np.int32).reshape(-1, k)


def _bound(channel: AskChannel, k: int, asked: Floats) -> Influence:
    """What no itemset exceeds, without a look at any."""
    about = np.array([len(one.attributes) >= k for one in channel.asked])
    keep, chance, shares, hashed = channel.keep[about], channel.by_chance[about], asked[about], channel.hashed[about]
    answers = np.array(channel.sizes)[about]
    if (shares > 0).all():
        most = 1 / shares.min()  # T is the I of a question times its share, at least
    else:
        single = chance * (1 - chance)
        largest = (keep**2 / np.where(hashed, single, np.minimum(single, (1 - keep) * keep))).max()
        least = np.where(hashed, keep**2 / (answers * single), 4 * keep.min() ** 2).min()
        most = largest / (least * shares[shares > 0].min(initial=1.0))
    low = -(np.where(hashed, answers * chance, 1 - keep) / keep).max() * most
    high = (np.where(hashed, answers * (1 - chance), 1.0) / keep).max() * most
    return Influence(k, low=float(low), high=float(high), width=float(high - low), is_ratio=True)
