"""The budget: never overdrawn, never under-counted, whoever spends and whenever they are killed."""

from __future__ import annotations

import copy
import math
import os
import pickle
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bosket._version import __version__
from bosket.budget import accounts
from bosket.budget.accounts import Part
from bosket.budget.budgets import Budget
from bosket.errors import BosketError, BudgetExceeded, DataError, ParameterError

Grant = Callable[..., Budget]


@pytest.fixture(params=["in memory", "in a file"])
def grant(request: pytest.FixtureRequest, tmp_path: Path) -> Grant:
    """``grant(1.0, delta=1e-6)``: a budget, of which nothing is spent."""

    def make(epsilon: float, **terms: Any) -> Budget:
        if request.param == "in memory":
            return Budget.in_memory(epsilon, **terms)
        number = len(list(tmp_path.iterdir()))
        return Budget.create(tmp_path / f"{number}.ledger", terms.pop("name", "data"), epsilon=epsilon, **terms)

    return make


def test_an_entry_says_what_was_spent_on_what(grant: Grant) -> None:
    budget = grant(1.0, delta=1e-6, name="retail, 2024: été 🌳", neighbours="replace")
    assert (budget.name, budget.epsilon, budget.delta) == ("retail, 2024: été 🌳", 1.0, 1e-6)
    assert budget.neighbours == "replace"
    assert (budget.spent, budget.remaining, budget.entries()) == ((0.0, 0.0), (1.0, 1e-6), ())
    first = budget.spend(0.25, purpose="top 10 pairs, k=10")
    second = budget.spend(0.5, delta=1e-7, purpose="supports of “milk”")
    assert budget.entries() == (first, second)
    assert [entry.number for entry in budget.entries()] == [1, 2]
    assert (second.epsilon, second.delta, second.purpose) == (0.5, 1e-7, "supports of “milk”")
    assert second.version == __version__
    moment = datetime.fromisoformat(second.time)
    assert moment.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=5)
    assert budget.spent == (0.75, 1e-7)
    assert budget.remaining == (0.25, 9e-7)
    assert budget.remaining.epsilon == 0.25
    assert "retail" in repr(budget)


def test_ten_times_a_tenth_is_one(grant: Grant) -> None:
    """Sums of floats would leave 1.1e-16, and those of the floats' binary values would refuse the tenth time."""
    budget = grant(1.0)
    for _ in range(10):
        budget.spend(0.1, purpose="a tenth")
    assert budget.spent == (1.0, 0.0)
    assert budget.remaining == (0.0, 0.0)
    with pytest.raises(BudgetExceeded):
        budget.spend(5e-324, purpose="the least there is")


def test_overdrawing_is_refused_and_nothing_is_written(grant: Grant) -> None:
    budget = grant(0.3, delta=1e-6, name="data")
    budget.spend(0.1, delta=1e-6, purpose="first")
    before = budget.account
    for epsilon, delta in [(0.2000000000000001, 0.0), (0.1, 5e-324), (1e308, 0.9)]:
        with pytest.raises(BudgetExceeded) as caught:
            budget.spend(epsilon, delta=delta, purpose="too much")
        assert caught.value.name == "data"
        assert caught.value.asked == (epsilon, delta)
        assert caught.value.remaining == (0.2, 0.0)
        assert caught.value.hint
        assert budget.account == before
    assert budget.spend(0.2, purpose="the rest").number == 2


@pytest.mark.parametrize("epsilon", [0.0, -0.1, math.nan, math.inf, -math.inf, True, "0.1", None, Fraction(1, 3)])
def test_epsilon_must_be_positive_and_finite(grant: Grant, epsilon: Any) -> None:
    budget = grant(1.0)
    with pytest.raises(ParameterError) as caught:
        budget.spend(epsilon, purpose="nonsense")
    assert caught.value.parameter == "epsilon"
    assert budget.entries() == ()
    with pytest.raises(ParameterError):
        grant(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2, math.nan, math.inf, "0", Fraction(1, 3)])
def test_delta_must_lie_between_0_and_1(grant: Grant, delta: Any) -> None:
    budget = grant(1.0, delta=0.5)
    with pytest.raises(ParameterError) as caught:
        budget.spend(0.1, delta=delta, purpose="nonsense")
    assert caught.value.parameter == "delta"
    assert budget.entries() == ()
    with pytest.raises(ParameterError):
        grant(1.0, delta=delta)


