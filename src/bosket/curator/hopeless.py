"""Requests that only noise would answer, recognized by what was released, before most of their epsilon is spent."""

from __future__ import annotations

import math

from bosket.curator.levels import sensitivity
from bosket.curator.loss import kept_ratio
from bosket.curator.noise import scale_of
from bosket.curator.possible import discoverable_count, least_epsilon, useful_epsilon
from bosket.curator.prepared import WITHIN, Prepared
from bosket.errors import HopelessError
from bosket.privacy.guarantee import rounded_up

_CLEAR = 6.0  # scales of the noise of the number of records: one data set without records in 800 seems to have some
_MARGIN = 1.3  # for an epsilon that will do, as the limit itself is noisy
_RIGHT, _TIMES = 0.2, 0.5  # delta and eta of Theorem 3


def check_hope(prepared: Prepared, n_items: int, epsilon: float, *, per_person: int, spent: float) -> float:
    """The smallest count of an item that noise alone hardly reaches; refused where the limit is within the noise.

    ``epsilon`` is there for the counts, ``spent`` was paid before.  Everything follows from what was released, and from
    single items alone having all of ``epsilon``: the figure does not hang on what else is asked for.  At three times
    the scale of the noise, after truncation, one item in forty that nobody has would pass the limit.  The number of
    records must lie clear of its own noise too.
    """
    kappa = sensitivity(prepared.max_size, 1, n_items, per_person)
    scale, of_total = scale_of(epsilon, kappa), prepared.lengths.scale_of_total
    left = kept_ratio(prepared.lengths.weights, 1, prepared.max_size, by_length=True)
    least = discoverable_count(epsilon, n_items, sensitivity=kappa) / left
    total = max(prepared.lengths.total, 1)
    is_counted = total >= _CLEAR * of_total
    if is_counted and prepared.min_count * left >= WITHIN * scale:
        return least
    hint = "No support can be told from noise at this epsilon."
    if is_counted and least < total:
        hint = f"Supports from {least / total:.2g} on can be told from noise at this epsilon."
    if is_counted:
        more = _MARGIN * max(1.0, WITHIN * scale / (prepared.min_count * left))
        hint += f" This limit takes an epsilon of {more * (epsilon + spent):.2g} or more, by what is known now."
    whole = epsilon + spent
    useful, never = _useful(prepared, n_items, per_person)
    raise HopelessError(
        f"The limit of {prepared.min_count:,.0f} of about {total:,} records is within the noise, which has a scale of "
        f"{scale:,.3g} for single items and of {of_total:,.3g} for the number of records: what would be reported is "
        f"chance. An epsilon of {rounded_up(spent, 6)} was spent to find that out, and {epsilon:g} was handed back.",
        discoverable=least / total if is_counted else math.inf,
        spent=spent,
        hint=f"{hint} (In the words of Theorem 3 single items are ({_RIGHT}, {_TIMES})-useful from an epsilon of "
        f"{useful * whole / epsilon:.2g} on, and itemsets of any size by no method below {never:.2g}.)",
    )


def _useful(prepared: Prepared, n_items: int, per_person: int) -> tuple[float, float]:
    """The epsilon for their counts at which single items are useful, and Theorem 3's bound."""
    single = useful_epsilon(n_items, prepared.min_count, max_size=prepared.max_size, delta=_RIGHT, eta=_TIMES)
    return per_person * single, least_epsilon(n_items, prepared.min_count, delta=_RIGHT, eta=_TIMES)
