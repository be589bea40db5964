"""Every measure once more, from the counts of a 2x2 table and by another road than the catalogue takes.

Plain Python: fractions where that is possible, conditional probabilities where the catalogue has cells, entropies where
it has logarithms of ratios, SciPy's tests, exact sums of binomial coefficients.  They raise ZeroDivisionError where
they are not defined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log10, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2_contingency, entropy, fisher_exact

Event = Callable[[bool, bool], bool]


@dataclass(frozen=True)
class Counts:
    """How many records have A and C, A alone, C alone, neither."""

    n11: int
    n10: int
    n01: int
    n00: int

    @property
    def n(self) -> int:
        return self.n11 + self.n10 + self.n01 + self.n00

    def number(self, event: Event) -> int:
        cells = {(True, True): self.n11, (True, False): self.n10, (False, True): self.n01, (False, False): self.n00}
        return sum(number for (a, c), number in cells.items() if event(a, c))

    def p(self, event: Event, given: Event = lambda a, c: True) -> Fraction:
        """Pr(event | given) of a record drawn at random."""
        return Fraction(self.number(lambda a, c: event(a, c) and given(a, c)), self.number(given))

    @property
    def matrix(self) -> npt.NDArray[np.int64]:
        return np.array([[self.n11, self.n10], [self.n01, self.n00]])


def has_a(a: bool, c: bool) -> bool:
    return a


def has_c(a: bool, c: bool) -> bool:
    return c


A, C = has_a, has_c  # so that Pr(C | A) is p(C, A) below


def both(a: bool, c: bool) -> bool:
    return a and c


def not_a(a: bool, c: bool) -> bool:
    return not a


def not_c(a: bool, c: bool) -> bool:
    return not c


def exception(a: bool, c: bool) -> bool:
    return a and not c


def laplace(t: Counts, given: Event) -> Fraction:
    return Fraction(t.number(lambda a, c: c and given(a, c)) + 1, t.number(given) + 2)


def zhang(t: Counts) -> Fraction:
    """Zhang's own form, by the confidences with and without A."""
    with_a, without = t.p(C, A), t.p(C, not_a)
    return (with_a - without) / max(with_a, without)


def certainty_factor(t: Counts) -> Fraction:
    gain = t.p(C, A) - t.p(C)
    return gain / t.p(not_c) if gain >= 0 else gain / t.p(C)


def imbalance(t: Counts) -> Fraction:
    """Wu, Chen and Han's form by the two confidences; of sides that never meet, by the records with one alone."""
    if t.n11 == 0:
        return Fraction(abs(t.n10 - t.n01), t.n10 + t.n01)
    forth, back = t.p(C, A), t.p(A, C)
    return abs(forth - back) / (forth + back - forth * back)


def residue(observed: int, row: int, column: int, n: int) -> float:
    expected = Fraction(row * column, n)
    return float(observed - expected) / sqrt(expected)


def correlation(t: Counts) -> float:
    (var_a, cov), (_, var_c) = np.cov([1, 1, 0, 0], [1, 0, 1, 0], fweights=[t.n11, t.n10, t.n01, t.n00], ddof=0)
    return float(cov) / sqrt(var_a * var_c)


def odds_ratio(t: Counts) -> Fraction:
    with_a, without = t.p(C, A), t.p(C, not_a)
    return with_a / (1 - with_a) / (without / (1 - without))


def yule(ratio: Any) -> Any:
    return (ratio - 1) / (ratio + 1)


def kappa(t: Counts) -> Fraction:
    agreed = t.p(lambda a, c: a == c)
    by_chance = t.p(A) * t.p(C) + t.p(not_a) * t.p(not_c)
    return (agreed - by_chance) / (1 - by_chance)


def collective_strength(t: Counts) -> Fraction:
    violations = t.p(lambda a, c: a != c)
    expected = 1 - t.p(A) * t.p(C) - t.p(not_a) * t.p(not_c)
    return (1 - violations) / (1 - expected) * expected / violations


def rld(t: Counts) -> Fraction:
    """|D| of the largest |D| of that sign among all tables with these margins."""
    a, c, n = t.number(A), t.number(C), t.n
    independent = Fraction(a * c, n)
    extreme = min(a, c) if t.n11 > independent else max(0, a + c - n)
    return (t.n11 - independent) / (extreme - independent)


def nats(*numbers: int) -> float:
    """The entropy H of a partition into parts of these sizes."""
    return float(entropy([number for number in numbers if number > 0]))


def information(t: Counts) -> float:
    """H(A) + H(C) - H(A, C)."""
    return nats(t.number(A), t.number(not_a)) + nats(t.number(C), t.number(not_c)) - nats(t.n11, t.n10, t.n01, t.n00)


def uncertainty(t: Counts) -> float:
    """1 - H(A | C) / H(A)."""
    inside = t.p(C) * nats(t.n11, t.n01) if t.number(C) else 0
    outside = t.p(not_c) * nats(t.n10, t.n00) if t.number(not_c) else 0
    return 1 - float(inside + outside) / nats(t.number(A), t.number(not_a))


