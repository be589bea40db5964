"""A mechanism whose answers are read together: one law of all records is fitted to them; supports are its margins.

The questions are those of AskItems.  The law maximises the likelihood of all answers, by the steps of expectation and
maximisation from the uniform one; its errors are those of the information at the maximum (Laplace).  What is not linear
in the reports has evidence of its own, registered for the class of the channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

import bosket as bk
from bosket.counting.base import ItemsetRows
from bosket.evidence import Evidence, Family, Kept, evidence_by, provenance_of
from bosket.statistics.estimates import Floats
from tests.outside.asking import AskChannel, AskItems

_STEPS = 400
_PRIOR = 0.5  # records of each kind that are thought to be there before


class FittedChannel(AskChannel):
    """The same questions; another class, for which other evidence is registered."""

    def law(self) -> Floats:
        """Pr(question, answer | record), a column per record; shape (questions * answers, 2**n_items)."""
        records = np.arange(1 << len(self.domain))
        rows = []
        for asked in self.asked:
            truth = sum((records >> item & 1) << place for place, item in enumerate(asked))
            for answer in range(self.n_answers):
                told = np.where(truth == answer, self.keep, (1 - self.keep) / (self.n_answers - 1))
                rows.append(told / len(self.asked))
        return np.array(rows)


@dataclass(frozen=True, slots=True)
class AskFitted(AskItems):
    """Ask as AskItems does, and fit one law to all answers."""

    name = "ask_fitted"

    def channel(self, domain: bk.Domain) -> FittedChannel:
        asked = AskItems.channel(self, domain)
        return FittedChannel(domain, asked.asked, self.keep)


class FittedLaw(Evidence):
    """A law over records, from numbers of people by question and answer."""

    def __init__(self, channel: FittedChannel, numbers: Floats) -> None:
        self.domain = channel.domain
        self.n_records = int(numbers.sum())
        laws = channel.law()
        theta = np.full(laws.shape[1], 1 / laws.shape[1])
        for _ in range(_STEPS):
            theta = theta * (laws.T @ (numbers / (laws @ theta))) + _PRIOR
            theta /= theta.sum()
        self.theta = theta
        information = (laws.T * (numbers / (laws @ theta) ** 2)) @ laws + np.diag(_PRIOR / theta**2)
        inverse = np.linalg.inv(information)
        ones = inverse.sum(axis=1)
        self.covariance = inverse - np.outer(ones, ones) / ones.sum()  # shares that sum to one

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> FittedFamily:
        return FittedFamily(self, rows, kept)


class FittedFamily(Family):
    evidence: FittedLaw

    def _holds(self, mask: int) -> Floats:
        records = np.arange(len(self.evidence.theta))
        items = [self.rows[:, [place]] for place in range(self.rows.shape[1]) if mask >> place & 1]
        holds = np.ones((len(self.rows), len(records)))
        for item in items:
            holds *= records >> item & 1
        return holds

    def value(self, mask: int) -> Floats:
        value: Floats = self.n_records * self._holds(mask) @ self.evidence.theta
        return value

    def covariance(self, masks: Sequence[int]) -> Floats:
        holds = np.stack([self._holds(mask) for mask in masks], axis=1)
        covariance: Floats = self.n_records**2 * holds @ self.evidence.covariance @ holds.transpose(0, 2, 1)
        return covariance


@evidence_by.register(FittedChannel)
def fitted(
    channel: FittedChannel, reports: bk.Reports | bk.Tally, items: npt.NDArray[np.int32] | None, max_counts: int
) -> FittedLaw:
    numbers = np.zeros((len(channel.asked), channel.n_answers))
    np.add.at(numbers, (reports.batch["question"], reports.batch["answer"]), reports.counts)
    law = FittedLaw(channel, numbers.ravel())
    law.provenance = replace(provenance_of(reports), model=f"one law, {_PRIOR} records of each kind before")
    return law
