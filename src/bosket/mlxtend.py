"""mlxtend's functions under their names, signatures and columns, over exact mining: a change of one import.

    from bosket.mlxtend import apriori, fpgrowth, fpmax, hmine, association_rules

A frame has a column for each item and a row for each record, of booleans or of 0 and 1, sparse or not.  Itemsets hold
column numbers, or column names with ``use_colnames``.  What is different on purpose:

* a value *at* a limit is kept, where rounded fractions lose it (:mod:`bosket.limits`);
* rows come by size, then in the order of columns, whichever function is asked;
* ``null_values=True`` is refused: mlxtend divides by the records that know all items of a set, so that supports are no
  longer antitone, and no search that relies on that can promise to be complete.

``association_rules`` wants the supports of all subsets, and says so with a ``KeyError`` where one is missing.  For
intervals, and for reports, use ``bosket.mine(...).rules(...)``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.checks import check_integer, shown
from bosket.data import Baskets
from bosket.errors import BosketError, DataError, ParameterError, TooManyRulesError
from bosket.limits import reaches
from bosket.measures import CATALOGUE, Contingency
from bosket.measures.catalogue import MLXTEND, SIDES
from bosket.mining import mine
from bosket.mining.result import FrequentItemsets
from bosket.threads import slices

__all__ = ["apriori", "association_rules", "fpgrowth", "fpmax", "hmine"]

METRICS = (*SIDES, *MLXTEND)
"""mlxtend's columns of rules, in its order."""

NumberedRows = npt.NDArray[np.int64]
"""Itemsets of one size as rows of item numbers, each ascending."""

MOST_RULES = 20_000_000
"""That are looked at in a frame, as many as ``FrequentItemsets.rules`` makes."""

_TOGETHER = 1 << 16
_COLUMNS = ("support", "itemsets")


class MissingSubsetError(BosketError, KeyError):
    """A rule whose antecedent or consequent has no support in the frame; ``itemset`` is that side."""

    def __init__(self, itemset: frozenset[Any]) -> None:
        super().__init__(
            f"The frame has no support of the itemset {shown(set(itemset))}, which a rule needs.",
            hint="Mine without a filter, or ask for support_only=True.",
        )
        self.itemset = itemset

    __str__ = BosketError.__str__  # KeyError shows the repr of its argument