def j_measure(t: Counts) -> float:
    """Pr(A) times the divergence of C given A from C."""
    return float(t.p(A)) * float(entropy([t.n11, t.n10], [t.number(C), t.number(not_c)]))


def gini(t: Counts) -> Fraction:
    def impurity(given: Event) -> Fraction:
        return 1 - t.p(C, given) ** 2 - t.p(not_c, given) ** 2

    return impurity(lambda a, c: True) - t.p(A) * impurity(A) - t.p(not_a) * impurity(not_a)


def goodman_kruskal(t: Counts) -> Fraction:
    errors = min(t.number(C), t.number(not_c))
    return 1 - Fraction(min(t.n11, t.n10) + min(t.n01, t.n00), errors)


def hypergeometric(t: Counts) -> list[Fraction]:
    """Pr(X = 0), Pr(X = 1), ... of the records with both sides, given the margins."""
    a, c = t.number(A), t.number(C)
    return [Fraction(comb(c, k) * comb(t.n - c, a - k), comb(t.n, a)) for k in range(a + 1)]


def hyper_lift(t: Counts) -> Fraction:
    total = Fraction(0)
    for quantile, part in enumerate(hypergeometric(t)):
        total += part
        if total >= Fraction(99, 100):
            return Fraction(t.n11, quantile)
    raise AssertionError


def chi_squared(t: Counts, **kind: Any) -> float:
    return float(chi2_contingency(t.matrix, correction=False, **kind).statistic)


DEFINITIONS: dict[str, Callable[[Counts], Any]] = {
    "antecedent support": lambda t: t.p(A),
    "consequent support": lambda t: t.p(C),
    "support": lambda t: t.p(both),
    "confidence": lambda t: t.p(C, A),
    "lift": lambda t: t.p(C, A) / t.p(C),
    "representativity": lambda t: 1,
    "leverage": lambda t: t.p(both) - t.p(A) * t.p(C),
    "conviction": lambda t: t.p(not_c) / t.p(not_c, A),
    "zhangs_metric": zhang,
    "jaccard": lambda t: t.p(both, lambda a, c: a or c),
    "certainty": lambda t: (t.p(C, A) - t.p(C)) / t.p(not_c),
    "kulczynski": lambda t: (t.p(C, A) + t.p(A, C)) / 2,
    "count": lambda t: t.n11,
    "cosine": lambda t: sqrt(t.p(C, A) * t.p(A, C)),
    "all_confidence": lambda t: min(t.p(C, A), t.p(A, C)),
    "max_confidence": lambda t: max(t.p(C, A), t.p(A, C)),
    "imbalance": imbalance,
    "laplace": lambda t: laplace(t, A),
    "certainty_factor": certainty_factor,
    "added_value": lambda t: t.p(C, A) - t.p(C),
    "klosgen": lambda t: sqrt(t.p(both)) * float(t.p(C, A) - t.p(C)),
    "difference_of_confidence": lambda t: t.p(C, A) - t.p(C, not_a),
    "relative_risk": lambda t: t.p(C, A) / t.p(C, not_a),
    "importance": lambda t: log10(laplace(t, A) / laplace(t, not_a)),
    "rule_power_factor": lambda t: t.p(both) * t.p(C, A),
    "sebag": lambda t: t.p(C, A) / t.p(not_c, A),
    "counterexample": lambda t: 1 - Fraction(t.n10, t.n11),
    "confirmed_confidence": lambda t: t.p(C, A) - t.p(not_c, A),
    "least_contradiction": lambda t: (t.p(both) - t.p(exception)) / t.p(C),
    "casual_confidence": lambda t: (t.p(C, A) + t.p(not_a, not_c)) / 2,
    "casual_support": lambda t: t.p(lambda a, c: a == c),
    "ralambondrainy": lambda t: t.p(exception),
    "implication_index": lambda t: residue(t.n10, t.number(A), t.number(not_c), t.n),
    "varying_liaison": lambda t: t.p(A, C) / t.p(A) - 1,
    "correlation": correlation,
    "chi_squared": chi_squared,
    "standardized_residue": lambda t: residue(t.n11, t.number(A), t.number(C), t.n),
    "odds_ratio": odds_ratio,
    "yule_q": lambda t: yule(odds_ratio(t)),
    "yule_y": lambda t: yule(sqrt(odds_ratio(t))),
    "kappa": kappa,
    "collective_strength": collective_strength,
    "rld": rld,
    "mutual_information": information,
    "g2": lambda t: chi_squared(t, lambda_="log-likelihood"),
    "uncertainty_coefficient": uncertainty,
    "normalized_mutual_information": lambda t: (
        information(t) / min(nats(t.number(A), t.number(not_a)), nats(t.number(C), t.number(not_c)))
    ),
    "j_measure": j_measure,
    "gini": gini,
    "goodman_kruskal_lambda": goodman_kruskal,
    "fisher": lambda t: fisher_exact(t.matrix, alternative="greater").pvalue,
    "hyper_confidence": lambda t: sum(hypergeometric(t)[: t.n11]),
    "hyper_lift": hyper_lift,
}
"""By canonical name."""

EXACT_TESTS = ("fisher", "hyper_confidence", "hyper_lift")
"""Those whose definitions are sums over all tables, for small counts only."""
