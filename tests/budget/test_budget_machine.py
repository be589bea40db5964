"""Random programs of spends and returns, in memory and in a file, beside a list of exact fractions."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from bosket.budget import ledger
from bosket.budget.accounts import Entry, Part
from bosket.budget.budgets import Budget
from bosket.errors import BudgetExceeded, ParameterError

EPSILONS = st.sampled_from([0.1, 0.2, 0.3, 1e-9, 0.7, 5e-324]) | st.floats(0, 1, exclude_min=True)
DELTAS = st.sampled_from([0.0, 0.0, 1e-7, 3e-7]) | st.floats(0, 1e-6)
AMOUNTS = st.tuples(EPSILONS, DELTAS)


def exact(amount: tuple[float, float]) -> tuple[Fraction, Fraction]:
    return Fraction(repr(amount[0])), Fraction(repr(amount[1]))


class Programs(RuleBasedStateMachine):
    """The model: what each entry changed, and which spends may still be returned."""

    paid = Bundle("paid")
    budget: Budget

    @initialize(total=st.tuples(st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([0.0, 1e-6])))
    def grant(self, total: tuple[float, float]) -> None:
        self.changes: list[tuple[Fraction, Fraction]] = []
        self.returnable: set[Entry] = set()
        self.total = exact(total)
        self.budget = self.make(*total)

    def make(self, epsilon: float, delta: float) -> Budget:
        return Budget.in_memory(epsilon, delta=delta)

    def left(self) -> tuple[Fraction, Fraction]:
        spent = [sum((change[at] for change in self.changes), Fraction(0)) for at in (0, 1)]
        return self.total[0] - spent[0], self.total[1] - spent[1]

    @rule(target=paid, parts=st.lists(AMOUNTS, min_size=1, max_size=4))
    def spend_together(self, parts: list[tuple[float, float]]) -> Any:
        wish = [sum((exact(part)[at] for part in parts), Fraction(0)) for at in (0, 1)]
        left = self.left()
        named = [Part(epsilon, "a part", delta) for epsilon, delta in parts]
        if wish[0] > left[0] or wish[1] > left[1]:
            with pytest.raises(BudgetExceeded):
                self.budget.spend_together(named)
            return multiple()
        entries = self.budget.spend_together(named)
        assert len({entry.time for entry in entries}) == 1
        assert [entry.number for entry in entries] == [len(self.changes) + 1 + at for at in range(len(parts))]
        self.changes += map(exact, parts)
        self.returnable |= set(entries)
        return multiple(*entries)

    @rule(target=paid, amount=AMOUNTS)
    def spend(self, amount: tuple[float, float]) -> Any:
        wish, left = exact(amount), self.left()
        if wish[0] > left[0] or wish[1] > left[1]:
            with pytest.raises(BudgetExceeded):
                self.budget.spend(amount[0], delta=amount[1], purpose="one look")
            return multiple()
        entry = self.budget.spend(amount[0], delta=amount[1], purpose="one look")
        self.changes.append(wish)
        return entry  # who spends alone looks at once: that is not handed back

    @rule(target=paid, entry=paid)
    def give_back(self, entry: Entry) -> Any:
        """Of a spend or of a return, for the first time or again."""
        if entry not in self.returnable:
            with pytest.raises(ParameterError):
                self.budget.give_back(entry)
            return multiple()
        back = self.budget.give_back(entry)
        assert (back.returns, back.time) == (entry.number, entry.time)
        self.returnable.remove(entry)
        self.changes.append((-Fraction(repr(entry.epsilon)), -Fraction(repr(entry.delta))))
        return back

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "budget"):
            return
        account = self.budget.account
        assert account.adds_up()
        assert len(account.entries) == len(self.changes)
        for shown, spent, left, total in zip(account.remaining, account.spent, self.left(), self.total, strict=True):
            assert 0 <= Fraction(repr(shown)) <= left, "what is shown as left can be had"
            assert Fraction(repr(spent)) >= total - left, "nothing is under-counted"
            assert float(left) == pytest.approx(shown, rel=1e-15, abs=5e-324)


class ProgramsInAFile(Programs):
    """Likewise, through a ledger that is opened afresh now and then: what another object spent is not its to return."""

    def make(self, epsilon: float, delta: float) -> Budget:
        self.directory = Path(tempfile.mkdtemp())
        self.path = self.directory / "ledger"
        return Budget.create(self.path, "data", epsilon=epsilon, delta=delta)

    @rule()
    def open_afresh(self) -> None:
        self.budget = Budget.open(self.path, "data")
        self.returnable.clear()

    @rule(epsilon=EPSILONS)
    def spend_elsewhere(self, epsilon: float) -> None:
        """Another process would do the same."""
        with contextlib.suppress(BudgetExceeded):
            Budget.open(self.path, "data").spend(epsilon, purpose="elsewhere")
            self.changes.append(exact((epsilon, 0.0)))

    @invariant()
    def is_sound_on_disk(self) -> None:
        if hasattr(self, "budget"):
            (account,) = ledger.accounts(self.path)
            assert account == self.budget.account

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestProgramsInAFile = ProgramsInAFile.TestCase
TestProgramsInAFile.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
