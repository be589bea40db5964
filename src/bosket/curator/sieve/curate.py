"""A release by the sieve: paid for, measured, selected."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

from bosket._version import __version__
from bosket.budget.accounts import Entry
from bosket.budget.budgets import Budget
from bosket.curator.declared import Declared
from bosket.curator.limit import ShareOfRecords
from bosket.curator.noise import Composition, rho_of
from bosket.curator.sieve.contributions import CONCENTRATED, PURE
from bosket.curator.sieve.release import SieveRelease
from bosket.curator.sieve.rounds import Sieve, Sieved
from bosket.curator.sieve.selection import Announced, select
from bosket.curator.sieve.settings import SieveSettings
from bosket.errors import LargeDeltaWarning
from bosket.privacy.central import CentralGuarantee
from bosket.progress import Progress

MECHANISM = "rounds of bounded contributions (the sieve) with discrete {} noise"
"""How a release names its noise."""


def sieve(
    declared: Declared,
    limit: ShareOfRecords,
    budget: Budget | None,
    settings: SieveSettings,
    *,
    on_progress: Progress | None = None,
) -> SieveRelease:
    """Itemsets above the limit.  Everything is paid for by one entry, before the first look."""
    bounding = CONCENTRATED if declared.delta else PURE
    amount = rho_of(declared.epsilon, declared.delta) if declared.delta else declared.epsilon
    granted = Composition(amount, bounding.law)  # whatever fails fails before it is paid
    groups = None if declared.length is None else declared.domain.groups
    program = Sieve(declared.data, bounding, granted, settings, declared.per_person, groups)
    is_kept = budget is not None
    if budget is None:
        budget = Budget.in_memory(declared.epsilon, delta=declared.delta, neighbours=declared.neighbours)
    entries = budget.spend_together([(declared.epsilon, _purpose(declared), declared.delta)])
    number = program.number()
    _check_delta(declared.delta, number)
    result = program.run(limit.of(number), number, on_progress=on_progress)
    chosen, announced = select(result)
    n_measured = sum(len(level.rows) for level in result.levels)
    about = _about(declared, settings, result, announced) | _paid(budget, entries, is_kept=is_kept)
    return SieveRelease(declared.domain, about, tuple(chosen), number, announced, n_measured, program.scale_of_number)


def _check_delta(delta: float, number: int) -> None:
    """Say so where a delta would allow one of the records to be published as it is; by the noisy number of records."""
    if delta * number > 1:
        warnings.warn(
            f"A delta of {delta:g} is more than one in about {number:,} records: to publish one of them, drawn at "
            "random, would be as private.",
            LargeDeltaWarning,
            stacklevel=4,
        )


def _purpose(declared: Declared) -> str:
    what = ", ".join(f"{name} {value:g}" for name, value in declared.limit.asked.items())
    return f"curate by the sieve ({what})"


def _about(declared: Declared, settings: SieveSettings, result: Sieved, announced: Announced) -> dict[str, Any]:
    mechanism = MECHANISM.format("Gaussian" if declared.delta else "Laplace")
    promised = CentralGuarantee(mechanism, declared.epsilon, declared.neighbours, result.costs, delta=declared.delta)
    return {
        "version": __version__,
        "method": "sieve",
        "epsilon": declared.epsilon,
        **({"delta": declared.delta} if declared.delta else {}),
        "neighbours": declared.neighbours,
        **({"rho": sum(cost for _, cost in result.costs)} if declared.delta else {}),
        **declared.limit.asked,
        "min_count": round(result.limit, 6),
        "n_records": result.n_records,
        "announced": {name: round(value, 4) for name, value in asdict(announced).items()},
        **({} if declared.length is None else {"n_attributes": declared.length}),
        "settings": asdict(settings) | {"rounds": list(settings.rounds)},
        "parts": dict(result.costs),
        "mechanism": mechanism,
        "guarantee": promised.to_json(),
    }


def _paid(budget: Budget, entries: tuple[Entry, ...], *, is_kept: bool) -> dict[str, Any]:
    return {
        "budget": budget.name,
        "entries": [{"number": entry.number} | ({"digest": entry.digest} if is_kept else {}) for entry in entries],
    }