@pytest.mark.parametrize("text", ["", " ", " data", "data ", "two\nlines", "nul\0", "bell\a", "half \ud83c", 7, None])
def test_names_and_purposes_are_lines_of_text(grant: Grant, text: Any) -> None:
    budget = grant(1.0)
    with pytest.raises(ParameterError) as caught:
        budget.spend(0.1, purpose=text)
    assert caught.value.parameter == "purpose"
    with pytest.raises(ParameterError) as caught:
        grant(1.0, name=text)
    assert caught.value.parameter == "name"


def test_neighbours_are_named(grant: Grant) -> None:
    with pytest.raises(ParameterError) as caught:
        grant(1.0, neighbours="bounded")
    assert caught.value.parameter == "neighbours"


def test_numbers_of_numpy_and_whole_numbers(grant: Grant) -> None:
    budget = grant(2)
    double: Any = np.float64(0.1)
    single: Any = np.float32(0.1)
    assert budget.spend(double, purpose="a double").epsilon == 0.1
    assert budget.spend(single, purpose="a single, which is a little more").epsilon > 0.1
    assert budget.spend(1, purpose="a whole number").epsilon == 1.0


positive = st.floats(min_value=0, max_value=2, exclude_min=True) | st.sampled_from([0.1, 0.2, 0.01, 1e-9, 5e-324, 0.3])
small = st.just(0.0) | st.floats(min_value=0, max_value=1e-3) | st.sampled_from([1e-6, 1e-7, 5e-324])


@given(st.tuples(positive, small), st.lists(st.tuples(positive, small), max_size=12), st.booleans())
@example((1.0, 0.0), [(0.1, 0.0)] * 11, True)
@example((0.3, 3e-7), [(0.1, 1e-7)] * 4, True)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spent_is_the_exact_sum_and_never_more_than_granted(
    grant: Grant, total: tuple[float, float], wishes: list[tuple[float, float]], takes_the_rest: bool
) -> None:
    """Beside an account kept in decimals of a thousand digits."""
    exact = Context(prec=1000)
    left = [Decimal(repr(part)) for part in total]
    budget = grant(total[0], delta=total[1])
    kept = 0
    for epsilon, delta in wishes:
        after = [exact.subtract(have, Decimal(repr(part))) for have, part in zip(left, (epsilon, delta), strict=True)]
        if min(after) < 0:
            with pytest.raises(BudgetExceeded) as caught:
                budget.spend(epsilon, delta=delta, purpose="too much")
            assert caught.value.remaining == budget.remaining
        else:
            left, kept = after, kept + 1
            assert budget.spend(epsilon, delta=delta, purpose="one of many").number == kept
        for spent, remaining, whole, truth in zip(budget.spent, budget.remaining, total, left, strict=True):
            used = exact.subtract(Decimal(repr(whole)), truth)
            assert Decimal(repr(math.nextafter(spent, 0.0))) < used <= Decimal(repr(spent)) or used == spent == 0
            assert Decimal(repr(remaining)) <= truth < Decimal(repr(math.nextafter(remaining, math.inf)))
    assert len(budget.entries()) == kept
    rest = budget.remaining
    if takes_the_rest and rest.epsilon > 0:  # what is shown as left can be had
        budget.spend(rest.epsilon, delta=rest.delta, purpose="the rest")


def test_threads_never_overdraw(grant: Grant) -> None:
    budget = grant(1.0)

    def spend(_: int) -> int:
        try:
            return budget.spend(0.05, purpose="a twentieth").number
        except BudgetExceeded:
            return 0

    patience = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads do get into each other's way
    try:
        with ThreadPoolExecutor(8) as pool:
            numbers = list(pool.map(spend, range(40)))
    finally:
        sys.setswitchinterval(patience)
    assert sorted(numbers) == [0] * 20 + list(range(1, 21))
    assert budget.remaining == (0.0, 0.0)
    assert budget.account.adds_up()


def test_digests_tell_accounts_apart(grant: Grant) -> None:
    budget = grant(1.0)
    seen = [budget.account]
    for purpose in ("one", "another"):
        budget.spend(0.1, purpose=purpose)
        seen.append(budget.account)
    assert len({account.head for account in seen}) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", account.head) for account in seen)
    assert [[later.continues(earlier) for earlier in seen] for later in seen] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    other = grant(1.0, name="other")
    assert not other.account.continues(seen[0])


