"""The Quest generator: against exact laws where there are some, else against a generator in plain Python."""

from __future__ import annotations

import importlib
import random
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from bosket.data import quest
from bosket.data.generator_kernels import Patterns, State, draw_members, fill
from bosket.errors import ParameterError
from bosket.progress import LevelProgress
from tests.stats import assert_plausible, assert_rejected, chi_square


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def test_a_seed_is_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    first = quest(records=3000, seed=5)
    assert first == quest(records=3000, seed=5)
    assert first != quest(records=3000, seed=6)
    assert first.domain.labels == tuple(range(1000))
    module = importlib.import_module("bosket.data.generator")  # its name in the package is the function's
    monkeypatch.setattr(module, "_CHUNK", 700)
    monkeypatch.setattr(module, "_BUFFER", 5000)
    heard: list[LevelProgress] = []
    assert quest(records=3000, seed=5, on_progress=heard.append) == first  # however it is cut
    done = [state.done for state in heard]
    assert done == sorted(done)
    assert {(state.size, state.total, state.stage) for state in heard} == {(0, 3000, "making records")}
    assert done[-1] == 3000


def test_t10_i4_looks_like_the_published_file() -> None:
    """T10I4D100K of the FIMI repository: 100,000 records of 1 to 29 items, 10.10 on average."""
    data = quest(records=100_000, seed=7)
    assert 9.9 < data.sizes.mean() < 10.4
    assert data.sizes.min() == 1
    assert 25 <= data.sizes.max() <= 36
    assert np.count_nonzero(data.item_counts()) > 950


def size_law(mean: float, cells: int) -> npt.NDArray[np.float64]:
    """max(1, Poisson), the last cell being everything from there on."""
    law = stats.poisson.pmf(np.arange(cells), mean)
    law[1] += law[0]
    law[-1] += stats.poisson.sf(cells - 1, mean)
    return law[1:]


def test_transaction_sizes_are_poisson_when_patterns_always_fit() -> None:
    data = quest(records=40_000, mean_size=5, mean_pattern=1e-9, patterns=5000, corruption_mean=0,
                 corruption_variance=0, items=100_000, correlation=0, seed=1)  # fmt: skip
    observed = np.bincount(data.sizes.clip(max=12), minlength=13)[1:]
    assert_plausible(chi_square(observed, size_law(5, 13)))
    assert_rejected(chi_square(observed, size_law(5.2, 13)))


def test_corruption_drops_items_geometrically() -> None:
    """Transactions of one item take what is left of the one pattern: of l items, l - k with probability c^k (1 - c)."""
    data = quest(records=20_000, mean_size=1e-9, items=4, mean_pattern=1000, patterns=1, corruption_mean=0.6,
                 corruption_variance=0, seed=2)  # fmt: skip
    sizes = np.bincount(data.sizes, minlength=5)[1:]

    def law(c: float) -> npt.NDArray[np.float64]:
        return np.array([c**3, c**2, c, 1.0]) / (c**3 + c**2 + c + 1)

    assert_plausible(chi_square(sizes, law(0.6)))
    assert_rejected(chi_square(sizes, law(0.64)))
    dropped = [item for row in data if len(row) == 3 for item in range(4) if item not in row]
    assert_plausible(chi_square(np.bincount(dropped, minlength=4), [0.25] * 4))


@pytest.mark.slow
def test_patterns_share_items_with_the_one_before() -> None:
    size, n_patterns = 8, 20_000
    offsets = np.arange(0, size * n_patterns + 1, size)

    def overlaps(correlation: float) -> npt.NDArray[np.int64]:
        members = draw_members(generator(3), offsets, 1_000_000, correlation).reshape(-1, size)
        assert all(len(set(row)) == size for row in members.tolist())
        shared = [len({*before} & {*after}) for before, after in pairwise(members.tolist())]
        return np.bincount(shared, minlength=size + 1)

    def law(mean: float) -> npt.NDArray[np.float64]:
        """Of round(size min(1, Exp(mean))): the fraction reaches k - 1/2 items with this probability."""
        reach = np.exp(-(np.arange(size + 1) - 0.5).clip(0) / size / mean)
        return -np.diff(reach, append=0.0)

    observed = overlaps(0.5)
    assert_plausible(chi_square(observed, law(0.5)))
    assert_rejected(chi_square(observed, law(0.55)))
    assert overlaps(0)[0] > n_patterns - 50


