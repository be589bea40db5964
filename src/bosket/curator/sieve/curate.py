"""A release by the sieve: paid for, measured, selected."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from bosket._version import __version__
from bosket.budget.accounts import Entry
from bosket.budget.budgets import Budget
from bosket.curator.accounting import rho_of
from bosket.curator.declared import UP_TO_RECORDS, Declared
from bosket.curator.limit import KthSupport, ShareOfRecords
from bosket.curator.noise import Composition
from bosket.curator.population.cells import CellSizes, TableCells, is_for
from bosket.curator.population.dense import DenseRecords, FoundDense, Looked
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.population.wanted import Wanted
from bosket.curator.sieve.beliefs import Values
from bosket.curator.sieve.contributions import CONCENTRATED, PURE
from bosket.curator.sieve.draws import UNSURE
from bosket.curator.sieve.release import SieveRelease
from bosket.curator.sieve.rounds import Instead, Sieve, Sieved
from bosket.curator.sieve.selection import Announced, ReleasedItemsets, select
from bosket.curator.sieve.settings import SieveSettings
from bosket.curator.sieve.top import KthLimit, select_top
from bosket.data import Baskets, TableDomain
from bosket.data.domain import Domain
from bosket.errors import HopelessError, LargeDeltaWarning, UnsureReleaseWarning, warn
from bosket.privacy.central import CentralGuarantee
from bosket.privacy.guarantee import rounded_up
from bosket.progress import Progress
from bosket.threads import one_thread_of_blas

_CLEAR = 6.0  # scales of the noise of the number of records: one data set without records in 800 seems to have some
_LITTLE = 0.3  # an F that a release expects of itself
_HALF = 0.5  # of the records, a limit before there is one
MECHANISM = "rounds of bounded contributions (the sieve) with discrete {} noise"
"""How a release names its noise."""


def sieve(
    declared: Declared,
    limit: ShareOfRecords | KthSupport,
    budget: Budget | None,
    settings: SieveSettings,
    *,
    on_progress: Progress | None = None,
) -> SieveRelease:
    """Itemsets above the limit, or the k most frequent.  Everything is paid for by one entry, before the first look."""
    bounding = CONCENTRATED if declared.delta else PURE
    amount = rho_of(declared.epsilon, declared.delta) if declared.delta else declared.epsilon
    granted = Composition(amount, bounding.law)  # whatever fails fails before it is paid
    groups = None if declared.length is None else declared.domain.groups
    program = Sieve(declared.data, bounding, granted, settings, declared.per_person, groups, declared.people)
    is_kept = budget is not None
    if budget is None:
        budget = Budget.in_memory(declared.epsilon, delta=declared.delta, neighbours=declared.of_budget)
    entries = budget.spend_together([(declared.epsilon, _purpose(declared), declared.delta)])
    number = program.number()
    _check_number(number, program.scale_of_number, declared)
    sizes = cells_of(declared.domain) if declared.length is not None and declared.people is None else None
    result, chosen, announced = _measured(program, limit, number, on_progress, sizes)
    n_measured = sum(len(level.rows) for level in result.levels)
    about = _about(declared, settings, result, announced) | _paid(budget, entries, is_kept=is_kept)
    scale, unsure = (0.0, 0.0) if result.are_shares else (program.scale_of_number, UNSURE)
    release = SieveRelease(
        declared.domain, about, tuple(chosen), number, announced, n_measured, scale, unsure,
        adds_squares=bool(declared.delta),
    )  # fmt: skip
    _check_delta(declared.delta, number, release)
    _check_announced(release)
    return release


@one_thread_of_blas()
def _measured(
    program: Sieve,
    limit: ShareOfRecords | KthSupport,
    number: int,
    on_progress: Progress | None,
    sizes: CellSizes | None = None,
) -> tuple[Sieved, list[ReleasedItemsets], Announced]:
    """All rounds, and what is released of them; or a table's cells."""
    population = program.settings.population
    cells = None if sizes is None or population is None else if_cells(program, sizes, limit, number)
    if cells is not None:
        return cells, *(select(cells) if isinstance(limit, ShareOfRecords) else select_top(cells, limit.k))
    needs_none = population is None or program.settings.largest == 1  # items need no population
    instead = None if needs_none else if_dense(program, limit, number)
    if isinstance(limit, ShareOfRecords):
        result = program.run(limit.of(number), number, instead=instead, on_progress=on_progress)
        return result, *select(result)
    moving = KthLimit(limit.k, number, len(program.settings.rounds), program.settings.largest)
    result = program.run(moving.first, number, moving=moving, instead=instead, on_progress=on_progress)
    return result, *select_top(result, limit.k)


def cells_of(domain: Domain) -> CellSizes | None:
    """How many values the attributes of a table have."""
    return tuple(map(int, domain.sizes)) if isinstance(domain, TableDomain) else None


