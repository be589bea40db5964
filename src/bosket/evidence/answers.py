"""Unbiased evidence from answers to questions.

The reports of the n_q people who were asked question q show the answers that stand for an itemset A C times in all.
With the channel's kappa, b and e (:mod:`bosket.mechanisms.questions.channel`) the share of A among all is estimated by

    f_q = (C / n_q - b_q) / kappa_q,    Var f_q = v_q / (kappa_q^2 n_q)
    v_q = b_q (1 - e_q) + (1 - 2 e_q) kappa_q f - kappa_q^2 f^2

for people drawn from a population, and f = sum of a_q f_q over the questions that tell A, a_q in proportion to the
information n_q kappa_q^2 / (b_q (1 - e_q)), which is public.  The variance is that of kappa_q f = C / n_q - b_q: by
randomized response C / n_q (1 - C / n_q), by hashing no less than where nobody has A or everybody.  Those who were
asked q are n_q of the N people, drawn without replacement; so the coins alone, those that draw questions among them,
leave

    Var(N f) = N^2 sum of a_q^2 Var f_q - N f (1 - f)

and likewise for covariances, with S_(A u B) - S_A S_B / N: what drawing people adds, and ``sampling`` adds again.  As a
function of f it is concave, so that the least of it is where nobody has A, or everybody.
Questions are answered by different people: only those that tell both A and B make them depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.collected import Collected
from bosket.counting.base import ItemsetRows
from bosket.counting.distinct_rows import Multiplicities
from bosket.counting.table import members
from bosket.evidence.base import Evidence, Family, Observed, of_pairs
from bosket.evidence.carried import NONE_LOOKED_AT, Carried
from bosket.evidence.concentration import Few, carried_in_lists
from bosket.evidence.counts import MAX_COUNTS, max_hashes, too_many_answers
from bosket.evidence.kept import Kept, Level, Truths
from bosket.evidence.of import evidence_by, provenance_of
from bosket.evidence.provenance import Provenance
from bosket.evidence.sums import FEW_MOVES
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.answer_reports import Shown, shown_by
from bosket.mechanisms.questions.channel import AskChannel, Information
from bosket.mechanisms.questions.hashing import MOST_HASHES
from bosket.mechanisms.questions.telling import Among, Ints, Tellers, Within, pieces
from bosket.privacy import Accuracy
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats
from bosket.threads import parallel_map

FEW = 20
"""Answers within those that stand for an itemset, or beside them, below which normal errors are doubtful."""
NEARLY_ALL = 0.9
"""Share of the people who were asked about an itemset, beyond which the error is that of the coins of their answers."""
_STEPS_A_SECOND = 1e8  # combinations of values, on one core; and a tenth of it itemsets in questions


@dataclass(frozen=True)
class Sums:
    """What all questions together say of itemsets of one size, a number for each."""

    value: Floats
    """Support counts."""
    variance: Floats
    least: Floats
    total: Floats
    """The information of all questions."""
    within: Floats
    """How often the answers that stand for the itemset are shown."""
    beside: Floats
    """How often they are not: other answers to the same questions, where reports show one answer each."""
    heard: Floats
    """People who were asked these questions."""
    lost: Floats
    """Answers that coins would turn to others, if everybody had the itemset."""
    put_in: Floats
    """And those that they would turn to those of the itemset, if nobody had it."""
    carried: Carried = NONE_LOOKED_AT

    @classmethod
    def together(cls, parts: Sequence[Sums]) -> Sums:
        names = [field.name for field in fields(cls) if field.name != "carried"]
        arrays = {name: np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)]) for name in names}
        return cls(**arrays, carried=Carried.together(part.carried for part in parts))

    def take(self, places: Ints) -> Sums:
        names = [field.name for field in fields(self) if field.name != "carried"]
        return Sums(**{name: getattr(self, name)[places] for name in names})


class AnswersEvidence(Evidence):
    """Numbers of people by question and answer, and what they say of itemsets that a question tells."""

    def __init__(
        self,
        channel: AskChannel,
        shown: Shown,
        *,
        provenance: Provenance | None = None,
        max_counts: int = MAX_COUNTS,
    ) -> None:
        """``max_counts`` bounds the counts that one look takes: one of each itemset in each question about it."""
        self.channel = channel
        self.domain = channel.domain
        self.numbers = shown.numbers
        self.max_counts = max_counts
        self.asked = shown.asked.astype(float)
        """The number of people who were asked each question."""
        self.n_records = int(self.asked.sum())
        self._flat: Ints = np.concatenate(shown.numbers).astype(np.int64)
        self._among = self.asked > 0
        if provenance is not None:
            self.provenance = provenance

    def sees(self, size: int) -> bool:
        return any(len(one.attributes) >= size for one, n in zip(self.channel.asked, self.asked, strict=True) if n)

    def accuracy(self, size: int) -> Accuracy | None:
        return self.channel.accuracy(size)

    def covers(self, itemsets: ItemsetRows) -> Truths:
        return self.channel.questionnaire.covers(itemsets, self._among) | self.channel.clashes(itemsets)

    def supports(
        self, itemsets: ItemsetRows, *, kept: Kept | None = None, on_progress: Progress | None = None
    ) -> Level:
        """In pieces on all cores; where a search asks, it has left out what is not told."""
        if kept is None:
            self.refuse_not_covered(itemsets)
        return _level(itemsets, self.sums(itemsets, on_progress=on_progress))

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> AnswersFamily:
        if kept is None and rows.shape[1]:
            self.refuse_not_covered(rows)
        return AnswersFamily(self, rows, kept)

    def sums(self, itemsets: ItemsetRows, *, on_progress: Progress | None = None) -> Sums:
        """What all questions together say of itemsets; refused before anything is counted if there is too much."""
        size = itemsets.shape[1]
        number, work = self._count(itemsets)
        seconds = (work.sum() + 10.0 * number.sum()) / _STEPS_A_SECOND
        tell = Meter(on_progress, size, "estimating", len(itemsets), work=float(seconds))
        parts = list(pieces(number, work))

        def piece(part: tuple[int, int]) -> Sums:
            rows = np.ascontiguousarray(itemsets[slice(*part)])
            return self._summed(rows, self.channel.questionnaire.tellers(rows, self._among, number[slice(*part)]))

        found = parallel_map(piece, parts, on_done=lambda done: tell(parts[done - 1][1]))
        tell.finish()
        return Sums.together(found)

    def _count(self, itemsets: ItemsetRows) -> tuple[Ints, Ints]:
        number, work = self.channel.questionnaire.count(itemsets, self._among)
        if number.sum() > self.max_counts:
            raise too_many_answers(len(itemsets), int(number.sum()), self.max_counts, level=itemsets.shape[1])
        return number, work

    def _summed(self, rows: ItemsetRows, tellers: Tellers) -> Sums:
        channel, people = self.channel, self.n_records
        within = channel.questionnaire.within(rows, tellers, self._flat)
        known = channel.information(tellers, within, self.asked)
        asked, keep = self.asked[tellers.question], channel.keep[tellers.question]
        b, e, share = known.by_chance, known.beside, known.share
        hashed = channel.hashed[tellers.question]
        rate = within.shown / asked
        value = tellers.total(share * (rate - b) / keep)
        spread = (people * share / keep) ** 2 / asked
        ends = [np.maximum(b * (1 - e) + has * keep * (1 - 2 * e - keep), 0.0) for has in (0, 1)]
        nobody, everybody = (tellers.total(spread * end) for end in ends)
        by_hashing = np.maximum(b * (1 - e) + (rate - b) * (1 - 2 * e - rate + b), np.minimum(*ends))
        each = np.where(hashed, by_hashing, rate * (1 - rate))
        told = within.n_answers > 0
        trials = asked * channel.most_shown(tellers, within)
        counts_for = people * share / (asked * keep)
        few = self._carried(tellers, within, known, counts_for, told)
        return Sums(
            value=people * value,
            variance=tellers.total(spread * each) - people * value * (1 - value),
            least=np.minimum(nobody, everybody),
            total=known.total,
            within=tellers.total(within.shown * told),
            beside=tellers.total((trials - within.shown) * told),
            heard=tellers.total(asked * told),
            lost=tellers.total(np.maximum(1 - keep - e, 0.0) * asked * told),
            put_in=tellers.total(b * asked * told),
            carried=few.summary(rows, people, lambda _: None),
        )

    def _carried(self, tellers: Tellers, within: Within, known: Information, counts_for: Floats, told: Among) -> Few:
        """The few reports that carry each itemset; of hashed questions the mean square alone is known."""
        asked, b, e = self.asked[tellers.question], known.by_chance, known.beside
        counts = np.stack([within.shown * told, (asked - within.shown) * told], axis=1)
        weights = np.stack([(1 - b) * counts_for, b * counts_for], axis=1)
        at = np.flatnonzero(self.channel.hashed[tellers.question])
        if len(at):
            square = b * (1 - e) + (within.shown / asked - b) * (1 - 2 * e)
            counts[at] = np.stack([asked * told, np.zeros(len(asked))], axis=1)[at]
            weights[at, 0] = (counts_for * np.sqrt(np.maximum(square, 0.0)))[at]
        return carried_in_lists(tellers.firsts, weights, counts, self.n_records)

    def covariance_of(self, one: _Subsets, other: _Subsets, both: ItemsetRows) -> Floats:
        """N^2 times the sum over questions of a_A a_B Cov(f_A, f_B), of subsets A and B of these itemsets."""
        number, work = self._count(both)
        questions, channel = self.channel.questionnaire, self.channel
        result = np.empty(len(both))

        def piece(part: tuple[int, int]) -> None:
            at = slice(*part)
            tellers = questions.tellers(both[at], self._among, number[at])
            asked, keep = self.asked[tellers.question], channel.keep[tellers.question]
            product, rates, chances = np.ones(len(asked)), [], []
            for subsets in (one, other):
                within = questions.within(subsets.rows[at], tellers, self._flat)
                b, e = channel.chances(tellers, within)
                total = tellers.of_row(subsets.total[at])
                known = np.divide(
                    asked * keep**2, b * (1 - e) * total, out=np.zeros(len(b)), where=(b > 0) & (total > 0)
                )
                product *= known
                rates.append(within.shown / asked)
                chances.append(b)
            within = questions.within(both[at], tellers, self._flat)
            together, hashed = within.shown / asked, channel.hashed[tellers.question]
            q = channel.by_chance[tellers.question]
            by_hashing = within.n_answers * q**2 + (1 - 2 * q) * together
            by_hashing -= (rates[0] - chances[0]) * (rates[1] - chances[1])
            each = np.where(hashed, by_hashing, together - rates[0] * rates[1])
            each *= product / (asked * keep**2)
            result[at] = self.n_records**2 * tellers.total(each)

        parallel_map(piece, list(pieces(number, work)))
        return result


def _level(rows: ItemsetRows, sums: Sums) -> Level:
    nothing = np.empty((0, len(rows)), np.int64)
    return Level(rows, sums.value, sums.variance, sums.least, nothing, sums.carried)


@dataclass(frozen=True, slots=True)
class _Subsets:
    """A subset of each itemset, and the information that all questions have of it."""

    rows: ItemsetRows
    total: Floats


class AnswersFamily(Family):
    evidence: AnswersEvidence

    def _members(self, mask: int) -> ItemsetRows:
        return np.ascontiguousarray(self.rows[:, members(mask)])

    @cached_property
    def _sums(self) -> dict[int, Sums]:
        return {}

    def sums(self, mask: int) -> Sums:
        """What is said of a subset of each itemset; each different subset is looked at once."""
        if mask not in self._sums:
            self.refuse_not_covered([mask])
            rows = self._members(mask)
            if mask == self.full:
                self._sums[mask] = self.evidence.sums(rows)
            else:
                different, place = np.unique(rows, axis=0, return_inverse=True)
                self._sums[mask] = self.evidence.sums(different).take(place.ravel())
        return self._sums[mask]

    @cached_property
    def whole(self) -> Level:
        if not self.full:
            return super().whole
        return _level(self.rows, self.sums(self.full))

    def value(self, mask: int) -> Floats:
        if mask == 0:
            return np.full(len(self.rows), float(self.n_records))
        return self.sums(mask).value

    def covariance(self, masks: Sequence[int]) -> Floats:
        return of_pairs(len(self.rows), masks, self._of_two)

    def _of_two(self, one: int, other: int) -> Floats:
        if one == other:
            return self.sums(one).variance
        first, second = (_Subsets(self._members(mask), self.sums(mask).total) for mask in (one, other))
        together = self.evidence.covariance_of(first, second, self._members(one | other))
        people = self.value(one | other) - self.value(one) * self.value(other) / self.n_records
        covariance: Floats = together - people
        return covariance

    @cached_property
    def doubtful(self) -> Truths:
        sums = self.sums(self.full)
        return np.less(np.minimum(sums.within, sums.beside), FEW)

    @cached_property
    def rare_moves(self) -> Truths:
        """Where all were asked: else which of them were is drawn too, and that changes many answers."""
        sums = self.sums(self.full)
        share = np.clip(sums.value / self.n_records, 0.0, 1.0)
        moves = np.stack([share * sums.lost, (1 - share) * sums.put_in])
        possible = np.stack([sums.lost, sums.put_in]) > 0
        everybody = sums.heard > NEARLY_ALL * self.n_records
        return np.asarray(everybody & (possible & (moves < FEW_MOVES)).any(axis=0))

    @cached_property
    def shown(self) -> Observed:
        every = [np.full(len(self.rows), self.n_records)]
        every += [self.sums(mask).within.astype(np.int64) for mask in range(1, self.full + 1)]
        return np.stack(every, axis=1)


def shown_in(
    channel: AskChannel,
    reports: Collected,
    items: npt.NDArray[np.int32] | None = None,
    *,
    max_hashes: int = MOST_HASHES,
) -> Shown:
    """What collected reports show; as :func:`~bosket.mechanisms.questions.answer_reports.shown_by` of their batches."""

    def of(batch: Batch, counts: Multiplicities | None) -> Observed:
        return shown_by(channel, batch, counts, items, max_hashes=max_hashes).flat

    looked_at = None if items is None or not channel.hashed.any() else items.tobytes()
    return Shown.from_flat(reports.summed(("answers", looked_at, max_hashes), of), channel)


@evidence_by.register(AskChannel)
def _of_answers(
    channel: AskChannel, reports: Collected, items: npt.NDArray[np.int32] | None, max_counts: int
) -> AnswersEvidence:
    shown = shown_in(channel, reports, items, max_hashes=max_hashes(max_counts))
    return AnswersEvidence(channel, shown, provenance=provenance_of(reports), max_counts=max_counts)