class TestTogether:
    def test_all_parts_have_one_time(self, grant: Grant, monkeypatch: pytest.MonkeyPatch) -> None:
        """A clock that runs on between any two looks at it would tell the time between two entries."""
        clock = (f"2026-01-01T00:{minute:02}+00:00" for minute in range(60))
        budget = grant(1.0, delta=1e-6)
        monkeypatch.setattr(accounts, "now", lambda: next(clock))
        first, second = budget.spend_together([(0.1, "lengths"), Part(0.4, "counts", delta=1e-7)])
        assert budget.entries() == (first, second)
        assert (first.number, first.epsilon, first.delta, first.purpose) == (1, 0.1, 0.0, "lengths")
        assert (second.number, second.epsilon, second.delta, second.purpose) == (2, 0.4, 1e-7, "counts")
        assert first.time == second.time
        back = budget.give_back(second)
        assert back.time == second.time
        assert budget.spend(0.1, purpose="later").time != second.time

    def test_all_or_none(self, grant: Grant) -> None:
        budget = grant(1.0, delta=1e-6, name="data")
        for parts, asked in (
            ([(0.5, "one"), (0.500001, "two")], (1.000001, 0.0)),
            ([Part(0.1, "one", delta=6e-7)] * 2, (0.2, 1.2e-6)),
            ([(1e308, "one"), (1e308, "two")], (math.inf, 0.0)),
        ):
            with pytest.raises(BudgetExceeded) as caught:
                budget.spend_together(parts)
            assert (caught.value.asked, caught.value.remaining) == (asked, (1.0, 1e-6))
        assert budget.entries() == ()
        assert len(budget.spend_together([(0.1, "a tenth")] * 10)) == 10
        assert budget.remaining == (0.0, 1e-6)

    @pytest.mark.parametrize(
        ("parts", "parameter"),
        [
            ([], "parts"),
            ([0.1], "parts"),
            ([(0.1,)], "parts"),
            ("ab", "parts"),
            (None, "parts"),
            ([(0.1, "one"), (0.0, "two")], "epsilon"),
            ([(0.1, "one"), (0.1, "two\nlines")], "purpose"),
            ([(0.1, "one"), (0.1, "two", 1.0)], "delta"),
        ],
    )
    def test_parts_are_pairs_of_an_epsilon_and_a_purpose(self, grant: Grant, parts: Any, parameter: str) -> None:
        budget = grant(1.0, delta=0.5)
        with pytest.raises(ParameterError) as caught:
            budget.spend_together(parts)
        assert caught.value.parameter == parameter
        assert budget.entries() == ()