ITEMS = [[0, 1, 2], [2, 3], [4, 5, 6, 7], [8], [9, 10, 11, 0, 5]]
WEIGHTS = [0.3, 0.25, 0.2, 0.15, 0.1]
CORRUPTION = [0.5, 0.2, 0.0, 0.3, 0.7]


def plain_transactions(n: int, mean_size: float, *, anyway: float, seed: int) -> list[set[int]]:
    """The paper's prose, a sentence at a time."""
    chance = random.Random(seed)
    sizes = generator(seed).poisson(mean_size, n).clip(1, 12)
    made: list[set[int]] = []
    kept: list[int] | None = None
    for size in sizes:
        transaction: set[int] = set()
        while len(transaction) < size:
            if kept is not None:
                pattern, kept = kept, None
            else:
                number = chance.choices(range(5), WEIGHTS)[0]
                pattern = ITEMS[number][:]
                while pattern and chance.random() < CORRUPTION[number]:
                    pattern.remove(chance.choice(pattern))
            fits = len(transaction | {*pattern}) <= size
            if fits or not transaction or chance.random() < anyway:
                transaction |= {*pattern}
            else:
                kept = pattern
                break
        made.append(transaction)
    return made


@pytest.mark.slow
def test_transactions_follow_the_paper() -> None:
    n = 30_000
    patterns = Patterns(
        np.cumsum([0, *map(len, ITEMS)]),
        np.array([item for pattern in ITEMS for item in pattern], np.int32),
        np.cumsum(WEIGHTS) / sum(WEIGHTS),
        np.array(CORRUPTION),
    )
    state = State(np.empty(5, np.int32), np.zeros(1, np.int64), np.zeros(12, np.int64))
    ends, items = np.empty(n, np.int64), np.empty(12 * n + 12, np.int32)
    assert fill(generator(4), patterns, state, 3.0, 0, ends, items) == n
    ours = [set(items[start:stop].tolist()) for start, stop in pairwise([0, *ends.tolist()])]

    def table(rows: list[set[int]]) -> npt.NDArray[np.int64]:
        """By size, and by whether the first item of the large pattern is there."""
        return np.bincount([min(len(row), 8) + 9 * (4 in row) for row in rows], minlength=18)

    def p_value(other: list[set[int]]) -> float:
        both = np.array([table(ours), table(other)])
        return float(stats.chi2_contingency(both[:, both.sum(axis=0) > 0]).pvalue)

    assert_plausible(p_value(plain_transactions(n, 3.0, anyway=0.5, seed=8)))
    assert_rejected(p_value(plain_transactions(n, 3.0, anyway=0.7, seed=8)))


def test_impossible_sizes_end() -> None:
    data = quest(records=50, mean_size=500, items=3, patterns=2, seed=1)
    assert data.sizes.max() <= 3
    hopeless = quest(records=5, corruption_mean=1, corruption_variance=0, seed=1)
    assert hopeless.sizes.sum() == 0


@pytest.mark.parametrize(
    "name, value",
    [
        ("records", 0),
        ("records", 2.5),
        ("mean_size", 0),
        ("mean_size", float("inf")),
        ("mean_pattern", -1),
        ("items", 0),
        ("patterns", 0),
        ("correlation", -0.1),
        ("corruption_mean", 1.5),
        ("corruption_variance", float("nan")),
        ("seed", -1),
    ],
)
def test_parameters_are_checked(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        quest(**{"records": 10, "seed": 1, name: value})
    assert caught.value.parameter == name
