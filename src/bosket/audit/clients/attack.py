"""How well two records can be told apart by reports of theirs: a bound from below, with an attacker who learns.

On the first quarter of the reports the attacker learns three scores, on the second the best event of the form "the
score is at least t"; on the other half the event is measured, by the bounds of Clopper and Pearson.

    own items     how many of the items that only the one has are shown, less those that only the other has
    naive Bayes   the sum over what is shown of ln of the two frequencies: best where items are randomized on their own
    reports       ln of the two frequencies of the very report: best where there are few
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosket.audit.clients.features import Claims
from bosket.audit.clients.pairs import Pair
from bosket.audit.clients.showing import Truths, keys_of, names_of
from bosket.audit.lower_bounds import LowerBound, losses
from bosket.mechanisms.payload import Batch
from bosket.statistics.estimates import Floats

_MOST_THRESHOLDS = 200


@dataclass(frozen=True)
class Attack:
    """What was learned of a pair."""

    pair: Pair
    bound: LowerBound
    claim: float
    """The epsilon that the card has for such a pair."""

    @property
    def is_refuted(self) -> bool:
        return self.bound.epsilon > self.claim


def told_apart(
    features: Claims, pair: Pair, claim: float, one: Batch, other: Batch, shown: tuple[Truths, Truths], failure: float
) -> Attack:
    """The bound from as many reports of the one record as of the other; ``shown`` is what these show."""
    n = min(len(one), len(other))
    half, quarter = n // 2, n // 4
    best: tuple[float, Floats, Floats, float] | None = None
    for x, y in _scores(features, pair, (one, other), shown, quarter):
        thresholds = np.unique(np.concatenate([x[quarter:half], y[quarter:half]]))
        if len(thresholds) > _MOST_THRESHOLDS:
            thresholds = np.unique(np.quantile(thresholds, np.linspace(0, 1, _MOST_THRESHOLDS), method="nearest"))
        p, q = (half - quarter - np.searchsorted(np.sort(part[quarter:half]), thresholds) for part in (x, y))
        each = losses(p, q, half - quarter, failure)
        at = int(np.argmax(each))
        if best is None or each[at] > best[0]:
            best = (float(each[at]), x[half:n], y[half:n], float(thresholds[at]))
    assert best is not None
    hits = [(part >= best[3]) for part in best[1:3]]
    found = losses(np.array([hits[0].sum()]), np.array([hits[1].sum()]), n - half, failure)
    bound = LowerBound(float(found[0]), float(hits[0].mean()), float(hits[1].mean()), n - half, failure)
    return Attack(pair, bound, claim)


def _scores(
    features: Claims, pair: Pair, batches: tuple[Batch, Batch], shown: tuple[Truths, Truths], n: int
) -> list[tuple[Floats, Floats]]:
    """Each score of the reports of the one and of the other, learned on the first ``n`` reports."""
    keys = features.keys.tolist()
    a, b = (set(keys_of(features.channel, record)) for record in (pair.one, pair.other))
    sign = np.array([float(key in a) - float(key in b) for key in keys])
    own = tuple(part @ sign for part in shown)
    p, q = ((part[:n].sum(axis=0) + 0.5) / (n + 1) for part in shown)
    gain, base = np.log(p / q) - np.log((1 - p) / (1 - q)), float(np.log((1 - p) / (1 - q)).sum())
    bayes = tuple(part @ gain + base for part in shown)
    names = [names_of(features.channel, batch) for batch in batches]
    known, which = np.unique(np.concatenate([names[0][:n], names[1][:n]]), return_inverse=True)
    counts = [np.bincount(part.ravel(), minlength=len(known)) for part in (which[:n], which[n:])]
    ratio = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
    by_report = []
    for part in names:
        place = np.minimum(np.searchsorted(known, part), len(known) - 1)
        by_report.append(np.where(known[place] == part, ratio[place], 0.0))
    return [own, bayes, (by_report[0], by_report[1])]
