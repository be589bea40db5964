"""Released: which itemsets are reported, and what is said of how they were found; post-processing of noisy numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from bosket._version import __version__
from bosket.curator.declared import Declared
from bosket.curator.discoveries import closed, told_from_noise
from bosket.curator.hopeless import check_hope
from bosket.curator.lengths import parts as parts_of_lengths
from bosket.curator.levels import NoisyLevel
from bosket.curator.miner import Measured
from bosket.curator.miner import parts as parts_of_cardinality
from bosket.curator.paid import Paid
from bosket.curator.truncation_release import TruncationRelease
from bosket.privacy.central import CentralGuarantee

MECHANISM = "truncation (Zeng, Naughton and Cai 2012) with discrete Laplace noise"


def release(declared: Declared, paid: Paid, measured: Measured, *, most: int | None = None) -> TruncationRelease:
    """The itemsets that reach the limit and are more than noise; of these the ``most`` frequent, if that is given."""
    frequent = _reported(measured, declared.settings.false_share)
    if most is not None:
        frequent = _best(frequent, most)
    return TruncationRelease(declared.domain, _about(declared, paid, measured), measured.prepared, frequent)


def _reported(measured: Measured, false_share: float | None) -> tuple[NoisyLevel, ...]:
    frequent = [level.take(level.average >= measured.prepared.min_count) for level in measured.levels]
    if false_share is None:
        return tuple(frequent)
    return tuple(closed([level.take(told_from_noise(level, false_share)) for level in frequent]))


def _best(levels: tuple[NoisyLevel, ...], k: int) -> tuple[NoisyLevel, ...]:
    values = np.concatenate([np.empty(0), *(level.average for level in levels)])
    if len(values) <= k:
        return levels
    chosen = np.zeros(len(values), bool)
    chosen[np.argsort(-values, kind="stable")[:k]] = True
    edges = np.cumsum([0, *(len(level.items) for level in levels)])
    return tuple(level.take(chosen[a:b]) for level, a, b in zip(levels, edges[:-1], edges[1:], strict=True))


def _about(declared: Declared, paid: Paid, measured: Measured) -> dict[str, Any]:
    """Version, request, what was measured first, what each part cost, and the entries that paid for it."""
    prepared, parts = measured.prepared, paid.parts
    discoverable = check_hope(
        prepared, declared.data.n_items, parts.counts, per_person=declared.per_person, spent=parts.first
    )
    costs = {
        **_of_lengths(declared, parts.lengths),
        **dict(zip(("ranking", "cardinality"), parts_of_cardinality(parts.cardinality), strict=True)),
        **({"limit": parts.limit} if parts.limit else {}),
        **{f"size {level.items.shape[1]}": level.epsilon for level in measured.levels},
    }
    stopped = (
        {} if measured.stopped is None else {"stopped": f"there were too many candidates of size {measured.stopped}"}
    )
    promised = CentralGuarantee(MECHANISM, declared.epsilon, declared.neighbours, tuple(costs.items()))
    return {
        "version": __version__,
        "epsilon": declared.epsilon,
        "neighbours": declared.neighbours,
        **declared.limit.asked,
        "min_count": round(prepared.min_count, 6),
        "n_records": prepared.lengths.total,
        "scale_of_total": round(prepared.lengths.scale_of_total, 6),
        "discoverable": discoverable / max(prepared.lengths.total, 1),
        "records_cut_to": prepared.max_size,
        **({} if declared.length is None else {"n_attributes": declared.length}),
        "largest": prepared.largest,
        "cap": prepared.cap,
        **stopped,
        "settings": asdict(declared.settings),
        "parts": costs,
        "budget": paid.budget.name,
        "entries": [
            {"number": entry.number} | ({"digest": entry.digest} if paid.is_kept else {}) for entry in paid.entries
        ],
        "mechanism": MECHANISM,
        "guarantee": (promised if declared.domain.is_declared else promised.reading_items()).to_json(),
    }


def _of_lengths(declared: Declared, epsilon: float) -> dict[str, float]:
    """What the lengths of records cost, and their number; the lengths nothing where they are public."""
    if declared.length is not None:
        return {"total": epsilon}
    return dict(zip(("lengths", "total"), parts_of_lengths(epsilon), strict=True))
