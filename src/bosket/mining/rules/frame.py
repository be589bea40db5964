"""Association rules with errors, as a frame.

Rules are made in pieces on all cores: the splits of some itemsets, those that the template allows and whose metric
reaches the threshold, with their covariance.  Then they are ordered, and every measure is computed in the final order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.data.domain import as_objects
from bosket.errors import ParameterError
from bosket.evidence import Errors, Selection
from bosket.limits import keeps_to
from bosket.mining.rules.passing import Passed, generate, tables_of
from bosket.mining.rules.query import Query
from bosket.mining.rules.significance import check_testable, tests_in_family
from bosket.mining.rules.splits import Families, Rules
from bosket.mining.rules.template import RuleTemplate, Shape
from bosket.mining.support_of import support_of_column
from bosket.progress import Meter, Progress
from bosket.statistics.multiple import adjust as adjusted
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

_CHUNK = 1 << 15  # rules evaluated at once: their arrays stay in the processor's cache
_WORD = 64  # measures to a word of doubts


def association_rules(  # what users of such functions expect to write
    found: FrequentItemsets,
    *,
    metric: str = "confidence",
    min_threshold: float = 0.8,
    measures: str | Iterable[str] | None = None,
    template: RuleTemplate | None = None,
    top: int | None = None,
    sort_by: str = "low",
    min_improvement: float | None = None,
    interval: str = "default",
    level: float = 0.95,
    sampling: bool = False,
    bias: bool = False,
    fcr: bool = False,
    adjust: str | None = None,
    alpha: float | None = None,
    alternative: str = "greater",
    tests: int | None = None,
    max_rules: int = 20_000_000,
    on_progress: Progress | None = None,
) -> pd.DataFrame:
    """All rules A => C from frequent itemsets whose ``metric`` is at least ``min_threshold``.

    metric, min_threshold   a measure of the catalogue (``bosket.measures.CATALOGUE``; mlxtend's, arules' and other
                            names will do) and its least value: "confidence" and 0.8
    measures                the measures to give; mlxtend's ten unless named
    template                a :class:`RuleTemplate`: items and sizes allowed on either side
    top                     the number of rules to give, the best ones
    sort_by                 "low": the low end of the metric's interval, the surest first, and last those whose interval
                            of the metric carries a caution; or "estimate"
    min_improvement         leave out rules whose confidence does not exceed that of every more general rule with the
                            same consequent (the one without antecedent included) by more than this
    interval                "default": each measure on the scale where it is closest to normal; "normal"; "chebyshev"
    level, sampling         of the intervals; errors cover the coins alone, or with ``sampling`` the drawing of people
    bias                    give the second-order bias of each measure too, as m_bias
    fcr                     widen the intervals for selection: of R rules shown among m looked at, at level
                            1 - (1 - level) R / m each (Benjamini and Yekutieli 2005); then of the intervals shown a
                            share of at most 1 - level is expected to miss, though the best looking rules were chosen
    adjust, alpha           p_value and p_adjusted: that A and C are independent, counting drawing and coins, adjusted
                            for all rules looked at: "by" (Benjamini and Yekutieli, under any dependence), "bh"
                            (Benjamini and Hochberg), "holm", "bonferroni" or "none"; with ``alpha``, only rules with
                            p_adjusted <= alpha are kept
    alternative             "greater" (more often together than by chance), "less" or "two-sided"
    tests                   how many hypotheses there were, if not all that were looked at
    max_rules               refuse to make more; ``top`` keeps memory small whatever their number
    on_progress             called with a LevelProgress of size 0 as the work goes on

    Columns: mlxtend's names first (antecedents, consequents, antecedent support, consequent support, then the
    measures, under their own names: ``measure("phi").name`` is "correlation"), then for each measure m: m_stderr,
    m_low, m_high, and ``caution``, which names the measures whose interval should not be trusted in this row, separated
    by commas: what they rest on is less than four standard errors above 0, or few reports or people decide, or the
    measure is not smooth there.  Exact data have no errors, and none of these columns without ``sampling``.
    Where records may have been cut before they were randomized, ``support_of`` says what supports are of.

    Values are not clipped, ratios of estimates are slightly biased, and nothing but ``fcr`` corrects for selection: of
    many rules the best looking are the luckiest.  A ratio whose denominator is less than two standard errors above 0
    means nothing: it is NaN then, and such a rule passes no threshold on it.  A standard error is NaN where its
    variance estimate came out negative.
    """
    query = Query(
        metric=metric,
        min_threshold=min_threshold,
        measures=measures,
        template=RuleTemplate() if template is None else template,
        top=top,
        sort_by=sort_by,
        min_improvement=min_improvement,
        interval=interval,
        level=level,
        sampling=sampling,
        bias=bias,
        fcr=fcr,
        adjust=adjust,
        alpha=alpha,
        alternative=alternative,
        tests=tests,
        max_rules=max_rules,
    )
    _check(found, query)
    return _frame(found, query, on_progress)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The rules to show, of those that passed, and what multiple testing says of them."""

    order: npt.NDArray[np.int64]
    number: int
    """Of rules that passed, significance included, before ``top``."""
    family: int
    """Of hypotheses; 0 where nothing asks for it."""
    p_adjusted: npt.NDArray[np.float64]
    level: float
    """Of each interval."""


