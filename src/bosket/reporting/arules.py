"""Columns under the names that R's arules gives them: lhs, rhs, coverage, oddsRatio.

The names of measures stand in the catalogue; a name that it does not give stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bosket.measures import CATALOGUE

if TYPE_CHECKING:
    import pandas as pd

_SIDES = {"antecedents": "lhs", "consequents": "rhs"}
_ENDINGS = ("_stderr", "_low", "_high", "_bias")  # of the errors of a measure, which arules does not have
_WHOLE = 1e-6  # an exact count is this near to a whole number


def arules_names(columns: Iterable[str]) -> dict[str, str]:
    """From a column to its name in arules, for the sides and measures that arules knows."""
    return {name: known for name in columns if (known := _arules(name)) is not None}


def to_arules(frame: pd.DataFrame) -> pd.DataFrame:
    """Rules in the vocabulary of arules, with its count: the estimated number of records behind a rule.

    An error or a bound keeps its ending: ``odds_ratio_low`` becomes ``oddsRatio_low``.  Cautions speak of the measures
    by these names too.
    """
    renamed = frame.rename(columns={name: _with_ending(name) for name in frame.columns})
    n_records = frame.attrs["about"].get("n_records")
    if "count" not in renamed and "support" in renamed and n_records is not None:
        count = renamed["support"].to_numpy(float) * n_records
        whole = np.rint(count)
        if frame.attrs["about"].get("mechanism") is None and np.all(np.abs(count - whole) < _WHOLE):
            count = whole.astype(np.int64)
        renamed.insert(list(renamed.columns).index("support") + 1, "count", count)
    if "caution" in renamed:
        renamed["caution"] = [", ".join(map(_with_ending, text.split(", "))) for text in renamed["caution"]]
    renamed.attrs = frame.attrs
    return renamed


def _arules(name: str) -> str | None:
    record = CATALOGUE.get(name)
    return _SIDES.get(name) if record is None else record.arules


def _with_ending(name: str) -> str:
    for ending in ("", *_ENDINGS):
        known = _arules(name.removesuffix(ending)) if name.endswith(ending) else None
        if known is not None:
            return known + ending
    return name
