"""Every interest measure of a rule A => C that its 2x2 table decides, by name.

Names are mlxtend's where mlxtend has the measure, and it then behaves as there.  Guo's Table 2 is covered whole, Tan,
Kumar and Srivastava's list too, and of arules 1.7 all but what needs more than the table: boost, improvement and LIC
compare a rule with its sub-rules, stdLift depends on the thresholds of the search, crossSupportRatio on single items,
and table is no measure.  Where arules computes something else under a name, ``arules`` of the record is None and its
formula says so: collectiveStrength, casualConfidence, casualSupport, leastContradiction, mutualInformation.

Tables with empty cells are decided once.  mlxtend's conventions hold for its measures: conviction is infinite for a
rule without exceptions, Zhang's metric and certainty are 0 where their denominator is.  For the others: the limit
where there is one, infinity where the value outgrows all bounds, not a number where the table says nothing, as for the
confidence of a rule whose A never occurs.  A side that all records have, or none, has no correlation and no chi-squared
statistic, as in R, NumPy and SciPy; it shares no information, so g2 is 0.

Which measures never grow, in absolute value, when A and C are randomized apart: Guo's Result 1, enlarged.  1 stays 1
with probability p, 0 becomes 1 with probability r, d = |p - r|, a prime marks what is randomized, and D = x - a c.
tests/measures/test_randomization.py checks each line, and that the other measures do grow.

- D' = D (p_A - r_A) (p_C - r_C): leverage.  As d a (1 - a) <= a' (1 - a'), all the more with d^2: the difference of
  confidence, gini, correlation and chi-squared.
- Data processing: mutual information and g2.  Even I(A'; C) <= d_A I(A; C), since the entropy of C is concave in the
  mixture of the two rows; and H(A') >= d_A H(A).  So the information may be divided by either entropy or the smaller.
- |log(odds ratio)| is Hilbert's distance of the two rows, which no channel lengthens (Birkhoff 1957): Yule's Q and Y.
- If p >= r, as any sensible mechanism has it, a' >= d a and 1 - a' >= d (1 - a).  So D may be divided by a factor of A,
  of C or of both, and by convexity Zhang's metric and the J-measure stay too: ``IF_UPRIGHT``.  To turn an item round is
  to exchange a and 1 - a; rld takes the larger of both quotients and does not mind.
- Goodman and Kruskal's lambda: A' avoids no more errors than A; flips of C, if symmetric, add to both terms alike.

Result 1 names correlation, mutual information over H(A), g2 and chi-squared, and says that no other measure of Table 2
has the property.  Leverage has it, and for p >= r certainty, added value, the J-measure and the residues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from bosket.errors import ParameterError
from bosket.measures import (
    of_agreement,
    of_dependence,
    of_exceptions,
    of_information,
    of_prediction,
    of_support,
    of_tests,
)
from bosket.measures.measure import Measure

SIDES = ("antecedent support", "consequent support")

MLXTEND = (
    "support",
    "confidence",
    "lift",
    "representativity",
    "leverage",
    "conviction",
    "zhangs_metric",
    "jaccard",
    "certainty",
    "kulczynski",
)
"""The columns of mlxtend's association_rules that follow the supports of the two sides, in its order."""

MODULES = (of_support, of_prediction, of_exceptions, of_dependence, of_agreement, of_information, of_tests)

_RECORDS: dict[str, Measure] = {record.name: record for module in MODULES for record in module.RECORDS}

CATALOGUE: dict[str, Measure] = {name: _RECORDS[name] for name in (*SIDES, *MLXTEND)} | _RECORDS
"""All measures by canonical name: mlxtend's twelve in mlxtend's order, then the others, kind by kind."""

IF_UPRIGHT = (
    "added_value",
    "certainty",
    "certainty_factor",
    "implication_index",
    "j_measure",
    "kappa",
    "standardized_residue",
    "varying_liaison",
    "zhangs_metric",
)
"""Measures that never grow under randomization if of both items 1s stay 1 at least as often as 0s become 1."""


def _key(name: str) -> str:
    return re.sub(r"[\s_'’-]", "", name).lower()


def names(record: Measure) -> tuple[str, ...]:
    """Every name that a measure answers to: its own, its aliases, and that of arules."""
    return tuple(dict.fromkeys((record.name, *record.aliases, record.arules or record.name)))


_BY_KEY = {_key(name): record for record in CATALOGUE.values() for name in names(record)}


_NOT_HERE = {"boost", "improvement", "stdlift", "lic", "table", "crosssupportratio"}


def measure(name: Any, *, parameter: str = "metric") -> Measure:
    """The measure of that name, alias or arules name; case, spaces, hyphens, underscores and apostrophes do not matter.

    >>> measure("Piatetsky-Shapiro").name
    'leverage'
    >>> measure("oddsRatio").formula.split(";")[0]
    'pi11 pi00 / (pi10 pi01)'
    """
    key = _key(name) if isinstance(name, str) else ""
    if key in _BY_KEY:
        return _BY_KEY[key]
    close = get_close_matches(key, _BY_KEY, n=1)
    if key in _NOT_HERE:
        hint = "The table of a rule does not decide it; it looks at other rules or limits too."
    else:
        meant = f"Did you mean {_BY_KEY[close[0]].name!r}? " if close else ""
        hint = f"{meant}bosket.measures.CATALOGUE lists them all."
    raise ParameterError(
        f"The '{parameter}' parameter must name a measure, got {name!r}.", parameter=parameter, value=name, hint=hint
    )


def measures(names: str | Iterable[str]) -> list[Measure]:
    """Several by name: a list, text with commas between them, or "all" (but for the supports of the sides).

    >>> [record.name for record in measures("phi, PS")]
    ['correlation', 'leverage']
    """
    if isinstance(names, str):
        if names.strip().lower() == "all":
            return [record for name, record in CATALOGUE.items() if name not in SIDES]
        names = names.split(",")
    if not isinstance(names, Iterable):
        raise ParameterError(
            f"The 'measures' parameter must be names of measures, got {names!r}.", parameter="measures", value=names
        )
    return list({record.name: record for record in (measure(name, parameter="measures") for name in names)}.values())