class TestGiveBack:
    def test_what_was_not_used_can_be_spent_again(self, grant: Grant) -> None:
        budget = grant(1.0, delta=1e-6)
        first, second = budget.spend_together([(0.25, "first look"), (0.75, "counts", 1e-6)])
        assert budget.remaining == (0.0, 0.0)
        back = budget.give_back(second)
        assert (back.number, back.returns, back.epsilon, back.delta) == (3, 2, 0.75, 1e-6)
        assert (back.purpose, back.time) == (second.purpose, second.time)
        assert budget.entries() == (first, second, back)
        assert (budget.spent, budget.remaining) == ((0.25, 0.0), (0.75, 1e-6))
        assert budget.account.adds_up()
        assert budget.spend(0.75, purpose="another look").number == 4

    def test_once_only(self, grant: Grant) -> None:
        budget = grant(1.0)
        (entry,) = budget.spend_together([(0.5, "once")])
        back = budget.give_back(entry)
        for wrong in (entry, back):
            with pytest.raises(ParameterError) as caught:
                budget.give_back(wrong)
            assert (caught.value.parameter, caught.value.value) == ("entry", wrong)
            assert caught.value.hint
        assert budget.spent == (0.0, 0.0)
        assert len(budget.entries()) == 2

    def test_only_what_this_object_spent(self, grant: Grant, monkeypatch: pytest.MonkeyPatch) -> None:
        budget, other = grant(1.0, name="one"), grant(1.0, name="other")
        (entry,) = budget.spend_together([(0.5, "here")])
        other.spend(0.5, purpose="here")
        wrong: list[Any] = [None, 1, "entry", *other.entries(), *budget.entries(), replace(entry)]
        for nothing in wrong:
            with pytest.raises(ParameterError) as caught:
                budget.give_back(nothing)
            assert caught.value.parameter == "entry"
        with pytest.raises(ParameterError):
            copy.copy(budget).give_back(entry)
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)  # as in a fork
            with pytest.raises(BosketError):
                budget.give_back(entry)
        assert budget.spent == other.spent == (0.5, 0.0)
        assert budget.give_back(entry).returns == 1

    def test_what_a_release_paid_is_not_handed_back_by_listing_it(self, grant: Grant) -> None:
        """Whoever can see the entries of a budget must not get back what was looked with."""
        budget = grant(1.0)
        budget.spend_together([(0.25, "first look"), (0.25, "counts")])
        spent = budget.spend(0.5, purpose="all at once")
        for entry in (*budget.entries(), spent):
            with pytest.raises(ParameterError):
                budget.give_back(entry)
        assert budget.remaining == (0.0, 0.0)

    def test_entries_of_a_block_have_the_time_of_its_beginning(
        self, grant: Grant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        budget = grant(1.0)
        with budget.at_one_time():
            begun = budget.spend(0.1, purpose="before").time
            monkeypatch.setattr("bosket.budget.accounts.now", lambda: "later")
            entries = budget.spend_together([(0.1, "one"), (0.1, "two")])
            assert {entry.time for entry in entries} == {begun}
        assert budget.spend(0.1, purpose="after").time == "later"
        assert budget.account.adds_up()

    def test_blocks_of_other_threads_and_copies_have_times_of_their_own(
        self, grant: Grant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        budget = grant(1.0)
        with budget.at_one_time():
            begun = budget.spend(0.1, purpose="here").time
            monkeypatch.setattr("bosket.budget.accounts.now", lambda: "later")
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(lambda: budget.spend(0.1, purpose="there").time).result() == "later"
            assert copy.copy(budget).spend(0.1, purpose="by a copy").time == "later"
            assert budget.spend(0.1, purpose="here again").time == begun

    def test_not_through_another_look_at_the_ledger(self, tmp_path: Path) -> None:
        budget = Budget.create(tmp_path / "ledger", "data", epsilon=1.0)
        (entry,) = budget.spend_together([(0.5, "here")])
        for other in (Budget.open(tmp_path / "ledger", "data"), pickle.loads(pickle.dumps(budget))):
            assert other.entries() == (entry,)
            with pytest.raises(ParameterError):
                other.give_back(entry)
        assert budget.spent == (0.5, 0.0)

    def test_threads_return_an_entry_once(self, grant: Grant) -> None:
        budget = grant(1.0)
        (entry,) = budget.spend_together([(0.5, "here")])

        def give_back(_: int) -> bool:
            try:
                budget.give_back(entry)
            except ParameterError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(give_back, range(16))) == 1
        assert budget.spent == (0.0, 0.0)
        assert budget.account.adds_up()


class TestInMemory:
    def test_it_stays_in_its_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A copy in another process would be spent a second time."""
        budget = Budget.in_memory(1.0)
        with pytest.raises(BosketError):
            pickle.dumps(budget)
        with pytest.raises(BosketError):
            copy.deepcopy(budget)
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(BosketError) as caught:
            budget.spend(0.1, purpose="in a fork")
        assert caught.value.hint
        with pytest.raises(BosketError):
            _ = budget.remaining

    def test_a_copy_is_the_same_budget(self) -> None:
        budget = Budget.in_memory(1.0)
        copy.copy(budget).spend(0.75, purpose="through the copy")
        assert budget.remaining == (0.25, 0.0)


class TestInAFile:
    def test_another_look_sees_the_same(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        budget = Budget.create("my #1 ledger?%41.db", "data", epsilon=1.0)
        entry = budget.spend(0.1, purpose="first")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        other = Budget.open("../my #1 ledger?%41.db", "data")
        assert other.entries() == (entry,)
        other.spend(0.2, purpose="second")
        assert budget.spent == (0.3, 0.0)
        assert pickle.loads(pickle.dumps(budget)).spent == (0.3, 0.0)

    def test_several_budgets_in_one_ledger(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger"
        one, two = (Budget.create(path, name, epsilon=1.0) for name in ("one", "two"))
        for _ in range(3):
            one.spend(0.1, purpose="of one")
            two.spend(0.2, purpose="of two")
        assert (one.spent, two.spent) == ((0.3, 0.0), (0.6, 0.0))
        assert [entry.number for entry in two.entries()] == [1, 2, 3]

    def test_a_name_is_given_once(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger"
        Budget.create(path, "caf\u00e9", epsilon=1.0).spend(0.9, purpose="most of it")
        for name in ("caf\u00e9", "cafe\u0301"):
            with pytest.raises(DataError) as caught:
                Budget.create(path, name, epsilon=100.0)
            assert caught.value.path == path
            assert Budget.open(path, name).remaining == (0.1, 0.0)

    def test_an_unknown_name(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger"
        Budget.create(path, "data", epsilon=1.0)
        with pytest.raises(DataError) as caught:
            Budget.open(path, "dada")
        assert caught.value.hint is not None
        assert "'data'" in caught.value.hint
