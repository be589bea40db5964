"""Reports as a dishonest person sends them: picked, not drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

import bosket as bk


def sent(plan: bk.Plan, reports: Sequence[Iterable[object]], *, size: int | None = None) -> bk.Reports:
    """Reports that show these items; with ``size``, they state it as that of their record."""
    shown = bk.Baskets([list(report) for report in reports], items=plan.domain.labels)
    strata = None if size is None else np.full(len(shown), size, np.int32)
    return bk.Reports(plan, shown.to_bits(), strata=strata, randomness="secure")
