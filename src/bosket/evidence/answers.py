"""Unbiased evidence from answers to questions.

Of the n_q people who were asked question q, C answered within the answers that stand for an itemset A.  With the
channel's kappa and b (:mod:`bosket.mechanisms.questions.channel`) the share of A among all is estimated by

    f_q = (C / n_q - b_q) / kappa_q,    Var f_q = r_q (1 - r_q) / (kappa_q^2 n_q),  r_q = Pr(an answer within them)

for people drawn from a population, and f = sum of a_q f_q over the questions that tell A, a_q in proportion to the
information n_q kappa_q^2 / (b_q (1 - b_q)), which is public.  Those who were asked q are n_q of the N people, drawn
without replacement; so the coins alone, those that draw questions among them, leave

    Var(N f) = N^2 sum of a_q^2 Var f_q - N f (1 - f)

and likewise for covariances, with S_(A u B) - S_A S_B / N: what drawing people adds, and ``sampling`` adds again.
Questions are answered by different people: only those that tell both A and B make them depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.evidence.base import Evidence, Family, Observed
from bosket.evidence.kept import Kept, Truths
from bosket.evidence.of import evidence_by, provenance_of
from bosket.evidence.provenance import Provenance
from bosket.mechanisms.questions.channel import AskChannel, Attributes, histograms
from bosket.reports import Reports
from bosket.statistics.estimates import Floats
from bosket.tally import Tally

FEW = 20
"""Answers within those that stand for an itemset, below which normal errors are doubtful."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What the questions say of itemsets of one size: arrays of shape (questions, n)."""

    shown: Floats
    """Share of the answers to a question that are within those of the itemset."""
    share: Floats
    """a_q: what the question counts for; 0 where it does not tell the itemset."""
    by_chance: Floats


class AnswersEvidence(Evidence):
    """Numbers of people by question and answer, and what they say of itemsets that a question tells."""

    def __init__(self, channel: AskChannel, numbers: list[Counts], *, provenance: Provenance | None = None) -> None:
        self.channel = channel
        self.domain = channel.domain
        self.numbers = numbers
        self.asked = np.array([float(one.sum()) for one in numbers])
        """The number of people who were asked each question."""
        self.n_records = int(self.asked.sum())
        self.keep = np.array([one.keep for one in channel.asked])
        if provenance is not None:
            self.provenance = provenance

    def sees(self, size: int) -> bool:
        return any(len(one.attributes) >= size for one, n in zip(self.channel.asked, self.asked, strict=True) if n)

    def covers(self, itemsets: ItemsetRows) -> Truths:
        covered: Truths = self.told(itemsets).share.any(axis=0) | self.channel.clashes(itemsets)
        return covered

    def told(self, itemsets: ItemsetRows) -> _Told:
        n, questions = len(itemsets), len(self.numbers)
        shown, by_chance, information = (np.zeros((questions, n)) for _ in range(3))
        for attributes, rows, values in self.channel.by_attributes(itemsets):
            for at in self._about(attributes):
                one = self.channel.asked[at]
                margin = one.margin(attributes, self.numbers[at])
                assert margin is not None
                b = one.by_chance * margin.n_answers[values]
                shown[at, rows] = margin.shown[values] / self.asked[at]
                by_chance[at, rows] = b
                told = margin.told[values]
                known = np.divide(self.asked[at] * one.keep**2, b * (1 - b), out=np.zeros_like(b), where=told)
                information[at, rows] = known
        total = information.sum(axis=0)
        share = np.divide(information, total, out=np.zeros_like(information), where=total > 0)
        return _Told(shown, share, by_chance)

    def _about(self, attributes: Attributes) -> list[int]:
        """Questions that somebody was asked and that are about all of these attributes."""
        return [
            at for at, one in enumerate(self.channel.asked) if self.asked[at] and one.places(attributes) is not None
        ]

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> AnswersFamily:
        if kept is None and rows.shape[1]:
            self.refuse_not_covered(rows)
        return AnswersFamily(self, rows, kept)


class AnswersFamily(Family):
    evidence: AnswersEvidence

    def _members(self, mask: int) -> ItemsetRows:
        places = [place for place in range(self.rows.shape[1]) if mask >> place & 1]
        return np.ascontiguousarray(self.rows[:, places])

    @cached_property
    def _told(self) -> dict[int, _Told]:
        return {}

    def told(self, mask: int) -> _Told:
        if mask not in self._told:
            self._told[mask] = self.evidence.told(self._members(mask))
        return self._told[mask]

    def value(self, mask: int) -> Floats:
        if mask == 0:
            return np.full(len(self.rows), float(self.n_records))
        told = self.told(mask)
        each = (told.shown - told.by_chance) / self.evidence.keep[:, None]
        value: Floats = self.n_records * (told.share * each).sum(axis=0)
        return value

    def covariance(self, masks: Sequence[int]) -> Floats:
        n_asked, keep = self.evidence.asked, self.evidence.keep
        scale = np.divide(1.0, n_asked * keep**2, out=np.zeros_like(keep), where=n_asked > 0)[:, None]
        result = np.zeros((len(self.rows), len(masks), len(masks)))
        for i, one in enumerate(masks):
            for j, other in enumerate(masks[: i + 1]):
                if one and other:
                    result[:, i, j] = result[:, j, i] = self._of_two(one, other, scale)
        return result

    def _of_two(self, one: int, other: int, scale: Floats) -> Floats:
        first, second, both = self.told(one), self.told(other), self.told(one | other)
        together = first.share * second.share * scale * (both.shown - first.shown * second.shown)
        n = self.n_records
        people = self.value(one | other) - self.value(one) * self.value(other) / n
        covariance: Floats = n**2 * together.sum(axis=0) - people
        return covariance

    @cached_property
    def doubtful(self) -> Truths:
        told = self.told(self.full)
        answers: Floats = (told.shown * self.evidence.asked[:, None] * (told.share > 0)).sum(axis=0)
        return np.less(answers, FEW)

    @cached_property
    def shown(self) -> Observed:
        every = []
        for mask in range(self.full + 1):
            if mask == 0:
                every.append(np.full(len(self.rows), self.n_records))
            else:
                told = self.told(mask)
                every.append(np.rint((told.shown * self.evidence.asked[:, None]).sum(axis=0)).astype(np.int64))
        return np.stack(every, axis=1)


@evidence_by.register(AskChannel)
def _of_answers(
    channel: AskChannel, reports: Reports | Tally, items: npt.NDArray[np.int32] | None, max_counts: int
) -> AnswersEvidence:
    counts = reports.counts if isinstance(reports, Tally) else None
    return AnswersEvidence(channel, histograms(channel.sizes, reports.batch, counts), provenance=provenance_of(reports))
