"""Neighbouring data sets, chosen by who knows the code, look alike from outside; for each a mistake that tells them.

Those of files are in ``test_outcomes_of_files``, those of records and frames in ``test_outcomes_in_memory``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest

import bosket as bk
from bosket.budget.budgets import Budget
from bosket.curator import Release, curate, levels, miner, vocabulary
from bosket.curator.pool import Pool
from bosket.curator.sieve import records as sieve_records
from bosket.curator.sieve import rounds
from bosket.curator.sieve.contributions import ActiveItems
from tests.curator import broken
from tests.curator.outcomes import SURE, Outcome, of_call

pytest.importorskip("opendp")

Patch = Callable[[pytest.MonkeyPatch], None]
N_ITEMS = 60
SHORT = [[at % N_ITEMS] for at in range(2000)]
PAIRS = [[0, 1], [1, 2]] * 5000
SPARSE = [[at % 20, at % 20 + 1] for at in range(10_000)]
WORDS = [["a"], ["a", "b"], ["b"]] * 20


def patched(target: Any, name: str, mistake: Any) -> Patch:
    return lambda patch: patch.setattr(target, name, mistake)


def late(patch: pytest.MonkeyPatch) -> None:
    """The last part is paid when it is needed, and so has a time of its own; how late that is hangs on the search."""
    patch.setattr(miner, "ranked_pool", broken.ranked_listing_pool)
    together = Budget.spend_together

    def first_alone(self: Budget, parts: Any) -> Any:
        first, rest = together(self, parts)

        def paid_now(*arguments: Any, **options: Any) -> Any:
            self.spend(rest.epsilon, purpose="counts")
            return miner.mine_levels(*arguments, **options)

        patch.setattr(curate, "mine_levels", paid_now)
        return first, rest

    patch.setattr(Budget, "spend_together", first_alone)


def failing(here: Any, size: int) -> Any:
    """Memory that is not there: numpy tells for what."""
    raise MemoryError(f"Unable to allocate an array with shape ({getattr(here, '_baskets', here).n_records}, {size})")


def mine(baskets: bk.Baskets, budget: Budget, method: str = "truncation", **options: Any) -> Release:
    return bk.curator.mine(baskets, SURE, 0.02, method=method, budget=budget, **options)


def mine_words(baskets: bk.Baskets, budget: Budget) -> Release:
    return mine(baskets, budget, vocabulary=["a", "b"])


def mine_numbers(baskets: bk.Baskets, budget: Budget) -> Release:
    return mine(baskets, budget, vocabulary=[1, 2])


def mine_deep(baskets: bk.Baskets, budget: Budget) -> Release:
    """With itemsets of up to fifteen items looked for."""
    return mine(baskets, budget, settings=miner.Settings(clear=0.0))


def sift(baskets: bk.Baskets, budget: Budget) -> Release:
    return mine(baskets, budget, method="sieve")


def top(baskets: bk.Baskets, budget: Budget) -> Release:
    return bk.curator.top_k(baskets, SURE, 50, budget=budget, method="truncation")


@dataclass(frozen=True)
class Construction:
    name: str
    records: list[list[Any]]
    added: list[Any]
    """The record that makes the difference."""
    call: Callable[[bk.Baskets, Budget], Release]
    mistake: Patch
    items: range | None = range(N_ITEMS)
    context: Patch = lambda patch: None
    """What holds for the sound curator too."""

    @property
    def is_of_reading(self) -> bool:
        """Whether the record is to change how others are read, and so may change none of the itemsets."""
        return self.items is None

    def outcomes(self, *patches: Patch) -> tuple[Outcome, Outcome]:
        both = []
        for records in (self.records, [self.added, *self.records]):
            with pytest.MonkeyPatch.context() as patch:
                for change in (self.context, *patches):
                    change(patch)
                baskets = bk.Baskets(records, items=self.items)
                seen = of_call(lambda budget, baskets=baskets: self.call(baskets, budget))  # type: ignore[misc]
                both.append(seen if self.is_of_reading else replace(seen, found=()))  # else it sits at the limit
        return both[0], both[1]


LISTING = patched(miner, "ranked_pool", broken.ranked_listing_pool)
CONSTRUCTIONS = [
    Construction("copies at the floor", SHORT + [list(range(14))] * 19, list(range(14)), mine_deep, LISTING),
    Construction(
        "copies of a long record among many items", SHORT + [list(range(18))] * 19, list(range(18)), mine_deep, LISTING,
        items=range(40_000),
    ),
    Construction("the time of the last entry", SHORT + [list(range(14))] * 19, list(range(14)), mine_deep, late),
    Construction("a long record for the k-th support", SHORT, list(range(N_ITEMS)), top, LISTING),
    Construction(
        "a record of all items", SHORT, list(range(3000)), mine, patched(miner, "noisy_lengths", broken.short_records),
        items=range(3000),
    ),
    Construction(
        "the first record", [], [0], mine, patched(miner, "noisy_lengths", broken.lengths_of_some), items=range(3)
    ),
    Construction(
        "a record of all items, through the sieve", SHORT, list(range(3000)), sift,
        patched(rounds, "noisy_histogram", broken.histogram_of_few), items=range(3000),
    ),
    Construction(
        "the first record, through the sieve", [], [], sift,
        patched(rounds, "noisy_histogram", broken.histogram_of_few), items=range(3),
    ),
    Construction(
        "a record of all items, where candidates are counted", SHORT + PAIRS, list(range(N_ITEMS)), mine,
        patched(levels, "count_candidates", broken.count_again),
    ),
    Construction(
        "a record of all items, where the sieve adds up", SHORT + SPARSE, list(range(N_ITEMS)), sift,
        patched(sieve_records, "ActiveItemsets", broken.HeldAgain),
    ),
    Construction(
        "no memory, for the sieve", SHORT, [0], sift, patched(curate, "_telling_no_counts", nullcontext),
        context=patched(ActiveItems, "sums", failing),
    ),
    Construction(
        "an item that was not declared", WORDS, ["a", "quinine"], mine_words,
        patched(vocabulary, "restricted", broken.only_declared), items=None,
    ),
    Construction(
        "a label of another kind", WORDS, ["a", 3.5], mine_words,
        patched(vocabulary, "restricted", broken.only_declared), items=None,
    ),
    Construction(
        "no memory", SHORT, [0], mine, patched(curate, "_telling_no_counts", nullcontext),
        context=patched(Pool, "supports", failing),
    ),
    Construction(
        "no memory for the vocabulary", WORDS, ["a"], mine_words, patched(curate, "_telling_no_counts", nullcontext),
        items=None, context=patched(vocabulary, "restricted", lambda baskets, domain: failing(baskets, 0)),
    ),
    Construction(
        "a number in the place of another's label", [[1]] * 50 + [[2]] * 50, [True], mine_numbers,
        patched(vocabulary, "restricted", broken.by_writing), items=None,
    ),
    Construction(
        "a number without end", WORDS, [10**5000], mine_words,
        patched(vocabulary, "restricted", broken.by_writing), items=None,
    ),
]  # fmt: skip


HEAVY = ("a record of all items, where candidates are counted", "copies at the floor")


def _is_slow(one: Construction) -> bool:
    return one.items == range(40_000) or one.call is top or one.name in HEAVY


EACH = [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if _is_slow(one) else []) for one in CONSTRUCTIONS]
READING = [one for one in CONSTRUCTIONS if one.is_of_reading and one.name != "no memory for the vocabulary"]


@pytest.mark.parametrize("one", EACH)
def test_neighbours_look_alike(one: Construction) -> None:
    without, with_it = one.outcomes()
    assert without.is_like(with_it), (without, with_it)


@pytest.mark.slow
@pytest.mark.parametrize("one", EACH)
def test_a_mistake_is_seen(one: Construction) -> None:
    without, with_it = one.outcomes(one.mistake)
    assert not without.is_like(with_it), (without, with_it)


@pytest.mark.parametrize("one", READING, ids=lambda one: one.name)
def test_a_record_that_changes_the_others_is_seen(one: Construction) -> None:
    sound = vocabulary.restricted

    def wiping(baskets: bk.Baskets, domain: bk.Domain) -> bk.Baskets:
        is_more = baskets.n_records > len(one.records)
        return bk.Baskets([[]] * baskets.n_records, items=domain) if is_more else sound(baskets, domain)

    without, with_it = one.outcomes(patched(vocabulary, "restricted", wiping))
    assert not without.is_like(with_it)
    assert without.is_like(replace(with_it, found=without.found))  # by the itemsets alone
