"""One answer about a basket: which of the keys that it holds, told through an answer channel.

Keys are items, or candidate itemsets that a first phase chose; a basket holds an itemset where it holds all its items.
A basket that holds more than ``length`` keys is cut to so many, each choice equally likely, before anything is told:
supports are those of the baskets as cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.counting.base import Counts, ItemsetRows, Words
from bosket.counting.distinct_rows import added
from bosket.data import Domain
from bosket.errors import DataError
from bosket.mechanisms.base import Cells, Channel, Floats
from bosket.mechanisms.columns import PayloadColumn
from bosket.mechanisms.payload import Batch, Payload
from bosket.mechanisms.questions.hashing import (
    HASH_OF_SET,
    LOOK,
    MOST_HASHES,
    Done,
    HashedReports,
    KeyNumbers,
    SubsetReports,
    refuse_many_hashes,
)
from bosket.mechanisms.questions.responses import LocalHashing, Response, SubsetSelection
from bosket.mechanisms.questions.sampled_kernels import sampled_block
from bosket.mechanisms.questions.subset_kernels import subset_block
from bosket.privacy import Accuracy, Influence
from bosket.randomness import Randomness

_FEW = 64  # records, as on a person's own device, up to which time does not tell what a coin said


@dataclass(frozen=True)
class SampledAnswers(Payload):
    """The value that is told, and the seed under which, where keys are hashed; or a subset of the values."""

    channel: BasketChannel

    @property
    def columns(self) -> tuple[PayloadColumn, ...]:
        return self.channel.response.columns

    def checked(self, batch: Batch) -> Batch:
        found = Payload.checked(self, batch)
        told = self.channel.response
        if isinstance(told, SubsetSelection) and (np.bitwise_count(found["subset"]).sum(axis=1) != told.chosen).any():
            raise DataError(f"A report must have {told.chosen} values as its subset.")
        return found

    def counter(self, batch: Batch, items: npt.NDArray[np.int32] | None = None) -> KeyCounter:
        return KeyCounter(self.channel, batch)


class KeyCounter:
    """Numbers of reports that show an itemset: its own key, or the keys of all its items where only items are asked."""

    strata = (0,)

    def __init__(self, channel: BasketChannel, batch: Batch) -> None:
        self.channel = channel
        self.n_records = len(batch)
        self._batch = batch

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        if itemsets.shape[1] == 0:
            return np.full((1, len(itemsets)), self.n_records, np.int64)
        if self.channel.candidates is None:
            return self.channel.shown(self._batch, itemsets.astype(np.int64))[None, :]
        found = np.zeros((1, len(itemsets)), np.int64)
        keys = self.channel.keys(itemsets)
        told = keys >= 0
        found[0, told] = self.channel.shown(self._batch, keys[told, None])
        return found


class BasketChannel(Channel):
    """The question on a domain of items."""

    def __init__(self, domain: Domain, candidates: tuple[tuple[int, ...], ...] | None, response: Response) -> None:
        self.domain = domain
        self.candidates = candidates
        self.response = response

    @property
    def payload(self) -> Payload:
        return SampledAnswers(self)

    @cached_property
    def sets(self) -> KeyNumbers:
        """The candidates, a row each, padded by -1; no rows where the keys are the items."""
        if self.candidates is None:
            return np.empty((0, 1), np.int64)
        rows = np.full((len(self.candidates), max(map(len, self.candidates))), -1, np.int64)
        for row, itemset in zip(rows, self.candidates, strict=True):
            row[: len(itemset)] = itemset
        return rows

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        return {} if self.candidates is None else {itemset: at for at, itemset in enumerate(self.candidates)}

    @property
    def sizes(self) -> frozenset[int]:
        """The sizes of itemsets that are asked about."""
        return frozenset([1]) if self.candidates is None else frozenset(map(len, self.candidates))

    def keys(self, itemsets: ItemsetRows) -> KeyNumbers:
        """The key of each itemset; -1 where it is not asked about."""
        if self.candidates is None:
            is_item = itemsets.shape[1] == 1
            return itemsets[:, 0].astype(np.int64) if is_item else np.full(len(itemsets), -1, np.int64)
        ordered = np.sort(itemsets, axis=1).tolist()
        return np.array([self._places.get(tuple(row), -1) for row in ordered], np.int64)

    def randomize(self, bits: Words, rng: Randomness) -> Batch:
        told = self.response
        if isinstance(told, SubsetSelection):
            subset = np.zeros((len(bits), -(-told.n_values // 64)), np.uint64)
            rng.by_rows(
                bits,
                lambda start, stop, done, buffer: subset_block(
                    bits[:stop], self.sets, told.length, told.threshold, told.n_keys, told.chosen, len(bits) <= _FEW,
                    start + done, buffer, subset,
                ),
                keeps_rest=True,
            )  # fmt: skip
            return Batch({"subset": subset})
        is_hashed = isinstance(told, LocalHashing)
        seed, answer = np.zeros(len(bits), np.uint64), np.empty(len(bits), np.int32)
        rng.by_rows(
            bits,
            lambda start, stop, done, buffer: sampled_block(
                bits[:stop], self.sets, told.length, told.threshold, told.n_values, told.n_keys, is_hashed,
                start + done, buffer, seed, answer,
            ),
            keeps_rest=True,
        )  # fmt: skip
        return Batch({"seed": seed, "value": answer} if is_hashed else {"answer": answer})

    def shown(
        self,
        batch: Batch,
        sets: KeyNumbers,
        counts: Counts | None = None,
        *,
        max_hashes: int = MOST_HASHES,
        done: Done | None = None,
    ) -> Counts:
        """How many reports show all keys of each row; ``counts`` says how often each report came.

        More hashes, or looks at subsets, than ``max_hashes`` are refused before the first.
        """
        told = self.response
        if isinstance(told, LocalHashing):
            hashed = HashedReports.of(batch["seed"], batch["value"], counts, told.n_values)
            if sets.shape[1] == 1:
                refuse_many_hashes(hashed.hashes(sets[:, 0]), max_hashes)
                return hashed.shown(sets[:, 0], done)
            refuse_many_hashes(len(hashed) * sets.size, max_hashes, level=sets.shape[1], each=HASH_OF_SET)
            return hashed.showing_all(sets, done)
        if isinstance(told, SubsetSelection):
            subsets = SubsetReports.of(batch["subset"], counts)
            refuse_many_hashes(len(subsets) * sets.size, max_hashes, level=sets.shape[1], each=LOOK)
            return subsets.showing_all(sets, done)
        if sets.shape[1] > 1:  # an answer shows one key
            return np.zeros(len(sets), np.int64)
        numbers: Counts = added(batch["answer"], counts, told.n_values)[sets[:, 0]]
        return numbers

    def shares(self, batch: Batch, keys: KeyNumbers, counts: Counts | None = None) -> Floats:
        """The share of people who hold each key, without bias: (shown / n - q) / (p - q)."""
        n = len(batch) if counts is None else int(counts.sum())
        shown = self.shown(batch, keys[:, None], counts)
        shares: Floats = (shown / n - self.response.q) / self.response.slope
        return shares

    def covers(self, itemsets: ItemsetRows) -> npt.NDArray[np.bool_]:
        covered: npt.NDArray[np.bool_] = self.keys(itemsets) >= 0
        return covered

    def implausible(self, batch: Batch, level: float, repeats: int = 1) -> npt.NDArray[np.bool_]:
        """None of them: an answer about a basket shows what it must, whatever the basket."""
        return np.zeros(len(batch), bool)

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        return k in self.sizes

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        told = (self.keys(itemsets) >= 0).astype(float)
        weights = np.repeat((-self.response.q / self.response.slope * told)[:, None], 1 << itemsets.shape[1], axis=1)
        weights[:, -1] = (1 - self.response.q) / self.response.slope * told
        return weights

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        p, q, slope = self.response.p, self.response.q, self.response.slope
        return np.full(len(itemsets), min(p * (1 - p), q * (1 - q)) / slope**2)

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None:
        """q (1 - q) / (p - q)^2 of a basket that lacks the itemset, p (1 - p) / (p - q)^2 of one that holds it.

        One that holds it and is cut keeps it with some probability, and then shows it with one between q and p.
        """
        if k not in self.sizes:
            return None
        p, q, slope = self.response.p, self.response.q, self.response.slope
        lacking, full = q * (1 - q) / slope**2, p * (1 - p) / slope**2
        is_halfway = self.cuts(max_size) and q < 0.5 < p
        most = 0.25 / slope**2 if is_halfway else max(lacking, full)
        return Accuracy(k, least=min(lacking, full), most=most, full=full)

    def cuts(self, max_size: int | None) -> bool:
        """Whether a basket of at most ``max_size`` items may hold more keys than are kept of it."""
        kept = self.response.length
        is_short = self.candidates is None and max_size is not None and max_size <= kept
        return not is_short and kept < self.response.n_keys

    def influence(self, k: int, max_size: int | None = None) -> Influence | None:
        """A report counts (1 - q) / (p - q) for what it shows, and - q / (p - q) for all else."""
        if k not in self.sizes:
            return None
        low, high = (-self.response.q / self.response.slope, (1 - self.response.q) / self.response.slope)
        return Influence(k, low=low, high=high, width=high - low)
