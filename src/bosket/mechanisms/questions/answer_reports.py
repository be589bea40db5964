"""Reports of answers to questions, and what is counted of them.

A report is (question, answer); in a design some questions of which are answered through a hash function it is
(question, bucket, seed), the seed being 0 where the question is answered otherwise.  Of each question it is counted
how many reports there are, and how many of them show each of its answers: one answer alone by randomized response, all
answers of a bucket by hashing.  These numbers add over batches, and are all that estimates take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.distinct_rows import AT_ONCE, added
from bosket.errors import DataError
from bosket.mechanisms.columns import Numbers, PayloadColumn
from bosket.mechanisms.payload import Batch, Payload
from bosket.mechanisms.questions.hashing import MOST_HASHES, HashedReports, KeyNumbers, refuse_many_hashes
from bosket.mechanisms.questions.telling import pieces
from bosket.threads import slices

if TYPE_CHECKING:
    from bosket.mechanisms.questions.channel import AskChannel

_MOST_SHOWN = 1 << 62  # answers that all reports of a question may show together


@dataclass(frozen=True)
class Shown:
    """What reports show, question by question.

    asked    how many there are
    numbers  how many of them show each answer
    """

    asked: Counts
    numbers: list[Counts]

    @classmethod
    def one_each(cls, numbers: list[Counts]) -> Shown:
        """Numbers of answers, every report showing one."""
        return cls(np.array([one.sum() for one in numbers], np.int64), numbers)

    @classmethod
    def together(cls, parts: list[Shown]) -> Shown:
        """Those of several designs, one behind the other."""
        return cls(np.concatenate([part.asked for part in parts]), [one for part in parts for one in part.numbers])

    @property
    def flat(self) -> Counts:
        """All numbers one behind the other: those of disjoint reports add."""
        return np.concatenate([self.asked, *self.numbers])

    @classmethod
    def from_flat(cls, flat: Counts, channel: AskChannel) -> Shown:
        """What :attr:`flat` gave."""
        n = len(channel.asked)
        numbers = flat[n:]
        found = cls(flat[:n], [numbers[a:b] for a, b in pairwise(channel.questionnaire.answer_starts.tolist())])
        _refuse_many_people(channel, found.asked)
        return found


@dataclass(frozen=True)
class Answers(Payload):
    """A question by its number, what was told, and under which seed where answers may be hashed."""

    channel: AskChannel

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        n_values = self.channel.n_values
        columns = (
            Numbers("question", len(n_values) - 1, "one of the questions of its design as its question"),
            Numbers("answer", int(n_values.max()) - 1, "one of the answers to its question as its answer"),
        )
        if not self.channel.hashed.any():
            return columns
        return (*columns, Numbers("seed", (1 << 64) - 1, "the seed of a hash function as its seed", "uint64"))

    def strata(self, batch: Batch) -> npt.NDArray[np.integer[Any]] | None:
        return batch["question"]

    def checked(self, batch: Batch) -> Batch:
        found = Payload.checked(self, batch)
        for start, stop in slices(len(found), AT_ONCE):
            question = found["question"][start:stop]
            if (found["answer"][start:stop] >= self.channel.n_values[question]).any():
                raise DataError("A report must have one of the answers to its question as its answer.")
            if "seed" in found and found["seed"][start:stop][~self.channel.hashed[question]].any():
                raise DataError("A report must have 0 as its seed where the answers to its question are not hashed.")
        return found

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> AnswerCounter:
        return AnswerCounter(self.channel, shown_by(self.channel, batch))


def shown_by(
    channel: AskChannel,
    batch: Batch,
    counts: Counts | None = None,
    items: npt.NDArray[np.int32] | None = None,
    *,
    max_hashes: int = MOST_HASHES,
) -> Shown:
    """What the reports of a batch show; ``counts`` says how often each came.

    Of hashed questions, where ``items`` are given, only answers that stand for one of them are counted.  More hashes
    than ``max_hashes`` are refused before the first.
    """
    starts = channel.questionnaire.answer_starts
    every, asked = np.zeros(int(starts[-1]), np.int64), np.zeros(len(channel.asked), np.int64)
    for start, stop in slices(len(batch), max(AT_ONCE, len(every))):
        question, times = batch["question"][start:stop], None if counts is None else counts[start:stop]
        asked += added(question, times, len(asked))
        plain = ~channel.hashed[question]
        place = starts[question[plain]] + batch["answer"][start:stop][plain]
        every += added(place, None if times is None else times[plain], len(every))
    numbers = [every[start:stop] for start, stop in pairwise(starts.tolist())]
    _refuse_many_people(channel, asked)
    told = list(_hashed(channel, batch, counts, asked))
    wanted = {at: _wanted(channel, at, items) for at, _ in told}
    refuse_many_hashes(sum(reports.hashes(wanted[at]) for at, reports in told), max_hashes)
    for at, reports in told:
        numbers[at][wanted[at]] = reports.shown(wanted[at])
    return Shown(asked, numbers)


def _hashed(
    channel: AskChannel, batch: Batch, counts: Counts | None, asked: Counts
) -> Iterator[tuple[int, HashedReports]]:
    """The reports of each hashed question, those that are alike together; ``asked`` says how many there are."""
    which = np.flatnonzero(channel.hashed & (asked > 0)).tolist()
    is_only = len(which) == 1 and np.count_nonzero(asked) == 1
    order = None if is_only or not which else np.argsort(batch["question"], kind="stable")
    for at in which:
        part: slice | npt.NDArray[np.int64] = slice(None)
        if order is not None:
            first, last = (
                np.searchsorted(batch["question"], at, side=side, sorter=order) for side in ("left", "right")
            )
            part = order[first:last]
        times = None if counts is None else counts[part]
        n_buckets = channel.asked[at].told.n_values
        yield at, HashedReports.of(batch["seed"][part], batch["answer"][part], times, n_buckets)


def _wanted(channel: AskChannel, at: int, items: npt.NDArray[np.int32] | None) -> KeyNumbers:
    """The answers to a question that stand for one of these items, with others or alone; all unless items are given."""
    one = channel.asked[at]
    if items is None:
        return np.arange(one.n_answers)
    has = np.zeros(one.shape, bool)
    for place, attribute in enumerate(one.attributes):
        values = items[channel.domain.groups[items] == attribute] - channel.domain.offsets[attribute]
        np.moveaxis(has, place, 0)[values] = True
    return np.unique(one.answers[has.ravel()]).astype(np.int64)


def _refuse_many_people(channel: AskChannel, asked: Counts) -> None:
    """Numbers of answers shown are added up as whole numbers of 64 bits; tallies may claim any number of people."""
    widths = np.array([one.n_answers if one.told.is_hashed else 1 for one in channel.asked])
    limit = _MOST_SHOWN // widths
    if (asked > limit).any():
        raise DataError(f"Reports of a hashed question must be at most {int(limit[asked > limit][0])}.")


class AnswerCounter:
    """Numbers of reports that show an itemset, by question; none where a question does not tell it.

    A report of a hashed question may show several answers that stand for an itemset: then each of them counts.
    """

    def __init__(self, channel: AskChannel, shown: Shown) -> None:
        self.channel = channel
        self.shown = shown
        self.strata = tuple(np.flatnonzero(shown.asked).tolist()) or (0,)
        self.n_records = int(shown.asked.sum())

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        found = np.zeros((len(self.strata), len(itemsets)), np.int64)
        if itemsets.shape[1] == 0:
            found[:] = self.shown.asked[list(self.strata)][:, None]
            return found
        questions, numbers = self.channel.questionnaire, np.concatenate(self.shown.numbers)
        places = np.full(len(self.shown.numbers), -1)
        places[list(self.strata)] = np.arange(len(self.strata))
        number, work = questions.count(itemsets, places >= 0)
        for start, stop in pieces(number, work):
            rows = itemsets[start:stop]
            tellers = questions.tellers(rows, places >= 0, number[start:stop])
            found[places[tellers.question], start + tellers.row] = questions.within(rows, tellers, numbers).shown
            if on_progress is not None:
                on_progress(stop)
        return found
