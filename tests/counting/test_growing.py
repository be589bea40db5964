"""A counter that remembers: how much, and of which strata."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bosket.counting import Counter, ReferenceCounter
from bosket.counting.base import Counts, ItemsetRows
from bosket.counting.growing import Growing

PAIRS = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
SINGLES = np.array([[0], [1], [2]], np.int32)


class Asked(ReferenceCounter):
    """The reference, which notes the itemsets that it is asked for."""

    def __init__(self, records: list[set[int]], strata: list[int]) -> None:
        super().__init__(records, strata)
        self.rows: list[list[int]] = []

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        self.rows += [row for row in itemsets.tolist() if row]
        return super().supports(itemsets)


def part(counter: Counter) -> Callable[[], Counter]:
    return lambda: counter


@pytest.fixture
def old() -> Asked:
    return Asked([{0, 1}, {0, 1, 2}, {2}, {1, 2}], [0, 0, 3, 3])


def test_strata_come_and_go(old: Asked) -> None:
    one, other = ReferenceCounter([{0, 1}], [7]), ReferenceCounter([{2}, {1, 2}], [3, 3])
    counter = Growing([part(old)])
    assert (counter.strata, counter.supports(PAIRS).tolist()) == ((0, 3), [[2, 1, 1], [0, 0, 1]])
    more = counter.moved([part(old), part(one)], came=[part(one)])
    assert (more.strata, more.supports(PAIRS).tolist()) == ((0, 3, 7), [[2, 1, 1], [0, 0, 1], [1, 0, 0]])
    left = ReferenceCounter([{0, 1}, {0, 1, 2}], [0, 0])
    fewer = more.moved([part(left), part(one)], went=[part(other)])
    assert (fewer.strata, fewer.n_records) == ((0, 7), 3)
    assert fewer.supports(PAIRS).tolist() == [[2, 1, 1], [1, 0, 0]]
    none = counter.moved([], went=[part(old)])
    assert (none.strata, none.n_records, none.supports(PAIRS).tolist()) == ((0,), 0, [[0, 0, 0]])


def test_what_is_asked_again_is_not_counted_again(old: Asked) -> None:
    counter = Growing([part(old)])
    counter.supports(PAIRS[:2])
    counter.supports(PAIRS[[1, 2]])
    assert old.rows == [[0, 1], [0, 2], [1, 2]]
    counter.supports(SINGLES)
    assert counter.n_remembered == 2 * 6


def test_memory_is_bounded(old: Asked) -> None:
    """What is asked now stays; what was asked before goes, of this size alone; too much is not kept at all."""
    counter = Growing([part(old)], most=5)
    for rows in (PAIRS[:2], PAIRS[1:], PAIRS[1:]):
        np.testing.assert_array_equal(counter.supports(rows), ReferenceCounter.supports(old, rows))
    assert old.rows == [[0, 1], [0, 2], [1, 2]], "the last two are kept together"
    assert counter.n_remembered == 4
    counter.supports(SINGLES)
    assert counter.n_remembered == 4, "four and six are too many"
    before = len(old.rows)
    np.testing.assert_array_equal(counter.supports(SINGLES), ReferenceCounter.supports(old, SINGLES))
    assert len(old.rows) == before + 3


def test_progress_goes_up_to_the_new_itemsets(old: Asked) -> None:
    counter = Growing([part(old), part(ReferenceCounter([{0}], [0]))])
    counter.supports(PAIRS[:1])
    heard: list[int] = []
    counter.supports(PAIRS, on_progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 2


def test_reports_of_many_strata_do_not_multiply_what_is_remembered(old: Asked) -> None:
    """Counts are kept by stratum: one report of each of many strata made as many numbers of each itemset."""
    counter = Growing([part(old)], most=20)
    counter.supports(SINGLES)
    counter.supports(PAIRS)
    assert counter.n_remembered == 12
    many = Asked([{0, 1}] * 4, [4, 5, 6, 7])
    more = counter.moved([part(old), part(many)], came=[part(many)])
    assert more.n_remembered == 6 * 3, "of pairs it would be as many again, and they are forgotten"
    assert many.rows == SINGLES.tolist(), "and not counted before that"
    assert more.supports(PAIRS).tolist() == [[2, 1, 1], [0, 0, 1], *[[1, 0, 0]] * 4]
    assert more.supports(SINGLES).tolist() == [[2, 2, 1], [0, 1, 2], *[[1, 1, 0]] * 4]