def if_cells(program: Sieve, sizes: CellSizes, limit: ShareOfRecords | KthSupport, number: int) -> Sieved | None:
    """All that is left of what was granted for the cells of a table, where public sizes and noisy numbers say so."""
    settings, granted, bounding = program.settings, program.granted, program.bounding
    baskets, population = _of_population(program)
    amount = granted.epsilon * (1 - settings.number)
    of_limit = limit.min_support if isinstance(limit, ShareOfRecords) else 1 / (limit.k + 10)
    deviation = bounding.deviation(granted.scale_of(amount, bounding.norm_of_ones(program.per_person)))
    if not is_for(sizes, deviation, of_limit, number, population.misfit):
        return None
    cells = TableCells.measured(
        baskets, sizes, bounding, granted, amount=amount, per_person=program.per_person, number=number,
        number_deviation=bounding.deviation(program.scale_of_number), most=population.most_itemsets,
        largest=settings.largest,
    )  # fmt: skip
    share = limit.min_support if isinstance(limit, ShareOfRecords) else cells.kth(limit.k)
    levels, missed = cells.levels(share)
    parts = (("total", granted.epsilon * settings.number), ("cells", amount))
    return Sieved(levels, number, share * number, missed, parts, are_shares=True)


def if_dense(program: Sieve, limit: ShareOfRecords | KthSupport, number: int) -> Instead:
    """Go on with one population where the first round says that records are dense."""
    settings = program.settings
    baskets, population = _of_population(program)
    if isinstance(limit, ShareOfRecords):
        wanted = Wanted(limit.min_support, settings.largest)
    else:
        k = min(limit.k, population.most_itemsets)
        wanted = Wanted(_HALF, settings.largest, k, least=_HALF / number)

    def instead(first: Values) -> FoundDense | None:
        records = DenseRecords(first, baskets, program.bounding, wanted, number, population)
        if not records.is_dense:
            return None
        deviation = program.bounding.deviation(program.scale_of_number)
        looked = Looked(program.granted, program.left, program.per_person, deviation, program.records_each)
        return records.levels(looked, program.groups)

    return instead


def _of_population(program: Sieve) -> tuple[Baskets, PopulationSettings]:
    """What a population is fitted to: records in memory, which are looked at again and again."""
    population = program.settings.population
    if population is None:
        raise TypeError("A population is fitted by its settings.")
    return program.baskets, population


def _check_number(number: int, scale: float, declared: Declared) -> None:
    """Refuse what only noise would answer: a number of records that is not clear of its own noise."""
    if number >= _CLEAR * scale:
        return
    delta = f", and a delta of {rounded_up(declared.delta, 6)}," if declared.delta else ""
    raise HopelessError(
        f"There are about {number:,} records, which is within the noise of their number, of scale {scale:,.3g}: what "
        f"would be reported is chance. An epsilon of {rounded_up(declared.epsilon, 6)}{delta} was spent to find that "
        "out.",
        discoverable=math.inf,
        spent=declared.epsilon,
        hint=f"At this epsilon it takes some {math.ceil(1.5 * _CLEAR * scale):,} records or more.",
    )


def _check_announced(release: SieveRelease) -> None:
    """Say so where little of a release is right, by what it expects of itself."""
    said, n_released = release.announced, sum(len(part.rows) for part in release.chosen)
    if n_released and said.f < _LITTLE:
        warn(
            UnsureReleaseWarning(
                f"About {said.precision:.0%} of these {n_released:,} itemsets are expected to be what was asked for, "
                f"and they to be {said.recall:.0%} of it: at this epsilon the limit is within the noise.",
                release=release,
            )
        )


def _check_delta(delta: float, number: int, release: SieveRelease) -> None:
    """Say so where a delta would allow one of the records to be published as it is; by the noisy number of records.

    Once all is done: whoever makes errors of warnings has paid by now, and finds the release in the warning.
    """
    if delta * number > 1:
        warn(
            LargeDeltaWarning(
                f"A delta of {delta:g} is more than one in about {number:,} records: to publish one of them, drawn at "
                "random, would be as private.",
                release=release,
            )
        )


def _purpose(declared: Declared) -> str:
    what = ", ".join(f"{name} {value:g}" for name, value in declared.limit.asked.items())
    unit = "" if declared.people is None else f"; {UP_TO_RECORDS.format(declared.people.most)}"
    return f"curate by the sieve ({what}{unit})"


def _about(declared: Declared, settings: SieveSettings, result: Sieved, announced: Announced) -> dict[str, Any]:
    mechanism = MECHANISM.format("Gaussian" if declared.delta else "Laplace")
    most = None if declared.people is None else declared.people.most
    promised = CentralGuarantee(
        mechanism,
        declared.epsilon,
        declared.neighbours,
        result.costs,
        delta=declared.delta,
        max_records_per_person=most,
    )
    return {
        "version": __version__,
        "method": "sieve",
        "epsilon": declared.epsilon,
        **({"delta": declared.delta} if declared.delta else {}),
        "neighbours": declared.neighbours,
        **({} if most is None else {"max_records_per_person": most}),
        **({"rho": sum(cost for _, cost in result.costs)} if declared.delta else {}),
        **declared.limit.asked,
        "min_count": round(result.limit, 6),
        "n_records": result.n_records,
        "announced": {name: round(value, 4) for name, value in asdict(announced).items()},
        **({} if declared.length is None else {"n_attributes": declared.length}),
        "settings": asdict(settings) | {"rounds": list(settings.rounds)},
        "parts": dict(result.costs),
        "mechanism": mechanism,
        "guarantee": (promised if declared.domain.is_declared else promised.reading_items()).to_json(),
    }


def _paid(budget: Budget, entries: tuple[Entry, ...], *, is_kept: bool) -> dict[str, Any]:
    return {
        "budget": budget.name,
        "entries": [{"number": entry.number} | ({"digest": entry.digest} if is_kept else {}) for entry in entries],
    }
