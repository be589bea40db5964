"""Cut-and-paste parameters from a breach level: Evfimievski et al. (2004), the end of section 4.4.

For each record size m and each cutoff K, the smallest rho at which the most challenging itemset of every size stays
below the level; then the (K, rho) with the lowest discoverable support.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd

from bosket.checks import check_between, check_integer
from bosket.data.formats.atomic import atomic_path
from bosket.errors import ParameterError
from bosket.mechanisms import CutAndPaste
from bosket.planning.discoverability import lowest_support
from bosket.planning.maximal import BreachLevel, Maximal, check_maximal, planning_channel
from bosket.privacy.breaches import Floats, challenging_level, worst_level
from bosket.privacy.guarantee import percent_up

_GRID = 4096  # steps of rho that are looked at: the level need not fall with rho where maxima contradict each other
_CLOSE = 1e-12
_MOST_STEPS, _PAIR = 1 << 22, 50  # some minutes in all; and steps of a record size with a cutoff, however small
_MOST_CUTOFFS = 1 << 12
_STEPS_OF_PROGRAMS, _CLOSE_OF_PROGRAMS = 48, 1e-6  # fewer for a measure that solves a linear program each time


@dataclass(frozen=True, slots=True)
class Choice:
    """The parameters for records of one size, with what they give."""

    record_size: int
    cutoff: int
    insert: float
    breach: float
    """The highest breach level over itemset sizes; below the one asked for."""
    lowest_support: float


@dataclass(frozen=True)
class CutAndPasteChoice:
    """What planning came to: the mechanism, and for every record size the choice and what else was looked at."""

    mechanism: CutAndPaste
    level: float
    choices: tuple[Choice, ...]
    considered: pd.DataFrame
    """A row for every record size and cutoff: record_size, cutoff, insert, breach, lowest_support."""
    is_worst: bool = False
    """Whether levels are those of the worst itemset there can be, and not of the paper's."""

    def write(self, path: str | Path) -> None:
        """A sizes file for ``bosket randomize --sizes-file``: CSV with columns size, cutoff, insert."""
        cutoff, insert = self.mechanism.cutoff, self.mechanism.insert
        assert isinstance(cutoff, Mapping)
        assert isinstance(insert, Mapping)
        lines = [f"{size},{cutoff[size]},{insert[size]!r}" for size in cutoff]
        with atomic_path(path) as temporary:
            temporary.write_text("\n".join(["size,cutoff,insert", *lines]) + "\n")

    def __str__(self) -> str:
        itemset = "every itemset" if self.is_worst else "the most challenging itemset, which others may pass,"
        lines = [
            f"CutAndPaste for a breach level below {percent_up(self.level)} of {itemset} of no more items than maximal "
            "supports are given for"
        ]
        lines += [
            f"  size {choice.record_size:>2}: cutoff {choice.cutoff}, insert {choice.insert:.4f}, breach "
            f"{percent_up(choice.breach)}, lowest discoverable support {choice.lowest_support:.3%}"
            for choice in self.choices
        ]
        return "\n".join(lines)


def shown_ratios(cutoff: int, size: int, k: int, rho: Floats) -> Floats:
    """p[l -> k] / rho^k of cut-and-paste, by l, for several rho at once: sum over c of Pr(c of the l chosen) rho^-c."""
    chosen = _chosen(cutoff, size, k)
    ratios: Floats = chosen @ (1.0 / rho) ** np.arange(len(chosen))[:, None]
    return ratios


@lru_cache(maxsize=64)
def _chosen(cutoff: int, size: int, k: int) -> Floats:
    """Pr(c of the l chosen), by l and c, which no rho changes; l goes to k, or to the size of records."""
    top = min(size, cutoff)
    chosen = [1.0 / (cutoff + 1)] * top + [(cutoff + 1 - top) / (cutoff + 1)]
    most = min(k, size)
    table = np.zeros((most + 1, most + 1))
    for l in range(most + 1):
        for c in range(l + 1):
            table[l, c] = math.fsum(
                chance * (comb(l, c) * comb(size - l, j - c) / comb(size, j))  # of whole numbers, however large
                for j, chance in enumerate(chosen)
                if c <= j <= size - l + c
            )
    return table


