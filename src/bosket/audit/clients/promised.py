"""The promise of a card against the attack: which two records to try, and what their reports prove."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bosket.audit.clients.attack import Attack, told_apart
from bosket.audit.clients.features import Claims
from bosket.audit.clients.pairs import Pair, candidate_pairs
from bosket.audit.clients.paths import Record, Sent, by_library, refuse_many
from bosket.audit.verdicts import ACQUITTED, CONVICTED, NOT_LOOKED, Finding
from bosket.checks import check_integer
from bosket.errors import ParameterError
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.randomness import Randomness, Secure, check_randomness

PILOT = 2000
"""Reports of each record of a pair, to choose pairs by."""
LEAST_TRIALS = 100
_MOST_PAIRS = 12


def claim_of(plan: Plan, unit: str) -> float:
    """The epsilon that the card has for a pair of records: one report of it, whatever a person sends in all."""
    card = plan.guarantee
    return card.item.epsilon if unit == "item" else card.record.epsilon


def worst_pairs(plan: Plan, rng: Randomness | None = None) -> list[Pair]:
    """For an item and for the whole record, the two records that our own client's reports tell apart the best.

    By the law, where the records of the domain can be gone through; by a trial elsewhere.  None where nobody is
    promised anything, or where a report takes the records of several people.
    """
    if plan.mechanism.needs_curator:
        return []
    chance = Secure() if rng is None else rng
    best: dict[str, tuple[float, Pair]] = {}
    found = candidate_pairs(plan)
    for pair in found[: 2 * _MOST_PAIRS]:
        score = 0.0
        if len(found) > 2:
            batch = by_library(plan, (pair.one, pair.other), PILOT, chance).batch
            features = Claims.settled(plan.channel, (pair.one, pair.other), batch)
            score = attack_on(plan, features, pair, (pair.one, pair.other), batch, 0.1).bound.epsilon
        if pair.unit not in best or score > best[pair.unit][0]:
            best[pair.unit] = (score, pair)
    return [pair for _, pair in best.values()]


def attack_on(
    plan: Plan, features: Claims, pair: Pair, records: Sequence[Record], batch: Batch, failure: float
) -> Attack:
    """The attack on a pair, by its reports among those of all records, which come in turn."""
    one, other = (batch.take(np.arange(records.index(r), len(batch), len(records))) for r in (pair.one, pair.other))
    shown = features.shown(one), features.shown(other)
    return told_apart(features, pair, claim_of(plan, pair.unit), one, other, shown, failure)


def promise_kept(plan: Plan, features: Claims, pairs: Sequence[Pair], sent: Sent, failure: float) -> Finding:
    """The distinguishing attack against the card."""
    check = "two records cannot be told apart better than promised"
    promised = [pair for pair in pairs if math.isfinite(claim_of(plan, pair.unit))]
    if not promised:
        return Finding(check, NOT_LOOKED, "The card promises nothing between any two records.")
    each = failure / len(promised)
    found = [attack_on(plan, features, pair, features.records, sent.batch, each) for pair in promised]
    figures = {
        one.pair.unit: {"at_least": one.bound.epsilon, "promised": one.claim, "trials": one.bound.trials}
        for one in found
    }
    told = "; ".join(f"epsilon of {o.pair.unit} at least {o.bound.epsilon:.3f}, promised {o.claim:.3f}" for o in found)
    refuted = any(one.is_refuted for one in found)
    words = f"Measured: {told}." if not refuted else f"The promise is broken: {told}."
    return Finding(check, CONVICTED if refuted else ACQUITTED, words, len(found), failure, figures)


def attacked(
    plan: Plan, *, trials: int = 40_000, failure: float = 1e-6, rng: Randomness | None = None, unit: str = "record"
) -> Attack:
    """A lower bound on the epsilon of this library's client, on the pair of records that it tells apart the best.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.8), bk.PrivacyUnit(max_size=1))
    >>> found = bk.audit.attacked(plan, unit="item", rng=bk.Seeded(1))
    >>> 1.2 < found.bound.epsilon < found.claim == plan.guarantee.item.epsilon
    True
    """
    chance = Secure() if rng is None else check_randomness(rng)
    pair = next((one for one in worst_pairs(plan, chance) if one.unit == unit), None)
    if pair is None:
        raise ParameterError(
            f"The 'unit' parameter must be one that the plan promises something for, got '{unit}'.",
            parameter="unit",
            value=unit,
        )
    records = (pair.one, pair.other)
    n = check_integer("trials", trials, least=LEAST_TRIALS)
    refuse_many(plan, n * len(records))
    features = Claims.settled(plan.channel, records, by_library(plan, records, PILOT, chance).batch)
    batch = by_library(plan, records, n, chance).batch
    return attack_on(plan, features, pair, records, batch, failure)
