"""What reports and tallies of them share: a plan, how the chance came about, and what follows from these two."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter
from bosket.data import Domain
from bosket.errors import DataError
from bosket.mechanisms.base import Channel
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.privacy import LocalGuarantee


class Collected(ABC):
    """Randomized records of one plan, as a collector holds them."""

    plan: Plan
    randomness: str
    """``secure``, or a sentence saying that reports of a simulation are, or were, among these."""

    @property
    @abstractmethod
    def batch(self) -> Batch:
        """Reports as columns of the mechanism's payload."""

    @property
    @abstractmethod
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each report of the batch came: 1 where all stand there one by one."""

    @property
    @abstractmethod
    def n_records(self) -> int:
        """How many reports there are."""

    @abstractmethod
    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports show: of all items, or of those asked for."""

    def __len__(self) -> int:
        return self.n_records

    @property
    def domain(self) -> Domain:
        return self.plan.domain

    @property
    def channel(self) -> Channel:
        return self.plan.channel

    @property
    def guarantee(self) -> LocalGuarantee:
        """The promise of the plan, with errors for the reports at hand, and a word on chance that was not secure."""
        promise = self.plan.guarantee.among(max(1, self.n_records))
        return promise if self.randomness == "secure" else promise.noting(f"these reports are {self.randomness}")

    @property
    def is_simulation(self) -> bool:
        """Whether the chance of some was seeded: such reports protect nobody.

        Read from a file, this is what the file says, which is not authenticated: its holder can rewrite it.
        """
        return self.randomness != "secure"


def checked_batch(plan: Plan, batch: Batch) -> Batch:
    """The batch with its columns in their types; refused where no report of the plan looks so."""
    channel = plan.channel
    batch = channel.payload.checked(batch)
    channel.check_batch(batch)
    strata = channel.payload.strata(batch)
    if strata is not None and plan.max_stated is not None:
        sizes = map(channel.record_size, np.unique(strata).tolist())
        if max((size for size in sizes if size is not None), default=0) > plan.max_stated:
            raise DataError(f"A report states more items than the {plan.max_stated} that its plan allows for.")
    return batch


def whole_batch(plan: Plan) -> DataError:
    """The error where reports that can be estimated from only all together are added, or taken apart."""
    return DataError(
        f"Reports of {plan.mechanism} can be estimated from only batch by batch: they cannot be put together or taken "
        "apart.",
        hint="Mix all records at once.",
    )