def apriori(
    df: pd.DataFrame,
    min_support: float = 0.5,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
    low_memory: bool = False,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """All frequent itemsets of a one-hot frame: the columns ``support`` and ``itemsets``.

    ``verbose``, ``low_memory`` and ``n_jobs`` change nothing: the search uses all cores and little memory.
    """
    del verbose, low_memory, n_jobs
    return _listed(df, _mined(df, min_support, max_len, use_colnames), use_colnames)


def fpgrowth(
    df: pd.DataFrame,
    min_support: float = 0.5,
    null_values: bool = False,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """What :func:`apriori` finds, under another name."""
    del verbose
    _check_no_nulls(null_values)
    return _listed(df, _mined(df, min_support, max_len, use_colnames), use_colnames)


def hmine(
    df: pd.DataFrame,
    min_support: float = 0.5,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """What :func:`apriori` finds, under another name."""
    del verbose
    return _listed(df, _mined(df, min_support, max_len, use_colnames), use_colnames)


def fpmax(
    df: pd.DataFrame,
    min_support: float = 0.5,
    null_values: bool = False,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """The frequent itemsets that no other frequent itemset contains; with ``max_len``, those of at most so many items.

    All frequent itemsets are found on the way, so a frame with very many of them is refused
    (``TooManyCandidatesError``).
    """
    del verbose
    _check_no_nulls(null_values)
    most = None if max_len is None else check_integer("max_len", max_len, least=1)
    found = _mined(df, min_support, None, use_colnames)
    return _listed(df, found, use_colnames, list(_maximal(found))[:most])


def association_rules(
    df: pd.DataFrame,
    num_itemsets: int | None = 1,
    df_orig: pd.DataFrame | None = None,
    null_values: bool = False,
    metric: str = "confidence",
    min_threshold: float = 0.8,
    support_only: bool = False,
    return_metrics: Sequence[str] = METRICS,
) -> pd.DataFrame:
    """Rules of a frame with the columns ``support`` and ``itemsets`` whose ``metric`` is at least ``min_threshold``.

    ``support_only`` leaves all measures but ``support`` empty, and then no subset need be there.  ``num_itemsets`` and
    ``df_orig`` matter to mlxtend where values are missing; here they change nothing.

    Itemsets of k items have 2^k - 2 rules each, which are looked at some at a time; more than 20 million of them are
    refused (``TooManyRulesError``).
    """
    del num_itemsets, df_orig
    _check_no_nulls(null_values)
    metric = "support" if support_only else metric
    for name in (metric, *return_metrics):
        if name not in METRICS:
            raise ParameterError(
                f"A metric must be one of {', '.join(METRICS)}, got {shown(name)}.", parameter="metric", value=name
            )
    known = _Supports.of(df)
    _check_number(known)
    wanted = _Wanted(metric, min_threshold, tuple(return_metrics), support_only)
    parts = [part for size in known.sizes if size > 1 for part in _passing(known, size, wanted)]
    places = np.concatenate([np.empty(0, np.int64), *(part.places for part in parts)])
    order = np.argsort(places, kind="stable")  # rules of one itemset stand together, itemsets as in the frame
    frame = {
        "antecedents": _objects(chain.from_iterable(part.antecedents for part in parts))[order],
        "consequents": _objects(chain.from_iterable(part.consequents for part in parts))[order],
    }
    for name in return_metrics:
        frame[name] = np.concatenate([np.empty(0), *(part.measured[name] for part in parts)])[order]
    return pd.DataFrame(frame)


def _mined(df: Any, min_support: Any, max_len: Any, use_colnames: bool) -> FrequentItemsets:
    """Exact mining of a one-hot frame, whose items are column numbers; with ``use_colnames`` no two have one name."""
    if not isinstance(df, pd.DataFrame):
        raise ParameterError(
            f"A pandas frame is needed, got {type(df).__name__}.",
            parameter="df",
            value=df,
            hint="bosket.mine takes baskets, tables, reports and other frames.",
        )
    try:
        possible = 0 < float(min_support) <= 1
    except (TypeError, ValueError):
        possible = False
    if not possible:
        raise ParameterError(
            f"The 'min_support' parameter must lie in (0, 1], got {shown(min_support)}.",
            parameter="min_support",
            value=min_support,
        )
    if use_colnames and not (df.columns.is_unique and len(set(df.columns)) == df.shape[1]):
        raise DataError("The frame must not give two columns the same name.", hint="Say use_colnames=False.")
    numbered = df.set_axis(range(df.shape[1]), axis=1)
    if numbered.isna().to_numpy().any():
        raise DataError("The frame has missing values; a cell must hold 0 or 1, false or true.")
    return mine(Baskets.from_frame(numbered, layout="one-hot"), min_support, max_size=max_len)


def _listed(
    df: pd.DataFrame,
    found: FrequentItemsets,
    use_colnames: bool,
    chosen: Sequence[npt.NDArray[np.bool_]] | None = None,
) -> pd.DataFrame:
    """Supports and itemsets by size, then by columns; those chosen alone, level by level, if any are."""
    labels: Sequence[Hashable] = list(df.columns) if use_colnames else range(df.shape[1])
    supports: list[npt.NDArray[np.float64]] = []
    itemsets: list[frozenset[Hashable]] = []
    levels = found.levels if chosen is None else found.levels[: len(chosen)]
    for at, level in enumerate(levels):
        rows = level.items if chosen is None else level.items[chosen[at]]
        counts = level.value if chosen is None else level.value[chosen[at]]
        order = np.lexsort(rows.T[::-1])
        supports.append(counts[order] / found.n_records)
        itemsets += [frozenset(labels[item] for item in row) for row in rows[order].tolist()]
    share = np.concatenate(supports) if supports else np.empty(0)
    return pd.DataFrame({"support": share, "itemsets": _objects(itemsets)})


def _maximal(found: FrequentItemsets) -> Iterator[npt.NDArray[np.bool_]]:
    """Of each size, which itemsets are in none of one item more."""
    for small, large in pairwise([*found.levels, None]):
        assert small is not None
        is_maximal = np.ones(len(small.items), bool)
        if large is not None:
            keys = _keys(small.items)
            order = np.argsort(keys)
            for left_out in range(large.items.shape[1]):
                within = _keys(np.delete(large.items, left_out, axis=1))
                is_maximal[order[np.searchsorted(keys[order], within)]] = False
        yield is_maximal


def _keys(rows: npt.NDArray[Any]) -> npt.NDArray[np.void]:
    """NumberedRows as single values that compare alike."""
    plain = np.ascontiguousarray(rows, dtype=np.dtype(">i8"))
    return plain.view(np.dtype((np.void, plain.shape[1] * 8))).ravel()


class _Supports:
    """The supports of a frame, by size, with places of itemsets in it."""

    def __init__(
        self, labels: list[Hashable], by_size: dict[int, tuple[NumberedRows, Any, npt.NDArray[np.int64]]]
    ) -> None:
        self.labels, self.by_size = labels, by_size
        self._names: dict[tuple[int, ...], frozenset[Hashable]] = {}
        self._sorted = {size: np.sort(_keys(rows)) for size, (rows, _, _) in by_size.items()}
        self._order = {size: np.argsort(_keys(rows)) for size, (rows, _, _) in by_size.items()}

    @classmethod
    def of(cls, df: Any) -> _Supports:
        if not isinstance(df, pd.DataFrame) or any(list(df.columns).count(name) != 1 for name in _COLUMNS):
            raise ParameterError(
                "A frame with the columns 'support' and 'itemsets', each once, is needed.", parameter="df", value=df
            )
        if not len(df):
            raise ParameterError("The frame of itemsets must not be empty.", parameter="df", value=df)
        itemsets = _sets(df["itemsets"])
        number = {label: at for at, label in enumerate(dict.fromkeys(item for itemset in itemsets for item in itemset))}
        supports = _numbers(df["support"])
        unique = {itemset: at for at, itemset in enumerate(itemsets)}  # of repeats the last, as in mlxtend
        by_size: dict[int, tuple[NumberedRows, Any, npt.NDArray[np.int64]]] = {}
        for size in sorted({len(itemset) for itemset in unique} - {0}):
            held = [
                (sorted(number[item] for item in itemset), at) for itemset, at in unique.items() if len(itemset) == size
            ]
            places = np.array([at for _, at in held], np.int64)
            by_size[size] = np.array([row for row, _ in held], np.int64), supports[places], places
        return cls(list(number), by_size)

    @property
    def sizes(self) -> list[int]:
        return list(self.by_size)

    def names(self, row: Iterable[int]) -> frozenset[Hashable]:
        """The items of a row, the same set each time: a side stands in many rules."""
        key = tuple(row)
        if key not in self._names:
            self._names[key] = frozenset(self.labels[item] for item in key)
        return self._names[key]

    def supports(self, rows: NumberedRows) -> npt.NDArray[np.float64]:
        """Of each row; refused where one is not in the frame."""
        size = rows.shape[1]
        if size not in self.by_size:
            raise MissingSubsetError(self.names(rows[0]))
        keys = _keys(rows)
        at = np.minimum(np.searchsorted(self._sorted[size], keys), len(self._sorted[size]) - 1)
        missing = np.flatnonzero(self._sorted[size][at] != keys)
        if len(missing):
            raise MissingSubsetError(self.names(rows[missing[0]]))
        found: npt.NDArray[np.float64] = self.by_size[size][1][self._order[size][at]]
        return found


def _sets(column: Any) -> list[frozenset[Hashable]]:
    sets: list[frozenset[Hashable]] = []
    with suppress(TypeError, ValueError):
        for itemset in column:
            sets.append(frozenset(itemset))  # noqa: PERF401  # how many there are tells which is none
        return sets
    raise DataError(f"The column 'itemsets' must hold sets of items, and row {len(sets) + 1} does not.")


def _numbers(column: Any) -> npt.NDArray[np.float64]:
    with suppress(TypeError, ValueError, OverflowError):
        numbers: npt.NDArray[np.float64] = column.to_numpy(np.float64)
        return numbers
    raise DataError("The column 'support' must hold numbers.")


class _Wanted(NamedTuple):
    """Which rules are asked for, and which measures of them."""

    metric: str
    least: float
    measures: tuple[str, ...]
    support_only: bool


class _Part(NamedTuple):
    """Some rules that pass: their sides, measures, and places of their itemsets in the frame."""

    antecedents: list[frozenset[Hashable]]
    consequents: list[frozenset[Hashable]]
    measured: dict[str, npt.NDArray[np.float64]]
    places: npt.NDArray[np.int64]


def _check_number(known: _Supports) -> None:
    """Refuse more rules than may be made, before any is."""
    number = sum(len(rows) * (2**size - 2) for size, (rows, _, _) in known.by_size.items())
    if number > MOST_RULES:
        raise TooManyRulesError(
            f"The itemsets of the frame have more than {MOST_RULES:,} rules.",
            number=number,
            limit=MOST_RULES,
            hint="Raise min_support, give max_len, or use bosket.mine(...).rules(...), which counts those that pass.",
        )


def _passing(known: _Supports, size: int, wanted: _Wanted) -> Iterator[_Part]:
    """The rules of itemsets of a size that pass, some thousands looked at together."""
    rows, both, places = known.by_size[size]
    for start, stop in slices(len(rows), _TOGETHER):
        for left, right in _splits(size, max(1, _TOGETHER // (stop - start))):
            ahead = rows[start:stop][:, left].reshape(-1, left.shape[1])
            behind = rows[start:stop][:, right].reshape(-1, right.shape[1])
            measured, passes = _measured(known, np.repeat(both[start:stop], len(left)), ahead, behind, wanted)
            yield _Part(
                [known.names(row) for row in ahead[passes].tolist()],
                [known.names(row) for row in behind[passes].tolist()],
                measured,
                np.repeat(places[start:stop], len(left))[passes],
            )


def _splits(size: int, together: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Places of antecedents and of consequents in itemsets of a size, so many at once, large antecedents first."""
    for n_left in range(size - 1, 0, -1):
        lefts = combinations(range(size), n_left)
        while some := list(islice(lefts, together)):
            left = np.array(some, np.int64)
            is_right = np.ones((len(some), size), np.bool_)
            np.put_along_axis(is_right, left, False, axis=1)
            yield left, np.nonzero(is_right)[1].reshape(len(some), size - n_left)


def _measured(
    known: _Supports, both: npt.NDArray[np.float64], ahead: NumberedRows, behind: NumberedRows, wanted: _Wanted
) -> tuple[dict[str, npt.NDArray[np.float64]], npt.NDArray[np.bool_]]:
    """The measures of rules that pass, and which do, from the supports of their itemsets."""
    if wanted.support_only:
        passes = np.asarray(reaches(both, wanted.least))
        nothing = np.full(np.count_nonzero(passes), np.nan)
        return {name: both[passes] if name == "support" else nothing for name in wanted.measures}, passes
    of_ahead, of_behind = known.supports(ahead), known.supports(behind)
    passes = np.asarray(reaches(_values(wanted.metric, both, of_ahead, of_behind), wanted.least))
    kept = both[passes], of_ahead[passes], of_behind[passes]
    return {name: _values(name, *kept) for name in wanted.measures}, passes


def _values(name: str, both: Any, of_ahead: Any, of_behind: Any) -> npt.NDArray[np.float64]:
    """A measure of rules, from the supports of the itemsets and of both sides."""
    return np.asarray(CATALOGUE[name](Contingency.of_counts(both, of_ahead, of_behind, 1.0)), np.float64)


def _objects(values: Iterable[Any]) -> npt.NDArray[np.object_]:
    """An array of sets, which NumPy leaves alone."""
    values = list(values)
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _check_no_nulls(null_values: bool) -> None:
    if null_values:
        raise ParameterError(
            "The 'null_values' parameter must be False: supports of records with missing values are not antitone.",
            parameter="null_values",
            value=null_values,
        )
