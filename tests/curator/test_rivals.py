"""The rivals: exact when epsilon is huge, never dearer than epsilon, noisy only by the exact sources."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bosket.curator import cardinality, rivals
from bosket.curator.noise import noisy
from bosket.curator.rivals import Rival, base, bhaskar, diffpart, privbasis, tails, untruncated
from bosket.data import Baskets
from bosket.errors import BudgetExceeded, ParameterError
from bosket.randomness import Secure, Seeded
from tests import strategies

HUGE = 1e7
TOP_K: dict[str, Callable[..., Rival]] = {
    "privbasis": privbasis.top_k,
    "bhaskar": bhaskar.top_k,
    "diffpart": diffpart.top_k,
}


def brute(baskets: Baskets, max_size: int = 8) -> Counter[tuple[int, ...]]:
    """All itemsets that occur, with their supports, from the definition."""
    found: Counter[tuple[int, ...]] = Counter()
    for r in range(baskets.n_records):
        record = baskets.indices[baskets.indptr[r] : baskets.indptr[r + 1]].tolist()
        for size in range(1, min(max_size, len(record)) + 1):
            found.update(combinations(record, size))
    return found


@pytest.fixture
def small() -> Baskets:
    """Itemsets with supports that differ, on 30 items in three levels of a taxonomy."""
    records: list[list[int]] = []
    for item in range(25):
        records += [[item]] * (10 * item + 7)
    records += [[20, 21, 22]] * 301 + [[3, 24]] * 163 + [[]] * 20
    return Baskets(records, items=range(30))


@pytest.mark.parametrize("name", TOP_K)
@pytest.mark.parametrize("k", [1, 5, 20])
def test_huge_epsilon_gives_the_exact_top_k(name: str, k: int, small: Baskets) -> None:
    found = TOP_K[name](small, epsilon=HUGE, k=k)
    truth = brute(small)
    limit = sorted(truth.values(), reverse=True)[k - 1]
    assert len(found.itemsets()) == k
    assert all(truth[itemset] == count for itemset, count in found.itemsets().items())
    assert {itemset for itemset, count in truth.items() if count > limit} <= set(found.itemsets())
    assert min(found.itemsets().values()) == limit


@settings(deadline=None, max_examples=30)
@given(strategies.baskets(), st.integers(1, 6))
def test_untruncated_is_exact_at_a_huge_epsilon(baskets: Baskets, min_count: int) -> None:
    n = max(1, baskets.n_records)
    if min_count > n:
        return
    found = untruncated.frequent(baskets, epsilon=HUGE, min_support=min_count / n)
    truth = {itemset: count for itemset, count in brute(baskets).items() if count >= min_count - 1e-9}
    assert found.itemsets() == truth


@settings(deadline=None, max_examples=30)
@given(strategies.baskets(), st.integers(1, 4))
def test_sanitized_records_are_the_records_at_a_huge_epsilon(baskets: Baskets, fan: int) -> None:
    made = diffpart.sanitize(baskets, epsilon=HUGE, fan_out=fan + 1).baskets
    assert Counter(made[r] for r in range(len(made))) == Counter(baskets[r] for r in range(len(baskets)) if baskets[r])


@settings(deadline=None, max_examples=50)
@given(strategies.baskets(), st.integers(1, 40))
def test_exact_top_k_and_its_limit_against_the_definition(baskets: Baskets, k: int) -> None:
    truth = sorted(brute(baskets).items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
    assert base.exact_top_k(baskets, k) == dict(truth[:k])
    assert base.kth_support(baskets, k) == (truth[k - 1][1] if len(truth) >= k else 0)
    pairs = sorted((count for itemset, count in truth if len(itemset) == 2), reverse=True)
    assert base.kth_support(baskets, k, max_size=2, least_size=2) == (pairs[k - 1] if len(pairs) >= k else 0)


# what the privacy arguments rest on


@settings(deadline=None, max_examples=50)
@given(strategies.baskets(), st.sets(st.integers(0, 7)), st.integers(1, 20))
def test_a_record_moves_order_statistics_one_way_by_at_most_one(baskets: Baskets, record: set[int], k: int) -> None:
    more = Baskets([*(baskets[r] for r in range(len(baskets))), record], items=range(max(8, baskets.n_items)))
    less = baskets.with_domain(more.domain)
    assert base.kth_support(more, k) - base.kth_support(less, k) in (0, 1)
    ranked = [np.sort(data.item_counts())[::-1] for data in (less, more)]
    assert set((ranked[1] - ranked[0]).tolist()) <= {0, 1}
    quality = [np.abs(counts - base.kth_support(data, k)) for counts, data in zip(ranked, (less, more), strict=True)]
    assert np.abs(quality[1] - quality[0]).max() <= 1
    _, supports, level = bhaskar._listed(less, k, 1, [1, 2])
    listed_more, supports_more, level_more = bhaskar._listed(more, k, 1, [1, 2])
    scores = dict(zip(bhaskar._listed(less, k, 1, [1, 2])[0], supports, strict=True))
    scores_more = dict(zip(listed_more, supports_more, strict=True))
    for itemset in {*scores, *scores_more}:
        assert scores_more.get(itemset, level_more) - scores.get(itemset, level) in (0, 1)
    bases = [(0, 1, 2), (2, 3), (5, 6, 7)]
    assert np.abs(privbasis._bins(more, bases) - privbasis._bins(less, bases)).sum() <= len(bases)


def test_a_selected_set_is_as_likely_between_neighbours_as_claimed() -> None:
    """Pr(S) by summing over all noises: k = 2 of 4 scores, one order of ties, against exp(epsilon)."""
    k, epsilon = 2, 1.0
    a = math.exp(-epsilon / k)
    span = np.arange(-60, 61)
    law = (1 - a) / (1 + a) * a ** np.abs(span)

    upper = np.append(np.cumsum(law[::-1])[::-1], 0.0)  # Pr(z >= span[i])

    def chance(scores: list[int], chosen: tuple[int, ...]) -> float:
        total = 0.0
        others = [i for i in range(4) if i not in chosen]
        for z0, p0 in zip(span, law, strict=True):
            for z1, p1 in zip(span, law, strict=True):
                best, place = max((scores[i] + int(z), -i) for i, z in zip(others, (z0, z1), strict=True))
                needed = [best - scores[i] + (-i < place) for i in chosen]  # one more where a tie is lost
                total += p0 * p1 * math.prod(upper[np.clip(z + 60, 0, 121)] for z in needed)
        return total

    before, after = [3, 2, 2, 1], [3, 3, 2, 2]
    for chosen in [(0, 1), (1, 3), (0, 2)]:
        ratio = chance(before, chosen) / chance(after, chosen)
        assert math.exp(-epsilon) - 1e-9 <= ratio <= math.exp(epsilon) + 1e-9


def test_the_lot_decides_among_ties() -> None:
    scores, others = np.array([5, 3, 3]), np.array([3, 3, 1])
    chosen = Counter(len(bhaskar._best(scores, others, 2, Seeded(seed))[0]) for seed in range(400))
    assert set(chosen) == {1, 2}  # 5 and, as often as not, a listed one of the four with 3
    assert 120 < chosen[2] < 280


# budgets


def all_of_them(baskets: Baskets, epsilon: float) -> Iterator[Rival]:
    for method in TOP_K.values():
        yield method(baskets, epsilon=epsilon, k=15)
    yield untruncated.frequent(baskets, epsilon=epsilon, min_support=0.05)
    yield untruncated.frequent(baskets, epsilon=epsilon, min_support=0.05, longest_record=2)
    yield diffpart.frequent(baskets, epsilon=epsilon, min_count=50)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3.0])
def test_the_parts_add_up_to_at_most_epsilon(epsilon: float, small: Baskets) -> None:
    for found in all_of_them(small, epsilon):
        spent = found.about["spent"]
        assert all(part >= 0 for part in spent.values())
        assert 0 < math.fsum(spent.values()) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_what_is_called_for_is_what_was_paid(epsilon: float, small: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact sources are asked for the parts in the purse, and for nothing else (all but the paths of DiffPart)."""
    asked: list[float] = []

    def spy(original: Callable[..., Any]) -> Callable[..., Any]:
        def called(*values: Any, epsilon: float, **options: Any) -> Any:
            asked.append(epsilon)
            return original(*values, epsilon=epsilon, **options)

        return called

    for module in (privbasis, bhaskar, untruncated):
        monkeypatch.setattr(module, "noisy", spy(module.noisy))
    monkeypatch.setattr(privbasis, "noisy_top", spy(base.noisy_top))
    monkeypatch.setattr(untruncated, "noisy_cardinality", spy(cardinality.noisy_cardinality))
    found = privbasis.top_k(small, epsilon=epsilon, k=30)
    assert sorted(asked) == pytest.approx(sorted(found.about["spent"].values()))
    asked.clear()
    found = untruncated.frequent(small, epsilon=epsilon, min_support=0.05)
    assert sorted(asked) == pytest.approx(sorted(found.about["spent"].values()))
    asked.clear()
    # listed and not listed itemsets are one vector of scores, noisy in two calls
    found = bhaskar.top_k(small, epsilon=epsilon, k=10, sizes=[1, 2])
    assert set(asked) == {epsilon / 2}
    assert len(asked) == 3
    assert found.about["spent"] == {"selection": epsilon / 2, "counts": epsilon / 2}


