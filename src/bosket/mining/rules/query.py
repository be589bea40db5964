"""Which rules are wanted, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from bosket.checks import check_choice, check_integer, check_not_negative, check_probability, check_real
from bosket.errors import ParameterError
from bosket.estimates import normal_quantile
from bosket.measures import MLXTEND, Measure, measure
from bosket.measures.inference import check_interval
from bosket.measures.multiple import METHODS
from bosket.mining.rules.significance import ALTERNATIVES
from bosket.mining.rules.template import RuleTemplate


@dataclass(frozen=True)
class Query:
    """Which rules are wanted, and what is to be said of them; see :func:`association_rules`."""

    metric: str = "confidence"
    min_threshold: float = 0.8
    measures: Iterable[str] | None = None
    template: RuleTemplate = field(default_factory=RuleTemplate)
    top: int | None = None
    sort_by: str = "low"
    min_improvement: float | None = None
    interval: str = "default"
    level: float = 0.95
    sampling: bool = False
    bias: bool = False
    fcr: bool = False
    adjust: str | None = None
    alpha: float | None = None
    alternative: str = "greater"
    tests: int | None = None
    max_rules: int = 20_000_000

    def __post_init__(self) -> None:
        if isinstance(self.measures, str):
            raise ParameterError(
                "The 'measures' parameter must be names of measures, got a string.",
                parameter="measures",
                value=self.measures,
                hint=f"Write ['{self.measures}'] rather than '{self.measures}'.",
            )
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
            check_choice("adjust", self.adjust, METHODS)
        check_choice("alternative", self.alternative, ALTERNATIVES)
        if not isinstance(self.template, RuleTemplate):
            raise ParameterError(
                f"The 'template' parameter must be a RuleTemplate, got a {type(self.template).__name__}.",
                parameter="template",
                value=self.template,
            )
        named = MLXTEND if self.measures is None else self.measures
        chosen = {found.name: found for found in (measure(name) for name in named)}
        chosen.setdefault(self.by.name, self.by)
        object.__setattr__(self, "measures", tuple(chosen.values()))

    @cached_property
    def by(self) -> Measure:
        """The measure to select and to order by."""
        return measure(self.metric)

    @property
    def chosen(self) -> tuple[Measure, ...]:
        return self.measures  # type: ignore[return-value]  # __post_init__ turned the names into measures
