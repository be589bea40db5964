"""Rules that pass: made in pieces on all cores, the best of them kept."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bosket.errors import TooManyRulesError
from bosket.evidence import Family
from bosket.evidence.kept import Places
from bosket.limits import reaches
from bosket.measures.inference import Covariance, Tables, present
from bosket.measures.selection import passes as passes_exactly
from bosket.mining.rules.improvement import improvements
from bosket.mining.rules.query import Query
from bosket.mining.rules.significance import p_values
from bosket.mining.rules.splits import Families, Rules
from bosket.mining.rules.template import Shape
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats
from bosket.threads import apart, n_threads, parallel_map

_MANY = 1 << 20  # rules whose sorting takes long enough to be interrupted


class Passed(NamedTuple):
    """Rules that passed, what to order them by, and perhaps their p-values."""

    rules: Rules
    key: Floats
    is_sure: npt.NDArray[np.bool_]
    """Whether the key can be trusted; those where it cannot come last."""
    p_value: Floats | None
    number: int
    """How many passed, those that ``top`` left out included."""

    def take(self, chosen: Places) -> Passed:
        p_value = None if self.p_value is None else self.p_value[chosen]
        return Passed(self.rules.take(chosen), self.key[chosen], self.is_sure[chosen], p_value, self.number)

    @property
    def order(self) -> Places:
        """By the key, highest first; equals keep their order."""
        if len(self.key) <= _MANY:
            return self._order()
        return apart(self._order)

    def _order(self) -> Places:
        return np.lexsort((-self.key, ~self.is_sure))


def generate(source: Families, query: Query, shape: Shape, on_progress: Progress | None = None) -> Passed:
    """All rules that pass, in the order of the itemsets; with ``top``, the best and no others."""
    families = source.families(shape)
    meter = Meter(on_progress, 0, "making rules", source.n_families(shape))
    done = 0
    kept: list[Passed] = []
    number = 0  # of rules that passed
    prunes = query.top is not None and query.adjust is None  # ranks of p-values need them all
    while batch := list(islice(families, 4 * n_threads())):
        pieces = [
            piece
            for piece in parallel_map(lambda family: _piece(source, family, query, shape), batch)
            if len(piece.key)
        ]
        kept += pieces
        done += len(batch)
        meter(done)
        number += sum(piece.number for piece in pieces)
        if prunes and kept:
            kept = [best(_join(kept), query.top)]
        elif number > query.max_rules:
            raise TooManyRulesError(
                f"There are more than {query.max_rules:,} rules with {query.by.name} of at least "
                f"{query.min_threshold:g}.",
                number=number,
                limit=query.max_rules,
                hint="Raise min_threshold or min_support, ask for the 'top' ones, give a template, or raise max_rules.",
            )
    return _join(kept) if kept else _nothing(source, query)


def best(passed: Passed, top: int | None) -> Passed:
    """The first ``top``."""
    return passed.take(passed.order[:top])


def tables_of(rules: Rules, n_records: int, *, sampling: bool) -> Tables | None:
    """Tables with the covariance asked for; None where there is no error at all."""
    covariance = rules.covariance
    if covariance is None and not sampling:
        return None
    table = rules.table(n_records)
    if covariance is None:
        covariance = Covariance(*(np.zeros(len(rules)) for _ in range(6)))
    doubtful = rules.doubtful if sampling else rules.doubtful | rules.rare_moves
    return Tables(table, covariance, sampling=sampling, doubtful=doubtful)


def _piece(source: Families, family: Family, query: Query, shape: Shape) -> Passed:
    n = family.n_records
    rows, antecedents = _splits(family, query, shape)
    if query.min_improvement is not None:
        improves = improvements(family, rows, antecedents, query.min_improvement)
        rows, antecedents = rows[improves], antecedents[improves]
    rules = source.rules(family, rows, antecedents)
    which = np.arange(len(rows))
    tables = tables_of(rules, n, sampling=query.sampling)
    is_sure = np.ones(len(rules), bool)
    if tables is None:
        key: Floats = query.by(rules.table(n))
    else:
        if query.sort_by == "low" and query.by.gradient is not None:
            inferred = tables.infer(query.by, level=query.level, interval=query.interval)
            value, key, is_sure = inferred.value, inferred.low, inferred.is_trusted
        else:
            value = key = tables.values(query.by)
        defined = ~np.isnan(value)  # it is where a denominator is not sure
        if not defined.all():
            rules, key, is_sure, which = rules.take(defined), key[defined], is_sure[defined], which[defined]
    p_value = None
    if query.adjust is not None:
        p_value = p_values(family, rules, rows[which], antecedents[which], query.alternative)
    passed = Passed(rules, key, is_sure, p_value, len(key))
    return best(passed, query.top) if query.top is not None and query.adjust is None else passed


def _splits(family: Family, query: Query, shape: Shape) -> tuple[Places, Places]:
    """Rows and antecedents of the splits that the template allows and whose metric reaches the threshold."""
    from bosket.measures import Contingency

    masks = shape.antecedents(family.rows.shape[1])
    values, full = family.values, family.full
    x = np.broadcast_to(values[:, full, None], (len(values), len(masks)))
    table = Contingency.of_counts(x, values[:, masks], values[:, full ^ masks], family.n_records)
    if family.evidence.is_exact:
        passes = passes_exactly(query.by, table, query.min_threshold)
    else:
        passes = reaches(present(query.by, table), query.min_threshold)
    allowed = shape.allowed(family.rows, masks)
    if allowed is not None:
        passes &= allowed
    rows, which = np.nonzero(passes)
    return rows, masks[which]


def _join(pieces: list[Passed]) -> Passed:
    if len(pieces) == 1:
        return pieces[0]
    p_values = [piece.p_value for piece in pieces if piece.p_value is not None]
    return Passed(
        Rules.join([piece.rules for piece in pieces]),
        np.concatenate([piece.key for piece in pieces]),
        np.concatenate([piece.is_sure for piece in pieces]),
        np.concatenate(p_values) if p_values else None,
        sum(piece.number for piece in pieces),
    )


def _nothing(source: Families, query: Query) -> Passed:
    none, nowhere = np.empty(0), np.empty(0, np.int64)
    covariance = None if source.is_exact else Covariance(*(none for _ in range(6)))
    rules = Rules(none, none, none, nowhere, nowhere, covariance, none.astype(bool), none.astype(bool))
    return Passed(rules, none, none.astype(bool), None if query.adjust is None else none, 0)