def test_the_counts_along_every_path_of_diffpart_cost_epsilon(small: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    epsilon = 2.0
    last: list[float] = []
    inner: list[float] = []
    divide, release = diffpart._divide, diffpart._release

    def seen_divide(baskets: Any, taxonomy: Any, partition: Any, share: float, rng: Any) -> Any:
        inner.append(partition.spent + share)
        parts = divide(baskets, taxonomy, partition, share, rng)
        assert all(part.spent == partition.spent + share for part in parts)
        held = [record for part in parts for record in part.records.tolist()]
        assert len(set(held)) == len(held)
        assert set(held) <= set(partition.records.tolist())
        return parts

    def seen_release(baskets: Any, taxonomy: Any, partition: Any, share: float, rng: Any, released: Any) -> None:
        last.append(partition.spent + share)
        release(baskets, taxonomy, partition, share, rng, released)

    monkeypatch.setattr(diffpart, "_divide", seen_divide)
    monkeypatch.setattr(diffpart, "_release", seen_release)
    diffpart.sanitize(small, epsilon=epsilon, fan_out=4)
    assert max(inner) <= epsilon / 2 * (1 + 1e-12)
    assert last == pytest.approx([epsilon] * len(last))


@pytest.mark.parametrize("is_monotone", [True, False])
def test_a_selection_costs_what_opendp_says(is_monotone: bool) -> None:
    loss = base._selection(7, 0.3, is_monotone).map(1)
    assert 0.3 * (1 - 1e-9) < loss <= 0.3


def test_a_purse_refuses_more_than_it_has() -> None:
    purse = base.Purse(1.0)
    purse.pay("some", 0.9)
    with pytest.raises(BudgetExceeded):
        purse.pay("more", 0.2)
    assert purse.spent == {"some": 0.9}


def test_no_rival_has_a_source_of_chance_of_its_own() -> None:
    for path in Path(rivals.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not {"random", "secrets", "numpy.random"} & set(names), path
            assert not (isinstance(node, ast.Attribute) and node.attr == "random"), path


# degenerate data


@pytest.mark.parametrize("epsilon", [0.5, HUGE])
@pytest.mark.parametrize("n_items", [0, 1, 3])
@pytest.mark.parametrize("n_records", [0, 2])
def test_next_to_nothing(epsilon: float, n_items: int, n_records: int) -> None:
    baskets = Baskets([[]] * n_records, items=range(n_items))
    for found in all_of_them(baskets, epsilon):
        assert len(found.items) == len(found.counts)
        if epsilon == HUGE:
            assert all(count == 0 for count in found.itemsets().values())


@pytest.mark.parametrize("epsilon", [0.5, HUGE])
def test_k_beyond_what_exists(epsilon: float) -> None:
    baskets = Baskets([[0, 1]] * 900 + [[1]] * 50, items=range(3))
    for name, method in TOP_K.items():
        found = method(baskets, epsilon=epsilon, k=100).itemsets()
        assert len(found) <= 7
        if epsilon == HUGE:
            assert {itemset: count for itemset, count in found.items() if count} == brute(baskets), name


def test_a_long_record_does_not_stop_anybody() -> None:
    """2^200 itemsets occur; nobody lists them."""
    baskets = Baskets([range(200)] + [[0]] * 5, items=range(200))
    assert len(privbasis.top_k(baskets, epsilon=1.0, k=20).itemsets()) == 20
    assert len(base.exact_top_k(baskets, 300)) == 300
    assert len(bhaskar.top_k(baskets, epsilon=1.0, k=20, sizes=[1, 2]).itemsets()) == 20


def test_parameters_are_checked(small: Baskets) -> None:
    with pytest.raises(ParameterError):
        bhaskar.top_k(small, epsilon=1.0, k=5, sizes=[1, 3])
    for method in TOP_K.values():
        with pytest.raises(ParameterError):
            method(small, epsilon=0.0, k=5)
        with pytest.raises(ParameterError):
            method(small, epsilon=1.0, k=0)


# bases


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 24).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n * (n - 1) // 2)))))
def test_bases_have_every_item_and_every_pair(case: tuple[int, set[int]]) -> None:
    n, numbers = case
    every = list(combinations(range(n), 2))
    pairs: list[tuple[int, ...]] = [every[number] for number in numbers if number < len(every)]
    bases = privbasis.make_bases(list(range(n)), pairs)
    assert all(len(basis) <= privbasis.LARGEST for basis in bases)
    assert all(any({*query} <= {*basis} for basis in bases) for query in [*pairs, *((i,) for i in range(n))])


def test_supports_from_bins_are_the_supports(small: Baskets) -> None:
    bases = [(3, 20, 21, 24), (20, 21, 22)]
    truth = brute(small)
    found = privbasis._supports(bases, privbasis._bins(small, bases))
    assert found == {itemset: truth[itemset] for itemset in found}
    assert len(found) == 15 + 7 - 3


# tails


@pytest.mark.slow
def test_tails_have_the_law_of_noisy() -> None:
    """How many of 400 noises pass, and by how much, against drawing all 400: two ways to the same numbers."""
    n, scale, limit, times = 400, 3.0, 6, 600  # a limit off by one is 28 % off, seen from 4 % on
    a = math.exp(-1 / scale)
    p = a**limit / (1 + a)
    rng = Seeded(3)
    drawn = [tails.passing(n, scale, limit, rng=rng) for _ in range(times)]
    numbers = np.array([len(values) for values in drawn])
    error = math.sqrt(n * p * (1 - p) / times)
    assert abs(numbers.mean() - n * p) < 6.2 * error
    assert abs(numbers.var() / (n * p * (1 - p)) - 1) < 6.2 * math.sqrt(2 / times) * 1.2
    excess = np.concatenate(drawn) - limit
    assert excess.min() == 0
    assert abs(excess.mean() - a / (1 - a)) < 6.2 * math.sqrt(a) / (1 - a) / math.sqrt(len(excess))
    everything = noisy(np.zeros(n * 200, np.int64), epsilon=1 / scale, sensitivity=1)
    share = (everything >= limit).mean()
    assert abs(share - p) < 6.2 * math.sqrt(p / (200 * n))


@pytest.mark.slow
def test_tails_below_a_limit_complete_those_above() -> None:
    n, scale, times = 1 << 40, 2.0, 300
    high = tails.limit_for(n, scale, 5.0)
    low = tails.limit_for(n, scale, 40.0)
    rng = Seeded(4)
    numbers = []
    for _ in range(times):
        above = tails.passing(n, scale, high, rng=rng)
        below = tails.passing(n - len(above), scale, low, high=high, rng=rng)
        assert not len(below) or (below.min() >= low and below.max() < high)
        numbers.append(len(above) + len(below))
    a = math.exp(-1 / scale)
    mean = n * a**low / (1 + a)
    assert abs(np.mean(numbers) - mean) < 6.2 * math.sqrt(mean / times)


def test_tails_of_nothing_and_without_noise() -> None:
    assert len(tails.passing(0, 1.0, 1, rng=Secure())) == 0
    assert len(tails.passing(1000, 1e-9, 1, rng=Secure())) == 0
    assert len(tails.passing(1000, 1e-12, 1, rng=Secure())) == 0


def test_many_itemsets_are_never_listed() -> None:
    """A universe of 1.7e8 itemsets: the two that stand out are found, the rest are fillers with honest counts."""
    baskets = Baskets([[1, 2]] * 3000 + [[5, 6, 7]] * 2000, items=range(1000))
    found = bhaskar.top_k(baskets, epsilon=20.0, k=12, sizes=[1, 2, 3], rng=Seeded(1))
    truth = brute(baskets)
    assert len(found.itemsets()) == 12
    assert set(truth) <= set(found.itemsets())
    assert all(abs(count - truth[itemset]) < 60 for itemset, count in found.itemsets().items())
