"""What reports and tallies of them share: a plan, how the chance came about, and what follows from these two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counter
from bosket.counting.distinct_rows import Multiplicities
from bosket.data import Domain
from bosket.errors import DataError
from bosket.mechanisms.base import Channel
from bosket.mechanisms.columns import ColumnValues
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.privacy import LocalGuarantee

Made = Callable[[Batch, Multiplicities | None], Counter]
"""Makes a counter of some reports, from how often each came: once, where that is None."""
Summed = Callable[[Batch, Multiplicities | None], npt.NDArray[np.int64]]
"""Makes numbers of some reports that add over disjoint ones; all of one shape."""


class Collected(ABC):
    """Randomized records of one plan, as a collector holds them.

    Evidence reads them through :meth:`counter`, :meth:`counter_by` and :meth:`summed`, whose answers add over batches:
    a collection that grows asks for those of what is new alone.
    """

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
    def multiplicities(self) -> Multiplicities | None:
        """The counts; None where all reports stand there one by one."""
        return self.counts

    @property
    @abstractmethod
    def n_records(self) -> int:
        """How many reports there are."""

    @property
    def n_rows(self) -> int:
        """How many reports stand in the batch."""
        return len(self.batch)

    @abstractmethod
    def counter(self, items: npt.NDArray[np.int32] | None = None) -> Counter:
        """Counts what the reports show: of all items, or of those asked for."""

    def counter_by(self, what: Hashable, make: Made) -> Counter:
        """A counter that is made of reports in another way, which ``what`` names."""
        return make(self.batch, self.multiplicities)

    def summed(self, what: Hashable, of: Summed) -> npt.NDArray[np.int64]:
        """Numbers that add over reports; ``what`` names them."""
        return of(self.batch, self.multiplicities)

    @property
    def strata_shown(self) -> tuple[int, ...] | None:
        """The strata that there are reports of; None where the payload has none."""
        strata = self.channel.payload.strata(self.batch)
        return None if strata is None else tuple(np.unique(strata).tolist())

    @property
    def n_ranges(self) -> int:
        """The ranges of records that :meth:`counter` keeps: one for each stratum, in each counter that it holds."""
        strata = self.strata_shown
        return 1 if strata is None else len(strata)

    @property
    def tokens(self) -> ColumnValues | None:
        """The tokens of the people who sent the reports, one each; None where they name nobody."""
        return None

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
