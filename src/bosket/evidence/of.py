"""Evidence from what users hold: reports, tallies of them, raw records, or evidence itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.checks import shown
from bosket.collected import Collected
from bosket.counting.bitmaps import Bitmaps
from bosket.data import Baskets, Domain, Table
from bosket.data.formats.frames import is_frame
from bosket.engines import engine_of
from bosket.errors import DataError, ParameterError
from bosket.evidence.base import Evidence
from bosket.evidence.counts import MAX_COUNTS, too_many_counts
from bosket.evidence.linear import LinearEvidence
from bosket.evidence.provenance import Provenance
from bosket.evidence.raw import RawRecords, Sought
from bosket.mechanisms.base import Channel
from bosket.mechanisms.identity import IdentityChannel
from bosket.models.loglinear import LogLinear

EvidenceSource = Any
"""What supports can be estimated from: Reports, a Tally or a Collection of them, Baskets, a Table, a frame of
baskets, a Spark frame of records or reports, or Evidence."""

Model = str | LogLinear | None
"""What is fitted to reports: "auto", "log-linear", a LogLinear, or None."""

_HOW_TO_MAKE = "Baskets(records), Baskets.from_frame(frame) and Baskets.read(path) make baskets."


_SOURCES = (Collected, Baskets, RawRecords, Evidence)
_DONE = {"mine": "mined", "estimate from": "estimated from", "test": "tested"}


def as_source(
    data: Any, *, to: str = "estimate from", sought: Sought | None = None
) -> Collected | Baskets | RawRecords | Evidence:
    """The data, a table as baskets of attribute=value; refused where nothing can be mined, estimated or tested.

    ``sought``: what raw records will be asked for, which another engine may look for while it reads them.
    """
    engine = engine_of(data)
    if engine is not None:
        data = engine.source(data, sought)
    elif isinstance(data, Table):
        data = data.to_baskets()
    elif not isinstance(data, _SOURCES) and is_frame(data):
        data = Baskets.from_frame(data)
    if not isinstance(data, _SOURCES):
        raise DataError(
            f"Reports, a Tally, Baskets, a Table or Evidence can be {_DONE[to]}, a {type(data).__name__} cannot.",
            hint=_HOW_TO_MAKE,
        )
    if data.n_records == 0:
        raise DataError(f"There are no records to {to}.")
    return data


def evidence_of(
    data: EvidenceSource,
    items: npt.NDArray[np.int32] | None = None,
    *,
    max_counts: int = MAX_COUNTS,
    model: Model = "auto",
) -> Evidence:
    """What the data say about supports: of all items, or of those asked for, which takes less memory.

    ``model`` says whether a law is fitted to the reports: "log-linear", or a :class:`~bosket.LogLinear` with its order;
    None for unbiased sums of their weights; "auto" for what the mechanism of the reports is made for, and None where
    that is a law which would take too much memory or time.

    Reports of so many strata that each item has its counts in them, more than ``max_counts`` in all, are refused before
    anything is counted: whoever sends one report of each size that a plan allows makes as many strata as there are
    sizes.
    """
    found, law = as_source(data), checked_model(model)
    if isinstance(found, Collected):
        has_law = law is not None and (model != "auto" or found.channel.read_together)
        together = has_law and found.channel.read_together  # then a law takes all that reports show
        unbiased = evidence_by(found.channel, found, None if together else items, max_counts)
        if law is None or not has_law:
            return unbiased
        return without_if_too_large(lambda: fitted_by(found.channel, found, unbiased, law), unbiased, model)
    if law is not None and model != "auto":
        raise ParameterError(
            f"The 'model' parameter must be None or 'auto' unless reports are given, got {shown(model)}.",
            parameter="model",
            value=model,
        )
    if isinstance(found, Evidence):
        return found
    if isinstance(found, RawRecords):
        return LinearEvidence(IdentityChannel(found.domain), found.counter(items))
    counter = Bitmaps.from_rows(found.to_bits(), found.n_items, items=items)
    return LinearEvidence(IdentityChannel(found.domain), counter)


def without_if_too_large(fitted: Callable[[], Evidence], unbiased: Evidence, model: Model) -> Evidence:
    """A fitted law; under "auto", where nobody asked for one, none where it would be too large."""
    try:
        return fitted()
    except ParameterError:
        if model != "auto":
            raise
    return unbiased


@singledispatch
def evidence_by(channel: Channel, reports: Collected, items: npt.NDArray[np.int32] | None, max_counts: int) -> Evidence:
    """What reports of a channel say: the sums of its weights, or what was registered for its class.

    A channel whose reports are read together by a fitted model has evidence of its own::

        @evidence_by.register(AskChannel)
        def fitted(channel, reports, items, max_counts):
            return FittedLaw(reports.summed("answers", histogram), provenance=provenance_of(reports))
    """
    _refuse_many_strata(reports, items, max_counts)
    return LinearEvidence(channel, reports.counter(items), provenance=provenance_of(reports))


@singledispatch
def fitted_by(channel: Channel, reports: Collected, unbiased: Evidence, model: LogLinear) -> Evidence:
    """A law fitted to reports of a channel, for those that have a likelihood in terms of the cells of a table.

    A channel of one's own registers what its reports have to do with the cells, such as
    :class:`~bosket.models.weighed.Weighed`, the chance of each report for each cell.
    """
    raise no_law(reports, model)


def no_law(reports: Collected, model: LogLinear) -> ParameterError:
    """For reports that no law can be fitted to."""
    return ParameterError(
        f"The 'model' parameter must be None for reports of {reports.plan.mechanism}: no law can be fitted to them.",
        parameter="model",
        value=model,
        hint="Reports of Ask, of GammaDiagonal and, of a table, of Flip can be read through a law.",
    )


def checked_model(model: Model) -> LogLinear | None:
    """The law that a user names; that of "auto" where the mechanism is made for one."""
    if model is None or isinstance(model, LogLinear):
        return model
    if model not in ("auto", "log-linear"):
        raise ParameterError(
            f"The 'model' parameter must be 'auto', 'log-linear', a LogLinear or None, got {shown(model)}.",
            parameter="model",
            value=model,
        )
    return LogLinear()


def _refuse_many_strata(reports: Collected, items: npt.NDArray[np.int32] | None, limit: int) -> None:
    n_strata = reports.n_ranges
    n_items = len(reports.domain) if items is None else len(items)
    if n_strata > 1 and n_strata * n_items > limit:
        raise too_many_counts("single items", n_items, n_strata, limit, level=1)
    n_columns = n_items if items is None else 64 * len(np.unique(items // 64))  # items come in words
    if n_strata > 1 and n_strata * n_columns > max(limit, MAX_COUNTS):
        raise too_many_counts("single items", n_columns, n_strata, max(limit, MAX_COUNTS), level=1)


def provenance_of(reports: Collected) -> Provenance:
    """Where reports come from."""
    return Provenance(
        mechanism=str(reports.plan.mechanism),
        unit=reports.plan.unit,
        plan=reports.plan.digest,
        guarantee=reports.guarantee,
        randomness=reports.randomness,
        support_of=reports.plan.support_of,
    )


def exact_without_reports(domain: Domain, n_records: int) -> Evidence:
    """Exact evidence for results of raw records, which answers from what was kept."""
    return LinearEvidence(IdentityChannel(domain), {0: n_records})