def _frame(found: FrequentItemsets, query: Query, on_progress: Progress | None) -> pd.DataFrame:
    """Generate, judge, then compute the columns of what is shown."""
    shape = query.template.on(found.domain)
    source = Families(found)
    passed = generate(source, query, shape, on_progress)
    judged = _judge(found, query, shape, passed, on_progress)
    order = judged.order
    columns = _columns(source, query, passed.rules.take(order), judged.level, on_progress)
    if passed.p_value is not None:
        columns["p_value"], columns["p_adjusted"] = passed.p_value[order], judged.p_adjusted[order]
    columns |= support_of_column(found.provenance, len(order))
    frame = pd.DataFrame(columns, copy=False)
    frame.attrs["about"] = _about(found, query, passed.number, judged)
    return frame


def _judge(
    found: FrequentItemsets, query: Query, shape: Shape, passed: Passed, on_progress: Progress | None
) -> _Judged:
    family = 0
    p_adjusted = np.empty(0)
    if query.adjust is not None or query.fcr:
        family = tests_in_family(found, shape, on_progress) if query.tests is None else query.tests
    if query.adjust is not None:
        assert passed.p_value is not None
        p_adjusted = adjusted(passed.p_value, query.adjust, tests=family)
    order = passed.order
    if query.alpha is not None:
        order = order[keeps_to(p_adjusted[order], query.alpha)]
    number = passed.number if query.alpha is None else len(order)
    order = order[: query.top]
    level = query.level
    if query.fcr:
        level = 1 - (1 - level) * min(max(len(order), 1) / family, 1.0)
    return _Judged(order, number, family, p_adjusted, level)


def _about(found: FrequentItemsets, query: Query, passed: int, judged: _Judged) -> dict[str, Any]:
    return {
        **found.about,
        "metric": query.by.name,
        "min_threshold": query.min_threshold,
        "passed": passed,
        **({"alpha": query.alpha, "significant": judged.number} if query.alpha is not None else {}),
        "level": query.level,
        "sort_by": query.sort_by,
        "stderr": found.errors(query.sampling).value,
        **_about_intervals(query),
        **({"level_of_each": judged.level, "selection": Selection.WIDENED.value} if query.fcr else {}),
        **({"tests": judged.family} if judged.family else {}),
        **({"adjust": query.adjust, "alternative": query.alternative} if query.adjust else {}),
    }


def _check(found: FrequentItemsets, query: Query) -> None:
    """Refuse what these data cannot have."""
    if query.adjust is not None:
        check_testable(found)
    if query.by.gradient is None and not found.evidence.is_exact:
        raise ParameterError(
            f"The 'metric' parameter must be a measure that can be estimated; {query.by.name} is one of exact data.",
            parameter="metric",
            value=query.metric,
            hint="adjust='by' gives p-values that hold for reports.",
        )


def _about_intervals(query: Query) -> dict[str, Any]:
    """How the intervals of each measure were made, in words."""
    if query.interval != "default":
        return {"intervals": query.interval}
    return {"intervals": {measure.name: measure.scale.value for measure in query.chosen if measure.gradient}}


def _columns(
    source: Families, query: Query, rules: Rules, level: float, on_progress: Progress | None
) -> dict[str, Any]:
    n = source.found.n_records
    m = len(rules)
    names = as_objects([name for level in source.found.levels for name in source.found.names(level.items)])
    chosen = query.chosen
    columns: dict[str, Any] = {
        "antecedents": names[rules.antecedent],
        "consequents": names[rules.consequent],
        "antecedent support": rules.a / n,
        "consequent support": rules.c / n,
    }
    for measure in chosen:
        columns[measure.name] = np.empty(m)
    has_errors = source.found.errors(query.sampling) is not Errors.NONE
    for measure in chosen if has_errors else ():
        for part in ("stderr", "low", "high", *(["bias"] if query.bias else [])):
            columns[f"{measure.name}_{part}"] = np.empty(m)
    doubts = np.zeros((-(-len(chosen) // _WORD), m), np.uint64)  # a bit per measure, in as many words as it takes

    def chunk(part: tuple[int, int]) -> None:
        piece = slice(*part)
        some = rules.take(piece)
        tables = tables_of(some, n, sampling=query.sampling)
        if tables is None:
            table = some.table(n)
            for measure in chosen:
                columns[measure.name][piece] = measure(table)
            return
        for at, measure in enumerate(chosen):
            inferred = tables.infer(measure, level=level, interval=query.interval)
            for name, values in zip(("", "_stderr", "_low", "_high"), inferred[:4], strict=True):
                columns[measure.name + name][piece] = values
            if query.bias:
                columns[f"{measure.name}_bias"][piece] = tables.bias(measure)
            bit = np.uint64(1) << np.uint64(at % _WORD)
            doubts[at // _WORD, piece] |= np.where(inferred.is_trusted, np.uint64(0), bit)

    parts = list(slices(m, _CHUNK))
    parallel_map(chunk, parts, on_done=Meter(on_progress, 0, "measuring rules", len(parts)))
    if has_errors:
        columns["caution"] = _cautions(doubts, [measure.name for measure in chosen])
    return columns


def _cautions(doubts: npt.NDArray[np.uint64], names: list[str]) -> pd.Categorical[Any]:
    """Sets of doubtful measures as text, a category each; ``doubts`` has a row for every 64 measures."""
    kinds, codes = [0], np.zeros(doubts.shape[1], np.int64)
    for row, word in enumerate(doubts):
        more, places = np.unique(word, return_inverse=True)
        pairs, codes = np.unique(codes * len(more) + places, return_inverse=True)
        kinds = [kinds[pair // len(more)] | int(more[pair % len(more)]) << _WORD * row for pair in pairs.tolist()]
    texts = [", ".join(name for at, name in enumerate(names) if kind >> at & 1) for kind in kinds]
    return pd.Categorical.from_codes(codes, pd.Index(texts))
