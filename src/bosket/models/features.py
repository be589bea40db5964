"""Functions of a record that a log-linear law is a sum of: products of contrasts, one for each attribute of a subset.

An attribute of d values has d - 1 contrasts h_1, ..., h_(d-1), which are orthogonal, have mean 0 and mean square 1 over
the values; with the constant they are a basis, so that

    [x = v] = (1 + h_1(v) h_1(x) + ... + h_(d-1)(v) h_(d-1)(x)) / d

and for several attributes together by products: an indicator is a sum over the subsets of its attributes.  What a
question tells, and how it moves with the coefficients, is therefore made of the means of products of features.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from bosket.statistics.estimates import Floats

Subset = tuple[int, ...]
"""Attributes by number, rising."""

_FEW_VALUES = 64  # of an attribute, up to which contrasts are made once
_AT_ONCE = 1 << 21  # numbers of features that are made at a time
_HELD = 1 << 25  # numbers of features that are held from one pass to the next; beyond, they are made again


def contrasts(size: int) -> Floats:
    """Helmert's contrasts of the values of one attribute, mean square 1: shape (size, size - 1)."""
    return _few_contrasts(size) if size <= _FEW_VALUES else _contrasts(size)


@cache
def _few_contrasts(size: int) -> Floats:
    found = _contrasts(size)
    found.flags.writeable = False  # they are shared
    return found


def _contrasts(size: int) -> Floats:
    found = np.zeros((size, size - 1))
    for j in range(size - 1):
        found[: j + 1, j] = 1
        found[j + 1, j] = -(j + 1)
        found[:, j] *= math.sqrt(size / ((j + 1) * (j + 2)))
    return found


def products(shape: tuple[int, ...], subset: Subset) -> Floats:
    """The features of a subset at every combination of values of ``shape``: shape (cells, columns)."""
    found = np.ones((1, 1))
    for at, size in enumerate(shape):
        factor = contrasts(size) if at in subset else np.ones((size, 1))
        found = np.einsum("ab,cd->acbd", found, factor).reshape(found.shape[0] * size, -1)
    return found


def summed_over(table: Floats, axes: Iterable[int]) -> Floats:
    """``table.sum(axis=axes)``, axis by axis: NumPy's own sum over many short axes takes six times as long."""
    away = set(axes)
    shape = tuple(size for at, size in enumerate(table.shape) if at not in away)
    runs = [(out, [table.shape[at] for at in run]) for out, run in groupby(range(table.ndim), away.__contains__)]
    found = table.reshape([math.prod(sizes) for _, sizes in runs])
    for at, (out, _) in enumerate(runs):
        if out:
            found = found.sum(axis=at, keepdims=True)
    return found.reshape(shape)


def summed_out(table: Floats, attributes: Subset, beside: Subset) -> Floats:
    """Sums of features of the attributes ``beside`` over the cells that agree in ``attributes``."""
    others = tuple(at for at in range(table.ndim) if at not in attributes and at not in beside)
    margin = summed_over(table, others)
    kept = [at for at in range(table.ndim) if at in attributes or at in beside]
    margin = margin.transpose([kept.index(at) for at in (*beside, *attributes)])
    for at in beside:
        margin = np.tensordot(margin, contrasts(table.shape[at]), axes=(0, 0))
    result: Floats = margin.reshape(math.prod(table.shape[at] for at in attributes), -1)
    return result


class Features:
    """The features of some subsets of attributes at every cell of a table, the last attribute running fastest."""

    def __init__(self, shape: tuple[int, ...], subsets: Iterable[Subset]) -> None:
        self.shape = shape
        self.n_cells = math.prod(shape)
        self.subsets = tuple(subsets)
        widths = [math.prod(shape[at] - 1 for at in subset) for subset in self.subsets]
        ends = np.cumsum(widths).tolist()
        self.columns = {
            subset: slice(end - width, end) for subset, width, end in zip(self.subsets, widths, ends, strict=True)
        }
        self.n_columns: int = ends[-1] if ends else 0
        self.holds = True
        """Whether features are held from one pass to the next, where they are few enough."""

    def release(self) -> None:
        """Hold them no longer."""
        self.holds = False
        self.__dict__.pop("_held", None)

    def chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Some cells at a time: which, and their features."""
        if self.holds and self.n_cells * self.n_columns <= _HELD:
            yield from self._held
        else:
            yield from self._made()

    @cached_property
    def _held(self) -> list[tuple[slice, Floats]]:
        return list(self._made())

    def _made(self) -> Iterator[tuple[slice, Floats]]:
        step = max(1, _AT_ONCE // max(self.n_columns, 1))
        of_values = [contrasts(size) for size in self.shape]
        for start in range(0, self.n_cells, step):
            cells = slice(start, min(start + step, self.n_cells))
            values = np.unravel_index(np.arange(cells.start, cells.stop), self.shape)
            yield cells, self._at([of[at] for of, at in zip(of_values, values, strict=True)])

    def _at(self, factors: list[Floats]) -> Floats:
        """The features of cells, of which ``factors`` has the contrasts, attribute by attribute.

        In loops: a function in here that calls itself would hold all this until the garbage collector comes by.
        """
        n = len(factors[0])
        found = np.empty((n, self.n_columns))
        made: dict[Subset, Floats] = {(): np.ones((n, 1))}
        for subset, columns in self.columns.items():
            for size in range(1, len(subset) + 1):
                part = subset[:size]
                if part not in made:
                    made[part] = (made[part[:-1]][:, :, None] * factors[part[-1]][:, None, :]).reshape(n, -1)
            found[:, columns] = made[subset]
        return found

    def weighted(self, coefficients: Floats) -> Floats:
        """The sum of the first features times their coefficients, at every cell."""
        result = np.empty(self.n_cells)
        for cells, features in self.chunks():
            result[cells] = features[:, : len(coefficients)] @ coefficients
        return result

    def moments(self, law: Floats, n_terms: int) -> tuple[Floats, Floats]:
        """Means of the features under a law, and of their products with the first ``n_terms`` of them."""
        first, second = np.zeros(self.n_columns), np.zeros((self.n_columns, n_terms))
        for cells, features in self.chunks():
            first += law[cells] @ features
            second += features.T @ (law[cells, None] * features[:, :n_terms])
        return first, second

    def margins(self, law: Floats, attributes: Subset, n_terms: int) -> Floats:
        """Sums of law times feature over the cells that agree in these attributes: shape (combinations, n_terms)."""
        place = self.places(attributes)
        found = np.zeros((math.prod(self.shape[at] for at in attributes), n_terms))
        for cells, features in self.chunks():
            _add_rows(found, place[cells], law[cells, None] * features[:, :n_terms])
        return found

    def places(self, attributes: Subset) -> npt.NDArray[np.int64]:
        """For every cell, its combination of values of these attributes."""
        place = np.zeros(self.shape, np.int64)
        for at in attributes:
            along = np.arange(self.shape[at]).reshape([-1 if other == at else 1 for other in range(len(self.shape))])
            place = place * self.shape[at] + along
        return place.ravel()


def _add_rows(sums: Floats, place: npt.NDArray[np.int64], rows: Floats) -> None:
    """sums[place[i]] += rows[i]."""
    from scipy.sparse import csr_array

    n = len(place)
    chosen = csr_array((np.ones(n), (place, np.arange(n))), shape=(len(sums), n))
    sums += np.asarray(chosen @ rows)
