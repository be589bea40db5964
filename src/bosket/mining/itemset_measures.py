"""Measures of whole itemsets by their 2^k tables, for all that were found, with errors.

With S_u the estimated supports of the subsets u of an itemset and g the derivatives of a measure by the cells, the
derivatives by the supports are G_u = sum over v in u of (-1)^|u - v| g_v, a report has the influence
h(t') = sum over u of G_u w_u(t'), and the variance follows as in :mod:`bosket.mining.contingency_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bosket.counting.base import ItemsetRows
from bosket.errors import ParameterError
from bosket.evidence import Errors, Family
from bosket.evidence.mobius import by_support, differences
from bosket.measures import measure
from bosket.measures.inference import TRUSTED, on_scale, root
from bosket.measures.many import MANY_WAY, ManyWay, noise_of_squares
from bosket.progress import Meter, Progress
from bosket.statistics.estimates import Floats, normal_quantile
from bosket.threads import parallel_map, slices

if TYPE_CHECKING:
    from bosket.mining.result import FrequentItemsets

LARGEST = 10
"""Items of an itemset whose table is looked at: there are 4^k products of weights."""
_WEIGHTS = 1 << 18  # weights held at once


def many_way(name: str) -> ManyWay:
    """The measure of that name for k things; refused where there is none."""
    record = MANY_WAY.get(measure(name, parameter="measures").name)
    if record is None:
        raise ParameterError(
            f"The 'measures' parameter must name some of {', '.join(MANY_WAY)} where there are more than two things, "
            f"got {name!r}.",
            parameter="measures",
            value=name,
        )
    return record


def itemset_columns(
    found: FrequentItemsets,
    names: str | Iterable[str],
    *,
    level: float,
    sampling: bool,
    on_progress: Progress | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Columns m, m_stderr, m_low, m_high in the order of the frame, and ``measure_caution``; NaN for single items."""
    wanted = MANY_WAY if names == "all" else names
    records = list({record.name: record for record in map(many_way, wanted)}.values())
    has_errors = found.errors(sampling) is not Errors.NONE
    pieces: list[list[Floats]] = []
    doubts: list[npt.NDArray[np.bool_]] = []
    for items in (level_.items[found.reported(level_)] for level_ in found.levels):
        n, k = items.shape
        if k == 1 or k > LARGEST:
            pieces.append([np.full((4, n), np.nan) for _ in records])
            doubts.append(np.full((len(records), n), k > 1))
            continue
        parts = [np.ascontiguousarray(items[i:j]) for i, j in slices(n, max(1, _WEIGHTS >> 2 * k))]
        meter = Meter(on_progress, k, "measuring", len(parts))

        def measured(rows: ItemsetRows) -> list[tuple[Floats, npt.NDArray[np.bool_]]]:
            return _measure(found.evidence.family(rows, found.kept), records, level, sampling)

        done = parallel_map(measured, parts, on_done=meter)
        pieces.append([np.concatenate([one[at][0] for one in done], axis=1) for at in range(len(records))])
        doubts.append(np.stack([np.concatenate([one[at][1] for one in done]) for at in range(len(records))]))
    columns: dict[str, Any] = {}
    for at, record in enumerate(records):
        joined = np.concatenate([piece[at] for piece in pieces], axis=1) if pieces else np.empty((4, 0))
        names = _PARTS if has_errors else _PARTS[:1]
        columns |= {record.name + part: values for part, values in zip(names, joined[: len(names)], strict=True)}
    if not has_errors:
        return columns
    doubtful = np.concatenate(doubts, axis=1).T if doubts else np.empty((0, len(records)), bool)
    columns["measure_caution"] = _cautions(doubtful, [record.name for record in records])
    return columns


_PARTS = ("", "_stderr", "_low", "_high")


def _cautions(doubtful: npt.NDArray[np.bool_], names: Sequence[str]) -> npt.NDArray[np.object_]:
    texts = np.empty(len(doubtful), object)
    texts[:] = [", ".join(name for name, doubt in zip(names, row, strict=True) if doubt) for row in doubtful.tolist()]
    return texts


def _measure(
    family: Family, records: list[ManyWay], level: float, sampling: bool
) -> list[tuple[Floats, npt.NDArray[np.bool_]]]:
    """(value, stderr, low, high) of each measure, a column per itemset, and where to doubt it."""
    n = family.n_records
    cells = differences(family.values.copy()) / n
    singles = 1 << np.arange(family.rows.shape[1])
    rests_on = (*singles.tolist(), family.full)
    sure = [family.values[:, mask] >= TRUSTED * family.stderr(mask, sampling=sampling) for mask in rests_on]
    is_sure = np.logical_and.reduce(sure)
    results = []
    with np.errstate(all="ignore"):
        for record in records:
            value = record.value(cells, n)
            slope = record.gradient(cells, n)
            stderr = root(_variance(family, cells, slope, sampling=sampling))
            low, high = on_scale(record.scale, value, stderr, normal_quantile(level))
            is_exact = family.evidence.is_exact and not sampling
            doubt = np.zeros(len(value), bool) if is_exact else ~(is_sure & np.isfinite(low) & np.isfinite(stderr))
            if not is_exact:
                doubt |= family.doubtful if sampling else family.doubtful | family.rare_moves
            if record.is_dependence and not is_exact:
                noise = noise_of_squares(cells, _cell_variances(family, cells, sampling=sampling), n)
                doubt |= ~(noise <= stderr / 2)
            results.append((np.stack([value, stderr, low, high]), doubt))
    return results


def _cell_variances(family: Family, cells: Floats, *, sampling: bool) -> Floats:
    """Of every cell, as a fraction: shape (n, 2**k)."""
    total = np.empty_like(cells)
    for cell in range(cells.shape[1]):
        slope = np.zeros_like(cells)
        slope[:, cell] = 1.0
        total[:, cell] = _variance(family, cells, slope, sampling=sampling)
    return total


def _variance(family: Family, cells: Floats, slope: Floats, *, sampling: bool) -> Floats:
    """Of a function of the cells with these derivatives; the drawing of people adds sum g^2 S - (sum g S)^2 / N."""
    n = family.n_records
    total = family.variance_of(by_support(slope.copy()))
    if sampling:
        counts = cells * n
        total = total + (counts * slope**2).sum(axis=1) - (counts * slope).sum(axis=1) ** 2 / n
    result: Floats = total / n**2
    return result
