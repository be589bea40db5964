"""Which rules are wanted, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from bosket.checks import check_choice, check_integer, check_not_negative, check_probability, check_real
from bosket.errors import ParameterError
from bosket.measures import MLXTEND, Measure, measure, measures
from bosket.measures.inference import check_interval
from bosket.mining.rules.significance import ALTERNATIVES
from bosket.mining.rules.template import RuleTemplate
from bosket.statistics.estimates import normal_quantile
from bosket.statistics.multiple import METHODS


@dataclass(frozen=True)
class Query:
    """Which rules are wanted, and what is to be said of them; see :func:`association_rules`."""

    metric: str
    min_threshold: float
    measures: str | Iterable[str] | None
    template: RuleTemplate
    top: int | None
    sort_by: str
    min_improvement: float | None
    interval: str
    level: float
    sampling: bool
    bias: bool
    fcr: bool
    adjust: str | None
    alpha: float | None
    alternative: str
    tests: int | None
    max_rules: int

    def __post_init__(self) -> None:
        check_real("min_threshold", self.min_threshold)
        check_choice("sort_by", self.sort_by, ("low", "estimate"))
        check_interval(self.interval)
        check_integer("max_rules", self.max_rules, least=1)
        normal_quantile(self.level)
        for name in ("top", "tests"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least=1)
        if self.min_improvement is not None:
            check_not_negative("min_improvement", self.min_improvement)
        if self.alpha is not None:
            check_probability("alpha", self.alpha)
            object.__setattr__(self, "adjust", self.adjust or "by")
        if self.adjust is not None:
            object.__setattr__(self, "adjust", check_choice("adjust", str(self.adjust).lower(), METHODS))
        check_choice("alternative", self.alternative, ALTERNATIVES)
        if not isinstance(self.template, RuleTemplate):
            raise ParameterError(
                f"The 'template' parameter must be a RuleTemplate, got a {type(self.template).__name__}.",
                parameter="template",
                value=self.template,
            )
        if self.by.is_loss:
            raise ParameterError(
                f"The 'metric' parameter must be a measure of which more is better, and of {self.by.name} less is.",
                parameter="metric",
                value=self.metric,
                hint="Name it among the measures, and select by another.",
            )
        chosen = {found.name: found for found in map(measure, MLXTEND)}
        if self.measures is not None:
            chosen = {found.name: found for found in measures(self.measures)}
        chosen.setdefault(self.by.name, self.by)
        object.__setattr__(self, "measures", tuple(chosen.values()))

    @cached_property
    def by(self) -> Measure:
        """The measure to select and to order by."""
        return measure(self.metric)

    @property
    def chosen(self) -> tuple[Measure, ...]:
        return self.measures  # type: ignore[return-value]  # __post_init__ turned the names into measures
