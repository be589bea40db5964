"""Claims about a report, true or false, whose frequencies two clients of one plan must share.

The bits that travel; the items that are shown, one by one and two at a time; how many of a record's items are shown,
and how many items in all; and which report it is, where there are few.  What is looked at is settled before a client
is run, by a short trial of this library's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from bosket.audit.clients.showing import (
    KeyNumbers,
    Record,
    ReportNames,
    Truths,
    keys_of,
    n_set,
    names_of,
    shown_keys,
    wire_bits,
)
from bosket.mechanisms import Channel
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.statistics.estimates import Floats
from bosket.threads import slices

_MOST_BITS = 256  # of a report
_MOST_KEYS = 48  # items that are looked at one by one
_MOST_PAIRED = 12  # and two at a time
_AT_ONCE = 1 << 16  # reports whose claims are looked at together
_MOST_REPORTS = 512  # different reports that are counted one by one
_SHARES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)  # at which numbers of items are cut


@dataclass(frozen=True)
class Claims:
    """What is looked at in reports of a plan that were made of these records."""

    channel: Channel
    records: tuple[Record, ...]
    bits: KeyNumbers
    keys: KeyNumbers
    places: tuple[tuple[int, ...], ...]
    """By record, where its own keys stand in ``keys``."""
    paired: KeyNumbers
    known: ReportNames
    """Reports that are counted one by one."""
    limits: tuple[int, ...]
    """Numbers of items in all, at least so many."""

    @classmethod
    def settled(cls, channel: Channel, records: Sequence[Record], pilot: Batch) -> Claims:
        """By a trial that is not looked at again."""
        n_bits = 8 * channel.payload.width
        bits = np.unique(np.linspace(0, n_bits - 1, min(_MOST_BITS, n_bits)).astype(np.int64))
        keys = _keys(channel, records)
        names, counts = np.unique(names_of(channel, pilot), return_counts=True)
        known = names if len(names) <= _MOST_REPORTS else names[np.argsort(-counts, kind="stable")[:_MOST_REPORTS]]
        numbers = n_set(channel, pilot)
        limits = np.unique(np.quantile(numbers, _SHARES, method="higher")).astype(int)
        where = {int(key): at for at, key in enumerate(keys)}
        places = tuple(tuple(where[key] for key in keys_of(channel, r) if key in where) for r in records)
        paired = np.arange(min(_MOST_PAIRED, len(keys)))
        return cls(channel, tuple(records), bits, keys, places, paired, np.sort(known), tuple(limits.tolist()))

    def shown(self, batch: Batch) -> Truths:
        """Which keys each report shows."""
        return shown_keys(self.channel, batch, self.keys)

    def of(self, batch: Batch, shown: Truths) -> Truths:
        """The claims about each report but for which one it is: shape (n, claims)."""
        wire = wire_bits(self.channel, batch, self.bits)
        number = n_set(self.channel, batch)[:, None] >= np.array(self.limits)
        own = [_at_least(shown[:, list(places)]) for places in self.places]
        pairs = [(shown[:, i] & shown[:, j])[:, None] for i, j in combinations(self.paired.tolist(), 2)]
        return np.hstack([wire, shown, number, *own, *pairs])

    def counts(self, batch: Batch, shown: Truths) -> npt.NDArray[np.int64]:
        """How often each claim is true of reports of each record, which come in turn: shape (records, claims)."""
        n_records = len(self.records)
        parts = slices(len(batch), n_records * max(1, _AT_ONCE // n_records))
        found = [self._counts(batch.take(np.arange(*part)), shown[slice(*part)]) for part in parts]
        return np.asarray(np.sum(found, axis=0), np.int64)

    def _counts(self, batch: Batch, shown: Truths) -> npt.NDArray[np.int64]:
        n_records = len(self.records)
        claims, names = self.of(batch, shown), names_of(self.channel, batch)
        place = np.minimum(np.searchsorted(self.known, names), len(self.known) - 1)
        which = np.where(self.known[place] == names, place, len(self.known))
        rows = [
            np.concatenate(
                [claims[at::n_records].sum(axis=0), np.bincount(which[at::n_records], minlength=len(self.known) + 1)]
            )
            for at in range(n_records)
        ]
        return np.array(rows, np.int64)

    def name(self, claim: int) -> str:
        """A claim in words."""
        labels = self._labels()
        if claim < len(self.bits):
            return f"bit {int(self.bits[claim])} of the report is set"
        claim -= len(self.bits)
        if claim < len(self.keys):
            return f"{labels[claim]} is shown"
        claim -= len(self.keys)
        if claim < len(self.limits):
            return f"{self.limits[claim]} bits or more are set"
        claim -= len(self.limits)
        for places in self.places:
            if claim < len(places):
                return f"{claim + 1} or more of a record's own {len(places)} are shown"
            claim -= len(places)
        pairs = list(combinations(self.paired.tolist(), 2))
        if claim < len(pairs):
            return f"{labels[pairs[claim][0]]} and {labels[pairs[claim][1]]} are shown together"
        claim -= len(pairs)
        return "one of the commonest reports is sent" if claim < len(self.known) else "an unusual report is sent"

    def _labels(self) -> list[str]:
        channel = self.channel
        if isinstance(channel, BasketChannel) and channel.candidates is not None:
            sets = (channel.candidates[int(key)] for key in self.keys)
            return [" and ".join(repr(channel.domain.labels[item]) for item in itemset) for itemset in sets]
        return [repr(channel.domain.labels[int(key)]) for key in self.keys]


def _at_least(shown: Truths) -> Truths:
    """Whether 1, 2, ... of the columns are true."""
    number = shown.sum(axis=1)[:, None]
    result: Truths = number >= np.arange(1, shown.shape[1] + 1)
    return result


def _keys(channel: Channel, records: Sequence[Record]) -> KeyNumbers:
    """Those of the records, as many of each, and a few others."""
    own = [keys_of(channel, record) for record in records]
    found: dict[int, None] = {}
    for place in range(max(map(len, own), default=0)):
        for keys in own:
            if place < len(keys) and len(found) < _MOST_KEYS:
                found[keys[place]] = None
    sets = channel.candidates if isinstance(channel, BasketChannel) else None
    n = len(channel.domain) if sets is None else len(sets)
    for key in np.linspace(0, n - 1, min(n, 8)).astype(int).tolist():
        found[key] = None
    return np.array(list(found), np.int64)


def expected_alone(channel: Channel, record: Record, keys: KeyNumbers) -> Floats | None:
    """By the law that a channel states, how often each item is shown of a record; None where it states none."""
    from bosket.mechanisms import RecordChannel
    from bosket.mechanisms.cut import StatingChannel

    if not isinstance(channel, RecordChannel) or isinstance(channel, StatingChannel):
        return None
    held = set(record)
    stratum = channel.stratum_of(len(record))
    return np.array([channel.transition((int(key),), stratum)[int(int(key) in held), 1] for key in keys])
