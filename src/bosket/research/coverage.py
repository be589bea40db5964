"""How often the intervals of every measure hold the truth: simulated over tables, mechanisms and numbers of records.

For each setting people are drawn from a known law of two items A and C (or stay the same, where the interval is one of
the coins alone), reports are drawn from the channel's law, and estimates and intervals are those of rules.  An interval
counts where its row carries no caution; how many do is told beside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.data import Attribute, Domain, TableDomain
from bosket.evidence.sums import moments, rare_moves
from bosket.measures import CATALOGUE, Contingency, Measure
from bosket.measures.inference import Covariance, Tables
from bosket.mechanisms import CutAndPaste, Flip, GammaDiagonal, IdentityChannel
from bosket.mechanisms.base import RecordChannel
from bosket.statistics.estimates import Floats, expected_products, variance

LEVEL = 0.95
ENOUGH = 0.93
"""What an interval without caution should hold at least."""
RECORDS = (300, 1000, 5000, 50_000)
REPETITIONS = 2000
USUAL = 0.9
"""A setting counts by itself where at least this share goes without caution.

Where few do, these are the luckier ones, and no rule that looks at the data could do better."""

LAWS: dict[str, tuple[float, float, float]] = {
    "independent": (0.12, 0.3, 0.4),
    "weakly together": (0.2, 0.4, 0.4),
    "strongly together": (0.28, 0.35, 0.32),
    "nearly certain": (0.29, 0.3, 0.5),
    "nearly the same": (0.38, 0.4, 0.4),
    "apart": (0.04, 0.3, 0.4),
    "rare together": (0.02, 0.05, 0.06),
    "rare and common": (0.04, 0.05, 0.6),
    "common": (0.66, 0.8, 0.75),
    "common and certain": (0.69, 0.7, 0.9),
}
"""Support fractions of both together, of A and of C."""

PatternCounts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Channel2:
    """Two items in a channel, with the shares of records of each stratum."""

    name: str
    channel: RecordChannel
    items: tuple[int, int]
    strata: dict[int, float]


def channels() -> Iterator[Channel2]:
    pair = Domain(range(2))
    yield Channel2("raw records", IdentityChannel(pair), (0, 1), {0: 1.0})
    for mechanism in (
        Flip(keep=0.99),
        Flip(keep=0.9),
        Flip(keep=0.75),
        Flip(keep=0.6, keep_absent=0.95),
        Flip(keep=0.95, keep_absent=0.999),
    ):
        yield Channel2(str(mechanism), mechanism.channel(pair), (0, 1), {0: 1.0})
    cut = CutAndPaste(cutoff=7, insert=0.2)
    yield Channel2(str(cut), cut.channel(Domain(range(30))), (0, 1), {2: 0.3, 4: 0.5, 7: 0.2})
    table = TableDomain([Attribute("one", range(5)), Attribute("other", range(4))])
    matrix = GammaDiagonal(gamma=19)
    yield Channel2(f"{matrix} on 20 cells", matrix.channel(table), (0, 5), {0: 1.0})


@dataclass(frozen=True)
class Setting:
    """One cell of the study: how many repetitions had no caution, and how many of these held the truth."""

    channel: str
    law: str
    n: int
    sampling: bool
    repetitions: int
    trusted: int
    held: int
    held_at_all: int

    @property
    def coverage(self) -> float:
        return self.held / self.trusted if self.trusted else float("nan")


@dataclass(frozen=True)
class CoverageResult:
    """The study of each measure, setting by setting."""

    settings: dict[str, list[Setting]]
    repetitions: int
    seconds: float

    def rows(self) -> list[dict[str, Any]]:
        """A row per measure: coverage where there is no caution, over all settings and in the worst one."""
        rows = []
        for name, settings in self.settings.items():
            trusted = sum(setting.trusted for setting in settings)
            total = sum(setting.repetitions for setting in settings)
            enough = [setting for setting in settings if setting.trusted >= USUAL * setting.repetitions]
            worst = min(enough, key=lambda setting: setting.coverage, default=None)
            rows.append(
                {
                    "measure": name,
                    "interval": CATALOGUE[name].scale.value,
                    "coverage": sum(setting.held for setting in settings) / trusted if trusted else None,
                    "worst": None if worst is None else worst.coverage,
                    "worst_in": None if worst is None else f"{worst.law}, {worst.channel}, n = {worst.n}",
                    "trusted": trusted / total,
                    "coverage_of_all": sum(setting.held_at_all for setting in settings) / total,
                }
            )
        return rows


def run(
    *, seed: int = 7, repetitions: int = REPETITIONS, tell: Callable[[str], None] = lambda _: None
) -> CoverageResult:
    started = time.perf_counter()
    chosen = {name: record for name, record in CATALOGUE.items() if record.gradient is not None}
    settings: dict[str, list[Setting]] = {name: [] for name in chosen}
    rng = np.random.default_rng(seed)
    for channel in channels():
        tell(channel.name)
        for law in LAWS:
            for n in RECORDS:
                for sampling in (True, False):
                    if sampling or not isinstance(channel.channel, IdentityChannel):
                        for name, setting in _cover(channel, law, n, sampling, repetitions, chosen, rng):
                            settings[name].append(setting)
    return CoverageResult(settings, repetitions, time.perf_counter() - started)


def _cover(
    channel: Channel2,
    law: str,
    n: int,
    sampling: bool,
    repetitions: int,
    measures: dict[str, Measure],
    rng: np.random.Generator,
) -> Iterator[tuple[str, Setting]]:
    x, a, c = LAWS[law]
    probabilities = np.array([1 - a - c + x, a - x, c - x, x])  # by pattern, bit 0 is A
    sizes = rng.multinomial(n, list(channel.strata.values())) if sampling else _whole(list(channel.strata.values()), n)
    people = [_people(int(size), probabilities, sampling, repetitions, rng) for size in sizes]
    truth = Contingency.of_counts([n * x], [n * a], [n * c], n) if sampling else _table(np.sum(people, axis=0)[:1], n)
    tables = estimate(channel, [_report(channel, at, group, rng) for at, group in enumerate(people)], sampling=sampling)
    for name, record in measures.items():
        value = np.clip(record(truth)[0], *record.range)  # rounding may leave 0 a little below it
        found = tables.infer(record, level=LEVEL)
        holds = (found.low <= value) & (value <= found.high)
        if np.isinf(value):
            holds = found.high == value
        yield (
            name,
            Setting(
                channel.name, law, n, sampling, repetitions,
                int(found.is_trusted.sum()), int((holds & found.is_trusted).sum()), int(holds.sum()),
            ),
        )  # fmt: skip


def _people(size: int, law: Floats, sampling: bool, repetitions: int, rng: np.random.Generator) -> PatternCounts:
    """Numbers of records by true pattern, a row per repetition; the same in all where people stay."""
    if sampling:
        return rng.multinomial(size, law, size=repetitions)
    return np.tile(_whole(law.tolist(), size), (repetitions, 1))


def _whole(shares: list[float], total: int) -> PatternCounts:
    edges = np.rint(np.cumsum([0.0, *shares]) * total).astype(np.int64)
    edges[-1] = total
    result: PatternCounts = np.diff(edges)
    return result


def _report(channel: Channel2, at: int, people: PatternCounts, rng: np.random.Generator) -> PatternCounts:
    """Numbers of reports by pattern shown."""
    stratum = list(channel.strata)[at]
    transition = channel.channel.transition(channel.items, stratum)
    result = np.zeros((len(people), len(transition)), np.int64)
    for pattern, law in enumerate(transition):
        if law.sum() > 0:
            result += rng.multinomial(people[:, pattern], law / law.sum())
    return result


def estimate(channel: Channel2, reports: list[PatternCounts], *, sampling: bool) -> Tables:
    """Tables with covariance from the reports of each stratum, as rules make them."""
    rows = np.tile(np.array([channel.items], np.int32), (len(reports[0]), 1))
    strata = list(channel.strata)
    n = int(reports[0][0].sum()) if len(reports) == 1 else int(sum(part[0].sum() for part in reports))
    own = channel.channel.own
    ones = [np.ascontiguousarray(rows[:, [j]]) for j in (0, 1)]
    margins = [[_margin(part, j) for part in reports] for j in (0, 1)]
    both = moments(channel.channel, strata, rows, np.stack(reports))
    sides = [moments(channel.channel, strata, one, np.stack(part)) for one, part in zip(ones, margins, strict=True)]
    with_whole, with_rest = np.zeros((len(rows), 4)), np.zeros((len(rows), 4))
    for stratum, part in zip(strata, reports, strict=True):
        products = channel.channel.split_products(rows, stratum, part)
        with_whole += products[0]
        with_rest += products[1]
    x, a, c = both.value, sides[0].value, sides[1].value

    def covariance(products: Floats, one: Floats, other: Floats) -> Floats:
        less = expected_products(x, one, other, n, own=own, sampling=False)
        result: Floats = (products - less) / n**2
        return result

    xx, aa, cc = (variance(part.value, part.second, n, own=own) / n**2 for part in (both, *sides))
    found = Covariance(
        xx,
        aa,
        cc,
        covariance(with_whole[:, 1], x, a),
        covariance(with_whole[:, 2], x, c),
        covariance(with_rest[:, 1], a, c),
    )
    table = Contingency.of_counts(x, a, c, n)
    records = np.array([part[0].sum() for part in reports])
    doubtful = None
    if not sampling:
        rare = [
            rare_moves(channel.channel, strata, records, np.full(len(rows), item, np.int32), share)
            for item, share in zip(channel.items, (table.a, table.c), strict=True)
        ]
        doubtful = rare[0] | rare[1]
    return Tables(table, found, sampling=sampling, doubtful=doubtful)


def _margin(cells: PatternCounts, j: int) -> PatternCounts:
    has = np.arange(4) >> j & 1 == 1
    return np.stack([cells[:, ~has].sum(axis=1), cells[:, has].sum(axis=1)], axis=1)


def _table(people: PatternCounts, n: int) -> Contingency:
    x = people[:, 3]
    return Contingency.of_counts(x, people[:, 1] + x, people[:, 2] + x, n)
