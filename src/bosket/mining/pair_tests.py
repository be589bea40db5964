"""Pairs of items with the evidence that they depend on each other, as a frame: measures, p-values, a lower limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.checks import check_between, check_choice, check_not_negative, check_probability
from bosket.counting.base import ItemsetRows
from bosket.data import Domain
from bosket.data.domain import as_objects
from bosket.errors import ParameterError
from bosket.limits import keeps_to
from bosket.measures import Contingency, Measure, Monotone
from bosket.measures import measures as by_names
from bosket.measures.dependence_tests import WholeNumbers, chi_squares, correlation_at_least, independence
from bosket.progress import Meter, Progress
from bosket.statistics.multiple import METHODS
from bosket.statistics.multiple import adjust as adjusted

MEASURES = ("correlation", "mutual_information", "g2", "chi_squared")
"""Those of Result 1, which randomization cannot raise."""

CLAIM = (
    "items whose reports depend on each other do so in the original records, and there at least as much by these "
    "measures in absolute value; the sign of a correlation may have been turned"
)


@dataclass(frozen=True, slots=True)
class Criteria:
    """What to compute and when to claim."""

    measures: tuple[Measure, ...]
    level: float
    adjust: str
    symmetric: bool
    min_expected: float
    max_p: float | None

    @classmethod
    def checked(
        cls,
        measures: str | Iterable[str],
        level: float,
        adjust: str,
        symmetric: bool,
        min_expected: float,
        max_p: float | None,
    ) -> Criteria:
        records = {record.name: record for record in by_names(measures)}
        for record in records.values():
            _check_monotone(record, symmetric)
        return cls(
            tuple(records.values()),
            check_between("level", level, 0, 1),
            check_choice("adjust", adjust, METHODS),
            bool(symmetric),
            check_not_negative("min_expected", min_expected),
            None if max_p is None else check_probability("max_p", max_p),
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of items with the numbers of records that hold both, the one and the other."""

    domain: Domain
    rows: ItemsetRows
    both: WholeNumbers
    one: WholeNumbers
    other: WholeNumbers
    n: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: npt.NDArray[np.int64]) -> Pairs:
        return Pairs(self.domain, self.rows[chosen], self.both[chosen], self.one[chosen], self.other[chosen], self.n)

    @property
    def counts(self) -> tuple[WholeNumbers, WholeNumbers, WholeNumbers, int]:
        """As the functions of :mod:`bosket.measures.dependence_tests` take them."""
        return self.both, self.one, self.other, self.n


def frame_of(
    pairs: Pairs, how: Criteria, tests: int, about: dict[str, Any], on_progress: Progress | None = None
) -> pd.DataFrame:
    """A row for each pair, p-values adjusted for ``tests`` tests; ``about`` says where the pairs come from."""
    testing = Meter(on_progress, 2, "testing", 1.0)
    p, is_exact = independence(*pairs.counts, min_expected=how.min_expected, on_done=testing)
    p_adjusted = adjusted(p, how.adjust, tests=tests)
    chi_squared = chi_squares(*pairs.counts)
    order = np.lexsort((pairs.rows[:, 1], pairs.rows[:, 0], -chi_squared, p))
    if how.max_p is not None:
        order = order[keeps_to(p_adjusted[order], how.max_p)]
    pairs, p = pairs[order], p[order]
    labels = [frozenset([label]) for label in pairs.domain.labels]
    table = Contingency.of_counts(*pairs.counts)
    at_least = np.where(keeps_to(p, 1 - how.level), correlation_at_least(*pairs.counts, level=how.level), 0.0)
    frame = pd.DataFrame(
        {
            "antecedents": as_objects([labels[item] for item in pairs.rows[:, 0].tolist()]),
            "consequents": as_objects([labels[item] for item in pairs.rows[:, 1].tolist()]),
            "observed antecedent support": table.a,
            "observed consequent support": table.c,
            "observed support": table.pi11,
            **{record.name: record(table) for record in how.measures},
            "correlation_at_least": at_least,
            "p_value": p,
            "p_adjusted": p_adjusted[order],
            "test": as_objects(["Fisher" if exact else "chi-square" for exact in is_exact[order].tolist()]),
        }
    )
    frame.attrs["about"] = {
        **about,
        "measures": [record.name for record in how.measures],
        "level": how.level,
        "tests": tests,
        "adjust": METHODS[how.adjust],
        "max_p": how.max_p,
        "min_expected": how.min_expected,
        "symmetric": how.symmetric,
        "claim": CLAIM,
    }
    return frame


def _check_monotone(record: Measure, symmetric: bool) -> None:
    if record.monotone is Monotone.NO:
        problem = "because randomization may raise it, so that its value in reports says nothing about the original"
        names = ", ".join(MEASURES)
        hint = f"Take some of {names}."
    elif record.monotone is Monotone.SYMMETRIC and not symmetric:
        problem = "because randomization may raise it where 1s and 0s are kept with different probabilities"
        hint = "Say symmetric=True if you know that they are kept alike."
    else:
        return
    raise ParameterError(
        f"The 'measures' parameter must not name {record.name}, {problem}.",
        parameter="measures",
        value=record.name,
        hint=hint,
    )
