"""Evidence from what users hold: reports, tallies of them, raw records, or evidence itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bosket.counting.bitmaps import Bitmaps
from bosket.data import Baskets, Domain, Table
from bosket.data.formats.frames import is_frame
from bosket.errors import DataError
from bosket.evidence.base import Evidence
from bosket.evidence.linear import LinearEvidence
from bosket.evidence.provenance import Provenance
from bosket.mechanisms.identity import IdentityChannel
from bosket.reports import Reports
from bosket.tally import Tally

Source = Any
"""What supports can be estimated from: Reports, a Tally, Baskets, a Table, a frame of baskets, or Evidence."""

_HOW_TO_MAKE = "Baskets(records), Baskets.from_frame(frame) and Baskets.read(path) make baskets."


_DONE = {"mine": "mined", "estimate from": "estimated from", "test": "tested"}


def as_source(data: Any, *, to: str = "estimate from") -> Reports | Tally | Baskets | Evidence:
    """The data, a table as baskets of attribute=value; refused where nothing can be mined, estimated or tested."""
    if isinstance(data, Table):
        data = data.to_baskets()
    elif is_frame(data):
        data = Baskets.from_frame(data)
    if not isinstance(data, Reports | Tally | Baskets | Evidence):
        raise DataError(
            f"Reports, a Tally, Baskets, a Table or Evidence can be {_DONE[to]}, a {type(data).__name__} cannot.",
            hint=_HOW_TO_MAKE,
        )
    if data.n_records == 0:
        raise DataError(f"There are no records to {to}.")
    return data


def evidence_of(data: Source, items: npt.NDArray[np.int32] | None = None) -> Evidence:
    """What the data say about supports: of all items, or of those asked for, which takes less memory."""
    found = as_source(data)
    if isinstance(found, Evidence):
        return found
    if isinstance(found, Reports | Tally):
        return LinearEvidence(found.channel, found.counter(items), provenance=provenance_of(found))
    counter = Bitmaps.from_rows(found.to_bits(), found.n_items, items=items)
    return LinearEvidence(IdentityChannel(found.domain), counter)


def provenance_of(reports: Reports | Tally) -> Provenance:
    """Where reports come from."""
    return Provenance(
        mechanism=str(reports.plan.mechanism),
        unit=reports.plan.unit,
        plan=reports.plan.digest,
        guarantee=reports.guarantee,
        randomness=reports.randomness,
    )


def exact_without_reports(domain: Domain, n_records: int) -> Evidence:
    """Exact evidence for results of raw records, which answers from what was kept."""
    return LinearEvidence(IdentityChannel(domain), {0: n_records})
