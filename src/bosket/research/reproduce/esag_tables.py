"""Tables 1 to 4 of Evfimievski et al. (2004) on real streams: what is found, what is missed, what leaks.

The streams have some 60 000 records, the paper's data millions.  So every record is taken ``times`` times and
randomized anew each time: supports are those of the stream, errors those of that many people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bosket.audit import Breaches, breaches
from bosket.counting import Bitmaps, Counter, Shards
from bosket.data import Baskets
from bosket.evidence import Evidence, LinearEvidence
from bosket.mechanisms import CutAndPaste
from bosket.mining import FrequentItemsets, Search, mine, mine_evidence
from bosket.plan import Plan
from bosket.planning import lowest_support, maximal_supports, smallest_insert
from bosket.planning.maximal import BreachLevel
from bosket.privacy.breaches import challenging_level
from bosket.randomness import Seeded
from bosket.research.reproduce.esag_data import CUTOFF, RealStream
from bosket.statistics.estimates import Floats

LEVEL = 0.5
LARGEST = 3
PLANNED = 7
"""Maximal supports are looked at up to this itemset size, as in the paper's first experiment."""

AT_ONCE = 700_000
BANDS = (0.5, 0.75, 1.0)
"""Tables 2 and 3 sort supports by these parts of the minimum support: 0.1, 0.15 and 0.2% in the paper."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The four tables for one stream, as plain values."""

    name: str
    n_records: int
    times: int
    min_support: float
    lowest_supports: dict[int, float]
    sigmas: dict[int, tuple[float, float]]
    """Smallest and largest predicted standard error of the truly frequent itemsets, by size."""
    parameters: dict[int, float]
    maximal: dict[int, tuple[float, ...]]
    found: list[dict[str, int]]
    false_drops: list[dict[str, int]]
    false_positives: list[dict[str, int]]
    breaches: list[dict[Hashable, Any]]
    breach_records: int
    """Breaches are counted on the first so many records, and where 100 reports or more hold the itemset."""
    notes: dict[str, int]
    seconds: float


def outcome(
    stream: RealStream,
    *,
    min_support: float,
    times: int,
    seed: int,
    measure: BreachLevel = challenging_level,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Plan, randomize, mine and compare."""
    started = time.perf_counter()
    raw = stream.baskets
    tell(f"{stream.name}: planning")
    maximal = maximal_supports(raw, max_itemset=PLANNED)
    insert = {size: smallest_insert(CUTOFF, size, row, level=LEVEL, measure=measure) for size, row in maximal.items()}
    plan = Plan(raw.domain, CutAndPaste(CUTOFF, insert))
    numbers = np.bincount(raw.sizes)
    records = {size: int(numbers[size]) * times for size in maximal}
    together = max(1, AT_ONCE // raw.n_records)
    counters: list[Counter] = []
    table: Breaches | None = None
    for start in range(0, times, together):
        tell(f"{stream.name}: randomizing, {start + 1} of {times}")
        people = raw.repeat(min(together, times - start))
        reports = plan.randomize(people, rng=Seeded(1000 * seed + start))
        counters.append(reports.counter())
        if table is None:
            tell(f"{stream.name}: counting breaches")
            table = breaches(people, reports, min_support=min_support, max_size=max(maximal), min_reports=100)
    assert table is not None
    tell(f"{stream.name}: mining")
    evidence = LinearEvidence(plan.channel, Shards(counters))
    truth = mine(raw, min_support=min_support, max_size=LARGEST)
    found = mine_evidence(evidence, Search(min_support, max_size=LARGEST, keep_hopeless=True))
    compared = FoundAndTrue(truth, found, evidence, raw)
    return Outcome(
        name=stream.name,
        n_records=evidence.n_records,
        times=times,
        min_support=min_support,
        lowest_supports={k: lowest_support(plan.mechanism, k, records=records) for k in range(1, LARGEST + 1)},
        sigmas=compared.sigmas(),
        parameters={size: float(rho) for size, rho in insert.items()},
        maximal=maximal,
        found=compared.found(),
        false_drops=compared.false_drops(),
        false_positives=compared.false_positives(),
        breaches=table.summary().to_dict("records"),
        breach_records=table.n_records,
        notes={"items left out as common": stream.common, "items left out as rare": stream.rare},
        seconds=time.perf_counter() - started,
    )


class FoundAndTrue:
    """What was found beside what is true."""

    def __init__(self, truth: FrequentItemsets, found: FrequentItemsets, evidence: Evidence, raw: Baskets) -> None:
        self.min_support = truth.min_support
        self.true = [_rows(truth, k) for k in range(1, LARGEST + 1)]
        self.claimed = [_rows(found, k) for k in range(1, LARGEST + 1)]
        exact = Bitmaps.from_rows(raw.to_bits(), raw.n_items)
        self.predicted, self.errors, self.real = [], [], []
        for true, claimed in zip(self.true, self.claimed, strict=True):
            value, error = _estimates(evidence, true)
            self.predicted.append(value)
            self.errors.append(error)
            self.real.append(exact.supports(claimed)[0] / raw.n_records if len(claimed) else np.empty(0))

    def sigmas(self) -> dict[int, tuple[float, float]]:
        return {k: (float(part.min()), float(part.max())) for k, part in enumerate(self.errors, 1) if len(part)}

    def found(self) -> list[dict[str, int]]:
        """Table 1."""
        rows = []
        for k, (true, claimed) in enumerate(zip(self.true, self.claimed, strict=True), 1):
            both = len(set(map(tuple, true.tolist())) & set(map(tuple, claimed.tolist())))
            rows.append(
                {
                    "size": k,
                    "true": len(true),
                    "true_positives": both,
                    "false_drops": len(true) - both,
                    "false_positives": len(claimed) - both,
                }
            )
        return rows

    def false_drops(self) -> list[dict[str, int]]:
        """Table 2: predicted supports of truly frequent itemsets."""
        return [self._banded(k, values) for k, values in enumerate(self.predicted, 1)]

    def false_positives(self) -> list[dict[str, int]]:
        """Table 3: true supports of itemsets that were claimed."""
        return [self._banded(k, values) for k, values in enumerate(self.real, 1)]

    def _banded(self, k: int, values: Floats) -> dict[str, int]:
        edges = [band * self.min_support * (1 - 1e-12) for band in BANDS]
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        return {"size": k, "itemsets": len(values), **{f"band_{n}": int(count) for n, count in enumerate(counts)}}


def _rows(found: FrequentItemsets, k: int) -> Any:
    if k > len(found.levels):
        return np.empty((0, k), np.int32)
    level = found.levels[k - 1]
    return level.items[found.above(level)]


def _estimates(evidence: Evidence, rows: Any) -> tuple[Floats, Floats]:
    """Predicted supports and sigmas of itemsets that the search may have dropped."""
    if not len(rows):
        return np.empty(0), np.empty(0)
    level = evidence.supports(rows)
    return level.value / evidence.n_records, level.stderr / evidence.n_records
