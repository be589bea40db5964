"""Which items depend on each other, found without the parameters of the randomization.

Guo, Guo and Wu (PKDD 2007), section 4, Result 1: of two items that are randomized each on its own, by any 2x2 channels,
reports are never more dependent than the original records,

    phi_reports = phi_original corr(A, A') corr(B, B'),      |corr| <= 1

and chi-square = n phi^2; mutual information and G2 follow from data processing.  So whatever dependence reports show,
the original has too, and at least as much of it, whether the coins are known or not.  Three limits belong to this:

    in absolute value   an item that is turned around more often than not (keep < 1/2) turns the sign of phi
    each on its own     an operator that randomizes items together can make independent ones depend on each other:
                        gamma-diagonal, cut-and-paste, select-a-size and the like are refused; so do coins that differ
                        from person to person, and sampling long records down before they are randomized
    in the population   "no risk to introduce false positive patterns" (the paper's section 6) is about the law that
                        reports follow; a test on a sample of them is wrong as often as its level says, hence p-values
                        adjusted for the number of tests

Reports are independent draws from one law, if each is of another person: the p-values count the sampling of people and
the coins at once.  Nothing here looks at the channel's parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket._version import __version__
from bosket.checks import check_integer, check_not_text
from bosket.errors import DataError
from bosket.evidence import Evidence, EvidenceSource, Provenance, as_source, evidence_of
from bosket.mining.candidates import number_of_pairs, pairs_of, too_many
from bosket.mining.pair_tests import MEASURES, Criteria, Pairs, frame_of
from bosket.progress import Meter, Progress, counting_work

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

_OWN_COINS = "every item is randomized on its own, by the same coins for everyone, and each report is of another person"
_VOUCHED = (
    "the word of whoever gave the data: items were not randomized, or every item on its own by the same coins for "
    "everyone; each record is of another person"
)


def dependent_pairs(
    data: EvidenceSource,
    *,
    items: Iterable[Hashable] | None = None,
    measures: Iterable[str] = MEASURES,
    level: float = 0.95,
    adjust: str = "by",
    symmetric: bool = False,
    min_expected: float = 5.0,
    max_p: float | None = None,
    max_candidates: int = 10_000_000,
    on_progress: Progress | None = None,
) -> pd.DataFrame:
    """All pairs of items with the evidence that they depend on each other, straight from randomized records.

    data            reports of Flip; or baskets or a table, raw or randomized elsewhere with parameters nobody told.
                    How those came about cannot be seen: you vouch that items were not randomized, or every item on its
                    own and by the same coins for everyone
    items           look at these only (all, if not given)
    measures        which to list, of those that randomization cannot raise
    level           of ``correlation_at_least``
    adjust          for the number of pairs: "by", "bh", "holm", "bonferroni" or "none" (``bosket.statistics.multiple``)
    symmetric       you promise that 1s and 0s of an item are kept alike, which lets more measures in
    min_expected    when chi-square gives way to Fisher's test; :func:`bosket.measures.dependence_tests.independence`
    max_p           list pairs with an adjusted p-value of at most this (all, if not given)
    max_candidates  refuse to look at more pairs
    on_progress     called with a LevelProgress as the work goes on

    Columns: antecedents and consequents (a frozenset of one label each, in the order of the domain), the observed
    supports of both together and of each, the measures of the reports as computed, and

    correlation_at_least  lower confidence limit, one-sided, for |correlation| of the reports and so of the original; 0
                          where independence is not excluded at 1 - level.  For a pair named in advance: of many, the
                          strongest are also the luckiest
    p_value               of independence: Pearson's chi-square, or Fisher's exact test
    p_adjusted            for all pairs looked at, those not listed too
    test                  "chi-square" or "Fisher"

    Sorted by p-value, then by chi-square.  Values of one attribute of a table exclude each other, which needs no test:
    such pairs are left out.

    >>> import bosket as bk
    >>> baskets = bk.Baskets([["tea", "milk"]] * 300 + [["coffee"]] * 500 + [["tea"]] * 200)
    >>> reports = bk.Flip(keep=0.8).randomize(baskets, rng=bk.Seeded(7))
    >>> for _, pair in dependent_pairs(reports, max_p=0.01).iterrows():
    ...     print(*pair["antecedents"], *pair["consequents"], round(pair["correlation_at_least"], 2))
    coffee tea 0.33
    milk tea 0.14
    coffee milk 0.14
    """
    how = Criteria.checked(measures, level, adjust, symmetric, min_expected, max_p)
    evidence, chosen, number = _looked_at(data, items, max_candidates)
    pairs = _count(evidence, chosen, number, on_progress)
    about = {"version": __version__, "n_records": evidence.n_records, **evidence.provenance.to_json()}
    return frame_of(pairs, how, number, {**about, "rests_on": _rests_on(evidence.provenance)}, on_progress)


def pairs_in(
    data: EvidenceSource,
    *,
    items: Iterable[Hashable] | None = None,
    max_candidates: int = 10_000_000,
    on_progress: Progress | None = None,
) -> Pairs:
    """All pairs of the items with what is counted of them, in the order of the domain; see :func:`dependent_pairs`."""
    evidence, chosen, number = _looked_at(data, items, max_candidates)
    return _count(evidence, chosen, number, on_progress)


def _looked_at(
    data: EvidenceSource, items: Iterable[Hashable] | None, max_candidates: int
) -> tuple[Evidence, npt.NDArray[np.int32], int]:
    """The evidence about the items asked for, their ids, and the number of their pairs; refused where it has no say."""
    data = as_source(data, to="test")
    chosen = np.array(
        range(len(data.domain)) if items is None else data.domain.itemset(check_not_text(items)), np.int32
    )
    number = number_of_pairs(chosen, data.domain.groups)
    limit = check_integer("max_candidates", max_candidates, least=1)
    if number > limit:
        problem = too_many(2, number, limit)
        problem.hint = "Name the 'items' to look at, or raise max_candidates."
        raise problem
    evidence = evidence_of(data, chosen)
    _check_apart(evidence.items_apart, str(evidence.provenance.mechanism))
    return evidence, chosen, number


def _count(evidence: Evidence, chosen: npt.NDArray[np.int32], number: int, on_progress: Progress | None) -> Pairs:
    left, right = pairs_of(chosen, evidence.domain.groups)
    rows = np.stack([chosen[left], chosen[right]], axis=1)
    singles = evidence.shown(chosen[:, None])
    meter = Meter(on_progress, 2, "counting", number, work=counting_work(number, evidence.n_records))
    both = evidence.shown(rows, on_progress=meter)
    return Pairs(evidence.domain, rows, both, singles[left], singles[right], evidence.n_records)


def dependent_pairs_of(
    found: FrequentItemsets,
    *,
    measures: Iterable[str] = MEASURES,
    level: float = 0.95,
    adjust: str = "by",
    symmetric: bool = False,
    min_expected: float = 5.0,
    max_p: float | None = None,
) -> pd.DataFrame:
    """As :func:`dependent_pairs`, for the pairs that a search kept, from what it counted.

    p-values are adjusted for all pairs of the items kept, which were its candidates; a pair that was not kept counts as
    p = 1, so what is claimed holds although pairs were selected by their support.  (That selection used the
    parameters; the numbers here do not.)
    """
    how = Criteria.checked(measures, level, adjust, symmetric, min_expected, max_p)
    _check_apart(found.evidence.items_apart, str(found.provenance.mechanism))
    rests_on = _rests_on(found.provenance)
    if found.search.max_size == 1:
        raise DataError("No pairs were looked for: the search stopped at itemsets of one item.", hint="Set max_size=2.")
    counts = np.zeros(len(found.domain), np.int64)
    kept = np.empty(0, np.int32)
    rows, both = np.empty((0, 2), np.int32), np.empty(0, np.int64)
    if found.levels:
        kept = found.levels[0].items[:, 0]
        counts[kept] = found.levels[0].shown
    if len(found.levels) > 1:
        rows, both = found.levels[1].items, found.levels[1].shown
    pairs = Pairs(found.domain, rows, both, counts[rows[:, 0]], counts[rows[:, 1]], found.n_records)
    return frame_of(pairs, how, number_of_pairs(kept, found.domain.groups), {**found.about, "rests_on": rests_on})


def _rests_on(provenance: Provenance) -> str:
    """What the claim rests on, in words; refused where it would be false."""
    if provenance.mechanism is None:
        return _VOUCHED
    unit = provenance.unit
    if unit is None:
        return _OWN_COINS
    if unit.longer == "sample":
        raise DataError(
            "Dependence in these reports proves none in the original: long records were sampled down before they were "
            "randomized, which makes independent items depend on each other.",
            hint="Only plans that refuse long records can be analysed without the parameters.",
        )
    if unit.reports > 1:
        return (
            f"{_OWN_COINS}; the plan allows for {unit.reports} of a person, and as far as these are alike p-values "
            "are too small"
        )
    return _OWN_COINS


def _check_apart(items_apart: bool, mechanism: str) -> None:
    if not items_apart:
        raise DataError(
            f"Dependence in reports of {mechanism} proves none in the original: it randomizes the items of a record "
            "together, which makes independent items depend on each other.",
            hint="Only reports of Flip can be analysed without the parameters; with them, mine and rules can.",
        )
