"""Tables by noisy marginals of few attributes, and one synthetic table that agrees with them.

What is measured is the matrix mechanism's uniform workload (Li, Hay, Rastogi, Miklau and McGregor, PODS 2010): counts
by all sets of ``order`` attributes, with noise for their joint sensitivity.  A record is in one cell of each of the
C(a, order) marginals, so counts move by C(a, order) in L1 and by its root in L2.  What is read is AIM's idea (McKenna,
Mullins, Sheldon and Miklau, VLDB 2022) by relaxed projection (Aydore and others, ICML 2021): rows of a synthetic table,
each a product of laws over attributes, such that its marginals are nearest to the noisy ones.  AIM chooses marginals
round by round; here all pairs are measured, or all triples, which is what it would choose where attributes are few.

Neighbours differ by one record, added or removed.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np

from bosket.checks import check_fraction, check_integer, check_positive
from bosket.curator.accounting import rho_of
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition
from bosket.curator.sieve.draws import uniform
from bosket.data import Baskets, Table
from bosket.limits import least_count
from bosket.randomness import Seeded
from bosket.research.rivals.base import Rival, mined
from bosket.statistics.estimates import Floats

_ROWS = 1000  # of the synthetic table
_COPIES = 40  # records drawn from each row
_STEPS = 600
_RATE = 0.1
_SHARE_OF_NUMBER = 0.01
_SEED = 20_261_117

BlocksOfValues = list[slice]


def frequent(table: Table, *, epsilon: float, min_support: float, delta: float = 0.0, order: int = 2) -> Rival:
    """Itemsets that reach the limit in the synthetic table; counts are of the noisy number of records."""
    check_positive("epsilon", epsilon)
    check_fraction("min_support", min_support)
    check_integer("order", order, least=2, most=3)
    law = GAUSSIAN if delta else LAPLACE
    granted = Composition(rho_of(epsilon, delta) if delta else epsilon, law)
    sizes = [int(size) for size in table.domain.sizes]
    ends = np.cumsum([0, *sizes])
    blocks = [slice(int(start), int(stop)) for start, stop in pairwise(ends)]
    number = granted.noisy([table.n_records], epsilon=_SHARE_OF_NUMBER * granted.epsilon, sensitivity=1)
    total = max(1, round(float(number[0])))
    chosen = list(combinations(range(len(sizes)), min(order, len(sizes))))
    exact = [_counts(table, sizes, attributes) for attributes in chosen]
    norm: float = len(chosen) if law is LAPLACE else math.nextafter(math.sqrt(len(chosen)), math.inf)
    amount = (1 - _SHARE_OF_NUMBER) * granted.epsilon
    noisy = granted.noisy(np.concatenate(exact), epsilon=amount, sensitivity=norm) / total
    targets = np.split(noisy, np.cumsum([len(part) for part in exact])[:-1])
    rows = fitted(blocks, chosen, targets)
    found = mined(_drawn(rows, blocks), least_count(min_support, _ROWS * _COPIES))
    about = {"method": "marginals", "epsilon": epsilon, "delta": delta, "order": order, "n_records": total}
    scale = total / (_ROWS * _COPIES)
    return Rival([items for items, _ in found], [np.asarray(counts * scale, np.float64) for _, counts in found], about)


def _counts(table: Table, sizes: list[int], attributes: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    shape = tuple(sizes[at] for at in attributes)
    cells = np.ravel_multi_index(tuple(table.codes[:, at].astype(np.int64) for at in attributes), shape)
    return np.bincount(cells, minlength=math.prod(shape))


def fitted(blocks: BlocksOfValues, chosen: list[tuple[int, ...]], targets: list[Floats]) -> Floats:
    """Laws of rows over the values of each attribute whose marginals are nearest to these, by Adam."""
    n_values = blocks[-1].stop
    logits = uniform(Seeded(_SEED), _ROWS * n_values).reshape(_ROWS, n_values) - 0.5
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    for step in range(1, _STEPS + 1):
        laws = _laws(logits, blocks)
        slope = np.zeros_like(laws)
        for attributes, target in zip(chosen, targets, strict=True):
            _add_slope(slope, laws, [blocks[at] for at in attributes], target)
        for block in blocks:
            part, law = slope[:, block], laws[:, block]
            slope[:, block] = law * (part - (part * law).sum(axis=1, keepdims=True))
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        rate = _RATE * min(1.0, 2 * (1 - step / _STEPS) + 0.05)
        logits -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-12)
    return _laws(logits, blocks)


def _laws(logits: Floats, blocks: BlocksOfValues) -> Floats:
    laws = np.empty_like(logits)
    for block in blocks:
        part = np.exp(logits[:, block] - logits[:, block].max(axis=1, keepdims=True))
        laws[:, block] = part / part.sum(axis=1, keepdims=True)
    return laws


def _add_slope(slope: Floats, laws: Floats, blocks: BlocksOfValues, target: Floats) -> None:
    """Of the squares of errors of one marginal, with respect to each law."""
    parts = [laws[:, block] for block in blocks]
    letters = "abc"[: len(parts)]
    inputs = [f"r{letter}" for letter in letters]
    model = np.einsum(f"{','.join(inputs)}->{letters}", *parts, optimize=True) / len(laws)
    error = model - target.reshape(model.shape)
    for at, block in enumerate(blocks):
        others = [part for place, part in enumerate(parts) if place != at]
        names = [name for place, name in enumerate(inputs) if place != at]
        slope[:, block] += np.einsum(f"{letters},{','.join(names)}->{inputs[at]}", error, *others, optimize=True)


def _drawn(laws: Floats, blocks: BlocksOfValues) -> Baskets:
    """Records of each row, one value of each attribute."""
    columns = []
    for place, block in enumerate(blocks, 1):
        rising = np.repeat(np.cumsum(laws[:, block], axis=1), _COPIES, axis=0)
        even = uniform(Seeded(_SEED + place), len(rising))[:, None]
        value = (even > rising[:, :-1]).sum(axis=1)
        columns.append(block.start + value)
    indices = np.stack(columns, axis=1).astype(np.int32)
    indptr = np.arange(len(indices) + 1) * len(blocks)
    return Baskets.from_csr(indptr, indices.ravel(), range(blocks[-1].stop))
