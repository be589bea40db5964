"""Association rules of a release: post-processing of what was published, at no cost in privacy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bosket.checks import check_choice, check_integer, check_real
from bosket.curator.rule_intervals import BOUNDED, Ends, EndsOfRules, ReleasedPlaces
from bosket.data.domain import as_objects
from bosket.errors import ParameterError, TooManyRulesError
from bosket.limits import reaches
from bosket.measures.catalogue import measure, measures
from bosket.measures.measure import Measure
from bosket.measures.table import Contingency
from bosket.mining.rules import RuleTemplate
from bosket.progress import Meter, Progress
from bosket.threads import slices

if TYPE_CHECKING:
    from bosket.curator.release import Release

_AT_ONCE = 1 << 10  # rules that are measured before somebody hears of it
_ORDERS = {"low": "the low end of the metric's interval, the surest first", "estimate": "the metric"}


@dataclass(frozen=True)
class RuleQuery:
    """Which rules of a release are wanted; valid from birth."""

    metric: str = "confidence"
    min_threshold: float = 0.8
    measures: str | Iterable[str] | None = None
    template: RuleTemplate | None = None
    top: int | None = None
    sort_by: str = "low"
    level: float = 0.95
    max_rules: int = 1_000_000

    def __post_init__(self) -> None:
        check_real("min_threshold", self.min_threshold)
        check_choice("sort_by", self.sort_by, _ORDERS)
        check_integer("max_rules", self.max_rules, least=1)
        if self.top is not None:
            check_integer("top", self.top, least=1)
        if self.template is not None and not isinstance(self.template, RuleTemplate):
            raise ParameterError(
                f"The 'template' parameter must be a RuleTemplate, got a {type(self.template).__name__}.",
                parameter="template",
                value=self.template,
            )
        if self.measures is not None and not isinstance(self.measures, str):
            object.__setattr__(self, "measures", tuple(self.measures))  # it may be gone through once only
        assert [self.by, *self.chosen]  # or they are refused

    @property
    def by(self) -> Measure:
        """What rules are selected by."""
        return _bounded(measure(self.metric), "metric")

    @property
    def chosen(self) -> list[Measure]:
        """The measures to give."""
        return [_bounded(one, "measures") for one in measures(BOUNDED if self.measures is None else self.measures)]


def _bounded(one: Measure, parameter: str) -> Measure:
    if one.name in BOUNDED:
        return one
    raise ParameterError(
        f"The '{parameter}' parameter must be of measures that have intervals in a release, {one.name} has none.",
        parameter=parameter,
        value=one.name,
        hint=f"These have: {', '.join(BOUNDED)}.",
    )


def rules_of(release: Release, query: RuleQuery, on_progress: Progress | None = None) -> pd.DataFrame:
    """All rules whose three supports were released and whose metric reaches the threshold, as a frame."""
    value = release.consistent
    places = _splits(release, query)
    ends_of = release.ends_of_rules(query.level, on_progress=on_progress)
    both, antecedent, consequent = (value[place] for place in places)
    table = Contingency.of_counts(both, antecedent, consequent, 1.0)
    metric = query.by(table)
    passed = np.flatnonzero(reaches(metric, query.min_threshold))
    is_by_low = query.sort_by != "estimate"
    n_shown = len(passed) if query.top is None else min(query.top, len(passed))
    meter = Meter(on_progress, 0, "measuring", is_by_low * len(passed) + n_shown * len(query.chosen))
    measured = _Measured(ends_of, meter)
    key = measured(query.by, [at[passed] for at in places]).low if is_by_low else metric[passed]
    chosen = passed[np.lexsort((-metric[passed], -key))][: query.top]
    names = as_objects(release.names)
    columns: dict[str, Any] = {
        "antecedents": names[places[1][chosen]],
        "consequents": names[places[2][chosen]],
        "antecedent support": antecedent[chosen],
        "consequent support": consequent[chosen],
    }
    columns |= {one.name: one(table)[chosen] for one in query.chosen}
    for one in query.chosen:
        low, high = measured(one, [at[chosen] for at in places])
        columns |= {f"{one.name}_low": low, f"{one.name}_high": high}
    result = pd.DataFrame(columns)
    result.attrs["about"] = {
        **release.about,
        "metric": query.by.name,
        "min_threshold": query.min_threshold,
        "passed": len(passed),
        "level": query.level,
        "sort_by": query.sort_by,
        "intervals": release.intervals,
    }
    return result


class _Measured:
    """Intervals of rules, some at a time, so that it can be told how far they are."""

    def __init__(self, ends_of: EndsOfRules, meter: Meter) -> None:
        self._ends_of, self._meter, self._done = ends_of, meter, 0

    def __call__(self, measure: Measure, places: list[ReleasedPlaces]) -> Ends:
        parts = [Ends(np.empty(0), np.empty(0))]
        for start, stop in slices(len(places[0]), _AT_ONCE):
            parts.append(self._ends_of(measure, [place[start:stop] for place in places]))
            self._done += stop - start
            self._meter(self._done)
        return Ends(*map(np.concatenate, zip(*parts, strict=True)))


def _splits(release: Release, query: RuleQuery) -> list[ReleasedPlaces]:
    """The places of both sides together, of the antecedent and of the consequent, a rule each.

    Sides that were not released are left out: of the most frequent itemsets a subset may be missing.
    """
    shape = (query.template or RuleTemplate()).on(release.domain)
    levels = release.rows
    number = sum(len(rows) * shape.splits(rows.shape[1]) for rows in levels)
    if number > query.max_rules:
        raise TooManyRulesError(
            f"There are up to {number:,} rules among the itemsets released, more than {query.max_rules:,}.",
            number=number,
            limit=query.max_rules,
            hint="Allow fewer items on a side with a template, or raise max_rules.",
        )
    known = {
        itemset: place for place, itemset in enumerate(row for rows in levels for row in map(tuple, rows.tolist()))
    }
    found: list[tuple[int, int, int]] = []
    for rows in levels:
        masks = shape.antecedents(rows.shape[1])
        allowed = shape.allowed(rows, masks)
        for at, row in enumerate(map(tuple, rows.tolist())):
            for mask in (masks if allowed is None else masks[allowed[at]]).tolist():
                sides = [tuple(item for bit, item in enumerate(row) if mask >> bit & 1 == is_in) for is_in in (1, 0)]
                if sides[0] in known and sides[1] in known:
                    found.append((known[row], known[sides[0]], known[sides[1]]))
    return list(np.array(found, np.int64).reshape(len(found), 3).T)
