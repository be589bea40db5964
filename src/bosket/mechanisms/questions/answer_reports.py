"""Reports of answers to questions, and what is counted of them.

A report is (question, answer); in a design some questions of which are answered through a hash function it is
(question, bucket, seed), the seed being 0 where the question is answered otherwise.  Of each question it is counted
how many reports there are, and how many of them show each of its answers: one answer alone by randomized response, all
answers of a bucket by hashing.  These numbers add over batches, and are all that estimates take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows
from bosket.errors import DataError
from bosket.mechanisms.columns import Numbers, PayloadColumn
from bosket.mechanisms.payload import Batch, Payload
from bosket.mechanisms.questions.hash_kernels import LANES, count_range
from bosket.mechanisms.questions.telling import pieces
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from bosket.mechanisms.questions.asked import Asked
    from bosket.mechanisms.questions.channel import AskChannel

_HASHES = 1 << 22  # computed in one piece


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
        if len(found) and (found["answer"] >= self.channel.n_values[found["question"]]).any():
            raise DataError("A report must have one of the answers to its question as its answer.")
        if "seed" in found and found["seed"][~self.channel.hashed[found["question"]]].any():
            raise DataError("A report must have 0 as its seed where the answers to its question are not hashed.")
        return found

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> AnswerCounter:
        return AnswerCounter(self.channel, shown_by(self.channel, batch))


def shown_by(channel: AskChannel, batch: Batch, counts: Counts | None = None) -> Shown:
    """What the reports of a batch show; ``counts`` says how often each came."""
    question = batch["question"]
    starts = channel.questionnaire.answer_starts
    hashed = channel.hashed[question]
    plain = np.flatnonzero(~hashed) if hashed.any() else slice(None)
    place = starts[question[plain]] + batch["answer"][plain]
    every = _added(place, None if counts is None else counts[plain], int(starts[-1]))
    numbers = [every[start:stop] for start, stop in pairwise(starts.tolist())]
    asked = _added(question, counts, len(channel.asked))
    rows = np.flatnonzero(hashed)
    if len(rows):
        rows = rows[np.argsort(question[rows], kind="stable")]
        which, first = np.unique(question[rows], return_index=True)
        for at, part in zip(which.tolist(), np.split(rows, first[1:]), strict=True):
            times = np.ones(len(part), np.int64) if counts is None else counts[part]
            numbers[at][:] = _hashed(channel.asked[at], batch["seed"][part], batch["answer"][part], times)
    return Shown(asked, numbers)


def _added(place: npt.NDArray[np.integer[Any]], counts: Counts | None, n: int) -> Counts:
    if counts is None:
        return np.bincount(place, minlength=n)
    every = np.zeros(n, np.int64)
    np.add.at(every, place, counts)
    return every


def _hashed(one: Asked, seeds: npt.NDArray[np.uint64], values: npt.NDArray[np.int32], times: Counts) -> Counts:
    """How many reports show each answer to a hashed question: those that tell its bucket."""
    n_blocks = -(-one.n_answers // LANES)
    found = np.zeros(LANES * n_blocks, np.int64)

    def piece(part: tuple[int, int]) -> None:
        of_part = found[LANES * part[0] : LANES * part[1]]
        count_range(seeds, values, times, one.told.n_values, part[0], part[1], of_part)

    parallel_map(piece, list(slices(n_blocks, max(1, _HASHES // len(seeds)))))
    return found[: one.n_answers]


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