def smallest_insert(
    cutoff: int,
    size: int,
    maximal: Iterable[float],
    *,
    level: float = 0.5,
    measure: BreachLevel = challenging_level,
) -> float:
    """The smallest rho at which no itemset up to the length of ``maximal`` reaches the breach level (Eq. 14).

    ``maximal`` is s_max(1, m), s_max(2, m), ... for records of m = ``size`` items: 0 of more than m, of which a report
    may show false ones beside the true.
    """
    cutoff, size = check_integer("cutoff", cutoff, least=1), check_integer("size", size, least=1)
    check_between("level", level, 0, 1)
    if isinstance(maximal, Mapping):
        raise ParameterError(
            f"The 'maximal' parameter must be the supports of one size, got a mapping: write maximal[{size}].",
            parameter="maximal",
            value=maximal,
        )
    values = check_maximal({size: tuple(maximal)})[size]
    if values[0] >= level:
        raise ParameterError(
            f"The 'level' parameter must be above the support of the most frequent item of records of size {size}, "
            f"{values[0]:g}: that much is known without any report, got {level:g}.",
            parameter="level",
            value=level,
            hint="Leave out the items that nearly everyone has, or replace items by their classes.",
        )

    def is_below(rho: float) -> bool:
        """Whether no size of itemset reaches the level; the one that did so last is looked at first."""
        for place, k in enumerate(order):
            if not np.asarray(measure(values[:k], shown_ratios(cutoff, size, k, np.array([rho]))))[0] < level:
                order.insert(0, order.pop(place))
                return False
        return True

    order = list(range(1, len(values) + 1))
    is_program = measure is worst_level
    steps, close = (_STEPS_OF_PROGRAMS, _CLOSE_OF_PROGRAMS) if is_program else (_GRID, _CLOSE)
    grid = np.arange(1, steps + 1) / (steps + 1)
    if is_program:
        first = next((at for at, rho in enumerate(grid.tolist()) if is_below(rho)), None)
    else:
        levels = [np.asarray(measure(values[:k], shown_ratios(cutoff, size, k, grid))) for k in order]
        passes = np.flatnonzero(np.max(levels, axis=0) < level)
        first = int(passes[0]) if len(passes) else None
    low, high = (grid[-1], 1.0) if first is None else (grid[first - 1] if first else 0.0, grid[first])
    while high - low > close:
        middle = (low + high) / 2
        if is_below(float(middle)):
            high = middle
        else:
            low = middle
    return _settled(cutoff, size, values, level, measure, float(high))


def exact_breach(cutoff: int, rho: float, size: int, values: tuple[float, ...], measure: BreachLevel) -> float:
    """The highest level over itemset sizes, by the channel that reports will have."""
    channel = planning_channel(CutAndPaste(cutoff, rho), size)
    return max(float(measure(values[:k], channel.shown_given(k, size))) for k in range(1, len(values) + 1))


def _settled(
    cutoff: int, size: int, values: tuple[float, ...], level: float, measure: BreachLevel, rho: float
) -> float:
    """The same rho, or a hair more: by the channel that reports will have, the level must be below and not at it."""
    step = _CLOSE
    while rho < 1.0 and exact_breach(cutoff, rho, size, values, measure) >= level:
        rho, step = min(rho + step, 1.0), 2 * step
    return rho


def cut_and_paste(
    maximal: Maximal,
    *,
    records: int | Mapping[int, int],
    level: float = 0.5,
    cutoffs: Iterable[int] | None = None,
    itemset_size: int = 3,
    measure: BreachLevel = challenging_level,
) -> CutAndPasteChoice:
    """Parameters for every record size m: the cutoff and the smallest insert that keep breaches below ``level``.

    maximal       {m: [s_max(1, m), s_max(2, m), ...]}; itemsets longer than a list are not looked at, which the paper
                  found to let breaches slip through (its Table 4, sizes 9 and 10); add zeros, of more than m items, to
                  have those looked at of which a report shows more than a record holds
    records       how many records there will be of each size: a mapping, or one number for every size
    level         what P[a in t | A in t'] must stay below
    cutoffs       those to try; by default from 3 to the largest record size, fewer of the large ones where that would
                  take more than some minutes
    itemset_size  the itemsets whose lowest discoverable support decides (those of the record's size if that is less)
    measure       how the worst itemset is found, see :func:`bosket.planning.breach_levels`; by default the paper's,
                  which some itemsets may pass (:func:`~bosket.privacy.breaches.worst_level` is the worst there can be)

    Empty records have nothing to hide but their emptiness, which their size tells: the mechanism takes them with the
    parameters of the smallest size.

    >>> import bosket as bk
    >>> choice = bk.planning.cut_and_paste({2: [0.1, 0.02], 3: [0.12, 0.03, 0.01]}, records=100_000, cutoffs=[3, 5])
    >>> choice.mechanism
    CutAndPaste(cutoff={sizes 0 to 3: 5}, insert={sizes 0 to 3: 0.129832 to 0.200386})
    """
    values = check_maximal(maximal)
    tried = _cutoffs(values) if cutoffs is None else [int(cutoff) for cutoff in _several(cutoffs)]
    if _steps(values, tried) > _MOST_STEPS:
        raise ParameterError(
            f"The 'cutoffs' parameter must be fewer: {len(tried)} for {len(values)} record sizes take too long.",
            parameter="cutoffs",
            value=None,
            hint="Name few cutoffs, as cutoffs=[3, 5, 7], or leave large record sizes out.",
        )
    rows = []
    choices = []
    for size, supports in sorted(values.items()):
        if isinstance(records, Mapping) and size not in records:
            raise ParameterError(
                f"The 'records' parameter must say how many records of {size} items there will be.",
                parameter="records",
                value=size,
            )
        number = check_integer("records", records[size] if isinstance(records, Mapping) else records, least=1)
        k = min(itemset_size, size)
        found = []
        for cutoff in tried:
            insert = smallest_insert(cutoff, size, supports, level=level, measure=measure)
            mechanism = CutAndPaste(cutoff, insert)
            breach = exact_breach(cutoff, insert, size, supports, measure)
            lowest = lowest_support(mechanism, k, records={size: number})
            found.append(Choice(size, cutoff, insert, breach, lowest))
        rows += found
        choices.append(min(found, key=lambda choice: (choice.lowest_support, choice.cutoff)))
    return CutAndPasteChoice(
        mechanism=CutAndPaste(
            {0: choices[0].cutoff, **{choice.record_size: choice.cutoff for choice in choices}},
            {0: choices[0].insert, **{choice.record_size: choice.insert for choice in choices}},
        ),
        level=level,
        choices=tuple(choices),
        considered=pd.DataFrame([_row(choice) for choice in rows]),
        is_worst=measure is worst_level,
    )


def _steps(values: Mapping[int, Sequence[float]], cutoffs: Sequence[int]) -> int:
    """What planning takes, in steps of some fifty microseconds, for each pair of a record size and a cutoff.

    It grows faster than the items that records are cut to: the numbers of their combinations are long.
    """
    cut = [min(size, cutoff) for size in values for cutoff in cutoffs]
    return max(map(len, values.values())) * sum(_PAIR + c + c * c // 64 for c in cut)


def _cutoffs(values: Mapping[int, Sequence[float]]) -> list[int]:
    """Those to try: all, or as many as there is time for, at equal ratios."""
    largest = max(3, *values)
    tried = list(range(3, min(largest, _MOST_CUTOFFS) + 1))
    for number in (64, 32, 16, 8, 4):
        if tried[-1] == largest and _steps(values, tried) <= _MOST_STEPS:
            break
        tried = sorted({round(3 * (largest / 3) ** (at / (number - 1))) for at in range(number)})
    return tried


def _several(cutoffs: Iterable[int]) -> list[int]:
    tried = list(cutoffs) if isinstance(cutoffs, Iterable) else []
    if not tried:
        raise ParameterError(
            "The 'cutoffs' parameter must be a list of at least one cutoff.", parameter="cutoffs", value=cutoffs
        )
    return tried


def _row(choice: Choice) -> dict[str, float]:
    names = ("record_size", "cutoff", "insert", "breach", "lowest_support")
    return {name: getattr(choice, name) for name in names}
